"""The folder of one run: the network in three formats and a record that says how to repeat it."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gomea_bn import __version__
from gomea_bn.errors import GomeaBnError
from gomea_bn.io.atomic import write_text

if TYPE_CHECKING:
    from gomea_bn.estimator import BayesNetLearner
    from gomea_bn.network import DiscretizedBayesNet

__all__ = [
    "check_folder",
    "cpu_name",
    "environment",
    "file_digest",
    "installed_version",
    "plain_parameters",
    "run_record",
    "write_run_folder",
]

RECORD_FORMAT = "gomea-bn run"
RECORD_FORMAT_VERSION = 1
FILES = ("network.json", "network.bif", "network.dot", "run.json")
_COMPUTING = ("numpy", "numba", "llvmlite", "scipy", "pandas")


def check_folder(folder: Path, files: Iterable[str] = FILES, *, inputs: Iterable[Path] = ()) -> None:
    """Raise `GomeaBnError` if `files` could not be written to `folder` or would replace an input; creates nothing.

    Parameters
    ----------
    folder : Path
    files : iterable of str
        Names in `folder`, by default a run's.
    inputs : iterable of Path
        What the run reads, for example the table.
    """
    nearest = Path(os.path.abspath(folder))
    while not os.path.lexists(nearest):
        nearest = nearest.parent
    if not nearest.is_dir():
        raise GomeaBnError(f"Cannot write to folder '{folder}': '{nearest}' is not a folder.")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise GomeaBnError(f"Cannot write to folder '{folder}': no permission to write in '{nearest}'.")
    read = [path for path in inputs if path.exists()]
    for name in files:
        target = folder / name
        if target.is_dir():
            raise GomeaBnError(f"Cannot write '{target}': a folder of that name is in the way.")
        if target.exists() and any(target.samefile(path) for path in read):
            raise GomeaBnError(
                f"Cannot write '{target}': it is a file that this run reads, and would be lost; choose another folder."
            )


def write_run_folder(folder: Path, network: DiscretizedBayesNet, record: dict[str, Any]) -> list[Path]:
    """Return the paths of network.json, network.bif, network.dot and run.json, after writing all of them.

    They are completed beside their places first, so that a full disk or an interrupt leaves the files of an
    earlier run as they were.

    Raises
    ------
    GomeaBnError
        If the folder cannot be made or written.
    """
    texts = dict(
        zip(FILES, (network.to_json(), network.to_bif(), network.to_dot(), _record_text(record)), strict=True)
    )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=".part-", dir=folder))
    except OSError as error:
        raise GomeaBnError(f"Cannot write to folder '{folder}': {error.strerror or error}.") from error
    try:
        for name, text in texts.items():
            write_text(beside / name, text)
        for name in texts:
            os.replace(beside / name, folder / name)
    except OSError as error:
        raise GomeaBnError(f"Cannot write to folder '{folder}': {error.strerror or error}.") from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return [folder / name for name in texts]


def run_record(
    learner: BayesNetLearner, source: Path, source_sha256: str, *, compile_seconds: float
) -> dict[str, Any]:
    """Return what run.json holds: data, parameters, seed, versions, machine, counts, and how to repeat the run.

    A run whose discretizer the clock cut short has no such way; "repeat" is None then.

    Parameters
    ----------
    learner : BayesNetLearner
        After ``fit``.
    source : Path
        The file that it learned from.
    source_sha256 : str
        Digest of that file's bytes when it was read.
    compile_seconds : float
        Spent on compiling or loading kernels before the search.
    """
    from gomea_bn.gomea import GOMEA

    table = learner.table_
    columns = [
        {"name": c.name, "kind": "continuous" if c.is_continuous else "discrete", "reason": c.reason}
        for c in table.columns
    ]
    return {
        "format": RECORD_FORMAT,
        "format_version": RECORD_FORMAT_VERSION,
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "data": {
            "path": os.path.abspath(source),
            "file_sha256": source_sha256,
            "table_sha256": learner.network_.metadata["data_sha256"],
            "n_rows": table.n_rows,
            "dropped_rows": list(table.dropped_rows),
            "columns": columns,
        },
        "parameters": plain_parameters(learner),
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
                "seconds": e.seconds,
                "n_eval": e.n_eval,
                "score": -e.objective,
                "population_size": e.population_size,
            }
            for e in learner.history_
        ],
        "repeat": None
        if learner.statistics_.get("discretizer_cut_short")
        else {"random_state": learner.seed_, "max_evaluations": learner.n_eval_, "max_seconds": None},
    }


def environment() -> dict[str, Any]:
    """Return versions of what computes, and the machine, for records."""
    return {
        "versions": {
            "gomea-bn": __version__,
            "python": platform.python_version(),
            **{name: installed_version(name) for name in _COMPUTING},
        },
        "machine": {"platform": platform.platform(), "cpu": cpu_name(), "cores": os.cpu_count()},
    }


def plain_parameters(learner: Any) -> dict[str, Any]:
    """Return a learner's parameters, but those that say only where and how visibly it runs, as plain values."""
    parameters: dict[str, Any] = learner.get_params(deep=False)
    for name in ("algorithm", "callback", "verbose", "n_jobs", "random_state"):
        del parameters[name]
    if learner.knowledge is not None:
        parameters["knowledge"] = asdict(learner.knowledge)
    if not isinstance(learner.discretizer, str):
        parameters["discretizer"] = repr(learner.discretizer)
    return parameters


def installed_version(distribution: str) -> str | None:
    """Return the version of an installed distribution, or None."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, as hexadecimal text."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def cpu_name() -> str:
    """Return the processor's name as the system tells it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _record_text(record: dict[str, Any]) -> str:
    return json.dumps(record, indent=2, allow_nan=False) + "\n"
