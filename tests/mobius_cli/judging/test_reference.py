import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from converters.folder.source_file import SourceFile
from mobius_cli.judging.reference import PromptReference, Reference, Settings, read_reference
from repack.errors import InputError, MobiusError


def example() -> Reference:
    return Reference(
        model=SourceFile(file="tiny.gguf", sha256="ab" * 32, bytes=1234),
        build="b1-86a2835",
        settings=Settings(exact=False, kv_type="f16", threads=2),
        prompts=[
            PromptReference(
                text="é🙂\n",
                prompt_ids=[1, 5],
                tokens=[7, 9],
                top_ids=np.array([[7, 3], [2, 9]]),
                top_logprobs=np.array([[-0.1234567, -2.5], [-0.6931471, -0.7]]),
            )
        ],
    )


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "reference.json"
    example().write(file)
    return file


def damage(path, **changes):
    """Change fields of the only prompt; None removes one."""
    data = json.loads(path.read_text())
    for name, value in changes.items():
        data["prompts"][0][name] = value
        if value is None:
            del data["prompts"][0][name]
    path.write_text(json.dumps(data))


def test_round_trip(path):
    found, expected = read_reference(path), example()
    assert (found.model, found.build, found.settings) == (expected.model, expected.build, expected.settings)
    (prompt,) = found.prompts
    assert (prompt.text, prompt.prompt_ids, prompt.tokens) == ("é🙂\n", [1, 5], [7, 9])
    assert prompt.top_ids.tolist() == [[7, 3], [2, 9]]
    assert prompt.top_ids.dtype == np.int64
    assert prompt.top_logprobs.tolist() == [[-0.123457, -2.5], [-0.693147, -0.7]]


def test_without_float32_logprobs_nothing_is_written_or_read(path):
    assert "float32" not in path.read_text()
    assert read_reference(path).prompts[0].float32_logprobs is None


def test_float32_logprobs_of_some_prompts(tmp_path):
    """The first prompt has them, the second not; they need not fall, as llama.cpp's do."""
    (plain,) = example().prompts
    ours = replace(plain, float32_logprobs=np.array([[-2.0000004, -0.1234567], [-0.6931471, -0.7]]))
    file = tmp_path / "reference.json"
    replace(example(), prompts=[ours, plain]).write(file)
    first, second = read_reference(file).prompts
    assert first.float32_logprobs.tolist() == [[-2.0, -0.123457], [-0.693147, -0.7]]
    assert first.float32_logprobs.dtype == np.float64
    assert second.float32_logprobs is None
    again = tmp_path / "again.json"
    read_reference(file).write(again)
    assert again.read_bytes() == file.read_bytes()
    damage(file, float32_logprobs=None)
    assert all(p.float32_logprobs is None for p in read_reference(file).prompts)


def test_it_is_compact_and_says_what_it_is(path):
    text = path.read_text(encoding="utf-8")
    assert text.startswith('{"format":"mobius-reference/1","model":{"name":"tiny.gguf"')
    assert ", " not in text and text.count("\n") == 1


def test_the_same_reference_gives_the_same_bytes(path, tmp_path):
    again = tmp_path / "again.json"
    read_reference(path).write(again)
    assert again.read_bytes() == path.read_bytes()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["again.json", "reference.json"]


def test_another_model_is_refused():
    converted, path = example().model, Path("r.json")
    example().require_model(replace(converted, file="another name"), path)
    words = (
        r"^tiny\.gguf, of which r\.json is, is not the file that was converted \(tiny\.gguf, 1,23[45] bytes, SHA-256 "
    )
    for other in (replace(converted, sha256="cd" * 32), replace(converted, bytes=1235)):
        with pytest.raises(MobiusError, match=words):
            example().require_model(other, path)


def test_a_missing_file(tmp_path):
    with pytest.raises(InputError, match="cannot read it"):
        read_reference(tmp_path / "missing.json")


def test_a_folder_that_cannot_be_written(tmp_path):
    with pytest.raises(MobiusError, match="cannot write it"):
        example().write(tmp_path / "missing" / "reference.json")


