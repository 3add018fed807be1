"""GOMEA compared with the package `gomea` from PyPI: evaluations and seconds to the same stopping value.

The programs take turns, seed by seed, on one thread; seconds are those of the processor. The package `gomea` (1.1.0) is
in the extra "peers"; without it its columns stay empty.

discrete  Both programs relearn an unfiltered linkage tree by mutual information every generation, start with two
          solutions and double, and force improvements. "Defaults" is `GOMEA()` on the same problem. `gomea` has no
          stopping value for NK landscapes: it runs to a limit of evaluations, and its first record of the optimum
          counts. Every seed has a MAX-3SAT instance of its own.
real      Both programs start with ten solutions, double, and stop at 1e-10. "tree" is relearned from the correlations
          every generation, "static tree" joins variables that share a term (ties at random, the root included),
          "full" is one covariance matrix. The package's black box knows no interactions, so it has no static tree.
          Under "full" its grey box does the same evaluations, only slower, and is left out. A run that ends at the
          limit of seconds counts as unsolved, with its evaluations so far.
"""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.algorithms.gomea import GOMEA
from gomea_bn.algorithms.optimisation import optimise
from gomea_bn.algorithms.rvgomea import RVGOMEA
from gomea_bn.linkage.models import LinkageTree
from gomea_bn.problems.benchmarks import HIFF, MaxCut, NKLandscape, Trap
from gomea_bn.problems.continuous import RealKernelProblem, rosenbrock, soreb_chain, sphere
from gomea_bn.runtime.limits import Limits
from lab.runner.experiment import Option, Options, tabulated
from lab.runner.printing import geometric_mean, ratio_of_means, with_interval
from lab.runner.report import Sheet, sheet
from lab.runner.runs import timed

HAS_PACKAGE = find_spec("gomea") is not None
DISCRETE_SECONDS = 300.0
"""Limit of a run of a discrete problem, in seconds that pass, also on a busy machine."""
# side and optimum of tori: of 20 by a linear program over the edges, with odd-cycle inequalities added until its
# solution was integral; of 14 the best value of long runs
TORI = ((14, 144.0, 8), (20, 268.0, 10))
TORUS_SEED = 1
N_LITERALS = 3
REAL_SECONDS = 45.0
"""Limit of a run of a real-valued problem, if the command line gives none."""
REAL_TARGET = 1e-10
FAR, NEAR = (-115.0, -100.0), (0.0, 1.0)
LINKAGES = {
    "univariate": ("univariate", "Univariate"),
    "static tree": ("interaction-tree", "StaticLinkageTree"),
    "tree": ("tree", "LinkageTree"),
    "full": ("full", "Full"),
}
"""Names of linkage models in both programs: ours, the package's."""
COLUMNS = (
    "problem", "solved", "gomea", "gomea grey", "evaluations", "gomea", "ratio", "in full", "gomea grey", "ratio",
    "seconds", "gomea", "gomea grey", "ratio to the faster",
)  # fmt: skip
DISCRETE_COLUMNS = (*COLUMNS, "defaults", "ratio to gomea", "seconds", "ratio to the faster")


@dataclass(frozen=True)
class Outcome:
    """Cost of one run, up to the stopping value or up to the limit."""

    solved: bool
    evaluations: float
    seconds: float
    full_evaluations: float = float("nan")


Runs = tuple[list[Outcome], list[Outcome], list[Outcome]]
"""Runs of ours, of the package's black box and of its grey box; empty for a program that is left out."""


@dataclass(frozen=True)
class DiscreteCase:
    """A discrete problem for both programs.

    `ours` returns the problem of a seed. `black_box` and `grey_box` return the package's fitness objects and take the
    problem and a folder for files of instances; some problems have no grey box. `optimum` is the value that the package
    maximises. `records` says that the package has no stopping value, so that its records are read.
    """

    name: str
    n_runs: int
    ours: Callable[[int], Any]
    black_box: Callable[[Any, Path], Any]
    grey_box: Callable[[Any, Path], Any] | None
    optimum: float
    records: bool = False


