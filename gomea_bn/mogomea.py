"""MOGOMEA: gene-pool optimal mixing for several objectives, with an elitist archive."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from gomea_bn._mogomea_run import FrontRun
from gomea_bn._multi_start import check_scheme
from gomea_bn.errors import GomeaBnError, is_integer
from gomea_bn.limits import Callback, Limits, Result
from gomea_bn.linkage.models import LinkageModel, linkage_model
from gomea_bn.problems.base import CompiledProblem

__all__ = ["MOGOMEA"]


@dataclass(frozen=True)
class MOGOMEA:
    """Multi-objective GOMEA with the interleaved multi-start scheme (Luong, La Poutre & Bosman 2014, 2018).

    A population is cut into balanced clusters in objective space, each with a linkage model of its own and donors
    from within; the clusters at the ends of the front improve one objective alone.

    Parameters
    ----------
    linkage : str or LinkageModel
        "tree-corrected" (NMI less its bias, which clusters of a few solutions make large), "tree" (NMI, filtered),
        "tree-mi", "univariate", or an object with ``learn``.
    local_search : bool, optional
        Climb once over all genes after initialisation and after mixing: by the cluster's objective in an extreme
        cluster, else by a weighted sum, whatever `mixing` says. None asks the problem.
    forced_improvement : bool
        Solutions that did not change, and all once the population stalled for more than 1 + floor(log10 n)
        generations, take genes of archive members until they improve, or become one.
    search_donors : bool
        Try the cluster's donors in random order until one differs instead of one random donor.
    mixing : {"weights", "dominance"}
        What decides whether a step is kept outside the extreme clusters: a weighted sum of the objectives, scaled by
        their ranges in the archive, with weights drawn anew for every solution and generation; or, as in the published
        code, that nothing gets worse or that no archive member dominates the result.
    archive_update : {"generation", "immediate"}
        Whether the archive stands still while blocks of solutions vary (needed for threads), or takes in every
        evaluated solution at once, as in the published code (one thread).
    archive_size : int
        Wanted size of the archive; see `ElitistArchive`.
    base_population, growth : int
        Size of the first population; each further one is `growth` times larger.
    base_clusters : int, optional
        Clusters of the first population; number of objectives + 1 if not given. Each further one has one more.
    max_clusters : int
        No population has more.
    subgenerations : int
        Generations of a population, its initialisation included, per generation of the next larger one.
    max_population_size : int
        No larger population is started.

    Notes
    -----
    Feasible solutions come before infeasible ones, and those in the order of their violation. In an extreme cluster a
    step is kept if the cluster's objective does not get worse. Every solution that is evaluated is offered to the
    archive, kept or not, so that weighted sums lose no part of a front that is not convex. A population stops when all
    its genotypes are equal.
    """

    linkage: str | LinkageModel = "tree-corrected"
    local_search: bool | None = None
    forced_improvement: bool = True
    search_donors: bool = True
    mixing: str = "weights"
    archive_update: str = "generation"
    archive_size: int = 10_000
    base_population: int = 8
    growth: int = 2
    base_clusters: int | None = None
    max_clusters: int = 20
    subgenerations: int = 2
    max_population_size: int = 1 << 17

    def __post_init__(self) -> None:
        if self.archive_update not in ("generation", "immediate"):
            raise GomeaBnError(
                f"archive_update must be 'generation' or 'immediate', got {self.archive_update!r}."
            )
        if self.mixing not in ("weights", "dominance"):
            raise GomeaBnError(f"mixing must be 'weights' or 'dominance', got {self.mixing!r}.")
        optional = ("local_search",) if self.local_search is not None else ()
        sizes = (
            ("archive_size", 1),
            ("base_population", 1),
            ("growth", 2),
            ("max_clusters", 1),
            ("subgenerations", 1),
            ("max_population_size", 1),
        )
        check_scheme(self, ("forced_improvement", "search_donors", *optional), sizes)
        if self.base_clusters is not None and (not is_integer(self.base_clusters) or self.base_clusters < 1):
            raise GomeaBnError(
                f"base_clusters must be an integer of at least 1 or None, got {self.base_clusters!r}."
            )
        linkage_model(self.linkage)

    def run(
        self,
        problem: CompiledProblem,
        limits: Limits,
        *,
        seed: int | np.random.SeedSequence | None = None,
        n_threads: int = 1,
        callback: Callback | None = None,
        initial: ArrayLike | None = None,
    ) -> Result:
        """Return the nondominated solutions found within the limits.

        Parameters
        ----------
        problem : CompiledProblem
        limits : Limits
            Its ``target`` is for one objective and must be None.
        seed : int or SeedSequence, optional
            Same seed, same result, at any number of threads (unless a clock ended the run).
        n_threads : int
        callback : callable, optional
            Gets a `Progress` after every generation; a true return value stops the run.
        initial : array_like of int, shape (k, n_variables), optional
            Genotypes that take the first places of every population.
        """
        return FrontRun(self, problem, limits, seed, n_threads, callback, initial).finish()
