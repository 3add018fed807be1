"""The search for fronts compared with the published code and with pymoo.

`fronts-whole`: the published code's figures are medians of nine runs of it (archive of 1,000 solutions, evaluations up
to the last solution that entered the archive). With archive_update="immediate" ours are counted in the same way, with
"generation" to the end of the generation. A third search keeps to the published rules: mutual information, one donor,
dominance.

`fronts-peers`: all algorithms have a copy of the same problem, the same initial sampler, repair, compiled scorer,
archive, and seconds on one core. The gap of a front is the hypervolume that it lacks of the union of all fronts of a
network; objectives are scaled by the union's ideal and nadir point, reference 1.1 in each. Fronts compared with
single networks: `python scripts/lab fig6`.

`fronts-tables`: held-out densities of the networks of a front with misfit and complexity, next to the network of
`BayesNetLearner` and to fronts with the published options, of the same rows and seconds. "Best" is chosen by the test
rows among at most 100 networks, so that it shows what a front holds. The volume is that of test loss and complexity
below the loss that nine tenths of both fronts keep, ours over that of the published options.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import moocore
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gomea_bn.algorithms.mogomea import MOGOMEA, FrontRun
from gomea_bn.data.table import read_table
from gomea_bn.errors import GomeaBnWarning
from gomea_bn.front.front import Front
from gomea_bn.learning.learner import BayesNetLearner
from gomea_bn.learning.pareto_learner import ParetoBayesNetLearner, front_problem
from gomea_bn.problems.front_problem import FrontProblem
from gomea_bn.problems.multi_objective import LOTZ, OneMaxZeroMax, TrapInverseTrap
from gomea_bn.runtime.limits import Limits
from gomea_bn.simulation.random_experts import simulated_expert
from gomea_bn.simulation.random_networks import random_network
from lab.methods.pymoo_runs import PEERS, run_peer
from lab.runner.experiment import Experiment, Measured, Option, Options, Row, Task, records
from lab.runner.printing import ratio_of_means, with_error, with_interval
from lab.runner.report import Report, Sheet, group_by, sheet
from lab.samples.real_tables import TABLES

WHOLE_SECONDS = 120.0
"""Limit of a run to the whole front."""
PUBLISHED_ARCHIVE = 1000
SETTINGS = {
    "immediate": MOGOMEA(archive_update="immediate", archive_size=PUBLISHED_ARCHIVE),
    "generation": MOGOMEA(archive_update="generation", archive_size=PUBLISHED_ARCHIVE),
    "as published": MOGOMEA(
        linkage="tree-mi",
        search_donors=False,
        mixing="dominance",
        archive_update="immediate",
        archive_size=PUBLISHED_ARCHIVE,
    ),
}
N_VARIABLES, ARCHIVE_SIZE = 10, 10_000
PEER_ROWS = (500, 5_000)
OURS = "MOGOMEA"
POPULATIONS = {"NSGA-II": 200, "NSGA-III": 200, "AGE-MOEA": 50}
"""The best of 50, 100, 200 and 400 (AGE-MOEA: to 200) by mean gap on networks 1000 to 1002, 500 rows, 5 s."""


@dataclass(frozen=True)
class Case:
    """A problem with a known front, and the evaluations that the published code took to find it."""

    name: str
    n_seeds: int
    problem: Callable[[], Any]
    published: float
    full_only: bool = False


_CASES = (
    *(
        Case(f"trap-5 / inverse l={n}", 30, partial(TrapInverseTrap, n), published, n > 100)
        for n, published in ((25, 1.9e3), (50, 8.4e3), (100, 35e3), (200, 95e3))
    ),
    *(
        Case(f"LOTZ l={n}", 9, partial(LOTZ, n), published, n > 50)
        for n, published in ((25, 14e3), (50, 120e3), (100, 1.07e6))
    ),
    *(
        Case(f"OneMax / ZeroMax l={n}", 30, partial(OneMaxZeroMax, n), published)
        for n, published in ((25, 1.5e3), (50, 6.4e3), (100, 12.6e3))
    ),
)
CASES = {case.name: case for case in _CASES}


def whole(options: Options) -> list[Task]:
    """Return a task per problem, search and seed: those whose names begin with one of `--only`, or all."""
    chosen = [
        case
        for case in CASES.values()
        if (case.name.startswith(options.only) if options.only else options.full or not case.full_only)
    ]
    return [
        {"problem": case.name, "search": name, "seed": seed}
        for case in chosen
        for name in SETTINGS
        for seed in range(1, 1 + (options.seeds or case.n_seeds))
    ]


def one_whole(task: Task) -> Measured:
    """Return the evaluations until the archive holds the whole front, or None."""
    _compile(task["problem"], task["search"])
    problem, settings = CASES[task["problem"]].problem(), SETTINGS[task["search"]]
    evaluations, seconds = run_to_front(problem, settings, task["seed"])
    if not np.isfinite(evaluations):
        return Measured({"evaluations": None}, {})
    return Measured({"evaluations": evaluations}, {"search": seconds})


@cache
def _compile(problem: str, search: str) -> None:
    run_to_front(CASES[problem].problem(), SETTINGS[search], 0, 10.0)


def whole_report(_options: Options, rows: Sequence[Row]) -> Report:
    """Return the table of all problems."""
    lines = []
    for (name, search), group in group_by(rows, "problem", "search").items():
        runs = [
            (np.inf if evaluations is None else evaluations, row["seconds"].get("search", np.inf))
            for row in group
            for evaluations in (row["measured"]["evaluations"],)
        ]
        lines.append([name, len(runs), search, *_whole_cells(runs, CASES[name].published)])
    heading = (
        "Evaluations to the whole front: medians over seeds 1, 2, ...; ratios to the published code's median with a "
        "95 % bootstrap interval of ours"
    )
    columns = ("problem", "seeds", "search", "evaluations", "quartiles", "published", "ratio", "seconds")
    return Report((sheet(heading, (*columns, "solved"), lines),))


def run_to_front(
    problem: Any, settings: MOGOMEA, seed: int, max_seconds: float = WHOLE_SECONDS
) -> tuple[float, float]:
    """Return evaluations and seconds until the archive holds the problem's whole front; infinite if it does not."""
    front = set(map(tuple, problem.front.tolist()))
    run = FrontRun(settings, problem, Limits(max_seconds=max_seconds), random_state=seed)
    with run, run.stop.catching_interrupts():
        running = True
        while running:
            running = run.step()
            members = run.archive.objectives
            # members are nondominated and distinct, so fewer or other ones cannot be the front
            if len(members) == len(front) and set(map(tuple, members.tolist())) == front:
                return run.n_eval_at_best, run.stop.seconds
    if run.stop.reason == "interrupt":
        raise KeyboardInterrupt
    return np.inf, np.inf


