"""Two networks beside each other: which edges and bins they share, in values and in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from gomea_bn.data.columns import Level, same_as_text
from gomea_bn.errors import GomeaBnError
from gomea_bn.metrics.distances import shd
from gomea_bn.network.bayes_net import DiscretizedBayesNet

__all__ = ["Comparison", "VariableStates", "compare"]

Edge: TypeAlias = tuple[str, str]

_MOST_VALUES = 12


@dataclass(frozen=True, slots=True)
class VariableStates:
    """The bins or levels of one variable in two networks.

    Attributes
    ----------
    name : str
        The variable.
    n_a, n_b : int
        Number of bins or levels.
    cut_points_a, cut_points_b : tuple of float or None
        Inner cuts in original units; None where the variable is discrete.
    levels_a, levels_b : tuple or None
        Levels in code order; None where the variable is continuous.
    """

    name: str
    n_a: int
    n_b: int
    cut_points_a: tuple[float, ...] | None
    cut_points_b: tuple[float, ...] | None
    levels_a: tuple[Level, ...] | None
    levels_b: tuple[Level, ...] | None

    @property
    def equal(self) -> bool:
        """Whether both networks have the same bins, or the same levels in the same order.

        Levels are matched by value or, where one side is text, as text: a BIF file holds 1 as "1".
        """
        return self.cut_points_a == self.cut_points_b and _same_levels(self.levels_a, self.levels_b)


@dataclass(frozen=True, slots=True)
class Comparison:
    """What two networks a and b have in common and in which they differ.

    Attributes
    ----------
    common, reversed, only_a, only_b : tuple of (parent, child)
        Edges of both; of both, but in the other direction in b (given as in a); of one only.
    variables : tuple of VariableStates
        Bins or levels of the variables that both have, in a's order.
    names_only_a, names_only_b : tuple of str
        Variables of one network only.
    parameters_a, parameters_b : int
        Free probabilities.
    shd : int or None
        Structural Hamming distance of the CPDAGs (`gomea_bn.metrics.distances.shd`); None where the variables differ.
    equal : bool
        Whether the networks are equal in everything, tables and order of the variables included.
    """

    common: tuple[Edge, ...]
    reversed: tuple[Edge, ...]
    only_a: tuple[Edge, ...]
    only_b: tuple[Edge, ...]
    variables: tuple[VariableStates, ...]
    names_only_a: tuple[str, ...]
    names_only_b: tuple[str, ...]
    parameters_a: int
    parameters_b: int
    shd: int | None
    equal: bool

    def to_text(self, name_a: str = "a", name_b: str = "b") -> str:
        """Return the comparison in plain words, one line per difference, under the names given to both networks."""
        if name_a == name_b:
            raise GomeaBnError(f"The two networks need different names, got {name_a!r} for both.")
        lines = [
            *self._variable_lines(name_a, name_b),
            *self._edge_lines(name_a, name_b),
            *self._state_lines(name_a, name_b),
        ]
        if self.equal:
            lines.append(f"{name_a} and {name_b} are equal in every probability.")
        elif self.parameters_a == self.parameters_b:
            lines.append(f"Both have {self.parameters_a} free parameters.")
        else:
            lines.append(
                f"{name_a} has {_count(self.parameters_a, 'free parameter')}, {name_b} {self.parameters_b}."
            )
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.to_text()

    def _variable_lines(self, name_a: str, name_b: str) -> list[str]:
        lines = []
        for own, other, names in ((name_a, name_b, self.names_only_a), (name_b, name_a, self.names_only_b)):
            if names:
                what = "the variable" if len(names) == 1 else "the variables"
                lines.append(f"{own} has {what} {_listed(map(_shown, names))}, which {other} lacks.")
        return lines

    def _edge_lines(self, name_a: str, name_b: str) -> list[str]:
        if not (self.reversed or self.only_a or self.only_b):
            return [
                f"{name_a} and {name_b} have the same {_count(len(self.common), 'edge')}."
                if self.common
                else f"Neither {name_a} nor {name_b} has an edge."
            ]
        distance = "" if self.shd is None else f" Structural Hamming distance: {self.shd}."
        if self.shd == 0:
            distance += " Both graphs imply the same independences (they are Markov equivalent)."
        return [
            f"Edges: {len(self.common)} in both, {len(self.reversed)} reversed, {len(self.only_a)} only in {name_a}, "
            f"{len(self.only_b)} only in {name_b}.{distance}",
            *(f"  {_arrow(edge)} in {name_a} is {_arrow(edge[::-1])} in {name_b}." for edge in self.reversed),
            *(f"  {name_a} has the edge {_arrow(edge)}, which {name_b} lacks." for edge in self.only_a),
            *(f"  {name_b} has the edge {_arrow(edge)}, which {name_a} lacks." for edge in self.only_b),
        ]

    def _state_lines(self, name_a: str, name_b: str) -> list[str]:
        differing = [states for states in self.variables if not states.equal]
        if not differing:
            return ["All variables of both have the same bins and levels."] if self.variables else []
        return [
            f"Bins and levels: {len(differing)} of {_count(len(self.variables), 'variable')} "
            f"{'differs' if len(differing) == 1 else 'differ'}.",
            *(f"  {_state_line(states, name_a, name_b)}" for states in differing),
        ]


def compare(a: DiscretizedBayesNet, b: DiscretizedBayesNet) -> Comparison:
    """Return in which edges, bins, levels and numbers of parameters two networks agree and differ.

    Variables are matched by name; their sets may differ.

    Raises
    ------
    GomeaBnError
        If one of them is no network.

    Examples
    --------
    >>> from gomea_bn.simulation.random_networks import random_network
    >>> network = random_network(3, random_state=1)
    >>> print(compare(network, network).to_text("first", "second"))
    first and second have the same 2 edges.
    All variables of both have the same bins and levels.
    first and second are equal in every probability.
    """
    for network in (a, b):
        if not isinstance(network, DiscretizedBayesNet):
            raise GomeaBnError(f"Networks are compared with networks, got {type(network).__name__}.")
    edges_a, edges_b = a.edges, b.edges
    in_a, in_b = set(edges_a), set(edges_b)
    shared = [name for name in a.names if name in set(b.names)]
    return Comparison(
        common=tuple(edge for edge in edges_a if edge in in_b),
        reversed=tuple(edge for edge in edges_a if edge[::-1] in in_b),
        only_a=tuple(edge for edge in edges_a if edge not in in_b and edge[::-1] not in in_b),
        only_b=tuple(edge for edge in edges_b if edge not in in_a and edge[::-1] not in in_a),
        variables=tuple(_states(name, a, b) for name in shared),
        names_only_a=tuple(name for name in a.names if name not in shared),
        names_only_b=tuple(name for name in b.names if name not in shared),
        parameters_a=a.n_parameters,
        parameters_b=b.n_parameters,
        shd=shd(a, b) if set(a.names) == set(b.names) else None,
        equal=a == b,
    )


def _states(name: str, a: DiscretizedBayesNet, b: DiscretizedBayesNet) -> VariableStates:
    cuts = [network.cut_points.get(name) for network in (a, b)]
    return VariableStates(
        name,
        a.cardinality(name),
        b.cardinality(name),
        None if cuts[0] is None else tuple(cuts[0].tolist()),
        None if cuts[1] is None else tuple(cuts[1].tolist()),
        a.levels.get(name),
        b.levels.get(name),
    )


def _state_line(states: VariableStates, name_a: str, name_b: str) -> str:
    """Return how the bins or levels of a variable differ, in words."""
    name = _shown(states.name)
    if (states.levels_a is None) != (states.levels_b is None):
        kinds = [
            f"continuous with {_count(n, 'bin')}" if levels is None else f"discrete with {_count(n, 'level')}"
            for n, levels in ((states.n_a, states.levels_a), (states.n_b, states.levels_b))
        ]
        return f"{name} is {kinds[0]} in {name_a}, {kinds[1]} in {name_b}."
    unit = "bin" if states.levels_a is None else "level"
    if states.n_a != states.n_b:
        return f"{name} has {_count(states.n_a, unit)} in {name_a}, {states.n_b} in {name_b}."
    both = f"{name} has {_count(states.n_a, unit)} in both"
    if states.cut_points_a is not None and states.cut_points_b is not None:
        cuts_a, cuts_b = _numbers(states.cut_points_a, states.cut_points_b)
        return f"{both}, cut at {_listed(cuts_a)} in {name_a}, at {_listed(cuts_b)} in {name_b}."
    return (
        f"{both}: {_listed(map(repr, states.levels_a or ()))} in {name_a}, "
        f"{_listed(map(repr, states.levels_b or ()))} in {name_b}."
    )


def _numbers(first: tuple[float, ...], second: tuple[float, ...]) -> tuple[list[str], list[str]]:
    """Return the numbers as text with as few digits as tell the two lists apart, at least 4."""
    for digits in range(4, 18):
        texts = [f"{number:.{digits}g}" for number in first], [f"{number:.{digits}g}" for number in second]
        if texts[0] != texts[1]:
            break
    return texts


def _same_levels(first: tuple[Level, ...] | None, second: tuple[Level, ...] | None) -> bool:
    """Return whether two lists of levels match one by one, also where a number or bool stands as text."""
    if first is None or second is None:
        return first is second
    return len(first) == len(second) and all(
        one == other or same_as_text(one, other) for one, other in zip(first, second, strict=True)
    )


def _arrow(edge: Sequence[str]) -> str:
    return f"{_shown(edge[0])} → {_shown(edge[1])}"


def _shown(name: str) -> str:
    """Return a name as it is, or quoted where it could be misread on a line."""
    return name if name.isprintable() and name == name.strip() and "→" not in name else repr(name)


def _listed(texts: Iterable[str]) -> str:
    shown = list(texts)
    if len(shown) > _MOST_VALUES:
        return ", ".join(shown[:_MOST_VALUES]) + f" and {len(shown) - _MOST_VALUES} more"
    return ", ".join(shown)


def _count(number: int, one: str) -> str:
    return f"{number} {one if number == 1 else one + 's'}"
