"""Many variables: our learner and pyAgrum's tabu search, and seconds and memory without screening.

    python scripts/benchmarks/scale.py learn [--nets 1] [--seconds 590] [--discretizer equal-frequency] [--jobs 2]
                                             [--variables 300 --edges 450] [--without-peer]
    python scripts/benchmarks/scale.py screening [--seconds 20] [--candidates 10,20,all] [--networks pigs,link]
                                                 [--sample-rows 5000] [--score bdeu,bic] [--without-peer]
                                                 [--peers "pyAgrum tabu,pybnesian hill climbing"]
    python scripts/benchmarks/scale.py linkage
    python scripts/benchmarks/scale.py memory
    python scripts/benchmarks/scale.py all

learn      Networks of 100 variables, at most 3 parents and exactly 150 edges (law "tree"), learned from 5,000 rows.
           The peer gets quantile-5 bins and runs to its own end. Its tables are counted again with our smoothing.
           Densities are of fresh rows, in original units.
screening  Published discrete networks; printed is the score above the generating network. Peers get the same seconds:
           hill climbing of pyAgrum and pybnesian and tabu search end with their best network, others
           end without one. Nothing of ours runs if --candidates is empty.
linkage    One tree of the linkage model over many genes, with and without the matrix of similarities.
memory     Peak memory of a search over 200 columns, screened and not.

`learn` and `screening` need the extra "peers".
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from harness.printing import print_table
from harness.runs import in_new_process, peak_megabytes
from methods.peers import run_peer

from gomea_bn import BayesNetLearner, DiscretizedBayesNet, LinkageTree
from gomea_bn.data.table import Table, read_table
from gomea_bn.experiments.judge import network_score
from gomea_bn.experiments.tables import published_network
from gomea_bn.learning.warm_up import compile_kernels
from gomea_bn.metrics.distances import accuracy, sensitivity
from gomea_bn.simulation.random_networks import random_network

N_HELD_OUT = 20_000
# the law draws the number of edges: with this factor on the upper limit, 1 network in 100 has the number asked for
EDGE_ROOM = 1.3
N_GENES = 200 * 199 // 2 + 200
EQUIVALENT_SAMPLE_SIZE = 10.0


def network_of(n_variables: int, n_edges: int, seed: int) -> tuple[DiscretizedBayesNet, int]:
    """Return the first network from `seed` on with exactly `n_edges` edges and at most 3 parents, and its seed."""
    fraction = EDGE_ROOM * n_edges / (n_variables * (n_variables - 1) / 2)
    while True:
        network = random_network(n_variables, max_indegree=3, max_edge_fraction=fraction, random_state=seed)
        if len(network.edges) == n_edges:
            return network, seed
        seed += 1


def quantile_bins(table: Table, n_bins: int) -> tuple[dict[str, Any], pd.DataFrame]:
    """Return equal-frequency cuts of the continuous columns, and the table as categories."""
    cuts, columns = {}, {}
    for column in table.columns:
        codes = column.values
        if column.is_continuous:
            cuts[column.name] = np.unique(np.quantile(column.values, np.arange(1, n_bins) / n_bins))
            codes = np.searchsorted(cuts[column.name], column.values, side="left")
        columns[column.name] = pd.Categorical(codes.astype(str))
    return cuts, pd.DataFrame(columns)


def row_of(
    label: str,
    network: DiscretizedBayesNet,
    truth: DiscretizedBayesNet,
    held_out: pd.DataFrame,
    seconds: float,
) -> tuple[str, ...]:
    """Return a network's row of the printed table."""
    true = {frozenset(edge) for edge in truth.edges}
    right = sum(frozenset(edge) in true for edge in network.edges)
    return (
        label,
        f"{seconds:.1f}",
        f"{network.log_density(held_out).mean():.3f}",
        str(len(network.edges)),
        str(right),
        f"{accuracy(truth, network):.4f}",
        f"{sensitivity(truth, network):.3f}",
    )


