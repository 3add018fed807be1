"""The commands that compare ways and variants of the search on random networks."""

import numpy as np
import optimal
import pytest
from pricing_examples import cuts_of, slow_network_score, table_variables
from shaped_examples import shaped_table

from gomea_bn.learning.learning_options import LearningOptions
from gomea_bn.learning.learning_problem import learning_problem
from gomea_bn.learning.table_shapes import table_shapes

QUICK = ["--discretizer", "equal-frequency", "--option", "max_evaluations=400", "--workers", "1"]


def test_variants_are_compared_with_the_first_one(capsys):
    variants = ["--variant", "base", "--variant", "same:pseudo_count=auto"]
    variants += ["--variant", "flat:algorithm.linkage=univariate"]
    optimal.main(["variants", *QUICK, *variants, "--cells", "4x150", "--nets", "2", "--first-net", "5"])
    printed = capsys.readouterr().out
    assert "networks of seeds 5 to 6" in printed
    rows = {line.split()[0]: line for line in printed.splitlines()[-3:]}
    assert list(rows) == ["base", "same", "flat"]
    assert "+0.000 [+0.000, +0.000]" in rows["same"]


def test_names_of_variants_are_distinct():
    with pytest.raises(SystemExit, match="must be distinct"):
        optimal.main(["variants", *QUICK, "--variant", "a", "--variant", "a:patience=3"])


def test_a_cell_has_variables_and_rows():
    assert optimal.cell_of("8x800") == (8, 800)
    with pytest.raises(SystemExit, match="8by9"):
        optimal.cell_of("8by9")


def test_pricing_prints_every_way(capsys):
    arguments = ["--cells", "3x60", "--nets", "1", "--seconds", "0.3", "--workers", "1"]
    optimal.main(["pricing", *arguments])
    rows = capsys.readouterr().out.splitlines()[-5:]
    assert [row.split("  ")[0] for row in rows] == list(optimal.WAYS)


@pytest.mark.parametrize("shape", ["auto", "marginal"])
def test_the_score_of_climbing_is_that_of_the_network(shape):
    table = shaped_table(100)
    problem = learning_problem(table, LearningOptions(shape=shape))
    genotype, score, _ = optimal.restarted_climbing(problem, 0.3, 0)
    scorer, policies = problem.scorer, problem.policy_indices(genotype).tolist()
    likelihoods = {
        v: shape.log_likelihood
        for v, shape in enumerate(table_shapes(table).values())
        if scorer.is_shaped[scorer.view(v, policies[v])]
    }
    assert "rain" in np.array(table.names)[list(likelihoods)]
    expected = slow_network_score(
        table_variables(table),
        problem.edges(genotype),
        cuts_of(problem, genotype),
        edge_cost=1.0,
        shape_likelihoods=likelihoods,
    )
    assert score == pytest.approx(expected, abs=1e-7)
