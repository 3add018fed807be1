"""The numbers of a report against SciPy, NumPy and plain counting; tables that no text can break."""

import itertools
import math
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bench_examples import toy
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from lab.runner import printing
from lab.runner.page import (
    claims_sheet,
    draw,
    markdown_section,
    settings_line,
    write_report,
    write_summary,
)
from lab.runner.registry import experiments
from lab.runner.report import (
    Figure,
    Panel,
    Report,
    Sheet,
    figures_of,
    group_by,
    nested,
    rank_tests,
    sheet,
    summary_sheet,
)
from lab.runner.statistics import (
    Claim,
    Finding,
    compare_samples,
    is_even,
    is_lower,
    number,
    summarise,
    verdict,
)

ROOT = Path(__file__).resolve().parent.parent.parent
HOSTILE = '</td><script>alert(1)</script>"&|x'
samples = st.lists(st.integers(0, 20).map(float), min_size=2, max_size=12)


@given(samples)
def test_summaries_are_numpys(values: list[float]) -> None:
    summary = summarise(values)
    expected = (np.mean(values), np.std(values, ddof=1), *np.percentile(values, [50, 25, 75]))
    assert (summary.mean, summary.sd, summary.median, summary.low, summary.high) == pytest.approx(expected)
    assert summary.n == len(values)


def test_one_value_has_no_deviation() -> None:
    summary = summarise([2.0])
    assert math.isnan(summary.sd)
    assert summary.spread == "2"


@given(samples, samples, st.integers(1, 100))
def test_rank_tests_count_pairs(first: list[float], second: list[float], factor: int) -> None:
    comparison = compare_samples(first, second, factor)
    u = sum((a > b) + 0.5 * (a == b) for a, b in itertools.product(first, second))
    assert comparison.u == u
    assert comparison.share == pytest.approx(u / (len(first) * len(second)))
    expected = stats.mannwhitneyu(first, second, alternative="two-sided").pvalue
    if not math.isnan(expected):
        assert comparison.p_value == pytest.approx(min(1.0, factor * expected))


@pytest.mark.parametrize(("n", "factor", "equal"), [(3, 1, None), (4, 1, False), (4, 2, None), (5, 3, False)])
def test_too_few_values_tell_nothing(n: int, factor: int, equal: bool | None) -> None:
    first, second = [float(k) for k in range(n)], [k + 100.0 for k in range(n)]
    comparison = compare_samples(first, second, factor)
    assert comparison.equal is equal
    assert comparison.least == pytest.approx(comparison.p_value)  # no two samples differ more
    assert compare_samples(first, first, factor).equal in (None, True)


def test_the_bonferroni_factor_is_the_number_of_tests() -> None:
    values = {"a": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "b": [7.0, 8.0, 9.0, 10.0, 11.0, 12.0], "c": [1.0, 7.0]}
    sheet = rank_tests("Tests", "n", {200: values, 400: values, 800: {"a": [1.0], "b": []}})
    assert "Bonferroni factor 6." in sheet.note
    assert len(sheet.rows) == 6
    raw = stats.mannwhitneyu(values["a"], values["b"]).pvalue
    assert sheet.rows[0] == ("200", "a / b", "0", "0.00", f"{6 * raw:.2g}", "yes")
    assert sheet.rows[1][-1] == "too few to tell"
    # 2 / 70 is below .05, three times as much is not
    first, second = [1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]
    assert compare_samples(first, second).equal is False
    assert compare_samples(first, second, 3).equal is None


