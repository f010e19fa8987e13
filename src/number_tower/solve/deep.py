"""The deep search, for rules that no theory covers: a transposition table of bounded size, compiled where that pays."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Any

from number_tower.position import Position
from number_tower.rules import Rules
from number_tower.solve import jit, kernel
from number_tower.solve.encoding import MAX_PLIES, WORD_BITS, encode_position, encode_rules
from number_tower.solve.limits import NotSolvedError, SearchLimits
from number_tower.solve.worth import Solver, Value, Worth

_SLICE_POSITIONS = 2_000
_COMPILED_SLICE_POSITIONS = 100_000
"""Positions between two looks at the clock; they do not change what is searched."""

_FIRST_TURN_POSITIONS = 100_000
"""Positions for the move order that is best in general, before the others take turns with it."""

_TURN_POSITIONS = 20_000
"""Positions of every later turn."""

_COMPILE_AFTER_POSITIONS = 30_000
"""Positions that the interpreter searches in the time that loading the compiler takes."""

_SMALLEST_TABLE = 1 << 10
_LARGEST_TABLE = 1 << 31
_FEWEST_FRAMES = 64
_MAX_LIST_FRAMES = 1 << 12
"""Frames up to which an interpreted stack is a list: faster than an array, but larger."""

_NEVER_FULL = 1 << 60


class Search:
    """A search from one root, for values alone or with plies; its table keeps what was found.

    Where one move order takes too long another may not: several stacks, each with its own order, take turns and share
    the table. What is searched follows only from the root and the limits of positions and memory: turns and the size
    of the table depend on counts of positions, never on whether the search is compiled or how often it is interrupted.
    """

    def __init__(
        self,
        root: Position,
        limits: SearchLimits,
        *,
        plies: bool,
        compiled: bool | None = None,
        tables: int = 1,
    ) -> None:
        self._table_count = tables
        self._limits = limits
        self._rules, self._bits = encode_rules(root, limits, plies=plies)
        self._kernel_rules: Any = self._rules
        self._stacks = [SearchStack(modulus) for modulus in _choose_moduli(root.rules)]
        self.slots = _SMALLEST_TABLE
        self._fill_limit = _compute_fill_limit(_SMALLEST_TABLE)
        self.stored = self.positions = 0
        self._search: Callable[..., None] = kernel.search
        self._rehash: Callable[..., int] = kernel.rehash
        self._compiled = False
        self._table: Any = self._allocate(_SMALLEST_TABLE * self._rules[kernel.SLOT_WORDS])
        self._compile_after = None
        self._slice = max(1, _SLICE_POSITIONS * 20 // max(20, self._rules[kernel.BLOCK_COUNT]))
        if self._bits <= WORD_BITS and compiled is not False and jit.is_available():
            self._compile_after = 0 if compiled or jit.is_loaded() else _COMPILE_AFTER_POSITIONS

    @property
    def win_score(self) -> int:
        """The score of a win in 0 plies."""
        return self._rules[kernel.WIN]

    def score(self, position: Position, value: Value | None = None) -> int:
        """Return the score of a position that is not over; a value that is known already shortens the search."""
        frame, score = self._make_root(position, value)
        if score != kernel.UNKNOWN:
            return score
        for stack in self._stacks:
            stack.restart(frame)
        before = self.positions
        while True:
            result = self._advance(*self._choose_stack(self.positions - before))
            if result is not None:
                return result
            self._limits.check(filled=self.stored / self.slots)

    def _choose_stack(self, searched: int) -> tuple[SearchStack, int]:
        """Return the stack whose turn it is after `searched` positions, and the positions left in its turn."""
        if searched < _FIRST_TURN_POSITIONS:
            return self._stacks[0], _FIRST_TURN_POSITIONS - searched
        turns, used = divmod(searched - _FIRST_TURN_POSITIONS, _TURN_POSITIONS)
        return self._stacks[(turns + 1) % len(self._stacks)], _TURN_POSITIONS - used

    def _advance(self, stack: SearchStack, turn_left: int) -> int | None:
        """Search one slice, at most to the end of the turn or of the positions allowed; return the score when done."""
        self._prepare(stack)
        state = stack.state
        state[kernel.POSITIONS], state[kernel.STORED] = self.positions, self.stored
        state[kernel.BUCKETS], state[kernel.FILL_LIMIT] = (
            self.slots // kernel.BUCKET_SLOTS,
            self._fill_limit,
        )
        most = _COMPILED_SLICE_POSITIONS if self._compiled else self._slice
        budget = int(min(most, turn_left, self._limits.positions_left))
        self._search(budget, self._kernel_rules, stack.frames, self._table, state)
        self._limits.count_positions(int(state[kernel.POSITIONS]) - self.positions)
        self.positions, self.stored = int(state[kernel.POSITIONS]), int(state[kernel.STORED])
        return int(state[kernel.RESULT]) if state[kernel.DONE] else None

    def _make_root(self, position: Position, value: Value | None) -> tuple[list[int], int]:
        """Return the first frame of a stack, and its score if that is known without a search."""
        win, max_draw = self.win_score, self._rules[kernel.MAX_DRAW]
        frame = encode_position(position, self._rules)
        windows = {
            "win": (max_draw, win),
            "draw": (-max_draw, max_draw + 1),
            "loss": (-win, -max_draw),
            None: (-win, win),
        }
        frame[kernel.ALPHA], frame[kernel.BETA] = windows[value]
        frame[kernel.FIRST_ALPHA] = frame[kernel.ALPHA]
        frame[kernel.POSITIONS_BEFORE] = self.positions
        score = kernel.look_ahead(self._rules, frame, 0)
        if score == kernel.UNKNOWN:
            score = kernel.set_key(self._rules, frame, 0)
        if score == kernel.UNKNOWN:
            score = int(
                kernel.probe_table(
                    self._rules, frame, 0, self._table, self.slots // kernel.BUCKET_SLOTS
                )
            )
        return frame, score

    # Memory ----------------------------------------------------------------------------------------------------

    def _prepare(self, stack: SearchStack) -> None:
        """Before a slice, compile if that pays by now, and enlarge the stack and the table if they are full."""
        if (
            not self._compiled
            and self._compile_after is not None
            and self.positions >= self._compile_after
        ):
            if (
                jit.is_loaded() or self._limits.seconds_left > jit.COMPILE_SECONDS
            ) and jit.load_compiler():
                self._compile()
            else:
                self._compile_after = None
        if stack.state[kernel.DEPTH] + 1 >= stack.state[kernel.MAX_FRAMES]:
            self._grow_stack(stack)
        if self.stored >= self._fill_limit:
            self._grow_table()

    def _compile(self) -> None:
        self._search, self._rehash = (
            jit.compile_kernel(kernel.search),
            jit.compile_kernel(kernel.rehash),
        )
        to_array = jit.load_numpy().asarray
        self._kernel_rules, self._table = to_array(self._rules), to_array(self._table)
        for stack in self._stacks:
            stack.frames, stack.state = to_array(stack.frames), to_array(stack.state)
        self._compiled = True

    def _grow_stack(self, stack: SearchStack) -> None:
        """Double a stack."""
        count = 2 * int(stack.state[kernel.MAX_FRAMES])
        if count > MAX_PLIES:
            raise NotSolvedError(f"not solved within lines of {MAX_PLIES:,} plies")
        self._limits.require_memory(self._count_bytes(self.slots, count))
        longer = self._allocate(count * kernel.FRAME_SIZE, as_list=count <= _MAX_LIST_FRAMES)
        longer[: len(stack.frames)] = (
            array("q", stack.frames) if isinstance(longer, array) else stack.frames
        )
        stack.frames = longer
        stack.state[kernel.MAX_FRAMES] = count

    def _grow_table(self) -> None:
        """Make the table four times as large, or as large as the memory allows while the old one is still there."""
        slots = 4 * self.slots
        frames = max(int(stack.state[kernel.MAX_FRAMES]) for stack in self._stacks)
        while slots > self.slots and not self._limits.has_memory(
            self._count_bytes(self.slots + slots, frames)
        ):
            slots = slots * 15 // 16
        slots = min(slots, _LARGEST_TABLE) // kernel.BUCKET_SLOTS * kernel.BUCKET_SLOTS
        if slots * 8 < self.slots * 9:
            self._fill_limit = _NEVER_FULL
            return
        old, self.slots = self._table, slots
        self._table = self._allocate(slots * self._rules[kernel.SLOT_WORDS])
        self.stored = int(
            self._rehash(old, self._kernel_rules, self._table, slots // kernel.BUCKET_SLOTS)
        )
        self._fill_limit = _compute_fill_limit(slots)

    def _allocate(self, size: int, *, as_list: bool = False) -> Any:
        """Return `size` zeros; interpreted, as a list if the numbers can be larger than a machine word."""
        if self._compiled:
            return jit.load_numpy().zeros(size, "int64")
        return [0] * size if as_list or self._bits > WORD_BITS else array("q", [0]) * size

    def _count_bytes(self, slots: int, frames: int) -> int:
        """Return the memory for such tables and stacks when interpreted, which may need more than compiled.

        The size of the table affects what is found within a number of positions, so it must not depend on whether the
        search is compiled. In a list every number is an object of its own.
        """
        in_list = 48 + self._bits // 7
        in_table = in_list if self._bits > WORD_BITS else 8
        in_stack = in_list if frames <= _MAX_LIST_FRAMES else in_table
        table, stacks = (
            slots * self._rules[kernel.SLOT_WORDS],
            frames * kernel.FRAME_SIZE * len(self._stacks),
        )
        return self._table_count * (table * in_table + stacks * in_stack)


def _compute_fill_limit(slots: int) -> int:
    """Return the number of entries at which a table is too full: more than two thirds of its slots."""
    return slots * 2 // 3 + 1


class SearchStack:
    """A line of search with its own move order: the frames of its positions, and the state of the kernel."""

    def __init__(self, modulus: int) -> None:
        self.frames: Any = [0] * (_FEWEST_FRAMES * kernel.FRAME_SIZE)
        self.state: Any = [0] * (kernel.DONE + 1)
        self.state[kernel.MAX_FRAMES] = _FEWEST_FRAMES
        self.state[kernel.MODULUS] = modulus

    def restart(self, frame: list[int]) -> None:
        """Start again from the frame of a root."""
        for place, number in enumerate(frame):
            self.frames[place] = number
        self.state[kernel.DEPTH] = self.state[kernel.DONE] = 0


def _choose_moduli(rules: Rules) -> list[int]:
    """Return the move orders to try: highest block first (0), or first the one that leaves a multiple of a number.

    On one tower with a target, a player who can answer every block with its partner counts in such steps.
    """
    if rules.target is None or rules.towers == "own" or rules.fit != "any":
        return [0]
    pair = rules.blocks[0] + rules.blocks[-1]
    return [0, pair + 1, pair]


class DeepSolver(Solver):
    """Searches for the value first, which is found soonest, and then for the plies within the bounds it sets."""

    method = "deep search"

    def __init__(
        self,
        root: Position,
        limits: SearchLimits,
        *,
        plies: bool = True,
        compiled: bool | None = None,
    ) -> None:
        tables = 2 if plies else 1
        with limits.measure():
            self._value_search = Search(root, limits, plies=False, compiled=compiled, tables=tables)
            self._ply_search = (
                Search(root, limits, plies=True, compiled=compiled, tables=tables)
                if plies
                else None
            )
        self._limits = limits

    @property
    def positions(self) -> int:
        """How many positions have been searched."""
        return self._value_search.positions + (
            self._ply_search.positions if self._ply_search else 0
        )

    def _evaluate_running(self, position: Position) -> Worth:
        """Return the worth of a position, without plies if only these were not found within the limits."""
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
