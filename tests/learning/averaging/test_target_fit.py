"""Parents and effects of a target that left-out rows choose."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray

import gomea_bn.learning.averaging.target_fit as of_targets
from gomea_bn import read_table
from gomea_bn.data import Table
from gomea_bn.learning.averaging import Member, line_scale
from gomea_bn.learning.averaging.target_fit import (
    LevelOdds,
    TargetRules,
    _averaged_logs,
    _Choice,
    _products,
    _telling,
    _terms_of,
    chosen_parents,
    fitted_target,
)
from gomea_bn.network.conditionals import ColumnFacts, Columns, FamilyLogit, ProbabilityScale, log_levels
from gomea_bn.problems.cuts import table_shapes
from gomea_bn.runtime import FitClock
from gomea_bn.runtime.fit_clock import PARENTS


def weak_rows(n_rows: int, n_levels: int, seed: int = 0) -> pd.DataFrame:
    """Return a class with weak effects of a, b and g, and columns that say nothing of it."""
    r = np.random.default_rng(seed)
    frame = pd.DataFrame({name: r.normal(size=n_rows) for name in ("a", "b", "n1", "n2", "n3")})
    frame["g"], frame["n4"] = (np.array(["p", "q", "r"])[r.integers(0, 3, n_rows)] for _ in range(2))
    index = 0.6 * frame["a"] - 0.5 * frame["b"] + 0.8 * (frame["g"] == "q") + r.logistic(size=n_rows)
    codes = np.searchsorted(np.linspace(-0.5, 1.0, n_levels - 1), index).tolist()
    return frame.assign(y=pd.Categorical([f"k{k}" for k in codes], [f"k{k}" for k in range(n_levels)]))


def scales_of(table: Table) -> dict[str, ProbabilityScale]:
    shapes = table_shapes(table)
    return {
        column.name: ProbabilityScale(line_scale(column.values, shapes[column.name].shape), table.n_rows)
        for column in table.columns
        if column.levels is None
    }


def levels_of(table: Table) -> dict[str, int]:
    return {column.name: len(column.levels) for column in table.columns if column.levels is not None}


def columns_of(table: Table) -> Columns:
    return Columns({column.name: column.values for column in table.columns})


def fitted(table: Table, scales: dict[str, ProbabilityScale]) -> Member:
    member = fitted_target("y", ["a", "b", "g"], columns_of(table), scales, levels_of(table))
    assert member is not None
    return member


def log_probabilities(
    member: Member, table: Table, scales: dict[str, ProbabilityScale]
) -> NDArray[np.float64]:
    facts = ColumnFacts({}, {}, levels_of(table), {False: scales, True: {}})
    masses = member.fitted.given("y", facts).masses(None, columns_of(table))
    return np.asarray(np.log(masses[np.arange(table.n_rows), table.columns[table.names.index("y")].values]))


@pytest.mark.parametrize("n_levels", [2, 3])
def test_rows_are_left_out_as_by_fits_without_them(n_levels: int) -> None:
    table = read_table(weak_rows(400, n_levels))
    scales = scales_of(table)
    member = fitted(table, scales)
    own = log_probabilities(member, table, scales)
    errors = []
    for row in range(0, 400, 50):
        rest = table.take(np.delete(np.arange(400), row))
        left_out = log_probabilities(fitted(rest, scales), table, scales)[row]
        errors.append(abs(member.left_out[row] - left_out))
    # a row may move the widths
    assert np.median(errors) < 0.003
    assert max(errors) < 0.1
    # rows are likelier under a fit that has seen them
    assert member.left_out.mean() < own.mean() - 0.002


@pytest.mark.parametrize("n_levels", [2, 4])
def test_weak_parents_stay_and_others_leave(n_levels: int) -> None:
    table = read_table(weak_rows(3_000, n_levels))
    known = {name: np.ones(table.n_rows, np.bool_) for name in table.names}
    others = [name for name in table.names if name != "y"]
    chosen = chosen_parents("y", table, known, scales_of(table), TargetRules(tuple(others)))
    assert set(list(chosen)[:3]) == {"a", "b", "g"}
    assert len(chosen) <= 5
    assert all(gain > 2 for gain in list(chosen.values())[:3])
    few = chosen_parents("y", table, known, scales_of(table), TargetRules(tuple(others), ("n4",), 2))
    assert "n4" in few
    assert len(few) == 2


@pytest.mark.parametrize("kind", ["levels", "classes", "numbers"])
def test_parents_that_act_by_their_product_alone_are_found(kind: str) -> None:
    r = np.random.default_rng(3)
    values = r.normal(size=(400, 6)) if kind != "levels" else r.integers(0, 2, (400, 6))
    frame = pd.DataFrame(
        {f"x{j}": values[:, j] if kind != "levels" else values[:, j].astype(str) for j in range(6)}
    )
    signs = np.where(values[:, 1] > 0, 1, -1) * np.where(values[:, 4] > 0, 1, -1)
    product = signs + r.normal(scale=0.5, size=400) if kind == "levels" else values[:, 1] * values[:, 4]
    noise = r.normal(scale=0.4, size=400)
    frame["y"] = product + noise if kind == "numbers" else np.where(product + noise > 0, "a", "b")
    of_noise = frame.assign(y=frame["y"].sample(frac=1, random_state=0).to_numpy())
    for rows, expected in ((frame, {"x1", "x4"}), (of_noise, set())):
        table = read_table(rows)
        known = {name: np.ones(table.n_rows, np.bool_) for name in table.names}
        for most, found in ((np.inf, expected), (1, set())):
            rules = TargetRules(tuple(table.names[:-1]), (), most)
            chosen = chosen_parents("y", table, known, scales_of(table), rules)
            # a column of chance may stay
            assert found <= set(chosen)
            assert len(chosen) <= min(len(found) + 2, most)
            assert not found or sum(chosen[name] for name in found) > 10


@pytest.mark.parametrize("n_levels", [2, 4])
def test_a_late_choice_keeps_what_tells_most_by_itself(
    n_levels: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = read_table(weak_rows(3_000, n_levels))
    known = {name: np.ones(table.n_rows, np.bool_) for name in table.names}
    others = tuple(name for name in table.names if name != "y")
    clock = FitClock(1e-9)
    chosen = chosen_parents("y", table, known, scales_of(table), TargetRules(others), clock)
    assert len(chosen) == 1
    assert next(iter(chosen)) in {"a", "b", "g"}
    assert clock.cut_short == [PARENTS]
    kept = chosen_parents("y", table, known, scales_of(table), TargetRules(others, ("n4",)), FitClock(1e-9))
    assert list(kept) == ["n4"]
    # seconds for six lines and amounts of 1,000 rows in fifty fits, which are those with effects
    indices = 1 if n_levels == 2 else n_levels
    products = indices * (indices + 1) * (6 + 2) ** 2 * 1_000 * 50
    monkeypatch.setattr(of_targets, "_SECONDS_OF_PRODUCT", 1e4 / products)
    clock = FitClock(2.05e4)
    some = chosen_parents("y", table, known, scales_of(table), TargetRules(others), clock)
    assert 1 < len(some) < len(others)
    assert {"a", "b"} <= set(some)
    assert clock.cut_short == [PARENTS]


def test_a_choice_that_becomes_late_keeps_to_the_limit_on_parents(monkeypatch: pytest.MonkeyPatch) -> None:
    table = read_table(weak_rows(1_000, 2))
    known = {name: np.ones(table.n_rows, np.bool_) for name in table.names}
    others = tuple(name for name in table.names if name != "y")
    # all columns are affordable, and then time is up at once
    monkeypatch.setattr(FitClock, "late", lambda clock, name: lambda: True)
    sizes: list[int] = []
    fit = LevelOdds.fit

    def counted(self: LevelOdds, design: NDArray[np.float64], precisions: NDArray[np.float64]) -> Any:
        sizes.append(design.shape[1])
        return fit(self, design, precisions)

    monkeypatch.setattr(LevelOdds, "fit", counted)
    chosen = chosen_parents("y", table, known, scales_of(table), TargetRules(others, (), 2))
    assert len(chosen) == 2
    assert set(chosen) < {"a", "b", "g"}
    assert len(sizes) == 2


def test_a_choice_ends_by_its_work_whatever_the_clock_says(monkeypatch: pytest.MonkeyPatch) -> None:
    table = read_table(weak_rows(400, 2))
    known = {name: np.ones(table.n_rows, np.bool_) for name in table.names}
    others = tuple(name for name in table.names if name != "y")
    targets: list[LevelOdds] = []
    fit = LevelOdds.fit

    def seen(self: LevelOdds, design: NDArray[np.float64], precisions: NDArray[np.float64]) -> Any:
        targets.append(self)
        return fit(self, design, precisions)

    monkeypatch.setattr(LevelOdds, "fit", seen)
    chosen_parents("y", table, known, scales_of(table), TargetRules(others))
    n_fits, work = len(targets), targets[-1].work
    of_clocks, numbers = [], []
    # all columns and rows are affordable
    monkeypatch.setattr(of_targets, "_N_FITS", 1)
    monkeypatch.setattr(of_targets, "_WORK", (work / 4, work / 4))
    for clock in (FitClock(), FitClock(1e6)):
        targets.clear()
        of_clocks.append(chosen_parents("y", table, known, scales_of(table), TargetRules(others), clock))
        assert not clock.cut_short
        numbers.append(len(targets))
        # the last fit may exceed it
        assert work / 4 < targets[-1].work < work / 2
    assert of_clocks[0] == of_clocks[1]
    assert numbers[0] == numbers[1] < n_fits
    assert {"a", "b"} <= set(of_clocks[0])


def test_all_columns_may_tell_apart_ten_levels() -> None:
    r = np.random.default_rng(4)
    levels = r.integers(0, 10, 1_200)
    places = 1.5 * r.normal(size=(10, 12))[levels] + r.normal(size=(1_200, 12))
    frame = pd.DataFrame(places, columns=[f"x{k}" for k in range(12)])
    table = read_table(frame.assign(y=[f"k{k}" for k in levels]))
    known = {name: np.ones(table.n_rows, np.bool_) for name in table.names}
    # the work of all functions of twelve columns is too much
    chosen = chosen_parents("y", table, known, scales_of(table), TargetRules(table.names[:-1]))
    assert set(chosen) == set(frame)


def test_columns_that_tell_most_have_curves_where_few_can() -> None:
    table = read_table(weak_rows(400, 2))
    scales, n_levels = scales_of(table), levels_of(table)
    everything = np.ones(table.n_rows, np.bool_)
    terms = {
        name: of
        for name in table.names
        if name != "y" and (of := _terms_of(name, columns_of(table), scales, n_levels, (), everything))
    }
    followed = LevelOdds(np.asarray(table.columns[-1].values, np.int64), 2)
    n_plain = 5 + 2 * 3
    for n_further, with_curves in ((0, set()), (4, {"a"}), (20, {"a", "b", "n1", "n2", "n3"})):
        kept = _telling(followed, terms, (), followed.products(n_plain + n_further))
        assert set(kept) == set(terms)
        assert {name for name, of in kept.items() if of.rows.shape[1] == 5} == with_curves
    assert list(_telling(followed, terms, ("n1",), 0.0)) == ["n1"]
    few = _telling(followed, terms, (), followed.products(4))
    assert {name: of.rows.shape[1] for name, of in few.items()} == {"a": 1, "b": 1}


def late_after(questions: Iterator[int], n_early: int) -> bool:
    return next(questions) >= n_early


@pytest.mark.parametrize("most", [np.inf, 10.0, 2.0])
def test_a_choice_may_become_late_at_any_moment(most: float) -> None:
    table = read_table(weak_rows(300, 2))
    columns, scales, levels = columns_of(table), scales_of(table), levels_of(table)
    known = np.ones(table.n_rows, np.bool_)
    terms = {name: _terms_of(name, columns, scales, levels, (), known) for name in table.names if name != "y"}
    target = LevelOdds(np.asarray(columns["y"], np.int64), 2)
    choice = _Choice(target, {name: of for name, of in terms.items() if of is not None})
    questions = itertools.count()
    assert len(choice.path((), most, lambda: next(questions) < 0)[0]) == len(terms) + 1
    for n_early in range(next(questions)):
        questions = itertools.count()
        found, _ = choice.path((), most, partial(late_after, questions, n_early))
        sizes = [len(names) for names, _ in found]
        assert sizes[0] == len(terms)
        assert sizes[-1] <= most
        # one leaves at a time, and then all that are too many
        steps = -np.diff(sizes)
        assert (steps[:-1] == 1).all()
        assert (steps[-1:] == 1).all() or sizes[-1] == most


def test_units_and_row_order_change_no_probability() -> None:
    frame = weak_rows(400, 3)
    table = read_table(frame)
    moved = frame.assign(a=np.exp(frame["a"]), b=5 - 3 * frame["b"]).sample(frac=1, random_state=1)
    other = read_table(moved.reset_index(drop=True))
    logs = [log_probabilities(fitted(t, scales_of(t)), t, scales_of(t)) for t in (table, other)]
    assert_allclose(logs[0][moved.index], logs[1], atol=0.1)
    assert np.abs(logs[0][moved.index] - logs[1]).mean() < 0.01


def test_cells_that_are_not_known_count_nothing() -> None:
    frame = weak_rows(3_000, 2)
    hidden = np.random.default_rng(5).random(3_000) < 0.5
    # what stands in these cells would tell the class
    frame.loc[hidden, "n1"] = np.where(frame["y"][hidden] == "k1", 1.0, -1.0)
    table = read_table(frame)
    known = {name: np.ones(table.n_rows, np.bool_) for name in table.names}
    others = [name for name in table.names if name != "y"]
    seen = chosen_parents("y", table, known, scales_of(table), TargetRules(tuple(others)))
    assert next(iter(seen)) == "n1"
    unseen = chosen_parents(
        "y", table, {**known, "n1": ~hidden}, scales_of(table), TargetRules(tuple(others))
    )
    assert unseen.get("n1", 0.0) < 5


def interacting_rows(n_rows: int, seed: int, n_levels: int = 2) -> tuple[pd.DataFrame, NDArray[np.float64]]:
    """Return a class that follows a in one level of g alone, and h the other way round in it, with P(class)."""
    r = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": r.normal(size=n_rows), "b": r.normal(size=n_rows)})
    frame["g"], frame["h"] = (np.array(list(of))[r.integers(0, len(of), n_rows)] for of in ("pq", "rst"))
    in_q = frame["g"] == "q"
    index = 0.5 * frame["b"] + 1.5 * frame["a"] * in_q + (frame["h"] == "s") * np.where(in_q, 1.5, -1.5)
    p = 1 / (1 + np.exp(-np.column_stack([np.zeros(n_rows), index, -index])[:, :n_levels]))
    p /= p.sum(axis=1, keepdims=True)
    codes = (r.random(n_rows)[:, None] > p.cumsum(axis=1)).sum(axis=1)
    levels = [f"k{k}" for k in range(n_levels)]
    return frame.assign(y=pd.Categorical([levels[code] for code in codes.tolist()], levels)), p


@pytest.mark.parametrize("n_levels", [2, 3])
def test_products_of_parents_enter_where_left_out_rows_need_them(n_levels: int) -> None:
    table = read_table(interacting_rows(2_000, 0, n_levels)[0])
    scales = scales_of(table)
    member = fitted_target("y", ["a", "b", "g", "h"], columns_of(table), scales, levels_of(table))
    assert member is not None
    assert isinstance(member.fitted, FamilyLogit)
    terms = member.fitted.terms
    pairs = [{terms.factors[i].of[0], terms.factors[j].of[0]} for i, j in terms.products]
    assert {"a", "g"} in pairs
    assert {"g", "h"} in pairs
    assert len(pairs) <= 3
    frame, p = interacting_rows(4_000, 1, n_levels)
    new = replace(table, columns=read_table(frame).columns, n_rows=4_000)
    codes = frame["y"].cat.codes.to_numpy()
    loss = -log_probabilities(member, new, scales).mean()
    of_truth = -np.log(p[np.arange(4_000), codes]).mean()
    assert loss < of_truth + 0.015
    # effects of single parents lose more
    linear = pytest.importorskip("sklearn.linear_model")
    rows, others = (pd.get_dummies(of.drop(columns="y")) for of in (table.to_frame(), frame))
    model = linear.LogisticRegression().fit(rows.to_numpy(float), table.to_frame()["y"])
    alone = np.log(model.predict_proba(others[rows.columns].to_numpy(float)))[np.arange(4_000), codes].mean()
    assert -alone > loss + 0.01
    # the rows of the fit, left out, tell what new ones lose
    assert -member.left_out.mean() == pytest.approx(loss, abs=0.025)


def ring_rows(n_rows: int, seed: int, n_levels: int) -> tuple[pd.DataFrame, NDArray[np.float64]]:
    """Return a class that two numbers decide together, with P(class); the product of their lines tells nothing."""
    r = np.random.default_rng(seed)
    frame = pd.DataFrame({name: r.normal(size=n_rows) for name in ("a", "b", "c")})
    index = 2.0 * np.clip(frame["a"] ** 2 - 1, -1, 2) * np.clip(frame["b"] ** 2 - 1, -1, 2)
    p = 1 / (1 + np.exp(-np.column_stack([np.zeros(n_rows), index, -index])[:, :n_levels]))
    p /= p.sum(axis=1, keepdims=True)
    codes = (r.random(n_rows)[:, None] > p.cumsum(axis=1)).sum(axis=1)
    levels = [f"k{k}" for k in range(n_levels)]
    return frame.assign(y=pd.Categorical([levels[code] for code in codes.tolist()], levels)), p


@pytest.mark.parametrize("n_levels", [2, 3])
def test_curves_of_two_parents_are_multiplied_where_lines_do_not_do(n_levels: int) -> None:
    table = read_table(ring_rows(2_000, 0, n_levels)[0])
    scales = scales_of(table)
    member = fitted_target("y", ["a", "b", "c"], columns_of(table), scales, levels_of(table))
    assert member is not None
    assert isinstance(member.fitted, FamilyLogit)
    terms = member.fitted.terms
    sizes = {
        (terms.factors[i].of[0], terms.factors[j].of[0]): (terms.factors[i].size, terms.factors[j].size)
        for i, j in terms.products
    }
    assert sizes.get(("a", "b")) == (5, 5)
    frame, p = ring_rows(4_000, 1, n_levels)
    new = replace(table, columns=read_table(frame).columns, n_rows=4_000)
    codes = frame["y"].cat.codes.to_numpy()
    loss = -log_probabilities(member, new, scales).mean()
    assert loss < -np.log(p[np.arange(4_000), codes]).mean() + 0.03
    # the rows of the fit, left out, tell what new ones lose
    assert -member.left_out.mean() == pytest.approx(loss, abs=0.03)


@pytest.mark.parametrize("n_levels", [2, 3])
def test_a_promise_is_about_what_left_out_rows_gain(n_levels: int) -> None:
    table = read_table(interacting_rows(2_000, 0, n_levels)[0])
    columns, scales, levels = columns_of(table), scales_of(table), levels_of(table)
    everything = np.ones(table.n_rows, np.bool_)
    found = {name: _terms_of(name, columns, scales, levels, (), everything) for name in ("a", "b", "g", "h")}
    terms = {name: of for name, of in found.items() if of is not None}
    followed, widths = LevelOdds(np.asarray(columns["y"], np.int64), n_levels), (3, 9, 3, 3)
    choice = _Choice(followed, terms)
    fit, (design, precisions, _) = choice.fit(list(terms), widths), choice.design(list(terms), widths)
    assert fit.logs is not None
    products = _products(terms)
    promises = followed.promises(design, precisions, fit.logs, products)
    gains = {}
    for key, product in products.items():
        wider = {**terms, key: product}
        of_key = [
            _Choice(followed, wider).fit(list(wider), (*widths[:3], number)).loss for number in range(9)
        ]
        gains[key] = fit.loss - min(of_key)
    # two pairs of columns, with curves and without, and no other promises anything
    strong = [key for key in products if gains[key] > 10]
    assert 2 <= len(strong) <= 5
    for key, (promise, _) in promises.items():
        assert promise == pytest.approx(gains[key], abs=3, rel=0.35)


@pytest.mark.parametrize("law", ["line", "bell"])
def test_levels_in_their_order_have_a_line_next_to_amounts(law: str) -> None:
    def rows(n_rows: int, seed: int) -> tuple[Table, NDArray[np.float64]]:
        r = np.random.default_rng(seed)
        a, b = r.integers(0, 10, (2, n_rows))
        odds = 0.5 * (a - 4.5) if law == "line" else 2.0 * (np.abs(a - 4.5) < 2) - 1
        p = 1 / (1 + np.exp(-odds))
        of_outcome = np.where(r.random(n_rows) < p, "k1", "k0")
        return read_table(pd.DataFrame({"a": a, "b": b, "y": of_outcome})), p

    table, _ = rows(250, 0)
    new, p = rows(4_000, 1)
    truth = -np.mean(p * np.log(p) + (1 - p) * np.log(1 - p))
    beyond = []
    for ordered in ((), ("a", "b")):
        member = fitted_target("y", ["a", "b"], columns_of(table), {}, levels_of(table), ordered)
        assert member is not None
        beyond.append(-log_probabilities(member, new, {}).mean() - truth)
    # one number says the line, and amounts say what no line can
    assert beyond[1] < (0.6 * beyond[0] if law == "line" else 1.1 * beyond[0])
    assert beyond[1] < 0.06
    gains = []
    for read in (table, read_table(table.to_frame().astype({"a": str}))):
        known = {name: np.ones(read.n_rows, np.bool_) for name in read.names}
        gains.append(sum(chosen_parents("y", read, known, {}, TargetRules(("a",))).values()))
    # texts have no order
    assert gains[0] > gains[1] + (1 if law == "line" else -1)


def test_products_of_ordered_levels_are_of_their_amounts() -> None:
    codes = np.arange(60) % 4
    columns = Columns({"a": codes, "b": np.arange(60) % 3})
    everything = np.ones(60, np.bool_)
    levels = {"a": 4, "b": 3}
    of_a, of_b = (_terms_of(name, columns, {}, levels, ("a", "b"), everything) for name in levels)
    assert of_a is not None
    assert of_b is not None
    assert of_a.rows.shape[1] == 5
    assert of_a.rows[:, 0] @ codes > 0
    plain = [_terms_of(name, columns, {}, levels, (), everything) for name in levels]
    products = _products({"a": of_a, "b": of_b})
    expected = _products({"a": plain[0], "b": plain[1]})
    assert list(products) == list(expected)
    for key, product in products.items():
        assert_allclose(product.rows, expected[key].rows)
        for factor, of in zip(product.factors, expected[key].factors, strict=True):
            assert_allclose(factor.matrix, of.matrix)


def test_products_stay_out_where_effects_add_up() -> None:
    numbers = []
    for seed in range(6):
        table = read_table(weak_rows(1_500, 2, seed))
        logit = fitted(table, scales_of(table)).fitted
        assert isinstance(logit, FamilyLogit)
        numbers.append(len(logit.terms.products))
    assert sum(numbers) <= 1


def test_a_parent_may_tell_by_products_alone() -> None:
    rng = np.random.default_rng(0)
    a, level = rng.normal(size=400), rng.integers(0, 3, 400)
    # the level turns the effect, and has none of its own
    is_one = rng.random(400) < 1 / (1 + np.exp(-2 * a * np.array([1, -1, 0])[level]))
    frame = pd.DataFrame({"a": a, "g": np.array(list("pqr"))[level], "y": np.where(is_one, "k1", "k0")})
    table = read_table(frame)
    member = fitted_target("y", ["a", "g"], columns_of(table), scales_of(table), levels_of(table))
    assert member is not None
    assert isinstance(member.fitted, FamilyLogit)
    assert "g" not in {name for of in member.fitted.terms.functions for name in of.of}
    assert (member.fitted.parents, member.fitted.groups) == (("a",), ("g",))
    assert log_probabilities(member, table, scales_of(table)).mean() > -0.62


@pytest.mark.parametrize("n_levels", [2, 3])
def test_a_single_row_of_a_level_hardly_moves_the_odds(n_levels: int) -> None:
    frame = weak_rows(3_000, n_levels)
    frame.loc[0, ["g", "y"]] = ["rare", "k0"]
    table = read_table(frame)
    scales = scales_of(table)
    logs = log_probabilities(fitted(table, scales), table, scales)
    as_before = frame.assign(g=frame["g"].replace("rare", "p").mask(frame["g"] == "q", "q"))
    before = read_table(as_before)
    others = log_probabilities(fitted(before, scales), before, scales)
    # as far as one of three thousand rows tells, the level is like the most of the others
    assert abs(np.exp(logs[0]) - np.exp(others[0])) < 0.25


@pytest.mark.parametrize("n_levels", [2, 3])
def test_levels_have_their_average_probabilities_over_the_posterior(n_levels: int) -> None:
    r = np.random.default_rng(5)
    # the posterior of few rows is wide, above all for those that are far away
    design = r.normal(size=(60, 6)) * np.where(np.arange(60) < 3, 4.0, 1.0)[:, None]
    index = design @ r.normal(size=6) + r.logistic(size=60)
    codes = np.searchsorted(np.linspace(-0.5, 1.0, n_levels - 1), index)
    target, precisions = LevelOdds(codes, n_levels), np.full(6, 1.0)
    parameters, covariance, logs = target.posterior(design, precisions)

    def log_probabilities_at(point: NDArray[np.float64]) -> NDArray[np.float64]:
        slopes = point[n_levels:].reshape(len(target.positions), -1)
        return log_levels(slopes @ design.T, point[:n_levels], target.positions)

    factor = np.linalg.cholesky(covariance + 1e-9 * np.eye(len(covariance)))
    drawn = parameters + r.normal(size=(4_000, len(parameters))) @ factor.T
    wanted = np.mean([np.exp(log_probabilities_at(point)) for point in drawn], axis=0)
    averages = _averaged_logs(logs, target._spread(design, covariance))
    off, of_mode = (np.abs(np.exp(of) - wanted).mean() for of in (averages, logs))
    assert off < 0.012
    assert off < of_mode / 2
    # effects alone lose less of what is wanted than the likeliest ones
    followed = log_probabilities_at(target.averaged(design, precisions, covariance, logs))
    losses = [-(wanted * of).sum(axis=1).mean() for of in (np.log(wanted), followed, logs)]
    assert losses[0] < losses[1] < losses[0] + 0.7 * (losses[2] - losses[0])


def test_likeliest_effects_predict_where_left_out_rows_surely_lose_less(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = read_table(weak_rows(200, 2))
    scales, left_out = scales_of(table), LevelOdds.left_out
    members = {}
    sure, unsure = np.full(200, 0.05), np.tile([0.5, -0.48], 100)
    for name, gains in (("likeliest", sure), ("doubtful", unsure), ("averages", -sure)):

        def of_rows(self: LevelOdds, *given: Any, is_average: bool = False, gains: Any = gains) -> Any:
            averages = left_out(self, *given, is_average=True)
            # all fits ask for the likeliest effects, and the last one for both
            return averages if is_average else averages + gains

        monkeypatch.setattr(LevelOdds, "left_out", of_rows)
        members[name] = fitted(table, scales)
    of_each = {name: log_probabilities(member, table, scales) for name, member in members.items()}
    assert_allclose(of_each["doubtful"], of_each["averages"])
    assert np.abs(of_each["likeliest"] - of_each["averages"]).max() > 0.005
    # the likeliest effects are surer
    assert np.abs(of_each["likeliest"]).max() > np.abs(of_each["averages"]).max()
    assert_allclose(members["likeliest"].left_out, members["averages"].left_out + sure)


def test_curves_leave_before_columns_where_not_all_are_affordable(monkeypatch: pytest.MonkeyPatch) -> None:
    r = np.random.default_rng(8)
    x = r.normal(size=(600, 8))
    names = [f"x{number}" for number in range(8)]
    # each of eight classes follows a column of its own
    classes = (2.0 * x + r.gumbel(size=x.shape)).argmax(axis=1)
    table = read_table(pd.DataFrame(x, columns=names).assign(y=[f"class {k}" for k in classes]))
    known = {name: np.ones(table.n_rows, np.bool_) for name in table.names}
    # lines of all columns take 2 * 72 ** 2 products of each of 600 rows, and their curves 2 * 328 ** 2
    monkeypatch.setattr(of_targets, "_WORK", (4e8, 4e8))
    assert set(chosen_parents("y", table, known, scales_of(table), TargetRules(tuple(names)))) == set(names)
