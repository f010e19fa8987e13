"""The compiled inner loops of thousands of games: moves of one game, loops over all.

`place_block` and `find_turn` say of one game what `Position.place` and `Position.outcome` say. All
numbers are integers of at most 64 bits: blocks are bits, and a top is the place of its block
counted from 1 (0: the tower is empty).

The functions take and return values; only the loops handle many arrays. Branching with many arrays
in scope is several times slower, as Numba counts references to each. Games are indexed by unsigned
integers: others would be tested for counting from the end at every access.

All of it is one file, as Numba's cache on disk ignores changes of other files (see `solve.jit`).
The cache names the classes of the arguments and cannot be read without them: rename this file when
one of them is renamed or moved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numba
import numpy as np

from number_tower.engine.position import Ending
from number_tower.engine.refusals import Refusal
from number_tower.envs import ALTERNATING, AT_RANDOM
from number_tower.solve.jit import Function, compile_function

if TYPE_CHECKING:
    from number_tower.envs.games import Batch, BatchState, RuleTables

OWN, SHARED, ENDLESS = 0, 1, 2

ENDING_NAMES: tuple[Ending | None, ...] = (None, "exact", "stuck", "higher", "level", "forfeit")
"""Why a game is over, by its number in `BatchState.endings`; None while it goes on."""
EXACT, STUCK, HIGHER, LEVEL, FORFEIT = 1, 2, 3, 4, 5

REFUSAL_NAMES: tuple[Refusal | None, ...] = (
    None,
    "not_a_block",
    "used",
    "opening",
    "fit",
    "target",
)
"""Why an action was illegal, by its number in `BatchState.refusals`; None if it was legal."""
NOT_A_BLOCK, USED, OPENING, FIT, TARGET = 1, 2, 3, 4, 5

STARTS, CHOICES = 0, 1
"""The two dice of a game: one decides who starts, the other chooses actions, so that they are
independent."""

NOBODY = -1
NO_TARGET = 2**63 - 1
"""A height that no tower reaches."""

_NONE, _ONE, _HALF = np.uint64(0), np.uint64(1), np.uint64(32)
_STRIDE, _MIX_1, _MIX_2 = (
    np.uint64(0x9E3779B97F4A7C15),
    np.uint64(0xBF58476D1CE4E5B9),
    np.uint64(0x94D049BB133111EB),
)
_SHIFT_1, _SHIFT_2, _SHIFT_3 = np.uint64(30), np.uint64(27), np.uint64(31)
_TWO = np.uint64(2)


def compile_inline(function: Function) -> Function:
    """Compile a function for one game; it becomes part of the loops that call it."""
    return cast("Function", numba.njit(nogil=True, forceinline=True)(function))


class Side(NamedTuple):
    """What one player has: blocks left, and a tower with its height and its top."""

    left: Any
    height: Any
    top: Any


class Turn(NamedTuple):
    """Who is to move and what is legal; once the game is over, why, and who has won."""

    to_move: Any
    legal: Any
    ending: Any
    winner: Any


class GameState(NamedTuple):
    """All of one game.

    It is stored by who is to move, so that nothing branches on whose turn it is.
    """

    mine: Side
    theirs: Side
    turn: Turn
    plies: Any
    first: Any
    refusal: Any


@compile_inline
def bit(block: int) -> Any:
    """Return the mask of one block."""
    return _ONE << np.uint64(block)


@compile_inline
def room(rules: RuleTables, height: int) -> Any:
    """Return the blocks that keep a tower of this height within the target."""
    gap = rules.target - height
    if gap >= rules.largest:
        return rules.every
    if rules.has_rooms:
        return rules.tables[2 * rules.blocks + 1 + gap]
    small = 0
    for block in range(rules.blocks):
        small += get_number(rules, block) <= gap
    return bit(small) - _ONE


@compile_inline
def get_number(rules: RuleTables, block: int) -> Any:
    """Return the number on a block."""
    return np.int64(rules.tables[rules.blocks + 1 + block])


@compile_inline
def find_legal(rules: RuleTables, side: Side) -> Any:
    """Return the blocks that a player could place if it were their turn."""
    return side.left & rules.tables[side.top] & room(rules, side.height)


@compile_inline
def place_block(rules: RuleTables, mine: Side, theirs: Side, block: int) -> tuple[Side, Side]:
    """Return what both players have after one has placed a block."""
    left = mine.left if rules.supply == ENDLESS else mine.left & ~bit(block)
    mine = Side(left, mine.height + get_number(rules, block), block + 1)
    return mine, Side(
        left if rules.supply == SHARED else theirs.left,
        mine.height if rules.one_tower else theirs.height,
        mine.top if rules.one_tower else theirs.top,
    )


@compile_inline
def find_turn(rules: RuleTables, mine: Side, theirs: Side, mover: int) -> Turn:
    """Return whose turn it is after a player has placed.

    If the other has to skip, it is the mover's again.
    """
    other = 1 - mover
    if mine.height == rules.target:
        return Turn(other, _NONE, EXACT, mover)
    legal = find_legal(rules, theirs)
    if legal:
        return Turn(other, legal, 0, NOBODY)
    if not rules.skips:
        return Turn(other, _NONE, STUCK, mover)
    legal = find_legal(rules, mine)
    if legal:
        return Turn(mover, legal, 0, NOBODY)
    if mine.height == theirs.height:
        return Turn(other, _NONE, LEVEL, NOBODY)
    return Turn(other, _NONE, HIGHER, mover if mine.height > theirs.height else other)


@compile_inline
def find_refusal(rules: RuleTables, mine: Side, legal: Any, action: int) -> int:
    """Return why an action is illegal; 0 if it is legal."""
    if not 0 <= action < rules.blocks:
        return NOT_A_BLOCK
    if legal & bit(action):
        return 0
    if not mine.left & bit(action):
        return USED
    if not rules.tables[mine.top] & bit(action):
        return FIT if mine.top else OPENING
    return TARGET


@compile_inline
def start_game(rules: RuleTables, first: int) -> GameState:
    """Return a game at its start; it is over already if no block can open it."""
    empty = Side(rules.every, 0, 0)
    return GameState(empty, empty, find_turn(rules, empty, empty, 1 - first), 0, first, 0)


@compile_inline
def apply_action(rules: RuleTables, game: GameState, action: int) -> GameState:
    """Return a game after any action: an illegal one loses. A game that is over stays as it is."""
    if game.turn.ending:
        return game
    mover = game.turn.to_move
    refusal = find_refusal(rules, game.mine, game.turn.legal, action)
    if refusal:
        lost = Turn(mover, _NONE, FORFEIT, 1 - mover)
        return GameState(game.mine, game.theirs, lost, game.plies, game.first, refusal)
    mine, theirs = place_block(rules, game.mine, game.theirs, action)
    turn = find_turn(rules, mine, theirs, mover)
    # Stored by who is to move: after a skip the mover stays first.
    if turn.to_move == mover:
        return GameState(mine, theirs, turn, game.plies + 1, game.first, 0)
    return GameState(theirs, mine, turn, game.plies + 1, game.first, 0)


# Chance: every game has its own dice, so that nothing depends on the other games ----------------


@compile_inline
def roll_die(dice: Any, i: Any, which: int, sides: Any) -> Any:
    """Return a random number below `sides`, uniform to one in a million (splitmix64)."""
    dice[i, which] += _STRIDE
    mixed = dice[i, which]
    mixed = (mixed ^ (mixed >> _SHIFT_1)) * _MIX_1
    mixed = (mixed ^ (mixed >> _SHIFT_2)) * _MIX_2
    mixed ^= mixed >> _SHIFT_3
    return ((mixed >> _HALF) * sides) >> _HALF


@compile_inline
def draw_action(legal: Any, dice: Any, i: Any) -> Any:
    """Return a random legal action; 0 if there is none."""
    count, rest = _NONE, legal
    while rest:
        rest &= rest - _ONE
        count += _ONE
    # Drop random many of the lowest bits; the next one is the action.
    skipped = roll_die(dice, i, CHOICES, count)
    for _ in range(skipped):
        legal &= legal - _ONE
    action = 0
    while legal & bit(action) == _NONE and legal:
        action += 1
    return action


@compile_inline
def choose_first(starts: int, last: Any, dice: Any, i: Any) -> Any:
    """Return who starts the next game."""
    if starts == AT_RANDOM:
        return np.int64(roll_die(dice, i, STARTS, _TWO))
    return 1 - last if starts == ALTERNATING else starts


@compile_inline
def answer_randomly(rules: RuleTables, game: GameState, seat: Any, dice: Any, i: Any) -> GameState:
    """Return a game after random actions, until it is this player's turn or the game is over."""
    while game.turn.ending == 0 and game.turn.to_move != seat:
        game = apply_action(rules, game, draw_action(game.turn.legal, dice, i))
    return game


