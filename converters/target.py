"""Every choice that depends on where the model will run, as rows of one table."""

from dataclasses import dataclass, field, replace
from typing import Any

from repack.errors import MobiusError

# Spellings that users bring along, to the name used here.
DTYPE_ALIASES = {
    "f32": "float32", "fp32": "float32", "float32": "float32",
    "f16": "float16", "fp16": "float16", "float16": "float16",
    "bf16": "bfloat16", "bfloat16": "bfloat16",
}  # fmt: skip

STORAGES = ("fast", "small")
FORMATS = ("matmulnbits", "qdq")


@dataclass(frozen=True)
class Target:
    """Where a model runs and what its graph may use."""

    name: str
    description: str
    provider: str  # ONNX Runtime's name of the execution provider
    device: str  # where its tensors live
    dtypes: dict[str, str]  # activation types that work, and a reason for each that does not
    dtype: str  # activation type of the graph
    accuracy_level: int  # of MatMulNBits: 4 = int8 activations, 0 = float activations
    stack_projections: bool  # q, k, v as one product where their types allow: fewer kernels
    stack_gate_up: bool  # the same for gate and up, where it saves a correction; costs a Split
    norms_heads: bool  # GroupQueryAttention norms q and k itself
    scans_tokens: bool  # Scan over tokens is no slower than LinearAttention; on GPUs each step waits for the host
    gathers_experts: bool  # a token's experts without control flow, where splitting rows by them waits for the host
    recurrent_kernels: bool  # ONNX Runtime's kernels for whole parts of recurrent layers beat what is built of others
    checks_indices: bool  # Gather with an index that is out of range is an error, not a zero
    context_cap: int  # default limit of the context: tables and cache are allocated for it
    oldest_runtime: str  # ONNX Runtime that computes such graphs right: scripts/oldest_runtime.py finds it
    runtime_package: str  # that brings ONNX Runtime with the provider
    genai_package: str  # and onnxruntime-genai
    padding_side: str = "right"  # where shorter texts of a batch are filled up, for tokenizers to know
    provider_options: tuple[dict[str, Any], ...] = ()  # in genai_config.json
    session_options: tuple[tuple[str, str], ...] = ()  # of the provider in our own sessions
    session_config: tuple[tuple[str, str], ...] = ()  # entries of these sessions
    widest_head: int | None = None  # channels that the provider's kernel of GroupQueryAttention takes
    widest_fast_head: int | None = None  # of more of them it decodes faster where something is added to the scores
    replays_decoding: bool = False  # single tokens as a captured CUDA graph
    takes_sinks: bool = True  # GroupQueryAttention is right about sinks, also for few tokens behind a cache
    fused_experts: tuple[str, ...] = ()  # types of experts that QMoE multiplies exactly and fastest, laid out as there
    operators: str = "ort"  # the operator set, by its name in converters.operators
    storage: str = "fast"
    quant_format: str = "matmulnbits"  # how a quantized matrix stands in the graph
    quant_formats: dict[str, str] = field(default_factory=lambda: dict.fromkeys(FORMATS, ""))  # as `dtypes`
    dequantize: bool = False


