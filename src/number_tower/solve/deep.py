"""The deep search: what no theory covers, with a table of bounded size, compiled where that pays."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from number_tower.rules import EMPTY
from number_tower.solve import jit, kernel
from number_tower.solve.encoding import MAX_PLIES, WORD_BITS, encode_rules
from number_tower.solve.limits import NotSolvedError
from number_tower.solve.worth import Solver, Value, Worth, get_final_worth

if TYPE_CHECKING:
    from collections.abc import Callable

    from number_tower.position import Position
    from number_tower.rules import Rules
    from number_tower.solve.limits import SearchLimits

_SLICE_POSITIONS = 2_000
_COMPILED_SLICE_POSITIONS = 100_000
"""Positions between two looks at the clock; they have no influence on what is searched."""

_FIRST_TURN_POSITIONS = 100_000
"""Positions for the order of moves that is best in general, before others take turns with it."""

_TURN_POSITIONS = 20_000
"""Positions of every other turn."""

_COMPILE_AFTER_POSITIONS = 30_000
"""Positions that the interpreter has searched by the time that loading the compiler would have taken."""

_SMALLEST_TABLE = 1 << 10
_LARGEST_TABLE = 1 << 31
_FEWEST_FRAMES = 64
_MAX_LIST_FRAMES = 1 << 12
"""Frames up to which a stack is a list when interpreted: quicker than an array, and larger."""

_NEVER_FULL = 1 << 60


class Search:
    """One search from one root, for values alone or with plies; what it has learned stays in its table.

    Where one order of moves leads astray another may not: several lines of search take turns and share the table.

    What is searched follows from the root and the limits on positions and memory alone: turns and the growth of the
    table are decided by counts of positions, never by whether the search is compiled or how often it is interrupted.
    """

    def __init__(
        self, root: Position, watch: SearchLimits, *, plies: bool, compiled: bool | None = None, tables: int = 1
    ) -> None:
        self._table_count = tables
        self._limits = watch
        self._book, self._bits = encode_rules(root, watch, plies=plies)
        self._kernel_book: Any = self._book
        self._stacks = [SearchStack(modulus) for modulus in _choose_moduli(root.rules)]
        self.slots = _SMALLEST_TABLE
        self._fill_limit = _compute_fill_limit(_SMALLEST_TABLE)
        self.stored = self.positions = 0
        self._search: Callable[..., None] = kernel.search
        self._rehash: Callable[..., int] = kernel.rehash
        self._compiled = False
        self._table: Any = self._allocate(_SMALLEST_TABLE * self._book[kernel.WORDS])
        self._compile_after = None
        self._slice = max(1, _SLICE_POSITIONS * 20 // max(20, self._book[kernel.BLOCKS]))
        if self._bits <= WORD_BITS and compiled is not False and jit.is_available():
            self._compile_after = 0 if compiled or jit.is_loaded() else _COMPILE_AFTER_POSITIONS

    @property
    def win_score(self) -> int:
        """The score of a win in no plies."""
        return self._book[kernel.WON]

    def score(self, position: Position, value: Value | None = None) -> int:
        """Search a position that is not over; to know its value already makes the search shorter."""
        frame, known = self._make_root(position, value)
        if known != kernel.UNKNOWN:
            return known
        for line in self._stacks:
            line.restart(frame)
        begun = self.positions
        while True:
            line, turn_left = self._choose_stack(self.positions - begun)
            result = self._advance(line, turn_left)
            if result is not None:
                return result
            self._limits.check(filled=self.stored / self.slots)

    def _choose_stack(self, searched: int) -> tuple[SearchStack, int]:
        """Return the line whose turn it is after so many positions, and how many positions are left of its turn."""
        if searched < _FIRST_TURN_POSITIONS:
            return self._stacks[0], _FIRST_TURN_POSITIONS - searched
        turns, into = divmod(searched - _FIRST_TURN_POSITIONS, _TURN_POSITIONS)
        return self._stacks[(turns + 1) % len(self._stacks)], _TURN_POSITIONS - into

    def _advance(self, line: SearchStack, turn_left: int) -> int | None:
        """Continue one line of search for a slice: to the end of its turn, or of the positions allowed, at most."""
        self._prepare(line)
        line.state[kernel.POSITIONS], line.state[kernel.STORED] = self.positions, self.stored
        line.state[kernel.BUCKETS], line.state[kernel.FULL] = self.slots // kernel.BUCKET, self._fill_limit
        allowed = self._limits.positions_left
        budget = min(_COMPILED_SLICE_POSITIONS if self._compiled else self._slice, turn_left)
        self._search(
            budget if allowed is None else min(budget, allowed), self._kernel_book, line.frames, self._table, line.state
        )
        self._limits.count_positions(int(line.state[kernel.POSITIONS]) - self.positions)
        self.positions, self.stored = int(line.state[kernel.POSITIONS]), int(line.state[kernel.STORED])
        return int(line.state[kernel.RESULT]) if line.state[kernel.DONE] else None

    def _make_root(self, position: Position, value: Value | None) -> tuple[list[int], int]:
        """Make the first frame of the stack, and see whether its score is known without a search."""
        rules, me, you = position.rules, position.to_move, 1 - position.to_move
        tops = [0 if top == EMPTY else bisect_right(rules.blocks, top) for top in position.tops]
        won, drawn = self.win_score, self._book[kernel.DRAWN]
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
        known = kernel.look_ahead(self._book, frame, 0)
        if known == kernel.UNKNOWN:
            known = kernel.set_key(self._book, frame, 0)
        if known == kernel.UNKNOWN:
            known = int(kernel.probe_table(self._book, frame, 0, self._table, self.slots // kernel.BUCKET))
        return frame, known

    # ---------------------------------------------------------------------------------------------------

    def _prepare(self, line: SearchStack) -> None:
        """Before a slice: compile if that pays by now, and give the stack and the table the room they need."""
        if not self._compiled and self._compile_after is not None and self.positions >= self._compile_after:
            if (jit.is_loaded() or self._limits.seconds_left > jit.COMPILE_SECONDS) and jit.load_compiler():
                self._compile()
            else:
                self._compile_after = None
        if line.state[kernel.DEPTH] + 1 >= line.state[kernel.FRAMES]:
            self._grow_stack(line)
        if self.stored >= self._fill_limit:
            self._grow_table()

    def _compile(self) -> None:
        import numpy as np  # noqa: PLC0415 - heavy, and there only together with the compiler

        self._search, self._rehash = jit.compile_kernel(kernel.search), jit.compile_kernel(kernel.rehash)
        self._kernel_book, self._table = (np.array(numbers, dtype=np.int64) for numbers in (self._book, self._table))
        for line in self._stacks:
            line.frames, line.state = (np.array(numbers, dtype=np.int64) for numbers in (line.frames, line.state))
        self._compiled = True

    def _grow_stack(self, line: SearchStack) -> None:
        """Double the stack of a line."""
        frames = 2 * int(line.state[kernel.FRAMES])
        if frames > MAX_PLIES:
            raise NotSolvedError(f"not solved within lines of {MAX_PLIES:,} plies")
        self._limits.require_memory(self._count_bytes(self.slots, frames))
        longer = self._allocate(frames * kernel.FRAME, listed=frames <= _MAX_LIST_FRAMES)
        longer[: len(line.frames)] = array("q", line.frames) if isinstance(longer, array) else line.frames
        line.frames = longer
        line.state[kernel.FRAMES] = frames

    def _grow_table(self) -> None:
        """Make the table four times as large, or as large as the memory allows while the old one is still there."""
        slots = 4 * self.slots
        frames = max(int(line.state[kernel.FRAMES]) for line in self._stacks)
        while slots > self.slots and not self._limits.has_memory(self._count_bytes(self.slots + slots, frames)):
            slots = slots * 15 // 16
        slots = min(slots, _LARGEST_TABLE) // kernel.BUCKET * kernel.BUCKET
        if slots * 8 < self.slots * 9:
            self._fill_limit = _NEVER_FULL
            return
        old, self.slots = self._table, slots
        self._table = self._allocate(slots * self._book[kernel.WORDS])
        self.stored = int(self._rehash(old, self._kernel_book, self._table, slots // kernel.BUCKET))
        self._fill_limit = _compute_fill_limit(slots)

    def _allocate(self, size: int, *, listed: bool = False) -> Any:
        """Return room for so many numbers; interpreted, in a list if they are larger than a machine word."""
        if not self._compiled:
            return [0] * size if listed or self._bits > WORD_BITS else array("q", [0]) * size
        import numpy as np  # noqa: PLC0415 - heavy, and there only together with the compiler

        return np.zeros(size, dtype=np.int64)

    def _count_bytes(self, slots: int, frames: int) -> int:
        """Return the memory for such tables and stacks, at the larger figure where a compiled search needs less.

        The size of the table has an influence on what is found within a number of positions, so it must not depend on
        whether the search is compiled. In a list every number is an object of its own.
        """
        listed = 48 + self._bits // 7
        packed = listed if self._bits > WORD_BITS else 8
        stacked = listed if frames <= _MAX_LIST_FRAMES else packed
        table, stacks = slots * self._book[kernel.WORDS], frames * kernel.FRAME * len(self._stacks)
        return self._table_count * (table * packed + stacks * stacked)


def _compute_fill_limit(slots: int) -> int:
    """Return how many entries make a table of so many slots too full: more than two thirds."""
    return slots * 2 // 3 + 1


class SearchStack:
    """One line of search: its stack, and how far it has come."""

    def __init__(self, modulus: int) -> None:
        self.frames: Any = [0] * (_FEWEST_FRAMES * kernel.FRAME)
        self.state: Any = [0] * (kernel.DONE + 1)
        self.state[kernel.FRAMES] = _FEWEST_FRAMES
        self.state[kernel.MODULUS] = modulus

    def restart(self, frame: list[int]) -> None:
        """Start anew from the frame of a root."""
        for place, number in enumerate(frame):
            self.frames[place] = number
        self.state[kernel.DEPTH] = self.state[kernel.DONE] = 0


def _choose_moduli(rules: Rules) -> list[int]:
    """Return orders in which to try moves: highest first (0), or first what leaves a multiple of such a number.

    On one tower with a target, whoever can answer every block with its partner counts in such steps.
    """
    if rules.target is None or rules.towers == "own" or rules.fit != "any":
        return [0]
    pair = rules.blocks[0] + rules.blocks[-1]
    return [0, pair + 1, pair]


class DeepSolver(Solver):
    """Searches values first, since they are found soonest, and plies within the bounds that the value sets."""

    method = "deep search"

    def __init__(
        self, root: Position, watch: SearchLimits, *, plies: bool = True, compiled: bool | None = None
    ) -> None:
        tables = 2 if plies else 1
        with watch.measure():
            self._value_search = Search(root, watch, plies=False, compiled=compiled, tables=tables)
            self._ply_search = Search(root, watch, plies=True, compiled=compiled, tables=tables) if plies else None
        self._limits = watch

    @property
    def positions(self) -> int:
        """How many positions have been searched."""
        return self._value_search.positions + (self._ply_search.positions if self._ply_search else 0)

    def evaluate(self, position: Position) -> Worth:
        """Return what a position is worth; the plies are left out if only they were not found within the limits."""
        over = get_final_worth(position)
        if over is not None:
            return over
        with self._limits.measure():
            score = self._value_search.score(position)
            value: Value = "draw" if score == 0 else "win" if score > 0 else "loss"
            return Worth(value, self._count_plies(position, value))

    def _count_plies(self, position: Position, value: Value) -> int | None:
        if self._ply_search is None:
            return None
        try:
            with self._limits.limit_share(0.5):
                score = self._ply_search.score(position, value)
        except NotSolvedError:
            self._ply_search = None
            return None
        return score if value == "draw" else self._ply_search.win_score - abs(score)
