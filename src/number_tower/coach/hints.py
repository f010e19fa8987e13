"""Hints in three steps (what to look for, the move, and why), and the exercises of a first lesson."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from number_tower.coach.reasons import Reason, explain_move, find_best_reason, is_safe
from number_tower.coach.sentences import (
    Idea,
    fill_text,
    format_advice,
    format_details,
    format_reason,
    format_sentence,
    get_idea,
)
from number_tower.game import Game, play_randomly
from number_tower.players.knowledge import OnProgress, get_knowledge
from number_tower.rules import Rules
from number_tower.solve.limits import NotSolvedError
from number_tower.solve.solution import Solution
from number_tower.solve.worth import Value, Worth
from number_tower.table import Table
from number_tower.voice import get_voice

EXERCISE_COUNT = 3

_RANDOM_GAMES = 40
"""Games that are played at random to find exercises."""

_MAX_WORK = 300_000
"""Blocks that are looked at in doing so: of large games few positions are."""

_MAX_GAME_LENGTH = 40

_MAX_MOVES = 40
"""Moves among which a beginner may be asked to find one."""

_EXERCISE_KINDS = (
    "multiple", "pairs", "made_up", "ahead", "threat_or", "threat", "threat_or_higher", "outlasts", "made_up_again",
    "alone", "out_of_reach", "blocked", "answers", "forced", "answers_rule", "plan", "plan_careful",
)  # fmt: skip
"""Reasons for a win in more than one move, the most instructive first."""

__all__ = [
    "Exercise",
    "Hint",
    "HintText",
    "find_exercises",
    "find_values",
    "format_hint",
    "give_hint",
    "give_reason",
    "hint",
]

# Hints ----------------------------------------------------------------------------------------------------------------


class Hint(NamedTuple):
    """A best move, its reason, and how many moves are as good.

    Examples:
        >>> advice = hint(nt.solve(nt.Game(nt.Rules(supply="own", target=20), moves=(3,))))
        >>> advice.block, advice.good, advice.legal
        (7, 5, 9)
        >>> print(advice.nudge("block"))
        Several moves win, but not all. Look for a gap that you can fill exactly, whatever your opponent adds first.
        >>> print(advice.name_move())
        Play 7: it wins.
        >>> print(advice.why("Ben", "block"))
        Play 7. Then the gap to 20 is 10. Whatever Ben adds, you can fill it exactly: 1 with 9...
        >>> advice.find_quicker(nt.Worth("win", 3)) is None  # 7 does not win at once
        True
    """

    worth: Worth
    legal: int
    """How many moves there are."""
    good: int
    """How many of them keep the value of the position."""
    best: int
    """How many of them are best."""
    reason: Reason
    safe: bool = True
    """Whether the opponent cannot win at once after the move."""

    @property
    def block(self) -> int:
        """The block to place."""
        return self.reason.block

    def nudge(self, noun: str) -> str:
        """Write what kind of move to look for, without any number."""
        if self.legal == 1:
            return fill_text("count_only", {})
        many = "all" if self.good == self.legal else "one" if self.good == 1 else "some"
        count = fill_text(f"count_{self.worth.value}_{many}", {})
        if self.worth.value == "draw" and many == "all":
            return count
        return f"{count} {fill_text(f'nudge_{self._choose_nudge()}', {'noun': noun})}"

    def _choose_nudge(self) -> str:
        """Return which nudge to give: by the reason or, in a lost position, by what is known of its length."""
        if self.worth.value != "loss":
            return self.reason.kind
        if self.worth.plies is None:
            return "lost_unknown" if self.safe else "lost_at_once"
        return "lost_alike" if self.best == self.legal else "lost"

    def name_move(self) -> str:
        """Write which block to place."""
        if self.legal == 1:
            key = "move_only"
        elif self.worth.value != "loss":
            key = f"move_{self.worth.value}"
        elif self.worth.plies is not None and self.best < self.legal:
            key = "move_loss"
        elif self.worth.plies is None and self.safe:
            key = "move_loss_unknown"
        else:
            key = "move_loss_alike"
        return fill_text(key, {"block": self.block})

    def find_quicker(self, worth: Worth) -> Reason | None:
        """Return the reason of the move, if it wins at once and another of this worth wins only later."""
        return self.reason if self.worth == ("win", 1) and worth.plies != 1 else None

    def why(self, opponent: str, noun: str) -> str:
        """Write the reason for the move."""
        if self.worth.value == "win":
            return format_advice(self.reason, opponent, noun)
        if self.worth.value == "loss":
            key = "advice_only" if self.legal == 1 else "advice_loss"
            return format_advice(self.reason, opponent, noun, key=key)
        return format_sentence(self.reason, opponent, noun)


def hint(solution: Solution) -> Hint:
    """Make a hint for the player to move.

    Examples:
        >>> hint(nt.solve(nt.Game(nt.Rules(target=15), moves=(9,)))).block
        6
    """
    good = sum(worth.value == solution.value for worth in solution.moves.values())
    reason = find_best_reason(solution)
    safe = solution.value != "loss" or is_safe(solution, reason.block)
    return Hint(solution.worth, len(solution.moves), good, len(solution.best), reason, safe)


class HintText(NamedTuple):
    """The steps of a hint that were asked for; the block only once the move is named.

    Examples:
        >>> text = give_hint(nt.Table(nt.Game(nt.Rules(target=15), moves=(9,))), step=2)
        >>> text.texts[-1], text.more, text.block
        ('Play 6: it wins.', True, 6)
    """

    texts: tuple[str, ...]
    more: bool
    """Whether there is another step."""

    block: int | None = None
    details: str = ""
    """What the reason leaves out, once it is given."""

    idea: Idea | None = None
    """The idea behind the reason, once that is given."""


def format_hint(table: Table, step: int, hint: Hint | None) -> HintText:
    """Write a hint for the player to move: step 1 what to look for, 2 also the move, 3 also the reason.

    There is none for hidden blocks, after the end, or (`hint` is None) where the position was not solved.

    Examples:
        >>> table = nt.Table(nt.Game(nt.Rules(target=15), moves=(9,)))
        >>> format_hint(table, 2, hint(nt.solve(table.game))).texts[-1]
        'Play 6: it wins.'
    """
    voice = get_voice(table.book)
    if table.hidden or not table.legal:
        refusal = voice.refuse(table, "hint" if table.hidden else "over", "")
        return HintText((refusal.text.strip(),), more=False)
    if hint is None:
        return HintText((fill_text("unknown", {}),), more=False)
    step = min(max(step, 1), 3)
    opponent = voice.get_name(table, 1 - table.game.to_move)
    why = format_reason(
        hint.reason, opponent=opponent, noun=voice.noun
    )  # the move is named in the second text
    texts = hint.nudge(voice.noun), hint.name_move(), why
    if step < len(texts):
        return HintText(texts[:step], more=True, block=hint.block if step > 1 else None)
    details = format_details(hint.reason, opponent=opponent, noun=voice.noun)
    idea = get_idea(hint.reason, voice.noun)
    return HintText(texts, more=False, block=hint.block, details=details, idea=idea)


def give_hint(table: Table, step: int, progress: OnProgress = None) -> HintText:
    """Return a hint for the player to move, from what computers know of the game.

    Examples:
        >>> give_hint(nt.Table(nt.Game(nt.Rules(target=15), moves=(9,))), step=3).texts[-1]
        'That takes the tower to exactly 15.'
    """
    solution = _solve_table(table, progress)
    return format_hint(table, step, None if solution is None else hint(solution))


def give_reason(table: Table, block: int | None = None, progress: OnProgress = None) -> HintText:
    """Return the reason for or against a block, or for the best move; for a block that cannot be placed, why not.

    Examples:
        >>> give_reason(nt.Table(nt.Game(nt.Rules(target=15), moves=(9,))), 5).texts[0]
        '5 loses: Player 1 can answer 1. That takes the tower to exactly 15.'
    """
    refusal = None if block is None or table.hidden else table.refusal(block)
    if block is not None and refusal is not None:
        return HintText(
            (get_voice(table.book).refuse(table, refusal, f"{block}", block).text.strip(),),
            more=False,
        )
    solution = _solve_table(table, progress)
    if solution is None:
        return format_hint(table, 3, None)
    voice = get_voice(table.book)
    opponent = voice.get_name(table, 1 - table.game.to_move)
    if block is None:
        hinted = hint(solution)
        reason, text = hinted.reason, hinted.why(opponent, voice.noun)
    else:
        reason = explain_move(solution, block)
        text = format_sentence(reason, opponent, voice.noun)
    details = format_details(reason, opponent=opponent, noun=voice.noun)
    return HintText(
        (text,), more=False, block=reason.block, details=details, idea=get_idea(reason, voice.noun)
    )


def find_values(table: Table, progress: OnProgress = None) -> dict[int, Value]:
    """Return the value of every move that is known; none where blocks are hidden, or after the end.

    Examples:
        >>> find_values(nt.Table(nt.Game(nt.Rules(target=15), moves=(9, 1))))
        {2: 'loss', 3: 'loss', 4: 'win', 5: 'win'}
    """
    solution = _solve_table(table, progress)
    if solution is None:
        return {}
    return {block: worth.value for block, worth in solution.find_values().items()}


def _solve_table(table: Table, progress: OnProgress) -> Solution | None:
    """Solve a position as computers do; None after the end, for hidden blocks, and if it takes too long."""
    if not table.legal:
        return None
    return get_knowledge(table.game.rules).solve(table.game.position, progress)


# Exercises ------------------------------------------------------------------------------------------------------------


class Exercise(NamedTuple):
    """A game at a position in which at most half of the moves win.

    Examples:
        >>> first = find_exercises(nt.Rules(supply="own", target=20))[0]
        >>> first.kind, first.hint.block in first.game.legal
        ('exact', True)
        >>> first.difficulty
        (1, 1)
    """

    game: Game
    solution: Solution
    hint: Hint

    @property
    def kind(self) -> str:
        """The kind of reason to find."""
        return self.hint.reason.kind

    @property
    def difficulty(self) -> tuple[int, int]:
        """The plies to the win, and how many moves do not win."""
        plies = self.hint.worth.plies
        return _MAX_GAME_LENGTH if plies is None else plies, self.hint.legal - self.hint.good


def find_exercises(rules: Rules, seed: int = 0) -> tuple[Exercise, ...]:
    """Return up to three exercises, the easiest first: a win in one move, and then ideas as different as possible.

    Examples:
        >>> [each.kind for each in find_exercises(nt.Rules(supply="own", target=20))]
        ['exact', 'made_up', 'answers']
    """
    found = sorted(
        _search_positions(rules, Random(f"{seed} lesson")),  # noqa: S311 - play
        key=lambda each: each.difficulty,
    )
    chosen = found[:1]
    while len(chosen) < EXERCISE_COUNT:
        ideas = {each.kind for each in chosen}
        new = [each for each in found if each.kind not in ideas and each.kind in _EXERCISE_KINDS]
        harder = (
            [each for each in found if each.difficulty > chosen[-1].difficulty] if chosen else []
        )
        if not new and not harder:
            break
        chosen.append(
            min(new, key=lambda each: _EXERCISE_KINDS.index(each.kind)) if new else harder[0]
        )
    return tuple(sorted(chosen, key=lambda each: each.difficulty))


def _search_positions(rules: Rules, rng: Random) -> Iterator[Exercise]:
    """Give the exercises that random games come to."""
    knowledge = get_knowledge(rules)
    work = 0
    for _ in range(_RANDOM_GAMES):
        for game in play_randomly(Game(rules, int(rng.random() * 2)), rng, _MAX_GAME_LENGTH):
            moves = len(game.legal) if len(game.moves) < _MAX_GAME_LENGTH else 0
            if 1 < moves <= _MAX_MOVES and rng.random() < 1 / 2:
                work += len(rules.blocks) * moves
                solution = knowledge.solve(game.position)
                if solution is not None and (exercise := _make_exercise(game, solution)):
                    yield exercise
            if work > _MAX_WORK:
                return


def _make_exercise(game: Game, solution: Solution) -> Exercise | None:
    if solution.value != "win":
        return None
    try:
        given = hint(solution)
    except NotSolvedError:
        return None
    return Exercise(game, solution, given) if 2 * given.good <= given.legal else None
