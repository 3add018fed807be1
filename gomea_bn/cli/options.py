"""What the command line's options say in words: kinds, cut points, edges, tiers, penalties."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from math import inf, isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from gomea_bn.errors import GomeaBnError

if TYPE_CHECKING:
    from gomea_bn.network.smoothing import PseudoCount

__all__ = [
    "all_cut_points",
    "read_candidates",
    "read_cut_points",
    "read_edges",
    "read_kinds",
    "read_penalty",
    "read_pseudo_count",
    "read_tiers",
]


def read_kinds(texts: Iterable[str]) -> dict[str, str]:
    """Return the kinds of "name=continuous" and "name=discrete"; the last "=" counts."""
    kinds: dict[str, str] = {}
    for text in texts:
        name, kind = _assignment("--kind", text, "name=continuous or name=discrete")
        if kind not in ("continuous", "discrete"):
            raise GomeaBnError(f"--kind: '{name}' must be continuous or discrete, got {kind!r}.")
        if name in kinds:
            raise GomeaBnError(f"--kind names '{name}' twice.")
        kinds[name] = kind
    return kinds


def read_cut_points(texts: Iterable[str]) -> dict[str, list[float]]:
    """Return the cuts of "name=1,2.5,4"; "name=" is no cut, one bin."""
    cut_points: dict[str, list[float]] = {}
    for text in texts:
        name, numbers = _assignment("--cut-points", text, "name=18,40,65")
        if name in cut_points:
            raise GomeaBnError(f"--cut-points names '{name}' twice; give all its cuts at once.")
        try:
            cut_points[name] = [float(number) for number in numbers.split(",")] if numbers else []
        except ValueError:
            raise GomeaBnError(
                f"--cut-points of '{name}' must be numbers with commas, got {numbers!r}."
            ) from None
    return cut_points


def all_cut_points(texts: Iterable[str], file: Path | None) -> dict[str, list[float]]:
    """Return the cuts of repeated "name=1,2.5,4" texts and of a file of cut points."""
    named = read_cut_points(texts)
    if file is None:
        return named
    from gomea_bn.discretization.cut_files import read_cut_file

    filed = read_cut_file(file)
    for name in named:
        if name in filed:
            raise GomeaBnError(f"--cut-points and --cuts both name '{name}'; give its cuts once.")
    return {**filed, **named}


def read_edges(option: str, texts: Iterable[str]) -> list[tuple[str, str]]:
    """Return the (parent, child) pairs of "a,b" or "a->b"; quotes as in CSV protect commas in names."""
    edges = []
    for text in texts:
        fields = _fields(option, text)
        if len(fields) == 1:
            fields = [field.strip() for field in fields[0].split("->")]
        if len(fields) != 2 or not all(fields):
            raise GomeaBnError(f"{option} must be parent,child or parent->child, got {text!r}.")
        edges.append((fields[0], fields[1]))
    return edges


def read_tiers(texts: Iterable[str], file: Path | None) -> list[list[str]]:
    """Return the tiers, earliest first, of repeated "a,b" texts or of a file with one such line per tier."""
    if file is None:
        return [_names("--tier", text) for text in texts]
    if list(texts):
        raise GomeaBnError("Give --tier or --tiers, not both.")
    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise GomeaBnError(f"--tiers: file '{file}' is not UTF-8 text: {error}.") from error
    except OSError as error:
        raise GomeaBnError(f"--tiers: file '{file}' cannot be read: {error.strerror}.") from error
    tiers = [_names("--tiers", line) for line in lines if line.strip()]
    if not tiers:
        raise GomeaBnError(
            f"--tiers: file '{file}' names no column; write one tier per line, names with commas."
        )
    return tiers


def read_candidates(text: str) -> int | str | None:
    """Return a number of partners, "auto", or None for "all"."""
    if text in ("auto", "all"):
        return None if text == "all" else text
    if not text.isdecimal() or int(text) < 1:
        raise GomeaBnError(f"--max-candidates must be auto, all or an integer of at least 1, got {text!r}.")
    return int(text)


def read_penalty(text: str) -> str | float:
    """Return a number of nats, or the text as it is."""
    try:
        penalty = float(text)
    except ValueError:
        return text
    if not isfinite(penalty):
        raise GomeaBnError(f"--penalty must be bic, literal, aic or a finite number of nats, got {text!r}.")
    return penalty


def read_pseudo_count(text: str) -> PseudoCount:
    """Return a number of rows, or "auto"."""
    if text == "auto":
        return "auto"
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < inf:
        raise GomeaBnError(f"--pseudo-count must be auto or a finite number of at least 0, got {text!r}.")
    return number


def _assignment(option: str, text: str, wanted: str) -> tuple[str, str]:
    name, equals, value = text.rpartition("=")
    if not equals or not name.strip():
        raise GomeaBnError(f"{option} must be {wanted}, got {text!r}.")
    return name.strip(), value.strip()


def _names(option: str, text: str) -> list[str]:
    names = _fields(option, text)
    if not all(names):
        raise GomeaBnError(f"{option} must be column names with commas between, got {text!r}.")
    return names


def _fields(option: str, text: str) -> list[str]:
    try:
        rows = list(csv.reader([text], skipinitialspace=True, strict=False))
    except csv.Error as error:
        raise GomeaBnError(f"{option}: {text!r} cannot be read ({error}).") from error
    return [field.strip() for field in rows[0]] if rows else [""]
