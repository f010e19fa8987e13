"""Hints in three steps (what to look for, the move, why), and exercises for a first lesson."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
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
from number_tower.engine.game import Game, play_randomly
from number_tower.engine.rules import Rules
from number_tower.engine.table import Table
from number_tower.players.knowledge import OnProgress, get_knowledge
from number_tower.solve.limits import NotSolvedError
from number_tower.solve.solution import Solution
from number_tower.solve.worth import Value, Worth
from number_tower.words.voice import get_voice

EXERCISE_COUNT = 3

_RANDOM_GAMES = 40
"""Games that are played at random to find exercises."""

_MAX_WORK = 300_000
"""Blocks that are looked at in doing so: of large games few positions are."""

_MAX_GAME_LENGTH = 40

_MAX_MOVES = 40
"""Moves among which a beginner may be asked to find one."""

_EXERCISE_KINDS = (
    "multiple", "pairs", "made_up", "ahead", "threat_or", "threat", "threat_or_higher", "outlasts",
    "made_up_again", "alone", "out_of_reach", "blocked", "answers", "forced", "answers_rule",
    "plan", "plan_careful",
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

# Hints --------------------------------------------------------------------------------------------


class Hint(NamedTuple):
    """A best move, its reason, and how many moves are as good.

    Examples:
        >>> advice = hint(nt.solve(nt.Game(nt.Rules(supply="own", target=20), moves=(3,))))
        >>> advice.block, advice.good, advice.legal
        (7, 5, 9)
        >>> print(advice.nudge("block"))
        Several moves win, but not all. Look for a gap that you can fill exactly...
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
        many = "one" if self.good == 1 else "some"
        if self.good == self.legal:
            many = "all"
        count = fill_text(f"count_{self.worth.value}_{many}", {})
        if self.worth.value == "draw" and many == "all":
            return count
        kind = self.reason.kind
        if self.worth.value == "loss":
            # Lost whatever is played: what is left to look for is a long game.
            if self.worth.plies is None:
                kind = "lost_unknown" if self.safe else "lost_at_once"
            else:
                kind = "lost_alike" if self.best == self.legal else "lost"
        return f"{count} {fill_text(f'nudge_{kind}', {'noun': noun})}"

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
        """Return the reason of the move if it wins at once, and a move of this worth does not."""
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
    """Write a hint: step 1 says what to look for, 2 adds the move, 3 adds the reason.

    There is none for hidden blocks, after the end, or where the position was not solved (`hint` is
    None).

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
    noun, opponent = voice.noun, voice.get_name(table, 1 - table.game.to_move)
    texts = hint.nudge(noun), hint.name_move(), format_reason(hint.reason, opponent, noun)
    if step < 3:
        block = hint.block if step > 1 else None
        return HintText(texts[: max(step, 1)], more=True, block=block)
    details = format_details(hint.reason, opponent, noun)
    idea = get_idea(hint.reason, noun)
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
    """Return the reason for or against a block, or for the best move; or why it cannot be placed.

    Examples:
        >>> give_reason(nt.Table(nt.Game(nt.Rules(target=15), moves=(9,))), 5).texts[0]
        '5 loses: Player 1 can answer 1. That takes the tower to exactly 15.'
    """
    voice = get_voice(table.book)
    refusal = None if block is None or table.hidden else table.refusal(block)
    if block is not None and refusal is not None:
        text = voice.refuse(table, refusal, f"{block}", block).text.strip()
        return HintText((text,), more=False)
    solution = _solve_table(table, progress)
    if solution is None:
        return format_hint(table, 3, None)
    noun, opponent = voice.noun, voice.get_name(table, 1 - table.game.to_move)
    if block is None:
        advice = hint(solution)
        reason, text = advice.reason, advice.why(opponent, noun)
    else:
        reason = explain_move(solution, block)
        text = format_sentence(reason, opponent, noun)
    details = format_details(reason, opponent, noun)
    idea = get_idea(reason, noun)
    return HintText((text,), more=False, block=reason.block, details=details, idea=idea)


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
    """Solve a position as computers do; None if it is over, hidden, or takes too long."""
    if not table.legal:
        return None
    return get_knowledge(table.game.rules).solve(table.game.position, progress)


# Exercises ----------------------------------------------------------------------------------------


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
    """Return up to three exercises, the easiest first: a win in one move, then different ideas.

    Examples:
        >>> [exercise.kind for exercise in find_exercises(nt.Rules(supply="own", target=20))]
        ['exact', 'made_up', 'answers']
    """
    rng = Random(f"{seed} lesson")  # noqa: S311 - play
    exercises = sorted(_search_positions(rules, rng), key=lambda exercise: exercise.difficulty)
    chosen = exercises[:1]
    while chosen and len(chosen) < EXERCISE_COUNT:
        new = {exercise.kind: exercise for exercise in reversed(exercises)}
        for exercise in chosen:
            new.pop(exercise.kind, None)
        # Prefer an idea that is new to the learner, or else a harder position.
        kind = next((kind for kind in _EXERCISE_KINDS if kind in new), None)
        harder = [other for other in exercises if other.difficulty > chosen[-1].difficulty]
        if kind is None and not harder:
            break
        chosen.append(harder[0] if kind is None else new[kind])
    return tuple(sorted(chosen, key=lambda exercise: exercise.difficulty))


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
                if solution is not None and solution.value == "win":
                    with suppress(NotSolvedError):
                        advice = hint(solution)
                        if 2 * advice.good <= advice.legal:
                            yield Exercise(game, solution, advice)
            if work > _MAX_WORK:
                return
