#!/usr/bin/env python3
"""Ways to write an exact Q4_K product on CUDA: microseconds of one product, replayed as a CUDA graph.

usage: python scripts/gpu_products.py [--ep cuda] [--repeat 16] [--shapes 2048x2048 ...] [--tokens 1 512]

Each way stands `--repeat` times in one graph, every time with weights at other addresses: caches do not help, and
the cost of starting a run does not count. Shapes are rows x columns.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from onnx import TensorProto, helper

BLOCK = 32
FPA = {"ep.cuda.fpa_intb_gemm": "1"}


class Sketch:
    """Nodes and initializers of one way, `repeat` times over."""

    def __init__(self, rows: int, columns: int) -> None:
        self.rows, self.columns, self.blocks = rows, columns, columns // BLOCK
        self.nodes: list[Any] = []
        self.weights: list[Any] = []
        self.rng = np.random.default_rng(0)
        self.turn = 0
        self.count = 0

    def op(self, kind: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        self.count += 1
        name = f"v{self.count}"
        self.nodes.append(helper.make_node(kind, inputs, [name], domain=domain, **attributes))
        return name

    def array(self, values: Any) -> str:
        self.count += 1
        name = f"w{self.count}"
        kind = helper.np_dtype_to_tensor_dtype(values.dtype)
        self.weights.append(helper.make_tensor(name, kind, values.shape, values.tobytes(), raw=True))
        return name

    def small(self, *shape: int) -> str:
        """Float16 scales or offsets."""
        return self.array((self.rng.random(shape, np.float32) * 1e-2).astype(np.float16))

    def product(self, x: str, bits: int = 4, *, rows: int = 0, ones: bool = False, more: tuple[str, ...] = ()) -> str:
        rows = rows or self.rows
        shape = (rows, self.blocks, BLOCK * bits // 8)
        one = {2: 0xFF, 4: 0x99, 8: 0x81}[bits]
        codes = np.full(shape, one, np.uint8) if ones else self.rng.integers(0, 256, shape, dtype=np.uint8)
        return self.op("MatMulNBits", x, self.array(codes), self.small(rows, self.blocks), *more,
                       domain="com.microsoft", K=self.columns, N=rows, bits=bits, block_size=BLOCK)  # fmt: skip

    def sums(self, x: str) -> str:
        grouped = self.op("Reshape", x, self.array(np.array([0, 0, self.blocks, BLOCK], np.int64)))
        return self.op("ReduceSum", grouped, self.array(np.array([-1], np.int64)), keepdims=0)

    def flat(self, x: str, width: int) -> str:
        return self.op("Reshape", x, self.array(np.array([-1, width], np.int64)))


def plain(s: Sketch, x: str) -> str:
    return s.product(x)


def transposed(s: Sketch, x: str) -> str:
    offset = s.small(s.rows, s.blocks)
    correction = s.op("FusedMatMul", s.sums(x), offset, domain="com.microsoft", transB=1)
    return s.op("Add", s.product(x), correction)


def straight(s: Sketch, x: str) -> str:
    return s.op("Add", s.product(x), s.op("MatMul", s.sums(x), s.small(s.blocks, s.rows)))


def gemm(s: Sketch, x: str) -> str:
    y = s.flat(s.product(x), s.rows)
    return s.op("Gemm", s.flat(s.sums(x), s.blocks), s.small(s.rows, s.blocks), y, transB=1)


def gemm_straight(s: Sketch, x: str) -> str:
    y = s.flat(s.product(x), s.rows)
    return s.op("Gemm", s.flat(s.sums(x), s.blocks), s.small(s.blocks, s.rows), y)


def ones_2(s: Sketch, x: str) -> str:
    return s.op("Add", s.product(x), s.product(x, 2, ones=True))


def ones_4(s: Sketch, x: str) -> str:
    return s.op("Add", s.product(x), s.product(x, 4, ones=True))


def stacked(s: Sketch, x: str) -> str:
    both = s.op("Reshape", s.product(x, rows=2 * s.rows), s.array(np.array([0, 2, s.rows], np.int64)))
    return s.op("ReduceSum", both, s.array(np.array([1], np.int64)), keepdims=0)


def float_points(s: Sketch, x: str) -> str:
    return s.product(x, more=(s.small(s.rows, s.blocks),))


def eight(s: Sketch, x: str) -> str:
    return s.product(x, 8)


def bias_in(s: Sketch, x: str) -> str:
    flat = s.array(np.array([-1], np.int64))
    c = s.op("FusedMatMul", s.sums(x), s.small(s.rows, s.blocks), domain="com.microsoft", transB=1)
    return s.product(x, more=("", "", s.op("Reshape", c, flat)))


def block_sums(s: Sketch, x: str) -> str:
    return s.sums(x)


def sums_by_column(s: Sketch, x: str) -> str:
    grouped = s.op("Reshape", x, s.array(np.array([0, 0, s.blocks, BLOCK], np.int64)))
    column = s.op("MatMul", grouped, s.array(np.ones((BLOCK, 1), np.float16)))
    return s.op("Reshape", column, s.array(np.array([0, 0, s.blocks], np.int64)))


def sums_by_product(s: Sketch, x: str) -> str:
    return s.op("MatMul", x, s.array(np.repeat(np.eye(s.blocks, dtype=np.float16), BLOCK, axis=0)))


def sums_by_pooling(s: Sketch, x: str) -> str:
    grouped = s.op("Reshape", x, s.array(np.array([0, 0, s.columns], np.int64)))
    return s.op("AveragePool", grouped, kernel_shape=[BLOCK], strides=[BLOCK])


def pooled(s: Sketch, x: str) -> str:
    offset = s.small(s.rows, s.blocks)
    correction = s.op("FusedMatMul", sums_by_pooling(s, x), offset, domain="com.microsoft", transB=1)
    return s.op("Add", s.product(x), correction)


def by_column(s: Sketch, x: str) -> str:
    offset = s.small(s.rows, s.blocks)
    correction = s.op("FusedMatMul", sums_by_column(s, x), offset, domain="com.microsoft", transB=1)
    return s.op("Add", s.product(x), correction)


def by_mean(s: Sketch, x: str) -> str:
    grouped = s.op("Reshape", x, s.array(np.array([0, 0, s.blocks, BLOCK], np.int64)))
    return s.op("ReduceMean", grouped, s.array(np.array([-1], np.int64)), keepdims=0)


def swiglu(s: Sketch, x: str) -> str:
    return s.op("Mul", s.op("QuickGelu", x, domain="com.microsoft", alpha=1.0), x)


def dense(s: Sketch, x: str) -> str:
    return s.op("FusedMatMul", x, s.small(s.rows, s.columns), domain="com.microsoft", transB=1)


WAYS: dict[str, tuple[Callable[[Sketch, str], str], dict[str, str]]] = {
    "4 bit, no correction": (plain, {}),
    "8 bit, no correction": (eight, {}),
    "ReduceSum, MatMul (transposed), Add": (transposed, {}),
    "ReduceSum, MatMul, Add": (straight, {}),
    "ReduceSum, Gemm with C (transposed)": (gemm, {}),
    "ReduceSum, Gemm with C": (gemm_straight, {}),
    "second MatMulNBits of 2-bit ones, Add": (ones_2, {}),
    "second MatMulNBits of 4-bit ones, Add": (ones_4, {}),
    "one MatMulNBits of twice the rows, ReduceSum": (stacked, {}),
    "bias input": (bias_in, {}),
    "fpa_intb, no correction": (plain, FPA),
    "fpa_intb, 8 bit": (eight, FPA),
    "fpa_intb, float16 zero points": (float_points, FPA),
    "float16 zero points": (float_points, {}),
    "dense float16": (dense, {}),
    "(ReduceSum alone)": (block_sums, {}),
    "(ReduceMean alone)": (by_mean, {}),
    "(sums by MatMul with a column of ones alone)": (sums_by_column, {}),
    "(sums by MatMul with a block diagonal alone)": (sums_by_product, {}),
    "(sums by AveragePool alone)": (sums_by_pooling, {}),
    "AveragePool, MatMul (transposed), Add": (pooled, {}),
    "MatMul with ones, MatMul (transposed), Add": (by_column, {}),
    "(QuickGelu and Mul alone)": (swiglu, {}),
}


def model(way: Callable[[Sketch, str], str], rows: int, columns: int, repeat: int, tokens: int) -> bytes:
    """A serialized graph that holds the way `repeat` times."""
    sketch = Sketch(rows, columns)
    results = [way(sketch, "x") for _ in range(repeat)]
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT16, None) for name in results]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT16, (1, tokens, columns))
    graph = helper.make_graph(sketch.nodes, "ways", [x], outputs, sketch.weights)
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    found: bytes = helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString()
    return found


def microseconds(data: bytes, ep: str, config: dict[str, str], repeat: int, columns: int, tokens: int) -> float:
    """Median time of a run over `repeat`."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 3
    for key, value in config.items():
        options.add_session_config_entry(key, value)
    graph = ep == "cuda" and tokens == 1
    provider: Any = "CPUExecutionProvider"
    if ep == "cuda":
        provider = ("CUDAExecutionProvider", {"enable_cuda_graph": "1" if graph else "0"})
    session = ort.InferenceSession(data, options, providers=[provider])
    binding = session.io_binding()
    x = np.random.default_rng(1).standard_normal((1, tokens, columns)).astype(np.float16)
    there = ort.OrtValue.ortvalue_from_numpy(x, ep, 0)
    binding.bind_ortvalue_input("x", there)
    keep = []
    for out in session.get_outputs():
        keep.append(ort.OrtValue.ortvalue_from_shape_and_type(out.shape, np.float16, ep, 0))
        binding.bind_ortvalue_output(out.name, keep[-1])
    times = []
    for _ in range(40):
        start = time.perf_counter()
        session.run_with_iobinding(binding)
        times.append(time.perf_counter() - start)
    return float(np.median(times[10:])) / repeat * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ep", default="cuda")
    parser.add_argument("--repeat", type=int, default=16)
    parser.add_argument("--shapes", nargs="*", default=["2048x2048", "16384x2048", "2048x8192", "28672x4096"])
    parser.add_argument("--ways", default="", help="only those whose name holds this")
    parser.add_argument("--tokens", type=int, nargs="*", default=[1, 512])
    given = parser.parse_args()
    cases = [(tuple(map(int, shape.split("x"))), tokens) for tokens in given.tokens for shape in given.shapes]
    print("| way | " + " | ".join(f"{r} x {c}, {t} token" for (r, c), t in cases) + " |", flush=True)
    print("|---|" + "---|" * len(cases), flush=True)
    for name, (way, config) in WAYS.items():
        if given.ways not in name:
            continue
        cells = []
        for (rows, columns), tokens in cases:
            repeat = max(2, min(given.repeat, 2**29 // (rows * columns)))
            try:
                data = model(way, rows, columns, repeat, tokens)
                cells.append(f"{microseconds(data, given.ep, config, repeat, columns, tokens):.1f}")
            except Exception as error:  # onnxruntime raises a dozen unrelated classes
                cells.append(str(error).splitlines()[0][-60:])
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
