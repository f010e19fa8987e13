"""Hints: a nudge gives nothing away, the move is a best one, and every reason is true."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import pytest
from hypothesis import example, given, settings
from syrupy.assertion import SnapshotAssertion

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
from number_tower.engine import catalogue, record
from number_tower.engine.table import Table
from number_tower.solve.limits import NotSolvedError
from number_tower.solve.solution import Solution
from number_tower.words.voice import get_voice
from support.claims import ME, YOU, Claim, check_details, check_sentence, require_idea
from support.command import run_tower
from support.game_tree import Tree, list_reachable
from support.rulesets import sample_positions
from support.sizes import THOROUGH, examples, size
from support.strategies import any_game, any_rules

pytestmark = pytest.mark.slow


def check_position(tree: Tree, solution: Solution, *, plies: bool = True) -> Counter[str]:
    """Check every sentence about a position; return the kinds of reason."""
    legal = solution.position.legal
    kinds = Counter(check_reason(tree, solution, explain_move(solution, block)) for block in legal)
    (check_hint if plies else check_hint_without_plies)(tree, solution)
    return kinds


def check_positions(rules: Rules, positions: Iterable[Position], *, plies: bool = True) -> set[str]:
    """Check every sentence about these positions; return the kinds of reason."""
    tree, solution = Tree(rules), nt.solve(Game(rules), plies=plies)
    kinds = set[str]()
    for position in positions:
        kinds |= check_position(tree, solution.of(position), plies=plies).keys()
    return kinds


def check_reason(tree: Tree, solution: Solution, reason: Reason) -> str:
    """Check the texts about a move, to both by name or to the player as "you".

    Return the kind of reason.
    """
    position, block = solution.position, reason.block
    names = (ME if block % 2 else "you", YOU)
    text = format_sentence(reason, YOU, "block", player=names[0])
    kind = check_sentence(tree, position, block, text, names)
    detailed, claim = reason, Claim.about_move(tree, position, block, names)
    if reason.kind == "refuted" and reason.because is not None:
        detailed = reason.because
        claim = claim.then(detailed.block).turn_round()
    me, you = claim.names
    check_details(claim, format_details(detailed, player=me, opponent=you))
    return kind


def check_hint(tree: Tree, solution: Solution) -> None:
    position, move = solution.position, hint(solution)
    value, plies = tree.solve(position)
    best = [
        block
        for block in position.legal
        if tree.evaluate_move(position, block) == tree.solve(position)
    ]
    assert move.block in best
    check_nudge(tree, position, move.nudge("block"))
    only = len(position.legal) == 1
    lost = "no move is better" if len(best) == len(position.legal) else "it holds out longest"
    named = {1: "it wins", 0: "it keeps the draw", -1: lost}[value]
    named = "it is your only move" if only else named
    assert move.name_move() == f"Play {move.block}: {named}."
    assert ("You can win at once" in move.nudge("block")) == (value == plies == 1 and not only)
    lost = "{} is your only move. " if only else "You could play {}. "
    began = {1: "Play {}. ", 0: "{} draws. ", -1: lost}[value]
    assert move.why(YOU, "block").startswith(began.format(move.block))
    assert move.why(YOU, "block").endswith(".")


def check_nudge(tree: Tree, position: Position, nudge: str) -> None:
    """A nudge names no number, counts the good moves rightly, and names only a real target."""
    assert not re.search(r"\d|\bthere\b", nudge)
    assert position.rules.target is not None or "target" not in nudge
    value, legal = tree.solve(position).value, len(position.legal)
    good = sum(tree.evaluate_move(position, block).value == value for block in position.legal)
    share = "one" if good == 1 < legal else "several" if good < legal else "every"
    beginnings = {
        (1, "one"): "Only one of your moves wins.",
        (1, "several"): "Several moves win, but not all.",
        (1, "every"): "Every move wins; some may be quicker than others.",
        (0, "one"): "You cannot force a win, and only one of your moves keeps the draw.",
        (0, "several"): "You cannot force a win, and not every move keeps the draw.",
        (0, "every"): "You cannot force a win, and every move keeps the draw.",
        (-1, "every"): "Your opponent can win from here if they make no mistake.",
        (None, "every"): "You have only one move.",
    }
    expected = beginnings[value if legal > 1 else None, share]
    assert [text for text in beginnings.values() if nudge.startswith(text)] == [expected]


EXPECTED = {
    "draft": "higher threat_unfit threat_or out_of_reach too_low answers_rule told_line refuted",
    "summit": "exact stuck made_up answers answers_rule plan_careful refuted",
    "climb": "stuck multiple refuted",
    "factor": "stuck pairs_all forced answers refuted",
    "race": "exact stuck ahead refuted",
}


@pytest.mark.parametrize("name", EXPECTED)
def test_every_reason_is_true(name: str) -> None:
    rules = nt.rules(name)
    everything = THOROUGH and name != "race"
    positions = (
        (position for position in list_reachable(Position.start(rules)) if position.legal)
        if everything
        else sample_positions(rules, size(40, 150))
    )
    assert check_positions(rules, positions) >= set(EXPECTED[name].split())


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("climb", {"opening": "1-5"}),
        ("summit", {"target": 26, "blocks": "1-6"}),
        ("factor", {"blocks": "1-16"}),
        ("draft", {"target": 12, "blocks": "1-7"}),
    ],
)
def test_every_reason_is_true_with_options(name: str, options: dict[str, object]) -> None:
    rules = nt.rules(name, **options)
    assert check_positions(rules, sample_positions(rules, size(5, 40)))


@settings(max_examples=examples(100))
@given(any_game())
def test_every_reason_is_true_by_any_rules(game: Game) -> None:
    if game.outcome is None:
        solution = nt.solve(game)
        check_position(Tree(game.rules), solution)
        reasons = [explain_move(solution, block) for block in game.legal]
        assert {*map(name_idea, reasons)} <= {None, *list_helpful_ideas(game.rules)}


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
    questions = "".join(f"why {idea}\n" for idea in IDEAS)
    shown = run_tower("play", name, typed=f"{questions}quit\n").stdout
    noun = get_voice(catalogue.load(name)).noun
    assert [idea for idea in IDEAS if require_idea(idea, noun).text in shown] == [
        idea for idea in IDEAS if idea in HELPFUL[name]
    ]


@settings(max_examples=examples(200))
@given(any_game(rules=any_rules(most_blocks=5, beyond=True)))
@example(Game(Rules(range(1, 4), "own", "shared", fit="related", target=13, stuck="loses")))
def test_every_reason_is_true_where_the_target_is_beyond_reach(game: Game) -> None:
    if game.outcome is not None:
        return
    solution = nt.solve(game)
    check_position(Tree(game.rules), solution)
    for block in game.legal:
        reason = explain_move(solution, block)
        at_once = "at once if possible" in format_reason(reason, opponent=YOU)
        if at_once and "skips" not in game.rules.stuck:
            plan, after = reason.because or reason, game.position.place(block)
            after = after if reason.because is None else after.place(plan.block)
            kind: PlanKind = "plan_careful" if plan.kind == "plan_careful" else "plan"
            simpler = LargestBlockPlan(kind, plan.mover, iter(range(10_000)), at_once=False)
            assert simpler.explain(after, plan.block) is None, "the largest block wins by itself"


@pytest.mark.parametrize(
    ("target", "blocks"), [(50, "1-4"), (100, "1-4"), (21, "1-4"), (30, "2-5"), (60, "1-5")]
)
def test_sums_over_several_rounds_are_given_only_while_the_blocks_last(
    target: int, blocks: str
) -> None:
    rules = nt.rules("summit", target=target, blocks=blocks)
    kinds = check_positions(rules, sample_positions(rules, size(8, 40)))
    assert "outlasts" in kinds
    assert "made_up_again" not in kinds


@pytest.mark.parametrize(
    "text",
    [
        (
            "4 wins. Then the gap to 100 is 95: 19 rounds of 5. Whatever Ben Day adds, "
            "Ann Lee can make it 5 each time: 2 with 3, 3 with 2, 4 with 1."
        ),
        (
            "4 wins. Nobody can reach 100. Both can place 4 more blocks, "
            "and Ben Day goes next, so Ben Day will be stuck first."
        ),
        "4 wins. Nobody can say why.",
    ],
)
def test_false_reason_is_refused_by_the_check(text: str) -> None:
    rules = nt.rules("summit", target=100, blocks="1-4")
    with pytest.raises(AssertionError):
        check_sentence(Tree(rules), Game(rules, 0, (1,)).position, 4, text)


@pytest.mark.parametrize("name", ["race", "summit"])
def test_refutation_that_reaches_the_target_comes_before_any_other(name: str) -> None:
    rules = nt.rules(name)
    whole = nt.solve(Game(rules))
    for position in sample_positions(rules, size(10, 100)):
        for block in position.legal:
            reason, after = explain_move(whole.of(position), block), position.place(block)
            ends = [after.place(reply).outcome for reply in after.legal]
            if reason.kind == "refuted" and nt.Outcome(after.to_move, "exact") in ends:
                assert reason.because is not None
                assert reason.because.kind == "exact"


def test_coach_has_words_for_every_kind_and_no_others() -> None:
    keys = load_texts().keys()
    kinds = {key.removeprefix("why_") for key in keys if key.startswith("why_")}
    nudges = {key.removeprefix("nudge_") for key in keys if key.startswith("nudge_")}
    ideas = {key.removeprefix("idea_") for key in keys if key.startswith("idea_")}
    ends = ("_stuck", "_end", "_reach")
    variants = {kind for kind in kinds if kind.endswith(ends) and kind != "out_of_reach"}
    variants |= {"forced_plan", "threat_or_plan", "threat_unfit", "pairs_all", "outlasts_level"}
    variants |= {"win_line_many", "draw_line_many", "loss_line_many"}
    never_best = {"lower", "refuted", "too_low", "loss", "loss_line", "loss_long"}
    lost = {"lost", "lost_alike", "lost_unknown", "lost_at_once"}
    assert nudges == (kinds - variants - never_best) | lost
    parts = {f"{idea}_{part}" for idea in IDEAS for part in ("name", "intro", "text")}
    assert ideas - {"more", "unknown", "unhelpful", "helpful"} == parts


@pytest.mark.parametrize(
    "line",
    [
        *("climb:7,12", "climb:7,11", "factor:4", "draft:9", "summit:9,6", "summit:3,7", "race:9"),
        *("summit(target=100):1,9", "rules(blocks=1,2,4,supply=own,towers=own):1,2,2"),
        "rules(blocks=1-50,fit=ascending,step=1,stuck=skips):1",
    ],
)
def test_reason_for_the_last_move_is_as_recorded(line: str, snapshot: SnapshotAssertion) -> None:
    game = record.from_line(line).game
    reason = explain_move(nt.solve(game.undo()), game.moves[-1])
    assert format_sentence(reason, "Ben", "block") == snapshot


def check_hint_without_plies(tree: Tree, solution: Solution) -> None:
    """Where plies are not known, the move has the best value, and no text speaks of its length."""
    position, move = solution.position, hint(solution)
    value = tree.solve(position).value
    assert tree.evaluate_move(position, move.block).value == value
    check_nudge(tree, position, move.nudge("block"))
    if value == -1 and len(position.legal) > 1:
        safe = [
            block
            for block in position.legal
            if not can_win_at_once(position.place(block), 1 - position.to_move)
        ]
        text = move.nudge("block") + move.name_move()
        assert (move.block in safe) == bool(safe) == ("your opponent cannot win at once" in text)
        assert not re.search("long|last|equally", text)


@pytest.mark.parametrize("name", EXPECTED)
def test_every_reason_is_true_where_plies_are_not_known(name: str) -> None:
    rules = nt.rules(name)
    assert check_positions(rules, sample_positions(rules, size(5, 50)), plies=False)


@settings(max_examples=examples(100))
@given(any_game())
def test_every_reason_is_true_by_any_rules_where_plies_are_not_known(game: Game) -> None:
    if game.outcome is None:
        check_position(Tree(game.rules), nt.solve(game, plies=False), plies=False)


@pytest.mark.parametrize(("blocks", "moves"), [("1-40", (39,)), ("1-60", (57,)), ("1-100", (99,))])
def test_hint_of_unknown_length_does_not_speak_of_it(blocks: str, moves: tuple[int, ...]) -> None:
    solution = nt.solve(Game(nt.rules("factor", blocks=blocks), 0, moves), plies=False)
    move = hint(solution)
    assert (solution.value, solution.plies) == ("loss", None)
    replies = solution.position.place(move.block)
    assert all(replies.place(reply).outcome is None for reply in replies.legal)
    text = move.nudge("block") + move.name_move()
    assert "your opponent cannot win at once" in text
    assert not re.search("long|last|equally", text)


@pytest.mark.parametrize("room", [(1, 2, 5), (*range(1, 31), 32), range(1, 2_000, 2)], ids=len)
def test_reason_with_many_blocks_sums_them_up(
    room: Sequence[int], snapshot: SnapshotAssertion
) -> None:
    facts: dict[str, int | Sequence[int]] = {"mine": 9_000, "most": 8_999, "room": tuple(room)}
    text = format_reason(Reason("out_of_reach", 0, 1, facts), opponent="Ben")
    assert len(text) < 300
    assert text == snapshot


@pytest.mark.parametrize("block", [9, 1])
def test_reason_that_is_not_found_in_time_is_the_bare_value(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def give_up(*_: object) -> Solution:
        raise NotSolvedError("not solved within 0 seconds")

    solution = nt.solve(Game(nt.rules("summit"), 0, (2, 9)))
    value = solution.moves[block].value
    monkeypatch.setattr(Solution, "after", give_up)
    ends = solution.position.place(block).outcome is not None
    assert explain_move(solution, block).kind == ("exact" if ends else value)


def test_third_text_of_a_hint_does_not_repeat_the_second() -> None:
    for block, reason in ((7, "That leaves 18 steps"), (6, "Player 1 can answer 12.")):
        table = Table(Game(nt.rules("climb"), 0, (block,)), "climb")
        _, named, why = format_hint(table, 3, hint(nt.solve(table.game))).texts
        assert named.startswith("Play ")
        assert why.startswith(reason)
