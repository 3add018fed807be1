"""Spaces: what a search varies, and what a user's function gets by name."""

from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from wrong_input import untyped

from gomea_bn import (
    GOMEA,
    MOGOMEA,
    RVGOMEA,
    Categorical,
    Checkpoint,
    GomeaBnError,
    Integer,
    Permutation,
    Real,
    optimise,
)
from gomea_bn.problems.spaces import Space

SPACE: dict[str, Any] = {
    "kind": Categorical(["tree", "line"]),
    "rate": Real(1e-5, 1.0, log=True),
    "depth": Integer(1, 12, active_when={"kind": "tree"}),
    "width": Integer(2, 500, log=True),
    "shift": Real(-3, 3),
    "order": Permutation(4),
    "deep": Categorical([False, True], active_when={"depth": list(range(6, 13))}),
}


def cost(values: dict[str, Any]) -> float:
    steps = sum(abs(a - b) for a, b in zip(values["order"], values["order"][1:]))
    kind = abs(values["depth"] - 9) + (not values.get("deep", True)) if values["kind"] == "tree" else 5
    return (np.log10(values["rate"]) + 3) ** 2 + abs(values["width"] - 300) / 50 + steps + kind


values_of_space = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["tree", "line"]),
        "rate": st.floats(1e-5, 1.0),
        "depth": st.integers(1, 12),
        "width": st.integers(2, 500),
        "shift": st.floats(-3, 3),
        "order": st.permutations(range(4)),
        "deep": st.booleans(),
    }
)


@given(values_of_space)
def test_numbers_stand_for_the_values_that_they_were_made_of(values: dict[str, Any]) -> None:
    again = Space(SPACE).values(np.array(Space(SPACE).numbers(values)))
    wanted = dict(values)
    if wanted["kind"] == "line":
        del wanted["depth"], wanted["deep"]
    elif wanted["depth"] < 6:
        del wanted["deep"]
    assert again.pop("rate") == pytest.approx(wanted.pop("rate"))
    assert again == wanted


@given(st.integers(0, 2**32 - 1))
def test_all_numbers_within_the_bounds_stand_for_allowed_values(seed: int) -> None:
    space = Space(SPACE)
    generator = np.random.default_rng(seed)
    assert space.bounds is not None
    lower, upper = (np.array(ends) for ends in space.bounds)
    x = lower + (upper - lower) * generator.integers(0, 2, len(lower))
    sizes = np.array(space.alphabet)
    x[sizes > 0] = generator.integers(0, sizes[sizes > 0])
    values = space.values(x)
    assert space.numbers(values)
    assert ("depth" in values) == (values["kind"] == "tree")


def test_the_best_solution_comes_back_by_name() -> None:
    result = optimise(cost, space=SPACE, random_state=1, max_evaluations=15_000)
    values = result.values
    assert cost(values) == result.F[0] < 3.5
    assert values["kind"] == "tree"
    assert values["order"] in ([0, 1, 2, 3], [3, 2, 1, 0])
    assert str(values["width"]) in repr(result)


def test_given_solutions_come_first() -> None:
    best = {
        "kind": "tree",
        "rate": 1e-3,
        "depth": 9,
        "width": 300,
        "shift": 0.0,
        "order": [0, 1, 2, 3],
        "deep": True,
    }
    result = optimise(cost, space=SPACE, random_state=1, max_evaluations=1, initial=best)
    assert result.F[0] == pytest.approx(3.0)
    with pytest.raises(GomeaBnError, match="initial: 'depth' must be an integer from 1 to 12, got 13"):
        optimise(cost, space=SPACE, max_evaluations=1, initial=[{**best, "depth": 13}])
    with pytest.raises(GomeaBnError, match="'size', which is no variable"):
        optimise(cost, space=SPACE, max_evaluations=1, initial={"size": 1})


@pytest.mark.parametrize(
    ("algorithm", "space"),
    [
        (GOMEA(), {"a": Integer(3, 6), "b": Categorical(["x", "z"])}),
        (RVGOMEA(), {"a": Integer(3, 6), "c": Real(0, 1)}),
    ],
)
def test_asked_solutions_have_names(algorithm: Any, space: dict[str, Any]) -> None:
    seen = []
    run = algorithm.start(space, random_state=1, max_evaluations=200)
    while not run.should_stop():
        solutions = run.ask(5)
        assert 1 <= len(solutions) <= 5
        seen += solutions
        run.tell([abs(values["a"] - 4) + values.get("c", 0.0) for values in solutions])
    assert run.result().values["a"] == 4
    assert run.result().F[0] == min(abs(v["a"] - 4) + v.get("c", 0.0) for v in seen)
    assert len({repr(values) for values in seen}) == len(seen)


