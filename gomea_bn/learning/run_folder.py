"""The folder of one run: the network in three formats, and a record with all that is needed to repeat the run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gomea_bn.learning.parameters import LearnerParameters
from gomea_bn.runtime.environment import environment
from gomea_bn.runtime.files import (
    check_folder,
    check_name,
    check_replaceable,
    finish_exchange,
    head_of,
    replaced_entries,
    write_text,
)

if TYPE_CHECKING:
    from gomea_bn.learning.learner import BayesNetLearner
    from gomea_bn.network.bayes_net import DiscretizedBayesNet

RECORD_FORMAT = "gomea-bn run"
RECORD_FILE = "run.json"
FILES = ("network.json", "network.dot", RECORD_FILE)
EARLIER_FILES = ("network.bif", "averaged.json")
"""Files that earlier versions wrote, of tables of all parents and of an averaged network; a new run removes them."""
CONFIDENCE_FILE = "confidence.json"
"""File of the probabilities of edges, only in the folders of runs that computed them."""
STABILITY_FILE = "stability.json"
"""File of what stays and what moves in repeated searches, only in the folders of runs that repeated them."""
RUN_ENTRIES = (*FILES, *EARLIER_FILES, CONFIDENCE_FILE, STABILITY_FILE)
"""Names of all files of a run."""


def check_run_folder(folder: Path) -> None:
    """Raise `GomeaBnError` if a run cannot be written to a folder without loss; writes nothing.

    Only files of an earlier run may be replaced, which are recognised by its run.json. An exchange of files that a
    killed process had begun is completed first.
    """
    check_name(folder)
    finish_exchange(folder, RUN_ENTRIES)
    check_folder(folder, RUN_ENTRIES)
    check_replaceable(folder, RUN_ENTRIES, RECORD_FILE, RECORD_FORMAT, "a run")


def write_run_folder(
    folder: Path,
    network: DiscretizedBayesNet,
    record: dict[str, Any],
    further: Mapping[str, str] | None = None,
) -> list[Path]:
    """Write network.json, network.dot and run.json to a folder, and return their paths.

    All of them are first written to a temporary folder next to them, so that a full disk, an interrupt or a killed
    process leaves the files of an earlier run or all of the new ones. `further` has the texts of confidence.json and
    stability.json by name; those of an earlier run are removed. The folder is made if absent; one that cannot be made
    or written is a `GomeaBnError`.
    """
    text = json.dumps(record, indent=2, allow_nan=False) + "\n"
    texts = dict(zip(FILES, (network.to_json(), network.to_dot(), text), strict=True))
    texts |= further or {}
    with replaced_entries(folder, RUN_ENTRIES) as new:
        for name, text in texts.items():
            write_text(new / name, text)
    return [folder / name for name in texts]


def run_record(
    learner: BayesNetLearner, source: Path, source_sha256: str, *, compile_seconds: float
) -> dict[str, Any]:
    """Return the content of run.json: data, parameters, seed, versions, machine, counts, and how to repeat the run.

    The digest is that of the bytes of the file when it was read, and `compile_seconds` were spent on kernels before the
    search. "repeat" holds the parameters that repeat the run; it is None if the clock changed the run so that it cannot
    be repeated exactly, see `why_unrepeatable`.
    """
    from gomea_bn.algorithms.gomea import GOMEA
    from gomea_bn.data.files.database_names import absolute_source
    from gomea_bn.learning.options import why_unrepeatable

    table = learner.table_
    columns = [
        {"name": c.name, "kind": "continuous" if c.is_continuous else "discrete", "reason": c.reason}
        for c in table.columns
    ]
    return {
        **head_of(RECORD_FORMAT),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "data": {
            "path": absolute_source(source),
            "file_sha256": source_sha256,
            "table_sha256": learner.network_.metadata["data_sha256"],
            "n_rows": table.n_rows,
            **{
                key: learner.network_.metadata[key]
                for key in ("weights", "copies", "groups", "censoring")
                if key in learner.network_.metadata
            },
            "dropped_rows": list(table.dropped_rows),
            "columns": columns,
        },
        "parameters": plain_parameters(learner),
        "reading": table.reading.given,
        "algorithm": asdict(GOMEA()) if learner.algorithm is None else repr(learner.algorithm),
        "seed": learner.seed_,
        "n_jobs": learner.n_jobs,
        **environment(),
        "counts": {
            "n_eval": learner.n_eval_,
            "n_eval_full": learner.n_eval_full_,
            "n_generations": learner.n_generations_,
            "n_candidate_pairs": learner.n_candidate_pairs_,
            **learner.statistics_,
        },
        "seconds": {
            "compile": compile_seconds,
            "search": learner.fit_seconds_,
            "to_best": learner.time_to_best_,
        },
        "stopped_by": learner.stopped_by_,
        "score": learner.score_,
        "history": [
            {
                "seconds": entry.seconds,
                "n_eval": entry.n_eval,
                "score": -entry.objective,
                "population_size": entry.population_size,
            }
            for entry in learner.history_
        ],
        "repeat": None
        if why_unrepeatable(learner)
        else {
            "random_state": learner.seed_,
            "max_evaluations": learner.n_eval_,
            "max_seconds": None,
            **{key: value for key, value in learner.network_.metadata.items() if key == "started_from"},
        },
    }


def plain_parameters(learner: LearnerParameters) -> dict[str, Any]:
    """Return the parameters of a learner that decide its result, as plain values."""
    parameters = learner.get_params(deep=False)
    for name in ("algorithm", "callback", "verbose", "n_jobs", "random_state"):
        del parameters[name]
    if learner.knowledge is not None:
        parameters["knowledge"] = asdict(learner.knowledge)
    if not isinstance(parameters["discretizer"], str):
        parameters["discretizer"] = repr(parameters["discretizer"])
    return parameters
