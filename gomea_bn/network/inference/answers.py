"""Answers of a network: queries, predictions, and log densities of some columns."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import column_positions
from gomea_bn.data.plain import plain_frame
from gomea_bn.errors import GomeaBnError, GomeaBnWarning, check_choice, check_number
from gomea_bn.network.distributions.point_masses import log_widths_of_points
from gomea_bn.network.inference.engine import (
    N_DRAWS,
    Engine,
    Evidence,
    Joint,
    Seed,
    engine_for,
    refuse_impossible,
)
from gomea_bn.network.inference.evidence import Reader, holds_statements, refuse_stated
from gomea_bn.network.value_kinds import column_name, column_values, level_column

if TYPE_CHECKING:
    import pandas as pd

    from gomea_bn.network.protocol import NetworkLike

__all__ = [
    "log_density",
    "predict",
    "predict_interval",
    "predict_proba",
    "query",
    "refuse_both",
    "states_of",
    "target_names",
]

_POINTS = ("mean", "median", "mode")
# the largest standard error of an estimated log density that needs no warning, in nats
_NOTED_ERROR = 0.01


def query(
    network: NetworkLike,
    targets: str | Sequence[str],
    evidence: Mapping[str, object] | pd.DataFrame | None = None,
    *,
    method: str = "exact",
    n_draws: int = N_DRAWS,
    random_state: Seed = None,
) -> pd.Series[float] | pd.DataFrame:
    """Return P(targets | evidence); see `DiscretizedBayesNet.query`."""
    import pandas as pd

    reader = Reader(network)
    chosen = target_names(reader, targets)
    positions = [network.names.index(name) for name in chosen]
    engine = engine_for(network, method, n_draws, random_state)
    states = states_of(network, chosen)
    name = f"P({', '.join(chosen)})"
    if isinstance(evidence, pd.DataFrame):
        rows = _rows_of_statements(reader, evidence, chosen)
        joint = engine.joint(rows, positions)
        refuse_impossible(joint.log_evidence == -np.inf)
        result = pd.DataFrame(joint.tables, index=evidence.index, columns=states)
        if joint.errors is not None:
            result.attrs["standard_error"] = joint.errors.max(axis=1).tolist()
        return result
    observed = dict(evidence or {})
    stated = reader.stated(observed)
    refuse_both(chosen, stated.statements)
    reader.warn_of_outside(stated.outside)
    joint = engine.joint(stated.evidence, positions)
    if joint.log_evidence[0] == -np.inf:
        refuse_stated(observed, None if method == "exact" else n_draws)
    answer = pd.Series(joint.tables[0], index=states, name=name)
    if joint.errors is not None:
        answer.attrs["standard_error"] = float(joint.errors.max())
    return answer


def predict_proba(
    network: NetworkLike,
    frame: pd.DataFrame,
    target: str,
    *,
    method: str = "exact",
    n_draws: int = N_DRAWS,
    random_state: Seed = None,
) -> pd.DataFrame:
    """Return P(target | other cells) for every row; see `DiscretizedBayesNet.predict_proba`."""
    import pandas as pd

    reader = Reader(network)
    target = reader.variable(target, "target")
    joint = _of_target(reader, network, frame, target, engine_for(network, method, n_draws, random_state))
    result = pd.DataFrame(joint.tables, index=frame.index, columns=states_of(network, [target]))
    if joint.errors is not None:
        result.attrs["standard_error"] = joint.errors.max(axis=1).tolist()
    return result


def predict(
    network: NetworkLike,
    frame: pd.DataFrame,
    target: str,
    how: str | None = None,
    *,
    method: str = "exact",
    n_draws: int = N_DRAWS,
    random_state: Seed = None,
) -> pd.Series[Any]:
    """Return one value of the target for every row; see `DiscretizedBayesNet.predict`."""
    import pandas as pd

    check_choice("how", how, _POINTS, optional=True)
    reader = Reader(network)
    target = reader.variable(target, "target")
    if target in reader.levels and how not in (None, "mode"):
        raise GomeaBnError(f"how must be 'mode' or None for '{target}', which is discrete, got {how!r}.")
    engine = engine_for(network, method, n_draws, random_state)
    tables = _of_target(reader, network, frame, target, engine).tables
    if target in reader.levels:
        levels = level_column(network, target, tables.argmax(axis=1))
        return pd.Series(levels, index=frame.index, name=target)
    numbers = reader.point(target, tables, how or "mean")
    points = column_values(network, target, numbers, is_mean=how in (None, "mean"))
    return pd.Series(points, index=frame.index, name=column_name(network, target))


def predict_interval(
    network: NetworkLike,
    frame: pd.DataFrame,
    target: str,
    quantiles: Sequence[float] = (0.05, 0.95),
    *,
    method: str = "exact",
    n_draws: int = N_DRAWS,
    random_state: Seed = None,
) -> pd.DataFrame:
    """Return mean, median and quantiles of a continuous target; see `DiscretizedBayesNet.predict_interval`."""
    import pandas as pd

    levels = list(quantiles)
    for position, level in enumerate(levels):
        check_number(f"quantiles[{position}]", level, 0, 1)
    reader = Reader(network)
    target = reader.variable(target, "target")
    if target in reader.levels:
        raise GomeaBnError(
            f"'{target}' is discrete; intervals need a continuous target.", ["use predict_proba"]
        )
    engine = engine_for(network, method, n_draws, random_state)
    tables = _of_target(reader, network, frame, target, engine).tables
    columns = {how: reader.point(target, tables, how) for how in ("mean", "median")}
    for level in levels:
        columns[f"{100 * level:g}%"] = reader.bins[target].quantiles(tables, level)
    return pd.DataFrame(columns, index=frame.index)


def log_density(
    network: NetworkLike,
    frame: pd.DataFrame,
    of: str | Sequence[str] | None = None,
    given: str | Sequence[str] = (),
    *,
    method: str = "exact",
    n_draws: int = N_DRAWS,
    random_state: Seed = None,
    resolution: str = "points",
) -> NDArray[np.float64]:
    """Return ln p(observed cells of `of` | observed cells of `given`); see `DiscretizedBayesNet.log_density`."""
    reader = Reader(network)
    conditions = reader.variables([given] if isinstance(given, str) else list(given), "given")
    chosen = _chosen(reader, of, conditions)
    if both := [name for name in chosen if name in conditions]:
        raise GomeaBnError(f"'{both[0]}' is both in of and in given; remove it from one.")
    engine = engine_for(network, method, n_draws, random_state)
    read = reader.frame(frame, [*chosen, *conditions])
    observed = {name: read.values[name] for name in conditions if name in read.values}
    reader.warn_of_outside(reader.outside(observed))
    joint = engine.joint(read.evidence, ())
    total, variances = joint.log_evidence, _variances(joint)
    if conditions:
        codes = read.evidence.codes.copy()
        codes[:, [network.names.index(name) for name in chosen]] = -1
        condition = engine.joint(Evidence(codes, {}), ())
        refuse_impossible(condition.log_evidence == -np.inf)
        total = total - condition.log_evidence
        variances = variances + _variances(condition)
    for name in chosen:
        if name in reader.bins:
            values = read.values[name]
            rows = np.flatnonzero(~np.isnan(values))
            total[rows] += reader.bins[name].log_densities(
                values[rows], reader.bins[name].codes(values[rows])
            )
    if of is None and not conditions:
        complete = np.flatnonzero((read.evidence.codes >= 0).all(axis=1))
        total[complete] = 0.0
        for term in network.log_density_terms(plain_frame(frame).iloc[complete]).values():
            total[complete] += term
    _warn_of_errors(np.sqrt(variances))
    return total - log_widths_of_points(network, frame, resolution, chosen)


def _chosen(reader: Reader, of: str | Sequence[str] | None, conditions: Sequence[str]) -> list[str]:
    """Return the columns whose density is wanted; without `of` all that are not conditions."""
    if of is None:
        return [name for name in reader.names if name not in conditions]
    return reader.variables([of] if isinstance(of, str) else dict.fromkeys(of), "of")


def _variances(joint: Joint) -> NDArray[np.float64]:
    """Return the variances of the log probabilities of evidence, float64 (n_rows,); 0 if they are exact."""
    if joint.log_evidence_errors is None:
        return np.zeros(len(joint.log_evidence))
    return np.square(joint.log_evidence_errors)


def target_names(reader: Reader, targets: str | Sequence[str]) -> list[str]:
    """Return the names of the targets; raises for unknown and repeated ones, and for none."""
    names = [targets] if isinstance(targets, str) else targets
    chosen = [reader.variable(name, "target") for name in names]
    if not chosen or len(set(chosen)) < len(chosen):
        raise GomeaBnError(f"targets must be one or more different variables, got {targets!r}.")
    return chosen


def states_of(network: NetworkLike, names: Sequence[str]) -> pd.Index[Any]:
    """Return the bins or levels of a variable, or the combinations of those of several variables."""
    import pandas as pd

    parts: list[pd.Index[Any]] = []
    for name in names:
        if name in network.cut_points:
            low, high = network.support[name]
            breaks = [low, *network.cut_points[name].tolist(), high]
            parts.append(pd.IntervalIndex.from_breaks(breaks, closed="right", name=name))
        else:
            parts.append(pd.Index(list(network.levels[name]), name=name))
    return parts[0] if len(parts) == 1 else pd.MultiIndex.from_product(parts)


def refuse_both(targets: Sequence[str], observed: Iterable[str]) -> None:
    """Raise for a variable that is target and evidence."""
    for name in observed:
        if name in targets:
            raise GomeaBnError(f"'{name}' is both target and evidence; remove it from one.")


def _rows_of_statements(reader: Reader, frame: pd.DataFrame, targets: Sequence[str]) -> Evidence:
    """Return the evidence of a frame whose cells may be missing, values, intervals, sets or weights."""
    frame = plain_frame(frame)
    positions = column_positions(frame)
    names = reader.variables(positions, "evidence")
    refuse_both(targets, names)
    columns = {
        name: frame.iloc[:, position] for name, position in zip(names, positions.values(), strict=True)
    }
    stated = {name: column.tolist() for name, column in columns.items() if holds_statements(column)}
    read = reader.frame(frame, [name for name in names if name not in stated])
    rich = reader.stated_rows(stated, len(frame))
    reader.warn_of_outside({**reader.outside(read.values), **rich.outside}, stacklevel=5)
    return Evidence(np.maximum(read.evidence.codes, rich.evidence.codes), rich.evidence.weights)


def _of_target(
    reader: Reader, network: NetworkLike, frame: pd.DataFrame, target: str, engine: Engine
) -> Joint:
    """Return P(target | all other cells) for every row."""
    read = reader.frame(frame, [name for name in network.names if name != target])
    reader.warn_of_outside(reader.outside(read.values), stacklevel=5)
    joint = engine.joint(read.evidence, [network.names.index(target)])
    refuse_impossible(joint.log_evidence == -np.inf)
    return joint


def _warn_of_errors(errors: NDArray[np.float64]) -> None:
    """Warn of estimated log densities with a large standard error."""
    if errors.size and errors.max() > _NOTED_ERROR:
        warnings.warn(
            f"Log densities are estimates with standard errors of up to {errors.max():.2g} nats (row "
            f"{int(errors.argmax())}, counted from 0); more draws make them smaller.",
            GomeaBnWarning,
            stacklevel=4,
        )