def _whole_cells(runs: Sequence[tuple[float, float]], published: float) -> list[str]:
    evaluations, seconds = zip(*runs, strict=True)
    low, median, high = np.quantile(evaluations, [0.25, 0.5, 0.75], method="nearest")
    return [
        f"{np.median(evaluations):,.0f}" if np.isfinite(median) else "-",
        f"{low:,.0f} to {high:,.0f}",
        f"{published:,.0f}",
        with_interval(ratio_of_means(evaluations, [published])),
        f"{np.median(seconds):.3f}",
        f"{np.isfinite(evaluations).sum()}/{len(runs)}",
    ]


def three_objectives(net: int, n: int) -> FrontProblem:
    """Return misfit, complexity and expert distance for `n` rows of random network `net`.

    The expert knows half of the true edges and an equal number of wrong ones.
    """
    truth = random_network(N_VARIABLES, kind="random", random_state=net)
    table = read_table(truth.sample(n, random_state=10_000 + net))
    expert = simulated_expert(truth, table=table, random_state=20_000 + net).fitted(table)
    names = ("misfit", "complexity", "expert_distance")
    return front_problem(ParetoBayesNetLearner.published(), table, names, expert, 30_000 + net)


def peers(options: Options) -> list[Task]:
    """Return a task per number of rows and network."""
    seconds = options.seconds or (60.0 if options.full else 10.0)
    return [{"net": net, "n": n, "seconds": seconds} for n in PEER_ROWS for net in range(options.nets)]


