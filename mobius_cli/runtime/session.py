"""A converted folder in ONNX Runtime: one pass over known tokens, or decoding with a cache."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime as ort

from converters.folder.manifest import Manifest, read_manifest
from converters.target import TARGETS, Target
from converters.version import numbers_of
from converters.weights.mixture import only_on_cuda
from converters.weights.nbits_matrix import QDQ_LEVEL
from mobius_cli.runtime.decoding import Decoding, ReplayedDecoding
from mobius_cli.runtime.patch import patched
from mobius_cli.runtime.sampling import Pick, most_likely
from mobius_cli.runtime.token_cache import CHUNK, TokenCache, never
from repack.errors import InputError, MobiusError

F32 = npt.NDArray[np.float32]


class OnnxModel:
    """A session on a model folder; the states of a sequence are made when it starts.

    Attributes:
        manifest: the folder's `mobius.json`.
        context_length: tokens that fit, prompt and answer together.
        stop_ids: token ids that end a turn.
    """

    def __init__(
        self,
        folder: Path,
        *,
        ep: str | None = None,
        threads: int = 0,
        accuracy_level: int | None = None,
        last_logits: bool = False,
        routers: bool = False,
    ) -> None:
        """Load the folder.

        Args:
            folder: what `mobius convert` wrote.
            ep: execution provider; the one the folder was made for when None.
            threads: of ONNX Runtime; 0 leaves the choice to it.
            accuracy_level: replaces that of every MatMulNBits node, in memory only.
            last_logits: compute logits of the last position of a pass only; `greedy` needs no others.
            routers: lay the choices of experts open; see `RoutedModel`.

        Raises:
            InputError: the folder is incomplete, or ONNX Runtime cannot load it.
            MobiusError: the execution provider is not installed.
        """
        self.folder = folder
        self.manifest = read_manifest(folder)
        self.context_length = self.manifest.target.context_length
        self.stop_ids = frozenset(self.manifest.tokenizer.eos_token_ids)
        self._suppressed = list(self.manifest.tokenizer.suppress_token_ids)
        self._target = _target(ep or self.manifest.target.name)
        _check_version(self.manifest)
        _check_heads(self.manifest, self._target)
        _check_experts(self.manifest, self._target)
        last_of = self.manifest.hidden if last_logits else None
        opened = self.manifest.routers if routers else None
        patch: dict[str, Any] = {"accuracy_level": accuracy_level, "last_of": last_of, "routers": opened}
        graph = folder / self.manifest.graph
        self._session = _open(graph, self._target, threads, patch, replays=self.manifest.in_place and not routers)
        self._sequences = 0
        self._last_logits = last_logits

    def logits(self, ids: Sequence[int], first: int = 0) -> F32:
        """Float32 logits [len(ids) - first, vocabulary] at positions `first` and later."""
        decoding = self.start(len(ids))
        rows: list[F32] = []
        for start in range(0, len(ids), CHUNK):
            rows.append(decoding.run(ids[start : start + CHUNK])[max(0, first - start) :])
        return np.concatenate(rows)

    def greedy(self, ids: Sequence[int], limit: int) -> Iterator[int]:
        """As `generate`, most likely first."""
        return self.generate(ids, limit, most_likely)

    def generate(
        self,
        ids: Sequence[int],
        limit: int,
        pick: Pick,
        cache: TokenCache | None = None,
        stopped: Callable[[], bool] = never,
    ) -> Iterator[int]:
        """Up to `limit` tokens after `ids`; ends after a stop id, which is yielded, or at the end of the context.

        Args:
            ids: the prompt.
            limit: the most tokens to generate.
            pick: chooses a token by its logits; those that must not be generated have -inf.
            cache: has the tokens of an earlier text, and gets those of this one; it must have room for all.
            stopped: whether to end before the next token.

        Raises:
            InputError: the prompt does not fit.
            MobiusError: the model gives no logits to choose by.
        """
        total = min(len(ids) + limit, self.context_length)
        if len(ids) >= self.context_length:
            raise InputError(
                f"the prompt has {len(ids)} tokens, the model was converted for {self.context_length}",
                "convert with a larger --context-length",
            )
        cache = cache or self.cache(total)
        row = cache.extend_to(ids, stopped)
        for position in range(len(ids), total):
            if row is None or stopped():
                return
            token = pick(self._allowed(row))
            yield token
            if token in self.stop_ids or position == total - 1:
                return
            row = cache.append([token])

    def _allowed(self, logits: F32) -> F32:
        """Without the tokens that must not be generated."""
        if self._suppressed:
            logits = logits.copy()
            logits[self._suppressed] = -np.inf
        return logits

    def cache(self, length: int) -> TokenCache:
        """A new sequence with room for `length` positions, which can be kept from text to text."""
        return TokenCache(self.start(length))

    def start(self, length: int) -> Decoding:
        """A new sequence with room for `length` positions."""
        if length > self.context_length:
            raise InputError(
                f"{length} tokens do not fit the {self.context_length} that the model was converted for",
                "convert with a larger --context-length",
            )
        states, device = self.manifest.states, self._target.device
        if not (self._target.replays_decoding and self.manifest.in_place):
            return Decoding(self._session, states, length, device, self._last_logits)
        self._sequences += 1
        return ReplayedDecoding(self._session, states, length, device, self._last_logits, graph_id=self._sequences)


def _target(ep: str) -> Target:
    if ep not in TARGETS:
        raise InputError(f"unknown execution provider {ep!r}", f"choose one of: {', '.join(TARGETS)}")
    wanted = TARGETS[ep].provider
    if wanted not in ort.get_available_providers():
        raise MobiusError(f"this onnxruntime has no {wanted}", "install mobius-cli[gpu] for GPUs, [cpu] for CPUs")
    return TARGETS[ep]


def _check_version(manifest: Manifest) -> None:
    """Older versions refuse the folder's operators, or compute them wrong without a word."""
    oldest = manifest.target.oldest_runtime
    if numbers_of(ort.__version__) < numbers_of(oldest):
        raise MobiusError(
            f"this is onnxruntime {ort.__version__}, and the folder needs {oldest}",
            "pip install -U onnxruntime, or onnxruntime-gpu for GPUs",
        )


