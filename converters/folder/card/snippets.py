"""Programs in a model card: one for each runtime that can run the folder, as they are run in tests."""

from dataclasses import dataclass

from converters.archs.hugging_face import HuggingFace
from converters.folder.card import programs
from converters.plan import Plan
from converters.spec import Attention
from converters.tokenizer.export import TokenizerFiles

CUT_TURN = (
    "onnxruntime-genai 0.18 loses the last token of a turn that the length limit cuts: it was not run yet, and "
    "`append_tokens` does not run it either. Go on with a new generator for the whole text."
)


@dataclass(frozen=True)
class Snippet:
    """A program, the language of its code block, and what to know before."""

    title: str
    language: str
    code: str
    before: str = ""


def snippets(plan: Plan, tokens: TokenizerFiles, named: HuggingFace | None) -> list[Snippet]:
    """Those that the target and the model can run, inside of the folder; none without a tokenizer."""
    if tokens.tokenizer_json is None:
        return []
    target, chat = plan.target, tokens.chat_template is not None
    code = programs.genai(chat, tokens.bos_token_id if tokens.add_bos else None)
    found = [Snippet("onnxruntime-genai", "python", code, f"`pip install {target.genai_package}`. {CUT_TURN}")]
    if target.dtype != "bfloat16":  # of which numpy has no arrays
        packages = f"`pip install {target.runtime_package} numpy tokenizers`"
        found.insert(
            0, Snippet("onnxruntime", "python", programs.onnxruntime(target.provider, plan.files), f"{packages}.")
        )
    if named is None or any(state.in_place for state in plan.states):  # others make an empty cache, which grows
        return found
    if _optimum_makes_the_cache(plan, named):
        before = "`pip install optimum-onnx onnxruntime torch`."
        found.append(Snippet("optimum", "python", programs.optimum(chat, plan.files), before))
    if named.transformers_js:
        before = "`npm install @huggingface/transformers`; the program is an ES module."
        found.append(Snippet("transformers.js", "js", programs.transformers_js(chat, plan.files), before))
    return found


def _optimum_makes_the_cache(plan: Plan, named: HuggingFace) -> bool:
    """Whether the shape that it finds in config.json is the graph's: it does not look at the graph."""
    mixer = plan.spec.attention
    if not isinstance(mixer, Attention) or named.optimum is None or mixer.value_dim != mixer.head_dim:
        return False
    grouped = mixer.kv_heads == mixer.heads or "kv_heads" in named.optimum
    sized = mixer.head_dim == plan.spec.hidden // mixer.heads or "head_dim" in named.optimum
    return grouped and sized
