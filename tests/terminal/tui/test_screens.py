"""The other screens of the app: each opens by its key and by the mouse, and shows all it has."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets import Input

from number_tower import Rules, store
from number_tower.coach import quiz
from number_tower.coach.quiz import PuzzleSource
from number_tower.engine import catalogue, record
from number_tower.engine.table import Table
from number_tower.terminal.tui.app import AppSettings, TowerApp
from number_tower.terminal.tui.board import BoardScreen
from number_tower.terminal.tui.choice import Menu
from number_tower.terminal.tui.new_game import NewGameScreen
from number_tower.terminal.tui.question import LessonScreen, PuzzleScreen, QuestionScreen
from number_tower.terminal.tui.review import ReviewScreen
from support.pilots import Visit, visit

SIZES = [(40, 16), (80, 24), (132, 43), (250, 60)]
GAMES = catalogue.list_names()


def save(file: Path, *lines: str) -> None:
    opened = store.open_store(str(file))
    for line in lines:
        table = record.read(line)
        opened.begin(table, table.book)
    opened.close()


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
def test_the_first_screen_shows_the_five_games_at_every_size(size: tuple[int, int]) -> None:
    async def look(at: Visit) -> None:
        for game in GAMES:
            await at.highlight(at.find(f"{game}:"))
            assert f" {game}:" in at.seen

    visit(look, size=size)


def test_a_search_finds_a_game_by_a_word_of_its_rules_and_enter_opens_it() -> None:
    async def search(at: Visit) -> None:
        await at.press("slash", *"divisors", "enter")
        assert "Against whom?" in at.seen
        assert "factor" in catalogue.load("factor").name

    visit(search)


def test_arrow_keys_walk_over_the_first_screen() -> None:
    async def walk(at: Visit) -> None:
        await at.press("down", "down", "down", "enter")
        assert catalogue.load("race").title in at.seen
        await at.press("escape")
        assert "Play" in at.seen

    visit(walk)


def test_the_entry_that_enter_chooses_is_seen_without_colours_too() -> None:
    async def walk(at: Visit) -> None:
        for step in ("down", "up"):
            await at.press(step)
            entry = at.screen.query_one(Menu).highlighted_option
            assert entry is not None
            assert at.reversed_text.split()[1].rstrip(":") == (
                entry.value.name  # type: ignore[attr-defined]
            )

    visit(walk)


def test_a_wrong_option_is_explained_and_no_game_starts() -> None:
    async def choose(at: Visit) -> None:
        await at.press(str(1 + GAMES.index("draft")))
        target = at.screen.query_one("#target")
        target.focus()
        await at.press(*"high")
        await at.highlight(at.find("a person"))
        await at.press("enter")
        assert not isinstance(at.screen, BoardScreen)
        assert "Target: expected a whole number" in at.seen

    visit(choose)


def test_options_of_the_rules_and_a_coin_toss_make_another_game() -> None:
    async def choose(at: Visit) -> None:
        await at.press(str(1 + GAMES.index("draft")))
        at.screen.query_one("#target").focus()
        await at.press(*"21")
        await at.highlight(at.find("a person"))
        await at.press("s", "enter")
        assert at.board.table.game.rules.target == 21
        assert at.board.table.game.first == 1

    visit(choose)


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


def open_new_game(text: str) -> TowerApp:
    """Return the app with the screen for a new game by a rule file."""
    book = catalogue.parse_rulebook(text.encode(), "mygame", "mygame.toml")
    return TowerApp(AppSettings(database="none"), NewGameScreen(book))


def read_rules_choice(at: Visit) -> str:
    return next(entry.text.plain for entry in at.entries if entry.key == "r")


def read_fields(at: Visit) -> dict[str | None, str]:
    return {field.id: field.value for field in at.screen.query(Input)}


def test_a_preset_fills_in_the_options_which_can_still_be_changed() -> None:
    async def choose(at: Visit) -> None:
        assert read_rules_choice(at) == "rules: as in the rulebook"
        await at.press("r")
        assert read_rules_choice(at) == "rules: tall. A long way up."
        assert read_fields(at) == {"target": "30", "blocks": "1-12", "opening": ""}
        assert "exactly 30" in at.seen
        at.screen.query_one("#target", Input).value = "20"
        await at.highlight(at.find("a person"))
        await at.press("enter")
        assert at.board.table.game.rules == Rules(range(1, 13), target=20)

    visit(choose, app=open_new_game(PRESETS))


def test_after_the_last_preset_the_rulebook_is_chosen_again() -> None:
    async def choose(at: Visit) -> None:
        await at.press("r", "r")
        assert read_fields(at) == {"target": "", "blocks": "", "opening": "1-3"}
        await at.press("r")
        assert read_rules_choice(at) == "rules: as in the rulebook"
        assert read_fields(at) == {"target": "", "blocks": "", "opening": ""}
        await at.highlight(at.find("a person"))
        await at.press("enter")
        assert at.board.table.game.rules == Rules(target=15)

    visit(choose, app=open_new_game(PRESETS))


def test_a_game_without_presets_has_no_choice_of_them() -> None:
    async def look(at: Visit) -> None:
        assert "r" not in {entry.key for entry in at.entries}

    visit(look, app=open_new_game("[rules]\n"))


async def answer(at: Visit, block: int) -> None:
    assert isinstance(at.screen, QuestionScreen)
    posed = at.screen.posed
    assert posed is not None
    await at.press(*str(block), *["enter"] * (posed.table.game.rules.blocks[-1] > 9))


def test_a_puzzle_that_is_solved_is_saved_and_followed_by_another(tmp_path: Path) -> None:
    file = tmp_path / "games.db"

    async def solve(at: Visit) -> None:
        await at.press("p")
        assert isinstance(at.screen, PuzzleScreen)
        assert at.screen.posed is not None
        assert "Puzzle of the day" in at.seen
        await answer(at, at.screen.posed.question.answer)
        assert "Right!" in at.seen
        await at.press("n")
        assert "Puzzle 2" in at.seen
        await at.press("s")
        assert "The answer is" in at.seen

    visit(solve, file=file)
    opened = store.open_store(str(file))
    with opened.read() as connection:
        results = [str(attempt) for attempt in store.puzzles.load_attempts(connection)]
    opened.close()
    assert ["'right'" in results[0], "'skipped'" in results[1]] == [True, True]


def test_a_wrong_answer_is_explained_and_the_right_one_shown() -> None:
    async def miss(at: Visit) -> None:
        at.app.push_screen(PuzzleScreen(PuzzleSource(catalogue.choose("draft"), seed=1)))
        await at.settle()
        assert isinstance(at.screen, PuzzleScreen)
        assert at.screen.posed is not None
        await at.press("h")
        assert at.screen.posed.question.nudge.split()[0] in at.seen
        wrong = next(each for each in at.screen.posed.question.choices if not each.is_right)
        await answer(at, wrong.block)
        assert "Not this one." in at.seen
        assert "0 of 1 right" in at.seen

    visit(miss)


@pytest.mark.slow
def test_puzzles_end_with_the_score_or_with_what_there_is_instead(tmp_path: Path) -> None:
    async def solve(at: Visit) -> None:
        source = PuzzleSource(catalogue.choose("draft", {"target": 12}), seed=1)
        at.app.push_screen(PuzzleScreen(source, 1, "Ann"))
        await at.settle()
        assert isinstance(at.screen, PuzzleScreen)
        assert at.screen.posed is not None
        assert at.screen.posed.table.game.rules.target == 12
        await answer(at, at.screen.posed.question.answer)
        await at.press("n", "n")
        assert "That was the last puzzle." in at.seen
        assert "1 of 1 right." in at.seen
        await at.press("q")
        at.app.push_screen(PuzzleScreen(PuzzleSource(catalogue.choose("factor"), grade=5, seed=1)))
        await at.settle()
        assert "There is no puzzle of grade 5 in factor" in " ".join(at.seen.split())

    visit(solve, size=(100, 30), file=tmp_path / "games.db")


def test_a_lesson_has_the_options_of_its_call() -> None:
    async def learn(at: Visit) -> None:
        at.app.push_screen(LessonScreen(catalogue.choose("draft", {"target": 12})))
        await at.settle()
        assert isinstance(at.screen, LessonScreen)
        assert at.screen.posed is not None
        assert at.screen.posed.table.game.rules.target == 12

    visit(learn)


@pytest.mark.slow
@pytest.mark.parametrize("game", GAMES)
def test_a_lesson_asks_its_positions_and_then_a_game_begins(game: str) -> None:
    questions = quiz.make_lesson(catalogue.load_named(game))

    async def learn(at: Visit) -> None:
        await at.press("l", str(1 + GAMES.index(game)))
        for question in questions:
            assert isinstance(at.screen, LessonScreen)
            await answer(at, question.answer)
            assert "Right!" in at.seen
            await at.press("n")
        assert at.board.session.opponents is not None
        assert at.board.names[1] == "Gentle"

    visit(learn)


@pytest.mark.parametrize("size", SIZES)
def test_a_review_walks_through_the_moves_with_their_values_and_reasons(
    size: tuple[int, int],
) -> None:
    async def walk(at: Visit) -> None:
        at.app.push_screen(ReviewScreen(record.read("draft(names=Ann,Ben):2,8,1,7")))
        await at.settle()
        assert "Ben won" in at.seen or "Ben wins" in at.seen
        await at.press("home")
        assert "Before the first move." in at.seen
        await at.press("right")
        assert "Ann places 2??" in at.seen
        assert "would have kept the win" in at.seen
        await at.press("t")
        assert "Ann places 2" in at.seen

    visit(walk, size=size)


@pytest.mark.slow
def test_the_history_resumes_an_unfinished_game_and_reviews_a_finished_one(tmp_path: Path) -> None:
    file = tmp_path / "games.db"
    save(file, "draft(names=Ann,Ben):9,8,6", "race(names=Cid,Dan):5,6")

    async def look(at: Visit) -> None:
        await at.press("h")
        assert "Cid - Dan" in at.seen
        assert "Ann wins (target reached)" in at.seen
        await at.press("enter")
        assert at.board.table.game.moves == (5, 6)
        await at.press("q")
        await at.press("slash", *"ann")
        assert "Cid" not in at.seen
        await at.press("enter")
        assert isinstance(at.screen, ReviewScreen)

    visit(look, file=file)


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
def test_the_history_and_the_stats_fit_every_size(size: tuple[int, int], tmp_path: Path) -> None:
    file = tmp_path / "games.db"
    save(file, "draft(names=[bold]Ann,李小龍):9,8,6", f"race(names={'A' * 40},Ben):5,6")

    async def look(at: Visit) -> None:
        await at.press("h")
        for words in ("unfinished, 2", "[bold]Ann", "A" * 9):
            assert words in at.seen
        await at.press("slash", *"nobody")
        assert "Nothing matches." in at.seen
        await at.press("escape", "s")
        for words in ("won by 1", "won by 2", "right", "[bold]Ann"):
            assert words in at.seen

    visit(look, size=size, file=file)


def test_without_games_the_history_and_the_stats_say_so() -> None:
    async def look(at: Visit) -> None:
        await at.press("h")
        assert "No games are saved yet." in at.seen
        await at.press("escape", "s")
        assert "No games are saved yet." in at.seen

    visit(look)


def test_the_stats_count_games_and_right_moves(tmp_path: Path) -> None:
    file = tmp_path / "games.db"
    save(file, "draft(names=Ann,Ben):9,8,6", "draft(names=Ann,Ben,first=2):9,8,6")

    async def look(at: Visit) -> None:
        await at.press("s")
        assert "2 finished games" in at.seen
        assert "Ann" in at.seen
        assert "right" in at.seen

    visit(look, file=file)


@pytest.mark.slow
def test_the_levels_and_the_rules_can_be_read() -> None:
    async def look(at: Visit) -> None:
        await at.press("v")
        assert "never makes a mistake" in at.seen
        await at.press("escape", "1", "1", "question_mark")
        assert "The last to place" in at.seen
        await at.press("escape")
        assert isinstance(at.screen, BoardScreen)

    visit(look)


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("game", GAMES)
def test_the_board_shows_the_turn_the_towers_and_the_blocks_at_every_size(
    game: str, size: tuple[int, int]
) -> None:
    async def look(at: Visit) -> None:
        await at.press(str(1 + GAMES.index(game)), "2")
        table = at.board.table
        assert "Your turn" in at.seen
        assert "hint" in at.seen
        assert f"[{table.game.legal[0]}]" in at.seen
        if table.game.rules.target is not None:
            assert "target" in at.seen
        else:
            assert "May start it" in at.seen

    visit(look, size=size)


@pytest.mark.slow
def test_a_window_that_changes_its_size_shows_the_same_game() -> None:
    async def look(at: Visit) -> None:
        await at.press(str(1 + GAMES.index("summit")), "1", "5", "4")
        before = at.board.table
        for size in ((40, 16), (250, 60), (60, 50), (80, 24)):
            await at.resize(*size)
            assert at.board.table is before
            assert "9" in at.seen

    visit(look)


@pytest.mark.slow
def test_without_colour_the_text_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []
    colours: list[set[str]] = []

    async def look(at: Visit) -> None:
        await at.press(str(1 + GAMES.index("draft")), "1", "9", "8", "v")
        texts.append(at.seen)
        colours.append(at.colours)

    visit(look)
    visit(look, app=TowerApp(AppSettings(database="none", light=True)))
    monkeypatch.setenv("NO_COLOR", "1")
    visit(look, app=TowerApp(AppSettings(database="none")))
    assert texts == [texts[0]] * 3
    assert "color(2)" in colours[0]
    assert colours[2] <= {"default"}


@pytest.mark.slow
@pytest.mark.parametrize("light", [True, False])
def test_only_colours_of_the_terminal_are_used(*, light: bool) -> None:
    async def look(at: Visit) -> None:
        for keys in (
            ("1", "2"),
            ("h",),
            ("escape", "h"),
            ("escape", "l"),
            ("escape", "p"),
            ("escape", "v"),
        ):
            await at.press(*keys)
            assert not [name for name in at.colours if name.startswith("#")], keys

    visit(look, app=TowerApp(AppSettings(database="none", light=light)))


@pytest.mark.slow
def test_a_game_of_a_thousand_blocks_is_played_by_typing() -> None:
    async def play(at: Visit) -> None:
        choice = catalogue.choose("race", {"blocks": "1-1000", "target": 2000})
        at.app.push_screen(BoardScreen(at.app.create_session(choice)))
        await at.settle()
        await at.type(999)
        assert at.board.table.game.moves == (999,)

    visit(play)


def test_a_rule_file_is_played_like_the_five_games(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('title = "Mine"\n[rules]\nblocks = "1-5"\ntarget = 7\n')

    async def play(at: Visit) -> None:
        at.app.push_screen(BoardScreen(at.app.create_session(catalogue.choose(str(file)))))
        await at.settle()
        await at.press("5", "2")
        assert at.board.table.outcome is not None
        assert (
            Table(at.board.table.game, book=at.board.table.book).outcome == at.board.table.outcome
        )

    visit(play)
