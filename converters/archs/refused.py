"""Architectures that cannot be converted, and why."""

SPARSE = (
    "its attention picks positions by an indexer with a cache of its own, which no runtime here has an operator for"
)
REFUSED = {"deepseek32": SPARSE}
