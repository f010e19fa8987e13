"""Thousands of games at once, both seats: all of them in a few arrays, one step for all, endings begin anew."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from number_tower.envs import kernel
from number_tower.envs.common import check_seat_order, choose_game, parse_action
from number_tower.envs.kernel import BatchState, allocate_state, make_rule_tables
from number_tower.envs.observation import ObservationEncoder, make_value_info
from number_tower.position import Position
from number_tower.rules import RulesError
from number_tower.text import format_value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from number_tower.envs.common import SeatOrder
    from number_tower.rules import Rules

SEAT_ORDERS: tuple[SeatOrder, ...] = (0, 1, "alternating", "random")
"""Always the same player; the other after every game; or whom a coin says. By turns, it is 0 in the first game of the
first row, 1 in that of the second, and so on."""

MOST_BLOCKS = 64
_MIN_CHUNK = 8192
"""Fewer are done sooner than somebody else could come to help."""

_CORES = os.cpu_count() or 1


class StepResult(NamedTuple):
    """What a step brought: the rewards, of both players or of one; and which games ended and have begun anew."""

    rewards: NDArray[np.float32]
    ended: NDArray[np.bool_]


class ExactValues(NamedTuple):
    """What games and actions are worth to whoever is to move: 1, 0, -1; -inf if illegal, NaN if not known."""

    position_values: NDArray[np.float32]
    action_values: NDArray[np.float32]


class Games:
    """Many games by the same rules, played all at once.

    What they show of themselves are read-only views that change with every step: copy what you keep.
    """

    def __init__(
        self,
        game: str | os.PathLike[str] | Rules | Mapping[str, object],
        number: int,
        *,
        seed: int | None = None,
        first: SeatOrder = 0,
        threads: int | None = None,
        **options: object,
    ) -> None:
        self.rules = choose_game(game, options)[1]
        _check_arguments(self.rules, number, threads)
        self.number = number
        self.encoder = ObservationEncoder(self.rules)
        self._first_code = encode_seat_order("first", first)
        self._threads = min(threads or _CORES, 1 + number // _MIN_CHUNK)
        self._chunk = max(_MIN_CHUNK, number // (4 * self._threads)) if self._threads > 1 else number
        self._tables = make_rule_tables(self.rules)
        self._state, self._last_state = allocate_state(number), allocate_state(number)
        self._masks = np.zeros((number, self.encoder.actions), np.int8)
        self._all_games = np.ones(number, np.bool_)
        self._indices = np.arange(number)
        self.reset(seed)

    def reset(self, seed: int | None = None) -> None:
        """Begin every game anew, with new dice."""
        words = np.random.SeedSequence(seed).generate_state(2 * self.number, np.uint64)
        self._dice = words.reshape(self.number, 2)
        self._state.first[:] = allocate_state(self.number).first
        self.begin()

    # What there is to see ----------------------------------------------------------------------------------

    @property
    def to_move(self) -> NDArray[np.int8]:
        """Whose turn it is in each game, 0 or 1."""
        return _make_read_only(self._state.to_move)

    @property
    def legal(self) -> NDArray[np.uint64]:
        """The actions that may be taken in each game, as the bits of one number."""
        return _make_read_only(self._state.legal)

    @property
    def masks(self) -> NDArray[np.int8]:
        """The actions that may be taken in each game, a 1 or 0 for each."""
        return _make_read_only(self._masks)

    @property
    def now(self) -> BatchState:
        """Where the games stand: all there is, array by array."""
        return _make_state_read_only(self._state)

    @property
    def last(self) -> BatchState:
        """How each game ended that ended before the one that is played now; only the last step's are new."""
        return _make_state_read_only(self._last_state)

    def observations(
        self, players: NDArray[np.integer] | int | None = None, some: NDArray[np.bool_] | None = None
    ) -> NDArray[np.float32]:
        """Return what a player sees of each game, in the layout of `seeing`: by default, whoever is to move.

        Of some of the games only, if that is wanted: as many rows, in the order of the games.
        """
        return self._observe(self._state, players, some)

    def last_observations(
        self, players: NDArray[np.integer] | int | None = None, some: NDArray[np.bool_] | None = None
    ) -> NDArray[np.float32]:
        """Return what a player saw of each game that ended when it did; zeros as long as none has."""
        return self._observe(self._last_state, players, some)

    def position(self, index: int) -> Position:
        """Return one game's position, as the engine has it."""
        return self._make_position(self._state, index)

    def last_position(self, index: int) -> Position:
        """Return the position in which the game before ended."""
        return self._make_position(self._last_state, index)

    def truth(self) -> ExactValues:
        """Return the exact truth about every game, as far as it is known; equal positions are solved once.

        What is out of reach takes seconds for each position, and what is over is worth nothing any more: NaN.
        """
        on = np.flatnonzero(self._state.endings == 0)
        worths = np.full(self.number, np.nan, np.float32)
        values = np.full(self._masks.shape, -np.inf, np.float32)
        if on.size:
            found, where = self._find_distinct(on)
            truths = [make_value_info(position) for position in found]
            worths[on] = np.array([truth["value"] for truth in truths], np.float32)[where]
            values[on] = np.array([truth["action_values"] for truth in truths])[where]
        return ExactValues(worths, values)

    def position_values(self) -> NDArray[np.float32]:
        """Return what each game is worth to whoever is to move: 1, 0, -1; NaN if that is not known, or it is over."""
        return self.truth().position_values

    def values(self) -> NDArray[np.float32]:
        """Return what each action is worth to whoever is to move: -inf if it is illegal, NaN if that is not known."""
        return self.truth().action_values

    # What can be done --------------------------------------------------------------------------------------

    def random_actions(self, some: NDArray[np.bool_] | None = None) -> NDArray[np.int64]:
        """Return a legal action for each game, all equally likely; 0 for a game that is over, or not asked for."""
        actions = np.zeros(self.number, np.int64)
        self._run_loop(kernel.choose_in_some, self._state, self._check_selection(some), self._dice, actions)
        return actions

    def step(self, actions: NDArray[np.integer] | Sequence[int]) -> StepResult:
        """Take an action in every game. Games that end begin anew; `last` keeps how they ended.

        An action that is illegal loses. A game that was over before it began ends now, whatever the action is.
        """
        rewards, ended = np.empty((self.number, 2), np.float32), np.empty(self.number, np.bool_)
        taken = self.parse_actions(actions)
        self._run_loop(
            kernel.step_all,
            *(
                self._tables,
                self._state,
                self._last_state,
                taken,
                self._first_code,
                self._dice,
                self._masks,
                rewards,
                ended,
            ),
        )
        return StepResult(rewards, ended)

    def act(self, actions: NDArray[np.integer] | Sequence[int], some: NDArray[np.bool_] | None = None) -> None:
        """Take an action in some of the games, and let those be that end: `now` says how."""
        taken = self.parse_actions(actions)
        self._run_loop(kernel.act_in_some, self._tables, self._state, self._check_selection(some), taken, self._masks)

    def answer(self, seats: NDArray[np.integer] | int) -> None:
        """Take random actions until it is the turn of whoever has the seat, in every game that is not over by then."""
        self._run_loop(
            kernel.answer_all, self._tables, self._state, self._check_players(seats), self._dice, self._masks
        )

    def step_and_answer(
        self,
        actions: NDArray[np.integer] | Sequence[int],
        seats: NDArray[np.integer] | int,
        following: NDArray[np.integer] | int,
    ) -> StepResult:
        """Take an action in every game and `answer`; games that end begin anew, and are answered for who follows.

        The rewards are those of whoever has the seat.
        """
        rewards, ended = np.empty(self.number, np.float32), np.empty(self.number, np.bool_)
        who = (self._check_players(seats), self._check_players(following))
        taken = self.parse_actions(actions)
        self._run_loop(
            kernel.step_and_answer_all,
            *(
                self._tables,
                self._state,
                self._last_state,
                taken,
                *who,
                self._first_code,
                self._dice,
                self._masks,
                rewards,
                ended,
            ),
        )
        return StepResult(rewards, ended)

    def begin(self, some: NDArray[np.bool_] | None = None) -> None:
        """Begin some of the games anew; `last` keeps how those ended that were over."""
        self._run_loop(
            kernel.begin_some,
            *(
                self._tables,
                self._state,
                self._last_state,
                self._check_selection(some),
                self._first_code,
                self._dice,
                self._masks,
            ),
        )

    def parse_actions(self, actions: object) -> NDArray[np.int64]:
        """Return actions as the loops take them: one whole number for each game, however large."""
        given = np.array(actions, object) if isinstance(actions, list | tuple) else np.asarray(actions)
        if given.shape != (self.number,):
            raise ValueError(f"expected an action for each of {self.number} games; got the shape {given.shape}")
        if given.dtype == object:
            within = range(self.encoder.actions)
            given = np.array([action if action in within else -1 for action in map(parse_action, given)])
        if given.dtype.kind not in "iu":
            raise TypeError(f"expected whole numbers, the places of blocks; got {given.dtype}")
        return _to_contiguous(given, np.int64)

    # -------------------------------------------------------------------------------------------------------

    def _run_loop(self, loop: Callable[..., None], *arguments: object, number: int | None = None) -> None:
        """Run a loop over all games, piece by piece. Others help if they come in time; nobody waits for who does not.

        So a busy machine costs little: threads that had to meet would wait for whichever gets no time, many times as
        long as one alone takes.
        """
        number = self.number if number is None else number
        pieces = iter(range(0, number, self._chunk))

        def work() -> None:
            for start in pieces:
                loop(start, min(start + self._chunk, number), *arguments)

        helping = [_get_thread_pool().submit(work) for _ in range(self._threads - 1)]
        work()
        for help_ in helping:
            if not help_.cancel():
                help_.result()

    def _check_selection(self, some: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
        if some is None:
            return self._all_games
        given = np.asarray(some)
        if given.dtype != np.bool_ or given.shape != (self.number,):
            expected = f"expected True or False for each of {self.number} games"
            raise ValueError(f"{expected}; got the shape {given.shape} of {given.dtype}")
        return _to_contiguous(given, np.bool_)

    def _check_players(self, players: NDArray[np.integer] | int) -> NDArray[np.int8]:
        given = np.asarray(players)
        if given.shape not in {(), (self.number,)}:
            raise ValueError(f"expected a player, or one for each of {self.number} games; got the shape {given.shape}")
        if given.dtype.kind not in "iu" or ((given != 0) & (given != 1)).any():
            raise ValueError(f"expected players 0 and 1; got {format_value(players)}")
        return _to_contiguous(np.broadcast_to(given, self.number), np.int8)

    def _observe(
        self, state: BatchState, players: NDArray[np.integer] | int | None, some: NDArray[np.bool_] | None
    ) -> NDArray[np.float32]:
        whose = state.to_move if players is None else self._check_players(players)
        rows = self._indices if some is None else np.flatnonzero(self._check_selection(some))
        seen = np.zeros((len(rows), self.encoder.size), np.float32)
        highest = float(self.rules.most_height)
        self._run_loop(kernel.observe_some, self._tables, state, rows, whose, highest, seen, number=len(rows))
        return seen

    def _make_position(self, state: BatchState, index: int) -> Position:
        def pair(values: NDArray[Any]) -> tuple[int, int]:
            return int(values[index, 0]), int(values[index, 1])

        zero, one = pair(state.tops)
        tops = (0, *self.rules.blocks)
        return Position(
            self.rules, pair(state.left), pair(state.heights), (tops[zero], tops[one]), int(state.to_move[index])
        )

    def _find_distinct(self, games: NDArray[np.intp]) -> tuple[list[Position], NDArray[np.intp]]:
        """Return the positions that differ among some games, and which of them each game is in."""
        now = self._state
        parts = (now.left, now.heights, now.tops, now.to_move)
        rows = np.column_stack([part[games].astype(np.uint64) for part in parts])
        _, indices, where = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        return [self.position(int(index)) for index in games[indices]], where


def encode_seat_order(key: str, turns: SeatOrder) -> int:
    """Return the number that stands for how a seat changes from game to game."""
    return (0, 1, kernel.ALTERNATING, kernel.AT_RANDOM)[SEAT_ORDERS.index(check_seat_order(key, turns))]


def _check_arguments(rules: Rules, number: int, threads: int | None) -> None:
    """Refuse what is no number of games, and what does not fit into 64 bits."""
    alone = "one game at a time, gymnasium.make takes any rules"
    for key, given in (("number", number), ("threads", 1 if threads is None else threads)):
        if type(given) is not int or given < 1:
            raise ValueError(f"{key}: expected a whole number from 1; got {format_value(given)}")
    if len(rules.blocks) > MOST_BLOCKS:
        most = f"expected at most {MOST_BLOCKS} for many games at once"
        raise RulesError("blocks", f"{most}; got {len(rules.blocks)}; {alone}")
    if rules.most_height >= kernel.NO_TARGET:
        raise RulesError("blocks", f"expected towers below 2**63 for many games at once; these can be higher; {alone}")


def _to_contiguous(array: NDArray[Any], kind: type[Any]) -> NDArray[Any]:
    """Return an array as the loops were compiled for it: any other form of the same would be compiled anew."""
    return np.require(array, kind, ["C", "A", "W"])


def _make_read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array to look at, not to write in."""
    view = array.view()
    view.flags.writeable = False
    return view


def _make_state_read_only(state: BatchState) -> BatchState:
    arrays: tuple[NDArray[Any], ...] = state
    return BatchState(*map(_make_read_only, arrays))


@cache
def _get_thread_pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max(1, _CORES - 1), "games")
