"""Comparison of two networks: common and different edges and bins, as values and in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from gomea_bn.data.columns import Level, same_as_text
from gomea_bn.errors import GomeaBnError
from gomea_bn.metrics.distances import shd
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.edges import equivalence_class
from gomea_bn.network.recorded import EdgeProbability, recorded_edge_probabilities
from gomea_bn.texts import counted, listed, shown_name

Edge: TypeAlias = tuple[str, str]

_MOST_VALUES = 12


@dataclass(frozen=True, slots=True)
class VariableStates:
    """Bins or levels of one variable in two networks, and their numbers.

    Inner cut points are in original units, None if the variable is discrete. Levels are in code order, None if it is
    continuous.
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

        Levels are matched by value or, if one side is text, as text: a BIF file has "1" for 1.
        """
        return self.cut_points_a == self.cut_points_b and _same_levels(self.levels_a, self.levels_b)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Agreement and differences of two networks a and b.

    Attributes
    ----------
    common, reversed, only_a, only_b : tuple of (parent, child)
        Edges in both networks; edges of a that have the other direction in b; edges in one network only.
    compelled_a, compelled_b : tuple of (parent, child)
        Edges that have the same direction in all Markov-equivalent graphs; the direction of all others is arbitrary.
    variables : tuple of VariableStates
        Bins or levels of the common variables, in the order of a.
    other_shapes : tuple of str
        Common variables that are distributed differently inside their bins: with another shape, or with one only in
        one network.
    names_only_a, names_only_b : tuple of str
        Variables in one network only.
    parameters_a, parameters_b : int
        Number of free probabilities.
    shd : int or None
        Structural Hamming distance of the CPDAGs (`gomea_bn.metrics.distances.shd`); None if the variables differ.
    equal : bool
        Whether the networks are equal, tables and order of the variables included.
    probabilities_a, probabilities_b : mapping of (parent, child) to EdgeProbability
        Posterior probabilities of edges that the networks carry; empty without any.
    """

    common: tuple[Edge, ...]
    reversed: tuple[Edge, ...]
    only_a: tuple[Edge, ...]
    only_b: tuple[Edge, ...]
    compelled_a: tuple[Edge, ...]
    compelled_b: tuple[Edge, ...]
    variables: tuple[VariableStates, ...]
    other_shapes: tuple[str, ...]
    names_only_a: tuple[str, ...]
    names_only_b: tuple[str, ...]
    parameters_a: int
    parameters_b: int
    shd: int | None
    equal: bool
    probabilities_a: Mapping[Edge, EdgeProbability] = field(default_factory=dict)
    probabilities_b: Mapping[Edge, EdgeProbability] = field(default_factory=dict)

    def to_text(self, name_a: str = "a", name_b: str = "b") -> str:
        """Return the comparison in words, one line per difference, with names for the two networks."""
        if name_a == name_b:
            raise GomeaBnError(f"name_a and name_b must differ, got {name_a!r} for both.")
        lines = [
            *self._variable_lines(name_a, name_b),
            *self._edge_lines(name_a, name_b),
            *self._state_lines(name_a, name_b),
            *self._shape_lines(),
        ]
        if self.equal:
            lines.append(f"{name_a} and {name_b} are equal in every probability.")
        elif self.parameters_a == self.parameters_b:
            lines.append(f"Both have {self.parameters_a} free parameters.")
        else:
            lines.append(
                f"{name_a} has {counted(self.parameters_a, 'free parameter')}, {name_b} {self.parameters_b}."
            )
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.to_text()

    def _variable_lines(self, name_a: str, name_b: str) -> list[str]:
        lines = []
        for first, second, names in (
            (name_a, name_b, self.names_only_a),
            (name_b, name_a, self.names_only_b),
        ):
            if names:
                noun = "the variable" if len(names) == 1 else "the variables"
                lines.append(
                    f"{first} has {noun} {listed(map(shown_name, names), _MOST_VALUES)}, which {second} lacks."
                )
        return lines

    def _edge_lines(self, name_a: str, name_b: str) -> list[str]:
        if not (self.reversed or self.only_a or self.only_b):
            return [
                f"{name_a} and {name_b} have the same {counted(len(self.common), 'edge')}."
                if self.common
                else f"Neither {name_a} nor {name_b} has an edge."
            ]
        distance = "" if self.shd is None else f" Structural Hamming distance: {self.shd}."
        if self.shd == 0:
            distance += " Both graphs imply the same independences (they are Markov equivalent)."
        return [
            f"Edges: {len(self.common)} in both, {len(self.reversed)} reversed, {len(self.only_a)} only in {name_a}, "
            f"{len(self.only_b)} only in {name_b}.{distance}",
            *(
                f"  {_arrow(edge)} in {name_a} is {_arrow(edge[::-1])} in {name_b}{self._certainty(edge)}."
                for edge in self.reversed
            ),
            *(
                f"  {name_a} has the edge {_arrow(edge)}, which {name_b} lacks"
                f"{_probability(edge, self.probabilities_a, name_a)}."
                for edge in self.only_a
            ),
            *(
                f"  {name_b} has the edge {_arrow(edge)}, which {name_a} lacks"
                f"{_probability(edge, self.probabilities_b, name_b)}."
                for edge in self.only_b
            ),
        ]

    def _certainty(self, edge: Edge) -> str:
        """Return a remark on an edge of a whose direction both networks leave open."""
        is_open = edge not in self.compelled_a and edge[::-1] not in self.compelled_b
        return " (reversible in both)" if is_open else ""

    def _state_lines(self, name_a: str, name_b: str) -> list[str]:
        differing = [states for states in self.variables if not states.equal]
        if not differing:
            return ["All variables of both have the same bins and levels."] if self.variables else []
        return [
            f"Bins and levels: {len(differing)} of {counted(len(self.variables), 'variable')} "
            f"{'differs' if len(differing) == 1 else 'differ'}.",
            *(f"  {_state_line(states, name_a, name_b)}" for states in differing),
        ]

    def _shape_lines(self) -> list[str]:
        if not self.other_shapes:
            return []
        names = listed(map(shown_name, self.other_shapes), _MOST_VALUES)
        return [f"The distribution inside the bins of {names} differs."]


