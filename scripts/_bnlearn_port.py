"""Cuts by bnlearn's port of Chen et al.: a JSON problem on standard input, edges and seconds on standard output.

Run by a Python that has bnlearn, which need not have anything else of this repository.
"""

import contextlib
import json
import sys
from time import perf_counter


def main() -> None:
    """Run the port once; all that it prints itself goes to standard error."""
    problem = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):
        import bnlearn
        import pandas as pd
        from bnlearn import discretize_all

        frame = pd.DataFrame(problem["columns"])
        graph = [tuple(family) if isinstance(family, list) else family for family in problem["graph"]]
        began = perf_counter()
        _, edges = discretize_all(frame, graph, problem["continuous"], problem["cycles"])
        seconds = perf_counter() - began
    answer = {"edges": [list(map(float, own)) for own in edges], "seconds": seconds}
    json.dump({**answer, "version": bnlearn.__version__}, sys.stdout)


if __name__ == "__main__":
    main()
