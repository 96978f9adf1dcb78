"""Quantized blocks: one short file per GGUF type, and what an operator wants of it.

Every GGUF type is, per block, ``scale * (code - 2**(bits - 1)) + offset``. A type's file says how its bytes
split into planes and how planes become codes, scales and offsets; nothing else knows a bit layout.
"""
