"""Toy experiments whose tasks other processes can import, and a run that dies on the way."""

import io
import os
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import typer

from lab import command
from lab.runner.experiment import Experiment, Measured, Plan
from lab.runner.report import Report, Sheet

LABORATORY = str(Path(command.__file__).parent)


def laboratory(*arguments: object) -> tuple[int, str]:
    """Return the exit code of the command of the laboratory, and what it printed."""
    with io.StringIO() as printed, redirect_stdout(printed), redirect_stderr(printed):
        try:
            command.main([str(argument) for argument in arguments])
        except typer.Exit as ended:
            return ended.exit_code, printed.getvalue()
        return 0, printed.getvalue()


def tasks(plan: Plan) -> list[dict[str, Any]]:
    return [
        {"name": name, "size": size, "net": plan.seed + net}
        for name in plan.algorithms
        for size in plan.sizes
        for net in range(plan.nets)
    ]


def measure(task: dict[str, Any]) -> Measured:
    return Measured({"value": task["size"] * 10 + task["net"]}, {"own": 0.5})


def measure_or_fail(task: dict[str, Any]) -> Measured:
    """Size 2 always raises, size 3 at its first attempt, which a file remembers; size 4 is no number."""
    if task["size"] == 2:
        raise ArithmeticError("no <b>value</b> for size 2")
    seen = Path(os.environ["BENCH_EXAMPLE_FOLDER"]) / f"{task['size']}-{task['net']}"
    if task["size"] == 3 and not seen.exists():
        seen.touch()
        raise LookupError("only once")
    if task["size"] == 4:
        return Measured({"value": float("inf")}, {})
    return measure(task)


def measure_or_die(task: dict[str, Any]) -> Measured:
    """Size 2 takes its whole process down."""
    if task["size"] == 2:
        os._exit(1)
    return measure(task)


def report(_plan: Plan, rows: Any) -> Report:
    cells = tuple((str(row["task"]["size"]), str(row["measured"]["value"])) for row in rows)
    return Report((Sheet("Values", ("size", "value"), cells),))


def measured_part(rows: Any) -> list[dict[str, Any]]:
    """Return rows without wall times and numbers of attempts: the part that two runs have in common."""
    return [{name: row[name] for name in ("key", "task", "measured") if name in row} for row in rows]


def toy(function: Any = measure) -> Experiment:
    plan = Plan(3, (1, 2), ("a", "b"))
    return Experiment(
        name="toy", title="A <toy>", source="Nowhere & never.", plan=plan, full=plan,
        tasks=tasks, measure=function, report=report,
    )  # fmt: skip


def die_after(n_rows: int, folder: Path) -> None:
    """Run the toy experiment, and end the process without any clean-up once this number of rows is there."""
    from lab.runner.run import run_experiment

    def progress(n_done: int, _n_tasks: int, _n_failed: int) -> None:
        if n_done >= n_rows:
            os._exit(9)

    run_experiment(toy(), toy().plan, folder, n_workers=1, progress=progress)


if __name__ == "__main__":
    die_after(int(sys.argv[1]), Path(sys.argv[2]))
