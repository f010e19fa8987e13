"""The deep search, for rules that no theory covers, with a transposition table."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Any

from number_tower.engine.position import Position
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

_MIN_SLOTS = 1 << 10
_MAX_SLOTS = 1 << 31
_MIN_FRAMES = 64
_MAX_LIST_FRAMES = 1 << 12
"""Up to this many frames, an interpreted stack is a list: faster than an array, but larger."""

_NEVER_FULL = 1 << 60


class Search:
    """A search from one root, for values alone or with plies; its table keeps what was found.

    Where one move order takes too long another may not: several stacks, each with its own order,
    take turns and share the table. What is searched follows only from the root and the limits of
    positions and memory: turns and the size of the table depend on counts of positions, never on
    whether the search is compiled or how often it is interrupted.
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
        # Move orders: the highest block first (0), or the one that leaves a multiple of a number:
        # on one tower with a target, a player who answers in pairs counts in such steps.
        moduli = [0]
        if (
            root.rules.target is not None
            and root.rules.towers == "shared"
            and root.rules.fit == "any"
        ):
            pair = root.rules.blocks[0] + root.rules.blocks[-1]
            moduli += [pair + 1, pair]
        self._stacks = [SearchStack(modulus) for modulus in moduli]
        self.slots = _MIN_SLOTS
        self._fill_limit = _compute_fill_limit(_MIN_SLOTS)
        self.stored = self.positions = 0
        self._search: Callable[..., None] = kernel.search
        self._rehash: Callable[..., int] = kernel.rehash
        self._compiled = False
        self._table: Any = self._allocate(_MIN_SLOTS * self._rules[kernel.SLOT_WORDS])
        self._compile_after = None
        self._slice = max(1, _SLICE_POSITIONS * 20 // max(20, self._rules[kernel.BLOCK_COUNT]))
        if self._bits <= WORD_BITS and compiled is not False and jit.is_available():
            self._compile_after = 0 if compiled or jit.is_loaded() else _COMPILE_AFTER_POSITIONS

    @property
    def win_score(self) -> int:
        """The score of a win in 0 plies."""
        return self._rules[kernel.WIN]

    def score(self, position: Position, value: Value | None = None) -> int:
        """Return the score of a position that is not over.

        A value that is known already shortens the search.
        """
        frame, score = self._make_root(position, value)
        if score != kernel.UNKNOWN:
            return score
        for stack in self._stacks:
            for place, number in enumerate(frame):
                stack.frames[place] = number
            stack.state[kernel.DEPTH] = stack.state[kernel.DONE] = 0
        before = self.positions
        while True:
            # The first stack searches alone for a while; then all take turns.
            stack, turn_left = self._stacks[0], before + _FIRST_TURN_POSITIONS - self.positions
            if turn_left <= 0:
                turns, used = divmod(-turn_left, _TURN_POSITIONS)
                stack = self._stacks[(turns + 1) % len(self._stacks)]
                turn_left = _TURN_POSITIONS - used
            result = self._advance(stack, turn_left)
            if result is not None:
                return result
            self._limits.check(filled=self.stored / self.slots)

    def _advance(self, stack: SearchStack, turn_left: int) -> int | None:
        """Search one slice, at most to the end of the turn or of the positions allowed.

        Return the score when done.
        """
        self._prepare(stack)
        state = stack.state
        state[kernel.POSITIONS], state[kernel.STORED] = self.positions, self.stored
        state[kernel.BUCKETS] = self.slots // kernel.BUCKET_SLOTS
        state[kernel.FILL_LIMIT] = self._fill_limit
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

    # Memory ---------------------------------------------------------------------------------------

    def _prepare(self, stack: SearchStack) -> None:
        """Before a slice, compile if that pays by now, and enlarge a full stack or table."""
        pays = self._compile_after is not None and self.positions >= self._compile_after
        if pays and not self._compiled:
            in_time = jit.is_loaded() or self._limits.seconds_left > jit.COMPILE_SECONDS
            if in_time and jit.load_compiler():
                self._compile()
            else:
                self._compile_after = None
        if stack.state[kernel.DEPTH] + 1 >= stack.state[kernel.MAX_FRAMES]:
            count = 2 * int(stack.state[kernel.MAX_FRAMES])
            if count > MAX_PLIES:
                raise NotSolvedError(f"not solved within lines of {MAX_PLIES:,} plies")
            self._limits.require_memory(self._count_bytes(self.slots, count))
            longer = self._allocate(count * kernel.FRAME_SIZE, as_list=count <= _MAX_LIST_FRAMES)
            frames = array("q", stack.frames) if isinstance(longer, array) else stack.frames
            longer[: len(frames)] = frames
            stack.frames, stack.state[kernel.MAX_FRAMES] = longer, count
        if self.stored >= self._fill_limit:
            self._grow_table()

    def _compile(self) -> None:
        self._search = jit.compile_kernel(kernel.search)
        self._rehash = jit.compile_kernel(kernel.rehash)
        to_array = jit.load_numpy().asarray
        self._kernel_rules, self._table = to_array(self._rules), to_array(self._table)
        for stack in self._stacks:
            stack.frames, stack.state = to_array(stack.frames), to_array(stack.state)
        self._compiled = True

    def _grow_table(self) -> None:
        """Make the table four times as large, or as large as memory allows beside the old one."""
        slots = 4 * self.slots
        frames = max(int(stack.state[kernel.MAX_FRAMES]) for stack in self._stacks)
        while slots > self.slots and not self._limits.has_memory(
            self._count_bytes(self.slots + slots, frames)
        ):
            slots = slots * 15 // 16
        slots = min(slots, _MAX_SLOTS) // kernel.BUCKET_SLOTS * kernel.BUCKET_SLOTS
        # A table that is hardly larger is not worth the copying: replace entries from now on.
        if slots * 8 < self.slots * 9:
            self._fill_limit = _NEVER_FULL
            return
        old, self.slots = self._table, slots
        self._table = self._allocate(slots * self._rules[kernel.SLOT_WORDS])
        buckets = slots // kernel.BUCKET_SLOTS
        self.stored = int(self._rehash(old, self._kernel_rules, self._table, buckets))
        self._fill_limit = _compute_fill_limit(slots)

    def _allocate(self, size: int, *, as_list: bool = False) -> Any:
        """Return `size` zeros.

        Interpreted, as a list if the numbers can be larger than a machine word.
        """
        if self._compiled:
            return jit.load_numpy().zeros(size, "int64")
        return [0] * size if as_list or self._bits > WORD_BITS else array("q", [0]) * size

    def _count_bytes(self, slots: int, frames: int) -> int:
        """Return the memory for such tables and stacks when interpreted.

        The size of the table affects what is found within a number of positions, so it must not
        depend on whether the search is compiled. In a list every number is an object of its own.
        """
        in_list = 48 + self._bits // 7
        in_table = in_list if self._bits > WORD_BITS else 8
        in_stack = in_list if frames <= _MAX_LIST_FRAMES else in_table
        table = slots * self._rules[kernel.SLOT_WORDS]
        stacks = frames * kernel.FRAME_SIZE * len(self._stacks)
        return self._table_count * (table * in_table + stacks * in_stack)


def _compute_fill_limit(slots: int) -> int:
    """Return the entries at which a table is too full: more than two thirds of its slots."""
    return slots * 2 // 3 + 1


class SearchStack:
    """A line of search with its own move order: frames of positions, and the kernel's state."""

    def __init__(self, modulus: int) -> None:
        self.frames: Any = [0] * (_MIN_FRAMES * kernel.FRAME_SIZE)
        self.state: Any = [0] * (kernel.DONE + 1)
        self.state[kernel.MAX_FRAMES] = _MIN_FRAMES
        self.state[kernel.MODULUS] = modulus


class DeepSolver(Solver):
    """Searches for the value first, and then for the plies within the bounds that it sets."""

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
        """Return the worth of a position, without plies that were not found within the limits."""
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
