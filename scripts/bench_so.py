"""Figures of the single-objective learner beside those of its peers, printed as tables.

    python scripts/bench_so.py table1 [--nets 10] [--seconds 10] [--full]
    python scripts/bench_so.py scoring
    python scripts/bench_so.py alarm [--seeds 5] [--seconds 20] [--full]
    python scripts/bench_so.py startup
    python scripts/bench_so.py all

`alarm` needs the "benchmarks" extra. Finished rows of `alarm` are kept in --results, so that a long run can be
stopped and continued; delete the file to start afresh.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from _bench_runs import append_record, read_records

from gomea_bn import BayesNetLearner
from gomea_bn.experiments.published import TABLE_1
from gomea_bn.learning.warm_up import compile_kernels
from gomea_bn.metrics.distances import accuracy, kl_divergence, sensitivity
from gomea_bn.problems.family_scorer import Family, FamilyScorer, ScoredVariable
from gomea_bn.problems.scores import score_rule, scoring_method
from gomea_bn.simulation.random_networks import random_network

PAPER = {  # Ha et al., Table 1: 8 variables, random networks, 24 hours a run
    n: {"equal-width": TABLE_1["EW"][n][0], "equal-frequency": mean} for n, (mean, _) in TABLE_1["EF"].items()
}
TARGET = {
    200: {"equal-width": 1.57, "equal-frequency": 0.94},
    1600: {"equal-width": 1.32, "equal-frequency": 0.64},
    12800: {"equal-width": 1.16, "equal-frequency": 0.46},
}
SETTINGS: dict[str, dict[str, Any]] = {
    "bic": {"pseudo_count": 1.0},
    "aic, 8 pseudo-counts": {"penalty": "aic", "pseudo_count": 8.0},
}


def print_table(heading: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows under right-aligned columns."""
    lines = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(columns, *lines)]
    print(f"\n{heading}")
    for line in [list(columns), *lines]:
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths)), flush=True)


def learn_one(task: dict[str, Any]) -> dict[str, Any]:
    """Learn from one sample of one random network; returns KL, accuracy, sensitivity and seconds."""
    truth = random_network(8, law=task["law"], kind="random", random_state=task["net"])
    frame = truth.sample(task["n"], random_state=10_000 + task["net"])
    compile_kernels()
    began = perf_counter()
    learner = BayesNetLearner(
        task["discretizer"],
        max_seconds=task["seconds"],
        random_state=task["net"],
        **SETTINGS[task["setting"]],
    ).fit(frame)
    seconds = perf_counter() - began
    network = learner.network_
    return {
        **task,
        "kl": kl_divergence(truth, network, random_state=20_000 + task["net"]).mean,
        "accuracy": accuracy(truth, network),
        "sensitivity": sensitivity(truth, network),
        "seconds_used": seconds,
        "time_to_best": learner.time_to_best_,
    }


def table1(options: argparse.Namespace) -> None:
    """KL of learned networks, 8 variables, against the paper's medians; both laws of random networks."""
    sizes = sorted(PAPER) if options.full else sorted(TARGET)
    tasks = [
        {"law": law, "n": n, "discretizer": d, "setting": setting, "net": net, "seconds": options.seconds}
        for law in ("tree", "ide-cozman")
        for n in sizes
        for d in ("equal-frequency", "equal-width")
        for setting in SETTINGS
        for net in range(options.nets)
    ]
    compile_kernels(print)
    with ProcessPoolExecutor(max_workers=options.workers) as pool:
        found = list(pool.map(learn_one, tasks, chunksize=4))
    for law in ("tree", "ide-cozman"):
        rows = []
        for n in sizes:
            for d in ("equal-frequency", "equal-width"):
                for setting in SETTINGS:
                    group = [
                        f
                        for f in found
                        if (f["law"], f["n"], f["discretizer"], f["setting"]) == (law, n, d, setting)
                    ]
                    kl = np.array([f["kl"] for f in group])
                    rows.append(
                        (
                            n,
                            d,
                            setting,
                            f"{kl.mean():.3f}",
                            f"{kl.std(ddof=1) / np.sqrt(len(kl)):.3f}" if len(kl) > 1 else "-",
                            f"{np.median(kl):.3f}",
                            PAPER.get(n, {}).get(d, "-"),
                            TARGET.get(n, {}).get(d, "-") if law == "tree" else "-",
                            f"{np.mean([f['accuracy'] for f in group]):.2f}",
                            f"{np.mean([f['sensitivity'] for f in group]):.2f}",
                            f"{np.max([f['seconds_used'] for f in group]):.2f}",
                        )
                    )
        columns = ("n", "discretizer", "setting", "mean KL", "s.e.", "median", "paper", "at most", "accuracy")
        columns += ("sensitivity", "longest run, s")
        print_table(f"KL in nats, 8 variables, law {law!r}, {options.nets} networks", columns, rows)


