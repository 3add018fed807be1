"""The command certify: what it prints, and its exit codes."""

from certainty_examples import discrete_frame, network_of
from command_line import invoke, ok, refused

from gomea_bn.certainty import certify


def test_certify_prints_the_proof_or_the_better_graph(tmp_path):
    frame = discrete_frame(4, n_rows=200)
    data, empty, best = tmp_path / "rows.csv", tmp_path / "empty.json", tmp_path / "best.bif"
    frame.to_csv(data, index=False)
    network_of(frame).to_json(empty)
    found = certify(network_of(frame), frame)
    assert found.edges
    network_of(frame, found.edges).to_bif(best)
    done = ok("certify", empty, data)
    assert "It is not optimal: the best graph with at most 3 parents" in done.stdout
    for parent, child in found.edges:
        assert f"  {parent} → {child}\n" in done.stdout
    proven = ok("certify", best, data, "--scoring-method", "bdeu", "--ess", "1")
    assert "It is optimal: no graph" in proven.stdout
    assert "Edges of" not in proven.stdout
    assert "--max-indegree 0" in refused(2, "certify", best, data, "--max-indegree", "0")
    assert invoke("certify", best, tmp_path / "none.csv").exit_code == 3
    assert invoke("certify", tmp_path / "none.json", data).exit_code == 3
