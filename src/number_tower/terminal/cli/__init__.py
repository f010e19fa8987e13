"""The command `tower`. Commands use its parser of options, its terminal, and its error."""

from number_tower.terminal.cli.errors import CommandError as CommandError
from number_tower.terminal.cli.options import CommandParser as CommandParser
from number_tower.terminal.cli.terminal import Terminal as Terminal
