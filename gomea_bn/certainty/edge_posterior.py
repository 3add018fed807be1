"""`edge_probabilities`: posterior probabilities of edges for given bins, exact or sampled."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import comb
from time import perf_counter
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gomea_bn.certainty.chains.bins_chain import SWEEPS_PER_DRAW, BinsChain, BinsModel
from gomea_bn.certainty.chains.graph_chain import MARGIN, GraphChain, chain_families
from gomea_bn.certainty.graph_scores import GraphScores
from gomea_bn.certainty.parent_sets import OrderSearch, ScoredParentSets, over_subsets
from gomea_bn.data.table import Table, column_digests
from gomea_bn.errors import (
    GomeaBnError,
    GomeaBnWarning,
    Setting,
    check_choice,
    check_integer,
    check_number,
    give_warning,
)
from gomea_bn.lazy import pd
from gomea_bn.learning.options import seed_of
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.edge_probabilities import LARGEST_DIFFERENCE, EdgeProbabilities
from gomea_bn.network.inference.completion import completed_table
from gomea_bn.network.rows import evidence_for
from gomea_bn.problems.kernels.score import DIRICHLET
from gomea_bn.problems.knowledge import ExpertKnowledge
from gomea_bn.runtime.checkpoints import CheckpointOption, Section, State, opened, option_texts
from gomea_bn.runtime.threads import StopFlag, Workers, thread_count

__all__ = [
    "EdgeProbabilities",
    "check_score_of_draws",
    "edge_probabilities",
]

MOST_EXACT = 15
"""Largest number of variables: the time grows with 3 to this power."""


def exact_edge_probabilities(sets: Sequence[ScoredParentSets]) -> NDArray[np.float64]:
    """Return the posterior probability of every edge, float64 (n_variables, n_variables), [parent, child].

    `sets` are all allowed parent sets of every variable. Let a_v(U) be the sum of the weights of the parent sets of v
    within U, f(S) the sum over the graphs on S, and g(U) the sum over the graphs on the other variables, whose parents
    may also lie in U. Then, with T not empty,

    f(S) = sum over T in S of (-1)^(|T|+1) f(S - T) prod over v in T of a_v(S - T),
    g(U) = sum over T outside U of (-1)^(|T|+1) g(U + T) prod over v in T of a_v(U).

    The derivatives of f(all) by a_v(U) give the probabilities. A term is at most f(all) times the probability that U is
    ancestral, so that rounding errors stay below 4^n times 1e-16.
    """
    n = len(sets)
    within = np.array([over_subsets(of_child, np.logaddexp) for of_child in sets])
    up, signs = _graphs_on_subsets(within)
    down = _graphs_on_the_rest(within)
    derivatives = np.zeros((n, 1 << n))
    for subset in range((1 << n) - 1):
        outside, terms, members = _terms(within, subset, n)
        weights = np.exp(up[subset] + terms[1:] + down[subset | outside[1:]] - up[-1]) * signs[members[1:]]
        inside = (outside[1:, None] >> np.arange(n) & 1).astype(np.float64)
        derivatives[:, subset] = weights @ inside
    subsets = np.arange(1 << n)
    probabilities = np.zeros((n, n))
    for parent in range(n):
        having = subsets[subsets >> parent & 1 == 1]
        for child in range(n):
            if child != parent:
                first, second = within[child][having ^ (1 << parent)], within[child][having]
                # 0 where both are minus infinity
                without = np.subtract(first, second, out=np.zeros(len(first)), where=np.isfinite(second))
                probabilities[parent, child] = -derivatives[child][having] @ np.expm1(without)
    return np.clip(probabilities, 0.0, 1.0)


def _terms(
    within: NDArray[np.float64], subset: int, n: int
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """Return all subsets T of the other variables, the sum of log a_v(subset) over v in T, and the sizes of T.

    The empty subset comes first.
    """
    outside, sums, sizes = np.zeros(1, np.int64), np.zeros(1), np.zeros(1, np.int64)
    for v in range(n):
        if not subset >> v & 1:
            outside = np.concatenate((outside, outside | 1 << v))
            sums = np.concatenate((sums, sums + within[v, subset]))
            sizes = np.concatenate((sizes, sizes + 1))
    return outside, sums, sizes


def _graphs_on_subsets(within: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the log of the sum over the graphs on every subset, (2**n,), and the sign of a term by the size of T."""
    n = len(within)
    signs = np.where(np.arange(n + 1) % 2 == 1, 1.0, -1.0)
    # sums with a scale each, completed in the order of the subsets
    scales, totals = np.full(1 << n, -np.inf), np.zeros(1 << n)
    scales[0], totals[0] = 0.0, 1.0
    for subset in range((1 << n) - 1):
        if totals[subset] <= 0:
            continue
        outside, terms, sizes = _terms(within, subset, n)
        targets = subset | outside[1:]
        logs = scales[subset] + np.log(totals[subset]) + terms[1:]
        higher = np.maximum(scales[targets], logs)
        shift = np.where(np.isfinite(higher), higher, 0.0)
        totals[targets] = totals[targets] * np.exp(scales[targets] - shift) + signs[sizes[1:]] * np.exp(
            logs - shift
        )
        scales[targets] = higher
    with np.errstate(divide="ignore"):
        return scales + np.log(np.maximum(totals, 0.0)), signs


