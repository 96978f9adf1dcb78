"""Ids with a role and stop ids, against llama.cpp where it loads the file."""

import random
import re
from pathlib import Path
from typing import Any

import pytest

from converters.tokenizer import export_tokenizer
from tests.converters.tokenizer.support.vocab_files import (
    CONTROL,
    NORMAL,
    UNUSED,
    USER_DEFINED,
    assert_same_as_llama,
    byte_level,
    sentencepiece,
)
from tests.support.llama_vocab import LlamaVocab


def _special(*texts: str, kind: int = CONTROL) -> dict[str, int]:
    return {"<|endoftext|>": CONTROL, **dict.fromkeys(texts, kind)}


@pytest.mark.parametrize(
    ("special", "stops"),
    [
        (_special("<|im_start|>", "<|im_end|>"), {"<|endoftext|>", "<|im_end|>"}),
        (_special("<|eot_id|>", "<|eom_id|>", "<turn>"), {"<|endoftext|>", "<|eot_id|>", "<|eom_id|>"}),
        (_special("<end_of_turn>", kind=USER_DEFINED), {"<|endoftext|>", "<end_of_turn>"}),
        (_special("</s>", "<b>", kind=NORMAL), {"<|endoftext|>", "</s>"}),
        (_special("<fim_prefix>", "<fim_suffix>", "<fim_pad>"), {"<|endoftext|>", "<fim_pad>"}),
        (_special("<PRE>", "<reponame>", "<|file_sep|>", kind=NORMAL), {"<|endoftext|>", "<reponame>", "<|file_sep|>"}),
        (_special("<|end|>", "<|return|>"), {"<|endoftext|>", "<|end|>", "<|return|>"}),
        (_special("<|end|>", "<|return|>", "<|call|>"), {"<|endoftext|>", "<|return|>", "<|call|>"}),
        (_special("<|end|>", "<|flush|>", "<|calls|>"), {"<|endoftext|>", "<|flush|>", "<|calls|>"}),
        (_special("<|tool_response>", "</s>"), {"<|endoftext|>", "<|tool_response>"}),
        (_special("<|plamo:eos|>", "</s>"), {"<|endoftext|>", "</s>"}),
        (_special("<|plamo:file_separator|>", kind=NORMAL), {"<|endoftext|>", "<|plamo:file_separator|>"}),
        (_special("<|plamo:fim_prefix|>", "<|plamo:fim_suffix|>", kind=NORMAL), {"<|endoftext|>"}),
        (_special("<|plamo:fim_middle|>", kind=NORMAL), {"<|endoftext|>"}),
        (_special("<|channel|>", "<|start|>"), {"<|endoftext|>"}),
    ],
)  # fmt: skip
def test_stops_by_text(special: dict[str, int], stops: set[str], tmp_path: Path) -> None:
    metadata = byte_level(special=special, pre="gpt-2")
    texts = [f"a{text} b {text}{text}" for text in special]
    files = assert_same_as_llama(metadata, texts, tmp_path)
    assert {metadata["tokenizer.ggml.tokens"][i] for i in files.eos_token_ids} == stops


@pytest.mark.parametrize(
    "key", ["eot_token_id", "eom_token_id", "fim_pad_token_id", "fim_rep_token_id", "fim_sep_token_id"]
)
def test_stops_by_key(key: str, tmp_path: Path) -> None:
    metadata = byte_level(pre="gpt-2", **{key: 65})
    files = assert_same_as_llama(metadata, ["a"], tmp_path)
    assert files.eos_token_ids == (metadata["tokenizer.ggml.eos_token_id"], 65)


# What llama.cpp looks for, and what only looks like it, such as the ends of turns in other templates.
_TEXTS = re.findall(
    r"\S+",
    "<|eot_id|> <|im_end|> <|end|> <|return|> <|call|> <|flush|> <|calls|> <end_of_turn> <|endoftext|> </s> <|eom_id|> "
    "<EOT> _<EOT> [EOT] [EOS] <|end_of_text|> <end_of_utterance> <eos> <turn|> <|tool_response> "
    "<｜end▁of▁sentence｜> [e~[ <|ifm|im_end|> <|plamo:eos|> <|END_OF_TURN_TOKEN|> <|eot|> <|end_of_turn|> <|eos|> "
    "<|endofturn|> <|turn_end|> <|role_end|> <seed:eos> <|EOT|> <|endofresponse|> <s> <unk> [PAD] <|fim_pad|> <PAD> "
    "<fim-pad> <fim_pad> <|fim_repo|> <|repo_name|> <fim-repo> <REPO> <reponame> <|file_sep|> <|plamo:file_separator|> "
    "<|channel|> <|message|> <|start|> <|constrain|> <|im_start|> <|im_sep|> <bos> <|code_prefix|> <unused1> EOS",
)


