"""Find puzzles: positions in which exactly one move wins, graded by difficulty.

All values are exact. Limits count positions, not seconds, and searches are never compiled: the same
seed gives the same puzzles on every machine.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from functools import partial
from itertools import count, islice
from random import Random
from typing import TypeVar

from number_tower.engine import catalogue
from number_tower.engine.catalogue import Rulebook
from number_tower.engine.game import Game, play_randomly
from number_tower.engine.position import Position
from number_tower.engine.rules import Rules
from number_tower.players.levels import evaluate_moves
from number_tower.solve.deep import DeepSolver
from number_tower.solve.limits import NotSolvedError, SearchLimits
from number_tower.solve.solution import Solution, choose_solver
from number_tower.solve.worth import Solver

__all__ = [
    "GRADES",
    "Puzzle",
    "PuzzleStream",
    "find_daily_puzzle",
    "find_mixed_puzzles",
    "find_numbered_puzzle",
    "find_puzzles",
]

GRADES = range(1, 6)

T = TypeVar("T")

_MAX_POSITIONS = 6_000
"""Search a game of at most this many positions completely, a larger one by random games."""

_MAX_BLOCKS_TO_ENUMERATE = 100
"""Do not try to search a game with more blocks completely."""

_MAX_BLOCKS_TO_REDUCE = 2_000
"""Up to this many blocks, positions are compared without the blocks that no longer fit."""

_MAX_MOVES = _MAX_BLOCKS_TO_ENUMERATE
"""A puzzle has at most this many legal moves."""

_MAX_SEARCHED = 10_000
"""Give up on one random game after searching this many positions."""

_MEMORY = 8
"""Memory of that search in MiB, apart from the blocks."""

_MAX_SEARCHED_FOR_PLIES = 2_000
"""If a theory gives the value of a puzzle, search at most this many positions for its plies."""

_MAX_SEARCHED_TO_EXPLAIN = 50_000
"""Search at most this many positions to explain every move of a puzzle."""

_MAX_BLOCKS_FOR_PLIES = 56
"""With more blocks left, do not search for plies."""

_MAX_WORK = 15 * _MAX_SEARCHED
"""Give up after searching this many positions without finding a puzzle.

