"""What an experiment is: a frozen plan, its independent tasks, how one is measured, and how rows are reported."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, TypeAlias

from gomea_bn.errors import GomeaBnError, is_integer, is_real, nearest
from gomea_bn.experiments.runner.report import Report

__all__ = ["Experiment", "Measured", "Plan", "Row", "Task", "plain", "task_key"]

Task: TypeAlias = dict[str, Any]
"""What one run depends on: names, numbers and texts that JSON can hold, nothing else."""

Row: TypeAlias = dict[str, Any]
"""A task's outcome: "key", "task", this package's "version", and either "measured" and "seconds", or a traceback as
"error"; "warnings" that were given on the way, each once."""


@dataclass(frozen=True)
class Plan:
    """How much of an experiment is run; every field is part of its description.

    Parameters
    ----------
    nets : int
        Repetitions: random networks, samples, or orders of folds.
    sizes : tuple of int
        What the experiment grows: rows, or variables.
    algorithms : tuple of str
        What is compared.
    variants : tuple of str
        What else varies: laws or kinds of networks, tables, problems.
    seconds : float or None
        Of one search; None for no clock.
    evaluations : int or None
        Of one search. Measured results then depend on the task alone, where a clock lets them vary.
    seed : int
        From which the seeds of all tasks are counted.
    """

    nets: int
    sizes: tuple[int, ...]
    algorithms: tuple[str, ...]
    variants: tuple[str, ...] = ()
    seconds: float | None = 10.0
    evaluations: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if not is_integer(self.nets) or self.nets < 1:
            raise GomeaBnError(f"nets must be an integer of at least 1, got {self.nets!r}.")
        if not self.sizes or not all(is_integer(size) and size >= 1 for size in self.sizes):
            raise GomeaBnError(f"sizes must be integers of at least 1, got {self.sizes!r}.")
        if not self.algorithms:
            raise GomeaBnError("algorithms must name at least one.")
        if self.seconds is None and self.evaluations is None:
            raise GomeaBnError("Set a limit of a run: seconds or evaluations.")
        if self.seconds is not None and not (is_real(self.seconds) and 0 < self.seconds < math.inf):
            raise GomeaBnError(f"seconds must be a positive number or None, got {self.seconds!r}.")
        if self.evaluations is not None and not (is_integer(self.evaluations) and self.evaluations >= 1):
            raise GomeaBnError(
                f"evaluations must be an integer of at least 1 or None, got {self.evaluations!r}."
            )
        if not is_integer(self.seed) or self.seed < 0:
            raise GomeaBnError(f"seed must be an integer of at least 0, got {self.seed!r}.")
        for name in ("sizes", "algorithms", "variants"):
            given = getattr(self, name)
            if len(set(given)) < len(given):
                raise GomeaBnError(f"{name} must be distinct, got {list(given)!r}.")

    @classmethod
    def of(cls, description: Mapping[str, Any]) -> Plan:
        """Return the plan that a description was made from; JSON's lists become tuples again.

        Raises
        ------
        GomeaBnError
            If it lacks something, as one of another version may.
        """
        names = [field.name for field in fields(cls)]
        if absent := [name for name in names if name not in description]:
            raise GomeaBnError(f"The description lacks {', '.join(absent)}; run the experiment again.")
        given: dict[str, Any] = {name: description[name] for name in names}
        lists = {name: tuple(value) for name, value in given.items() if isinstance(value, list)}
        return cls(**{**given, **lists})

    @property
    def limits(self) -> dict[str, float | int | None]:
        """The two limits, as a task carries them."""
        return {"seconds": self.seconds, "evaluations": self.evaluations}


@dataclass(frozen=True)
class Measured:
    """What a task found.

    Attributes
    ----------
    values : dict
        Results, which may depend on the task alone; finite numbers, texts, lists and dictionaries.
    seconds : dict of str to float
        Wall times, which no two runs share.
    """

    values: dict[str, Any]
    seconds: dict[str, float]


@dataclass(frozen=True)
class Experiment:
    """One published experiment.

    Parameters
    ----------
    name : str
        As on the command line.
    title, source : str
        What is measured, and where it was published.
    plan, full : Plan
        The default, which fits two cores, and the size of the publication.
    known_algorithms, known_variants : tuple of str
        What a plan may name.
    tasks : callable
        From a plan to its tasks, in the order of the rows.
    measure : callable
        From a task to what it found; importable by its name, since other processes run it.
    report : callable
        From a plan and the rows that were measured to tables, figures and claims.
    prepare : callable, optional
        Compiles what the tasks need, before workers start; gets a function that prints a line.
    least_size : int
        The smallest of `Plan.sizes` that every task can be run with.
    revision : int
        Raised whenever `measure` measures something else, so that rows of another revision are not taken for its own.
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
        """Return a plan's tasks, each with the revision of what measures it."""
        return [{**task, "revision": self.revision} for task in self.tasks(plan)]

    def planned(self, *, full: bool = False, **changes: Any) -> Plan:
        """Return the default or the full plan with the changes that are not None.

        Raises
        ------
        GomeaBnError
            For an unknown algorithm or variant, and for sizes out of range.
        """
        given = {name: value for name, value in changes.items() if value is not None}
        if "evaluations" in given and "seconds" not in given:
            given["seconds"] = None
        plan = replace(self.full if full else self.plan, **given)
        for option, known in (("algorithms", self.known_algorithms), ("variants", self.known_variants)):
            for name in getattr(plan, option):
                if name not in known:
                    raise GomeaBnError(
                        f"{option} of {self.name} must be out of {', '.join(known) or 'none'}, got {name!r}."
                        f"{nearest(name, known)}"
                    )
        if min(plan.sizes) < self.least_size:
            raise GomeaBnError(
                f"sizes of {self.name} must be at least {self.least_size}, got {min(plan.sizes)}."
            )
        if self.known_variants and not plan.variants:
            raise GomeaBnError(f"variants of {self.name} must name at least one.")
        return plan

    def describe(self, plan: Plan) -> dict[str, Any]:
        """Return what decides the tasks, as JSON holds it."""
        return plain({"experiment": self.name, "revision": self.revision, **asdict(plan)})  # type: ignore[no-any-return]


def task_key(task: Mapping[str, Any]) -> str:
    """Return 20 hexadecimal digits that depend on nothing but the task's content."""
    text = json.dumps(task, sort_keys=True, allow_nan=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def plain(value: Any) -> Any:
    """Return a value as JSON gives it back: tuples as lists, NumPy's numbers as Python's.

    Raises
    ------
    ValueError
        For what JSON cannot hold, infinity and nan included.
    """
    return json.loads(json.dumps(value, allow_nan=False, default=_python_number))


def _python_number(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise ValueError(f"JSON cannot hold {value!r}.")
