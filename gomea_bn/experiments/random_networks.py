"""Single networks learned from samples of random ones: Tables 1 and 2, Figures 3 and 4 of Ha et al. (2024)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from gomea_bn.experiments.algorithms import FLOORS, learn, learners, true_fit
from gomea_bn.experiments.published import TABLE_1, TABLE_2, PaperTable
from gomea_bn.experiments.runner.experiment import Experiment, Measured, Plan, Row, Task
from gomea_bn.experiments.runner.report import (
    Figure,
    Panel,
    Report,
    Series,
    Sheet,
    by_net,
    figure_of,
    group_by,
    rank_tests,
    summary_sheet,
    timed_out,
)
from gomea_bn.experiments.runner.statistics import Claim, Finding, is_lower, number, summarise

__all__ = ["EXPERIMENTS"]

PAPER_LAW = "ide-cozman"
LAWS, KINDS = ("tree", PAPER_LAW), ("equal-width", "equal-frequency", "random")
SOURCE = "Ha, Alderliesten & Bosman, Learning discretized Bayesian networks with GOMEA (2024)"
TABLE_ROWS = (200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 51_200)
N_VARIABLES, N_ROWS = 8, 500
PAPER_NETS = 30
Cells: TypeAlias = Mapping[tuple[Any, ...], Sequence[float]]
"""Values by size and algorithm."""
PERFECT_FROM = (6_400, 12_800, 51_200)
"""Numbers of rows for which Ha et al. report perfect structure on equal-width networks."""


def expand(
    plan: Plan, *, variant: str, grows: str, fixed: Mapping[str, Any], with_floor: bool = True
) -> list[Task]:
    """Return one task per variant, size, network and algorithm; the floors are first."""
    names = [*(FLOORS if with_floor else ()), *plan.algorithms]
    return [
        {
            **fixed,
            variant: value,
            grows: size,
            "algorithm": name,
            "net": plan.seed + net,
            **(plan.limits if name not in FLOORS else {}),
        }
        for value in plan.variants
        for size in plan.sizes
        for net in range(plan.nets)
        for name in names
    ]


def measure(task: Task) -> Measured:
    """Return KL, accuracy, sensitivity, edges and bins of the network that one algorithm learns from one sample."""
    from gomea_bn.metrics.distances import accuracy, kl_divergence, sensitivity
    from gomea_bn.simulation.random_networks import random_network

    net = task["net"]
    truth = random_network(task["variables"], law=task["law"], kind=task["kind"], random_state=net)
    frame = truth.sample(task["rows"], random_state=10_000 + net)
    found: dict[str, Any] = {}
    seconds = {}
    if task["algorithm"] in FLOORS:
        network = true_fit(truth, frame, FLOORS[task["algorithm"]])
    else:
        learned = learn(task["algorithm"], frame, task, net)
        network = learned.network
        found = {"n_eval": learned.n_eval, "stopped_by": learned.stopped_by}
        seconds = {"search": learned.seconds}
        if learned.time_to_best is not None:
            seconds["to_best"] = learned.time_to_best
    bins = [len(cuts) + 1 for cuts in network.cut_points.values()]
    values = {
        "kl": kl_divergence(truth, network, random_state=20_000 + net).mean,
        "accuracy": accuracy(truth, network),
        "sensitivity": sensitivity(truth, network),
        "edges": len(network.edges),
        "true_edges": len(truth.edges),
        "bins": sum(bins) / len(bins) if bins else 0.0,
    }
    return Measured({**values, **found}, seconds)


def values_of(rows: Sequence[Mapping[str, Any]], name: str) -> list[float]:
    """Return one measured number of rows."""
    return [row["measured"][name] for row in rows]


def to_best(rows: Sequence[Mapping[str, Any]]) -> list[float]:
    """Return the seconds to the best network of the rows that have them."""
    return [row["seconds"]["to_best"] for row in rows if "to_best" in row["seconds"]]


def report_divergence(
    _plan: Plan, rows: Sequence[Row], *, variant: str, grows: str, paper: PaperTable, heading: str
) -> Report:
    """Return KL by size and algorithm and the paper's, for every law of networks."""
    sheets: list[Sheet] = []
    panels: list[Panel] = []
    by_law: dict[str, Cells] = {}
    late: dict[tuple[Any, ...], str] = {}
    for (law,), of_law in group_by(rows, variant).items():
        cells = group_by(of_law, grows, "algorithm")
        groups = {key: values_of(found, "kl") for key, found in cells.items()}
        sheets += _divergence_sheets(f'{heading}, law "{law}"', grows, cells, paper)
        panels.append(_kl_panel(law, grows, groups, paper))
        by_law[law] = groups
        for key, found in cells.items():
            if n_late := timed_out(found):
                late[law, *key] = f"; the clock ended {n_late}"
    figure = Figure(
        "kl", f"KL to the truth by {grows}: medians and quartiles; dashed: published means", tuple(panels)
    )
    return Report(
        tuple(sheets), (figure,), tuple(_divergence_claims(by_law, late, grows, paper)), (LAW_NOTE,)
    )


