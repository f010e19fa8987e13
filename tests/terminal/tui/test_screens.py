"""The screens of the app beside the board: each opens by its key and shows all it has."""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion
from textual.widgets import Input

from number_tower import Rules
from number_tower.coach import quiz
from number_tower.coach.quiz import PuzzleSource
from number_tower.engine import catalogue, record
from number_tower.store.puzzles import PuzzleAttempt, load_attempts
from number_tower.terminal.tui.board import BoardScreen
from number_tower.terminal.tui.choice import Menu
from number_tower.terminal.tui.new_game import NewGameScreen
from number_tower.terminal.tui.question import LessonScreen, PuzzleScreen
from number_tower.terminal.tui.review import ReviewScreen
from support.pilots import AppUser, run_app, with_app
from support.stores import open_store

SIZES = [(40, 16), (80, 24), (250, 60)]
GAMES = catalogue.list_names()


def get_key(game: str) -> str:
    """Return the key of a game on the first screen."""
    return str(1 + GAMES.index(game))


def save_games(db: Path, *lines: str) -> None:
    opened = open_store(db)
    for line in lines:
        table = record.read(line)
        opened.begin(table, table.book)
    opened.close()


async def take_pictures(user: AppUser) -> dict[str, str]:
    """Return what is shown at every size."""
    pictures = {}
    for columns, rows in SIZES:
        await user.resize(columns, rows)
        pictures[f"{columns}x{rows}"] = user.picture
    return pictures


@with_app
async def test_screens_look_as_recorded(user: AppUser, snapshot: SnapshotAssertion) -> None:
    pictures = {"home": user.picture}
    for screen, keys in {
        "new game": "2",
        "lessons": "l",
        "levels": "v",
        "history": "h",
        "stats": "s",
        "rules": "1 1 question_mark",
    }.items():
        await user.press(*keys.split())
        pictures[screen] = user.picture
        while len(user.app.screen_stack) > 2:
            await user.press("escape")
    assert pictures == snapshot


@with_app
async def test_home_shows_every_game_at_every_size(user: AppUser) -> None:
    for size in SIZES:
        await user.resize(*size)
        for game in GAMES:
            await user.highlight(user.find(f"{game}:"))
            assert f" {game}:" in user.seen


@with_app
async def test_search_finds_a_game_by_a_word_of_its_rules(user: AppUser) -> None:
    await user.press("slash", *"divisors", "enter")
    assert isinstance(user.screen, NewGameScreen)
    assert catalogue.load("factor").title in user.seen


@with_app
async def test_arrow_keys_highlight_an_entry_that_enter_chooses(user: AppUser) -> None:
    for step in ("down", "down", "up", "down"):
        await user.press(step)
        entry = user.screen.query_one(Menu).highlighted_option
        assert entry is not None
        # The highlight is seen without colours too.
        name = entry.value.name  # type: ignore[attr-defined]
        assert user.reversed_text.split()[1].rstrip(":") == name
    await user.press("down", "enter")
    assert catalogue.load("race").title in user.seen
    await user.press("escape")
    assert "Play" in user.seen


# A new game ---------------------------------------------------------------------------------------


async def start_game(user: AppUser) -> None:
    """Start a game of two people on the screen for a new game."""
    await user.highlight(user.find("a person"))
    await user.press("enter")


@with_app
async def test_wrong_option_is_explained_and_can_be_corrected(user: AppUser) -> None:
    await user.press(get_key("draft"))
    target = user.screen.query_one("#target", Input)
    target.focus()
    await user.press(*"high")
    await start_game(user)
    assert not isinstance(user.screen, BoardScreen)
    assert "Target: expected a whole number" in user.seen
    target.value = "21"
    await user.highlight(user.find("a person"))
    await user.press("s", "enter")
    assert user.board.table.game.rules.target == 21
    assert user.board.table.game.first == 1


PRESETS = """
[rules]
blocks = "1-9"
target = 15
[presets.tall]
target = 30
blocks = "1-12"
about = "A long way up."
[presets.low]
opening = "1-3"
"""


def create_new_game_screen(text: str) -> NewGameScreen:
    return NewGameScreen(catalogue.parse_rulebook(text.encode(), "mygame", "mygame.toml"))


