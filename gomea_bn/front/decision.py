"""The decision.json that the review page saves: which network of a front was chosen, and why."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from typing import Any

from gomea_bn.errors import GomeaBnError, check_number, is_integer, nearest
from gomea_bn.front.front import Front
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.runtime.files import check_fields, head_of, prefixed_errors, read_json

FORMAT = "gomea-bn decision"

MAX_BYTES = 5_000_000
"""Largest file that is read, in bytes; the page writes a few kilobytes."""

_HASH = re.compile(r"[0-9a-f]{64}")
_ID = re.compile(r"0|[1-9][0-9]{0,8}")
_REQUIRED = ("run_hash", "network", "made")


@dataclass(frozen=True, slots=True)
class Decision:
    """Which network of a front was chosen, and why; from the page of one network, only what is known of its edges.

    Attributes
    ----------
    run_hash : str or None
        `Front.run_hash` of the front from which the network was chosen; None from the page of one network.
    network : int
        Id of the chosen network: its position in that front.
    made : str
        Time of the decision, as ISO 8601 text.
    shortlist : tuple of int
        Ids of the networks that were also considered.
    notes : dict of int to str
        Notes about networks, by id.
    weights : dict of str to float
        Importance of objectives, by name; at least 0.
    filters : dict of str to (low, high)
        Ranges that the networks had to lie in, by the name of the limited quantity.
    rules : tuple of str
        Rules in words that the networks had to follow, such as "has age → income" or "has a cut of age in 30 to 40".
    required_edges, forbidden_edges : tuple of (parent, child)
        What these rules say of edges, as for `ExpertKnowledge`.
    names : dict of str to str
        Names that the page showed in place of the names of columns.
    levels : dict of str to dict of str to str
        Texts that the page showed in place of levels, by column.

    Raises
    ------
    GomeaBnError
        For a field of another type or form; the message names it.
    """

    run_hash: str | None
    network: int
    made: str
    shortlist: tuple[int, ...] = ()
    notes: dict[int, str] = field(default_factory=dict)
    weights: dict[str, float] = field(default_factory=dict)
    filters: dict[str, tuple[float, float]] = field(default_factory=dict)
    rules: tuple[str, ...] = ()
    required_edges: tuple[tuple[str, str], ...] = ()
    forbidden_edges: tuple[tuple[str, str], ...] = ()
    names: dict[str, str] = field(default_factory=dict)
    levels: dict[str, dict[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.run_hash is not None and not (
            isinstance(self.run_hash, str) and _HASH.fullmatch(self.run_hash)
        ):
            raise GomeaBnError(f"run_hash must be 64 hexadecimal digits, got {self.run_hash!r:.80}.")
        try:
            datetime.fromisoformat(self.made)
        except (TypeError, ValueError) as error:
            wanted = "made must be a time such as '2026-11-05T14:30:00Z'"
            raise GomeaBnError(f"{wanted}, got {self.made!r:.80}.") from error
        lists = {"shortlist": "ids", "rules": "texts", "required_edges": "edges", "forbidden_edges": "edges"}
        for name, content in lists.items():
            value = getattr(self, name)
            if not isinstance(value, (tuple, list)):
                raise GomeaBnError(f"{name} must be a list of {content}, got {type(value).__name__}.")
        for name in ("notes", "weights", "filters", "names", "levels"):
            if not isinstance(getattr(self, name), Mapping):
                raise GomeaBnError(f"{name} must be an object, got {type(getattr(self, name)).__name__}.")
        shortlist = tuple(_id(index, "shortlist") for index in self.shortlist)
        if len(set(shortlist)) < len(shortlist):
            raise GomeaBnError(f"shortlist has a duplicate id, got {list(shortlist)!r:.80}.")
        notes = {_id(key, "notes"): _text(note, f"notes[{key!r:.40}]") for key, note in self.notes.items()}
        weights = {
            _text(key, "A name in weights"): _number(weight, f"weights[{key!r:.40}]", least=0)
            for key, weight in self.weights.items()
        }
        filters = {
            _text(key, "A name in filters"): _range(limits, f"filters[{key!r:.40}]")
            for key, limits in self.filters.items()
        }
        checked = {
            "network": _id(self.network, "network"),
            "shortlist": shortlist,
            "notes": notes,
            "weights": weights,
            "filters": filters,
            "rules": tuple(_text(rule, "A rule in rules") for rule in self.rules),
            "required_edges": tuple(_edge(edge, "required_edges") for edge in self.required_edges),
            "forbidden_edges": tuple(_edge(edge, "forbidden_edges") for edge in self.forbidden_edges),
            "names": _texts(self.names, "names"),
            "levels": {name: _texts(of, f"levels[{name!r:.40}]") for name, of in self.levels.items()},
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def to_json(self) -> str:
        """Return the text of a decision.json, which `read_decision` reads back to an equal decision."""
        content = {**head_of(FORMAT), **asdict(self)}
        return json.dumps(content, indent=2, allow_nan=False) + "\n"


def read_decision(source: str | os.PathLike[str]) -> Decision:
    """Return the decision in a file that the review page saved, or in its text, which begins with a brace.

    Raises
    ------
    GomeaBnError
        For a file that cannot be read or is larger than `MAX_BYTES`; for text that is not JSON, has a duplicate key or
        holds NaN; for another format or version; for fields that are missing, unknown, or of another type or form.
    """
    content, where = read_json(
        source,
        "a decision",
        FORMAT,
        max_bytes=MAX_BYTES,
        advice="Give the decision.json that the review page saved.",
    )
    parts = {key: value for key, value in content.items() if key not in ("format", "format_version")}
    check_fields(
        parts, where, _REQUIRED, [item.name for item in fields(Decision) if item.name not in _REQUIRED]
    )
    with prefixed_errors(where):
        if isinstance(notes := parts.get("notes"), dict):
            for key in notes:
                if not _ID.fullmatch(key):
                    raise GomeaBnError(f"notes must have ids of networks as keys, got {key!r:.80}.")
            parts["notes"] = {int(key): note for key, note in notes.items()}
        return Decision(**parts)


def accept(source: Front | DiscretizedBayesNet, decision: Decision) -> DiscretizedBayesNet:
    """Return the chosen network of a front, or the one network of a page, with the decision added to its metadata.

    It stands there under "decision". A thinned front is accepted too if it still has the network that was chosen from
    the whole front.

    Raises
    ------
    GomeaBnError
        If the decision was made on another front, or has ids, objectives or columns that front or network lack.
    """
    if isinstance(source, DiscretizedBayesNet) and isinstance(decision, Decision):
        return _accepted(source, decision)
    position, front = _position(source, decision), source
    assert isinstance(front, Front)
    for name in decision.weights:
        if name not in front.names:
            raise GomeaBnError(
                f"weights of the decision: unknown objective '{name}'. The front has {', '.join(front.names)}."
                f"{nearest(name, front.names)}"
            )
    chosen = front[position].network
    return chosen.with_metadata(decision=asdict(decision))


def _accepted(network: DiscretizedBayesNet, decision: Decision) -> DiscretizedBayesNet:
    """Return a network with what was said on its own page."""
    if decision.run_hash is not None:
        raise GomeaBnError(
            f"The decision chooses network {decision.network} of a front; give the folder of that front."
        )
    mentioned = {name for edge in (*decision.required_edges, *decision.forbidden_edges) for name in edge}
    if unknown := sorted({*mentioned, *decision.names, *decision.levels} - set(network.names)):
        raise GomeaBnError(
            f"The decision is about another network: this one has no column {unknown[0]!r}."
            f"{nearest(unknown[0], network.names)}"
        )
    return network.with_metadata(decision=asdict(decision))


def _position(front: object, decision: Decision) -> int:
    """Return the position of the chosen network in the front, after checking all ids of the decision."""
    if not isinstance(front, Front) or not isinstance(decision, Decision):
        raise GomeaBnError(
            f"accept needs a Front and a Decision, got {type(front).__name__} and {type(decision).__name__}."
        )
    whole = front.record.get("thinned_from") or {}
    ids: tuple[int, ...] = tuple(range(len(front)))
    size = len(front)
    if decision.run_hash is None:
        raise GomeaBnError(
            "The decision comes from the page of one network, where there was nothing to choose; give that one. Its "
            "rules about edges are for the option --rules of the commands front and learn."
        )
    if decision.run_hash != front.run_hash:
        if decision.run_hash != whole.get("run_hash"):
            raise GomeaBnError(
                f"The decision is about another front: its run_hash is {decision.run_hash}, this front has "
                f"{front.run_hash}. Give the folder that the review page was made from, or choose again on a page of "
                "this front."
            )
        ids, size = front.original_index, int(whole["n_networks"])
    for entry, mentioned in (
        ("shortlist", decision.shortlist),
        ("notes", decision.notes),
        ("network", [decision.network]),
    ):
        for index in mentioned:
            if index >= size:
                raise GomeaBnError(
                    f"{entry}: unknown network {index}; the front has networks 0 to {size - 1}."
                )
    if decision.network not in ids:
        raise GomeaBnError(
            f"Network {decision.network} was left out when this front was thinned from {size} to {len(front)}; accept "
            "the decision with the whole front."
        )
    return ids.index(decision.network)


def _id(value: Any, entry: str) -> int:
    if not is_integer(value) or not 0 <= value < 10**9:
        raise GomeaBnError(f"{entry} must hold ids of networks, integers of at least 0, got {value!r:.80}.")
    return int(value)


def _text(value: object, entry: str) -> str:
    if not isinstance(value, str):
        raise GomeaBnError(f"{entry} must be text, got {value!r:.80}.")
    return value


def _edge(value: object, entry: str) -> tuple[str, str]:
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise GomeaBnError(f"{entry} must hold pairs of parent and child, got {value!r:.80}.")
    return _text(value[0], f"A parent in {entry}"), _text(value[1], f"A child in {entry}")


def _texts(value: object, entry: str) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise GomeaBnError(f"{entry} must be an object, got {type(value).__name__}.")
    return {
        _text(key, f"A key of {entry}"): _text(text, f"{entry}[{key!r:.40}]") for key, text in value.items()
    }


def _number(value: Any, entry: str, least: float = -math.inf) -> float:
    check_number(entry, value, least)
    return float(value)


def _range(value: object, entry: str) -> tuple[float, float]:
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise GomeaBnError(f"{entry} must be two numbers, least and most, got {value!r:.80}.")
    low, high = _number(value[0], entry), _number(value[1], entry)
    if low > high:
        raise GomeaBnError(f"{entry} must have its smaller number first, got {[low, high]!r}.")
    return low, high
