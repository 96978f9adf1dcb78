"""How llama.cpp cuts text into words before byte-level BPE, by the name in `tokenizer.ggml.pre`."""

from dataclasses import dataclass
from difflib import get_close_matches

from converters.tokenizer import pre_patterns as rx
from converters.tokenizer.spaced_bpe import PLAIN_TEXT
from repack.errors import MobiusError


@dataclass(frozen=True)
class PreTokenizer:
    """Patterns applied one after the other: each cuts the pieces of the one before.

    Both what a pattern matches and what lies between matches become pieces.
    """

    names: tuple[str, ...]
    patterns: tuple[str, ...]
    # A word that is a token is that token, whatever the merges would make of it.
    whole_words: bool = False
    # Whether a BOS token comes first when the file does not say.
    add_bos: bool = False
    # onnxruntime-genai knows certain patterns only. It does not load a file with some others,
    loads_in_genai: bool = True
    # and cuts otherwise than they say with the rest: a text for which it does.
    differs_in_genai: str = ""

    @property
    def genai_warning(self) -> str | None:
        """What to say to those who want to use onnxruntime-genai."""
        if not self.loads_in_genai:
            problem = f"does not load the pre-tokenizer '{self.names[0]}'"
        elif self.differs_in_genai:
            problem = (
                f"does not cut every text as the pre-tokenizer '{self.names[0]}' does: some get other ids, "
                f"for example {self.differs_in_genai!r}"
            )
        else:
            return None
        return f"onnxruntime-genai {problem}: encode with the tokenizers library"


def _entry(
    names: str,
    *patterns: str,
    whole_words: bool = False,
    add_bos: bool = False,
    loads_in_genai: bool = True,
    differs_in_genai: str = "",
) -> PreTokenizer:
    return PreTokenizer(tuple(names.split()), patterns, whole_words, add_bos, loads_in_genai, differs_in_genai)


# A line of nothing but spaces before one that begins with spaces: genai cuts the first one off.
_BLANK_LINE = "a\n \n  b"

DEFAULT = _entry("default", rx.PUNCTUATION, rx.GPT2, rx.DIGITS, rx.THREE_ASCII_DIGITS, loads_in_genai=False)

