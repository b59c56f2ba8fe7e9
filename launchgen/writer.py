"""GeneratedFiles to disk, all or none; or compared with what is there; or as a depfile.

Only what changed is written, and nothing that launchgen did not make is overwritten: a file is its
own by the banner on top, an image by its hash in the banner of a file beside it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from launchgen.atomic import NewFile, os_failure, replace_all
from launchgen.banner import Banner, read_banner
from launchgen.diagnostics import Diagnostic, OutputError, UsageError, printable
from launchgen.targets import TARGETS

if TYPE_CHECKING:
    from launchgen.rendering import GeneratedFile, GeneratedFiles

_IMAGE_SUFFIXES: Final = frozenset(
    suffix for row in TARGETS.values() for suffix in (row.image_suffix, row.text_suffix)
)


class Report(Struct, frozen=True):
    """What ``write`` did, as file names in the order of the files."""

    changed: tuple[str, ...]
    unchanged: tuple[str, ...]
    stale: tuple[str, ...]
    """Copies of images that the files before included and no file does any more."""


class Differences(Struct, frozen=True):
    """How a folder differs from what would be written there, as file names."""

    changed: tuple[str, ...]
    missing: tuple[str, ...]
    extra: tuple[str, ...]
    """Launchgen's own, yet no output of this command."""

    @property
    def lines(self) -> tuple[str, ...]:
        """One line for each file; none if nothing differs."""
        return (
            *(f"changed: {printable(name)}" for name in self.changed),
            *(f"missing: {printable(name)}" for name in self.missing),
            *(f"extra: {printable(name)}" for name in self.extra),
        )


class Depfile(Struct, frozen=True):
    """A file that tells a build system what the outputs were made from."""

    path: str
    content: bytes
    inputs: tuple[str, ...]


def write(
    files: GeneratedFiles,
    folder: str | Path,
    *,
    force: bool = False,
    depfile: Depfile | None = None,
    inputs: Iterable[str | Path] = (),
) -> Report:
    """Write what changed to ``folder``, which is made if need be, and the depfile if one is given.

    ``inputs`` are what the command reads, which no output may change.

    Raises ``OutputError`` if a file that launchgen did not make is in the way (unless ``force``)
    or if something cannot be written; then, and after an interrupt, everything is as before.
    """
    folder = Path(folder)
    changed = tuple(file for file in files.files if _on_disk(folder / file.name) != file.content)
    read = frozenset(map(os.path.realpath, inputs))
    _refuse_inputs(changed, folder, read)
    _refuse_foreign(changed, folder, force=force)
    stale = _stale(changed, files, folder, read)
    items = [NewFile(folder / file.name, file.content, file.executable) for file in changed]
    if depfile is not None:
        outputs = (folder / file.name for file in files.files)
        _refuse_depfile(depfile, outputs, force=force)
        items.append(NewFile(Path(depfile.path), depfile.content))
    replace_all(items)
    names = tuple(file.name for file in changed)
    unchanged = tuple(file.name for file in files.files if file.name not in names)
    return Report(names, unchanged, stale)


def check(
    files: GeneratedFiles, folder: str | Path, *, inputs: Iterable[str | Path] = ()
) -> Differences:
    """Compare ``files`` with ``folder`` and write nothing.

    ``inputs`` are what the command reads, which is not extra.
    """
    folder = Path(folder)
    contents = {file.name: _on_disk(folder / file.name) for file in files.files}
    return Differences(
        changed=tuple(
            file.name
            for file in files.files
            if contents[file.name] != file.content and os.path.lexists(folder / file.name)
        ),
        missing=tuple(name for name in contents if not os.path.lexists(folder / name)),
        extra=_extra(folder, expected=frozenset(contents), inputs=inputs),
    )


def diff(files: GeneratedFiles, folder: str | Path, *, inputs: Iterable[str | Path] = ()) -> bytes:
    """Return what writing would change as a unified diff, empty if nothing; writes nothing.

    Every file is named with its kind on a line of its own; an image has that line only.
    """
    folder = Path(folder)
    found = check(files, folder, inputs=inputs)
    differing = frozenset((*found.changed, *found.missing))
    kinds = dict(zip((*found.changed, *found.missing, *found.extra), found.lines, strict=True))
    new = {file.name: file.content for file in files.files if file.name in differing}
    return b"".join(
        line.encode() + b"\n" + _unified(name, _on_disk(folder / name), new.get(name))
        for name, line in kinds.items()
    )


