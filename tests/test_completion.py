"""What Tab offers, asked of the shells themselves."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
import time

import pytest

from partita import losses, plots, search, studies
from partita.cli import COMMANDS, main
from partita.cli._completion import commands

SHELLS = ("bash", "zsh", "fish")


def need(shell):
    if sys.platform == "win32":
        pytest.skip("a bash there may be one that needs a system of its own")
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")


@pytest.fixture(params=SHELLS)
def script(request, capsys):
    assert main(["completion", request.param]) == 0
    return request.param, capsys.readouterr().out


@pytest.fixture
def bash_file(tmp_path, capsys):
    need("bash")
    assert main(["completion", "bash"]) == 0
    path = tmp_path / "partita.bash"
    path.write_text(capsys.readouterr().out)
    return path


def asked_of_bash(path, line, folder):
    """Return what the script offers bash for the last word of the line."""
    code = (
        'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
        '_partita; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    call = ["bash", "--norc", "-c", code, "bash", str(path), *line]
    done = subprocess.run(call, capture_output=True, text=True, check=True, cwd=folder)
    return done.stdout.split()


def test_every_command_and_flag_is_declared():
    found = {command.name: command for command in commands()}
    assert list(found) == list(COMMANDS)
    flags = {flag for option in found["estimate"].flagged for flag in option.flags}
    assert {"--loss", "--search", "--seed", "-o", "--output", "--help"} <= flags
    by_flag = {option.flags[-1]: option for option in found["estimate"].flagged}
    assert by_flag["--loss"].values == tuple(losses.NAMES)
    assert by_flag["--output"].is_file
    assert not by_flag["--seed"].is_file
    assert not by_flag["--similarity"].takes_value


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        (["partita", "est"], ["estimate"]),
        (["partita", "estimate", "--los"], ["--loss"]),
        (["partita", "estimate", "d.csv", "--loss", "vi"], ["vi", "vi-lower-bound"]),
        (["partita", "estimate", "--loss", "=", "nv"], ["nvi"]),
        (["partita", "estimate", "--loss", "="], list(losses.NAMES)),
        (["partita", "run", "x.csv", "--search", "nmf-k"], ["nmf-kl"]),
        (["partita", "uncertainty", "--ball-loss", "bin"], ["binder"]),
        (["partita", "uncertainty", "--ball-loss", "vi"], ["vi"]),  # no vi-lower-bound
        (["partita", "plot", "mem"], ["memberships", "memberships-by-rank"]),
        (["partita", "plot", ""], list(plots.NAMES)),
        (["partita", "plot", "--seed", "3", "tra"], ["traces"]),
        (["partita", "plot", "ball", "dr"], []),  # the second word is a file
        (["partita", "reproduce", "galaxy", "so"], ["soft", "solvers"]),
        (["partita", "reproduce", ""], list(studies.NAMES)),
        (["partita", "report", "--names", ""], []),  # a column of the data, not a study
        (["partita", "estimate", "d.csv", "--seed", ""], []),
        (["partita", "completion", "z"], ["zsh"]),
        (["partita", "nothing", "x"], []),
    ],
)
def test_bash_offers(bash_file, line, wanted, tmp_path):
    assert asked_of_bash(bash_file, line, tmp_path) == wanted


def test_a_shell_takes_its_script(script):
    shell, text = script
    need(shell)
    subprocess.run([shell, "-n"], input=text, text=True, check=True, capture_output=True)


def test_fish_offers(tmp_path, capsys):
    need("fish")
    main(["completion", "fish"])
    path = tmp_path / "partita.fish"
    path.write_text(capsys.readouterr().out)
    (tmp_path / "draws.csv").write_text("0,1\n")

    def offered(line):
        call = ["fish", "--no-config", "-c", f"source {path}; complete -C '{line}'"]
        done = subprocess.run(call, capture_output=True, text=True, check=True, cwd=tmp_path)
        return [found.split("\t")[0] for found in done.stdout.splitlines()]

    assert offered("partita est") == ["estimate"]
    assert set(offered("partita ")) == set(COMMANDS)
    assert set(offered("partita estimate d.csv --search nmf")) == {
        name for name in search.NAMES if name.startswith("nmf")
    }
    assert "--loss" in offered("partita estimate --lo")
    # A figure has the name of a command, whose flags are then not offered.
    assert "--style" in offered("partita plot similarity --sty")
    assert offered("partita similarity --sty") == []


class Terminal:
    """A shell in a terminal of its own."""

    def __init__(self, call, folder):
        import pty

        self.shown = ""
        self.end, theirs = pty.openpty()
        self.child = subprocess.Popen(
            call,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=folder,
            start_new_session=True,
            env=os.environ | {"TERM": "dumb", "HOME": str(folder)},
        )
        os.close(theirs)

    def wait_for(self, text, seconds=60):
        stop = time.monotonic() + seconds
        while text not in self.shown:
            left = stop - time.monotonic()
            assert left > 0, f"{text!r} did not come; the terminal shows {self.shown!r}"
            if select.select([self.end], [], [], left)[0]:
                self.shown += os.read(self.end, 4096).decode().replace("\a", "")

    def type(self, text):
        self.shown = ""
        os.write(self.end, text.encode())

    def close(self):
        os.close(self.end)
        self.child.kill()
        self.child.wait()


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize(
    ("shell", "call", "first"),
    [
        ("bash", ["bash", "--norc", "--noprofile", "-i"], ""),
        ("zsh", ["zsh", "-f", "-i"], "autoload -U compinit && compinit -u -D && "),
    ],
)
def test_tab_in_a_terminal(tmp_path, capsys, shell, call, first):
    need(shell)
    main(["completion", shell])
    (tmp_path / "script").write_text(capsys.readouterr().out)
    terminal = Terminal(call, tmp_path)
    try:
        terminal.type(f"{first}. ./script && PS1='go''> '\n")
        terminal.wait_for("go> ")
        terminal.type("partita estim\t")
        terminal.wait_for("partita estimate")
        terminal.type("x --sea\t")
        terminal.wait_for("--search")
        terminal.type("\x15partita plot mem\t")
        terminal.wait_for("memberships")
    finally:
        terminal.close()
