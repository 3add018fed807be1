"""What the command `learn` prints: the network, its score, why the search ended, and how to repeat it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from gomea_bn.texts import counted

if TYPE_CHECKING:
    from gomea_bn.learning.learner import BayesNetLearner
    from gomea_bn.network.bayes_net import DiscretizedBayesNet


def report(learner: BayesNetLearner) -> str:
    """Return the printed result: the network, its score, why the search ended, and how to repeat it."""
    from gomea_bn.learning.cuts.cut_gains import cut_gains
    from gomea_bn.learning.options import why_unrepeatable
    from gomea_bn.network.bin_distributions import points_measure

    timed = learner.stopped_by_ in ("max_seconds", "interrupt")
    unrepeatable = why_unrepeatable(learner)
    again = f"--seed {learner.seed_}"
    if timed:
        again += f" --max-evaluations {learner.n_eval_} --max-seconds 0"
    method = learner.network_.metadata["scoring_method"]
    density = learner.network_.score(learner.table_.to_frame())
    n_pairs = learner.table_.n_varying * (learner.table_.n_varying - 1) // 2
    screened = (
        f"The search considered {learner.n_candidate_pairs_:,} of {n_pairs:,} pairs of columns; "
        "--max-candidates all takes all of them.\n"
        if learner.n_candidate_pairs_ < n_pairs
        else ""
    )
    gains = cut_gains(learner.network_, learner.table_)
    summary = learner.network_.summary(gains)
    measure = points_measure(learner.network_)
    of_rows = "these data" if "all_rows" not in learner.network_.metadata else "the sample"
    return (
        f"{summary}\n\n"
        f"{_all_rows(learner.network_)}"
        f"Score ({method}, continuous columns scaled to [0, 1]): {learner.score_:.3f} nats.\n"
        f"Mean log density per row of {of_rows}, in the data's units{f' ({measure})' if measure else ''}: "
        f"{density:.4f} nats.\n"
        f"Stopped by {learner.stopped_by_} after {learner.fit_seconds_:.2f} s, {learner.n_eval_:,} evaluations and "
        f"{counted(learner.n_generations_, 'generation')}; the best network was found after "
        f"{learner.time_to_best_:.2f} s.\n"
        f"{screened}"
        + (
            f"{unrepeatable}, so another run may give another network."
            if unrepeatable
            else f"The same data and options with {again} give this network again."
        )
    )


def _all_rows(network: DiscretizedBayesNet) -> str:
    """Return what all rows have added to the network of a sample, "" for a network of all rows."""
    record = network.metadata.get("all_rows")
    if record is None:
        return ""
    kinds = Counter(move["kind"] for move in record["moves"])
    edges = sum(kinds[kind] for kind in ("add", "remove", "replace", "reverse"))
    edges += sum(len(move["columns"]) for move in record["moves"] if move["kind"] == "graph")
    if record["tables_of"] == "sample":
        return (
            f"Interrupted before all {record['n_rows']:,} rows were counted: this is the network of a sample of "
            f"{record['sample_rows']:,} rows, with its tables.\n"
        )
    if record["stopped_by"] == "interrupt":
        ended = "Ctrl-C ended the improvement over all rows early."
    elif record["stopped_by"] != "local optimum":
        ended = f"{record['stopped_by']} ended the improvement over all rows early."
    else:
        ended = "No single edge would raise the score over all rows"
        # the cuts of some discretizers and scores stay those of the search; older records do not say so
        ended += ", and no compared cuts of one column would gain a nat." if record.get("recut", 1) else "."
    return (
        f"All {record['n_rows']:,} rows: {counted(record['readings'], 'reading')} of the files, "
        f"{counted(record['passes'], 'pass', 'passes')} over their cells, {record['seconds']:.1f} s. They changed "
        f"{counted(edges, 'edge')} of the network that the search found on {record['sample_rows']:,} rows, and moved "
        f"the cuts of columns {counted(kinds['cuts'], 'time')}. {ended}\n"
    )
