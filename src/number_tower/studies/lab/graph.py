"""The graph of all positions of a game, and the expected games of all pairs of players."""

from __future__ import annotations

from array import array
from typing import Any, NamedTuple

from number_tower.engine.position import Position
from number_tower.engine.rules import MAX_SERVED_BLOCKS, Rules
from number_tower.solve import jit
from number_tower.solve.encoding import MAX_PLIES, WORD_BITS, encode_position, encode_rules
from number_tower.solve.kernel import FRAME_SIZE
from number_tower.solve.limits import MIB, NotSolvedError, SearchLimits
from number_tower.solve.worth import Value
from number_tower.studies.lab import kernel
from number_tower.studies.lab.measures import ENDINGS
from number_tower.support.errors import NumberTowerError

MAX_POSITIONS = 1_000_000
MAX_MEMORY = 1024
"""The usual limits of a study, in positions and MiB; a million positions take about 300 MiB."""

_MOVES_PER_POSITION = 20
"""The most moves of a study, for each position that is allowed."""

_SLOWDOWN = 100
"""By how much fewer positions are allowed where keys do not fit into machine words, so that nothing
is compiled."""

_VALUES: tuple[Value, ...] = ("loss", "draw", "win")
_STEPS = kernel.SIGHT_COUNT
_STEP_BYTES = 8 * 2 * _STEPS
"""Memory of a position for the games of one first player."""

_BUDGET = 20_000
_COMPILED_BUDGET = 2_000_000
"""Moves between two looks at the limits."""

_COMPILE_AFTER = 3_000
"""Positions that the interpreter studies in the time that loading the compiler takes."""

_FIRST_SLOTS = 1 << 8
_FIRST_POSITIONS = 1 << 7
_FIRST_EDGES = 1 << 10
_FIRST_FRAMES = 64


class NotMeasuredError(NumberTowerError):
    """The rules have more positions than the limits allow: nothing is measured or guessed.

    Examples:
        >>> study(nt.Rules(blocks=range(1, 10), supply="own", target=40), positions=100)
        Traceback (most recent call last):
            ...
        number_tower.studies.lab.graph.NotMeasuredError: too large, ...: more than 100 positions
    """


def _make_error(limit: str) -> NotMeasuredError:
    return NotMeasuredError(f"too large, not measured: more than {limit}")


class ExpectedGames(NamedTuple):
    """What happens on average in the games of two players: shares of games, and means."""

    result: float
    """The result of the first player: a win counts 1, a draw 1/2."""
    draws: float
    endings: dict[str, float]
    """The share of games that end by each reason."""
    length: float
    """The plies of a game."""
    swings: float
    """How often a move gives the value away: from a win to a loss counts 1, to a draw 1/2."""


