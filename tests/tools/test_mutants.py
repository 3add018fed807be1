"""The tool that changes single places of the code, on a small repository of its own, and its list on this one."""

from pathlib import Path

import mutants
import pytest

CODE = "def add(a, b):\n    # a sum\n    return a + b\n\n\ndef is_large(a):\n    return a > 10\n"
TESTS = """
from small import add, is_large

def test_add():
    assert add(2, 3) == 5

def test_is_large():
    assert is_large(11)
    assert not is_large(3)
"""
LIST = """
["small.py"]
tests = ["tests/test_small.py"]
changes = [
  ['a + b', 'a - b', 'tests/test_small.py::test_add'],
  ['a > 10', 'a < 10'],
]
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a folder with one module, its tests and a list of changes."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "small.py").write_text(CODE)
    (tmp_path / "tests" / "test_small.py").write_text(TESTS)
    (tmp_path / "mutants.toml").write_text(LIST)
    return tmp_path


def try_list(repository: Path, text: str | None = None, *arguments: str) -> int:
    if text is not None:
        (repository / "mutants.toml").write_text(text)
    paths = ["--root", str(repository), "--changes", str(repository / "mutants.toml")]
    return mutants.main([*paths, "--processes", "1", *arguments])


@pytest.mark.long
def test_changes_that_tests_notice_are_counted(repository, capsys):
    assert try_list(repository) == 0
    assert "2 of 2 changes were noticed (100.0%)." in capsys.readouterr().out
    assert (repository / "small.py").read_text() == CODE


@pytest.mark.long
def test_a_change_that_no_test_notices_is_reported_with_its_line(repository, capsys):
    assert try_list(repository, LIST.replace("a < 10", "a > 9")) == 1
    report = capsys.readouterr().out
    assert "1 of 2 changes were noticed (50.0%)." in report
    assert "- NOT NOTICED: small.py:7: 'a > 10' -> 'a > 9'" in report


@pytest.mark.long
def test_changes_are_made_one_at_a_time(repository, capsys):
    # together these two would leave the sum as it is
    (repository / "small.py").write_text(
        "def add(a, b):\n    return a + b + 1 - 1\n\n\ndef is_large(a): ...\n"
    )
    (repository / "tests" / "test_small.py").write_text(
        "from small import add\n\ndef test_add():\n    assert add(2, 3) == 5\n"
    )
    text = "['small.py']\ntests = ['tests']\nchanges = [['+ 1', '+ 2'], ['- 1', '- 2']]\n"
    assert try_list(repository, text) == 0
    assert "2 of 2" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("a * b", "a - b", "occurs 0 times"),
        ("return", "yield", "occurs 2 times"),
        ("a + b", "a + b", "is not changed"),
        ("a + b", "a + * b", "becomes invalid Python"),
    ],
)
def test_a_list_that_does_not_fit_the_code_is_refused(repository, capsys, old, new, message):
    assert try_list(repository, LIST.replace("a + b", old).replace("a - b", new)) == 2
    assert message in capsys.readouterr().out


def test_a_missing_test_is_refused(repository, capsys):
    assert try_list(repository, LIST.replace("::test_add", "::test_sum")) == 2
    assert "no test tests/test_small.py::test_sum" in capsys.readouterr().out


@pytest.mark.long
def test_tests_that_fail_without_a_change_are_refused(repository, capsys):
    (repository / "small.py").write_text(CODE.replace("a > 10", "a > 10 + a"))
    assert try_list(repository, LIST.replace("a > 10", "a > 10 + a")) == 2
    report = capsys.readouterr().out
    assert "Tests fail without any change" in report
    assert "FAILED tests/test_small.py::test_is_large" in report


def test_one_can_try_the_changes_of_some_files(repository, capsys):
    assert try_list(repository, None, "other.py") == 2
    assert "No change is listed." in capsys.readouterr().out


def test_the_list_of_this_repository_fits_its_code():
    assert mutants.check_changes(mutants.read_changes()) == []
