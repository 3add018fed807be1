"""The learner of single networks: scores of families, and learned networks.

The other libraries are in the extra "peers"; those that are not installed are left out. KL on random networks next to
the published numbers: `python scripts/lab table1`.
"""

import statistics
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from gomea_bn import BayesNetLearner, DiscretizedBayesNet
from gomea_bn.learning.warm_up import compile_kernels
from gomea_bn.problems.cuts.cut_column import ScoredVariable
from gomea_bn.problems.family_scorer import FamilyScorer, ScoredFamily
from gomea_bn.problems.scores import score_rule, scoring_method
from lab.methods.peers import LEARN_SLOWLY, PEERS, SCORE_SET, peer_family_scores, run_peer
from lab.methods.peers import Family as NamedFamily
from lab.published.judge import network_score
from lab.published.tables import published_network
from lab.runner.experiment import Experiment, Option, Options, Row, Task, records, tabulated
from lab.runner.report import Report, Sheet, group_by, sheet
from lab.runner.runs import median_seconds

EQUIVALENT_SAMPLE_SIZE = 10.0
N_FAMILIES = 3_000


def scoring(_options: Options) -> Sheet:
    """Return the speed of scoring the same 3,000 families of 0 to 3 parents on ALARM, one thread each."""
    truth = published_network("alarm")
    rows = []
    for n in (1_000, 10_000):
        frame = alarm_sample(truth, n, 1)
        names = list(frame.columns)
        families = random_families(names, N_FAMILIES, 3, 1)
        for score in ("bic", "bdeu"):
            method = scoring_method(score)
            variables = [
                ScoredVariable(
                    str(name), column.cat.codes.to_numpy().astype(np.int32), truth.cardinality(str(name))
                )
                for name, column in frame.items()
            ]
            rule = score_rule(method, n, equivalent_sample_size=EQUIVALENT_SAMPLE_SIZE)
            scorer = FamilyScorer(variables, method, rule)
            by_number = [
                ScoredFamily((names.index(child), 0), tuple((names.index(p), 0) for p in parents))
                for child, parents in families
            ]
            encoded = scorer.encode(by_number)
            scorer.score_encoded(*encoded, use_cache=False)
            seconds = median_seconds(partial(scorer.score_encoded, *encoded, use_cache=False))
            ours = N_FAMILIES / seconds
            scores = peer_family_scores(frame, families, score, EQUIVALENT_SAMPLE_SIZE)
            peers = {label: len(values) / of_pass for label, (values, of_pass) in scores.items()}
            ratio = f"{ours / max(peers.values()):.1f}x" if peers else "-"
            fastest = ", ".join(f"{label} {speed:,.0f}" for label, speed in peers.items())
            rows.append((f"{n:,}", score, f"{ours:,.0f}", fastest or "-", ratio))
    columns = ("rows", "score", "ours", "peers", "ours / fastest")
    return sheet("Uncached families per second, ALARM", columns, rows)


def random_families(names: Sequence[str], n: int, max_parents: int, seed: int) -> list[NamedFamily]:
    """Return n distinct families (child, parents), uniform in the number 0 .. ``max_parents`` of parents."""
    rng = np.random.default_rng(seed)
    families: dict[NamedFamily, None] = {}
    while len(families) < n:
        picked = rng.choice(len(names), size=1 + int(rng.integers(0, max_parents + 1)), replace=False)
        families[names[picked[0]], tuple(names[i] for i in np.sort(picked[1:]))] = None
    return list(families)


def alarm_sample(truth: DiscretizedBayesNet, n: int, seed: int) -> pd.DataFrame:
    """Return rows of a discrete network, drawn by ancestral sampling, with the levels that no row takes.

    The figures of docs/benchmarks.md are of these draws. `DiscretizedBayesNet.sample` visits the variables in another
    order, and so returns other rows for the same seed.
    """
    rng = np.random.default_rng(seed)
    codes: dict[str, np.ndarray] = {}
    while len(codes) < len(truth.names):
        for name in truth.names:
            if name in codes or not all(parent in codes for parent in truth.parents(name)):
                continue
            row = np.zeros(n, dtype=np.int64)
            for parent in truth.parents(name):
                row = row * truth.cardinality(parent) + codes[parent]
            table = truth.tables[name].reshape(-1, truth.cardinality(name))
            codes[name] = (rng.random(n)[:, None] >= np.cumsum(table, axis=1)[row, :-1]).sum(axis=1)
    levels = {name: pd.Index([str(level) for level in truth.levels[name]]) for name in truth.names}
    return pd.DataFrame({name: pd.Categorical.from_codes(codes[name], levels[name]) for name in truth.names})