@pytest.mark.parametrize("kind", [NORMAL, CONTROL, USER_DEFINED, UNUSED])
def test_every_text_alone(kind: int, tmp_path: Path) -> None:
    for text in _TEXTS:
        metadata = byte_level(special={"<zz>": CONTROL, text: kind}, pre="gpt-2")
        assert_same_as_llama(metadata, [f"a{text}b"], tmp_path)


@pytest.mark.parametrize("seed", range(40))
def test_texts_together(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    warnings: tuple[str, ...] = ("by chance",)
    while any("by chance" in warning for warning in warnings):  # two texts of one role: llama.cpp takes either
        special = {text: rng.choice([NORMAL, CONTROL, USER_DEFINED]) for text in rng.sample(_TEXTS, 8)}
        keys = {
            key: 256 + rng.randrange(9) for key in rng.sample(["eot_token_id", "eom_token_id", "fim_pad_token_id"], 2)
        }
        metadata = byte_level(special={"<zz>": CONTROL, **special}, pre="gpt-2", **(keys if seed % 2 else {}))
        warnings = export_tokenizer(metadata).warnings
    assert_same_as_llama(metadata, [], tmp_path)


def test_a_text_that_ends_generation_may_be_a_normal_token(tmp_path: Path) -> None:
    metadata = byte_level(special={"<|plamo:eos|>": CONTROL, "</s>": CONTROL}, pre="gpt-2")
    files = assert_same_as_llama(metadata, ["a</s>b"], tmp_path)
    assert files.eos_token_ids == (metadata["tokenizer.ggml.eos_token_id"],)


def test_two_texts_for_one_role_are_announced() -> None:
    files = export_tokenizer(byte_level(special=_special("<|fim_pad|>", "<PAD>"), pre="gpt-2"))
    assert "'<|fim_pad|>' and '<PAD>'" in files.warnings[0]
    assert len(files.eos_token_ids) == 2


def test_stop_by_key_may_have_id_zero(tmp_path: Path) -> None:
    metadata = byte_level(special=_special("<|fim_pad|>"), pre="gpt-2", fim_pad_token_id=0)
    files = assert_same_as_llama(metadata, ["a"], tmp_path)
    assert files.eos_token_ids == (metadata["tokenizer.ggml.eos_token_id"], 0)


def test_end_of_sequence_comes_first(tmp_path: Path) -> None:
    files = assert_same_as_llama(byte_level(pre="gpt-2", eos_token_id=70, eot_token_id=5), ["a"], tmp_path)
    assert files.eos_token_ids[0] == 70
    assert files.tokenizer_config["eos_token"] == byte_level()["tokenizer.ggml.tokens"][70]


def _without(metadata: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in metadata.items() if key.rpartition(".")[2] not in keys}


@pytest.mark.parametrize("add_bos", [False, True])
@pytest.mark.parametrize("name", ["gpt-2", "llama-bpe", "chatglm-bpe", "glm4", "glm5", "qwen2", "kimi-k2"])
def test_byte_level_bpe_takes_the_ids_of_llama_cpp_where_the_file_has_none(
    name: str, add_bos: bool, tmp_path: Path
) -> None:
    no_bos = name in ("chatglm-bpe", "glm4", "glm5")
    metadata = byte_level(special={"<x>": CONTROL}, pre=name, add_bos_token=add_bos and not no_bos)
    texts = ["ab", "a\x0bb", ""]
    for ids in ({}, {"bos_token_id": 9999, "eos_token_id": 9999}):
        metadata = _without(metadata, "bos_token_id", "eos_token_id")
        files = assert_same_as_llama(metadata | {f"tokenizer.ggml.{k}": v for k, v in ids.items()}, texts, tmp_path)
        # Where BOS is for nothing, an ordinary token is none: `transformers` begins with it if there is no prompt.
        assert files.bos_token_id == (_bos(tmp_path) if files.add_bos else None)
        assert files.eos_token_ids == (11,)
        assert any("names no EOS token" in warning and "token 11, 'ċ'" in warning for warning in files.warnings)
        assert any("names no BOS token" in warning for warning in files.warnings) == files.add_bos
        assert files.tokenizer_config is not None
        assert files.tokenizer_config.keys().isdisjoint(["bos_token", "eos_token"])  # they are ordinary tokens


def _bos(folder: Path) -> int:
    """llama.cpp's for the file that was compared last."""
    llama = LlamaVocab(folder / "vocab.gguf")
    try:
        return llama.bos
    finally:
        llama.close()


def test_an_assumed_id_of_a_special_token_needs_no_warning(tmp_path: Path) -> None:
    metadata = _without(byte_level(special={"<x>": CONTROL}, pre="falcon"), "bos_token_id", "eos_token_id")
    metadata["tokenizer.ggml.tokens"][11], metadata["tokenizer.ggml.tokens"][-1] = "<x>", "ċ"
    metadata["tokenizer.ggml.token_type"][[11, -1]] = CONTROL, NORMAL
    files = assert_same_as_llama(metadata, ["a<x>b", "\x0b"], tmp_path)
    assert files.tokenizer_config is not None
    assert files.tokenizer_config["bos_token"] == files.tokenizer_config["eos_token"] == "<x>"
    assert not any("token 11" in warning for warning in files.warnings)


@pytest.mark.parametrize("missing", ["bos", "eos"])
def test_ids_are_assumed_one_by_one(missing: str, tmp_path: Path) -> None:
    metadata = _without(byte_level(pre="llama-bpe", add_eos_token=True), f"{missing}_token_id")
    files = assert_same_as_llama(metadata, ["a"], tmp_path)
    warnings = [warning for warning in files.warnings if "names no" in warning]
    assert len(warnings) == 1
    assert f"{missing.upper()} token (tokenizer.ggml.{missing}_token_id)" in warnings[0]


def test_no_assumed_id_beyond_the_vocabulary_and_no_stop_at_all_is_announced(tmp_path: Path) -> None:
    metadata = {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": ["a", "b", "ab", *map(str, range(8))],
        "tokenizer.ggml.merges": ["a b"],
    }
    files = assert_same_as_llama(metadata, ["ab"], tmp_path)
    assert files.bos_token_id is None
    assert files.eos_token_ids == ()
    assert any("no token that ends generation" in warning for warning in files.warnings)
    assert not any("llama.cpp" in w for w in files.warnings if "names no" in w)


def test_a_bos_token_that_is_missing_is_announced() -> None:
    metadata = _without(byte_level(pre="glm4", add_bos_token=True), "bos_token_id")  # llama.cpp crashes on a text
    files = export_tokenizer(metadata)
    assert not files.add_bos
    assert any("names no bos token: none is added" in warning for warning in files.warnings)


def test_ids_out_of_range_are_ignored_as_in_llama_cpp(tmp_path: Path) -> None:
    metadata = sentencepiece({"ab": -1.0, "a": -2.0, "b": -3.0}, bos_token_id=99_999, eos_token_id=2)
    files = assert_same_as_llama(metadata, ["ab"], tmp_path)
    assert files.bos_token_id == 1
    assert any("bos_token_id is 99999" in warning for warning in files.warnings)


def test_id_zero_is_an_id(tmp_path: Path) -> None:
    files = assert_same_as_llama(byte_level(pre="gpt-2", bos_token_id=0, padding_token_id=0), ["a"], tmp_path)
    assert files.bos_token_id == files.pad_token_id == 0
    assert export_tokenizer(byte_level(pre="gpt-2")).pad_token_id is None


@pytest.mark.parametrize("pre", ["jina-v2-code", "jina-v2-de", "gpt-2"])
def test_a_mask_may_swallow_the_spaces_before_it(pre: str, tmp_path: Path) -> None:
    metadata = byte_level(special=_special("<mask>"), pre=pre)
    files = assert_same_as_llama(metadata, ["a <mask> b", "a\n \t<mask>", "  <mask>", "a <|endoftext|>"], tmp_path)
    assert any("'a\\u3000<mask>'" in warning for warning in files.warnings) == (pre != "gpt-2")


def test_the_mask_of_a_modern_bert(tmp_path: Path) -> None:
    metadata = {**byte_level(special=_special("[MASK]", "<mask>"), pre="gpt-2"), "general.name": "My Modern-BERT"}
    files = assert_same_as_llama(metadata, ["a [MASK] b <mask>", "\r\n[MASK]"], tmp_path)
    assert any("1 special tokens swallow" in warning for warning in files.warnings)
