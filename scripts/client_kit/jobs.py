"""What the clients are asked: texts, a chat of two turns, and the ids that they become in a folder."""

from pathlib import Path
from typing import Any

TEXTS = (
    "The lighthouse keeper wrote in his diary that",
    "Water boils at",
    "Once upon a time, in a village between two mountains and a wide river, there lived an old clockmaker who",
)
FIRST_TURN = [{"role": "user", "content": "What is the sea?"}]
CHATS = (
    FIRST_TURN,
    [
        *FIRST_TURN,
        {"role": "assistant", "content": "A large body of salt water."},
        {"role": "user", "content": "And why is it salty? Answer in one sentence."},
    ],
)
COUNT = 12  # tokens that are wanted after each prompt


def make_job(folder: Path, node_modules: Path) -> dict[str, Any]:
    """The job for every client on a folder.

    Keys: `folder`, `graph`, `data`: paths; `states` of the graph; `side`: where a client that is free to choose pads;
    `texts` and `chats` for clients with a tokenizer; `ids` of them, by test, for the others; `count`: tokens wanted.
    """
    from converters.folder.layout import data_of
    from converters.folder.manifest import read_manifest

    manifest = read_manifest(folder)
    states = [{"input": s.input, "output": s.output, "dtype": s.dtype, "shape": s.shape} for s in manifest.states]
    ids = prompt_ids(folder)
    return {
        "folder": str(folder),
        "graph": str(folder / manifest.graph),
        "data": str(folder / data_of(manifest.graph)),
        "states": states,
        "side": "right" if manifest.in_place else "left",
        "texts": TEXTS,
        "chats": CHATS if ids["chat"] else (),
        "ids": ids,
        "count": COUNT,
        "node_modules": str(node_modules),
    }


def prompt_ids(folder: Path) -> dict[str, list[list[int]]]:
    """What `mobius run` makes of them, by test; no chat where the model has no template."""
    from converters.tokenizer.chat import render_chat
    from mobius_cli.runtime.text import TextCodec

    codec = TextCodec(folder)
    texts = [codec.encode(text) for text in TEXTS]
    chats = []
    if codec.chat_template is not None:
        config = codec._config
        bos, eos = config.get("bos_token", ""), config.get("eos_token", "")
        for chat in CHATS:
            text = render_chat(codec.chat_template, chat, bos_token=bos, eos_token=eos)
            chats.append(codec.encode(text.removeprefix(bos) if config.get("add_bos_token") else text))
    return {"text": texts[:1], "batch": texts, "chat": chats}