def single(files: GeneratedFiles) -> bytes:
    """Return the one file that standard output gets; raises ``UsageError`` if there are several."""
    if len(files.files) != 1:
        names = ", ".join(file.name for file in files.files)
        raise UsageError(
            Diagnostic(
                f"'-o -' prints a single file, and this command makes {len(files.files)}: {names}",
                hint="name one artifact with --artifact, or a folder with --out",
            )
        )
    return files.files[0].content


def output_paths(files: GeneratedFiles, folder: str) -> tuple[str, ...]:
    """Return the path of each file, joined to ``folder`` as it was given.

    Images stand last, whose presence depends on their size: build systems tell a rule by its first
    output.
    """
    ordered = sorted(files.files, key=lambda file: file.copied)
    return tuple(os.path.join(folder, file.name) for file in ordered)  # noqa: PTH118 - keeps "./"


def listing(paths: Iterable[str]) -> bytes:
    """Return paths one a line; raises ``UsageError`` for one that is no line."""
    listed = tuple(paths)
    broken = next((path for path in listed if "\n" in path), None)
    if broken is not None:
        problem = f"--list-outputs cannot name a path with a line break: {broken!r}"
        raise UsageError(Diagnostic(problem, hint="choose another folder with --out"))
    return b"".join(os.fsencode(path) + b"\n" for path in listed)


def depfile_text(outputs: Iterable[str], inputs: Iterable[str]) -> bytes:
    """Return a make rule without a recipe: all ``outputs`` depend on all ``inputs``.

    The escapes are those of ``gcc -M``, which GNU make and ninja read alike.  Raises
    ``OutputError`` for a path that has none: make would take it for a recipe, an assignment or a
    pattern, and ninja for its end.
    """
    right = "".join(f" \\\n  {_escape(path)}" for path in sorted(set(inputs)))
    return os.fsencode(f"{' '.join(map(_escape, outputs))}:{right}\n")


# Behind the bars: a backslash before what is escaped by one; and at a path's end, where make takes
# one for a continued line, and parentheses for a member of an archive, and drops a blank.
_UNESCAPABLE: Final = re.compile(r"[\x00-\x1f\x7f;=|%*?<>^`]|\\[#:]|[ \\)]\Z")


def _escape(path: str) -> str:
    found = _UNESCAPABLE.search(path)
    if found is not None:
        what = "a line break" if found[0] in "\r\n" else f"{found[0]!r}"
        problem = f"no depfile can name a path with {what} there: {path!r}"
        raise OutputError(Diagnostic(problem, hint="rename it, or do without --depfile"))
    escaped: list[str] = []
    for character in path:
        if character == " ":
            # Backslashes before a space count as escapes themselves, and only there.
            backslashes = len(escaped) - len("".join(escaped).rstrip("\\"))
            escaped += "\\" * (backslashes + 1)
        elif character in "#:":
            escaped += "\\"
        elif character == "$":
            escaped += "$"
        escaped += character
    return "".join(escaped)


def _on_disk(path: Path) -> bytes | None:
    """Return a file's content, or None where there is no regular file."""
    try:
        # Asked first: opening a pipe would wait for its other end.
        return path.read_bytes() if path.is_file() else None
    except FileNotFoundError:
        return None
    except OSError as error:
        raise os_failure("read", path, error) from error


def _banners(folder: Path) -> dict[str, Banner | None]:
    """Return every regular file of ``folder`` by name, sorted, with its banner if it has one."""
    banners: dict[str, Banner | None] = {}
    try:
        names = sorted(entry.name for entry in folder.iterdir() if entry.is_file())
    except (FileNotFoundError, NotADirectoryError):
        return banners
    except OSError as error:
        raise os_failure("read", folder, error) from error
    for name in names:
        banners[name] = None
        # A file that cannot be opened, or has just gone, is not shown to be launchgen's.
        with contextlib.suppress(OSError), (folder / name).open("rb") as file:
            banners[name] = read_banner(file)
    return banners


def _copied(banners: dict[str, Banner | None]) -> frozenset[str]:
    """Return the hashes that make an image of the same folder launchgen's own."""
    return frozenset().union(*(banner.hashes for banner in banners.values() if banner))


def _sha256(path: Path) -> str:
    return hashlib.sha256(_on_disk(path) or b"").hexdigest()


