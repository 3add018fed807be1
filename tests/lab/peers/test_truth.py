"""The benchmark of answers next to the truth of a simulated table."""

import numpy as np
import pandas as pd
import pytest

from lab.peers.truth import PATIENTS, as_numbers, drawn, findings

CASES = """
import numpy as np, pandas as pd

def clinic(seed):
    r = np.random.default_rng(seed)
    x, k = r.normal(size=900).round(1), r.choice(["a", "b"], 900)
    p = 1 / (1 + np.exp(1 - x))
    return pd.DataFrame({"x": x, "k": k, "returned": (r.random(900) < p).astype(int)}), p

def messy(frame, seed):
    return frame.assign(x=frame["x"].astype(object).where(frame["x"] >= -1, "<-1"))
"""


def test_findings_are_cells_with_enough_training_rows():
    rng = np.random.default_rng(1)
    rows = pd.DataFrame({"x": rng.normal(size=2_000), "k": ["rare"] * 100 + ["often"] * 1_900, "returned": 0})
    found = findings(rows[:1_500], rows, "returned")
    assert {name for name, *_ in found} == {"x", "k"}
    assert [finding for name, finding, _ in found if name == "k"] == ["often"]
    for name, finding, has in found:
        expected = [v in finding if isinstance(finding, pd.Interval) else v == finding for v in rows[name]]
        assert has.tolist() == expected


def test_limits_stand_for_numbers_below_them():
    shown = pd.DataFrame({"x": ["<2", 3.5, None], "k": ["a", None, "b"]})
    read = as_numbers(shown, pd.DataFrame({"x": [1.0, 3.5, 4.0], "k": ["a", "b", "b"]}))
    assert read["x"].iloc[:2].tolist() == [2.0, 3.5]
    assert np.isnan(read["x"].iloc[2])
    pd.testing.assert_series_equal(read["k"], shown["k"])


def test_patients_come_again_as_often_as_their_probabilities_say():
    rows, shown, p = drawn(PATIENTS, None, 3, gaps=True)
    assert shown["protein"].isna().any()
    for few in (p < np.median(p), p >= np.median(p)):
        assert abs(rows["again"][few].mean() - p[few].mean()) < 3 * np.sqrt(0.25 / few.sum())
    again = drawn(PATIENTS, None, 4, gaps=True)[0]
    assert not again.equals(rows)


@pytest.mark.long
def test_methods_and_truth_are_printed_without_and_with_gaps(run_lab, tmp_path):
    (tmp_path / "cases.py").write_text(CASES)
    options = [
        "--laws",
        "clinic",
        "--tables",
        "1",
        "--methods",
        "learn",
        "--seconds",
        "1",
        "--processes",
        "1",
    ]
    printed = run_lab("answers-truth", "--clinic", str(tmp_path / "cases.py"), *options)
    for text in (
        "clinic, without gaps: 1 tables",
        "clinic, with gaps",
        "group-by",
        "logistic regression",
        "truth",
    ):
        assert text in printed
