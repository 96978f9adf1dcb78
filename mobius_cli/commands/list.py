"""`mobius list`: tables from the code's own registries."""

import json
import re

from mobius_cli.output import Output


def _archs() -> list[dict[str, str]]:
    """A row per architecture with its proof, from scripts/arch_matrix.py; without a proof it is not listed."""
    from importlib.resources import files

    from converters.archs.registry import architectures

    proofs = json.loads(files("mobius_cli").joinpath("data/archs.json").read_text(encoding="utf-8"))
    known = architectures()
    return [
        {
            "architecture": name,
            "models": known[name].summary,
            "models tested": str(proof["cases"]),
            "cpu": f"{proof['cpu']:.0e}",
            "onnx": f"{proof['onnx']:.0e}",
        }
        for name, proof in proofs.items()
        if name in known
    ]


def _quants() -> list[dict[str, str]]:
    """A row per type; speeds are CPU times of one product over Q4_0's, from scripts/bench_types.py."""
    from importlib.resources import files

    from repack.quant_type import bits_in_file
    from repack.registry import FLOAT_TYPES, QUANT_TYPES

    text = files("mobius_cli").joinpath("data/speeds.json").read_text(encoding="utf-8")
    speeds = json.loads(text)["times_of_q4_0"]
    rows = [
        _row(name, "as stored", "float", False, [bits_in_file(name)] * 3 + [32.0], {}, "exact") for name in FLOAT_TYPES
    ]
    for quant in QUANT_TYPES.values():
        bits = [bits_in_file(quant.name), *(quant.bits_stored(s) for s in ("small", "fast")), quant.bits_in_memory]
        operator = f"{quant.bits} bit, block {quant.block_size}"
        exact = "exact but for a float32 offset" if quant.offset_is_a_sum else "exact"
        speed = speeds.get(quant.name, {})
        rows.append(_row(quant.name, quant.value, operator, quant.offset is not None, bits, speed, exact))
    return rows


def _row(
    name: str, value: str, operator: str, corrected: bool, bits: list[float], speed: dict[str, float], exact: str
) -> dict[str, str]:
    sizes = dict(zip(("bits in file", "small", "fast", "in memory"), (f"{b:g}" for b in bits), strict=True))
    times = {f"time, {tokens}": f"{speed[tokens]:g}" if speed else "-" for tokens in ("one token", "128 tokens")}
    correction = "block sums" if corrected else "-"
    return {
        "type": name, "weight": value, "operator": operator, "correction": correction,
        **sizes, **times, "weights": exact,
    }  # fmt: skip


def _targets() -> list[dict[str, str]]:
    from converters.target import DEFAULT_TARGET, TARGETS

    return [
        {
            "target": t.name + (" (default)" if t.name == DEFAULT_TARGET else ""),
            "dtypes": ", ".join(n for n, why in t.dtypes.items() if not why),
            "default dtype": t.dtype,
            "what it is": t.description,
        }
        for t in TARGETS.values()
    ]


TABLES = {"archs": _archs, "quants": _quants, "targets": _targets}


def list_table(what: str, output: Output) -> None:
    """Print one table, or as JSON {what: [row, ...]}."""
    rows = TABLES[what]()
    output.table(list(rows[0]), [list(row.values()) for row in rows])
    output.result({what: [{_snake_case(name): cell for name, cell in row.items()} for row in rows]})


def _snake_case(head: str) -> str:
    """The head of a column as a key: "time, one token" is time_one_token."""
    return re.sub("[^a-z0-9]+", "_", head.lower())