def _graphs_on_the_rest(within: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the log of the sum over the graphs on the complement of every subset, whose parents may be anywhere."""
    n = len(within)
    logs = np.full(1 << n, -np.inf)
    logs[-1] = 0.0
    for subset in range((1 << n) - 2, -1, -1):
        outside, terms, sizes = _terms(within, subset, n)
        values = terms[1:] + logs[subset | outside[1:]]
        highest = values.max()
        if highest == -np.inf:
            continue
        total = np.exp(values - highest) @ np.where(sizes[1:] % 2 == 1, 1.0, -1.0)
        if total > 0:
            logs[subset] = highest + np.log(total)
    return logs


DRAWN = "drawn"
"""Value of `bins` for bins that chains draw."""
# parent sets that a chain looks at between two looks at the clock: about ten milliseconds
_SETS_PER_TURN = 1_000_000
# parent sets that chains score: seconds on a thousand rows
_MOST_SETS = 4_000_000
# and those that are scored for every draw of the bins, in a fourth of a second on a thousand rows, or by curves, in ten
_MOST_DEAR_SETS = 200_000


@dataclass(frozen=True)
class _Options:
    """What decides the posterior for given bins and rows; see `edge_probabilities`.

    `scores` are options of `GraphScores.of`.
    """

    method: str
    scores: Mapping[str, Any]
    draws_bins: bool
    n_sweeps: int
    n_chains: int
    tolerance: float
    n_jobs: int | None
    seed: int

    def __post_init__(self) -> None:
        check_choice("method", self.method, ("auto", "exact", "sampled"))
        if self.draws_bins and self.method == "exact":
            raise GomeaBnError("Drawn bins are sampled; method='exact' is for given bins.")
        check_number("edge_cost", self.scores["edge_cost"], 0, optional=True)
        check_integer("n_sweeps", self.n_sweeps, 1)
        check_integer("n_chains", self.n_chains, 1)
        check_number("tolerance", self.tolerance, 0, 1)
        thread_count(self.n_jobs)

    def is_exact(self, n_variables: int) -> bool:
        """Return whether sums over all graphs are computed; raises `GomeaBnError` for too many variables."""
        if self.method == "exact" and n_variables > MOST_EXACT:
            raise GomeaBnError(
                f"Exact probabilities are for at most {MOST_EXACT} variables, got {n_variables}."
            )
        return self.method != "sampled" and n_variables <= MOST_EXACT and not self.draws_bins

    def posterior(
        self, network: DiscretizedBayesNet, table: Table, max_seconds: float | None, section: Section
    ) -> Posterior:
        """Return the probabilities over the bins of one network and a table without missing values."""
        graphs = GraphScores.of(network, table, **self.scores, with_curves=not self.draws_bins)
        if self.draws_bins:
            check_score_of_draws(graphs.method_name, is_dirichlet=graphs.scorer.rule.kind == DIRICHLET)
        if self.is_exact(len(graphs.names)):
            return Posterior(exact_edge_probabilities(graphs.parent_sets(prune=False))[None])
        return _sampled_posterior(graphs, self, max_seconds, section)


def check_score_of_draws(method_name: str, *, is_dirichlet: bool) -> None:
    """Raise `GomeaBnError` unless a score is a marginal likelihood that is a sum over intervals."""
    if method_name != "density-bd" or not is_dirichlet:
        prior = " with the BDeu prior" if method_name == "density-bd" else ""
        raise GomeaBnError(
            f"Drawn bins need the score 'density-bd' with its Dirichlet prior, got {method_name!r}{prior}.",
            [] if prior else [Setting("scoring_method", "density-bd")],
        )


_Run = tuple[DiscretizedBayesNet, int, int]
"""One posterior of several: whose bins, which draw fills the missing cells, and how often it counts."""


def edge_probabilities(
    network: DiscretizedBayesNet,
    data: pd.DataFrame | Table | str | os.PathLike[str],
    *,
    method: str = "auto",
    max_indegree: int = 3,
    knowledge: ExpertKnowledge | None = None,
    scoring_method: str | None = None,
    equivalent_sample_size: float | None = None,
    edge_cost: float | None = 0.0,
    bins: Sequence[DiscretizedBayesNet] | Literal["drawn"] = (),
    n_completions: int = 5,
    n_sweeps: int = 20_000,
    n_chains: int = 4,
    tolerance: float = 0.1,
    max_seconds: float | None = 60.0,
    n_jobs: int | None = None,
    random_state: Any = None,
    checkpoint: CheckpointOption = None,
) -> EdgeProbabilities:
    """Return the posterior probabilities of edges over the bins of a network, or the mean over several sets of bins.

    With one set, doubt about the bins themselves does not count, and the probabilities are too extreme.

    Parameters
    ----------
    network : DiscretizedBayesNet
        The network; its bins count, and its graph starts the first chain.
    data : DataFrame, Table, path of a CSV, TSV or Parquet file
        The rows. Missing cells are filled by draws from the network, several times.
    max_indegree, knowledge, scoring_method, equivalent_sample_size
        As of `certify`. Scores other than marginal likelihoods give approximate posteriors.
    edge_cost : float or None
        Cost of an edge under "density-bd", as of `BayesNetLearner`; None is the cost that the network was learned with.
        0 gives all graphs the same prior probability.
    bins : sequence of DiscretizedBayesNet or "drawn"
        Networks over the same variables, whose bins count instead of those of `network`, such as those of a
        `BayesNetEnsemble`. The probabilities are means over them. "drawn": the posterior of graphs and bins together,
        see Notes; for "density-bd".
    n_completions : int
        Least number of completed tables over which the probabilities are means, if cells are missing.
    method : {"auto", "exact", "sampled"}
        "exact": sums over all graphs, for at most 15 variables. "sampled": Markov chains over graphs. "auto": exact for
        at most 15 variables.
    n_sweeps : int
        Largest number of sweeps of a chain, each of which takes as many steps as there are variables. A step draws the
        parents of one to four variables. The first quarter of the sweeps does not count.
    n_chains : int
        Number of chains. The first starts at the order of the network, the others at random orders.
    tolerance : float
        Chains end when the probability of every edge differs by at most this number between any two of them. They are
        compared after 2,000, 4,000, 8,000, ... sweeps.
    max_seconds : float, optional
        Time limit of all chains together.
    n_jobs : int or None
        Number of threads in which chains run, as of `BayesNetLearner`; the result does not depend on it.
    random_state : int, numpy Generator, RandomState or None
        Seed of the chains. It repeats the result unless the time limit or Ctrl-C ended a chain.
    checkpoint : Checkpoint or path, optional
        Folder for checkpoints, from which a run that was killed can go on; see `gomea_bn.Checkpoint`.

    Returns
    -------
    EdgeProbabilities
        A warning says if the chains have not mixed.

    Raises
    ------
    GomeaBnError
        As `certify`, for too many variables, and for a checkpoint of other data or options.

    Notes
    -----
    All allowed graphs have the same prior probability, apart from `edge_cost`. Families of a network that was learned
    with curves are scored by tables over its bins or by curves, whichever is better; drawn bins by tables alone. Chains
    leave out parent sets that score 15 nats less than one of their subsets. Where there are more than four million
    parent sets (more than 75 variables with three parents, or 34 with curves), every variable has only its most likely
    candidate parents, by the score of a family with a single parent; a warning says so.

    With ``bins="drawn"`` chains alternate between graphs and bins. After every 20 sweeps the cuts of each column are
    drawn from their posterior given the graph and all other bins. A column has at most 15 bins, all sets of as many
    cuts have the same prior probability, and cuts that a user has fixed stay. Columns with edges have two bins or
    more. The candidate parents are limited beyond 200,000 parent sets (more than 34 variables with three parents).
    """
    if not isinstance(network, DiscretizedBayesNet):
        raise GomeaBnError(f"network must be a DiscretizedBayesNet, got {type(network).__name__}.")
    options = _Options(
        method=method,
        scores={
            "max_indegree": max_indegree,
            "knowledge": knowledge,
            "scoring_method": scoring_method,
            "equivalent_sample_size": equivalent_sample_size,
            "edge_cost": edge_cost,
        },
        draws_bins=_draws_bins(network, bins),
        n_sweeps=n_sweeps,
        n_chains=n_chains,
        tolerance=tolerance,
        n_jobs=n_jobs,
        seed=seed_of(random_state),
    )
    check_number("max_seconds", max_seconds, 0, above=True, optional=True)
    check_integer("n_completions", n_completions, 1)
    began = perf_counter()
    table = evidence_for(network, data, allow_missing=True)
    options.is_exact(len(table.names))
    sets = () if isinstance(bins, str) else bins
    runs = _runs(network, sets, n_completions if table.n_missing else 0)
    section = opened(
        checkpoint,
        "edge_probabilities",
        lambda: _recorded(options, network, bins, n_completions, max_seconds),
        lambda: {f"column {name!r}": digest for name, digest in column_digests(table).items()},
        free=() if random_state is not None else ("random_state",),
    )
    if random_state is None and section.options and not isinstance(checkpoint, Section):
        options = replace(options, seed=int(section.options["random_state"]))
    posteriors = _posteriors(network, table, runs, options, max_seconds, section)
    # the first runs, where Ctrl-C has ended the others
    weights = [weight for *_, weight in runs[: len(posteriors)]]
    means = np.average([each.means for each in posteriors], axis=0, weights=weights)
    is_exact = options.is_exact(len(table.names))
    result = EdgeProbabilities(
        names=table.names,
        arcs=means.mean(axis=0),
        method="exact" if is_exact else "sampled",
        chain_difference=0.0 if is_exact else chain_difference(means),
        n_sweeps=min(each.n_sweeps for each in posteriors),
        stopped_by=next((each.stopped_by for each in posteriors if each.stopped_by != "end"), "end"),
        seconds=perf_counter() - began,
        max_indegree=max_indegree,
        n_bin_sets=min(sum(weights), max(len(sets), 1)),
        has_drawn_bins=options.draws_bins,
        n_draws=min(each.n_draws for each in posteriors),
        n_candidates=posteriors[0].n_candidates,
        n_completed_tables=len(posteriors) if table.n_missing else 0,
        _network=network,
        _table=table,
    )
    _warn_of_chains(result)
    return result


def _draws_bins(network: DiscretizedBayesNet, bins: object) -> bool:
    """Return whether bins are drawn; levels are the same in all draws."""
    if not isinstance(bins, str | Sequence) or (isinstance(bins, str) and bins != DRAWN):
        raise GomeaBnError(f"bins must be a list of networks or {DRAWN!r}, got {bins!r:.80}.")
    return isinstance(bins, str) and bool(network.cut_points)


def _runs(
    network: DiscretizedBayesNet, bins: Sequence[DiscretizedBayesNet], n_completions: int
) -> list[_Run]:
    """Return the posteriors to compute: one for every set of bins, and at least one for every completed table."""
    for position, of_bins in enumerate(bins):
        if not isinstance(of_bins, DiscretizedBayesNet):
            raise GomeaBnError(
                f"bins[{position}] must be a DiscretizedBayesNet, got {type(of_bins).__name__}."
            )
        if of_bins.names != network.names:
            raise GomeaBnError(f"bins[{position}] must have the variables of the network in the same order.")
    sets = list(bins) or [network]
    if n_completions:
        n_runs = len(sets) * -(-n_completions // len(sets))
        return [(sets[k % len(sets)], k, 1) for k in range(n_runs)]
    if not network.cut_points:
        # levels are the same in all of them
        return [(sets[0], 0, len(sets))]
    return [(of_bins, 0, 1) for of_bins in sets]


def _recorded(
    options: _Options,
    network: DiscretizedBayesNet,
    bins: Sequence[DiscretizedBayesNet] | Literal["drawn"],
    n_completions: int,
    max_seconds: float | None,
) -> dict[str, str]:
    """Return the options that decide the result as texts, for checkpoints."""
    return option_texts(
        {
            # what was found about a network stands in its metadata, in the end also these probabilities
            "network": network.changed(metadata={}),
            "method": options.method,
            **options.scores,
            "n_sweeps": options.n_sweeps,
            "n_chains": options.n_chains,
            "tolerance": options.tolerance,
            "bins": bins if isinstance(bins, str) else [of_bins.changed(metadata={}) for of_bins in bins],
            "n_completions": n_completions,
            "max_seconds": max_seconds,
            "random_state": options.seed,
        }
    )


def _posteriors(
    network: DiscretizedBayesNet,
    table: Table,
    runs: Sequence[_Run],
    options: _Options,
    max_seconds: float | None,
    section: Section,
) -> list[Posterior]:
    """Return the posteriors of runs, each with its share of the time; those before Ctrl-C."""
    began = perf_counter()
    seconds_before = 0.0 if section.saved is None else float(section.saved.get("seconds", 0.0))
    section.keep(lambda: {"seconds": seconds_before + perf_counter() - began})
    posteriors: list[Posterior] = []
    for position, (bins, completion, _) in enumerate(runs):
        part = section.part(f"posterior {position}")
        if part.saved is not None and "means" in part.saved:
            posteriors.append(Posterior(**part.saved))
            part.finish(part.saved)
            continue
        left = max_seconds
        if left is not None:
            left = max(left - seconds_before - (perf_counter() - began), 0.1) / (len(runs) - position)
        rows = completed_table(network, table, np.random.default_rng([options.seed, completion]))
        with warnings.catch_warnings():
            if position:
                # once for all of them
                warnings.simplefilter("ignore", GomeaBnWarning)
            posteriors.append(options.posterior(bins, rows, left, part))
        if posteriors[-1].stopped_by == "interrupt":
            return posteriors
        part.finish(dict(vars(posteriors[-1])))
        section.write_if_due()
    section.close()
    return posteriors


def _warn_of_chains(result: EdgeProbabilities) -> None:
    if result.chain_difference > LARGEST_DIFFERENCE:
        more = {"end": [Setting("n_sweeps")], "max_seconds": [Setting("max_seconds")]}
        give_warning(
            GomeaBnWarning(
                f"The chains have not mixed: they differ by up to {result.chain_difference:.2f} in the probability of "
                f"an edge after {result.n_sweeps:,} sweeps each.",
                more.get(result.stopped_by, []),
            )
        )


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


def _sampled_posterior(
    graphs: GraphScores, options: _Options, max_seconds: float | None, section: Section
) -> Posterior:
    """Return the mean probabilities of edges of several chains over graphs, or over graphs and bins.

    `max_seconds` limits all chains together. Drawn bins are those under "density-bd" with its Dirichlet prior.
    """
    is_dear = options.draws_bins or graphs.has_curves
    most_sets = _MOST_DEAR_SETS if is_dear else _MOST_SETS
    n_candidates = _candidates(len(graphs.names), graphs.rules.max_indegree, most_sets)
    if n_candidates is not None:
        give_warning(
            f"Every variable has only its {n_candidates} most likely candidate parents: {len(graphs.names)} "
            f"variables with at most {graphs.rules.max_indegree} parents have more than {most_sets:,} parent sets."
        )
        graphs = graphs.with_candidates(n_candidates)
    stop = StopFlag(max_seconds)
    generators = np.random.default_rng(options.seed).spawn(options.n_chains)
    chains: Sequence[GraphChain | BinsChain]
    n_drawn_columns = 0
    if options.draws_bins:
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
        # what a step takes besides the parent sets that it looks at, in sets
        sets_per_sweep = sum(len(of_child.scores) + 500 for of_child in sets)
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
    options: _Options,
    n_in_turn: int,
    stop: StopFlag,
    section: Section,
) -> tuple[NDArray[np.float64], int]:
    """Return the mean probabilities of every chain, (n_chains, n, n), and the number of sweeps."""
    # chains are compared after this number of sweeps, and whenever it has doubled
    taken, agree, comparison = 0, False, 2000

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
            workers.run(sweep, len(chains), n_threads=n_threads, inline=n_threads == 1, n_certain=len(chains))
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
