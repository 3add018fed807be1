"""Options that no discretizer and no learner of graphs and bins accepts."""

import numpy as np
import pandas as pd
import pytest

from gomea_bn import GomeaBnError
from gomea_bn.discretization import (
    MDLP,
    EqualFrequency,
    EqualWidth,
    KMeans,
    LatentDiscretizer,
    MDLDiscretizer,
    MDLNetwork,
    MGCDiscretizer,
    Tabu,
)


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (EqualWidth, {"n_bins": 0}, "n_bins"),
        (EqualFrequency, {"n_bins": 256}, "n_bins"),
        (KMeans, {"n_bins": 2.5}, "n_bins"),
        (KMeans, {"random_state": -1}, "random_state"),
        (MDLP, {"max_classes": 1}, "max_classes"),
        (LatentDiscretizer, {"n_classes": 0}, "n_classes must be an integer of at least 1 or None"),
        (LatentDiscretizer, {"max_classes": 2.5}, "max_classes"),
        (LatentDiscretizer, {"max_bins": 256}, "max_bins"),
        (LatentDiscretizer, {"n_restarts": 0}, "n_restarts"),
        (LatentDiscretizer, {"random_state": -1}, "random_state"),
        (MDLDiscretizer, {"search": "exakt"}, "search must be one of .*Did you mean 'exact'"),
        (MDLDiscretizer, {"criterion": "bdeu"}, "criterion must be one of"),
        (MDLDiscretizer, {"variant": 1}, "variant must be one of"),
        (MDLDiscretizer, {"start": "random"}, "start must be one of"),
        (MDLDiscretizer, {"max_bins": 0}, "max_bins must be an integer from 1 to 255"),
        (MDLDiscretizer, {"max_bins": 256}, "max_bins must be an integer from 1 to 255"),
        (MDLDiscretizer, {"n_cells": 1}, "n_cells must be an integer of at least 2 or None"),
        (MDLDiscretizer, {"start_bins": 2.5}, "start_bins must be an integer from 1 to 255 or None"),
        (MDLDiscretizer, {"max_cycles": 0}, "max_cycles must be an integer of at least 1 or None"),
        (MDLDiscretizer, {"max_seconds": 0}, "max_seconds must be a finite number above 0 or None"),
        (
            MDLDiscretizer,
            {"variant": "published", "criterion": "bic"},
            "variant='published' needs criterion='mdl'",
        ),
        (MDLNetwork, {"search": "best"}, "search must be one of"),
        (MDLNetwork, {"start_bins": 3}, "start_bins must be a sequence of integers"),
        (MDLNetwork, {"start_bins": ()}, "start_bins must be a sequence of integers"),
        (MDLNetwork, {"start_bins": (1,)}, "start_bins must be an integer from 2 to 255"),
        (MDLNetwork, {"max_indegree": -1}, "max_indegree must be an integer of at least 0"),
        (MDLNetwork, {"max_rounds": 0}, "max_rounds must be an integer of at least 1"),
        (MDLNetwork, {"pseudo_count": -1}, "pseudo_count must be a finite number"),
        (MDLNetwork, {"knowledge": {}}, "knowledge must be an ExpertKnowledge"),
        (MDLNetwork, {"start": "zero"}, "start must be one of"),
        (MDLNetwork, {"criterion": "bdeu"}, "criterion must be one of"),
        (MGCDiscretizer, {"max_bins": 0}, "max_bins must be an integer from 1 to 255, got 0"),
        (MGCDiscretizer, {"penalty": "aic"}, "penalty must be one of"),
        (
            MGCDiscretizer,
            {"min_width": 1.0},
            "min_width must be a finite number of at least 0 and below 1, got 1.0",
        ),
        (MGCDiscretizer, {"min_bin_count": 0}, "min_bin_count must be an integer of at least 1, got 0"),
        (MGCDiscretizer, {"univariate": 1}, "univariate must be True or False"),
        (MGCDiscretizer, {"pseudo_count": -1}, "pseudo_count must be .*got -1"),
        (MGCDiscretizer, {"random_state": -1}, "random_state must be .*got -1"),
        (MGCDiscretizer, {"max_indegree": -1}, "max_indegree must be .*got -1"),
        (MGCDiscretizer, {"max_seconds": 0}, "max_seconds must be .*got 0"),
        (Tabu, {"scoring_method": "density-bic"}, "scoring_method must be one of 'aic', 'bdeu', 'bic', 'k2'"),
        (Tabu, {"tabu_length": -1}, "tabu_length must be an integer of at least 0, got -1"),
        (Tabu, {"patience": 0}, "patience must be an integer of at least 1"),
        (Tabu, {"max_steps": 0}, "max_steps must be an integer of at least 1 or None"),
        (Tabu, {"max_indegree": -1}, "max_indegree must be .*got -1"),
        (Tabu, {"knowledge": [("a", "b")]}, "knowledge must be an ExpertKnowledge"),
        (Tabu, {"max_seconds": 0}, "max_seconds must be .*got 0"),
        (Tabu, {"equivalent_sample_size": 0}, "equivalent_sample_size must be .*got 0"),
    ],
)
def test_options_out_of_range_are_refused(kind, options, message):
    frame = pd.DataFrame({"x": np.arange(20.0), "y": np.arange(20.0) % 7})
    graph = {"network": [("x", "y")]} if kind is MDLDiscretizer else {}
    target = {"y": np.arange(20) % 2} if kind is MDLP else {}
    with pytest.raises(GomeaBnError, match=message):
        kind(**options).fit(frame, **graph, **target)
