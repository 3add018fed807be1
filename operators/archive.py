"""The elitist archive of nondominated solutions, with look-up by genotype, grid box and dominance."""

from __future__ import annotations

from math import floor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.runtime.jit import kernel
from gomea_bn.runtime.kernels import float_bits

# members per block: near the square root of 10,000, the usual number of members
BLOCK_SIZE = 64

# outcomes of offering a solution
ADDED, EXCHANGED, SAME_BOX, KNOWN, DOMINATED = 0, 1, 2, 3, 4

# entries of `Archive.counts`
MEMBERS, BLOCKS, ADDITIONS, REFUSED_FULL = 0, 1, 2, 3

_NOBODY = np.int32(-1)

# ways in which a solution may enter an occupied box
OUTSIDE, INSTEAD, ALONGSIDE = 0, 1, 2


@kernel
def canonical(value: float) -> float:
    """Return `value` rounded to 41 bits, so that sums of the same terms in any order are equal."""
    if not -1e290 < value < 1e290:
        return value
    # adding and subtracting 2**12 times a number drops the low 12 of its 53 bits (Veltkamp's splitting)
    scaled = value * 4097.0
    # adding 0 turns -0 into 0
    return scaled - (scaled - value) + 0.0


@kernel
def mixed(key: np.uint64, word: np.uint64) -> np.uint64:
    """Return a key that depends on every bit of another key and a word."""
    key = (key ^ word) * np.uint64(0x9E3779B97F4A7C15)
    return key ^ (key >> np.uint64(32))


@kernel
def genotype_key(genotype: NDArray[np.int16] | NDArray[np.int64]) -> np.uint64:
    """Return a 64-bit key of a genotype (l,)."""
    key = np.uint64(0x243F6A8885A308D3)
    for g in range(genotype.shape[0]):
        key = mixed(key, np.uint64(genotype[g]))
    return key


@kernel
def box_key(widths: NDArray[np.float64], f: NDArray[np.float64]) -> np.uint64:
    """Return a 64-bit key of the grid's box around objectives f (m,), or of f itself where the grid is off."""
    key = np.uint64(0x13198A2E03707344)
    for j in range(f.shape[0]):
        if widths[j] > 0.0:
            key = mixed(key, np.uint64(np.int64(floor(f[j] / widths[j]))))
        else:
            key = mixed(key, float_bits(f[j]))
    return key


@kernel
def compare_objectives(f: NDArray[np.float64], g: NDArray[np.float64]) -> int:
    """Return -1 if f (m,) Pareto-dominates g, 1 if g dominates f, 0 if they are equal, 2 if neither dominates."""
    less, more = False, False
    for j in range(f.shape[0]):
        if f[j] < g[j]:
            less = True
        elif f[j] > g[j]:
            more = True
    if less:
        return 2 if more else -1
    return 1 if more else 0


class Archive(NamedTuple):
    """Mutually nondominated feasible solutions (c = capacity, b = most blocks, l genes, m objectives).

    Members are numbered without gaps. A block holds the numbers of members that lie close to each other, and the box
    around them. A solution is compared with the members of a block only if that box allows dominance.
    """

    # (4,) MEMBERS, BLOCKS, ADDITIONS so far, solutions REFUSED_FULL for lack of room
    counts: NDArray[np.int64]
    genotypes: NDArray[np.int16] | NDArray[np.int64]  # (c, l)
    objectives: NDArray[np.float64]  # (c, m), rounded by `canonical`
    keys: NDArray[np.uint64]  # (c,) keys of the genotypes
    boxes: NDArray[np.uint64]  # (c,) keys of the grid's boxes, or of the objectives where the grid is off
    by_key: NDArray[np.int32]  # (power of two,) hash table from keys to members, -1 = empty
    by_box: NDArray[np.int32]  # (power of two,) hash table from boxes to members, -1 = empty
    block_of: NDArray[np.int32]  # (c,) block of each member
    position: NDArray[np.int32]  # (c,) position of each member in its block
    blocks: NDArray[np.int32]  # (b, BLOCK_SIZE) members
    sizes: NDArray[np.int32]  # (b,) numbers of members
    low: NDArray[np.float64]  # (b, m) lower corner of the box around the members
    high: NDArray[np.float64]  # (b, m) upper corner
    widths: NDArray[np.float64]  # (m,) widths of the grid's boxes; 0 = the grid is off
    best: NDArray[np.int64]  # (m,) member with the least value of each objective; -1 after its removal


