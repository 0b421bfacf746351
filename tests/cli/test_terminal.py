"""What a terminal, a pipe and closed streams are told."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import partita as pt

POSIX = pytest.mark.skipif(os.name != "posix", reason="needs a terminal of POSIX")
NASTY = "a\x1b[31m\x9b2J\u202eb\u200f\x00\x07"
SUMMARY = ("uncertainty", "--search", "average")
BAR = re.compile(rb"it/s|s/it|%\|")
LINE = re.compile(rb"\rsimilarity: [0-9]+ s")


def in_a_process(*words, **how):
    call = [sys.executable, "-m", "partita", *map(str, words)]
    return subprocess.run(call, capture_output=True, text=True, check=False, **how)


@pytest.fixture
def nasty(tmp_path):
    """Draws whose items have names that would change a terminal, one of them very long."""
    draws = pt.datasets.simulate_draws(8, 40, n_clusters=2, rng=0)
    names = [NASTY, "long" * 25_000, *"abcdef"]
    pt.Draws(draws.labels, item_names=names).save(tmp_path / "draws.npz")
    return tmp_path / "draws.npz"


@pytest.mark.parametrize(
    "words",
    [
        ("estimate", "--search", "average"), ("info",), ("similarity",), ("diagnose",), SUMMARY,
        *((*SUMMARY, "--table", table) for table in ("items", "ball", "chips")),
    ],
)  # fmt: skip
def test_names_are_escaped_and_cut_at_a_terminal(shell, nasty, words):
    shell.is_terminal = True
    for form in ("table", "csv", "json"):
        out = shell(words[0], nasty, *words[1:], "--format", form)
        for text in (out, shell.err):
            assert {c for c in text if not c.isprintable()} <= {"\n"}, form
        if form == "table":
            assert max(map(len, out.splitlines())) < 1_000


def test_names_are_what_they_are_in_a_file(shell, nasty, tmp_path):
    shell("estimate", nasty, "--search", "average", "-o", tmp_path / "out.csv")
    assert "a\x1b[31m\x9b2J" in (tmp_path / "out.csv").read_text()


def test_an_error_that_quotes_a_file_is_safe_for_a_terminal(shell, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(f"{NASTY},{'y' * 100_000}\nx,2\nz,3\n")
    for command in ("run", "estimate"):
        said = shell.refused(command, path)
        assert said.rstrip("\n").isprintable()
        assert len(said) < 3_000


def test_a_terminal_is_shown_the_beginning_of_a_long_table(shell, tmp_path):
    np.save(tmp_path / "a.npy", np.arange(5)[:, None] % 3 + np.arange(300) // 150)
    words = ("estimate", tmp_path / "a.npy", "--search", "average", "--seed", 0)
    whole = shell(*words)
    assert len(whole.splitlines()) > 300
    shell.is_terminal = True
    out = shell(*words)
    assert out.splitlines()[-1] == "... 200 more rows: -o FILE has all of them."
    assert whole.startswith(out.rpartition("\n...")[0])
    assert "more columns: -o FILE" in shell("uncertainty", *words[1:], "--table", "ball")
    shell(*words, "-o", tmp_path / "a.txt")
    assert (tmp_path / "a.txt").read_text() == whole


def test_quiet_leaves_warnings_and_errors_alone(shell, csv, tmp_path):
    words = ("estimate", csv, "--search", "average", "-o", tmp_path / "a.csv")
    shell(*words)
    assert " written to " in shell.err
    shell(*words, "--quiet")
    assert shell.err == ""
    assert "`thin` must" in shell.refused(*words, "--quiet", "--thin", 0)


@pytest.fixture(scope="module")
def big(tmp_path_factory):
    """Work that no machine does in a second."""
    folder = tmp_path_factory.mktemp("big")
    draws = pt.datasets.simulate_draws(3_000, 1_000, n_clusters=30, noise=0.4, rng=0)
    draws.save(folder / "draws.npz")
    labels = draws.labels[0].astype(np.int64)
    pt.Estimate(labels, 1.0, pt.losses.VI(), "by hand").save(folder / "e.npz")
    X = np.random.default_rng(0).normal(size=(3_000, 3))
    np.savetxt(folder / "data.csv", X, delimiter=",", header="x,y,z", comments="")
    return folder


def heard_at_a_terminal(words, folder, seconds, until=BAR):
    """What stderr says until there is a bar, or the time is over."""
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "partita", *words.split()], cwd=folder, stderr=theirs,
        stdout=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    said, end = b"", time.monotonic() + seconds
    while time.monotonic() < end and not until.search(said):
        if select.select([ours], [], [], 0.1)[0]:
            try:
                said += os.read(ours, 65_536)
            except OSError:  # it has ended
                break
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    os.close(ours)
    return said


LONG = {
    "sampling": "sample data.csv --n-draws 100 --thin 100000",
    "NMF": "estimate draws.npz --search nmf-kl",
    "compare": "compare draws.npz",
    "search": "estimate draws.npz --search greedy --effort 100",
    "report": "report draws.npz --estimate e.npz",
    "modes": "uncertainty draws.npz --table modes",
}


@POSIX
@pytest.mark.parametrize("what", LONG)
def test_waiting_shows_a_bar_at_a_terminal(big, what):
    assert BAR.search(heard_at_a_terminal(LONG[what], big, seconds=60))


@POSIX
def test_waiting_for_what_has_no_bar_shows_a_line(big):
    assert LINE.search(heard_at_a_terminal("similarity draws.npz -o s.csv", big, 60, LINE))


@POSIX
def test_a_line_makes_room_for_what_is_said(big):
    words = "similarity draws.npz -o s.csv"
    said = heard_at_a_terminal(words, big, 120, re.compile(b"written to")).decode()
    assert "s\r\x1b[KThe similarity written to s.csv" in said


@POSIX
def test_quiet_shows_none(big):
    assert heard_at_a_terminal(f"{LONG['sampling']} --quiet", big, seconds=3) == b""


def test_a_pipe_is_told_nothing_of_waiting(big):
    call = [sys.executable, "-m", "partita", *LONG["sampling"].split()]
    with pytest.raises(subprocess.TimeoutExpired) as ended:
        subprocess.run(call, cwd=big, capture_output=True, timeout=3, check=False)
    assert not ended.value.stderr


def test_a_stream_that_knows_no_unicode(tmp_path):
    path = tmp_path / "u.csv"
    path.write_text("á,b\n1,1\n1,2\n1,1\n", encoding="utf-8")
    done = in_a_process("estimate", path, env=os.environ | {"PYTHONIOENCODING": "ascii"})
    assert (done.returncode, "\\xe1" in done.stdout) == (0, True)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no such device")
@pytest.mark.parametrize("words", ["info", "estimate --search average", "diagnose", "similarity"])
def test_a_terminal_that_takes_no_more(csv, words):
    with open("/dev/full", "w") as full:
        command, *rest = words.split()
        call = [sys.executable, "-m", "partita", command, str(csv), *rest]
        done = subprocess.run(call, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


@POSIX
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("form", ["csv", "npz"])
def test_closed_streams_do_not_reach_a_file(csv, tmp_path, closed, form):
    """What a file would take for its descriptor, a message might be written to."""
    words = {
        "csv": f"estimate {csv} --search average --seed 0 -o {tmp_path}/a.csv",
        "npz": f"similarity {csv} -o {tmp_path}/a.npz",
    }[form]
    found = []
    for redirected in ("", closed):
        line = f"{sys.executable} -m partita {words} {redirected}"
        done = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)
        assert (done.returncode, "Traceback" in done.stderr) == (0, False)
        found.append((tmp_path / f"a.{form}").read_bytes())
    assert found[0] == found[1]


@POSIX
def test_a_result_with_nowhere_to_go(csv):
    line = f"{sys.executable} -m partita info {csv} >&-"
    done = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


@POSIX
def test_a_closed_pipe_is_no_error(csv):
    pipe = f"{sys.executable} -m partita similarity {csv} --format csv | head -1"
    done = subprocess.run(pipe, shell=True, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("item,item0")
    assert done.stderr == ""
