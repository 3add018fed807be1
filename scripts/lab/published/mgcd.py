"""Graphs from Gaussian values, and predictions from part of the blanket: Mabrouk et al. (2015)."""

from collections.abc import Mapping, Sequence
from operator import methodcaller
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gomea_bn.discretization.mdl.mdl import MDLNetwork
from gomea_bn.discretization.mgcd.mgcd import MGCDiscretizer
from gomea_bn.learning.warm_up import compile_kernels
from gomea_bn.metrics.distances import cpdag_tpr_fpr
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.simulation.random_networks import random_network
from lab.published.algorithms import GOMEA_ALGORITHMS, learn, learning_seed
from lab.published.blanket import hit_rate
from lab.published.tables import published_network
from lab.runner.experiment import Experiment, Measured, Plan, Row, Task
from lab.runner.report import (
    Figure,
    Panel,
    Report,
    Sheet,
    by_net,
    figures_of,
    group_by,
    nested,
    rank_tests,
    summary_sheet,
    timed_out,
    values_of,
)
from lab.runner.runs import timed
from lab.runner.statistics import Claim, Finding, is_lower, number, summarise

RANDOM = "random"
VARIANTS = (RANDOM, "child", "sachs")
SIZES = (1_000, 2_000, 5_000, 7_500, 10_000)
SHARES = ("0.3", "0.6", "1.0")
N_TARGETS = 3
MOST_TEST_ROWS = 200
DIGITS = 9
"""Number of decimals of a prediction; posteriors differ in the last bits between processes."""
RATIOS = {
    "MDL": {1_000: 2.76, 5_000: 3.35, 7_500: 3.40, 10_000: 3.36},
    "GMM": {1_000: 0.887, 5_000: 1.140, 7_500: 1.133, 10_000: 1.103},
}
"""Run time over MGCD's, by rows: Friedman & Goldszmidt's method, and the univariate one of Cai et al."""
CORRECT = {
    "child": {
        1_000: ((60.90, 59.30, 58.99), (62.76, 60.90, 59.96), (67.53, 65.34, 63.33)),
        2_000: ((61.59, 56.62, 58.05), (62.41, 59.24, 60.55), (67.29, 64.71, 63.03)),
        5_000: ((64.88, 62.29, 60.05), (66.07, 62.95, 61.94), (69.42, 65.39, 63.82)),
        10_000: ((65.81, 62.48, 61.75), (67.44, 63.85, 63.51), (70.49, 66.92, 65.79)),
    },
    "sachs": {
        1_000: ((56.63, 54.78, 57.59), (57.22, 55.04, 58.74), (65.67, 61.06, 64.65)),
        2_000: ((56.96, 56.16, 54.02), (59.72, 57.58, 56.64), (65.80, 62.24, 60.22)),
        5_000: ((57.69, 55.00, 55.15), (59.80, 57.96, 56.38), (65.51, 64.15, 64.47)),
        10_000: ((60.35, 57.50, 57.33), (61.67, 58.26, 59.22), (70.04, 65.74, 64.61)),
    },
}
"""Correct predictions in percent by rows and share of the blanket: MGCD, GMM, MDL."""
RATIO_REASON = "all methods are our implementations, and GMM replaces another one"
ORDER_REASON = "MDL here is corrected and has exact thresholds; the intervals are our choice"
SHAPE_REASON = "bins that follow bell shapes make the tables of edges large"
COLUMNS = ("MGCD", "GMM", "MDL")
FIGURE_3 = (
    ("GMM", "tpr", "about 1.1", (1.05, 1.2)),
    ("MDL", "tpr", "about 1.4", (1.2, 1.6)),
    ("MDL", "fpr", ".6 to .8", (0.55, 0.85)),
)
"""Ratios of MGCD's rates of arcs to another method's: the text on Figure 3, which has no numbers, and our range for
it."""
NOTE = (
    "GMM: one mixture per column, in place of the method of Cai et al. Random networks have 10 to 30 variables "
    "of 2 to 5 values; every value is an interval with a normal distribution around its middle, truncated at two "
    "standard deviations. Child and Sachs: uniform values in random intervals, three variables drawn as targets stay "
    f"discrete, two thirds of the rows train, the first {MOST_TEST_ROWS} others test. A target is predicted by a draw "
    "from its distribution given part of the true blanket; the tables give the expected share of correct draws. "
    "The paper does not publish its intervals and targets."
)


