"""A front: networks that trade one objective against another, and the ways to choose among them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn.errors import GomeaBnError, is_integer, nearest
from gomea_bn.front import choice
from gomea_bn.front import quality as measures
from gomea_bn.front.objectives import (
    COMPLEXITY,
    EXPERT_DISTANCE,
    MISFIT,
    Objective,
    aic_prices,
    check_objectives,
    check_original_index,
    check_values,
    check_weights,
    objective_column,
)
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.checks import check_metadata
from gomea_bn.network.edge_frequency import edge_frequency

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from gomea_bn.data.table import Table
    from gomea_bn.expert.expert_network import ExpertNetwork

__all__ = ["COMPLEXITY", "EXPERT_DISTANCE", "MISFIT", "Candidate", "Front", "Objective"]

KneeMethod: TypeAlias = Literal["aic", "hyperplane", "ideal-point", "marginal-utility"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One network of a front.

    Attributes
    ----------
    front : Front
        Where it is from.
    index : int
        Position in its front: the network's id in files, on the page and in a decision.
    """

    front: Front
    index: int

    @property
    def objectives(self) -> dict[str, float]:
        """Its value in each objective, all minimised."""
        return dict(zip(self.front.names, self.front.values[self.index].tolist(), strict=True))

    @property
    def network(self) -> DiscretizedBayesNet:
        """The network, built on first use."""
        return self.front.network(self.index)

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
        Finite; everything is minimised. Networks that others dominate are allowed, see `nondominated`.
    networks : sequence of DiscretizedBayesNet or callable
        The networks in the order of `values`, or a function from a row of `values` to its network, called
        when the network is first asked for.
    table : Table, optional
        The rows that the networks were learned from.
    expert : DiscretizedBayesNet, optional
        The expert's network, completed over the table's columns.
    record : mapping, optional
        Where the front comes from, in values that JSON can hold: parameters, versions, counts. The front itself
        reads "seed" and "data_sha256" (for `run_hash`), "n_rows" (where there is no table) and "thinned_from".

    Raises
    ------
    GomeaBnError
        For values that are not finite or of another shape, doubled objective names, or no network at all.

    Examples
    --------
    >>> from gomea_bn.simulation.random_networks import random_network
    >>> networks = [random_network(3, random_state=seed) for seed in range(3)]
    >>> front = Front([MISFIT, COMPLEXITY], [[1, 90], [2, 30], [4, 20]], networks)
    >>> front.knee().index, front.best("complexity").index, front.nearest({"misfit": 1}).index
    (1, 2, 0)
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
        self._objectives = check_objectives(objectives)
        given = check_values(values, self.names)
        if not callable(networks) and len(networks) != len(given):
            raise GomeaBnError(f"networks must be one per row of values ({len(given)}), got {len(networks)}.")
        self._order = np.lexsort(given.T[::-1])
        self._values = given[self._order]
        self._values.flags.writeable = False
        self._table = table
        self._expert = expert
        self._networks = networks
        self._built: dict[int, DiscretizedBayesNet] = {}
        self._record = check_metadata(record)
        self._original_index = check_original_index(self.record, len(given))

    @property
    def objectives(self) -> tuple[Objective, ...]:
        """The columns of `values`."""
        return self._objectives

    @property
    def names(self) -> tuple[str, ...]:
        """The objectives' names in column order."""
        return tuple(objective.name for objective in self._objectives)

    @property
    def values(self) -> NDArray[np.float64]:
        """The objectives' values in the front's order, float64 (n_networks, n_objectives), read-only."""
        return self._values

    @property
    def table(self) -> Table | None:
        """The rows that the networks were learned from, if known."""
        return self._table

    @property
    def expert(self) -> DiscretizedBayesNet | None:
        """The expert's network, if there is one."""
        return self._expert

    @property
    def record(self) -> dict[str, Any]:
        """A copy of where the front comes from."""
        found: dict[str, Any] = json.loads(self._record)
        return found

    @property
    def original_index(self) -> tuple[int, ...]:
        """The id that every network has in the whole front; its own id unless the front was thinned."""
        return self._original_index

    @property
    def n_rows(self) -> int | None:
        """Number of rows that the networks were learned from: the table's, or else the record's "n_rows"."""
        rows: Any = self._table.n_rows if self._table is not None else self.record.get("n_rows")
        return int(rows) if is_integer(rows) and rows > 0 else None

    @property
    def run_hash(self) -> str:
        """SHA-256 over objective names, values, and the record's "data_sha256" and "seed", as hexadecimal text."""
        record = self.record
        head = [list(self.names), list(self._values.shape), record.get("data_sha256"), record.get("seed")]
        digest = hashlib.sha256(json.dumps(head, sort_keys=True).encode())
        digest.update(np.ascontiguousarray(self._values, dtype="<f8").tobytes())
        return digest.hexdigest()

    def network(self, index: int) -> DiscretizedBayesNet:
        """Return the network at a position, built on first use."""
        place = self._position(index)
        if place not in self._built:
            source = int(self._order[place])
            found = self._networks(source) if callable(self._networks) else self._networks[source]
            if not isinstance(found, DiscretizedBayesNet):
                raise GomeaBnError(
                    f"networks: row {source} must give a DiscretizedBayesNet, got {type(found).__name__}."
                )
            self._built[place] = found
        return self._built[place]

    def to_frame(self) -> pd.DataFrame:
        """Return one row per network, indexed by "id": objectives, edges, parameters, largest table.

        Column `complexity_nats` is parameters * ln(n_rows) / 2 / n_rows, the BIC's price in nats per row; it is
        there where the number of rows is known. Builds all networks.
        """
        import pandas as pd

        networks = [self.network(index) for index in range(len(self))]
        frame = pd.DataFrame(self._values, columns=list(self.names))
        frame["n_edges"] = [len(network.edges) for network in networks]
        frame["n_parameters"] = [network.n_parameters for network in networks]
        frame["largest_table"] = [max(one.size for one in network.tables.values()) for network in networks]
        if (rows := self.n_rows) is not None:
            frame["complexity_nats"] = frame["n_parameters"] * (np.log(rows) / 2 / rows)
        return frame.rename_axis("id")

    def best(self, objective: str) -> Candidate:
        """Return the network that is best in one objective, ties by the front's order."""
        return self[int(np.argmin(self._values[:, objective_column(objective, self.names)]))]

    def closest_to_expert(self) -> Candidate:
        """Return the network with the least distance to the expert's; raises `GomeaBnError` without that objective."""
        if EXPERT_DISTANCE.name not in self.names:
            raise GomeaBnError(
                f"No distance to an expert was minimised: the front has no objective '{EXPERT_DISTANCE.name}', only "
                f"{', '.join(self.names)}. Learn it with expert=."
            )
        return self.best(EXPERT_DISTANCE.name)

    def knee(self, method: KneeMethod | None = None) -> Candidate:
        """Return a network at which further complexity stops to pay; what the truth is never plays a part.

        Parameters
        ----------
        method : {"aic", "hyperplane", "ideal-point", "marginal-utility"}, optional
            Default: "aic" where misfit and complexity are objectives, the distance to an expert is the only further
            one, and the number of rows is known; otherwise "hyperplane".

        Notes
        -----
        "aic": the least misfit + complexity / n_rows, in nats per row: the point at which one more parameter improves
        the fit by less than it can be expected to improve it by chance (Akaike, "A new look at the statistical
        model identification", 1974). The one definition that does not depend on how far the front reaches.
        "hyperplane": farthest below the plane through the extremes (Das 1999). "ideal-point": least distance to the
        best values (Zeleny 1973). "marginal-utility": what would be missed most under random weights (Branke et al.
        2004). These three scale every objective by its range over the front; a longer tail of complex networks or
        a distant expert therefore moves them. See `gomea_bn.front.choice` for their formulas.

        Raises
        ------
        GomeaBnError
            For an unknown method, or "aic" without misfit, complexity or the number of rows.
        """
        if method is not None and method not in get_args(KneeMethod):
            raise GomeaBnError(
                f"method must be one of {', '.join(get_args(KneeMethod))}, got {method!r:.80}."
                f"{nearest(str(method), get_args(KneeMethod))}"
            )
        if method is None:
            known = {MISFIT.name, COMPLEXITY.name} <= set(self.names) and self.n_rows is not None
            further = set(self.names) - {MISFIT.name, COMPLEXITY.name, EXPERT_DISTANCE.name}
            method = "aic" if known and not further else "hyperplane"
        if method == "aic":
            return self[choice.price_choice(self._values, aic_prices(self.names, self.n_rows))]
        rule = {
            "hyperplane": choice.hyperplane_knee,
            "ideal-point": choice.ideal_point_choice,
            "marginal-utility": choice.marginal_utility_knee,
        }[method]
        return self[rule(self._values)]

    def nearest(self, weights: Mapping[str, float] | Sequence[float]) -> Candidate:
        """Return the network whose pseudo-weights are nearest to the weights that somebody gives the objectives.

        Parameters
        ----------
        weights : mapping of objective name to float, or sequence of one float per objective
            Of at least 0, not all 0; only their ratios count. Objectives that a mapping does not name weigh 0.

        Notes
        -----
        Over the networks that no other dominates, with d_j = (worst_j - value_j) / (worst_j - best_j), a network's
        pseudo-weights are d_j / (d_1 + ... + d_m) (Deb, "Multi-objective optimization using evolutionary
        algorithms", 2001); an objective in which these networks are all equal is left out. The least Euclidean
        distance to weights / sum(weights) wins; equal distances go by the least sum of weight_j * (1 - d_j).
        A pseudo-weight says in which objective a network is better than in the others, not how good it is: for
        the best in one objective use `best`.

        Raises
        ------
        GomeaBnError
            For unknown objectives, or weights that are negative, not finite, or all 0.
        """
        return self[choice.nearest_pseudo_weights(self._values, check_weights(weights, self.names))]

    def edge_frequency(self) -> pd.DataFrame:
        """Return how often each arc occurs: one row per (parent, child) that some network has.

        Columns `arc`, the share of networks with this arc, and `adjacent`, the share with it or its reverse; the
        most frequent pairs first. Builds all networks, which must have the same variables.
        """
        return edge_frequency([candidate.network for candidate in self])

    def nondominated(self) -> Front:
        """Return the front without networks that another one dominates or, of equal values, an earlier one equals."""
        rows = choice.nondominated_rows(self._values).tolist()
        return (
            self._part(rows, "left out networks that others dominate or equal")
            if len(rows) < len(self)
            else self
        )

    def thin(self, n: int = 200) -> Front:
        """Return a front of at most `n` of the networks, a presentable choice; the front itself if it is no larger.

        Kept are the knee, the closest to the expert (where there is that objective) and the best in each objective;
        if `n` is smaller than their number, the first `n` of them. Then always the network that adds most hypervolume
        (every objective scaled by its range, reference point 1.1) comes in, of a graph that is not there yet as long
        as there is one. `original_index` and record["thinned_from"] (run_hash, n_networks, indices, how) tell which
        networks of the whole front these are. Builds only networks that are about to be taken; all of them if there are
        fewer graphs than `n`.

        Raises
        ------
        GomeaBnError
            If `n` is no integer of at least 1.
        """
        if not is_integer(n) or n < 1:
            raise GomeaBnError(f"n must be an integer of at least 1, got {n!r}.")
        if n >= len(self):
            return self
        kept = [self.knee().index]
        if EXPERT_DISTANCE.name in self.names:
            kept.append(self.closest_to_expert().index)
        kept += [self.best(name).index for name in self.names]
        kept = list(dict.fromkeys(kept))[:n]
        unit = choice.scaled(self._values, self._values.min(axis=0), self._values.max(axis=0))
        rows = choice.greedy_hypervolume(unit, kept, n, lambda row: tuple(self.network(row).edges))
        how = "knee, closest to the expert, best in each objective, then greedy hypervolume, one per graph first"
        return self._part(sorted(rows), how)

    def hypervolume(
        self,
        reference: ArrayLike | None = None,
        *,
        ideal: ArrayLike | None = None,
        nadir: ArrayLike | None = None,
    ) -> float:
        """Return the hypervolume of the front after scaling every objective to 0 at `ideal` and 1 at `nadir`.

        Parameters
        ----------
        reference : array-like of shape (n_objectives,) or float, optional
            The reference point in scaled values; 1.1 by default.
        ideal, nadir : array-like of shape (n_objectives,) or float, optional
            Best and worst values; by default this front's. Fronts can be compared only by common ones, for example
            those of their union. Where they are equal, values are shifted, not scaled.
        """
        return measures.hypervolume(self._values, self.names, reference, ideal, nadir)

    def igd_plus(self, reference_front: Front | ArrayLike) -> float:
        """Return the mean distance from a reference front to this one, IGD+; 0 if nothing there is better.

        Every objective is scaled by its range over the reference front. For each point there the distance to the
        nearest network counts only what is worse (Ishibuchi, Masuda, Tanigaki & Nojima 2015).

        Parameters
        ----------
        reference_front : Front with the same objectives, or array-like of shape (n, n_objectives)
        """
        if not isinstance(reference_front, Front):
            return measures.igd_plus(self._values, self.names, reference_front)
        if reference_front.names != self.names:
            raise GomeaBnError(
                f"Both fronts must have the objectives {', '.join(self.names)}; the other has "
                f"{', '.join(reference_front.names)}."
            )
        return measures.igd_plus(self._values, self.names, reference_front.values)

    def plot(
        self,
        *,
        expert: bool | DiscretizedBayesNet | ExpertNetwork | None = None,
        truth: DiscretizedBayesNet | None = None,
        objectives: Sequence[str] | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the networks over two or three objectives and return the axes; see `gomea_bn.plots.plot_front`."""
        from gomea_bn.plots.front import plot_front

        return plot_front(self, expert=expert, truth=truth, objectives=objectives, ax=ax)

    def _part(self, rows: list[int], how: str) -> Front:
        """Return the front of some positions, increasing, with a record of which they are in the whole one."""
        record = self.record
        before = record.get("thinned_from")
        indices = [self._original_index[row] for row in rows]
        if before is None:
            before = {"run_hash": self.run_hash, "n_networks": len(self)}
        else:
            how = f"{before['how']}; of those: {how}"
        record["thinned_from"] = {**before, "indices": indices, "how": how}
        networks = _Part(self, tuple(rows))
        return Front(
            self._objectives,
            self._values[rows],
            networks,
            table=self._table,
            expert=self._expert,
            record=record,
        )

    def _position(self, index: int) -> int:
        if not is_integer(index) or not -len(self) <= index < len(self):
            raise GomeaBnError(f"The front has networks 0 to {len(self) - 1}, got {index!r}.")
        return int(index) % len(self)

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, index: int) -> Candidate:
        return Candidate(self, self._position(index))

    def __iter__(self) -> Iterator[Candidate]:
        return (Candidate(self, index) for index in range(len(self)))

    def __repr__(self) -> str:
        return f"Front({len(self)} networks, objectives {', '.join(self.names)})"


@dataclass(frozen=True, slots=True)
class _Part:
    """The networks of some positions of a front, built there."""

    front: Front
    rows: tuple[int, ...]

    def __call__(self, row: int) -> DiscretizedBayesNet:
        return self.front.network(self.rows[row])
