"""Networks as the command line names them: a file, a run's folder, or one of a front as FOLDER#ID."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gomea_bn.errors import GomeaBnError
from gomea_bn.runtime.json_files import load_json
from gomea_bn.runtime.text_files import file_text, named_source

if TYPE_CHECKING:
    from gomea_bn.front.front import Candidate, Front
    from gomea_bn.network.bayes_net import DiscretizedBayesNet

__all__ = [
    "WRITERS",
    "candidate",
    "ending_of",
    "named_network",
    "network_text",
    "of_run_folder",
    "run_record_of",
]

WRITERS = ("json", "bif", "dot")
"""Formats of one network."""

_BY_ROLE = ("knee", "closest")


def named_network(text: str) -> DiscretizedBayesNet:
    """Return the network of a JSON or BIF file, of a run's folder, or of FOLDER#ID.

    Raises
    ------
    GomeaBnError
        For what cannot be read, and for a front's folder without an id.
    """
    from gomea_bn.front.folder import is_front_folder, read_front

    folder, mark, which = text.rpartition("#")
    if mark and not os.path.lexists(text):
        front = read_front(folder)
        if which == "expert":
            if front.expert is None:
                raise GomeaBnError(f"The front in '{folder}' was found without an expert's network.")
            return front.expert
        return candidate(front, which).network
    if is_front_folder(text):
        raise GomeaBnError(
            f"'{text}' holds a front of several networks; name one: '{text}#12', '{text}#knee', '{text}#closest' "
            f"or '{text}#expert'."
        )
    if Path(text).is_dir():
        return of_run_folder(Path(text))
    return _from_file(Path(text))


def of_run_folder(folder: Path) -> DiscretizedBayesNet:
    """Return the network of a folder that `learn --out` wrote."""
    from gomea_bn.network.bayes_net import DiscretizedBayesNet

    if not folder.is_dir():
        raise GomeaBnError(f"Folder '{folder}' does not exist.")
    if not (folder / "network.json").is_file():
        raise GomeaBnError(
            f"Folder '{folder}' holds neither front.json nor network.json; give a folder that `gomea-bn front` or "
            "`gomea-bn learn` wrote with --out."
        )
    return DiscretizedBayesNet.from_json(folder / "network.json")


def run_record_of(folder: Path) -> dict[str, Any]:
    """Return the run.json of a folder that `learn --out` wrote, or an empty record if there is none."""
    path = folder / "run.json"
    if not path.is_file():
        return {}
    where = named_source(path)
    record = load_json(file_text(path, "the record of a run"), where)
    if not isinstance(record, dict) or record.get("format") != "gomea-bn run":
        raise GomeaBnError(f"{where} is not the record of a run; learn again with --out.")
    return record


def candidate(front: Front, which: str) -> Candidate:
    """Return the network of an id, of "knee" or "closest" (to the expert), or the best in an objective.

    Raises
    ------
    GomeaBnError
        If the front has no such network.
    """
    from gomea_bn.errors import nearest

    if which.isascii() and which.isdecimal():
        return front[int(which)]
    if which == "knee":
        return front.knee()
    if which == "closest":
        return front.closest_to_expert()
    if which in front.names:
        return front.best(which)
    raise GomeaBnError(
        f"A network of a front is named by its id (0 to {len(front) - 1}), knee, closest or the objective that it is "
        f"best in ({', '.join(front.names)}), got {which!r}.{nearest(which, (*_BY_ROLE, *front.names))}"
    )


def network_text(network: DiscretizedBayesNet, ending: str) -> str:
    """Return a network in one of the formats `WRITERS`."""
    return {"json": network.to_json, "bif": network.to_bif, "dot": network.to_dot}[ending]()


def ending_of(path: Path) -> str:
    """Return the format of `WRITERS` that a file's name asks for."""
    ending = path.suffix[1:].lower()
    if ending not in WRITERS:
        raise GomeaBnError(f"'{path}' must end in .json, .bif or .dot, got '{path.suffix or 'no ending'}'.")
    return ending


def _from_file(path: Path) -> DiscretizedBayesNet:
    from gomea_bn.expert.expert_network import ExpertNetwork
    from gomea_bn.network.bayes_net import DiscretizedBayesNet

    if path.name.lower().endswith((".bif", ".bif.gz")):
        network = ExpertNetwork.from_bif(path).network  # it restores the bins that gomea-bn writes into BIF
        if network is not None:
            return network
    return DiscretizedBayesNet.from_json(path)
