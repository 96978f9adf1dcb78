"""Results of `mobius bench` as one HTML page that needs nothing else: the picture, the table, the circumstances."""

from collections.abc import Sequence
from html import escape
from typing import Any

from mobius_cli.commands.bench.chart import picture
from mobius_cli.commands.bench.rows import NOISY, Row
from mobius_cli.commands.bench.table import WORDS, cells, remarks

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1f2328; background: #fff; max-width: 64rem; margin: 2rem auto;
  padding: 0 1rem; }
svg { max-width: 100%; height: auto; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 14px; white-space: nowrap; }
th, td { padding: .3rem .7rem; border-bottom: 1px solid #d1d9e0; text-align: right; }
.words { text-align: left; }
dt { float: left; clear: left; width: 9rem; color: #59636e; }
dd { margin-left: 9.5rem; overflow-wrap: anywhere; }
"""
METHOD = (
    "Tokens per second, mean ± standard deviation of all samples after one warm-up; no sample is dropped. Bars show "
    "the means, prompt processing and generation each on a scale of its own. ttft is the time to first token: from "
    "the prompt's tokens to the logits of its last one on the host. Not counted: loading, tokenization, sampling, "
    "filling the cache to a depth, capturing a CUDA graph."
)


def page(rows: Sequence[Row], facts: dict[str, Any]) -> str:
    """The whole page."""
    title = f"{facts['model_type']}: mobius bench"
    flagged = [f"{row.test.name} ({', '.join(row.noisy)})" for row in rows if row.noisy]
    noise = f"<p>Varies by more than {NOISY:.0%}: {escape('; '.join(flagged))}.</p>" if flagged else ""
    return "\n".join(
        [
            "<!DOCTYPE html>",
            f"<html lang='en'><head><meta charset='utf-8'><title>{escape(title)}</title>",
            "<meta name='viewport' content='width=device-width'>",
            f"<style>{STYLE}</style></head><body>",
            f"<h1>{escape(title)}</h1>",
            picture(rows, facts),
            f"<div class='wide'>{_table(cells(rows, facts))}</div>",
            f"<p>{escape(remarks(facts))}.</p>{noise}",
            f"<dl>{_circumstances(rows, facts)}</dl>",
            f"<p>{escape(METHOD)}</p>",
            "</body></html>",
        ]
    )


def _table(lines: list[list[str]]) -> str:
    kinds = [" class='words'" if name in WORDS else "" for name in lines[0]]
    html = []
    for tag, line in zip(["th", *["td"] * (len(lines) - 1)], lines, strict=True):
        found = [f"<{tag}{kind}>{escape(cell)}</{tag}>" for cell, kind in zip(line, kinds, strict=True)]
        html.append(f"<tr>{''.join(found)}</tr>")
    return f"<table>{''.join(html)}</table>"


def _circumstances(rows: Sequence[Row], facts: dict[str, Any]) -> str:
    given = {
        "model": facts["model_filename"],
        "date": rows[0].test_time,
        "processor": facts["cpu_info"],
        "GPU": facts["gpu_info"],
        "threads": facts["n_threads"],
        "samples per test": len(rows[0].ours),
        "onnxruntime": facts["onnxruntime"],
        "llama.cpp": facts["llama_cpp"] and f"{facts['llama_cpp']} ({facts['llama_cpp_engine']})",
    }
    return "".join(f"<dt>{escape(k)}</dt><dd>{escape(str(v))}</dd>" for k, v in given.items() if v)
