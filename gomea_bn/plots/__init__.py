"""Plots with matplotlib: a front, a network, densities and effects of a variable, runs, and explanations of answers.

Every `plot_...` function draws into `ax` if it is given, otherwise into a new pyplot figure, and returns the axes;
`plot_effects` has several, and draws into `figure`.
Other functions return the data that are drawn: `front_points`, `network_layout` and `edge_marks`, `density_bins` and
`marginal_density`, `conditional_densities`, and `history_steps`.
"""

from __future__ import annotations

from gomea_bn.network.marginals import marginal_density
from gomea_bn.plots.conditional import conditional_densities, plot_conditional_density
from gomea_bn.plots.density import density_bins, plot_density
from gomea_bn.plots.effects import plot_effect, plot_effects
from gomea_bn.plots.explanation import plot_explanation
from gomea_bn.plots.front import front_points, plot_front
from gomea_bn.plots.history import history_steps, plot_history
from gomea_bn.plots.network import edge_marks, plot_network
from gomea_bn.plots.network_layout import network_layout

__all__ = [
    "conditional_densities",
    "density_bins",
    "edge_marks",
    "front_points",
    "history_steps",
    "marginal_density",
    "network_layout",
    "plot_conditional_density",
    "plot_density",
    "plot_effect",
    "plot_effects",
    "plot_explanation",
    "plot_front",
    "plot_history",
    "plot_network",
]
