"""`mobius list`: tables as text and as JSON. That the READMEs have the same rows is in tests/test_house.py."""

import json

import pytest

from tests.support.cli import mobius


@pytest.mark.parametrize("what", ["archs", "quants", "targets"])
def test_lists(what: str) -> None:
    assert mobius("list", what).exit_code == 0
    rows = json.loads(mobius("list", what, "--json").stdout)[what]
    assert rows
    assert len({tuple(row) for row in rows}) == 1


def test_list_of_nothing() -> None:
    done = mobius("list", "colours")
    assert done.exit_code == 2
    assert "archs, quants, targets" in done.stderr


def test_quants_say_what_a_folder_costs() -> None:
    rows = {r["type"]: r for r in json.loads(mobius("list", "quants", "--json").stdout)["quants"]}
    assert rows["Q4_K"]["bits_in_file"] == "4.5"
    assert rows["Q4_K"]["fast"] == "6"
    assert rows["Q4_K"]["small"] == "4.625"
    assert all(float(r["small"]) <= 1.03 * float(r["bits_in_file"]) for r in rows.values())


def test_architectures_are_those_with_a_proof() -> None:
    from converters.archs.registry import architectures

    rows = json.loads(mobius("list", "archs", "--json").stdout)["archs"]
    assert [row["architecture"] for row in rows] == sorted(architectures())


def test_the_default_target_is_marked() -> None:
    rows = json.loads(mobius("list", "targets", "--json").stdout)["targets"]
    assert [row["target"] for row in rows if "(default)" in row["target"]] == ["onnx (default)"]