def test_every_cut_is_noticed(path, tmp_path):
    content = path.read_bytes().rstrip()
    cut = tmp_path / "cut.json"
    for length in range(0, len(content), 7):
        cut.write_bytes(content[:length])
        with pytest.raises(InputError, match="not a reference, or damaged"):
            read_reference(cut)


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"null", b"{}", b'{"format": 1}', b'{"format": "x/1"}', b"\xff\xfe", b"[" * 9000]
)
def test_other_files_are_refused(tmp_path, content):
    other = tmp_path / "other.json"
    other.write_bytes(content)
    with pytest.raises(InputError, match="not a reference, or damaged"):
        read_reference(other)


def test_another_version_is_named(path):
    path.write_text(path.read_text().replace("mobius-reference/1", "mobius-reference/2"))
    with pytest.raises(InputError, match="format '2', this mobius reads '1'"):
        read_reference(path)


@pytest.mark.parametrize("name", ["model", "build", "settings", "prompts"])
def test_a_missing_field_is_named(path, name):
    data = json.loads(path.read_text())
    del data[name]
    path.write_text(json.dumps(data))
    with pytest.raises(InputError, match=f"no field '{name}'"):
        read_reference(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tokens": None}, "no field 'tokens'"),
        ({"text": 5}, "5 where str"),
        ({"tokens": [7]}, "1 tokens"),
        ({"tokens": []}, "has no tokens"),
        ({"prompt_ids": []}, "has no tokens"),
        ({"tokens": "79"}, "where list"),
        ({"tokens": [7, "9"]}, "where numbers"),
        ({"tokens": [7, 9.5]}, "where numbers"),
        ({"tokens": [7, 10**30]}, "where numbers"),
        ({"tokens": [7, 8]}, "not among its candidates"),
        ({"prompt_ids": [-1]}, "negative"),
        ({"top_ids": [[7, 3], [2]]}, "damaged"),
        ({"top_ids": [7, 9]}, "where numbers in 2"),
        ({"top_ids": [[7], [9]]}, "probabilities"),
        ({"top_logprobs": [[-1, -2], [0.5, -1]]}, "above 0"),
        ({"top_logprobs": [[-1, None], [-1, -1]]}, "where numbers"),
        ({"float32_logprobs": 5}, "5 where list"),
        ({"float32_logprobs": []}, "prompt 1, float32_logprobs: 2 tokens"),
        ({"float32_logprobs": [-1, -2]}, "where numbers in 2"),
        ({"float32_logprobs": [[-1, -2]]}, "prompt 1, float32_logprobs: 2 tokens"),
        ({"float32_logprobs": [[-1], [-2]]}, "prompt 1, float32_logprobs: 2 tokens"),
        ({"float32_logprobs": [[-1, -2], [-1]]}, "damaged"),
        ({"float32_logprobs": [[-1, "-2"], [-1, -2]]}, "where numbers"),
        ({"float32_logprobs": [[-1, -2], [0.5, -1]]}, "prompt 1, float32_logprobs has a log-probability above 0"),
    ],
)
def test_damaged_prompts(path, changes, message):
    damage(path, **changes)
    with pytest.raises(InputError, match=message):
        read_reference(path)


@pytest.mark.parametrize("value", [float("nan"), float("-inf")])
def test_values_that_are_no_numbers(path, value):
    for name in ("top_logprobs", "float32_logprobs"):
        damage(path, **{name: [[-1, value], [-1, -1]]})
        with pytest.raises(InputError, match="is not a number"):
            read_reference(path)


@pytest.mark.parametrize(
    ("section", "name", "value"), [("model", "size", True), ("settings", "exact", 1), ("model", "sha256", 5)]
)
def test_wrong_types_elsewhere(path, section, name, value):
    data = json.loads(path.read_text())
    data[section][name] = value
    path.write_text(json.dumps(data))
    with pytest.raises(InputError, match="is expected"):
        read_reference(path)
