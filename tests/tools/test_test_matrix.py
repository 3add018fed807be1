"""Which versions are installed, and which Pythons are found."""

import subprocess
import sys
import tomllib

import pytest
import test_matrix


def test_lowest_versions_are_those_that_are_allowed():
    assert test_matrix.lowest(["numpy>=2.0", "mkdocs>=1.6,<2", "locket"]) == [
        "numpy==2.0",
        "mkdocs==1.6",
        "locket",
    ]


def test_a_python_is_found_by_its_version():
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert test_matrix.interpreter(version)
    assert test_matrix.interpreter("3.99") is None


def test_an_installation_that_fails_ends_the_steps(tmp_path):
    assert not test_matrix.tested("/bin/false", tmp_path / "venv", [], is_lowest=False, is_next_numba=False)


@pytest.fixture
def steps(monkeypatch):
    """Return the list of the commands that are run from now on; all of them succeed."""
    noted = []

    def run(step, **_options):
        noted.append(step)
        return subprocess.CompletedProcess(step, 0)

    monkeypatch.setattr(test_matrix.subprocess, "run", run)
    return noted


def test_the_installed_package_is_tested(tmp_path, steps):
    assert test_matrix.tested(
        "python", tmp_path / "venv", ["tests/a.py"], is_lowest=False, is_next_numba=False
    )
    # without -P the modules of the checkout would come first
    assert steps[-1][1:4] == ["-P", "-m", "pytest"]


def test_the_next_numba_replaces_the_one_that_the_project_allows(tmp_path, steps):
    assert test_matrix.tested("python", tmp_path / "venv", [], is_lowest=False, is_next_numba=True)
    allowed, newest, package = steps[1:4]
    assert any(word.startswith("numba>=") and ",<" in word for word in allowed)
    assert newest[-3:] == ["--pre", "--upgrade", "numba"]
    assert "--no-deps" in package  # else the bound of the project would bring the former numba back


def test_the_tests_that_run_by_default_exist():
    assert all((test_matrix.ROOT / path.partition("::")[0]).exists() for path in test_matrix.TESTS)


def test_a_warning_that_points_into_the_package_fails_the_tests():
    project = tomllib.loads((test_matrix.ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "error:::gomea_bn" in project["tool"]["pytest"]["ini_options"]["filterwarnings"]
