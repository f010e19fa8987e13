"""Games in the full-screen app, by keyboard and by mouse, from the first screen to the end."""

from __future__ import annotations

from pathlib import Path

import pytest

from number_tower import store
from number_tower.engine import catalogue, record
from number_tower.engine.catalogue import GameChoice
from number_tower.players.levels import Computer
from number_tower.solve.limits import Progress
from number_tower.store.rows import StoredGame
from number_tower.terminal.cli.savefile import SaveFile
from number_tower.terminal.tui.app import AppSettings, TowerApp
from number_tower.terminal.tui.board import BoardScreen
from number_tower.terminal.tui.home import HomeScreen
from support.pilots import Visit, visit

GAMES = catalogue.list_names()


def stored(file: Path, number: int = 1) -> StoredGame:
    opened = store.open_store(str(file))
    try:
        return opened.get(number)
    finally:
        opened.close()


async def open_game(at: Visit, game: str, opponent: str = "1") -> None:
    await at.press(str(1 + GAMES.index(game)))
    await at.press(opponent)


@pytest.mark.slow
@pytest.mark.parametrize("game", GAMES)
def test_two_people_play_a_game_to_its_end_by_keyboard(game: str, tmp_path: Path) -> None:
    file = tmp_path / "games.db"

    async def play(at: Visit) -> None:
        await open_game(at, game)
        while not at.is_over():
            legal = at.board.table.game.legal
            await at.type(legal[len(legal) // 2])
        assert "again" in at.seen
        assert stored(file).table == at.board.table

    visit(play, file=file)


@pytest.mark.slow
@pytest.mark.parametrize("game", GAMES)
def test_a_person_plays_the_computer_to_the_end_by_mouse(game: str, tmp_path: Path) -> None:
    file = tmp_path / "games.db"

    async def play(at: Visit) -> None:
        await at.click(at.find(f"{game}:"))
        await at.click(at.find("gentle"))
        while not at.is_over():
            assert at.board.session.computer is None
            await at.click_block(at.board.table.game.legal[-1])
        assert "You win" in at.seen or "Gentle wins" in at.seen or "draw" in at.seen
        assert stored(file).seats.players == (None, "gentle")
        assert stored(file).table == at.board.table

    visit(play, file=file)


def test_a_move_is_saved_before_it_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "games.db"
    shown = BoardScreen._show_change  # noqa: SLF001 - the moment between saving and showing

    async def check(board: BoardScreen, news: str = "") -> None:
        assert stored(file).table == board.table
        await shown(board, news)

    monkeypatch.setattr(BoardScreen, "_show_change", check)

    async def play(at: Visit) -> None:
        await open_game(at, "draft", "2")
        await at.press("9")
        assert len(at.board.table.game.moves) == 2

    visit(play, file=file)


@pytest.fixture(name="called")
def called_by_its_path(monkeypatch: pytest.MonkeyPatch) -> str:
    """Call the program by a path, as `make play` does where the shell does not find it."""
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("sys.argv", [".venv/bin/tower"])
    return ".venv/bin/tower"


@pytest.mark.slow
def test_a_game_that_was_left_goes_on_from_the_first_screen(tmp_path: Path, called: str) -> None:
    file = tmp_path / "games.db"

    async def leave(at: Visit) -> None:
        await open_game(at, "race", "2")
        await at.press("5", "ctrl+q")

    assert visit(leave, file=file) == f"Game saved. Resume it with: {called} resume 1 --db {file}"

    async def go_on(at: Visit) -> None:
        await at.click(at.find("race, Player 1 - Gentle: unfinished, 2 moves"))
        assert at.board.table.game.moves[0] == 5
        assert at.board.session.opponents is not None
        await at.press("6")
        assert len(stored(file).table.game.moves) == 4

    visit(go_on, file=file)


def test_a_block_that_cannot_be_placed_is_dimmed_and_says_why() -> None:
    async def play(at: Visit) -> None:
        await open_game(at, "draft")
        await at.press("5", "9")
        assert at.block(8).has_class("unplaceable")
        assert not at.block(4).has_class("unplaceable")
        at.block(8).focus()
        await at.settle()
        assert "8" in at.seen.splitlines()[6]
        before = at.board.table
        await at.press("8")
        assert at.board.table is before
        assert "larger" in at.seen or "cannot" in at.seen

    visit(play)


def test_arrow_keys_walk_through_the_tray_and_enter_places() -> None:
    async def play(at: Visit) -> None:
        await open_game(at, "summit")
        await at.press("right", "right", "enter")
        assert at.board.table.game.moves == (3,)

    visit(play)


def test_hidden_blocks_are_neither_dimmed_nor_listed_nor_valued() -> None:
    async def play(at: Visit) -> None:
        await at.press(str(1 + GAMES.index("summit")), "h", "1")
        assert at.board.table.hidden
        assert "() Player B" in at.seen
        await at.press("5", "4")
        assert not any(block.has_class("unplaceable") for block in at.board.query("BlockButton"))
        assert "has left" not in at.seen
        await at.press("5")
        assert "not available" in at.seen
        for key in ("h", "v", "w"):
            await at.press(key)
            assert "wins" not in at.seen
            assert "hidden" in at.seen

    visit(play)


def test_a_hint_comes_in_steps_and_why_speaks_of_the_block_with_the_focus() -> None:
    async def play(at: Visit) -> None:
        await open_game(at, "draft", "1")
        await at.press("9", "8", "h")
        assert "Play " not in at.seen
        await at.press("h")
        assert "Play 6: it wins." in at.seen
        await at.press("h")
        assert "Play 6: it wins." in at.seen
        assert "That takes your tower to exactly 15." in at.seen
        at.block(1).focus()
        await at.press("w")
        assert "1 loses" in at.seen

    visit(play)


@pytest.mark.slow
def test_values_are_shown_beside_the_blocks_from_a_key_until_the_same_key(tmp_path: Path) -> None:
    file = tmp_path / "games.db"

    async def play(at: Visit) -> None:
        await open_game(at, "draft")
        assert "wins" not in str(at.block(8).label)
        await at.press("v")
        assert str(at.block(8).label) == "[8] wins"
        assert str(at.block(1).label) == "[1] loses"
        assert "(with" in at.seen
        await at.press("8")
        assert "loses" in str(at.block(7).label)
        await at.press("v")
        assert str(at.block(7).label) == "[7]"
        assert "(with" not in at.seen
        assert stored(file).with_values

    visit(play, file=file)


@pytest.mark.slow
def test_a_game_in_which_values_were_shown_is_marked_in_the_history_at_once(tmp_path: Path) -> None:
    file = tmp_path / "games.db"

    async def play(at: Visit) -> None:
        await open_game(at, "draft")
        await at.press("9")
        assert not stored(file).with_values
        await at.press("v")
        assert stored(file).with_values
        await at.press("v", "q", "h")
        assert "unfinished, 1 move, with values" in at.seen

    visit(play, file=file, size=(120, 24))


def test_a_game_can_be_left_while_the_computer_thinks_and_a_second_key_leaves_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def think(computer: Computer, _: object) -> int:
        while computer.progress is not None:
            computer.progress(Progress(1, 60.0, 0.0))
        raise AssertionError("the search was not stopped")

    monkeypatch.setattr(Computer, "choose", think)

    async def play(at: Visit) -> None:
        draft = catalogue.load("draft")
        board = BoardScreen(at.app.create_session(GameChoice(draft, draft.rules), ("easy", None)))
        at.app.push_screen(board)
        await at.until(lambda: "60 s" in at.seen)
        board.action_leave()
        board.action_leave()
        await at.settle()
        assert isinstance(at.screen, HomeScreen)

    visit(play)


def test_an_undo_takes_back_the_move_and_the_answer_and_even_the_last_move_of_a_game(
    tmp_path: Path,
) -> None:
    async def play(at: Visit) -> None:
        await open_game(at, "draft", "2")
        await at.press("9")
        await at.press("u")
        assert at.board.table.game.moves == ()
        await at.press("u")
        assert at.board.table.version == 3
        while not at.is_over():
            await at.type(at.board.table.game.legal[0])
        await at.press("u")
        assert not at.is_over()
        assert at.board.query_one("#tray").display

    visit(play, file=tmp_path / "games.db")


@pytest.mark.slow
def test_giving_up_asks_once() -> None:
    async def play(at: Visit) -> None:
        await open_game(at, "race", "2")
        await at.press("5", "g")
        assert "Give up this game? Gentle wins then." in at.seen
        await at.press("n")
        assert not at.is_over()
        await at.press("g", "y")
        assert at.board.table.outcome is not None
        assert at.board.table.outcome.reason == "resigned"
        assert "Gentle wins" in at.seen

    visit(play)


@pytest.mark.slow
def test_after_the_end_one_key_starts_a_rematch_with_sides_swapped() -> None:
    async def play(at: Visit) -> None:
        await open_game(at, "race")
        await at.press("g", "y")
        await at.press("a")
        assert at.board.table.game.first == 1
        assert not at.is_over()
        await at.press("g", "y", "n")
        assert "Against whom?" in at.seen

    visit(play)


@pytest.mark.slow
def test_after_the_end_another_level_plays_the_same_game_and_the_person_keeps_the_name() -> None:
    async def play(at: Visit) -> None:
        choice = catalogue.choose("summit", {"target": 30}, hidden=True)
        at.app.push_screen(
            BoardScreen(at.app.create_session(choice, (None, "gentle"), person="Ann"))
        )
        await at.settle()
        assert "Remember which" in at.seen
        await at.press("g", "y")
        assert "give up" not in at.seen.splitlines()[-1], "keys that do nothing now are not offered"
        await at.press("o")
        assert "Which level?" in at.seen
        await at.press("2")
        table = at.board.table
        assert (table.names, table.hidden, table.game.rules.target) == (("Ann", "Easy"), True, 30)
        assert table.game.first == 1

    visit(play)


def test_a_game_that_is_recorded_in_a_file_has_its_key_there(tmp_path: Path) -> None:
    file, path = tmp_path / "games.db", tmp_path / "game.json"

    async def play(at: Visit) -> None:
        session = at.app.create_session(catalogue.choose("draft"))
        session.recorder = SaveFile.create(str(path), session.table)
        at.app.push_screen(BoardScreen(session))
        await at.settle()
        await at.press("9")
        assert record.read(str(path)) == stored(file).table
        assert record.read_key(str(path)) == stored(file).key

    visit(play, file=file)


@pytest.mark.slow
def test_a_game_that_was_changed_elsewhere_is_shown_as_it_stands_there(tmp_path: Path) -> None:
    file = tmp_path / "games.db"

    async def play(at: Visit) -> None:
        await open_game(at, "draft")
        await at.press("9")
        opened = store.open_store(str(file))
        game = opened.get(1)
        opened.save(game, game.table.play(8))
        opened.close()
        await at.press("7")
        assert at.board.table.game.moves == (9, 8)
        assert "continued elsewhere" in at.seen

    visit(play, file=file)


@pytest.mark.slow
def test_a_match_goes_on_game_by_game_until_it_is_decided(tmp_path: Path) -> None:
    file = tmp_path / "games.db"

    async def play(at: Visit) -> None:
        await at.press(str(1 + GAMES.index("race")), "m", "1")
        assert "Best of 3, game 1" in at.seen
        await at.press("5", "6", "g", "y")
        assert "after game 1" in at.seen
        await at.press("n")
        assert at.board.table.game.first == 1
        await at.press("g", "y")
        while at.board.session.course is not None and not at.board.session.course.series.match.over:
            await at.press("n", "5", "g", "y")
        assert at.find("again").key == "a"
        assert stored(file).slot is not None

    visit(play, file=file)


@pytest.mark.slow
def test_a_match_that_was_left_between_two_games_goes_on_with_the_next_one(tmp_path: Path) -> None:
    file = tmp_path / "games.db"

    async def leave(at: Visit) -> None:
        await at.press(str(1 + GAMES.index("race")), "m", "1", "5", "g", "y", "q")
        await at.click(at.find("race, match m1, Player 1 - Player 2: 1 - 0, next is game 2"))
        assert "Best of 3, game 2" in at.seen

    visit(leave, file=file)


def test_the_computer_that_is_stopped_thinks_again_on_enter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    choose = Computer.choose
    slow = True

    def think(computer: Computer, game: object) -> int:
        while slow and computer.progress is not None:
            computer.progress(Progress(1, 60.0, 0.0))
        return choose(computer, game)  # type: ignore[arg-type]

    monkeypatch.setattr(Computer, "choose", think)

    async def play(at: Visit) -> None:
        nonlocal slow
        app = at.app
        app.push_screen(
            BoardScreen(
                app.create_session(
                    GameChoice(catalogue.load("draft"), catalogue.load("draft").rules),
                    ("easy", None),
                )
            )
        )
        await at.until(lambda: "60 s" in at.seen)
        await at.press_at_once("escape")
        await at.until(lambda: "was stopped" in at.seen)
        slow = False
        await at.press("enter")
        assert len(at.board.table.game.moves) == 1

    visit(play, app=TowerApp(AppSettings(database="none")))


@pytest.mark.slow
def test_a_match_that_was_left_goes_on_as_a_match(tmp_path: Path, called: str) -> None:
    file = tmp_path / "games.db"

    async def leave(at: Visit) -> None:
        await at.press(str(1 + GAMES.index("race")), "m", "2")
        await at.press("5", "ctrl+q")

    assert visit(leave, file=file) == f"Game saved. Resume it with: {called} resume m1 --db {file}"

    async def go_on(at: Visit) -> None:
        await at.click(at.find("m1 game 1"))
        assert "Best of 3, game 1" in at.seen
        await at.press("g", "y", "n")
        assert "Best of 3, game 2" in at.seen

    visit(go_on, file=file)
