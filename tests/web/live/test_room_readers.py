"""What a room's page tells its readers: the same everywhere, and a loss is never celebrated.

The sentences for all readers of several scenes are in a snapshot.
"""

from __future__ import annotations

import json
import re
from functools import partial
from html import unescape
from random import Random
from typing import Any

import pytest
from starlette.testclient import TestClient
from syrupy.assertion import SnapshotAssertion

from number_tower import Game
from number_tower.engine import catalogue
from number_tower.engine.table import Table
from number_tower.players import LEVELS, Computer
from number_tower.web.board.view import MAX_LOG_CHANGES
from number_tower.web.live.new_room import NewRoom
from number_tower.words.voice import get_voice
from support import apps

CHEER = re.compile(r"congratulat|well done|\byou (have )?w[io]n|!", re.IGNORECASE)
YOU = re.compile(r"\byou(r|rs)?\b", re.IGNORECASE)
SKIP = (7, 1, 3)
"""Moves of draft after which the second player cannot place anything."""


def strip_tags(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())


class Page:
    """A page of a room, and what it tells."""

    def __init__(self, client: TestClient, path: str) -> None:
        answer = client.get(path)
        assert answer.status_code == 200, answer.text
        self.html = str(answer.text)
        self.status = self._find_text(r'id="status".*?>(.*?)</div>')
        self.headline = self._find_text(r'class="headline">(.*?)</p>')
        self.title = self._find_text(r"<title>(.*?)</title>")
        lines = re.findall(r'class="words">(.*?)</span>', self.html, re.DOTALL)
        self.log = [strip_tags(line) for line in lines]
        self.main = self._find_text(r'<main id="main".*?>(.*)<section class="card story"')

    def _find_text(self, pattern: str) -> str:
        match = re.search(pattern, self.html, re.DOTALL)
        assert match, pattern
        return strip_tags(match[1])

    def summarize(self) -> dict[str, Any]:
        notes = [strip_tags(note) for note in re.findall(r"(<bdi>\w+</bdi> [^<]+\.)", self.html)]
        return {"title": self.title, "status": self.status, "log": self.log, "notes": notes}


def check_spectator(page: Page) -> None:
    """Check that a spectator is never addressed as a player."""
    for text in (page.status, page.title, *page.log[1:]):
        assert not YOU.search(text), text
    assert "your" not in page.main.casefold()


def lose(name: str, level: str) -> Table:
    """Return a game that a careless player has lost to a computer of a level."""
    book = catalogue.load_named(name)
    for seed in range(100):
        computer, game = Computer(LEVELS[level], seed), Game(book.rules, seed % 2)
        rng = Random(seed)  # noqa: S311 - play, not secrets
        while game.outcome is None:
            game = game.play(computer.choose(game) if game.to_move else rng.choice(game.legal))
        if game.outcome.winner == 1:
            return Table(game, name)
    raise AssertionError(f"{level} never wins {name}")


def open_room(client: TestClient, new: NewRoom) -> str:
    """Open a room for the visitor, whatever was played there before; return its path."""
    assert client.portal is not None
    client.post("/new", data={"opponent": "table"})  # for the cookie
    cookie = next(iter(client.cookies.values()))
    stored, _ = client.portal.call(partial(apps.get_parts(client).lobby.open_room, new, cookie))
    return f"/g/{stored.address}"


class LinkedRoom:
    """A room in which Ann and Ben play over a link, and a spectator watches."""

    def __init__(self, client: TestClient, **form: str) -> None:
        answer = client.post("/new", data={"opponent": "link", "name_1": "Ann", **form})
        self.path = str(answer.headers["location"])
        self.watch = re.findall(r">http://testserver(/w/[^<]+)<", client.get(self.path).text)[0]
        self.ann, self.ben = client, TestClient(client.app, follow_redirects=False)
        self.post(self.ben, "sit", name="Ben")

    def post(self, player: TestClient, action: str, **form: str) -> None:
        assert player.post(f"{self.path}/{action}", data=form).status_code == 303

    def place(self, player: TestClient, block: int) -> None:
        self.post(player, "move", block=str(block))

    def read(self) -> list[Page]:
        """Return the pages of Ann, Ben and the spectator."""
        paths = (self.ann, self.path), (self.ben, self.path), (self.ann, self.watch)
        return [Page(*reader) for reader in paths]

    def summarize(self) -> dict[str, dict[str, Any]]:
        pages = self.read()
        check_spectator(pages[2])
        readers = "Ann", "Ben", "spectator"
        return {name: page.summarize() for name, page in zip(readers, pages, strict=True)}


# Ends ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", catalogue.list_names())
def test_loss_to_a_computer_is_not_celebrated(client: TestClient, name: str, level: str) -> None:
    page = Page(client, open_room(client, NewRoom(lose(name, level), level)))
    assert f"{level.capitalize()} wins" in page.headline
    assert page.title.startswith(page.headline.removesuffix("."))
    assert page.log[-1] == page.headline
    for text in (page.status, page.title, *page.log[1:]):
        assert not CHEER.search(text), text
    for mark in ('class="status over lost"', 'class="tag">won'):
        assert mark in page.html
    for mark in ("tower glad", "rays", "tag won", "icon-star"):
        assert mark not in page.html.split('id="status"')[1]


