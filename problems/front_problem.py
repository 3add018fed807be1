"""The problem of MO-DBN-GOMEA: structure and bins under several objectives at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError, Option, Setting, check_choice, check_number
from gomea_bn.problems.base import ValuesInUse, data_digest
from gomea_bn.problems.cuts.blanket import ParentSets
from gomea_bn.problems.cuts.cut_column import ScoredVariable
from gomea_bn.problems.cuts.libraries import CodedNetwork, CodedQuestion, Pricing
from gomea_bn.problems.cuts.shape import ColumnShape, Shape
from gomea_bn.problems.family_scorer import FamilyScorer, LibraryGrowth, ThreadCaches, new_cache, new_scratch
from gomea_bn.problems.kernels.curves import CurveData
from gomea_bn.problems.kernels.front import (
    COMPLEXITY,
    EXPERT_DISTANCE,
    MISFIT,
    TARGET,
    USER,
    ExpertRows,
    FrontData,
    FrontRules,
)
from gomea_bn.problems.kernels.score import LEFT_OUT, LEFT_OUT_BEST, SMOOTHED, ScoreRule
from gomea_bn.problems.kernels.target import TargetRows
from gomea_bn.problems.knowledge import EdgeRules
from gomea_bn.problems.scores import free_cells, scoring_method
from gomea_bn.problems.structure import StructureProblem

MISFIT_ESTIMATES = ("left-out", "in-sample")
"""How a misfit is estimated: the values of the option `misfit`."""

_KINDS = {"misfit": MISFIT, "complexity": COMPLEXITY, "expert_distance": EXPERT_DISTANCE, "target": TARGET}
# objectives that judge every family
_OF_ALL_FAMILIES = {"misfit", "expert_distance"}


def judges_all(objectives: Collection[str]) -> bool:
    """Return whether objectives judge every family of a network, not only those that decide on a target."""
    return "target" not in objectives or not _OF_ALL_FAMILIES.isdisjoint(objectives)


class ExpertSample(NamedTuple):
    """Rows drawn from an expert's network."""

    values: tuple[NDArray[Any], ...]  # by variable, (n_sampled,): float64 in original units, or integer codes
    mean_log_density: float  # nats under the expert's network, over the families of mentioned variables
    mentioned: NDArray[np.bool_]  # (n_variables,); the families of other variables do not count


def smoothed_scorer(
    variables: Sequence[ScoredVariable],
    n_rows: int,
    pseudo_count: float | str,
    *,
    estimate: str = "in-sample",
    cut_cost: float = 0.0,
    edge_cost: float = 0.0,
    growth: LibraryGrowth | None = None,
    curves: CurveData | None = None,
) -> FamilyScorer:
    """Return a scorer of log likelihoods under smoothed tables of the same rows, "left-out" or "in-sample".

    With the estimate "left-out", every row is left out of the counts that give its own probability, a chosen cut costs
    `cut_cost` times ln(distinct values - 1) nats, and an edge `edge_cost` nats. `pseudo_count` is the smoothing of a
    table row, in rows. "auto", for "left-out" only, is the best of 1, 4, 16 and 64 rows that are spread as the child is
    distributed without parents. Distances to an expert then use one row, spread evenly. With `curves`, a family that
    curves score better has their marginal likelihood. Curves may score a nat less for every cell of the table beyond
    those of `free_cells`.
    """
    check_choice("misfit", estimate, MISFIT_ESTIMATES)
    check_number("cut_cost", cut_cost, 0)
    check_number("edge_cost", edge_cost, 0)
    leaves_out = estimate == MISFIT_ESTIMATES[0]
    if pseudo_count == "auto":
        if not leaves_out:
            raise GomeaBnError(
                [Option("pseudo_count", "auto"), " needs ", Option("misfit", MISFIT_ESTIMATES[0]), "."],
                [Setting("pseudo_count", "1"), Setting("misfit", MISFIT_ESTIMATES[0])],
            )
        kind, prior = LEFT_OUT_BEST, 1.0
    else:
        check_number("pseudo_count", pseudo_count, 0, above=leaves_out)
        kind, prior = LEFT_OUT if leaves_out else SMOOTHED, float(pseudo_count)
    rule = ScoreRule(
        kind,
        0.0,
        prior,
        np.zeros(1),
        np.zeros(1),
        float(edge_cost) if leaves_out else 0.0,
        free_cells=free_cells(n_rows),
    )
    method = replace(scoring_method("density-bic"), cut_cost=float(cut_cost) if leaves_out else 0.0)
    if curves is not None and len(curves.alone):
        # a misfit has the density of the shapes, which scores leave out
        of_shapes = np.array([0.0 if v.shape is None else v.shape.constant_score for v in variables])
        counts = curves.counts._replace(alone=curves.counts.alone + of_shapes)
        curves = curves._replace(alone=curves.alone + of_shapes[:, None], counts=counts)
    return FamilyScorer(variables, method, rule, growth=growth, curves=curves)


