"""What an evaluation adds up to: points, the value that decisions lost, and illegal answers, each with its interval."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import combinations
from math import fsum
from typing import TYPE_CHECKING, NamedTuple, get_args

from number_tower.evaluation.intervals import Estimate, estimate_difference, estimate_mean
from number_tower.evaluation.questions import IllegalReason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from number_tower.evaluation.questions import Decision
    from number_tower.evaluation.run import CompletedTask
    from number_tower.evaluation.suite import Suite, Task

KINDS = ("game", "position")
REASONS: tuple[str, ...] = tuple(word for each in get_args(IllegalReason) for word in get_args(each))
"""All reasons why an answer may be illegal."""

REASON_WORDS: Mapping[str, str] = {
    "not_a_block": "no block of the game",
    "over": "after the end",
    "used": "used already",
    "opening": "not for the ground",
    "fit": "did not fit",
    "target": "past the target",
    "unavailable": "not available",
    "empty": "empty",
    "no_number": "without a number",
    "many_numbers": "with several numbers",
    "failed": "did not come",
}
"""What reasons are called, to follow how many answers had them."""

MAX_EXAMPLES = 3
"""Of each player's decisions, how many of the worst are kept to be shown."""


@dataclass(slots=True)
class _ClusterSums:
    """What some tasks that hang together add up to."""

    tasks: int = 0
    forfeits: int = 0
    won: int = 0
    drawn: int = 0
    lost: int = 0
    decisions: int = 0
    troubled: int = 0
    answers: int = 0
    illegal: int = 0
    unknown: int = 0
    counted: int = 0
    kept: int = 0
    regret: float = 0.0
    guesses: list[float] = field(default_factory=list)

    def add_task(self, done: CompletedTask) -> None:
        self.tasks += 1
        self.forfeits += done.forfeit is not None
        self.won += done.points == 1
        self.drawn += done.points == 0.5
        self.lost += done.points == 0

    def add(self, decision: Decision) -> None:
        self.decisions += 1
        self.troubled += decision.illegal > 0
        self.answers += len(decision.attempts)
        self.illegal += decision.illegal
        self.unknown += decision.values is None
        if decision.regret is not None:
            self.counted += 1
            self.kept += decision.regret == 0
            self.regret += decision.regret
            self.guesses.append(compute_guess_regret(decision))


@dataclass(frozen=True)
class PlayerFigures:
    """What some of a player's tasks show; `regret` and `kept` are of the decisions that count."""

    tasks: int
    won: int
    drawn: int
    lost: int
    decisions: int
    unknown: int
    """Decisions whose values were not found out."""

    points: Estimate
    """Points of each game."""

    regret: Estimate
    """Points that a decision lost."""

    guessing: float | None
    """Points that a blind guess among the legal blocks would lose on average, at the very same decisions."""

    kept: Estimate
    """Share of the decisions that lost nothing."""

    illegal: Estimate
    """Share of the answers that were illegal."""

    troubled: Estimate
    """Share of the decisions with an illegal answer."""

    forfeits: Estimate
    """Share of the tasks that ended without a legal answer."""

    @property
    def games(self) -> int:
        """How many games were played."""
        return self.won + self.drawn + self.lost

    def document(self) -> dict[str, object]:
        """Give the figures as a JSON document has them."""
        estimates = {name: getattr(self, name).document() for name in _ESTIMATES}
        guessing = None if self.guessing is None else round(self.guessing, 4)
        return {**{name: getattr(self, name) for name in _COUNTS}, **estimates, "guessing": guessing}


_COUNTS = ("tasks", "games", "won", "drawn", "lost", "decisions", "unknown")
_ESTIMATES = ("points", "regret", "kept", "illegal", "troubled", "forfeits")


class Blunder(NamedTuple):
    """A decision that lost value, and where it was made."""

    task: Task
    decision: Decision


@dataclass(frozen=True)
class PlayerScore:
    """How one player came off, in all and in parts; `by_plies` is the regret by how many blocks had been placed."""

    player: str
    overall: PlayerFigures
    by_game: Mapping[str, PlayerFigures]
    by_kind: Mapping[str, PlayerFigures]
    by_seat: tuple[PlayerFigures, PlayerFigures]
    by_plies: Mapping[int, Estimate]
    worst: tuple[Blunder, ...] = ()
    reasons: Mapping[str, int] = field(default_factory=dict)
    """Why answers were illegal, and how many of them; in the order of `REASONS`."""
    failure: str | None = None
    """What the problem was when the first answer failed to come, if one did."""


