"""The inner loops of a study: value all positions, and play the games of all pairs of players.

Numba can compile this module (see `solve.jit`), so it uses only integers and arrays.

`explore` walks the game depth first. It numbers each position after all its successors and computes
its values, so every move leads to a smaller number and the start has the largest. `play_first`
visits the positions once, from the start down to 0, and passes the probability of each to its
successors.

A value is 0, 1 or 2: the player to move loses, draws or wins. One word packs nine values of two
bits each: those that players see 0, 1, ... 7 plies ahead, and the exact one. A game whose end lies
beyond the visible plies counts as a draw.
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
"""A frame stores here where the edges of its position begin in `Memory.pending`."""

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
"""What is stored at each index of the state of an exploration."""

SIGHT_COUNT = 8
"""Players on the ladder: they see 0, 1, 2, 3, 4, 6 or 8 plies ahead, or everything."""

VALUE_COUNT = 9
"""Values of a position: seen 0 to 7 plies ahead, and the exact one."""

ALL_VALUES = 0b01_01_01_01_01_01_01_01_01
TRUE_VALUE = 2 * (VALUE_COUNT - 1)
SIGHT_SHIFTS = (0, 0, 2, 4, 6, 10, 14, TRUE_VALUE)
"""The shift to the value that each player of the ladder sees; the first player sees none."""

PLIES_SHIFT, LENGTH_SHIFT = 18, 40
PLIES_MASK = (1 << (LENGTH_SHIFT - PLIES_SHIFT)) - 1
"""A word has the nine values, then the plies with best play, then the plies of the longest game."""

LOSS_SHIFT = SIGHT_COUNT
"""A move's marks: a bit for each player who might choose it, then the value that it loses."""

SLOT_WORDS = 3
"""Words of a slot of the table: two for the key, one for the number of the position plus 1."""

EXACT, STUCK, HIGHER, LEVEL = range(4)
"""Reasons why a game ended, as numbers."""

ENDING_COUNT = 12
"""Ways in which a game can end: four reasons, each with three results."""


class Memory(NamedTuple):
    """The arrays of an exploration; the first three are scratch space, the others are the graph."""

    stack: Any
    """One frame for each position on the current line of play, as in `solve.kernel`."""
    pending: Any
    """The edges of the positions on the stack, until these are numbered."""
    table: Any
    """A hash table: the numbers of positions by their keys."""
    starts: Any
    """For each position, where its edges begin in `edges`."""
    edges: Any
    """Where each move leads.

    A move that ends the game has a negative number (`encode_ending`). Any other has twice the
    number of the position after it, plus 1 if the other player is to move there.
    """
    marks: Any
    """For each move, the players who might choose it and the value that it loses."""
    words: Any
    """For each position, its values and the plies to its end."""


class Tallies(NamedTuple):
    """Sums over the games of one first player, one for each second player."""

    weights: Any
    """The probability of each position with the first player to move, then with the second."""
    endings: Any
    """The share of games that end for each reason with each value for the first player."""
    lengths: Any
    swings: Any
    """The value that moves lose in a game; from a win to a loss counts 1."""


def explore(budget: int, rules: Numbers, memory: Memory, state: State) -> None:
    """Continue numbering positions until none is left, an array is full, or the budget is spent.

    The budget is a number of moves.
    """
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
            # All moves of the position are done: number it, and return to its predecessor.
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
                # A numbered position becomes an edge; a new one is explored first.
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
    """Return the edge of a move that ends the game: the reason, and the value for its player."""
    reason = STUCK
    if stack[frame + MY_HEIGHT] + rules[rules[SIZE_TABLE] + block] == rules[TARGET]:
        reason = EXACT
    elif rules[SKIPS] == 1:
        reason = LEVEL if score == 0 else HIGHER
    value = 1 if score == 0 else 0 if score > 0 else 2
    return -1 - (3 * reason + value)


def number_position(frame: int, memory: Memory, state: State) -> int:
    """Give the position of a frame the next number, and store its edges and values."""
    stack, pending, words = memory.stack, memory.pending, memory.words
    number, first = state[COUNT], stack[frame + EDGES_START]
    # For each number of visible plies, the best value of any move.
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
        # A winner wants a short game, a loser or drawer a long one.
        elif plies < 0 or (after < plies if value == 2 else after > plies):
            plies = after
        longest = max(longest, word >> LENGTH_SHIFT)
        memory.edges[at] = edge
        memory.marks[at] = loss << LOSS_SHIFT | mark_players(values, best)
        at += 1
    state[EDGES] = memory.starts[number + 1] = at
    state[PENDING] = first
    state[DECISIONS] += differ
    # From here everything is one ply farther away; a player who sees no ply expects a draw.
    seen = (best << 2 | 1) & ((1 << TRUE_VALUE) - 1)
    words[number] = (
        seen | value << TRUE_VALUE | plies + 1 << PLIES_SHIFT | longest + 1 << LENGTH_SHIFT
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
    """Return a bit for each player of the ladder: set if that player sees no better move."""
    # A player who sees nothing may choose any move.
    marks = 1
    for step in range(1, SIGHT_COUNT):
        shift = SIGHT_SHIFTS[step]
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
    """Play one first player against every second player, by probabilities, and add up the games."""
    starts, edges, marks, weights = memory.starts, memory.edges, memory.marks, tallies.weights
    for number in range(positions - 1, -1, -1):
        for place in range(2 * SIGHT_COUNT * number, 2 * SIGHT_COUNT * (number + 1)):
            weight = weights[place]
            if weight == 0.0:
                continue
            second = place % SIGHT_COUNT
            mover = place // SIGHT_COUNT % 2
            chooser = step if mover == 0 else second
            # Of equally good moves, any is chosen with the same probability.
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
                        # Turn the value from the second player's to the first player's.
                        if mover == 1:
                            ending += 2 - 2 * (ending % 3)
                        tallies.endings[ENDING_COUNT * second + ending] += share
