"""Tables as they are printed, and the statistics in their cells."""

import numpy as np
import pytest

from lab.runner import printing


def test_the_first_column_is_left_aligned_and_the_others_are_right_aligned(capsys):
    printing.print_sheet(printing.sheet("Heading", ("name", "n"), [("a", 1), ("long name", 1000)], "A note."))
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


def test_a_ratio_of_medians_has_an_interval():
    assert printing.ratio_of_medians([2.0, 2.0, 2.0], [4.0]) == (0.5, 0.5, 0.5)
    ratio, low, high = printing.ratio_of_medians([1.0, 2.0, 3.0], [1.0, 1.0])
    assert (ratio, low, high) == (2.0, 1.0, 3.0)
    assert printing.ratio_of_medians([np.inf, np.inf], [1.0])[0] == np.inf
    assert printing.with_interval((2.0, 1.0, 3.0)) == "2.00 [1.00, 3.00]"


def test_means_have_their_standard_error():
    assert printing.with_error([1.0, 3.0], 2) == "2.00 ± 1.00"
    mean, difference = printing.mean_and_difference(np.array([1.0, 3.0]), np.array([1.0, 1.0]))
    assert (mean, difference) == ("2.00", "+1.00 ± 1.00")