class PositionGraph:
    """All positions that can be reached, with their moves and values.

    Positions with the same future are one. They are numbered from the end of the game, so the start
    has the highest number. Compiled and interpreted kernels do the same work and give the same
    result.
    """

    def __init__(
        self,
        rules: Rules,
        *,
        positions: int = MAX_POSITIONS,
        memory: int = MAX_MEMORY,
        compiled: bool | None = None,
    ) -> None:
        start = Position.start(rules)
        self._max_positions, self._max_memory = positions, memory
        if len(rules.blocks) > MAX_SERVED_BLOCKS:
            raise _make_error(f"{MAX_SERVED_BLOCKS:,} blocks")
        self._rules: Any
        try:
            self._rules, bits = encode_rules(start, SearchLimits(memory=memory), plies=True)
        except NotSolvedError:
            raise _make_error(f"{self._max_memory:,} MiB of memory") from None
        if rules.max_plies >= MAX_PLIES >> 2:
            raise _make_error(f"{self._max_memory:,} MiB of memory")
        if bits > WORD_BITS:
            self._max_positions = max(1, positions // _SLOWDOWN)
        self._may_compile = bits <= WORD_BITS and compiled is not False and jit.is_available()
        self._compiled = False
        self._explore: Any = kernel.explore
        self._rehash: Any = kernel.rehash
        self._play_first: Any = kernel.play_first
        frame = encode_position(start, self._rules)
        frame[kernel.EDGES_START] = 0
        self._memory = kernel.Memory(
            stack=frame + self._zeros(FRAME_SIZE * (_FIRST_FRAMES - 1), wide=True),
            pending=self._zeros(_FIRST_EDGES),
            table=self._zeros(kernel.SLOT_WORDS * _FIRST_SLOTS, wide=True),
            starts=self._zeros(_FIRST_POSITIONS),
            edges=self._zeros(_FIRST_EDGES, "i"),
            marks=self._zeros(_FIRST_EDGES, "h"),
            words=self._zeros(_FIRST_POSITIONS),
        )
        self._state: Any = [0] * (kernel.DONE + 1)
        self._set_sizes()
        if compiled or (compiled is None and jit.is_loaded()):
            self._compile()
        self._number_all()

    @property
    def positions(self) -> int:
        """The number of positions in which the game is not over."""
        return int(self._state[kernel.COUNT])

    @property
    def decisions(self) -> int:
        """The number of positions with moves of different values."""
        return int(self._state[kernel.DECISIONS])

    @property
    def value(self) -> Value:
        """The value of the start."""
        return _VALUES[self._start_word >> kernel.TRUE_VALUE & 3]

    @property
    def plies(self) -> int:
        """The plies of the game with best play."""
        return self._start_word >> kernel.PLIES_SHIFT & kernel.PLIES_MASK

    @property
    def longest(self) -> int:
        """The plies of the longest game."""
        return self._start_word >> kernel.LENGTH_SHIFT

    @property
    def openings(self) -> list[Value]:
        """The value of each opening for the first player, from the highest block down."""
        memory = self._memory
        first, last = memory.starts[self.positions - 1], memory.starts[self.positions]
        values = [
            kernel.get_move_values(int(edge), memory.words) for edge in memory.edges[first:last]
        ]
        return [_VALUES[int(packed) >> kernel.TRUE_VALUE & 3] for packed in values]

    def play_pairs(self) -> tuple[tuple[ExpectedGames, ...], ...]:
        """Return the games of every pair, by the first player's step and then the second's."""
        sizes = kernel.Tallies(
            2 * _STEPS * self.positions, _STEPS * kernel.ENDING_COUNT, _STEPS, _STEPS
        )
        pairs = []
        for step in range(_STEPS):
            tallies = kernel.Tallies(*(self._zeros(size, "d") for size in sizes))
            # Every game begins at the start, with the first player to move.
            for second in range(_STEPS):
                tallies.weights[2 * _STEPS * (self.positions - 1) + second] = 1.0
            self._play_first(step, self.positions, self._memory, tallies)
            pairs.append(tuple(_read_games(tallies, second) for second in range(_STEPS)))
        return tuple(pairs)

    @property
    def _start_word(self) -> int:
        return int(self._memory.words[self.positions - 1])

    def _number_all(self) -> None:
        """Find and number all positions, within the limits."""
        max_moves = _MOVES_PER_POSITION * self._max_positions
        moves = 0
        while True:
            budget = min(_COMPILED_BUDGET if self._compiled else _BUDGET, max_moves - moves)
            self._explore(budget, self._rules, self._memory, self._state)
            if self._state[kernel.DONE]:
                return
            moves = int(self._state[kernel.MOVES])
            if self.positions >= self._max_positions:
                raise _make_error(f"{self._max_positions:,} positions")
            if moves >= max_moves:
                raise _make_error(f"{max_moves:,} moves")
            if not self._compiled and self._may_compile and self.positions >= _COMPILE_AFTER:
                self._compile()
            self._grow()

    def _compile(self) -> None:
        """Continue with compiled kernels, if there is a compiler."""
        if not self._may_compile or not jit.load_compiler():
            self._may_compile = False
            return
        self._explore = jit.compile_kernel(kernel.explore)
        self._rehash = jit.compile_kernel(kernel.rehash)
        self._play_first = jit.compile_kernel(kernel.play_first)
        to_array = jit.load_numpy().asarray
        self._rules, self._state = to_array(self._rules), to_array(self._state)
        self._memory = kernel.Memory(*map(to_array, self._memory))
        self._compiled = True

    # Memory ---------------------------------------------------------------------------------------

    def _grow(self) -> None:
        """Enlarge what is full, within the limit of memory."""
        memory, state = self._memory, self._state
        if state[kernel.DEPTH] + 1 >= state[kernel.MAX_FRAMES]:
            self._enlarge("stack", wide=True)
        if state[kernel.PENDING] >= state[kernel.MAX_PENDING]:
            self._enlarge("pending")
        if state[kernel.EDGES] + state[kernel.PENDING] > state[kernel.MAX_EDGES]:
            self._enlarge("edges", "i")
            self._enlarge("marks", "h")
        if self.positions + 1 >= len(memory.words):
            self._enlarge("starts")
            self._enlarge("words")
        if self.positions >= self._max_stored:
            self._enlarge("table", wide=True, copy=False)
            self._rehash(memory.table, self._memory.table)
        self._set_sizes()

    def _set_sizes(self) -> None:
        """Tell the kernel how large everything is."""
        memory, state = self._memory, self._state
        state[kernel.MAX_FRAMES] = len(memory.stack) // FRAME_SIZE
        state[kernel.MAX_PENDING] = len(memory.pending)
        state[kernel.MAX_EDGES] = len(memory.edges)
        state[kernel.MAX_COUNT] = min(len(memory.words) - 1, self._max_stored, self._max_positions)

    @property
    def _max_stored(self) -> int:
        """The positions with which the table is half full."""
        return len(self._memory.table) // (2 * kernel.SLOT_WORDS)

    def _enlarge(
        self, name: str, kind: str = "q", *, wide: bool = False, copy: bool = True
    ) -> None:
        """Double the size of a sequence, if there is memory for it and for the games that follow.

        All numbers count as if compiled, so that the limit does not depend on whether they are.
        """
        memory = self._memory
        small = len(memory.edges)
        words = sum(map(len, memory)) - 2 * small
        used = 8 * words + 6 * small + _STEP_BYTES * len(memory.words)
        numbers = getattr(memory, name)
        if used + 2 * len(numbers) * array(kind).itemsize > self._max_memory * MIB:
            raise _make_error(f"{self._max_memory:,} MiB of memory")
        larger = self._zeros(2 * len(numbers), kind, wide=wide)
        if copy:
            larger[: len(numbers)] = numbers
        self._memory = memory._replace(**{name: larger})

    def _zeros(self, size: int, kind: str = "q", *, wide: bool = False) -> Any:
        """Return zeros in an array, or in a list if interpreted numbers may be larger."""
        if self._compiled:
            return jit.load_numpy().zeros(size, kind)
        if wide:
            return [0] * size
        return array(kind, bytes(size * array(kind).itemsize))


def _read_games(tallies: kernel.Tallies, second: int) -> ExpectedGames:
    """Return the games with a second player; sums that rounding lifts above 1 are cut to 1."""
    start = kernel.ENDING_COUNT * second
    # For each reason: the shares of lost, drawn and won games.
    shares = list(map(float, tallies.endings[start : start + kernel.ENDING_COUNT]))
    won, drawn = sum(shares[2::3]), min(1.0, sum(shares[1::3]))
    endings = {}
    for number, reason in enumerate(ENDINGS):
        endings[reason] = min(1.0, sum(shares[3 * number : 3 * number + 3]))
    length, swings = float(tallies.lengths[second]), float(tallies.swings[second])
    return ExpectedGames(min(1.0, won + drawn / 2), drawn, endings, length, swings)
