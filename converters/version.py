"""Who converts: the name and version that folders and graphs carry, cheap to import."""

PRODUCER = "mobius-cli"


def tool_version() -> str:
    """Version of this tool, or "unknown" when it runs uninstalled."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(PRODUCER)
    except PackageNotFoundError:
        return "unknown"


def numbers_of(version: str) -> tuple[int, ...]:
    """The leading numbers of a version, to compare by: (1, 24, 1) of "1.24.1.dev3"."""
    found = []
    for part in version.split("."):
        if not part.isdigit():
            break
        found.append(int(part))
    return tuple(found)
