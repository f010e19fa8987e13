"""The inner loops of thousands of games at once: plain functions for a move of one game, and thin loops over them all.

`place` and `turn_after` say of one game what `Position.place` and `Position.outcome` say. Everything is a whole number
of 64 bits or less: blocks are bits, a top is the place of its block counted from 1 (0: the tower is empty).

The functions make values of values, and of arrays only the loops know much: those that branch with many arrays at hand
are several times slower, for each array is counted in and out. All of it is one file, since what was compiled is kept
until the file changes that it came from, and no other file is looked at; `Book` and `State` stay with it, since what is
kept names them, and could not even be thrown away without. Games are counted by numbers without a sign (`place_of`):
any other would be tried for counting from the end, at every array anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numba
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from number_tower.position import Ending, Refusal
    from number_tower.rules import Rules

OWN, SHARED, ENDLESS = 0, 1, 2

ENDINGS: tuple[Ending | None, ...] = (None, "exact", "stuck", "higher", "level", "forfeit")
"""Why a game is over, by the number that stands for it in `State.endings`; None while it goes on."""
EXACT, STUCK, HIGHER, LEVEL, FORFEIT = 1, 2, 3, 4, 5

REFUSALS: tuple[Refusal | None, ...] = (None, "not_a_block", "used", "opening", "fit", "target")
"""Why an action was illegal, by the number that stands for it in `State.refusals`; None if it was not."""
NOT_A_BLOCK, USED, OPENING, FIT, TARGET = 1, 2, 3, 4, 5

ALTERNATING, AT_RANDOM = 2, 3
"""Who starts, where it is not always player 0 or always player 1."""

STARTS, CHOICES = 0, 1
"""A game's two dice: one says who starts, the other chooses, so that neither depends on the use of the other."""

NOBODY = -1
NO_TARGET = 2**63 - 1
"""Out of reach of every tower."""

_LARGEST_IN_TABLE = 1024

_NONE, _ONE, _HALF = np.uint64(0), np.uint64(1), np.uint64(32)
_STRIDE, _MIX_1, _MIX_2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFT_1, _SHIFT_2, _SHIFT_3 = np.uint64(30), np.uint64(27), np.uint64(31)
_PAIRS, _FOURS, _EIGHTS = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F)
_BYTES, _TWO, _FOUR, _LAST = np.uint64(0x0101010101010101), np.uint64(2), np.uint64(4), np.uint64(56)
_BYTE, _THREE, _SEVEN, _EIGHT = np.uint64(0xFF), np.uint64(3), np.uint64(7), np.uint64(8)
_DIAGONAL, _TOPS = np.uint64(0x8040201008040201), np.uint64(0x8080808080808080)
_BELOW_TOPS = ~_TOPS


class RuleTables(NamedTuple):
    """The rules as numbers, and their three tables of masks all up front."""

    tables: NDArray[np.uint64]  # one after another: what fits, by top; the blocks' numbers; rooms, by what is missing
    blocks: int
    largest: int
    tabled: bool  # whether there is a table of rooms; numbers can be too large for one
    every: np.uint64
    target: int
    supply: int
    one_tower: bool
    skips: bool


class BatchState(NamedTuple):
    """Where all games stand, game by game; what players share stands in both columns."""

    left: NDArray[np.uint64]
    heights: NDArray[np.int64]
    tops: NDArray[np.int8]
    to_move: NDArray[np.int8]
    legal: NDArray[np.uint64]
    plies: NDArray[np.int64]
    first: NDArray[np.int8]
    endings: NDArray[np.int8]
    winners: NDArray[np.int8]
    refusals: NDArray[np.int8]


