"""Which browser the tests use: a named one, the system's, Playwright's, Debian's; in this order."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import browser
from support.command import write_script

SHOWS_A_PAGE = "echo '<html><body></body></html>'"


class Machine:
    """A machine without a browser, whose Playwright can download none; what it gets is added."""

    def __init__(self, folder: Path) -> None:
        self.programs = folder / "bin"
        self.packages = folder / "packages"
        self.download = folder / "cache/shell/chrome-headless-shell"
        self.apt_calls = folder / "calls"
        self.add_program("env", 'shift\nexec "$@"')
        self.add_playwright("sys.exit('its host cannot be reached')")

    def add_program(self, name: str, script: str = SHOWS_A_PAGE) -> str:
        """Add a program, by default a browser; return its path."""
        self.programs.mkdir(exist_ok=True)
        return str(write_script(self.programs / name, script))

    def add_playwright(self, install: str) -> None:
        """Add a Playwright that runs a line of Python when it is to install its browser."""
        package = self.packages / "playwright"
        package.mkdir(parents=True, exist_ok=True)
        (package / "__init__.py").touch()
        (package / "__main__.py").write_text(
            "import pathlib, sys\n"
            f"target = pathlib.Path({str(self.download)!r})\n"
            "if '--dry-run' in sys.argv:\n"
            "    print('  Install location:   ', target.parent)\n"
            "    sys.exit()\n"
            f"{install}\n"
        )

    def add_apt(self, *, installs: str = SHOWS_A_PAGE, lacks: str = "nothing") -> None:
        """Add an apt-get that notes its calls, and whose packages are Chromium, except one."""
        chromium = self.programs / "chromium"
        self.add_program(
            "apt-get",
            f'echo "$@" >> {self.apt_calls}\n'
            f'case "$*" in *" install "*" {lacks}") exit 1;; *" install "*)\n'
            f'  printf "%s\\n" "#!/bin/sh" "{installs}" > {chromium}; /bin/chmod +x {chromium};;\n'
            "esac",
        )


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine(tmp_path)
    monkeypatch.setenv("PATH", str(machine.programs))
    monkeypatch.setenv("PYTHONPATH", str(machine.packages))
    monkeypatch.delenv(browser.VARIABLE, raising=False)
    monkeypatch.setattr(browser, "PLACES", ())
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return machine


def test_headless_shell_of_the_system_is_preferred(machine: Machine) -> None:
    machine.add_playwright("sys.exit('must not be asked')")
    machine.add_apt()
    for name in ("google-chrome", "chromium", "chromium-headless-shell"):
        path = machine.add_program(name)
        assert browser.get() == path


def test_named_browser_is_preferred_to_the_system_s(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.add_program("chromium")
    own = machine.add_program("../my browser")
    monkeypatch.setenv(browser.VARIABLE, own)
    assert browser.get() == own


def test_named_browser_that_does_not_start_is_an_error(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.add_program("chromium")
    monkeypatch.setenv(browser.VARIABLE, "/nowhere/browser")
    assert browser.main() == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "/nowhere/browser" in err


@pytest.mark.parametrize("broken", ["exit 1", "exit 0", "echo 'Chromium 1.0'", "kill -9 $$"])
def test_browser_that_does_not_start_is_skipped_with_a_notice(
    machine: Machine, broken: str, capfd: pytest.CaptureFixture[str]
) -> None:
    first, second = machine.add_program("chromium", broken), machine.add_program("google-chrome")
    assert browser.get() == second
    assert first in capfd.readouterr().err


def test_playwright_downloads_its_browser_once_before_debian_is_asked(machine: Machine) -> None:
    machine.add_apt()
    script = f"#!/bin/sh\n{SHOWS_A_PAGE}\n"
    machine.add_playwright(
        "target.parent.mkdir(parents=True)\n"  # fails the second time
        f"target.write_text({script!r})\n"
        "target.chmod(0o755)"
    )
    assert browser.find() is None
    assert browser.get() == str(machine.download)
    assert browser.get() == str(machine.download)
    assert not machine.apt_calls.exists()


@pytest.mark.parametrize(
    ("lacks", "packages"),
    [
        ("nothing", ["chromium-headless-shell"]),
        ("chromium-headless-shell", ["chromium-headless-shell", "chromium"]),
    ],
)
def test_debian_s_package_is_installed_last(
    machine: Machine, lacks: str, packages: list[str]
) -> None:
    machine.add_apt(lacks=lacks)
    assert browser.get() == str(machine.programs / "chromium")
    calls = machine.apt_calls.read_text().splitlines()
    assert calls[0].endswith("update")
    installs = [call for call in calls if " install " in call]
    assert [call.rpartition(" ")[2] for call in installs] == packages
    assert all("install -y --no-install-recommends " in call for call in installs)


def test_package_whose_browser_does_not_start_is_not_used(machine: Machine) -> None:
    machine.add_apt(installs="exit 127")
    with pytest.raises(browser.NoBrowserError):
        browser.get()


def test_user_who_is_not_root_installs_nothing(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    machine.add_apt()
    with pytest.raises(browser.NoBrowserError):
        browser.get()
    assert not machine.apt_calls.exists()


def test_machine_without_a_browser_is_an_error_that_says_what_to_do(
    machine: Machine, capfd: pytest.CaptureFixture[str]
) -> None:
    machine.add_program("uname", "exit 0")
    assert browser.main() == 1
    out, err = capfd.readouterr()
    assert out == ""
    assert f"{browser.VARIABLE}=PATH" in err.splitlines()[-1]
