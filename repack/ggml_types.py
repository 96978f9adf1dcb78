"""ggml's tensor types: the numbers by which files name them, and their blocks.

As `enum ggml_type` and its sizes in llama.cpp. The `gguf` package has the same table, which tests compare; it is not
read here, because importing it takes as long as all that inspecting a file needs otherwise.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class GgmlType:
    """A type: its number, weights of a block, and bytes of a block."""

    number: int
    weights: int
    size: int


GGML_TYPES: dict[str, GgmlType] = {
    "F32": GgmlType(0, 1, 4),
    "F16": GgmlType(1, 1, 2),
    "Q4_0": GgmlType(2, 32, 18),
    "Q4_1": GgmlType(3, 32, 20),
    "Q5_0": GgmlType(6, 32, 22),
    "Q5_1": GgmlType(7, 32, 24),
    "Q8_0": GgmlType(8, 32, 34),
    "Q8_1": GgmlType(9, 32, 40),
    "Q2_K": GgmlType(10, 256, 84),
    "Q3_K": GgmlType(11, 256, 110),
    "Q4_K": GgmlType(12, 256, 144),
    "Q5_K": GgmlType(13, 256, 176),
    "Q6_K": GgmlType(14, 256, 210),
    "Q8_K": GgmlType(15, 256, 292),
    "IQ2_XXS": GgmlType(16, 256, 66),
    "IQ2_XS": GgmlType(17, 256, 74),
    "IQ3_XXS": GgmlType(18, 256, 98),
    "IQ1_S": GgmlType(19, 256, 50),
    "IQ4_NL": GgmlType(20, 32, 18),
    "IQ3_S": GgmlType(21, 256, 110),
    "IQ2_S": GgmlType(22, 256, 82),
    "IQ4_XS": GgmlType(23, 256, 136),
    "I8": GgmlType(24, 1, 1),
    "I16": GgmlType(25, 1, 2),
    "I32": GgmlType(26, 1, 4),
    "I64": GgmlType(27, 1, 8),
    "F64": GgmlType(28, 1, 8),
    "IQ1_M": GgmlType(29, 256, 56),
    "BF16": GgmlType(30, 1, 2),
    "TQ1_0": GgmlType(34, 256, 54),
    "TQ2_0": GgmlType(35, 256, 66),
    "MXFP4": GgmlType(39, 32, 17),
    "NVFP4": GgmlType(40, 64, 36),
    "Q1_0": GgmlType(41, 128, 18),  # one float16 scale, then a bit per weight
    "Q2_0": GgmlType(42, 64, 18),  # the same with two bits; newer than the packages
}