def make_rule_tables(rules: Rules) -> RuleTables:
    """Write rules down as numbers; there are at most 64 blocks."""
    largest = rules.blocks[-1]
    tabled = largest <= _LARGEST_IN_TABLE
    rooms = map(rules.up_to, range(largest if tabled else 0))
    return RuleTables(
        tables=np.array([*map(rules.fits, (0, *rules.blocks)), *rules.blocks, *rooms], np.uint64),
        blocks=len(rules.blocks),
        largest=largest,
        tabled=tabled,
        every=np.uint64(rules.every),
        target=NO_TARGET if rules.target is None else rules.target,
        supply=("own", "shared", "endless").index(rules.supply),
        one_tower=rules.towers == "shared",
        skips=rules.stuck == "skips",
    )


def allocate_state(number: int) -> BatchState:
    """Make room for so many games, none of which has begun."""
    pair, each = (number, 2), (number,)
    return BatchState(
        left=np.zeros(pair, np.uint64),
        heights=np.zeros(pair, np.int64),
        tops=np.zeros(pair, np.int8),
        to_move=np.zeros(each, np.int8),
        legal=np.zeros(each, np.uint64),
        plies=np.zeros(each, np.int64),
        first=(1 - np.arange(number) % 2).astype(np.int8),
        endings=np.zeros(each, np.int8),
        winners=np.full(each, NOBODY, np.int8),
        refusals=np.zeros(each, np.int8),
    )


Function = TypeVar("Function", bound="Callable[..., Any]")


def compile_inline(function: Function) -> Function:
    """Compile a function for one game; it becomes part of the loops that call it."""
    return cast("Function", numba.njit(nogil=True, forceinline=True)(function))


def compile_loop(function: Function) -> Function:
    """Compile a loop over games; the machine's code is kept on disk if there is a place for it.

    A loop goes from one game to another, so that several threads can share the games out among them.
    """
    try:
        return cast("Function", numba.njit(nogil=True, cache=True)(function))
    except RuntimeError:  # there is no folder to keep it in
        return cast("Function", numba.njit(nogil=True)(function))


# One game: values that a move makes anew, as it makes a new `Position` ---------------------------------------------


class Side(NamedTuple):
    """What one player has: blocks left, and a tower with its height and its top."""

    left: Any
    height: Any
    top: Any


class Turn(NamedTuple):
    """Whose turn it is and what they may place; and once the game is over, why, and who has won."""

    to_move: Any
    legal: Any
    ending: Any
    winner: Any


@compile_inline
def bit(block: int) -> Any:
    """Return the mask of one block."""
    return _ONE << np.uint64(block)


@compile_inline
def room(book: RuleTables, height: int) -> Any:
    """Return the blocks that keep a tower of this height within the target."""
    gap = book.target - height
    if gap >= book.largest:
        return book.every
    if book.tabled:
        return book.tables[2 * book.blocks + 1 + gap]
    small = 0
    for block in range(book.blocks):
        small += get_number(book, block) <= gap
    return bit(small) - _ONE


@compile_inline
def get_number(book: RuleTables, block: int) -> Any:
    """Return the number on a block."""
    return np.int64(book.tables[book.blocks + 1 + block])


@compile_inline
def find_legal(book: RuleTables, side: Side) -> Any:
    """Return the blocks that a player could place, were it their turn."""
    return side.left & book.tables[side.top] & room(book, side.height)


@compile_inline
def place_block(book: RuleTables, mine: Side, theirs: Side, block: int) -> tuple[Side, Side]:
    """Return what both players have after one has placed a block."""
    left = mine.left if book.supply == ENDLESS else mine.left & ~bit(block)
    mine = Side(left, mine.height + get_number(book, block), block + 1)
    return mine, Side(
        left if book.supply == SHARED else theirs.left,
        mine.height if book.one_tower else theirs.height,
        mine.top if book.one_tower else theirs.top,
    )


@compile_inline
def find_turn(book: RuleTables, mine: Side, theirs: Side, mover: int) -> Turn:
    """Return whose turn it is after a player has placed; where players skip, it may be theirs again."""
    other = 1 - mover
    if mine.height == book.target:
        return Turn(other, _NONE, EXACT, mover)
    legal = find_legal(book, theirs)
    if legal:
        return Turn(other, legal, 0, NOBODY)
    if not book.skips:
        return Turn(other, _NONE, STUCK, mover)
    legal = find_legal(book, mine)
    if legal:
        return Turn(mover, legal, 0, NOBODY)
    if mine.height == theirs.height:
        return Turn(other, _NONE, LEVEL, NOBODY)
    return Turn(other, _NONE, HIGHER, mover if mine.height > theirs.height else other)


