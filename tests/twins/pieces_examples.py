"""Cuts and scores in memory that networks of tables in pieces are compared with."""

from dataclasses import replace

import pandas as pd
from learning_inside import Improvement, LearningOptions, opened_counter, scored_variables, scoring_of

from gomea_bn import BayesNetLearner, read_table
from gomea_bn.problems import FamilyScorer, ScoredFamily
from gomea_bn.problems.cuts import Policy
from gomea_bn.runtime import NO_LIMIT


def score_in_memory(frame: pd.DataFrame, network, learner: BayesNetLearner) -> float:
    """The score of a network over all rows by the machine for tables in memory."""
    table = read_table(frame, missing="keep")
    options = replace(LearningOptions.of(learner, table.n_rows), curves="none")
    method, rule = scoring_of(table, options)
    variables, _ = scored_variables(table, options)
    variables = [
        replace(v, policies=(Policy(network.cut_points[v.name]),)) if v.policies else v for v in variables
    ]
    scorer = FamilyScorer(variables, method, rule)
    position = {name: v for v, name in enumerate(table.names)}
    families = [
        ScoredFamily((position[name], 0), tuple((position[p], 0) for p in network.parents(name)))
        for name in table.names
    ]
    return float(scorer.score(families).sum()) + scorer.constant_score


def median_cuts(frame: pd.DataFrame) -> dict[str, list[float]]:
    """One cut at the median of every column of numbers."""
    return {name: [float(frame[name].median())] for name in map(str, frame.select_dtypes("number"))}


def network_of_sample(learner, fit):
    """Return the network from which an improvement over all rows began."""
    rows = fit.table_
    return replace(learner, density="bins", sample_rows=rows.n_rows).fit(rows).network_


def score_over_all_rows(learner, source, network) -> float:
    """Return the score of a network by counts over all rows of a table in pieces."""
    with opened_counter(source, learner.scheduler, learner.n_jobs) as counter:
        return Improvement(learner, source, counter, None, NO_LIMIT).score_of(network)
