"""Turns with a model: each renders the chat template over all of them, and runs what the cache has not."""

from collections.abc import Callable, Mapping
from typing import Any

from converters.tokenizer.probe import Message
from mobius_cli.runtime.answer import Answer, speak
from mobius_cli.runtime.sampling import Pick
from mobius_cli.runtime.session import OnnxModel
from mobius_cli.runtime.text import TextCodec, first_messages
from mobius_cli.runtime.token_cache import never
from repack.errors import InputError


class Conversation:
    """What was said so far, and the cache that has read it.

    Attributes:
        messages: the user's and the model's, a system message first if there is one.
    """

    def __init__(
        self,
        model: OnnxModel,
        codec: TextCodec,
        pick: Pick,
        *,
        system: str | None = None,
        variables: Mapping[str, Any] | None = None,
    ) -> None:
        """A conversation in which nothing was said; the codec must have a chat template, which gets `variables`."""
        self._model, self._codec, self._pick = model, codec, pick
        self._system, self._variables = system, variables
        self._cache = model.cache(model.context_length)
        self.messages: list[Message] = []

    def clear(self) -> None:
        """Forget all but the system message."""
        self.messages = []

    def ask(
        self,
        text: str,
        say: Callable[[str], None],
        limit: int | None = None,
        stopped: Callable[[], bool] = never,
    ) -> Answer:
        """Answer a text, at most in `limit` tokens; what is raised, or stopped before a word, leaves all as it was.

        Raises:
            InputError: the conversation does not fit.
            MobiusError: the template refuses it, or the model gives no logits to choose by.
        """
        asked = [*self.messages, {"role": "user", "content": text}] if self.messages else first_messages(
            text, self._system)  # fmt: skip
        ids = self._codec.encode_chat(asked, self._variables)
        room = self._model.context_length - len(ids)
        if room <= 0:
            raise InputError(
                f"with this the conversation has {len(ids)} tokens, and the model was converted for"
                f" {self._model.context_length}",
                "/clear begins a new one; a larger --context-length at `mobius convert` makes room for longer ones",
            )
        answer = speak(self._model, self._codec, ids, limit or room, self._pick, say, self._cache, stopped)
        if answer.tokens:
            self.messages = [*asked, {"role": "assistant", "content": answer.text}]
        return answer
