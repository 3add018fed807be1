"""How sure a graph is: proven optima, near-optimal graphs and probabilities of edges, for given bins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gomea_bn.lazy import public_names

if TYPE_CHECKING:
    from gomea_bn.certainty.certificate import Certificate as Certificate
    from gomea_bn.certainty.certificate import certify as certify
    from gomea_bn.certainty.edge_posterior import edge_probabilities as edge_probabilities
    from gomea_bn.certainty.graph_tests import GraphTest as GraphTest
    from gomea_bn.certainty.graph_tests import test_graph as test_graph
    from gomea_bn.certainty.near_optimal import NearOptimalGraph as NearOptimalGraph
    from gomea_bn.certainty.near_optimal import near_optimal_graphs as near_optimal_graphs
    from gomea_bn.network.edge_probabilities import EdgeProbabilities as EdgeProbabilities

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
