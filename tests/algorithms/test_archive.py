import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gomea_bn import ElitistArchive, GomeaBnError
from gomea_bn.operators.archive import canonical


def dominates(f, g):
    return bool(np.all(f <= g) and np.any(f < g))


class PlainArchive:
    """What an archive without a grid must hold: every list is searched from end to end."""

    def __init__(self):
        self.members = []

    def offer(self, genotype, f):
        if any(np.array_equal(genotype, g) for g, _ in self.members):
            return "known"
        if any(dominates(other, f) for _, other in self.members):
            return "dominated"
        same = [i for i, (_, other) in enumerate(self.members) if np.array_equal(other, f)]
        if same:
            old = self.members[same[0]][0]
            others = [g for i, (g, _) in enumerate(self.members) if i != same[0]]

            def nearest(member):
                return min([int((member != g).sum()) for g in others], default=len(member))

            if nearest(genotype) > nearest(old):
                self.members[same[0]] = (genotype, f)
            return "same"
        self.members = [(g, other) for g, other in self.members if not dominates(f, other)]
        self.members.append((genotype, f))
        return "added"


def as_set(archive):
    genotypes = archive.genotypes
    return {
        (tuple(g), tuple(f)) for g, f in zip(genotypes.tolist(), archive.objectives.tolist(), strict=True)
    }


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 8), st.integers(1, 120), st.booleans())
def test_without_a_grid_it_holds_what_a_plain_list_would(seed, m, levels, n, is_real):
    generator = np.random.default_rng(seed)
    # real values are genes by their bits
    values = np.array([0.1, -1.5, 2.0**-40]) if is_real else np.arange(3, dtype=np.int16)
    archive, plain = ElitistArchive(6, m, dtype=values.dtype.type), PlainArchive()
    for _ in range(n):
        genotype = values[generator.integers(0, 3, 6)]
        f = generator.integers(0, levels + 1, m).astype(float)
        added = archive.offer(genotype[None], [f])
        assert (added == 1) == (plain.offer(genotype, f) == "added")
    # with up to 64 members there is one block, so that even the exchange of equals is the same
    assert as_set(archive) == {(tuple(g.tolist()), tuple(f.tolist())) for g, f in plain.members}


@pytest.mark.long
@settings(max_examples=8)
@given(st.integers(0, 2**32 - 1), st.integers(2, 3))
def test_with_many_blocks_the_front_is_the_nondominated_set(seed, m):
    generator = np.random.default_rng(seed)
    f = generator.random((3000, m)) ** 2
    # points near a sphere: most of them are nondominated, so blocks split, empty and fill again
    f = np.round(f / np.linalg.norm(f, axis=1)[:, None] * (1 + 0.05 * generator.random((3000, 1))), 2)
    genotypes = np.arange(3000)[:, None] // [256, 1] % [32767, 256]
    archive = ElitistArchive(2, m, size=100_000)
    archive.offer(genotypes, f)
    canonical_f = np.array([[canonical(float(x)) for x in row] for row in f])
    distinct = np.unique(canonical_f, axis=0)
    dominated = [((distinct <= x).all(axis=1) & (distinct < x).any(axis=1)).any() for x in distinct]
    expected = {tuple(x) for x, worse in zip(distinct, dominated, strict=True) if not worse}
    held_objectives = [tuple(x) for x in archive.objectives.tolist()]
    assert len(held_objectives) == len(set(held_objectives))
    assert set(held_objectives) == expected
    for j in range(m):
        assert archive.objectives[archive.data.best[j], j] == archive.objectives[:, j].min()


def check_blocks(archive):
    data, n = archive.data, len(archive)
    listed = []
    for b in range(archive.n_blocks):
        members = data.blocks[b, : data.sizes[b]]
        assert len(members)
        listed += members.tolist()
        assert (data.block_of[members] == b).all()
        values = data.objectives[members]
        assert (data.low[b] <= values.min(axis=0)).all()
        assert (data.high[b] >= values.max(axis=0)).all()
    assert sorted(listed) == list(range(n))
    for table in (data.by_key, data.by_box):
        assert sorted(table[table >= 0].tolist()) == list(range(n))


