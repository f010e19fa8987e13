"""Gestures of tests on the page of a room, and parts that tests look for there."""

from __future__ import annotations

import re

from playwright.sync_api import FloatRect, Locator, Page

from visits import block, board


def type_in(page: Page, answer: int | str) -> None:
    """Type an answer into its field."""
    field = page.get_by_role("region", name="Choose a").get_by_role("textbox")
    field.fill(f"{answer}")
    field.press("Enter")


def drag(page: Page, number: int) -> None:
    """Drag a block onto the board with the mouse."""
    source, target = box(block(page, number)), box(board(page))
    page.mouse.move(source["x"] + 10, source["y"] + 10)
    page.mouse.down()
    page.mouse.move(source["x"] + 30, source["y"] - 20)
    page.mouse.move(target["x"] + target["width"] / 2, target["y"] + target["height"] / 2, steps=3)
    page.mouse.up()


def touch_drag(page: Page, number: int) -> None:
    """Drag a block onto the board with a finger."""
    block(page, number).scroll_into_view_if_needed()
    source, target = box(block(page, number)), box(board(page))
    start = source["x"] + 10, source["y"] + 10
    end = target["x"] + target["width"] / 2, max(target["y"] + target["height"] / 2, 5)
    finger = page.context.new_cdp_session(page)

    def touch(kind: str, x: float = 0, y: float = 0) -> None:
        points: list[dict[str, float]] = [] if kind == "touchEnd" else [{"x": x, "y": y}]
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", *start)
    for part in (0.2, 0.4, 0.6, 0.8, 1.0):
        across, down = part * (end[0] - start[0]), part * (end[1] - start[1])
        touch("touchMove", start[0] + across, start[1] + down)
    touch("touchEnd")


def tower(page: Page, name: str | re.Pattern[str]) -> Locator:
    """Return a tower by its name for screen readers."""
    return board(page).get_by_role("img", name=name)


def log(page: Page) -> Locator:
    """Return the log of the game."""
    return page.get_by_role("log")


def notice(page: Page) -> Locator:
    """Return the message about the last attempt."""
    return page.get_by_role("alert")


def watch_link(page: Page) -> str:
    """Return the link for spectators."""
    return page.locator("#watch-link").input_value()


def box(locator: Locator) -> FloatRect:
    """Return the position of an element."""
    position = locator.bounding_box()
    if position is None:
        raise LookupError(f"{locator} is not visible")
    return position


def hide(page: Page, *, hidden: bool = True) -> None:
    """Hide the tab of a page, or show it again."""
    script = """(hidden) => {
      Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }"""
    page.evaluate(script, arg=hidden)
