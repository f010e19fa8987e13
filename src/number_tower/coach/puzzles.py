"""Puzzles: positions of real games in which exactly one move wins, graded by how hard that move is to find.

Every value is exact. Work is limited by positions and never by time, and no search is compiled, so the same seed finds
the same puzzles on every machine.
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

from number_tower import catalogue
from number_tower.catalogue import Rulebook
from number_tower.game import Game, play_randomly
from number_tower.players.levels import evaluate_moves
from number_tower.position import Position
from number_tower.rules import Rules
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
"""Positions up to which all of a game are looked at; of a larger game, those of random games."""

_MAX_BLOCKS_TO_ENUMERATE = 100
"""Blocks up to which it is tried whether a game has so few positions."""

_MAX_BLOCKS_TO_REDUCE = 2_000
"""Blocks up to which it is computed which of them still matter."""

_MAX_MOVES = _MAX_BLOCKS_TO_ENUMERATE
"""Legal moves of a puzzle."""

_MAX_SEARCHED = 10_000
"""Positions that are searched for one game, where no theory tells the values."""

_MEMORY = 8
"""MiB that this search may use, besides the memory of the blocks themselves."""

_MAX_SEARCHED_FOR_PLIES = 2_000
"""Positions that are searched for the plies of a puzzle, if a theory tells only the values."""

_MAX_SEARCHED_TO_EXPLAIN = 50_000
"""Positions that are searched to say more of a puzzle than its answer."""

_MAX_BLOCKS_FOR_PLIES = 56
"""Blocks left up to which the plies are searched for."""

_MAX_WORK = 15 * _MAX_SEARCHED
"""Positions searched without a puzzle after which the search ends; one only played through counts as 30 or more."""

_LOOKAHEAD = 3
"""Puzzles that are found for each that is given, to choose the least frequent grade from."""

_UNKNOWN_PLIES = 9
"""Plies to the end that are assumed where they are not known: the win is a long one."""

_HARD, _HARDEST = 6, 12
"""Plies to be read, over all tempting moves, from which a puzzle is of the fourth grade, and of the fifth."""

_TRIALS = 3
"""Variations of a game in which a puzzle of some grade is looked for."""

_GRADES_BY_WEEKDAY = (1, 2, 3, 3, 4, 4, 5)
"""The grades of the week, from Monday on."""


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
    """The plies to the end, answer included, if both play their best (None: not known)."""

    def solve(self, memory: int | None = None) -> Solution:
        """Solve the puzzle for its explanations; without the plies of the moves if those of some move take long."""
        position = self.game.position
        budget = partial(SearchLimits, positions=_MAX_SEARCHED_TO_EXPLAIN, memory=memory)
        solution = Solution(position, budget())
        try:
            solution.best  # noqa: B018 - evaluates all moves
        except NotSolvedError:
            # Without plies it was found with fewer positions than these.
            return Solution(position, budget(), plies=False)
        return solution


def find_puzzles(rules: Rules, seed: int | str, *, grade: int | None = None) -> PuzzleStream:
    """Give puzzles of a game, of one grade or of all in turn; no two are the same position, and both seats come up.

    Examples:
        >>> [puzzle.answer for puzzle, _ in zip(find_puzzles(nt.Rules(target=15), seed=1, grade=1), range(3))]
        [7, 4, 6]
    """
    return PuzzleStream(rules, seed, grade)


def find_daily_puzzle(day: str, *, grade: int | None = None) -> tuple[Rulebook, Puzzle]:
    """Return the puzzle of a day such as 2027-01-31, the same for everyone, and the game that it is from.

    The grade rises from Monday to Sunday.

    Examples:
        >>> book, puzzle = find_daily_puzzle("2026-11-15")
        >>> puzzle.game.moves, puzzle.answer
        ((9, 8, 6), 4)
    """
    return _find_in_catalogue(
        day, _GRADES_BY_WEEKDAY[date.fromisoformat(day).weekday()] if grade is None else grade
    )


def find_mixed_puzzles(
    seed: int | str, *, grade: int | None = None
) -> Iterator[tuple[Rulebook, Puzzle]]:
    """Give puzzles from the whole catalogue without end, each with its game; of one grade, or of all in turn.

    Examples:
        >>> book, puzzle = next(find_mixed_puzzles(seed=1, grade=2))
        >>> puzzle.grade, puzzle.game.position.refusal(puzzle.answer)
        (2, None)
    """
    given: set[object] = set()
    for number in count(1):
        book, puzzle = find_numbered_puzzle(seed, number, grade=grade)
        at = book.name, puzzle.game.rules, reduce_position(puzzle.game.position)
        if at not in given:
            given.add(at)
            yield book, puzzle


def find_numbered_puzzle(
    seed: int | str, number: int, *, grade: int | None = None, book: Rulebook | None = None
) -> tuple[Rulebook, Puzzle]:
    """Return a puzzle by its number from 1, without those before it: from the whole catalogue, or of one game.

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
    found: Counter[int] = Counter()
    for trial in range(_TRIALS):
        rules = _vary_rules(book, rng) if trial < _TRIALS - 1 else book.rules
        stream = find_puzzles(rules, f"{seed} {number}", grade=wanted)
        for puzzle in stream:
            return book, puzzle
        found += stream.found
    if grade is None and found:
        return find_numbered_puzzle(
            seed, number, grade=min(found, key=lambda each: abs(each - wanted)), book=book
        )
    others = f"; of grade {' and '.join(map(str, sorted(found)))} there are some" if found else ""
    raise LookupError(f"no puzzle of grade {wanted} was found in {book.name}{others}")


