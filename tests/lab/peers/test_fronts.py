"""Gaps between fronts."""

import numpy as np
import pytest

from lab.peers import fronts


def test_a_gap_is_the_hypervolume_that_a_front_lacks_of_the_union():
    good = np.array([[0.0, 10.0], [10.0, 0.0]])
    both = np.array([[5.0, 5.0]])
    gaps, union = fronts.gaps({"good": good, "both": both, "dominated": np.array([[10.0, 10.0]])})
    # scaled to [0, 1] with the reference 1.1: (0, 1), (1, 0) and (.5, .5)
    assert union == pytest.approx(0.11 * 2 - 0.01 + 0.6 * 0.6 - 2 * 0.06 + 0.01 - 0.0, abs=0.02)
    assert gaps["both"] == pytest.approx(union - 0.36)
    assert gaps["good"] == pytest.approx(union - 0.21)
    assert gaps["dominated"] == pytest.approx(union - 0.01)


def test_a_run_ends_at_the_whole_front():
    case = fronts.CASES["OneMax / ZeroMax l=25"]
    evaluations, _ = fronts.run_to_front(case.problem(), fronts.SETTINGS["generation"], 1)
    assert np.isfinite(evaluations)
    late = fronts.run_to_front(case.problem(), fronts.SETTINGS["generation"], 1, 1e-9)
    assert late == (np.inf, np.inf)


@pytest.mark.long
def test_fronts_and_single_networks_are_compared_on_the_same_rows():
    record = fronts.on_table({"table": "iris", "fold": 0, "folds": 3, "seconds": 0.5})
    assert record["best"] >= max(record[name] for name in ("single", "knee", "recommended", "best fit"))
    # the published options know no curves and no shapes
    assert record["best"] > record["best published"]
    assert record["volume"] > 1


@pytest.mark.long
def test_every_peer_is_compared_on_the_same_network():
    record = fronts.compare_on({"net": 1000, "n": 60, "seconds": 0.2})
    assert set(record["gaps"]) == {fronts.OURS, *fronts.PEERS}
    assert 0 <= min(record["gaps"].values()) <= max(record["gaps"].values()) <= record["union"]
    assert min(record["n_eval"].values()) > 0
