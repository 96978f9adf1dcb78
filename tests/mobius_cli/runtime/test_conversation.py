"""Turns: each gives the tokens that a run from scratch over the same text gives, and runs only what is new."""

from collections.abc import Callable

import pytest

from mobius_cli.runtime.conversation import Conversation
from mobius_cli.runtime.decoding import Decoding
from mobius_cli.runtime.sampling import Sampling, most_likely, picker
from mobius_cli.runtime.session import OnnxModel
from mobius_cli.runtime.text import TextCodec
from repack.errors import InputError, MobiusError
from tests.support.cli import mobius
from tests.support.tiny import write_tiny

END = "<|endoftext|>"
TEMPLATE = (
    "{% for m in messages %}[{{ m.role[0] }}]{{ m.content }}"
    "{% if m.role == 'assistant' %}" + END + "{% endif %}{% endfor %}[a]"
)
Opened = tuple[OnnxModel, TextCodec]


def wanted_text(*texts: str, system: str = "") -> str:
    """What the template gives, put together by hand: user's and model's texts in turn."""
    parts = [f"[u]{text}" if i % 2 == 0 else f"[a]{text}{END}" for i, text in enumerate(texts)]
    return (f"[s]{system}" if system else "") + "".join(parts) + "[a]"


@pytest.fixture(scope="module", params=["onnx", "cpu"])
def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Opened:
    base = tmp_path_factory.mktemp("conversation")
    extra = {"tokenizer.chat_template": TEMPLATE}
    path = write_tiny(base / "t.gguf", "llama", types="Q8_0", tokenizer="bpe", n_ctx=160, extra_metadata=extra)
    done = mobius("convert", path, "-o", base / "d", "--ep", request.param)
    assert done.exit_code == 0, done.stderr
    # Activations stay float: rounded to 8 bits, steps and passes differ where two tokens are nearly even.
    return OnnxModel(base / "d", threads=1, accuracy_level=0, last_logits=True), TextCodec(base / "d")


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many tokens each run of a model takes."""
    found: list[int] = []
    run = Decoding.run

    def counted(self: Decoding, ids: list[int]) -> object:
        found.append(len(ids))
        return run(self, ids)

    monkeypatch.setattr(Decoding, "run", counted)
    return found


def conversation(opened: Opened, system: str | None = None) -> Conversation:
    return Conversation(*opened, most_likely, system=system)


def after(count: int) -> Callable[[], bool]:
    """Says that it is time to stop after having been asked so often."""
    left = iter([False] * count)
    return lambda: next(left, True)


def ignore(piece: str) -> None:
    pass


def test_three_turns_equal_runs_from_scratch(opened: Opened) -> None:
    model, codec = opened
    talk = conversation(opened, system="be hello")
    said: list[str] = []
    for text in ("hello world", "the hello", "www"):
        answer = talk.ask(text, ignore, 12)
        said.append(text)
        ids = codec.encode(wanted_text(*said, system="be hello"))
        assert list(answer.prompt_ids) == ids
        assert list(answer.tokens) == list(model.greedy(ids, 12))
        said.append(answer.text)
    assert len({message["content"] for message in talk.messages}) == 7


def test_only_new_tokens_are_run(opened: Opened, runs: list[int]) -> None:
    """As many as differ from what was read: the first prompt, and all of the answer but its last token."""
    talk = conversation(opened)
    first = talk.ask("hello world", ignore, 6)
    assert runs == [len(first.prompt_ids), 1, 1, 1, 1, 1]
    runs.clear()
    second = talk.ask("the hello", ignore, 1)
    read = [*first.prompt_ids, *first.tokens[:-1]]
    shared = next(i for i, (a, b) in enumerate(zip([*read, -1], second.prompt_ids, strict=False)) if a != b)
    assert runs == [len(second.prompt_ids) - shared]
    assert shared >= len(first.prompt_ids)


def test_a_stopped_answer_is_kept(opened: Opened) -> None:
    model, codec = opened
    talk = conversation(opened)
    pieces: list[str] = []
    answer = talk.ask("hello", pieces.append, 12, after(4))  # once before the prompt, once before each token
    assert (answer.end, len(answer.tokens)) == ("an interrupt", 3)
    assert "".join(pieces) == answer.text
    following = talk.ask("the", ignore, 8)
    ids = codec.encode(wanted_text("hello", answer.text, "the"))
    assert list(following.tokens) == list(model.greedy(ids, 8))


def test_stopped_before_a_word_nothing_was_said(opened: Opened) -> None:
    talk = conversation(opened)
    talk.ask("hello", ignore, 3)
    before = talk.messages
    assert talk.ask("the", ignore, 3, after(0)).end == "an interrupt"
    assert talk.messages == before


def test_clear(opened: Opened) -> None:
    talk = conversation(opened, system="be")
    first = talk.ask("hello", ignore, 5)
    talk.ask("the", ignore, 5)
    talk.clear()
    again = talk.ask("hello", ignore, 5)
    assert (again.prompt_ids, again.tokens) == (first.prompt_ids, first.tokens)


def test_the_limit_and_the_context(opened: Opened) -> None:
    model, codec = opened
    talk = conversation(opened)
    assert talk.ask("hello", ignore, 4).end == "the limit"
    talk.clear()
    answer = talk.ask("hello", ignore)
    if answer.end != "a stop token":
        assert answer.end == "the end of the context"
        assert len(answer.prompt_ids) + len(answer.tokens) == model.context_length == 160
    long = "hw" * 100
    before = talk.messages
    with pytest.raises(InputError) as refused:
        talk.ask(long, ignore)
    length = len(codec.encode(wanted_text("hello", answer.text, long)))
    assert f"has {length} tokens, and the model was converted for 160" in refused.value.message
    assert "/clear" in refused.value.hint
    assert talk.messages == before


def test_a_template_that_refuses(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    model, codec = opened
    only_one = "{% if messages | length > 1 %}{{ raise_exception('one turn') }}{% endif %}{{ messages[0].content }}"
    monkeypatch.setattr(codec, "chat_template", only_one)
    talk = Conversation(model, codec, most_likely)
    talk.ask("hello", ignore, 2)
    with pytest.raises(MobiusError, match="one turn"):
        talk.ask("again", ignore, 2)
    assert [message["content"] for message in talk.messages][:1] == ["hello"]


def test_a_seed_repeats_a_conversation(opened: Opened) -> None:
    def texts(seed: int) -> list[str]:
        talk = Conversation(*opened, picker(Sampling(temperature=1.0, top_k=50), seed))
        return [talk.ask(text, ignore, 6).text for text in ("hello", "the")]

    assert texts(1) == texts(1)
    assert texts(1) != texts(2)