@kernel
def _find(table: NDArray[np.int32], stored: NDArray[np.uint64], key: np.uint64) -> int:
    """Return the slot with the member whose `stored` key this is, or the empty slot where it belongs."""
    mask = table.shape[0] - 1
    slot = np.int64(key >> np.uint64(24)) & mask
    while table[slot] != _NOBODY and stored[table[slot]] != key:
        slot = (slot + 1) & mask
    return slot


@kernel
def _forget(table: NDArray[np.int32], stored: NDArray[np.uint64], key: np.uint64) -> None:
    """Empty the slot of a key and close the gap, so that `_find` still finds the other keys."""
    mask = table.shape[0] - 1
    gap = _find(table, stored, key)
    table[gap] = _NOBODY
    slot = (gap + 1) & mask
    while table[slot] != _NOBODY:
        home = np.int64(stored[table[slot]] >> np.uint64(24)) & mask
        # an entry may move into the gap unless its home lies behind it
        if ((slot - home) & mask) >= ((slot - gap) & mask):
            table[gap] = table[slot]
            table[slot] = _NOBODY
            gap = slot
        slot = (slot + 1) & mask


@kernel
def _widen(archive: Archive, block: int, f: NDArray[np.float64]) -> None:
    """Extend a block's box to objectives f (m,)."""
    for j in range(f.shape[0]):
        archive.low[block, j] = min(archive.low[block, j], f[j])
        archive.high[block, j] = max(archive.high[block, j], f[j])


@kernel
def _fit(archive: Archive, block: int) -> None:
    """Recompute the box around a block's members."""
    for j in range(archive.objectives.shape[1]):
        archive.low[block, j] = np.inf
        archive.high[block, j] = -np.inf
    for k in range(archive.sizes[block]):
        _widen(archive, block, archive.objectives[archive.blocks[block, k]])


@kernel
def _join(archive: Archive, block: int, member: int) -> None:
    """Append a member to a block that has room."""
    size = archive.sizes[block]
    archive.blocks[block, size] = member
    archive.sizes[block] = size + 1
    archive.block_of[member] = block
    archive.position[member] = size
    _widen(archive, block, archive.objectives[member])


@kernel
def _new_block(archive: Archive) -> int:
    """Return the number of a new empty block."""
    block = archive.counts[BLOCKS]
    archive.counts[BLOCKS] = block + 1
    archive.sizes[block] = 0
    _fit(archive, block)
    return block


@kernel
def _split(archive: Archive, block: int) -> None:
    """Move the members of a block beyond the middle of its longest side into a new block."""
    axis = 0
    longest = -1.0
    n_blocks = archive.counts[BLOCKS]
    for j in range(archive.objectives.shape[1]):
        low, high = np.inf, -np.inf
        for b in range(n_blocks):
            low, high = min(low, archive.low[b, j]), max(high, archive.high[b, j])
        side = archive.high[block, j] - archive.low[block, j]
        if high > low and side / (high - low) > longest:
            longest = side / (high - low)
            axis = j
    middle = 0.5 * (archive.low[block, axis] + archive.high[block, axis])
    other = _new_block(archive)
    size = archive.sizes[block]
    archive.sizes[block] = 0
    for k in range(size):
        member = np.int64(archive.blocks[block, k])
        _join(archive, other if archive.objectives[member, axis] > middle else block, member)
    _fit(archive, block)
    _fit(archive, other)


