"""Networks of a front and single learned ones, with an expert who is half right: Figure 6 of Ha et al. (2024)."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from gomea_bn.data.table import read_table
from gomea_bn.front.front import Front
from gomea_bn.learning.pareto_learner import ParetoBayesNetLearner
from gomea_bn.learning.warm_up import compile_front_kernels, compile_kernels
from gomea_bn.metrics.distances import accuracy
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.simulation.random_experts import simulated_expert
from gomea_bn.simulation.random_networks import random_network
from lab.published.algorithms import learn, learning_seed
from lab.published.random_networks import LAWS, PAPER_NETS, SOURCE
from lab.runner.experiment import Experiment, Measured, Plan, Row, Task
from lab.runner.report import Figure, Panel, Report, figures_of, group_by, nested, rank_tests, summary_sheet
from lab.runner.statistics import Finding, is_even, is_lower, number, summarise

N_VARIABLES = 10
SIZES = (200, 400, 800, 1_600, 3_200, 6_400)
STRATEGIES: dict[str, Callable[..., ParetoBayesNetLearner]] = {
    "EF": partial(ParetoBayesNetLearner.published, "EF"),
    "EW": partial(ParetoBayesNetLearner.published, "EW"),
    "optimal": partial(ParetoBayesNetLearner.published, discretizer="optimal"),
    "default": ParetoBayesNetLearner,
}
"""Functions that return a learner of fronts with further options, by the name of the learner of the single network,
which has the same bins."""
PUBLISHED = ("EF", "EW")
WITH_KL = ("EF", "default")
NOT_SAID = "the paper does not say which member's KL it shows"
SINGLE, ORACLE, KNEE, CLOSEST, EXPERT = "single", "oracle", "knee", "closest to expert", "expert's own"
PANELS = ("accuracy to truth", "KL to truth", "accuracy to expert", "KL to expert")
NOTE = (
    "oracle: the member with the best accuracy, chosen with the truth as in the paper; of equal members the one that "
    "fits best. knee and closest to expert do not use the truth. The expert knows half of the true edges and an equal "
    "number of wrong ones; the expert's own network has tables from the same rows. All tables have one pseudo-count "
    "per row. "
    '"default" has the defaults of both learners instead, without the limit on bins: optimal cuts with shapes, '
    "smoothing chosen by the data, curves in the single network, and a front that begins with a single network and "
    "leaves rows out of their own tables. Networks from the same rows are compared by signed ranks."
)


def tasks(plan: Plan) -> list[Task]:
    """Return one task per law of networks, kind of bins, number of rows and network."""
    return [
        {
            "law": law,
            "variables": N_VARIABLES,
            "bins": name,
            "rows": size,
            "net": plan.seed + net,
            **plan.limits,
        }
        for law in plan.variants
        for name in plan.algorithms
        for size in plan.sizes
        for net in range(plan.nets)
    ]


class _Divergence:
    """KL from one network to others, over the same rows."""

    def __init__(self, source: DiscretizedBayesNet, seed: int, n_rows: int = 50_000) -> None:
        self.rows: pd.DataFrame = source.sample(n_rows, random_state=seed)
        self.entropy_term = float(source.log_density(self.rows).mean())

    def to(self, network: DiscretizedBayesNet) -> float:
        return self.entropy_term - float(network.log_density(self.rows).mean())


def _oracle(front: Front, truth: DiscretizedBayesNet) -> DiscretizedBayesNet:
    """Return the member with the best accuracy; of equal members the one with the least misfit."""
    accuracies = np.array([accuracy(truth, candidate.network) for candidate in front])
    # a front is ordered by misfit, and argmax takes the first of equals
    return front[int(np.argmax(accuracies))].network


def measure(task: Task) -> Measured:
    """Return the numbers of the four panels for every kind of network, learned from one sample."""
    net = task["net"]
    truth = random_network(task["variables"], law=task["law"], kind="random", random_state=net)
    frame = truth.sample(task["rows"], random_state=10_000 + net)
    expert = simulated_expert(truth, table=read_table(frame), random_state=20_000 + net)
    alone = STRATEGIES[task["bins"]]()
    shared = {name: getattr(alone, name) for name in ("max_bins", "pseudo_count")}
    single = learn(task["bins"], frame, task, net, **shared)
    compile_front_kernels()
    learner = STRATEGIES[task["bins"]](
        expert=expert,
        max_seconds=task["seconds"],
        max_evaluations=task["evaluations"],
        n_jobs=1,
        random_state=learning_seed(net),
    ).fit(frame)
    front, completed = learner.front_, learner.expert_
    assert completed is not None
    from_truth, from_expert = _Divergence(truth, 40_000 + net), _Divergence(completed, 50_000 + net)
    networks = {
        SINGLE: single.network,
        ORACLE: _oracle(front, truth),
        KNEE: front.knee().network,
        CLOSEST: front.closest_to_expert().network,
        EXPERT: completed,
    }
    values: dict[str, Any] = {
        name: {
            "accuracy to truth": accuracy(truth, network),
            "KL to truth": from_truth.to(network),
            "accuracy to expert": accuracy(completed, network),
            "KL to expert": from_expert.to(network),
        }
        for name, network in networks.items()
    }
    return Measured(
        {"networks": values, "members": len(front), "n_eval": learner.n_eval_},
        {"single": single.seconds, "front": learner.fit_seconds_},
    )


def report(_plan: Plan, rows: Sequence[Row]) -> Report:
    """Return the four panels for every kind of bins, and the findings about them."""
    sheets, panels, findings = [], [], []
    for (law, bins), group in group_by(rows, "law", "bins").items():
        of = f'{bins}, law "{law}"'
        for panel in PANELS:
            values: dict[tuple[int, str], list[float]] = {}
            for row in group:
                for name, of_network in row["measured"]["networks"].items():
                    values.setdefault((row["task"]["rows"], name), []).append(of_network[panel])
            sheets.append(summary_sheet(f"{panel}, {of}", ("rows", "network"), values))
            panels.append(Panel(f"{panel}, {of}", "rows", panel, figures_of(values), log_x=True))
            if panel in PANELS[:2]:
                compared = {key: v for key, v in values.items() if key[1] in (SINGLE, ORACLE, KNEE)}
                by_size = nested(compared)
                sheets.append(rank_tests(f"{panel}, {of}: single, oracle and knee", "rows", by_size))
                if bins in (*PUBLISHED, *WITH_KL):
                    findings += _findings(panel, law, bins, by_size)
    figure = Figure(
        "fronts", "Networks of the front and a single one: medians and quartiles", tuple(panels), 4
    )
    return Report(tuple(sheets), (figure,), tuple(findings), (NOTE,))


def _findings(
    panel: str, law: str, bins: str, by_size: Mapping[int, Mapping[str, Sequence[float]]]
) -> list[Finding]:
    """Return the findings of Figure 6: the front's best accuracy is above the single network's, and its KL is equal."""
    findings = []
    for size, values in by_size.items():
        # one row has the values of all networks, so that values in the same position are paired
        paired = {name: dict(enumerate(of_name)) for name, of_name in values.items()}
        single, oracle, knee = (summarise(values[name]).median for name in (SINGLE, ORACLE, KNEE))
        ours = f"oracle {number(oracle)}, knee {number(knee)}, single {number(single)}"
        quantity, setting = f"median {panel}, {bins}, {size} rows", f'{N_VARIABLES} variables, law "{law}"'
        if panel == PANELS[0]:
            holds = is_lower(paired[SINGLE], paired[ORACLE], len(by_size))
            findings.append(Finding(quantity, setting, "front's best above single", ours, holds))
        elif bins in WITH_KL:
            lower = is_lower(paired[ORACLE], paired[SINGLE], len(by_size))
            equal = is_even(paired[ORACLE], paired[SINGLE], len(by_size))
            findings.append(
                Finding(
                    quantity,
                    setting,
                    "equal",
                    ours,
                    equal,
                    lower is True,
                    f"ours is the KL of the oracle; {NOT_SAID}",
                )
            )
            lower = is_lower(paired[KNEE], paired[SINGLE], len(by_size))
            findings.append(
                Finding(
                    f"{quantity}, knee against single",
                    setting,
                    f"single {number(single)}",
                    number(knee),
                    lower,
                    same=False,
                )
            )
    return findings


def prepare(announce: Callable[[str], object]) -> float:
    """Compile both searches; returns the seconds."""
    return compile_kernels(announce) + compile_front_kernels(announce)


EXPERIMENTS = (
    Experiment(
        name="fig6",
        title="Fronts and single networks, with an expert",
        source=f"{SOURCE}, Figure 6: random networks of 10 variables, at most 9 bins.",
        plan=Plan(10, (200, 800, 3_200), tuple(STRATEGIES), LAWS, 3.0),
        full=Plan(PAPER_NETS, SIZES, tuple(STRATEGIES), LAWS, 120.0),
        tasks=tasks,
        measure=measure,
        report=report,
        least_size=10,
        prepare=prepare,
    ),
)
