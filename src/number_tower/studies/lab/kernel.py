"""The inner loops of a study: the graph of all positions with their values, and the games of every pair of players.

Written so that Numba can compile it (see `solve.jit`). A position is numbered when all that follows it is numbered, so
every move leads to a smaller number: values are computed as the numbers are given, and the expected games of a pair by
one pass from the start, the highest number, down.

A value is 0, 1 or 2 for a loss, a draw or a win of the player to move. The values of a position are packed, two bits
each: how it looks to a player who sees 0, 1, ... 7 plies, and the true one. What is not seen to the end is a draw.
"""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence
from typing import Any, NamedTuple

from number_tower.solve.kernel import (
    BEST,
    FRAME_SIZE,
    KEY_1,
    KEY_2,
    LEGAL,
    MY_HEIGHT,
    SIZE_TABLE,
    SKIPS,
    TARGET,
    TURN_PASSED,
    UNKNOWN,
    choose_block,
    hash_key,
    place_block,
    set_key,
)

Numbers = Sequence[int]
State = MutableSequence[int]

EDGES_START = BEST
"""The place in a frame that says where the edges of its position begin among the pending ones."""

(
    DEPTH,
    MAX_FRAMES,
    PENDING,
    MAX_PENDING,
    COUNT,
    MAX_COUNT,
    EDGES,
    MAX_EDGES,
    DECISIONS,
    MOVES,
    DONE,
) = range(11)
"""Places in the state of an exploration."""

SIGHT_COUNT = 8
"""Steps of the ladder: players who see 0, 1, 2, 3, 4, 6 and 8 plies, and everything."""

VALUE_COUNT = 9
"""Packed values: those seen within 0 to 7 plies, and the true one."""

ALL_VALUES = 0b01_01_01_01_01_01_01_01_01
TRUE_VALUE = 2 * (VALUE_COUNT - 1)
PLIES_SHIFT, LONGEST_SHIFT = 18, 40
PLIES_MASK = (1 << (LONGEST_SHIFT - PLIES_SHIFT)) - 1
"""Where a word has the plies to the end with best play, and those of the longest game."""

LOSS_SHIFT = SIGHT_COUNT
"""Where the marks of a move have its loss of value, above one bit for each player who might choose it."""

SLOT_WORDS = 3
"""Words of a slot of the table: the key in two, and the number of the position plus one."""

EXACT, STUCK, HIGHER, LEVEL = range(4)
"""Why a game ended."""

ENDING_COUNT = 12
"""Reasons times results."""


class Memory(NamedTuple):
    """The sequences of an exploration; all but the first three are the graph."""

    stack: Any
    """The line of play, one frame for each position, as in the search of values."""
    pending: Any
    """Edges of the positions on the stack."""
    table: Any
    """The numbers of positions by their keys."""
    starts: Any
    """Where the edges of each position begin."""
    edges: Any
    """Where each move leads: for a move that ends the game, a negative number (`encode_ending`); for any other the
    number of the position after it, doubled, plus 1 if the turn passed."""
    marks: Any
    """Who might choose each move, and the value that it loses."""
    words: Any
    """The values of each position, its plies and those of its longest game."""


class Tallies(NamedTuple):
    """What is added up over the games of one first player, for each step of the second."""

    weights: Any
    """How probable each position is, with the first and with the second player to move."""
    endings: Any
    """How many games end by each reason with each value for the first player."""
    lengths: Any
    swings: Any
    """How much value is lost by moves, a whole win counting 1."""


def explore(budget: int, rules: Numbers, memory: Memory, state: State) -> None:
    """Continue to number positions until all are, a sequence has to grow, or `budget` moves have been made."""
    stack = memory.stack
    depth = state[DEPTH]
    while budget > 0 and (
        depth + 1 < state[MAX_FRAMES]
        and state[PENDING] < state[MAX_PENDING]
        and state[EDGES] + state[PENDING] <= state[MAX_EDGES]
        and state[COUNT] < state[MAX_COUNT]
    ):
        frame = depth * FRAME_SIZE
        if stack[frame + LEGAL] == 0:
            edge = 2 * number_position(frame, memory, state)
            edge += stack[frame + TURN_PASSED]
            if depth == 0:
                state[DONE] = 1
                return
            depth -= 1
        else:
            budget -= 1
            state[MOVES] += 1
            block = choose_block(rules, stack, frame)
            score = place_block(block, rules, stack, frame)
            if score != UNKNOWN:
                edge = encode_ending(score, block, rules, stack, frame)
            else:
                frame += FRAME_SIZE
                set_key(rules, stack, frame)
                number = find_number(stack[frame + KEY_1], stack[frame + KEY_2], memory.table)
                if number < 0:
                    stack[frame + EDGES_START] = state[PENDING]
                    depth += 1
                    continue
                edge = 2 * number + stack[frame + TURN_PASSED]
        memory.pending[state[PENDING]] = edge
        state[PENDING] += 1
    state[DEPTH] = depth


def encode_ending(score: int, block: int, rules: Numbers, stack: Numbers, frame: int) -> int:
    """Return the edge of a move that ends the game: its reason and its value for the player who made it."""
    reason = STUCK
    if stack[frame + MY_HEIGHT] + rules[rules[SIZE_TABLE] + block] == rules[TARGET]:
        reason = EXACT
    elif rules[SKIPS] == 1:
        reason = LEVEL if score == 0 else HIGHER
    value = 1 if score == 0 else 0 if score > 0 else 2
    return -1 - (3 * reason + value)


