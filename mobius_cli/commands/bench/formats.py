"""Everything that `mobius bench -o` can be, by name."""

from mobius_cli.commands.bench.chart import picture
from mobius_cli.commands.bench.page import page
from mobius_cli.commands.bench.table import as_csv, as_json, as_jsonl, markdown

FORMATS = {"md": markdown, "csv": as_csv, "json": as_json, "jsonl": as_jsonl, "html": page, "svg": picture}
