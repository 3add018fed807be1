"""Checks of the parts of conditionals, and the intervals round cuts."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError
from gomea_bn.network.conditionals.family_line import FamilyLine
from gomea_bn.network.conditionals.line_scales import UnitScale
from gomea_bn.network.parts import WithTables
from gomea_bn.texts import counted


def around_cuts(
    cuts: NDArray[np.float64], support: tuple[float, float]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ends of an interval round every cut, float64 (n_cuts,): half-way to its neighbours, or the range."""
    middles = (cuts[:-1] + cuts[1:]) / 2
    lows = np.concatenate((support[:1], middles))[: len(cuts)]
    return lows, np.concatenate((middles, support[1:]))[: len(cuts)]


def checked_probabilities(name: str, values: object, n_cuts: int) -> NDArray[np.float64]:
    """Return one probability per cut of a variable, float64 (n_cuts,), read-only."""
    try:
        checked = np.array(values, np.float64)
    except (TypeError, ValueError, OverflowError):
        checked = np.full(1, np.nan)
    if checked.shape != (n_cuts,) or not ((checked >= 0) & (checked <= 1)).all():
        raise GomeaBnError(
            f"cut_probabilities of '{name}' must be one number from 0 to 1 for each of {counted(n_cuts, 'cut')}, got "
            f"{values!r:.80}."
        )
    checked.flags.writeable = False
    return checked


def checked_intervals(
    name: str, values: object, cuts: NDArray[np.float64], support: tuple[float, float]
) -> NDArray[np.float64]:
    """Return one interval inside the support for each cut of a variable, float64 (n_cuts, 2), read-only."""
    try:
        checked = np.array(values, np.float64).reshape(-1, 2)
    except (TypeError, ValueError, OverflowError):
        checked = np.full((1, 2), np.nan)
    low, high = support
    is_valid = checked.shape == (len(cuts), 2) and bool(
        ((low <= checked[:, 0]) & (checked[:, 0] <= checked[:, 1]) & (checked[:, 1] <= high)).all()
    )
    if not is_valid:
        raise GomeaBnError(
            f"cut_intervals of '{name}' must be a pair of a low and a high end between {low:g} and {high:g} for each "
            f"of {counted(len(cuts), 'cut')}, got {values!r:.80}."
        )
    checked.flags.writeable = False
    return checked


def checked_units(units: Mapping[str, tuple[float, float]], network: WithTables) -> dict[str, UnitScale]:
    """Return the scales in own units of continuous variables, given their centres and spreads."""
    scales = {}
    for name, pair in units.items():
        if name not in network.cut_points:
            raise GomeaBnError(f"units must have entries of continuous variables only, got {name!r}.")
        try:
            centre, spread = map(float, pair)
        except (TypeError, ValueError, OverflowError):
            centre, spread = np.nan, np.nan
        if not np.isfinite(centre) or not 0 < spread < np.inf:
            raise GomeaBnError(
                f"units['{name}'] must be a centre and a spread above 0, both finite, got {pair!r:.80}."
            )
        scales[name] = UnitScale(centre, spread, network.support[name])
    return scales


def check_line(network: WithTables, name: str, line: object, scales: Mapping[str, object]) -> None:
    """Raise `GomeaBnError` for a line that does not fit the family of a variable."""
    if not isinstance(line, FamilyLine):
        raise GomeaBnError(f"lines['{name}'] must be a FamilyLine, got {type(line).__name__}.")
    cuts, levels = network.cut_points, network.levels
    parents = network.parents(name)
    if name not in cuts:
        raise GomeaBnError(f"lines must not have an entry for '{name}', which is discrete.")
    continuous = tuple(parent for parent in parents if parent in cuts)
    discrete = tuple(parent for parent in parents if parent in levels)
    # a line is the same in every order of its parents
    if sorted(line.parents) != sorted(continuous) or sorted(line.groups) != sorted(discrete):
        raise GomeaBnError(
            f"The line of '{name}' must have the continuous parents {continuous} and the discrete parents {discrete}, "
            f"got {line.parents} and {line.groups}."
        )
    n_groups = int(np.prod([len(levels[parent]) for parent in discrete], dtype=np.int64))
    if len(line.scales) != n_groups:
        raise GomeaBnError(f"The line of '{name}' must have {n_groups} groups, got {len(line.scales)}.")
    missing = [member for member in (name, *continuous) if member not in scales]
    if missing:
        option = "units" if line.in_units else "scales"
        raise GomeaBnError(f"{option} must have an entry for '{missing[0]}', which is part of a line.")
