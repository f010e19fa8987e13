"""Hints: a nudge gives nothing away, the move is a best one, and every reason that is given is true."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import given, settings

import number_tower as nt
from number_tower import Game, Position, Rules
from number_tower.coach.hints import format_reason, hint, load_texts
from number_tower.coach.reasons import explain_move
from number_tower.solve.solution import Solution
from support.claims import ME, YOU, Told, check
from support.command import tower
from support.game_tree import Key, Tree, key
from support.sizes import examples, size
from support.strategies import any_game

pytestmark = pytest.mark.slow


def reachable(rules: Rules) -> Iterator[Position]:
    """Every position that can be reached, those with the same future once."""
    start = Position.start(rules)
    seen: set[Key] = {key(start)}
    waiting = [start]
    while waiting:
        position = waiting.pop()
        if position.outcome is not None:
            continue
        yield position
        for block in position.legal:
            after = position.place(block)
            if key(after) not in seen:
                seen.add(key(after))
                waiting.append(after)


def sampled(rules: Rules, games: int) -> Iterator[Position]:
    """The positions of some random games."""
    rng = Random(1)  # noqa: S311 - play, not secrets
    for _ in range(games):
        game = Game(rules, rng.randrange(2))
        while game.outcome is None:
            yield game.position
            game = game.play(rng.choice(game.legal))


def checked(tree: Tree, solution: Solution) -> Iterator[str]:
    """Check every sentence about a position; give the kinds of reason."""
    position = solution.position
    for block in position.legal:
        yield check(Told(tree, position, block), format_reason(explain_move(solution, block), player=ME, opponent=YOU))
    check_hint(tree, solution)


def check_hint(tree: Tree, solution: Solution) -> None:
    position = solution.position
    given_hint = hint(solution)
    best = [block for block in position.legal if tree.evaluate_move(position, block) == tree.solve(position)]
    assert given_hint.block in best
    check_nudge(tree, position, given_hint.nudge("block"))
    value, plies = tree.solve(position)
    named = {1: "it wins", 0: "it keeps the draw", -1: "nothing holds out longer"}[value]
    named = "there is nothing else" if len(position.legal) == 1 else named
    assert given_hint.name_move() == f"Place {given_hint.block}: {named}."
    at_once = value == plies == 1 < len(position.legal)
    assert ("You can win at once" in given_hint.nudge("block")) == at_once
    said = given_hint.why(YOU, "block")
    assert said.startswith(f"{given_hint.block} ")
    assert said.endswith(".")


def check_nudge(tree: Tree, position: Position, nudge: str) -> None:
    """A nudge names no number, and counts the good moves rightly."""
    assert not re.search(r"\d", nudge)
    value = tree.solve(position).value
    legal = len(position.legal)
    good = sum(tree.evaluate_move(position, block).value == value for block in position.legal)
    counts = {
        "You have only one move.": legal == 1,
        "Only one of your moves wins.": value == 1 and good == 1 < legal,
        "More than one of your moves wins, but not every one.": value == 1 and 1 < good < legal,
        "Every move wins; some may be quicker than others.": value == 1 and good == legal > 1,
        "You cannot force a win, and only one of your moves keeps the draw.": value == 0 and good == 1 < legal,
        "You cannot force a win, and not every move keeps the draw.": value == 0 and 1 < good < legal,
        "You cannot force a win; every move keeps the draw.": value == 0 and good == legal > 1,
        "Every move loses, if your opponent makes no mistake.": value == -1 and legal > 1,
    }
    assert [nudge.startswith(said) for said in counts] == list(counts.values())


EVERY = {
    "draft": {
        "exact", "higher", "lower", "level", "threat", "threat_or", "threat_or_higher", "forced", "answers", "line",
        "refuted",
    },
    "summit": {"exact", "stuck", "made_up", "forced", "answers", "line", "refuted"},
    "climb": {"stuck", "multiple", "refuted"},
    "factor": {"stuck", "pairs", "partner"},
}  # fmt: skip


@pytest.mark.parametrize("name", EVERY)
def test_every_reason_in_every_reachable_position_is_true(name: str) -> None:
    rules = nt.rules(name)
    tree, whole = Tree(rules), nt.solve(Game(rules))
    kinds = Counter(kind for position in reachable(rules) for kind in checked(tree, whole.of(position)))
    assert set(kinds) == EVERY[name]


def test_every_reason_in_sampled_positions_of_the_race_is_true() -> None:
    rules = nt.rules("race")
    tree, whole = Tree(rules), nt.solve(Game(rules))
    kinds = Counter(kind for position in sampled(rules, size(15, 150)) for kind in checked(tree, whole.of(position)))
    assert set(kinds) == {"exact", "stuck", "ahead", "outlasts", "refuted"}


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("climb", {"opening": "1-5"}),
        ("summit", {"target": 30, "blocks": "1-6"}),
        ("factor", {"blocks": "2-14"}),
        ("draft", {"target": 12, "blocks": "1-7"}),
    ],
)
def test_every_reason_is_true_with_options_as_well(name: str, options: dict[str, object]) -> None:
    rules = nt.rules(name, **options)
    tree, whole = Tree(rules), nt.solve(Game(rules))
    assert Counter(kind for position in sampled(rules, size(5, 40)) for kind in checked(tree, whole.of(position)))


@settings(max_examples=examples(100))
@given(any_game())
def test_every_reason_is_true_by_any_rules(game: Game) -> None:
    if game.outcome is not None:
        return
    tree = Tree(game.rules)
    solution = nt.solve(game)
    for block in game.legal:
        said = format_reason(explain_move(solution, block), player=ME, opponent=YOU)
        check(Told(tree, game.position, block), said)
    check_hint(tree, solution)


def test_every_text_names_only_facts_that_there_are() -> None:
    facts = (
        "block tower player opponent noun because such target mine theirs left modulus pairs to_go gap whole need"
        " answer answers reply line plies"
    )
    assert set().union(*(text.fields for text in load_texts().values())) <= set(facts.split())


def test_the_coach_has_words_for_everything_and_no_others() -> None:
    kinds = {text.removeprefix("why_") for text in load_texts() if text.startswith("why_")}
    nudges = {text.removeprefix("nudge_") for text in load_texts() if text.startswith("nudge_")}
    never_best = {"lower", "refuted", "partner", "loss", "loss_line", "loss_long"}
    assert nudges == (kinds - never_best) | {"lost", "lost_alike"}


def test_the_example_of_the_theory_is_told_in_its_words() -> None:
    def said(name: str, moves: tuple[int, ...], block: int, **options: object) -> str:
        solution = nt.solve(Game(nt.rules(name, **options), 0, moves))
        return format_reason(explain_move(solution, block), opponent="Player 2")

    assert said("climb", (7,), 12) == "leaves 18, a multiple of 6"
    assert said("climb", (7,), 11) == "loses: then Player 2 has 12, which leaves 18, a multiple of 6"
    assert said("factor", (), 4) == "loses: its partner 8 is free"
    assert said("draft", (), 9).startswith("leaves you needing 6, and 6 is still in the pool")
    assert said("summit", (9,), 6) == "loses: then Player 2 has 5, which takes the tower to exactly 20"
    assert said("summit", (3,), 7) == "leaves 10, and whatever follows can be made up to 10"
    assert said("race", (), 9) == "leaves 1 block to go for you (6), and 2 for Player 2"


def test_a_hint_is_a_nudge_then_the_move_and_why_is_the_reason() -> None:
    done = tower("play", "climb", typed="7\nhint\nhint\nhint\nwhy\nwhy 11\nwhy 13\nquit\n")
    assert done.returncode == 0
    assert "Only one of your moves wins. Count what is left above the tower." in done.stdout
    assert done.stdout.count("Place 12: it wins.") == 2
    assert "12 leaves 18, a multiple of 6." in done.stdout
    assert "11 loses: then Player 1 has 12, which leaves 18, a multiple of 6." in done.stdout
    assert "Number 13 cannot be placed on 7." in done.stdout


def test_a_new_position_starts_with_a_nudge_again() -> None:
    done = tower("play", "climb", "--opening", "1-5", typed="1\nhint\n6\nhint\nquit\n")
    assert done.stdout.count("Count what is left above the tower") == 1
    assert done.stdout.count("Every move loses, if your opponent makes no mistake.") == 1
    assert "Place" not in done.stdout


@pytest.mark.parametrize("asked", ["hint", "why", "why 5"])
def test_no_hint_is_given_where_blocks_are_hidden(asked: str) -> None:
    done = tower("play", "summit", "--hidden", typed=f"{asked}\nquit\n")
    assert "hidden in this game, so no hint is given" in done.stdout


def test_what_cannot_be_worked_out_is_not_guessed() -> None:
    done = tower("play", "summit", "--blocks", "1-40", "--target", "311", typed="hint\nwhy\nquit\n")
    assert done.stdout.count("No hint: this position cannot be worked out in reasonable time") == 2
