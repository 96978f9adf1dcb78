"""netron's page in a browser without a window: the graph is drawn, and how many nodes it has."""

import re
import shutil
import socket
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import netron
from greedy import answer, job

asked = job()


def drawn() -> dict[str, Any]:
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        return {"missing": "a chromium"}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    netron.start(asked["graph"], address=("127.0.0.1", port), browse=False)
    script = Path(__file__).with_name("netron_page.mjs")
    command = ["node", str(script), browser, f"http://127.0.0.1:{port}", asked["node_modules"]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    if done.returncode:
        return {"error": done.stderr.strip()[-400:]}
    return {"ok": int(re.findall(r"\d+", done.stdout)[-1]) > 0, "note": f"{done.stdout.strip()} nodes drawn"}


answer(version("netron"), {"drawn": drawn})
sys.stdout.flush()
netron.stop()
