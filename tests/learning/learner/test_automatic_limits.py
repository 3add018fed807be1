"""The limits on bins and parents that "auto" stands for."""

from __future__ import annotations

import pytest

from gomea_bn.learning.options import LearnerParameters, LearningOptions, automatic_bins, automatic_indegree


@pytest.mark.parametrize(
    ("n_rows", "n_bins"),
    [(10, 10), (200, 10), (1_000, 15), (10_000, 32), (27_000, 45), (50_000, 55), (64_000, 60), (10**7, 60)],
)
def test_bins_grow_with_the_cube_root_of_the_rows(n_rows: int, n_bins: int) -> None:
    assert automatic_bins(n_rows) == n_bins


@pytest.mark.parametrize(
    ("n_rows", "n_parents"),
    [(10, 3), (32, 3), (64, 4), (500, 6), (2_000, 8), (8_192, 11), (16_384, 12), (10**7, 12)],
)
def test_parents_grow_with_the_logarithm_of_the_rows(n_rows: int, n_parents: int) -> None:
    assert automatic_indegree(n_rows) == n_parents


def test_only_auto_depends_on_the_rows() -> None:
    automatic = LearningOptions.of(LearnerParameters(), 2_000)
    assert (automatic.max_bins, automatic.max_indegree) == (19, 8)
    fixed = LearningOptions.of(LearnerParameters(max_bins=7, max_indegree=None), 2_000)
    assert (fixed.max_bins, fixed.max_indegree) == (7, None)
