"""A room: the rights of players, their offers, and how one game follows another."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from number_tower import Game, IllegalMoveError, Table
from number_tower.engine import catalogue
from number_tower.engine.rules import Rules
from number_tower.engine.table import Change, StaleError, TableError
from number_tower.rooms.room import (
    CLAIM_AFTER,
    MAX_GAMES,
    Accept,
    Action,
    Claim,
    Decline,
    HintTaken,
    MakeOffer,
    Move,
    Offer,
    Rematch,
    Resign,
    Room,
    RoomError,
    Seat,
    TakeHint,
    Undo,
)
from support.strategies import any_rules

ANN, BEN, BOTH, NOBODY = {0}, {1}, {0, 1}, frozenset[int]()

DRAFT = catalogue.load_named("draft").rules
PEOPLE = Seat("person", "Ann"), Seat("person", "Ben")
ACTIONS: list[Action] = [
    *(Move(0, 9), Undo(0), Resign(), MakeOffer("takeback"), MakeOffer("rematch")),
    *(Accept(), Decline(), Rematch(), Claim()),
]


FREE_SEAT = PEOPLE[0], Seat("free", "Ben")
COMPUTER = PEOPLE[0], Seat("computer", "Easy")


def make_room(
    rules: Rules = DRAFT,
    *moves: int,
    seats: tuple[Seat, Seat] = PEOPLE,
    hidden: bool = False,
    **changes: Any,
) -> Room:
    """Return a room in which players have placed these blocks."""
    automatic = seats[0].kind == "computer", seats[1].kind == "computer"
    names = seats[0].name, seats[1].name
    table = Table(Game(rules, 0, moves), "draft", names, hidden=hidden, automatic=automatic)
    return Room(table, seats, **changes)


def play(*moves: int, **changes: Any) -> Room:
    return make_room(DRAFT, *moves, **changes)


def finish(room: Room) -> Room:
    """Let the game end by the position."""
    while not room.over:
        game = room.table.game
        room = room.apply({game.to_move}, Move(room.table.version, game.legal[0]))
    return room


def refuse(room: Room, held: Collection[int], action: Action, gone_for: float = 0) -> RoomError:
    with pytest.raises(RoomError) as refused:
        room.apply(held, action, gone_for)
    return refused.value


# Moves --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("action", ACTIONS)
def test_action_without_a_seat_is_refused(action: Action) -> None:
    assert refuse(make_room(), NOBODY, action).reason == "not_yours"


def test_action_at_the_wrong_time_is_refused(snapshot: SnapshotAssertion) -> None:
    asked = play(9, 4).apply(ANN, MakeOffer("takeback"))
    attempts: list[tuple[Room, set[int], Action]] = [
        *((play(), BEN, Move(0, 9)), (play(seats=FREE_SEAT), ANN, Move(0, 9))),
        *((play(9), ANN, Undo(1)), (play(9), BEN, MakeOffer("takeback"))),
        *((asked, ANN, Accept()), (asked, BEN, MakeOffer("takeback")), (play(), BOTH, Rematch())),
        *((room, ANN, TakeHint(0, 1)) for room in (play(hints=False), play(best_of=3))),
        (play(), BEN, TakeHint(0, 1)),
    ]
    errors = [refuse(*attempt) for attempt in attempts]
    assert [(error.reason, str(error)) for error in errors] == snapshot


REPEATED: list[tuple[Room, set[int], Action]] = [
    *((play(), ANN, Move(0, 9)), (play(9, 8), BOTH, Undo(2)), (play(), ANN, Resign(1))),
    *((play().apply(ANN, Resign()), ANN, MakeOffer("rematch")), (play(9), BEN, TakeHint(1, 1))),
]


@pytest.mark.parametrize(("room", "held", "action"), REPEATED)
def test_repeated_action_counts_once(room: Room, held: set[int], action: Action) -> None:
    once = room.apply(held, action)
    assert once != room
    assert once.apply(held, action) is once


@pytest.mark.parametrize(
    ("held", "action"), [(BEN, Move(0, 9)), (ANN, Move(0, 8)), (BEN, TakeHint(0, 1))]
)
def test_other_action_for_an_earlier_version_is_stale(held: set[int], action: Action) -> None:
    room = play(9)
    with pytest.raises(StaleError) as stale:
        room.apply(held, action)
    assert stale.value.table == room.table


@pytest.mark.parametrize(
    ("room", "held", "block", "reason"),
    [(play(9, 8), ANN, 8, "used"), (play().apply(ANN, Resign()), BEN, 9, "over")],
)
def test_move_against_the_rules_is_refused(
    room: Room, held: set[int], block: int, reason: str
) -> None:
    with pytest.raises(IllegalMoveError) as refused:
        room.apply(held, Move(room.table.version, block))
    assert refused.value.reason == reason


# Taking back --------------------------------------------------------------------------------------


def test_undo_at_one_screen_takes_one_move_back_and_against_the_computer_two() -> None:
    assert play(9, 8).apply(BOTH, Undo(2)).table.game.moves == (9,)
    assert play(9, 8, seats=COMPUTER).apply(ANN, Undo(2)).table.game.moves == ()


def test_takeback_over_a_link_needs_the_other_player() -> None:
    moved = play(9)
    assert not moved.may_undo(ANN)
    assert not moved.may_offer(BEN, "takeback"), "who made no move has nothing to take back"
    offered = moved.apply(ANN, MakeOffer("takeback"))
    assert offered.offer == Offer("takeback", 0)
    assert [offered.may_answer(held) for held in (ANN, BEN, NOBODY)] == [False, True, False]
    assert offered.apply(BEN, Accept()).table.game.moves == ()
    assert offered.apply(BEN, Move(1, 8)).offer is None, "an offer ends with the next move"


def test_takeback_goes_back_to_the_own_last_move() -> None:
    answered = play(9, 8)
    assert answered.apply(ANN, MakeOffer("takeback")).apply(BEN, Accept()).table.game.moves == ()
    assert answered.apply(BEN, MakeOffer("takeback")).apply(ANN, Accept()).table.game.moves == (9,)


def test_takeback_can_be_declined_or_withdrawn() -> None:
    moved = play(9)
    offered = moved.apply(ANN, MakeOffer("takeback"))
    declined = offered.apply(BEN, Decline())
    assert declined == replace(moved, declined=Offer("takeback", 0))
    assert offered.apply(ANN, Decline()) == moved
    assert declined.apply(BEN, Move(1, 8)).declined is None
    assert declined.apply(ANN, MakeOffer("takeback")) == offered


def test_number_of_takebacks_is_limited() -> None:
    room = play(9)
    log = (Change("place", 9), Change("undo", 1)) * 2_500
    tired = replace(room, table=replace(room.table, log=log))
    assert not tired.may_undo(BOTH)
    assert not tired.may_offer(ANN, "takeback")
    assert "no more can be" in str(refuse(tired, BOTH, Undo(5_000)))


LATE: list[Action] = [
    *(Resign(1), MakeOffer("takeback", 1), Decline(1), Undo(0, 1), Move(0, 9, 1)),
]


def test_action_for_an_earlier_game_is_stale_or_a_repetition() -> None:
    second = play().apply(ANN, Resign()).apply(BOTH, Rematch(1))
    for repeated in (Rematch(1), Accept(1), MakeOffer("rematch", 1)):
        assert second.apply(BOTH, repeated) is second
    for action in LATE:
        with pytest.raises(StaleError):
            second.apply(ANN, action)
    assert second.apply(BEN, Move(0, 9, game=2)).table.game.moves == (9,)


# Endings and what follows -------------------------------------------------------------------------


def test_player_over_a_link_resigns_and_at_one_screen_the_player_to_move() -> None:
    assert play(9).apply(ANN, Resign()).table.outcome == (1, "resigned")
    assert play(9).apply(BOTH, Resign()).table.outcome == (0, "resigned")


def test_rematch_over_a_link_takes_two() -> None:
    end = finish(play())
    assert not end.may_rematch(ANN)
    refuse(end, ANN, Rematch())
    offered = end.apply(BEN, MakeOffer("rematch"))
    second = offered.apply(ANN, Accept())
    assert (second.number, second.table.game.first, second.table.game.moves) == (2, 1, ())
    assert offered.apply(ANN, MakeOffer("rematch")) == second, "both have offered it"


def test_rematch_at_one_screen_or_against_the_computer_begins_at_once() -> None:
    assert finish(play()).apply(BOTH, Rematch()).number == 2
    second = finish(play(seats=COMPUTER)).apply(ANN, Rematch())
    assert (second.number, second.table.automatic) == (2, (False, True))
    assert not play().may_offer(ANN, "rematch"), "before the end"


def test_score_counts_all_games_of_the_room() -> None:
    first = play().apply(ANN, Resign())
    second = first.apply(BOTH, Rematch())
    rooms = (play(), first, second, second.apply(BEN, Resign()))
    assert [room.score for room in rooms] == [(0, 0), (0, 1), (0, 1), (1, 1)]


def test_number_of_games_in_a_room_is_limited() -> None:
    """Otherwise a room could fill the database with rematches alone."""
    last = replace(finish(play()), number=MAX_GAMES)
    for held, action in ((BOTH, Rematch()), (ANN, MakeOffer("rematch"))):
        problem = "500 games were played here, which is the limit; open a new room"
        assert problem in str(refuse(last, held, action))
    assert (last.may_rematch(BOTH), last.may_offer(ANN, "rematch")) == (False, False)
    before = replace(last, number=MAX_GAMES - 1)
    assert before.apply(ANN, MakeOffer("rematch")).apply(BEN, Accept()).number == MAX_GAMES
    assert before.apply(BOTH, Rematch()).number == MAX_GAMES


def test_match_continues_without_an_offer_until_it_is_decided() -> None:
    undecided = play(best_of=3).apply(ANN, Resign())
    assert undecided.may_rematch(BEN)
    assert not undecided.series_over
    decided = undecided.apply(BEN, Rematch()).apply(ANN, Resign())
    assert decided.series_over
    assert not decided.may_rematch(BEN)
    again = decided.apply(BEN, MakeOffer("rematch")).apply(ANN, Accept())
    assert (again.number, again.score, again.winners) == (3, (0, 0), ())


def test_match_is_finished_beyond_the_limit_of_games() -> None:
    first = replace(play(best_of=3), number=MAX_GAMES + 1).apply(ANN, Resign())
    decided = first.apply(ANN, Rematch()).apply(ANN, Resign())
    assert decided.series_over
    assert "which is the limit" in str(refuse(decided, BOTH, Rematch()))


# Seats --------------------------------------------------------------------------------------------


def test_free_seat_is_taken_once_and_before_it_nobody_moves_or_resigns() -> None:
    waiting = play(seats=FREE_SEAT)
    assert (waiting.may_move(ANN), waiting.may_resign(ANN)) == (False, False)
    taken, seat = waiting.sit("Zoë")
    assert (seat, taken.seats[1], taken.table.names) == (1, Seat("person", "Zoë"), ("Ann", "Zoë"))
    with pytest.raises(RoomError) as refused:
        taken.sit("Eve")
    assert refused.value.reason == "taken"


def test_player_without_a_name_has_that_of_the_rulebook() -> None:
    waiting = play(seats=(Seat("person", "Player 1"), Seat("free", "Player 2")))
    waiting = replace(waiting, table=replace(waiting.table, names=None))
    taken, _ = waiting.sit(None)
    assert (taken.seats[1], taken.table.names) == (Seat("person", "Player 2"), None)


def test_name_of_the_other_player_is_refused() -> None:
    problem = "the other player is already called Ann; choose another name"
    with pytest.raises(TableError, match=problem):
        play(seats=FREE_SEAT).sit(" ANN ")


def test_hint_is_for_the_player_to_move_unless_hidden_or_forbidden() -> None:
    assert play().may_hint(ANN)
    assert not play().may_hint(BEN)
    for room in (play(hints=False), play(best_of=3), play(hidden=True)):
        assert not room.may_hint(ANN)


def test_values_are_shown_to_players_who_practise_alone() -> None:
    alone = play(seats=COMPUTER)
    assert alone.may_see_values(ANN)
    assert play().may_see_values(BOTH), "both seats at one screen"
    assert not play().may_see_values(ANN)
    assert not alone.may_see_values(NOBODY)
    hidden = play(seats=COMPUTER, hidden=True)
    for room in (replace(alone, hints=False), replace(alone, best_of=3), finish(play()), hidden):
        assert not room.may_see_values(BOTH)


# Hints and claims ---------------------------------------------------------------------------------


def test_hints_against_a_person_are_listed_until_the_game_ends() -> None:
    taken = play(9).apply(BEN, TakeHint(1, 1)).apply(BEN, TakeHint(1, 2))
    assert taken.hints_taken == (HintTaken(1, 1, 1), HintTaken(1, 1, 2))
    assert taken.apply(BEN, Move(1, 8)).hints_taken == taken.hints_taken
    second = finish(taken).apply(BOTH, Rematch())
    assert (second.number, second.hints_taken) == (2, ())
    assert play().apply(BOTH, TakeHint(0, 1)).hints_taken == (), "at one screen"
    assert play(seats=COMPUTER).apply(ANN, TakeHint(0, 1)).hints_taken == ()


def test_game_is_claimed_from_a_player_to_move_who_is_gone_for_long() -> None:
    room = play(9)
    assert room.may_claim(ANN, CLAIM_AFTER)
    assert not room.may_claim(ANN, CLAIM_AFTER - 0.001)
    for held in (BEN, BOTH, NOBODY):
        assert not room.may_claim(held, CLAIM_AFTER)
    claimed = room.apply(ANN, Claim(), CLAIM_AFTER)
    assert claimed.table.outcome == (0, "forfeit")
    assert claimed.apply(ANN, Claim()) is claimed, "sent twice, it counts once"
    problem = "only if the player to move is gone for long"
    assert problem in str(refuse(room, ANN, Claim(), 10.0))


def test_time_until_a_claim_is_a_setting_of_the_room() -> None:
    assert play(9, claim_after=60).may_claim(ANN, 60)
    assert not play(9, claim_after=None).may_claim(ANN, 1e9)


@pytest.mark.parametrize(
    "room", [play(9, seats=COMPUTER), play(9, seats=FREE_SEAT), finish(play())], ids=range(3)
)
def test_nothing_is_claimed_from_a_computer_a_free_seat_or_a_finished_game(room: Room) -> None:
    assert not room.may_claim(ANN, 1e9)
    assert not finish(play()).may_claim(BEN, 1e9)


HANDS = st.sampled_from([frozenset[int](), frozenset(ANN), frozenset(BEN), frozenset(BOTH)])
SIMPLE: list[Action] = [action for action in ACTIONS if not isinstance(action, Move | Undo)]


@given(any_rules(), st.data())
def test_allowed_actions_succeed_and_others_are_refused(rules: Rules, data: st.DataObject) -> None:
    room = make_room(rules, best_of=data.draw(st.sampled_from([None, 3])))
    for _ in range(12):
        held = data.draw(HANDS)
        gone_for = data.draw(st.sampled_from([CLAIM_AFTER, CLAIM_AFTER - 1]))
        version = st.integers(0, room.table.version)
        action = data.draw(
            st.sampled_from(SIMPLE)
            | st.builds(Move, version, st.sampled_from(rules.blocks), st.none())
            | st.builds(Undo, version, st.none())
            | st.builds(TakeHint, version, st.sampled_from([1, 2, 3]), st.none())
        )
        try:
            after = room.apply(held, action, gone_for)
        except (RoomError, StaleError, IllegalMoveError, TableError):
            assert not is_allowed(room, held, action, gone_for)
            continue
        assert held
        assert after.number in {room.number, room.number + 1}
        same_log = after.table.log[: room.table.version] == room.table.log
        assert same_log or after.number > room.number
        if isinstance(action, Move) and after is not room:
            assert room.may_move(held)
        room = after


def is_allowed(room: Room, held: frozenset[int], action: Action, gone_for: float) -> bool:
    """Return what the room itself says of an action that was refused."""
    table = room.table
    match action:
        case Move(version, block):
            current = version == table.version and block in table.game.legal
            return current and room.may_move(held)
        case Undo(version):
            return version == table.version and room.may_undo(held)
        case Resign():
            return room.may_resign(held)
        case MakeOffer(kind):
            return room.may_offer(held, kind)
        case Accept():
            return room.may_answer(held)
        case Decline():
            return room.may_answer(held) or room.may_withdraw(held)
        case Rematch():
            return room.may_rematch(held)
        case TakeHint(version):
            return version == table.version and room.may_hint(held)
        case Claim():
            return room.may_claim(held, gone_for)


# In a class ---------------------------------------------------------------------------------------


PAUSED_ACTIONS: list[Action] = [Move(0, 9), Resign(), Undo(0)]


def test_paused_game_waits_for_the_teacher() -> None:
    paused = play(class_state="paused")
    assert paused.is_paused
    assert (paused.may_move(ANN), paused.may_resign(ANN)) == (False, False)
    assert not paused.may_claim(BEN, 10_000)
    for action in PAUSED_ACTIONS:
        assert "your teacher has paused the game" in str(refuse(paused, ANN, action))


def test_next_game_of_a_class_is_started_by_the_teacher() -> None:
    ended = play(class_state="open").apply(ANN, Resign())
    assert (ended.may_rematch(BEN), ended.may_offer(BEN, "rematch")) == (False, False)
    refuse(ended, BEN, Rematch())
    refuse(ended, BEN, MakeOffer("rematch"))


def test_match_of_a_class_continues_until_it_is_decided_or_closed() -> None:
    first = play(class_state="open", best_of=3).apply(ANN, Resign())
    assert not replace(first, class_state="closed").may_rematch(ANN)
    decided = first.apply(ANN, Rematch()).apply(ANN, Resign())
    assert decided.series_over
    assert not decided.may_rematch(ANN)


def test_result_in_a_class_is_final() -> None:
    end = play(9, 8, 6, seats=COMPUTER, class_state="open")
    assert end.over
    assert not end.may_undo(ANN)
    assert "its result counts in the class" in str(refuse(end, ANN, Undo(end.table.version)))
    assert replace(end, class_state=None).may_undo(ANN)


def test_teacher_decides_about_hints_and_values() -> None:
    assert play(class_state="open", best_of=3).hints_allowed
    assert not play(class_state="open", hints=False).hints_allowed
    with_values = play(class_state="open", class_values=True)
    assert with_values.may_see_values(ANN)
    assert not with_values.may_see_values(())
    assert not play(class_state="open").may_see_values(ANN)