def numpy_bic(codes: np.ndarray, cards: np.ndarray, child: int, parents: Sequence[int]) -> float:
    """Return the BIC of a family by the obvious NumPy expression."""
    n, r = codes.shape[1], int(cards[child])
    joint = np.zeros(n, np.int64)
    for parent in parents:
        joint = joint * cards[parent] + codes[parent]
    q = int(np.prod(cards[list(parents)])) if parents else 1
    counts = np.bincount(joint * r + codes[child], minlength=q * r).reshape(q, r).astype(np.float64)
    totals = counts.sum(axis=1)
    held, some = counts[counts > 0], totals[totals > 0]
    return float((held * np.log(held)).sum() - (some * np.log(some)).sum() - np.log(n) / 2 * q * (r - 1))


def numpy_families(codes: np.ndarray, cards: np.ndarray, families: Sequence[Sequence[int]]) -> list[float]:
    """Return `numpy_bic` of families, each given as its child and then its parents."""
    return [numpy_bic(codes, cards, family[0], sorted(family[1:])) for family in families]


def median_seconds(run: Callable[[], object], repeats: int = 7) -> float:
    """Return the median wall time of a call."""
    times = []
    for _ in range(repeats):
        began = perf_counter()
        run()
        times.append(perf_counter() - began)
    return statistics.median(times)


def scoring(_options: argparse.Namespace) -> None:
    """Uncached family scores per second against NumPy and the peers, and cached look-ups."""
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
        peer = median_seconds(partial(numpy_families, codes, cards, few)) / len(few)
        values = scorer.score_encoded(offsets, views)
        np.testing.assert_allclose(values[: len(few)], numpy_families(codes, cards, few), rtol=1e-10)
        many = np.concatenate([views] * 50)
        many_offsets = np.arange(0, len(many) + 1, 4)
        cached = median_seconds(partial(scorer.score_encoded, many_offsets, many)) / (len(many_offsets) - 1)
        speeds = (f"{1 / ours:,.0f}", f"{ours / n * 1e9:.2f}", f"{1 / peer:,.0f}", f"{peer / ours:.1f}x")
        rows.append((n, *speeds, f"{1 / cached / 1e6:.1f} M"))
    columns = ("n", "families/s", "ns per row", "NumPy families/s", "ratio", "cached look-ups/s")
    print_table("Family scores, 3 parents, one thread", columns, rows)


