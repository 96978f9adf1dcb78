"""What everything that emits nodes has at hand, and what it may ask of a target's operators."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np

from converters.graph.graph import Graph, Value
from converters.graph.recurrent import (
    ConvolutionInputs,
    DeltaInputs,
    KeyedInputs,
    RateInputs,
    ReplaceInputs,
    ScanInputs,
    SelectiveInputs,
)
from converters.graph.routers import RouterRecord
from converters.graph.states import State
from converters.target import Target

T = TypeVar("T")


@dataclass(frozen=True)
class SequenceInputs:
    """Inputs that layers share: lengths of the sequences and the mask's length, int32; and where tokens stand."""

    sequence_lengths: Value  # [batch], minus one
    total_length: Value  # scalar
    input_ids: Value  # [batch, sequence]
    mask: Value  # [batch, past and sequence]
    last_position: Value  # [batch], int64


@dataclass(frozen=True)
class OperatorRope:
    """Rotary embedding inside of an attention operator: turned channels, and cos and sin [context, dim / 2]."""

    dim: int
    tables: Callable[[], tuple[Value, Value]]


@dataclass(frozen=True)
class OperatorHeadNorms:
    """Norms of q and k inside of an attention operator: a weight vector for all heads of each."""

    q: Value
    k: Value
    epsilon: float


@dataclass(frozen=True)
class Heads:
    """Numbers of an attention operator: key channels `dim`, value channels `value_dim`; what it does to q and k.

    `sink`: one more score for each head, [count], which takes its share of the softmax and no value. `chunk`: a token
    sees those of its own chunk of so many only.
    """

    count: int
    kv_count: int
    dim: int
    value_dim: int
    scale: float
    window: int | None = None
    softcap: float = 0.0
    max_alibi_bias: float = 0.0
    rope: OperatorRope | None = None
    norms: OperatorHeadNorms | None = None
    sink: Value | None = None
    chunk: int | None = None


class AttentionOperator(Protocol):
    """Attention of an operator set, with its key/value states."""

    def rotates(self, rope_dim: int) -> bool:
        """Whether the operator turns `rope_dim` channels of q and k itself."""

    def norms_heads(self, target: Target, heads: Heads) -> bool:
        """Whether it norms each head of q and k itself, before it turns them."""

    def takes_packed(self, heads: Heads) -> bool:
        """Whether it takes q, k and v side by side in one value."""

    def holds(self, target: Target, heads: Heads) -> bool:
        """Whether heads may be so wide."""

    def positions(self, c: "GraphContext", inputs: SequenceInputs) -> Value:
        """Position of each token of the step in its own text, int64 [batch, sequence], as the states' places are."""

    def real(self, c: "GraphContext", inputs: SequenceInputs) -> Value:
        """Which of the step's tokens are no padding, bool [batch, sequence]."""

    @property
    def pads_behind(self) -> bool:
        """Whether padding can only stand behind a text."""

    def guard(self, c: "GraphContext", y: Value, inputs: SequenceInputs) -> Value:
        """y, the first block's result [batch, sequence, hidden], spoilt where padding stands as it must not."""

    def emit(
        self,
        c: "GraphContext",
        q: Value,
        k: Value | None,
        v: Value | None,
        heads: Heads,
        layer: int,
        inputs: SequenceInputs,
    ) -> Value:
        """q [batch, sequence, count * dim], k and v alike, or all in q -> [batch, sequence, count * value_dim].

        Adds the layer's states to the graph.
        """

    def emit_shared(self, c: "GraphContext", q: Value, heads: Heads, owner: int, inputs: SequenceInputs) -> Value:
        """As `emit`, over the keys and values of a layer before, `owner`, behind this step; adds no states."""


