"""One text, three tokenizers: `tokenizers`, onnxruntime-genai's and llama.cpp's; what genai does otherwise is known."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from tokenizers import Tokenizer

from converters.sources.gguf.file import GgufFile
from converters.tokenizer import TokenizerFiles, export_tokenizer
from tests.converters.tokenizer.support.many_strings import many_strings
from tests.converters.tokenizer.support.pre_strings import NEWER, word_strings
from tests.converters.tokenizer.support.strings import STRINGS
from tests.converters.tokenizer.support.vectors import some_special
from tests.support.genai import genai_ids, genai_tokenizer, loadable_folder
from tests.support.llama_vocab import LlamaVocab

pytestmark = pytest.mark.real

# Unicode 14 and later: genai's tables of characters are older.
_LATER = frozenset(map(chr, [0x870, *range(0x889, 0x8A0), *range(0x9FFD, 0xA000), *range(0x10780, 0x107BB)])) | NEWER
_LATER |= frozenset(map(chr, range(0x1AFF0, 0x1AFFF)))
# A control character that it takes for no white space, and some without a token in SmolLM2, where it gives the id -1.
_CONTROLS = "\x85\x04\x06\x13\x16\x1d"


@dataclass(frozen=True)
class _Three:
    name: str
    files: TokenizerFiles
    ours: Tokenizer
    genai: Any
    llama: LlamaVocab

    def differs(self, text: str) -> bool:
        ids = self.ours.encode(text, add_special_tokens=False).ids
        assert ids == self.llama.encode(text), repr(text)
        return ids != genai_ids(self.genai, text)

    def known(self, text: str) -> bool:
        """Whether a difference has a known reason: `convert` warns of Gemma's, SmolLM2's are too rare."""
        if self.name == "gemma":  # long words are cut after 101 characters or bytes, and "> </" is cut
            return bool(re.search(r"[^\s▁]{34}|> </", text))
        return not _LATER.isdisjoint(text) or any(c in text for c in _CONTROLS)


@pytest.fixture(scope="module", params=["smollm2", "gemma"])
def three(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Three]:
    pytest.importorskip("onnxruntime_genai")
    path = request.getfixturevalue(f"{request.param}_gguf")
    with GgufFile.open(path) as source:
        files = export_tokenizer(source.metadata)
    llama = LlamaVocab(path)
    genai = genai_tokenizer(loadable_folder(tmp_path_factory.mktemp("three")), files)
    yield _Three(request.param, files, Tokenizer.from_buffer(files.tokenizer_json), genai, llama)
    llama.close()


def _texts(three: _Three) -> list[str]:
    special = some_special(three.ours)
    texts = [*STRINGS, *word_strings(1500, special=special), *many_strings(800, special=special)]
    return [text for text in texts if "\0" not in text]  # its texts end there


def test_ids(three: _Three) -> None:
    assert not [text for text in _texts(three) if three.differs(text) and not three.known(text)]


def test_text_of_ids(three: _Three) -> None:
    for text in _texts(three)[::3]:
        ids = three.ours.encode(text, add_special_tokens=False).ids
        shown = three.ours.decode(ids)
        if not shown or re.search("[\ufffe\uffff]", text):
            continue  # its decode answers with a replacement character
        stream = three.genai.create_stream()
        assert three.genai.decode(ids) == shown, repr(text)
        # Token by token, as one generates; tokens may end within a character.
        assert "".join(stream.decode(i) for i in ids) == shown, repr(text)
