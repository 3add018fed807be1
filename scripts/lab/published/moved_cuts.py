"""Cut points moved after the structure search: Figure 5 of Ha et al. (2024)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gomea_bn.learning.cuts.refinement import refine_boundaries
from gomea_bn.metrics.distances import kl_divergence
from gomea_bn.simulation.random_networks import random_network
from lab.published.algorithms import compile_search_and_refinement, learn, learning_seed
from lab.published.random_networks import N_VARIABLES, PAPER_NETS, SOURCE, TABLE_ROWS
from lab.runner.experiment import Experiment, Measured, Plan, Row, Task
from lab.runner.report import Figure, Panel, Report, figures_of, group_by, nested, rank_tests, summary_sheet
from lab.runner.statistics import Finding, is_lower, number, summarise

NONE = "none"
METHODS = {
    NONE: None,
    "rv-gomea": ("rv-gomea", "fixed"),
    "bayesian": ("bayesian", "free"),
    "dp": ("dp", "fixed"),
    "dp-free": ("dp", "free"),
}
"""Method and numbers of bins of `refine_boundaries` by name; Ha et al. have the first three."""
STARTS = ("EW", "EF", "optimal")
"""Learners of the network whose cuts are moved; Ha et al. have the first two."""
OWN_START = STARTS[-1]
LAW = "ide-cozman"


def tasks(plan: Plan) -> list[Task]:
    """Return one task per start, number of rows and network; all methods move the cuts of the same network."""
    return [
        {
            "law": LAW,
            "variables": N_VARIABLES,
            "start": start,
            "rows": size,
            "net": plan.seed + net,
            "methods": list(plan.algorithms),
            **plan.limits,
        }
        for start in plan.variants
        for size in plan.sizes
        for net in range(plan.nets)
    ]


def measure(task: Task) -> Measured:
    """Return the KL of a learned network after each method moved its cuts, and each one's seconds."""
    net = task["net"]
    truth = random_network(task["variables"], law=task["law"], kind="random", random_state=net)
    frame = truth.sample(task["rows"], random_state=10_000 + net)
    learned = learn(task["start"], frame, task, net)
    kinds = dict.fromkeys(learned.network.levels, str)
    values: dict[str, Any] = {"kl": {}, "bins": {}}
    assert learned.time_to_best is not None  # no start is LDBN
    seconds = {"search": learned.seconds, "to_best": learned.time_to_best}
    # methods are to differ by the cuts alone
    weight = learned.network.pseudo_count
    for name in task["methods"]:
        network, used, to_best = learned.network, 0.0, 0.0
        method_and_counts = METHODS[name]
        if method_and_counts is not None:
            result = refine_boundaries(
                network,
                frame.astype(kinds),
                *method_and_counts,
                max_bins=15,
                max_seconds=task["seconds"],
                random_state=learning_seed(net),
                pseudo_count=1.0 if weight is None else weight,
                callback=_until(task["evaluations"]) if name == "rv-gomea" else None,
            )
            network, used = result.network, result.seconds
            to_best = result.history[-1].seconds if result.history else used
        values["kl"][name] = kl_divergence(truth, network, random_state=20_000 + net).mean
        values["bins"][name] = sum(len(cuts) + 1 for cuts in network.cut_points.values())
        seconds[name], seconds[f"{name}, to best"] = used, to_best
    return Measured(values, seconds)


def _until(evaluations: int | None) -> Callable[[Any], bool] | None:
    """Return a callback that ends a search after the generation that reaches the number of evaluations."""
    if evaluations is None:
        return None
    return lambda progress: bool(progress.n_eval >= evaluations)


