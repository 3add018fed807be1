"""An experiment: a frozen plan, its independent tasks, the measurement of a task, and the report of the rows.

`tabulated` makes one of a function of options that returns tables.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import partial
from itertools import product
from types import SimpleNamespace
from typing import Any, Self, TypeAlias

from gomea_bn.errors import GomeaBnError, check_choice, check_integer, check_number
from lab.runner.report import Report, Sheet

Task: TypeAlias = dict[str, Any]
"""Everything that one run depends on, as names with numbers and texts that JSON can hold."""

Row: TypeAlias = dict[str, Any]
"""Outcome of a task: "key", "task", and either "measured" and "seconds" or a traceback as "error"; "warnings" holds the
texts of warnings, each once. "version" and "sources" name the code that made the row, "finished" the time (UTC), and
"machine" the computer. Rows of earlier versions have "version" alone, and "committed", the day of their commit."""


@dataclass(frozen=True)
class Plan:
    """The size of an experiment; every field is part of its description.

    `nets` is the number of repetitions: random networks, samples, or orders of folds. `sizes` are those of the problem:
    numbers of rows, or of variables. `variants` name laws or kinds of networks, tables or problems. A search is limited
    by seconds (None for no clock) or by evaluations; results then depend on the task alone, whereas a clock lets them
    vary. The seeds of all tasks are counted from `seed`.
    """

    nets: int
    sizes: tuple[int, ...]
    algorithms: tuple[str, ...]
    variants: tuple[str, ...] = ()
    seconds: float | None = 10.0
    evaluations: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_integer("nets", self.nets, 1)
        if not self.sizes:
            raise GomeaBnError("sizes must have at least one number.")
        for size in self.sizes:
            check_integer("sizes", size, 1)
        if not self.algorithms:
            raise GomeaBnError("algorithms must have at least one name.")
        if self.seconds is None and self.evaluations is None:
            raise GomeaBnError("A search needs a limit: set seconds or evaluations.")
        check_number("seconds", self.seconds, 0, above=True, optional=True)
        check_integer("evaluations", self.evaluations, 1, optional=True)
        check_integer("seed", self.seed, 0)
        for name in ("sizes", "algorithms", "variants"):
            values = getattr(self, name)
            if len(set(values)) < len(values):
                raise GomeaBnError(f"{name} must be distinct, got {list(values)!r}.")

    @classmethod
    def of(cls, description: Mapping[str, Any]) -> Self:
        """Return the plan of a description, whose lists become tuples again; `GomeaBnError` if it lacks a field."""
        names = [field.name for field in fields(cls)]
        if absent := [name for name in names if name not in description]:
            raise GomeaBnError(f"The description lacks {', '.join(absent)}; run the experiment again.")
        values: dict[str, Any] = {name: description[name] for name in names}
        tuples = {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
        return cls(**{**values, **tuples})

    @property
    def limits(self) -> dict[str, float | int | None]:
        """The two limits, as a task carries them."""
        return {"seconds": self.seconds, "evaluations": self.evaluations}

    def tasks(self, variant: str, size: str, algorithm: str) -> list[Task]:
        """Return one task per variant, size, repetition and algorithm, under the names that they have in a task."""
        return [
            {variant: of_variant, size: of_size, "net": self.seed + net, algorithm: name, **self.limits}
            for of_variant in self.variants
            for of_size in self.sizes
            for net in range(self.nets)
            for name in self.algorithms
        ]


_WHOLE = ("option", "variant")
"""Options whose values may have commas."""


@dataclass(frozen=True)
class Option:
    """An option of an experiment: a tuple as its default takes several values, and flags are bool.

    `kind` is the type of a value, by default that of the default; `least` is the smallest number that is allowed.
    """

    default: Any
    help: str = ""
    kind: type | None = None
    choices: Collection[str] = ()
    least: int | None = None

    @property
    def is_list(self) -> bool:
        """Whether the option takes several values."""
        return isinstance(self.default, tuple)

    def read(self, name: str, texts: Sequence[str]) -> Any:
        """Return the value that a command line gives, or raise `GomeaBnError`; commas or spaces separate lists."""
        kind = self.kind or (type(self.default[0]) if self.is_list and self.default else type(self.default))
        if kind is bool:
            if texts:
                raise GomeaBnError(f"--{name} takes no value, got {' '.join(texts)!r}.")
            return True
        if not texts or (len(texts) > 1 and not self.is_list):
            raise GomeaBnError(f"--{name} takes one value, got {' '.join(texts)!r}.")
        parts = [
            part
            for text in texts
            for part in (text.split(",") if self.is_list and name not in _WHOLE else [text])
        ]
        words = {int: "integers", float: "numbers"}.get(kind, "names")
        try:
            values = [
                kind(float(part)) if kind is int and "e" in part else kind(part.strip()) for part in parts
            ]
        except ValueError:
            several = f"{words} separated by commas" if self.is_list else words.removesuffix("s")
            raise GomeaBnError(f"--{name} must be {several}, got {' '.join(texts)!r}.") from None
        return tuple(value for value in values if value != "") if self.is_list else values[0]

    def check(self, name: str, value: Any) -> None:
        """Raise `GomeaBnError` for a value that is not allowed."""
        for each in value if self.is_list else (value,):
            if self.choices and each is not None:
                check_choice(name, each, tuple(self.choices))
            if self.least is not None and each is not None:
                check_integer(name, each, self.least)


class Options(SimpleNamespace):
    """Values of the options of an experiment that has options of its own, as attributes."""


PLAN_OPTIONS: Mapping[str, Option] = {
    "nets": Option(1, "Number of repetitions: networks, samples, foldings."),
    "sizes": Option((1,), "Sizes of what the experiment varies, such as rows."),
    "algorithms": Option(("",), "Algorithms to compare."),
    "variants": Option(("",), "Laws or kinds of networks, tables, problems."),
    "seconds": Option(None, "Time limit of one search.", float),
    "evaluations": Option(
        None, "Limit of one search instead of --seconds; two runs then give equal rows.", int
    ),
    "seed": Option(0, "First seed; all others follow from it."),
}
"""Options of the experiments whose settings are a `Plan`."""


@dataclass(frozen=True)
class Measured:
    """Results of a task, which depend on it alone and JSON can hold, and wall times, which differ between runs."""

    values: dict[str, Any]
    seconds: dict[str, float]


@dataclass(frozen=True)
class Experiment:
    """An experiment: a published one, a comparison with other libraries, or a measurement of scaling.

    `title` and `source` are the measured quantity, and its publication or a description. `tasks` returns the tasks of a
    plan in the order of the rows; `measure` measures one, and is importable by name, since other processes run it;
    `report` makes tables, figures and claims of a plan and its rows. `plan` is the default for two cores and `full` the
    size of the publication; both are None for an experiment with options of its own. `prepare` compiles the kernels of
    the tasks before workers start; it gets a function that prints a line. Plans may name the algorithms and variants of
    the full one, and `more_algorithms`. `least_size` is the smallest with which every task can be run. `revision` is
    raised whenever `measure` changes, so that rows of another revision are not used. Tasks run `in_turn` in the process
    of the command where seconds or memory are measured.
    """

    name: str
    title: str
    source: str
    tasks: Callable[[Any], list[Task]]
    measure: Callable[[Task], Measured | dict[str, Any]]
    report: Callable[[Any, Sequence[Row]], Report]
    plan: Plan | None = None
    full: Plan | None = None
    options: Mapping[str, Option] = field(default_factory=lambda: PLAN_OPTIONS)
    more_algorithms: tuple[str, ...] = ()
    prepare: Callable[[Callable[[str], object]], float] | None = None
    least_size: int = 1
    revision: int = 1
    in_turn: bool = False

    def expand(self, plan: Plan | Options) -> list[Task]:
        """Return the tasks of a plan, each with the revision of the experiment."""
        return [{**task, "revision": self.revision} for task in self.tasks(plan)]

    def planned(self, *, full: bool = False, **changes: Any) -> Plan | Options:
        """Return the default or the full plan with the changes that are not None.

        An unknown option, algorithm or variant, or a size below the least one, is a `GomeaBnError`.
        """
        values = {name: value for name, value in changes.items() if value is not None}
        for name in values:
            if name not in self.options:
                raise GomeaBnError(
                    f"{self.name} has no option --{name}; it has {', '.join(f'--{each}' for each in self.options)}."
                )
        if self.plan is None or self.full is None:
            if full and "full" not in self.options:
                raise GomeaBnError(f"{self.name} has no publication whose sizes --full could take.")
            options = {name: option.default for name, option in self.options.items()}
            for name, value in (options | values).items():
                self.options[name].check(name, value)
            return Options(**(options | values | ({"full": True} if full else {})))
        if "evaluations" in values and "seconds" not in values:
            values["seconds"] = None
        plan = Plan(**{**vars(self.full if full else self.plan), **values})
        known = {"algorithms": (*self.full.algorithms, *self.more_algorithms), "variants": self.full.variants}
        for option, choices in known.items():
            if getattr(plan, option) and not choices:
                raise GomeaBnError(f"{self.name} has no {option}; leave them out.")
            for name in getattr(plan, option):
                check_choice(f"{option} of {self.name}", name, choices)
        if min(plan.sizes) < self.least_size:
            raise GomeaBnError(
                f"sizes of {self.name} must be at least {self.least_size}, got {min(plan.sizes)}."
            )
        if self.full.variants and not plan.variants:
            raise GomeaBnError(f"variants of {self.name} must have at least one name.")
        return plan

    def described(self, description: Mapping[str, Any]) -> Plan | Options:
        """Return the plan of a description, which may lack options of later versions, but no field of a `Plan`."""
        if self.plan is not None:
            return Plan.of(description)
        lists = {name for name, option in self.options.items() if option.is_list}
        return Options(
            **{
                name: tuple(value) if name in lists else value
                for name, option in self.options.items()
                for value in (description.get(name, option.default),)
            }
        )

    def describe(self, plan: Plan | Options) -> dict[str, Any]:
        """Return the name, revision and plan, which decide the tasks, as JSON holds them."""
        return plain({"experiment": self.name, "revision": self.revision, **vars(plan)})  # type: ignore[no-any-return]


def records(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the measured values of rows, each with its task as "task"."""
    return [{"task": row["task"], **row["measured"]} for row in rows]


def task_key(task: Mapping[str, Any]) -> str:
    """Return 20 hexadecimal digits that depend on the task's content alone."""
    text = json.dumps(task, sort_keys=True, allow_nan=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def plain(value: Any) -> Any:
    """Return a value as JSON gives it back: tuples as lists, NumPy's numbers as Python's; infinity is a ValueError."""
    return json.loads(json.dumps(value, allow_nan=False, default=_python_number))


def _python_number(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise ValueError(f"JSON cannot hold {value!r}.")


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
