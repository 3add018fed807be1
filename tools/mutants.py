"""Change the code at one place at a time, run the tests that should notice, and report how many changes they noticed.

The changes are listed in mutants.toml, next to this file. Every table is named by a source file:

    ["gomea_bn/data/table.py"]
    tests = ["tests/data/test_table.py"]
    compiled = false  # optional: run kernels as plain Python, if their tests are then quick
    changes = [
      ['old text', 'new text'],
      ['old text', 'new text', 'tests/data/test_table.py::test_of_this_change'],
    ]

An old text must occur exactly once in its file. A third entry replaces the table's `tests`; several arguments of
pytest are separated by blanks. The exit code is 0 if enough changes were noticed, 1 if not, and 2 if the list does
not fit the code or a test fails without any change.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import queue
import shutil
import subprocess
import sys
import threading
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHANGES = Path(__file__).with_name("mutants.toml")
_SERVER = Path(__file__).with_name("pytest_server.py").resolve()
LEAST_SHARE = 0.95
IGNORED = shutil.ignore_patterns(
    ".git", ".venv", "out", "build", "dist", "results", "__pycache__", "*.egg-info", ".*_cache", ".hypothesis"
)
NOTICED, UNNOTICED = "noticed", "NOT NOTICED"
_TESTS_PASSED, _TESTS_FAILED, _COLLECTION_FAILED = 0, 1, 2
# tests that take longer than this under a change have become endless
_MOST_SECONDS = 300.0


class ListError(Exception):
    """The list of changes does not fit the code, or the tests fail without any change."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a source file, and the tests that should fail under it.

    Attributes
    ----------
    file : str
        Path below the root of the repository.
    old, new : str
        The text to replace, which occurs once in the file, and its replacement.
    tests : tuple of str
        Arguments of pytest.
    compiled : bool
        Whether kernels are compiled; otherwise they run as plain Python.
    """

    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    compiled: bool = True

    def applied_to(self, text: str) -> str:
        """Return the text of the file after the change."""
        return text.replace(self.old, self.new, 1)

    def line_in(self, text: str) -> int:
        """Return the number of the line at which the old text begins, from 1."""
        return text[: text.index(self.old)].count("\n") + 1


class Tree:
    """A copy of the repository in which changes are made and tests run.

    Its path is fixed, as kernel caches need. Two processes run the tests: one that compiles kernels, one that does not.

    Parameters
    ----------
    root : Path
        The copy.
    scratch : Path
        Folder for the output of the tests, and for the cache of changed kernels.
    """

    def __init__(self, root: Path, scratch: Path) -> None:
        self.root = root
        self.changed_cache = scratch / "cache"
        self._output = scratch / "output.txt"
        self._servers: dict[bool, subprocess.Popen[str]] = {}
        scratch.mkdir(parents=True, exist_ok=True)

    def close(self) -> None:
        """End the processes."""
        for server in self._servers.values():
            server.communicate()

    def run(
        self, tests: Sequence[str], *, compiled: bool, cache: Path | None = None, limit: float | None = None
    ) -> tuple[int, str]:
        """Return pytest's exit code and output for some tests; a run of more than `limit` seconds has failed."""
        # the tests of a change may be long ones
        arguments = ["-x", "-q", "-m", "", "--hypothesis-seed=0", "-p", "no:cacheprovider"]
        if not compiled:
            # in plain Python NumPy warns of words that wrap around, as those of hashes do
            arguments += ["-W", "ignore:overflow encountered in scalar:RuntimeWarning"]
        request = {
            "arguments": [*arguments, *tests],
            "environment": {} if cache is None else {"XDG_CACHE_HOME": str(cache)},
            "output": str(self._output),
            "limit": limit,
        }
        if compiled not in self._servers:
            self._servers[compiled] = self._started(compiled)
        server = self._servers[compiled]
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(json.dumps(request) + "\n")
        server.stdin.flush()
        return int(server.stdout.readline()), self._output.read_text(encoding="utf-8", errors="replace")

    def _started(self, compiled: bool) -> subprocess.Popen[str]:
        environment = {**os.environ, "PYTHONPATH": str(self.root), "PYTHONDONTWRITEBYTECODE": "1"}
        if not compiled:
            environment["NUMBA_DISABLE_JIT"] = "1"
        return subprocess.Popen(
            [sys.executable, str(_SERVER)],
            cwd=self.root,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )


def read_changes(path: Path = CHANGES) -> list[Change]:
    """Return the changes of a list."""
    changes = []
    for file, table in tomllib.loads(path.read_text(encoding="utf-8")).items():
        for old, new, *tests in table["changes"]:
            arguments = tuple(tests[0].split()) if tests else tuple(table["tests"])
            changes.append(Change(file, old, new, arguments, table.get("compiled", True)))
    return changes


def check_changes(changes: Sequence[Change], root: Path = ROOT) -> list[str]:
    """Return what does not fit the code: one line for each change that cannot be made or whose tests are missing."""
    problems = []
    for change in changes:
        where = f"{change.file}: {change.old!r}"
        path = root / change.file
        count = path.read_text(encoding="utf-8").count(change.old) if path.is_file() else 0
        if count != 1:
            problems.append(f"{where} occurs {count} times, expected once")
            continue
        if change.new == change.old:
            problems.append(f"{where} is not changed")
        if path.suffix == ".py":
            try:
                ast.parse(change.applied_to(_statements_around(path, change.old)))
            except SyntaxError as error:
                problems.append(f"{where} becomes invalid Python: {error}")
        problems += [f"{where}: no test {test}" for test in change.tests if not _exists(root, test)]
    return problems


