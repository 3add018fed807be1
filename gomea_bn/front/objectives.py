"""Objectives of a front, and checks of its values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn.errors import GomeaBnError, check_number, is_integer, nearest


@dataclass(frozen=True, slots=True)
class Objective:
    """The meaning of one column of a front's values; every objective is minimised.

    For example its name in code and files is "misfit", its label for people "Misfit", its unit "nats per row", and
    small values are better since such a network "fits the data better".
    """

    name: str
    label: str
    unit: str
    better: str


MISFIT = Objective("misfit", "Misfit", "nats per row", "fits the data better")
"""Negative mean log density of the training rows, each given the others, or under tables of all rows as published."""

COMPLEXITY = Objective("complexity", "Complexity", "free parameters", "simpler")
"""Number of free probabilities in the tables of the network, and of parameters of curves or a logit in place of one."""

EXPERT_DISTANCE = Objective(
    "expert_distance", "Distance to the expert", "nats", "closer to the expert's network"
)
"""KL(expert || network) over the families of the variables that the expert mentions; see `expert_distance`."""

TARGET = Objective(
    "target", "Loss of the target", "nats per row, or units of the target", "predicts the target better"
)
"""Loss of one column given all others: cross-entropy of a discrete one, CRPS of a continuous one."""

# further columns of a front's table
_RESERVED = (
    "id",
    "n_edges",
    "n_parameters",
    "most_parents",
    "left_out_loss",
    "complexity_nats",
    "knee",
    "single",
    "closest",
    "expert_distance_error",
    "in_sample_misfit",
    "averaged_misfit",
    "line_weight",
    "file",
)


def check_objectives(objectives: Sequence[Objective]) -> tuple[Objective, ...]:
    """Return the objectives as a tuple: at least one, with different names."""
    checked = tuple(objectives)
    for objective in checked:
        if not isinstance(objective, Objective):
            raise GomeaBnError(f"objectives must be Objective values, got {objective!r:.80}.")
    names = [objective.name for objective in checked]
    duplicates = [name for name in names if names.count(name) > 1]
    if duplicates:
        raise GomeaBnError(f"Duplicate objective name '{duplicates[0]}'; rename one.")
    for name in names:
        if name in _RESERVED:
            raise GomeaBnError(
                f"An objective must not have the name '{name}': tables of fronts have a column of that name."
            )
    if not checked:
        raise GomeaBnError("A front needs at least one objective, got none.")
    return checked


def check_values(values: ArrayLike, names: Sequence[str], option: str = "values") -> NDArray[np.float64]:
    """Return a copy of the values, float64 (n, m): finite, at least one row, without negative zeros."""
    try:
        checked = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise GomeaBnError(f"{option} must be numbers, one row per network: {error}.") from error
    if len(checked.shape) == 2 and len(checked) == 0:
        raise GomeaBnError(f"{option} must hold at least one network, got none.")
    if checked.ndim != 2 or checked.shape[1] != len(names):
        raise GomeaBnError(
            f"{option} must have shape (n_networks, {len(names)}), one column per objective "
            f"({', '.join(names)}), got {checked.shape}."
        )
    if not np.isfinite(checked).all():
        row, column = np.argwhere(~np.isfinite(checked))[0].tolist()
        raise GomeaBnError(
            f"{option} must be finite, got {checked[row, column].item()!r} for '{names[column]}' in row {row}."
        )
    # -0.0 and 0.0 are equal, but their bytes differ, and so would the hash
    return checked + 0.0


def check_point(point: ArrayLike, names: Sequence[str], option: str) -> NDArray[np.float64]:
    """Return one finite number per objective, float64 (m,); a single number is used for all."""
    try:
        checked = np.array(point, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise GomeaBnError(f"{option} must be numbers: {error}.") from error
    if checked.ndim == 0:
        checked = np.full(len(names), checked)
    if checked.shape != (len(names),) or not np.isfinite(checked).all():
        raise GomeaBnError(
            f"{option} must be {len(names)} finite numbers, one per objective ({', '.join(names)}), got {point!r:.80}."
        )
    return checked


def check_weights(
    weights: Mapping[str, float] | Sequence[float], names: Sequence[str]
) -> NDArray[np.float64]:
    """Return one weight of at least 0 per objective, float64 (m,), not all 0; missing objectives have weight 0."""
    if isinstance(weights, Mapping):
        for name in weights:
            objective_column(name, names)
        weight_list = [weights.get(name, 0.0) for name in names]
    elif isinstance(weights, (str, bytes)) or not np.iterable(weights):
        raise GomeaBnError(
            f"weights must be numbers by objective, such as {{'{names[0]}': 2}}, or one number per objective "
            f"({', '.join(names)}), got {weights!r:.80}."
        )
    else:
        weight_list = list(weights)
    if len(weight_list) != len(names):
        raise GomeaBnError(
            f"weights must be {len(names)} numbers ({', '.join(names)}), got {len(weight_list)}."
        )
    for name, weight in zip(names, weight_list, strict=True):
        check_number(f"weights['{name}']", weight, 0)
    checked = np.array(weight_list, dtype=np.float64)
    if not checked.any():
        raise GomeaBnError(f"At least one weight must be above 0, got 0 for {', '.join(names)}.")
    # sums of huge or tiny weights stay finite and above 0
    return np.asarray(checked / checked.max())


def objective_column(name: str, names: Sequence[str]) -> int:
    """Return the column of an objective; raises `GomeaBnError` for an unknown one."""
    if not isinstance(name, str) or name not in names:
        raise GomeaBnError(
            f"Unknown objective {name!r}; the front has {', '.join(names)}.{nearest(str(name), names)}"
        )
    return list(names).index(name)


def check_original_index(record: Mapping[str, Any], size: int) -> tuple[int, ...]:
    """Return the ids in the whole front, from the record of a front."""
    thinned = record.get("thinned_from")
    if thinned is None:
        return tuple(range(size))
    whole = thinned.get("n_networks") if isinstance(thinned, dict) else None
    indices = thinned.get("indices") if isinstance(thinned, dict) else None
    if (
        not is_integer(whole)
        or not isinstance(indices, list)
        or not all(is_integer(index) and 0 <= index < whole for index in indices)
        or len(indices) != size
        or len(set(indices)) != size
    ):
        raise GomeaBnError(
            f'record["thinned_from"] must hold "n_networks" and "indices", {size} different integers from 0 to below '
            f"n_networks, got {thinned!r:.80}."
        )
    return tuple(indices)


def leaves_rows_out(record: Mapping[str, Any]) -> bool:
    """Return whether the misfits of a front leave every row out of its own table, as far as its record says."""
    parameters = record.get("parameters")
    return isinstance(parameters, Mapping) and parameters.get("misfit") == "left-out"


def target_of(record: Mapping[str, Any]) -> str | None:
    """Return the column whose loss is the objective "target" of a front, as far as its record says."""
    parameters = record.get("parameters")
    target: Any = parameters.get("target") if isinstance(parameters, Mapping) else None
    return target if isinstance(target, str) else None


def single_position(record: Mapping[str, Any], original_index: Sequence[int]) -> int | None:
    """Return the position of the single network, which a record names by its id in the whole front, or None."""
    single = record.get("single_network")
    number: Any = single.get("id") if isinstance(single, Mapping) else None
    return (
        list(original_index).index(int(number)) if is_integer(number) and number in original_index else None
    )


@dataclass(frozen=True)
class OwnObjective:
    """User-defined objective, to be minimised.

    Parameters
    ----------
    name : str
        Name in the front; it must differ from the names of the standard objectives.
    function : callable
        ``function(edges, cut_points) -> float``, with edges as (parent, child) names, and inner cuts by continuous
        column. Edges of variables with a single bin are left out unless they are required. Cuts are those of the
        search, which mean nothing for a column that only curves need: networks are shown in others, see `curves` of
        `ParetoBayesNetLearner`. It is called for every evaluated network, and the search waits for it.
    label : str
        Description for tables and pictures; by default the name.
    unit : str
        Unit of the values; by default "units".
    better : str
        Meaning of small values, for example "cheaper".

    Examples
    --------
    >>> from gomea_bn import OwnObjective, ParetoBayesNetLearner
    >>> fans = OwnObjective("fans", lambda edges, cut_points: float(len({parent for parent, _ in edges})))
    >>> learner = ParetoBayesNetLearner(objectives=[fans])
    """

    name: str
    function: Callable[[list[tuple[str, str]], dict[str, NDArray[np.float64]]], float]
    label: str = ""
    unit: str = ""
    better: str = "better"

    @property
    def shown(self) -> Objective:
        """Description of the objective for a front."""
        return Objective(self.name, self.label or self.name, self.unit or "units", self.better)
