"""Who converts: the name and version that folders and graphs carry, cheap to import."""

PRODUCER = "mobius-cli"


def tool_version() -> str:
    """Version of this tool, or "unknown" when it runs uninstalled."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(PRODUCER)
    except PackageNotFoundError:
        return "unknown"