@kernel
def _block_for(archive: Archive, f: NDArray[np.float64]) -> int:
    """Return the block with room whose box is nearest to objectives f (m,); -1 if all are full."""
    best = -1
    least = np.inf
    for b in range(archive.counts[BLOCKS]):
        if archive.sizes[b] == BLOCK_SIZE:
            continue
        distance = 0.0
        for j in range(f.shape[0]):
            span = archive.high[b, j] - archive.low[b, j]
            outside = max(archive.low[b, j] - f[j], f[j] - archive.high[b, j])
            if outside > 0.0:
                distance += outside / (span + outside)
        if distance < least:
            least = distance
            best = b
    return best


@kernel
def _note_best(archive: Archive, member: int) -> None:
    """Make a member the best one of every objective in which no other member is as good."""
    for j in range(archive.best.shape[0]):
        former = archive.best[j]
        if former == _NOBODY or archive.objectives[member, j] < archive.objectives[former, j]:
            archive.best[j] = member


@kernel
def _index(archive: Archive, member: int) -> None:
    """Put a member into the hash tables and a block; its genotype, objectives and keys are set."""
    archive.by_key[_find(archive.by_key, archive.keys, archive.keys[member])] = member
    archive.by_box[_find(archive.by_box, archive.boxes, archive.boxes[member])] = member
    block = _block_for(archive, archive.objectives[member])
    if block < 0:
        block = _new_block(archive)
    _join(archive, block, member)
    if archive.sizes[block] == BLOCK_SIZE and archive.counts[BLOCKS] < archive.blocks.shape[0]:
        _split(archive, block)
    _note_best(archive, member)


@kernel
def _leave_block(archive: Archive, member: int) -> None:
    """Take a member out of its block; an empty block's number goes to the last block."""
    block, position = archive.block_of[member], archive.position[member]
    last = archive.sizes[block] - 1
    moved = archive.blocks[block, last]
    archive.blocks[block, position] = moved
    archive.position[moved] = position
    archive.sizes[block] = last
    if last > 0:
        return
    end = archive.counts[BLOCKS] - 1
    archive.counts[BLOCKS] = end
    if block == end:
        return
    for k in range(archive.sizes[end]):
        archive.blocks[block, k] = archive.blocks[end, k]
        archive.block_of[archive.blocks[end, k]] = block
    archive.sizes[block] = archive.sizes[end]
    for j in range(archive.low.shape[1]):
        archive.low[block, j] = archive.low[end, j]
        archive.high[block, j] = archive.high[end, j]


@kernel
def _write(
    archive: Archive,
    member: int,
    genotype: NDArray[np.int16] | NDArray[np.int64],
    key: np.uint64,
    f: NDArray[np.float64],
    box: np.uint64,
) -> None:
    for g in range(genotype.shape[0]):
        archive.genotypes[member, g] = genotype[g]
    for j in range(f.shape[0]):
        archive.objectives[member, j] = f[j]
    archive.keys[member] = key
    archive.boxes[member] = box


@kernel
def _remove(archive: Archive, member: int) -> None:
    """Take a member out; the last member gets its number. The next `_note_best` must be of one at least as good."""
    _forget(archive.by_key, archive.keys, archive.keys[member])
    _forget(archive.by_box, archive.boxes, archive.boxes[member])
    _leave_block(archive, member)
    last = archive.counts[MEMBERS] - 1
    archive.counts[MEMBERS] = last
    for j in range(archive.best.shape[0]):
        if archive.best[j] == member:
            archive.best[j] = _NOBODY
        elif archive.best[j] == last:
            archive.best[j] = member
    if member == last:
        return
    by_key = _find(archive.by_key, archive.keys, archive.keys[last])
    by_box = _find(archive.by_box, archive.boxes, archive.boxes[last])
    genotype, f = archive.genotypes[last], archive.objectives[last]
    _write(archive, member, genotype, archive.keys[last], f, archive.boxes[last])
    archive.by_key[by_key] = member
    archive.by_box[by_box] = member
    archive.block_of[member] = archive.block_of[last]
    archive.position[member] = archive.position[last]
    archive.blocks[archive.block_of[last], archive.position[last]] = member