class PlayerPair(NamedTuple):
    """What one player lost more than another at the same positions, in points of a decision."""

    players: tuple[str, str]
    difference: Estimate


@dataclass(frozen=True)
class Scores:
    """What an evaluation showed: the players, those who lost least first, and every two of them compared."""

    suite: Suite
    players: tuple[PlayerScore, ...]
    pairs: tuple[PlayerPair, ...]

    def pair(self, one: str, other: str) -> PlayerPair:
        """Return how one player compares with another that came off no better."""
        return next(pair for pair in self.pairs if pair.players == (one, other))

    def to_json(self) -> str:
        """Write all the numbers as one JSON document, on one line; prompts and answers are not in it."""
        suite = self.suite
        document = {
            "number": suite.number,
            "positions": len(suite.spots),
            "seed": suite.seed,
            "against": suite.against,
            "tries": suite.tries,
            "legal": suite.legal,
            "games": [entry.text for entry in suite.games],
            "players": [
                {
                    "player": score.player,
                    **score.overall.document(),
                    "reasons": score.reasons,
                    "failure": score.failure,
                    "by_kind": {kind: figures.document() for kind, figures in score.by_kind.items()},
                    "by_seat": [figures.document() for figures in score.by_seat],
                    "by_game": {game: figures.document() for game, figures in score.by_game.items()},
                    "by_plies": {str(plies): regret.document() for plies, regret in score.by_plies.items()},
                }
                for score in self.players
            ],
            "pairs": [{"players": pair.players, **pair.difference.document()} for pair in self.pairs],
        }
        return json.dumps(document)


def compute_guess_regret(decision: Decision) -> float:
    """Return what a blind guess among the legal blocks loses on average: nothing where they are all worth the same."""
    values = list((decision.values or {0: 0.0}).values())
    return max(values) - fsum(values) / len(values)


def compute_scores(suite: Suite, done: Iterable[CompletedTask]) -> Scores:
    """Add up tasks, each of which is looked at once and in any order."""
    ledgers = {player: _PlayerSums(suite) for player in suite.players}
    for each in done:
        ledgers[each.task.player].add(each)
    found = [ledger.compute_score(player) for player, ledger in ledgers.items()]
    found.sort(key=lambda score: _rank_key(score.overall))
    pairs = (
        PlayerPair(
            (one.player, other.player),
            _compare_positions(ledgers[one.player].positions, ledgers[other.player].positions),
        )
        for one, other in combinations(found, 2)
    )
    return Scores(suite, tuple(found), tuple(pairs))


def _rank_key(figures: PlayerFigures) -> tuple[float, float, float]:
    """Rank by the points lost; of equals, by the points of games, and then by forfeits."""
    lost, gained, forfeits = figures.regret.mean, figures.points.mean, figures.forfeits.mean
    return 2.0 if lost is None else lost, -(gained or 0.0), forfeits or 0.0


_Where = tuple[str, tuple[int, ...]]
"""A position: its game, and the moves that led to it."""

_Part = tuple[str, str | int]
"""Some of a player's tasks: all, those of a kind, a seat or a game, or the decisions after so many plies."""

_ALL: _Part = ("all", "")


