"""The ledger of attacks with hostile input: what was run, by which code, and what it showed; and its table in the docs.

    python tests/fuzz/attacks.py tables --cases 2000    # runs new cases, notes them, and writes the table
    python tests/fuzz/attacks.py                        # writes the table of docs/security.md and prints it
    python tests/fuzz/attacks.py "by hand" --cases 40 --errors 2    # notes what was run another way

Cases that `make test-all` runs again and again do not enter the ledger. A run of new cases has seeds above all that the
ledger has. It ends with its first error.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gomea_bn.runtime import source_digest
from gomea_bn.runtime.sources import __version__

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent.parent
LEDGER = FOLDER / "attacks.jsonl"
PAGE = ROOT / "docs" / "security.md"
TESTS = {
    "tables": "test_hostile_tables.py",
    "files": "test_hostile_files.py",
    "calls": "test_hostile_options.py",
    "signals": "test_hostile_signals.py",
    "runs": "test_hostile_runs.py",
}
"""Module of tests of every attack that is made from seeds."""
_BEGIN, _END = "<!-- attacks: tests/fuzz/attacks.py writes this table -->", "<!-- end of the table -->"


def rows_of(ledger: Path) -> list[dict[str, Any]]:
    """Return the rows of a ledger: "attack", "cases" and "errors", and as far as known seeds, code and day."""
    return [json.loads(line) for line in ledger.read_text(encoding="utf-8").splitlines()]


def table_of(rows: list[dict[str, Any]]) -> str:
    """Return a Markdown table of the sums of a ledger, with a line for every attack and one for all."""
    lines = [
        "| attack | cases | errors | cases since the last error | newest cases |",
        "|---|---|---|---|---|",
    ]
    for attack in dict.fromkeys(row["attack"] for row in rows):
        of_attack = [row for row in rows if row["attack"] == attack]
        last = max((k for k, row in enumerate(of_attack) if row["errors"]), default=-1)
        since = sum(row["cases"] for row in of_attack[last + 1 :])
        cells = (
            attack,
            _sum(of_attack, "cases"),
            _sum(of_attack, "errors"),
            f"{since:,}",
            _origin(of_attack[-1]),
        )
        lines.append(f"| {' | '.join(cells)} |")
    lines.append(f"| all | {_sum(rows, 'cases')} | {_sum(rows, 'errors')} | | |")
    return "\n".join(lines)


def _sum(rows: list[dict[str, Any]], field: str) -> str:
    return f"{sum(row[field] for row in rows):,}"


def _origin(row: dict[str, Any]) -> str:
    """Return the version, sources and day of a row."""
    if "committed" in row:
        return f"version and day not recorded, committed on {row['committed']}"
    return f"{row['version']} (sources {row['sources']}), {row['finished'][:10]}"


def write_page(ledger: Path, page: Path) -> str:
    """Write the table of a ledger into a page, between its marks, and return the table."""
    table = table_of(rows_of(ledger))
    head, rest = page.read_text(encoding="utf-8").split(_BEGIN)
    _, tail = rest.split(_END)
    page.write_text(f"{head}{_BEGIN}\n\n{table}\n\n{_END}{tail}", encoding="utf-8")
    return table


def next_seed(rows: list[dict[str, Any]], attack: str) -> int:
    """Return the first seed that no row of an attack has."""
    ends = [
        row["first_seed"] + row["cases"] for row in rows if row["attack"] == attack and "first_seed" in row
    ]
    # make test-all, and runs before the ledger, have smaller ones
    return max(ends, default=10_000_000)


def run_cases(attack: str, first_seed: int, n_cases: int) -> tuple[int, int]:
    """Run cases of an attack; returns the numbers of cases and of errors, at most one, which ends the run."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "cases"
        environment = {
            **os.environ,
            "GOMEA_BN_FUZZ_SEED": str(first_seed),
            "GOMEA_BN_FUZZ_CASES": str(n_cases),
            "GOMEA_BN_FUZZ_LOG": str(log),
        }
        command = [sys.executable, "-m", "pytest", "-x", "-m", "long", str(FOLDER / TESTS[attack])]
        code = subprocess.run(command, cwd=ROOT, env=environment).returncode
        return len(log.read_text().splitlines()) if log.exists() else 0, int(code != 0)


def main(arguments: list[str] | None = None) -> int:
    """Run or note cases and write the table; returns the code with which the process ends."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("attack", nargs="?", help=f"{', '.join(TESTS)}, or with --errors any other.")
    parser.add_argument("--cases", type=int, default=1_000, help="Number of cases.")
    parser.add_argument("--errors", type=int, help="Number of errors of cases that were run another way.")
    given = parser.parse_args(arguments)
    errors = 0
    if given.attack is not None:
        if given.attack not in TESTS and given.errors is None:
            parser.error(
                f"unknown attack {given.attack}; there are {', '.join(TESTS)}, and others with --errors"
            )
        row = {"attack": given.attack, "cases": given.cases, "errors": given.errors}
        if given.errors is None:
            first_seed = next_seed(rows_of(LEDGER), given.attack)
            n_cases, errors = run_cases(given.attack, first_seed, given.cases)
            row |= {"cases": n_cases, "errors": errors, "first_seed": first_seed}
        finished = datetime.now(UTC).isoformat(timespec="seconds")
        row |= {"version": __version__, "sources": source_digest(), "finished": finished}
        with LEDGER.open("a", encoding="utf-8") as ledger:
            ledger.write(json.dumps(row) + "\n")
    print(write_page(LEDGER, PAGE))
    return errors


if __name__ == "__main__":
    sys.exit(main())