def test_loser_sees_no_celebration(client: TestClient, snapshot: SnapshotAssertion) -> None:
    room = LinkedRoom(client, game="race", target="9")
    room.place(room.ann, 4)
    room.place(room.ben, 9)
    pages = room.read()
    for page in pages:
        assert page.title.startswith(page.headline.removesuffix("."))
        assert page.log[-1] == page.headline
    assert ["glad" in page.html for page in pages] == [False, True, True]
    assert room.summarize() == snapshot


def test_match_is_told_to_all_readers(client: TestClient, snapshot: SnapshotAssertion) -> None:
    room = LinkedRoom(client, game="race", best_of="3")
    scenes = {"begun": room.summarize()}
    room.place(room.ann, 7)
    room.post(room.ann, "offer", kind="takeback")
    scenes["offered"] = room.summarize()
    room.post(room.ben, "decline")
    scenes["declined"] = room.summarize()
    room.post(room.ben, "resign")
    scenes["first game"] = room.summarize()
    room.post(room.ann, "rematch")
    room.post(room.ben, "resign")
    scenes["match"] = room.summarize()
    assert all("starts the next game" not in page.html for page in room.read())
    assert scenes == snapshot


# Other scenes -------------------------------------------------------------------------------------


def test_skip_is_told_to_all_readers(client: TestClient, snapshot: SnapshotAssertion) -> None:
    room = LinkedRoom(client, game="draft")
    game = Game(catalogue.load_named("draft").rules)
    for block in SKIP:
        room.place((room.ann, room.ben)[game.to_move], block)
        game = game.play(block)
    assert game.movers[-1] == game.to_move == 0
    table = Table(Game(game.rules, moves=SKIP), "draft")
    one_table = Page(client, open_room(client, NewRoom(table, names=("Ann", "Ben"))))
    assert {**room.summarize(), "at one table": one_table.summarize()} == snapshot


def test_spectator_of_a_waiting_room_is_not_addressed_as_a_player(client: TestClient) -> None:
    waiting = client.post("/new", data={"game": "race", "opponent": "link"}).headers["location"]
    assert "your link" in Page(client, waiting).status
    watch = re.findall(r">http://testserver(/w/[^<]+)<", client.get(waiting).text)[0]
    check_spectator(Page(client, watch))


def test_players_are_reminded_to_remember_hidden_blocks(client: TestClient) -> None:
    reminder = "Remember which Number Blocks are used: they are not shown."
    pages = LinkedRoom(client, game="summit", hidden="yes").read()
    assert [reminder in page.html for page in pages] == [True, True, False]


def test_changes_that_the_log_leaves_out_are_counted(client: TestClient) -> None:
    table = Table(Game(catalogue.load_named("draft").rules), "draft")
    for _ in range(MAX_LOG_CHANGES // 2):
        table = table.play(9).undo()
    counts = []
    for block in (9, 8, 1):
        html = Page(client, open_room(client, NewRoom(table))).html
        counts.append(re.findall(r"… (\d+ earlier changes?)<", html))
        table = table.play(block)
    assert counts == [[], ["1 earlier change"], ["2 earlier changes"]]


@pytest.mark.parametrize(("form", "is_told"), [({}, True), ({"target": "40"}, False)])
def test_invitation_tells_the_summary_only_of_unchanged_rules(
    client: TestClient, form: dict[str, str], *, is_told: bool
) -> None:
    form = {"game": "draft", "opponent": "link", **form}
    room = client.post("/new", data=form).headers["location"]
    page = TestClient(client.app).get(room).text
    assert "Take the seat" in page
    assert (catalogue.load_named("draft").summary in unescape(page)) is is_told


# The API ------------------------------------------------------------------------------------------


def test_api_tells_readers_the_same_as_the_pages(client: TestClient) -> None:
    ann, ben, _ = apps.start_linked_game(client, game="race", names=["Ann"])
    client.cookies.clear()
    placed, refused = (ann.act("move", block=7, version=version) for version in (0, 1))
    assert placed.json()["said"][0] == "You place 7."
    assert (refused.status_code, refused.json()["state"]["said"][0]) == (409, "You place 7.")
    spectator = apps.Player(client, ann.address, None)
    texts = "You place 7.", "Ann places 7.", "Ann places 7."
    for reader, text in zip((ann, ben, spectator), texts, strict=True):
        event = reader.get("/events", limit="1").text
        states = reader.get().json(), json.loads(event.partition("data: ")[2].partition("\n")[0])
        assert [state["said"][0] for state in states] == [text] * 2
        log = reader.get("/log", since="1").json()["said"]
        assert [message["text"] for message in log if message["moment"] == "placed"] == [text]


def test_api_tells_two_at_one_table_the_words_of_the_rulebook(client: TestClient) -> None:
    both, _ = apps.start_game(client, names=["Ann", "Ben"])
    client.cookies.clear()
    both.place(9)
    table = Table(Game(catalogue.load_named("draft").rules).play(9), "draft", ("Ann", "Ben"))
    words = [message.text.strip("\n") for message in get_voice(table.book).tell(table)]
    assert both.get().json()["said"] == words
    spectator = apps.Player(client, both.address, None)
    assert spectator.get().json()["said"][0] == "Ann places 9."
