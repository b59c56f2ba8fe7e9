"""Makes the images beside it, and for each the table that cuobjdump prints of it.

    python -m tests.images.make --cuobjdump PATH --nvcc 13.0=PATH --ptxas 11.8=PATH ...

The tests need none of these tools: they read the images with launchgen and compare with the
tables.  Run it after a change of a source or of the list below, with every tool; it says which
are missing.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.cuobjdump import dump, tables

HERE = Path(__file__).parent

# Releases, and where each comes from on PyPI.
NEEDED = {
    "nvcc": {"13.0": "the CUDA toolkit"},
    "ptxas": {
        "11.8": "nvidia-cuda-nvcc-cu11==11.8.89",
        "12.8": "triton==3.6.0: backends/nvidia/bin/ptxas",
        "12.9": "nvidia-cuda-nvcc-cu12==12.9.86",
        "13.0": "the CUDA toolkit",
        "13.5": "nvidia-cuda-nvcc==13.5.37",
    },
    "fatbinary": {"13.0": "the CUDA toolkit", "13.5": "nvidia-cuda-nvcc==13.5.37"},
    "cuobjdump": {"12.8": "triton==3.6.0: backends/nvidia/bin/cuobjdump"},
}

# What each nvcc compiles, and for what.
COMPILED = {
    "kernels.cu": "75 80 90 90a 100 100a 100f 103a 110 120 121",
    "large.cu": "75 90 100f",
    "small.cu": "80 90 90a",
}

# What each ptxas assembles, by its release: the version that a target needs, and the target.
ASSEMBLED = {
    "types.ptx": {
        "11.8": {"7.0": "50 70 80", "7.8": "90"},
        "12.8": {"7.0": "50 75", "8.0": "90a", "8.6": "100a", "8.7": "120"},
        "12.9": {"7.0": "70", "8.0": "90a", "8.8": "100a 100f 103a 121f"},
        "13.0": {"8.0": "90a", "9.0": "103f 110a"},
        "13.5": {"7.0": "75", "8.0": "90 90a", "8.8": "100a 100f 120f", "9.0": "110"},
    },
    "clusters.ptx": {
        "11.8": {"7.8": "90"},
        "12.9": {"8.0": "90a", "8.8": "100f"},
        "13.5": {"8.0": "90"},
    },
    "many.ptx": {"13.0": {"8.1": "90"}},
}

MODES = ("none", "size", "speed", "balance", "default")


class Tools:
    """The tools that were given, by name and release."""

    def __init__(self, given: dict[str, dict[str, Path]]) -> None:
        self.given = given

    def run(self, name: str, release: str, *arguments: str | Path) -> None:
        subprocess.run([self.given[name][release], *arguments], check=True)

    def missing(self) -> list[str]:
        return [
            f"{name} {release} from {origin}"
            for name, releases in NEEDED.items()
            for release, origin in releases.items()
            if not self.has(name, release)
        ]

    def has(self, name: str, release: str) -> bool:
        path = self.given[name].get(release)
        if path is None:
            return False
        done = subprocess.run([path, "--version"], capture_output=True, text=True, check=True)
        return f"release {release}," in done.stdout


def compile_all(tools: Tools) -> list[Path]:
    """Compile what nvcc compiles, and what it links."""
    made = []
    for source, targets in COMPILED.items():
        for target in targets.split():
            image = HERE / f"nvcc13.0-sm_{target}-{Path(source).stem}.cubin"
            tools.run("nvcc", "13.0", "-cubin", f"-arch=sm_{target}", HERE / source, "-o", image)
            made.append(image)
    with tempfile.TemporaryDirectory() as folder:
        host = Path(folder) / "small.o"
        common = ("-rdc=true", "-arch=sm_90a")
        relocatable = HERE / "nvcc13.0-sm_90a-relocatable.cubin"
        tools.run("nvcc", "13.0", *common, "-cubin", HERE / "small.cu", "-o", relocatable)
        tools.run("nvcc", "13.0", *common, "-c", HERE / "small.cu", "-o", host)
        image = HERE / "nvcc13.0-sm_90a-linked.cubin"
        tools.run("nvcc", "13.0", "-arch=sm_90a", "-dlink", "-cubin", host, "-o", image)
        made.append(image)
    return made


def assemble_all(tools: Tools) -> list[Path]:
    """Assemble what ptxas assembles."""
    made = []
    for source, releases in ASSEMBLED.items():
        for release, versions in releases.items():
            for version, targets in versions.items():
                for target in targets.split():
                    image = HERE / f"ptxas{release}-sm_{target}-{Path(source).stem}.cubin"
                    text = (HERE / source).read_text(encoding="utf-8")
                    with tempfile.TemporaryDirectory() as folder:
                        copy = Path(folder) / source
                        copy.write_text(retarget(text, version, target))
                        tools.run("ptxas", release, f"-arch=sm_{target}", copy, "-o", image)
                    made.append(image)
    return made


def retarget(text: str, version: str, target: str) -> str:
    """Return PTX for another target."""
    text = re.sub(r"^\.version .*", f".version {version}", text, flags=re.MULTILINE)
    return re.sub(r"^\.target .*", f".target sm_{target}", text, flags=re.MULTILINE)


def pack_all(tools: Tools) -> list[Path]:
    """Make a fatbin of three cubins and PTX in every way of compression."""
    cubins = {target: HERE / f"nvcc13.0-sm_{target}-small.cubin" for target in ("80", "90", "90a")}
    ptx = HERE / "small.ptx"
    tools.run("nvcc", "13.0", "-ptx", "-arch=compute_80", HERE / "small.cu", "-o", ptx)
    images = [f"--image3=kind=elf,sm={target},file={path}" for target, path in cubins.items()]
    images += [f"--image3=kind=ptx,sm=80,file={ptx}"]
    made = []
    for release, extra in (("13.0", ()), ("13.5", ()), ("13.5", ("--concat",))):
        for mode in MODES:
            if extra and mode == "none":
                continue
            kind = f"{mode}{'-concat' if extra else ''}"
            fatbin = HERE / f"fatbinary{release}-{kind}.fatbin"
            options = ("-64", f"--compress-mode={mode}", *extra, f"--create={fatbin}")
            tools.run("fatbinary", release, *options, *images)
            made.append(fatbin)
    return made


def write_table(tools: Tools, image: Path) -> None:
    """Write what cuobjdump says of an image, and which target it was made for."""
    target = image.name.split("-")[1]
    text = tables(dump(tools.given["cuobjdump"]["12.8"], image))
    image.with_suffix(".txt").write_text(f"target {target}\n{text}", encoding="utf-8")


def main() -> None:
    """Make everything."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    for name in NEEDED:
        parser.add_argument(f"--{name}", action="append", default=[], metavar="RELEASE=PATH")
    options = vars(parser.parse_args())
    given = {
        name: {
            release: Path(path) for release, _, path in (o.partition("=") for o in options[name])
        }
        for name in NEEDED
    }
    tools = Tools(given)
    if missing := tools.missing():
        sys.exit("missing:\n  " + "\n  ".join(missing))
    for image in [*compile_all(tools), *assemble_all(tools)]:
        write_table(tools, image)
    pack_all(tools)
    files = [path for path in HERE.iterdir() if path.is_file()]
    print(f"{len(files)} files, {sum(path.stat().st_size for path in files)} bytes")


if __name__ == "__main__":
    main()
