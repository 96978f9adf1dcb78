import pytest

from mobius_cli.commands.verify.prompts import load_prompts
from repack.errors import InputError


def test_defaults_are_eight_short_prompts():
    prompts = load_prompts()
    assert len(set(prompts)) == 8
    assert all(5 <= len(text.split()) <= 40 for text in prompts)
    assert any(not text.isascii() for text in prompts)


def test_given_prompts_replace_the_defaults_and_keep_their_spaces():
    assert load_prompts(["one ", "two\nlines"]) == ["one ", "two\nlines"]


def test_a_file_holds_one_prompt_per_line(tmp_path):
    path = tmp_path / "prompts.txt"
    path.write_bytes("\ufeffété \r\n\n  two\u2028three\n".encode())
    assert load_prompts(None, path) == ["été ", "  two\u2028three"]
    assert load_prompts(["first"], path) == ["first", "été ", "  two\u2028three"]


def test_nothing_given_is_an_error(tmp_path):
    empty = tmp_path / "empty.txt"
    empty.write_text("\n \n")
    with pytest.raises(InputError, match=r"empty\.txt has no prompt"):
        load_prompts(None, empty)
    with pytest.raises(InputError, match="prompt is empty"):
        load_prompts([" "])


def test_unreadable_files(tmp_path):
    with pytest.raises(InputError, match="cannot read it"):
        load_prompts(None, tmp_path / "missing.txt")
    latin = tmp_path / "latin.txt"
    latin.write_bytes(b"\xe9t\xe9")
    with pytest.raises(InputError, match="not UTF-8"):
        load_prompts(None, latin)
