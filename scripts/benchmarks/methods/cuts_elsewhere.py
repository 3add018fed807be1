"""Cuts by a library that another Python has: a JSON table on standard input, the cuts on standard output.

    PYTHON cuts_elsewhere.py bnlearn|khiops

This file is run by a Python that has the library, and needs nothing else of this repository. "bnlearn" is its port of
Chen et al. (2017). "khiops" gives the cuts of its supervised discretization (MODL) if the table has classes, and the
borders of its histograms if not.
"""

import contextlib
import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter


def bnlearn_cuts(problem):
    """Return the edges of the bins of every continuous column, the seconds, and bnlearn's version."""
    import bnlearn
    import pandas as pd
    from bnlearn import discretize_all

    frame = pd.DataFrame(problem["columns"])
    graph = [tuple(family) if isinstance(family, list) else family for family in problem["graph"]]
    began = perf_counter()
    _, edges = discretize_all(frame, graph, problem["continuous"], problem["cycles"])
    seconds = perf_counter() - began
    return {
        "edges": [[float(edge) for edge in of_column] for of_column in edges],
        "seconds": seconds,
        "version": bnlearn.__version__,
    }


def khiops_cuts(table):
    """Return the inner cuts of every column; a column in one bin has none."""
    from khiops import core

    columns, classes = table["columns"], table["classes"]
    names = [f"v{i}" for i in range(len(columns))]
    rows = zip(*columns.values(), *([] if classes is None else [classes]), strict=True)
    header = names if classes is None else [*names, "class"]
    with TemporaryDirectory() as folder:
        data, report = Path(folder, "rows.txt"), Path(folder, "report.khj")
        data.write_text("\n".join("\t".join(map(str, row)) for row in [header, *rows]) + "\n")
        domain, dictionary = core.DictionaryDomain(), core.Dictionary()
        dictionary.name = "rows"
        for name in header:
            variable = core.Variable()
            variable.name, variable.type = name, "Categorical" if name == "class" else "Numerical"
            dictionary.add_variable(variable)
        domain.add_dictionary(dictionary)
        core.train_predictor(
            domain, "rows", str(data), "" if classes is None else "class", str(report),
            detect_format=False, field_separator="\t", sample_percentage=100,
            max_trees=0, max_constructed_variables=0, max_pairs=0,
        )  # fmt: skip
        statistics = core.read_analysis_results_file(str(report)).preparation_report.variables_statistics
    cuts = {name: [] for name in names}
    for variable in statistics:
        if variable.data_grid is not None:
            parts = variable.data_grid.dimensions[0].partition
            cuts[variable.name] = sorted(float(part.lower_bound) for part in parts if not part.is_left_open)
    return {column: cuts[name] for column, name in zip(columns, names, strict=True)}


def main():
    """Run the library once; everything that it prints itself goes to standard error."""
    library = {"bnlearn": bnlearn_cuts, "khiops": khiops_cuts}[sys.argv[1]]
    problem = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):
        answer = library(problem)
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