def measure(task: Task) -> Measured:
    """Return the rates of arcs of one method on a random network, or its share of correct predictions."""
    if task["data"] != RANDOM:
        return _measure_predictions(task)
    truth = random_truth(task["net"])
    frame = gaussian_sample(truth, task["rows"], 10_000 + task["net"])
    network, seconds, ended = fitted(task, frame, dict.fromkeys(truth.names, "continuous"))
    hits, false_alarms = cpdag_tpr_fpr(truth, network)
    values = {"tpr": hits, "fpr": false_alarms, "variables": len(truth.names), "stopped_by": ended}
    return Measured(values, {"fit": seconds})


def random_truth(net: int) -> DiscretizedBayesNet:
    """Return a random network of 10 to 30 variables with about 1.2 to 1.9 edges per variable, all in intervals."""
    n_variables = int(np.random.default_rng([net, 2]).integers(10, 31))
    return random_network(
        n_variables,
        law="ide-cozman",
        max_edge_fraction=min(1.0, 3.8 / (n_variables - 1)),
        discrete_fraction=0.0,
        cardinality=(2, 5),
        random_state=net,
    )


def gaussian_sample(truth: DiscretizedBayesNet, n: int, seed: int) -> pd.DataFrame:
    """Return rows whose values in every interval are normal around its middle, two deviations to either end."""
    from scipy.stats import truncnorm

    codes = truth.discretize(truth.sample(n, random_state=seed))
    generator = np.random.default_rng([seed, 1])
    columns = {}
    for name in truth.names:
        low, high = _ends(truth.cut_points[name], truth.support[name], codes[name].to_numpy())
        drawn = truncnorm.rvs(-2.0, 2.0, size=n, random_state=generator)
        columns[name] = (low + high) / 2 + drawn * (high - low) / 4
    return codes.astype(float).assign(**columns)


