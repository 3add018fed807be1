"""The class of fronts: networks with values in several objectives, and methods that choose among them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn.errors import (
    GomeaBnError,
    Option,
    check_choice,
    check_integer,
    is_integer,
    is_real,
)
from gomea_bn.front import choice
from gomea_bn.front.choice import KneeMethod
from gomea_bn.front.judged_rows import error_of_loss, is_prediction_summary
from gomea_bn.front.objectives import (
    COMPLEXITY,
    EXPERT_DISTANCE,
    MISFIT,
    TARGET,
    Objective,
    check_objectives,
    check_original_index,
    check_point,
    check_values,
    check_weights,
    leaves_rows_out,
    objective_column,
    single_position,
    target_of,
)
from gomea_bn.front.store import PooledNetworks, StoredParts, parts_of
from gomea_bn.lazy import pd
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.edge_probabilities import edge_frequency
from gomea_bn.network.parts import check_metadata
from gomea_bn.network.recorded import left_out_loss

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gomea_bn.data.table import Table
    from gomea_bn.expert.expert_network import ExpertNetwork

__all__ = ["COMPLEXITY", "EXPERT_DISTANCE", "MISFIT", "TARGET", "Candidate", "Front", "Objective"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One network of a front.

    Attributes
    ----------
    front : Front
        The front that contains the network.
    index : int
        Position in that front, which is the network's id in files, on the review page and in a decision.
    """

    front: Front
    index: int

    @property
    def objectives(self) -> dict[str, float]:
        """Value of the network in each objective; all are minimised."""
        return dict(zip(self.front.names, self.front.values[self.index].tolist(), strict=True))

    @property
    def network(self) -> DiscretizedBayesNet:
        """The network, which is built on first use."""
        return self.front.network(self.index)

    @property
    def counted_parameters(self) -> float:
        """Number of free parameters that the objective "complexity" counts; those of the whole network without it."""
        counted = self.objectives.get(COMPLEXITY.name)
        return self.network.n_parameters if counted is None else counted

    @property
    def distance_error(self) -> float | None:
        """Standard error of the objective "expert_distance", in nats; None if the front lacks it or the expert."""
        from gomea_bn.expert.distance import DEFAULT_SAMPLE, LARGEST_SAMPLE, expert_distance_estimate

        front = self.front
        if front.expert is None or EXPERT_DISTANCE.name not in front.names:
            return None
        parameters = front.record.get("parameters")
        given: Any = parameters.get("expert_sample_size") if isinstance(parameters, Mapping) else None
        seed: Any = front.record.get("seed")
        # a record from a file may hold anything, and the sample of the search is not needed for its error
        _, error = expert_distance_estimate(
            front.expert,
            self.network,
            n_samples=given if is_integer(given) and 2 <= given <= LARGEST_SAMPLE else DEFAULT_SAMPLE,
            random_state=seed if is_integer(seed) and seed >= 0 else 0,
        )
        return error

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value:.6g}" for name, value in self.objectives.items())
        return f"Candidate(index={self.index}, {values})"


@dataclass(frozen=True, slots=True)
class Recommendation:
    """A network of a front, why to look at it first, and the numbers behind that, each as a sentence or ""."""

    candidate: Candidate
    reason: str
    detail: str = ""


# share of the limit on free parameters above which the limit may hold a network back
_NEAR_LIMIT = 0.95


