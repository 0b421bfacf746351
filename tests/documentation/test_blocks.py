"""Every block of Python in every page runs, and every line of the shell is one that we accept.

A page's blocks run in their order and share their names. ``<!-- slow -->`` before a block leaves it
to ``make test-slow``; ``<!-- not run: why -->`` has it compiled only. ``<!-- prints -->`` before a
block of text says that it is what the block above prints.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex

import matplotlib as mpl
import pytest

from documentation.pages import blocks, pages
from partita import cli

PYTHON = {path.name: [b for b in blocks(path) if b.language == "python"] for path in pages()}
SHELL = {path.name: [b for b in blocks(path) if b.language in ("sh", "")] for path in pages()}


def run(name, wanted):
    mpl.use("Agg")
    space = {"__name__": "__main__"}
    for block in wanted:
        code = "\n" * (block.line - 1) + block.text  # so that a traceback says the line
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(code, name, "exec"), space)
        if block.prints is not None:
            assert printed.getvalue() == block.prints
    import matplotlib.pyplot as plt

    plt.close("all")


def quick(name):
    """What a page has for the default run."""
    return [block for block in PYTHON[name] if block.is_run and not block.is_slow]


@pytest.mark.parametrize("name", [name for name in PYTHON if quick(name)])
def test_blocks_run(name, folder):
    run(name, quick(name))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name for name, found in PYTHON.items() if any(b.is_slow for b in found)]
)
def test_slow_blocks_run(name, folder):
    run(name, [b for b in PYTHON[name] if b.is_run])


@pytest.mark.parametrize("name", list(PYTHON))
def test_what_is_not_run_is_python(name):
    for block in PYTHON[name]:
        compile(block.text, name, "exec")


def test_the_first_block_of_the_readme_needs_nothing(tmp_path):
    """Pasted into a fresh Python in an empty folder, without extras."""
    import subprocess
    import sys

    first = PYTHON["README.md"][0]
    extras = ("matplotlib", "highspy", "sklearn", "h5py", "pyarrow", "numcodecs", "dask")
    hidden = f"import sys; sys.modules.update(dict.fromkeys({extras}))\n"
    command = [sys.executable, "-W", "error", "-c", hidden + first.text]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == first.prints
    assert (tmp_path / "report.html").exists()


def shell_lines():
    for name, found in SHELL.items():
        for block in found:
            for line in block.text.replace("\\\n", " ").split("\n"):
                if re.match(r"^(\$ )?(\.venv/bin/)?partita ", line):
                    yield pytest.param(line, id=f"{name}: {line[:60]}")


@pytest.mark.parametrize("line", list(shell_lines()))
def test_shell_lines_parse(line):
    """Commands and options that the pages show exist; what they do is tested elsewhere."""
    words = shlex.split(line.removeprefix("$ "), comments=True)[1:]
    words = words[: words.index("|")] if "|" in words else words
    if words[0] in ("--help", "--version", "COMMAND"):
        return
    assert words[0] in cli.COMMANDS, f"no command {words[0]}"
    if "--help" in words:
        return
    try:
        cli.parser_of(words[0]).parse_args(words[1:])
    except SystemExit:
        pytest.fail(line)


def test_the_shell_of_the_readme_runs(folder):
    """The commands of its first block of the shell that name a file which is there."""
    lines = next(b for b in SHELL["README.md"] if "partita estimate" in b.text).text.split("\n")
    ran = 0
    for line in lines:
        words = shlex.split(line, comments=True)
        if not words or words[0] != "partita":
            continue
        with contextlib.redirect_stdout(io.StringIO()):
            assert cli.main(words[1:]) == 0, line
        ran += 1
    assert ran >= 8
    assert (folder / "report.html").exists()