def peers_report(_options: Options, rows: Sequence[Row]) -> Report:
    """Return for each number of rows the gaps of all algorithms over the networks."""
    return Report(
        tuple(
            _sheet_of_peers(n, seconds, records(group))
            for (n, seconds), group in group_by(rows, "n", "seconds").items()
        )
    )


def _sheet_of_peers(n: int, seconds: float, group: list[dict[str, Any]]) -> Sheet:
    rows = []
    for name in (OURS, *PEERS):
        gap = np.array([record["gaps"][name] for record in group])
        share = gap / [record["union"] for record in group]
        members = np.median([record["members"][name] for record in group])
        evaluations = np.median([record["n_eval"][name] for record in group])
        range_text = f"{gap.min():.4f} to {gap.max():.4f}"
        cells = [range_text, f"{np.median(share):.2%}", f"{members:,.0f}", f"{evaluations:,.0f}"]
        rows.append([name, f"{np.median(gap):.4f}", *cells])
    heading = f"{N_VARIABLES} variables, n = {n}, {len(group)} networks, {seconds:g} s a run on one core"
    ours = np.array([record["gaps"][OURS] for record in group])
    best = np.array([min(record["gaps"][peer] for peer in PEERS) for record in group])
    note = (
        f"ours / best peer, median of ratios by network: {np.median(ours / best):.2f}; smaller than every peer's "
        f"on {(ours < best).sum()} of {len(group)} networks"
    )
    return sheet(heading, ("", "median gap", "range", "of the union", "members", "evaluations"), rows, note)


def compare_on(task: Mapping[str, Any]) -> dict[str, Any]:
    """Run all algorithms on one network; returns gaps, sizes of fronts and evaluations by name."""
    net, n, seconds = task["net"], task["n"], task["seconds"]
    settings = MOGOMEA(archive_size=ARCHIVE_SIZE)
    settings.run(three_objectives(net, n), Limits(max_evaluations=2_000), random_state=0)  # compiles
    result = settings.run(three_objectives(net, n), Limits(max_seconds=seconds), random_state=net)
    fronts, evaluations = {OURS: result.F}, {OURS: result.n_eval}
    for peer in PEERS:
        fronts[peer], evaluations[peer] = run_peer(
            peer,
            three_objectives(net, n),
            seconds=seconds,
            random_state=net,
            population=POPULATIONS[peer],
            archive_size=ARCHIVE_SIZE,
        )
    lacking, union = gaps(fronts)
    members = {name: len(front) for name, front in fronts.items()}
    return {"gaps": lacking, "union": union, "members": members, "n_eval": evaluations}


def gaps(fronts: Mapping[str, NDArray[np.float64]]) -> tuple[dict[str, float], float]:
    """Return the hypervolume that each front lacks of the union front's, and the union front's."""
    union = np.concatenate(list(fronts.values()))
    union = union[np.asarray(moocore.is_nondominated(union, keep_weakly=True))]
    ideal, nadir = union.min(axis=0), union.max(axis=0)
    spans = np.where(nadir > ideal, nadir - ideal, 1.0)
    corner = np.full(union.shape[1], 1.1)

    def volume(points: NDArray[np.float64]) -> float:
        return float(moocore.hypervolume((points - ideal) / spans, ref=corner))

    whole_volume = volume(union)
    return {name: whole_volume - volume(front) for name, front in fronts.items()}, whole_volume


TABLES_OF_FRONTS = ("iris", "wine", "auto", "diabetes")
# networks of a front that test rows judge
_MOST_JUDGED = 100


def tables(options: Options) -> list[Task]:
    """Return a task per table and fold."""
    return [
        {"table": name, "fold": fold, "folds": options.folds, "seconds": options.seconds}
        for name in options.tables
        for fold in range(options.folds)
    ]


