"""The command bench where the laboratory is, and where it is not."""

import importlib
import sys

import pytest
from command_line import invoke, ok

from gomea_bn.cli.commands import bench
from lab.published import judge
from lab.runner import run


@pytest.fixture
def no_laboratory(tmp_path, monkeypatch):
    """An installation without the repository around it."""
    monkeypatch.setattr(bench, "_SCRIPTS", tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if not path.endswith("scripts")])
    for name in [name for name in sys.modules if name.partition(".")[0] == "lab"]:
        monkeypatch.delitem(sys.modules, name)
    for name in [name for name in sys.modules if name.startswith("gomea_bn.experiments")]:
        monkeypatch.delitem(sys.modules, name)


@pytest.mark.parametrize("arguments", [["list"], ["table1", "--nets", "2"], ["--help"]])
def test_an_installed_package_says_where_the_laboratory_is(arguments, no_laboratory):
    result = invoke("bench", *arguments)
    assert result.exit_code == 2
    assert "scripts/lab of the repository" in result.output
    assert 'pip install -e ".[experiments]"' in result.output


def test_all_options_are_those_of_the_experiment():
    result = ok("bench", "shapes-skeletons", "--help")
    assert "--first-seed" in result.output
    assert "--resume" in result.output


def test_the_former_modules_are_forwarded_with_a_warning(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("gomea_bn.experiments")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.warns(DeprecationWarning, match="has moved to scripts/lab"):
        importlib.import_module("gomea_bn.experiments")
    former = importlib.import_module("gomea_bn.experiments.runner.run")
    assert former.run_experiment is run.run_experiment
    assert importlib.import_module("gomea_bn.experiments.judge") is judge


def test_the_former_modules_say_where_they_are(no_laboratory):
    with (
        pytest.warns(DeprecationWarning, match="has moved"),
        pytest.raises(ImportError, match=r"has moved\. The laboratory is the folder scripts/lab"),
    ):
        importlib.import_module("gomea_bn.experiments")