class FrontProblem(StructureProblem):
    """Structure and bins of a network under several objectives, all minimised.

    The objective "misfit" is minus the mean log density of the rows in nats per row and original units, under the
    smoothed tables of `smoothed_scorer`, or curves; a point mass counts with its probability. "complexity" is the
    number of free parameters of these (both as in Ha et al. 2024, who have tables alone). "expert_distance" is
    KL(expert || network) in nats, at least 0. All three are sums over families. The distance is the mean of ln p - ln q
    over the expert's fixed sample, with the expert's density p and the network's density q under its tables, so that it
    changes only with the families that a step touches. "target" is the left-out loss of the variable `target` given all
    others (`target_loss`). Where nothing else judges a network's families, it has no others than those of the target
    and of its children, and "complexity" counts these.

    Further names are those of `user_objectives`, functions of a genotype that the next call overwrites. The violation
    of a network with more than `max_parameters` is the excess divided by this number. Other options are those of
    `StructureProblem`.
    """

    # with several objectives, mixing finds more per evaluation
    climbs = False

    def __init__(
        self,
        scorer: FamilyScorer,
        edge_rules: EdgeRules,
        objectives: Sequence[str],
        *,
        expert: ExpertSample | None = None,
        target: int | None = None,
        user_objectives: dict[str, Callable[[NDArray[np.int16]], float]] | None = None,
        max_parameters: float = np.inf,
        random_repair: bool = True,
        initial_indegree: float = 1.0,
        pricing: Pricing | None = None,
        pairs: NDArray[np.bool_] | None = None,
    ) -> None:
        super().__init__(
            scorer,
            edge_rules,
            random_repair=random_repair,
            initial_indegree=initial_indegree,
            pricing=pricing,
            pairs=pairs,
        )
        functions = user_objectives or {}
        names = [*_KINDS, *functions]
        unknown = [name for name in objectives if name not in names]
        if unknown or not objectives or len(set(objectives)) != len(objectives):
            raise GomeaBnError(f"objectives must be different names out of {names}, got {list(objectives)}.")
        if "expert_distance" in objectives and expert is None:
            raise GomeaBnError("The objective 'expert_distance' needs an expert's network.")
        if "target" in objectives and target is None:
            raise GomeaBnError("The objective 'target' needs a variable.")
        if expert is not None and not scorer.rule.prior > 0:
            reason = (
                " above 0: with a probability of 0 that the expert does not share, the distance is infinite."
            )
            raise GomeaBnError(["The distance to an expert's network needs ", Option("pseudo_count"), reason])
        self.objectives = tuple(objectives)
        self.n_objectives = len(objectives)
        self.n_terms = 3 * self.n_nodes
        self._functions = {name: functions[name] for name in objectives if name in functions}
        user_kinds = {name: USER + k for k, name in enumerate(n for n in objectives if n in functions)}
        kinds = np.array([_KINDS.get(name, user_kinds.get(name, -1)) for name in objectives], np.int64)
        self._expert_caches = ThreadCaches(scorer.caches.max_bytes)
        self._expert_rows = self._coded(expert if "expert_distance" in objectives else None)
        self.target_variable = target if "target" in objectives else None
        self._target_caches = ThreadCaches(scorer.caches.max_bytes)
        self.front_rules = FrontRules(
            kinds=kinds,
            n_rows=float(scorer.n_rows),
            misfit_constant=float(np.sum([_log_range(v) for v in scorer.variables if not v.n_levels])),
            expert_constant=0.0 if expert is None else expert.mean_log_density,
            max_parameters=float(max_parameters),
            judges_all=judges_all(objectives),
            has_misfit="misfit" in objectives,
        )
        self._front_data: list[FrontData] = []
        self._callables: list[Callable[[], None]] = []
        self._errors: list[BaseException] = []

    def _coded(self, expert: ExpertSample | None) -> ExpertRows:
        """Return the codes of the expert's sample in every view."""
        scorer = self.scorer
        n_views = len(scorer.rows.cardinality)
        n_sampled = 0 if expert is None else len(expert.values[0])
        codes = np.zeros((n_views, n_sampled), np.uint8)
        log_inside = np.zeros(n_views)
        counts = np.zeros(self.n_nodes)
        self._expert_values = () if expert is None else expert.values
        if expert is not None:
            counts[:] = expert.mentioned
            for i, variable in enumerate(scorer.variables):
                first = int(scorer.view_offset[i])
                if variable.n_levels:
                    codes[first] = expert.values[i]
                    continue
                for k in range(len(variable.policies)):
                    self._code_expert(i, k, codes, log_inside)
        scratch = new_scratch(max(n_sampled, scorer.n_rows), scorer.max_cardinality)
        return ExpertRows(
            codes=codes,
            log_inside=log_inside,
            counts=counts,
            scratch=scratch,
            shared=new_cache(2),
            writable=new_cache(2),
        )

    def _code_expert(
        self, variable: int, index: int, codes: NDArray[np.uint8], log_inside: NDArray[np.float64]
    ) -> None:
        """Code the expert's values under one policy into the rows of its view."""
        scorer = self.scorer
        view = int(scorer.view_offset[variable]) + index
        cuts, column = scorer.policy(variable, index).cut_points, scorer.variables[variable]
        drawn = self._expert_values[variable]
        code = np.searchsorted(cuts, drawn, side="left")
        codes[view] = code
        if column.shape is not None and scorer.is_shaped[view]:
            log_inside[view] = column.shape.shape.log_inside(drawn, cuts).mean()
        else:
            edges = np.concatenate(([float(column.values.min())], cuts, [float(column.values.max())]))
            log_inside[view] = -np.log(np.diff(edges))[code].mean()

    def identity(self) -> dict[str, str]:
        """Return digests of the columns, the rules and the score, and of the objectives and the expert's rows."""
        rules = self.front_rules
        expert = (rules.expert_constant, *self._expert_values)
        return {
            **super().identity(),
            "objectives": repr(self.objectives),
            "max_parameters": repr(rules.max_parameters),
            "expert's rows": data_digest(expert),
            **({} if self.target_variable is None else {"target": repr(self.target_variable)}),
        }

    def enter_policy(self, variable: int, cut_points: NDArray[np.float64], in_use: ValuesInUse) -> int:
        """Return the gene's value for these cuts as `StructureProblem` does, after coding the expert's rows by them."""
        index = super().enter_policy(variable, cut_points, in_use)
        self._code_entered(variable, index)
        return index

    def enter_between_runs(
        self, variable: int, cut_points: NDArray[np.float64], in_use: Sequence[int]
    ) -> int:
        """Return the index of the policy as `StructureProblem` does, after coding the expert's rows by it."""
        index = super().enter_between_runs(variable, cut_points, in_use)
        self._code_entered(variable, index)
        return index

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take in the libraries and the counts, and code the expert's rows by the policies."""
        super().restore(state)
        if self._expert_values:
            for v in self.priced_variables:
                for index, policy in enumerate(self.scorer.library(v)):
                    if policy is not None:
                        self._code_entered(v, index)
        self._expert_caches = ThreadCaches(self._expert_caches.max_bytes)
        self._target_caches = ThreadCaches(self._target_caches.max_bytes)

    def sample(self, generator: np.random.Generator, n: int) -> NDArray[np.int16]:
        """Return random genotypes as `StructureProblem` does; a random share of the target's edges is present."""
        genotypes = super().sample(generator, n)
        target, rules = self.target_variable, self.rules
        if target is None:
            return genotypes
        shares = generator.random(n)
        for gene in np.flatnonzero((rules.first == target) | (rules.second == target)).tolist():
            arcs = np.flatnonzero(self.allowed[gene, :3])
            arcs = arcs[arcs > 0]
            if len(arcs):
                present = (generator.random(n) < shares) | ~self.allowed[gene, 0]
                genotypes[:, gene] = np.where(present, generator.choice(arcs, n), 0)
        return genotypes

    def cuts(self, genotype: NDArray[np.int16]) -> dict[int, NDArray[np.float64]]:
        """Return the inner cuts as `StructureProblem` does; chosen ones only of columns that an objective judges."""
        cuts = super().cuts(genotype)
        if self.target_variable is None or self.front_rules.judges_all:
            return cuts
        parents: list[list[int]] = [[] for _ in range(self.n_nodes)]
        for parent, child in self.edges(genotype):
            parents[child].append(parent)
        judged = ParentSets(parents).blanket(self.target_variable) | {self.target_variable}
        is_kept = [v in judged or not self.scorer.variables[v].has_free_cuts for v in range(self.n_nodes)]
        return {v: of_column if is_kept[v] else np.empty(0) for v, of_column in cuts.items()}

    def idle_variables(self, genotype: NDArray[np.int16]) -> list[int]:
        """Return no variables: other objectives than the score depend on the cuts of all."""
        return []

    def coded_network(self, genotype: NDArray[np.int16]) -> CodedNetwork:
        """Return the network as `StructureProblem` does; its columns are cut for the target if nothing else counts."""
        network = super().coded_network(genotype)
        if self.target_variable is None or self.front_rules.judges_all:
            return network
        return CodedQuestion(
            network.graph, network.columns, network.identities, network.cut_points, self.target_variable
        )

    def shape(self, variable: int) -> ColumnShape | None:
        """Return how bins may be distributed inside; those of columns that are cut for the target in any way."""
        if self.target_variable in (None, variable) or self.front_rules.judges_all:
            return super().shape(variable)
        column = self.sorted_column(variable)
        # only the order of the values counts where the density inside the bins is the same for all cuts
        flat = Shape([column.low, column.high], [1.0], [1.0])
        return ColumnShape(flat, 0.0, 0.0, may_be_uniform=False)

    def _target_rows(self) -> TargetRows:
        """Return the target's values and the work space of one thread, without room if there is no target."""
        scorer = self.scorer
        n_values, n_rows, n_cells = 0, 0, 0
        order, values = np.zeros(0, np.int64), np.zeros(0)
        if self.target_variable is not None:
            variable = scorer.variables[self.target_variable]
            n_values, n_rows = variable.n_levels or scorer.max_cardinality, scorer.n_rows
            n_cells = 2 * len(scorer.new_scratch().counts)
            if not variable.n_levels:
                numbers = np.asarray(variable.values, np.float64)
                order, values = np.argsort(numbers, kind="stable"), numbers - numbers.mean()
        return TargetRows(
            variable=-1 if self.target_variable is None else self.target_variable,
            order=order,
            values=values,
            probabilities=np.zeros((n_values, n_rows)),
            cells=np.zeros(n_cells),
            bases=np.zeros((2, scorer.max_cardinality)),
            bins=np.zeros((3, scorer.max_cardinality)),
            members=np.zeros(self.words, np.uint64),
            shared=new_cache(2),
            writable=new_cache(2),
        )

    def _code_entered(self, variable: int, index: int) -> None:
        """Code the expert's values under a policy that has entered; an index of -1 has not."""
        if index >= 0 and self._expert_values:
            self._code_expert(variable, index, self._expert_rows.codes, self._expert_rows.log_inside)

    def kernel_data(self, n_threads: int) -> list[Any]:
        """Return one `FrontData` per thread."""
        structures = super().kernel_data(n_threads)
        while len(self._front_data) < n_threads:
            thread = len(self._front_data)
            rows = self._expert_rows
            scratch = new_scratch(max(rows.codes.shape[1], self.scorer.n_rows), self.scorer.max_cardinality)
            genotype, values = np.zeros(self.n_variables, np.int16), np.zeros(len(self._functions))
            address = 0
            if self._functions:
                self._callables.append(self._callable(genotype, values))
                address = id(self._callables[-1])
            self._front_data.append(
                FrontData(
                    structures[thread],
                    rows._replace(scratch=scratch),
                    self._target_rows(),
                    self.front_rules,
                    address,
                    genotype,
                    values,
                )
            )
        per_thread = []
        for thread, data in enumerate(self._front_data[:n_threads]):
            shared, writable = self._expert_caches.pair(thread, n_threads)
            expert = data.expert._replace(shared=shared, writable=writable)
            shared, writable = self._target_caches.pair(thread, n_threads)
            target = data.target._replace(shared=shared, writable=writable)
            per_thread.append(data._replace(structure=structures[thread], expert=expert, target=target))
        return per_thread

    def reserve(self, n_more: int) -> None:
        """Make room in the caches for `n_more` entries, within their limits."""
        self.scorer.reserve(n_more)
        self._expert_caches.reserve(n_more)
        self._target_caches.reserve(n_more)

    def _callable(self, genotype: NDArray[np.int16], values: NDArray[np.float64]) -> Callable[[], None]:
        """Return the function without arguments that kernels call: it fills `values`, and must not raise."""
        errors, functions = self._errors, self._functions
        view = genotype.view()
        view.flags.writeable = False

        def call() -> None:
            try:
                for k, (name, function) in enumerate(functions.items()):
                    value = float(function(view))
                    if not np.isfinite(value):
                        raise GomeaBnError(
                            f"The objective {name!r} returned {value}; it must return a finite number."
                        )
                    values[k] = value
            except BaseException as error:
                values[:] = np.inf
                errors.append(error)

        return call

    def chunk_ended(self, thread: int, data: Any) -> Any:
        """Return the data with room in the thread's caches; raise the first error of a user's objective."""
        self._raise_error()
        structure = super().chunk_ended(thread, data.structure)
        expert = data.expert._replace(writable=self._expert_caches.grown(thread, data.expert.writable))
        target = data.target._replace(writable=self._target_caches.grown(thread, data.target.writable))
        return data._replace(structure=structure, expert=expert, target=target)

    def generation_ended(self) -> None:
        """Merge the threads' new scores into the shared caches, in thread order; raise as `chunk_ended`."""
        self._raise_error()
        super().generation_ended()
        self._expert_caches.merge()
        self._target_caches.merge()

    def _raise_error(self) -> None:
        """Raise the first error of a user's objective since the last call."""
        if self._errors:
            error = self._errors[0]
            self._errors.clear()
            raise error


def _log_range(variable: ScoredVariable) -> float:
    """Return the nats per row from a range of 1 to the units of a continuous variable; point masses have no unit."""
    log_range = float(np.log(np.ptp(variable.values)))
    if variable.shape is None or not variable.shape.may_be_shaped:
        return log_range
    return log_range * float(1 - np.isin(variable.values, variable.shape.shape.point_values).mean())