def nk_tables(n_variables: int, k: int, seed: int) -> NDArray[np.float64]:
    """Return the tables of the package's NK landscape: whole numbers below a million, drawn as C++ does."""
    twister = np.random.MT19937()
    twister._legacy_seeding(seed)
    shape = (n_variables - k + 1, 1 << k)
    # C++ puts two draws into one fraction, the lower half first
    halves = twister.random_raw(2 * shape[0] * shape[1]).astype(np.float64).reshape(-1, 2)
    return np.floor(1e6 * ((halves[:, 0] + halves[:, 1] * 2.0**32) / 2.0**64)).reshape(shape)


def torus(side: int, optimum: float) -> MaxCut:
    """Return a sparse MAXCUT instance with weights of 1 and -1."""
    problem = MaxCut.torus(side, weights="sign", random_state=TORUS_SEED)
    problem.target = -optimum
    return problem


def _torus_files(side: int, optimum: float, folder: Path) -> tuple[str, str]:
    """Write the instance and its optimum in the package's format; returns both paths."""
    problem = torus(side, optimum)
    data, lines = problem.data, []
    weights = -data.weights.ravel()
    for g in range(problem.n_variables):
        for e in range(data.starts[g], data.starts[g + 1]):
            if data.neighbours[e] > g:
                lines.append(f"{g + 1} {data.neighbours[e] + 1} {weights[e]:g}")
    instance, values = folder / "instance.txt", folder / "optimum.txt"
    instance.write_text(f"{problem.n_variables} {len(lines)}\n" + "\n".join(lines) + "\n", encoding="ascii")
    values.write_text(f"{optimum:g}\n", encoding="ascii")
    return str(instance), str(values)


class MaxSat:
    """A satisfiable MAX-3SAT instance as a Python function: minus the number of clauses that hold."""

    alphabet = 2

    def __init__(self, n_variables: int, n_clauses: int, seed: int) -> None:
        generator = np.random.default_rng(seed)
        self.n_variables, self.target = n_variables, -float(n_clauses)
        solution = generator.integers(0, 2, n_variables)
        clauses: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
        while len(clauses) < n_clauses:
            variables = generator.choice(n_variables, N_LITERALS, replace=False)
            wanted = generator.integers(0, 2, N_LITERALS)
            if (solution[variables] == wanted).any():
                clauses.append((variables, wanted))
        self._variables, self._wanted = (np.array(part) for part in zip(*clauses, strict=True))

    def evaluate(self, x: NDArray[np.integer]) -> float:
        """Return minus the number of clauses that hold."""
        return -float((np.asarray(x)[self._variables] == self._wanted).any(axis=1).sum())


def _max_sat_of_package(problem: MaxSat, _folder: Path) -> Any:
    from gomea import fitness

    class Fitness(fitness.BBOFitnessFunctionDiscrete):  # type: ignore[misc]
        def __new__(cls) -> Any:
            return super().__new__(
                cls, number_of_variables=problem.n_variables, value_to_reach=-problem.target
            )

        def objective_function(self, _objective: int, variables: Any) -> float:
            return -problem.evaluate(variables)

    return Fitness()


def _of_package(name: str, arguments: Any, _problem: Any, folder: Path) -> Any:
    """Return a fitness object of the package; a function returns the arguments that need a folder."""
    from gomea import fitness

    return getattr(fitness, name)(*(arguments(folder) if callable(arguments) else arguments))


def _boxes(name: str, arguments: Any) -> tuple[Callable[[Any, Path], Any], Callable[[Any, Path], Any]]:
    return partial(_of_package, f"{name}BBO", arguments), partial(_of_package, name, arguments)


def _same(problem: Callable[[], Any]) -> Callable[[int], Any]:
    """Return what gives the same instance for every seed."""
    return lambda _seed: problem()


