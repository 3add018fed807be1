"""Single networks learned from samples of random ones: Tables 1 and 2, Figures 3 and 4 of Ha et al. (2024)."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from gomea_bn.learning.warm_up import compile_kernels
from gomea_bn.metrics.distances import accuracy, kl_divergence, sensitivity
from gomea_bn.simulation.random_networks import random_network
from lab.published.algorithms import FLOORS, LEARNERS, learn, true_fit
from lab.published.printed import TABLE_1, TABLE_2, PaperTable
from lab.runner.experiment import Experiment, Measured, Plan, Row, Task
from lab.runner.report import (
    Figure,
    Panel,
    Report,
    Sheet,
    by_net,
    figures_of,
    group_by,
    mean_text,
    median_text,
    nested,
    rank_tests,
    summary_sheet,
    timed_out,
    values_of,
)
from lab.runner.statistics import Claim, Finding, is_lower, number, summarise

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
    net = task["net"]
    truth = random_network(task["variables"], law=task["law"], kind=task["kind"], random_state=net)
    frame = truth.sample(task["rows"], random_state=10_000 + net)
    counts: dict[str, Any] = {}
    seconds = {}
    if task["algorithm"] in FLOORS:
        network = true_fit(truth, frame, FLOORS[task["algorithm"]])
    else:
        learned = learn(task["algorithm"], frame, task, net)
        network = learned.network
        counts = {"n_eval": learned.n_eval, "stopped_by": learned.stopped_by}
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
    return Measured({**values, **counts}, seconds)


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
        groups = {key: values_of(cell, "kl") for key, cell in cells.items()}
        sheets += _divergence_sheets(f'{heading}, law "{law}"', grows, cells, paper)
        panels.append(_kl_panel(law, grows, groups, paper))
        by_law[law] = groups
        for key, cell in cells.items():
            if n_late := timed_out(cell):
                late[law, *key] = f"; the clock ended {n_late}"
    figure = Figure(
        "kl", f"KL to the truth by {grows}: medians and quartiles; dashed: published means", tuple(panels)
    )
    return Report(
        tuple(sheets), (figure,), tuple(_divergence_claims(by_law, late, grows, paper)), (LAW_NOTE,)
    )


def _divergence_sheets(heading: str, grows: str, cells: Mapping[Any, Any], paper: PaperTable) -> list[Sheet]:
    """Return the table of one law, and the tests between its algorithms."""
    groups = {key: values_of(cell, "kl") for key, cell in cells.items()}

    def published(key: tuple[Any, ...]) -> str:
        mean_and_sd = paper.get(_paper_name(key[1]), {}).get(key[0])
        return f"{number(mean_and_sd[0])} ± {number(mean_and_sd[1])}" if mean_and_sd else "-"

    def floor(name: str) -> Callable[[tuple[Any, ...]], str]:
        return lambda key: summarise(groups[key[0], name]).spread if (key[0], name) in groups else "-"

    more_columns = {
        "paper": published,
        **{name: floor(name) for name in FLOORS},
        "accuracy": mean_text(cells, "accuracy"),
        "sensitivity": mean_text(cells, "sensitivity"),
        "s to best": median_text(cells, "to_best", "seconds"),
        "ended by the clock": lambda key: str(timed_out(cells[key])),
    }
    of_learners = {key: values for key, values in groups.items() if key[1] not in FLOORS}
    return [
        summary_sheet(
            f"KL in nats: {heading}", (grows, "algorithm"), groups, more_columns, "Paper: mean ± sd."
        ),
        rank_tests(f"KL, pairs of algorithms: {heading}", grows, nested(of_learners)),
    ]


LAW_NOTE = (
    'The networks of the paper are not published. Law "ide-cozman" follows its description; law "tree" gives sparser '
    "graphs. The floor is the true graph with the true bins, its tables counted from the same rows. It has one "
    "pseudo-count per table row, as EW, EF, BD and LDBN have; floor-auto has the smoothing that the data choose, as "
    '"optimal" and "default" have. EF-AIC has eight pseudo-counts. Bins of "optimal" are uniform inside; "default" is '
    "the learner's default, which chooses between uniform bins and shapes. If a method beats its own published number, "
    "our networks may be easier."
)


def _paper_name(algorithm: str) -> str:
    """Return the published algorithm that an algorithm is compared with; the best one if the paper does not have it."""
    return {"EF-AIC": "EF", "optimal": "EF", "default": "EF"}.get(algorithm, algorithm)


def _kl_panel(law: str, grows: str, groups: Cells, paper: PaperTable) -> Panel:
    published = {name: {size: mean for size, (mean, _) in cells.items()} for name, cells in paper.items()}
    series = figures_of(groups, published)
    return Panel(f'law "{law}"', grows, "KL, nats", series, log_x=grows == "rows", log_y=True)


def _divergence_claims(
    by_law: Mapping[str, Cells], late: Mapping[tuple[Any, ...], str], grows: str, paper: PaperTable
) -> list[Claim]:
    """Return every published mean and ours, for every law and every algorithm that is compared with it."""
    claims = []
    for column, cells in paper.items():
        for size, (mean, sd) in cells.items():
            quantity = f"KL, {column}, {size} {grows}"
            compared = []
            for law, groups in by_law.items():
                for name in dict.fromkeys(name for other, name in groups if other == size):
                    if name not in FLOORS and _paper_name(name) == column:
                        ours = tuple(groups[size, name])
                        setting = f'{name}, law "{law}", {len(ours)} networks' + late.get(
                            (law, size, name), ""
                        )
                        same = name == column and law == PAPER_LAW
                        compared.append(
                            Claim(quantity, setting, mean, ours, "lower", sd, PAPER_NETS, same=same)
                        )
            claims += compared or [Claim(quantity, "-", mean, (), "lower", sd, PAPER_NETS)]
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
        for measure_name in ("accuracy", "sensitivity"):
            values = {key: values_of(cell, measure_name) for key, cell in by_cell.items()}
            heading = f"{measure_name}, {variant} {value}"
            sheets.append(summary_sheet(heading, (grows, "algorithm"), values))
            panels.append(_panel(heading, grows, measure_name, values))
        # LDBN does not know its seconds to the best network
        known = group_by([row for row in group if "to_best" in row["seconds"]], grows, "algorithm")
        seconds = {key: [row["seconds"]["to_best"] for row in cell] for key, cell in known.items()}
        panels.append(_panel(f"time to the best, {variant} {value}", grows, "s", seconds, log_y=True))
        accuracies = nested({key: values_of(cell, "accuracy") for key, cell in by_cell.items()})
        sheets.append(rank_tests(f"accuracy, pairs of algorithms, {variant} {value}", grows, accuracies))
    figure = Figure(
        "structure", "Accuracy, sensitivity and time to the best: medians and quartiles", tuple(panels)
    )
    return Report(tuple(sheets), (figure,), tuple(claims(rows)), (LAW_NOTE,))


def _panel(title: str, grows: str, y_label: str, groups: Cells, log_y: bool = False) -> Panel:
    return Panel(title, grows, y_label, figures_of(groups), log_x=grows == "rows", log_y=log_y)


def figure_3_claims(rows: Sequence[Row]) -> list[Finding]:
    """Return the findings of Figure 3: which algorithm reaches perfect structure, on which kind of network."""
    cells = group_by(rows, "kind", "rows", "algorithm")
    medians = {key: summarise(values_of(cell, "accuracy")).median for key, cell in cells.items()}
    setting = f'{N_VARIABLES} variables, law "ide-cozman"'
    claims = []
    for size in PERFECT_FROM:
        median = medians.get(("equal-width", size, "EW"))
        quantity = f"median accuracy, EW on equal-width networks, {size} rows"
        ours = "-" if median is None else number(median)
        holds = None if median is None else median == 1.0
        claims.append(Finding(quantity, setting, "1", ours, holds, reason=_lost_edges(rows, size)))
    of_ef = [value for (kind, _, name), value in medians.items() if (kind, name) == ("equal-frequency", "EF")]
    quantity, n_perfect = "EF's median accuracy on equal-frequency networks", of_ef.count(1.0)
    ours = f"1 at {n_perfect} of {len(of_ef)} sizes" if of_ef else "-"
    holds = n_perfect == 0 if of_ef else None
    return [*claims, Finding(quantity, setting, "never 1", ours, holds, n_perfect > len(of_ef) / 2)]


def _lost_edges(rows: Sequence[Row], size: int) -> str:
    """Return the numbers of edges that EW adds and omits on all equal-width networks with `size` rows."""
    of_ew = [
        row["measured"]
        for row in rows
        if (row["task"]["kind"], row["task"]["rows"], row["task"]["algorithm"]) == ("equal-width", size, "EW")
    ]
    n_true = sum(measured["true_edges"] for measured in of_ew)
    n_right = sum(round(measured["sensitivity"] * measured["true_edges"]) for measured in of_ew)
    n_wrong = sum(measured["edges"] for measured in of_ew) - n_right
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
        names = ("BD", "EW", "EF")
        ours, holds = "-", None
        if all((size, name) in medians for name in names):
            ours = ", ".join(f"{name} {number(medians[size, name])}" for name in names)
            of_bd, *others = (by_net(cells[size, name], "accuracy") for name in names)
            lower = [is_lower(other, of_bd, len(others)) for other in others]
            holds = True if all(lower) else False if False in lower else None
        late = timed_out(cells.get((size, "BD"), ()))
        setting = f'law "{PAPER_LAW}"' + (f"; the clock ended {late} of BD" if late else "")
        claims.append(Finding(f"median accuracy, {size} variables", setting, "BD best", ours, holds))
    return claims


def _experiments() -> tuple[Experiment, ...]:
    table = partial(report_divergence, variant="law")
    rows = {"kind": "random", "variables": N_VARIABLES}
    variables = {"kind": "random", "rows": N_ROWS}
    compared = tuple(name for name in LEARNERS if name in ("EW", "EF", "BD", "optimal"))
    return (
        Experiment(
            name="table1",
            title="KL by the number of rows",
            source=f"{SOURCE}, Table 1: 8 variables, 30 networks, 24 hours per run.",
            plan=Plan(10, (200, 800, 3_200), LEARNERS, LAWS, 2.0),
            full=Plan(PAPER_NETS, TABLE_ROWS, LEARNERS, LAWS, 60.0),
            tasks=partial(expand, variant="law", grows="rows", fixed=rows),
            measure=measure,
            report=partial(table, grows="rows", paper=TABLE_1, heading="8 variables"),
            least_size=10,
            prepare=compile_kernels,
        ),
        Experiment(
            name="table2",
            title="KL by the number of variables",
            source=f"{SOURCE}, Table 2: 500 rows, 30 networks for each size, 24 hours per run.",
            plan=Plan(10, (4, 8, 12), LEARNERS, LAWS, 2.0),
            full=Plan(PAPER_NETS, tuple(range(4, 21, 2)), LEARNERS, LAWS, 60.0),
            tasks=partial(expand, variant="law", grows="variables", fixed=variables),
            measure=measure,
            report=partial(table, grows="variables", paper=TABLE_2, heading="500 rows"),
            least_size=2,
            prepare=compile_kernels,
        ),
        Experiment(
            name="fig3",
            title="Structure by the number of rows and the kind of network",
            source=f"{SOURCE}, Figure 3: equal-width, equal-frequency and random networks of 8 variables.",
            plan=Plan(10, (200, 1_600, 6_400), compared, KINDS, 2.0),
            full=Plan(PAPER_NETS, TABLE_ROWS, LEARNERS, KINDS, 60.0),
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
            prepare=compile_kernels,
        ),
        Experiment(
            name="fig4",
            title="Structure and time to the best by the number of variables",
            source=f"{SOURCE}, Figure 4: random networks, 500 rows.",
            plan=Plan(10, (4, 8, 12, 16), LEARNERS, ("ide-cozman",), 2.0),
            full=Plan(PAPER_NETS, tuple(range(4, 21, 2)), LEARNERS, LAWS, 60.0),
            tasks=partial(expand, variant="law", grows="variables", fixed=variables, with_floor=False),
            measure=measure,
            report=partial(report_structure, variant="law", grows="variables", claims=figure_4_claims),
            least_size=2,
            prepare=compile_kernels,
        ),
    )


EXPERIMENTS = _experiments()
