"""The first bytes of binary images, by which their files are told apart; PTX is text."""

from __future__ import annotations

from typing import Final

CUBIN: Final = b"\x7fELF"
FATBIN: Final = b"\x50\xed\x55\xba"