def _discrete_cases() -> tuple[DiscreteCase, ...]:
    tables = nk_tables(160, 5, 1)
    landscape = NKLandscape(160, 5, tables=tables)
    assert landscape.target is not None
    boxes = _boxes("NKLandscapes", (160, 5, 1))
    traps = [
        DiscreteCase(
            f"trap-5 l={n}", runs, _same(partial(Trap, n)), *_boxes("DeceptiveTrapFunction", (n, 5)), float(n)
        )
        for n, runs in ((100, 30), (400, 10), (800, 10))
    ]
    tori = [
        DiscreteCase(
            f"MAXCUT torus l={side**2}",
            runs,
            _same(partial(torus, side, optimum)),
            *_boxes("MaxCut", partial(_torus_files, side, optimum)),
            optimum,
        )
        for side, optimum, runs in TORI
    ]
    hierarchies = []
    for n in (64, 128):
        hierarchy = HIFF(n)
        assert hierarchy.target is not None
        box = partial(_of_package, "HierarchicalIfAndOnlyIfFunctionBBO", (n,))
        hierarchies.append(
            DiscreteCase(f"HIFF l={n}", 30, _same(partial(HIFF, n)), box, None, -hierarchy.target)
        )
    return (
        *traps,
        DiscreteCase("NK-S1 l=160", 30, _same(lambda: landscape), *boxes, -landscape.target, records=True),
        *tori,
        *hierarchies,
        DiscreteCase(
            "MAX-3SAT l=40 in Python", 30, partial(MaxSat, 40, 160), _max_sat_of_package, None, 160.0
        ),
    )


DISCRETE_CASES = _discrete_cases()


# as the package is set
EQUAL_SETTINGS = GOMEA(
    linkage=LinkageTree("mi", filtered=False), local_search=False, search_donors=False, base_population=2
)


def _ours_discrete(problem: Any, seed: int, algorithm: GOMEA = EQUAL_SETTINGS) -> Outcome:
    """Return one run of GOMEA."""
    limits = {"max_seconds": DISCRETE_SECONDS, "target": problem.target}
    result, seconds = timed(optimise, problem, algorithm, clock=process_time, **limits, random_state=seed)
    return Outcome(result.stopped_by == "target", result.n_eval, seconds, result.n_eval_full)


def _package_discrete(case: DiscreteCase, *, grey: bool, seed: int) -> Outcome:
    """Return one run of the `gomea` package."""
    from gomea import discrete, linkage

    with tempfile.TemporaryDirectory() as folder:
        box = case.grey_box if grey else case.black_box
        assert box is not None
        function = box(case.ours(seed), Path(folder))
    limit = 50_000 if grey else 500_000
    while True:
        model = linkage.LinkageTree()  # the package keeps no reference to it
        options: dict[str, Any] = {"max_number_of_seconds": DISCRETE_SECONDS}
        if case.records:
            options |= {"max_number_of_evaluations": limit, "output_frequency": "NEW_ELITE"}
        algorithm = discrete.DiscreteGOMEA(
            fitness=function, linkage_model=model, random_seed=seed, base_population_size=2, **options
        )
        output, seconds = timed(algorithm.run, clock=process_time)
        if not case.records:
            final = output.getFinalStatistics()
            return Outcome(final["best_obj_val"] >= case.optimum, final["evaluations"], seconds)
        hits = np.flatnonzero(np.array(output["best_obj_val"]) >= case.optimum)
        if len(hits):
            evaluations = output["evaluations"][hits[0]]
            return Outcome(True, evaluations, seconds * evaluations / output["evaluations"][-1])
        if seconds > DISCRETE_SECONDS:
            return Outcome(False, limit, seconds)
        limit *= 2


def run_discrete_case(case: DiscreteCase, n_runs: int | None = None) -> tuple[Runs, list[Outcome]]:
    """Return the runs of all programs with equal settings, and ours by defaults; they take turns."""
    for algorithm in (EQUAL_SETTINGS, GOMEA()):  # compiles
        _ours_discrete(case.ours(0), 0, algorithm)
    runs: Runs = ([], [], [])
    by_defaults = []
    for seed in range(1, 1 + (n_runs or case.n_runs)):
        runs[0].append(_ours_discrete(case.ours(seed), seed))
        by_defaults.append(_ours_discrete(case.ours(seed), seed, GOMEA()))
        if HAS_PACKAGE:
            runs[1].append(_package_discrete(case, grey=False, seed=seed))
            if case.grey_box:
                runs[2].append(_package_discrete(case, grey=True, seed=seed))
    return runs, by_defaults


