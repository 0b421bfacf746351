"""Ctrl-C at the shell: heard wherever it comes, once kindly and twice at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

from partita import io
from partita.cli import _info, _interrupts, main


@pytest.fixture
def words(tmp_path):
    """A command that works; a shell that runs the tests in the background ignores Ctrl-C."""
    np.save(tmp_path / "draws.npy", np.zeros((3, 4), dtype=np.uint8))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield ["info", str(tmp_path / "draws.npy")]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


def ctrl_c():
    signal.raise_signal(signal.SIGINT)


def wait(_=None):
    """Work that goes on for long, and can be interrupted."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        time.sleep(0.01)
    pytest.fail("Ctrl-C was lost.")


def test_one_that_python_drops_is_raised_again(words, monkeypatch, capsys):
    """As when llvmlite frees what it compiled."""

    class Freed:
        def __del__(self):
            ctrl_c()

    def freeing(_):
        Freed()
        wait()

    monkeypatch.setattr(_info, "run", freeing)
    assert main(words) == 130
    assert capsys.readouterr().err == (
        "partita: interrupted; there was no result yet, and nothing was written.\n"
    )


def test_what_it_breaks_off_may_say_something_else(words, monkeypatch, capsys):
    """An import that it broke off is an ImportError, or worse."""

    def importing(_):
        try:
            ctrl_c()
        except KeyboardInterrupt:
            raise SystemError("initialization of _helperlib raised unreported exception") from None

    monkeypatch.setattr(_info, "run", importing)
    assert main(words) == 130
    assert "interrupted" in capsys.readouterr().err

    def failing(_):
        raise SystemError("something else")

    monkeypatch.setattr(_info, "run", failing)
    with pytest.raises(SystemError, match="something else"):
        main(words)


def test_the_second_ends_at_once_and_leaves_nothing_half_written(
    words, monkeypatch, tmp_path, capfd
):
    left = []

    def leaving(code):
        left.append(sorted(os.listdir(tmp_path)))
        raise SystemExit(code)

    def stubborn(_):
        with io.write_atomically(tmp_path / "out.csv") as file:
            file.write(b"half")
            try:
                ctrl_c()
            except KeyboardInterrupt:
                assert len(os.listdir(tmp_path)) == 2
                ctrl_c()

    monkeypatch.setattr(_interrupts.os, "_exit", leaving)
    monkeypatch.setattr(_info, "run", stubborn)
    with pytest.raises(SystemExit, match="130"):
        main(words)
    assert left == [["draws.npy"]]
    assert capfd.readouterr().err == (
        "partita: interrupted again; ended at once, and nothing was written but what is said "
        "above.\n"
    )


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_the_process_ends_by_its_own_code(words):
    """Python would end by the signal where compiled code had met the interrupt."""
    code = (
        "import ctypes, signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from partita.cli import _info, main\n"
        "def run(_):\n"
        "    ctypes.pythonapi.PyRun_SimpleString(b'import signal; signal.raise_signal(2)')\n"
        "    raise KeyboardInterrupt\n"
        "_info.run = run\n"
        "sys.exit(main())"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True)
    assert done.returncode == 130
    assert "partita: interrupted; " in done.stderr


def test_who_listens_already_is_left_alone(words, monkeypatch):
    heard = []
    signal.signal(signal.SIGINT, lambda *_: heard.append(1))
    monkeypatch.setattr(_info, "run", lambda _: ctrl_c())
    try:
        assert main(words) == 0
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    assert heard == [1]


def test_what_an_interrupt_left_half_made_is_not_shown(monkeypatch):
    found, shown = _interrupts.Interrupts(), []
    monkeypatch.setattr(sys, "__unraisablehook__", shown.append)
    lost = SimpleNamespace(exc_type=AttributeError)
    with pytest.raises(KeyboardInterrupt):
        found.hear(2, None)
    found.notice(lost)
    assert not shown
    found.count = 0
    found.notice(lost)
    assert shown == [lost]