def _ends(
    cuts: NDArray[np.float64], support: tuple[float, float], codes: NDArray[np.int32]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the lower and upper end of every code's interval."""
    ends = np.concatenate(([support[0]], cuts, [support[1]]))
    return ends[codes], ends[codes + 1]


def _measure_predictions(task: Task) -> Measured:
    """Return the expected share of correct predictions of the targets by share of the blanket, in percent."""
    truth = published_network(task["data"])
    generator = np.random.default_rng([task["net"], 3])
    frame = truth.sample(task["rows"], random_state=10_000 + task["net"])
    candidates = [name for name in truth.names if frame[name].nunique() > 1]
    targets = sorted(str(name) for name in generator.choice(candidates, N_TARGETS, replace=False))
    continuous = [name for name in truth.names if name not in targets]
    uniform = {}
    for name in continuous:
        widths = generator.random(truth.cardinality(name)) + 0.05
        cuts = (np.cumsum(widths) / widths.sum())[:-1]
        low, high = _ends(cuts, (0.0, 1.0), frame[name].cat.codes.to_numpy().astype(np.int32))
        uniform[name] = low + generator.random(len(frame)) * (high - low)
    frame = frame.assign(**uniform)
    kinds = {name: "continuous" if name in continuous else "discrete" for name in truth.names}
    n_train = 2 * len(frame) // 3
    network, seconds, ended = fitted(task, frame.iloc[:n_train], kinds)
    test = frame.iloc[n_train : n_train + MOST_TEST_ROWS]
    values: dict[str, Any] = {
        share: round(100.0 * hit_rate(network, truth, targets, test, float(share), generator), DIGITS)
        for share in SHARES
    }
    return Measured({"correct": values, "stopped_by": ended}, {"fit": seconds})


def fitted(task: Task, frame: pd.DataFrame, kinds: dict[str, str]) -> tuple[DiscretizedBayesNet, float, str]:
    """Return the network of one method, its seconds, and the limit that ended it."""
    method, net = task["method"], task["net"]
    if method in GOMEA_ALGORITHMS:
        learned = learn(method, frame, task, net, kinds=kinds)
        return learned.network, learned.seconds, learned.stopped_by
    limit = task["seconds"]
    learner: Any
    if method == "MDL":
        learner = MDLNetwork(kinds=kinds, max_seconds=limit)
    else:
        learner = MGCDiscretizer(
            univariate=method == "GMM", kinds=kinds, max_seconds=limit, random_state=learning_seed(net)
        )
    _, seconds = timed(learner.fit, frame)
    return learner.network_, seconds, learner.stopped_by_


def report(_plan: Plan, rows: Sequence[Row]) -> Report:
    """Return rates of arcs, run times and predictions by rows and method."""
    sheets: list[Sheet] = []
    panels: list[Panel] = []
    claims: list[Claim | Finding] = []
    for (data,), group in group_by(rows, "data").items():
        cells = group_by(group, "rows", "method")
        seconds = {key: [row["seconds"]["fit"] for row in cell] for key, cell in cells.items()}
        sheets.append(_seconds_sheet(data, cells, seconds))
        if data == RANDOM:
            for rate, heading in (
                ("tpr", "True positive rate of arcs"),
                ("fpr", "False positive rate of arcs"),
            ):
                rates = {key: values_of(cell, rate) for key, cell in cells.items()}
                _add(sheets, panels, heading, rates)
            claims += _ratio_claims(seconds, cells)
            claims += _rate_findings(cells)
            claims += _gomea_findings(cells)
        else:
            for share in SHARES:
                correct = {
                    key: [row["measured"]["correct"][share] for row in cell] for key, cell in cells.items()
                }
                _add(sheets, panels, f"Correct predictions, %, {data}, {share} of the blanket", correct)
                claims += _prediction_claims(data, share, correct)
                claims += _order_findings(data, share, cells)
    figure = Figure("mgcd", "Arcs and predictions by rows: medians and quartiles", tuple(panels))
    return Report(tuple(sheets), (figure,), tuple(claims), (NOTE,))


def _add(
    sheets: list[Sheet], panels: list[Panel], heading: str, values: dict[tuple[Any, ...], list[float]]
) -> None:
    """Add the table, the tests and the panel of one quantity, whose values are by rows and method."""
    sheets.append(summary_sheet(heading, ("rows", "method"), values))
    sheets.append(rank_tests(f"{heading}, pairs of methods", "rows", nested(values)))
    unit = "%" if "%" in heading else "rate"
    panels.append(Panel(heading.replace(", %", ""), "rows", unit, figures_of(values), log_x=True))


def _seconds_sheet(data: str, cells: Mapping[Any, Any], seconds: dict[tuple[Any, ...], list[float]]) -> Sheet:
    """Return run times, their ratios, and the number of runs that the clock ended."""

    def ratio(key: tuple[Any, ...]) -> str:
        reference = seconds.get((key[0], "MGCD"))
        return number(summarise(seconds[key]).median / summarise(reference).median) if reference else "-"

    more_columns = {
        "medians' ratio to MGCD": ratio,
        "ended by the clock": lambda key: str(timed_out(cells[key])),
    }
    return summary_sheet(f"Seconds, {data}", ("rows", "method"), seconds, more_columns)


def _ratio_claims(seconds: dict[tuple[Any, ...], list[float]], cells: Mapping[Any, Any]) -> list[Claim]:
    """Return run times over MGCD's, ratio of medians."""
    claims = []
    for method, numbers in RATIOS.items():
        for size, paper in numbers.items():
            both = [seconds.get((size, name), []) for name in (method, "MGCD")]
            ours = (summarise(both[0]).median / summarise(both[1]).median,) if all(both) else ()
            quantity = f"run time of {method} over MGCD's, {size} rows"
            late = sum(timed_out(cells.get((size, name), ())) for name in (method, "MGCD"))
            setting = "ratio of medians" + (f"; the clock ended {late}" if late else "")
            claims.append(Claim(quantity, setting, paper, ours, "equal", tolerance=0.1, reason=RATIO_REASON))
    return claims


def _rate_findings(cells: Mapping[tuple[Any, ...], Sequence[Any]]) -> list[Finding]:
    """Return the findings of Figure 3: MGCD's rates of arcs over the others', as ratios of means."""
    findings = []
    for size in dict.fromkeys(size for size, _ in cells):
        for other, rate, paper, (low, high) in FIGURE_3:
            if (size, "MGCD") not in cells or (size, other) not in cells:
                continue
            of_mgcd, of_other = (
                summarise(values_of(cells[size, name], rate)).mean for name in ("MGCD", other)
            )
            ratio = of_mgcd / of_other if of_other else None
            ratio_text = "" if ratio is None else f"{ratio:.2f} "
            kind = "true" if rate == "tpr" else "false"
            findings.append(
                Finding(
                    f"{kind} positives, MGCD over {other}, {size} rows",
                    "ratio of means, no test",
                    paper,
                    f"{ratio_text}({number(of_mgcd)} over {number(of_other)})",
                    None if ratio is None else low <= ratio <= high,
                    reason=RATIO_REASON,
                )
            )
    return findings


def _gomea_findings(cells: Mapping[tuple[Any, ...], Sequence[Any]]) -> list[Finding]:
    """Return the findings whether ours have more of the true arcs than MGCD on the same random networks."""
    findings = []
    for (size, name), rows in cells.items():
        reference = cells.get((size, "MGCD"), ())
        if name in COLUMNS or not reference:
            continue
        ours, of_mgcd = by_net(rows, "tpr"), by_net(reference, "tpr")
        means = [number(summarise(list(rates.values())).mean) for rates in (of_mgcd, ours)]
        findings.append(
            Finding(
                f"true positives, {name} against MGCD, {size} rows",
                "means; signed ranks of each cell alone",
                f"MGCD, our run: {means[0]}",
                means[1],
                is_lower(of_mgcd, ours),
                reason=SHAPE_REASON,
                same=False,
            )
        )
    return findings


def _order_findings(data: str, share: str, cells: Mapping[tuple[Any, ...], Sequence[Any]]) -> list[Finding]:
    """Return the findings whether MGCD predicts better than the others, as on all data sets of the paper but one."""
    findings = []
    for size in dict.fromkeys(size for size, _ in cells):
        for column, other in enumerate(COLUMNS[1:], 1):
            of_mgcd, of_other = (
                {row["task"]["net"]: row["measured"]["correct"][share] for row in cells.get((size, name), ())}
                for name in ("MGCD", other)
            )
            nets = of_mgcd.keys() & of_other.keys()
            published = CORRECT[data].get(size)
            if not nets or published is None:
                continue
            numbers = published[SHARES.index(share)]
            worse = is_lower(of_mgcd, of_other)
            difference = number(float(np.mean([of_mgcd[net] - of_other[net] for net in nets])))
            setting_of_data = f"{data}, {size} rows, {share} of the blanket"
            above = numbers[0] > numbers[column]
            findings.append(
                Finding(
                    f"correct predictions, %, {setting_of_data}, sign of MGCD minus {other}",
                    f"mean of {len(nets)} data sets, signed ranks of each cell alone",
                    number(numbers[0] - numbers[column]),
                    difference,
                    None if worse is None else worse != above,
                    reason=ORDER_REASON if other == "MDL" else RATIO_REASON,
                )
            )
    return findings


def _prediction_claims(data: str, share: str, correct: dict[tuple[Any, ...], list[float]]) -> list[Claim]:
    claims = []
    others = [method for _, method in correct if method not in COLUMNS]
    for size, of_size in CORRECT[data].items():
        for column, paper in zip(COLUMNS, of_size[SHARES.index(share)], strict=True):
            for method in dict.fromkeys([column, *(others if column == "MGCD" else [])]):
                ours = tuple(correct.get((size, method), ()))
                quantity = f"correct predictions, %, {data}, {size} rows, {share} of the blanket, {column}"
                if ours or method == column:
                    setting = f"{method}, {len(ours)} data sets"
                    same = method == column == "MGCD"
                    claims.append(Claim(quantity, setting, paper, ours, "higher", tolerance=1.0, same=same))
    return claims


EXPERIMENTS = (
    Experiment(
        name="mgcd",
        title="Graphs and predictions from Gaussian and uniform values",
        source="Mabrouk, Gonzales, Jabet-Chevalier & Chojnaki, Multivariate cluster-based discretization (2015).",
        plan=Plan(3, (1_000, 5_000), (*COLUMNS, "EF", "EF-AIC", "optimal"), VARIANTS, 8.0),
        full=Plan(30, SIZES, (*COLUMNS, *GOMEA_ALGORITHMS), VARIANTS, 60.0),
        tasks=methodcaller("tasks", "data", "rows", "method"),
        measure=measure,
        report=report,
        least_size=20,
        prepare=compile_kernels,
    ),
)
