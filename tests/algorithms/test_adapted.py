"""Groups of interacting variables, and their adapted distributions."""

from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import special_ortho_group

from gomea_bn import RVGOMEA, optimise
from gomea_bn.algorithms.adapted import Adapted, interacting_groups


class Rotated:
    """Ellipsoids over consecutive blocks, each in axes of its own."""

    bounds = (-5.0, 5.0)

    def __init__(self, n_blocks: int, size: int) -> None:
        self.n_variables, self.size = n_blocks * size, size
        self.axes = [
            special_ortho_group.rvs(size, random_state=b) if size > 1 else np.eye(1) for b in range(n_blocks)
        ]
        self.lengths = 10.0 ** (4 * np.arange(size) / max(size - 1, 1))

    def evaluate(self, x: NDArray[Any]) -> float:
        blocks = (x - 1).reshape(len(self.axes), self.size)
        return float(
            sum(
                (self.lengths * (axes @ block) ** 2).sum()
                for axes, block in zip(self.axes, blocks, strict=True)
            )
        )


@given(st.lists(st.integers(1, 4), min_size=1, max_size=6), st.integers(0, 2**31))
def test_groups_are_the_blocks_of_the_objective(sizes: list[int], seed: int) -> None:
    generator = np.random.default_rng(seed)
    order = generator.permutation(sum(sizes))
    blocks = np.split(order, np.cumsum(sizes)[:-1])
    n_asked = 0

    def objectives_of(solutions: NDArray[np.float64]) -> NDArray[np.float64]:
        nonlocal n_asked
        n_asked += len(solutions)
        # chains and sums of squares of each block
        return np.array([sum((x[b].sum() + x[b[0]]) ** 2 for b in blocks) for x in solutions])

    x, y = generator.uniform(-2, 2, (2, len(order)))
    groups = interacting_groups(objectives_of, x, y, generator)
    assert sorted(map(tuple, groups)) == sorted(tuple(np.sort(b)) for b in blocks)
    n = len(order)
    assert n_asked <= 2 * n + 2 + n * (n - 1) // 2
    if max(sizes) == 1:
        assert n_asked == 2 * n + 2


@pytest.mark.parametrize(
    ("problem", "most"), [(Rotated(1, 10), 4_500), (Rotated(4, 3), 4_800), (Rotated(10, 1), 3_000)]
)
def test_rotated_ellipsoids_are_solved_by_default(problem: Rotated, most: int) -> None:
    n_eval = [
        optimise(problem, random_state=seed, target=1e-8, max_evaluations=10 * most).n_eval
        for seed in range(3)
    ]
    assert np.median(n_eval) <= most


def test_a_distribution_takes_on_the_shape_of_the_objective() -> None:
    generator = np.random.default_rng(1)
    lengths = np.array([1.0, 100.0])
    axes = np.array([[3.0, 4.0], [-4.0, 3.0]]) / 5
    adapted = Adapted(np.arange(2), np.array([3.0, -2.0]), np.array([4.0, 4.0]))
    for _ in range(60):
        rows = adapted.draw(12, np.full(2, -9.0), np.full(2, 9.0), generator)
        values = (lengths * (rows @ axes.T) ** 2).sum(axis=1)
        order = np.argsort(values)
        adapted.adapt(rows[order], values[order[0]])
    scaled = np.linalg.inv(adapted.covariance)
    scaled /= np.trace(scaled)
    wanted = axes.T @ np.diag(lengths) @ axes
    np.testing.assert_allclose(scaled, wanted / np.trace(wanted), atol=0.06)


def test_nothing_leaves_the_bounds_and_a_corner_is_reached() -> None:
    seen: list[NDArray[Any]] = []

    class Corner:
        n_variables, bounds = 4, (-1.0, 2.0)

        def evaluate(self, x: NDArray[Any]) -> float:
            seen.append(x.copy())
            return float(((x - 3) ** 2).sum() + (x[0] - x[1]) ** 2)

    result = optimise(Corner(), random_state=1, max_evaluations=2_000)
    np.testing.assert_array_equal(result.X, 2.0)
    assert np.min(seen) >= -1.0
    assert np.max(seen) <= 2.0


def test_constraints_and_few_evaluations_leave_one_group() -> None:
    class Half(Rotated):
        def evaluate(self, x: NDArray[Any]) -> Any:
            return super().evaluate(x), max(0.0, 2.0 - x[0])

    result = optimise(Half(3, 2), random_state=1, max_evaluations=8_000)
    assert result.feasible
    assert result.X[0] == pytest.approx(2.0, abs=1e-3)
    for n_eval in (1, 9, 40, 80, 95, 120):
        assert optimise(Rotated(3, 2), random_state=1, max_evaluations=n_eval).n_eval == n_eval


def test_interactions_of_the_problem_take_no_evaluations() -> None:
    class Stated(Rotated):
        interactions: ClassVar[list[tuple[int, int]]] = [(2 * b, 2 * b + 1) for b in range(4)]

    run = RVGOMEA().start(Stated(4, 2), random_state=1)
    first = run.ask()
    run.tell([Stated(4, 2).evaluate(x) for x in first])
    second = run.ask()
    # the first generation changes one block of the best solution
    changed = (second != first[np.argmin([Stated(4, 2).evaluate(x) for x in first])]).any(axis=0)
    assert changed.sum() == 2
    run.close()
