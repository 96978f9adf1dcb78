"""Everything that `mobius bench -o` can be, by name."""

from mobius_cli.bench_chart import picture
from mobius_cli.bench_page import page
from mobius_cli.bench_table import as_csv, as_json, as_jsonl, markdown

FORMATS = {"md": markdown, "csv": as_csv, "json": as_json, "jsonl": as_jsonl, "html": page, "svg": picture}
