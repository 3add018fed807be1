"""What the command `learn` computes after the search: repeated networks, and probabilities of edges."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gomea_bn.errors import GomeaBnError
from gomea_bn.texts import counted

if TYPE_CHECKING:
    from gomea_bn.certainty.edge_posterior import EdgeProbabilities
    from gomea_bn.data.table import Table
    from gomea_bn.learning.learner import BayesNetLearner
    from gomea_bn.learning.learning_options import LearningOptions
    from gomea_bn.learning.repeats import Stability
    from gomea_bn.network.bayes_net import DiscretizedBayesNet
    from gomea_bn.runtime.checkpoints import Checkpoint

__all__ = ["AFTER_SEARCH_OPTIONS", "AfterSearch"]

AFTER_SEARCH_OPTIONS = {"n_networks": "--repeat", "bins": "--drawn-bins or --repeat"}
"""Options of `learn` by their names in Python, as `spelling` takes them."""

# folders of checkpoints within that of the search
_REPEATS, _PROBABILITIES = "repeats", "probabilities"


@dataclass
class AfterSearch:
    """What `learn` computes after the search: repeated networks, and probabilities of edges.

    Ctrl-C ends a part and keeps what is complete. `problem` is the error of a part that could not be computed, which
    must not lose the network. Each part has a checkpoint in a folder of its own, within that of the search.
    """

    confidence: bool
    draws_bins: bool
    n_repeats: int
    checkpoint: Checkpoint | None = None
    stability: Stability | None = None
    probabilities: EdgeProbabilities | None = None
    problem: GomeaBnError | None = None

    def check(self) -> None:
        """Raise `GomeaBnError` if a checkpoint of a part would be lost."""
        for name, is_wanted in ((_REPEATS, self.n_repeats), (_PROBABILITIES, self.confidence)):
            part = self._checkpoint(name)
            if is_wanted and part is not None:
                part.check()

    def check_score(self, table: Table, options: LearningOptions) -> None:
        """Raise `GomeaBnError` if bins are to be drawn that cannot be drawn under the score of the search."""
        from gomea_bn.certainty.edge_posterior import check_score_of_draws

        if self.draws_bins and any(column.is_continuous for column in table.columns):
            check_score_of_draws(options.scoring_of(table), is_dirichlet=options.prior == "dirichlet")

    def _checkpoint(self, name: str) -> Checkpoint | None:
        """Return the checkpoint of a part; one that had not begun starts."""
        if self.checkpoint is None:
            return None
        part = replace(self.checkpoint, folder=Path(self.checkpoint.folder) / name)
        return replace(part, resume=part.resume and part.path.exists())

    def compute(self, learner: BayesNetLearner, tell: Callable[[str], None]) -> None:
        """Repeat the search and compute the probabilities, as far as they are wanted."""
        if not (self.confidence or self.n_repeats):
            return
        if learner.stopped_by_ == "interrupt":
            tell("Interrupted: no repeated searches, no probabilities of edges.")
            return
        repeated: list[DiscretizedBayesNet] = []
        try:
            if self.n_repeats:
                repeated = self._repeat(learner, tell)
            if self.confidence:
                tell("Computing the probabilities of edges (Ctrl-C ends this and keeps the network).")
                self.probabilities = learner.edge_probabilities(
                    bins="drawn" if self.draws_bins else repeated,
                    random_state=learner.seed_,
                    checkpoint=self._checkpoint(_PROBABILITIES),
                )
                if self.probabilities.stopped_by == "interrupt":
                    tell("Interrupted: the probabilities are those of the sweeps so far.")
        except GomeaBnError as error:
            self.problem = error
        except KeyboardInterrupt:
            tell("Interrupted: the network is kept.")

    def _repeat(self, learner: BayesNetLearner, tell: Callable[[str], None]) -> list[DiscretizedBayesNet]:
        """Return networks from parts of the rows; sets `stability`."""
        from gomea_bn.learning.ensemble import BayesNetEnsemble
        from gomea_bn.learning.repeats import stability

        options = learner.get_params(deep=False) | {"density": "bins"}
        tell(f"Repeating the search {counted(self.n_repeats, 'time')} (Ctrl-C keeps the repeats so far).")
        ensemble = BayesNetEnsemble(
            type(learner)(**options), n_networks=self.n_repeats, random_state=learner.seed_
        ).fit(learner.table_, checkpoint=self._checkpoint(_REPEATS))
        if ensemble.n_networks_ < self.n_repeats:
            tell(f"Interrupted after {counted(ensemble.n_networks_, 'repeat')}.")
        self.stability = stability(learner.network_, ensemble.networks_)
        return list(ensemble.networks_)

    @property
    def record(self) -> dict[str, Any]:
        """Entries of run.json."""
        entries: dict[str, Any] = {}
        if self.stability is not None:
            entries["stability"] = self.stability.summary()
        if self.probabilities is not None:
            probabilities = self.probabilities
            entries["confidence"] = {
                "method": probabilities.method,
                "n_bin_sets": probabilities.n_bin_sets,
                "has_drawn_bins": probabilities.has_drawn_bins,
                "has_mixed": bool(probabilities.has_mixed),
                "stopped_by": probabilities.stopped_by,
                "seconds": probabilities.seconds,
            }
        return entries

    def network(self, learner: BayesNetLearner) -> DiscretizedBayesNet:
        """Return the network, with what was computed in its metadata."""
        network = learner.network_ if self.probabilities is None else self.probabilities.recorded_network()
        return network if self.stability is None else self.stability.recorded_network(network)

    def texts(self) -> dict[str, str]:
        """Return the texts of the files by name."""
        from gomea_bn.learning.run_folder import CONFIDENCE_FILE, STABILITY_FILE

        parts = {CONFIDENCE_FILE: self.probabilities, STABILITY_FILE: self.stability}
        return {name: part.to_json() for name, part in parts.items() if part is not None}

    def reports(self) -> list[str]:
        """Return what is printed after the network."""
        return [part.to_text() for part in (self.stability, self.probabilities) if part is not None]
