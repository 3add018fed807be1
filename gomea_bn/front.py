"""A front: networks that trade one objective against another, and the ways to choose among them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn._columns import nearest
from gomea_bn._network_checks import check_metadata
from gomea_bn.errors import GomeaBnError, is_integer
from gomea_bn.network import DiscretizedBayesNet

if TYPE_CHECKING:
    import pandas as pd

    from gomea_bn.table import Table

__all__ = ["COMPLEXITY", "EXPERT_DISTANCE", "MISFIT", "Candidate", "Front", "Objective"]


@dataclass(frozen=True, slots=True)
class Objective:
    """What one column of a front's values means; every objective is minimised.

    Attributes
    ----------
    name : str
        How code and files call it, for example "misfit".
    label : str
        How people call it, for example "Misfit".
    unit : str
        For example "nats per row".
    better : str
        Plain words for small values, for example "fits the data better".
    """

    name: str
    label: str
    unit: str
    better: str


MISFIT = Objective("misfit", "Misfit", "nats per row", "fits the data better")
"""Minus the mean log density of the training rows."""

COMPLEXITY = Objective("complexity", "Complexity", "free parameters", "simpler")
"""The number of free probabilities in the network's tables."""

EXPERT_DISTANCE = Objective(
    "expert_distance", "Distance to the expert", "nats", "closer to the expert's network"
)
"""KL(expert || network)."""


class Candidate:
    """One network of a front.

    Attributes
    ----------
    index : int
        Position in its front: the network's id in files, on the page and in a decision.
    objectives : dict of str to float
        Its value in each objective, all minimised.
    """

    __slots__ = ("_front", "index", "objectives")

    def __init__(self, front: Front, index: int) -> None:
        self._front = front
        self.index = index
        self.objectives = dict(zip(front.names, front.values[index].tolist(), strict=True))

    @property
    def network(self) -> DiscretizedBayesNet:
        """The network, built on first use."""
        return self._front.network(self.index)

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value:.6g}" for name, value in self.objectives.items())
        return f"Candidate(index={self.index}, {values})"


