"""Sampled posterior probabilities of edges: chains over graphs in threads, until they agree."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from gomea_bn.certainty.chains.bins_chain import SWEEPS_PER_DRAW, BinsChain, BinsModel
from gomea_bn.certainty.chains.graph_chain import MARGIN, GraphChain, chain_families
from gomea_bn.certainty.graph_scores import GraphScores
from gomea_bn.certainty.parent_sets import OrderSearch
from gomea_bn.errors import GomeaBnWarning, check_integer, check_number
from gomea_bn.runtime.checkpoints import Section, State
from gomea_bn.runtime.threads import StopFlag, Workers, thread_count

# chains are compared after this number of sweeps, and whenever it has doubled
_FIRST_COMPARISON = 2000
# parent sets that a chain looks at between two looks at the clock: about ten milliseconds
_SETS_PER_TURN = 1_000_000
# what a step takes besides the parent sets that it looks at, in sets
_SETS_PER_STEP = 500
# parent sets that chains score: seconds on a thousand rows
_MOST_SETS = 4_000_000
# and those that are scored for every draw of the bins: a fourth of a second on a thousand rows
_MOST_SETS_OF_DRAWS = 200_000


@dataclass(frozen=True)
class Posterior:
    """Probabilities of edges over the bins of one network and one table; the counts are those of `EdgeProbabilities`.

    `means`, (n_chains, n_variables, n_variables), are the mean probabilities of every chain; one exact result.
    """

    means: NDArray[np.float64]
    n_sweeps: int = 0
    stopped_by: str = "end"
    n_candidates: int | None = None
    n_draws: int = 0


def chain_difference(means: NDArray[np.float64]) -> float:
    """Return the largest difference of the probability of an arc or a pair between two chains; nan for one chain.

    `means` are those of a `Posterior`.
    """
    if len(means) < 2:
        return float("nan")
    pairs = means + means.transpose(0, 2, 1)
    return float(max(np.ptp(means, axis=0).max(), np.ptp(pairs, axis=0).max()))


@dataclass(frozen=True)
class ChainOptions:
    """Options of sampled chains, as of `edge_probabilities`; `seed` is an integer."""

    n_sweeps: int
    n_chains: int
    tolerance: float
    n_jobs: int | None
    seed: int

    def __post_init__(self) -> None:
        check_integer("n_sweeps", self.n_sweeps, 1)
        check_integer("n_chains", self.n_chains, 1)
        check_number("tolerance", self.tolerance, 0, 1)
        thread_count(self.n_jobs)


def sampled_posterior(
    graphs: GraphScores,
    options: ChainOptions,
    max_seconds: float | None,
    section: Section,
    *,
    draws_bins: bool = False,
) -> Posterior:
    """Return the mean probabilities of edges of several chains over graphs, or over graphs and bins.

    `max_seconds` limits all chains together. With `draws_bins` chains also draw the bins, under "density-bd" with its
    Dirichlet prior.
    """
    most_sets = _MOST_SETS_OF_DRAWS if draws_bins else _MOST_SETS
    n_candidates = _candidates(len(graphs.names), graphs.rules.max_indegree, most_sets)
    if n_candidates is not None:
        warnings.warn(
            GomeaBnWarning(
                f"Every variable has only its {n_candidates} most likely candidate parents: {len(graphs.names)} "
                f"variables with at most {graphs.rules.max_indegree} parents have more than {most_sets:,} parent sets."
            ),
            stacklevel=4,
        )
        graphs = graphs.with_candidates(n_candidates)
    stop = StopFlag(max_seconds)
    generators = np.random.default_rng(options.seed).spawn(options.n_chains)
    chains: Sequence[GraphChain | BinsChain]
    n_drawn_columns = 0
    if draws_bins:
        model = BinsModel.of(graphs)
        n_drawn_columns = len(model.columns)
        chains = [BinsChain(model, k == 0, generator, stop) for k, generator in enumerate(generators)]
        n_in_turn = SWEEPS_PER_DRAW
    else:
        sets = graphs.parent_sets(prune=True, margin=MARGIN)
        search, families = OrderSearch(sets), chain_families(sets)
        orders = [graphs.first_order(search, each if k else None) for k, each in enumerate(generators)]
        chains = [
            GraphChain(families, search.choices(order), order, each)
            for order, each in zip(orders, generators)
        ]
        sets_per_sweep = sum(len(of_child.scores) + _SETS_PER_STEP for of_child in sets)
        n_in_turn = max(_SETS_PER_TURN // sets_per_sweep, 1)
    means, n_sweeps = _run_chains(chains, options, n_in_turn, stop, section)
    # fixed cuts are never drawn
    n_draws = (n_sweeps - 1) // SWEEPS_PER_DRAW if n_drawn_columns else 0
    return Posterior(means, n_sweeps, stop.reason or "end", n_candidates, n_draws)


def _candidates(n: int, max_indegree: int, most_sets: int) -> int | None:
    """Return the number of candidate parents per variable that the number of parent sets allows, None for all."""

    def too_many(candidates: int) -> bool:
        return n * sum(comb(candidates, size) for size in range(max_indegree + 1)) > most_sets

    most = n - 1
    while most > max_indegree and too_many(most):
        most -= 1
    return None if most == n - 1 else most


def _run_chains(
    chains: Sequence[GraphChain | BinsChain],
    options: ChainOptions,
    n_in_turn: int,
    stop: StopFlag,
    section: Section,
) -> tuple[NDArray[np.float64], int]:
    """Return the mean probabilities of every chain, (n_chains, n, n), and the number of sweeps."""
    taken, agree, comparison = 0, False, _FIRST_COMPARISON

    def state() -> State:
        return {
            "seconds": stop.seconds,
            "taken": taken,
            "agree": agree,
            "comparison": comparison,
            "chains": [chain.state() for chain in chains],
        }

    def restore(saved: State) -> None:
        nonlocal taken, agree, comparison
        taken, agree, comparison = saved["taken"], saved["agree"], saved["comparison"]
        stop.start_clock(saved["seconds"], stop.max_seconds)
        for chain, of_chain in zip(chains, saved["chains"], strict=True):
            chain.restore(of_chain)
        stop.check_deadline()

    def sweep(_thread: int, block: int) -> None:
        chains[block].sweep(goal - chains[block].sums.n_sweeps)

    section.resume(restore)
    section.keep(state)
    n_threads = min(thread_count(options.n_jobs), len(chains))
    with stop.catching_interrupts(), Workers(n_threads, stop) as workers:
        # every chain takes the first turn, which draws no bins; a stop may end a draw of bins in a later one
        while taken < options.n_sweeps and not agree and not (stop.reason and taken):
            goal = min(taken + n_in_turn, options.n_sweeps, comparison)
            workers.run(
                sweep,
                len(chains),
                n_threads=n_threads,
                inline=n_threads == 1,
                n_certain=len(chains),
            )
            taken = min(chain.sums.n_sweeps for chain in chains)
            if taken == comparison:
                agree = chain_difference(_means(chains)) <= options.tolerance
                comparison *= 2
            section.write_if_due()
            stop.check_deadline()
    if stop.reason == "interrupt":
        section.write()
    return _means(chains), taken


def _means(chains: Sequence[GraphChain | BinsChain]) -> NDArray[np.float64]:
    return np.array([chain.sums.mean() for chain in chains])