@given(
    st.lists(
        st.integers(0, 2000).map(lambda thousandths: thousandths / 1000), min_size=3, max_size=12
    ).filter(lambda values: len(set(values)) > 1),
    st.floats(0.05, 2),
    st.floats(0.05, 1),
    st.sampled_from(["lower", "higher", "equal"]),
)
def test_verdicts_follow_welchs_test(ours: list[float], paper: float, sd: float, better: str) -> None:
    claim = Claim("KL", "here", paper, tuple(ours), better, sd, 30, tolerance=0.0)
    p_value: Any = stats.ttest_ind_from_stats(
        np.mean(ours), np.std(ours, ddof=1), len(ours), paper, sd, 30, equal_var=False
    ).pvalue
    word, why = verdict(claim)
    assert word in ("reproduced", "undecided", "beaten", "not reproduced")
    if abs(p_value - 0.05) > 1e-9:
        assert (word in ("reproduced", "undecided")) == (p_value > 0.05)
    spread = np.var(ours, ddof=1) / len(ours)
    freedom = (spread + sd**2 / 30) ** 2 / (spread**2 / (len(ours) - 1) + (sd**2 / 30) ** 2 / 29)
    reach = stats.t.ppf(0.975, freedom) * math.sqrt(spread + sd**2 / 30)
    if word in ("reproduced", "undecided") and abs(reach - sd) > 1e-9:
        assert (word == "undecided") == (reach > sd)
    if word == "beaten":
        assert (np.mean(ours) < paper) == (better == "lower")
        assert better != "equal"
    if word == "not reproduced":
        assert better == "equal" or (np.mean(ours) > paper) == (better == "lower")
    if "standard errors" in why:
        assert ("above" in why) == (np.mean(ours) > paper)


@pytest.mark.parametrize(
    ("ours", "better", "word"),
    [
        ((), "lower", "not run"),
        ((1.0,), "lower", "reproduced"),
        ((1.004,), "lower", "reproduced"),
        ((0.9,), "lower", "beaten"),
        ((1.1,), "lower", "not reproduced"),
        ((1.1,), "higher", "beaten"),
        ((1.1,), "equal", "not reproduced"),
        ((0.9, 0.9), "lower", "beaten"),
    ],
)
def test_verdicts_need_no_deviations(ours: tuple[float, ...], better: str, word: str) -> None:
    assert verdict(Claim("KL", "here", 1.0, ours, better))[0] == word


def test_a_single_value_has_the_published_deviation() -> None:
    def said(ours: float) -> str:
        return verdict(Claim("KL", "here", 1.57, (ours,), "lower", 0.58, 30))[0]

    # t of 31 values with one deviation: 2.045 * 0.58 * sqrt(1 + 1 / 30) = 1.206, farther than one deviation
    assert [said(0.35), said(0.38), said(2.77), said(2.79)] == [
        "beaten",
        "undecided",
        "undecided",
        "not reproduced",
    ]


@pytest.mark.parametrize(("ours", "word"), [(1.0, "even"), (0.9, "beaten"), (1.1, "behind")])
def test_another_method_reproduces_nothing(ours: float, word: str) -> None:
    claim = Claim("KL", "here", 1.0, (ours,), same=False, reason="fewer rows")
    assert verdict(claim)[0] == word
    assert ("fewer rows" in verdict(claim)[1]) == (word == "behind")


def test_comparisons_that_no_paper_makes_are_not_reproduced() -> None:
    findings = tuple(
        Finding("a", "b", "c", "d", holds, same=False, even=even)
        for holds, even in ((True, False), (False, False), (None, False), (None, True))
    )
    assert [verdict(finding)[0] for finding in findings] == ["beaten", "behind", "undecided", "even"]


@pytest.mark.parametrize(
    ("first", "second", "factor", "lower"),
    [
        ([1, 2, 3, 4, 5, 6], [2, 4, 6, 8, 10, 12], 1, True),
        ([2, 4, 6, 8, 10, 12], [1, 2, 3, 4, 5, 6], 1, False),
        ([1, 2, 3, 4, 5, 6], [2, 4, 6, 8, 10, 12], 2, None),
        ([1, 2, 3, 4, 5], [2, 4, 6, 8, 10], 1, None),
        ([1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6], 1, None),
        ([1, 2, 3, 4, 5, 6] + [0] * 14, [2, 4, 6, 8, 10, 12] + [0] * 14, 1, True),
    ],
)
def test_signed_ranks_tell_which_sample_is_lower(
    first: list[float], second: list[float], factor: int, lower: bool | None
) -> None:
    # six pairs that differ the same way: p = 2 / 2^6 = .031; five: .0625
    assert is_lower(dict(enumerate(first)), dict(enumerate(second)), factor) is lower


def test_samples_are_paired_by_their_repetition() -> None:
    first = {net: float(net) for net in range(7)}
    second = {net: net + 1.0 for net in reversed(range(8)) if net != 3}
    assert is_lower(first, second) is True
    assert is_lower(second, first) is False
    assert is_lower({}, second) is None
    assert is_even(first, second) is False
    assert is_even(first, first) is True
    few = {net: first[net] for net in range(5)}
    assert is_even(few, few) is None  # five pairs cannot differ at .05


