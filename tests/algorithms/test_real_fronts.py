"""Fronts of real and mixed variables."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from gomea_bn import GomeaBnError, optimise
from gomea_bn.algorithms.mogomea import survivors


class Squares:
    """Squared distances to two points, whose front is the line between them."""

    n_variables, bounds, n_objectives = 5, (-2.0, 2.0), 2

    def evaluate(self, x: NDArray[Any]) -> list[float]:
        return [float(((x - end) ** 2).sum()) for end in (0.0, 1.0)]


class Kinds:
    """A kind that adds to one objective what it takes from the other one."""

    n_variables, alphabet, bounds, n_objectives = 4, [3, 0, 0, 0], (0.0, 1.0), 2

    def evaluate(self, x: NDArray[Any]) -> Any:
        violation = max(0.0, 0.25 - x[1])
        return [float(x[0] + x[1:].sum()), float(2 - x[0] + (1 - x[1:]).sum())], violation


def test_the_front_lies_on_the_line_between_the_optima() -> None:
    result = optimise(Squares(), random_state=1, max_evaluations=6_000)
    roots = np.sqrt(result.F).sum(axis=1)
    assert len(result.F) > 50
    # the sum of the distances to both ends is that between them
    assert np.median(roots) == pytest.approx(np.sqrt(5), rel=0.02)
    assert result.F.min(axis=0).max() < 0.05
    for x, f in zip(result.X, result.F, strict=True):
        assert Squares().evaluate(x) == pytest.approx(f, rel=1e-11)
    assert result.n_eval == 6_000


def test_mixed_fronts_are_feasible_and_have_whole_numbers() -> None:
    result = optimise(Kinds(), random_state=2, max_evaluations=3_000)
    assert set(result.X[:, 0]) == {0.0, 1.0, 2.0}
    assert result.X[:, 1].min() >= 0.25
    np.testing.assert_allclose(result.F.sum(axis=1), 5.0)


def test_without_a_feasible_solution_the_nearest_one_is_returned() -> None:
    class Never(Squares):
        def evaluate(self, x: NDArray[Any]) -> Any:
            return super().evaluate(x), 1.0 + float((x**2).sum())

    result = optimise(Never(), random_state=1, max_evaluations=2_000)
    assert result.nearest is not None
    assert result.nearest.violation == pytest.approx(1.0, abs=0.1)
    with pytest.raises(GomeaBnError, match="target is for one objective"):
        optimise(Squares(), target=0.0, max_evaluations=100)


def test_an_error_keeps_the_front_of_its_generation() -> None:
    class Failing(Squares):
        n_calls = 0

        def evaluate(self, x: NDArray[Any]) -> list[float]:
            self.n_calls += 1
            if self.n_calls == 30:
                raise RuntimeError("out of memory")
            return super().evaluate(x)

    with pytest.raises(RuntimeError, match="out of memory") as caught:
        optimise(Failing(), random_state=1, max_evaluations=2_000)
    assert "front of" in caught.value.__notes__[0]


@given(st.integers(2, 30), st.integers(1, 3), st.integers(0, 2**31))
def test_survivors_are_taken_layer_by_layer(k: int, m: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    objectives = generator.integers(0, 6, (k, m)).astype(float)
    violations = np.maximum(generator.integers(-3, 3, k), 0).astype(float)
    n = int(generator.integers(1, k + 1))
    rows = survivors(objectives, violations, n)
    assert len(set(rows.tolist())) == n

    def dominates(a: int, b: int) -> bool:
        if violations[a] != violations[b]:
            return bool(violations[a] < violations[b])
        return bool((objectives[a] <= objectives[b]).all() and (objectives[a] < objectives[b]).any())

    # whatever dominates a survivor survives too
    for b in rows:
        assert all(a in rows for a in range(k) if dominates(a, b))
