"""Answers of averaged networks: exact ones for a level given all other cells, and estimates by likelihood weighting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import column_positions, has_gaps
from gomea_bn.data.plain import plain_frame
from gomea_bn.errors import GomeaBnError, check_choice, check_integer
from gomea_bn.network.checks import random_generator
from gomea_bn.network.inference.answers import refuse_both, states_of, target_names
from gomea_bn.network.inference.engine import METHODS
from gomea_bn.network.inference.evidence import Reader, Statement, refuse_stated
from gomea_bn.network.value_kinds import level_column
from gomea_bn.problems.cuts.policies import bin_codes
from gomea_bn.problems.log_sums import log_sum_exp
from gomea_bn.texts import listed

if TYPE_CHECKING:
    import pandas as pd

    from gomea_bn.network.averaged.network import AveragedBayesNet
    from gomea_bn.network.bayes_net import DiscretizedBayesNet

__all__ = ["estimated_query", "joint_log_densities", "predict", "predict_proba", "refuse", "refuse_gaps"]

# what answers in place of an averaged network
_ADVICE = (
    "ask its attribute network, which answers by its tables",
    "query(..., method='sampling') estimates distributions over bins and levels",
    "BayesNetRegressor predicts one number",
)


def estimated_query(
    averaged: AveragedBayesNet,
    targets: str | Sequence[str],
    evidence: Mapping[str, object] | pd.DataFrame | None,
    *,
    n_draws: int,
    random_state: Any,
) -> pd.Series[float] | pd.DataFrame:
    """Return estimates of P(targets | evidence) under the averaged density; see `AveragedBayesNet.query`.

    Rows are drawn from the graph. Variables whose value or level is known are not drawn, and a row counts with their
    density given their parents (likelihood weighting: Fung & Chang, "Weighing and integrating evidence for stochastic
    simulation in Bayesian networks", 1990). Intervals, sets and weights count as the weights of drawn values.
    """
    import pandas as pd

    check_integer("n_draws", n_draws, 1)
    reader, generator = Reader(averaged.network), random_generator(random_state)
    chosen = target_names(reader, targets)
    states = states_of(averaged.network, chosen)
    if isinstance(evidence, pd.DataFrame):
        stored = plain_frame(evidence)
        columns = {
            name: stored.iloc[:, position].tolist() for name, position in column_positions(stored).items()
        }
    else:
        columns = {name: [value] for name, value in (evidence or {}).items()}
    n_rows = len(evidence) if isinstance(evidence, pd.DataFrame) else 1
    stated = reader.stated_rows(columns, n_rows)
    refuse_both(chosen, stated.statements)
    reader.warn_of_outside(stated.outside)
    answers = []
    for row in range(n_rows):
        statements = {name: rows[row] for name, rows in stated.statements.items()}
        estimate = _estimate(averaged, reader, chosen, statements, n_draws, generator)
        if estimate is None:
            refuse_stated({name: cells[row] for name, cells in columns.items()}, n_draws)
        answers.append(estimate)
    if isinstance(evidence, pd.DataFrame):
        tables = np.array([table for table, _ in answers]).reshape(n_rows, len(states))
        result = pd.DataFrame(tables, index=evidence.index, columns=states)
        result.attrs["standard_error"] = [float(errors.max()) for _, errors in answers]
        return result
    table, errors = answers[0]
    answer = pd.Series(table, index=states, name=f"P({', '.join(chosen)})")
    answer.attrs["standard_error"] = float(errors.max())
    return answer


def _estimate(
    averaged: AveragedBayesNet,
    reader: Reader,
    targets: Sequence[str],
    statements: Mapping[str, Statement],
    n_draws: int,
    generator: np.random.Generator,
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Return the probabilities of the states of the targets, and their standard errors, each float64 (n_states,).

    None if no draw agrees with the statements.
    """
    network = averaged.network
    given: dict[str, NDArray[Any]] = {}
    for name, statement in statements.items():
        if statement.value is not None:
            given[name] = np.full(n_draws, statement.value)
        elif name in network.levels and statement.code >= 0:
            given[name] = np.full(n_draws, statement.code, np.int32)
    drawn = averaged.drawn_values(n_draws, generator, given)
    logs = np.zeros(n_draws)
    for term in averaged.log_density_terms(_frame(network, drawn), given).values():
        logs += term
    for name, statement in statements.items():
        with np.errstate(divide="ignore"):
            if statement.pieces is not None:
                codes = reader.bins[name].codes(drawn[name])
                logs += np.log(statement.pieces.of_numbers(drawn[name], codes))
            elif statement.weights is not None:
                logs += np.log(statement.weights[drawn[name]])
    if logs.max() == -np.inf:
        return None
    weights = np.exp(logs - logs.max())
    states = [
        bin_codes(drawn[name], network.cut_points[name]) if name in network.cut_points else drawn[name]
        for name in targets
    ]
    cards = [network.cardinality(name) for name in targets]
    cells = np.ravel_multi_index(states, cards)
    n_cells, total = int(np.prod(cards)), float(weights.sum())
    table = np.bincount(cells, weights, n_cells) / total
    squares = np.bincount(cells, weights**2, n_cells)
    # the variance of a ratio of sums, to first order
    variances = (squares * (1 - 2 * table) + table**2 * squares.sum()) / total**2
    return table, np.sqrt(np.maximum(variances, 0.0))


def _frame(network: DiscretizedBayesNet, drawn: Mapping[str, NDArray[Any]]) -> pd.DataFrame:
    """Return drawn numbers and codes of levels as rows of the network."""
    import pandas as pd

    return pd.DataFrame(
        {
            name: level_column(network, name, drawn[name]) if name in network.levels else drawn[name]
            for name in network.names
        }
    )


def predict_proba(
    averaged: AveragedBayesNet,
    frame: pd.DataFrame,
    target: str,
    *,
    method: str,
    n_draws: int,
    random_state: Any,
) -> pd.DataFrame:
    """Return P(target | other cells) under the averaged density; see `AveragedBayesNet.predict_proba`."""
    import pandas as pd

    check_choice("method", method, METHODS)
    network = averaged.network
    network.cardinality(target)  # raises for an unknown name
    others = [name for name in averaged.names if name != target]
    if method == "sampling":
        positions = column_positions(frame, others)
        rows = frame.iloc[:, [positions[name] for name in others]].set_axis(others, axis=1)
        return cast(
            "pd.DataFrame",
            estimated_query(averaged, target, rows, n_draws=n_draws, random_state=random_state),
        )
    if target not in network.levels:
        refuse(f"exact probabilities of the bins of '{target}', which is continuous")
    if has_gaps(frame, others):
        refuse("exact probabilities of rows with missing cells")
    levels = list(network.levels[target])
    terms = joint_log_densities(averaged, frame, target, levels)
    logs = terms - log_sum_exp(terms.T)[:, None]
    if np.isnan(logs).any():
        row = int(np.flatnonzero(np.isnan(logs).any(axis=1))[0])
        raise GomeaBnError(f"Row {row} (counted from 0) has probability 0 in this network.")
    return pd.DataFrame(np.exp(logs), index=frame.index, columns=states_of(network, [target]))


def predict(
    averaged: AveragedBayesNet,
    frame: pd.DataFrame,
    target: str,
    *,
    method: str,
    n_draws: int,
    random_state: Any,
) -> pd.Series[Any]:
    """Return the most probable level of a discrete target; see `AveragedBayesNet.predict`."""
    import pandas as pd

    if target in averaged.network.cut_points:
        refuse(f"means and medians of '{target}', which is continuous")
    probabilities = predict_proba(
        averaged, frame, target, method=method, n_draws=n_draws, random_state=random_state
    )
    codes = probabilities.to_numpy().argmax(axis=1)
    return pd.Series(level_column(averaged.network, target, codes), index=frame.index, name=target)


def joint_log_densities(
    density: DiscretizedBayesNet | AveragedBayesNet, frame: pd.DataFrame, target: str, values: Sequence[Any]
) -> NDArray[np.float64]:
    """Return ln p(row with each value of the target), float64 (n_rows, n_values), apart from a number per row.

    The terms of families without the target are left out, since they are the same for all of its values.
    """
    import pandas as pd

    network: Any = getattr(density, "network", density)
    each = np.repeat(np.arange(len(frame)), len(values))
    repeated = plain_frame(frame).iloc[each].reset_index(drop=True)
    column: Any = np.tile(np.array(values, dtype=object), len(frame))
    levels = network.levels.get(target)
    column = column.astype(np.float64) if levels is None else pd.Categorical(column, categories=list(levels))
    terms = density.log_density_terms(
        repeated.assign(**{target: column}), (target, *network.children(target))
    )
    return np.asarray(np.sum(list(terms.values()), axis=0)).reshape(len(frame), len(values))


def refuse(what: str, advice: Sequence[str] = _ADVICE) -> NoReturn:
    """Raise that an averaged network does not know something, and what does."""
    raise GomeaBnError(
        f"An averaged network has no {what}: averages over sets of cuts and lines have no exact inference.",
        list(advice),
    )


def refuse_gaps(names: Sequence[str]) -> NoReturn:
    """Raise that an averaged network has no densities of rows in which some columns have missing cells."""
    refuse(
        f"densities of rows with missing cells, as in {listed(map(repr, names), 5)}",
        [
            "ask its attribute network, which sums missing cells out by its tables",
            "fill the cells",
            "drop the rows",
        ],
    )