def test_reasons_are_given_where_a_number_is_not_reproduced() -> None:
    claims = (
        Claim("KL", "here", 1.0, (2.0,), reason="fewer rows"),
        Claim("KL", "here", 1.0, (1.0,), reason="fewer rows"),
        Finding("a", "b", "c", "d", False, reason="fewer rows"),
        Finding("a", "b", "c", "d", True, reason="fewer rows"),
    )
    rows = claims_sheet(Report(claims=claims)).rows
    assert [row[5] for row in rows] == [
        "1 above: fewer rows",
        "the same within the tolerance",
        "fewer rows",
        "",
    ]


def test_findings_have_verdicts_too() -> None:
    findings = tuple(
        Finding("a", "b", "c", "d", *tail) for tail in ((True,), (False,), (None,), (False, True))
    )
    rows = claims_sheet(Report(claims=findings)).rows
    assert [row[4] for row in rows] == ["reproduced", "not reproduced", "undecided", "beaten"]
    rows = claims_sheet(Report(claims=(Finding("a", "b", "c", "-", None),))).rows
    assert rows[0][4] == "not run"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.94, "0.94"), (1.5704, "1.57"), (-26.04, "-26.04"), (12345.6, "12,346"), (0.0, "0"), (math.nan, "-")],
)
def test_numbers_have_three_digits(value: float, text: str) -> None:
    assert number(value) == text


def rows_of(values: dict[tuple[int, str], list[float]]) -> list[dict]:
    return [
        {"task": {"n": n, "algorithm": a}, "measured": {"kl": kl}}
        for (n, a), divergences in values.items()
        for kl in divergences
    ]


def test_rows_are_grouped_and_summarised() -> None:
    values = {(200, "a"): [1.0, 2.0, 6.0], (400, "a"): [2.0, 2.0], (200, "b"): [5.0]}
    groups = group_by(rows_of(values), "n", "algorithm")
    values_of = {key: [row["measured"]["kl"] for row in group] for key, group in groups.items()}
    assert values_of == values
    sheet = summary_sheet("KL", ("n", "algorithm"), values_of, {"paper": lambda key: f"{key[0]}!"})
    assert sheet.columns == ("n", "algorithm", "n", "mean ± sd", "median", "quartiles", "paper")
    assert sheet.rows[0] == ("200", "a", "3", "3 ± 2.65", "2", "1.5 to 4", "200!")
    assert sheet.rows[2][3] == "5"
    measured, published = figures_of({(400, "a"): [2.0], (200, "a"): [1.0, 3.0]}, {"a": {200: 9.0, 800: 8.0}})
    assert (measured.x, measured.y, measured.low, measured.high) == (
        (200, 400),
        (2.0, 2.0),
        (1.5, 2.0),
        (2.5, 2.0),
    )
    assert (published.x, published.y, published.dashed) == ((200,), (9.0,), True)


def test_groups_by_setting_and_name_become_tests_and_lines() -> None:
    groups = {(200, "b"): [1.0], (200, "a"): [2.0], (400, "b"): [3.0]}
    assert nested(groups) == {200: {"b": [1.0], "a": [2.0]}, 400: {"b": [3.0]}}
    lines = figures_of(groups, {"a": {200: 9.0}})
    assert [line.label for line in lines] == ["b", "a", "a, published"]
    assert (lines[0].x, lines[0].y) == ((200, 400), (1.0, 3.0))


def hostile_report() -> Report:
    sheet = Sheet(HOSTILE, (HOSTILE, "b"), ((HOSTILE, "$x_1$ < 2"),), HOSTILE)
    panel = Panel(
        HOSTILE,
        HOSTILE,
        "$y",
        figures_of({(1, HOSTILE): [1.0, 2.0], (10, HOSTILE): [3.0]}),
        log_x=True,
        log_y=True,
    )
    claims = (Claim(HOSTILE, HOSTILE, 1.0, (1.0,)), Finding(HOSTILE, HOSTILE, HOSTILE, HOSTILE, True))
    return Report((sheet,), (Figure("own", HOSTILE, (panel, panel)),), claims, (HOSTILE,))