A position that is only played, not searched, counts as at least 30.
"""

_LOOKAHEAD = 3
"""For each puzzle, find this many and return one of the least frequent grade."""

_UNKNOWN_PLIES = 9
"""Assumed plies to the end where they are unknown: such a win is long."""

_HARD, _HARDEST = 6, 12
"""Grades 4 and 5 begin at this product of tempting moves and plies of the win."""

_TRIALS = 3
"""Variations of a game in which to look for a puzzle of a grade."""

_GRADES_BY_WEEKDAY = (1, 2, 3, 3, 4, 4, 5)
"""The grade of each weekday, from Monday."""


@dataclass(frozen=True)
class Puzzle:
    """A game at a position with exactly one winning move.

    Examples:
        >>> puzzle = next(find_puzzles(nt.Rules(target=15), seed=1))
        >>> puzzle.game.moves, puzzle.answer, puzzle.plies
        ((2, 6), 7, 1)
        >>> puzzle.solve().best
        (7,)
    """

    game: Game
    answer: int
    grade: int
    plies: int | None
    """The plies to the end with best play, answer included; None if unknown."""

    def solve(self, memory: int | None = None) -> Solution:
        """Solve the puzzle for its explanations; without plies if they take too long."""
        position = self.game.position
        budget = partial(SearchLimits, positions=_MAX_SEARCHED_TO_EXPLAIN, memory=memory)
        solution = Solution(position, budget())
        try:
            solution.best  # noqa: B018 - evaluates all moves
        except NotSolvedError:
            # The search for the puzzle needed no plies, and fewer positions than this.
            return Solution(position, budget(), plies=False)
        return solution


def find_puzzles(rules: Rules, seed: int | str, *, grade: int | None = None) -> PuzzleStream:
    """Yield puzzles of a game, of one grade or of all in turn, without repeating a position.

    Examples:
        >>> puzzles = find_puzzles(nt.Rules(target=15), seed=1, grade=1)
        >>> [puzzle.answer for puzzle, _ in zip(puzzles, range(3))]
        [7, 4, 6]
    """
    return PuzzleStream(rules, seed, grade)


def find_daily_puzzle(day: str, *, grade: int | None = None) -> tuple[Rulebook, Puzzle]:
    """Return the puzzle of a day such as 2027-01-31, the same for everyone, and its game.

    The grade rises from Monday to Sunday.

    Examples:
        >>> book, puzzle = find_daily_puzzle("2026-11-15")
        >>> puzzle.game.moves, puzzle.answer
        ((9, 8, 6), 4)
    """
    if grade is None:
        grade = _GRADES_BY_WEEKDAY[date.fromisoformat(day).weekday()]
    return _find_in_catalogue(day, grade)


def find_mixed_puzzles(
    seed: int | str, *, grade: int | None = None
) -> Iterator[tuple[Rulebook, Puzzle]]:
    """Yield endless puzzles from the whole catalogue, of one grade or of all in turn.

    Examples:
        >>> book, puzzle = next(find_mixed_puzzles(seed=1, grade=2))
        >>> puzzle.grade, puzzle.game.position.refusal(puzzle.answer)
        (2, None)
    """
    seen: set[object] = set()
    for number in count(1):
        book, puzzle = find_numbered_puzzle(seed, number, grade=grade)
        position = book.name, puzzle.game.rules, reduce_position(puzzle.game.position)
        if position not in seen:
            seen.add(position)
            yield book, puzzle


def find_numbered_puzzle(
    seed: int | str, number: int, *, grade: int | None = None, book: Rulebook | None = None
) -> tuple[Rulebook, Puzzle]:
    """Return a puzzle by its number from 1, of the whole catalogue or of one game.

    Without a grade, all come in turn. A `LookupError` says which grades a game has instead.

    Examples:
        >>> book, puzzle = find_numbered_puzzle("2027", 3)
        >>> puzzle.grade
        3
    """
    wanted = GRADES[(number - 1) % len(GRADES)] if grade is None else grade
    if book is None:
        return _find_in_catalogue(f"{seed} {number - 1}", wanted)
    rng = Random(f"{seed} {number}")  # noqa: S311 - play, not secrets
    counts: Counter[int] = Counter()
    for trial in range(_TRIALS):
        # The last trial is the unchanged game of the catalogue.
        rules = _vary_rules(book, rng) if trial < _TRIALS - 1 else book.rules
        stream = find_puzzles(rules, f"{seed} {number}", grade=wanted)
        for puzzle in stream:
            return book, puzzle
        counts += stream.found
    if grade is None and counts:
        nearest = min(counts, key=lambda other: abs(other - wanted))
        return find_numbered_puzzle(seed, number, grade=nearest, book=book)
    grades = " and ".join(map(str, sorted(counts)))
    others = f"; of grade {grades} there are some" if counts else ""
    raise LookupError(f"no puzzle of grade {wanted} was found in {book.name}{others}")


def _find_in_catalogue(seed: str, grade: int) -> tuple[Rulebook, Puzzle]:
    """Return a puzzle from some game with a higher target or more blocks than usual."""
    rng = Random(seed)  # noqa: S311 - play, not secrets
    for book in shuffle(catalogue.load_all(), rng):
        for puzzle in find_puzzles(_vary_rules(book, rng), seed, grade=grade):
            return book, puzzle
    raise LookupError(f"no game of the catalogue has a puzzle of grade {grade}")


class PuzzleStream(Iterator[Puzzle]):
    """The puzzles of one game, found on demand, and how many of each grade were found.

    Examples:
        >>> stream = PuzzleStream(nt.Rules(fit="related"), seed=1)
        >>> len(list(stream)), stream.complete, stream.found[1]
        (36, True, 8)
    """

    def __init__(self, rules: Rules, seed: int | str, grade: int | None = None) -> None:
        self.found: Counter[int] = Counter()
        """The number of puzzles found so far by grade, whether returned or not."""
        self.complete = False
        """Whether all positions of the game were searched, so that no puzzle is left."""
        self._rules = rules
        self._grade = grade
        self._rng = Random(f"{seed} {rules.to_dict()}")  # noqa: S311 - play, not secrets
        ways = _enumerate_positions(rules, self._rng)
        puzzles = self._search_random_games() if ways is None else self._search_all(ways)
        self._puzzles = _balance_grades(puzzles) if grade is None else puzzles

    def __next__(self) -> Puzzle:
        """Return the next puzzle."""
        return next(self._puzzles)

    def _search_all(self, ways: Sequence[tuple[int, ...]]) -> Iterator[Puzzle]:
        """Search every position of a small game; `ways` are the moves that lead to each."""
        solver = DeepSolver(Position.start(self._rules), SearchLimits(), compiled=False)
        for moves in shuffle(ways, self._rng):
            puzzle = _make_puzzle(Game(self._rules, pick_below(2, self._rng), moves), solver)
            if puzzle is not None and self._count_and_match(puzzle):
                yield puzzle
        self.complete = True

    def _search_random_games(self) -> Iterator[Puzzle]:
        """Play random games, and yield the first puzzle of each after a random move.

        Later games skip early positions that proved too hard to solve. The search ends after
        `_MAX_WORK` without a puzzle.
        """
        rules, seen = self._rules, set[object]()
        memory = _MEMORY + len(rules.blocks) // 4_000
        solvable = work = 0
        while work < _MAX_WORK:
            start = Game(rules, pick_below(2, self._rng))
            # The last one is over, so it has no puzzle.
            games = list(play_randomly(start, self._rng))[:-1]
            work += (1 + len(games)) * (30 + len(rules.blocks) // 10)
            games = games[max(solvable, pick_below(len(games), self._rng)) :]
            if not games:
                continue
            try:
                limits = SearchLimits(positions=_MAX_SEARCHED, memory=memory)
                solver = choose_solver(games[0].position, limits, plies=False, compiled=False)
                for game in games:
                    position = reduce_position(game.position)
                    puzzle = None if position in seen else _make_puzzle(game, solver)
                    if puzzle is not None:
                        seen.add(position)
                        if self._count_and_match(puzzle):
                            yield puzzle
                            work = 0
                            break
                work += solver.positions if isinstance(solver, DeepSolver) else 0
            except NotSolvedError:
                work += _MAX_SEARCHED
                # Begin later in the next games, where fewer positions are left.
                solvable = (solvable + len(games[0].moves)) // 2 + 1

    def _count_and_match(self, puzzle: Puzzle) -> bool:
        self.found[puzzle.grade] += 1
        return self._grade in {None, puzzle.grade}


def _make_puzzle(game: Game, solver: Solver) -> Puzzle | None:
    """Return a puzzle at the position of a game, if exactly one move wins."""
    position = game.position
    legal = position.legal
    if not 2 <= len(legal) <= _MAX_MOVES:
        return None
    # With two winning moves it is not a puzzle: stop counting.
    wins = (block for block in legal if solver.evaluate_move(position, block).value == "win")
    winning = list(islice(wins, 2))
    if len(winning) != 1:
        return None
    plies = _count_plies(position, winning[0], solver)
    if plies is None and isinstance(solver, DeepSolver):
        return None
    # Grade 1 wins at once, 2 is seen two plies ahead, 3 to 5 need more and more reading.
    grade = 1
    if plies != 1:
        scores = list(evaluate_moves(position, 2, legal).values())
        # The moves that look as good as the answer two plies ahead must be read to the end.
        tempting = scores.count(max(scores)) - 1
        read = tempting * (_UNKNOWN_PLIES if plies is None else plies)
        grade = 3 + (read >= _HARD) + (read >= _HARDEST) if tempting else 2
    return Puzzle(game, winning[0], grade, plies)


def _count_plies(position: Position, answer: int, solver: Solver) -> int | None:
    """Return the plies of a win, where they are known or soon found."""
    ends = position.place(answer).outcome is not None
    plies = 1 if ends else solver.evaluate(position).plies
    if plies is None and position.left[position.to_move].bit_count() <= _MAX_BLOCKS_FOR_PLIES:
        with suppress(NotSolvedError):
            limits = SearchLimits(positions=_MAX_SEARCHED_FOR_PLIES)
            plies = DeepSolver(position, limits, compiled=False).evaluate(position).plies
    return plies


# Where positions come from ------------------------------------------------------------------------


def _enumerate_positions(rules: Rules, rng: Random) -> list[tuple[int, ...]] | None:
    """Return a random line of moves to each position; None for too many positions."""
    if len(rules.blocks) > _MAX_BLOCKS_TO_ENUMERATE:
        return None
    start = Position.start(rules)
    ways: dict[object, tuple[int, ...]] = {reduce_position(start): ()}
    visits: Counter[object] = Counter()
    frontier: list[tuple[Position, tuple[int, ...]]] = [(start, ())]
    while frontier and len(ways) <= _MAX_POSITIONS:
        index = pick_below(len(frontier), rng)
        frontier[index], frontier[-1] = frontier[-1], frontier[index]
        position, moves = frontier.pop()
        for block in position.legal:
            after, way = position.place(block), (*moves, block)
            key = reduce_position(after)
            if key not in ways:
                frontier.append((after, way))
            # Keep each of n lines to a position with probability 1/n.
            visits[key] += 1
            if not pick_below(visits[key], rng):
                ways[key] = way
    return None if frontier else list(ways.values())


def reduce_position(position: Position) -> object:
    """Return all that the rest of a game depends on, as the player to move sees it."""
    rules = position.rules
    if len(rules.blocks) > _MAX_BLOCKS_TO_REDUCE:
        return position
    live = [position.find_reachable(player) for player in (0, 1)]
    # With one pool or one tower, a block that one player can reach matters to both.
    if "shared" in {rules.supply, rules.towers}:
        live = [live[0] | live[1]] * 2
    # In other games, heights decide neither what fits nor who wins.
    height_counts = rules.target is not None or rules.stuck == "skips"
    sides = []
    for player in (position.to_move, 1 - position.to_move):
        left = position.left[player] & live[player]
        height = position.heights[player] if height_counts else 0
        sides.append((left, left & rules.fits(position.tops[player]), height))
    return tuple(sides)


def _vary_rules(book: Rulebook, rng: Random) -> Rules:
    """Return a game's rules with up to twice the target or, without a target, the blocks."""
    rules = book.rules
    if rules.target is not None and "target" in book.options:
        return book.apply_options({"target": rules.target + pick_below(rules.target + 1, rng)})
    if isinstance(rules.blocks, range) and "blocks" in book.options:
        blocks = rules.blocks
        more = blocks.step * pick_below(len(blocks) + 1, rng)
        longer = range(blocks.start, blocks.stop + more, blocks.step)
        return book.apply_options({"blocks": longer})
    return rules


# Random choices: Python guarantees stable results only of `Random.random` -------------------------


def pick_below(number: int, rng: Random) -> int:
    """Return a random whole number from 0 to below this one."""
    return int(rng.random() * number)


def shuffle(things: Iterable[T], rng: Random) -> list[T]:
    """Return items in a random order."""
    return sorted(things, key=lambda _: rng.random())


def _balance_grades(puzzles: Iterator[Puzzle]) -> Iterator[Puzzle]:
    """Yield all puzzles, in an order in which every grade is about equally frequent."""
    counts: Counter[int] = Counter()
    queues: dict[int, deque[Puzzle]] = {grade: deque() for grade in GRADES}
    while True:
        # Read ahead, so that there are several grades to choose from.
        for puzzle in islice(puzzles, _LOOKAHEAD):
            queues[puzzle.grade].append(puzzle)
        waiting = [grade for grade in GRADES if queues[grade]]
        if not waiting:
            return
        # The least frequent grade so far; of several, the lowest.
        grade = min(waiting, key=lambda candidate: counts[candidate])
        counts[grade] += 1
        yield queues[grade].popleft()
