"""The store of a front: networks come back to the last bit, equal parts stand once, damage is refused."""

import gzip
import json
import pickle
from typing import Any

import numpy as np
import pytest
from front_examples import example_front, rewritten, small_frame
from network_examples import small_network

from gomea_bn import (
    BayesNetLearner,
    DiscretizedBayesNet,
    Front,
    GomeaBnError,
    ParetoBayesNetLearner,
    average_families,
    read_front,
    write_front,
)
from gomea_bn.front import COMPLEXITY, MISFIT
from gomea_bn.front.store import StoredNetworks, packed_networks, parts_of


def unpacked(content):
    """Return the first line and the tables of a store."""
    text, _, tables = gzip.decompress(content).partition(b"\n")
    return json.loads(text), tables


def stored(networks, tmp_path):
    content = packed_networks(map(parts_of, networks))
    return StoredNetworks(content, len(networks), tmp_path / "networks.gz"), content


@pytest.mark.parametrize("seed", range(5))
def test_networks_come_back_as_their_json_has_them(tmp_path, seed):
    networks = [small_network(5 * seed + position) for position in range(5)]
    back, content = stored(networks, tmp_path)
    for position, network in enumerate(networks):
        assert back(position) == network
        assert back(position).to_json() == network.to_json()
        assert back.parts(position).sizes == (
            len(network.edges), network.n_parameters, max(len(network.parents(name)) for name in network.names)
        )  # fmt: skip
    assert packed_networks(map(parts_of, networks)) == content


def test_networks_with_conditionals_and_metadata_come_back(tmp_path):
    learner = BayesNetLearner(max_evaluations=300, max_seconds=None, random_state=1).fit(small_frame(n=150))
    network = learner.network_
    assert network.conditionals is not None
    back, _ = stored([network, network.of_tables()], tmp_path)
    assert back(0).to_json() == network.to_json()
    assert back(1).to_json() == network.of_tables().to_json()


def test_equal_parts_stand_once(tmp_path):
    network = small_network(3)
    other = DiscretizedBayesNet.from_json(network.to_json())
    back, content = stored([network, other, small_network(4)], tmp_path)
    head, tables = unpacked(content)
    first, second, _ = head["networks"]
    assert first == second
    assert len(head["variables"]) <= sum(len(small_network(seed).names) for seed in (3, 4))
    assert len(tables) == 8 * sum(int(np.prod(entry["table_shape"])) for entry in head["variables"])
    assert back(1) == other


@pytest.mark.long
def test_a_learned_front_counts_families_as_single_networks_do(tmp_path):
    frame = small_frame(n=200)
    frame["b"] = frame["a"] + np.random.default_rng(4).normal(scale=0.4, size=200)
    frame.loc[:20, "c"] = np.nan
    for rows in (frame, frame.dropna()):
        front = ParetoBayesNetLearner(max_evaluations=1500, max_seconds=None, random_state=3).fit(rows).front_
        write_front(tmp_path / "front", front)
        back = read_front(tmp_path / "front")
        again = pickle.loads(pickle.dumps(front))
        source: Any = front._networks
        for index in range(0, len(front), 3):
            structure = source.structures[int(front._order[index])]
            network = structure.over(
                source.table, pseudo_count="auto", metadata={**source.metadata, **structure.record}
            ).in_order(list(rows.columns))
            network = average_families(network, source.table, random_state=source.metadata["seed"])
            for other in (front[index], back[index], again[index]):
                assert other.network.to_json() == network.to_json()
        assert front.to_frame().equals(back.to_frame())


def test_another_record_or_other_rows_keep_the_networks_unbuilt(tmp_path):
    front = example_front(12)
    write_front(tmp_path, front)
    back = read_front(tmp_path)
    other = back.with_origin(record={"seed": 8}, table=front.table)
    assert other.record == {"seed": 8}
    assert other.table is front.table
    assert other.to_frame()["n_edges"].tolist() == front.to_frame()["n_edges"].tolist()
    assert [candidate.network for candidate in other] == [candidate.network for candidate in front]


def changed(content, change):
    """Return a store whose first line was changed."""
    head, tables = unpacked(content)
    change(head)
    return gzip.compress(json.dumps(head).encode() + b"\n" + tables)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda _content: b"other", "not compressed by gzip"),
        (lambda _content: b"", "is not JSON"),
        (lambda content: content[:-9], "not compressed by gzip"),
        (lambda _content: gzip.compress(b"{}\n"), "is not the networks of a front"),
        (lambda _content: gzip.compress(b"\xff\n"), "is not UTF-8"),
        (lambda content: gzip.compress(gzip.decompress(content)[:-8]), "must have .* bytes, 8 for each"),
        (lambda content: changed(content, lambda head: head["networks"].pop()), "must hold 6 networks, got 5"),
        (lambda content: changed(content, lambda head: head.pop("heads")), "wanted a list under 'heads'"),
        (lambda content: changed(content, lambda head: head.update(heads=[1])), "heads must be objects"),
        (lambda content: changed(content, lambda head: head.update(format_version=2)), "format_version 2"),
        (lambda content: changed(content, lambda head: head["networks"][2].append(10**6)), r"networks\[2\] must be"),
        (lambda content: changed(content, lambda head: head["networks"][2].append("1")), r"networks\[2\] must be"),
        (lambda content: changed(content, lambda head: head["networks"].__setitem__(2, [0])), r"networks\[2\] must"),
        (lambda content: changed(content, lambda head: head["networks"][2].__setitem__(0, -1)), "position of a head"),
        (lambda content: changed(content, lambda head: head["variables"].__setitem__(0, 1)), "must be an object"),
        (
            lambda content: changed(content, lambda head: head["variables"][0].update(table_shape=[2**62] * 9)),
            "table_shape must be",
        ),
        (lambda content: changed(content, lambda head: head["variables"][0].update(parents=[[]])), "must be names"),
        (lambda content: changed(content, lambda head: head["variables"][0].pop("kind")), "network 4: .*variable"),
    ],
)  # fmt: skip
def test_damaged_stores_are_refused_when_read(tmp_path, damage, message):
    networks = [small_network(1)] * 6
    write_front(tmp_path, Front([MISFIT, COMPLEXITY], [[i, -i] for i in range(6)], networks))
    rewritten("networks.gz", damage((tmp_path / "networks.gz").read_bytes()))(tmp_path)
    front = read_front(tmp_path)
    for _ in range(2):
        with pytest.raises(GomeaBnError, match=message) as caught:
            _ = front[4].network
        assert str(tmp_path / "networks.gz") in str(caught.value)
