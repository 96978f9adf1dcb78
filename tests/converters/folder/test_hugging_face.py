"""`config.json` read by transformers' own classes: every number is the file's, and no class assumes another."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from converters.folder.hugging_face import hugging_face_config
from converters.plan import make_plan
from converters.sources.gguf.file import GgufFile
from converters.target import choose_target
from converters.tokenizer.export import TokenizerFiles
from tests.support.any_arch import BASE, EPSILON_KEYS, Case, write_arch
from tests.support.arch_cases import all_cases

transformers = pytest.importorskip("transformers")

# Published by transformers; the architectures that are not here have code of their own beside their weights.
CLASSES = {
    "apertus": ("apertus", "ApertusForCausalLM"), "arcee": ("arcee", "ArceeForCausalLM"),
    "bitnet": ("bitnet", "BitNetForCausalLM"), "bloom": ("bloom", "BloomForCausalLM"),
    "chatglm": ("glm", "GlmForCausalLM"), "command-r": ("cohere", "CohereForCausalLM"),
    "cohere2": ("cohere2", "Cohere2ForCausalLM"), "ernie4_5": ("ernie4_5", "Ernie4_5ForCausalLM"),
    "exaone": ("exaone", "LlamaForCausalLM"), "exaone4": ("exaone4", "Exaone4ForCausalLM"),
    "falcon": ("falcon", "FalconForCausalLM"), "gemma": ("gemma", "GemmaForCausalLM"),
    "gemma2": ("gemma2", "Gemma2ForCausalLM"), "gemma3": ("gemma3_text", "Gemma3ForCausalLM"),
    "gemma3n": ("gemma3n_text", "Gemma3nForCausalLM"),
    "glm4": ("glm4", "Glm4ForCausalLM"), "gpt2": ("gpt2", "GPT2LMHeadModel"),
    "gptneox": ("gpt_neox", "GPTNeoXForCausalLM"), "granite": ("granite", "GraniteForCausalLM"),
    "hunyuan-dense": ("hunyuan_v1_dense", "HunYuanDenseV1ForCausalLM"), "llama": ("llama", "LlamaForCausalLM"),
    "minicpm3": ("minicpm3", "MiniCPM3ForCausalLM"), "mistral3": ("ministral3", "Ministral3ForCausalLM"),
    "mpt": ("mpt", "MptForCausalLM"), "nemotron": ("nemotron", "NemotronForCausalLM"),
    "olmo": ("olmo", "OlmoForCausalLM"), "olmo2": ("olmo2", "Olmo2ForCausalLM"), "phi2": ("phi", "PhiForCausalLM"),
    "phi3": ("phi3", "Phi3ForCausalLM"), "qwen2": ("qwen2", "Qwen2ForCausalLM"), "qwen3": ("qwen3", "Qwen3ForCausalLM"),
    "seed_oss": ("seed_oss", "SeedOssForCausalLM"), "smollm3": ("smollm3", "SmolLM3ForCausalLM"),
    "stablelm": ("stablelm", "StableLmForCausalLM"), "starcoder": ("gpt_bigcode", "GPTBigCodeForCausalLM"),
    "starcoder2": ("starcoder2", "Starcoder2ForCausalLM"),
}  # fmt: skip
OLMO3 = ("olmo3", "Olmo3ForCausalLM")  # the class of OLMo 2 has no windows
CASES = {name: case for name, case in all_cases().items() if case.arch in CLASSES}
# What classes may assume: it is so in every model that we convert, or concerns training and tasks only.
NEUTRAL = {
    "initializer_range", "pretraining_tp", "apply_residual_connection_post_layernorm", "slow_but_exact", "is_decoder",
    "use_bidirectional_attention", "use_sliding_window", "max_window_layers", "sliding_window_pattern", "init_device",
    "add_cross_attention", "reorder_and_upcast_attn", "scale_attn_by_inverse_layer_idx", "scale_attn_weights",
    "attention_softmax_in_fp32", "scale_attention_softmax_in_fp32", "qk_layernorm", "embedding_fraction", "norm_type",
    "altup_coef_clip", "eod_token_id", "resid_pdrop", "embd_pdrop", "attn_pdrop", "emb_pdrop",
}  # fmt: skip
# What follows from what is said, or is checked beside it.
DERIVED = {"head_dim", "sliding_window", "layer_types", "multi_query", "logit_scale"}
GELU = (
    "bloom", "falcon", "gemma", "gemma2", "gemma3", "gemma3n", "gpt2", "gptneox", "mpt", "phi2", "starcoder",
    "starcoder2",
)  # fmt: skip


class Loaded:
    """A case as transformers sees it, beside its file."""

    def __init__(self, folder: Path, case: Case, dtype: str = "f32") -> None:
        self.case = case
        with GgufFile.open(write_arch(folder / "tiny.gguf", case)) as source:
            plan = make_plan(source, choose_target(dtype=dtype), case.context)
            self.written = json.loads(json.dumps(hugging_face_config(plan, TokenizerFiles())))
            self.names = set(source.tensors)
            self.factors = {name: source.floats(name) for name in self.names if name.startswith("rope_")}
        (folder / "config.json").write_text(json.dumps(self.written))
        self.config: Any = transformers.AutoConfig.from_pretrained(folder)
        self.fields = set(type(self.config).__dataclass_fields__)

    def key(self, name: str, default: Any = None) -> Any:
        """What the file says."""
        return self.case.metadata.get(f"{self.case.arch}.{name}", default)

    def field(self, *names: str) -> Any:
        """What the class says, under the one of these names that it knows."""
        known = [name for name in names if name in self.fields or name in type(self.config).attribute_map]
        return getattr(self.config, known[0]) if known else None


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Loaded:
    """Made once for all tests of a case."""
    return Loaded(tmp_path_factory.mktemp("loaded"), CASES[request.param])


def has_class(case: Case) -> bool:
    """Whether transformers has a class for this variant too."""
    keys = case.metadata
    if case.arch == "glm4" and keys.get("glm4.rope.dimension_sections") is not None:
        return False  # the text model of an image model
    if case.arch == "mpt":
        whole = float(keys.get("mpt.attention.max_alibi_bias", 0.0)).is_integer()
        return whole and keys["mpt.feed_forward_length"] % keys["mpt.embedding_length"] == 0
    if keys.get(f"{case.arch}.expert_count", 0) > 1:
        return False
    return not (case.arch == "granite" and keys.get("granite.rope.scaling.finetuned") is False)


ALL = [name for name, case in CASES.items() if has_class(case)]
FIRST = list({CASES[name].arch: name for name in reversed(ALL)}.values())  # an architecture's first case


@pytest.mark.parametrize("loaded", ALL, indirect=True)
def test_class_says_what_the_file_says(loaded: Loaded) -> None:
    config, case = loaded.config, loaded.case
    windowed = case.arch == "olmo2" and loaded.key("attention.sliding_window", 0) > 0
    model_type, model_class = OLMO3 if windowed else CLASSES[case.arch]
    assert (config.model_type, config.architectures, config.dtype) == (model_type, [model_class], "float32")
    heads = loaded.key("attention.head_count")
    assert config.hidden_size == loaded.key("embedding_length")
    further = case.untold_keys.get("nextn_predict_layers", 0)
    assert config.num_hidden_layers == loaded.key("block_count") - further
    assert config.num_attention_heads == heads
    kv_heads = int(np.ravel(loaded.key("attention.head_count_kv", heads))[0])
    assert loaded.field("num_key_value_heads", "num_kv_heads") in (None, kv_heads)
    assert config.vocab_size == BASE["vocab_size"]
    context = case.context or loaded.key("context_length")
    assert loaded.field("max_position_embeddings", "max_seq_len") in (None, context)
    width = loaded.key("feed_forward_length")
    found = loaded.field("intermediate_size", "n_inner", "ffn_hidden_size")
    assert found in (None, width, [width] * config.num_hidden_layers)
    size = loaded.key("attention.key_length", loaded.key("embedding_length") // heads)
    if case.arch not in ("falcon", "gpt2", "starcoder", "minicpm3", "mpt"):
        assert config.head_dim == size
    epsilon = loaded.key(EPSILON_KEYS[case.norm])
    names = ("rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon", "norm_epsilon", "norm_eps")
    assert loaded.field(*names) in (None, epsilon)
    assert config.tie_word_embeddings == ("output.weight" not in loaded.names)
    act = {"arcee": "relu2", "nemotron": "relu2", "apertus": "xielu"}.get(
        case.arch, "gelu_pytorch_tanh" if case.arch in GELU else "silu"
    )
    assert loaded.field("hidden_act", "hidden_activation", "activation_function", "activation") in (None, act)
    biased = bool({"blk.0.attn_q.bias", "blk.0.attn_qkv.bias"} & loaded.names)
    assert loaded.field("attention_bias", "use_bias", "use_qkv_bias", "bias") in (None, biased)
    assert loaded.field("mlp_bias") in (None, "blk.0.ffn_up.bias" in loaded.names)
    assert (config.bos_token_id, config.pad_token_id) == (None, None)  # the file has no tokenizer
    assumed = loaded.fields - set(transformers.PretrainedConfig.__dataclass_fields__) - set(loaded.written)
    aliases = {type(config).attribute_map.get(key) for key in loaded.written}
    assert {name for name in assumed - aliases if "dropout" not in name and "summary" not in name} <= NEUTRAL | DERIVED


@pytest.mark.parametrize(
    "loaded", [name for name in ALL if not name.startswith("hunyuan")], indirect=True
)  # whose base is stretched
def test_rotary_embedding(loaded: Loaded) -> None:
    """Base, part of a head, scaling, and divisors of frequencies where the file has tensors of them."""
    parameters = loaded.field("rope_parameters")
    if not parameters:
        assert "rope_parameters" not in loaded.fields
        return
    parameters = parameters.get("full_attention", parameters)
    assert np.float32(parameters["rope_theta"]) == np.float32(loaded.key("rope.freq_base", 10000.0))
    size = loaded.key("attention.key_length", loaded.key("embedding_length") // loaded.key("attention.head_count"))
    turned = loaded.key("rope.dimension_count", size)
    if loaded.case.arch != "minicpm3":  # whose head_dim is the part that turns
        assert int(size * parameters.get("partial_rotary_factor", 1.0)) == turned
    kind, factor = loaded.key("rope.scaling.type", "none"), loaded.key("rope.scaling.factor", 1.0)
    found = parameters["rope_type"]
    if found == "default":
        assert kind in ("none", "longrope") or factor == 1.0
    elif found in ("linear", "yarn"):
        assert (kind, factor) == (found, parameters["factor"])
    else:
        _check_divisors(loaded, parameters, turned, kind, factor)
    if found == "yarn":
        original = loaded.key("rope.scaling.original_context_length", loaded.key("context_length"))
        assert parameters["original_max_position_embeddings"] == original
        log = 0.1 * np.log(factor)
        tuned = loaded.case.arch == "mistral3"
        share = loaded.key("rope.scaling.yarn_log_multiplier", 0.0) if tuned else 0.0
        wanted = loaded.key("rope.scaling.attn_factor", 1.0) * (1 + log) / (1 + log * share)
        assert parameters["attention_factor"] == pytest.approx(wanted)
        assert parameters["beta_fast"] == (loaded.key("rope.scaling.yarn_beta_fast", 32.0) if tuned else 32.0)


def _check_divisors(loaded: Loaded, parameters: dict[str, Any], turned: int, kind: str, factor: float) -> None:
    lists = [parameters["short_factor"], parameters["long_factor"]]
    assert parameters["rope_type"] == "longrope" and [len(values) for values in lists] == [turned // 2] * 2
    if kind == "yarn":  # whose ramp is in them too: the fastest pair is not stretched, the slowest is in whole
        return
    stretched = 1.0 if kind == "none" else factor
    names = ("rope_factors_short.weight", "rope_factors_long.weight")
    ones = np.ones(turned // 2, np.float32)
    for name, values in zip(names, lists, strict=True):
        tensor = loaded.factors.get("rope_freqs.weight", loaded.factors.get(name, ones))
        np.testing.assert_allclose(values, tensor * stretched, rtol=3e-7)


@pytest.mark.parametrize("loaded", FIRST, indirect=True)
def test_round_trip(loaded: Loaded, tmp_path: Path) -> None:
    loaded.config.save_pretrained(tmp_path / "again")
    again = transformers.AutoConfig.from_pretrained(tmp_path / "again")
    assert type(again) is type(loaded.config)
    assert {**again.to_dict(), "_name_or_path": ""} == {**loaded.config.to_dict(), "_name_or_path": ""}


# Whose scans have numbers under names of their own: not written yet, so these get the generic keys.
RECURRENT = {"mamba", "mamba2", "jamba", "nemotron_h", "lfm2", "falcon-h1"}
TWO_KINDS = {"gemma4"}  # of layers: test_layer_kinds.py
WITH_IMAGES = {"muse-glimmer"}  # transformers generates with whole models only
MIXTURES = {
    "kimi-linear",
    "afmoe",
    "dbrx",
    "dots1",
    "ernie4_5-moe",
    "exaone-moe",
    "gpt-oss",
    "granitemoe",
    "llama4",
    "mellum",
    "minimax-m2",
    "mistral4",
    "olmoe",
    "phimoe",
}  # whose experts have too


def test_without_a_class() -> None:
    """Architectures that bring code of their own have a class here only if transformers has one."""
    from converters.archs.registry import architectures

    for name in set(architectures()) - set(CLASSES) - RECURRENT - TWO_KINDS - WITH_IMAGES - MIXTURES:
        assert not {name, name.replace("-", "_")} & set(transformers.CONFIG_MAPPING), name


@pytest.mark.parametrize(
    ("arch", "keys"),
    [("glm4", {"rope.dimension_sections": [8, 8, 0, 0]}), ("granite", {"rope.scaling.finetuned": False,
      "logit_scale": 1.0}), ("plamo", {"attention.head_count_kv": 4})],
)  # fmt: skip
def test_generic(tmp_path: Path, arch: str, keys: dict[str, Any]) -> None:
    """No class is named, and the numbers have the names that most classes use."""
    case = Case(arch, keys=keys, drop=(r"\.bias$",))
    with GgufFile.open(write_arch(tmp_path / "tiny.gguf", case)) as source:
        found = hugging_face_config(make_plan(source, choose_target(dtype="f16")), TokenizerFiles())
    assert "architectures" not in found
    assert found["model_type"] in ("decoder", "granite")
    assert (found["hidden_size"], found["num_attention_heads"], found["dtype"]) == (256, 4, "float16")
    assert found["transformers.js_config"] == {"dtype": "fp32", "use_external_data_format": True}


LOCAL, GLOBAL = "sliding_attention", "full_attention"
SWITCHES: dict[str, tuple[Case, dict[str, Any]]] = {
    "local layers have a base of their own": (
        Case("gemma3", drop=(r"\.bias", r"^dense_"), keys={
            "attention.sliding_window": 16, "block_count": 6, "rope.freq_base": 1e6, "rope.scaling.type": "linear",
            "rope.scaling.factor": 8.0}),
        {"sliding_window": 16, "layer_types": [LOCAL] * 5 + [GLOBAL], "query_pre_attn_scalar": 64,
         "final_logit_softcapping": None, "attn_logit_softcapping": None, "rope_parameters": {
             LOCAL: {"rope_type": "default", "rope_theta": 10000.0},
             GLOBAL: {"rope_type": "linear", "rope_theta": 1000000.0, "factor": 8.0}}},
    ),
    "no window, a softcap": (
        Case("gemma3", drop=(r"\.bias", r"^dense_"), keys={"final_logit_softcapping": 3.0}),
        {"sliding_window": None, "layer_types": [GLOBAL] * 2, "final_logit_softcapping": 3.0},
    ),
    "layers without a cache, sparse ones": (
        all_cases()["gemma3n: layers that read others' keys and values"],
        {"num_kv_shared_layers": 2, "activation_sparsity_pattern": [0.95] * 10 + [0.0] * 12, "sliding_window": 12,
         "layer_types": [*[LOCAL, LOCAL, LOCAL, LOCAL, GLOBAL] * 4, LOCAL, GLOBAL], "final_logit_softcapping": 30.0,
         "hidden_size_per_layer_input": 256, "vocab_size_per_layer_input": 320, "altup_num_inputs": 4,
         "altup_active_idx": 0, "laurel_rank": 64},
    ),
    "softcaps, every second layer": (
        Case("gemma2", drop=(r"\.bias",), keys={
            "attention.sliding_window": 8, "attn_logit_softcapping": 5.0, "final_logit_softcapping": 7.0,
            "attention.key_length": 96, "attention.value_length": 96}),
        {"sliding_window": 8, "layer_types": [LOCAL, GLOBAL], "attn_logit_softcapping": 5.0,
         "final_logit_softcapping": 7.0, "query_pre_attn_scalar": 96},
    ),
    "every fourth layer is global": (
        Case("cohere2", "layer", {"block_count": 5, "attention.sliding_window": 8, "logit_scale": 0.25},
             drop=(r"\.bias",)),
        {"sliding_window": 8, "layer_types": [LOCAL] * 3 + [GLOBAL, LOCAL], "logit_scale": 0.25},
    ),
    "windows, stretched global layers": (
        Case("olmo2", keys={
            "block_count": 4, "attention.sliding_window": 8, "rope.freq_base": 500.0, "attention.head_count_kv": 4,
            "rope.scaling.type": "yarn", "rope.scaling.factor": 2.0, "rope.scaling.original_context_length": 128},
            drop=(r"\.bias",)),
        {"sliding_window": 8, "layer_types": [LOCAL] * 3 + [GLOBAL], "rope_parameters": {
            LOCAL: {"rope_type": "default", "rope_theta": 500.0},
            GLOBAL: {"rope_type": "yarn", "rope_theta": 500.0, "factor": 2.0, "beta_fast": 32.0, "beta_slow": 1.0,
                     "original_max_position_embeddings": 128, "attention_factor": 1.0693147180559945}}},
    ),
    "scaled logits": (Case("command-r", "layer", {"logit_scale": 0.5}, drop=(r"\.bias", "attn_._norm")),
                      {"logit_scale": 0.5, "use_qk_norm": False}),
    "normed heads": (Case("command-r", "layer", {"logit_scale": 0.5, "block_count": 64}, drop=(r"\.bias",)),
                     {"use_qk_norm": True}),
    "multipliers": (
        Case("granite", keys={"embedding_scale": 12.0, "residual_scale": 0.22, "logit_scale": 49.0,
                              "attention.scale": 0.0078125}, drop=(r"\.bias",)),
        {"embedding_multiplier": 12.0, "residual_multiplier": 0.22, "logits_scaling": 49.0,
         "attention_multiplier": 0.0078125},
    ),
    "clipped": (Case("olmo", "layer", {"attention.clamp_kqv": 8.0}, drop=(r"\.bias",)), {"clip_qkv": 8.0}),
    "not clipped": (Case("olmo", "layer", drop=(r"\.bias",)), {"clip_qkv": None}),
    "every fourth layer has no positions": (
        Case("smollm3", keys={"block_count": 5}, drop=(r"\.bias",)),
        {"no_rope_layers": [1, 1, 1, 0, 1], "layer_types": [GLOBAL] * 5, "sliding_window": None},
    ),
    "one key/value head": (Case("falcon", "layer", {"attention.head_count_kv": 1}, drop=(r"\.bias$", "attn_norm_2")),
                           {"multi_query": True, "new_decoder_architecture": False, "num_ln_in_parallel_attn": 1}),
    "grouped": (Case("falcon", "layer", drop=(r"\.bias$",)), {
        "num_kv_heads": 2, "new_decoder_architecture": True, "num_ln_in_parallel_attn": 2, "parallel_attn": True,
        "alibi": False}),
    "multi query": (Case("starcoder", "layer", {"attention.head_count_kv": 1}), {"multi_query": True}),
    "as many key/value heads": (Case("starcoder", "layer", {"attention.head_count_kv": 4}), {"multi_query": False}),
    "side by side": (Case("gptneox", "layer", {"use_parallel_residual": True, "attention.head_count_kv": 4}),
                     {"use_parallel_residual": True, "attention_bias": True}),
    "one after the other": (Case("gptneox", "layer", {"use_parallel_residual": False, "attention.head_count_kv": 4}),
                            {"use_parallel_residual": False}),
    "latent": (
        Case("minicpm3", keys={
            "embedding_length": 512, "attention.q_lora_rank": 256, "attention.kv_lora_rank": 192,
            "attention.key_length": 96, "attention.value_length": 128, "rope.dimension_count": 32,
            "attention.head_count_kv": 4}),
        {"q_lora_rank": 256, "kv_lora_rank": 192, "qk_nope_head_dim": 64, "qk_rope_head_dim": 32, "v_head_dim": 128,
         "scale_emb": 12.0, "scale_depth": 1.4, "dim_model_base": 256, "head_dim": 32},
    ),
    "sharpened": (
        Case("mistral3", keys={"attention.temperature_scale": 0.1, "rope.scaling.original_context_length": 32},
             drop=(r"\.bias",)),
        {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "llama_4_scaling_beta": 0.1,
                             "original_max_position_embeddings": 32}},
    ),
    "biased q, k and v only": (Case("seed_oss"), {"attention_bias": True, "attention_out_bias": False}),
}  # fmt: skip


@pytest.mark.parametrize("name", SWITCHES)
def test_switches(tmp_path: Path, name: str) -> None:
    """What only some classes have, said by hand."""
    case, wanted = SWITCHES[name]
    config = Loaded(tmp_path, case).config
    assert {key: getattr(config, key) for key in wanted} == wanted


def test_mpt(tmp_path: Path) -> None:
    keys = {"attention.max_alibi_bias": 8.0, "attention.clamp_kqv": 6.0, "attention.head_count_kv": 4}
    config = Loaded(tmp_path, Case("mpt", "layer", keys, drop=("attn_q_norm", "attn_k_norm", "position_embd"))).config
    attention = config.attn_config
    assert (attention.alibi, attention.alibi_bias_max, attention.clip_qkv, attention.qk_ln) == (True, 8, 6.0, False)
    assert (config.expansion_ratio, config.no_bias, config.learned_pos_emb, config.max_seq_len) == (
        2,
        False,
        False,
        256,
    )


PUBLISHED = {
    "smollm2_gguf": {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "attention_bias": False, "bos_token_id": 1,
        "hidden_act": "silu", "hidden_size": 576, "intermediate_size": 1536, "max_position_embeddings": 8192,
        "mlp_bias": False, "num_attention_heads": 9, "num_hidden_layers": 30, "num_key_value_heads": 3,
        "pad_token_id": 2, "rms_norm_eps": 1e-05, "rope_theta": 100000.0, "tie_word_embeddings": True,
        "vocab_size": 49152,
    },
    "gemma_gguf": {
        "architectures": ["Gemma3ForCausalLM"], "model_type": "gemma3_text", "attention_bias": False,
        "attn_logit_softcapping": None, "bos_token_id": 2, "final_logit_softcapping": None, "head_dim": 256,
        "hidden_activation": "gelu_pytorch_tanh", "hidden_size": 640, "intermediate_size": 2048,
        "layer_types": ([LOCAL] * 5 + [GLOBAL]) * 3, "num_attention_heads": 4, "num_hidden_layers": 18,
        "num_key_value_heads": 1, "pad_token_id": 0, "query_pre_attn_scalar": 256, "rms_norm_eps": 1e-06,
        "rope_local_base_freq": 10000.0, "rope_theta": 1000000.0, "sliding_window": 512, "vocab_size": 262144,
    },
}  # fmt: skip


@pytest.mark.real
@pytest.mark.parametrize("name", PUBLISHED)
def test_published(request: pytest.FixtureRequest, name: str) -> None:
    """The published configurations, but for what a conversion chooses: context, activation type, stop tokens."""
    with GgufFile.open(request.getfixturevalue(name)) as source:
        written = hugging_face_config(make_plan(source, choose_target()), source.tokenizer())
    assert {key: written[key] for key in PUBLISHED[name]} == PUBLISHED[name]