def alarm(options: Options) -> list[Task]:
    """Return a task per size, score and sample."""
    return [
        {"n": n, "score": score, "seed": seed, "seconds": options.seconds, "full": options.full}
        for n in (1_000, 10_000)
        for score in ("bdeu", "bic")
        for seed in range(1, options.seeds + 1)
    ]


def alarm_report(_options: Options, rows: Sequence[Row]) -> Report:
    """Return our scores within the time limit, every peer's, and the generating network's."""
    groups = group_by(rows, "n", "score", "seconds").items()
    return Report(
        tuple(samples_sheet(n, score, seconds, records(group)) for (n, score, seconds), group in groups)
    )


def one_sample(task: dict[str, Any]) -> dict[str, Any]:
    """Run ours and the peers on one sample of ALARM; one scorer judges all results."""
    truth = published_network("alarm")
    score, seed = task["score"], task["seed"]
    frame = alarm_sample(truth, task["n"], seed)
    learner = BayesNetLearner(
        density="bins",
        scoring_method=score,
        equivalent_sample_size=EQUIVALENT_SAMPLE_SIZE,
        max_seconds=task["seconds"],
        patience=None,
        random_state=seed,
    ).fit(frame)
    scores = {"generating network": network_score(frame, truth.edges, score, EQUIVALENT_SAMPLE_SIZE)}
    seconds: dict[str, float] = {}
    notes: dict[str, str] = {}
    for label in PEERS:
        if label in LEARN_SLOWLY and label != SCORE_SET and not task["full"]:
            continue
        run = run_peer(label, frame, score, EQUIVALENT_SAMPLE_SIZE)
        notes[label] = run.note
        if run.edges is not None:
            scores[label] = network_score(frame, run.edges, score, EQUIVALENT_SAMPLE_SIZE)
            seconds[label] = run.seconds
    history = [(entry.seconds, -entry.objective) for entry in learner.history_]
    passed = {
        label: next((second for second, best in history if best >= value), None)
        for label, value in scores.items()
    }
    return {
        "ours": network_score(frame, learner.network_.edges, score, EQUIVALENT_SAMPLE_SIZE),
        "time to best": learner.time_to_best_,
        "scores": scores,
        "seconds": seconds,
        "notes": notes,
        "passed": passed,
    }


def samples_sheet(n: int, score: str, seconds: float, records: Sequence[dict[str, Any]]) -> Sheet:
    """Return the medians over samples of one size and score, and why a peer has no result."""
    rows = [("ours", f"{statistics.median(record['ours'] for record in records):.1f}", "", "", "")]
    for label in records[0]["scores"]:
        if not all(label in record["scores"] for record in records):
            continue
        ahead = statistics.median(record["ours"] - record["scores"][label] for record in records)
        times = [record["passed"][label] for record in records]
        passed = statistics.median(float("inf") if second is None else second for second in times)
        used = statistics.median(record["seconds"].get(label, 0.0) for record in records)
        median = statistics.median(record["scores"][label] for record in records)
        rows.append((label, f"{median:.1f}", f"{ahead:+.1f}", f"{passed:.2f}", f"{used:.2f}"))
    best = [record["ours"] - max(record["scores"].values()) for record in records]
    heading = (
        f"ALARM, {n:,} rows, {score}, medians of {len(records)} samples, {seconds:g} s, one thread (ours minus the "
        f"best of all, by sample: {', '.join(f'{difference:+.1f}' for difference in best)})"
    )
    reasons = {
        label: note
        for record in records
        for label, note in record["notes"].items()
        if label not in record["scores"]
    }
    absent = "\n".join(f"{label}: {note}" for label, note in reasons.items())
    return sheet(heading, ("", "score", "ours minus it", "passed at s", "its seconds"), rows, absent)


EXPERIMENTS = (
    tabulated(
        "learning-scoring",
        "Uncached scores of families a second",
        "Families of 0 to 3 parents on ALARM, ours and other libraries, on one thread.",
        scoring,
        {},
    ),
    Experiment(
        name="learning-alarm",
        title="Scores of networks of ALARM, ours and other libraries'",
        source="1,000 and 10,000 rows, BDeu and BIC; one scorer judges ours and every peer's.",
        tasks=alarm,
        measure=one_sample,
        report=alarm_report,
        options={
            "seeds": Option(5, "Number of samples.", least=1),
            "seconds": Option(20.0, "Limit of a run of ours."),
            "full": Option(False, "Run the slow peers too."),
        },
        prepare=compile_kernels,
        in_turn=True,
    ),
)
