import json
from dataclasses import replace

import numpy as np
import pytest

from mobius_cli.judging.reference import read_reference
from mobius_cli.judging.text_reference import FEWEST_TOKENS, TextReference
from repack.errors import InputError
from tests.mobius_cli.judging.test_reference import example

STEPS = FEWEST_TOKENS - 1


def text() -> TextReference:
    """Every token is 5 with probability 1/2, but for the last, 9, which is no candidate."""
    return TextReference(
        name="é.txt",
        ids=[5] * STEPS + [9],
        logprobs=np.array([-0.69314718] * (STEPS - 1) + [-7.0]),
        top_ids=np.array([[5, 3]] * STEPS),
        top_logprobs=np.array([[-0.69314718, -2.5]] * STEPS),
    )


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "reference.json"
    replace(example(), text=text()).write(file)
    return file


def damage(path, **changes):
    """Change fields of the text; None removes one."""
    data = json.loads(path.read_text())
    for name, value in changes.items():
        data["text"][name] = value
        if value is None:
            del data["text"][name]
    path.write_text(json.dumps(data))


def test_round_trip(path):
    found, expected = read_reference(path).text, text()
    assert (found.name, found.ids) == (expected.name, expected.ids)
    assert found.logprobs.tolist() == [-0.693147] * (STEPS - 1) + [-7]
    assert found.top_ids.tolist() == expected.top_ids.tolist()
    assert found.top_logprobs.tolist() == [[-0.693147, -2.5]] * STEPS
    assert (found.top_ids.dtype, found.logprobs.dtype) == (np.int64, np.float64)
    assert len(read_reference(path).prompts) == 1


def test_a_file_without_a_text_has_none(tmp_path):
    example().write(tmp_path / "r.json")
    assert '"text":{' not in (tmp_path / "r.json").read_text()
    assert read_reference(tmp_path / "r.json").text is None


def test_a_text_without_prompts(tmp_path):
    replace(example(), prompts=[], text=text()).write(tmp_path / "r.json")
    found = read_reference(tmp_path / "r.json")
    assert found.prompts == [] and found.text is not None


def test_neither_prompts_nor_text(tmp_path):
    replace(example(), prompts=[]).write(tmp_path / "r.json")
    with pytest.raises(InputError, match="no prompt and no text"):
        read_reference(tmp_path / "r.json")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": None}, "no field 'name'"),
        ({"name": 5}, "5 where str"),
        ({"ids": None}, "no field 'ids'"),
        ({"logprobs": None}, "no field 'logprobs'"),
        ({"top_ids": None}, "no field 'top_ids'"),
        ({"ids": []}, "the text has 0 tokens"),
        ({"ids": [5] * STEPS}, f"the text has {STEPS} tokens, fewer than"),
        ({"ids": [5] * (STEPS + 2)}, f"{STEPS + 2} tokens and {STEPS} log-probabilities"),
        ({"ids": [-1] * (STEPS + 1)}, "negative token id"),
        ({"ids": "5" * (STEPS + 1)}, "where list"),
        ({"ids": [5.5] * (STEPS + 1)}, "where numbers"),
        ({"logprobs": []}, "and 0 log-probabilities"),
        ({"logprobs": [-0.69314718] * (STEPS - 1) + [0.5]}, "log-probability above 0"),
        ({"logprobs": [-0.6] * STEPS}, "two log-probabilities"),
        ({"top_ids": [[5, 3]] * (STEPS - 1)}, "probabilities"),
        ({"top_ids": [[5, -3]] * STEPS}, "negative token id"),
        ({"top_ids": []}, "no tokens"),
        ({"top_logprobs": [[-0.69314718, None]] * STEPS}, "where numbers"),
        ({"top_logprobs": [[0.69314718, -3]] * STEPS}, "above 0"),
    ],
)
def test_damaged_texts(path, changes, message):
    damage(path, **changes)
    with pytest.raises(InputError, match=message):
        read_reference(path)


@pytest.mark.parametrize("value", [None, [], "text"])
def test_a_text_that_is_no_object(path, value):
    data = json.loads(path.read_text())
    data["text"] = value
    path.write_text(json.dumps(data))
    with pytest.raises(InputError, match="where dict is expected"):
        read_reference(path)


def test_values_that_are_no_numbers(path):
    damage(path, logprobs=[float("nan")] * STEPS)
    with pytest.raises(InputError, match="is not a number"):
        read_reference(path)
