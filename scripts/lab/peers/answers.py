"""Answers of learned networks: against other predictors, against draws, and their seconds.

predict        Root mean square errors of `predict` of every column of four given the three others, on 500 new rows:
               ours by conditional densities, ours by the tables over the shown bins, linear regression, and a forest.
query          Answers of `query` against draws of `sample`: all pairs of columns, and evidence on three columns, of
               networks learned from generated tables and, from the fifth network on, in turns also from tables of
               scikit-learn. Printed is the largest difference, also in standard errors of the draws after the
               stated error of resolution was subtracted, and the seconds of a question.
warnings       Pages of an outcome, its answers given each bin or level of every other column, that say that rows differ
               by more than chance from the network that drew them, or from one that they taught. Each column is an
               outcome once. Networks and tables are those of `query`; chance may be seen in one page of 20.
seconds        Seconds of `predict_proba` and `log_density` for rows with missing cells, after a first call.
"""

from collections.abc import Callable, Iterator
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes, load_iris, load_wine

from gomea_bn import BayesNetLearner, DiscretizedBayesNet
from gomea_bn.network.inference.row_notes import farthest_figures
from gomea_bn.simulation.random_networks import random_network
from lab.runner.experiment import Option, Options, tabulated
from lab.runner.printing import with_error
from lab.runner.report import Sheet, sheet
from lab.runner.runs import timed

_N_NEW = 500
# rows of evidence that agree with at least this many draws
_LEAST_DRAWS = 2_000


def four_columns(n_rows: int, seed: int) -> pd.DataFrame:
    """Return rows of a wave and two sums."""
    rng = np.random.default_rng(seed)
    noise = 0.3 * rng.normal(size=(3, n_rows))
    a = rng.normal(size=n_rows)
    b = np.sin(1.5 * a) + noise[0]
    c = 0.7 * a + 0.7 * b + noise[1]
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": 0.8 * c - 0.6 * b + noise[2]})


def with_levels(n_rows: int, seed: int) -> pd.DataFrame:
    """Return rows in which levels depend on numbers and numbers on levels."""
    rng = np.random.default_rng(seed)
    group = rng.integers(3, size=n_rows)
    x = rng.normal(size=n_rows) + group
    y = np.where(group == 1, -x, 0.5 * x**2) + 0.4 * rng.normal(size=n_rows)
    answer = rng.random(n_rows) < 1 / (1 + np.exp(-y))
    return pd.DataFrame({"group": np.array(list("abc"))[group], "x": x, "y": y, "answer": answer})