def _divergence_sheets(heading: str, grows: str, cells: Mapping[Any, Any], paper: PaperTable) -> list[Sheet]:
    """Return the table of one law, and the tests between its algorithms."""
    groups = {key: values_of(found, "kl") for key, found in cells.items()}

    def published(key: tuple[Any, ...]) -> str:
        known = paper.get(_paper_name(key[1]), {}).get(key[0])
        return f"{number(known[0])} ± {number(known[1])}" if known else "-"

    def floor(name: str) -> Callable[[tuple[Any, ...]], str]:
        return lambda key: summarise(groups[key[0], name]).spread if (key[0], name) in groups else "-"

    def mean(name: str) -> Callable[[tuple[Any, ...]], str]:
        return lambda key: number(summarise(values_of(cells[key], name)).mean)

    def seconds(key: tuple[Any, ...]) -> str:
        found = to_best(cells[key])
        return number(summarise(found).median) if found else "-"

    more_columns = {
        "paper": published,
        **{name: floor(name) for name in FLOORS},
        "accuracy": mean("accuracy"),
        "sensitivity": mean("sensitivity"),
        "s to best": seconds,
        "ended by the clock": lambda key: str(timed_out(cells[key])),
    }
    by_size: dict[Any, dict[str, list[float]]] = {}
    for (size, name), found in groups.items():
        if name not in FLOORS:
            by_size.setdefault(size, {})[name] = found
    return [
        summary_sheet(
            f"KL in nats: {heading}", (grows, "algorithm"), groups, more_columns, "Paper: mean ± sd."
        ),
        rank_tests(f"KL, pairs of algorithms: {heading}", grows, by_size),
    ]


LAW_NOTE = (
    'The networks of the paper are not published. Law "ide-cozman" follows its description; law "tree" gives sparser '
    "graphs. The floor is the true graph with the true bins, its tables counted from the same rows. It has one "
    "pseudo-count per table row, as EW, EF, BD and LDBN have; floor-auto has the smoothing that the data choose, as "
    '"optimal" has. EF-AIC has eight pseudo-counts. If a method beats its own published number, our networks may be '
    "easier."
)


def _paper_name(algorithm: str) -> str:
    """Return the published algorithm that an algorithm is compared with; the best one if the paper does not have it."""
    return {"EF-AIC": "EF", "optimal": "EF"}.get(algorithm, algorithm)


def _kl_panel(law: str, grows: str, groups: Cells, paper: PaperTable) -> Panel:
    series: list[Series] = []
    for name in dict.fromkeys(name for _, name in groups):
        own = {size: found for (size, other), found in groups.items() if other == name}
        known = {size: mean for size, (mean, _) in paper.get(name, {}).items()}
        series += figure_of(name, own, published=known)
    return Panel(f'law "{law}"', grows, "KL, nats", tuple(series), log_x=grows == "rows", log_y=True)


def _divergence_claims(
    by_law: Mapping[str, Cells], late: Mapping[tuple[Any, ...], str], grows: str, paper: PaperTable
) -> list[Claim]:
    """Return every published mean and ours, for every law and every algorithm that is compared with it."""
    claims = []
    for column, cells in paper.items():
        for size, (mean, sd) in cells.items():
            what, found = f"KL, {column}, {size} {grows}", []
            for law, groups in by_law.items():
                for name in dict.fromkeys(name for other, name in groups if other == size):
                    if name not in FLOORS and _paper_name(name) == column:
                        ours = tuple(groups[size, name])
                        setting = f'{name}, law "{law}", {len(ours)} networks' + late.get(
                            (law, size, name), ""
                        )
                        same = name == column and law == PAPER_LAW
                        found.append(Claim(what, setting, mean, ours, "lower", sd, PAPER_NETS, same=same))
            claims += found or [Claim(what, "-", mean, (), "lower", sd, PAPER_NETS)]
    return claims


