"""The names that users import from `gomea_bn`."""

import importlib

import pytest

import gomea_bn

# names of the first version by module; they stay, or warn for one version before they go
PUBLIC = {
    "gomea_bn": """
        BayesNetEnsemble BayesNetLearner Custom DiscretizedBayesNet ElitistArchive ExpertKnowledge
        ExpertNetwork Front Full GOMEA GomeaBnError KernelProblem LinkageTree MOGOMEA MarginalProduct
        OwnObjective ParetoBayesNetLearner RVGOMEA RealKernelProblem RefinementResult Shape StaticTree
        Univariate accept compare cut_gains fit_shape kernel network_report optimise read_decision read_front
        read_table refine_boundaries register_problem review_page simulated_expert write_front
    """,
    "gomea_bn.plots": """
        density_bins edge_marks front_points history_steps marginal_density network_layout plot_density
        plot_front plot_history plot_network
    """,
    "gomea_bn.discretization": """
        BayesianDiscretizer DISCRETIZERS DescriptionLength Discretizer EqualFrequency EqualWidth K2 KMeans
        LDBN LatentDiscretizer MDLDiscretizer MDLNetwork MDLP MGCDiscretizer Tabu description_length
        discretizer
    """,
    "gomea_bn.metrics": """
        Estimate accuracy cpdag cpdag_tpr_fpr held_out_log_density histogram_baseline kl_divergence
        sensitivity shd
    """,
    "gomea_bn.pymoo": """
        GOMEA RVGOMEA as_problem
    """,
    "gomea_bn.problems.base": """
        CompiledProblem Journal KernelProblem Solution evaluate evaluate_partial new_journal
        register_problem set_aux set_gene set_term undo
    """,
    "gomea_bn.problems.benchmarks": """
        BimodalTrap HIFF IsingSpinGlass MaxCut NKLandscape OneMax Trap Unitation
    """,
    "gomea_bn.problems.multi_objective": """
        LOTZ MultiObjectiveKnapsack MultiObjectiveMaxCut OneMaxZeroMax TrapInverseTrap brute_force_front
    """,
}


@pytest.mark.parametrize(("module", "names"), PUBLIC.items())
def test_what_users_import_stays(module, names):
    missing = [name for name in names.split() if not hasattr(importlib.import_module(module), name)]
    assert missing == []


@pytest.mark.parametrize("name", gomea_bn.__all__)
def test_every_public_name_can_be_imported(name):
    assert getattr(gomea_bn, name).__module__.startswith("gomea_bn.")
    assert name in dir(gomea_bn)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'Learner'"):
        _ = gomea_bn.Learner
