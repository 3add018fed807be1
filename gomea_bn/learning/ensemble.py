"""`BayesNetEnsemble`: the average density of networks learned from subsamples or resamples of the rows."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gomea_bn.algorithms.gomea import GOMEA
from gomea_bn.data.sources import Rows, source_frame
from gomea_bn.data.table import Column, Table, table_digest
from gomea_bn.errors import (
    GomeaBnError,
    GomeaBnWarning,
    Option,
    check_choice,
    check_integer,
    check_verbose,
    give_warning,
)
from gomea_bn.lazy import offered
from gomea_bn.learning.averaging.families import N_COPIES, average_in_time, interrupted_averaging
from gomea_bn.learning.fit import RowEvidence
from gomea_bn.learning.learner import BayesNetLearner, DensityEstimator
from gomea_bn.learning.learning_problem import check_learning
from gomea_bn.learning.options import (
    LearningOptions,
    check_options,
    columns_of_search,
    learner_section,
    limits_of,
    refuse_times,
    rows_of_search,
    seconds_after_search,
    seed_of,
    table_to_learn,
    warn_of_cut_short,
)
from gomea_bn.learning.warm_up import compile_kernels, size_of_table
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.edge_probabilities import edge_frequency
from gomea_bn.network.recorded import CUT_SHORT, FAMILY_SCORES
from gomea_bn.parameters import Parameters, check_declared, declarations, with_known_names
from gomea_bn.problems.cuts.shape_fit import table_shapes, with_point_masses
from gomea_bn.runtime.checkpoints import CheckpointOption, Section
from gomea_bn.runtime.fit_clock import FitClock
from gomea_bn.runtime.kernel_progress import search_clock
from gomea_bn.runtime.limits import Limits
from gomea_bn.runtime.threads import thread_count

if TYPE_CHECKING:
    from gomea_bn.network.edge_probabilities import EdgeProbabilities

SUBSAMPLE, BOOTSTRAP = "subsample", "bootstrap"
# share of the rows in a subsample: the expected share of distinct rows in a bootstrap resample is 1 - 1/e
_SHARE = 0.63
_MOST_DRAWS = 1000
# of an equal share of the seconds, what a search gets at least, however long conditionals take
_LEAST_SHARE = 0.1
# parameters of the learner that change no result, or that the ensemble sets
_OF_ENSEMBLE = ("callback", "n_jobs", "verbose", "random_state")


@with_known_names
class BayesNetEnsemble(Parameters, DensityEstimator):
    """Average the densities of networks that are learned from random subsamples of the rows of a table.

    The graph and the cuts of every network come from a subsample, as does the choice of variables that have a shape.
    Its tables, its support and its shapes come from all rows. A value that is a point mass in the whole table is one in
    every network, so that probabilities and densities are not mixed.

    Parameters
    ----------
    learner : BayesNetLearner, optional
        Learner of every network; never changed. By default a learner with default options. All networks share its
        `max_seconds`: time that one network leaves over goes to the next ones. All other limits apply to every network.
        Without it, as by default, every search ends when it is done, and the networks do not depend on a clock.
        Its `callback` can stop only the search of one network. Its `random_state` is ignored. With
        ``density="averaged"`` the conditionals of every network are learned from all rows, right after its search.
        Searches leave them the seconds that those of the network before have taken, and keep at least a tenth of an
        equal share of `max_seconds`. What the limit cuts short is named in the metadata of a network ("cut_short") and
        in a warning. Where the limit ends a search, the next network starts from the graph that it has found.
    n_networks : int
        Number of networks, at least 1.
    resampling : {"subsample", "bootstrap"}
        Rows that a network is learned from. "subsample": 63 % of the rows, drawn without replacement. "bootstrap": as
        many rows as the table has, drawn with replacement; see Notes. With `groups` of the learner groups are drawn.
    random_state : int, numpy Generator, RandomState or None
        Seed. A larger ensemble with the same seed starts with the same networks, unless a time limit ends a search.
    n_jobs : int or None
        Number of threads of every search, -1 is all cores; None uses the learner's. The result does not depend on it.
    verbose : bool
        Whether to show a live table for every search; nothing is shown if standard error is not a terminal.

    Attributes
    ----------
    networks_ : list of DiscretizedBayesNet
        Networks over the same variables, levels and support; all have the same weight.
    n_networks_ : int
        Number of learned networks: `n_networks`, or fewer after Ctrl-C.
    fit_seconds_ : float
        Seconds of all searches.
    stopped_by_ : str
        "n_networks", or "interrupt": after Ctrl-C the finished networks remain, or the best one so far of the first
        search. If Ctrl-C ends the conditionals of the first network, it has tables alone, with a warning.
    seed_ : int
        Seed that repeats the run, unless a time limit ended a search.
    table_, feature_names_in_, n_features_in_
        As of `BayesNetLearner`.

    Notes
    -----
    The share of networks that have an edge measures the confidence in it (Friedman, Goldszmidt & Wyner, "Data analysis
    with Bayesian networks: a bootstrap approach", 1999). Their resamples are drawn with replacement. That does not suit
    cuts that are chosen by the data: a row drawn three times is an atom in every column, narrow bins isolate it, and
    bins of the same row depend on each other perfectly. On random networks of 8 variables and 400 rows, bootstrap
    resamples gave pairs with and without an edge mean frequencies of .72 and .55, subsamples .80 and .01. So the
    frequencies mean something for subsamples only. As densities, averages over bootstrap resamples are often better on
    small tables, where their surplus bins smooth; "bootstrap" also reproduces published settings.

    A subsample is drawn again if a column is constant in it, if fixed cut points lie outside its range, or if a point
    mass or all but one of the other values of its column are missing. Columns that are constant in the whole table get
    no edges.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> x = np.random.default_rng(0).normal(size=200)
    >>> frame = pd.DataFrame({"x": x, "y": x + np.random.default_rng(1).normal(scale=0.3, size=200)})
    >>> learner = BayesNetLearner(max_evaluations=500)
    >>> ensemble = BayesNetEnsemble(learner, n_networks=3, random_state=1).fit(frame)
    >>> float(ensemble.edge_frequency()["adjacent"].max())
    1.0
    """

    def __init__(
        self,
        learner: BayesNetLearner | None = None,
        *,
        n_networks: int = 10,
        resampling: str = SUBSAMPLE,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.learner = learner
        self.n_networks = n_networks
        self.resampling = resampling
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self,
        X: pd.DataFrame | Table | NDArray[Any] | str | os.PathLike[str],
        y: object = None,
        *,
        checkpoint: CheckpointOption = None,
    ) -> Self:
        """Learn the networks from a table.

        Parameters
        ----------
        X : DataFrame, Table, path of a CSV, TSV or Parquet file, or ndarray of shape (n_rows, n_columns)
            Rows, as of `BayesNetLearner.fit`.
        y, checkpoint
            As of `BayesNetLearner.fit`.

        Raises
        ------
        GomeaBnError
            If the table, an option or a rule is invalid, and if columns are so nearly constant that subsamples lose
            their other values; the message says what to do. Also for a checkpoint of other data or options.
        """
        check_integer("n_networks", self.n_networks, 1)
        check_verbose(self.verbose)
        check_choice("resampling", self.resampling, (SUBSAMPLE, BOOTSTRAP))
        thread_count(self.n_jobs)
        seed = seed_of(self.random_state)
        options = self._options()
        # wrong options are an error before the table is read
        check_declared(declarations(BayesNetLearner).values(), options)
        refuse_times(options, "an ensemble")
        if options["target"] is not None:
            raise GomeaBnError(
                [
                    "The learner of an ensemble must have no ",
                    Option("target"),
                    f", got {options['target']!r}.",
                ],
                ["leave it out, or learn one network"],
            )
        clock = FitClock(options["max_seconds"])
        table = table_to_learn(
            X,
            kinds=options["kinds"],
            missing=options["missing"],
            max_levels=options["max_levels"],
            groups=options["groups"],
        )
        if options["shape"] != "uniform":
            # parts of the rows keep these
            table = with_point_masses(table, table)
        learner = BayesNetLearner(**options)
        check_options(learner, GOMEA)
        limits_of(learner)
        thread_count(learner.n_jobs)
        # what the learner would raise for a subsample
        check_learning(table, LearningOptions.of(learner, table.n_rows))
        of_learner = {name: value for name, value in options.items() if name not in _OF_ENSEMBLE}
        section, seed = learner_section(self, checkpoint, table, seed, learner=of_learner)
        # of more rows members draw samples
        is_sampled = table.n_rows > options["sample_rows"]
        ordered = columns_of_search(table, options["shape"])
        rows = ordered if is_sampled else rows_of_search(ordered, options["shape"])
        compile_kernels(**size_of_table(rows))
        networks, seconds, stopped_by = self._learned(options, table, rows, seed, section, clock)
        section.close()
        warn_of_cut_short(clock.cut_short)
        evidence = RowEvidence.of(table)
        self.networks_ = [evidence.network(network).in_order(table.names) for network in networks]
        self.n_networks_ = len(networks)
        self.table_ = table
        self.fit_seconds_ = seconds
        self.stopped_by_ = stopped_by
        self.seed_ = seed
        self.feature_names_in_ = np.array(table.names, dtype=object)
        self.n_features_in_ = len(table.names)
        return self

    def _learned(
        self,
        options: dict[str, Any],
        given: Table,
        table: Table,
        seed: int,
        section: Section,
        clock: FitClock,
    ) -> tuple[list[DiscretizedBayesNet], float, str]:
        """Return the networks, the seconds of their searches, and the name of what ended them.

        `table` has the rows of the given one in the order of the search. The networks that are ahead share what is left
        of the clock of the whole fit.
        """
        networks: list[DiscretizedBayesNet] = []
        stopped_by = "n_networks"
        seconds, limit = 0.0, options["max_seconds"]
        is_averaged = options["density"] == "averaged"
        # of what follows the search for a network
        after = 0.0
        if is_averaged and limit is not None:
            n_values = given.n_rows * len(given.names)
            after = seconds_after_search(Limits(limit / self.n_networks), n_values, 0.0)
        start: DiscretizedBayesNet | None = None
        digest = table_digest(given)
        generators = np.random.default_rng(seed).spawn(self.n_networks)
        for member, child in enumerate(np.random.SeedSequence(seed).spawn(self.n_networks)):
            of_member = section.part(f"network {member}")
            share = clock.share(1 / (self.n_networks - member))
            try:
                if of_member.saved is not None and "network" in of_member.saved:
                    network = DiscretizedBayesNet.from_json(of_member.saved["network"])
                    clock.spend(of_member.saved["seconds"] - seconds)
                    seconds = of_member.saved["seconds"]
                    is_cut_short = of_member.saved.get("is_cut_short", False)
                    of_member.finish(of_member.saved)
                else:
                    most = None
                    if limit is not None:
                        most = max(share.left - after, _LEAST_SHARE * limit / self.n_networks)
                    generator = np.random.default_rng(child)
                    learner = _fitted_member(
                        options, table, self.resampling, generator, most, start, of_member
                    )
                    if learner.stopped_by_ == "interrupt":
                        stopped_by = "interrupt"
                        if networks:
                            break
                    metadata = {"member": member, "ensemble_seed": seed, "data_sha256": digest}
                    network = _with_all_rows(learner, table, metadata)
                    seconds += learner.fit_seconds_
                    is_cut_short = learner.stopped_by_ == "max_seconds"
                    if stopped_by != "interrupt":
                        # a callback ends the search of one network alone
                        section.set_frozen(False)
                        of_member.finish(
                            {"network": network.to_json(), "seconds": seconds, "is_cut_short": is_cut_short}
                        )
                        section.write_if_due()
                start = network if is_cut_short else None
                if is_averaged:
                    began = search_clock()
                    try:
                        network = average_in_time(
                            network, given, N_COPIES, options["line"], "simple", generators[member], share
                        )
                    except KeyboardInterrupt:
                        if networks:
                            raise
                        stopped_by = "interrupt"
                        give_warning(interrupted_averaging("networks_"))
                    after = search_clock() - began
                if share.cut_short:
                    before = network.metadata.get(CUT_SHORT, [])
                    network = network.with_metadata(**{CUT_SHORT: [*before, *share.cut_short]})
                    for name in share.cut_short:
                        clock.note(name)
                networks.append(network)
            except KeyboardInterrupt:
                if not networks:
                    raise
                stopped_by = "interrupt"
            if stopped_by == "interrupt":
                break
        return networks, seconds, stopped_by

    def log_density(self, frame: Rows, *, resolution: str = "points") -> NDArray[np.float64]:
        """Return ln of the mean of the densities of the networks for every row, float64 (n_rows,).

        See `DiscretizedBayesNet.log_density`, also for `resolution`. Missing cells are summed out.

        Raises
        ------
        GomeaBnError
            For missing columns, infinite values and undeclared levels; the message names the columns.
        """
        from scipy.special import logsumexp

        frame = source_frame(frame)
        densities = np.array(
            [network.log_density(frame, resolution=resolution) for network in self._fitted()]
        )
        return np.asarray(logsumexp(densities, axis=0) - np.log(len(densities)), np.float64)

    def _judge(self) -> tuple[Any, str]:
        self._fitted()
        return self, "error" if self.learner is None else self.learner.missing

    def sample(self, n_samples: int = 1, random_state: Any = None) -> pd.DataFrame:
        """Return `n_samples` rows, in random order; each is drawn from a random network."""
        networks = self._fitted()
        check_integer("n_samples", n_samples, 0)
        generator = np.random.default_rng(seed_of(random_state))
        members = generator.integers(len(networks), size=n_samples)
        counts = np.bincount(members, minlength=len(networks))
        parts = [network.sample(int(n), generator) for network, n in zip(networks, counts, strict=True)]
        # row i comes from network members[i], not network after network
        positions = np.empty(n_samples, np.int64)
        positions[np.argsort(members, kind="stable")] = np.arange(n_samples)
        return pd.concat(parts, ignore_index=True).iloc[positions].reset_index(drop=True)

    def edge_frequency(self) -> pd.DataFrame:
        """Return the frequencies of edges, one row per (parent, child) that some network has, by decreasing frequency.

        Column `arc` is the share of networks with this arc, `adjacent` the share with this arc or its reverse. Arcs
        whose direction the data do not determine have a high `adjacent` and a medium `arc`.
        """
        return edge_frequency(self._fitted())

    def edge_probabilities(
        self, network: DiscretizedBayesNet | None = None, **options: Any
    ) -> EdgeProbabilities:
        """Return the posterior probabilities of edges as means over the bins of the networks.

        They take doubt about the bins into account, unlike `BayesNetLearner.edge_probabilities`.

        Parameters
        ----------
        network : DiscretizedBayesNet, optional
            The network to judge; by default the first one.
        **options
            Options of `gomea_bn.certainty.edge_probabilities`, by default as of `BayesNetLearner.edge_probabilities`.
        """
        networks = self._fitted()
        learner = self.learner or BayesNetLearner()
        defaults = {
            "knowledge": learner.knowledge,
            "equivalent_sample_size": learner.equivalent_sample_size,
            "n_jobs": learner.n_jobs if self.n_jobs is None else self.n_jobs,
        }
        probabilities: EdgeProbabilities = offered("edge_probabilities")(
            network or networks[0], self.table_, **{**defaults, "bins": networks, **options}
        )
        return probabilities

    def _options(self) -> dict[str, Any]:
        """Return the parameters of the learner with those of the ensemble; cuts are lists, which can be read again."""
        if self.learner is not None and not isinstance(self.learner, BayesNetLearner):
            raise GomeaBnError(f"learner must be a BayesNetLearner or None, got {self.learner!r:.80}.")
        options = (self.learner or BayesNetLearner()).get_params(deep=False)
        if isinstance(options["cut_points"], Mapping):
            options["cut_points"] = {
                name: list(cuts) if isinstance(cuts, Iterable) and not isinstance(cuts, str) else cuts
                for name, cuts in options["cut_points"].items()
            }
        if self.n_jobs is not None:
            options["n_jobs"] = self.n_jobs
        options["verbose"] = options["verbose"] or self.verbose
        return options

    def _fitted(self) -> list[DiscretizedBayesNet]:
        if not hasattr(self, "networks_"):
            raise GomeaBnError("This BayesNetEnsemble has not learned networks yet; call fit(frame) first.")
        return self.networks_


def _fitted_member(
    options: dict[str, Any],
    table: Table,
    resampling: str,
    generator: np.random.Generator,
    max_seconds: float | None,
    start: DiscretizedBayesNet | None,
    section: Section,
) -> BayesNetLearner:
    """Return a learner that is fitted to a random part of the table, from the graph of a network if there is one."""
    rows = _usable_rows(table, options["cut_points"] or {}, resampling, generator)
    # families are averaged over all rows, not over a part of them
    changes = {"density": "bins", "max_seconds": max_seconds, "random_state": int(generator.integers(2**32))}
    with warnings.catch_warnings():
        # their average needs fewer rows than one network
        warnings.filterwarnings("ignore", "The network has .* free parameters", GomeaBnWarning)
        return BayesNetLearner(**{**options, **changes}).fit(
            table.take(rows), start=start, checkpoint=section
        )


def _with_all_rows(learner: BayesNetLearner, table: Table, record: Mapping[str, Any]) -> DiscretizedBayesNet:
    """Return the network of a learner with support and tables from all rows."""
    metadata = learner.network_.metadata
    # the score is that of the subsample
    del metadata["score"]
    for name in (FAMILY_SCORES, "all_rows"):
        metadata.pop(name, None)
    metadata |= record
    shapes = {name: table_shapes(table)[name].shape for name in learner.network_.shapes}
    return DiscretizedBayesNet.from_table(
        table,
        learner.network_.edges,
        learner.network_.cut_points,
        pseudo_count=learner.pseudo_count,
        shapes=shapes,
        metadata=metadata,
    )


def _usable_rows(
    table: Table, fixed: Mapping[str, list[float]], resampling: str, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Return the positions, int64 (n,), of randomly drawn rows that a network can be learned from."""
    varying = [column for column in table.columns if not column.is_constant]
    lost = ""
    # rows of a group are drawn together
    codes = np.arange(table.n_rows) if table.groups is None else table.groups.codes
    groups = np.unique(codes, return_inverse=True)[1]
    n_groups = int(groups.max()) + 1
    first = np.concatenate([[0], np.cumsum(np.bincount(groups))])
    order = np.argsort(groups, kind="stable")
    for _ in range(_MOST_DRAWS):
        if resampling == BOOTSTRAP:
            drawn = generator.integers(n_groups, size=n_groups)
            rows = np.concatenate([order[first[group] : first[group + 1]] for group in drawn])
        else:
            size = max(round(_SHARE * n_groups), 1)
            drawn = generator.choice(n_groups, size=size, replace=False)
            rows = np.flatnonzero(np.isin(groups, drawn))
        lost = next((column.name for column in varying if _is_lost(column, rows, fixed)), "")
        if not lost:
            return rows
    raise GomeaBnError(
        f"None of {_MOST_DRAWS} {resampling} draws of rows is usable: in the last one, column '{lost}' was constant, "
        "or within one of its fixed bins at an end.",
        [
            "leave out columns that are nearly constant",
            "leave out fixed cut points near the ends of their columns",
        ],
    )


def _is_lost(column: Column, rows: NDArray[np.int64], fixed: Mapping[str, list[float]]) -> bool:
    """Return whether a column is constant in the rows, or its fixed cuts do not fit them."""
    values = column.values[rows]
    values = values[~column.is_missing[rows]]
    if not len(values):
        return True
    low, high = values.min(), values.max()
    cuts = fixed.get(column.name, [])
    return bool(low == high or any(not low < cut < high for cut in cuts))