def read_rules_choice(user: AppUser) -> str:
    return next(entry.text.plain for entry in user.entries if entry.key == "r")


def read_fields(user: AppUser) -> dict[str | None, str]:
    return {field.id: field.value for field in user.screen.query(Input)}


@with_app
async def test_preset_fills_in_options_which_can_still_be_changed(user: AppUser) -> None:
    await user.open_screen(create_new_game_screen(PRESETS))
    assert read_rules_choice(user) == "rules: as in the rulebook"
    await user.press("r")
    assert read_rules_choice(user) == "rules: tall. A long way up."
    assert read_fields(user) == {"target": "30", "blocks": "1-12", "opening": ""}
    assert "exactly 30" in user.seen
    user.screen.query_one("#target", Input).value = "20"
    await start_game(user)
    assert user.board.table.game.rules == Rules(range(1, 13), target=20)


@with_app
async def test_last_preset_is_followed_by_the_rulebook(user: AppUser) -> None:
    await user.open_screen(create_new_game_screen(PRESETS))
    await user.press("r", "r")
    assert read_fields(user) == {"target": "", "blocks": "", "opening": "1-3"}
    await user.press("r")
    assert read_rules_choice(user) == "rules: as in the rulebook"
    assert read_fields(user) == {"target": "", "blocks": "", "opening": ""}
    await start_game(user)
    assert user.board.table.game.rules == Rules(target=15)


@with_app
async def test_game_without_presets_offers_none(user: AppUser) -> None:
    await user.open_screen(create_new_game_screen("[rules]\n"))
    assert "r" not in {entry.key for entry in user.entries}


# Puzzles and lessons ------------------------------------------------------------------------------


@with_app
async def test_puzzle_of_the_day_is_saved_and_followed_by_another(user: AppUser, db: Path) -> None:
    await user.press("p")
    assert "Puzzle of the day" in user.seen
    await user.type(user.question.question.answer)
    assert "Right!" in user.seen
    await user.press("n")
    assert "Puzzle 2" in user.seen
    await user.press("s")
    assert "The answer is" in user.seen
    with open_store(db).read() as connection:
        attempts = [*load_attempts(connection)]
    assert [isinstance(attempt, PuzzleAttempt) and attempt.result for attempt in attempts] == [
        "right", "skipped",
    ]  # fmt: skip


@with_app
async def test_wrong_answer_is_explained_and_the_right_one_shown(
    user: AppUser, snapshot: SnapshotAssertion
) -> None:
    await user.open_screen(PuzzleScreen(PuzzleSource(catalogue.choose("draft"), seed=1)))
    await user.press("h")
    assert user.picture == snapshot
    question = user.question.question
    await user.type(next(choice.block for choice in question.choices if not choice.is_right))
    assert user.picture == snapshot


@pytest.mark.slow
@with_app
async def test_last_puzzle_is_followed_by_the_score(user: AppUser, db: Path) -> None:
    source = PuzzleSource(catalogue.choose("draft", {"target": 12}), seed=1)
    await user.open_screen(PuzzleScreen(source, 1, "Ann"))
    assert user.question.table.game.rules.target == 12
    await user.type(user.question.question.answer)
    await user.press("n", "n")
    assert "That was the last puzzle." in user.seen
    assert "1 of 1 right." in user.seen
    assert db.exists()


@with_app
async def test_grade_without_a_puzzle_is_explained(user: AppUser) -> None:
    source = PuzzleSource(catalogue.choose("factor"), grade=5, seed=1)
    await user.open_screen(PuzzleScreen(source))
    assert "There is no puzzle of grade 5 in factor" in " ".join(user.seen.split())


@with_app
async def test_lesson_has_the_options_of_its_call(user: AppUser) -> None:
    await user.open_screen(LessonScreen(catalogue.choose("draft", {"target": 12})))
    assert user.question.table.game.rules.target == 12


