"""The plan of a folder once more, from its source and the settings that its manifest records; no weight is read."""

from converters.folder.layout import HUB_FOLDER, LAYOUTS
from converters.folder.manifest import Manifest
from converters.plan import Plan, make_plan
from converters.sources.source import Source
from converters.target import choose_target
from converters.version import PRODUCER, tool_version


def plan_again(source: Source, manifest: Manifest) -> Plan:
    """What this version of mobius makes of the source for the folder's target.

    Raises:
        MobiusError: the settings or the source cannot be.
    """
    own = manifest.target
    target = choose_target(
        own.name,
        dtype=own.dtype,
        storage=own.storage,
        accuracy_level=own.accuracy_level if own.quant_format == "matmulnbits" else None,
        dequantize=own.dequantize,
        quant_format=own.quant_format,
    )
    flat, hub = LAYOUTS
    layout = hub if manifest.graph.startswith(f"{HUB_FOLDER}/") else flat
    return make_plan(source, target, own.context_length, layout)


def is_of_this_version(manifest: Manifest) -> bool:
    """Whether the folder was written by this version, so that graphs can be expected to be the same."""
    return (manifest.tool.name, manifest.tool.version) == (PRODUCER, tool_version())