def on_table(task: Mapping[str, Any]) -> dict[str, Any]:
    """Return held-out nats a row of networks of both fronts minus those of the single search, and the volume."""
    fold, seconds = task["fold"], task["seconds"]
    given = TABLES[task["table"]]()
    groups = np.random.default_rng(7).permutation(len(given.frame)) % task["folds"]
    train, test = given.frame[groups != fold], given.frame[groups == fold]
    common: dict[str, Any] = {"max_seconds": seconds, "random_state": fold, "n_jobs": 1, "kinds": given.kinds}
    with warnings.catch_warnings():
        # test values outside of the training rows count as the nearest ends
        warnings.simplefilter("ignore", GomeaBnWarning)
        learned = -BayesNetLearner(**common).fit(train).network_.score(test)
        front = ParetoBayesNetLearner(**common).fit(train).front_
        published = ParetoBayesNetLearner.published(**common).fit(train).front_
        points, points_of_published = _judged(front, test), _judged(published, test)
        chosen = {
            "single": front.single,
            "recommended": front.recommended().candidate,
            "knee": front.knee(),
            "best fit": front.best("misfit"),
        }
        leads = {
            name: learned + candidate.network.score(test) for name, candidate in chosen.items() if candidate
        }
    return {
        "learn": -learned,
        **leads,
        "best": learned - points[:, 0].min(),
        "best published": learned - points_of_published[:, 0].min(),
        "members": len(front),
        "volume": _volume_ratio(points, points_of_published),
    }


def _judged(front: Front, test: pd.DataFrame) -> NDArray[np.float64]:
    """Return the test loss and the complexity of networks of a front, (n, 2)."""
    thinned = front.thin(_MOST_JUDGED) if len(front) > _MOST_JUDGED else front
    return np.array([(-c.network.score(test), c.objectives["complexity"]) for c in thinned])


def _volume_ratio(ours: NDArray[np.float64], others: NDArray[np.float64]) -> float:
    """Return the hypervolume of points over that of others."""
    union = np.concatenate([ours, others])
    ideal = union.min(axis=0)
    corner = np.array([np.quantile(union[:, 0], 0.9), union[:, 1].max()])
    first, second = (
        moocore.hypervolume((points - ideal) / (corner - ideal), ref=np.full(2, 1.0))
        for points in (ours, others)
    )
    return float(first / second)


def tables_report(_options: Options, rows: Sequence[Row]) -> Report:
    """Return the leads over the single search by table, means over folds with standard errors."""
    names = ("single", "recommended", "knee", "best fit", "best", "best published")
    lines = []
    for (table,), group in group_by(rows, "table").items():
        found = records(group)
        leads = [with_error([record[name] for record in found], 2) for name in names]
        learned = np.mean([record["learn"] for record in found])
        members, volume = (np.median([record[name] for record in found]) for name in ("members", "volume"))
        lines.append([table, len(found), f"{learned:.2f}", *leads, f"{members:,.0f}", f"{volume:.2f}"])
    heading = "Held-out nats a row: `learn`, and networks of the fronts minus `learn`; means over folds"
    return Report((sheet(heading, ("", "folds", "learn", *names, "members", "volume"), lines),))


_FULL = {"full": Option(False, "Larger problems and longer runs.")}

EXPERIMENTS = (
    Experiment(
        name="fronts-whole",
        title="Evaluations until the archive holds the whole known front",
        source="Compared with the published code.",
        tasks=whole,
        measure=one_whole,
        report=whole_report,
        options={
            "seeds": Option(None, "Number of seeds (30, for LOTZ 9).", int, least=1),
            "only": Option((), "Problems whose names begin with this text.", str),
            **_FULL,
        },
        in_turn=True,
    ),
    Experiment(
        name="fronts-peers",
        title="Fronts of networks under misfit, complexity and expert distance, ours and pymoo's",
        source="MOGOMEA and NSGA-II, NSGA-III and AGE-MOEA on the same problem for the same seconds.",
        tasks=peers,
        measure=compare_on,
        report=peers_report,
        options={
            "nets": Option(10, "Number of random networks.", least=1),
            "seconds": Option(None, "Limit of a run (10; 60 with --full).", float),
            **_FULL,
        },
    ),
    Experiment(
        name="fronts-tables",
        title="Fronts of misfit and complexity next to single networks, on real tables",
        source="ParetoBayesNetLearner, with its defaults and the published options, and BayesNetLearner.",
        tasks=tables,
        measure=on_table,
        report=tables_report,
        options={
            "tables": Option(TABLES_OF_FRONTS, "Names of tables.", str, choices=tuple(TABLES)),
            "folds": Option(3, "Number of folds.", least=2),
            "seconds": Option(7.0, "Limit of a run.", float),
        },
    ),
)
