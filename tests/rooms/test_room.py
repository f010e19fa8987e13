"""A room: who may do what there, what people offer each other, and how one game follows another."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


def room(
    rules: Rules = DRAFT, *, best_of: int | None = None, seats: tuple[Seat, Seat] = PEOPLE
) -> Room:
    automatic = seats[0].kind == "computer", seats[1].kind == "computer"
    names = seats[0].name, seats[1].name
    return Room(Table(Game(rules), "draft", names, automatic=automatic), seats, best_of=best_of)


def played(start: Room, *blocks: int) -> Room:
    """Let whoever's turn it is place these blocks."""
    for block in blocks:
        start = start.apply({start.table.game.to_move}, Move(start.table.version, block))
    return start


def over(start: Room) -> Room:
    """Let the game end by the position."""
    while not start.over:
        start = played(start, start.table.game.legal[0])
    return start


# Moves --------------------------------------------------------------------------------------------


def test_whoever_holds_no_seat_can_do_nothing() -> None:
    for action in (
        Move(0, 9),
        Undo(0),
        Resign(),
        MakeOffer("takeback"),
        Accept(),
        Decline(),
        Rematch(),
    ):
        with pytest.raises(RoomError) as refused:
            room().apply(NOBODY, action)
        assert refused.value.reason == "not_yours"


def test_nobody_moves_while_it_is_the_others_turn() -> None:
    with pytest.raises(RoomError, match="it is Ann's turn") as refused:
        room().apply(BEN, Move(0, 9))
    assert refused.value.reason == "not_now"


def test_nobody_moves_before_somebody_took_the_other_seat() -> None:
    waiting = room(seats=(Seat("person", "Ann"), Seat("free", "Ben")))
    with pytest.raises(RoomError) as refused:
        waiting.apply(ANN, Move(0, 9))
    assert refused.value.reason == "waiting"
    assert not waiting.may_move(ANN)
    assert not waiting.may_resign(ANN)


def test_a_move_sent_twice_counts_once() -> None:
    once = room().apply(ANN, Move(0, 9))
    assert once.apply(ANN, Move(0, 9)) is once


def test_a_move_is_repeated_by_nobody_but_whoever_made_it() -> None:
    with pytest.raises(StaleError):
        room().apply(ANN, Move(0, 9)).apply(BEN, Move(0, 9))


def test_another_move_that_answers_the_same_version_is_stale() -> None:
    once = room().apply(ANN, Move(0, 9))
    with pytest.raises(StaleError) as stale:
        once.apply(ANN, Move(0, 8))
    assert stale.value.table == once.table


def test_a_move_of_an_earlier_game_is_stale() -> None:
    second = over(room()).apply(ANN, MakeOffer("rematch")).apply(BEN, Accept())
    assert second.number == 2
    with pytest.raises(StaleError):
        second.apply(BEN, Move(0, 9, game=1))
    assert second.apply(BEN, Move(0, 9, game=2)).table.game.moves == (9,)


def test_a_block_that_cannot_be_placed_is_refused_by_the_rules() -> None:
    with pytest.raises(IllegalMoveError) as refused:
        played(room(), 9, 8).apply(ANN, Move(2, 8))
    assert refused.value.reason == "used"


def test_a_game_that_is_over_takes_no_move() -> None:
    end = room().apply(ANN, Resign())
    with pytest.raises(IllegalMoveError) as refused:
        end.apply(BEN, Move(end.table.version, 9))
    assert refused.value.reason == "over"


# Taking back --------------------------------------------------------------------------------------


def test_at_one_table_a_move_is_taken_back_at_once() -> None:
    assert played(room(), 9, 8).apply(BOTH, Undo(2)).table.game.moves == (9,)


def test_against_the_computer_its_answer_is_taken_back_too() -> None:
    alone = room(seats=(Seat("person", "Ann"), Seat("computer", "Gentle")))
    assert played(alone, 9, 8).apply(ANN, Undo(2)).table.game.moves == ()


def test_undo_sent_twice_counts_once() -> None:
    once = played(room(), 9, 8).apply(BOTH, Undo(2))
    assert once.apply(BOTH, Undo(2)) is once


