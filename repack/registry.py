"""Every GGUF type that can be kept, by its ggml name."""

from repack.quant_type import QuantType
from repack.types.iq1_m import IQ1_M
from repack.types.iq1_s import IQ1_S
from repack.types.iq2_s import IQ2_S
from repack.types.iq2_xs import IQ2_XS
from repack.types.iq2_xxs import IQ2_XXS
from repack.types.iq3_s import IQ3_S
from repack.types.iq3_xxs import IQ3_XXS
from repack.types.iq4_nl import IQ4_NL
from repack.types.iq4_xs import IQ4_XS
from repack.types.mxfp4 import MXFP4
from repack.types.nvfp4 import NVFP4
from repack.types.q1_0 import Q1_0
from repack.types.q2_0 import Q2_0
from repack.types.q2_k import Q2_K
from repack.types.q3_k import Q3_K
from repack.types.q4_0 import Q4_0
from repack.types.q4_1 import Q4_1
from repack.types.q4_k import Q4_K
from repack.types.q5_0 import Q5_0
from repack.types.q5_1 import Q5_1
from repack.types.q5_k import Q5_K
from repack.types.q6_k import Q6_K
from repack.types.q8_0 import Q8_0
from repack.types.tq1_0 import TQ1_0
from repack.types.tq2_0 import TQ2_0

_ALL = (
    Q4_0, Q4_1, Q5_0, Q5_1, Q8_0,
    Q2_K, Q3_K, Q4_K, Q5_K, Q6_K,
    IQ4_NL, IQ4_XS, IQ3_S, IQ3_XXS, IQ2_S, IQ2_XS, IQ2_XXS, IQ1_S, IQ1_M,
    TQ1_0, TQ2_0, Q1_0, Q2_0,
    MXFP4, NVFP4,
)  # fmt: skip
QUANT_TYPES: dict[str, QuantType] = {t.name: t for t in _ALL}

# Plain floats are kept as stored; `--dequantize` and small tensors use the same path.
FLOAT_TYPES: dict[str, str] = {"F32": "float32", "F16": "float16", "BF16": "bfloat16"}
