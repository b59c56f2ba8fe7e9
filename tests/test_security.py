"""What SECURITY.md says of emitting and of emitted code."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from launchgen.artifacts import EXTENSION
from launchgen.cli import main
from tests.programs import (
    FOLDER,
    TESTS,
    compile_c,
    compile_python,
    emit_zoo,
    run,
)
from tests.zoo import Kernel

ADD = Kernel(FOLDER, "add")
IMPORTS = {
    *("__cxa_finalize", "__gmon_start__", "_ITM_deregisterTMCloneTable"),
    *("_ITM_registerTMCloneTable", "__stack_chk_fail", "__tls_get_addr", "__errno_location"),
    *("dlopen", "dlsym", "dlclose", "dlerror"),
    *("pthread_mutex_lock", "pthread_mutex_unlock", "getpid"),
    *("calloc", "free", "snprintf", "vsnprintf", "__snprintf_chk", "__vsnprintf_chk"),
    *("memcpy", "memset", "memcmp", "strlen", "strcmp", "__memcpy_chk"),
}
"""All that a launcher asks of the system: nothing that prints, ends, reads files or connects."""


def imports(library: Path) -> set[str]:
    done = run(["nm", "--dynamic", "--undefined-only", library])
    assert done.returncode == 0, done.stderr
    return {line.split()[-1].partition("@")[0] for line in done.stdout.splitlines()}


@pytest.mark.parametrize("kernel", ["add", "matmul", "device_desc", "desc_copy", "scalars"])
def test_launchers_ask_the_system_for_nothing_that_prints_ends_or_connects(kernel: str) -> None:
    assert imports(compile_c(emit_zoo(kernel))) <= IMPORTS
    module = compile_python(emit_zoo(kernel, artifacts=("cpython",)), *EXTENSION.flags)
    of_module = imports(module)
    assert {name for name in of_module if not re.match("_?Py", name)} <= IMPORTS


_WATCHED = """
import json, os, sys, sysconfig
seen = []
watched = ("subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.fork", "socket.", "ctypes.")
sys.addaudithook(lambda event, _: seen.append(event) if event.startswith(watched) else None)
from launchgen.cli import main
status = main(sys.argv[1:])
installed = (os.getcwd(), sys.prefix, *sysconfig.get_paths().values())
files = [os.path.abspath(each.__file__) for each in list(sys.modules.values())
         if getattr(each, "__file__", None)]
seen += [file for file in files if not file.startswith(installed)]
print(json.dumps([status, seen]))
"""


def test_emitting_starts_no_process_opens_no_connection_and_loads_no_code(tmp_path: Path) -> None:
    artifacts = "c,cpython,pyi,example,make,sh,level0"
    words = ["emit", str(ADD.json), "-s", ADD.signature, "-a", artifacts, "-o", str(tmp_path)]
    command = [sys.executable, "-c", _WATCHED, *words]
    done = subprocess.run(
        command, cwd=TESTS.parent, capture_output=True, text=True, check=True, timeout=120
    )
    assert json.loads(done.stdout.splitlines()[-1]) == [0, []]
    assert len(list(tmp_path.iterdir())) > len(artifacts.split(","))


def test_a_link_is_never_written_through(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    folder.mkdir()
    words = ["emit", str(ADD.json), "-s", ADD.signature, "-n", "add", "-o", str(folder)]
    assert main(words) == 0
    (folder / "add.c").rename(elsewhere)
    before = "int mine;\n"
    elsewhere.write_text(before)
    (folder / "add.c").symlink_to(elsewhere)
    assert main(words) == 3
    assert elsewhere.read_text() == before
    assert main([*words, "--force"]) == 0
    assert elsewhere.read_text() == before
    assert not (folder / "add.c").is_symlink()