def test_over_a_link_the_other_has_to_agree_to_a_takeback() -> None:
    moved = played(room(), 9)
    assert not moved.may_undo(ANN)
    with pytest.raises(RoomError, match="has to agree"):
        moved.apply(ANN, Undo(1))
    offered = moved.apply(ANN, MakeOffer("takeback"))
    assert offered.offer == Offer("takeback", 0)
    assert offered.may_answer(BEN)
    assert not offered.may_answer(ANN)
    assert not offered.may_answer(NOBODY)
    assert offered.apply(BEN, Accept()).table.game.moves == ()


def test_a_takeback_goes_back_to_the_askers_own_last_move() -> None:
    answered = played(room(), 9, 8)
    assert answered.apply(ANN, MakeOffer("takeback")).apply(BEN, Accept()).table.game.moves == ()
    assert answered.apply(BEN, MakeOffer("takeback")).apply(ANN, Accept()).table.game.moves == (9,)


def test_a_takeback_can_be_declined_or_withdrawn_and_nothing_changes() -> None:
    moved = played(room(), 9)
    offered = moved.apply(ANN, MakeOffer("takeback"))
    declined = offered.apply(BEN, Decline())
    assert declined == replace(moved, declined=Offer("takeback", 0))
    assert offered.apply(ANN, Decline()) == moved
    assert played(declined, 8).declined is None
    assert declined.apply(ANN, MakeOffer("takeback")) == offered


def test_an_offer_lapses_with_the_next_move() -> None:
    offered = played(room(), 9).apply(ANN, MakeOffer("takeback"))
    assert played(offered, 8).offer is None


def test_nobody_accepts_what_they_offered_themselves() -> None:
    with pytest.raises(RoomError, match="the other player has not offered anything"):
        played(room(), 9).apply(ANN, MakeOffer("takeback")).apply(ANN, Accept())


def test_whoever_made_no_move_has_nothing_to_take_back() -> None:
    moved = played(room(), 9)
    assert not moved.may_offer(BEN, "takeback")
    with pytest.raises(RoomError):
        moved.apply(BEN, MakeOffer("takeback"))


def test_what_both_offer_is_agreed() -> None:
    end = over(room())
    assert end.apply(ANN, MakeOffer("rematch")).apply(BEN, MakeOffer("rematch")).number == 2


def test_takebacks_that_cross_are_not_agreed_for_each_wants_another_move_back() -> None:
    offered = played(room(), 9, 4).apply(ANN, MakeOffer("takeback"))
    with pytest.raises(RoomError):
        offered.apply(BEN, MakeOffer("takeback"))
    assert not offered.may_offer(BEN, "takeback")


def test_nothing_is_taken_back_for_ever() -> None:
    table = replace(played(room(), 9).table, log=(Change("place", 9), Change("undo", 1)) * 2_500)
    tired = replace(room(), table=table)
    assert not tired.may_undo(BOTH)
    assert not tired.may_offer(ANN, "takeback")
    with pytest.raises(RoomError, match="no more can be"):
        tired.apply(BOTH, Undo(5_000))


def test_resigning_twice_is_resigning_once() -> None:
    end = room().apply(ANN, Resign(1))
    assert end.apply(ANN, Resign(1)) is end


def test_whatever_is_said_of_an_earlier_game_is_too_late() -> None:
    second = room().apply(ANN, Resign()).apply(BOTH, Rematch(1))
    assert second.apply(BOTH, Rematch(1)) is second
    assert second.apply(BOTH, Accept(1)) is second
    assert second.apply(ANN, MakeOffer("rematch", 1)) is second
    for late in (Resign(1), MakeOffer("takeback", 1), Decline(1), Undo(0, 1), Move(0, 9, 1)):
        with pytest.raises(StaleError):
            second.apply(ANN, late)


def test_an_offer_made_twice_is_made_once() -> None:
    offered = over(room()).apply(ANN, MakeOffer("rematch"))
    assert offered.apply(ANN, MakeOffer("rematch")) is offered


# Endings and what follows -------------------------------------------------------------------------


def test_over_a_link_everybody_resigns_for_themselves() -> None:
    end = played(room(), 9).apply(ANN, Resign())
    assert end.table.outcome is not None
    assert end.table.outcome == (1, "resigned")


def test_at_one_table_whoever_is_to_move_resigns() -> None:
    assert played(room(), 9).apply(BOTH, Resign()).table.outcome == (0, "resigned")