@compile_inline
def find_refusal(book: RuleTables, mine: Side, legal: Any, action: int) -> int:
    """Say why an action is illegal; 0 if it is not."""
    if not 0 <= action < book.blocks:
        return NOT_A_BLOCK
    if legal & bit(action):
        return 0
    if not mine.left & bit(action):
        return USED
    if not book.tables[mine.top] & bit(action):
        return FIT if mine.top else OPENING
    return TARGET


# Chance: every game has dice of its own, so that nothing depends on the order or the number of threads -------------


@compile_inline
def roll_die(dice: Any, i: Any, which: int, sides: Any) -> Any:
    """Roll one of a game's dice (splitmix64): a number below `sides`, each as likely to within one in a million."""
    dice[i, which] += _STRIDE
    mixed = dice[i, which]
    mixed = (mixed ^ (mixed >> _SHIFT_1)) * _MIX_1
    mixed = (mixed ^ (mixed >> _SHIFT_2)) * _MIX_2
    mixed ^= mixed >> _SHIFT_3
    return ((mixed >> _HALF) * sides) >> _HALF


@compile_inline
def count_ones_by_byte(mask: Any) -> Any:
    """Count the blocks of a mask, all at once, by twos, fours and bytes: each byte holds the sum of those up to it."""
    mask -= (mask >> _ONE) & _PAIRS
    mask = (mask & _FOURS) + ((mask >> _TWO) & _FOURS)
    return ((mask + (mask >> _FOUR)) & _EIGHTS) * _BYTES


@compile_inline
def count_not_above(sums: Any, number: Any) -> Any:
    """Count the bytes that are no larger than a number below 128, as they are themselves."""
    return (((((number * _BYTES) | _TOPS) - sums) & _TOPS) >> _SEVEN) * _BYTES >> _LAST


@compile_inline
def select_bit(mask: Any, which: Any) -> Any:
    """Return the place of one of the blocks of a mask, the first of which is number 0; without a jump to guess."""
    sums = count_ones_by_byte(mask)
    start = count_not_above(sums, which) << _THREE
    within = which - (((sums << _EIGHT) >> start) & _BYTE)
    byte = (mask >> start) & _BYTE
    bits = ((((byte * _BYTES) & _DIAGONAL) + _BELOW_TOPS) >> _SEVEN) & _BYTES
    return start + count_not_above(bits * _BYTES, within)


@compile_inline
def draw_action(legal: Any, dice: Any, i: Any) -> Any:
    """Return one of the legal actions, each as likely as the others; 0 if there is none."""
    which = roll_die(dice, i, CHOICES, count_ones_by_byte(legal) >> _LAST)
    return np.int64(select_bit(legal, which)) if legal else 0


# All games --------------------------------------------------------------------------------------------------------


class GameState(NamedTuple):
    """All that there is to one game: what whoever is to move has, what the other has, and the rest of its `State`.

    So nothing has to be decided by whose turn it is, which no processor can guess.
    """

    mine: Side
    theirs: Side
    turn: Turn
    plies: Any
    first: Any
    refusal: Any


@compile_inline
def to_index(game: int) -> Any:
    """Return the place of a game in the arrays."""
    return np.uint64(game)


@compile_inline
def load_game(now: BatchState, i: Any) -> GameState:
    """Take one game out of all."""
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
    """Put one game among all."""
    me, other = np.uint64(game.turn.to_move), np.uint64(1 - game.turn.to_move)
    now.left[i, me], now.heights[i, me], now.tops[i, me] = game.mine
    now.left[i, other], now.heights[i, other], now.tops[i, other] = game.theirs
    now.to_move[i], now.legal[i], now.endings[i], now.winners[i] = game.turn
    now.plies[i], now.first[i], now.refusals[i] = game.plies, game.first, game.refusal