# All games ----------------------------------------------------------------------------------------


@compile_inline
def load_game(now: BatchState, i: Any) -> GameState:
    """Read one game from the arrays."""
    mover = np.int64(now.to_move[i])
    me, other = np.uint64(mover), np.uint64(1 - mover)
    return GameState(
        Side(now.left[i, me], now.heights[i, me], np.int64(now.tops[i, me])),
        Side(now.left[i, other], now.heights[i, other], np.int64(now.tops[i, other])),
        Turn(mover, now.legal[i], np.int64(now.endings[i]), np.int64(now.winners[i])),
        now.plies[i],
        np.int64(now.first[i]),
        np.int64(now.refusals[i]),
    )


@compile_inline
def store_game(now: BatchState, i: Any, game: GameState) -> None:
    """Write one game to the arrays."""
    me, other = np.uint64(game.turn.to_move), np.uint64(1 - game.turn.to_move)
    now.left[i, me], now.heights[i, me], now.tops[i, me] = game.mine
    now.left[i, other], now.heights[i, other], now.tops[i, other] = game.theirs
    now.to_move[i], now.legal[i], now.endings[i], now.winners[i] = game.turn
    now.plies[i], now.first[i], now.refusals[i] = game.plies, game.first, game.refusal


@compile_inline
def update_game(now: BatchState, masks: Any, i: Any, game: GameState) -> None:
    """Write one game that goes on, and its legal actions, a 1 or 0 for each."""
    store_game(now, i, game)
    for block in range(masks.shape[1]):
        masks[i, block] = (game.turn.legal >> np.uint64(block)) & _ONE