def test_the_index_stays_whole_while_members_come_and_go():
    generator = np.random.default_rng(5)
    archive = ElitistArchive(2, 3, size=100_000)
    most = 0
    for round_ in range(12):
        f = generator.random((400, 3)) + 1e-9
        f /= np.linalg.norm(f, axis=1)[:, None] * (1 + 0.02 * round_)
        archive.offer(np.stack([np.full(400, round_), np.arange(400)], axis=1), f)
        check_blocks(archive)
        most = max(most, archive.n_blocks)
    assert most > 5
    archive.offer([[99, 99]], [[-1.0, -1.0, -1.0]])
    check_blocks(archive)
    assert len(archive) == 1
    assert archive.n_blocks == 1


def test_values_that_differ_by_rounding_are_equal_and_other_values_are_not():
    archive = ElitistArchive(1, 2)
    third = sum([0.1] * 3)
    assert third != 0.3
    archive.offer([[0], [1], [2]], [[0.3, 1.0], [third, 1.0], [0.3 + 1e-10, 1.0 - 1e-10]])
    assert len(archive) == 2
    tiny = ElitistArchive(1, 2)
    tiny.offer([[0], [1]], [[1e-9, 2e-9], [2e-9, 1e-9]])
    assert len(tiny) == 2
    assert canonical(-0.0) == 0.0
    assert np.signbit(canonical(-0.0)) == np.signbit(0.0)
    assert canonical(np.inf) == np.inf
    assert canonical(123456789.0) == 123456789.0


def test_the_grid_bounds_the_size_and_keeps_the_extremes():
    generator = np.random.default_rng(1)
    archive = ElitistArchive(2, 3, size=200)
    f = generator.random((4000, 3))
    f /= np.linalg.norm(f, axis=1)[:, None]
    added = 0
    for part in range(8):
        rows = slice(500 * part, 500 * (part + 1))
        added += archive.offer(np.stack([np.full(500, part), np.arange(500)], axis=1), f[rows])
        too_many = len(archive) > 250
        archive.adapt()
        assert len(archive) <= (200 if too_many else 250)
        assert archive.additions == added
        check_blocks(archive)
    assert len(archive) > 150
    assert archive.data.widths.all()
    assert np.allclose(archive.objectives.min(axis=0), f.min(axis=0), rtol=1e-11)
    cells = np.floor(archive.objectives / archive.data.widths)
    # one member per box
    assert len(np.unique(cells, axis=0)) == len(archive)
    # boxes below zero are boxes like any other: a shift must not merge the two around 0
    shifted = ElitistArchive(2, 2, size=4)
    shifted.data.widths[:] = 1.0
    shifted.offer([[0, 0], [0, 1]], [[-0.5, 0.5], [0.5, -0.5]])
    assert len(shifted) == 2


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.sampled_from([5, 20, 60]))
def test_the_least_value_of_every_objective_stays_even_where_they_share_a_box(seed, m, size):
    generator = np.random.default_rng(seed)
    archive = ElitistArchive(2, m, size=size)
    least = np.full(m, np.inf)
    for part in range(6):
        # objectives that nearly agree: extremes lie close together
        f = generator.random((200, 1)) + 0.02 * generator.random((200, m))
        f = f / 2**part
        archive.offer(np.stack([np.full(200, part), np.arange(200)], axis=1), f)
        least = np.minimum(least, f.min(axis=0))
        archive.adapt()
        check_blocks(archive)
        assert np.allclose(archive.objectives.min(axis=0), least, rtol=1e-11, atol=0)
        for j in range(m):
            assert archive.objectives[archive.data.best[j], j] == archive.objectives[:, j].min()


@pytest.mark.parametrize("size", [13, 40])
def test_the_grid_leaves_at_most_the_wanted_number_of_members(size):
    for seed in range(20):
        f = np.random.default_rng(seed).dirichlet(np.ones(3), size=4 * size)
        archive = ElitistArchive(1, 3, size=size)
        archive.offer(np.arange(4 * size)[:, None], f)
        assert len(archive) > 1.25 * size
        archive.adapt()
        assert 3 <= len(archive) <= size


