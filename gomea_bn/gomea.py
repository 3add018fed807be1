"""GOMEA for one objective: populations of growing size in turn, each mixing along its own linkage."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from gomea_bn._gomea_run import GomeaRun
from gomea_bn._multi_start import check_scheme
from gomea_bn.errors import GomeaBnError
from gomea_bn.limits import Callback, Limits, Result
from gomea_bn.linkage.models import LinkageModel, linkage_model
from gomea_bn.problems.base import CompiledProblem

__all__ = ["GOMEA"]


@dataclass(frozen=True)
class GOMEA:
    """Gene-pool optimal mixing with the interleaved multi-start scheme.

    Parameters
    ----------
    linkage : str or LinkageModel
        "tree" (NMI, filtered), "tree-mi", "tree-corrected", "univariate", or an object with ``learn``.
    local_search : bool, optional
        Climb once over all genes after initialisation and after mixing, for every solution and generation.
        None asks the problem: yes for network structure, no otherwise.
    forced_improvement : bool
        Solutions that did not change, or stalled for more than 1 + floor(log10 n) generations, take genes of the
        best solution until they improve, or become it.
    search_donors : bool
        Try donors in random order until one differs (exhaustive donor search) instead of one random donor.
    elite_update : {"generation", "immediate"}
        Whether the shared best solution stands still during a generation (needed for threads) or follows at once,
        as in the published code (one thread).
    refine : {"sample", "best", "doubling"}
        Which solutions a problem that can refine solutions itself works on, after every generation: the best one of
        the population and one in eight others, the best one, or the best one whenever the evaluations have doubled.
    base_population, growth : int
        Size of the first population; each further one is `growth` times larger.
    subgenerations : int
        Generations of a population per generation of the next larger one.
    max_population_size : int
        No larger population is started.

    Notes
    -----
    The schedule is a counter: after every `subgenerations`-th generation of a population the next larger one gets
    its turn, else the smallest active one does. A population stops, with all smaller ones, when a larger one has a
    better mean, and it stops when all its genotypes are equal. Means are taken after initialisation and local
    search, so that they can be compared from the start.
    """

    linkage: str | LinkageModel = "tree"
    local_search: bool | None = None
    forced_improvement: bool = True
    search_donors: bool = False
    elite_update: str = "generation"
    refine: str = "sample"
    base_population: int = 2
    growth: int = 2
    subgenerations: int = 4
    max_population_size: int = 1 << 17

    def __post_init__(self) -> None:
        if self.elite_update not in ("generation", "immediate"):
            raise GomeaBnError(
                f"elite_update must be 'generation' or 'immediate', got {self.elite_update!r}."
            )
        if self.refine not in ("sample", "best", "doubling"):
            raise GomeaBnError(f"refine must be 'sample', 'best' or 'doubling', got {self.refine!r}.")
        optional = ("local_search",) if self.local_search is not None else ()
        sizes = (("base_population", 1), ("growth", 2), ("subgenerations", 1), ("max_population_size", 1))
        check_scheme(self, ("forced_improvement", "search_donors", *optional), sizes)
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
        """Return the best solution found within the limits.

        Parameters
        ----------
        problem : CompiledProblem
        limits : Limits
        seed : int or SeedSequence, optional
            Same seed, same result, at any number of threads (unless a clock ended the run).
        n_threads : int
        callback : callable, optional
            Gets a `Progress` after every generation; a true return value stops the run.
        initial : array_like of int, shape (k, n_variables), optional
            Genotypes that take the first places of every population.
        """
        return GomeaRun(self, problem, limits, seed, n_threads, callback, initial).finish()