@dataclass(frozen=True)
class RealCase:
    """A real-valued problem for both programs.

    `function` names the package's grey box; its black box has "BBO" added. `package_runs` is smaller than `n_runs`
    where the package mostly runs to the limit.
    """

    problem: Callable[..., RealKernelProblem]
    function: str
    n_variables: int
    linkage: str
    initial_range: tuple[float, float]
    n_runs: int
    package_runs: int

    @property
    def name(self) -> str:
        """Return the problem, its size, the linkage model and the range of first values."""
        low, high = self.initial_range
        title = self.problem.__name__.replace("_", " ")
        return f"{title} l={self.n_variables} {self.linkage} [{low:g}, {high:g}]"


REAL_CASES = (
    RealCase(sphere, "SphereFunction", 80, "tree", FAR, 30, 30),
    RealCase(rosenbrock, "RosenbrockFunction", 80, "univariate", FAR, 10, 10),
    RealCase(rosenbrock, "RosenbrockFunction", 80, "static tree", FAR, 10, 10),
    RealCase(soreb_chain, "SOREBChainStrong", 10, "full", FAR, 30, 30),
    RealCase(soreb_chain, "SOREBChainStrong", 20, "full", FAR, 10, 10),
    RealCase(soreb_chain, "SOREBChainStrong", 10, "tree", NEAR, 10, 3),
    RealCase(soreb_chain, "SOREBChainStrong", 10, "tree", FAR, 10, 1),
    RealCase(soreb_chain, "SOREBChainStrong", 20, "tree", NEAR, 10, 1),
)


def _ours_real(case: RealCase, problem: RealKernelProblem, seed: int, max_seconds: float) -> Outcome:
    """Return one run of RVGOMEA."""
    algorithm = RVGOMEA(linkage=LINKAGES[case.linkage][0])
    limits = Limits(max_seconds=max_seconds, target=REAL_TARGET)
    result, seconds = timed(algorithm.run, problem, limits, clock=process_time, random_state=seed)
    return Outcome(result.stopped_by == "target", result.n_eval, seconds, result.n_eval_full)


def _package_real(case: RealCase, *, grey: bool, seed: int, max_seconds: float) -> Outcome:
    """Return one run of the `gomea` package."""
    from gomea import fitness, linkage, real_valued

    function: Any = getattr(fitness, case.function + ("" if grey else "BBO"))
    model = getattr(linkage, LINKAGES[case.linkage][1])()  # the package keeps no reference to it
    algorithm = real_valued.RealValuedGOMEA(
        fitness=function(case.n_variables, value_to_reach=REAL_TARGET),
        linkage_model=model,
        lower_init_range=case.initial_range[0],
        upper_init_range=case.initial_range[1],
        random_seed=seed,
        max_number_of_seconds=max_seconds,
    )
    output, seconds = timed(algorithm.run, clock=process_time)
    final = output.getFinalStatistics()
    return Outcome(final["best_obj_val"] <= REAL_TARGET, final["evaluations"], seconds)


def run_real_case(case: RealCase, n_runs: int | None = None, max_seconds: float = REAL_SECONDS) -> Runs:
    """Return the runs of all programs, which take turns."""
    problem = case.problem(case.n_variables, initial_range=case.initial_range, target=REAL_TARGET)
    # compiles
    RVGOMEA(linkage=LINKAGES[case.linkage][0]).run(problem, Limits(max_generations=50), random_state=0)
    runs: Runs = ([], [], [])
    for seed in range(1, 1 + (n_runs or case.n_runs)):
        runs[0].append(_ours_real(case, problem, seed, max_seconds))
        if not HAS_PACKAGE or seed > (n_runs or case.package_runs):
            continue
        if case.linkage != "static tree":
            runs[1].append(_package_real(case, grey=False, seed=seed, max_seconds=max_seconds))
        if case.linkage != "full":
            runs[2].append(_package_real(case, grey=True, seed=seed, max_seconds=max_seconds))
    return runs


def _values(runs: Sequence[Outcome], name: str) -> list[float]:
    """Return a figure of every run; that of an unsolved run is its value at the limit."""
    return [getattr(run, name) for run in runs]


