"""What the command `confidence` computes of a learned network: repeated networks, and probabilities of edges."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gomea_bn.cli.running import printed_warnings
from gomea_bn.errors import GomeaBnError
from gomea_bn.texts import counted

if TYPE_CHECKING:
    from gomea_bn.certainty.edge_posterior import EdgeProbabilities
    from gomea_bn.data.table import Table
    from gomea_bn.learning.learner import BayesNetLearner
    from gomea_bn.learning.options import LearningOptions
    from gomea_bn.learning.repeats import Stability
    from gomea_bn.network.bayes_net import DiscretizedBayesNet
    from gomea_bn.runtime.checkpoints import Checkpoint

REPEAT_OPTIONS = {"n_networks": "--repeat"}
"""Options for repeated searches, by their names in Python, as `spelling` takes them."""

PROBABILITY_OPTIONS = {
    "bins": "--drawn-bins or --repeat",
    "n_sweeps": "--max-sweeps",
    "max_seconds": "--max-seconds",
}
"""Options for probabilities of edges, by their names in Python."""

# folders of checkpoints
_REPEATS, _PROBABILITIES = "repeats", "probabilities"


@dataclass
class AfterSearch:
    """What is computed of a learned network: repeated networks, and probabilities of edges.

    Ctrl-C ends a part and keeps what is complete. `problem` is the error of a part that could not be computed, which
    must not lose the other, and `problem_options` are that part's options. Each part has a checkpoint in a folder of
    its own.
    """

    draws_bins: bool
    n_repeats: int
    n_sweeps: int
    max_seconds: float | None
    checkpoint: Checkpoint | None = None
    stability: Stability | None = None
    probabilities: EdgeProbabilities | None = None
    problem: GomeaBnError | None = None
    problem_options: Mapping[str, str] = field(default_factory=dict)

    def check(self) -> None:
        """Raise `GomeaBnError` if a checkpoint of a part would be lost, or belongs to other options of this part.

        `problem_options` are then the options of the part.
        """
        from gomea_bn.runtime.checkpoints import option_text

        if self.n_repeats and (part := self._checkpoint(_REPEATS)) is not None:
            self.problem_options = REPEAT_OPTIONS
            part.check()
            part.check_options({"n_networks": option_text(self.n_repeats)})
        if (part := self._checkpoint(_PROBABILITIES)) is not None:
            self.problem_options = PROBABILITY_OPTIONS
            part.check()
            part.check_options(self._saved_probability_options(part))
        self.problem_options = {}

    def _saved_probability_options(self, part: Checkpoint) -> dict[str, str]:
        """Return the options of the probabilities as texts, as far as they are known before the repeats."""
        from gomea_bn.runtime.checkpoints import option_text

        options = {"n_sweeps": option_text(self.n_sweeps), "max_seconds": option_text(self.max_seconds)}
        drawn, of_network = option_text("drawn"), option_text([])
        if self.draws_bins or not self.n_repeats:
            options["bins"] = drawn if self.draws_bins else of_network
        elif part.saved_options().get("bins") in (drawn, of_network):
            options["bins"] = f"those of {counted(self.n_repeats, 'network')}"
        return options

    def check_score(self, table: Table, options: LearningOptions) -> None:
        """Raise `GomeaBnError` if bins are to be drawn that cannot be drawn under the score of the search."""
        if self.draws_bins and any(column.is_continuous for column in table.columns):
            from gomea_bn.certainty.edge_posterior import check_score_of_draws

            check_score_of_draws(options.scoring_of(table), is_dirichlet=options.prior == "dirichlet")

    def _checkpoint(self, name: str) -> Checkpoint | None:
        """Return the checkpoint of a part; one that had not begun starts."""
        if self.checkpoint is None:
            return None
        part = replace(self.checkpoint, folder=Path(self.checkpoint.folder) / name)
        return replace(part, resume=part.resume and part.path.exists())

    def compute(self, learner: BayesNetLearner, tell: Callable[[str], None]) -> None:
        """Repeat the search as often as wanted, and compute the probabilities."""
        repeated: list[DiscretizedBayesNet] = []
        try:
            if self.n_repeats:
                self.problem_options = REPEAT_OPTIONS
                with printed_warnings(REPEAT_OPTIONS):
                    repeated = self._repeat(learner, tell)
            self.problem_options = PROBABILITY_OPTIONS
            with printed_warnings(PROBABILITY_OPTIONS):
                self._compute_probabilities(learner, repeated, tell)
        except GomeaBnError as error:
            self.problem = error
        except KeyboardInterrupt:
            tell("Interrupted: the network is kept.")

    def _compute_probabilities(
        self, learner: BayesNetLearner, repeated: list[DiscretizedBayesNet], tell: Callable[[str], None]
    ) -> None:
        """Set `probabilities`."""
        tell("Computing the probabilities of edges (Ctrl-C ends this and keeps the network).")
        self.probabilities = learner.edge_probabilities(
            bins="drawn" if self.draws_bins else repeated,
            n_sweeps=self.n_sweeps,
            max_seconds=self.max_seconds,
            random_state=learner.seed_,
            checkpoint=self._checkpoint(_PROBABILITIES),
        )
        if self.probabilities.stopped_by == "interrupt":
            tell("Interrupted: the probabilities are those of the sweeps so far.")

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