def test_a_rematch_over_a_link_takes_two() -> None:
    end = over(room())
    assert not end.may_rematch(ANN)
    with pytest.raises(RoomError):
        end.apply(ANN, Rematch())
    following = end.apply(BEN, MakeOffer("rematch")).apply(ANN, Accept())
    assert (following.number, following.table.game.first, following.table.game.moves) == (2, 1, ())


def test_a_rematch_at_one_table_or_against_the_computer_begins_at_once() -> None:
    assert over(room()).apply(BOTH, Rematch()).number == 2
    alone = room(seats=(Seat("person", "Ann"), Seat("computer", "Gentle")))
    following = over(alone).apply(ANN, Rematch())
    assert (following.number, following.table.automatic) == (2, (False, True))


def test_there_is_no_rematch_before_the_end() -> None:
    assert not room().may_offer(ANN, "rematch")
    with pytest.raises(RoomError):
        room().apply(BOTH, Rematch())


def test_the_score_is_counted_over_all_games_in_the_room() -> None:
    first = room().apply(ANN, Resign())
    second = first.apply(BOTH, Rematch())
    assert [each.score for each in (room(), first, second, second.apply(BEN, Resign()))] == [
        (0, 0),
        (0, 1),
        (0, 1),
        (1, 1),
    ]


def test_there_are_no_games_for_ever_in_one_room() -> None:
    """On the code as it was, a room could fill the database with rematches alone."""
    last = replace(over(room()), number=MAX_GAMES)
    for held, action in ((BOTH, Rematch()), (ANN, MakeOffer("rematch"))):
        with pytest.raises(
            RoomError, match="500 games were played here, which is the limit; open a new room"
        ):
            last.apply(held, action)
    assert not last.may_rematch(BOTH)
    assert not last.may_offer(ANN, "rematch")
    before = replace(last, number=MAX_GAMES - 1)
    assert before.may_offer(ANN, "rematch")
    assert before.apply(ANN, MakeOffer("rematch")).apply(BEN, Accept()).number == MAX_GAMES
    assert before.apply(BOTH, Rematch()).number == MAX_GAMES


def test_a_match_is_finished_however_many_games_were_played_before() -> None:
    first = replace(room(best_of=3), number=MAX_GAMES + 1).apply(ANN, Resign())
    assert first.may_rematch(ANN)
    decided = first.apply(ANN, Rematch()).apply(ANN, Resign())
    assert decided.series_over
    assert not decided.may_rematch(BOTH)
    with pytest.raises(RoomError, match="which is the limit"):
        decided.apply(BOTH, Rematch())


def test_a_match_goes_on_without_asking_until_it_is_decided() -> None:
    undecided = room(best_of=3).apply(ANN, Resign())
    assert undecided.may_rematch(BEN)
    assert not undecided.series_over
    decided = undecided.apply(BEN, Rematch()).apply(ANN, Resign())
    assert decided.series_over
    assert not decided.may_rematch(BEN)
    assert decided.may_offer(BEN, "rematch")
    again = decided.apply(BEN, MakeOffer("rematch")).apply(ANN, Accept())
    assert (again.number, again.score, again.winners) == (3, (0, 0), ())


# Seats --------------------------------------------------------------------------------------------


def test_the_free_seat_is_taken_once() -> None:
    waiting = room(seats=(Seat("person", "Ann"), Seat("free", "Ben")))
    taken, place = waiting.sit("Zoë")
    assert (place, taken.seats[1], taken.table.names) == (1, Seat("person", "Zoë"), ("Ann", "Zoë"))
    with pytest.raises(RoomError) as refused:
        taken.sit("Eve")
    assert refused.value.reason == "taken"


def test_whoever_gives_no_name_is_called_as_the_rulebook_says() -> None:
    waiting = replace(room(seats=(Seat("person", "Player 1"), Seat("free", "Player 2"))))
    waiting = replace(waiting, table=replace(waiting.table, names=None))
    taken, _ = waiting.sit(None)
    assert (taken.seats[1], taken.table.names) == (Seat("person", "Player 2"), None)


def test_two_players_are_not_called_the_same() -> None:
    waiting = room(seats=(Seat("person", "Ann"), Seat("free", "Ben")))
    with pytest.raises(
        TableError, match="the other player is already called Ann; choose another name"
    ):
        waiting.sit(" ANN ")


