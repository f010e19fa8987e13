"""Which browser the tests use: the one named, the system's, Playwright's, Debian's.

Without any, the tests say what to do.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import browser

SHOWS_A_PAGE = "echo '<html><body></body></html>'"
Place = Callable[[str, str], Path]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A machine without a browser, and a way to put programs on it."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "packages"))
    monkeypatch.delenv(browser.VARIABLE, raising=False)
    monkeypatch.setattr(browser, "PLACES", ())
    monkeypatch.setattr(os, "geteuid", lambda: 0)

    def put(name: str, script: str) -> Path:
        path = tmp_path / "bin" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path

    put("env", 'shift\nexec "$@"')
    playwright(tmp_path, "sys.exit('its host cannot be reached')")
    return put


def playwright(folder: Path, install: str) -> Path:
    """Put an installer in the place of Playwright's; return where it installs."""
    package = folder / "packages" / "playwright"
    package.mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").touch()
    target = folder / "cache" / "shell" / "chrome-headless-shell"
    (package / "__main__.py").write_text(
        "import pathlib, sys\n"
        f"target = pathlib.Path({str(target)!r})\n"
        "if '--dry-run' in sys.argv:\n"
        "    print('  Install location:   ', target.parent)\n"
        "    sys.exit()\n"
        f"{install}\n"
    )
    return target


def download() -> str:
    return (
        "target.parent.mkdir(parents=True, exist_ok=True)\n"
        f"target.write_text({f'#!/bin/sh{os.linesep}{SHOWS_A_PAGE}{os.linesep}'!r})\n"
        "target.chmod(0o755)\n"
        "with open(target.parent / 'count', 'a') as count: count.write('.')\n"
    )


def apt_get(
    place: Place, folder: Path, *, installs: str = SHOWS_A_PAGE, refuses: str = "nothing"
) -> Path:
    """Put an apt-get there whose packages are a browser, but for one; return what it is told."""
    calls = folder / "calls"
    chromium = folder / "bin" / "chromium"
    place(
        "apt-get",
        f'echo "$@" >> {calls}\n'
        f'case "$*" in *" install "*" {refuses}") exit 1;; *" install "*)\n'
        f'  printf "%s\\n" "#!/bin/sh" "{installs}" > {chromium}; /bin/chmod +x {chromium};;\nesac',
    )
    return calls


def test_the_system_s_browser_comes_first(place: Place, tmp_path: Path) -> None:
    playwright(tmp_path, "sys.exit('must not be asked')")
    apt_get(place, tmp_path)
    place("google-chrome", SHOWS_A_PAGE)
    assert browser.get() == str(tmp_path / "bin" / "google-chrome")
    chromium = place("chromium", SHOWS_A_PAGE)
    assert browser.get() == str(chromium)
    shell = place("chromium-headless-shell", SHOWS_A_PAGE)
    assert browser.get() == str(shell)


def test_the_one_that_is_named_comes_before_the_system_s(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place("chromium", SHOWS_A_PAGE)
    own = place("../my browser", SHOWS_A_PAGE)
    monkeypatch.setenv(browser.VARIABLE, str(own))
    assert browser.get() == str(own)


def test_one_that_is_named_and_does_not_start_is_not_replaced_in_silence(
    place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place("chromium", SHOWS_A_PAGE)
    monkeypatch.setenv(browser.VARIABLE, "/nowhere/browser")
    assert browser.main() == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "NUMBER_TOWER_BROWSER names /nowhere/browser, which does not start" in err


@pytest.mark.parametrize("broken", ["exit 1", "exit 0", "echo 'Chromium 1.0'", "kill -9 $$"])
def test_a_browser_that_does_not_start_is_passed_over(
    place: Place, broken: str, capfd: pytest.CaptureFixture[str]
) -> None:
    first = place("chromium", broken)
    second = place("google-chrome", SHOWS_A_PAGE)
    assert browser.get() == str(second)
    assert f"{first} is there, but does not start." in capfd.readouterr().err


def test_playwright_s_download_comes_second_and_is_found_again(
    place: Place, tmp_path: Path
) -> None:
    calls = apt_get(place, tmp_path)
    target = playwright(tmp_path, download())
    assert browser.find() is None
    assert browser.get() == str(target)
    assert browser.get() == str(target)
    assert (target.parent / "count").read_text() == "."
    assert not calls.exists()


def test_a_debian_without_the_shell_has_the_whole_browser(place: Place, tmp_path: Path) -> None:
    calls = apt_get(place, tmp_path, refuses="chromium-headless-shell")
    assert browser.get() == str(tmp_path / "bin" / "chromium")
    assert calls.read_text().splitlines()[-1].endswith(" chromium")


def test_debian_s_package_comes_last(place: Place, tmp_path: Path) -> None:
    calls = apt_get(place, tmp_path)
    assert browser.get() == str(tmp_path / "bin" / "chromium")
    update, install = calls.read_text().splitlines()
    assert update.endswith("update")
    assert install.endswith("install -y --no-install-recommends chromium-headless-shell")


def test_who_is_not_root_installs_nothing(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    calls = apt_get(place, tmp_path)
    with pytest.raises(browser.NoBrowserError):
        browser.get()
    assert not calls.exists()


def test_without_any_it_says_what_to_do_and_fails(
    place: Place, capfd: pytest.CaptureFixture[str]
) -> None:
    place("uname", "exit 0")
    assert browser.main() == 1
    out, err = capfd.readouterr()
    assert out == ""
    assert err.splitlines()[-1] == (
        "No browser was found, and none can be had here. "
        "Install Chromium or Chrome, or name one: NUMBER_TOWER_BROWSER=PATH"
    )


def test_a_package_that_installs_nothing_that_starts_is_no_browser(
    place: Place, tmp_path: Path
) -> None:
    apt_get(place, tmp_path, installs="exit 127")
    with pytest.raises(browser.NoBrowserError):
        browser.get()