class _PlayerSums:
    """One player's tasks, as they are added up."""

    def __init__(self, suite: Suite) -> None:
        self._suite = suite
        self.positions: dict[_Where, tuple[int, float]] = {}
        self._parts: defaultdict[_Part, defaultdict[int, _ClusterSums]] = defaultdict(lambda: defaultdict(_ClusterSums))
        self._worst: list[Blunder] = []
        self._reasons: Counter[str] = Counter()
        self._failure: tuple[int, str] | None = None

    def add(self, done: CompletedTask) -> None:
        """Take one task into every part that it belongs to; within one variant, what hangs together is a task."""
        task = done.task
        apart = task.index if self._suite.fresh else task.cluster
        cluster = task.cluster if len(self._suite.games) > 1 else apart
        together = [self._parts[part][cluster] for part in (_ALL, ("kind", task.kind), ("seat", task.seat))]
        for sums in (*together, self._parts["game", task.game][apart]):
            sums.add_task(done)
            for decision in done.decisions:
                sums.add(decision)
        for attempt in (attempt for decision in done.decisions for attempt in decision.attempts if attempt.reason):
            self._reasons[attempt.reason or ""] += 1
            if attempt.reason == "failed" and (self._failure is None or task.index < self._failure[0]):
                self._failure = task.index, attempt.problem or ""
        for decision in done.decisions:
            self._parts["plies", len(decision.moves)][cluster].add(decision)
            if decision.regret:
                self._worst = _select_worst((*self._worst, Blunder(task, decision)))
            if decision.regret is not None and task.kind == "position":
                self.positions[task.game, task.moves] = cluster, decision.regret

    def compute_score(self, player: str) -> PlayerScore:
        """Return what it comes to."""
        plies = sorted(number for kind, number in self._parts if kind == "plies" and isinstance(number, int))
        regrets = {number: self._summarize_part("plies", number).regret for number in plies}
        return PlayerScore(
            player,
            self._summarize_part(*_ALL),
            {game.text: self._summarize_part("game", game.text) for game in self._suite.games},
            {kind: self._summarize_part("kind", kind) for kind in KINDS},
            (self._summarize_part("seat", 0), self._summarize_part("seat", 1)),
            {number: regret for number, regret in regrets.items() if regret.number},
            tuple(self._worst),
            {reason: self._reasons[reason] for reason in REASONS if self._reasons[reason]},
            None if self._failure is None else self._failure[1],
        )

    def _summarize_part(self, kind: str, which: str | int = "") -> PlayerFigures:
        return _summarize(list(self._parts[kind, which].values()) if (kind, which) in self._parts else [])


def _summarize(clusters: Sequence[_ClusterSums]) -> PlayerFigures:
    def each(total: Callable[[_ClusterSums], float], number: Callable[[_ClusterSums], int]) -> Estimate:
        return estimate_mean((total(sums), number(sums)) for sums in clusters)

    def whole(total: Callable[[_ClusterSums], int]) -> int:
        return sum(map(total, clusters))

    guesses = [guess for sums in clusters for guess in sums.guesses]
    return PlayerFigures(
        whole(lambda sums: sums.tasks),
        whole(lambda sums: sums.won),
        whole(lambda sums: sums.drawn),
        whole(lambda sums: sums.lost),
        whole(lambda sums: sums.decisions),
        whole(lambda sums: sums.unknown),
        points=each(lambda sums: sums.won + sums.drawn / 2, lambda sums: sums.won + sums.drawn + sums.lost),
        regret=each(lambda sums: sums.regret, lambda sums: sums.counted),
        guessing=fsum(guesses) / len(guesses) if guesses else None,
        kept=each(lambda sums: sums.kept, lambda sums: sums.counted),
        illegal=each(lambda sums: sums.illegal, lambda sums: sums.answers),
        troubled=each(lambda sums: sums.troubled, lambda sums: sums.decisions),
        forfeits=each(lambda sums: sums.forfeits, lambda sums: sums.tasks),
    )


def _select_worst(blunders: Iterable[Blunder]) -> list[Blunder]:
    """Return the few that lost most, of equals where a guess would have lost least; no position twice."""
    found: dict[object, Blunder] = {}
    for blunder in sorted(blunders, key=_blunder_key):
        found.setdefault((blunder.task.game, blunder.decision.moves), blunder)
    return list(found.values())[:MAX_EXAMPLES]


def _blunder_key(blunder: Blunder) -> tuple[float, float, int, int]:
    task, decision = blunder
    return -(decision.regret or 0.0), compute_guess_regret(decision), len(decision.moves), task.index


def _compare_positions(
    ours: Mapping[_Where, tuple[int, float]], theirs: Mapping[_Where, tuple[int, float]]
) -> Estimate:
    """Estimate what one player lost more than the other at the positions that both were given."""
    clusters: defaultdict[int, list[float]] = defaultdict(list)
    for where, (cluster, regret) in ours.items():
        if where in theirs:
            clusters[cluster].append(regret - theirs[where][1])
    return estimate_difference((fsum(values), len(values)) for values in clusters.values())