def peer_scoring(_options: argparse.Namespace) -> None:
    """Score the same 3,000 families of 0 to 3 parents on ALARM, ours beside the peers, one thread each."""
    from _peers import load_bif_sample, peer_families_per_second, random_families

    rows = []
    for n in (1_000, 10_000):
        frame, _edges, levels = load_bif_sample("alarm", n, 1)
        names = list(frame.columns)
        families = random_families(names, 3_000, 3, 1)
        for score in ("bic", "bdeu"):
            method = scoring_method(score)
            variables = [
                ScoredVariable(c, frame[c].cat.codes.to_numpy().astype(np.int32), len(levels[c]))
                for c in names
            ]
            scorer = FamilyScorer(variables, method, score_rule(method, n, equivalent_sample_size=10.0))
            listed = [
                Family((names.index(child), 0), tuple((names.index(p), 0) for p in parents))
                for child, parents in families
            ]
            encoded = scorer.encode(listed)
            scorer.score_encoded(*encoded, use_cache=False)
            ours = len(listed) / median_seconds(
                lambda s=scorer, e=encoded: s.score_encoded(*e, use_cache=False)
            )
            peers = peer_families_per_second(frame, families, score, 10.0)
            best = max(peers.values())
            rows.append(
                (
                    n,
                    score,
                    f"{ours:,.0f}",
                    *(f"{peers[label]:,.0f}" for label in peers),
                    f"{ours / best:.1f}x",
                )
            )
    print_table("Uncached families per second, ALARM", ("n", "score", "ours", *peers, "ours / best"), rows)


def alarm_row(n: int, score: str, seed: int, options: argparse.Namespace) -> dict[str, Any]:
    """Run ours and the peers on one ALARM sample; all results are judged by one scorer."""
    from _peers import LEARN_SLOWLY, PEERS, load_bif_sample, network_score, run_peer

    frame, truth, _levels = load_bif_sample("alarm", n, seed)
    learner = BayesNetLearner(
        scoring_method=score,
        equivalent_sample_size=10.0,
        max_seconds=options.seconds,
        patience=None,
        random_state=seed,
    ).fit(frame)
    scores = {"generating network": network_score(frame, truth, score, 10.0)}
    seconds: dict[str, float] = {}
    notes: dict[str, str] = {}
    for label in PEERS:
        if label in LEARN_SLOWLY and label != "causal-learn GES, score set" and not options.full:
            continue
        run = run_peer(label, frame, score, 10.0)
        if run.edges is not None:
            scores[label] = network_score(frame, run.edges, score, 10.0)
        seconds[label], notes[label] = run.seconds, run.note
    found = network_score(frame, learner.network_.edges, score, 10.0)
    history = [(entry.seconds, -entry.objective) for entry in learner.history_]
    passed = {
        label: next((s for s, best in history if best >= value), None) for label, value in scores.items()
    }
    return {
        "n": n,
        "score": score,
        "seed": seed,
        "ours": found,
        "time_to_best": learner.time_to_best_,
        "scores": scores,
        "seconds": seconds,
        "notes": notes,
        "passed": passed,
    }


def alarm(options: argparse.Namespace) -> None:
    """ALARM: our score within the time limit against every peer's and the generating network's."""
    compile_kernels(print)
    results = Path(options.results)
    done = read_records(results)
    for n in (1_000, 10_000):
        for score in ("bdeu", "bic"):
            for seed in range(1, options.seeds + 1):
                if any((r["n"], r["score"], r["seed"]) == (n, score, seed) for r in done):
                    continue
                done.append(alarm_row(n, score, seed, options))
                append_record(results, done[-1])
            rows = [r for r in done if (r["n"], r["score"]) == (n, score) and r["seed"] <= options.seeds]
            labels = [label for label in rows[0]["scores"] if all(label in r["scores"] for r in rows)]
            table = [("ours", f"{statistics.median(r['ours'] for r in rows):.1f}", "", "", "")]
            for label in labels:
                ahead = statistics.median(r["ours"] - r["scores"][label] for r in rows)
                times = [r["passed"][label] for r in rows]
                known = [t if t is not None else float("inf") for t in times]
                table.append(
                    (
                        label,
                        f"{statistics.median(r['scores'][label] for r in rows):.1f}",
                        f"{ahead:+.1f}",
                        f"{statistics.median(known):.2f}",
                        f"{statistics.median(r['seconds'].get(label, 0.0) for r in rows):.2f}",
                    )
                )
            best = [r["ours"] - max(r["scores"].values()) for r in rows]
            print_table(
                f"ALARM, n = {n}, {score}, medians of {len(rows)} seeds, {options.seconds:g} s, one thread "
                f"(ours minus the best of all, by seed: {', '.join(f'{b:+.1f}' for b in best)})",
                ("", "score", "ours minus it", "passed at s", "its seconds"),
                table,
            )


