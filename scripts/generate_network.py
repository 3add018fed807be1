"""Write a random discretized network and rows drawn from it: OUT/network.json and OUT/rows.csv.

    python scripts/generate_network.py 8 --n-rows 1600 --seed 1 --out out/truth

Levels without rows are only in the JSON file, since a CSV file declares no levels.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gomea_bn.runtime.files import write_text
from gomea_bn.simulation.random_networks import random_network


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, generate, write, and print what was written; exit with 2 on options that cannot be used."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("n_variables", type=int, help="number of variables, at least 2")
    parser.add_argument("--law", choices=["tree", "ide-cozman"], default="tree", help="law of the graph")
    parser.add_argument(
        "--kind",
        choices=["random", "equal-width", "equal-frequency"],
        default="random",
        help="kind of bins and tables",
    )
    parser.add_argument(
        "--rows",
        choices=["uniform", "dirichlet", "constant"],
        default="uniform",
        help="law of the table rows",
    )
    parser.add_argument("--max-indegree", type=int, default=6, help="largest number of parents of a variable")
    parser.add_argument("--n-rows", type=int, default=1000, help="number of rows of the CSV file")
    parser.add_argument("--seed", type=int, default=0, help="seed of the network and of its rows")
    parser.add_argument(
        "--out", type=Path, required=True, help="folder of the files; it is made if it is absent"
    )
    options = parser.parse_args(arguments)
    try:
        network = random_network(
            options.n_variables,
            law=options.law,
            kind=options.kind,
            rows=options.rows,
            max_indegree=options.max_indegree,
            random_state=options.seed,
        )
        frame = network.sample(options.n_rows, random_state=np.random.default_rng([options.seed, 1]))
        options.out.mkdir(parents=True, exist_ok=True)
        network.to_json(options.out / "network.json")
        write_text(options.out / "rows.csv", frame.to_csv(index=False))
    except (ValueError, OSError) as error:
        parser.error(str(error))
    print(f"{len(network.names)} variables, {len(network.edges)} edges: {options.out / 'network.json'}")
    print(f"{len(frame)} rows: {options.out / 'rows.csv'}")


if __name__ == "__main__":
    main()