@compile_inline
def start_game(book: RuleTables, first: int) -> GameState:
    """Return a game at its start; it may be over already, if nobody can open it."""
    empty = Side(book.every, 0, 0)
    return GameState(empty, empty, find_turn(book, empty, empty, 1 - first), 0, first, 0)


@compile_inline
def apply_action(book: RuleTables, game: GameState, action: int) -> GameState:
    """Return a game after any action at all: one that is illegal loses. A game that is over stays as it is."""
    if game.turn.ending:
        return game
    mover = game.turn.to_move
    refused = find_refusal(book, game.mine, game.turn.legal, action)
    if refused:
        lost = Turn(mover, _NONE, FORFEIT, 1 - mover)
        return GameState(game.mine, game.theirs, lost, game.plies, game.first, refused)
    mine, theirs = place_block(book, game.mine, game.theirs, action)
    turn = find_turn(book, mine, theirs, mover)
    if turn.to_move == mover:
        return GameState(mine, theirs, turn, game.plies + 1, game.first, 0)
    return GameState(theirs, mine, turn, game.plies + 1, game.first, 0)


@compile_inline
def choose_first(starts: int, last: Any, dice: Any, i: Any) -> Any:
    """Say who starts the next game."""
    if starts == AT_RANDOM:
        return np.int64(roll_die(dice, i, STARTS, _TWO))
    return 1 - last if starts == ALTERNATING else starts


@compile_inline
def unpack_mask(legal: Any, i: Any, masks: Any) -> None:
    """Write a game's legal actions out, a 1 or 0 for each."""
    for block in range(masks.shape[1]):
        masks[i, block] = (legal >> np.uint64(block)) & _ONE


@compile_inline
def answer_randomly(book: RuleTables, game: GameState, seat: Any, dice: Any, i: Any) -> GameState:
    """Return a game after random answers, to when it is this player's turn or the game is over."""
    while game.turn.ending == 0 and game.turn.to_move != seat:
        game = apply_action(book, game, draw_action(game.turn.legal, dice, i))
    return game


@compile_loop
def begin_some(  # noqa: PLR0913, PLR0917 - a loop has no self to keep things in
    start: int,
    stop: int,
    book: RuleTables,
    now: BatchState,
    last: BatchState,
    some: Any,
    starts: int,
    dice: Any,
    masks: Any,
) -> None:
    """Begin some of the games anew; how those ended that were over is kept."""
    for game_number in range(start, stop):
        i = to_index(game_number)
        if some[i]:
            if now.endings[i]:
                store_game(last, i, load_game(now, i))
            game = start_game(book, choose_first(starts, np.int64(now.first[i]), dice, i))
            store_game(now, i, game)
            unpack_mask(game.turn.legal, i, masks)


@compile_loop
def act_in_some(  # noqa: PLR0913, PLR0917 - a loop has no self to keep things in
    start: int, stop: int, book: RuleTables, now: BatchState, some: Any, actions: Any, masks: Any
) -> None:
    """Take an action in some of the games, and leave those as they are that end."""
    for game_number in range(start, stop):
        i = to_index(game_number)
        if some[i]:
            game = apply_action(book, load_game(now, i), actions[i])
            store_game(now, i, game)
            unpack_mask(game.turn.legal, i, masks)


@compile_loop
def answer_all(  # noqa: PLR0913, PLR0917 - a loop has no self to keep things in
    start: int, stop: int, book: RuleTables, now: BatchState, seats: Any, dice: Any, masks: Any
) -> None:
    """Take random actions in every game, to when it is the turn of whoever has the seat or the game is over."""
    for game_number in range(start, stop):
        i = to_index(game_number)
        if now.to_move[i] != seats[i] and now.endings[i] == 0:
            game = answer_randomly(book, load_game(now, i), np.int64(seats[i]), dice, i)
            store_game(now, i, game)
            unpack_mask(game.turn.legal, i, masks)