def peak_megabytes(n_threads: int) -> None:
    """Learn 20 variables from 51,200 rows and print this process's peak memory."""
    truth = random_network(20, random_state=1)
    frame = truth.sample(51_200, random_state=1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    learner = BayesNetLearner(max_seconds=20, patience=None, n_jobs=n_threads, random_state=1).fit(frame)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps([before, after, learner.n_eval_, learner.statistics_["families_scored"]]))


def startup(_options: argparse.Namespace) -> None:
    """Time first compilation and warm start of the command line, and print peak memory; one process each."""
    from sklearn.datasets import load_wine

    with tempfile.TemporaryDirectory() as folder:
        load_wine(as_frame=True).frame.to_csv(f"{folder}/wine.csv", index=False)
        command = [sys.executable, "-m", "gomea_bn", "learn", f"{folder}/wine.csv"]
        command += ["--max-generations", "5", "--seed", "1", "--out", f"{folder}/out"]
        fresh = {**os.environ, "NUMBA_CACHE_DIR": f"{folder}/kernels"}
        began = perf_counter()
        subprocess.run(command, check=True, env=fresh, capture_output=True)
        rows = [("first run of the command, kernels compiled", f"{perf_counter() - began:.1f} s", "60 s")]
        warm = median_seconds(lambda: subprocess.run(command, check=True, env=fresh, capture_output=True), 5)
        rows.append(("the same with cached kernels, median of 5", f"{warm:.2f} s", "3 s"))
        for n_threads in (1, 2):
            code = f"import sys; sys.path.insert(0, {os.path.dirname(__file__)!r}); import bench_so as b; "
            out = subprocess.run(
                [sys.executable, "-c", code + f"b.peak_megabytes({n_threads})"],
                check=True,
                capture_output=True,
                env=fresh,
                text=True,
            )
            before, after, n_eval, scored = json.loads(out.stdout.splitlines()[-1])
            rows.append(
                (
                    f"peak memory, 20 variables, 51,200 rows, 20 s, {n_threads} thread(s), cached kernels: "
                    f"{n_eval:,.0f} evaluations, {scored:,.0f} families scored ({before:.0f} MB before learning)",
                    f"{after:.0f} MB",
                    "600 MB",
                )
            )
    print_table("Start-up and memory", ("", "measured", "at most"), rows)


def main() -> None:
    """Run the chosen parts."""
    parts = {
        "table1": (table1,),
        "scoring": (scoring, peer_scoring),
        "alarm": (alarm,),
        "startup": (startup,),
    }
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=[*parts, "all"])
    parser.add_argument("--nets", type=int, default=None, help="random networks (10; 30 with --full)")
    parser.add_argument("--seconds", type=float, default=None, help="per run (10 for table1, 20 for alarm)")
    parser.add_argument("--seeds", type=int, default=5, help="ALARM samples")
    parser.add_argument("--workers", type=int, default=2, help="processes of table1")
    parser.add_argument("--full", action="store_true", help="all sizes, 30 networks, slow peers too")
    parser.add_argument("--results", default="out/bench_so_alarm.jsonl")
    options = parser.parse_args()
    options.nets = options.nets or (30 if options.full else 10)
    given = options.seconds
    for name, functions in parts.items():
        if options.part in (name, "all"):
            options.seconds = given or {"alarm": 20.0, "table1": 30.0 if options.full else 10.0}.get(
                name, 10.0
            )
            for function in functions:
                function(options)


if __name__ == "__main__":
    main()
