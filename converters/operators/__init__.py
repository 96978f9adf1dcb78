"""Operator sets by the name that a target gives: how operators are written, and what they can do."""

from converters.graph.context import OperatorSet
from converters.operators.onnx import OnnxOperators
from converters.operators.ort import OrtOperators

OPERATOR_SETS: dict[str, OperatorSet] = {"onnx": OnnxOperators(), "ort": OrtOperators()}
