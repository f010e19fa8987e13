"""What all screens share, and menus: lists to choose from by arrows, keys or mouse."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, ClassVar, cast

from textual import events, on
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.style import Style
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

if TYPE_CHECKING:
    from number_tower.terminal.tui.app import TowerApp


class Entry(Option):
    """Something to choose: its text, its value, and the key that chooses it from anywhere."""

    def __init__(self, text: Content | str, value: object, key: str = "") -> None:
        self.text = Content(text) if isinstance(text, str) else text
        self.value = value
        self.key = key
        label = Content.assemble((f"{key} ", "bold"), self.text) if key else self.text
        super().__init__(label)

    def has_words(self, words: Iterable[str]) -> bool:
        """Say whether the text has all of these words."""
        text = self.text.plain.lower()
        return all(word in text for word in words)


class Menu(OptionList):
    """A list of entries, with titles between them that cannot be chosen."""

    def __init__(self, entries: Iterable[Option] = (), id: str | None = None) -> None:  # noqa: A002
        super().__init__(*entries, id=id, compact=True)

    def get_visual_style(self, *component_classes: str, partial: bool = False) -> Style:
        """Return a style with `reverse`, which the library drops: it shows where the focus is."""
        style = super().get_visual_style(*component_classes, partial=partial)
        if self.has_focus and "option-list--option-highlighted" in component_classes:
            style += Style(reverse=True)
        return style

    @property
    def entries(self) -> list[Entry]:
        """What can be chosen."""
        return [option for option in self.options if isinstance(option, Entry)]

    def select(self, entry: Entry) -> None:
        """Choose an entry, as Enter does on the highlighted one."""
        self.post_message(self.OptionSelected(self, entry, self.options.index(entry)))

    def select_by_key(self, event: events.Key) -> bool:
        """Choose the entry of a key; return whether there is one."""
        for entry in self.entries:
            if entry.key and entry.key == event.character:
                event.stop()
                self.select(entry)
                return True
        return False


def make_title(text: str) -> Option:
    """Return a title between the entries of a menu."""
    return Option(Content.styled(text, "bold underline"), disabled=True)


class TowerScreen(Screen[None]):
    """A screen of the app."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("pageup", "scroll_text(-1)", "scroll up", show=False),
        Binding("pagedown", "scroll_text(1)", "scroll down", show=False),
    ]

    @property
    def tower(self) -> TowerApp:
        """The app."""
        return cast("TowerApp", self.app)

    def format_resume_hint(self) -> str:
        """Say how to resume what is left on this screen, once the app is left; mostly nothing."""
        return ""

    def stop(self) -> None:
        """Stop what runs in threads; mostly nothing."""

    def action_leave(self) -> None:
        """Go back to the screen below; only once, however often the key is pressed."""
        if self.app.screen is self:
            self.app.pop_screen()

    def action_scroll_text(self, pages: int) -> None:
        """Scroll the first text that is not shown whole."""
        for panel in self.query(VerticalScroll):
            if panel.max_scroll_y:
                panel.scroll_relative(y=pages * max(panel.size.height - 1, 1), animate=False)
                return

    def on_screen_suspend(self) -> None:
        """Stop all background work of a screen that was left, before its widgets are removed."""
        if self not in self.app.screen_stack:
            self.stop()
            self.workers.cancel_node(self)


class MenuScreen(TowerScreen):
    """A screen with a menu, whose keys choose wherever the focus is."""

    def choose(self, value: object) -> None:
        """Do what an entry stands for: call its value."""
        if callable(value):
            value()

    @on(OptionList.OptionSelected)
    def _select(self, event: OptionList.OptionSelected) -> None:
        """Do what an entry stands for; a second key comes too late."""
        if self.app.screen is self and isinstance(event.option, Entry):
            self.choose(event.option.value)

    def on_key(self, event: events.Key) -> None:
        """Choose by a key, unless text is being typed."""
        if not isinstance(self.focused, Input):
            any(menu.select_by_key(event) for menu in self.query(Menu) if menu.display)


class SearchScreen(MenuScreen):
    """A menu in sections, and a field to type words in: only entries with all of them are shown."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("slash", "search", "search")]

    def __init__(self) -> None:
        super().__init__()
        self.menu = Menu(id="choices")
        self.search = Input(placeholder="Search: type / and a word", id="search", compact=True)

    @abstractmethod
    def list_sections(self) -> Mapping[str, list[Entry]]:
        """Return all entries by the titles above them."""

    @on(Input.Changed, "#search")
    def show_entries(self) -> None:
        """Show what has all words that were typed, and the titles above it."""
        words = self.search.value.lower().split()
        options: list[Option] = []
        for title, entries in self.list_sections().items():
            matching = [entry for entry in entries if entry.has_words(words)]
            if matching:
                options += [make_title(title), *matching]
        highlighted = self.menu.highlighted_option
        self.menu.set_options(options or [make_title("Nothing matches.")])
        self.menu.highlighted = options.index(highlighted) if highlighted in options else 1

    def action_search(self) -> None:
        """Type a word to search for."""
        self.search.focus()

    @on(Input.Submitted, "#search")
    def _choose_first(self) -> None:
        if self.menu.entries:
            self.menu.select(self.menu.entries[0])
