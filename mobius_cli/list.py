"""`mobius list`: tables from the code's own registries."""

from mobius_cli.output import Output


def _archs() -> list[dict[str, str]]:
    import converters.describe  # noqa: F401 - fills the registry
    from converters.archs.registry import ARCHITECTURES

    return [{"architecture": a.name, "models": a.summary} for a in ARCHITECTURES.values()]


def _quants() -> list[dict[str, str]]:
    from repack.registry import FLOAT_TYPES, QUANT_TYPES
    from repack.sizes import bits_in_file, bits_stored

    rows = [
        {
            "type": name, "weight": "as stored", "operator": "float", "correction": "-",
            "bits in file": f"{bits_in_file(name):g}", "fast": f"{bits_in_file(name):g}",
            "small": f"{bits_in_file(name):g}", "weights": "exact",
        }
        for name in FLOAT_TYPES
    ]  # fmt: skip
    for quant in QUANT_TYPES.values():
        rows.append(
            {
                "type": quant.name, "weight": quant.value,
                "operator": f"{quant.bits} bit, block {quant.block_size}",
                "correction": "block sums" if quant.offset else "-",
                "bits in file": f"{bits_in_file(quant.name):g}",
                "fast": f"{bits_stored(quant, 'fast'):g}", "small": f"{bits_stored(quant, 'small'):g}",
                "weights": "exact",
            }
        )  # fmt: skip
    return rows


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
    output.result({what: rows})
