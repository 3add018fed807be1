"""The report on what parts of a search add to its local searches."""

import pytest

from gomea_bn import GomeaBnError
from lab.peers.search_parts import EXPERIMENTS, parts_of_table, table_of_law
from lab.runner.experiment import Options
from lab.samples.structural_laws import LAWS


def test_other_lines_are_differences_from_the_whole_search() -> None:
    whole, local = "whole search", "local searches"
    variants = [
        {whole: [10.0, -2.0, 1.0, 100, 2.0], local: [8.0, -2.5, 0.5, 50, 1.0]},
        {whole: [20.0, -3.0, 0.5, 300, 4.0], local: [20.0, -3.0, 0.5, 150, 3.0]},
    ]
    rows = [{"task": {"law": "mixed"}, "measured": {"variants": of_table}} for of_table in variants]
    report = EXPERIMENTS[0].report(Options(laws=["mixed", "bells"]), rows)
    (sheet,) = report.sheets
    assert sheet.heading.startswith("mixed: 2 tables")
    first, second = (list(map(str, line)) for line in sheet.rows)
    assert first == [whole, "15.0 ± 5.0", "-2.5000 ± 0.5000", "0.750 ± 0.250", "200", "3.0"]
    assert second == [local, "-1.0 ± 1.0", "-0.2500 ± 0.2500", "-0.250 ± 0.250", "100", "2.0"]


def test_files_have_no_known_graph_and_unknown_laws_are_named(tmp_path) -> None:
    path = tmp_path / "rows.csv"
    LAWS["linear"](100, 1).frame.to_csv(path, index=False)
    rows, new, edges = table_of_law(str(path), 50, 1)
    assert (len(rows), len(new), edges) == (70, 30, None)
    with pytest.raises(GomeaBnError, match="'ring' is neither one of linear"):
        table_of_law("ring", 50, 1)


@pytest.mark.long
def test_whole_searches_are_at_least_as_good_as_their_beginning() -> None:
    variants = parts_of_table({"law": "linear", "rows": 200, "seed": 3})["variants"]
    assert variants["whole search"][0] >= variants["local searches"][0] - 1e-9
    assert variants["whole search"][3] > variants["local searches"][3]
