"""Cuts by Khiops: a JSON table on standard input, the cuts of every continuous column on standard output.

Run by a Python that has the package khiops, which need not have anything else of this repository. With classes the cuts
are those of its supervised discretization (MODL), without them the borders of its histograms.
"""

import contextlib
import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory


def main() -> None:
    """Run Khiops once; all that it prints itself goes to standard error."""
    table = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr), TemporaryDirectory() as folder:
        cuts = found_cuts(table["columns"], table["classes"], Path(folder))
    json.dump(cuts, sys.stdout)


def found_cuts(columns, classes, folder):
    """Return the inner cuts of every column; one that Khiops leaves whole has none."""
    from khiops import core

    names = [f"v{i}" for i in range(len(columns))]
    rows = zip(*columns.values(), *([] if classes is None else [classes]), strict=True)
    header = names if classes is None else [*names, "class"]
    data, report = folder / "rows.txt", folder / "report.khj"
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
    found = {name: [] for name in names}
    for variable in core.read_analysis_results_file(str(report)).preparation_report.variables_statistics:
        if variable.data_grid is not None:
            parts = variable.data_grid.dimensions[0].partition
            found[variable.name] = sorted(float(part.lower_bound) for part in parts if not part.is_left_open)
    return {column: found[name] for column, name in zip(columns, names, strict=True)}


if __name__ == "__main__":
    main()