def report_structure(
    _plan: Plan,
    rows: Sequence[Row],
    *,
    variant: str,
    grows: str,
    claims: Callable[[Sequence[Row]], list[Finding]],
) -> Report:
    """Return accuracy, sensitivity and the time to the best network by size, for every variant."""
    sheets, panels = [], []
    for (value,), group in group_by(rows, variant).items():
        by_cell = group_by(group, grows, "algorithm")
        for what in ("accuracy", "sensitivity"):
            found = {key: values_of(cell, what) for key, cell in by_cell.items()}
            sheets.append(summary_sheet(f"{what}, {variant} {value}", (grows, "algorithm"), found))
            panels.append(_panel(f"{what}, {variant} {value}", grows, what, found))
        seconds = {key: known for key, cell in by_cell.items() if (known := to_best(cell))}
        panels.append(_panel(f"time to the best, {variant} {value}", grows, "s", seconds, log_y=True))
        by_size = {
            size: {a: values_of(c, "accuracy") for (s, a), c in by_cell.items() if s == size}
            for size, _ in by_cell
        }
        sheets.append(rank_tests(f"accuracy, pairs of algorithms, {variant} {value}", grows, by_size))
    figure = Figure(
        "structure", "Accuracy, sensitivity and time to the best: medians and quartiles", tuple(panels)
    )
    return Report(tuple(sheets), (figure,), tuple(claims(rows)), (LAW_NOTE,))


def _panel(
    title: str,
    grows: str,
    y_label: str,
    groups: Cells,
    log_y: bool = False,
) -> Panel:
    series: list[Series] = []
    for name in dict.fromkeys(name for _, name in groups):
        series += figure_of(name, {size: found for (size, other), found in groups.items() if other == name})
    return Panel(title, grows, y_label, tuple(series), log_x=grows == "rows", log_y=log_y)


def figure_3_claims(rows: Sequence[Row]) -> list[Finding]:
    """Return the findings of Figure 3: which algorithm reaches perfect structure, on which kind of network."""
    cells = group_by(rows, "kind", "rows", "algorithm")
    medians = {key: summarise(values_of(cell, "accuracy")).median for key, cell in cells.items()}
    setting = f'{N_VARIABLES} variables, law "ide-cozman"'
    claims = []
    for size in PERFECT_FROM:
        found = medians.get(("equal-width", size, "EW"))
        what, ours = f"median accuracy, EW on equal-width networks, {size} rows", "-"
        if found is not None:
            ours = number(found)
        holds = None if found is None else found == 1.0
        claims.append(Finding(what, setting, "1", ours, holds, reason=_lost_edges(rows, size)))
    own = [found for (kind, _, name), found in medians.items() if (kind, name) == ("equal-frequency", "EF")]
    what, n_perfect = "EF's median accuracy on equal-frequency networks", sum(found == 1.0 for found in own)
    ours = f"1 at {n_perfect} of {len(own)} sizes" if own else "-"
    holds = n_perfect == 0 if own else None
    return [*claims, Finding(what, setting, "never 1", ours, holds, n_perfect > len(own) / 2)]


def _lost_edges(rows: Sequence[Row], size: int) -> str:
    """Return the numbers of edges that EW adds and omits on all equal-width networks with `size` rows."""
    own = [
        row["measured"]
        for row in rows
        if (row["task"]["kind"], row["task"]["rows"], row["task"]["algorithm"]) == ("equal-width", size, "EW")
    ]
    n_true = sum(found["true_edges"] for found in own)
    n_right = sum(round(found["sensitivity"] * found["true_edges"]) for found in own)
    n_wrong = sum(found["edges"] for found in own) - n_right
    return (
        f"{n_wrong} wrong edges, {n_true - n_right} of {n_true} missing; the tables of the missing ones have more "
        "entries than the score accepts for this number of rows"
    )


