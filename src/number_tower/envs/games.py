"""Thousands of games at once in a few arrays, both seats; games that end start again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from number_tower.engine.catalogue import choose
from number_tower.engine.position import Position
from number_tower.engine.rules import EMPTY, Rules, RulesError
from number_tower.envs import (
    GameSource,
    SeatOrder,
    encode_seat_order,
    kernel,
    make_mask_tables,
)
from number_tower.envs.kernel import ENDING_NAMES, REFUSAL_NAMES
from number_tower.envs.observation import ObservationEncoder, make_value_info
from number_tower.support.text import format_value

__all__ = ["ENDING_NAMES", "REFUSAL_NAMES", "BatchState", "ExactValues", "Games", "StepResult"]

Actions = NDArray[np.integer] | Sequence[int]
Players = NDArray[np.integer] | int
Selection = NDArray[np.bool_] | None

MAX_BLOCKS = 64


class RuleTables(NamedTuple):
    """The rules as numbers, and all their masks in one table."""

    tables: NDArray[np.uint64]
    """In order: what fits, by top; the blocks' numbers; rooms, by the gap to the target."""
    blocks: int
    largest: int
    has_rooms: bool
    """Whether the table has rooms; numbers can be too large for that."""
    every: np.uint64
    target: int
    supply: int
    one_tower: bool
    skips: bool


class BatchState(NamedTuple):
    """Where all games stand; what players share is in both columns.

    Examples:
        >>> games = Games(nt.Rules(target=15), 3, seed=1)
        >>> rewards, ended = games.step([8, 7, 6])
        >>> games.now.heights[:, 0].tolist(), games.now.to_move.tolist()
        ([9, 8, 7], [1, 1, 1])
    """

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


class Batch(NamedTuple):
    """What the loops need: rules, games now and as they ended, who starts, dice, and masks."""

    rules: RuleTables
    now: BatchState
    last: BatchState
    starts: int
    dice: NDArray[np.uint64]
    masks: NDArray[np.int8]


class StepResult(NamedTuple):
    """The rewards of a step, of both players or of one.

    `ended` says which games ended and have started again.

    Examples:
        >>> rewards, ended = Games(nt.Rules(target=9), 3, seed=1).step([8, 7, 0])
        >>> rewards.tolist(), ended.tolist()
        ([[1.0, -1.0], [0.0, 0.0], [0.0, 0.0]], [True, False, False])
    """

    rewards: NDArray[np.float32]
    ended: NDArray[np.bool_]


class ExactValues(NamedTuple):
    """Values of games and of actions for the player to move: 1, 0, -1.

    They are -inf if illegal, NaN if not known.

    Examples:
        >>> values = Games(nt.Rules(target=15), 3, seed=1).truth()
        >>> values.position_values.tolist(), values.action_values.shape
        ([1.0, 1.0, 1.0], (3, 9))
    """

    position_values: NDArray[np.float32]
    action_values: NDArray[np.float32]