class Front:
    """Networks ordered by the first objective, ties by the next; immutable.

    Parameters
    ----------
    objectives : sequence of Objective
        What the columns of `values` mean, at least one; names must differ.
    values : array-like of shape (n_networks, n_objectives)
        Finite; everything is minimised.
    networks : sequence of DiscretizedBayesNet or callable
        The networks in the order of `values`, or a function from a position in `values` to the network there,
        called when the network is first asked for.
    table : Table, optional
        The rows that the networks were learned from.
    expert : DiscretizedBayesNet, optional
        The expert's network, completed over the table's columns.
    record : mapping, optional
        Where the front comes from, in values that JSON can hold: "seed", "data_sha256", parameters, versions, counts.

    Attributes
    ----------
    objectives : tuple of Objective
        The columns of `values`.
    values : ndarray of shape (n_networks, n_objectives), float64, read-only
        In the front's order.
    table, expert
        As given.

    Raises
    ------
    GomeaBnError
        For values that are not finite or of another shape, doubled objective names, or no network at all.
    """

    def __init__(
        self,
        objectives: Sequence[Objective],
        values: ArrayLike,
        networks: Sequence[DiscretizedBayesNet] | Callable[[int], DiscretizedBayesNet],
        *,
        table: Table | None = None,
        expert: DiscretizedBayesNet | None = None,
        record: Mapping[str, Any] | None = None,
    ) -> None:
        self.objectives = _checked_objectives(objectives)
        given = _checked_values(values, self.objectives)
        if not callable(networks) and len(networks) != len(given):
            raise GomeaBnError(f"networks must be one per row of values ({len(given)}), got {len(networks)}.")
        self._order = np.lexsort(given.T[::-1])
        self.values = given[self._order]
        self.values.flags.writeable = False
        self.table = table
        self.expert = expert
        self._networks = networks
        self._built: dict[int, DiscretizedBayesNet] = {}
        self._record = check_metadata(record)

    @property
    def names(self) -> tuple[str, ...]:
        """The objectives' names in column order."""
        return tuple(objective.name for objective in self.objectives)

    @property
    def record(self) -> dict[str, Any]:
        """A copy of where the front comes from."""
        found: dict[str, Any] = json.loads(self._record)
        return found

    @property
    def run_hash(self) -> str:
        """SHA-256 over objective names, values, and the record's "data_sha256" and "seed", as hexadecimal text."""
        record = self.record
        head = [list(self.names), list(self.values.shape), record.get("data_sha256"), record.get("seed")]
        digest = hashlib.sha256(json.dumps(head).encode())
        digest.update(np.ascontiguousarray(self.values, dtype="<f8").tobytes())
        return digest.hexdigest()

    def network(self, index: int) -> DiscretizedBayesNet:
        """Return the network at a position, built on first use."""
        place = self._position(index)
        if place not in self._built:
            source = int(self._order[place])
            found = self._networks(source) if callable(self._networks) else self._networks[source]
            if not isinstance(found, DiscretizedBayesNet):
                raise GomeaBnError(
                    f"networks[{source}] must be a DiscretizedBayesNet, got {type(found).__name__}."
                )
            self._built[place] = found
        return self._built[place]

    def to_frame(self) -> pd.DataFrame:
        """Return one row per network, indexed by "id": objectives, edges, parameters, largest table.

        Column `complexity_nats` is parameters * ln(n_rows) / 2 / n_rows, the BIC's price in nats per row; it is there
        where the table is known.
        """
        import pandas as pd

        networks = [self.network(index) for index in range(len(self))]
        frame = pd.DataFrame(self.values, columns=list(self.names))
        frame["n_edges"] = [len(network.edges) for network in networks]
        frame["n_parameters"] = [network.n_parameters for network in networks]
        frame["largest_table"] = [max(one.size for one in network.tables.values()) for network in networks]
        if self.table is not None:
            rows = self.table.n_rows
            frame["complexity_nats"] = frame["n_parameters"] * (np.log(rows) / 2 / rows)
        return frame.rename_axis("id")

    def best(self, objective: str) -> Candidate:
        """Return the network that is best in one objective, ties by the front's order."""
        return self[int(np.argmin(self.values[:, self._column(objective)]))]

    def _column(self, objective: str) -> int:
        if objective not in self.names:
            raise GomeaBnError(
                f"The front has no objective {objective!r}; it has {', '.join(self.names)}."
                f"{nearest(str(objective), self.names)}"
            )
        return self.names.index(objective)

    def _position(self, index: int) -> int:
        if not is_integer(index) or not -len(self) <= index < len(self):
            raise GomeaBnError(f"The front has networks 0 to {len(self) - 1}, got {index!r}.")
        return int(index) % len(self)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: int) -> Candidate:
        return Candidate(self, self._position(index))

    def __iter__(self) -> Iterator[Candidate]:
        return (Candidate(self, index) for index in range(len(self)))

    def __repr__(self) -> str:
        return f"Front({len(self)} networks, objectives {', '.join(self.names)})"


def _checked_objectives(objectives: Sequence[Objective]) -> tuple[Objective, ...]:
    """Return the objectives as a tuple of at least one, names all different."""
    checked = tuple(objectives)
    for objective in checked:
        if not isinstance(objective, Objective):
            raise GomeaBnError(f"objectives must be Objective values, got {objective!r:.80}.")
    names = [objective.name for objective in checked]
    doubled = [name for name in names if names.count(name) > 1]
    if doubled:
        raise GomeaBnError(f"Objective name '{doubled[0]}' occurs more than once; rename one.")
    if not checked:
        raise GomeaBnError("A front needs at least one objective, got none.")
    return checked


def _checked_values(values: ArrayLike, objectives: tuple[Objective, ...]) -> NDArray[np.float64]:
    """Return a copy of the values, float64 (n, m), finite, negative zeros as zeros."""
    try:
        checked = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise GomeaBnError(f"values must be numbers, one row per network: {error}.") from error
    if checked.ndim != 2 or checked.shape[1] != len(objectives):
        raise GomeaBnError(
            f"values must have shape (n_networks, {len(objectives)}), one column per objective, got {checked.shape}."
        )
    if len(checked) == 0:
        raise GomeaBnError("A front needs at least one network, got none.")
    if not np.isfinite(checked).all():
        row, column = np.argwhere(~np.isfinite(checked))[0].tolist()
        raise GomeaBnError(
            f"values must be finite, got {checked[row, column].item()!r} for '{objectives[column].name}' in row {row}."
        )
    return checked + 0.0  # -0.0 and 0.0 are equal but differ in their bytes, hence in the hash
