"""Mixtures over mixed columns: EM against a slow twin and scikit-learn, recovery, guards, starts, deadlines."""

import math
import warnings

import numpy as np
import pandas as pd
import published_tables as published
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from gomea_bn import read_table
from gomea_bn.discretization.latent import latent as mixtures
from gomea_bn.discretization.latent.kernels import (
    MixtureRows,
    MixtureRule,
    MixtureState,
    MixtureWork,
    count_assigned,
    em_steps,
    expect,
    fill_memberships,
)
from gomea_bn.discretization.latent.latent import MixtureSearch, MixtureTable


def table_of(frame, **options):
    return MixtureTable(read_table(pd.DataFrame(frame), min_rows=2, **options))


def mixed_frame(n, seed, n_classes=3, apart=6.0):
    rng = np.random.default_rng(seed)
    h = rng.integers(0, n_classes, n)
    k = np.where(rng.random(n) < 0.1, rng.integers(0, n_classes, n), h)
    frame = {
        "x": apart * h + rng.normal(size=n),
        "y": -apart * h + 2 * rng.normal(size=n),
        "k": k.astype(str),
    }
    return pd.DataFrame(frame), h


def slow_log_densities(row, codes, state):
    """ln of weight times density of one row in every class, as the formula says."""
    weights, means, variances, probabilities = state
    return [
        math.log(weights[k])
        + sum(
            -0.5 * math.log(2 * math.pi * variances[c][k]) - (x - means[c][k]) ** 2 / (2 * variances[c][k])
            for c, x in enumerate(row)
        )
        + sum(math.log(probabilities[v][k]) for v in codes)
        for k in range(len(weights))
    ]


def slow_expectation(rows, state):
    """Memberships of all rows and the log likelihood."""
    memberships, total = [], 0.0
    for row, codes in zip(*rows):
        logs = slow_log_densities(row, codes, state)
        density = sum(math.exp(log_density) for log_density in logs)
        memberships.append([math.exp(log_density) / density for log_density in logs])
        total += math.log(density)
    return np.array(memberships), total


def slow_maximisation(rows, memberships, sizes, least_variance, pseudo_count):
    """Weights, means, variances and level probabilities that the memberships imply."""
    values, codes = np.array(rows[0]), np.array(rows[1])
    mass = memberships.sum(axis=0)
    means = np.array([[r @ x / r.sum() for r in memberships.T] for x in values.T])
    variances = np.array(
        [
            [max(r @ (x - mean) ** 2 / r.sum(), least_variance) for r, mean in zip(memberships.T, row)]
            for x, row in zip(values.T, means)
        ]
    )
    probabilities = np.array(
        [
            [
                (r[codes[:, d] == v].sum() + pseudo_count / size) / (r.sum() + pseudo_count)
                for r in memberships.T
            ]
            for d, size in enumerate(sizes)
            for v in range(sum(sizes[:d]), sum(sizes[: d + 1]))
        ]
    )
    return mass / mass.sum(), means, variances, probabilities


def work_for(state):
    return MixtureWork(
        np.zeros(len(state.weights)), np.zeros_like(state.means), np.zeros_like(state.means),
        np.zeros_like(state.probabilities), np.zeros(len(state.weights)), np.zeros_like(state.means),
        np.zeros_like(state.probabilities), np.zeros(len(state.weights)), np.array([-np.inf, -np.inf, 0.0]),
        np.zeros(1, np.uint8),
    )  # fmt: skip


class Steps:
    """EM one step at a time from hard labels."""

    def __init__(self, rows, labels, sizes, *, least_variance=1e-4, pseudo_count=1.0, least_rows=1e-9):
        n_columns, n_classes, n_levels = rows.values.shape[1], int(labels.max()) + 1, sum(sizes)
        self.rows = rows
        self.state = MixtureState(
            np.ones(n_classes),
            np.zeros((n_columns, n_classes)),
            np.ones((n_columns, n_classes)),
            np.ones((n_levels, n_classes)),
        )
        self.work = work_for(self.state)
        each = np.repeat([pseudo_count / size for size in sizes], sizes).astype(float)
        self.rule = MixtureRule(least_variance, each, pseudo_count if sizes else 0.0, least_rows, -np.inf)
        count_assigned(rows, labels, self.state, self.work)

    def step(self):
        assert em_steps(self.rows, self.state, self.work, self.rule, 1) == 1
        return self.work.reached[1]


