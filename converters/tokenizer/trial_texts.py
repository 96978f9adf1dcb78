"""Texts on which tokenizers differ."""

TEXTS = (
    # white space
    "", " ", "  ", "   ", "\n", "\n\n", "\n\n\n\n\n", "\t", "\t\t", " \n ", " \t a", "Hello", " Hello", "Hello ",
    "  two before, two after  ", "a b  c   d    e     f", "word" + " " * 33 + "word", "a\r\nb\r\n\r\nc\rd",
    "one\n\ntwo\n \n three", "non\u00a0breaking\u3000wide\u2028line\u200bzero\u200dwidth\ufeff\u00adend",
    # numbers, contractions, case
    "1", "12", "123", "1234", "1234567890", "3.14159, 1,000,000 and 2026-11-30T12:00", "0x1F 1e-5 x2 2x",
    "it's we'll I'M DON'T they've y'all'd've 'tis", "camelCase HTMLParser snake_case SCREAMING_CASE kebab-case",
    # punctuation and code
    "!!! ??? ... --- ___ *** ((()))", "$100 + 20% = <120> & |x| ~ ^y^ `z` @home #1", '"quoted", said (he); [1]: {2}',
    "def f(x):\n    return x ** 2  # no\n\n\nclass A:\n\tpass\n", "for (int i = 0; i < 10; ++i) {\n\t\ta[i] += 1;\n}",
    "https://example.org/a/b?c=d&e=%20#f", "C:\\dir\\file.txt /usr/bin", '{"key": [1, 2.5, null], "é": "\\n"}',
    # other scripts
    "Привет, мир! Ёлка 5 шт.", "Γειά σου Κόσμε", "你好，世界。我有3个苹果！", "こんにちは カタカナ 日本語です。",
    "안녕하세요 세계", "مرحبا بالعالم ١٢٣", "שלום עולם", "नमस्ते दुनिया १२३", "สวัสดีชาวโลก ๑๒๓", "Xin chào thế giới",
    "naïve café — “quoted” ‘single’… ¿qué?", "e\u0301 u\u0308 n\u0303 A\u030a", "ß İ ı ſ ﬁ Å Ω K", "① ² ½ Ⅷ ㎏ Ａ１",
    "∑ ∫ √2 ≠ ≤ ∞ → ⇒", "😀 👍🏽 👨\u200d👩\u200d👧 🇩🇪 ❤\ufe0f ☺", "𝓗𝔢𝕝𝟏𝟐 𠀀 𐍈", "mixed中文text한글and😀emoji",
    # what looks like tokens, and what has none
    "<s> </s> <unk> <pad> <mask> <|im_start|> <|endoftext|> [INST] [CLS] <0x0A>", "▁a ▁▁b Ġc Ċd ##e", "\x07\x1b\x7f",
    "\ufffd\ue000", "a" * 100, "ab" * 40, "=" * 70, "\u0e33\u0e33\u0301\u0301\u0301",
)  # fmt: skip
