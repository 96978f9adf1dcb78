"""The forms of quantized matrices, by the name that a target and a manifest give."""

from converters.weights.matmulnbits import MatMulNBits
from converters.weights.matrix import WeightFormat
from converters.weights.qdq import Qdq

FORMATS: dict[str, WeightFormat] = {"matmulnbits": MatMulNBits(), "qdq": Qdq()}
