"""A new game: against whom, who starts, how many games, and the options of its rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Footer, Input, Static
from textual.widgets.option_list import Option

from number_tower.engine import catalogue
from number_tower.engine.catalogue import RULE_OPTIONS, CatalogueError, First, Preset, Rulebook
from number_tower.engine.match import Match, Series
from number_tower.engine.rules import RulesError
from number_tower.players import LEVELS
from number_tower.support.text import make_sentence
from number_tower.terminal.session.match import MatchCourse, choose_names
from number_tower.terminal.tui.board import BoardScreen
from number_tower.terminal.tui.choice import Entry, Menu, MenuScreen, make_title
from number_tower.words.brief import describe_rules
from number_tower.words.voice import get_voice

if TYPE_CHECKING:
    from number_tower.terminal.session.opponents import Specs

Value = TypeVar("Value")

STARTERS: dict[First, str] = {1: "you", 2: "the opponent", "random": "a coin toss decides"}
LENGTHS = {1: "one game", 3: "a match, best of 3", 5: "a match, best of 5", 7: "a match, best of 7"}
_LABELS = {
    "target": "Target height",
    "blocks": "Blocks, such as 1-5",
    "opening": "Openings, such as 1-5",
}
_PERSON = "a person"


class NewGameScreen(MenuScreen):
    """Chooses the opponent and the options of a game; choosing the opponent starts it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "leave", "back")]

    def __init__(self, book: Rulebook) -> None:
        super().__init__()
        self._book = book
        self._first: First = 1
        self._length = 1
        self._hidden = False
        self._preset: Preset | None = None
        self._menu = Menu(id="choices")

    def compose(self) -> ComposeResult:
        """Show the rules, the opponents and the options."""
        yield Static(Content(self._book.title), id="title")
        yield self._menu
        for option in RULE_OPTIONS:
            if option in self._book.options:
                usual = self._book.rules.to_dict().get(option, "")
                with Horizontal(classes="field"):
                    yield Static(Content(_LABELS[option]), classes="label")
                    yield Input(placeholder=f"{usual}", id=option, compact=True)
        yield Static("", id="problem")
        yield Footer(show_command_palette=False, compact=True)

    def on_mount(self) -> None:
        """Offer the level of the settings first."""
        self._menu.focus()
        self._show_entries()
        self.call_after_refresh(self._highlight_level)

    def _highlight_level(self) -> None:
        """Highlight an opponent once the menu has its layout, so that it is scrolled into sight."""
        for entry in self._menu.entries:
            if entry.value == (self.tower.settings.level or _PERSON):
                self._menu.highlighted = self._menu.options.index(entry)

    def _show_entries(self) -> None:
        """Show the rules, the opponents and the options as they are chosen."""
        rules = self._book.apply_options({} if self._preset is None else self._preset.options)
        lines = describe_rules(rules, get_voice(self._book).noun)
        person = Content.assemble((_PERSON, "bold"), ": two at this keyboard")
        preset = "as in the rulebook"
        if self._preset is not None:
            preset = f"{self._preset.name}. {self._preset.about}".rstrip()
        options: list[Option] = [
            Option(Content("\n".join(f"- {line}" for line in lines)), disabled=True),
            make_title("Against whom? Choose one to start."),
            Entry(person, _PERSON, "1"),
        ]
        for number, level in enumerate(LEVELS.values(), 2):
            text = Content.assemble((level.name, "bold"), f": {level.about}")
            options.append(Entry(text, level.name, f"{number}"))
        options += [
            make_title("Options"),
            Entry(f"who starts: {STARTERS[self._first]}", self._change_starter, "s"),
            Entry(f"how many games: {LENGTHS[self._length]}", self._change_length, "m"),
        ]
        if "hidden" in self._book.options:
            shown = "hidden" if self._hidden else "shown"
            options.append(Entry(f"remaining blocks: {shown}", self._change_hidden, "h"))
        if self._book.presets:
            options.append(Entry(f"rules: {preset}", self._change_preset, "r"))
        highlighted = self._menu.highlighted
        self._menu.set_options(options)
        self._menu.highlighted = highlighted

    def _change_starter(self) -> None:
        self._first = _follow(list(STARTERS), self._first)
        self._show_entries()

    def _change_length(self) -> None:
        self._length = _follow(list(LENGTHS), self._length)
        self._show_entries()

    def _change_hidden(self) -> None:
        self._hidden = not self._hidden
        self._show_entries()

    def _change_preset(self) -> None:
        """Choose the next preset, and fill in its options; they can still be changed."""
        self._preset = _follow([None, *self._book.presets.values()], self._preset)
        options = {} if self._preset is None else self._preset.options
        for field in self.query(Input):
            field.value = str(options.get(field.id or "", ""))
        self._show_entries()

    def choose(self, value: object) -> None:
        """Start the game against an opponent, or change an option."""
        if isinstance(value, str):
            self._start(value)
        else:
            super().choose(value)

    def _start(self, opponent: str) -> None:
        """Start the game, or say which option is wrong."""
        options: dict[str, object] = {}
        for field in self.query(Input):
            if field.id and (text := field.value.strip()):
                is_number = field.id == "target" and text.isdecimal()
                options[field.id] = int(text) if is_number else text
        try:
            choice = catalogue.choose(self._book, options, hidden=self._hidden, first=self._first)
        except (CatalogueError, RulesError) as error:
            self.query_one("#problem", Static).update(Content(make_sentence(str(error))))
            self.query_one("#problem").scroll_visible()
            return
        specs: Specs = (None, None if opponent == _PERSON else opponent)
        if self._length == 1:
            session = self.tower.create_session(choice, specs)
        else:
            request = self.tower.create_request(specs)
            names = choose_names((choice,), request.create_opponents(), request.person)
            match = Match(self._length, choice.first)
            series = Series((choice,), match, names, hidden=choice.hidden)
            session = MatchCourse(series, request).open_session()
        self.app.switch_screen(BoardScreen(session, coin_tossed=self._first == "random"))


def _follow(values: list[Value], value: Value) -> Value:
    """Return the next value in a circle."""
    return values[(values.index(value) + 1) % len(values)]