CPU_DTYPES = {
    "float32": "",
    "float16": "",
    "bfloat16": "ONNX Runtime has no bfloat16 kernels on the CPU; use float32 or float16",
}
TARGETS: dict[str, Target] = {
    "onnx": Target(
        name="onnx",
        description="any runtime: standard ONNX operators only, weights behind DequantizeLinear",
        provider="CPUExecutionProvider",
        device="cpu",
        dtypes=CPU_DTYPES,
        dtype="float32",
        accuracy_level=4,
        stack_projections=False,
        stack_gate_up=False,
        norms_heads=False,
        scans_tokens=True,
        gathers_experts=False,
        recurrent_kernels=False,
        checks_indices=True,
        context_cap=8192,
        oldest_runtime="1.23.1",
        runtime_package="onnxruntime",
        genai_package="onnxruntime-genai",
        padding_side="left",  # either would do; generating programs fill up there
        operators="onnx",
        quant_format="qdq",
        quant_formats={
            "qdq": "",
            "matmulnbits": "MatMulNBits is not standard: name a provider, such as --ep cpu",
        },
    ),
    "cpu": Target(
        name="cpu",
        description="ONNX Runtime on x64 or ARM CPUs; MatMulNBits, GroupQueryAttention",
        provider="CPUExecutionProvider",
        device="cpu",
        dtypes=CPU_DTYPES,
        dtype="float32",
        accuracy_level=4,
        stack_projections=True,
        stack_gate_up=False,
        norms_heads=False,
        scans_tokens=True,
        gathers_experts=False,
        recurrent_kernels=False,
        checks_indices=True,
        context_cap=8192,
        oldest_runtime="1.24.1",
        runtime_package="onnxruntime",
        genai_package="onnxruntime-genai",
    ),
    "cuda": Target(
        name="cuda",
        description="ONNX Runtime on NVIDIA GPUs; MatMulNBits, GroupQueryAttention, float16",
        provider="CUDAExecutionProvider",
        device="cuda",
        dtypes={
            "float16": "",
            "bfloat16": "",  # scales keep 8 bits, in float16 11: for activations that float16 cannot hold
            "float32": "GroupQueryAttention has no float32 kernel on CUDA; use float16, or leave out --ep",
        },
        dtype="float16",
        accuracy_level=0,
        stack_projections=True,
        stack_gate_up=True,
        norms_heads=True,
        scans_tokens=False,
        gathers_experts=True,
        recurrent_kernels=True,
        checks_indices=False,
        context_cap=8192,
        oldest_runtime="1.31.1",
        runtime_package="onnxruntime-gpu",
        genai_package="onnxruntime-genai-cuda",
        provider_options=({"cuda": {"enable_cuda_graph": "1"}},),  # 2.7 times as fast in onnxruntime-genai
        session_options=(("enable_cuda_graph", "1"),),
        # Else what a kernel packs anew stands beside room for what it was made of: 1.4 times the memory, 1.8 with QMoE.
        session_config=(("session.use_device_allocator_for_initializers", "1"),),
        widest_head=512,
        widest_fast_head=256,  # heads of 512, 1,024 tokens behind: 124 us, with a bias of zeros 26
        replays_decoding=True,
        takes_sinks=False,  # off by 0.2 where few tokens follow a cache, and nothing is said
        fused_experts=("Q4_0", "Q8_0", "MXFP4", "NVFP4"),
    ),
}
DEFAULT_TARGET = "onnx"
FUSED_TARGET = "cpu"  # where a format that is not standard is asked for, and no provider
ACCURACY_LEVELS = (0, 4)


def choose_target(
    ep: str | None = None,
    *,
    dtype: str | None = None,
    storage: str = "fast",
    accuracy_level: int | None = None,
    dequantize: bool = False,
    quant_format: str | None = None,
) -> Target:
    """The row for an execution provider, with the user's changes.

    Raises:
        MobiusError: a name that is not in the table, or a combination that cannot work.
    """
    name = ep or (FUSED_TARGET if quant_format == "matmulnbits" else DEFAULT_TARGET)
    if name not in TARGETS:
        raise MobiusError(f"unknown execution provider {name!r}", f"choose one of: {', '.join(TARGETS)}")
    row = TARGETS[name]
    chosen = row.dtype if dtype is None else DTYPE_ALIASES.get(dtype.lower(), dtype)
    if chosen not in row.dtypes:
        raise MobiusError(f"unknown dtype {dtype!r}", "choose float32 (f32), float16 (f16) or bfloat16 (bf16)")
    if row.dtypes[chosen]:
        raise MobiusError(f"--dtype {chosen} cannot run on {name}", row.dtypes[chosen])
    if chosen == "bfloat16":
        import ml_dtypes  # noqa: F401 - numpy knows the name from then on
    form = row.quant_format if quant_format is None else quant_format
    if form not in FORMATS:
        raise MobiusError(f"unknown quant format {form!r}", f"choose one of: {', '.join(FORMATS)}")
    if row.quant_formats[form]:
        raise MobiusError(f"--quant-format {form} cannot be with {name}", row.quant_formats[form])
    if storage not in STORAGES:
        raise MobiusError(f"unknown storage {storage!r}", f"choose one of: {', '.join(STORAGES)}")
    if form == "qdq":
        row = _qdq(row, storage, accuracy_level)
    level = row.accuracy_level if accuracy_level is None else accuracy_level
    if level not in ACCURACY_LEVELS:
        raise MobiusError(f"--accuracy-level {level} is not known", "choose 4 (int8 activations) or 0 (float)")
    return replace(row, dtype=chosen, storage=storage, accuracy_level=level, dequantize=dequantize, quant_format=form)


def _qdq(row: Target, storage: str, accuracy_level: int | None) -> Target:
    """A row whose weights stand behind DequantizeLinear: one product each."""
    if storage != "fast":
        raise MobiusError(
            "--storage small makes no sense behind DequantizeLinear: runtimes fuse it only if its inputs are stored",
            "take --quant-format matmulnbits, with a provider such as --ep cpu, or leave it out",
        )
    if accuracy_level is not None:
        raise MobiusError("--accuracy-level is of MatMulNBits, of which this graph has none",
                          "a session has the setting session.qdq_matmulnbits_accuracy_level instead")  # fmt: skip
    return replace(row, stack_projections=False, stack_gate_up=False)
