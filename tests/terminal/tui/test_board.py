"""Games in the full-screen app, by keyboard and by mouse, from the first screen to the end."""

from __future__ import annotations

from pathlib import Path

import pytest

from number_tower.engine import catalogue, record
from number_tower.engine.table import Change
from number_tower.players.levels import Computer
from number_tower.solve.limits import Progress
from number_tower.store.rows import StoredGame
from number_tower.terminal.cli.savefile import SaveFile
from number_tower.terminal.tui.board import BoardScreen
from number_tower.terminal.tui.home import HomeScreen
from support.pilots import AppUser, run_app, with_app
from support.stores import open_store

GAMES = catalogue.list_names()


def load_game(db: Path) -> StoredGame:
    opened = open_store(db)
    try:
        return opened.get(1)
    finally:
        opened.close()


async def open_game(user: AppUser, game: str, *keys: str) -> None:
    """Open a game with the keys of its screen, the last of which chooses the opponent."""
    await user.press(str(1 + GAMES.index(game)), *keys)


async def open_board(user: AppUser, name: str, computer: str) -> BoardScreen:
    """Open a game that a computer starts, without waiting for its move."""
    session = user.app.create_session(catalogue.choose(name), (computer, None))
    board = BoardScreen(session)
    user.app.push_screen(board)
    await user.until(lambda: "60 s" in user.seen)
    return board


