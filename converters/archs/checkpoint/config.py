"""A config.json read with reasons: every key is honoured, harmless, or refused."""

from collections.abc import Mapping
from typing import Any

from repack.errors import MobiusError

# What no forward pass of a decoder reads: how it was trained, saved or cached, and what a tokenizer needs.
HARMLESS = {
    "architectures", "model_type", "torch_dtype", "dtype", "transformers_version", "use_cache", "initializer_range",
    "attention_dropout", "bos_token_id", "eos_token_id", "pad_token_id", "_name_or_path", "pretraining_tp",
    "quantization_config", "quantization", "compression_config", "router_aux_loss_coef", "output_router_logits",
    "return_dict", "output_hidden_states", "output_attentions", "id2label", "label2id",
    "chunk_size_feed_forward", "is_encoder_decoder", "problem_type", "torchscript", "use_bfloat16",
}  # fmt: skip
# Keys that ask for nothing by these values; None does so for every key.
NEUTRAL: dict[str, Any] = {"use_sliding_window": False, "is_decoder": False, "add_cross_attention": False}
_MISSING = object()


class Config:
    """The keys of one config.json; remembers which were read."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values
        self._read: set[str] = set()

    def get(self, key: str, default: Any = None) -> Any:
        """The value as it is."""
        self._read.add(key)
        found = self._values.get(key, default)
        return default if found is None else found

    def raw(self, key: str, default: Any) -> Any:
        """The value as it is, null too; the default only where there is none."""
        self._read.add(key)
        return self._values.get(key, default)

    def integer(self, key: str, default: int | None = None) -> int:
        """A whole number of at least 1."""
        value = self.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise self.wrong(key, value, "a whole number of at least 1")
        return value

    def number(self, key: str, default: float | None = None) -> float:
        """A positive number."""
        value = self.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
            raise self.wrong(key, value, "a positive number")
        return float(value)

    def expect(self, key: str, wanted: Any, default: Any = _MISSING) -> None:
        """Refuse any other value; a key that is missing has the default, else the wanted value."""
        value = self.get(key, wanted if default is _MISSING else default)
        if value != wanted:
            raise self.wrong(key, value, repr(wanted))

    def check_all_read(self) -> None:
        """Refuse what nobody read and what may change the computation.

        Raises:
            MobiusError: there is such a key.
        """
        for key, value in self._values.items():
            known = key in self._read or key in HARMLESS or value is None
            if not known and not (key in NEUTRAL and NEUTRAL[key] == value):
                raise MobiusError(
                    f"config.json: {key} = {value!r:.60} is not understood, and could change the output",
                    "report the model to the project, or convert its GGUF",
                )

    def wrong(self, key: str, value: Any, wanted: str) -> MobiusError:
        """The error for a value that is not supported."""
        if value is None:
            return MobiusError(f"config.json has no {key}", "it is incomplete: download the model again")
        return MobiusError(
            f"config.json: {key} is {value!r:.60}; supported: {wanted}", "convert a GGUF of the model instead"
        )