def random_rows(n, n_columns, sizes, seed):
    rng = np.random.default_rng(seed)
    values = np.round(rng.normal(size=(n, n_columns)) + rng.integers(0, 3, (n, 1)), 1)
    firsts = np.cumsum([0, *sizes[:-1]]) if sizes else []
    codes = [first + rng.integers(0, size, n) for first, size in zip(firsts, sizes)]
    joined = np.array(codes, np.int32).T if sizes else np.empty((n, 0), np.int32)
    return MixtureRows(values, np.ascontiguousarray(joined))


tables = st.tuples(
    st.integers(2, 40),
    st.integers(0, 3),
    st.lists(st.integers(1, 5), max_size=3),
    st.integers(1, 5),
    st.integers(0, 2**32 - 1),
).filter(lambda drawn: drawn[1] + len(drawn[2]) > 0)


@settings(max_examples=60)
@given(tables, st.floats(1e-6, 3))
def test_steps_are_those_of_a_slow_twin(drawn, pseudo_count):
    n, n_columns, sizes, n_classes, seed = drawn
    rows = random_rows(n, n_columns, sizes, seed)
    _, labels = np.unique(np.random.default_rng(seed).integers(0, n_classes, n), return_inverse=True)
    run = Steps(rows, labels, sizes, pseudo_count=pseudo_count)
    plain = (rows.values.tolist(), rows.codes.tolist())
    memberships = np.eye(labels.max() + 1)[labels]
    for _ in range(4):
        run.step()
        state = slow_maximisation(plain, memberships, sizes, 1e-4, pseudo_count)
        memberships, log_likelihood = slow_expectation(plain, state)
        for array, expected in zip(run.state, state):
            np.testing.assert_allclose(array, expected.reshape(array.shape), rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(run.work.reached[0], log_likelihood, rtol=1e-9, atol=1e-7)
        out = np.empty_like(memberships)
        fill_memberships(rows, run.state, work_for(run.state), out)
        np.testing.assert_allclose(out, memberships, atol=1e-6)


@settings(max_examples=100)
@given(tables, st.sampled_from([1e-6, 0.5, 2.0]), st.sampled_from([1e-4, 0.3]))
def test_no_step_lowers_the_objective(drawn, pseudo_count, least_variance):
    n, n_columns, sizes, n_classes, seed = drawn
    rows = random_rows(n, n_columns, sizes, seed)
    labels = np.random.default_rng(seed).integers(0, n_classes, n)
    run = Steps(rows, labels, sizes, pseudo_count=pseudo_count, least_variance=least_variance)
    run.step()  # classes without rows die
    former, living = run.work.reached[1], np.count_nonzero(run.state.weights)
    for _ in range(25):
        reached = run.step()
        assert np.isfinite(reached)
        if np.count_nonzero(run.state.weights) == living:
            assert reached >= former - 1e-9 * (abs(former) + n)
        former, living = reached, np.count_nonzero(run.state.weights)


@pytest.mark.long
def test_steps_are_scikit_learns_on_continuous_columns():
    from sklearn.mixture import GaussianMixture

    for frame, kinds in (published.iris(), published.wine(), published.auto_mpg()):
        names = [name for name, kind in kinds.items() if kind == "continuous"]
        values = frame[names].to_numpy()
        scaled = (values - values.mean(axis=0)) / values.std(axis=0)
        _, labels = np.unique(np.argsort(np.argsort(values[:, 2])) * 3 // len(values), return_inverse=True)
        run = Steps(MixtureRows(scaled, np.empty((len(values), 0), np.int32)), labels, [], least_variance=0.0)
        likelihoods = [run.step() - len(values) * np.log(values.std(axis=0)).sum() for _ in range(8)]
        shares = np.eye(3)[labels] / np.bincount(labels)
        means = shares.T @ values
        variances = shares.T @ values**2 - means**2
        for n_steps in (1, 3, 7):
            theirs = GaussianMixture(
                3, covariance_type="diag", tol=0.0, reg_covar=0.0, max_iter=n_steps,
                weights_init=np.bincount(labels) / len(labels), means_init=means,
                precisions_init=1 / variances,
            )  # fmt: skip
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that so few steps do not converge
                theirs.fit(values)
            assert theirs.score(values) * len(values) == pytest.approx(likelihoods[n_steps], rel=1e-9)


def test_a_class_that_dies_does_not_end_the_run():
    seen = 0
    for seed in range(40):
        rows = random_rows(30, 1, [3], seed)
        labels = np.random.default_rng(seed).integers(0, 4, 30)
        run = Steps(rows, labels, [3], least_rows=4.0)
        former, living = run.step(), np.count_nonzero(run.state.weights)
        for step in range(2, 60):
            reached = run.step()
            if np.count_nonzero(run.state.weights) < living and reached < former:
                whole = Steps(rows, labels, [3], least_rows=4.0)
                rule = whole.rule._replace(tolerance=-1e-12)
                assert em_steps(rows, whole.state, whole.work, rule, step + 1) == step + 1
                seen += 1
                break
            former, living = reached, np.count_nonzero(run.state.weights)
    assert seen > 0


def test_a_raised_flag_leaves_a_pass_and_keeps_the_parameters():
    rows = random_rows(30, 2, [3], 0)
    run = Steps(rows, np.arange(30) % 2, [3])
    run.step()
    run.work.stop[0] = 1
    before = run.work.reached.copy()
    assert em_steps(rows, run.state, run.work, run.rule, 5) == 0
    assert run.work.reached.tolist() == before.tolist()
    assert math.isnan(expect(rows, run.state, run.work))
    assert np.isfinite(run.state.means).all()


def test_well_separated_classes_are_recovered_from_mixed_columns():
    frame, h = mixed_frame(900, 0)
    mixture, bic = MixtureSearch(table_of(frame)).select(10)
    assert mixture.n_classes == max(bic, key=bic.get) == 3
    assert sorted(bic) == [1, 2, 3, 4, 5]  # two in a row were no better
    assert mixture.converged
    assert (np.diff(mixture.weights) <= 0).all()
    order = np.argsort(mixture.means["x"])
    # the rows leave no doubt about their classes, so that the mixture has the statistics of these
    by_class = frame.groupby(h)
    for name in "xy":
        np.testing.assert_allclose(mixture.means[name][order], by_class[name].mean(), atol=1e-3)
        np.testing.assert_allclose(
            mixture.standard_deviations[name][order], by_class[name].std(ddof=0), atol=2e-3
        )
    shares = pd.crosstab(h, frame["k"], normalize="index")
    np.testing.assert_allclose(mixture.level_probabilities["k"][order], shares, atol=4e-3)
    likeliest = np.argsort(order)[mixture.memberships().argmax(axis=1)]
    assert (likeliest == h[mixture.table.order]).mean() > 0.995


def test_classes_of_discrete_columns_alone_are_recovered():
    rng = np.random.default_rng(1)
    h = rng.integers(0, 2, 1500)
    columns = {name: np.where(rng.random(1500) < 0.15, 1 - h, h).astype(str) for name in "abcde"}
    columns["many"] = (20 * h + rng.integers(0, 20, 1500)).astype(str)
    mixture, _ = MixtureSearch(table_of(columns)).select(6)
    assert mixture.n_classes == 2
    assert mixture.means == {}
    single = MixtureSearch(table_of(columns), 1).fit(2)  # around seeds that lie far apart
    assert single.log_likelihood == pytest.approx(mixture.log_likelihood, abs=0.5)
    assert (mixture.memberships().argmax(axis=1) == h[mixture.table.order]).mean() in (
        pytest.approx(1, abs=0.01),
        pytest.approx(0, abs=0.01),
    )
    for name in "abcde":
        shares = sorted((columns[name][h == k] == str(k)).mean() for k in (0, 1))
        np.testing.assert_allclose(np.sort(mixture.level_probabilities[name].max(axis=1)), shares, atol=5e-3)


def test_log_likelihood_and_bic_are_in_the_units_of_the_data():
    frame, _ = mixed_frame(200, 3)
    frame["x"] *= 1000
    mixture = MixtureSearch(table_of(frame)).fit(3)
    density = np.zeros(200)
    for k, weight in enumerate(mixture.weights):
        logs = np.log(mixture.level_probabilities["k"][k])[frame["k"].astype(int)]
        for name in "xy":
            logs = logs + norm.logpdf(
                frame[name], mixture.means[name][k], mixture.standard_deviations[name][k]
            )
        density += weight * np.exp(logs)
    assert mixture.log_likelihood == pytest.approx(np.log(density).sum(), rel=1e-9)
    assert mixture.n_parameters == 2 + 3 * (2 + 2 + 2)
    assert mixture.bic == pytest.approx(mixture.log_likelihood - 20 / 2 * math.log(200))


def test_one_class_is_the_moments_of_the_table():
    frame, _ = mixed_frame(100, 4)
    mixture = MixtureSearch(table_of(frame)).fit(1)
    assert mixture.means["x"][0] == pytest.approx(frame["x"].mean())
    assert mixture.standard_deviations["y"][0] == pytest.approx(frame["y"].std(ddof=0))
    counts = frame["k"].value_counts().sort_index()
    assert mixture.level_probabilities["k"][0].tolist() == pytest.approx(((counts + 1 / 3) / 101).tolist())
    assert mixture.memberships().tolist() == [[1.0]] * 100


def test_repeated_values_do_not_make_the_likelihood_infinite():
    rng = np.random.default_rng(5)
    x = np.concatenate((np.zeros(60), np.ones(60), rng.normal(size=80)))
    mixture = MixtureSearch(table_of({"x": x, "y": rng.permutation(x)})).fit(6)
    assert np.isfinite(mixture.log_likelihood)
    assert min(mixture.standard_deviations["x"]) / x.std() == pytest.approx(0.01)


def test_classes_without_rows_are_left_out(monkeypatch):
    table = table_of({"x": [1.0, 1.0, 1.0, 9.0, 9.0, 9.0], "y": [2.0, 2.0, 2.0, 5.0, 5.0, 5.0]})
    for n_restarts in (1, 20):
        mixture = MixtureSearch(table, n_restarts).fit(6)
        assert 1 <= mixture.n_classes <= 6
        assert mixture.weights.sum() == pytest.approx(1)
        assert all(np.isfinite(part).all() for part in mixture.state)
    assert MixtureSearch(table, 1).fit(6).n_classes == 2  # no more seeds than distinct rows
    frame, _ = mixed_frame(60, 6)
    monkeypatch.setattr(mixtures, "_MIN_CLASS_ROWS", 25.0)
    large = MixtureSearch(table_of(frame)).fit(3)
    assert large.n_classes < 3
    assert (large.weights * 60 >= 25 - 1e-9).all()
    monkeypatch.setattr(mixtures, "_MIN_CLASS_ROWS", 1e6)
    all_gone = MixtureSearch(table_of(frame)).fit(3)
    assert all_gone.n_classes == 1  # the largest stays


@pytest.mark.parametrize("factor", [1e-303, 1e-200, 1e-3, 1e200, 1e305])
def test_far_and_very_small_or_large_values_keep_memberships_numbers(factor):
    x = np.concatenate((np.arange(40.0), [900.0])) * factor
    table = table_of({"x": x, "y": np.arange(41.0) % 7 + 0.5})
    mixture = MixtureSearch(table).fit(3)
    for rows in (None, table.rows_of([np.array([-1e308, 1e308, 0.0])] * 2, [])):
        memberships = mixture.memberships(rows)
        np.testing.assert_allclose(memberships.sum(axis=1), 1)
    assert np.isfinite(mixture.log_likelihood)


def test_a_row_far_from_every_class_belongs_to_the_nearest():
    table = table_of({"x": [0.0, 0.1, 0.2, 0.1, 50.0, 50.1, 50.2, 50.1]})
    mixture = MixtureSearch(table).fit(2)
    upper = int(np.argmax(mixture.means["x"]))
    memberships = mixture.memberships(table.rows_of([np.array([-1e6, 1e6])], []))
    assert memberships[:, upper].tolist() == [0.0, 1.0]


def fingerprint(mixture):
    return [part.tolist() for part in mixture.state], mixture.log_likelihood


def test_a_seed_gives_one_result_whatever_else_is_tried_and_however_rows_are_ordered(monkeypatch):
    frame, _ = mixed_frame(3000, 7, apart=2.0)
    shuffled = frame.sample(frac=1, random_state=1)
    monkeypatch.setattr(mixtures, "_START_ROWS", 500)
    first = MixtureSearch(table_of(frame), 4, 5).fit(3)
    assert fingerprint(first) == fingerprint(MixtureSearch(table_of(shuffled), 4, 5).fit(3))
    _, bic = MixtureSearch(table_of(frame), 4, 5).select(3)
    assert bic[3] == first.bic
    others = {MixtureSearch(table_of(frame), 4, seed).fit(3).log_likelihood for seed in (6, 7, None)}
    assert others != {first.log_likelihood}


def test_units_of_a_column_do_not_matter():
    frame, _ = mixed_frame(300, 8, apart=2.0)
    first = MixtureSearch(table_of(frame)).fit(3)
    stretched = MixtureSearch(table_of(frame.assign(x=frame["x"] * 1024))).fit(3)
    assert [p.tolist() for p in stretched.state] == [p.tolist() for p in first.state]
    assert stretched.log_likelihood == pytest.approx(first.log_likelihood - 300 * math.log(1024))
    moved = MixtureSearch(table_of(frame.assign(x=frame["x"] * 0.37 + 11))).fit(3)
    np.testing.assert_allclose(moved.weights, first.weights, atol=1e-6)


def test_more_restarts_never_end_lower_before_the_last_run():
    frame, _ = mixed_frame(200, 9, n_classes=5, apart=2.5)
    reached = [MixtureSearch(table_of(frame), n, 0).fit(5).log_likelihood for n in (1, 5, 25)]
    assert reached[2] >= max(reached[:2]) - 1.0  # short runs are compared, whole ones reported
    assert reached[2] > reached[0]


def test_deadlines_end_a_fit_with_what_there_is():
    frame, _ = mixed_frame(400, 10, apart=1.0)
    table = table_of(frame)
    calls = []

    def expired():
        calls.append(1)
        return len(calls) > 3

    mixture, bic = MixtureSearch(table, expired=expired).select(10)
    assert 1 <= max(bic) <= 2
    assert np.isfinite(mixture.log_likelihood)
    raised = MixtureSearch(table, stop=np.ones(1, np.uint8))
    assert raised.fit(2) is None
    assert raised.select(3) == (None, {})


def test_iterations_are_limited_and_counted(monkeypatch):
    frame, _ = mixed_frame(400, 11, apart=1.0)
    monkeypatch.setattr(mixtures, "EM_TOLERANCE", 1e-3)
    ended = MixtureSearch(table_of(frame)).fit(3)
    assert ended.converged
    monkeypatch.setattr(mixtures, "EM_TOLERANCE", 1e-8)
    longer = MixtureSearch(table_of(frame)).fit(3)
    monkeypatch.setattr(mixtures, "_START_ROWS", 100)
    monkeypatch.setattr(mixtures, "_MAX_ITERATIONS", 3)
    stopped = MixtureSearch(table_of(frame), 1).fit(3)
    assert not stopped.converged
    assert stopped.n_iterations == 3
    assert longer.n_iterations > ended.n_iterations
    assert longer.log_likelihood >= ended.log_likelihood