def test_two_members_with_the_least_values_of_different_objectives_share_a_box():
    archive = ElitistArchive(1, 2, size=10)
    archive.data.widths[:] = 1.0
    assert archive.offer([[0], [1]], [[0.2, 0.8], [0.8, 0.2]]) == 2
    assert as_set(archive) == {
        ((0,), (canonical(0.2), canonical(0.8))),
        ((1,), (canonical(0.8), canonical(0.2))),
    }
    # a third one, best in nothing, stays out
    assert archive.offer([[2]], [[0.5, 0.5]]) == 0
    assert len(archive) == 2


def test_an_equal_least_value_gives_no_right_to_an_occupied_box():
    archive = ElitistArchive(2, 3, size=4)
    archive.data.widths[:] = 1.0
    assert archive.offer([[0, 0]], [[0.2, 0.8, 0.1]]) == 1
    assert archive.offer([[0, 1]], [[0.2, 0.7, 0.3]]) == 1
    # as little as the least of the first objective, and between the members in the others
    assert archive.offer([[1, 0]], [[0.2, 0.75, 0.2]]) == 0
    assert len(archive) == 2


def test_the_grid_goes_off_when_few_members_are_left():
    generator = np.random.default_rng(2)
    archive = ElitistArchive(1, 2, size=100)
    x = np.sort(generator.random(300))
    archive.offer(np.arange(300)[:, None], np.stack([x, 1 - x], axis=1))
    archive.adapt()
    assert archive.data.widths.all()
    archive.offer([[999]], [[-1.0, 0.05]])
    assert len(archive) < 75
    archive.adapt()
    assert not archive.data.widths.any()
    check_blocks(archive)


def test_boxes_of_huge_and_tiny_values_do_not_overflow_into_each_other():
    archive = ElitistArchive(1, 2, size=10)
    archive.data.widths[:] = [1e-6, 1e-6]
    archive.offer([[0], [1]], [[1e6, -1e6], [1e6 + 4.3e3, -1e6 - 4.3e3]])
    assert len(archive) == 2


def test_nan_is_refused():
    with pytest.raises(GomeaBnError, match="objectives: row 1 has a NaN"):
        ElitistArchive(1, 2).offer([[0], [1]], [[0.0, 0.0], [np.nan, 0.0]])
    with pytest.raises(GomeaBnError, match="size must be an integer of at least 1, got 0"):
        ElitistArchive(1, 2, size=0)


def test_the_best_of_an_objective_is_known_when_the_former_best_goes_with_others():
    for seed in range(120):
        generator = np.random.default_rng(seed)
        f = np.abs(generator.normal(size=(300, 3)))
        archive = ElitistArchive(2, 3, size=100)
        archive.offer(
            np.stack([np.zeros(300), np.arange(300)], axis=1), f / np.linalg.norm(f, axis=1)[:, None]
        )
        # the newest member is best in the first objective; one that is equal there dominates it, and older ones
        newest = np.array([-1.0, *generator.uniform(0.3, 0.6, 2)])
        archive.offer([[1, 0], [2, 0]], [newest, newest - [0.0, *generator.uniform(0.0, 0.1, 2)]])
        least = archive.objectives.min(axis=0)
        assert (archive.data.best < len(archive)).all()
        assert archive.objectives[archive.data.best, range(3)].tolist() == least.tolist()
        archive.adapt()
        assert archive.objectives.min(axis=0).tolist() == least.tolist()


def test_real_members_are_kept_to_the_bit() -> None:
    generator = np.random.default_rng(4)
    x = generator.normal(size=(60, 3))
    objectives = np.stack([x[:, 0], -x[:, 0]], axis=1)
    archive = ElitistArchive(3, 2, dtype=np.float64)
    assert archive.offer(x, objectives) == 60
    assert archive.offer(x, objectives) == 0
    order = np.argsort(archive.genotypes[:, 0])
    assert np.array_equal(archive.genotypes[order], x[np.argsort(x[:, 0])])
    assert archive.offer([[-0.0, 1.0, 2.0]], [[-9.0, 9.0]]) == 1
    assert archive.offer([[0.0, 1.0, 2.0]], [[-10.0, 8.0]]) == 0
    with pytest.raises(GomeaBnError, match="dtype must be"):
        ElitistArchive(3, 2, dtype=np.float32)