@compile_loop
def step_all(  # noqa: PLR0913, PLR0917 - a loop has no self to keep things in
    start: int,
    stop: int,
    book: RuleTables,
    now: BatchState,
    last: BatchState,
    actions: Any,
    starts: int,
    dice: Any,
    masks: Any,
    rewards: Any,
    ended: Any,
) -> None:
    """Take an action in every game; write down what it brought the players, and begin those anew that end."""
    for game_number in range(start, stop):
        i = to_index(game_number)
        game = apply_action(book, load_game(now, i), actions[i])
        winner = game.turn.winner
        rewards[i, 0] = 0 if winner == NOBODY else 1 - 2 * winner
        rewards[i, 1] = 0 if winner == NOBODY else 2 * winner - 1
        ended[i] = game.turn.ending != 0
        if game.turn.ending:
            store_game(last, i, game)
            game = start_game(book, choose_first(starts, game.first, dice, i))
        store_game(now, i, game)
        unpack_mask(game.turn.legal, i, masks)


@compile_loop
def step_and_answer_all(  # noqa: PLR0913, PLR0917 - a loop has no self to keep things in
    start: int,
    stop: int,
    book: RuleTables,
    now: BatchState,
    last: BatchState,
    actions: Any,
    seats: Any,
    following: Any,
    starts: int,
    dice: Any,
    masks: Any,
    rewards: Any,
    ended: Any,
) -> None:
    """Take an action in every game and random answers, and begin those anew that end, where others may have the seat.

    It is a step with `act_in_some`, `answer_all`, `begin_some` and `answer_all` in one.
    """
    for game_number in range(start, stop):
        i = to_index(game_number)
        seat = np.int64(seats[i])
        game = answer_randomly(book, apply_action(book, load_game(now, i), actions[i]), seat, dice, i)
        winner = game.turn.winner
        rewards[i] = 0 if winner == NOBODY else 1 if winner == seat else -1
        ended[i] = game.turn.ending != 0
        if game.turn.ending:
            store_game(last, i, game)
            game = start_game(book, choose_first(starts, game.first, dice, i))
            game = answer_randomly(book, game, np.int64(following[i]), dice, i)
        store_game(now, i, game)
        unpack_mask(game.turn.legal, i, masks)


@compile_loop
def choose_in_some(start: int, stop: int, now: BatchState, some: Any, dice: Any, actions: Any) -> None:
    """Choose a legal action in some of the games, each as likely as the others; 0 where there is none."""
    for game_number in range(start, stop):
        i = to_index(game_number)
        if some[i]:
            actions[i] = draw_action(now.legal[i], dice, i)


@compile_loop
def observe_some(  # noqa: PLR0913, PLR0917 - a loop has no self to keep things in
    start: int, stop: int, book: RuleTables, now: BatchState, games: Any, players: Any, highest: float, seen: Any
) -> None:
    """Write down what a player sees of some games, as `seeing.Sight` lays it out; `seen` is all zeros before."""
    count = book.blocks
    pools = 2 if book.supply == OWN else 1 if book.supply == SHARED else 0
    towers = 1 if book.one_tower else 2
    for line_number in range(start, stop):
        line = to_index(line_number)
        i = to_index(games[line])
        player = np.int64(players[i])
        if now.to_move[i] == player and now.legal[i] != _NONE:
            seen[line, 0] = 1
        place = 1
        for turn in range(pools):
            left = now.left[i, np.uint64(player ^ turn)]
            for block in range(count):
                seen[line, np.uint64(place + block)] = (left >> np.uint64(block)) & _ONE
            place += count
        for turn in range(towers):
            side = np.uint64(player ^ turn)
            seen[line, np.uint64(place + now.tops[i, side])] = 1
            place += count + 1
            seen[line, np.uint64(place)] = now.heights[i, side] / highest
            place += 1
