"""How sure a graph is: proven optima, near-optimal graphs and probabilities of edges, for given bins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gomea_bn.lazy import lazy_names

if TYPE_CHECKING:
    from gomea_bn.certainty.certificate import Certificate, certify
    from gomea_bn.certainty.edge_posterior import edge_probabilities
    from gomea_bn.certainty.graph_tests import GraphTest, test_graph
    from gomea_bn.certainty.near_optimal import NearOptimalGraph, near_optimal_graphs
    from gomea_bn.network.edge_probabilities import EdgeProbabilities

__all__ = [
    "Certificate",
    "EdgeProbabilities",
    "GraphTest",
    "NearOptimalGraph",
    "certify",
    "edge_probabilities",
    "near_optimal_graphs",
    "test_graph",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Certificate": "gomea_bn.certainty.certificate",
        "EdgeProbabilities": "gomea_bn.network.edge_probabilities",
        "GraphTest": "gomea_bn.certainty.graph_tests",
        "NearOptimalGraph": "gomea_bn.certainty.near_optimal",
        "certify": "gomea_bn.certainty.certificate",
        "edge_probabilities": "gomea_bn.certainty.edge_posterior",
        "near_optimal_graphs": "gomea_bn.certainty.near_optimal",
        "test_graph": "gomea_bn.certainty.graph_tests",
    },
)