def _find_in_catalogue(seed: str, grade: int) -> tuple[Rulebook, Puzzle]:
    """Return a puzzle from some game, played a little higher or with a few more blocks than usual."""
    rng = Random(seed)  # noqa: S311 - play, not secrets
    for book in shuffle(catalogue.load_all(), rng):
        for puzzle in find_puzzles(_vary_rules(book, rng), seed, grade=grade):
            return book, puzzle
    raise LookupError(f"no game of the catalogue has a puzzle of grade {grade}")


class PuzzleStream(Iterator[Puzzle]):
    """The puzzles of one game, found when they are asked for, and how many of each grade were found.

    Examples:
        >>> stream = PuzzleStream(nt.Rules(fit="related"), seed=1)
        >>> len(list(stream)), stream.complete, stream.found[1]
        (36, True, 8)
    """

    def __init__(self, rules: Rules, seed: int | str, grade: int | None = None) -> None:
        self.found: Counter[int] = Counter()
        """How many puzzles of each grade were found so far, given or not."""
        self.complete = False
        """Whether all positions of the game were looked at, so that there can be no more."""
        self._rules = rules
        self._grade = grade
        self._rng = Random(f"{seed} {rules.written()}")  # noqa: S311 - play, not secrets
        every = _enumerate_positions(rules, self._rng)
        found = self._search_random_games() if every is None else self._search_all(every)
        self._puzzles = _balance_grades(found) if grade is None else found

    def __next__(self) -> Puzzle:
        """Return the next puzzle."""
        return next(self._puzzles)

    def _search_all(self, every: Sequence[tuple[int, ...]]) -> Iterator[Puzzle]:
        """Look at every position of a small game."""
        solver = DeepSolver(Position.start(self._rules), SearchLimits(), compiled=False)
        for moves in shuffle(every, self._rng):
            puzzle = _make_puzzle(Game(self._rules, pick_below(2, self._rng), moves), solver)
            if puzzle is not None and self._count_and_match(puzzle):
                yield puzzle
        self.complete = True

    def _search_random_games(self) -> Iterator[Puzzle]:
        """Play games at random, and take the first puzzle of each from a random move on; stop after work in vain.

        Games are looked at later if their early positions prove too hard to solve.
        """
        rules, known = self._rules, set[object]()
        memory = _MEMORY + len(rules.blocks) // 4_000
        solvable = work = 0
        while work < _MAX_WORK:
            games = list(play_randomly(Game(rules, pick_below(2, self._rng)), self._rng))[:-1]
            work += (1 + len(games)) * (30 + len(rules.blocks) // 10)
            games = games[max(solvable, pick_below(len(games), self._rng)) :]
            if not games:
                continue
            try:
                limits = SearchLimits(positions=_MAX_SEARCHED, memory=memory)
                solver = choose_solver(games[0].position, limits, plies=False, compiled=False)
                for game in games:
                    puzzle = (
                        None
                        if (at := reduce_position(game.position)) in known
                        else _make_puzzle(game, solver)
                    )
                    if puzzle is not None:
                        known.add(at)
                        if self._count_and_match(puzzle):
                            yield puzzle
                            work = 0
                            break
                work += solver.positions if isinstance(solver, DeepSolver) else 0
            except NotSolvedError:
                work += _MAX_SEARCHED
                solvable = (solvable + len(games[0].moves)) // 2 + 1

    def _count_and_match(self, puzzle: Puzzle) -> bool:
        self.found[puzzle.grade] += 1
        return self._grade in {None, puzzle.grade}


def _make_puzzle(game: Game, solver: Solver) -> Puzzle | None:
    """Make a puzzle of a game as it stands, if exactly one move wins."""
    position = game.position
    legal = position.legal
    if not 2 <= len(legal) <= _MAX_MOVES:
        return None
    winning = list(
        islice(
            (block for block in legal if solver.evaluate_move(position, block).value == "win"), 2
        )
    )
    if len(winning) != 1:
        return None
    plies = _count_plies(position, winning[0], solver)
    if plies is None and isinstance(solver, DeepSolver):
        return None
    return Puzzle(game, winning[0], _grade_puzzle(position, plies), plies)


def _grade_puzzle(position: Position, plies: int | None) -> int:
    """Grade a puzzle: 1 wins at once; 2 shows within two plies; the others by how much has to be read.

    What has to be read is every move that is as tempting as the answer to someone who looks two plies ahead, to the
    end.
    """
    if plies == 1:
        return 1
    looks = list(evaluate_moves(position, 2, position.legal).values())
    tempting = looks.count(max(looks)) - 1
    if not tempting:
        return 2
    read = tempting * (_UNKNOWN_PLIES if plies is None else plies)
    return 3 if read < _HARD else 4 if read < _HARDEST else 5


def _count_plies(position: Position, answer: int, solver: Solver) -> int | None:
    """Return the plies of a win, where they are known or soon found."""
    after = position.place(answer)
    plies = 1 if after.outcome is not None else solver.evaluate(position).plies
    if plies is None and position.left[position.to_move].bit_count() <= _MAX_BLOCKS_FOR_PLIES:
        with suppress(NotSolvedError):
            limits = SearchLimits(positions=_MAX_SEARCHED_FOR_PLIES)
            plies = DeepSolver(position, limits, compiled=False).evaluate(position).plies
    return plies


# Where positions come from --------------------------------------------------------------------------------------------


def _enumerate_positions(rules: Rules, rng: Random) -> list[tuple[int, ...]] | None:
    """Return for each position of a game the moves of one of the ways to it; None if there are too many."""
    if len(rules.blocks) > _MAX_BLOCKS_TO_ENUMERATE:
        return None
    start = Position.start(rules)
    ways: dict[object, tuple[int, ...]] = {reduce_position(start): ()}
    met: Counter[object] = Counter()
    ahead: list[tuple[Position, tuple[int, ...]]] = [(start, ())]
    while ahead and len(ways) <= _MAX_POSITIONS:
        place = pick_below(len(ahead), rng)
        ahead[place], ahead[-1] = ahead[-1], ahead[place]
        position, moves = ahead.pop()
        for block in position.legal:
            after, way = position.place(block), (*moves, block)
            at = reduce_position(after)
            if at not in ways:
                ahead.append((after, way))
            met[at] += 1
            if not pick_below(met[at], rng):
                ways[at] = way
    return None if ahead else list(ways.values())


def reduce_position(position: Position) -> object:
    """Return what the rest of a game depends on, as the player to move sees it: equal values are the same puzzle."""
    rules = position.rules
    if len(rules.blocks) > _MAX_BLOCKS_TO_REDUCE:
        return position
    live = [position.find_reachable(player) for player in (0, 1)]
    if "shared" in {rules.supply, rules.towers}:
        live = [live[0] | live[1]] * 2
    height_counts = rules.target is not None or rules.stuck == "skips"
    return tuple(
        (
            left := position.left[player] & live[player],
            left & rules.fits(position.tops[player]),
            position.heights[player] if height_counts else 0,
        )
        for player in (position.to_move, 1 - position.to_move)
    )


def _vary_rules(book: Rulebook, rng: Random) -> Rules:
    """Return a game's rules with up to twice the usual target or, where there is none, up to twice the blocks."""
    rules = book.rules
    if rules.target is not None and "target" in book.options:
        return book.apply_options({"target": rules.target + pick_below(rules.target + 1, rng)})
    if isinstance(rules.blocks, range) and "blocks" in book.options:
        more = rules.blocks.step * pick_below(len(rules.blocks) + 1, rng)
        return book.apply_options(
            {"blocks": range(rules.blocks.start, rules.blocks.stop + more, rules.blocks.step)}
        )
    return rules


# Random choices: only `Random.random` is promised to stay the same -------------------------------------------------


def pick_below(number: int, rng: Random) -> int:
    """Return a random whole number from 0 to below this one."""
    return int(rng.random() * number)


def shuffle(things: Iterable[T], rng: Random) -> list[T]:
    """Return things in a random order."""
    return sorted(things, key=lambda _: rng.random())


def _balance_grades(found: Iterator[Puzzle]) -> Iterator[Puzzle]:
    """Give every puzzle, but of those at hand first one of the grade that was given least."""
    given: Counter[int] = Counter()
    at_hand: dict[int, deque[Puzzle]] = {grade: deque() for grade in GRADES}
    while True:
        for puzzle in islice(found, _LOOKAHEAD):
            at_hand[puzzle.grade].append(puzzle)
        waiting = [grade for grade in GRADES if at_hand[grade]]
        if not waiting:
            return
        grade = min(waiting, key=lambda grade: given[grade])
        given[grade] += 1
        yield at_hand[grade].popleft()
