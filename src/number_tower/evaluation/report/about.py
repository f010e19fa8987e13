"""What a report says about itself: what was asked, at which games, how to read it and what it does not say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from number_tower import __version__
from number_tower.brief import describe_rules
from number_tower.evaluation.report.document import CodeText, Items, Paragraph, ShellCommand, StrongText
from number_tower.players.knowledge import get_knowledge
from number_tower.solve.worth import get_final_worth
from number_tower.text import format_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from number_tower.arena.schedule import GameEntry
    from number_tower.evaluation.report.document import DocumentPiece, Words
    from number_tower.evaluation.scores import Scores
    from number_tower.evaluation.suite import Suite

MAX_NAME = 40
"""Characters of a player's name; a command may be longer, and is then cut in its middle."""

MAX_SPEC = 200
"""Characters of it where it is shown in full."""

_MAX_COMMAND = 4000

_VALUE = (
    "Every position is worth a win (1 point), a draw (1/2) or a loss (0) to whoever is to move, if both play their "
    "best from there on. The solver knows which, exactly. A decision loses the difference between the best block and "
    "the one that was placed: 0 if it kept what there was, 1 if it threw a win away, 1/2 from a win to a draw or from "
    "a draw to a loss. That is the value lost, also called regret."
)

_TERMS = {
    "Points lost per decision": "the mean over the decisions that count: those where the legal blocks differ in value, "
    "in games and in single positions, and those where a player gave up what could be had, without a legal answer. "
    "Less is better, and 0 is perfect.",
    "A blind guess": "what choosing any legal block at random would lose on average at the very same decisions. "
    "Whoever loses as much as that knows as little of the game. Where all legal blocks are worth the same, and only "
    "giving up could lose something, a guess loses nothing.",
    "Decisions kept": "the share of these decisions at which nothing was lost.",
    "Points per game": "against the opponent; a win counts 1, a draw 1/2.",
    "95%": "what very many such decisions, games or answers would show lies in this interval 95 times in 100. Two "
    "players whose intervals overlap may still differ: see how they compare at the same positions.",
}


def explain_figures() -> Iterator[DocumentPiece]:
    """Say what the numbers mean."""
    yield Paragraph(_VALUE)
    yield Items(tuple((StrongText(term), f": {meaning}") for term, meaning in _TERMS.items()))


def describe_tasks(scores: Scores, command: str | None) -> Iterator[DocumentPiece]:
    """Say what the players were given to do, and how to do it again."""
    suite = scores.suite
    made = counted(len(suite.games), "game made from the seed", "games made from the seed")
    over = made if suite.fresh else counted(len(suite.games), "named game")
    yield Paragraph(
        f"Each player played {counted(suite.number, 'game')} against {format_text(suite.against, MAX_NAME)}, half of "
        f"them in each seat, and moved in {counted(len(suite.spots), 'position')} where the legal blocks differ in "
        f"value, reached by random play and the same for all; spread over {over}. Seed {suite.seed}, "
        f"Number Tower {__version__}."
    )
    if command is not None:
        yield Paragraph("The same again, to the byte, as far as the players do the same again:")
        yield ShellCommand(format_text(command, _MAX_COMMAND))
    if cut := [score.player for score in scores.players if len(score.player) > MAX_NAME]:
        yield Paragraph("In full, the players with long names are:")
        yield Items(tuple(CodeText(format_text(player, MAX_SPEC)) for player in cut))


def describe_illegal_answers(suite: Suite) -> Paragraph:
    """Say what an illegal answer is, and what comes of it."""
    tries = "one try" if suite.tries == 1 else f"{suite.tries} tries"
    told = "were told" if suite.legal else "were not told"
    return Paragraph(
        f"An answer is illegal if it names no block, or one that cannot be placed. Players had {tries} for each "
        f"decision and {told} which blocks may be placed. Whoever gave no legal answer in these tries forfeited the "
        "game or the position, and lost all that could be had there, even where every legal block was worth the same. "
        "In a lost position that is nothing, and does not count. Nothing else is left out of the numbers."
    )


def describe_games(suite: Suite) -> Iterator[DocumentPiece]:
    """Tell the rules of all games, and who wins them."""
    if suite.fresh:
        yield Paragraph(
            "They were drawn from all rules that there are, so that nobody can have learned them by heart, and "
            "balanced: as many are won by whoever starts, if both play their best, as by the other."
        )
    yield Items(tuple(map(_describe_game, suite.games)), numbered=True)


def _describe_game(entry: GameEntry) -> Words:
    rules = entry.table.game.rules
    return (
        CodeText(format_text(entry.text, MAX_SPEC)),
        f": {' '.join(describe_rules(rules))} ",
        StrongText(_describe_start(entry)),
    )


def _describe_start(entry: GameEntry) -> str:
    """Say what a game is worth before its first move."""
    position = entry.table.game.position
    worth = get_final_worth(position)
    if worth is None:
        solution = get_knowledge(position.rules).solve(position)
        worth = None if solution is None else solution.worth
    if worth is None:
        return "Who wins from the start is not known."
    if worth.value == "draw":
        return "A draw, if both play their best."
    plies = "" if not worth.plies else f" in {counted(worth.plies, 'move')}"
    return f"Whoever starts {'wins' if worth.value == 'win' else 'loses'}{plies}."


def describe_limits(scores: Scores) -> Iterator[str]:
    """Say how sure the numbers are, and what they do not tell."""
    fresh = scores.suite.fresh
    yield (
        f"{'Decisions by the same rules' if fresh else 'Decisions in two games with the same seed'} are not "
        "independent. So intervals are made from how much such groups differ from each other (clusters), with "
        "Student's quantile as there are few of them. They are Wilson's intervals, for as many independent decisions "
        "as would be just as unsure, and never narrower than for all of them; where such groups do not differ at all, "
        "for as many as there are groups. They know of chance, and of nothing else: a weakness that only few rules "
        "would show is not in them if none of those was among these."
    )
    if unknown := sum(score.overall.unknown for score in scores.players):
        yield f"{counted(unknown, 'decision')} could not be judged within the solver's limits, and did not count."
    yield (
        "In a lost position nothing can be lost, so it never counts; and what is decided in a game depends "
        "on the moves before. So whoever plays better meets other decisions in games. Single positions are the same "
        "for all."
    )
    yield (
        "Every decision weighs the same, and a loss that the opponent did not see as much as one that it used. Points "
        "per game depend on the opponent; the value lost in single positions does not."
    )
    yield "Evaluations with other seeds, games, tries or prompts are not for comparison with this one." + (
        " Anybody can make these games from their seed: take another for a player that may have seen them."
        if fresh
        else ""
    )


def counted(number: int, noun: str, nouns: str | None = None) -> str:
    """Write a number of things."""
    return f"{number:,} {noun if number == 1 else nouns or f'{noun}s'}"
