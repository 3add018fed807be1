"""Networks of a front beside a single learned one: how near to the truth, and to an expert (Ha et al., Fig. 6).

Random networks of 10 variables; the expert knows half of the true edges, and as many wrong ones; at most 9 bins for
both learners. *oracle* is the member with the best accuracy, the truth known, as in the paper; of equals the one with
the least KL. *knee* and *closest to expert* know nothing of the truth. The expert's own network, with tables from the
same rows, stands beside them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from _bench_mo_peers import N_VARIABLES, run_tasks
from _side_by_side import print_rows

from gomea_bn.estimator import BayesNetLearner
from gomea_bn.expert import simulated_expert
from gomea_bn.front import Front
from gomea_bn.ground_truth import random_network
from gomea_bn.metrics import accuracy
from gomea_bn.network import DiscretizedBayesNet
from gomea_bn.pareto import ParetoBayesNetLearner
from gomea_bn.table import read_table
from gomea_bn.warm_up import compile_front_kernels, compile_kernels

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["learn_both"]

SIZES, MAX_BINS = (200, 400, 800, 1_600, 3_200, 6_400), 9
SINGLE, ORACLE, KNEE, CLOSEST, EXPERT = "single", "oracle", "knee", "closest to expert", "expert's own"
NETWORKS = (SINGLE, ORACLE, KNEE, CLOSEST, EXPERT)
PANELS = ("accuracy to truth", "KL to truth", "accuracy to expert", "KL to expert")
# among members of equal accuracy, so many that fit best are asked for their KL
MOST_TIES = 200


class _Divergence:
    """KL from one network to others, all over the same rows."""

    def __init__(self, source: DiscretizedBayesNet, seed: int, n_rows: int = 50_000) -> None:
        self.rows: pd.DataFrame = source.sample(n_rows, random_state=seed)
        self.own = float(source.log_density(self.rows).mean())

    def to(self, network: DiscretizedBayesNet) -> float:
        return self.own - float(network.log_density(self.rows).mean())


def _oracle(front: Front, truth: DiscretizedBayesNet, divergence: _Divergence) -> DiscretizedBayesNet:
    """Return the member with the best accuracy; of equals the one with the least KL among those that fit best."""
    found = np.array([accuracy(truth, candidate.network) for candidate in front])
    # a front is ordered by misfit
    ties = np.flatnonzero(found == found.max())[:MOST_TIES].tolist()
    return front[min(ties, key=lambda k: divergence.to(front[k].network))].network


def learn_both(task: Mapping[str, Any]) -> dict[str, Any]:
    """Return the four panels' numbers for every kind of network, learned from one sample."""
    net, n, seconds = task["net"], task["n"], task["seconds"]
    truth = random_network(N_VARIABLES, kind="random", random_state=net)
    frame = truth.sample(n, random_state=10_000 + net)
    table = read_table(frame)
    expert = simulated_expert(truth, table=table, random_state=20_000 + net)
    compile_kernels()
    compile_front_kernels()
    began = perf_counter()
    single = BayesNetLearner(max_bins=MAX_BINS, max_seconds=seconds, random_state=net).fit(frame)
    middle = perf_counter()
    many = ParetoBayesNetLearner(expert=expert, max_bins=MAX_BINS, max_seconds=seconds, random_state=net).fit(
        frame
    )
    ended = perf_counter()
    front, own = many.front_, many.expert_
    from_truth, from_expert = _Divergence(truth, 40_000 + net), _Divergence(own, 50_000 + net)
    networks = {
        SINGLE: single.network_,
        ORACLE: _oracle(front, truth, from_truth),
        KNEE: front.knee().network,
        CLOSEST: front.closest_to_expert().network,
        EXPERT: own,
    }
    panels = {
        name: [accuracy(truth, one), from_truth.to(one), accuracy(own, one), from_expert.to(one)]
        for name, one in networks.items()
    }
    return {
        **task,
        "panels": panels,
        "members": len(front),
        "n_eval": many.n_eval_,
        "seconds_used": [middle - began, ended - middle],
    }


def _rows(n: int, group: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return the lines of the table for one number of rows."""
    values = {name: np.array([result["panels"][name] for result in group]) for name in NETWORKS}
    rows = []
    for name in NETWORKS:
        ahead = values[name][:, 0] - values[SINGLE][:, 0]
        against = f"{ahead.mean():+.3f} ({(ahead > 0).sum()} above, {(ahead == 0).sum()} equal)"
        row = [str(n), name, *(f"{value:.3f}" for value in np.median(values[name], axis=0))]
        rows.append([*row, "" if name == SINGLE else against])
    return rows


def main(options: Any) -> None:
    """Print the panels of Figure 6 as a table: medians over the networks."""
    seconds = options.seconds or (120.0 if options.full else 20.0)
    n_nets = options.nets or (10 if options.full else 5)
    tasks = [{"net": net, "n": n, "seconds": seconds} for n in SIZES for net in range(n_nets)]
    results = run_tasks(learn_both, tasks, options.results / "figure6.jsonl", options.workers)
    rows = []
    for n in SIZES:
        rows += _rows(n, [result for result in results if result["n"] == n])
    used = np.array([result["seconds_used"] for result in results])
    print(
        f"\n{N_VARIABLES} variables, {n_nets} networks, medians; at most {seconds:g} s a run (longest: single "
        f"{used[:, 0].max():.1f} s, front {used[:, 1].max():.1f} s); fronts of "
        f"{np.median([result['members'] for result in results]):,.0f} members after "
        f"{np.median([result['n_eval'] for result in results]):,.0f} evaluations; KL in nats"
    )
    print_rows(("n", "network", *PANELS, "accuracy to truth minus single's, mean"), rows)
