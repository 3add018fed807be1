"""Experiments that are one function of their options, which returns tables: every value of some options is a task."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import product
from typing import Any

from lab.runner.experiment import Experiment, Option, Options, Row, Task, plain
from lab.runner.report import Report, Sheet

Table = Callable[[Options], Sheet | Sequence[Sheet]]


def tabulated(
    name: str,
    title: str,
    source: str,
    table: Table,
    options: Mapping[str, Option],
    *,
    split: tuple[str, ...] = (),
    prepare: Callable[[Callable[[str], object]], float] | None = None,
    in_turn: bool = True,
) -> Experiment:
    """Return the experiment of a function that returns the tables of its options; it is importable by name.

    `split` names options that list values. Every combination of their values is a task, with a list of one value each;
    rows of equal tables are joined. Other parameters are those of `Experiment`.
    """
    return Experiment(
        name=name,
        title=title,
        source=source,
        tasks=partial(_tasks, split),
        measure=partial(_measured, table),
        report=_joined,
        options=options,
        prepare=prepare,
        in_turn=in_turn,
    )


def _tasks(split: tuple[str, ...], plan: Options) -> list[Task]:
    values = [getattr(plan, name) for name in split]
    tasks: list[Task] = plain(
        [{**vars(plan), **{n: [v] for n, v in zip(split, chosen)}} for chosen in product(*values)]
    )
    return tasks


def _measured(table: Table, task: Task) -> dict[str, Any]:
    sheets = table(Options(**task))
    return {"sheets": [asdict(sheet) for sheet in ([sheets] if isinstance(sheets, Sheet) else sheets)]}


def _joined(_plan: Options, rows: Sequence[Row]) -> Report:
    """Return the tables of all tasks; those with the same heading and columns are one."""
    joined: dict[tuple[str, tuple[str, ...]], tuple[list[tuple[str, ...]], list[str]]] = {}
    for sheet in (sheet for row in rows for sheet in row["measured"]["sheets"]):
        lines, notes = joined.setdefault((sheet["heading"], tuple(sheet["columns"])), ([], []))
        lines += map(tuple, sheet["rows"])
        notes += [sheet["note"]] if sheet["note"] and sheet["note"] not in notes else []
    return Report(
        tuple(
            Sheet(heading, columns, tuple(lines), "\n".join(notes))
            for (heading, columns), (lines, notes) in joined.items()
        )
    )
