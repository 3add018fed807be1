"""The command `show` prints a saved network and says which files hold none."""

from command_line import invoke

from gomea_bn import DiscretizedBayesNet, cut_gains


def test_show_prints_a_saved_network(table, tmp_path):
    assert (
        invoke("learn", table, "--max-evaluations", 2000, "--seed", 1, "--out", tmp_path / "run").exit_code
        == 0
    )
    result = invoke("show", tmp_path / "run" / "network.json")
    assert result.exit_code == 0
    network = DiscretizedBayesNet.from_json(tmp_path / "run" / "network.json")
    assert result.stdout.startswith(network.summary())
    assert "Score (density-bd)" in result.stdout
    scored = invoke("show", tmp_path / "run" / "network.json", "--data", table)
    assert scored.stdout.startswith(network.summary(cut_gains(network, table)))
    assert "nats gained by" in scored.stdout
    missing = invoke("show", tmp_path / "run" / "network.json", "--data", tmp_path / "none.csv")
    assert missing.exit_code == 3
    assert "none.csv" in missing.stderr
    refused = invoke("show", tmp_path / "run" / "run.json")
    assert refused.exit_code == 3
    assert "is not a network" in refused.stderr
    assert invoke("show", tmp_path / "none.json").exit_code == 3
