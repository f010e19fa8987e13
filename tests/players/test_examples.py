"""The bots in `examples/`: they are what the documentation shows, and play any game to its end."""

from __future__ import annotations

import json
import os
import random
import re
import shlex
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from syrupy.assertion import SnapshotAssertion

from number_tower import Game, Rules, rules
from number_tower.engine import catalogue
from number_tower.players import ForfeitError
from number_tower.players.program import Program, format_question
from number_tower.terminal.cli.main import create_parser
from support.clocks import SLOW
from support.command import EXAMPLES, ROOT, load_example
from support.strategies import any_game

pytestmark = pytest.mark.skipif(os.name != "posix", reason="programs play on Linux and macOS")

PAGE = (ROOT / "docs/bots.md").read_text()
PYTHON_BOT = f"{shlex.quote(sys.executable)} -IS {EXAMPLES / 'bot.py'}"
SHELL_BOT = str(EXAMPLES / "bot.sh")
LLM_BOT = f"{shlex.quote(sys.executable)} -I {EXAMPLES / 'llm_bot.py'}"

ODD = {
    "one block": Rules(blocks=[7]),
    "ends by skips": Rules(towers="own", fit="descending", stuck="skips", blocks=[3, 5, 8, 13, 21]),
    "endless": Rules(supply="endless", blocks=[2, 3], target=11),
    "openings": Rules(fit="unrelated", blocks=range(2, 30), opening=[4, 9]),
    "large numbers": Rules(blocks=[10**8, 10**9], supply="own"),
    "many blocks": Rules(blocks=range(1, 20_001), fit="ascending", target=60_000),
}


def list_code(language: str) -> list[str]:
    """Return what the documentation shows in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("name", "language"), [("bot.py", "python"), ("bot.sh", "sh")])
def test_documentation_shows_the_examples_as_they_are(name: str, language: str) -> None:
    text = (EXAMPLES / name).read_text()
    assert text in list_code(language)
    assert len(text.splitlines()) <= 10


def test_every_example_can_be_run_and_is_documented() -> None:
    pages = "".join(page.read_text() for page in (ROOT / "docs").rglob("*.md"))
    for path in filter(Path.is_file, EXAMPLES.iterdir()):
        assert os.access(path, os.X_OK), path
        assert path.read_text().startswith("#!/"), path
        assert f"`examples/{path.name}`" in pages


def test_documentation_shows_a_question_and_all_its_keys() -> None:
    line = format_question(Game(rules("draft"), moves=(9, 8)))
    assert list_code("json") == [line]
    assert re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE) == list(json.loads(line))


def test_documented_calls_are_ones_that_the_command_takes() -> None:
    calls = re.findall(r"^tower\b.*?(?=  +#|$)", PAGE, re.MULTILINE)
    assert len(calls) > 3
    for call in calls:
        create_parser().parse_args(shlex.split(call)[1:])


def play_game(program: Program, game: Game, seat: int) -> Game:
    """Play a game to its end, a program against random legal moves."""
    chance = random.Random(str(game))  # noqa: S311 - a game is no secret
    try:
        while game.outcome is None:
            game = game.play(
                program.choose(game) if game.to_move == seat else chance.choice(game.legal)
            )
    finally:
        program.close()
    return game


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("command", [PYTHON_BOT, SHELL_BOT], ids=["Python", "shell"])
def test_short_bots_play_every_game_to_its_end(command: str, seat: int) -> None:
    for played in [*map(rules, catalogue.list_names()), *ODD.values()]:
        game = play_game(Program(command, patience=SLOW), Game(played), seat)
        assert game.outcome is not None
        assert seat in game.movers or len(game.moves) < 2


@pytest.mark.parametrize("command", [str(EXAMPLES / "bot.py"), SHELL_BOT])
def test_short_bots_run_by_themselves(command: str) -> None:
    program = Program(command, patience=SLOW)
    assert program.name == "bot"
    assert play_game(program, Game(rules("draft")), 0).outcome


def test_python_bot_takes_a_win() -> None:
    program = Program(PYTHON_BOT, patience=SLOW)
    assert program.choose(Game(rules("draft"), moves=(9, 8))) == 6
    program.close()


# The language model -------------------------------------------------------------------------------

KEY = "sk-very-secret"
ENDED = "it ended (exit code 1) instead of answering: llm_bot: "


class Server:
    """A chat-completions server with prepared answers, which records its questions."""

    def __init__(self) -> None:
        self.answers: list[str | tuple[int, str]] = []
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                server.asked.append(
                    json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                )
                server.keys.append(self.headers["Authorization"])
                answer = server.answers.pop(0)
                message = {"choices": [{"message": {"role": "assistant", "content": answer}}]}
                code, body = (200, json.dumps(message)) if isinstance(answer, str) else answer
                self.send_response(code)
                self.send_header("Content-Length", str(len(body.encode())))
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, *_: object) -> None:
                """Keep quiet."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/v1/chat/completions"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    server = Server()
    thread = threading.Thread(target=server.http.serve_forever, args=(0.01,))
    thread.start()
    monkeypatch.setenv("LLM_URL", server.url)
    monkeypatch.setenv("LLM_MODEL", "wise")
    monkeypatch.setenv("LLM_KEY", KEY)
    monkeypatch.setenv("NO_PROXY", "*")
    yield server
    server.http.shutdown()
    thread.join()
    server.http.server_close()


