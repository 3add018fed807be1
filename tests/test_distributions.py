"""Wheel and sdist in a clean environment, and types of an editable installation; they need a package index."""

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

import gomea_bn
from gomea_bn.runtime import source_digest

ROOT = Path(__file__).resolve().parent.parent
pytestmark = pytest.mark.long


def called(*words, **options):
    run = subprocess.run([*map(str, words)], capture_output=True, text=True, check=False, **options)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """Return a copy of the tracked files, with their links."""
    folder = tmp_path_factory.mktemp("tree")
    files = called("git", "ls-files", "-z", cwd=ROOT)
    archive = subprocess.run(
        ["tar", "--create", "--null", "--files-from=-"], input=files.encode(), stdout=subprocess.PIPE,
        cwd=ROOT, check=True,
    )  # fmt: skip
    subprocess.run(["tar", "--extract"], input=archive.stdout, cwd=folder, check=True)
    return folder


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """Return the Python of a clean environment that can build packages."""
    folder = tmp_path_factory.mktemp("clean")
    called(sys.executable, "-m", "venv", folder)
    path = folder / "bin" / "python"
    called(path, "-m", "pip", "install", "--quiet", "setuptools>=77", "wheel")
    return path


@pytest.fixture(scope="module")
def wheel(tree, python, tmp_path_factory):
    """Return the wheel of the sdist."""
    folder = tmp_path_factory.mktemp("dist")
    build = "import sys, setuptools.build_meta as backend; print(backend.build_sdist(sys.argv[1]))"
    called(python, "-c", build, folder, cwd=tree)
    (sdist,) = folder.glob("gomea_bn-*.tar.gz")
    called(python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", folder, sdist)
    (path,) = folder.glob("gomea_bn-*.whl")
    return path


def test_the_wheel_has_all_modules_and_assets_once_and_nothing_else(wheel):
    names = [name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name]
    assert len(names) == len(set(names))
    expected = {
        path.relative_to(ROOT).as_posix()
        for folder in ("gomea_bn", "gomea_bn/operators", "gomea_bn/linkage", "gomea_bn/problems")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".py", ".typed", ".html", ".css", ".js") and "__pycache__" not in path.parts
    }
    assert set(names) == expected
    assert {"gomea_bn/py.typed", "gomea_bn/problems/kernels/score.py"} <= expected


def test_the_wheel_is_small(wheel):
    assert wheel.stat().st_size < 2_000_000


def test_the_installed_wheel_learns(wheel, python, tmp_path):
    called(python, "-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall", wheel)
    script = """
import importlib, pkgutil, pathlib
import gomea_bn, gomea_bn.operators, gomea_bn.linkage, gomea_bn.problems
import pandas as pd
home = pathlib.Path(gomea_bn.__file__).parent
assert "site-packages" in str(home) and "clean" in str(home), home
for name in gomea_bn.__all__:
    getattr(gomea_bn, name)
frame = pd.DataFrame({"a": [k % 7 / 3 for k in range(60)], "b": [str(k % 2) for k in range(60)]})
learner = gomea_bn.BayesNetLearner(max_evaluations=50, random_state=1).fit(frame)
gomea_bn.network_report(learner.network_, learner.table_, "page.html")
print(learner.network_.names)
"""
    # the dependencies come from the environment of the tests, the package does not
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(Path.home()),
        "PYTHONPATH": sysconfig.get_path("purelib"),
    }
    assert "a" in called(python, "-c", script, cwd=tmp_path, env=environment)
    assert (tmp_path / "page.html").is_file()
    facts = json.loads(called(python.parent / "gomea-bn", "info", "--json", cwd=tmp_path, env=environment))
    assert facts["gomea-bn"] == gomea_bn.__version__
    assert facts["sources"] == source_digest()


def test_the_import_loads_what_learning_needs_alone(wheel, python, tmp_path, capsys):
    called(python, "-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall", wheel)
    script = """
import sys
from time import process_time
began = process_time()
import gomea_bn
package = process_time() - began
loaded = [name for name in ("numpy", "pandas", "scipy", "numba") if name in sys.modules]
from gomea_bn import BayesNetLearner
learner = process_time() - began
slow = ("scipy.special", "scipy.linalg", "scipy.stats", "scipy.optimize", "pymoo", "matplotlib", "distributed")
loaded += [name for name in slow if name in sys.modules]
print(package, learner, *loaded)
"""
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": sysconfig.get_path("purelib")}
    # the first run compiles bytecode
    runs = [called(python, "-c", script, cwd=tmp_path, env=environment).split() for _ in range(4)]
    package, learner = (min(float(run[position]) for run in runs) for position in range(2))
    with capsys.disabled():
        print(
            f"\nwheel {wheel.stat().st_size / 1e6:.2f} MB, import {package:.3f} s, learner class {learner:.2f} s"
        )
    assert runs[0][2:] == []


def test_types_of_an_editable_installation_are_seen(tree, python, tmp_path):
    called(
        python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation",
        "--config-settings", "editable_mode=compat", "-e", tree,
    )  # fmt: skip
    (tmp_path / "use.py").write_text(
        "from gomea_bn import BayesNetLearner\nfrom gomea_bn.problems.benchmarks import Trap\n\n"
        "reveal_type(BayesNetLearner().n_eval_)\nreveal_type(Trap(20))\n"
    )
    words = (
        "-m", "mypy", "--python-executable", python, "--follow-imports=silent", "--no-incremental", "use.py",
    )  # fmt: skip
    # the checkout must not be found another way
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    printed = subprocess.run(
        [sys.executable, *map(str, words)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
        check=False,
    ).stdout
    assert 'Revealed type is "int"' in printed, printed
    assert "benchmarks.Trap" in printed
    assert "py.typed" not in printed