@pytest.mark.slow
@pytest.mark.parametrize("game", ["climb", "draft"])
@with_app
async def test_lesson_asks_its_questions_and_then_a_game_begins(user: AppUser, game: str) -> None:
    await user.press("l", get_key(game))
    for question in quiz.make_lesson(catalogue.load_named(game)):
        await user.type(question.answer)
        assert "Right!" in user.seen
        await user.press("n")
    assert user.board.session.opponents is not None
    assert user.board.names[1] == "Gentle"


# Games that were played ---------------------------------------------------------------------------


@with_app
async def test_review_shows_every_move_with_its_value_and_reason(
    user: AppUser, snapshot: SnapshotAssertion
) -> None:
    await user.open_screen(ReviewScreen(record.read("draft(names=Ann,Ben):2,8,1,7")))
    await user.press("home")
    assert "Before the first move." in user.seen
    await user.press("right")
    pictures = await take_pictures(user)
    assert pictures == snapshot
    assert all("2??" in picture for picture in pictures.values())
    await user.press("t")
    assert user.picture == snapshot


@pytest.mark.slow
@with_app
async def test_history_resumes_an_unfinished_game_and_reviews_a_finished_one(
    user: AppUser, db: Path
) -> None:
    save_games(db, "draft(names=Ann,Ben):9,8,6", "race(names=Cid,Dan):5,6")
    await user.press("h", "enter")
    assert user.board.table.game.moves == (5, 6)
    await user.press("q", "slash", *"ann")
    assert "Cid" not in user.seen
    await user.press("enter")
    assert isinstance(user.screen, ReviewScreen)


@pytest.mark.slow
@with_app
async def test_history_and_stats_fit_every_size(
    user: AppUser, db: Path, snapshot: SnapshotAssertion
) -> None:
    save_games(
        db,
        "draft(names=[bold]Ann,李小龍):9,8,6",
        f"race(names={'A' * 40},Ben):5,6",
        "draft(names=[bold]Ann,Ben,first=2):9,8,6",
    )
    await user.press("h")
    assert await take_pictures(user) == snapshot
    await user.press("slash", *"nobody")
    assert "Nothing matches." in user.seen
    await user.press("escape", "s")
    assert await take_pictures(user) == snapshot


# The board ----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("game", GAMES)
@with_app
async def test_board_shows_the_same_game_at_every_size(
    user: AppUser, game: str, snapshot: SnapshotAssertion
) -> None:
    await user.press(get_key(game), "2")
    table = user.board.table
    pictures = await take_pictures(user)
    assert pictures == snapshot
    assert all(f"[{table.game.legal[0]}]" in picture for picture in pictures.values())
    assert user.board.table is table


@pytest.mark.slow
def test_text_is_the_same_without_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []
    colours: list[set[str]] = []

    async def look(user: AppUser) -> None:
        await user.press(get_key("draft"), "1", "9", "8", "v")
        await user.until(lambda: "[6] wins" in user.seen)
        texts.append(user.seen)
        colours.append(user.colours)

    run_app(look)
    run_app(look, light=True)
    monkeypatch.setenv("NO_COLOR", "1")
    run_app(look)
    assert texts == [texts[0]] * 3
    assert "color(2)" in colours[0]
    assert colours[2] <= {"default"}


@pytest.mark.slow
@pytest.mark.parametrize("light", [True, False])
@with_app
async def test_only_colours_of_the_terminal_are_used(user: AppUser, *, light: bool) -> None:  # noqa: ARG001 - of the app
    for keys in ("1 2", "h", "escape h", "escape p", "escape v"):
        await user.press(*keys.split())
        assert not [name for name in user.colours if name.startswith("#")], keys


@pytest.mark.slow
@with_app
async def test_game_of_a_thousand_blocks_is_played_by_typing(user: AppUser) -> None:
    choice = catalogue.choose("race", {"blocks": "1-1000", "target": 2000})
    await user.open_screen(BoardScreen(user.app.create_session(choice)))
    await user.type(999)
    assert user.board.table.game.moves == (999,)


@with_app
async def test_game_of_a_rule_file_is_played(user: AppUser, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('title = "Mine"\n[rules]\nblocks = "1-5"\ntarget = 7\n')
    await user.open_screen(BoardScreen(user.app.create_session(catalogue.choose(str(file)))))
    await user.press("5", "2")
    assert user.board.table.outcome == (1, "exact")
