"""The order of a round."""

import itertools

from beyond_ram.measure.order import ComparedMembers, order

BLOCKS = [ComparedMembers(name, (f"{name}1", f"{name}2", f"{name}3")) for name in "abcdefgh"]


def test_a_round_has_every_member_once_and_blocks_in_one_piece():
    runs = order([*BLOCKS, ComparedMembers("shared", ("a1", "c2"))], 1, seed=5)
    assert sorted(runs) == sorted(member for block in BLOCKS for member in block.members)
    names = [member[0] for member in order(BLOCKS, 1, seed=5)]
    assert sum(before != after for before, after in itertools.pairwise(names)) == len(BLOCKS) - 1


def test_order_depends_only_on_seed_and_repeat():
    orders = [order(BLOCKS, repeat, seed) for seed in (1, 2, 3) for repeat in (1, 2, 3)]
    assert len({tuple(runs) for runs in orders}) == len(orders)
    assert order(BLOCKS[::-1], 2, 3) == order(BLOCKS, 2, 3)


def test_an_even_repeat_reverses_each_block():
    def sides(repeat, seed):
        members = order(BLOCKS, repeat, seed)
        return {block.name: [member for member in members if member in block.members] for block in BLOCKS}

    firsts = set()
    for seed in range(20):
        for odd in (1, 3):
            first, second = sides(odd, seed), sides(odd + 1, seed)
            assert first == {name: members[::-1] for name, members in second.items()}
            firsts.add(first["a"][0])
    assert firsts == {*BLOCKS[0].members}, "one member always begins"