def compare(a: DiscretizedBayesNet, b: DiscretizedBayesNet) -> Comparison:
    """Return a comparison of the edges, bins, levels and numbers of parameters of two networks.

    Parameters
    ----------
    a, b : DiscretizedBayesNet
        The networks. Variables are matched by name; their sets may differ.

    Raises
    ------
    GomeaBnError
        If one of them is not a DiscretizedBayesNet.

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
            raise GomeaBnError(f"a and b must be DiscretizedBayesNet, got {type(network).__name__}.")
    edges_a, edges_b = a.edges, b.edges
    in_a, in_b = set(edges_a), set(edges_b)
    shared = [name for name in a.names if name in set(b.names)]
    return Comparison(
        common=tuple(edge for edge in edges_a if edge in in_b),
        reversed=tuple(edge for edge in edges_a if edge[::-1] in in_b),
        only_a=tuple(edge for edge in edges_a if edge not in in_b and edge[::-1] not in in_b),
        only_b=tuple(edge for edge in edges_b if edge not in in_a and edge[::-1] not in in_a),
        compelled_a=equivalence_class(a).compelled,
        compelled_b=equivalence_class(b).compelled,
        variables=tuple(_states(name, a, b) for name in shared),
        other_shapes=tuple(name for name in shared if a.shapes.get(name) != b.shapes.get(name)),
        names_only_a=tuple(name for name in a.names if name not in shared),
        names_only_b=tuple(name for name in b.names if name not in shared),
        parameters_a=a.n_parameters,
        parameters_b=b.n_parameters,
        shd=shd(a, b) if set(a.names) == set(b.names) else None,
        equal=a == b,
        probabilities_a=recorded_edge_probabilities(a),
        probabilities_b=recorded_edge_probabilities(b),
    )


def _probability(edge: Edge, probabilities: Mapping[Edge, EdgeProbability], name: str) -> str:
    """Return a remark with the probability that a network carries of an edge, "" if it carries none."""
    if edge not in probabilities:
        return ""
    return f" (probability of an edge in either direction in {name}: {probabilities[edge].adjacent:.2f})"


def _states(name: str, a: DiscretizedBayesNet, b: DiscretizedBayesNet) -> VariableStates:
    cuts_a, cuts_b = (
        tuple(network.cut_points[name].tolist()) if name in network.cut_points else None for network in (a, b)
    )
    levels = a.levels.get(name), b.levels.get(name)
    return VariableStates(name, a.cardinality(name), b.cardinality(name), cuts_a, cuts_b, *levels)


def _state_line(states: VariableStates, name_a: str, name_b: str) -> str:
    """Return the difference in the bins or levels of a variable, in words."""
    name = shown_name(states.name)
    if (states.levels_a is None) != (states.levels_b is None):
        kinds = [
            f"continuous with {counted(n, 'bin')}"
            if levels is None
            else f"discrete with {counted(n, 'level')}"
            for n, levels in ((states.n_a, states.levels_a), (states.n_b, states.levels_b))
        ]
        return f"{name} is {kinds[0]} in {name_a}, {kinds[1]} in {name_b}."
    unit = "bin" if states.levels_a is None else "level"
    if states.n_a != states.n_b:
        return f"{name} has {counted(states.n_a, unit)} in {name_a}, {states.n_b} in {name_b}."
    both = f"{name} has {counted(states.n_a, unit)} in both"
    if states.cut_points_a is not None and states.cut_points_b is not None:
        cuts_a, cuts_b = _numbers(states.cut_points_a, states.cut_points_b)
        text_a, text_b = listed(cuts_a, _MOST_VALUES), listed(cuts_b, _MOST_VALUES)
        return f"{both}, cut at {text_a} in {name_a}, at {text_b} in {name_b}."
    levels_a = listed(map(repr, states.levels_a or ()), _MOST_VALUES)
    levels_b = listed(map(repr, states.levels_b or ()), _MOST_VALUES)
    return f"{both}: {levels_a} in {name_a}, {levels_b} in {name_b}."


def _numbers(first: tuple[float, ...], second: tuple[float, ...]) -> tuple[list[str], list[str]]:
    """Return two lists of numbers as text, with the fewest digits (at least 4) in which the lists differ."""
    for digits in range(4, 18):
        texts = [f"{number:.{digits}g}" for number in first], [f"{number:.{digits}g}" for number in second]
        if texts[0] != texts[1]:
            break
    return texts


def _same_levels(first: tuple[Level, ...] | None, second: tuple[Level, ...] | None) -> bool:
    """Return whether two lists of levels match one by one, by value or, if one side is text, as text."""
    if first is None or second is None:
        return first is second
    return len(first) == len(second) and all(
        a == b or same_as_text(a, b) for a, b in zip(first, second, strict=True)
    )


def _arrow(edge: Sequence[str]) -> str:
    return f"{shown_name(edge[0])} → {shown_name(edge[1])}"
