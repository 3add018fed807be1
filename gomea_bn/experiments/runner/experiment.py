"""An experiment: a frozen plan, its independent tasks, the measurement of a task, and the report of the rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, TypeAlias

from gomea_bn.errors import GomeaBnError, check_choice, check_integer, check_number
from gomea_bn.experiments.runner.report import Report

__all__ = ["Experiment", "Measured", "Plan", "Row", "Task", "plain", "task_key"]

Task: TypeAlias = dict[str, Any]
"""Everything that one run depends on, as names with numbers and texts that JSON can hold."""

Row: TypeAlias = dict[str, Any]
"""Outcome of a task: "key", "task", this package's "version", and either "measured" and "seconds" or a traceback as
"error"; "warnings" holds the texts of warnings, each once."""


@dataclass(frozen=True)
class Plan:
    """The size of an experiment; every field is part of its description.

    Parameters
    ----------
    nets : int
        Number of repetitions: random networks, samples, or orders of folds.
    sizes : tuple of int
        Sizes of the problem: numbers of rows, or of variables.
    algorithms : tuple of str
        Names of the compared algorithms.
    variants : tuple of str
        Names of laws or kinds of networks, of tables or of problems.
    seconds : float or None
        Limit of one search in seconds; None for no clock.
    evaluations : int or None
        Limit of one search in evaluations. Results then depend on the task alone, whereas a clock lets them vary.
    seed : int
        Number from which the seeds of all tasks are counted.
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
    def of(cls, description: Mapping[str, Any]) -> Plan:
        """Return the plan of a description; the lists of JSON become tuples again.

        Raises
        ------
        GomeaBnError
            If it lacks a field, as one of another version may.
        """
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
        """Return one task per variant, size, repetition and algorithm.

        Parameters
        ----------
        variant, size, algorithm : str
            Names in a task of its variant, its size and its algorithm.
        """
        return [
            {variant: of_variant, size: of_size, "net": self.seed + net, algorithm: name, **self.limits}
            for of_variant in self.variants
            for of_size in self.sizes
            for net in range(self.nets)
            for name in self.algorithms
        ]


@dataclass(frozen=True)
class Measured:
    """Results of a task.

    Attributes
    ----------
    values : dict
        Results, which depend on the task alone: finite numbers, texts, lists and dictionaries.
    seconds : dict of str to float
        Wall times, which differ between runs.
    """

    values: dict[str, Any]
    seconds: dict[str, float]


@dataclass(frozen=True)
class Experiment:
    """One published experiment.

    Parameters
    ----------
    name : str
        Name on the command line.
    title, source : str
        Measured quantity, and its publication.
    plan, full : Plan
        The default for two cores, and the size of the publication.
    known_algorithms, known_variants : tuple of str
        Names that a plan may have.
    tasks : callable
        Function of a plan that returns its tasks in the order of the rows.
    measure : callable
        Function of a task that returns its results; importable by name, since other processes run it.
    report : callable
        Function of a plan and the measured rows that returns tables, figures and claims.
    prepare : callable, optional
        Function that compiles the kernels of the tasks before workers start; it gets a function that prints a line.
    least_size : int
        Smallest size with which every task can be run.
    revision : int
        Number that is raised whenever `measure` changes, so that rows of another revision are not used.
    """

    name: str
    title: str
    source: str
    plan: Plan
    full: Plan
    known_algorithms: tuple[str, ...]
    known_variants: tuple[str, ...]
    tasks: Callable[[Plan], list[Task]]
    measure: Callable[[Task], Measured]
    report: Callable[[Plan, Sequence[Row]], Report]
    prepare: Callable[[Callable[[str], object]], float] | None = None
    least_size: int = 1
    revision: int = 1

    def expand(self, plan: Plan) -> list[Task]:
        """Return the tasks of a plan, each with the revision of the experiment."""
        return [{**task, "revision": self.revision} for task in self.tasks(plan)]

    def planned(self, *, full: bool = False, **changes: Any) -> Plan:
        """Return the default or the full plan with the changes that are not None.

        Raises
        ------
        GomeaBnError
            For an unknown algorithm or variant, or a size below the least one.
        """
        options = {name: value for name, value in changes.items() if value is not None}
        if "evaluations" in options and "seconds" not in options:
            options["seconds"] = None
        plan = replace(self.full if full else self.plan, **options)
        for option, choices in (("algorithms", self.known_algorithms), ("variants", self.known_variants)):
            if getattr(plan, option) and not choices:
                raise GomeaBnError(f"{self.name} has no {option}; leave them out.")
            for name in getattr(plan, option):
                check_choice(f"{option} of {self.name}", name, choices)
        if min(plan.sizes) < self.least_size:
            raise GomeaBnError(
                f"sizes of {self.name} must be at least {self.least_size}, got {min(plan.sizes)}."
            )
        if self.known_variants and not plan.variants:
            raise GomeaBnError(f"variants of {self.name} must have at least one name.")
        return plan

    def describe(self, plan: Plan) -> dict[str, Any]:
        """Return the name, revision and plan, which decide the tasks, as JSON holds them."""
        return plain({"experiment": self.name, "revision": self.revision, **asdict(plan)})  # type: ignore[no-any-return]


def task_key(task: Mapping[str, Any]) -> str:
    """Return 20 hexadecimal digits that depend on the task's content alone."""
    text = json.dumps(task, sort_keys=True, allow_nan=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def plain(value: Any) -> Any:
    """Return a value as JSON gives it back: tuples as lists, NumPy's numbers as Python's.

    Raises
    ------
    ValueError
        For values that JSON cannot hold, such as infinity and nan.
    """
    return json.loads(json.dumps(value, allow_nan=False, default=_python_number))


def _python_number(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise ValueError(f"JSON cannot hold {value!r}.")