def _check_heads(manifest: Manifest, target: Target) -> None:
    """ONNX Runtime's CPU kernel of GroupQueryAttention has no norms of q and k."""
    if manifest.target.norms_heads and not target.norms_heads:
        raise InputError(
            f"this folder was made for {manifest.target.name}, whose attention operator norms q and k itself",
            f"convert the model again with --ep {target.name}",
        )


def _check_experts(manifest: Manifest, target: Target) -> None:
    """CUDA's kernel of QMoE wants FP4 in another order than the CPU's, which takes it and says nothing."""
    for record in manifest.tensors:
        if only_on_cuda(record) and record.source_type not in target.fused_experts:
            raise InputError(
                f"this folder was made for {manifest.target.name}, whose operator has experts of {record.source_type}"
                " in an order of its own",
                f"convert the model again with --ep {target.name}",
            )


def _open(path: Path, target: Target, threads: int, patch: dict[str, Any], *, replays: bool) -> Any:
    """A session on a graph's file; `replays`: its shapes stay, so that it may capture a CUDA graph."""
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = threads
    level = target.accuracy_level if patch["accuracy_level"] is None else patch["accuracy_level"]
    options.add_session_config_entry(QDQ_LEVEL, str(level))
    for key, value in target.session_config:
        options.add_session_config_entry(key, value)
    model: str | bytes = str(path)
    try:
        if any(change is not None for change in patch.values()):
            options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(path.parent))
            model = patched(path, **patch)
        return ort.InferenceSession(
            model, options, providers=[(target.provider, dict(target.session_options) if replays else {})]
        )
    except Exception as error:  # onnxruntime raises a dozen unrelated classes, and protobuf its own
        first = str(error).splitlines()[0][:200]
        raise InputError(f"ONNX Runtime cannot load {path}: {first}", "convert the model again") from error
