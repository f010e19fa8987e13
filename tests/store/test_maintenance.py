"""Old rooms are deleted with all that belongs to them and nothing else, also while others play.

Sizes are measured.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import func, select, text, update

from number_tower import Game, Table
from number_tower.engine import catalogue
from number_tower.engine.catalogue import GameChoice
from number_tower.engine.match import Match, Series
from number_tower.engine.rules import Rules
from number_tower.rooms.room import Action, MakeOffer, Move, Rematch, Resign, Room, Seat, Undo
from number_tower.store import GameNotFoundError, maintenance, matches, rooms, schema
from number_tower.store import seats as seats_module
from number_tower.store.database import Store, Writer
from number_tower.store.games import load_game
from number_tower.store.rooms import RoomNotFoundError, StoredRoom
from number_tower.store.rows import MatchSlot, Seats, format_time
from number_tower.web.live.lobby import Lobby
from number_tower.web.thinking.workers import Workers
from support.clocks import SLOW
from support.stores import make_own_rulebook, open_store, run_sql

pytest_plugins = ["support.postgres"]

DRAFT = catalogue.load_named("draft")
ENDLESS = make_own_rulebook(
    Rules.from_dict(
        {"blocks": "1-9", "supply": "endless", "towers": "own", "fit": "any", "target": 900}
    )
)
LONG_AGO = timedelta(days=100)


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    opened = open_store(database)
    yield opened
    opened.close()


def open_room(
    store: Store,
    second: str = "person",
    *,
    best_of: int | None = None,
    moves: tuple[int, ...] = (),
    book: catalogue.Rulebook = DRAFT,
) -> tuple[StoredRoom, str]:
    seats = Seat("person", "Ann"), Seat(second, "Ben")  # type: ignore[arg-type]  # one of the kinds
    table = Table(Game(book.rules, 0, moves), book.name, ("Ann", "Ben"), book=book)
    with store.write() as connection:
        return rooms.insert_room(connection, Room(table, seats, best_of=best_of), Seats())


def act(store: Store, known: StoredRoom, token: str, *actions: Action) -> StoredRoom:
    for action in actions:
        with store.write() as connection:
            known = rooms.change_room(
                connection,
                known.address,
                # The variable is bound at once.
                lambda now, action=action: (  # type: ignore[misc]
                    now.room.apply(now.find_seats(token), action)
                ),
            )
    return known


def play(store: Store, known: StoredRoom, token: str, *blocks: int) -> StoredRoom:
    for block in blocks:
        known = act(store, known, token, Move(known.room.table.version, block))
    return known


def finish(store: Store, known: StoredRoom, token: str) -> StoredRoom:
    while not known.room.over:
        known = play(store, known, token, known.room.table.game.legal[0])
    return known


def age(store: Store, by: timedelta = LONG_AGO, *only: StoredRoom) -> None:
    """Let all that happened so far, in some rooms or everywhere, have happened earlier."""

    def earlier(time: str) -> str:
        return format_time(datetime.fromisoformat(time) - by)

    with store.write() as connection:
        mine = [known.id for known in only] or connection.execute(
            select(schema.rooms.c.id)
        ).scalars().all()
        played = select(schema.rooms.c.game).where(schema.rooms.c.id.in_(mine))
        games = connection.execute(played).scalars().all() if only else None
        for table, key, columns in (
            (schema.rooms, schema.rooms.c.id, ("changed",)),
            (schema.games, schema.games.c.id, ("started", "changed")),
            (schema.changes, schema.changes.c.game, ("at",)),
        ):
            within = mine if table is schema.rooms else games
            for column in columns:
                found = select(table.c[column]).distinct()
                for time in connection.execute(
                    found if within is None else found.where(key.in_(within))
                ).scalars():
                    change = (
                        update(table).where(table.c[column] == time).values({column: earlier(time)})
                    )
                    connection.execute(change if within is None else change.where(key.in_(within)))


def sweep(store: Store, keep_days: int | None = None) -> list[int]:
    """Delete what is old, as a lobby does; return the rooms that are gone."""
    gone: list[int] = []
    found = [0]
    while found:
        with store.write() as connection:
            found = maintenance.delete_rooms(connection, keep_days)
        gone += found
    sweep_rulebooks(store)
    return gone


def sweep_rulebooks(store: Store) -> int:
    with store.write() as connection:
        return maintenance.delete_unused_rulebooks(connection)


def is_there(store: Store, known: StoredRoom) -> bool:
    with suppress(RoomNotFoundError), store.read() as connection:
        return rooms.find_room(connection, known.address).id == known.id
    return False


def count_rows(store: Store) -> dict[str, int]:
    with store.read() as connection:
        return {
            table.name: connection.execute(select(func.count()).select_from(table)).scalar_one()
            for table in schema.metadata.sorted_tables
        }


# Which rooms --------------------------------------------------------------------------------------


def in_lobby(store: Store, do: Callable[[Lobby], Awaitable[None]]) -> None:
    async def all_of_it() -> None:
        scribe, workers = Writer(store), Workers(1)
        try:
            await do(Lobby(store, scribe, workers))
        finally:
            await workers.close()
            scribe.close()

    asyncio.run(asyncio.wait_for(all_of_it(), SLOW))


def test_a_room_with_one_move_is_swept_with_all_that_belongs_to_it(store: Store) -> None:
    """In an earlier version, one move kept a room for ever, and a rule file outlived its games."""
    empty = count_rows(store)
    unused, _ = open_room(store, "free", best_of=3)
    known, token = open_room(store, best_of=3, book=make_own_rulebook(DRAFT.rules))
    play(store, known, token, 9)
    age(store)
    in_lobby(store, Lobby.delete_old_rooms)
    assert not is_there(store, unused)
    assert not is_there(store, known)
    with pytest.raises(GameNotFoundError):
        store.get(known.game.id)
    assert count_rows(store) == empty


HARDLY_ANYTHING: tuple[tuple[Action, ...], ...] = (
    (),
    (Move(0, 9),),
    (Move(0, 9), Undo(1)),
    (Move(0, 9), Resign()),
    (Resign(),),
)


def test_a_room_in_which_at_most_one_move_was_made_is_deleted_after_30_days(store: Store) -> None:
    opened = []
    for actions in HARDLY_ANYTHING:
        for moves in ((), (9, 8)):
            known, token = open_room(store, moves=moves)
            act(store, known, token, *(_later(action, len(moves)) for action in actions))
            opened.append(known.id)
    age(store, timedelta(days=29))
    assert sweep(store) == []
    age(store, timedelta(days=1))
    assert sweep(store) == opened


def _later(action: Action, by: int) -> Action:
    """Return an action for a game that began with some moves."""
    match action:
        case Move():
            return replace(action, version=by, block=1 if by else 9)
        case Undo():
            return replace(action, version=action.version + by)
        case _:
            return action


def test_a_room_in_which_more_was_done_is_kept_for_ever_unless_the_operator_says_for_how_long(
    store: Store,
) -> None:
    twice, token = open_room(store)
    play(store, twice, token, 9, 8)
    again, token = open_room(store)
    act(store, again, token, Resign(), Rematch())
    over, token = open_room(store)
    finish(store, over, token)
    age(store, timedelta(days=1000))
    assert sweep(store) == []
    assert sweep(store, 1001) == []
    assert sweep(store, 999) == [twice.id, again.id, over.id]
    assert not any(count_rows(store)[name] for name in ("rooms", "seats", "games", "changes"))


def test_a_room_is_kept_from_its_last_event_on_whatever_that_was(store: Store) -> None:
    sat, _ = open_room(store, "free")
    offered, ann = open_room(store, "free")
    with store.write() as connection:
        offered, _ = seats_module.sit(connection, offered, "Zoë")
    offered = act(store, offered, ann, Move(0, 9))
    taken, token = open_room(store)
    with store.write() as connection:
        code = seats_module.hand_over(connection, taken, token)
    declined, one = open_room(store, "free")
    with store.write() as connection:
        declined, two = seats_module.sit(connection, declined, None)
    declined = act(store, declined, one, Resign())
    silent, _ = open_room(store)
    age(store)
    with store.write() as connection:
        seats_module.sit(connection, sat, "Ben")
        seats_module.take_over(connection, taken, code)
    act(store, offered, ann, MakeOffer("takeback"))
    act(store, declined, two, MakeOffer("rematch"))
    assert sweep(store, 30) == [silent.id]
    age(store)
    assert sweep(store) == [sat.id, offered.id, taken.id, declined.id]


def test_several_games_and_matches_of_a_room_go_with_it(store: Store) -> None:
    empty = count_rows(store)
    known, token = open_room(store, best_of=1, book=make_own_rulebook(DRAFT.rules))
    for _ in range(3):
        known = act(store, finish(store, known, token), token, Rematch())
    assert (count_rows(store)["games"], count_rows(store)["matches"]) == (4, 4)
    age(store)
    assert sweep(store, 99) == [known.id]
    assert count_rows(store) == empty


def test_no_game_that_was_played_in_a_terminal_is_deleted(store: Store) -> None:
    book = make_own_rulebook(DRAFT.rules)
    alone = store.begin(Table(Game(book.rules, 0, (9,)), book.name), book)
    known, _ = open_room(store, book=book)
    in_room, token = open_room(store, best_of=3)
    act(store, in_room, token, Resign())
    with_terminal = matches.get_match(store, 1)
    table = Table(Game(DRAFT.rules, 1, (9,)), DRAFT.name)
    second = store.begin(
        table, DRAFT, find_slot=lambda connection: matches.claim_slot(connection, with_terminal)
    )
    assert second.slot == MatchSlot(1, 2)
    age(store)
    assert sweep(store, 1) == [known.id, in_room.id]
    assert store.get(alone.id).table.book.title == book.title
    assert store.get(in_room.game.id).slot == MatchSlot(1, 1)
    assert matches.get_match(store, 1).series.match.number == 2


# Rule files ---------------------------------------------------------------------------------------


def books(count: int) -> list[catalogue.Rulebook]:
    return [
        make_own_rulebook(Rules.from_dict({"blocks": f"1-{9 + number}", "target": 30}))
        for number in range(count)
    ]


def test_a_rule_file_is_deleted_when_no_game_uses_it(store: Store) -> None:
    swept, shared, in_terminal, to_come = books(4)
    for book in (swept, shared, in_terminal, to_come):
        open_room(store, book=book)
    store.begin(Table(Game(in_terminal.rules), in_terminal.name), in_terminal)
    series = Series((GameChoice(DRAFT, DRAFT.rules), GameChoice(to_come, to_come.rules)), Match(3))
    match = matches.StoredMatch(None, "a" * 32, series, Seats())
    store.begin(
        Table(Game(DRAFT.rules), DRAFT.name),
        DRAFT,
        find_slot=lambda connection: matches.claim_slot(connection, match),
    )
    age(store)
    used, token = open_room(store, book=shared)
    play(store, used, token, 9)
    assert len(sweep(store)) == 4
    assert count_rows(store)["rulebooks"] == 2
    assert matches.get_match(store, 1).series.games[1].book.rules == to_come.rules
    store.begin(Table(Game(swept.rules), swept.name), swept)
    assert count_rows(store)["rulebooks"] == 3, "a rule file that was deleted can come again"


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_rule_file_that_a_new_game_is_about_to_use_stays(database: str, store: Store) -> None:
    (book,) = books(1)
    store.delete(store.begin(Table(Game(book.rules), book.name), book).id)
    other = open_store(database)
    room = Room(
        Table(Game(book.rules), book.name, book=book), (Seat("person", "Ann"), Seat("free", "Ben"))
    )
    with other.write() as beginning:
        rooms.insert_room(beginning, room, Seats())
        with store.write() as connection:
            assert maintenance.delete_unused_rulebooks(connection) == 0
    assert count_rows(store)["rulebooks"] == 1
    other.close()


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_game_that_begins_while_its_rule_file_is_deleted_stores_it_again(
    database: str, store: Store
) -> None:
    (book,) = books(1)
    store.delete(store.begin(Table(Game(book.rules), book.name), book).id)
    other = open_store(database)
    with ThreadPoolExecutor(1) as threads:
        with store.write() as connection:
            assert maintenance.delete_unused_rulebooks(connection) == 1
            begun = threads.submit(lambda: open_room(other, book=book))
            wait_for_lock(store)
        known, _ = begun.result(60)
    assert is_there(store, known)
    assert count_rows(store)["rulebooks"] == 1
    other.close()


# While others play --------------------------------------------------------------------------------


def wait_for_lock(store: Store) -> None:
    """Wait until another connection to a server waits for something that this one has locked."""
    waiting = text("SELECT count(*) FROM pg_locks WHERE NOT granted")
    deadline = datetime.now(UTC) + timedelta(seconds=SLOW)
    while datetime.now(UTC) < deadline:
        with store.read() as connection:
            if connection.execute(waiting).scalar_one():
                return
    raise AssertionError("nobody waits")


def test_a_room_that_gets_a_move_again_is_not_lost(store: Store) -> None:
    known, token = open_room(store)
    silent, _ = open_room(store)
    age(store)
    play(store, known, token, 9)
    assert sweep(store) == [silent.id]
    assert is_there(store, known)


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_room_in_which_a_move_is_being_written_is_left_alone(database: str, store: Store) -> None:
    known, token = open_room(store)
    age(store)
    other = open_store(database)
    after = known.room.apply(known.find_seats(token), Move(0, 9))
    with other.write() as moving:
        rooms.update_room(moving, known, after)
        with store.write() as connection:
            assert maintenance.delete_rooms(connection, 1) == []
    assert is_there(store, known)
    other.close()


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_room_whose_game_is_being_changed_in_a_terminal_is_left_alone(
    database: str, store: Store
) -> None:
    known, _ = open_room(store, best_of=3)
    age(store)
    other = open_store(database)
    with other.write() as changing:
        load_game(changing, known.game.id, lock=True)
        with store.write() as connection:
            assert maintenance.delete_rooms(connection) == []
    assert sweep(store) == [known.id]
    other.close()


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_move_in_a_room_that_is_being_deleted_finds_it_gone(database: str, store: Store) -> None:
    known, token = open_room(store)
    age(store)
    other = open_store(database)
    with ThreadPoolExecutor(1) as threads:
        with store.write() as connection:
            assert maintenance.delete_rooms(connection) == [known.id]
            moved = threads.submit(play, other, known, token, 9)
            wait_for_lock(store)
        with pytest.raises(RoomNotFoundError):
            moved.result(60)
    assert not is_there(store, known)
    other.close()


def test_those_who_follow_a_room_that_is_swept_hear_that_it_is_gone(store: Store) -> None:
    async def do(lobby: Lobby) -> None:
        known, _ = open_room(store)
        seen = lobby.follow(known)
        assert (await anext(seen)) is not None
        age(store)
        await lobby.delete_old_rooms()
        with pytest.raises(StopAsyncIteration):
            await asyncio.wait_for(anext(seen), SLOW)
        with pytest.raises(RoomNotFoundError):
            await lobby.find_room(known.address)

    in_lobby(store, do)


def test_many_rooms_are_deleted_in_portions(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maintenance, "ROOMS_PER_TRANSACTION", 3)
    lengths = (0, 0, 0, 0, 2, 7, 1)
    for length in lengths:
        known, token = open_room(store, book=ENDLESS)
        play(store, known, token, *[1] * length)
    kept, token = open_room(store)
    age(store)
    play(store, kept, token, 9)
    portions = []
    for _ in range(4):
        with store.write() as connection:
            portions.append(len(maintenance.delete_rooms(connection, 1)))
    assert portions == [3, 3, 1, 0]
    assert is_there(store, kept)


# Sizes --------------------------------------------------------------------------------------------


def test_the_size_of_a_database_grows_with_what_is_stored(store: Store) -> None:
    before = maintenance.measure_size(store)
    rules = Rules.from_dict({"blocks": "1-9", "target": 30})
    fat = make_own_rulebook(rules)
    for number in range(10):
        content = fat.content + b"\n# " + str(number).encode() * 60_000
        open_room(
            store, book=catalogue.parse_rulebook(content[:60_000], f"fat {number}", "fat.toml")
        )
    assert maintenance.measure_size(store) > before


def test_a_file_from_which_much_was_deleted_is_measured_as_small(tmp_path: Path) -> None:
    """A file does not shrink, but what was deleted leaves pages that new games are written to."""
    file = tmp_path / "games.db"
    store = open_store(file)
    for number in range(20):
        text = f"# {number}\n".encode() + b"# x\n" * 15_000
        book = make_own_rulebook(DRAFT.rules)
        open_room(
            store,
            book=catalogue.parse_rulebook(
                book.content + b"\n" + text[:60_000], "fat", f"{number}.toml"
            ),
        )
    age(store)
    run_sql(file, "PRAGMA wal_checkpoint(TRUNCATE)")
    large = maintenance.measure_size(store)
    assert large > 20 * 60_000
    assert len(sweep(store)) == 20
    run_sql(file, "PRAGMA wal_checkpoint(TRUNCATE)")
    assert maintenance.measure_size(store) < large / 4
    store.close()