class OperatorSet(Protocol):
    """How the operators of a target are written, and what they can do."""

    @property
    def opset(self) -> int:
        """Of ONNX's own operators."""

    @property
    def adds_before_norm(self) -> bool:
        """Whether `add_norm` is there: the residual's addition and the norm behind it in one node."""

    @property
    def attention(self) -> AttentionOperator:
        """Its attention."""

    @property
    def states_in_place(self) -> bool:
        """Whether a recurrent state's input and output may be one buffer."""

    def convolve(self, c: "GraphContext", given: ConvolutionInputs, past: Value) -> tuple[Value, Value]:
        """A convolution behind `past` [batch, kernel - 1, channels]: (result as x, past and x side by side).

        result[t] = sum over j of weight[:, j] * x[t - (kernel - 1) + j]. What reads the second result runs after
        everything that reads `past`; behind past and x it may have more.
        """

    def delta_rates(self, c: "GraphContext", given: RateInputs) -> tuple[Value, Value]:
        """(rate * softplus(alpha + bias), sigmoid(beta))."""

    def softplus(self, c: "GraphContext", x: Value, bias: Value) -> Value:
        """softplus(x + bias), x [batch, sequence, heads], bias [heads], float32."""

    def gated_shape(self, target: Target, heads: int, dim: int, value_dim: int) -> tuple[int, ...]:
        """Of the state of a gated delta rule or scan, behind the batch: [heads, dim, value_dim], or turned."""

    def gated_delta(self, c: "GraphContext", given: DeltaInputs, past: Value) -> tuple[Value, Value]:
        """The gated delta rule from a state of `gated_shape`: (result as v, the state behind the step).

        S = exp(decay) S; S += k (beta (v - S^T k))^T; result = scale * S^T q. Head h reads q and k of group
        h // (heads / groups). `keyed`, a state is [batch, heads, dim, value_dim].
        """

    def replacing_delta(self, c: "GraphContext", given: ReplaceInputs, past: Value) -> tuple[Value, Value]:
        """A delta rule with a key to forget from a state [batch, heads, dim, dim]: (result as v, the state behind it).

        S = exp(decay) S - (exp(rate) old) (S^T old)^T + k v^T, the S on the right as it was; result = S^T q.
        """

    def gated_scan(self, c: "GraphContext", given: ScanInputs, past: Value) -> tuple[Value, Value]:
        """A gated scan from a state of `gated_shape`: (result as v, the state behind the step).

        S = exp(decay) S; S += k v^T; result = scale * S^T q. Head h reads q and k of group h // (heads / groups).
        """

    def keyed_scan(self, c: "GraphContext", given: KeyedInputs, past: Value) -> tuple[Value, Value]:
        """Linear attention from a state [batch, heads, dim, dim]: (result as v, the state behind the step).

        S = exp(decay) S, row by row; S += k v^T; result = S^T q.
        """

    def selective_shape(self, target: Target, channels: int, size: int) -> tuple[int, ...]:
        """Of a selective scan's state, behind the batch."""

    def selective_scan(self, c: "GraphContext", given: SelectiveInputs, past: Value) -> tuple[Value, Value]:
        """A selective scan from a state: (result as x, the state behind the step).

        S[channel] = exp(step * rate[channel]) S[channel] + step * x * k; result = S[channel] . q.
        """

    def rms_norm(self, c: "GraphContext", x: Value, weight: Value, epsilon: float) -> Value:
        """Root-mean-square norm over the last axis, in float32."""

    def add_norm(
        self, c: "GraphContext", residual: Value, x: Value, weight: Value, bias: Value | None, kind: str, epsilon: float
    ) -> tuple[Value, Value]:
        """(norm(residual + x), residual + x)."""

    def norm_and_gate(self, c: "GraphContext", x: Value, weight: Value, gate: Value, epsilon: float) -> Value:
        """rms_norm(each head of x) * silu(gate); x and gate [batch, sequence, heads * channels], weight [channels]."""

    def silu(self, c: "GraphContext", x: Value) -> Value:
        """x * sigmoid(x)."""

    def gelu_tanh(self, c: "GraphContext", x: Value) -> Value:
        """GELU by its tanh approximation."""

    def matmul_transposed(self, c: "GraphContext", x: Value, weight: Value) -> Value:
        """x @ weight.T without moving the weight, which stays as the file has it."""

    def rotary(
        self, c: "GraphContext", x: Value, tables: tuple[Value, Value], positions: Value, heads: int, dim: int
    ) -> Value:
        """x [batch, sequence, heads * channels] with `dim` channels of each head turned, halves paired."""


@dataclass
class GraphContext:
    """Graph, target and its operators; `memo` keeps values that several nodes share (block sums, rotary tables).

    `states` are those that layers have declared so far, in the order of the graph's inputs; `kept` is what they become
    in this step, by layer and part; `routers` where experts are chosen so far. `norms_heads`: an attention operator
    norms q and k itself, which not every provider can. `runtimes`: versions of ONNX Runtime that are needed, all of
    them, beside the target's own.
    """

    graph: Graph
    target: Target
    operators: OperatorSet
    context_length: int
    states: list[State] = field(default_factory=list)
    kept: dict[tuple[int, str], Value] = field(default_factory=dict)
    routers: list[RouterRecord] = field(default_factory=list)
    norms_heads: bool = False
    memo: dict[Hashable, Any] = field(default_factory=dict)
    runtimes: set[str] = field(default_factory=set)

    def needs_runtime(self, version: str) -> None:
        """Say that what is emitted needs a version of ONNX Runtime: older ones have it not, or compute it wrong."""
        self.runtimes.add(version)

    def number(self, name: str, value: float, dtype: str | None = None) -> Value:
        """A scalar constant, in the activation type unless `dtype` says otherwise."""
        kind = dtype or self.target.dtype
        return self.graph.constant(f"{name}_{value:.9g}_{kind}", np.array(value, kind))

    def integer(self, name: str, value: int) -> Value:
        """A scalar int64 constant."""
        return self.graph.constant(name, np.array(value, np.int64))

    def shared(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` makes, once for each key."""
        if key not in self.memo:
            self.memo[key] = make()
        found: T = self.memo[key]
        return found

    def add_states(
        self, layer: int, shapes: Mapping[str, tuple[int | str, ...]], in_place: bool, dtype: str | None = None
    ) -> list[State]:
        """Declare states of a layer by part, as graph inputs; `keep` closes the circle.

        In the activation type, unless `dtype` says otherwise. All blocks of a layer have one index.
        """
        index = next((s.index for s in self.states if s.layer == layer), len({s.index for s in self.states}))
        kind = dtype or self.target.dtype
        made = [State(part, index, layer, kind, shape, in_place) for part, shape in shapes.items()]
        self.states += made
        return made

    def past(self, state: State) -> Value:
        """The graph input of a state."""
        return self.graph.input(state.input, state.dtype, state.shape)

    def keep(self, state: State, value: Value) -> None:
        """Make `value` what the next run gets in place of the state."""
        self.graph.output(value, state.output, state.dtype, state.output_shape)
        self.kept[state.layer, state.part] = value
