"""The decision that the review page saves: read with suspicion, checked against its front, turned into a model."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from math import isfinite
from typing import TYPE_CHECKING, Any, NoReturn

from gomea_bn.errors import GomeaBnError, is_integer, is_real, nearest

if TYPE_CHECKING:
    from gomea_bn.front.front import Front
    from gomea_bn.network.bayes_net import DiscretizedBayesNet

__all__ = ["FORMAT", "FORMAT_VERSION", "MAX_BYTES", "Decision", "accept", "read_decision"]

FORMAT = "gomea-bn decision"
FORMAT_VERSION = 1

MAX_BYTES = 5_000_000
"""Largest file that is read; the page writes a few kilobytes."""

_HASH = re.compile(r"[0-9a-f]{64}")
_ID = re.compile(r"0|[1-9][0-9]{0,8}")
_REQUIRED = ("format", "format_version", "run_hash", "network", "made")


@dataclass(frozen=True, slots=True)
class Decision:
    """Which network of a front somebody chose, and why.

    Attributes
    ----------
    run_hash : str
        `Front.run_hash` of the front that was looked at.
    network : int
        The chosen network's id: its position in that front.
    made : str
        When, as ISO 8601 text.
    shortlist : tuple of int
        Ids of the networks that were also considered.
    notes : dict of int to str
        What was written about networks, by id.
    weights : dict of str to float
        How much each objective was said to matter; at least 0.
    filters : dict of str to (low, high)
        The ranges that were asked for, by the name of what they limit.

    Raises
    ------
    GomeaBnError
        For a field of another type or form; the message names it.
    """

    run_hash: str
    network: int
    made: str
    shortlist: tuple[int, ...] = ()
    notes: dict[int, str] = field(default_factory=dict)
    weights: dict[str, float] = field(default_factory=dict)
    filters: dict[str, tuple[float, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.run_hash, str) or not _HASH.fullmatch(self.run_hash):
            raise GomeaBnError(
                f"run_hash must be 64 hexadecimal digits, got {self.run_hash!r:.80}. A report of one network has none, "
                "since it leaves nothing to choose."
            )
        if not isinstance(self.made, str) or not _is_time(self.made):
            raise GomeaBnError(f"made must be a time such as '2026-11-05T14:30:00Z', got {self.made!r:.80}.")
        if not isinstance(self.shortlist, (tuple, list)):
            raise GomeaBnError(f"shortlist must be a list of ids, got {type(self.shortlist).__name__}.")
        for name in ("notes", "weights", "filters"):
            if not isinstance(getattr(self, name), Mapping):
                raise GomeaBnError(f"{name} must be an object, got {type(getattr(self, name)).__name__}.")
        shortlist = tuple(_id(one, "shortlist") for one in self.shortlist)
        if len(set(shortlist)) < len(shortlist):
            raise GomeaBnError(f"shortlist must name every id once, got {list(shortlist)!r:.80}.")
        checked = {
            "network": _id(self.network, "network"),
            "shortlist": shortlist,
            "notes": {
                _id(key, "notes"): _text(value, f"notes[{key!r:.40}]") for key, value in self.notes.items()
            },
            "weights": {
                _text(key, "A name in weights"): _weight(value, key) for key, value in self.weights.items()
            },
            "filters": {
                _text(key, "A name in filters"): _range(value, key) for key, value in self.filters.items()
            },
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def to_json(self) -> str:
        """Return the text of a decision.json, which `read_decision` reads back to an equal decision."""
        content = {"format": FORMAT, "format_version": FORMAT_VERSION, **asdict(self)}
        return json.dumps(content, indent=2, allow_nan=False) + "\n"


def read_decision(source: str | os.PathLike[str]) -> Decision:
    """Return the decision of a file that the review page saved, or of its text: that which begins with a brace.

    Raises
    ------
    GomeaBnError
        For a file that cannot be read or is larger than `MAX_BYTES`; text that is not JSON, has a key twice or holds
        NaN; another format or version; fields that are missing, unknown, or of another type or form.
    """
    text, where = _text_of(source)
    try:
        content = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_doubled)
    except (ValueError, RecursionError) as error:
        raise GomeaBnError(f"{where} is not JSON: {error}.") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        got = repr(content.get("format")) if isinstance(content, dict) else type(content).__name__
        raise GomeaBnError(
            f'{where} is not a decision: wanted "format": {FORMAT!r}, got {got:.80}. Give the decision.json '
            "that the review page saved."
        )
    version = content.get("format_version")
    if version != FORMAT_VERSION or isinstance(version, bool):
        raise GomeaBnError(
            f"{where} has format_version {version!r:.40}; this release reads {FORMAT_VERSION}. A newer file needs "
            "a newer gomea-bn."
        )
    known = ["format", "format_version", *(one.name for one in fields(Decision))]
    for key in content:
        if key not in known:
            raise GomeaBnError(f"{where} has the unknown field {key!r:.80}.{nearest(key, known)}")
    for key in _REQUIRED:
        if key not in content:
            raise GomeaBnError(
                f"{where} lacks the field {key!r}; save the decision again on the review page."
            )
    parts = {key: value for key, value in content.items() if key not in ("format", "format_version")}
    try:
        if isinstance(parts.get("notes"), dict):
            parts["notes"] = {_id_of_text(key): value for key, value in parts["notes"].items()}
        return Decision(**parts)
    except GomeaBnError as error:
        raise GomeaBnError(f"{where}: {error}") from error


def accept(front: Front, decision: Decision) -> DiscretizedBayesNet:
    """Return the chosen network of a front, with the decision added to its metadata under "decision".

    A thinned front is accepted too if it kept the network that was chosen from the whole one.

    Raises
    ------
    GomeaBnError
        If the decision was made on another front, or names networks or objectives that this one has not.
    """
    from gomea_bn.network.bayes_net import DiscretizedBayesNet

    position = _position(front, decision)
    for name in decision.weights:
        if name not in front.names:
            raise GomeaBnError(
                f"The decision weighs '{name}', which is no objective of the front; it has {', '.join(front.names)}."
                f"{nearest(name, front.names)}"
            )
    chosen = front[position].network
    return DiscretizedBayesNet(
        chosen.names,
        chosen.edges,
        cut_points=chosen.cut_points,
        support=chosen.support,
        levels=chosen.levels,
        tables=chosen.tables,
        pseudo_count=chosen.pseudo_count,
        metadata={**chosen.metadata, "decision": asdict(decision)},
    )


def _position(front: Front, decision: Decision) -> int:
    """Return where the chosen network is in the front; all ids of the decision must belong to it."""
    from gomea_bn.front.front import Front

    if not isinstance(front, Front) or not isinstance(decision, Decision):
        raise GomeaBnError(
            f"A decision is accepted for a front: wanted Front and Decision, got {type(front).__name__} and "
            f"{type(decision).__name__}."
        )
    whole = front.record.get("thinned_from") or {}
    ids: tuple[int, ...] = tuple(range(len(front)))
    size = len(front)
    if decision.run_hash != front.run_hash:
        if decision.run_hash != whole.get("run_hash"):
            raise GomeaBnError(
                f"The decision is about another front: it wants run_hash {decision.run_hash}, this front has "
                f"{front.run_hash}. Give the folder that the review page was made from, or choose again on a page of "
                "this front."
            )
        ids, size = front.original_index, int(whole["n_networks"])
    for what, named in (
        ("shortlist", decision.shortlist),
        ("notes", decision.notes),
        ("network", [decision.network]),
    ):
        for one in named:
            if one >= size:
                raise GomeaBnError(f"{what} names network {one}; the front has networks 0 to {size - 1}.")
    if decision.network not in ids:
        raise GomeaBnError(
            f"Network {decision.network} was left out when this front was thinned from {size} to {len(front)}; accept "
            "the decision with the whole front."
        )
    return ids.index(decision.network)


def _text_of(source: str | os.PathLike[str]) -> tuple[str, str]:
    """Return the text and what to call it in messages."""
    if not isinstance(source, (str, os.PathLike)):
        raise GomeaBnError(f"A decision is read from a path or JSON text, got {type(source).__name__}.")
    if isinstance(source, str) and source.lstrip()[:1] == "{":
        if len(source) > MAX_BYTES:
            raise GomeaBnError(
                f"JSON text of {len(source):,} characters is no decision; at most {MAX_BYTES:,} are read."
            )
        return source, "JSON text"
    name = f"File '{os.fspath(source)!s:.200}'"
    try:
        with open(source, "rb") as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise GomeaBnError(
                f"{name} is larger than {MAX_BYTES:,} bytes, which no decision is; it was not read."
            )
        return content.decode("utf-8-sig"), name
    except FileNotFoundError as error:
        raise GomeaBnError(f"{name} does not exist.") from error
    except UnicodeDecodeError as error:
        raise GomeaBnError(f"{name} is not UTF-8 text: {error.reason} at byte {error.start}.") from error
    except OSError as error:
        raise GomeaBnError(f"{name} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        if isinstance(error, GomeaBnError):
            raise
        raise GomeaBnError(f"A decision comes from a path or JSON text, got {source!r:.80}.") from error


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _no_doubled(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object's pairs as a dict, or raise for a key that occurs twice."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"key {key!r:.80} occurs twice")
        found[key] = value
    return found


def _is_time(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _id_of_text(key: str) -> int:
    if not _ID.fullmatch(key):
        raise GomeaBnError(f"notes must be keyed by the ids of networks, got {key!r:.80}.")
    return int(key)


def _id(value: Any, what: str) -> int:
    if not is_integer(value) or not 0 <= value < 10**9:
        raise GomeaBnError(f"{what} must hold ids of networks, integers of at least 0, got {value!r:.80}.")
    return int(value)


def _text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise GomeaBnError(f"{what} must be text, got {value!r:.80}.")
    return value


def _number(value: Any, what: str) -> float:
    try:
        if is_real(value) and isfinite(value):
            return float(value)
    except OverflowError:  # an integer beyond every float
        pass
    raise GomeaBnError(f"{what} must be a finite number, got {value!r:.80}.")


def _weight(value: object, name: object) -> float:
    number = _number(value, f"weights[{name!r:.40}]")
    if number < 0:
        raise GomeaBnError(f"weights[{name!r:.40}] must be at least 0, got {number!r}.")
    return number


def _range(value: object, name: object) -> tuple[float, float]:
    what = f"filters[{name!r:.40}]"
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise GomeaBnError(f"{what} must be two numbers, least and most, got {value!r:.80}.")
    low, high = _number(value[0], what), _number(value[1], what)
    if low > high:
        raise GomeaBnError(f"{what} must not end below its start, got {[low, high]!r}.")
    return low, high
