"""What screens have in common, and things to choose on them: by arrow keys and Enter, by a key, or by the mouse."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from textual import events, on
from textual.app import RenderResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.geometry import Region
from textual.message import Message
from textual.screen import Screen
from textual.widget import Widget

if TYPE_CHECKING:
    from number_tower.tui.app import TowerApp

GAME_CSS = "game.tcss"
"""The styles of screens with towers; those of all screens are in app.tcss."""

DIRECTIONS = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}


class Choice(Widget, can_focus=True):
    """A text that can be chosen; `key` is the key that chooses it wherever the focus is."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter,space", "choose", "choose", show=False)]
    DEFAULT_CSS = """
    Choice { width: 1fr; height: auto; padding: 0 1; }
    Choice:hover { text-style: underline; }
    Choice:focus { text-style: reverse; }
    """

    class Chosen(Message):
        """A choice was made."""

        def __init__(self, choice: Choice) -> None:
            super().__init__()
            self.choice = choice

        @property
        def control(self) -> Choice:
            """The choice that was made."""
            return self.choice

    def __init__(
        self, text: Content | str, value: object = None, *, key: str = "", classes: str = ""
    ) -> None:
        super().__init__(classes=classes)
        self.value = value
        self.key = key
        self.text = Content(text) if isinstance(text, str) else text

    def set_text(self, text: Content | str) -> None:
        """Change the text."""
        self.text = Content(text) if isinstance(text, str) else text
        self.refresh(layout=True)

    def render(self) -> RenderResult:
        """Show the key, and the text behind it."""
        return Content.styled(f"{self.key} ", "bold") + self.text if self.key else self.text

    def action_choose(self) -> None:
        """Choose it."""
        self.post_message(self.Chosen(self))

    def on_click(self, event: events.Click) -> None:
        """Choose it by the mouse."""
        event.stop()
        self.action_choose()


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


class ChoiceScreen(TowerScreen):
    """A screen with choices: arrow keys move between them, and their keys choose them."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(key, f"move_focus({key!r})", key, show=False) for key in DIRECTIONS
    ]

    def action_move_focus(self, direction: str) -> None:
        """Move the focus to the nearest choice in a direction; scroll where there is none."""
        choices = [
            each
            for each in self.query(Choice)
            if each.display and each.region.area and each.focusable
        ]
        if self.focused is None or not self.focused.region.area:
            if choices:
                choices[0].focus()
            return
        step = DIRECTIONS[direction]
        nearest = find_nearest(self.focused.region, [each.region for each in choices], step)
        if nearest is not None:
            choices[nearest].focus()
            return
        for scrolled in self.focused.ancestors:
            if isinstance(scrolled, Widget) and scrolled.allow_vertical_scroll and step[1]:
                scrolled.scroll_relative(y=step[1], animate=False)
                return

    def choose(self, choice: Choice) -> None:
        """Do what a choice stands for."""

    @on(Choice.Chosen)
    def _run_choice(self, event: Choice.Chosen) -> None:
        """Do what a choice stands for: call its value, if that is a function. A second key comes too late."""
        if self.app.screen is not self:
            return
        if callable(event.choice.value):
            event.choice.value()
        else:
            self.choose(event.choice)

    def on_key(self, event: events.Key) -> None:
        """Choose by a key, unless text is being typed."""
        if self.focused is not None and not isinstance(self.focused, Choice):
            return
        for choice in self.query(Choice):
            if (
                choice.key
                and choice.key == event.character
                and choice.display
                and not choice.disabled
            ):
                event.stop()
                choice.action_choose()
                return


def find_nearest(start: Region, regions: list[Region], step: tuple[int, int]) -> int | None:
    """Return the index of the region nearest to another one in a direction: sideways only within the same rows."""
    found: list[tuple[float, int]] = []
    across, down = step
    for index, region in enumerate(regions):
        shift_x, shift_y = region.center[0] - start.center[0], region.center[1] - start.center[1]
        ahead = shift_x * across + shift_y * down
        aside = abs(shift_x * down) + abs(shift_y * across)
        overlaps = region.y < start.bottom and start.y < region.bottom
        if ahead >= 1 and (down or overlaps):
            found.append((ahead * (4 if down else 1) + aside, index))
    return min(found)[1] if found else None