@pytest.fixture(scope="module")
def llm_bot() -> ModuleType:
    return load_example("llm_bot")


def choose(game: Game | None = None) -> int:
    """Ask the bot once."""
    with closing(Program(LLM_BOT, patience=SLOW)) as program:
        return program.choose(game or Game())


def get_forfeit() -> str:
    with pytest.raises(ForfeitError) as forfeit:
        choose()
    assert KEY not in str(forfeit.value)
    return str(forfeit.value)


def test_language_model_plays(server: Server, snapshot: SnapshotAssertion) -> None:
    server.answers = ["9", "I need 6.\n\n**MOVE: 6**"]
    game = Game(rules("draft"))
    with closing(Program(LLM_BOT, patience=SLOW)) as program:
        game = game.play(program.choose(game)).play(8)
        game = game.play(program.choose(game))
    assert game.moves == (9, 8, 6)
    assert [asked["model"] for asked in server.asked] == ["wise", "wise"]
    assert server.keys == [f"Bearer {KEY}"] * 2
    assert server.asked[1]["messages"][0]["content"] == snapshot


def test_without_a_key_none_is_sent(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LLM_KEY")
    server.answers = ["MOVE: 9"]
    assert choose() == 9
    assert server.keys == [None]


def test_model_that_errs_is_asked_once_more(server: Server) -> None:
    server.answers = ["MOVE: 12", "Sorry. MOVE: 3"]
    assert choose() == 3
    roles = [message["role"] for message in server.asked[1]["messages"]]
    assert roles == ["user", "assistant", "user"]
    assert server.asked[1]["messages"][2]["content"].startswith(
        "12 cannot be placed now. You can place: 1, 2, 3,"
    )


def test_model_that_errs_twice_forfeits(server: Server) -> None:
    server.answers = ["no idea", "MOVE: 12"]
    assert get_forfeit() == (
        f"{ENDED}twice it named no block that can be placed; its last words were 'MOVE: 12'"
    )
    assert server.asked[1]["messages"][2]["content"].startswith("That names no block.")


@pytest.mark.parametrize(
    ("code", "body"),
    [(401, f"bad key\n{KEY}"), (500, ""), (200, "<html>"), (200, "[]"), (200, '{"choices": []}')],
)
def test_error_of_the_server_forfeits(
    server: Server, code: int, body: str, snapshot: SnapshotAssertion
) -> None:
    server.answers = [(code, body)]
    assert get_forfeit() == snapshot


@pytest.mark.usefixtures("server")
def test_server_that_does_not_exist_forfeits(monkeypatch: pytest.MonkeyPatch) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as closed:
        monkeypatch.setenv("LLM_URL", f"http://127.0.0.1:{closed.server_port}")
    assert "llm_bot: 127.0.0.1 gave no answer: [Errno" in get_forfeit()


@pytest.mark.parametrize("name", ["LLM_URL", "LLM_MODEL"])
def test_missing_setting_forfeits(
    server: Server, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "")
    assert "llm_bot: set LLM_URL to a chat-completions address" in get_forfeit()
    assert server.asked == []


REPLIES: dict[int | None, list[str]] = {
    7: [
        *("7", "7.", "MOVE: 7", "move 7, which leaves 8", "**Move:** **7**", "`7`", "Block #7!"),
        *("MOVE: 3? No. MOVE: 7", "Of 9, 8 and 7 I choose 7.", "remove 3 and place 7"),
        *("<think>MOVE: 3</think>\nI place 7", "I place 7 <think>or 3", "7 (with 2.5 in mind)"),
    ],
    None: ["seven", "-7", "x7y", "", "<think>7", "9" * 5000],
}


@pytest.mark.parametrize("number", REPLIES)
def test_move_is_read_from_a_reply(llm_bot: ModuleType, number: int | None) -> None:
    replies = {reply: llm_bot.chosen(reply) for reply in REPLIES[number]}
    assert replies == dict.fromkeys(replies, number)


def test_text_of_a_message_may_come_in_parts(llm_bot: ModuleType) -> None:
    contents = ["7", [{"type": "text", "text": "7"}], None, 8]
    assert [llm_bot.said(content) for content in contents] == ["7", "7", "", "8"]


def test_very_long_list_is_cut_for_a_model(llm_bot: ModuleType) -> None:
    prompt = llm_bot.prompt(json.loads(format_question(Game(Rules(blocks=range(1, 100_001))))))
    assert "199, 200 and 99800 more." in prompt
    assert len(prompt) < 3000


@given(game=any_game())
def test_prompt_has_the_legal_blocks_and_the_target(llm_bot: ModuleType, game: Game) -> None:
    if game.outcome is None:
        prompt = llm_bot.prompt(json.loads(format_question(game)))
        assert "{" not in prompt
        assert all(str(block) in prompt for block in game.legal)
        assert ("exactly" in prompt) == (game.rules.target is not None)
