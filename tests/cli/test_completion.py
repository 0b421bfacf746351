"""What Tab offers, asked of the shells themselves."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from partita import losses, plots
from partita.cli import COMMANDS

PLAIN = 'partita() {{ {python} -m partita "$@"; }}\n'


@pytest.fixture
def completed(shell, tmp_path):
    """Have bash source its script and complete the last word of a line."""
    if sys.platform == "win32" or shutil.which("bash") is None:
        pytest.skip("needs bash")
    code = (
        PLAIN.format(python=sys.executable)
        + shell("completion", "bash")
        + ('COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _partita; printf "%s\\n" "${COMPREPLY[@]}"')
    )

    def ask(*line):
        call = ["bash", "--norc", "-c", code, "bash", *line]
        done = subprocess.run(call, capture_output=True, text=True, check=True, cwd=tmp_path)
        return done.stdout.split()

    return ask


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("partita est", ["estimate"]),
        ("partita estimate d.csv --loss =", list(losses.NAMES)),
        ("partita plot ball dr", []),  # the second word is a file
    ],
)
def test_bash_offers(completed, line, wanted):
    assert completed(*line.split(" ")) == wanted


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("", [*COMMANDS, "--help", "--version"]),
        ("est", ["estimate"]),
        ("estimate --los", ["--loss"]),
        ("estimate d.csv --loss vi", ["vi", "vi-lower-bound"]),
        ("estimate --loss = nv", ["nvi"]),  # bash makes three words of --loss=nv
        ("estimate --loss=nv", ["--loss=nvi"]),
        ("run x.csv --search nmf-k", ["nmf-kl"]),
        ("uncertainty --ball-loss bin", ["binder"]),
        ("plot mem", ["memberships", "memberships-by-rank"]),
        ("plot ", list(plots.NAMES)),
        ("plot --seed 3 --polish tra", ["traces"]),
        ("report --names ", []),
        ("estimate d.csv --seed ", []),
        ("completion z", ["zsh"]),
        ("nothing x", []),
    ],
)
def test_offered(shell, line, wanted):
    assert shell("--complete", *line.split(" ")).split() == wanted


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_a_shell_takes_its_script(shell, name):
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    text = shell("completion", name)
    subprocess.run([name, "-n"], input=text, text=True, check=True, capture_output=True)