class Front:
    """An immutable set of networks with values in several objectives, sorted by the first objective, then by the next.

    Parameters
    ----------
    objectives : sequence of Objective
        Meaning of the columns of `values`; at least one, with different names.
    values : array-like of shape (n_networks, n_objectives)
        Finite values, all to be minimised. Dominated networks are allowed, see `nondominated`.
    networks : sequence of DiscretizedBayesNet or callable
        The networks in the order of `values`, or a function from a row of `values` to its network, which is called when
        that network is first used.
    table : Table, optional
        The rows that the networks were learned from.
    expert : DiscretizedBayesNet, optional
        The expert's network, completed over the columns of the table.
    record : mapping, optional
        Origin of the front, in values that JSON can hold: parameters, versions, counts. The front itself reads "seed"
        and "data_sha256" (for `run_hash`), "n_rows" (if there is no table), "thinned_from", "single_network",
        "misfit_error" and "predictions".

    Raises
    ------
    GomeaBnError
        For values that are not finite or have another shape, for duplicate names of objectives, and without networks.

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
        checked = check_values(values, self.names)
        if not callable(networks) and len(networks) != len(checked):
            raise GomeaBnError(
                f"networks must have one network per row of values ({len(checked)}), got {len(networks)}."
            )
        self._order = np.lexsort(checked.T[::-1])
        self._values = checked[self._order]
        self._values.flags.writeable = False
        self._table = table
        self._expert = expert
        self._networks = networks
        self._built: dict[int, DiscretizedBayesNet] = {}
        self._record = check_metadata(record)
        self._original_index = check_original_index(self.record, len(checked))

    @property
    def objectives(self) -> tuple[Objective, ...]:
        """Meaning of the columns of `values`."""
        return self._objectives

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the objectives in column order."""
        return tuple(objective.name for objective in self._objectives)

    @property
    def values(self) -> NDArray[np.float64]:
        """Values of the networks in the order of the front, float64 (n_networks, n_objectives), read-only."""
        return self._values

    @property
    def table(self) -> Table | None:
        """Rows that the networks were learned from, or None."""
        return self._table

    @property
    def expert(self) -> DiscretizedBayesNet | None:
        """The expert's network, or None."""
        return self._expert

    @property
    def record(self) -> dict[str, Any]:
        """Origin of the front, as a copy."""
        return dict(json.loads(self._record))

    @property
    def original_index(self) -> tuple[int, ...]:
        """Id of every network in the whole front; equal to its id here unless the front was thinned."""
        return self._original_index

    @property
    def n_rows(self) -> int | None:
        """Number of rows that the networks were learned from, by the table or by the record's "n_rows"; or None."""
        rows: Any = self._table.n_rows if self._table is not None else self.record.get("n_rows")
        return int(rows) if is_integer(rows) and rows > 0 else None

    @property
    def run_hash(self) -> str:
        """SHA-256 of the objectives' names, the values, and the record's "data_sha256" and "seed", in hexadecimal."""
        record = self.record
        head = [list(self.names), list(self._values.shape), record.get("data_sha256"), record.get("seed")]
        digest = hashlib.sha256(json.dumps(head, sort_keys=True).encode())
        digest.update(np.ascontiguousarray(self._values, dtype="<f8").tobytes())
        return digest.hexdigest()

    def network(self, index: int) -> DiscretizedBayesNet:
        """Return the network at a position, which is built on first use.

        Networks whose columns may follow curves learn their conditional densities then. A front from a folder has those
        that were written, and tables of the other networks.
        """
        position = self._position(index)
        if position not in self._built:
            row = int(self._order[position])
            network = self._networks(row) if callable(self._networks) else self._networks[row]
            if not isinstance(network, DiscretizedBayesNet):
                raise GomeaBnError(
                    f"networks: row {row} must give a DiscretizedBayesNet, got {type(network).__name__}."
                )
            self._built[position] = network
        return self._built[position]

    def network_parts(self, index: int) -> StoredParts:
        """Return the parts of the network at a position; a network whose parts are known is not built."""
        position = self._position(index)
        if position not in self._built and isinstance(self._networks, PooledNetworks):
            return self._networks.parts(int(self._order[position]))
        return parts_of(self.network(position))

    def to_frame(self) -> pd.DataFrame:
        """Return one row per network: objectives and numbers of edges, parameters and most parents of a column.

        The index is named "id". If the number of rows is known, column `complexity_nats` is k ln(n_rows) / (2 n_rows),
        the penalty of the BIC in nats per row, for k parameters: the objective "complexity", or without it
        `n_parameters`.

        Column `n_parameters` counts what a network keeps, as its own `n_parameters` does. If networks have
        conditionals, column `left_out_loss` is minus the mean log density of a row that is left out of them, in nats
        and the units of the data. Where networks learn them on first use, both are missing before that.

        Notes
        -----
        The objectives are those of the search, so that all networks can be compared. A network that is built keeps
        other numbers. Its tables are averages over cuts that are drawn anew, a column without parents may keep its
        shape alone, curves have as few splines as follow them, and a column may follow a mixture. So `n_parameters` is
        not the objective "complexity". The loss is mostly below the "misfit", which has one set of cuts, the marginal
        likelihood of curves, and the costs of edges and cuts of few rows.
        """
        sizes = [self._sizes(index) for index in range(len(self))]
        frame = pd.DataFrame(self._values, columns=list(self.names))
        n_edges, counts, most_parents, losses, follow_conditionals = zip(*sizes, strict=True)
        frame["n_edges"] = n_edges
        frame["n_parameters"] = pd.array(counts, "Int64") if None in counts else counts
        frame["most_parents"] = most_parents
        if any(follow_conditionals):
            frame["left_out_loss"] = np.array(losses, np.float64)
        if (rows := self.n_rows) is not None:
            counted = COMPLEXITY.name if COMPLEXITY.name in self.names else "n_parameters"
            frame["complexity_nats"] = frame[counted] * (np.log(rows) / 2 / rows)
        return frame.rename_axis("id")

    def _sizes(self, index: int) -> tuple[int, int | None, int, float | None, bool]:
        """Return what `to_frame` says of a network, which is built only if its parts have conditionals.

        These are its edges, free parameters, most parents and left-out loss, and whether it follows conditionals. None
        stands for what is known only once the network has been built.
        """
        position = self._position(index)
        if position not in self._built and isinstance(self._networks, PooledNetworks):
            parts = self.network_parts(position)
            if not parts.has_conditionals:
                n_edges, n_free, most_parents = parts.sizes
                learns = parts.learns_conditionals
                return n_edges, None if learns else n_free, most_parents, None, learns
        network = self.network(position)
        return (
            len(network.edges),
            network.n_parameters,
            max(len(network.parents(name)) for name in network.names),
            left_out_loss(network),
            network.conditionals is not None,
        )

    def best(self, objective: str) -> Candidate:
        """Return the network that is best in one objective; of equal networks the first."""
        return self[int(np.argmin(self._values[:, objective_column(objective, self.names)]))]

    @property
    def single(self) -> Candidate | None:
        """The network of the search for the best score, if the front holds one; see `ParetoBayesNetLearner`."""
        position = single_position(self.record, self._original_index)
        return None if position is None else self[position]

    def closest_to_expert(self) -> Candidate:
        """Return the network closest to the expert's; raises `GomeaBnError` without the objective "expert_distance"."""
        if EXPERT_DISTANCE.name not in self.names:
            raise GomeaBnError(
                [
                    f"The front has no objective '{EXPERT_DISTANCE.name}', only {', '.join(self.names)}; learn it "
                    "with ",
                    Option("expert"),
                    ".",
                ]
            )
        return self.best(EXPERT_DISTANCE.name)

    def knee(self, method: KneeMethod | None = None) -> Candidate:
        """Return the knee: the network beyond which added complexity no longer pays. Uses only the front.

        Parameters
        ----------
        method : {"aic", "left-out", "hyperplane"}, optional
            Definition of the knee. If misfit and complexity are objectives, the distance to an expert is the only
            further one, and the number of rows is known, the default is "left-out" for a misfit that leaves rows out of
            their own tables, and "aic" for other misfits; otherwise "hyperplane".

        Notes
        -----
        "aic" chooses the least misfit + complexity / n_rows, in nats per row. Beyond it one more parameter improves the
        fit by less than is expected by chance (Akaike, "A new look at the statistical model identification", 1974).
        "left-out" has the same price, and chooses only among networks whose misfit exceeds the least one by at most
        2 / sqrt(n_rows) nats: two standard errors of a mean difference, if those of single rows have a standard
        deviation of 1 nat. A misfit that leaves rows out has paid for its parameters, so that the price alone gives up
        more fit than the rows leave in doubt. Of the rest of the front only the least misfit matters to "left-out", and
        nothing to "aic".

        "hyperplane" chooses the network farthest below the plane through the extremes (Das 1999). It scales every
        objective by its range over the front, so that a longer tail of complex networks or a distant expert moves it.

        Raises
        ------
        GomeaBnError
            For an unknown method. Also for "aic" and "left-out" without misfit, complexity or the number of rows.
        """
        check_choice("method", method, get_args(KneeMethod), optional=True)
        row = choice.knee_row(
            self._values, self.names, self.n_rows, method, leaves_rows_out=leaves_rows_out(self.record)
        )
        return self[row]

    def recommended(self) -> Recommendation:
        """Return the network to look at first, with the reason: simple, and up to chance as good as the best fit.

        Fronts whose misfits leave every row out of its own tables have `simplest_good_fit` of
        `gomea_bn.front.choice`, by the loss of the target if they have one. Its standard error is that on rows that the
        tables leave out (`gomea_bn.front.judged_rows`), and that of a misfit comes from the rows as the best fit knows
        them. Without the table both are those that `write_front` has written; else a row deviates by 1 nat, and a loss
        by its mean. Fronts of other misfits have the knee, since a least misfit in sample says little about other rows.
        """
        fit = self._fit
        if fit is None:
            return Recommendation(self.knee(), "The knee: more complex networks hardly fit better.")
        error = self._error_of_prediction() if fit == TARGET.name else self.error_of_misfit()
        if error is None:
            deviation = self.best(fit).objectives[fit] if fit == TARGET.name else 1.0
            error = deviation / sqrt(self.n_rows or 1)
        row, reason, detail = choice.simplest_good_fit(self._values, self.names, self.network, error)
        return Recommendation(self[row], reason, detail)

    @property
    def _fit(self) -> str | None:
        """The objective by which a simple network is as good as the best one; None for misfits in sample."""
        fit = TARGET.name if TARGET.name in self.names else MISFIT.name
        has_both = {fit, COMPLEXITY.name} <= set(self.names)
        return fit if has_both and leaves_rows_out(self.record) else None

    def error_of_misfit(self) -> float | None:
        """Return the standard error of the least misfit over all rows, in nats, by which a network is recommended.

        Without the table it is that of the record ("misfit_error"), if that is of the same network. None where nothing
        is known, as for fewer than 30 complete rows, and where the misfit does not decide.
        """
        if self._fit != MISFIT.name:
            return None
        best = self.best(MISFIT.name)
        if self._table is not None:
            return choice.error_of_misfit(best.network, self._table)
        stored = self.record.get("misfit_error")
        if not isinstance(stored, Mapping) or stored.get("id") != self._original_index[best.index]:
            return None
        error: Any = stored.get("error")
        return float(error) if is_real(error) and error >= 0 else None

    def _error_of_prediction(self) -> float | None:
        """Return the standard error of the least loss of the target over all rows.

        Without the table it comes from "predictions" in the record. None where there are no predictions.
        """
        target = target_of(self.record) if TARGET.name in self.names else None
        if target is None:
            return None
        best = self.best(TARGET.name)
        if self._table is not None:
            return error_of_loss(best.network, self._table, target)
        stored = self.record.get("predictions")
        if not is_prediction_summary(stored):
            return None
        errors = [
            one["loss_error"] for one in stored["networks"] if one["id"] == self._original_index[best.index]
        ]
        return errors[0] * sqrt(stored["n_rows"] / (self.n_rows or stored["n_rows"])) if errors else None

    def near_limit(self) -> dict[str, Candidate]:
        """Return the knee and the best fit by role, as far as the limit on free parameters may hold them back.

        These have more than 95 % of the parameters that the record allows ("max_complexity" of its "parameters"). The
        roles are "knee", "best fit" with the objective "misfit", and "best prediction" with the objective "target".
        """
        parameters = self.record.get("parameters")
        most: Any = parameters.get("max_complexity") if isinstance(parameters, Mapping) else None
        if not is_real(most):
            return {}
        watched = {"knee": self.knee()}
        if MISFIT.name in self.names:
            watched["best fit"] = self.best(MISFIT.name)
        if TARGET.name in self.names:
            watched["best prediction"] = self.best(TARGET.name)
        limit = _NEAR_LIMIT * most
        return {role: chosen for role, chosen in watched.items() if chosen.counted_parameters > limit}

    def nearest(self, weights: Mapping[str, float] | Sequence[float]) -> Candidate:
        """Return the network whose pseudo-weights are nearest to given weights of the objectives.

        Parameters
        ----------
        weights : mapping of objective name to float, or sequence of one float per objective
            Weights of at least 0, not all 0; only their ratios count. Objectives that are missing in a mapping have
            weight 0.

        Notes
        -----
        With d_j = (worst_j - value_j) / (worst_j - best_j) over the networks that no other dominates, the
        pseudo-weights of a network are d_j / (d_1 + ... + d_m) (Deb, "Multi-objective optimization using evolutionary
        algorithms", 2001). An objective in which all these networks are equal is left out. The network with the least
        Euclidean distance to weights / sum(weights) wins; of equal distances the least sum of weight_j * (1 - d_j).

        Pseudo-weights compare the objectives of one network with each other and do not measure its quality. For the
        best network in one objective use `best`.

        Raises
        ------
        GomeaBnError
            For unknown objectives, or weights that are negative, not finite, or all 0.
        """
        return self[choice.nearest_pseudo_weights(self._values, check_weights(weights, self.names))]

    def edge_frequency(self) -> pd.DataFrame:
        """Return the frequency of every arc, one row per (parent, child), the most frequent pairs first.

        Column `arc` is the share of networks with this arc, `adjacent` the share with this arc or its reverse. Builds
        all networks, which must have the same variables.
        """
        return edge_frequency([candidate.network for candidate in self])

    def with_origin(self, *, table: Table | None = None, record: Mapping[str, Any] | None = None) -> Front:
        """Return the front of the same networks with other rows or another record; by default those of this front."""
        return self._of_rows(range(len(self)), self.record if record is None else record, table)

    def nondominated(self) -> Front:
        """Return the front of the networks that no other dominates; of networks with equal values only the first."""
        rows = choice.nondominated_rows(self._values).tolist()
        if len(rows) == len(self):
            return self
        return self._part(rows, "left out networks that others dominate or equal")

    def thin(self, n: int = 200) -> Front:
        """Return a front of at most `n` representative networks, or the front itself if it is not larger.

        It begins with the recommended network, the knee, the single network, the network closest to the expert (if that
        is an objective) and the best network in each objective, or with the first `n` of these. Then the network that
        adds most hypervolume is added repeatedly, with every objective scaled by its range and the reference point 1.1.
        Networks with a new graph come before others.

        `original_index` and record["thinned_from"] (run_hash, n_networks, indices, how) hold the ids in the whole
        front. Only networks that are about to be added are built; all are built if there are fewer graphs than `n`.

        Raises
        ------
        GomeaBnError
            If `n` is not an integer of at least 1.
        """
        check_integer("n", n, 1)
        if n >= len(self):
            return self
        first = [self.recommended().candidate.index, self.knee().index]
        if (single := self.single) is not None:
            first.append(single.index)
        if EXPERT_DISTANCE.name in self.names:
            first.append(self.closest_to_expert().index)
        first += [self.best(name).index for name in self.names]
        first = list(dict.fromkeys(first))[:n]
        unit = choice.scaled(self._values, self._values.min(axis=0), self._values.max(axis=0))
        rows = choice.greedy_hypervolume(unit, first, n, lambda row: self.network_parts(row).graph)
        how = (
            "recommended, knee, single network, closest to the expert, best in each objective, then greedy "
            "hypervolume, one per graph first"
        )
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
            Reference point in scaled values; 1.1 by default.
        ideal, nadir : array-like of shape (n_objectives,) or float, optional
            Best and worst values; by default those of this front. Only hypervolumes with the same ideal and nadir, for
            example those of the union, can be compared. An objective with equal ideal and nadir is shifted, not scaled.
        """
        import moocore

        values, names = self._values, self.names
        low = values.min(axis=0) if ideal is None else check_point(ideal, names, "ideal")
        high = values.max(axis=0) if nadir is None else check_point(nadir, names, "nadir")
        for name, best, worst in zip(names, low.tolist(), high.tolist(), strict=True):
            if best > worst:
                raise GomeaBnError(f"ideal must not exceed nadir, got {best!r} and {worst!r} for '{name}'.")
        corner = check_point(1.1 if reference is None else reference, names, "reference")
        return float(moocore.hypervolume(choice.scaled(values, low, high), ref=corner))

    def igd_plus(self, reference_front: Front | ArrayLike) -> float:
        """Return IGD+, the mean distance from the points of a reference front to this front; 0 if none is better.

        Every objective is scaled by its range over the reference front. The distance from a reference point to the
        nearest network counts only objectives in which that network is worse (Ishibuchi, Masuda, Tanigaki & Nojima
        2015).

        Parameters
        ----------
        reference_front : Front with the same objectives, or array-like of shape (n, n_objectives)
            The reference points.
        """
        import moocore

        if isinstance(reference_front, Front):
            if reference_front.names != self.names:
                raise GomeaBnError(
                    f"Both fronts must have the objectives {', '.join(self.names)}; the other has "
                    f"{', '.join(reference_front.names)}."
                )
            reference_front = reference_front.values
        points = check_values(reference_front, self.names, "reference_front")
        low, high = points.min(axis=0), points.max(axis=0)
        unit = choice.scaled(self._values, low, high)
        return float(moocore.igd_plus(unit, ref=choice.scaled(points, low, high)))

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
        """Return the front of some increasing positions, with their ids in the whole front in its record."""
        record = self.record
        before = record.get("thinned_from")
        indices = [self._original_index[row] for row in rows]
        if before is None:
            before = {"run_hash": self.run_hash, "n_networks": len(self)}
        else:
            how = f"{before['how']}; of those: {how}"
        record["thinned_from"] = {**before, "indices": indices, "how": how}
        return self._of_rows(rows, record)

    def _of_rows(self, rows: Sequence[int], record: Mapping[str, Any], table: Table | None = None) -> Front:
        return Front(
            self._objectives,
            self._values[list(rows)],
            _Part(self, tuple(rows)),
            table=self._table if table is None else table,
            expert=self._expert,
            record=record,
        )

    def _position(self, index: int) -> int:
        if not is_integer(index) or not -len(self) <= index < len(self):
            raise GomeaBnError(
                f"index must be one of the front's networks 0 to {len(self) - 1}, got {index!r}."
            )
        return int(index) % len(self)

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, index: int) -> Candidate:
        return Candidate(self, self._position(index))

    def __iter__(self) -> Iterator[Candidate]:
        return (Candidate(self, index) for index in range(len(self)))

    def _repr_html_(self) -> str:
        """Return the HTML that notebooks show."""
        from gomea_bn.plots.html import front_html

        return front_html(self)

    def __repr__(self) -> str:
        return f"Front({len(self)} networks, objectives {', '.join(self.names)})"


@dataclass(frozen=True, slots=True)
class _Part(PooledNetworks):
    """The networks at some positions of a front, which builds them."""

    front: Front
    rows: tuple[int, ...]

    def parts(self, row: int) -> StoredParts:
        return self.front.network_parts(self.rows[row])

    def __call__(self, row: int) -> DiscretizedBayesNet:
        return self.front.network(self.rows[row])
