"""The arrays of compiled inference: networks, evidence, and plans of elimination."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ABSENT",
    "ALONE",
    "EXACT",
    "FREE",
    "HIDDEN",
    "KEPT",
    "MOST_AXES",
    "OBSERVED",
    "SINGLE",
    "WANTED",
    "WEIGHED",
    "Batch",
    "Model",
    "Plan",
    "Rows",
]

# states of a variable in a pattern; all from HIDDEN on have an unknown value
EXACT = -1
"""The number of the variable is known; each row has its own tables of the families with such a member."""
SINGLE = 0
"""The variable has a single bin or level."""
OBSERVED = 1
HIDDEN = 2
"""The variable is summed out, and ignored if nothing depends on it."""
WEIGHED = 3
"""The variable has weights as evidence and is summed out."""
KEPT = 4
"""The variable is an axis of the answer."""
WANTED = 5
"""The variable is summed out, and its own distribution is wanted."""

MOST_AXES = 40
"""Largest number of axes of a table; every axis has at least two cells, so larger tables never fit into memory."""

ALONE = -1
"""Home of a factor that is a number."""
ABSENT = -2
"""Home of an unused factor."""


FREE = -2
"""Code in a draw of a variable on which no evidence depends, and which has no table to be drawn from."""


class Model(NamedTuple):
    """A network as arrays; V is the number of variables.

    Attributes
    ----------
    cards : ndarray of shape (V,), int64
        Numbers of bins or levels.
    order : ndarray of shape (V,), int64
        Variables with every parent before its children.
    members_at : ndarray of shape (V + 1,), int64
        Where the family of every variable starts in `members`.
    members : ndarray of shape (n_edges + V,), int64
        Families: the parents of a variable, then itself.
    strides : ndarray of shape (n_edges + V,), int64
        Strides of the members in the flattened table of the family.
    table_at : ndarray of shape (V,), int64
        Where the table of every variable starts in `cells`; -1 for a variable whose table is not needed.
    cells : ndarray of float64
        All tables, flattened.
    """

    cards: NDArray[np.int64]
    order: NDArray[np.int64]
    members_at: NDArray[np.int64]
    members: NDArray[np.int64]
    strides: NDArray[np.int64]
    table_at: NDArray[np.int64]
    cells: NDArray[np.float64]


class Rows(NamedTuple):
    """Evidence of n rows.

    Attributes
    ----------
    codes : ndarray of shape (n, V), int32
        Observed bins or levels; -1 for an unknown value.
    weights_at : ndarray of shape (V,), int64
        Where the weights of a variable start in `weights`; -1 for a variable without.
    weights : ndarray of float64
        For every variable with weights one row of `card` weights per row of evidence.
    table_at : ndarray of shape (n, V), int64
        Where a row's own table of a family starts in `tables`; -1 for a family whose table is that of the model.
        Without rows if no row has tables.
    tables : ndarray of float64
        Tables of families over their unknown members.
    """

    codes: NDArray[np.int32]
    weights_at: NDArray[np.int64]
    weights: NDArray[np.float64]
    table_at: NDArray[np.int64]
    tables: NDArray[np.float64]


class Batch(NamedTuple):
    """Rows by their pattern of states.

    Attributes
    ----------
    patterns : ndarray of shape (n_patterns, V), int8
        State of every variable.
    pattern_of : ndarray of shape (n,), int64
        Pattern of every row.
    order : ndarray of shape (n,), int64
        Rows, those of one pattern together.
    kept : ndarray of shape (n_kept,), int64
        Variables of state KEPT, in the order of the axes of the answer.
    """

    patterns: NDArray[np.int8]
    pattern_of: NDArray[np.int64]
    order: NDArray[np.int64]
    kept: NDArray[np.int64]


class Plan(NamedTuple):
    """A plan of elimination for one pattern; S is the number of steps, at most V, and step S is the answer.

    Attributes
    ----------
    n_steps : ndarray of shape (1,), int64
        Number of steps.
    step_of : ndarray of shape (V,), int64
        Step that eliminates a variable, S for a kept one, -1 for all others.
    scope : ndarray of shape (V + 1, MOST_AXES), int64
        Variables of the table of every step; the variable that is summed out is the last one.
    n_scope, n_cells : ndarray of shape (V + 1,), int64
        Number of variables and of cells of the table of every step.
    table_at : ndarray of shape (V + 1,), int64
        Where the table of every step starts in the work space.
    message_at : ndarray of shape (V,), int64
        Where the message of every step starts in the work space.
    home : ndarray of shape (3 V,), int64
        Step in whose table a factor is multiplied; -1 for a factor that is a number, -2 for an unused one.
    first : ndarray of shape (V + 1,), int64
        First factor of every step, or -1.
    following : ndarray of shape (3 V,), int64
        Next factor of the same step, or -1.
    strides : ndarray of shape (3 V, MOST_AXES), int64
        Strides of a factor along the variables of its step.
    is_relevant : ndarray of shape (V,), bool
        Whether the answer depends on the table of a variable.
    joined : ndarray of shape (V, V), bool
        Whether two variables are in one table.
    size : ndarray of shape (V,), float64
        Logarithm to base 2 of the cells of the table that eliminating a variable needs.
    unknown, place, digits : ndarray of shape (V,), (V,) and (MOST_AXES,), int64
        Work space.
    codes : ndarray of shape (V,), int32
        Work space for one draw.
    cost : ndarray of shape (3,), float64
        Cost of the plan, see `make_plan`.
    work : ndarray of float64
        Tables and messages.
    """

    n_steps: NDArray[np.int64]
    step_of: NDArray[np.int64]
    scope: NDArray[np.int64]
    n_scope: NDArray[np.int64]
    n_cells: NDArray[np.int64]
    table_at: NDArray[np.int64]
    message_at: NDArray[np.int64]
    home: NDArray[np.int64]
    first: NDArray[np.int64]
    following: NDArray[np.int64]
    strides: NDArray[np.int64]
    is_relevant: NDArray[np.bool_]
    joined: NDArray[np.bool_]
    size: NDArray[np.float64]
    unknown: NDArray[np.int64]
    place: NDArray[np.int64]
    digits: NDArray[np.int64]
    codes: NDArray[np.int32]
    cost: NDArray[np.float64]
    work: NDArray[np.float64]
