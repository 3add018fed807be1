"""Install the package into a fresh environment of every Python that this machine has, and run quick tests there.

    python tools/test_matrix.py                      # Python 3.11 to 3.14, those that are present
    python tools/test_matrix.py --pythons 3.11 --lowest
    python tools/test_matrix.py --next-numba --pythons 3.13
    python tools/test_matrix.py -- tests             # other tests, here all of them

The newest versions of the dependencies are installed; `--lowest` installs the lowest ones that `pyproject.toml` allows,
and `--next-numba` the newest numba of all, release candidates included, beyond the upper bound that `pyproject.toml`
sets. The tests read tables of every kind, fit networks and write pages, and fail at warnings that point into the
package. A Python that is absent is named and skipped. The exit code is 1 if an installation or a test failed.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
TESTS = (
    "tests/data",
    "tests/network/test_graph.py",
    "tests/network/formats/test_summary.py",
    "tests/test_packaging.py",
    "tests/cli/commands/test_fit.py",
    "tests/cli/commands/test_plot.py",
    "tests/cli/commands/test_choose.py",
    "tests/cli/test_running.py",
    "tests/cli/test_app.py::test_help_shows_no_types_of_python",
    "tests/cli/test_app.py::test_values_are_named_by_what_they_are",
    "tests/docs/test_readme.py",
    "tests/docs/test_docs.py::test_the_python_blocks_of_a_guide_run_in_order[fronts]",
)
_TOOLS = (
    "pytest>=8.2",
    "hypothesis>=6.100",
    "scikit-learn>=1.6",
    "pyagrum>=2.0",
    "pyarrow>=16",
    "openpyxl>=3.1",
    "odfpy>=1.4",
    "polars>=1.0",
)


def lowest(requirements: list[str]) -> list[str]:
    """Return the requirements with their lowest versions, such as ``numpy==2.0`` for ``numpy>=2.0``."""
    return [re.sub(r">=([\d.]+).*", r"==\1", requirement) for requirement in requirements]


def interpreter(version: str) -> str | None:
    """Return the path of a Python of a version that runs, from PATH or from pyenv, or None."""
    of_pyenv = Path.home().glob(f".pyenv/versions/{version}.*/bin/python")
    for path in (shutil.which(f"python{version}"), *map(str, sorted(of_pyenv))):
        if path is None:
            continue
        answer = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
        if answer.stdout.startswith(f"Python {version}."):
            return path
    return None


def tested(python: str, folder: Path, tests: list[str], *, is_lowest: bool, is_next_numba: bool) -> bool:
    """Make an environment in a folder, install the package and run the tests; return whether all of it succeeded."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    requirements: list[str] = project["dependencies"]
    shutil.rmtree(folder, ignore_errors=True)
    own = folder / "bin" / "python"
    pip = [str(own), "-m", "pip", "install", "--quiet", "--no-compile"]
    if is_lowest:
        requirements = lowest(requirements)
    newest = [[*pip, "--pre", "--upgrade", "numba"]] if is_next_numba else []
    steps = [
        [python, "-m", "venv", str(folder)],
        [*pip, *requirements, *_TOOLS],
        *newest,
        [*pip, "--no-deps", str(ROOT)],
        # -P: the current folder is no place of modules, so that the installed package is tested
        [str(own), "-P", "-m", "pytest", "-p", "no:cacheprovider", *tests],
    ]
    return all(subprocess.run(step, cwd=ROOT, check=False).returncode == 0 for step in steps)


def main() -> None:
    """Test every Python that is present and print one line for each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pythons", nargs="+", default=list(PYTHONS), help="versions, such as 3.12")
    parser.add_argument(
        "--lowest", action="store_true", help="install the lowest versions of the dependencies"
    )
    parser.add_argument(
        "--next-numba", action="store_true", help="then install the newest numba, release candidates included"
    )
    parser.add_argument(
        "--out", type=Path, default=ROOT / "out" / "matrix", help="folder of the environments"
    )
    parser.add_argument("tests", nargs="*", default=list(TESTS), help="tests to run")
    options = parser.parse_args()
    outcomes: dict[str, str] = {}
    for version in options.pythons:
        python = interpreter(version)
        if python is None:
            outcomes[version] = "absent"
        else:
            passed = tested(
                python,
                options.out / version,
                options.tests,
                is_lowest=options.lowest,
                is_next_numba=options.next_numba,
            )
            outcomes[version] = "passed" if passed else "FAILED"
    for version, outcome in outcomes.items():
        print(f"Python {version}: {outcome}")
    sys.exit("FAILED" in outcomes.values())


if __name__ == "__main__":
    main()