def learn(options: argparse.Namespace) -> None:
    """Print seconds, held-out log density and edges of ours and of the peer, network by network."""
    compile_kernels(print)
    seed = options.seed
    for _ in range(options.nets):
        truth, seed = network_of(options.variables, options.edges, seed)
        frame = truth.sample(options.rows, random_state=10_000 + seed)
        held_out = truth.sample(N_HELD_OUT, random_state=20_000 + seed)
        table = read_table(frame)
        rows = [row_of("generating network", truth, truth, held_out, 0.0)]
        true_fit = DiscretizedBayesNet.from_table(table, truth.edges, truth.cut_points)
        rows.append(row_of("true graph and cuts, our tables", true_fit, truth, held_out, 0.0))
        cuts, discrete = quantile_bins(table, 5)
        for score in () if options.without_peer else ("bic", "bdeu"):
            run = run_peer("pyAgrum tabu", discrete, score, 1.0, timeout=options.peer_seconds)
            if run.edges is None:
                rows.append((f"pyAgrum tabu, {score}: {run.note}", f"{run.seconds:.1f}", *["-"] * 5))
                continue
            binned = DiscretizedBayesNet.from_table(table, run.edges, cuts)
            rows.append(row_of(f"pyAgrum tabu, {score}, quantile-5", binned, truth, held_out, run.seconds))
        for candidates in read_candidates(options.candidates):
            learner = BayesNetLearner(
                options.discretizer,
                density="bins",
                max_candidates=candidates,
                max_seconds=options.seconds,
                patience=None,
                n_jobs=options.jobs,
                random_state=seed,
            )
            began = perf_counter()
            learner.fit(frame)
            label = f"ours, {options.discretizer}, {learner.n_candidate_pairs_} pairs"
            rows.append(row_of(label, learner.network_, truth, held_out, perf_counter() - began))
            trace = [entry for entry in learner.history_ if entry.objective < 0]
            shown = [trace[k] for k in np.linspace(0, len(trace) - 1, 8).astype(int).tolist()]
            print(
                f"{label}: "
                + ", ".join(f"{-entry.objective:.0f} at {entry.seconds:.0f} s" for entry in shown),
                flush=True,
            )
        columns = ("", "seconds", "log density/row", "edges", "right", "accuracy", "sensitivity")
        size = f"{options.variables} variables, {options.edges} edges, {options.rows:,} rows"
        print_table(f"Network of seed {seed}: {size}, {options.jobs} threads", columns, rows)
        seed += 1
    print(f"Peak memory of this process: {peak_megabytes():.0f} MB")


def read_candidates(text: str) -> list[int | str | None]:
    """Return the values of `max_candidates` that an option lists."""
    values = text.split(",") if text else []
    return [None if value == "all" else value if value == "auto" else int(value) for value in values]


def screening(options: argparse.Namespace) -> None:
    """Print the scores that searches with fewer and more candidate pairs reach, and peers in equal seconds.

    Scores are minus that of the generating network, in nats, and count all rows. Columns that are constant in the
    sample are left out.
    """
    if options.candidates:
        compile_kernels(print)
    peers = [] if options.without_peer or not options.peers else options.peers.split(",")
    columns = ("network", "sample", "columns", "score", "", "nats", "s to best", "s in all", "")
    size = f"{options.sample_rows:,} rows, BDeu {EQUIVALENT_SAMPLE_SIZE:g}"
    rows: list[tuple[object, ...]] = []
    for name in options.networks.split(","):
        truth = published_network(name)
        for net in range(options.nets):
            sample = truth.sample(options.sample_rows, random_state=10_000 + net)
            frame = sample[[column for column in truth.names if sample[column].nunique() > 1]]
            true_edges = [edge for edge in truth.edges if set(edge) <= set(frame.columns)]
            for score in options.score.split(","):
                reference = network_score(frame, true_edges, score, EQUIVALENT_SAMPLE_SIZE)
                results = [peer_result(label, frame, score, options.seconds) for label in peers]
                results += [
                    our_result(frame, score, candidates, net, options)
                    for candidates in read_candidates(options.candidates)
                ]
                for result in results:
                    nats = f"{result.score - reference:,.1f}" if np.isfinite(result.score) else "-"
                    row = (name, net, frame.shape[1], score, result.label, nats, *result.texts)
                    rows.append(row)
                    print(" | ".join(map(str, row)), flush=True)
    print_table(f"{size}, {options.seconds:g} s, {options.jobs} threads", columns, rows)


@dataclass(frozen=True)
class SearchResult:
    """One search of the table of `screening`: label, score in nats, and seconds to the best network, in all, note."""

    label: str
    score: float
    texts: tuple[str, str, str]


def peer_result(label: str, frame: pd.DataFrame, score: str, seconds: float) -> SearchResult:
    """Return the score of a peer's network after at most some seconds; nan where there is no network."""
    run = run_peer(label, frame, score, EQUIVALENT_SAMPLE_SIZE, timeout=seconds, returns_best=True)
    if run.edges is None:
        return SearchResult(label, np.nan, ("-", "-", run.note))
    reached = network_score(frame, run.edges, score, EQUIVALENT_SAMPLE_SIZE)
    notes = [run.note, "ended by the limit" if run.seconds >= seconds else ""]
    return SearchResult(label, reached, ("-", f"{run.seconds:.1f}", "; ".join(filter(None, notes))))


def our_result(
    frame: pd.DataFrame, score: str, candidates: int | str | None, seed: int, options: argparse.Namespace
) -> SearchResult:
    """Return the score of our network under the limits of the options."""
    began = perf_counter()
    learner = BayesNetLearner(
        density="bins",
        scoring_method=score,
        equivalent_sample_size=EQUIVALENT_SAMPLE_SIZE,
        max_candidates=candidates,
        max_seconds=options.seconds,
        n_jobs=options.jobs,
        random_state=seed,
    ).fit(frame)
    in_all = perf_counter() - began
    # the learner counts from the beginning of its search, after the preparation of the table
    to_best = in_all - learner.fit_seconds_ + learner.time_to_best_
    reached = network_score(frame, learner.network_.edges, score, EQUIVALENT_SAMPLE_SIZE)
    seconds = (f"{to_best:.1f}", f"{in_all:.1f}")
    return SearchResult(f"ours, {learner.n_candidate_pairs_} pairs", reached, (*seconds, ""))


