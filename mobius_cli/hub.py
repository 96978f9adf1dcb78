"""Files on Hugging Face's hub, `hf://owner/repo/file.gguf`: downloaded to its cache, from where commands read them."""

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec, TypeVar
from urllib.parse import unquote

from repack.errors import InputError, MobiusError

P = ParamSpec("P")
R = TypeVar("R")
_SCHEME = "hf:/"  # a Path has one slash where the user typed two
_FORM = "hf://OWNER/REPO/FILE.gguf, or hf://OWNER/REPO@REVISION/FILE.gguf"
_SHOWN = 6  # files of a repository in a hint


def fetched(*names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Give a command local files: of its arguments of these names, those on the hub are downloaded first."""

    def decorated(command: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(command)
        def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
            quiet = bool(kwargs.get("as_json"))
            for name in names:
                value = kwargs.get(name)
                if isinstance(value, Path):
                    kwargs[name] = local(value, quiet=quiet)
                elif isinstance(value, list):
                    kwargs[name] = [local(path, quiet=quiet) for path in value]
            return command(*args, **kwargs)

        return wrapper

    return decorated


def local(path: Path, *, quiet: bool = False) -> Path:
    """The path of a file on this machine; of one on the hub, where it was downloaded to, with all its parts.

    Args:
        path: as the user gave it.
        quiet: without the hub's own progress bar and words.

    Raises:
        InputError: what is meant to be an address is none.
        MobiusError: it cannot be downloaded, or huggingface_hub is not installed.
    """
    if not path.as_posix().startswith(_SCHEME):
        return path
    address = parse(path.as_posix())
    try:
        import huggingface_hub
        import huggingface_hub.errors
        import huggingface_hub.utils
    except ImportError:
        raise MobiusError("hf:// needs the package huggingface_hub", "pip install 'mobius-cli[hub]'") from None
    with _talking(huggingface_hub, aloud=sys.stderr.isatty() and not quiet):
        return _download(huggingface_hub, address)


@dataclass(frozen=True)
class Address:
    """A file of a model repository; an empty `file` for the repository itself, no `revision` for the newest."""

    repo: str
    file: str
    revision: str | None = None

    def __str__(self) -> str:
        revision = f"@{self.revision}" if self.revision else ""
        return f"hf://{self.repo}{revision}" + (f"/{self.file}" if self.file else "")


def parse(text: str) -> Address:
    """What hf:/OWNER/REPO/FILE says; two slashes at the start are as good.

    Raises:
        InputError: it is no address of a file, or of a repository.
    """
    owner, _, rest = text.removeprefix(_SCHEME).removeprefix("/").partition("/")
    name, _, file = rest.partition("/")
    name, at, revision = name.partition("@")
    parts = file.split("/") if file else []
    if not (owner and name) or (at and not revision) or any(part in ("", ".", "..") for part in parts):
        raise InputError(f"hf://{owner}{rest and f'/{rest}'} is no address on the hub", f"the form is {_FORM}")
    if file and not file.lower().endswith(".gguf"):
        raise InputError(f"hf://{owner}/{rest} is no GGUF file", f"the form is {_FORM}")
    return Address(f"{owner}/{name}", file, unquote(revision) or None)


def _download(hub: Any, address: Address) -> Path:
    """The path of the file in the hub's cache; all parts of a split one are of the same commit."""
    from converters.sources.gguf.splits import part_names

    with _explained(hub, address):
        if not address.file:
            hint = _files_hint(hub, address)
            raise InputError(f"{address} names no file", hint)
        try:
            path = Path(hub.hf_hub_download(address.repo, address.file, revision=address.revision))
        except hub.errors.EntryNotFoundError as error:
            if isinstance(error, hub.errors.LocalEntryNotFoundError):  # it was not reached
                raise
            hint = _files_hint(hub, address)
            raise MobiusError(f"{address}: the repository has no such file", hint) from None
        folder, _, name = address.file.rpartition("/")
        commit = path.parents[address.file.count("/")].name
        for part in part_names(name):
            hub.hf_hub_download(address.repo, f"{folder}/{part}".removeprefix("/"), revision=commit)
        return path


def _files_hint(hub: Any, address: Address) -> str:
    """The GGUF files of a repository, of split ones the first part."""
    from converters.sources.gguf.open import listed
    from converters.sources.gguf.splits import part_names

    files = [
        entry.rfilename for entry in hub.HfApi().model_info(address.repo, revision=address.revision).siblings or ()
    ]
    found = [file for file in sorted(files) if file.lower().endswith(".gguf") and part_names(file)[0] == file]
    return f"it has {listed(found, _SHOWN)}" if found else "it has no GGUF file"


@contextmanager
def _explained(hub: Any, address: Address) -> Iterator[None]:
    """The hub's errors as ours."""
    errors, repo = hub.errors, address.repo
    log_in = "ask for access on its page, then `hf auth login` or HF_TOKEN"
    try:
        yield
    except MobiusError:
        raise
    except errors.GatedRepoError:
        raise MobiusError(f"{address}: access to {repo} must be granted by its owner", log_in) from None
    except errors.RepositoryNotFoundError:
        raise MobiusError(f"{address}: the hub has no repository {repo}, or not for everyone",
                          "check the name; for a private one, `hf auth login` or HF_TOKEN") from None  # fmt: skip
    except errors.RevisionNotFoundError:
        raise MobiusError(f"{address}: the repository has no revision {address.revision}",
                          "give a branch, a tag or a whole commit, or leave out @") from None  # fmt: skip
    except errors.HFValidationError:
        raise InputError(f"{address}: {repo} is no name of a repository", f"the form is {_FORM}") from None
    except (errors.LocalEntryNotFoundError, errors.OfflineModeIsEnabled) as error:
        raise MobiusError(f"{address} cannot be downloaded, and is not in the hub's cache: {_reason(error)}",
                          "check the network and HF_HUB_OFFLINE; or give a file on disk") from error  # fmt: skip
    except Exception as error:  # its own, and those of whichever package it sends requests with
        raise MobiusError(f"{address} cannot be downloaded: {_reason(error)}",
                          "try again; or give a file on disk") from error  # fmt: skip


def _reason(error: BaseException) -> str:
    """What is behind an error, in a line."""
    error = error.__cause__ or error
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]


@contextmanager
def _talking(hub: Any, aloud: bool) -> Iterator[None]:
    """The hub's progress bars, and what it says of trying again, on a terminal only."""
    logging, silent = hub.utils.logging, hub.utils.are_progress_bars_disabled()
    if aloud:
        yield
        return
    verbosity = logging.get_verbosity()
    hub.utils.disable_progress_bars()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if not silent:
            hub.utils.enable_progress_bars()
