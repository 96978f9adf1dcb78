"""Which experts llama.cpp chose: its tensors ffn_moe_topk, seen by the callback of its scheduler."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tests.support.llama_library import library
from tests.support.oracle import LlamaModel

_CHOICE = re.compile(r"ffn_moe_topk-(\d+)")
_Callback = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_bool, ctypes.c_void_p)


class _Tensor(ctypes.Structure):
    """ggml_tensor, up to its strides."""

    _fields_ = [
        ("type", ctypes.c_int32),
        ("buffer", ctypes.c_void_p),
        ("sizes", ctypes.c_int64 * 4),
        ("strides", ctypes.c_size_t * 4),
    ]


def chosen_experts(path: Path, ids: Sequence[int], context: int) -> dict[int, NDArray[np.int32]]:
    """Of each layer with a mixture, by its number: int32 [tokens, used], as llama.cpp orders them."""
    api = library().api
    for name, kind in (("ggml_get_name", ctypes.c_char_p), ("ggml_get_data", ctypes.c_void_p)):
        function = getattr(api, name)
        function.restype, function.argtypes = kind, [ctypes.c_void_p]
    found: dict[int, NDArray[np.int32]] = {}

    def look(address: int, ask: bool, _data: object) -> bool:
        named = _CHOICE.fullmatch(api.ggml_get_name(address).decode())
        if named and not ask:
            found[int(named[1])] = _numbers(address, api.ggml_get_data(address))
        return bool(named) or not ask

    callback = _Callback(look)  # kept alive while llama.cpp holds its address
    with LlamaModel(path, context, watch=ctypes.cast(callback, ctypes.c_void_p)) as model:
        model.logits(ids)
    return found


def _numbers(address: int, data: int) -> NDArray[np.int32]:
    """Rows of a tensor that may be a part of a wider one."""
    tensor = _Tensor.from_address(address)
    used, rows, stride = tensor.sizes[0], tensor.sizes[1], tensor.strides[1]
    raw = ctypes.string_at(data, (rows - 1) * stride + used * 4)
    return np.stack([np.frombuffer(raw, np.int32, used, row * stride) for row in range(rows)])