def _statements_around(path: Path, text: str) -> str:
    """Return the statements at the top of a file that contain a text; to parse whole files would take minutes."""
    source = path.read_text(encoding="utf-8")
    first = source[: source.index(text)].count("\n")
    last = first + text.count("\n")
    starts = [0, *(start for start in _starts(source) if start <= first)]
    ends = [end for end in _starts(source) if end > last]
    return "".join(source.splitlines(keepends=True)[starts[-1] : ends[0] if ends else None])


@cache
def _starts(source: str) -> list[int]:
    """Return the numbers, from 0, of the lines at which the statements at the top of a file begin."""
    return [
        min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))]) - 1
        for node in ast.parse(source).body
    ]


def _exists(root: Path, test: str) -> bool:
    """Return whether the file of a test exists and contains the function, if one is named."""
    name, *function = test.split("::")
    path = root / name
    if not function:
        return path.exists()
    return path.is_file() and f"def {function[0].split('[')[0]}(" in path.read_text(encoding="utf-8")


def check_tests(changes: Sequence[Change], tree: Tree) -> None:
    """Run all tests of the list without any change.

    Raises
    ------
    ListError
        If a test fails, or if pytest finds none.
    """
    for compiled in (True, False):
        tests = sorted({test for change in changes if change.compiled == compiled for test in change.tests})
        if not tests:
            continue
        code, output = tree.run(tests, compiled=compiled)
        if code != _TESTS_PASSED:
            raise ListError(f"Tests fail without any change (pytest's exit code: {code}).\n{output[-5000:]}")


def outcome_of(change: Change, tree: Tree) -> str:
    """Make a change in a copy of the repository, run its tests there, undo it, and return the outcome.

    Raises
    ------
    ListError
        If pytest finds no test.
    """
    path = tree.root / change.file
    text = path.read_text(encoding="utf-8")
    path.write_text(change.applied_to(text), encoding="utf-8")
    # a changed kernel needs all kernels compiled again, into a folder that is removed afterwards
    cache = tree.changed_cache if change.compiled and "@kernel" in text else None
    try:
        code, output = tree.run(change.tests, compiled=change.compiled, cache=cache, limit=_MOST_SECONDS)
    finally:
        path.write_text(text, encoding="utf-8")
        shutil.rmtree(tree.changed_cache, ignore_errors=True)
    if code not in (_TESTS_PASSED, _TESTS_FAILED, _COLLECTION_FAILED):
        raise ListError(f"{' '.join(change.tests)}: pytest's exit code is {code}.\n{output[-5000:]}")
    return UNNOTICED if code == _TESTS_PASSED else NOTICED


def try_changes(changes: Sequence[Change], root: Path, folder: Path, n_processes: int) -> dict[Change, str]:
    """Return the outcome of every change, printing each as it is known.

    Parameters
    ----------
    changes : sequence of Change
        Changes that `check_changes` accepts.
    root : Path
        The repository.
    folder : Path
        Where copies of the repository are made, one for each process.
    n_processes : int
        Number of changes that are tried at the same time.

    Raises
    ------
    ListError
        If a test fails without any change.
    """
    waiting: queue.SimpleQueue[Change] = queue.SimpleQueue()
    for change in changes:
        waiting.put(change)
    outcomes: dict[Change, str] = {}
    failures: list[ListError] = []

    trees = [
        Tree(_copied(root, folder / f"tree-{number}"), folder / f"scratch-{number}")
        for number in range(n_processes)
    ]

    def work(tree: Tree) -> None:
        while not failures:
            try:
                change = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                outcomes[change] = outcome_of(change, tree)
            except ListError as error:
                failures.append(error)
                return
            _print_outcome(change, outcomes[change], root, f"{len(outcomes)}/{len(changes)}")

    try:
        check_tests(changes, trees[0])
        threads = [threading.Thread(target=work, args=(tree,)) for tree in trees]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        for tree in trees:
            tree.close()
    if failures:
        raise failures[0]
    return outcomes


def _copied(root: Path, target: Path) -> Path:
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(root, target, symlinks=True, ignore=IGNORED)
    return target


def _print_outcome(change: Change, outcome: str, root: Path, position: str) -> None:
    line = change.line_in((root / change.file).read_text(encoding="utf-8"))
    print(f"{position} {outcome}: {change.file}:{line}: {change.old!r} -> {change.new!r}", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Try the listed changes, or those of some files, and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "files", nargs="*", help="only changes of files whose path contains one of these texts"
    )
    parser.add_argument("--check", action="store_true", help="only check that the list fits the code")
    parser.add_argument("--changes", type=Path, default=CHANGES, help="the list of changes")
    parser.add_argument("--root", type=Path, default=ROOT, help="the repository")
    parser.add_argument(
        "--processes", type=int, default=os.cpu_count() or 1, help="changes tried at the same time"
    )
    options = parser.parse_args(arguments)
    changes = [
        change
        for change in read_changes(options.changes)
        if not options.files or any(text in change.file for text in options.files)
    ]
    problems = check_changes(changes, options.root)
    if problems or not changes:
        print("\n".join(problems) or "No change is listed.")
        return 2
    if options.check:
        print(f"{len(changes)} changes fit the code.")
        return 0
    root = options.root.resolve()
    try:
        outcomes = try_changes(changes, root, root / "out" / "mutants", options.processes)
    except ListError as error:
        print(error)
        return 2
    n_noticed = sum(outcome == NOTICED for outcome in outcomes.values())
    print(f"{n_noticed} of {len(changes)} changes were noticed ({n_noticed / len(changes):.1%}).")
    for change, outcome in outcomes.items():
        if outcome == UNNOTICED:
            _print_outcome(change, outcome, root, "-")
    return 0 if n_noticed >= LEAST_SHARE * len(changes) else 1


if __name__ == "__main__":
    sys.exit(main())