def report(_plan: Plan, rows: Sequence[Row]) -> Report:
    """Return KL and seconds by start, method and rows."""
    sheets, panels, findings = [], [], []
    for (start,), group in group_by(rows, "start").items():
        divergences: dict[tuple[int, str], list[float]] = {}
        seconds: dict[tuple[int, str], list[float]] = {}
        to_best: dict[tuple[int, str], list[float]] = {}
        for row in group:
            for method, kl in row["measured"]["kl"].items():
                key = (row["task"]["rows"], method)
                divergences.setdefault(key, []).append(kl)
                seconds.setdefault(key, []).append(row["seconds"][method])
                to_best.setdefault(key, []).append(row["seconds"][f"{method}, to best"])
        more_columns = {"median s": _medians(seconds), "median s to best": _medians(to_best)}
        sheets.append(
            summary_sheet(f"KL in nats, from {start}", ("rows", "method"), divergences, more_columns)
        )
        best = {
            key: [row["seconds"]["to_best"] for row in cell] for key, cell in group_by(group, "rows").items()
        }
        sheets.append(summary_sheet(f"Seconds to the best network of the search, {start}", ("rows",), best))
        by_size = nested(divergences)
        sheets.append(rank_tests(f"KL, pairs of methods, from {start}", "rows", by_size))
        times = {key: values for key, values in to_best.items() if key[1] != NONE}
        for y_label, values in (("KL, nats", divergences), ("s to the best", times)):
            panels.append(Panel(f"from {start}", "rows", y_label, figures_of(values), log_x=True, log_y=True))
        findings += _findings(start, by_size) if start != OWN_START else []
    caption = "KL after the cuts were moved, and the seconds to the best cuts: medians and quartiles"
    return Report(tuple(sheets), (Figure("refinement", caption, tuple(panels), 2),), tuple(findings))


def _medians(values: dict[tuple[int, str], list[float]]) -> Callable[[tuple[Any, ...]], str]:
    """Return the function from a setting to its median as text."""
    return lambda key: number(summarise(values[key[0], key[1]]).median)


def _findings(start: str, by_size: Mapping[int, Mapping[str, Sequence[float]]]) -> list[Finding]:
    """Return the findings of Figure 5: RV-GOMEA lowers the median KL, and Bayesian cuts are poor for few rows."""
    claims = []
    setting = f'{N_VARIABLES} variables, law "{LAW}"'
    for size, methods in by_size.items():
        medians = {name: summarise(values).median for name, values in methods.items()}
        # one row has the values of all methods, so that values in the same position are paired
        paired = {name: dict(enumerate(values)) for name, values in methods.items()}
        medians_text = ", ".join(f"{name} {number(value)}" for name, value in medians.items())
        if "rv-gomea" in medians and NONE in medians:
            holds = is_lower(paired["rv-gomea"], paired[NONE], len(by_size))
            quantity = f"KL from {start}, {size} rows"
            claims.append(Finding(quantity, setting, "rv-gomea below none", medians_text, holds))
        for name in ("dp", "dp-free"):
            if name in medians and "rv-gomea" in medians:
                holds = is_lower(paired[name], paired["rv-gomea"], 2 * len(by_size))
                quantity = f"KL from {start}, {size} rows, {name} against rv-gomea"
                claims.append(Finding(quantity, setting, "rv-gomea", medians_text, holds, same=False))
        if size <= 800 and "bayesian" in medians and NONE in medians:
            holds = is_lower(paired[NONE], paired["bayesian"], len(by_size))
            quantity = f"KL from {start}, {size} rows, Bayesian cuts"
            claims.append(
                Finding(
                    quantity, setting, "poor for few rows: above none", medians_text, holds, holds is False
                )
            )
    return claims


EXPERIMENTS = (
    Experiment(
        name="fig5",
        title="Cut points moved after the search",
        source=f"{SOURCE}, Figure 5: random networks of 8 variables; none, RV-GOMEA, Bayesian; ours adds exact cuts.",
        plan=Plan(8, (200, 1_600, 6_400), tuple(METHODS), STARTS, 2.0),
        full=Plan(PAPER_NETS, TABLE_ROWS, tuple(METHODS), STARTS, 60.0),
        tasks=tasks,
        measure=measure,
        report=report,
        least_size=10,
        prepare=compile_search_and_refinement,
    ),
)