@kernel
def is_dominated(archive: Archive, f: NDArray[np.float64]) -> bool:
    """Return whether a member Pareto-dominates objectives f (m,)."""
    m = f.shape[0]
    for b in range(archive.counts[BLOCKS]):
        possible = True
        for j in range(m):
            if archive.low[b, j] > f[j]:
                possible = False
                break
        if possible:
            for k in range(archive.sizes[b]):
                if compare_objectives(archive.objectives[archive.blocks[b, k]], f) == -1:
                    return True
    return False


@kernel
def _remove_dominated(archive: Archive, f: NDArray[np.float64]) -> None:
    """Take out every member that objectives f (m,) Pareto-dominate."""
    b = 0
    while b < archive.counts[BLOCKS]:
        possible = True
        for j in range(f.shape[0]):
            if archive.high[b, j] < f[j]:
                possible = False
                break
        removed = False
        k = 0
        n_blocks = archive.counts[BLOCKS]
        while possible and k < archive.sizes[b]:
            member = np.int64(archive.blocks[b, k])
            if compare_objectives(f, archive.objectives[member]) == -1:
                _remove(archive, member)
                removed = True
                if archive.counts[BLOCKS] < n_blocks:
                    break
            else:
                k += 1
        if archive.counts[BLOCKS] < n_blocks:
            # another block has taken this number
            continue
        if removed:
            _fit(archive, b)
        b += 1


@kernel
def _is_best(archive: Archive, member: int) -> bool:
    """Return whether a member has the least value of an objective."""
    for j in range(archive.best.shape[0]):
        if archive.best[j] == member:
            return True
    return False


@kernel
def _right_to_box(archive: Archive, member: int, f: NDArray[np.float64]) -> int:
    """Return how objectives f (m,) may enter the box of `member`, which they do not dominate.

    A solution with a new least value of an objective replaces the member, or joins it if the member has the least
    value of another objective. Other solutions stay out.
    """
    lower, holds_another_least = False, False
    for j in range(f.shape[0]):
        lower |= f[j] < archive.objectives[archive.best[j], j]
        holds_another_least |= archive.best[j] == member and f[j] > archive.objectives[member, j]
    if not lower:
        return OUTSIDE
    return ALONGSIDE if holds_another_least else INSTEAD


@kernel
def _distance_to_others(
    archive: Archive, genotype: NDArray[np.int16] | NDArray[np.int64], block: int, except_for: int
) -> int:
    """Return the least Hamming distance from a genotype to the other members of a block."""
    least = genotype.shape[0]
    for k in range(archive.sizes[block]):
        other = archive.blocks[block, k]
        if other == except_for:
            continue
        distance = 0
        for g in range(genotype.shape[0]):
            if genotype[g] != archive.genotypes[other, g]:
                distance += 1
                if distance >= least:
                    break
        least = min(least, distance)
    return least


@kernel
def standing(archive: Archive, key: np.uint64, f: NDArray[np.float64]) -> int:
    """Return the outcome of offering a solution with this genotype key and these canonical objectives (m,)."""
    if archive.by_key[_find(archive.by_key, archive.keys, key)] != _NOBODY:
        return KNOWN
    if is_dominated(archive, f):
        return DOMINATED
    member = archive.by_box[_find(archive.by_box, archive.boxes, box_key(archive.widths, f))]
    if member == _NOBODY or compare_objectives(f, archive.objectives[member]) == -1:
        return ADDED
    return SAME_BOX if _right_to_box(archive, np.int64(member), f) == OUTSIDE else ADDED