def test_markdown_tables_keep_their_columns() -> None:
    lines = markdown_section(toy(), toy().plan, hostile_report(), 0, 2).splitlines()
    assert "2 tasks have not been run yet." in lines
    table = [line for line in lines if line.startswith("|")]
    assert len(table) == 4 + 3
    for line in table[:4]:
        assert line.replace("\\|", "").count("|") == 7


def test_misses_for_one_reason_are_one_line_of_the_summary(tmp_path) -> None:
    (tmp_path / "toy").mkdir()
    claims = tuple(
        Claim(name, "here", 1.0, (value,), reason="fewer rows") for name, value in (("a", 2.0), ("b", 3.0))
    )
    experiment = replace(
        toy(), report=lambda _plan, _rows: replace(hostile_report(), figures=(), claims=claims)
    )
    write_report(tmp_path / "toy", experiment, toy().plan, [])
    write_summary(tmp_path, ["toy"], tmp_path / "results.md")
    text = (tmp_path / "results.md").read_text()
    assert "| toy | 2 numbers, such as a | 1 | 2 | here | fewer rows |" in text


def test_warnings_that_differ_in_names_and_numbers_are_one_note(tmp_path: Path) -> None:
    texts = ["Curves of 'X8' took 1.5 s. Use less.", "Curves of 'X11' took 20 s. Use less.", "Stopped early."]
    rows = [{"warnings": [text], "seconds": 1.0} for text in texts]
    experiment = replace(toy(), report=lambda plan, rows: Report())
    report = write_report(tmp_path, experiment, toy().plan, rows)
    assert report.notes[1:] == (f"2 runs warned, for example: {texts[0]}", "1 run warned: Stopped early.")


def test_rows_are_named_by_code_and_machine_and_what_they_lack_is_said(tmp_path: Path) -> None:
    machine = {"cpu": "A chip", "cores": 1, "platform": "An OS"}
    new = {"version": "2", "sources": "ab", "machine": machine}
    rows: list[dict[str, Any]] = [
        {"version": "1", "committed": "2020-01-02"},
        {**new, "finished": "2021-03-09T00:00:01+00:00"},
        {"version": "1", "committed": "2020-01-01"},
        {**new, "finished": "2021-03-04T23:59:59+00:00"},
        {"version": "1", "committed": "2020-01-02"},
        {**new, "sources": "cd", "finished": "2021-03-04T23:59:59+00:00"},
    ]
    experiment = replace(toy(), report=lambda plan, rows: Report())
    assert write_report(tmp_path, experiment, toy().plan, rows).notes == (
        "3 rows were made by version 1, committed from 2020-01-01 to 2020-01-02. "
        "Not recorded: sources, day, machine.",
        "2 rows were made by version 2 (sources ab), from 2021-03-04 to 2021-03-09, on A chip with 1 core (An OS).",
        "1 row was made by version 2 (sources cd), on 2021-03-04, on A chip with 1 core (An OS).",
    )
    assert write_report(tmp_path, experiment, toy().plan, []).notes == ()


def test_every_report_of_the_results_names_where_its_rows_come_from() -> None:
    reports = sorted((ROOT / "results").glob("*/report.md"))
    assert len(reports) >= 13
    for path in reports:
        n_rows = len(path.with_name("rows.jsonl").read_text().splitlines())
        named = re.findall(
            r"^(?:The )?([\d,]+) rows? w\S+ made by version \S+", path.read_text(), re.MULTILINE
        )
        assert sum(int(number.replace(",", "")) for number in named) == n_rows, path


def test_the_summary_in_docs_is_that_of_the_results(tmp_path) -> None:
    for source in (
        path for name in ("report.md", "claims.json") for path in (ROOT / "results").glob(f"*/{name}")
    ):
        (tmp_path / source.parent.name).mkdir(exist_ok=True)
        shutil.copy(source, tmp_path / source.parent.name)
    write_summary(tmp_path, list(experiments()), tmp_path / "results.md")
    assert sections(tmp_path / "results.md") == sections(ROOT / "docs" / "results.md")


def sections(path: Path) -> str:
    """Return the summary without addresses, which depend on where it lies."""
    return re.sub(r"\]\([^)]*\)", "]", path.read_text(encoding="utf-8"))