def linkage_of(n_solutions: int, n_genes: int, matrix: bool) -> tuple[float, float, int]:
    """Learn one tree from a random population of related genes; returns seconds, more megabytes and subsets."""
    rng = np.random.default_rng(1)
    genotypes = rng.choice(3, (n_solutions, n_genes), p=[0.9, 0.05, 0.05]).astype(np.int16)
    for gene in range(1, n_genes):
        if rng.random() < 0.6:
            copied = rng.random(n_solutions) < 0.8
            genotypes[copied, gene] = genotypes[copied, int(rng.integers(max(0, gene - 50), gene))]
    model = LinkageTree(max_matrix_genes=n_genes if matrix else 0)
    model.learn(genotypes[:, :50], np.full(50, 3), rng)
    before = peak_megabytes()
    began = perf_counter()
    tree = model.learn(genotypes, np.full(n_genes, 3), rng)
    seconds = perf_counter() - began
    return seconds, peak_megabytes() - before, len(tree.sizes)


def linkage(_options: argparse.Namespace) -> None:
    """Print seconds and additional memory of one linkage tree, with and without the matrix, one process each."""
    rows = []
    for n_genes in (4_000, N_GENES):
        for n_solutions in (16, 64, 256):
            for matrix in (True, False):
                seconds, megabytes, n_subsets = in_new_process(linkage_of, n_solutions, n_genes, matrix)
                kind = "matrix" if matrix else "nearest neighbours"
                rows.append((n_genes, n_solutions, kind, f"{seconds:.2f}", f"{megabytes:.0f}", n_subsets))
    columns = ("genes", "solutions", "similarities", "seconds", "MB more", "subsets")
    print_table("One linkage tree, all genes varying", columns, rows)


def memory_of(candidates: str | None, max_seconds: float) -> tuple[object, ...]:
    """Learn from 200 columns; returns a row of the printed table."""
    truth, _ = network_of(200, 300, 1)
    frame = truth.sample(2_000, random_state=1)
    compile_kernels()
    before = peak_megabytes()
    learner = BayesNetLearner(
        density="bins",
        max_candidates=candidates,
        max_seconds=max_seconds,
        patience=None,
        n_jobs=2,
        random_state=1,
    )
    learner.fit(frame)
    megabytes = (f"{before:.0f}", f"{peak_megabytes():.0f}")
    limits = (f"{learner.fit_seconds_:.1f}", f"{learner.n_eval_:,}", f"{learner.score_:.0f}")
    return (learner.n_candidate_pairs_, *megabytes, *limits)


def memory(options: argparse.Namespace) -> None:
    """Print peak memory and score of a search over 200 columns, screened and not, one process each."""
    seconds = min(options.seconds, 60.0)
    rows = [in_new_process(memory_of, candidates, seconds) for candidates in ("auto", None)]
    columns = ("pairs", "MB before", "MB peak", "seconds", "evaluations", "score")
    print_table(f"200 variables, 2,000 rows, max_seconds={seconds:g}, 2 threads", columns, rows)


PARTS = {"learn": learn, "screening": screening, "linkage": linkage, "memory": memory}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one part or all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=[*PARTS, "all"])
    parser.add_argument(
        "--nets", type=int, default=1, help="number of networks, or of samples of each network"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed from which networks are tried")
    parser.add_argument("--variables", type=int, default=100, help="number of variables of learn")
    parser.add_argument("--edges", type=int, default=150, help="number of edges of learn")
    parser.add_argument("--rows", type=int, default=5_000, help="number of rows of learn")
    parser.add_argument(
        "--seconds", type=float, default=590.0, help="limit of our search; of memory at most 60"
    )
    parser.add_argument("--peer-seconds", type=float, default=3600.0, help="limit of the peer")
    parser.add_argument("--jobs", type=int, default=2, help="number of threads of our search")
    parser.add_argument("--discretizer", default="equal-frequency", help="discretizer of learn")
    parser.add_argument(
        "--candidates",
        default="auto",
        help="max_candidates of the learner: auto, all, numbers, or a list of these",
    )
    parser.add_argument(
        "--networks", default="hailfinder,hepar2,win95pts,andes", help="published networks of screening"
    )
    parser.add_argument("--sample-rows", type=int, default=1_000, help="number of rows of screening")
    parser.add_argument("--score", default="bdeu", help="scores of screening: bdeu, bic, or both in a list")
    parser.add_argument(
        "--peers", default="pyAgrum tabu", help="peers of screening: labels of PEERS in peers.py"
    )
    parser.add_argument(
        "--without-peer", action="store_true", help="leave the peer out of learn and screening"
    )
    options = parser.parse_args(arguments)
    for part in PARTS if options.part == "all" else [options.part]:
        PARTS[part](options)


if __name__ == "__main__":
    main()