def test_nobody_is_helped_in_a_match_or_where_blocks_are_hidden_or_help_is_off() -> None:
    assert room().may_hint(ANN)
    assert not room().may_hint(BEN)
    assert not replace(room(), hints=False).may_hint(ANN)
    assert not room(best_of=3).may_hint(ANN)
    assert not replace(room(), table=replace(room().table, hidden=True)).may_hint(ANN)


# Whatever is done ---------------------------------------------------------------------------------

# Hints and claims ---------------------------------------------------------------------------------


def test_a_hint_against_another_person_is_seen_once_and_ends_with_the_game() -> None:
    start = played(room(), 9)
    first = start.apply(BEN, TakeHint(1, 1))
    assert first.apply(BEN, TakeHint(1, 1)) is first, "asked again, it is the same hint"
    second = first.apply(BEN, TakeHint(1, 2))
    assert second.hints_taken == (HintTaken(1, 1, 1), HintTaken(1, 1, 2))
    assert played(second, 8).hints_taken == second.hints_taken
    ended = over(second).apply(BOTH, Rematch())
    assert (ended.number, ended.hints_taken) == (2, ())


def test_nobody_is_told_of_hints_at_one_table_or_against_the_computer() -> None:
    alone = room(seats=(Seat("person", "Ann"), Seat("computer", "Easy")))
    assert room().apply(BOTH, TakeHint(0, 1)).hints_taken == ()
    assert alone.apply(ANN, TakeHint(0, 1)).hints_taken == ()


def test_values_are_for_those_who_practise_alone() -> None:
    alone = room(seats=(Seat("person", "Ann"), Seat("computer", "Easy")))
    assert alone.may_see_values(ANN)
    assert room().may_see_values(BOTH), "both seats at one screen"
    assert not room().may_see_values(ANN)
    assert not alone.may_see_values(frozenset())
    for start in (replace(alone, hints=False), replace(alone, best_of=3), over(room())):
        assert not start.may_see_values(BOTH)
    assert not replace(alone, table=replace(alone.table, hidden=True)).may_see_values(ANN)


def test_a_hint_is_refused_where_there_is_none() -> None:
    for start, held in ((replace(room(), hints=False), ANN), (room(best_of=3), ANN), (room(), BEN)):
        with pytest.raises(RoomError, match="there is no hint now"):
            start.apply(held, TakeHint(0, 1))
    with pytest.raises(StaleError):
        played(room(), 9).apply(BEN, TakeHint(0, 1))


def test_a_game_is_claimed_from_a_player_to_move_who_is_gone_for_long() -> None:
    start = played(room(), 9)
    assert start.may_claim(ANN, CLAIM_AFTER)
    assert not start.may_claim(ANN, CLAIM_AFTER - 0.001)
    assert not start.may_claim(BEN, CLAIM_AFTER), "it is their own turn"
    assert not start.may_claim(BOTH, CLAIM_AFTER)
    assert not start.may_claim(NOBODY, CLAIM_AFTER)
    claimed = start.apply(ANN, Claim(), CLAIM_AFTER)
    assert claimed.table.outcome == (0, "forfeit")
    assert claimed.apply(ANN, Claim()) is claimed, "sent twice, it counts once"
    with pytest.raises(RoomError, match="only if the player to move is gone for long"):
        start.apply(ANN, Claim(), 10.0)


def test_a_room_can_have_its_own_time_until_a_claim_or_none() -> None:
    start = replace(played(room(), 9), claim_after=60)
    assert start.may_claim(ANN, 60)
    assert not replace(start, claim_after=None).may_claim(ANN, 1e9)


def test_nothing_is_claimed_from_a_computer_a_free_seat_or_a_game_that_is_over() -> None:
    computer = Seat("computer", "Easy")
    assert not replace(played(room(), 9), seats=(PEOPLE[0], computer)).may_claim(ANN, 1e9)
    assert not replace(played(room(), 9), seats=(PEOPLE[0], Seat("free", "Ben"))).may_claim(
        ANN, 1e9
    )
    assert not over(room()).may_claim(ANN, 1e9)
    assert not over(room()).may_claim(BEN, 1e9)


HANDS = st.sampled_from([frozenset[int](), frozenset(ANN), frozenset(BEN), frozenset(BOTH)])
SIMPLE: list[Action] = [
    Resign(),
    MakeOffer("takeback"),
    MakeOffer("rematch"),
    Accept(),
    Decline(),
    Rematch(),
    Claim(),
]