def number_position(frame: int, memory: Memory, state: State) -> int:
    """Give the position of a frame the next number, with its edges and its values; return the number."""
    stack, pending, words = memory.stack, memory.pending, memory.words
    number, first = state[COUNT], stack[frame + EDGES_START]
    best = 0
    for place in range(first, state[PENDING]):
        values = get_move_values(pending[place], words)
        for shift in range(0, 2 * VALUE_COUNT, 2):
            if values >> shift & 3 > best >> shift & 3:
                best = best & ~(3 << shift) | values & 3 << shift
    value = best >> TRUE_VALUE & 3
    at = state[EDGES]
    memory.starts[number] = at
    plies = -1
    longest = 0
    differ = 0
    for place in range(first, state[PENDING]):
        edge = pending[place]
        word = words[edge >> 1] if edge >= 0 else 0
        values = get_move_values(edge, words)
        loss = value - (values >> TRUE_VALUE & 3)
        after = word >> PLIES_SHIFT & PLIES_MASK
        if loss > 0:
            differ = 1
        elif plies < 0 or (after < plies if value == 2 else after > plies):
            plies = after
        longest = max(longest, word >> LONGEST_SHIFT)
        memory.edges[at] = edge
        memory.marks[at] = loss << LOSS_SHIFT | mark_players(values, best)
        at += 1
    state[EDGES] = memory.starts[number + 1] = at
    state[PENDING] = first
    state[DECISIONS] += differ
    seen = (best << 2 | 1) & ((1 << TRUE_VALUE) - 1)
    words[number] = (
        seen | value << TRUE_VALUE | plies + 1 << PLIES_SHIFT | longest + 1 << LONGEST_SHIFT
    )
    state[COUNT] = number + 1
    store_number(stack[frame + KEY_1], stack[frame + KEY_2], number, memory.table)
    return number


def get_move_values(edge: int, words: Numbers) -> int:
    """Return the packed values of a move for the player who makes it."""
    if edge < 0:
        return ALL_VALUES * ((-1 - edge) % 3)
    values = words[edge >> 1] & ((1 << 2 * VALUE_COUNT) - 1)
    return 2 * ALL_VALUES - values if edge & 1 else values


def mark_players(values: int, best: int) -> int:
    """Return a bit for each step of the ladder: whether such a player thinks that no move is better than this one."""
    marks = 1
    for step in range(1, SIGHT_COUNT):
        shift = 2 * (step - 1) if step < 5 else 10 if step == 5 else 14 if step == 6 else TRUE_VALUE
        if values >> shift & 3 == best >> shift & 3:
            marks |= 1 << step
    return marks


def find_number(key_1: int, key_2: int, table: Numbers) -> int:
    """Return the number of a position; -1 if it has none yet."""
    slots = len(table) // SLOT_WORDS
    slot = hash_key(key_1, key_2, slots)
    while table[SLOT_WORDS * slot + 2] != 0:
        at = SLOT_WORDS * slot
        if table[at] == key_1 and table[at + 1] == key_2:
            return table[at + 2] - 1
        slot = slot + 1 if slot + 1 < slots else 0
    return -1


def store_number(key_1: int, key_2: int, number: int, table: State) -> None:
    """Store the number of a position that has none yet."""
    slots = len(table) // SLOT_WORDS
    slot = hash_key(key_1, key_2, slots)
    while table[SLOT_WORDS * slot + 2] != 0:
        slot = slot + 1 if slot + 1 < slots else 0
    at = SLOT_WORDS * slot
    table[at], table[at + 1], table[at + 2] = key_1, key_2, number + 1


def rehash(old: Numbers, table: State) -> None:
    """Store all numbers of an old table in a larger one."""
    for at in range(0, len(old), SLOT_WORDS):
        if old[at + 2] != 0:
            store_number(old[at], old[at + 1], old[at + 2] - 1, table)


def play_first(step: int, positions: int, memory: Memory, tallies: Tallies) -> None:
    """Add up the games in which the first player is on one step of the ladder and the second on each in turn."""
    starts, edges, marks, weights = memory.starts, memory.edges, memory.marks, tallies.weights
    for number in range(positions - 1, -1, -1):
        for place in range(2 * SIGHT_COUNT * number, 2 * SIGHT_COUNT * (number + 1)):
            weight = weights[place]
            if weight == 0.0:
                continue
            second = place % SIGHT_COUNT
            mover = place // SIGHT_COUNT % 2
            chooser = step if mover == 0 else second
            count = 0
            for at in range(starts[number], starts[number + 1]):
                count += marks[at] >> chooser & 1
            share = weight / count
            tallies.lengths[second] += weight
            for at in range(starts[number], starts[number + 1]):
                if marks[at] >> chooser & 1:
                    tallies.swings[second] += share * (marks[at] >> LOSS_SHIFT) / 2
                    edge = edges[at]
                    if edge >= 0:
                        after = 2 * (edge >> 1) + (1 - mover if edge & 1 else mover)
                        weights[SIGHT_COUNT * after + second] += share
                    else:
                        ending = -1 - edge
                        if mover == 1:
                            ending += 2 - 2 * (ending % 3)
                        tallies.endings[ENDING_COUNT * second + ending] += share