def _extra(
    folder: Path, *, expected: frozenset[str], inputs: Iterable[str | Path]
) -> tuple[str, ...]:
    banners = _banners(folder)
    hashes = _copied(banners)
    read = {os.path.realpath(path) for path in inputs}

    def is_own(name: str) -> bool:
        path = folder / name
        if os.path.realpath(path) in read:
            return False
        is_image = path.suffix in _IMAGE_SUFFIXES
        return banners[name] is not None or (is_image and _sha256(path) in hashes)

    return tuple(name for name in banners if name not in expected and is_own(name))


def _stale(
    changed: Sequence[GeneratedFile],
    files: GeneratedFiles,
    folder: Path,
    read: frozenset[str],
) -> tuple[str, ...]:
    """Return the copies that only the banners about to be replaced prove to be launchgen's."""
    if not any(os.path.lexists(folder / file.name) for file in changed):
        return ()
    banners = _banners(folder)
    replaced = {file.name for file in changed}
    old = _copied({name: banner for name, banner in banners.items() if name in replaced})
    kept = _copied({name: banner for name, banner in banners.items() if name not in replaced})
    expected = {file.name for file in files.files}
    return tuple(
        name
        for name in banners
        if name not in expected
        and (folder / name).suffix in _IMAGE_SUFFIXES
        and os.path.realpath(folder / name) not in read
        and _sha256(folder / name) in old - kept
    )


def _refuse_inputs(changed: Sequence[GeneratedFile], folder: Path, read: frozenset[str]) -> None:
    found = [folder / file.name for file in changed]
    same = [path for path in found if os.path.realpath(path) in read]
    if same:
        hint = "choose another folder with --out, or another --name"
        problem = f"'{same[0]}' is an input of this command, and would be overwritten"
        raise UsageError(Diagnostic(problem, hint=hint))


def _refuse_foreign(files: Sequence[GeneratedFile], folder: Path, *, force: bool) -> None:
    present = [file for file in files if os.path.lexists(folder / file.name)]
    if not present:
        return
    banners = _banners(folder)
    hashes = _copied(banners)
    findings: list[Diagnostic] = []
    for file in present:
        path = folder / file.name
        own = _sha256(path) in hashes if file.copied else banners.get(file.name) is not None
        if path.is_dir() and not path.is_symlink():
            findings.append(Diagnostic(f"cannot write '{path}': it is a folder"))
        elif not force and not own:
            findings.append(
                Diagnostic(
                    f"'{path}' is in the way: launchgen did not make it",
                    hint="choose another folder with --out, or overwrite it with --force",
                )
            )
    if findings:
        raise OutputError(*findings)


# One rule without a recipe, as this module writes it, or nothing.
_RULE: Final = re.compile(rb"(?:[^\n]+:(?: \\\n  [^\n]+)*\n)?")


def _refuse_depfile(depfile: Depfile, outputs: Iterable[Path], *, force: bool) -> None:
    """Refuse a depfile that would overwrite what it is about, or anything but a depfile."""
    real = os.path.realpath(depfile.path)
    if real in map(os.path.realpath, (*map(str, outputs), *depfile.inputs)):
        raise UsageError(
            Diagnostic(f"--depfile '{depfile.path}' is itself an input or output of this command")
        )
    path = Path(depfile.path)
    if os.path.lexists(path) and not path.is_file():
        raise OutputError(Diagnostic(f"cannot write '{path}': it is not a regular file"))
    if not force and _RULE.fullmatch(_on_disk(path) or b"") is None:
        problem = f"'{path}' is there, and is no depfile"
        raise OutputError(Diagnostic(problem, hint="--force overwrites it"))


def _unified(name: str, old: bytes | None, new: bytes | None) -> bytes:
    if b"\0" in (old or b"") or b"\0" in (new or b""):
        return b""
    path = printable(name).encode()
    import difflib  # noqa: PLC0415 - only --diff needs it

    lines = difflib.diff_bytes(
        difflib.unified_diff,
        _lines(old),
        _lines(new),
        b"/dev/null" if old is None else b"a/" + path,
        b"/dev/null" if new is None else b"b/" + path,
    )
    return b"".join(
        line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n"
        for line in lines
    )


def _lines(text: bytes | None) -> list[bytes]:
    """Split at LF only, as diff and patch do."""
    parts = (text or b"").split(b"\n")
    return [part + b"\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
