"""The deep search: what no theory covers, with a table of bounded size, compiled where that pays."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from number_tower.rules import EMPTY
from number_tower.solve import compiling, kernel
from number_tower.solve.book import LONGEST_LINE, WORD, write_book
from number_tower.solve.limits import NotSolved
from number_tower.solve.worth import Solver, Value, Worth, ended

if TYPE_CHECKING:
    from collections.abc import Callable

    from number_tower.position import Position
    from number_tower.rules import Rules
    from number_tower.solve.limits import Watch

_SLICE = 2_000
_COMPILED_SLICE = 100_000
"""Positions between two looks at the clock; they have no influence on what is searched."""

_FIRST_TURN = 100_000
"""Positions for the order of moves that is best in general, before others take turns with it."""

_TURN = 20_000
"""Positions of every other turn."""

_WORTH_COMPILING = 30_000
"""Positions that the interpreter has searched by the time that loading the compiler would have taken."""

_SMALLEST_TABLE = 1 << 10
_LARGEST_TABLE = 1 << 31
_FEWEST_FRAMES = 64
_LISTED_FRAMES = 1 << 12
"""Frames up to which a stack is a list when interpreted: quicker than an array, and larger."""

_NEVER_FULL = 1 << 60


class Search:
    """One search from one root, for values alone or with plies; what it has learned stays in its table.

    Where one order of moves leads astray another may not: several lines of search take turns and share the table.

    What is searched follows from the root and the limits on positions and memory alone: turns and the growth of the
    table are decided by counts of positions, never by whether the search is compiled or how often it is interrupted.
    """

    def __init__(
        self, root: Position, watch: Watch, *, plies: bool, compiled: bool | None = None, tables: int = 1
    ) -> None:
        self._tables = tables
        self._watch = watch
        self._book, self._bits = write_book(root, watch, plies=plies)
        self._given: Any = self._book
        self._lines = [Line(modulus) for modulus in _moduli(root.rules)]
        self.slots = _SMALLEST_TABLE
        self._full = _full(_SMALLEST_TABLE)
        self.stored = self.positions = 0
        self._search: Callable[..., None] = kernel.search
        self._rehouse: Callable[..., int] = kernel.rehouse
        self._compiled = False
        self._table: Any = self._zeros(_SMALLEST_TABLE * self._book[kernel.WORDS])
        self._compile_after = None
        self._slice = max(1, _SLICE * 20 // max(20, self._book[kernel.BLOCKS]))
        if self._bits <= WORD and compiled is not False and compiling.available():
            self._compile_after = 0 if compiled or compiling.loaded() else _WORTH_COMPILING

    @property
    def won(self) -> int:
        """The score of a win in no plies."""
        return self._book[kernel.WON]

    def score(self, position: Position, value: Value | None = None) -> int:
        """Search a position that is not over; to know its value already makes the search shorter."""
        frame, known = self._root(position, value)
        if known != kernel.UNKNOWN:
            return known
        for line in self._lines:
            line.begin(frame)
        begun = self.positions
        while True:
            line, turn_left = self._turn(self.positions - begun)
            result = self._advance(line, turn_left)
            if result is not None:
                return result
            self._watch.pause(filled=self.stored / self.slots)

    def _turn(self, searched: int) -> tuple[Line, int]:
        """Return the line whose turn it is after so many positions, and how many positions are left of its turn."""
        if searched < _FIRST_TURN:
            return self._lines[0], _FIRST_TURN - searched
        turns, into = divmod(searched - _FIRST_TURN, _TURN)
        return self._lines[(turns + 1) % len(self._lines)], _TURN - into

    def _advance(self, line: Line, turn_left: int) -> int | None:
        """Continue one line of search for a slice: to the end of its turn, or of the positions allowed, at most."""
        self._prepare(line)
        line.run[kernel.POSITIONS], line.run[kernel.STORED] = self.positions, self.stored
        line.run[kernel.BUCKETS], line.run[kernel.FULL] = self.slots // kernel.BUCKET, self._full
        allowed = self._watch.positions_left
        budget = min(_COMPILED_SLICE if self._compiled else self._slice, turn_left)
        self._search(
            budget if allowed is None else min(budget, allowed), self._given, line.stack, self._table, line.run
        )
        self._watch.count(int(line.run[kernel.POSITIONS]) - self.positions)
        self.positions, self.stored = int(line.run[kernel.POSITIONS]), int(line.run[kernel.STORED])
        return int(line.run[kernel.RESULT]) if line.run[kernel.DONE] else None

    def _root(self, position: Position, value: Value | None) -> tuple[list[int], int]:
        """Make the first frame of the stack, and see whether its score is known without a search."""
        rules, me, you = position.rules, position.to_move, 1 - position.to_move
        tops = [0 if top == EMPTY else bisect_right(rules.blocks, top) for top in position.tops]
        won, drawn = self.won, self._book[kernel.DRAWN]
        frame = [0] * kernel.FRAME
        every = self._book[kernel.EVERY]
        frame[kernel.MINE] = position.left[me] & every
        frame[kernel.YOURS] = position.left[me if rules.supply == "shared" else you] & every
        frame[kernel.MY_HEIGHT], frame[kernel.YOUR_HEIGHT] = position.heights[me], position.heights[you]
        frame[kernel.MY_TOP], frame[kernel.YOUR_TOP] = tops[me], tops[you]
        frame[kernel.LEGAL], frame[kernel.NEXT] = position.legal_mask, self._book[kernel.BLOCKS] - 1
        frame[kernel.BEST] = -kernel.UNKNOWN
        low, high = -won, won
        if value is not None:
            low, high = {"win": (drawn, won), "draw": (-drawn, drawn + 1), "loss": (-won, -drawn)}[value]
        frame[kernel.ALPHA] = frame[kernel.FLOOR] = low
        frame[kernel.BETA] = high
        frame[kernel.BORN] = self.positions
        known = kernel.look(self._book, frame, 0)
        if known == kernel.UNKNOWN:
            known = kernel.name(self._book, frame, 0)
        if known == kernel.UNKNOWN:
            known = int(kernel.recall(self._book, frame, 0, self._table, self.slots // kernel.BUCKET))
        return frame, known

    # ---------------------------------------------------------------------------------------------------

    def _prepare(self, line: Line) -> None:
        """Before a slice: compile if that pays by now, and give the stack and the table the room they need."""
        if not self._compiled and self._compile_after is not None and self.positions >= self._compile_after:
            if (compiling.loaded() or self._watch.left > compiling.SECONDS) and compiling.ready():
                self._compile()
            else:
                self._compile_after = None
        if line.run[kernel.DEPTH] + 1 >= line.run[kernel.FRAMES]:
            self._lengthen(line)
        if self.stored >= self._full:
            self._widen()

    def _compile(self) -> None:
        import numpy as np  # noqa: PLC0415 - heavy, and there only together with the compiler

        self._search, self._rehouse = compiling.compiled(kernel.search), compiling.compiled(kernel.rehouse)
        self._given, self._table = (np.array(numbers, dtype=np.int64) for numbers in (self._book, self._table))
        for line in self._lines:
            line.stack, line.run = (np.array(numbers, dtype=np.int64) for numbers in (line.stack, line.run))
        self._compiled = True

    def _lengthen(self, line: Line) -> None:
        """Double the stack of a line."""
        frames = 2 * int(line.run[kernel.FRAMES])
        if frames > LONGEST_LINE:
            raise NotSolved(f"not solved within lines of {LONGEST_LINE:,} plies")
        self._watch.claim(self._bytes(self.slots, frames))
        longer = self._zeros(frames * kernel.FRAME, listed=frames <= _LISTED_FRAMES)
        longer[: len(line.stack)] = array("q", line.stack) if isinstance(longer, array) else line.stack
        line.stack = longer
        line.run[kernel.FRAMES] = frames

    def _widen(self) -> None:
        """Make the table four times as large, or as large as the memory allows while the old one is still there."""
        slots = 4 * self.slots
        frames = max(int(line.run[kernel.FRAMES]) for line in self._lines)
        while slots > self.slots and not self._watch.room(self._bytes(self.slots + slots, frames)):
            slots = slots * 15 // 16
        slots = min(slots, _LARGEST_TABLE) // kernel.BUCKET * kernel.BUCKET
        if slots * 8 < self.slots * 9:
            self._full = _NEVER_FULL
            return
        old, self.slots = self._table, slots
        self._table = self._zeros(slots * self._book[kernel.WORDS])
        self.stored = int(self._rehouse(old, self._given, self._table, slots // kernel.BUCKET))
        self._full = _full(slots)

    def _zeros(self, size: int, *, listed: bool = False) -> Any:
        """Return room for so many numbers; interpreted, in a list if they are larger than a machine word."""
        if not self._compiled:
            return [0] * size if listed or self._bits > WORD else array("q", [0]) * size
        import numpy as np  # noqa: PLC0415 - heavy, and there only together with the compiler

        return np.zeros(size, dtype=np.int64)

    def _bytes(self, slots: int, frames: int) -> int:
        """Return the memory for such tables and stacks, at the larger figure where a compiled search needs less.

        The size of the table has an influence on what is found within a number of positions, so it must not depend on
        whether the search is compiled. In a list every number is an object of its own.
        """
        listed = 48 + self._bits // 7
        packed = listed if self._bits > WORD else 8
        stacked = listed if frames <= _LISTED_FRAMES else packed
        table, stacks = slots * self._book[kernel.WORDS], frames * kernel.FRAME * len(self._lines)
        return self._tables * (table * packed + stacks * stacked)


def _full(slots: int) -> int:
    """Return how many entries make a table of so many slots too full: more than two thirds."""
    return slots * 2 // 3 + 1


class Line:
    """One line of search: its stack, and how far it has come."""

    def __init__(self, modulus: int) -> None:
        self.stack: Any = [0] * (_FEWEST_FRAMES * kernel.FRAME)
        self.run: Any = [0] * (kernel.DONE + 1)
        self.run[kernel.FRAMES] = _FEWEST_FRAMES
        self.run[kernel.MODULUS] = modulus

    def begin(self, frame: list[int]) -> None:
        """Start anew from the frame of a root."""
        for place, number in enumerate(frame):
            self.stack[place] = number
        self.run[kernel.DEPTH] = self.run[kernel.DONE] = 0


def _moduli(rules: Rules) -> list[int]:
    """Return orders in which to try moves: highest first (0), or first what leaves a multiple of such a number.

    On one tower with a target, whoever can answer every block with its partner counts in such steps.
    """
    if rules.target is None or rules.towers == "own" or rules.fit != "any":
        return [0]
    pair = rules.blocks[0] + rules.blocks[-1]
    return [0, pair + 1, pair]


class Deep(Solver):
    """Searches values first, since they are found soonest, and plies within the bounds that the value sets."""

    method = "deep search"

    def __init__(self, root: Position, watch: Watch, *, plies: bool = True, compiled: bool | None = None) -> None:
        tables = 2 if plies else 1
        with watch.work():
            self._values = Search(root, watch, plies=False, compiled=compiled, tables=tables)
            self._plies = Search(root, watch, plies=True, compiled=compiled, tables=tables) if plies else None
        self._watch = watch

    @property
    def positions(self) -> int:
        """How many positions have been searched."""
        return self._values.positions + (self._plies.positions if self._plies else 0)

    def worth(self, position: Position) -> Worth:
        """Return what a position is worth; the plies are left out if only they were not found within the limits."""
        over = ended(position)
        if over is not None:
            return over
        with self._watch.work():
            score = self._values.score(position)
            value: Value = "draw" if score == 0 else "win" if score > 0 else "loss"
            return Worth(value, self._count(position, value))

    def _count(self, position: Position, value: Value) -> int | None:
        if self._plies is None:
            return None
        try:
            with self._watch.share(0.5):
                score = self._plies.score(position, value)
        except NotSolved:
            self._plies = None
            return None
        return score if value == "draw" else self._plies.won - abs(score)