def test_equal_values_are_evaluated_once() -> None:
    calls: list[str] = []

    def noting(values: dict[str, Any]) -> float:
        calls.append(repr(values))
        return float(values["order"][0])

    result = optimise(
        noting, space={"order": Permutation(3)}, cache=True, random_state=1, max_evaluations=300
    )
    assert len(calls) == len(set(calls)) <= 6
    assert result.n_eval == 300


def test_several_objectives_and_batches_take_names_too() -> None:
    class Trade:
        space: ClassVar[dict[str, Any]] = {"x": Real(0, 1), "n": Integer(0, 3)}
        n_objectives = 2

        def evaluate_batch(self, solutions: list[dict[str, Any]]) -> Any:
            return [[v["x"] + v["n"], (1 - v["x"]) + 3 - v["n"]] for v in solutions]

    result = optimise(Trade(), random_state=1, max_evaluations=600)
    assert len(result.values) == len(result.X)
    for values, f in zip(result.values, result.F, strict=True):
        assert f[0] == pytest.approx(values["x"] + values["n"])
    run = MOGOMEA().start(Trade(), random_state=1, max_evaluations=100)
    assert set(run.ask()[0]) == {"x", "n"}
    run.close()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Real(1, 0), "Real: low must be below high"),
        (lambda: Real(0, 1, log=True), "low must be above 0"),
        (lambda: Integer(1, untyped(2.5)), "must be integers"),
        (lambda: Categorical([]), "at least one value"),
        (lambda: Categorical("ab"), "must be a list of values"),
        (lambda: Permutation(0), "Permutation: n"),
        (lambda: Space({}), "must have a variable"),
        (lambda: Space({"a": untyped(3)}), "'a' must be a Real, Integer"),
        (
            lambda: Space({"a": Real(0, 1, active_when={"b": 1})}),
            "active by 'b', which must be a variable before",
        ),
        (lambda: optimise(untyped(3), space=SPACE, max_evaluations=1), "space is for a function"),
        (lambda: optimise(len, untyped(SPACE), max_evaluations=1), "got a mapping; write space="),
    ],
)
def test_a_space_that_cannot_be_used_is_named(make: Any, message: str) -> None:
    with pytest.raises(GomeaBnError, match=message):
        make()


def test_choices_whose_texts_are_equal_are_evaluated_apart():
    weights = [np.where(np.arange(2000) == 1000, value, 0.0) for value in (5.0, 1.0, 3.0)]
    assert len({repr(weight) for weight in weights}) == 1
    space = {"weight": Categorical(weights), "depth": Integer(1, 30, active_when={"on": True})}
    keys = {Space({"on": Categorical([False, True]), **space}).key(np.array([0, k, 2])) for k in range(3)}
    assert len(keys) == 3
    result = optimise(
        lambda values: float(values["weight"][1000]),
        space={"on": Categorical([False, True]), **space},
        random_state=1,
        max_evaluations=60,
        cache=True,
    )
    assert result.F == [1.0]


@pytest.mark.parametrize(
    "other",
    [{"x": Real(-2, 2), "k": Categorical(["b", "a"])}, {"y": Real(-2, 2), "k": Categorical(["a", "b"])}],
)
def test_a_search_over_another_space_does_not_go_on(tmp_path, other):
    space = {"x": Real(-2, 2), "k": Categorical(["a", "b"])}
    options: dict[str, Any] = {"random_state": 1, "max_evaluations": 60}
    optimise(lambda values: values["x"], space=space, checkpoint=tmp_path / "run", **options)
    with pytest.raises(GomeaBnError, match="belongs to another run"):
        optimise(
            lambda values: 0.0, space=other, checkpoint=Checkpoint(tmp_path / "run", resume=True), **options
        )


def test_conditions_are_values_that_the_other_variable_can_have():
    first = {"k": Categorical(["a", "b", (1, 2)])}
    for wanted in ("a", {"a", "b"}, ["a"], (1, 2)):
        Space({**first, "x": Real(0, 1, active_when={"k": wanted})})
    pair = Space({**first, "x": Real(0, 1, active_when={"k": (1, 2)})})
    assert pair.values(np.array([2.0, 0.5])) == {"k": (1, 2), "x": 0.5}
    condition: Any
    for condition, message in (
        ({"k": "A"}, "'x' is active by 'k' = 'A', which must be one of"),
        (["k"], "active_when of 'x'"),
    ):
        with pytest.raises(GomeaBnError, match=message):
            Space({**first, "x": Real(0, 1, active_when=condition)})
