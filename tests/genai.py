"""onnxruntime-genai on a model folder, as its users call it."""

from __future__ import annotations

from pathlib import Path


def genai_greedy(folder: Path, ids: list[int], count: int) -> list[int]:
    """Up to `count` tokens after `ids`, most likely first; ends after a stop token."""
    import onnxruntime_genai as og

    model = og.Model(str(folder))
    params = og.GeneratorParams(model)
    params.set_search_options(max_length=len(ids) + count, do_sample=False)
    generator = og.Generator(model, params)
    generator.append_tokens(ids)
    tokens: list[int] = []
    while not generator.is_done() and len(tokens) < count:
        generator.generate_next_token()
        tokens.append(int(generator.get_next_tokens()[0]))
    return tokens
