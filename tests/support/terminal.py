"""A command on a terminal of its own, of a given width."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from typing import Any


def on_terminal(*arguments: Any, columns: int = 80) -> tuple[int, str]:
    """Run `mobius` there: its exit code, and all that it wrote."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES", "NO_COLOR")} | {"TERM": "xterm"}
    command = [sys.executable, "-m", "mobius_cli", *map(str, arguments)]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    written = b""
    while True:
        try:
            part = os.read(ours, 1 << 16)
        except OSError:  # Linux says at the end that the other side is closed
            break
        if not part:
            break
        written += part
    os.close(ours)
    return process.wait(), written.decode().replace("\r\n", "\n")