@kernel
def offer_solution(
    archive: Archive,
    genotype: NDArray[np.int16] | NDArray[np.int64],
    key: np.uint64,
    f: NDArray[np.float64],
    exchange: bool,
) -> int:
    """Add a feasible solution if it is new; returns the outcome.

    `f` (m,) are its canonical objectives. In an occupied box, and with `exchange`, it replaces the member if its
    genotype is farther from the other members of the block than the member's genotype.
    """
    became = standing(archive, key, f)
    box = box_key(archive.widths, f)
    if became == SAME_BOX:
        member = np.int64(archive.by_box[_find(archive.by_box, archive.boxes, box)])
        equal = compare_objectives(f, archive.objectives[member]) == 0
        if not exchange or (_is_best(archive, member) and not equal):
            return SAME_BOX
        block = np.int64(archive.block_of[member])
        former_distance = _distance_to_others(archive, archive.genotypes[member], block, member)
        if _distance_to_others(archive, genotype, block, member) <= former_distance:
            return SAME_BOX
        _remove_dominated(archive, f)
        # its number may have changed
        member = np.int64(archive.by_box[_find(archive.by_box, archive.boxes, box)])
        _forget(archive.by_key, archive.keys, archive.keys[member])
        _write(archive, member, genotype, key, f, box)
        archive.by_key[_find(archive.by_key, archive.keys, key)] = member
        _fit(archive, np.int64(archive.block_of[member]))
        _note_best(archive, member)
        return EXCHANGED
    if became != ADDED:
        return became
    slot = _find(archive.by_box, archive.boxes, box)
    right = INSTEAD
    if (
        archive.by_box[slot] != _NOBODY
        and compare_objectives(f, archive.objectives[archive.by_box[slot]]) != -1
    ):
        right = _right_to_box(archive, np.int64(archive.by_box[slot]), f)
    _remove_dominated(archive, f)
    slot = _find(archive.by_box, archive.boxes, box)
    if right == ALONGSIDE:
        # a key of its own, so that both members stay in the table
        box = mixed(box, key)
    elif archive.by_box[slot] != _NOBODY:
        _remove(archive, np.int64(archive.by_box[slot]))
    member = archive.counts[MEMBERS]
    if member == archive.genotypes.shape[0]:
        archive.counts[REFUSED_FULL] += 1
        return SAME_BOX
    if member == 0:
        archive.best[:] = 0
    _write(archive, member, genotype, key, f, box)
    archive.counts[MEMBERS] = member + 1
    archive.counts[ADDITIONS] += 1
    _index(archive, member)
    return ADDED


@kernel
def offer_rows(
    archive: Archive,
    genotypes: NDArray[np.int16] | NDArray[np.int64],
    objectives: NDArray[np.float64],
    f: NDArray[np.float64],
) -> int:
    """Offer feasible solutions, genotypes (k, l) and objectives (k, m), in order; returns how many were added."""
    added = 0
    for i in range(genotypes.shape[0]):
        for j in range(f.shape[0]):
            f[j] = canonical(objectives[i, j])
        if offer_solution(archive, genotypes[i], genotype_key(genotypes[i]), f, np.bool_(True)) == ADDED:
            added += 1
    return added


@kernel
def clear(archive: Archive) -> None:
    """Remove all members; the grid and the other counts stay."""
    archive.counts[MEMBERS] = 0
    archive.counts[BLOCKS] = 0
    archive.by_key[:] = _NOBODY
    archive.by_box[:] = _NOBODY


@kernel
def merge(target: Archive, source: Archive, f: NDArray[np.float64]) -> int:
    """Offer every member of `source` to `target` in order; returns how many were added. `f` (m,) is work space."""
    added = 0
    for member in range(source.counts[MEMBERS]):
        for j in range(f.shape[0]):
            f[j] = source.objectives[member, j]
        if offer_solution(target, source.genotypes[member], source.keys[member], f, np.bool_(True)) == ADDED:
            added += 1
    return added


@kernel
def refill(target: Archive, source: Archive, members: NDArray[np.int64], f: NDArray[np.float64]) -> None:
    """Copy members (k,) of `source`, one per box, to an empty `target`; `f` (m,) is work space."""
    for i in range(members.shape[0]):
        member = members[i]
        for j in range(f.shape[0]):
            f[j] = source.objectives[member, j]
        offer_solution(target, source.genotypes[member], source.keys[member], f, np.bool_(False))