@pytest.mark.long
def test_figures_are_the_same_bytes_for_the_same_data() -> None:
    figure = hostile_report().figures[0]
    assert draw(figure) == draw(figure)
    assert draw(figure)[:8] == b"\x89PNG\r\n\x1a\n"


def test_reports_are_files_that_need_nothing_else(tmp_path) -> None:
    folder = tmp_path / "toy"
    folder.mkdir()
    claims = (Claim("a|b", "here", 1.0, (2.0,), reason="fewer rows"), Claim("c", "here", 1.0, ()))
    experiment = replace(
        toy(), report=lambda _plan, _rows: replace(hostile_report(), figures=(), claims=claims)
    )
    write_report(folder, experiment, toy().plan, [])
    (folder / "report.md").write_text("![own](./own.png)\n\n" + (folder / "report.md").read_text())
    (tmp_path / "docs").mkdir()
    write_summary(tmp_path, ["other", "toy"], tmp_path / "docs" / "results.md")
    assert (tmp_path / "verdicts.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    text = (tmp_path / "docs" / "results.md").read_text()
    assert "![own](../toy/own.png)" in text
    assert "# Results" in text
    assert "| toy | - | - | - | - | 1 | - | 1 |" in text
    assert "| toy | a\\|b | 1 | 2 | here | 1 above: fewer rows |" in text
    assert text.index("![Verdicts by experiment](../verdicts.png)") < text.index("### At a glance")
    assert "| all | - | - | - | - | 1 | - | 1 |" in text
    # a section has its setting and figures; its numbers stay in the report of the experiment
    assert "<details>" not in text
    assert "### Published numbers" not in text
    million = settings_line(toy(), replace(toy().plan, seconds=None, evaluations=1_000_000))
    assert "at most 1,000,000 evaluations per search" in million
    assert "[toy/report.md](../toy/report.md)" in text
    (tmp_path / "é sp (x)").mkdir()
    folder.rename(tmp_path / "é sp (x)" / "toy")
    write_summary(tmp_path / "é sp (x)", ["toy"], tmp_path / "docs" / "results.md")
    assert "![own](../%C3%A9%20sp%20%28x%29/toy/own.png)" in (tmp_path / "docs" / "results.md").read_text()
    folder = tmp_path / "é sp (x)" / "toy"
    assert "## A <toy>: `python scripts/lab toy`" in text
    assert "3 repetitions; sizes 1, 2; algorithms a, b; at most 10 s per search; seed 0." in text
    assert sorted(path.name for path in folder.iterdir()) == ["claims.json", "report.md"]


def test_the_first_column_is_left_aligned_and_the_others_are_right_aligned(capsys):
    printing.print_sheet(sheet("Heading", ("name", "n"), [("a", 1), ("long name", 1000)], "A note."))
    assert capsys.readouterr().out.splitlines() == [
        "",
        "Heading",
        "name          n",
        "a             1",
        "long name  1000",
        "A note.",
    ]


def test_paired_differences_and_their_interval():
    reference = np.random.default_rng(0).normal(size=40)
    mean, low, high = printing.mean_difference((reference + 2.0).tolist(), reference.tolist())
    assert (mean, low, high) == pytest.approx((2.0, 2.0, 2.0))
    steps = np.tile([1.0, 3.0], 50)
    mean, low, high = printing.mean_difference(steps.tolist(), [0.0] * 100)
    assert mean == 2.0
    assert (low, high) == pytest.approx((2 - 1.96 * 0.1, 2 + 1.96 * 0.1), abs=0.03)


def test_a_ratio_of_geometric_means_has_an_interval():
    assert printing.ratio_of_means([2.0, 2.0, 2.0], [4.0]) == pytest.approx((0.5, 0.5, 0.5))
    ratio, low, high = printing.ratio_of_means([1.0, 4.0], [1.0, 1.0])
    assert (ratio, low, high) == pytest.approx((2.0, 1.0, 4.0))
    assert printing.with_interval((2.0, 1.0, 3.0)) == "2.00 [1.00, 3.00]"


def test_means_have_their_standard_error():
    assert printing.with_error([1.0, 3.0], 2) == "2.00 ± 1.00"
    mean, difference = printing.mean_and_difference(np.array([1.0, 3.0]), np.array([1.0, 1.0]))
    assert (mean, difference) == ("2.00", "+1.00 ± 1.00")