@given(any_rules(), st.data())
def test_what_may_be_done_can_be_done_and_what_may_not_changes_nothing(
    rules: Rules, data: st.DataObject
) -> None:
    start = room(rules, best_of=data.draw(st.sampled_from([None, 3])))
    for _ in range(12):
        held = data.draw(HANDS)
        gone_for = data.draw(st.sampled_from([CLAIM_AFTER, CLAIM_AFTER - 1]))
        action = data.draw(
            st.sampled_from(SIMPLE)
            | st.builds(
                Move, st.integers(0, start.table.version), st.sampled_from(rules.blocks), st.none()
            )
            | st.builds(Undo, st.integers(0, start.table.version), st.none())
            | st.builds(
                TakeHint, st.integers(0, start.table.version), st.sampled_from([1, 2, 3]), st.none()
            )
        )
        try:
            after = start.apply(held, action, gone_for)
        except (RoomError, StaleError, IllegalMoveError, TableError):
            assert not _allowed(start, held, action, gone_for)
            continue
        assert held
        assert after.number in {start.number, start.number + 1}
        assert (
            after.table.log[: start.table.version] == start.table.log or after.number > start.number
        )
        if isinstance(action, Move) and after is not start:
            assert start.may_move(held)
        start = after


def _allowed(start: Room, held: frozenset[int], action: Action, gone_for: float) -> bool:
    """Say what the room itself says of something that was refused."""
    table = start.table
    allowed = False
    match action:
        case Move(version, block):
            allowed = (
                version == table.version and start.may_move(held) and block in table.game.legal
            )
        case Undo(version):
            allowed = version == table.version and start.may_undo(held)
        case Resign():
            allowed = start.may_resign(held)
        case MakeOffer(kind):
            allowed = start.may_offer(held, kind)
        case Accept():
            allowed = start.may_answer(held)
        case Decline():
            allowed = start.may_answer(held) or start.may_withdraw(held)
        case Rematch():
            allowed = start.may_rematch(held)
        case TakeHint(version):
            allowed = version == table.version and start.may_hint(held)
        case Claim():
            allowed = start.may_claim(held, gone_for)
    return allowed


# In a class ---------------------------------------------------------------------------------------


def in_class(state: Any = "open", *, best_of: int | None = None, **changed: Any) -> Room:
    return replace(room(best_of=best_of), class_state=state, **changed)


def test_a_paused_game_waits_for_the_teacher() -> None:
    paused = in_class("paused")
    assert paused.is_paused
    assert not paused.may_move({0})
    assert not paused.may_resign({0})
    assert not paused.may_claim({1}, 10_000)
    for action in (Move(0, 9), Resign(), Undo(0)):
        with pytest.raises(RoomError, match="your teacher has paused the game"):
            paused.apply({0}, action)


def test_in_a_class_the_next_game_is_the_teachers_to_start() -> None:
    ended = in_class().apply({0}, Resign())
    assert not ended.may_rematch({1})
    assert not ended.may_offer({1}, "rematch")
    for action in (Rematch(), MakeOffer("rematch")):
        with pytest.raises(RoomError):
            ended.apply({1}, action)


def test_in_a_class_a_match_goes_on_by_itself_until_it_is_decided_or_ended() -> None:
    first = in_class(best_of=3).apply({0}, Resign())
    assert first.may_rematch({0})
    assert not replace(first, class_state="closed").may_rematch({0})
    decided = first.apply({0}, Rematch()).apply({0}, Resign())
    assert decided.series_over
    assert not decided.may_rematch({0})


def test_in_a_class_a_result_is_final() -> None:
    end = played(
        replace(room(seats=(PEOPLE[0], Seat("computer", "Easy"))), class_state="open"), 9, 8, 6
    )
    assert end.over
    assert not end.may_undo({0})
    with pytest.raises(RoomError, match="its result counts in the class"):
        end.apply({0}, Undo(end.table.version))
    assert replace(end, class_state=None).may_undo({0})


def test_the_teacher_decides_about_hints_and_values() -> None:
    assert in_class(best_of=3).hints_allowed
    assert not in_class(hints=False).hints_allowed
    assert in_class(class_values=True).may_see_values({0})
    assert not in_class().may_see_values({0})
    assert not in_class(class_values=True).may_see_values(())
