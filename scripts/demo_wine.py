"""Learn a network of the Wine table (178 wines, 13 measurements and the cultivar) and compare it with histograms.

    python scripts/demo_wine.py --out out/wine

Every fifth row is held out. The table comes with scikit-learn.
"""

import argparse
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from math import exp
from pathlib import Path

import numpy as np
import pandas as pd

from gomea_bn import BayesNetLearner, DiscretizedBayesNet, GomeaBnError, read_table
from gomea_bn.learning.run_folder import check_run_folder
from gomea_bn.learning.warm_up import compile_kernels
from gomea_bn.metrics.distances import held_out_log_density, histogram_baseline

_HISTOGRAM_BINS = 10


def wine() -> pd.DataFrame:
    """Return the Wine table: 13 float columns in their units, and the cultivar as text, ordered by cultivar."""
    from sklearn.datasets import load_wine

    bunch = load_wine(as_frame=True)
    frame: pd.DataFrame = bunch.data.copy()
    frame["cultivar"] = [f"cultivar {1 + code}" for code in bunch.target]
    return frame


def narrowest_bin(network: DiscretizedBayesNet) -> tuple[float, str]:
    """Return the smallest bin width as a share of its variable's range, and the variable."""
    shares = []
    for name, cuts in network.cut_points.items():
        low, high = network.support[name]
        shares.append((float(np.diff([low, *cuts, high]).min() / (high - low)), name))
    return min(shares)


def account(network: DiscretizedBayesNet, histograms: DiscretizedBayesNet, held_out: pd.DataFrame) -> str:
    """Return the comparison with independent histograms in plain words."""
    learned = held_out_log_density(network, held_out)
    alone = held_out_log_density(histograms, held_out)
    gains = network.log_density(held_out) - histograms.log_density(held_out)
    gain, error = float(gains.mean()), float(gains.std(ddof=1) / np.sqrt(len(gains)))
    share, name = narrowest_bin(network)
    return (
        f"Held-out log density in nats per row, in the data's units (mean of {len(held_out)} rows ± standard error):\n"
        f"  {'the learned network':<36}{learned.mean:8.2f} ± {learned.standard_error:.2f}\n"
        f"  {f'{_HISTOGRAM_BINS} equal bins per column, no edges':<36}{alone.mean:8.2f} ± {alone.standard_error:.2f}\n"
        f"  {'difference, row by row':<36}{gain:+8.2f} ± {error:.2f}\n"
        f"In words: the density of a wine outside the training rows is {exp(gain):.1f} times as high under the\n"
        f"network as under histograms of independent columns (e^{gain:.2f}, a geometric mean).\n"
        f"Narrowest bin: {share:.3f} of the range of {name}. Values outside the learned range count in the end bins."
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Learn, write the three files and print the comparison; exit with 2 on options that cannot be used."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--out", type=Path, default=Path("out/wine"), help="folder of the files; it is made if it is absent"
    )
    parser.add_argument("--seconds", type=float, default=5.0, help="seconds of search")
    parser.add_argument("--seed", type=int, default=1, help="seed of the search")
    options = parser.parse_args(arguments)
    # a terminal without arrows shows their codes
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    frame = wine()
    held_out = np.arange(len(frame)) % 5 == 4
    try:
        check_run_folder(options.out)
        table = read_table(frame[~held_out])
        learner = BayesNetLearner(
            max_seconds=options.seconds, patience=None, n_jobs=-1, random_state=options.seed, verbose=True
        )
        print(f"Wine: learning from {table.n_rows} rows, holding out every fifth ({held_out.sum()} rows).")
        compile_kernels(announce=print)
        print(
            f"Searching for {options.seconds:g} seconds; Ctrl-C ends the search and keeps the best network.",
            flush=True,
        )
        learner.fit(frame[~held_out])
        network = learner.network_
        options.out.mkdir(parents=True, exist_ok=True)
        network.to_json(options.out / "network.json")
        network.to_bif(options.out / "network.bif")
        network.to_dot(options.out / "network.dot")
    except (GomeaBnError, OSError) as error:
        parser.error(str(error))
    print(f"\n{network.summary()}\n")
    print(account(network, histogram_baseline(table, _HISTOGRAM_BINS), frame[held_out]))
    print()
    print(
        f"Stopped by {learner.stopped_by_} after {learner.fit_seconds_:.1f} s and {learner.n_eval_:,} evaluations; "
        f"the best network was reached after {learner.time_to_best_:.2f} s."
    )
    print(f"Wrote network.json, network.bif and network.dot to {options.out}.")


if __name__ == "__main__":
    main()
