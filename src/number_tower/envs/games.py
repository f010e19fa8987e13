"""Thousands of games at once, both seats: all of them in a few arrays, one step for all, endings begin anew."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from number_tower import rules as rules_of
from number_tower.envs import stepping, truth
from number_tower.envs.seeing import Sight
from number_tower.envs.stage import whole
from number_tower.position import Position
from number_tower.rules import RulesError
from number_tower.showing import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from number_tower.envs.stage import Turns
    from number_tower.rules import Rules

TURNS: tuple[Turns, ...] = (0, 1, "alternating", "random")
"""Always the same player; the other after every game; or whom a coin says. By turns, it is 0 in the first game of the
first row, 1 in that of the second, and so on."""

MOST_BLOCKS = 64
_GAMES_A_PIECE = 4096
"""Fewer are done sooner than somebody else could come to help."""

_CORES = os.cpu_count() or 1


class Step(NamedTuple):
    """What a step brought: both players' rewards, and which games ended and have begun anew."""

    rewards: NDArray[np.float32]
    ended: NDArray[np.bool_]


class Games:
    """Many games by the same rules, played all at once.

    What they show of themselves are read-only views that change with every step: copy what you keep.
    """

    def __init__(
        self,
        game: str | os.PathLike[str] | Rules,
        number: int,
        *,
        seed: int | None = None,
        first: Turns = 0,
        threads: int | None = None,
        **options: object,
    ) -> None:
        self.rules = rules_of(game, **options)
        _check(self.rules, number)
        self.number = number
        self.sight = Sight(self.rules)
        self._starts = turns_code("first", first)
        self._threads = min(threads or _CORES, 1 + number // _GAMES_A_PIECE)
        self._piece = max(_GAMES_A_PIECE, number // (4 * self._threads)) if self._threads > 1 else number
        self._book = stepping.book(self.rules)
        self._now, self._last = stepping.state(number), stepping.state(number)
        self._masks = np.zeros((number, self.sight.actions), np.int8)
        self._every = np.ones(number, np.bool_)
        self.reset(seed)

    def reset(self, seed: int | None = None) -> None:
        """Begin every game anew, with new dice."""
        words = np.random.SeedSequence(seed).generate_state(2 * self.number, np.uint64)
        self._dice = words.reshape(self.number, 2)
        self._now.first[:] = stepping.state(self.number).first
        self.begin(self._every)

    # What there is to see ----------------------------------------------------------------------------------

    @property
    def to_move(self) -> NDArray[np.int8]:
        """Whose turn it is in each game, 0 or 1."""
        return _view(self._now.to_move)

    @property
    def legal(self) -> NDArray[np.uint64]:
        """The actions that may be taken in each game, as the bits of one number."""
        return _view(self._now.legal)

    @property
    def masks(self) -> NDArray[np.int8]:
        """The actions that may be taken in each game, a 1 or 0 for each."""
        return _view(self._masks)

    @property
    def now(self) -> stepping.State:
        """Where the games stand: all there is, array by array."""
        return _views(self._now)

    @property
    def last(self) -> stepping.State:
        """How each game ended that ended before the one that is played now; only the last step's are new."""
        return _views(self._last)

    def observations(self, players: NDArray[np.integer] | int | None = None) -> NDArray[np.float32]:
        """Return what a player sees of each game, in the layout of `seeing`: by default, whoever is to move."""
        return self._seen(self._now, players)

    def last_observations(self, players: NDArray[np.integer] | int | None = None) -> NDArray[np.float32]:
        """Return what a player saw of each game that ended when it did; zeros as long as none has."""
        return self._seen(self._last, players)

    def position(self, index: int) -> Position:
        """Return one game's position, as the engine has it."""
        return self._position(self._now, index)

    def last_position(self, index: int) -> Position:
        """Return the position in which the game before ended."""
        return self._position(self._last, index)

    def values(self) -> NDArray[np.float32]:
        """Return what each action is worth to whoever is to move, as `truth` says; equal positions are solved once."""
        found, where = self._different()
        return np.array([truth.action_values(position) for position in found], np.float32)[where]

    def worths(self) -> NDArray[np.float32]:
        """Return what each game is worth to whoever is to move: 1, 0, -1, or NaN if that is not known."""
        found, where = self._different()
        return np.array([truth.worth(position) for position in found], np.float32)[where]

    # What can be done --------------------------------------------------------------------------------------

    def random_actions(self, some: NDArray[np.bool_] | None = None) -> NDArray[np.int64]:
        """Return a legal action for each game, all equally likely; 0 for a game that is over, or not asked for."""
        actions = np.zeros(self.number, np.int64)
        self._run(stepping.choose_in_some, self._now, self._some(some), self._dice, actions)
        return actions

    def step(self, actions: NDArray[np.integer] | Sequence[int]) -> Step:
        """Take an action in every game. Games that end begin anew; `last` keeps how they ended.

        An action that is illegal loses. A game that was over before it began ends now, whatever the action is.
        """
        rewards, ended = np.empty((self.number, 2), np.float32), np.empty(self.number, np.bool_)
        taken = self.read(actions)
        self._run(
            stepping.step_all,
            *(self._book, self._now, self._last, taken, self._starts, self._dice, self._masks, rewards, ended),
        )
        return Step(rewards, ended)

    def act(self, actions: NDArray[np.integer] | Sequence[int], some: NDArray[np.bool_] | None = None) -> None:
        """Take an action in some of the games, and let those be that end: `now` says how."""
        taken = self.read(actions)
        self._run(stepping.act_in_some, self._book, self._now, self._some(some), taken, self._masks)

    def begin(self, some: NDArray[np.bool_]) -> None:
        """Begin some of the games anew."""
        self._run(stepping.begin_some, self._book, self._now, some, self._starts, self._dice, self._masks)

    def read(self, actions: object) -> NDArray[np.int64]:
        """Return actions as the loops take them: one whole number for each game, however large."""
        given = np.array(actions, object) if isinstance(actions, list | tuple) else np.asarray(actions)
        if given.shape != (self.number,):
            raise ValueError(f"expected an action for each of {self.number} games; got the shape {given.shape}")
        if given.dtype == object:
            within = range(self.sight.actions)
            given = np.array([action if action in within else -1 for action in map(whole, given)])
        if given.dtype.kind not in "iu":
            raise TypeError(f"expected whole numbers, the places of blocks; got {given.dtype}")
        return np.ascontiguousarray(given, np.int64)

    # -------------------------------------------------------------------------------------------------------

    def _run(self, loop: Callable[..., None], *arguments: object) -> None:
        """Run a loop over all games, piece by piece. Others help if they come in time; nobody waits for who does not.

        So a busy machine costs little: threads that had to meet would wait for whichever gets no time, many times as
        long as one alone takes.
        """
        pieces = iter(range(0, self.number, self._piece))

        def work() -> None:
            for start in pieces:
                loop(start, min(start + self._piece, self.number), *arguments)

        helping = [_helpers().submit(work) for _ in range(self._threads - 1)]
        work()
        for help_ in helping:
            if not help_.cancel():
                help_.result()

    def _some(self, some: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
        return self._every if some is None else some

    def _seen(self, state: stepping.State, players: NDArray[np.integer] | int | None) -> NDArray[np.float32]:
        whose = state.to_move if players is None else np.broadcast_to(players, self.number).astype(np.int8)
        seen = np.zeros((self.number, self.sight.size), np.float32)
        self._run(stepping.see_all, self._book, state, whose, float(self.rules.most_height), seen)
        return seen

    def _position(self, state: stepping.State, index: int) -> Position:
        def pair(values: NDArray[Any]) -> tuple[int, int]:
            return int(values[index, 0]), int(values[index, 1])

        zero, one = pair(state.tops)
        tops = (0, *self.rules.blocks)
        return Position(
            self.rules, pair(state.left), pair(state.heights), (tops[zero], tops[one]), int(state.to_move[index])
        )

    def _different(self) -> tuple[list[Position], NDArray[np.intp]]:
        """Return the positions that differ, and which of them each game is in."""
        now = self._now
        rows = np.column_stack([part.astype(np.uint64) for part in (now.left, now.heights, now.tops, now.to_move)])
        _, indices, where = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        return [self.position(int(index)) for index in indices], where


def turns_code(key: str, turns: object) -> int:
    """Return the number that stands for how a seat changes from game to game."""
    if type(turns) not in {int, str} or turns not in TURNS:
        raise ValueError(f'{key}: expected 0, 1, "alternating" or "random"; got {shown(turns)}')
    return (0, 1, stepping.ALTERNATING, stepping.AT_RANDOM)[TURNS.index(turns)]


def _check(rules: Rules, number: int) -> None:
    """Refuse what does not fit into 64 bits."""
    alone = "one game at a time, gymnasium.make takes any rules"
    if number < 1:
        raise ValueError(f"expected at least one game; got {number}")
    if len(rules.blocks) > MOST_BLOCKS:
        most = f"expected at most {MOST_BLOCKS} for many games at once"
        raise RulesError("blocks", f"{most}; got {len(rules.blocks)}; {alone}")
    if rules.most_height >= stepping.NO_TARGET:
        raise RulesError("blocks", f"expected towers below 2**63 for many games at once; these can be higher; {alone}")


def _view(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array to look at, not to write in."""
    view = array.view()
    view.flags.writeable = False
    return view


def _views(state: stepping.State) -> stepping.State:
    arrays: tuple[NDArray[Any], ...] = state
    return stepping.State(*map(_view, arrays))


@cache
def _helpers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max(1, _CORES - 1), "games")
