"""Scores in tokenizer.json are read back as they were written."""

import json

import numpy as np
from tokenizers import Tokenizer

from converters.tokenizer.decimals import exact_decimals


def _read(texts: list[str]) -> list[float]:
    vocab = ",".join(f'["t{i}",{text}]' for i, text in enumerate(texts))
    model = f'{{"type":"Unigram","unk_id":0,"vocab":[{vocab}]}}'
    tokenizer = Tokenizer.from_str(f'{{"version":"1.0","added_tokens":[],"model":{model}}}')
    return [score for _, score in json.loads(tokenizer.to_str())["model"]["vocab"]]


def test_every_reader_gets_the_same_doubles() -> None:
    rng = np.random.default_rng(0)
    values = (-rng.uniform(0.001, 20, 4000)).astype(np.float32).astype(np.float64).tolist()
    values += [0.0, -0.0, 1.0, -10000.0, 0.1, 1e-20, -1e-45, 3.4e38, 2.0**-149]
    texts = exact_decimals(values)
    assert [float(text) for text in texts] == values
    assert json.loads(f"[{','.join(texts)}]") == values
    differing = sum(a != b for a, b in zip(_read(texts), values, strict=True))
    assert differing <= 8
    assert sum(a != b for a, b in zip(_read([repr(value) for value in values]), values, strict=True)) > 400
