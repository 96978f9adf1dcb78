"""Every GGUF type that can be kept, by its ggml name."""

from repack.quant_type import QuantType
from repack.types.q4_0 import Q4_0
from repack.types.q4_1 import Q4_1
from repack.types.q4_k import Q4_K
from repack.types.q5_0 import Q5_0
from repack.types.q5_1 import Q5_1
from repack.types.q5_k import Q5_K
from repack.types.q6_k import Q6_K
from repack.types.q8_0 import Q8_0

QUANT_TYPES: dict[str, QuantType] = {t.name: t for t in (Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K, Q6_K)}

# Plain floats are kept as stored; `--dequantize` and small tensors use the same path.
FLOAT_TYPES: dict[str, str] = {"F32": "float32", "F16": "float16", "BF16": "bfloat16"}