def figure_4_claims(rows: Sequence[Row]) -> list[Finding]:
    """Return the finding of Figure 4: BD has the best structure up to 12 variables."""
    cells = group_by([row for row in rows if row["task"]["law"] == PAPER_LAW], "variables", "algorithm")
    medians = {key: summarise(values_of(cell, "accuracy")).median for key, cell in cells.items()}
    claims = []
    for size in (4, 8, 12):
        found = {name: medians.get((size, name)) for name in ("BD", "EW", "EF")}
        known = {name: value for name, value in found.items() if value is not None}
        ours = ", ".join(f"{name} {number(value)}" for name, value in known.items()) or "-"
        holds = None
        if len(known) == len(found):
            own, *others = (by_net(cells[size, name], "accuracy") for name in known)
            lower = [is_lower(other, own, len(others)) for other in others]
            holds = True if all(lower) else False if False in lower else None
        late = timed_out(cells.get((size, "BD"), ()))
        setting = f'law "{PAPER_LAW}"' + (f"; the clock ended {late} of BD" if late else "")
        what = f"median accuracy, {size} variables"
        claims.append(Finding(what, setting, "BD best", ours if len(known) == len(found) else "-", holds))
    return claims


def _experiments() -> tuple[Experiment, ...]:
    known = learners()
    table = partial(report_divergence, variant="law")
    rows = {"kind": "random", "variables": N_VARIABLES}
    variables = {"kind": "random", "rows": N_ROWS}
    compared = tuple(name for name in known if name in ("EW", "EF", "BD", "optimal"))
    return (
        Experiment(
            name="table1",
            title="KL by the number of rows",
            source=f"{SOURCE}, Table 1: 8 variables, 30 networks, 24 hours a run.",
            plan=Plan(10, (200, 800, 3_200), known, LAWS, 2.0),
            full=Plan(PAPER_NETS, TABLE_ROWS, known, LAWS, 60.0),
            known_algorithms=known,
            known_variants=LAWS,
            tasks=partial(expand, variant="law", grows="rows", fixed=rows),
            measure=measure,
            report=partial(table, grows="rows", paper=TABLE_1, heading="8 variables"),
            least_size=10,
            prepare=compile_learner,
        ),
        Experiment(
            name="table2",
            title="KL by the number of variables",
            source=f"{SOURCE}, Table 2: 500 rows, 30 networks for each size, 24 hours a run.",
            plan=Plan(10, (4, 8, 12), known, LAWS, 2.0),
            full=Plan(PAPER_NETS, tuple(range(4, 21, 2)), known, LAWS, 60.0),
            known_algorithms=known,
            known_variants=LAWS,
            tasks=partial(expand, variant="law", grows="variables", fixed=variables),
            measure=measure,
            report=partial(table, grows="variables", paper=TABLE_2, heading="500 rows"),
            least_size=2,
            prepare=compile_learner,
        ),
        Experiment(
            name="fig3",
            title="Structure by the number of rows and the kind of network",
            source=f"{SOURCE}, Figure 3: equal-width, equal-frequency and random networks of 8 variables.",
            plan=Plan(10, (200, 1_600, 6_400), compared, KINDS, 2.0),
            full=Plan(PAPER_NETS, TABLE_ROWS, known, KINDS, 60.0),
            known_algorithms=known,
            known_variants=KINDS,
            tasks=partial(
                expand,
                variant="kind",
                grows="rows",
                fixed={"law": "ide-cozman", "variables": N_VARIABLES},
                with_floor=False,
            ),
            measure=measure,
            report=partial(report_structure, variant="kind", grows="rows", claims=figure_3_claims),
            least_size=10,
            prepare=compile_learner,
        ),
        Experiment(
            name="fig4",
            title="Structure and time to the best by the number of variables",
            source=f"{SOURCE}, Figure 4: random networks, 500 rows.",
            plan=Plan(10, (4, 8, 12, 16), known, ("ide-cozman",), 2.0),
            full=Plan(PAPER_NETS, tuple(range(4, 21, 2)), known, LAWS, 60.0),
            known_algorithms=known,
            known_variants=LAWS,
            tasks=partial(expand, variant="law", grows="variables", fixed=variables, with_floor=False),
            measure=measure,
            report=partial(report_structure, variant="law", grows="variables", claims=figure_4_claims),
            least_size=2,
            prepare=compile_learner,
        ),
    )


def compile_learner(announce: Callable[[str], object]) -> float:
    """Compile what every search needs; returns the seconds."""
    from gomea_bn.learning.warm_up import compile_kernels

    return compile_kernels(announce)


EXPERIMENTS = _experiments()
