"""Hints: a nudge gives nothing away, the move is a best one, and every reason is true."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import example, given, settings

import number_tower as nt
from number_tower import Game, Position, Rules
from number_tower.coach.hints import format_hint, hint
from number_tower.coach.patterns import LargestBlockPlan, PlanKind, can_win_at_once
from number_tower.coach.reasons import Reason, explain_move, list_helpful_ideas
from number_tower.coach.sentences import (
    IDEAS,
    format_details,
    format_reason,
    format_sentence,
    load_texts,
    name_idea,
)
from number_tower.engine import catalogue
from number_tower.engine.table import Table
from number_tower.solve.limits import NotSolvedError
from number_tower.solve.solution import Solution
from number_tower.words.voice import get_voice
from support.claims import ME, YOU, Told, check_details, check_sentence, require_idea
from support.command import run_tower
from support.game_tree import Key, Tree, make_key
from support.sizes import THOROUGH, examples, size
from support.strategies import any_game, any_rules

pytestmark = pytest.mark.slow


def reachable(rules: Rules) -> Iterator[Position]:
    """Every position that can be reached, those with the same future once."""
    start = Position.start(rules)
    seen: set[Key] = {make_key(start)}
    waiting = [start]
    while waiting:
        position = waiting.pop()
        if position.outcome is not None:
            continue
        yield position
        for block in position.legal:
            after = position.place(block)
            if make_key(after) not in seen:
                seen.add(make_key(after))
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
    for block in solution.position.legal:
        yield check_reason(tree, solution, explain_move(solution, block))
    check_hint(tree, solution)


def check_reason(tree: Tree, solution: Solution, reason: Reason) -> str:
    """Check what is said of a move, to both by name or to the player as "you".

    Return the kind of reason.
    """
    position, block = solution.position, reason.block
    me = ME if block % 2 else "you"
    kind = check_sentence(
        tree, position, block, format_sentence(reason, YOU, "block", player=me), (me, YOU)
    )
    because, told, names = reason, Told.move(tree, position, block, (me, YOU)), (me, YOU)
    if reason.kind == "refuted" and reason.because is not None:
        because, names = reason.because, (YOU, me)
        told = Told(tree, told.after.place(because.block), 1 - told.me, names)
    check_details(told, format_details(because, player=names[0], opponent=names[1]))
    return kind


def check_hint(tree: Tree, solution: Solution) -> None:
    position = solution.position
    given_hint = hint(solution)
    best = [
        block
        for block in position.legal
        if tree.evaluate_move(position, block) == tree.solve(position)
    ]
    assert given_hint.block in best
    check_nudge(tree, position, given_hint.nudge("block"))
    value, plies = tree.solve(position)
    lost = "no move is better" if len(best) == len(position.legal) else "it holds out longest"
    named = {1: "it wins", 0: "it keeps the draw", -1: lost}[value]
    named = "it is your only move" if len(position.legal) == 1 else named
    assert given_hint.name_move() == f"Play {given_hint.block}: {named}."
    at_once = value == plies == 1 < len(position.legal)
    assert ("You can win at once" in given_hint.nudge("block")) == at_once
    said = given_hint.why(YOU, "block")
    lost = "{} is your only move. " if len(position.legal) == 1 else "You could play {}. "
    began = {1: "Play {}. ", 0: "{} draws. ", -1: lost}[value]
    assert said.startswith(began.format(given_hint.block))
    assert said.endswith(".")


def check_nudge(tree: Tree, position: Position, nudge: str) -> None:
    """A nudge names no number, counts the good moves rightly, and names only a real target."""
    assert not re.search(r"\d", nudge)
    assert not re.search(r"\bthere\b", nudge)
    assert position.rules.target is not None or "target" not in nudge
    value = tree.solve(position).value
    legal = len(position.legal)
    good = sum(tree.evaluate_move(position, block).value == value for block in position.legal)
    counts = {
        "You have only one move.": legal == 1,
        "Only one of your moves wins.": value == 1 and good == 1 < legal,
        "Several moves win, but not all.": value == 1 and 1 < good < legal,
        "Every move wins; some may be quicker than others.": value == 1 and good == legal > 1,
        "You cannot force a win, and only one of your moves keeps the draw.": value == 0
        and good == 1 < legal,
        "You cannot force a win, and not every move keeps the draw.": value == 0
        and 1 < good < legal,
        "You cannot force a win, and every move keeps the draw.": value == 0 and good == legal > 1,
        "Your opponent can win from here if they make no mistake.": value == -1 and legal > 1,
    }
    assert [nudge.startswith(said) for said in counts] == list(counts.values())


EXPECTED = {
    "draft": {
        "higher",
        "threat_unfit",
        "threat_or",
        "out_of_reach",
        "too_low",
        "answers_rule",
        "told_line",
        "refuted",
    },
    "summit": {"exact", "stuck", "made_up", "answers", "answers_rule", "plan_careful", "refuted"},
    "climb": {"stuck", "multiple", "refuted"},
    "factor": {"stuck", "pairs_all", "forced", "answers", "refuted"},
    "race": {"exact", "stuck", "ahead", "refuted"},
}


@pytest.mark.parametrize("name", EXPECTED)
def test_every_reason_is_true(name: str) -> None:
    rules = nt.rules(name)
    tree, whole = Tree(rules), nt.solve(Game(rules))
    positions = reachable(rules) if THOROUGH and name != "race" else sampled(rules, size(40, 150))
    kinds = Counter(kind for position in positions for kind in checked(tree, whole.of(position)))
    assert set(kinds) >= EXPECTED[name]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("climb", {"opening": "1-5"}),
        ("summit", {"target": 26, "blocks": "1-6"}),
        ("factor", {"blocks": "1-16"}),
        ("draft", {"target": 12, "blocks": "1-7"}),
    ],
)
def test_every_reason_is_true_with_options_as_well(name: str, options: dict[str, object]) -> None:
    rules = nt.rules(name, **options)
    tree, whole = Tree(rules), nt.solve(Game(rules))
    assert Counter(
        kind
        for position in sampled(rules, size(5, 40))
        for kind in checked(tree, whole.of(position))
    )


@settings(max_examples=examples(100))
@given(any_game())
def test_every_reason_is_true_by_any_rules(game: Game) -> None:
    if game.outcome is not None:
        return
    tree = Tree(game.rules)
    solution = nt.solve(game)
    for block in game.legal:
        reason = explain_move(solution, block)
        check_reason(tree, solution, reason)
        assert name_idea(reason) in {None, *list_helpful_ideas(game.rules)}
    check_hint(tree, solution)


HELPFUL = {
    "climb": ["rounds"],
    "draft": ["threats", "reach", "answers", "plans"],
    "factor": ["pairs", "answers"],
    "race": ["counting"],
    "summit": ["rounds", "sums", "answers", "plans"],
}


@pytest.mark.parametrize("name", HELPFUL)
def test_only_ideas_that_help_in_a_game_are_explained(name: str) -> None:
    assert list_helpful_ideas(nt.rules(name)) == HELPFUL[name]
    asked = "".join(f"why {idea}\n" for idea in IDEAS)
    shown = run_tower("play", name, typed=f"{asked}quit\n").stdout
    for idea in IDEAS:
        assert (require_idea(idea, get_voice(catalogue.load(name)).noun).text in shown) == (
            idea in HELPFUL[name]
        )
    assert shown.count(" does not help in this game. Ask instead: why ") == len(IDEAS) - len(
        HELPFUL[name]
    )


@settings(max_examples=examples(200))
@given(any_game(rules=any_rules(most_blocks=5, beyond=True)))
@example(Game(Rules(range(1, 4), "own", "shared", fit="related", target=13, stuck="loses")))
def test_every_reason_is_true_where_the_target_is_beyond_reach(game: Game) -> None:
    if game.outcome is not None:
        return
    tree, solution = Tree(game.rules), nt.solve(game)
    for block in game.legal:
        reason = explain_move(solution, block)
        check_reason(tree, solution, reason)
        if (
            "at once if possible" in format_reason(reason, opponent=YOU)
            and "skips" not in game.rules.stuck
        ):
            plan, after = reason.because or reason, game.position.place(block)
            after = after if reason.because is None else after.place(plan.block)
            kind: PlanKind = "plan_careful" if plan.kind == "plan_careful" else "plan"
            simpler = LargestBlockPlan(kind, plan.mover, iter(range(10_000)), at_once=False)
            assert simpler.explain(after, plan.block) is None, "the largest block wins by itself"
    check_hint(tree, solution)


@pytest.mark.parametrize(
    ("target", "blocks"), [(50, "1-4"), (100, "1-4"), (21, "1-4"), (30, "2-5"), (60, "1-5")]
)
def test_sums_over_several_rounds_are_given_only_while_the_blocks_last(
    target: int, blocks: str
) -> None:
    rules = nt.rules("summit", target=target, blocks=blocks)
    tree, whole = Tree(rules), nt.solve(Game(rules))
    kinds = Counter(
        kind
        for position in sampled(rules, size(8, 40))
        for kind in checked(tree, whole.of(position))
    )
    assert "outlasts" in kinds
    assert "made_up_again" not in kinds


def test_a_target_beyond_reach_is_not_made_up_to() -> None:
    solution = nt.solve(Game(nt.rules("summit", target=100), 0, (1,)))
    assert format_sentence(explain_move(solution, 9), "Ann", "block") == (
        "9 wins. Nobody can reach 100. You can each place up to 8 more blocks, "
        "and Ann goes next, so Ann will be stuck first."
    )


def test_a_sum_that_cannot_be_made_up_to_the_end_is_refused_by_the_check() -> None:
    rules = nt.rules("summit", target=100, blocks="1-4")
    game = Game(rules, 0, (1,))
    told = f"Whatever {YOU} adds, {ME} can make it 5 each time: 2 with 3, 3 with 2, 4 with 1."
    with pytest.raises(AssertionError):
        check_sentence(
            Tree(rules),
            game.position,
            4,
            f"4 wins. Then the gap to 100 is 95: 19 rounds of 5. {told}",
        )


def test_an_answer_that_reaches_the_target_is_told_before_one_that_leaves_nothing_to_place() -> (
    None
):
    for game in (Game(nt.rules("race")), Game(nt.rules("summit"))):
        solution = nt.solve(game)
        for position in sampled(game.rules, size(10, 100)):
            at = solution.of(position)
            refuted = [
                reason
                for block in position.legal
                if (reason := explain_move(at, block)).kind == "refuted"
            ]
            for reason in refuted:
                after = position.place(reason.block)
                exact = [
                    block
                    for block in after.legal
                    if after.place(block).outcome == nt.Outcome(after.to_move, "exact")
                ]
                assert not exact or (reason.because is not None and reason.because.kind == "exact")


def test_every_text_names_only_facts_that_there_are() -> None:
    facts = (
        "block tower player player_s player_is player_has own opponent opponent_s "
        "opponent_is opponent_has their noun why because such target mine theirs left modulus "
        "last step rounds to_go reach gap whole need most room"
        " answer answers reply clause rule plan line plies idea topic questions short matching"
        " both up_to first end opponent_es best times second rest told spare spare_is such_one"
    )
    assert set().union(*(text.fields for text in load_texts().values())) == set(facts.split())


def test_the_coach_has_words_for_everything_and_no_others() -> None:
    keys = load_texts()
    kinds = {make_key.removeprefix("why_") for make_key in keys if make_key.startswith("why_")}
    nudges = {make_key.removeprefix("nudge_") for make_key in keys if make_key.startswith("nudge_")}
    variants = {
        kind
        for kind in kinds
        if kind.endswith(("_stuck", "_end", "_reach")) and kind != "out_of_reach"
    }
    variants |= {"forced_plan", "threat_or_plan", "threat_unfit", "pairs_all", "outlasts_level"}
    variants |= {"win_line_many", "draw_line_many", "loss_line_many"}
    never_best = {"lower", "refuted", "too_low", "loss", "loss_line", "loss_long"}
    lost = {"lost", "lost_alike", "lost_unknown", "lost_at_once"}
    assert nudges == (kinds - variants - never_best) | lost
    assert {make_key for make_key in keys if make_key.startswith("idea_")} - {
        "idea_more",
        "idea_unknown",
        "idea_unhelpful",
        "idea_helpful",
    } == {f"idea_{idea}_{part}" for idea in IDEAS for part in ("name", "intro", "text")}


def test_reasons_are_told_so_that_they_can_be_followed() -> None:
    def said(name: str, moves: tuple[int, ...], block: int, **options: object) -> str:
        solution = nt.solve(Game(nt.rules(name, **options), 0, moves))
        return format_sentence(explain_move(solution, block), "Ben", "block")

    assert said("climb", (7,), 12) == (
        "12 wins. That leaves 18 steps to 30, and 18 is 3 times 6. "
        "If Ben climbs 1, you climb 5; if 2, 4: always 6 together, "
        "so you will reach 30 after 3 rounds."
    )
    assert said("climb", (7,), 11) == (
        "11 loses: Ben can answer 12. That leaves 18 steps to 30, and 18 is 3 times 6. "
        "If you climb 1, Ben climbs 5; if 2, 4: always 6 together, "
        "so Ben will reach 30 after 3 rounds."
    )
    assert said("factor", (), 4) == (
        "4 loses: Ben can answer 8. These blocks fit on each other: 1 and 7, 2 and 6, 3 and 9. "
        "Whatever you place, Ben can place the other of the two, so you will be stuck first."
    )
    assert said("draft", (), 9).startswith(
        "9 wins. Then you need just 6 to reach 15, so Ben must take the 6. "
    )
    assert (
        said("summit", (9,), 6) == "6 loses: Ben can answer 5. That takes the tower to exactly 20."
    )
    assert said("summit", (3,), 7) == (
        "7 wins. Then the gap to 20 is 10. Whatever Ben adds, you can fill it exactly: "
        "1 with 9, 2 with 8, 4 with 6, 5 with 5, 6 with 4, 7 with 3, 8 with 2, 9 with 1."
    )
    assert said("race", (), 9) == (
        "9 wins. Then you need 1 more block (6). Ben is 15 short and needs at least 2, "
        "so you can reach 15 first."
    )


def test_level_counts_say_why_they_win() -> None:
    rules = Rules(blocks=(1, 2, 4), supply="own", towers="own", fit="any", stuck="loses")
    solution = nt.solve(Game(rules, 0, (1,)))
    told = format_sentence(explain_move(solution.after(2), 2), "Ben", "block")
    assert told == (
        "2 loses: Ben can answer 1. You can each place 1 more block, and you go next, "
        "so you will be stuck first."
    )


def check_hint_without_plies(tree: Tree, solution: Solution) -> None:
    """Where plies are not known, the move has the best value, and nothing is said of its length."""
    position, given_hint = solution.position, hint(solution)
    value = tree.solve(position).value
    assert tree.evaluate_move(position, given_hint.block).value == value
    check_nudge(tree, position, given_hint.nudge("block"))
    if value == -1 and len(position.legal) > 1:
        told = given_hint.nudge("block") + given_hint.name_move()
        safe = [
            block
            for block in position.legal
            if not can_win_at_once(position.place(block), 1 - position.to_move)
        ]
        assert (
            (given_hint.block in safe) == bool(safe) == ("your opponent cannot win at once" in told)
        )
        assert not re.search("long|last|equally", told)


@pytest.mark.parametrize("name", EXPECTED)
def test_every_reason_is_true_where_plies_are_not_known(name: str) -> None:
    rules = nt.rules(name)
    tree, whole = Tree(rules), nt.solve(Game(rules), plies=False)
    for position in sampled(rules, size(5, 50)):
        solution = whole.of(position)
        for block in position.legal:
            check_reason(tree, solution, explain_move(solution, block))
        check_hint_without_plies(tree, solution)


@settings(max_examples=examples(100))
@given(any_game())
def test_every_reason_is_true_by_any_rules_where_plies_are_not_known(game: Game) -> None:
    if game.outcome is None:
        tree, solution = Tree(game.rules), nt.solve(game, plies=False)
        for block in game.legal:
            check_reason(tree, solution, explain_move(solution, block))
        check_hint_without_plies(tree, solution)


@pytest.mark.parametrize(("blocks", "moves"), [("1-40", (39,)), ("1-60", (57,)), ("1-100", (99,))])
def test_where_the_length_is_not_known_nothing_is_said_of_it(
    blocks: str, moves: tuple[int, ...]
) -> None:
    solution = nt.solve(Game(nt.rules("factor", blocks=blocks), 0, moves), plies=False)
    given_hint = hint(solution)
    assert solution.value == "loss"
    assert solution.plies is None
    replies = solution.position.place(given_hint.block)
    assert all(replies.place(reply).outcome is None for reply in replies.legal)
    told = given_hint.nudge("block") + given_hint.name_move()
    assert "your opponent cannot win at once" in told
    assert not re.search("long|last|equally", told)


def test_a_long_line_counts_what_follows_the_move() -> None:
    rules = Rules(
        blocks=range(1, 51),
        supply="shared",
        towers="shared",
        fit="ascending",
        step=1,
        stuck="skips",
    )
    solution = nt.solve(Game(rules))
    assert format_reason(explain_move(solution, 1), opponent="Ben") == (
        "With best play 49 more blocks follow, and then nobody has won."
    )


def test_many_blocks_that_fit_are_summed_up() -> None:
    def said(*room: int) -> str:
        reason = Reason("out_of_reach", 0, 1, {"mine": 9_000, "most": 8_999, "room": room})
        return format_reason(reason, opponent="Ben")

    assert "Ben can add only 1, 2 and 5, so Ben's tower can reach 8999 at most." in said(1, 2, 5)
    assert "Ben can add only 1-30, 32, so" in said(*range(1, 31), 32)
    many = said(*range(1, 2_000, 2))
    assert "Ben can add only 1, 3, 5, " in many
    assert "1999 (1,000 in all), so" in many
    assert len(many) < 300


@pytest.mark.parametrize("block", [9, 1])
def test_a_reason_that_is_not_found_in_time_is_the_bare_value(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    solution = nt.solve(Game(nt.rules("summit"), 0, (2, 9)))
    monkeypatch.setattr(Solution, "after", _give_up)
    value = solution.moves[block].value
    ends = solution.position.place(block).outcome is not None
    assert explain_move(solution, block).kind == ("exact" if ends else value)


def _give_up(*_: object) -> Solution:
    raise NotSolvedError("not solved within 0 seconds")


def test_no_search_is_asked_for_where_every_move_draws() -> None:
    rules = Rules(
        blocks=range(1, 6), supply="shared", towers="shared", fit="ascending", stuck="skips"
    )
    assert (
        hint(nt.solve(Game(rules))).nudge("block")
        == "You cannot force a win, and every move keeps the draw."
    )


def test_a_hint_is_a_nudge_then_the_move_then_the_reason_and_why_is_the_reason() -> None:
    done = run_tower("play", "climb", typed="7\nhint\nhint\nhint\nwhy\nwhy 11\nwhy 13\nquit\n")
    assert done.returncode == 0
    assert "Only one of your moves wins. Count the steps that are left to the top." in done.stdout
    assert done.stdout.count("Play 12: it wins.") == 1
    assert done.stdout.count("Play 12. That leaves 18 steps to 30, and 18 is 3 times 6.") == 2
    assert "11 loses: Player 1 can answer 12. That leaves 18 steps to 30, and" in done.stdout
    assert "Number 13 cannot be placed on 7." in done.stdout


@pytest.mark.parametrize("asked", ["why -3", "why 2.5", "why 5 6", "why 1-3"])
def test_a_question_about_no_single_block_says_how_to_ask(asked: str) -> None:
    done = run_tower("play", "draft", typed=f"{asked}\nhint please\nquit\n")
    assert "After why, type one block, as in why 5.\n" in done.stdout
    assert "Type just hint.\n" in done.stdout


def test_the_third_text_of_a_hint_does_not_repeat_the_second() -> None:
    for moves, reason in (
        ((7,), "That leaves 18 steps to 30"),
        ((6,), "Player 1 can answer 12. That leaves"),
    ):
        table = Table(Game(nt.rules("climb"), 0, moves), "climb")
        _, named, why = format_hint(table, 3, hint(nt.solve(table.game))).texts
        assert named.startswith("Play ")
        assert why.startswith(reason)


def test_an_idea_is_introduced_once_in_a_game_and_explained_when_asked() -> None:
    done = run_tower("play", "climb", typed="7\nwhy\nwhy 11\nwhy rounds\nquit\n")
    assert done.stdout.count("(More: why rounds)") == 1
    assert done.stdout.count("Count what is missing, divide by the size of a round") == 1


def test_what_a_reason_leaves_out_is_told_when_asked() -> None:
    done = run_tower("play", "draft", typed="5\nwhy 6\nwhy more\nquit\n")
    assert (
        "1 with 2, 2 with 1, 3 with 2. Each wins at once, or lets Player 1 get higher than you"
        in done.stdout
    )
    assert "(For more: why more)" in done.stdout
    assert "After 1 and 2: that ends the game with Player 1 higher, 11 to 7." in done.stdout


def test_a_new_position_starts_with_a_nudge_again() -> None:
    done = run_tower("play", "climb", "--opening", "1-5", typed="1\nhint\n6\nhint\nquit\n")
    assert done.stdout.count("Count the steps that are left to the top.") == 1
    assert done.stdout.count("Your opponent can win from here if they make no mistake.") == 1
    assert "Play" not in done.stdout.replace("Player", "")


@pytest.mark.parametrize("asked", ["hint", "why", "why 5"])
def test_no_hint_is_given_where_blocks_are_hidden(asked: str) -> None:
    done = run_tower("play", "summit", "--hidden", typed=f"{asked}\nquit\n")
    assert "hidden in this game, so there are no hints" in done.stdout


def test_what_cannot_be_worked_out_is_not_guessed() -> None:
    done = run_tower(
        "play", "summit", "--blocks", "1-40", "--target", "311", typed="hint\nwhy\nquit\n"
    )
    assert done.stdout.count("No hint: this position cannot be worked out in reasonable time") == 2