@pytest.mark.slow
@pytest.mark.parametrize("game", ["climb", "draft"])
@with_app
async def test_game_of_two_people_is_played_to_its_end_by_keyboard(
    user: AppUser, game: str, db: Path
) -> None:
    await open_game(user, game, "1")
    while not user.is_over():
        legal = user.board.table.game.legal
        await user.type(legal[len(legal) // 2])
    assert "again" in user.seen
    assert load_game(db).table == user.board.table


@pytest.mark.slow
@pytest.mark.parametrize("game", GAMES)
@with_app
async def test_game_against_the_computer_is_played_to_its_end_by_mouse(
    user: AppUser, game: str, db: Path
) -> None:
    await user.click(user.find(f"{game}:"))
    await user.click(user.find("gentle"))
    while not user.is_over():
        assert user.board.session.computer is None
        await user.click_block(user.board.table.game.legal[-1])
    assert load_game(db).seats.players == (None, "gentle")
    assert load_game(db).table == user.board.table


def test_move_is_saved_before_it_is_shown(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    show_change = BoardScreen._show_change  # noqa: SLF001 - the moment between saving and showing

    async def check_saved(board: BoardScreen, news: str = "") -> None:
        assert load_game(db).table == board.table
        await show_change(board, news)

    async def play(user: AppUser) -> None:
        await open_game(user, "draft", "2", "9")
        assert len(user.board.table.game.moves) == 2

    monkeypatch.setattr(BoardScreen, "_show_change", check_saved)
    run_app(play, db)


@pytest.fixture
def program_path(monkeypatch: pytest.MonkeyPatch) -> str:
    """Call the program by a path, as `make play` does where the shell does not find it."""
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("sys.argv", [".venv/bin/tower"])
    return ".venv/bin/tower"


@pytest.mark.slow
def test_game_that_was_left_is_resumed_from_the_first_screen(db: Path, program_path: str) -> None:
    async def leave(user: AppUser) -> None:
        await open_game(user, "race", "2", "5", "ctrl+q")

    async def resume(user: AppUser) -> None:
        await user.click(user.find("race, Player 1 - Gentle: unfinished, 2 moves"))
        assert user.board.table.game.moves[0] == 5
        assert user.board.session.opponents is not None
        await user.press("6")
        assert len(load_game(db).table.game.moves) == 4

    assert run_app(leave, db).endswith(f"{program_path} resume 1 --db {db}")
    run_app(resume, db)


@pytest.mark.slow
def test_match_that_was_left_is_resumed_as_a_match(db: Path, program_path: str) -> None:
    async def leave(user: AppUser) -> None:
        await open_game(user, "race", "m", "2", "5", "ctrl+q")

    async def resume(user: AppUser) -> None:
        await user.click(user.find("m1 game 1"))
        assert "Best of 3, game 1" in user.seen
        await user.press("g", "y", "n")
        assert "Best of 3, game 2" in user.seen

    assert run_app(leave, db).endswith(f"{program_path} resume m1 --db {db}")
    run_app(resume, db)


@with_app
async def test_block_that_cannot_be_placed_is_dimmed_and_refused(user: AppUser) -> None:
    await open_game(user, "draft", "1", "5", "9")
    assert user.block(8).has_class("unplaceable")
    assert not user.block(4).has_class("unplaceable")
    user.block(8).focus()
    await user.settle()
    assert "8" in user.seen.splitlines()[6]
    before = user.board.table
    await user.press("8")
    assert user.board.table is before
    assert "larger" in user.seen or "cannot" in user.seen


@with_app
async def test_arrow_keys_walk_through_the_tray_and_enter_places(user: AppUser) -> None:
    await open_game(user, "summit", "1", "right", "right", "enter")
    assert user.board.table.game.moves == (3,)


@with_app
async def test_hidden_blocks_are_not_dimmed_listed_or_valued(user: AppUser) -> None:
    await open_game(user, "summit", "h", "1")
    assert user.board.table.hidden
    await user.press("5", "4")
    assert not any(block.has_class("unplaceable") for block in user.board.query("BlockButton"))
    assert "has left" not in user.seen
    await user.press("5")
    assert "not available" in user.seen
    for key in ("h", "v", "w"):
        await user.press(key)
        assert "wins" not in user.seen
        assert "hidden" in user.seen


@with_app
async def test_hint_comes_in_steps_and_why_is_about_the_focused_block(user: AppUser) -> None:
    await open_game(user, "draft", "1", "9", "8", "h")
    assert "Play " not in user.seen
    for reason in (False, True):
        await user.press("h")
        assert "Play 6: it wins." in user.seen
        assert ("That takes your tower to exactly 15." in user.seen) == reason
    user.block(1).focus()
    await user.press("w")
    assert "1 loses" in user.seen


@pytest.mark.slow
@with_app
async def test_values_are_shown_until_the_same_key_and_noted_in_the_history(
    user: AppUser, db: Path
) -> None:
    await open_game(user, "draft", "1", "9")
    assert str(user.block(8).label) == "[8]"
    assert not load_game(db).with_values
    await user.press("v")
    assert load_game(db).with_values
    await user.press("u")
    assert str(user.block(8).label) == "[8] wins"
    assert str(user.block(1).label) == "[1] loses"
    assert "(with" in user.seen
    await user.press("8")
    assert "loses" in str(user.block(7).label)
    await user.press("v")
    assert str(user.block(7).label) == "[7]"
    assert "(with" not in user.seen
    await user.press("q", "h")
    assert "with values" in " ".join(user.seen.split())


@pytest.fixture
def endless_search(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Let computers think until they are stopped, or the list is empty."""
    choose = Computer.choose
    endless = [True]

    def think(computer: Computer, game: object) -> int:
        while endless and computer.progress is not None:
            computer.progress(Progress(1, 60.0, 0.0))
        return choose(computer, game)  # type: ignore[arg-type]

    monkeypatch.setattr(Computer, "choose", think)
    return endless


@pytest.mark.usefixtures("endless_search")
@with_app
async def test_game_left_twice_while_the_computer_thinks_leaves_nothing_else(
    user: AppUser,
) -> None:
    board = await open_board(user, "draft", "easy")
    board.action_leave()
    board.action_leave()
    await user.settle()
    assert isinstance(user.screen, HomeScreen)


@with_app
async def test_computer_that_was_stopped_thinks_again_on_enter(
    user: AppUser, endless_search: list[bool]
) -> None:
    await open_board(user, "draft", "easy")
    await user.press_at_once("escape")
    await user.until(lambda: "was stopped" in user.seen)
    endless_search.clear()
    await user.press("enter")
    assert len(user.board.table.game.moves) == 1


@with_app
async def test_undo_takes_back_the_move_with_its_answer_and_the_last_move_of_a_game(
    user: AppUser, db: Path
) -> None:
    await open_game(user, "draft", "2", "9", "u")
    assert user.board.table.game.moves == ()
    await user.press("u")
    assert user.board.table.version == 3
    while not user.is_over():
        await user.type(user.board.table.game.legal[0])
    await user.press("u")
    assert not user.is_over()
    assert user.board.query_one("#tray").display
    assert load_game(db).table == user.board.table


@pytest.mark.slow
@with_app
async def test_resigning_is_asked_once(user: AppUser) -> None:
    await open_game(user, "race", "2", "5", "g")
    assert "Give up this game? Gentle wins then." in user.seen
    await user.press("n")
    assert not user.is_over()
    await user.press("g", "y")
    assert user.board.table.outcome == (1, "resigned")


@pytest.mark.slow
@with_app
async def test_rematch_is_started_by_the_other_player(user: AppUser) -> None:
    await open_game(user, "race", "1", "g", "y", "a")
    assert user.board.table.game.first == 1
    assert not user.is_over()
    await user.press("g", "y", "n")
    assert "Against whom?" in user.seen


@pytest.mark.slow
@with_app
async def test_game_is_played_again_against_another_level_with_the_same_name_and_options(
    user: AppUser,
) -> None:
    choice = catalogue.choose("summit", {"target": 30}, hidden=True)
    session = user.app.create_session(choice, (None, "gentle"), person="Ann")
    await user.open_screen(BoardScreen(session))
    assert "Remember which" in user.seen
    await user.press("g", "y")
    # Keys that do nothing now are not offered.
    assert "give up" not in user.seen.splitlines()[-1]
    await user.press("o")
    assert "Which level?" in user.seen
    await user.press("2")
    table = user.board.table
    assert (table.names, table.hidden, table.game.rules.target) == (("Ann", "Easy"), True, 30)
    assert table.game.first == 1


@with_app
async def test_game_recorded_in_a_file_has_its_key_there(
    user: AppUser, db: Path, tmp_path: Path
) -> None:
    path = str(tmp_path / "game.json")
    session = user.app.create_session(catalogue.choose("draft"))
    session.recorder = SaveFile.create(path, session.table)
    await user.open_screen(BoardScreen(session))
    await user.press("9")
    assert record.read(path) == load_game(db).table
    assert record.read_key(path) == load_game(db).key


@pytest.mark.slow
@with_app
async def test_game_changed_elsewhere_is_shown_as_it_is_stored(user: AppUser, db: Path) -> None:
    await open_game(user, "draft", "1", "9")
    opened = open_store(db)
    opened.change(1, 1, Change("place", 8))
    opened.close()
    await user.press("7")
    assert user.board.table.game.moves == (9, 8)
    assert "continued elsewhere" in user.seen


@pytest.mark.slow
@with_app
async def test_match_is_played_and_continued_between_two_games_until_it_is_decided(
    user: AppUser, db: Path
) -> None:
    await open_game(user, "race", "m", "1")
    assert "Best of 3, game 1" in user.seen
    await user.press("5", "g", "y")
    assert "after game 1" in user.seen
    await user.press("q")
    await user.click(user.find("race, match m1, Player 1 - Player 2: 1 - 0, next is game 2"))
    assert "Best of 3, game 2" in user.seen
    assert user.board.table.game.first == 1
    await user.press("g", "y")
    while user.board.session.course is not None and not user.board.session.course.series.match.over:
        await user.press("n", "5", "g", "y")
    assert user.find("again").key == "a"
    assert load_game(db).slot is not None