@compile_function
def begin_some(batch: Batch, selected: Any) -> None:
    """Start the selected games again; those that were over are copied to `last`."""
    rules, now, last, starts, dice, masks = batch
    for number in range(len(masks)):
        i = np.uint64(number)
        if selected[i]:
            if now.endings[i]:
                store_game(last, i, load_game(now, i))
            game = start_game(rules, choose_first(starts, np.int64(now.first[i]), dice, i))
            update_game(now, masks, i, game)


@compile_function
def act_in_some(batch: Batch, selected: Any, actions: Any) -> None:
    """Take an action in the selected games; those that end stay as they are."""
    rules, now, _, _, _, masks = batch
    for number in range(len(masks)):
        i = np.uint64(number)
        if selected[i]:
            game = apply_action(rules, load_game(now, i), actions[i])
            update_game(now, masks, i, game)


@compile_function
def answer_all(batch: Batch, seats: Any) -> None:
    """Take random actions in every game, until it is over or the given seat's turn."""
    rules, now, _, _, dice, masks = batch
    for number in range(len(masks)):
        i = np.uint64(number)
        if now.to_move[i] != seats[i] and now.endings[i] == 0:
            game = answer_randomly(rules, load_game(now, i), np.int64(seats[i]), dice, i)
            update_game(now, masks, i, game)


@compile_function
def step_all(batch: Batch, actions: Any, rewards: Any, ended: Any) -> None:
    """Take an action in every game, write both rewards, and start those again that end."""
    rules, now, last, starts, dice, masks = batch
    for number in range(len(masks)):
        i = np.uint64(number)
        game = apply_action(rules, load_game(now, i), actions[i])
        winner = game.turn.winner
        rewards[i, 0] = 0 if winner == NOBODY else 1 - 2 * winner
        rewards[i, 1] = 0 if winner == NOBODY else 2 * winner - 1
        ended[i] = game.turn.ending != 0
        if game.turn.ending:
            store_game(last, i, game)
            game = start_game(rules, choose_first(starts, game.first, dice, i))
        update_game(now, masks, i, game)


@compile_function
def choose_in_some(legal: Any, dice: Any, selected: Any, actions: Any) -> None:
    """Choose a random legal action in the selected games; 0 where there is none."""
    for number in range(len(legal)):
        i = np.uint64(number)
        if selected[i]:
            actions[i] = draw_action(legal[i], dice, i)


@compile_function
def observe_some(
    rules: RuleTables,
    now: BatchState,
    games: Any,
    players: Any,
    highest: float,
    rows: Any,
) -> None:
    """Write the observations of some games, in the layout of `ObservationEncoder`.

    `rows` is all zeros before.
    """
    count = rules.blocks
    pools = 2 if rules.supply == OWN else 1 if rules.supply == SHARED else 0
    towers = 1 if rules.one_tower else 2
    for number in range(len(games)):
        row = np.uint64(number)
        i = np.uint64(games[row])
        player = np.int64(players[i])
        if now.to_move[i] == player and now.legal[i] != _NONE:
            rows[row, 0] = 1
        place = 1
        for turn in range(pools):
            left = now.left[i, np.uint64(player ^ turn)]
            for block in range(count):
                rows[row, np.uint64(place + block)] = (left >> np.uint64(block)) & _ONE
            place += count
        for turn in range(towers):
            side = np.uint64(player ^ turn)
            rows[row, np.uint64(place + now.tops[i, side])] = 1
            place += count + 1
            rows[row, np.uint64(place)] = now.heights[i, side] / highest
            place += 1
