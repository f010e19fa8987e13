"""`python -m number_tower` is the command `tower`."""

import sys

from number_tower.terminal.cli.main import main

sys.exit(main())
