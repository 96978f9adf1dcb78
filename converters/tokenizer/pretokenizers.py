"""How llama.cpp cuts text into words before byte-level BPE, by the name in `tokenizer.ggml.pre`."""

from dataclasses import dataclass

from repack.errors import MobiusError

_CONTRACTIONS = "'s|'t|'re|'ve|'m|'ll|'d"
_ANY_CASE_CONTRACTIONS = "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
_LINES_AND_SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"

_GPT2 = _CONTRACTIONS + r"| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def _words_and_digits(digits: str, letters: str = r"\p{L}", word: str = r"\p{L}\p{N}") -> str:
    return (
        rf"{_ANY_CASE_CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?{letters}+|{digits}"
        rf"| ?[^\s{word}]+[\r\n]*|{_LINES_AND_SPACES}"
    )


@dataclass(frozen=True)
class PreTokenizer:
    """Patterns applied one after the other: each cuts the pieces of the one before.

    Both what a pattern matches and what lies between matches become pieces. Checked against llama.cpp
    for every character: only some that came with Unicode 16 are letters or marks in one and not in the other.
    """

    names: tuple[str, ...]
    patterns: tuple[str, ...]
    # A word that is a token is that token, whatever the merges would make of it.
    whole_words: bool = False
    # Whether a BOS token comes first when the file does not say.
    add_bos: bool = False
    # onnxruntime-genai knows certain patterns only, and does not load a file with others.
    loads_in_genai: bool = True


DEFAULT = PreTokenizer(
    ("default",),
    (r"[\p{P}$+<=>^~|]+", _GPT2, r"\p{N}+", "[0-9][0-9][0-9]"),
    loads_in_genai=False,
)

PRE_TOKENIZERS = (
    DEFAULT,
    PreTokenizer(
        ("gpt-2", "phi-2", "gigachat", "a.x-4.0", "mellum", "mpt", "olmo", "jais", "trillion", "exaone4"),
        (_GPT2,),
    ),
    PreTokenizer(
        ("smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"),
        (r"\p{N}", _GPT2),
    ),
    PreTokenizer(
        (
            "llama3",
            "llama-v3",
            "llama-bpe",
            "falcon3",
            "falcon-h1",
            "pixtral",
            "midm-2.0",
            "lfm2",
        ),
        (_words_and_digits(r"\p{N}{1,3}"),),
        whole_words=True,
        add_bos=True,
    ),
    PreTokenizer(("dbrx", "smaug-bpe", "chatglm-bpe"), (_words_and_digits(r"\p{N}{1,3}"),)),
    PreTokenizer(("glm4",), (_words_and_digits(r"\p{N}{1,3}"),), whole_words=True),
    PreTokenizer(
        ("qwen2", "deepseek-r1-qwen", "stablelm2", "hunyuan", "megrez", "grok-2"),
        (_words_and_digits(r"\p{N}"),),
    ),
    PreTokenizer(("qwen35",), (_words_and_digits(r"\p{N}", letters=r"[\p{L}\p{M}]", word=r"\p{L}\p{M}\p{N}"),)),
    PreTokenizer(
        ("deepseek-v3", "hunyuan-dense"),
        (
            r"\p{N}{1,3}",
            "[一-龥぀-ゟ゠-ヿ]+",
            r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"""
            rf"| ?[\p{{P}}\p{{S}}]+[\r\n]*|{_LINES_AND_SPACES}",
        ),
    ),
)

_BY_NAME = {name: entry for entry in PRE_TOKENIZERS for name in entry.names}


def find_pre_tokenizer(name: str) -> PreTokenizer:
    """The entry for a name; an unknown name is refused, for guessing gives other token ids."""
    try:
        return _BY_NAME[name]
    except KeyError:
        raise MobiusError(
            f"the pre-tokenizer '{name}' (tokenizer.ggml.pre) is not supported",
            f"supported: {', '.join(sorted(_BY_NAME))}",
        ) from None
