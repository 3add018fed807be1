"""The optimiser by default compared with gomea, pymoo, cma and optuna, on all kinds of variables in one run.

Every program has the same limit of evaluations of the same Python function, and its own defaults. A program that is not
installed is left out, and so is one that has no search for a kind of variables.

evaluations  Discrete and real problems have a target, and the number of evaluations to it counts.
objective    Problems with few evaluations, as if they took long, have no target, so the best objective counts.
hypervolume  Of several objectives the hypervolume of all evaluated solutions counts, as a share of the reference box.

The time of optuna grows with the square of evaluations, so it has the problems with few evaluations alone.

Cells are medians over seeds, of evaluations geometric means.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import special_ortho_group

from gomea_bn import Categorical, Integer, Real, optimise
from lab.peers.search import MaxSat, torus
from lab.runner.experiment import Option, Options, tabulated
from lab.runner.printing import geometric_mean
from lab.runner.report import Sheet, sheet

PROGRAMS = ("gomea-bn", "gomea", "pymoo", "cma", "optuna")
TARGET = 1e-8


class Counted:
    """A function that counts its calls, and notes the first that meets a target and all objectives of several."""

    def __init__(self, function: Callable[[Any], Any], target: float | None, limit: int) -> None:
        self.function, self.target, self.limit = function, target, limit
        self.n_calls, self.met_at, self.best = 0, 0, np.inf
        self.front: list[Any] = []

    def __call__(self, x: Any) -> Any:
        """Return the objective; raises `StopIteration` beyond the limit and after the target."""
        if self.n_calls >= self.limit or self.met_at:
            raise StopIteration
        self.n_calls += 1
        value = self.function(x)
        if np.ndim(value):
            self.front.append(value)
            return value
        self.best = min(self.best, float(value))
        if self.target is not None and value <= self.target:
            self.met_at = self.n_calls
        return float(value)


@dataclass(frozen=True)
class Case:
    """One problem: bounds or an alphabet or a space, its function by instance, the limit and the target."""

    kind: str
    function: Callable[[int], Callable[[Any], Any]]
    n_variables: int
    limit: int
    target: float | None = None
    # reference point of several objectives
    reference: tuple[float, ...] = ()

    @property
    def n_objectives(self) -> int:
        """Number of objectives."""
        return max(len(self.reference), 1)


def rotated(n_blocks: int, size: int, exponent: float, instance: int) -> Callable[[Any], float]:
    """Return the sum of ellipsoids over blocks of variables, each in random axes."""
    axes = [
        special_ortho_group.rvs(size, random_state=10 * instance + b) if size > 1 else np.eye(1)
        for b in range(n_blocks)
    ]
    lengths = 10.0 ** (exponent * np.arange(size) / max(size - 1, 1))
    centre = np.random.default_rng(instance).uniform(-2, 2, n_blocks * size)

    def value(x: Any) -> float:
        blocks = (np.asarray(x, float) - centre).reshape(n_blocks, size)
        return float(sum((lengths * (a @ block) ** 2).sum() for a, block in zip(axes, blocks, strict=True)))

    return value


def _rosenbrock(_instance: int) -> Callable[[Any], float]:
    def value(x: Any) -> float:
        x = np.asarray(x, float)
        return float((100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum())

    return value


def _rastrigin(n: int, instance: int) -> Callable[[Any], float]:
    centre = np.random.default_rng(instance).uniform(-2, 2, n)

    def value(x: Any) -> float:
        y = np.asarray(x, float) - centre
        return float((10 + y**2 - 10 * np.cos(2 * np.pi * y)).sum())

    return value


def _traps(_instance: int) -> Callable[[Any], float]:
    def value(x: Any) -> float:
        ones = np.asarray(x).reshape(-1, 5).sum(axis=1)
        return -float(np.where(ones == 5, 5, 4 - ones).sum())

    return value


def _max_sat(instance: int) -> Callable[[Any], float]:
    return MaxSat(40, 160, instance).evaluate


def _max_cut(side: int, optimum: float, _instance: int) -> Callable[[Any], float]:
    data = torus(side, optimum).data
    first = np.repeat(np.arange(side**2), np.diff(data.starts))
    second, weights = data.neighbours[: len(first)], np.ravel(data.weights)[: len(first)]
    return lambda x: float(weights[np.asarray(x)[first] != np.asarray(x)[second]].sum() / 2)


def _settings(_instance: int) -> Callable[[Any], float]:
    def value(v: dict[str, Any]) -> float:
        rate = (np.log10(v["rate"]) + 2.5) ** 2
        shape = abs(v["depth"] - 7) / 4 + (v["kind"] != "gbdt") * 0.7
        return float(rate + shape + (v["share"] - 0.8) ** 2 * 10 + abs(v["leaves"] - 120) / 100)

    return value


SPACE: dict[str, Any] = {
    "rate": Real(1e-5, 1.0, log=True),
    "depth": Integer(1, 12),
    "kind": Categorical(["forest", "gbdt", "tree", "linear"]),
    "share": Real(0.1, 1.0),
    "leaves": Integer(2, 500),
}


def _leading(_instance: int) -> Callable[[Any], Any]:
    def value(x: Any) -> list[float]:
        x = np.asarray(x)
        return [-float(np.append(x, 0).argmin()), -float(np.append(x[::-1], 1).argmax())]

    return value


def _zdt(which: int, _instance: int) -> Callable[[Any], Any]:
    def value(x: Any) -> list[float]:
        x = np.asarray(x, float)
        g = 1 + 9 * x[1:].mean()
        if which == 4:
            # the problem's range is -5 to 5
            y = 10 * x[1:] - 5
            g = 1 + float((10 + y**2 - 10 * np.cos(4 * np.pi * y)).sum())
        ratio = x[0] / g
        return [float(x[0]), float(g * (1 - (ratio**2 if which == 2 else np.sqrt(ratio))))]

    return value


CASES = {
    "trap-5 l=60": Case("discrete", _traps, 60, 60_000, -60.0),
    "MAX-3SAT l=40": Case("discrete", _max_sat, 40, 60_000, -160.0),
    "MAXCUT torus l=196": Case("discrete", partial(_max_cut, 14, 144.0), 196, 200_000, -144.0),
    "sphere l=20": Case("real", partial(rotated, 20, 1, 0.0), 20, 60_000, TARGET),
    "rotated ellipsoid l=20": Case("real", partial(rotated, 1, 20, 6.0), 20, 60_000, TARGET),
    "rotated blocks l=40": Case("real", partial(rotated, 8, 5, 6.0), 40, 80_000, TARGET),
    "Rosenbrock l=20": Case("real", _rosenbrock, 20, 60_000, TARGET),
    "Rastrigin l=20": Case("real", partial(_rastrigin, 20), 20, 60_000, TARGET),
    "settings of a model": Case("mixed", _settings, 5, 200),
    "trap-5 l=20 in 300": Case("discrete", _traps, 20, 300),
    "Rosenbrock l=5 in 300": Case("real", _rosenbrock, 5, 300),
    "ZDT1 l=6 in 300": Case("front of reals", partial(_zdt, 1), 6, 300, reference=(1.1, 1.1)),
    "LOTZ l=25": Case("front of bits", _leading, 25, 20_000, reference=(0.0, 0.0)),
    "ZDT1 l=30": Case("front of reals", partial(_zdt, 1), 30, 10_000, reference=(1.1, 1.1)),
    "ZDT2 l=30": Case("front of reals", partial(_zdt, 2), 30, 10_000, reference=(1.1, 1.1)),
    "ZDT4 l=10": Case("front of reals", partial(_zdt, 4), 10, 10_000, reference=(1.1, 120.0)),
}


class _Posed:
    """A counted function with its variables, as `optimise` and the bridges take them."""

    def __init__(self, case: Case, function: Counted) -> None:
        self.n_variables, self.n_objectives, self.evaluate = case.n_variables, case.n_objectives, function
        if case.kind in ("discrete", "front of bits"):
            self.alphabet = 2
        elif case.kind == "mixed":
            self.space = SPACE
        else:
            self.bounds = (0.0, 1.0) if case.n_objectives > 1 else (-5.0, 5.0)


def _by_ours(case: Case, function: Counted, seed: int) -> None:
    # repeated solutions count as evaluations in other programs
    optimise(_Posed(case, function), cache=False, random_state=seed, max_evaluations=case.limit + 1)


def _by_pymoo(case: Case, function: Counted, seed: int) -> None:
    from pymoo.algorithms.moo.nsga2 import NSGA2
    from pymoo.algorithms.soo.nonconvex.de import DE
    from pymoo.algorithms.soo.nonconvex.ga import GA
    from pymoo.core.mixed import MixedVariableGA
    from pymoo.core.problem import ElementwiseProblem
    from pymoo.core.variable import Choice
    from pymoo.core.variable import Integer as PymooInteger
    from pymoo.core.variable import Real as PymooReal
    from pymoo.operators.crossover.pntx import TwoPointCrossover
    from pymoo.operators.mutation.bitflip import BitflipMutation
    from pymoo.operators.sampling.rnd import BinaryRandomSampling
    from pymoo.optimize import minimize

    bits = {
        "sampling": BinaryRandomSampling(),
        "crossover": TwoPointCrossover(),
        "mutation": BitflipMutation(),
        "eliminate_duplicates": True,
    }
    variables: dict[str, Any] = {"n_var": case.n_variables}
    if case.kind == "mixed":
        variables = {
            "vars": {
                # the logarithm, as pymoo has no such scale
                "rate": PymooReal(bounds=(-5.0, 0.0)),
                "depth": PymooInteger(bounds=(1, 12)),
                "kind": Choice(options=SPACE["kind"].choices),
                "share": PymooReal(bounds=(0.1, 1.0)),
                "leaves": PymooInteger(bounds=(2, 500)),
            }
        }
    elif case.kind in ("discrete", "front of bits"):
        variables |= {"xl": 0, "xu": 1, "vtype": bool}
    else:
        lower, upper = (0.0, 1.0) if case.n_objectives > 1 else (-5.0, 5.0)
        variables |= {"xl": lower, "xu": upper}

    class Problem(ElementwiseProblem):  # type: ignore[misc]
        def _evaluate(self, x: Any, out: dict[str, Any], *_args: Any, **_options: Any) -> None:
            out["F"] = function({**x, "rate": 10.0 ** x["rate"]} if isinstance(x, dict) else x)

    algorithms: dict[str, Callable[[], Any]] = {
        "discrete": partial(GA, pop_size=100, **bits),
        "real": DE,
        "mixed": partial(MixedVariableGA, pop_size=20),
        "front of bits": partial(NSGA2, pop_size=100, **bits),
        "front of reals": partial(NSGA2, pop_size=100),
    }
    minimize(
        Problem(n_obj=case.n_objectives, **variables),
        algorithms[case.kind](),
        ("n_eval", case.limit),
        seed=seed,
    )


def _by_cma(case: Case, function: Counted, seed: int) -> None:
    import cma

    start = np.random.default_rng(seed).uniform(-5, 5, case.n_variables)
    options = {
        "bounds": [-5, 5],
        "seed": seed + 1,
        "verbose": -9,
        "maxfevals": case.limit,
        "ftarget": -np.inf if case.target is None else case.target,
    }
    cma.fmin(function, start, 2.0, options, restarts=9, bipop=True)


def _by_optuna(case: Case, function: Counted, seed: int) -> None:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    directions: list[Any] = ["minimize"] * case.n_objectives
    study = optuna.create_study(directions=directions, sampler=optuna.samplers.TPESampler(seed=seed))

    def value(trial: Any) -> Any:
        if case.kind == "mixed":
            return function(
                {
                    "rate": trial.suggest_float("rate", 1e-5, 1.0, log=True),
                    "depth": trial.suggest_int("depth", 1, 12),
                    "kind": trial.suggest_categorical("kind", SPACE["kind"].choices),
                    "share": trial.suggest_float("share", 0.1, 1.0),
                    "leaves": trial.suggest_int("leaves", 2, 500),
                }
            )
        names = map(str, range(case.n_variables))
        if case.kind in ("discrete", "front of bits"):
            return function([trial.suggest_categorical(name, (0, 1)) for name in names])
        lower, upper = (0.0, 1.0) if case.n_objectives > 1 else (-5.0, 5.0)
        return function([trial.suggest_float(name, lower, upper) for name in names])

    study.optimize(value, n_trials=case.limit)


def _by_gomea(case: Case, function: Counted, seed: int) -> None:
    from gomea import discrete, fitness, linkage

    limit = case.limit

    class Fitness(fitness.BBOFitnessFunctionDiscrete):  # type: ignore[misc]
        def __new__(cls) -> Any:
            return super().__new__(
                cls,
                number_of_variables=case.n_variables,
                value_to_reach=np.inf if case.target is None else -case.target,
            )

        def objective_function(self, _objective: int, variables: Any) -> float:
            try:
                return -float(function(variables))
            except StopIteration:
                return -np.inf

    fitness_object, model = Fitness(), linkage.LinkageTree()
    discrete.DiscreteGOMEA(
        fitness=fitness_object,
        linkage_model=model,
        random_seed=seed,
        max_number_of_evaluations=limit,
        max_number_of_seconds=60.0,
    ).run()


_KINDS = ("discrete", "real", "mixed", "front of bits", "front of reals")
_SEARCHES: dict[str, tuple[Callable[[Case, Counted, int], None], tuple[str, ...]]] = {
    "gomea-bn": (_by_ours, _KINDS),
    "gomea": (_by_gomea, ("discrete",)),
    "pymoo": (_by_pymoo, _KINDS),
    "cma": (_by_cma, ("real",)),
    "optuna": (_by_optuna, _KINDS),
}
# evaluations above which a study of optuna takes minutes
_MOST_OF_OPTUNA = 1_000


def hypervolume(
    front: NDArray[np.float64], reference: NDArray[np.float64], ideal: NDArray[np.float64]
) -> float:
    """Return the share of the box from ideal to reference that two objectives (k, 2) dominate."""
    points = front[(front < reference).all(axis=1)]
    area, last = 0.0, reference[1]
    for first, second in points[np.lexsort((points[:, 1], points[:, 0]))]:
        if second < last:
            area += (reference[0] - first) * (last - second)
            last = second
    return float(area / np.prod(reference - ideal))


def outcome(case: Case, program: str, seed: int) -> float:
    """Return what counts for a case: evaluations to the target, the best objective, or the hypervolume."""
    function = Counted(case.function(seed), case.target, case.limit)
    with suppress(StopIteration):
        _SEARCHES[program][0](case, function, seed)
    if case.reference:
        ideal = np.zeros(2) if case.kind == "front of reals" else np.full(2, -float(case.n_variables))
        return hypervolume(np.array(function.front), np.array(case.reference), ideal)
    if case.target is None:
        return function.best
    return float(function.met_at) if function.met_at else np.inf


def optimisers(options: Options) -> Sheet:
    """Return one row per case, with the mean of every program."""
    rows = []
    for name in options.cases:
        case = CASES[name]
        cells = []
        for program in PROGRAMS:
            if case.kind not in _SEARCHES[program][1] or (
                program == "optuna" and case.limit > _MOST_OF_OPTUNA
            ):
                cells.append("-")
            elif program != "gomea-bn" and find_spec(program) is None:
                cells.append("not installed")
            else:
                outcomes = [outcome(case, program, seed) for seed in range(1, 1 + options.seeds)]
                mean = float(np.median(outcomes)) if case.target is None else geometric_mean(outcomes)
                digits = ",.0f" if case.target is not None else ".3f"
                cells.append("unsolved" if np.isinf(mean) else format(mean, digits))
        what = "hypervolume" if case.reference else "objective" if case.target is None else "evaluations"
        rows.append([name, what, f"{case.limit:,}", *cells])
    return sheet(
        "Medians over seeds, of evaluations geometric means",
        ("problem", "what counts", "limit", *PROGRAMS),
        rows,
    )


EXPERIMENTS = (
    tabulated(
        "optimisers",
        "The optimiser compared with gomea, pymoo, cma and optuna",
        (__doc__ or "").partition("\n\n")[2],
        optimisers,
        {
            "seeds": Option(3, "Number of seeds of every problem.", least=1),
            "cases": Option(tuple(CASES), "Problems.", choices=tuple(CASES)),
        },
        split=("cases",),
    ),
)
