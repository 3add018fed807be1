"""The learner of single networks: scores of families, learned networks, start-up and memory.

    python scripts/benchmarks/learning.py scoring
    python scripts/benchmarks/learning.py alarm [--seeds 5] [--seconds 20] [--full]
    python scripts/benchmarks/learning.py startup
    python scripts/benchmarks/learning.py all

scoring  Uncached family scores per second compared with a NumPy expression and with other libraries, on one thread.
alarm    Learned networks of ALARM, 1,000 and 10,000 rows, BDeu and BIC; one scorer judges ours and every peer's.
startup  First run of the command with compilation, warm start, and peak memory, in processes of their own.

`scoring` and `alarm` need the extra "peers"; libraries that are not installed are left out. --full adds the slow peers.
Finished rows of `alarm` are kept in --results and not run again; delete the file to start from the beginning.
KL on random networks next to the published numbers: `gomea-bn bench table1`.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from harness.printing import print_table
from harness.runs import in_new_process, median_seconds, peak_megabytes, resume_tasks
from methods.peers import LEARN_SLOWLY, PEERS, SCORE_SET, peer_families_per_second, run_peer
from methods.peers import Family as NamedFamily

from gomea_bn import BayesNetLearner, DiscretizedBayesNet
from gomea_bn.experiments.judge import network_score
from gomea_bn.experiments.tables import published_network
from gomea_bn.learning.warm_up import compile_kernels
from gomea_bn.problems.scoring.family_scorer import Family, FamilyScorer
from gomea_bn.problems.scoring.scored_columns import ScoredVariable
from gomea_bn.problems.scoring.scores import score_rule, scoring_method
from gomea_bn.simulation.random_networks import random_network

EQUIVALENT_SAMPLE_SIZE = 10.0
N_FAMILIES = 3_000


def scoring(_options: argparse.Namespace) -> None:
    """Print family scores per second compared with NumPy, cached look-ups, and scores compared with the peers."""
    rng = np.random.default_rng(0)
    method = scoring_method("bic")
    rows = []
    for n in (500, 5_000, 50_000):
        cards = rng.integers(2, 7, 20)
        codes = np.array([rng.integers(0, card, n) for card in cards])
        variables = [ScoredVariable(str(i), codes[i].astype(np.int32), int(cards[i])) for i in range(20)]
        scorer = FamilyScorer(variables, method, score_rule(method, n))
        chosen = [rng.choice(20, 4, replace=False).tolist() for _ in range(2_000)]
        families = [Family((v[0], 0), tuple((p, 0) for p in v[1:])) for v in chosen]
        offsets, views = scorer.encode(families)
        few = chosen[: max(20, 200_000 // n)]
        ours = median_seconds(partial(scorer.score_encoded, offsets, views, use_cache=False)) / len(families)
        numpy_seconds = median_seconds(partial(numpy_families, codes, cards, few)) / len(few)
        values = scorer.score_encoded(offsets, views)
        np.testing.assert_allclose(values[: len(few)], numpy_families(codes, cards, few), rtol=1e-10)
        many = np.concatenate([views] * 50)
        many_offsets = np.arange(0, len(many) + 1, 4)
        cached = median_seconds(partial(scorer.score_encoded, many_offsets, many)) / (len(many_offsets) - 1)
        rows.append(
            (
                f"{n:,}",
                f"{1 / ours:,.0f}",
                f"{ours / n * 1e9:.2f}",
                f"{1 / numpy_seconds:,.0f}",
                f"{numpy_seconds / ours:.1f}x",
                f"{1 / cached / 1e6:.1f} M",
            )
        )
    columns = ("rows", "families/s", "ns per row", "NumPy families/s", "ratio", "cached look-ups/s")
    print_table("Family scores, 3 parents, one thread", columns, rows)
    _peer_scoring()


def numpy_families(codes: np.ndarray, cards: np.ndarray, families: Sequence[Sequence[int]]) -> list[float]:
    """Return the BIC of families, each given as its child and then its parents, by a plain NumPy expression."""
    return [_numpy_bic(codes, cards, family[0], sorted(family[1:])) for family in families]


def _numpy_bic(codes: np.ndarray, cards: np.ndarray, child: int, parents: Sequence[int]) -> float:
    n, r = codes.shape[1], int(cards[child])
    joint = np.zeros(n, np.int64)
    for parent in parents:
        joint = joint * cards[parent] + codes[parent]
    q = int(np.prod(cards[list(parents)])) if parents else 1
    counts = np.bincount(joint * r + codes[child], minlength=q * r).reshape(q, r).astype(np.float64)
    totals = counts.sum(axis=1)
    cells, sums = counts[counts > 0], totals[totals > 0]
    return float((cells * np.log(cells)).sum() - (sums * np.log(sums)).sum() - np.log(n) / 2 * q * (r - 1))


def _peer_scoring() -> None:
    """Print the speed of scoring the same 3,000 families of 0 to 3 parents on ALARM, one thread each."""
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
                Family((names.index(child), 0), tuple((names.index(p), 0) for p in parents))
                for child, parents in families
            ]
            encoded = scorer.encode(by_number)
            scorer.score_encoded(*encoded, use_cache=False)
            seconds = median_seconds(partial(scorer.score_encoded, *encoded, use_cache=False))
            ours = N_FAMILIES / seconds
            peers = peer_families_per_second(frame, families, score, EQUIVALENT_SAMPLE_SIZE)
            ratio = f"{ours / max(peers.values()):.1f}x" if peers else "-"
            fastest = ", ".join(f"{label} {speed:,.0f}" for label, speed in peers.items())
            rows.append((f"{n:,}", score, f"{ours:,.0f}", fastest or "-", ratio))
    columns = ("rows", "score", "ours", "peers", "ours / fastest")
    print_table("Uncached families per second, ALARM", columns, rows)


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


def alarm(options: argparse.Namespace) -> None:
    """Print our score within the time limit, every peer's, and the generating network's."""
    compile_kernels(print)
    for n in (1_000, 10_000):
        for score in ("bdeu", "bic"):
            tasks = [
                {"n": n, "score": score, "seed": seed, "seconds": options.seconds, "full": options.full}
                for seed in range(1, options.seeds + 1)
            ]
            records = resume_tasks(one_sample, tasks, options.results, 1)
            _print_samples(n, score, options.seconds, records)


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


def _print_samples(n: int, score: str, seconds: float, records: Sequence[dict[str, Any]]) -> None:
    """Print the medians over samples of one size and score, and why a peer has no result."""
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
    print_table(heading, ("", "score", "ours minus it", "passed at s", "its seconds"), rows)
    reasons = {
        label: note
        for record in records
        for label, note in record["notes"].items()
        if label not in record["scores"]
    }
    for label, note in reasons.items():
        print(f"{label}: {note}")


def startup(_options: argparse.Namespace) -> None:
    """Print the seconds of the first and of a warm run of the command, and peak memory."""
    from sklearn.datasets import load_wine

    with tempfile.TemporaryDirectory() as folder:
        load_wine(as_frame=True).frame.to_csv(f"{folder}/wine.csv", index=False)
        command = [sys.executable, "-m", "gomea_bn", "learn", f"{folder}/wine.csv"]
        command += ["--max-generations", "5", "--seed", "1", "--out", f"{folder}/out"]
        # the processes below compile into a cache of their own
        os.environ["NUMBA_CACHE_DIR"] = f"{folder}/kernels"
        run = partial(subprocess.run, command, check=True, capture_output=True)
        began = perf_counter()
        run()
        rows = [("first run of the command, kernels compiled", f"{perf_counter() - began:.1f} s")]
        rows.append(("the same with cached kernels, median of 5", f"{median_seconds(run, 5):.2f} s"))
        for n_threads in (1, 2):
            before, after, n_eval, scored = in_new_process(memory_of, n_threads)
            quantity = (
                f"peak memory, 20 variables, 51,200 rows, 20 s, {n_threads} thread(s), cached kernels: "
                f"{n_eval:,} evaluations, {scored:,} families scored ({before:.0f} MB before learning)"
            )
            rows.append((quantity, f"{after:.0f} MB"))
    print_table("Start-up and memory", ("", "measured"), rows)


def memory_of(n_threads: int) -> tuple[float, float, int, int]:
    """Learn 20 variables from 51,200 rows; returns peak memory before and after, evaluations and families scored."""
    frame = random_network(20, random_state=1).sample(51_200, random_state=1)
    before = peak_megabytes()
    learner = BayesNetLearner(
        density="bins", max_seconds=20, patience=None, n_jobs=n_threads, random_state=1
    ).fit(frame)
    return before, peak_megabytes(), learner.n_eval_, int(learner.statistics_["families_scored"])


PARTS = {"scoring": scoring, "alarm": alarm, "startup": startup}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one part or all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=[*PARTS, "all"])
    parser.add_argument("--seconds", type=float, default=20.0, help="limit of a run of alarm")
    parser.add_argument("--seeds", type=int, default=5, help="number of samples of alarm")
    parser.add_argument("--full", action="store_true", help="run the slow peers too")
    parser.add_argument("--results", type=Path, default=Path("out/alarm.jsonl"), help="file of finished rows")
    options = parser.parse_args(arguments)
    for part in PARTS if options.part == "all" else [options.part]:
        PARTS[part](options)


if __name__ == "__main__":
    main()