def with_counts(n_rows: int, seed: int) -> pd.DataFrame:
    """Return rows with a count, and a column that is often 0."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n_rows)
    visits = rng.poisson(np.exp(1 + 0.5 * z))
    rain = np.where(rng.random(n_rows) < 0.4, 0.0, np.exp(0.5 * z + 0.5 * rng.normal(size=n_rows)))
    return pd.DataFrame({"z": z, "visits": visits, "rain": rain})


def chain(n_rows: int, seed: int) -> pd.DataFrame:
    """Return rows of six columns, each a bend of the one before it."""
    rng = np.random.default_rng(seed)
    columns = [rng.normal(size=n_rows)]
    for _ in range(5):
        columns.append(np.tanh(1.5 * columns[-1]) + 0.3 * rng.normal(size=n_rows))
    return pd.DataFrame(np.column_stack(columns), columns=list("uvwxyz"))


TABLES: dict[str, Callable[[int, int], pd.DataFrame]] = {
    "waves": four_columns,
    "levels": with_levels,
    "counts": with_counts,
    "chain": chain,
}


REAL_TABLES: dict[str, Callable[..., Any]] = {"iris": load_iris, "wine": load_wine, "diabetes": load_diabetes}


def tables_to_learn(n_networks: int) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield tables with their names: every generated one once, then real ones and generated ones of other seeds."""
    real = list(REAL_TABLES.items())
    generated = [(name, seed) for seed in range(1, n_networks + 1) for name in TABLES]
    for k in range(n_networks):
        place = k - len(TABLES)
        if 0 <= place < 2 * len(real) and place % 2 == 0:
            name, load = real[place // 2]
            loaded = load(as_frame=True)
            yield name, loaded.data.assign(target=loaded.target)
        else:
            name, seed = generated.pop(0)
            yield f"{name} {seed}", TABLES[name](1500, seed)


def learned(frame: pd.DataFrame, seconds: float, seed: int = 1) -> DiscretizedBayesNet:
    """Return the network of a default fit on one core."""
    return BayesNetLearner(max_seconds=seconds, random_state=seed, n_jobs=1).fit(frame).network_


def errors_of_columns(n_rows: int, seconds: float, seed: int) -> dict[str, list[float]]:
    """Return the root mean square errors of the columns by method."""
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.linear_model import LinearRegression

    frame, new = four_columns(n_rows, seed), four_columns(_N_NEW, 1000 + seed)
    network = learned(frame, seconds, seed)

    def error(predicted: Any, name: str) -> float:
        return float(np.sqrt(np.mean((np.asarray(predicted) - new[name]) ** 2)))

    errors: dict[str, list[float]] = {}
    for name in frame.columns:
        others = [other for other in frame.columns if other != name]
        predictions = {
            "conditional densities": network.predict(new, name),
            "shown tables": network.of_tables().predict(new, name),
        }
        for label, model in (
            ("linear regression", LinearRegression()),
            ("forest of 100 trees", RandomForestRegressor(100, random_state=seed)),
        ):
            predictions[label] = model.fit(frame[others], frame[name]).predict(new[others])
        for label, predicted in predictions.items():
            errors.setdefault(label, []).append(error(predicted, name))
    return errors


def predictions(options: Options) -> Sheet:
    """Return mean errors over seeds."""
    runs = [errors_of_columns(options.rows, options.seconds, seed) for seed in range(1, options.seeds + 1)]
    return sheet(
        f"RMSE of predict, {options.rows:,} rows, {_N_NEW} new rows, {options.seeds} tables",
        ["", *"abcd"],
        [
            [method, *(with_error([run[method][k] for run in runs]) for k in range(4))]
            if options.seeds > 1
            else [method, *(f"{error:.3f}" for error in runs[0][method])]
            for method in runs[0]
        ],
    )


def questions_of(network: DiscretizedBayesNet, seed: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield targets with evidence on bins or levels: one column for all pairs, and three columns."""
    rng = np.random.default_rng(seed)

    def statement(name: str) -> Any:
        if name in network.levels:
            return network.levels[name][int(rng.integers(len(network.levels[name])))]
        ends = [network.support[name][0], *network.cut_points[name].tolist(), network.support[name][1]]
        k = int(rng.integers(len(ends) - 1))
        return ends[k], ends[k + 1]

    for target, other in permutations(network.names, 2):
        yield target, {other: statement(other)}
    for target in network.names:
        others = [name for name in network.names if name != target]
        if len(others) >= 3:
            chosen = rng.choice(len(others), 3, replace=False)
            yield target, {others[k]: statement(others[k]) for k in chosen}


def differences(
    network: DiscretizedBayesNet, n_draws: int, seed: int
) -> Iterator[tuple[float, float, float, float]]:
    """Yield the largest difference of every question, it in standard errors beyond the stated error, this, seconds."""
    drawn = network.sample(n_draws, seed, values="numbers")
    codes = network.discretize(drawn)
    for target, evidence in questions_of(network, seed):
        agrees = np.ones(n_draws, bool)
        for name, statement in evidence.items():
            if isinstance(statement, tuple):
                agrees &= drawn[name].between(*statement).to_numpy()
            else:
                agrees &= (drawn[name] == statement).to_numpy()
        n = int(agrees.sum())
        if n < _LEAST_DRAWS:
            continue
        answer, seconds = timed(network.query, target, evidence)
        shares = np.bincount(codes[target][agrees], minlength=len(answer)) / n
        difference = np.abs(answer.to_numpy() - shares)
        stated = answer.attrs.get("resolution_error", 3 * answer.attrs.get("standard_error", 0.0))
        deviation = np.sqrt(np.maximum(shares * (1 - shares), 1 / n) / n)
        yield (
            float(difference.max()),
            float((np.maximum(difference - stated, 0) / deviation).max()),
            float(stated),
            seconds,
        )


def queries(options: Options) -> Sheet:
    """Return one row per table."""
    rows = []
    for name, frame in tables_to_learn(options.networks):
        network = learned(frame, options.seconds)
        found = list(differences(network, options.draws, 1))
        largest, deviations, stated, seconds = (np.array(part) for part in zip(*found, strict=True))
        rows.append(
            [
                name,
                len(found),
                f"{largest.max():.4f}",
                f"{deviations.max():.2f}",
                f"{stated.max():.4f}",
                f"{seconds.mean():.2f}",
            ]
        )
    columns = (
        "",
        "questions",
        "largest difference",
        "s.e. beyond the stated error",
        "largest stated error",
        "seconds of a question",
    )
    return sheet(f"query against {options.draws:,} draws", columns, rows)


def warnings_of(network: DiscretizedBayesNet) -> tuple[int, int]:
    """Return the number of pages of an outcome of a network with rows, and how many say that rows differ."""
    pages = [
        farthest_figures(network, target, [name for name in network.names if name != target])
        for target in network.names
    ]
    compared = [figures for figures in pages if figures]
    return len(compared), sum(any(figure.differs for figure in figures) for figures in compared)


def warnings_by_chance(options: Options) -> Sheet:
    """Return the numbers of pages and of warnings by what the rows are to the network."""
    found: dict[str, list[tuple[int, int]]] = {"drawn by it": [], "drawn by another one, taught it": []}
    for k, (_, frame) in enumerate(tables_to_learn(options.networks)):
        source = learned(frame, options.seconds)
        rows = source.sample(options.rows, 100 + k)
        found["drawn by it"].append(warnings_of(source.with_rows(rows)))
        found["drawn by another one, taught it"].append(warnings_of(learned(rows, options.seconds, 1 + k)))
    lines = [[label, sum(n for n, _ in pages), sum(n for _, n in pages)] for label, pages in found.items()]
    heading = f"{options.networks} networks, {options.rows:,} rows drawn from each"
    return sheet(heading, ["rows", "pages", "with a warning"], lines)


def seconds_of_rows(options: Options) -> Sheet:
    """Return the seconds of two calls."""
    truth = random_network(options.variables, random_state=3)
    frame = truth.sample(options.rows, 4)
    network = learned(frame, options.seconds)
    gaps = np.random.default_rng(5).random(frame.shape) < options.missing
    incomplete, target = frame.mask(gaps), network.names[0]
    calls: dict[str, Callable[[], object]] = {
        "predict_proba": lambda: network.predict_proba(incomplete, target),
        "log_density": lambda: network.log_density(incomplete),
    }
    rows = []
    for name, call in calls.items():
        call()
        rows.append([name, f"{timed(call)[1]:.2f}"])
    heading = f"{options.rows:,} rows of {options.variables} columns, {options.missing:.0%} missing"
    return sheet(heading, ["", "seconds"], rows)


EXPERIMENTS = (
    tabulated(
        "answers-predict",
        "Errors of `predict` against other predictors",
        "Columns of four given the three others, on new rows.",
        predictions,
        {
            "rows": Option(1500, "Number of rows.", least=1),
            "seconds": Option(5.0, "Limit of a search."),
            "seeds": Option(1, "Number of tables.", least=1),
        },
        in_turn=False,
    ),
    tabulated(
        "answers-query",
        "Answers of `query` against draws of `sample`",
        "All pairs of columns, and evidence on three columns.",
        queries,
        {
            "draws": Option(1_000_000, "Number of draws.", least=1),
            "seconds": Option(4.0, "Limit of a search."),
            "networks": Option(len(TABLES), "Number of networks.", least=1),
        },
        in_turn=False,
    ),
    tabulated(
        "answers-warnings",
        "Pages that say that rows differ from their network, by chance",
        "Rows that a learned network has drawn, next to its answers and to those of a network that they taught.",
        warnings_by_chance,
        {
            "rows": Option(1500, "Rows drawn from a network.", least=1),
            "seconds": Option(60.0, "Limit of a search."),
            "networks": Option(20, "Number of networks.", least=1),
        },
        in_turn=False,
    ),
    tabulated(
        "answers-seconds",
        "Seconds of `predict_proba` and `log_density` for rows with missing cells",
        "After a first call.",
        seconds_of_rows,
        {
            "rows": Option(10_000, "Number of rows.", least=1),
            "variables": Option(20, "Number of columns.", least=2),
            "missing": Option(0.2, "Share of missing cells."),
            "seconds": Option(20.0, "Limit of the search."),
        },
    ),
)
