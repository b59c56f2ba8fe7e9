"""``python -m launchgen``: the command ``launchgen`` of this very interpreter."""

from __future__ import annotations

import sys

from launchgen.cli import main

sys.exit(main())