class Games:
    """Many games by the same rules, played all at once.

    Where who starts alternates, it is player 0 in the first game of the first row, 1 in that of the
    second, and so on. Their arrays are read-only views that change with every step: copy what you
    keep.

    Examples:
        >>> games = Games(nt.Rules(target=15), 1024, seed=1)
        >>> games.masks.shape, games.observations().shape
        ((1024, 9), (1024, 21))
        >>> rewards, ended = games.step(games.random_actions())
        >>> games.position(0).heights == tuple(games.now.heights[0])
        True
        >>> games.reset(seed=2)
        >>> int(games.to_move.sum()), bin(games.legal[0])  # player 0 begins; all is legal
        (0, '0b111111111')

        A game that ends starts again; `last` is how it ended:

        >>> games = Games(nt.Rules(target=9), 3, seed=1)
        >>> rewards, ended = games.step([8, 7, 0])  # the block 9 takes the first tower to 9
        >>> ended.tolist(), games.last.heights[0].tolist(), games.now.heights[0].tolist()
        ([True, False, False], [9, 9], [0, 0])
        >>> games.last_position(0).outcome, games.last_observations().shape
        (Outcome(winner=0, reason='exact'), (3, 21))
        >>> games.truth().action_values[1].tolist()
        [1.0, -inf, -inf, -inf, -inf, -inf, -inf, -inf, -inf]
    """

    def __init__(
        self,
        game: GameSource,
        number: int,
        *,
        seed: int | None = None,
        first: SeatOrder = 0,
        **options: object,
    ) -> None:
        self.rules = choose(game, options).rules
        if type(number) is not int or number < 1:
            raise ValueError(f"number: expected a whole number from 1; got {format_value(number)}")
        if len(self.rules.blocks) > MAX_BLOCKS:
            expected = f"expected at most {MAX_BLOCKS} for many games at once"
            advice = "one game at a time, gymnasium.make takes any rules"
            raise RulesError("blocks", f"{expected}; got {len(self.rules.blocks)}; {advice}")
        self.number = number
        self.encoder = ObservationEncoder(self.rules)
        self._batch = Batch(
            make_rule_tables(self.rules),
            allocate_state(number),
            allocate_state(number),
            encode_seat_order("first", first),
            np.zeros((number, 2), np.uint64),
            np.zeros((number, self.encoder.actions), np.int8),
        )
        self._all_games, self._indices = np.ones(number, np.bool_), np.arange(number)
        self.reset(seed)

    def reset(self, seed: int | None = None) -> None:
        """Start every game again, with new dice."""
        # Each game has its own two dice, so it does not depend on how many there are.
        words = np.random.SeedSequence(seed).generate_state(2 * self.number, np.uint64)
        self._batch.dice[:] = words.reshape(self.number, 2)
        self._batch.now.first[:] = allocate_state(self.number).first
        self.begin()

    # What the games show --------------------------------------------------------------------------

    @property
    def to_move(self) -> NDArray[np.int8]:
        """Whose turn it is in each game, 0 or 1."""
        return _make_read_only(self._batch.now.to_move)

    @property
    def legal(self) -> NDArray[np.uint64]:
        """The legal actions of each game, as the bits of one number."""
        return _make_read_only(self._batch.now.legal)

    @property
    def masks(self) -> NDArray[np.int8]:
        """The legal actions of each game, a 1 or 0 for each."""
        return _make_read_only(self._batch.masks)

    @property
    def now(self) -> BatchState:
        """Where the games stand, array by array."""
        return _make_state_read_only(self._batch.now)

    @property
    def last(self) -> BatchState:
        """How the game before the present one ended, for each.

        Only those of the last step are new.
        """
        return _make_state_read_only(self._batch.last)

    def observations(
        self, players: Players | None = None, some: Selection = None
    ) -> NDArray[np.float32]:
        """Return what a player sees of each game, as `ObservationEncoder` lays it out.

        The default is the player to move.

        `some` selects games: as many rows, in the order of the games.
        """
        return self._observe(self._batch.now, players, some)

    def last_observations(
        self, players: Players | None = None, some: Selection = None
    ) -> NDArray[np.float32]:
        """Return what a player saw when the game before the present one ended.

        It is all zeros if there was none.
        """
        return self._observe(self._batch.last, players, some)

    def position(self, index: int) -> Position:
        """Return the position of one game."""
        return self._make_position(self._batch.now, index)

    def last_position(self, index: int) -> Position:
        """Return the position in which the game before the present one ended."""
        return self._make_position(self._batch.last, index)

    def truth(self) -> ExactValues:
        """Return the exact values of every game, as far as they are known.

        Equal positions are solved once.

        A position that is out of reach takes seconds. A game that is over has the value NaN.

        Examples:
            >>> values = Games(nt.Rules(target=15), 3, seed=1).truth()
            >>> values.position_values.tolist()
            [1.0, 1.0, 1.0]
            >>> int(values.action_values[0].argmax())  # the block 5 wins
            4
        """
        running = np.flatnonzero(self._batch.now.endings == 0)
        position_values = np.full(self.number, np.nan, np.float32)
        action_values = np.full(self._batch.masks.shape, -np.inf, np.float32)
        if running.size:
            # Equal positions are solved once.
            now = self._batch.now
            parts = (now.left, now.heights, now.tops, now.to_move)
            rows = np.column_stack([part[running].astype(np.uint64) for part in parts])
            _, indices, places = np.unique(rows, axis=0, return_index=True, return_inverse=True)
            infos = [make_value_info(self.position(int(row))) for row in running[indices]]
            values = np.array([info["value"] for info in infos], np.float32)
            position_values[running] = values[places]
            action_values[running] = np.array([info["action_values"] for info in infos])[places]
        return ExactValues(position_values, action_values)

    # What can be done -----------------------------------------------------------------------------

    def random_actions(self, some: Selection = None) -> NDArray[np.int64]:
        """Return a random legal action for each game; 0 for a game that is over or not selected."""
        actions = np.zeros(self.number, np.int64)
        legal, dice = self._batch.now.legal, self._batch.dice
        kernel.choose_in_some(legal, dice, self._check_selection(some), actions)
        return actions

    def step(self, actions: Actions) -> StepResult:
        """Take an action in every game. Games that end start again; `last` keeps how they ended.

        An illegal action loses. A game that was over at its start ends now, whatever the action is.
        """
        rewards, ended = np.empty((self.number, 2), np.float32), np.empty(self.number, np.bool_)
        kernel.step_all(self._batch, self.parse_actions(actions), rewards, ended)
        return StepResult(rewards, ended)

    def act(self, actions: Actions, some: Selection = None) -> None:
        """Take an action in some of the games.

        Those that end stay as they are, and `now` says how they ended.

        Examples:
            >>> games = Games(nt.Rules(target=9), 3, seed=1)
            >>> games.act([8, 1, 2], some=games.now.plies == 0)
            >>> games.now.plies.tolist(), [ENDING_NAMES[ending] for ending in games.now.endings]
            ([1, 1, 1], ['exact', None, None])
        """
        kernel.act_in_some(self._batch, self._check_selection(some), self.parse_actions(actions))

    def answer(self, seats: Players) -> None:
        """Take random actions in every game until it is over or the given seat's turn.

        Examples:
            >>> games = Games(nt.Rules(target=15), 3, seed=1)
            >>> games.answer(seats=1)
            >>> games.to_move.tolist(), games.now.plies.tolist()
            ([1, 1, 1], [1, 1, 1])
        """
        kernel.answer_all(self._batch, self._check_players(seats))

    def begin(self, some: Selection = None) -> None:
        """Start some of the games again; `last` keeps how those ended that were over.

        Examples:
            >>> games = Games(nt.Rules(target=9), 3, seed=1)
            >>> games.act([8, 1, 2])
            >>> games.begin(some=games.now.endings > 0)
            >>> games.now.plies.tolist()
            [0, 1, 1]
        """
        kernel.begin_some(self._batch, self._check_selection(some))

    def parse_actions(self, actions: object) -> NDArray[np.int64]:
        """Return actions as the loops take them: one integer for each game.

        Examples:
            >>> Games(nt.Rules(target=15), 3).parse_actions([8, 0, -1]).tolist()
            [8, 0, -1]
        """
        numbers = np.asarray(actions)
        if numbers.shape != (self.number,):
            expected = f"expected an action for each of {self.number} games"
            raise ValueError(f"{expected}; got the shape {numbers.shape}")
        if numbers.dtype.kind not in "iu":
            raise TypeError(f"expected whole numbers, the places of blocks; got {numbers.dtype}")
        return _to_contiguous(numbers, np.int64)

    # ----------------------------------------------------------------------------------------------

    def _check_selection(self, some: Selection) -> NDArray[np.bool_]:
        if some is None:
            return self._all_games
        selected = np.asarray(some)
        if selected.dtype != np.bool_ or selected.shape != (self.number,):
            expected = f"expected True or False for each of {self.number} games"
            raise ValueError(f"{expected}; got the shape {selected.shape} of {selected.dtype}")
        return _to_contiguous(selected, np.bool_)

    def _check_players(self, players: Players) -> NDArray[np.int8]:
        seats = np.asarray(players)
        if seats.shape not in {(), (self.number,)}:
            expected = f"expected a player, or one for each of {self.number} games"
            raise ValueError(f"{expected}; got the shape {seats.shape}")
        if seats.dtype.kind not in "iu" or ((seats != 0) & (seats != 1)).any():
            raise ValueError(f"expected players 0 and 1; got {format_value(players)}")
        return _to_contiguous(np.broadcast_to(seats, self.number), np.int8)

    def _observe(
        self, state: BatchState, players: Players | None, some: Selection
    ) -> NDArray[np.float32]:
        viewers = state.to_move if players is None else self._check_players(players)
        games = self._indices if some is None else np.flatnonzero(self._check_selection(some))
        rows = np.zeros((len(games), self.encoder.size), np.float32)
        highest = float(self.rules.max_height)
        kernel.observe_some(self._batch.rules, state, games, viewers, highest, rows)
        return rows

    def _make_position(self, state: BatchState, index: int) -> Position:
        left, heights, places = (
            tuple(part[index].tolist()) for part in (state.left, state.heights, state.tops)
        )
        blocks = (EMPTY, *self.rules.blocks)
        tops = blocks[places[0]], blocks[places[1]]
        return Position(self.rules, left, heights, tops, int(state.to_move[index]))


