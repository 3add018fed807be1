"""Options of experiments on the command line."""

import pytest
import typer

from gomea_bn.errors import GomeaBnError
from lab.runner.registry import experiment
from lab.runner.runs import learner_variants

QUICK = ["--discretizer", "equal-frequency", "--option", "max_evaluations=300"]


def test_variants_add_to_the_shared_options():
    def variants(**given):
        return learner_variants(experiment("shapes-large").planned(**given))

    both = ("a", "b:shape=uniform,patience=None")
    assert variants(option=("shape=auto",), variant=both) == {
        "a": {"discretizer": "optimal", "shape": "auto"},
        "b": {"discretizer": "optimal", "shape": "uniform", "patience": None},
    }
    assert variants() == {"ours": {"discretizer": "optimal"}}
    with pytest.raises(GomeaBnError, match="distinct"):
        variants(variant=("a", "a"))


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["shapes-skeletons", "--graphs", "0"], "graphs must be an integer of at least 1, got 0"),
        (["shapes-skeletons", "--rows", "2.5"], "--rows must be integers separated by commas, got '2.5'"),
        (["shapes-skeletons", "--laws", "none"], "laws must be one of 'bells'"),
        (["shapes-skeletons", "--graph", "1"], "unrecognized arguments: --graph 1"),
        (["shapes-skeletons", "--full"], "has no publication whose sizes --full could take"),
        (["shapes-skeletons", "--graphs", "1", "2"], "--graphs takes one value, got '1 2'"),
        (["shapes-skeletons", "--without-peers", "1"], "--without_peers takes no value"),
    ],
)
def test_wrong_options_are_refused(command, message, run_lab, capsys):
    with pytest.raises(typer.Exit) as ended:
        run_lab(*command)
    assert ended.value.exit_code == 2
    assert message in " ".join(capsys.readouterr().err.split())