PRE_TOKENIZERS = (
    DEFAULT,
    _entry(
        "gpt-2 phi-2 gigachat a.x-4.0 mellum mpt olmo jais trillion exaone4 granite-docling modern-bert roberta-bpe "
        "jina-es jina-de jina-v1-en jina-v2-es jina-v2-de jina-v2-code",
        rx.GPT2,
    ),
    _entry("smollm starcoder refact command-r codeshell exaone minerva-7b mellum2", rx.DIGIT, rx.GPT2),
    _entry("falcon", rx.PUNCTUATION_AND_BACKTICK, rx.GPT2, rx.THREE_ASCII_DIGITS, differs_in_genai="</b>"),
    _entry(
        "llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano",
        rx.words(rx.UP_TO_3_DIGITS),
        whole_words=True,
        add_bos=True,
        differs_in_genai=_BLANK_LINE,
    ),
    _entry("dbrx smaug-bpe chatglm-bpe", rx.words(rx.UP_TO_3_DIGITS), differs_in_genai=_BLANK_LINE),
    _entry("glm4 glm5", rx.words(rx.UP_TO_3_DIGITS), whole_words=True, differs_in_genai=_BLANK_LINE),
    _entry("minicpm5", rx.UP_TO_3_DIGITS, rx.words(rx.UP_TO_3_DIGITS), whole_words=True, differs_in_genai=_BLANK_LINE),
    _entry("jais-2", rx.JAIS2, differs_in_genai=_BLANK_LINE),
    _entry(
        "qwen2 deepseek-r1-qwen stablelm2 hunyuan megrez grok-2 kormo f2llmv2 solar-open bailingmoe bailingmoe2 "
        "llada-moe",
        rx.words(rx.DIGIT),
        differs_in_genai=_BLANK_LINE,
    ),
    _entry("qwen35", rx.WORDS_WITH_MARKS, differs_in_genai=_BLANK_LINE),
    _entry("ufakzeka", rx.WORDS_WITHOUT_CONTRACTIONS, differs_in_genai=_BLANK_LINE),
    _entry("seed-coder", rx.WORDS_BEFORE_LINES, differs_in_genai=_BLANK_LINE),
    _entry("laguna", rx.LINE_FEEDS, rx.words(rx.DIGIT), differs_in_genai="é\na"),
    _entry("exaone-moe", rx.EXAONE_MOE, loads_in_genai=False),
    _entry("deepseek-llm", *rx.DEEPSEEK_LLM, loads_in_genai=False),
    _entry("deepseek-coder", *rx.DEEPSEEK_CODER, loads_in_genai=False),
    _entry(
        "deepseek-v3 hunyuan-dense joyai-llm hy_v4",
        *(rx.UP_TO_3_DIGITS, rx.CHINESE_OR_KANA, rx.DEEPSEEK_V3),
        differs_in_genai="❤️\u200d🔥",
    ),
    _entry(
        "spark2_5",
        *(rx.UP_TO_3_DIGITS, rx.CHINESE_OR_KANA, rx.SPARK, rx.DIGIT),
        differs_in_genai="a\n  b",
    ),
    _entry("afmoe", rx.DIGITS_FROM_THE_RIGHT, rx.AFMOE_SCRIPTS, rx.DEEPSEEK_V3, loads_in_genai=False),
    _entry("kimi-k2", rx.KIMI, differs_in_genai="a 1"),
    _entry(
        "tekken",
        rx.camel_case(rx.DIGIT, contractions=False),
        whole_words=True,
        add_bos=True,
        loads_in_genai=False,
    ),
    _entry("gpt-4o llama4 kanana2 talkie minimax-m2", rx.camel_case(rx.UP_TO_3_DIGITS), differs_in_genai="a 1"),
    _entry(
        "granite-embed-multi-97m",
        rx.camel_case(rx.UP_TO_3_DIGITS, marks=True),
        whole_words=True,
        loads_in_genai=False,
    ),
    _entry(
        "tiny_aya cohere2moe",
        *(rx.DIGITS_FROM_THE_RIGHT, rx.marked_words(rx.UP_TO_3_DIGITS)),
        loads_in_genai=False,
    ),
    _entry("youtu", rx.YOUTU_SCRIPTS, rx.marked_words(rx.DIGIT), whole_words=True, loads_in_genai=False),
    _entry("superbpe", rx.DIGITS, rx.BEFORE_GROUPS_OF_3, loads_in_genai=False),
    _entry("bloom poro-chat gpt3-finnish", rx.NOT_SENTENCE_MARKS, differs_in_genai="Привет, мир!"),
    _entry("viking", rx.NOT_SENTENCE_MARKS, rx.DIGIT, differs_in_genai="Привет, мир!"),
    _entry(
        "chameleon",
        *(rx.SENTINEL, rx.IMAGE, rx.TABS_LINE_FEEDS_INDENTS, rx.DIGIT, rx.ONE_PUNCTUATION, rx.GPT2),
        add_bos=True,
        differs_in_genai="Привет, мир!",
    ),
)

_BY_NAME = {name: entry for entry in PRE_TOKENIZERS for name in entry.names}


def find_pre_tokenizer(name: str) -> PreTokenizer:
    """The entry for a name; an unknown name is refused, for guessing gives other token ids."""
    if name in _BY_NAME:
        return _BY_NAME[name]
    known = [*_BY_NAME, *PLAIN_TEXT]
    nearest = get_close_matches(name.lower(), known, n=5, cutoff=0.3)
    raise MobiusError(
        f"the pre-tokenizer '{name}' (tokenizer.ggml.pre) is not known",
        f"known names like it: {', '.join(nearest)}" if nearest else f"known: {', '.join(sorted(known))}",
    )