def make_rule_tables(rules: Rules) -> RuleTables:
    """Return rules of at most 64 blocks as numbers."""
    fits, rooms = make_mask_tables(rules)
    return RuleTables(
        tables=np.array([*fits, *rules.blocks, *rooms], np.uint64),
        blocks=len(rules.blocks),
        largest=rules.blocks[-1],
        has_rooms=bool(rooms),
        every=np.uint64(rules.every),
        target=kernel.NO_TARGET if rules.target is None else rules.target,
        supply=("own", "shared", "endless").index(rules.supply),
        one_tower=rules.towers == "shared",
        skips=rules.stuck == "skips",
    )


def allocate_state(number: int) -> BatchState:
    """Return the arrays for `number` games, none of which has started."""
    pair, single = (number, 2), (number,)
    return BatchState(
        left=np.zeros(pair, np.uint64),
        heights=np.zeros(pair, np.int64),
        tops=np.zeros(pair, np.int8),
        to_move=np.zeros(single, np.int8),
        legal=np.zeros(single, np.uint64),
        plies=np.zeros(single, np.int64),
        first=(1 - np.arange(number) % 2).astype(np.int8),
        endings=np.zeros(single, np.int8),
        winners=np.full(single, kernel.NOBODY, np.int8),
        refusals=np.zeros(single, np.int8),
    )


def _to_contiguous(array: NDArray[Any], kind: type[Any]) -> NDArray[Any]:
    """Return an array in the form that the loops are compiled for.

    Another form would be compiled again.
    """
    return np.require(array, kind, ["C", "A", "W"])


def _make_read_only(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view


def _make_state_read_only(state: BatchState) -> BatchState:
    arrays: tuple[NDArray[Any], ...] = state
    return BatchState(*map(_make_read_only, arrays))