def _mean(runs: Sequence[Outcome], name: str, digits: int = 0) -> str:
    if not any(run.solved for run in runs):
        return "unsolved" if runs else "-"
    return f"{geometric_mean(_values(runs, name)):,.{digits}f}"


def _ratio(ours: Sequence[Outcome], theirs: Sequence[Outcome], name: str, their_name: str) -> str:
    """Return the ratio of the geometric means with its interval, marked as a bound if a run is unsolved."""
    unsolved = [not all(run.solved for run in runs) for runs in (ours, theirs)]
    if not theirs or all(unsolved):
        return "-"
    ratio = with_interval(ratio_of_means(_values(ours, name), _values(theirs, their_name)))
    return f"{'> ' * unsolved[0]}{'< ' * unsolved[1]}{ratio}"


def _solved(runs: Sequence[Outcome]) -> str:
    return f"{sum(run.solved for run in runs)}/{len(runs)}" if runs else "-"


def _faster(runs: Runs) -> list[Outcome]:
    """Return the runs of the package's faster mode, none without the package."""
    modes = [mode for mode in runs[1:] if mode]
    return min(modes, key=lambda mode: geometric_mean(_values(mode, "seconds")), default=[])


def row_of(name: str, runs: Runs) -> list[str]:
    """Return a case's row of the table."""
    ours, black, grey = runs
    return [
        name,
        *map(_solved, runs),
        _mean(ours, "evaluations"),
        _mean(black, "evaluations"),
        _ratio(ours, black, "evaluations", "evaluations"),
        _mean(ours, "full_evaluations"),
        _mean(grey, "evaluations"),
        _ratio(ours, grey, "full_evaluations", "evaluations"),
        *(_mean(mode, "seconds", 3) for mode in runs),
        _ratio(ours, _faster(runs), "seconds", "seconds"),
    ]


def discrete(options: Options) -> Sheet:
    """Return the table of discrete cases."""
    chosen = [case for case in DISCRETE_CASES if case.name in options.cases]
    rows = []
    for case in chosen:
        runs, by_defaults = run_discrete_case(case, options.seeds)
        rows.append(
            [
                *row_of(case.name, runs),
                _mean(by_defaults, "evaluations"),
                _ratio(by_defaults, runs[1], "evaluations", "evaluations"),
                _mean(by_defaults, "seconds", 3),
                _ratio(by_defaults, _faster(runs), "seconds", "seconds"),
            ]
        )
    return sheet(
        "geometric means; ratios ours / gomea with a 95 % bootstrap interval", DISCRETE_COLUMNS, rows
    )


def real(options: Options) -> Sheet:
    """Return the table of real-valued cases."""
    chosen = [case for case in REAL_CASES if case.name in options.cases]
    rows = [row_of(case.name, run_real_case(case, options.seeds, options.seconds)) for case in chosen]
    heading = f"geometric means, limit {options.seconds:g} s a run; ratios ours / gomea with a 95 % bootstrap interval"
    return sheet(heading, COLUMNS, rows)


_SEEDS = {"seeds": Option(None, "Seeds per case (30, or 10 and fewer where runs are long).", int, least=1)}
_SOURCE = (
    'Evaluations and seconds to the same stopping value; without the extra "peers" its columns stay empty.'
)


def _cases(cases: Sequence[DiscreteCase | RealCase]) -> dict[str, Option]:
    names = tuple(case.name for case in cases)
    return {"cases": Option(names, "Problems.", choices=names)}


EXPERIMENTS = (
    tabulated(
        "search-discrete",
        "GOMEA compared with the package `gomea`",
        _SOURCE,
        discrete,
        {
            **_SEEDS,
            **_cases(DISCRETE_CASES),
        },
        split=("cases",),
    ),
    tabulated(
        "search-real",
        "RV-GOMEA compared with the package `gomea`",
        _SOURCE,
        real,
        {
            **_SEEDS,
            "seconds": Option(REAL_SECONDS, "Limit of a run."),
            **_cases(REAL_CASES),
        },
        split=("cases",),
    ),
)
