from __future__ import annotations

import sys
import threading
import time

import pytest

from partita.parallel import blocks, map_blocks, progress
from partita.parallel import threads as _threads


def test_blocks_cover_everything_once():
    for total, size in [(10, 3), (3, 10), (0, 5), (5, 0)]:
        covered = [i for part in blocks(total, size) for i in range(part.start, part.stop)]
        assert covered == list(range(total))


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
def test_results_come_in_order_whatever_the_threads(n_jobs):
    assert list(map_blocks(lambda x: x * x, range(50), n_jobs=n_jobs)) == [x * x for x in range(50)]


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_an_error_stops_what_has_not_started(n_jobs):
    started = []
    before = threading.active_count()

    def work(x):
        started.append(x)
        if x == 3:
            raise RuntimeError("broken")
        return x

    with pytest.raises(RuntimeError, match="broken"):
        list(map_blocks(work, range(1000), n_jobs=n_jobs))
    assert len(started) < 50
    assert threading.active_count() <= before


def test_a_bar_appears_on_a_terminal_and_nowhere_else(monkeypatch, capsys):
    with progress(3, "quiet") as bar:
        bar.advance()
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with progress(3, "loud") as bar:
        bar._bar.delay = 0
        bar._bar.start_t = 0
        bar.advance(2, note="two")
        bar._bar.refresh()
    assert "loud" in capsys.readouterr().err


def test_a_bar_is_drawn_while_one_long_part_is_worked_on(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(_threads, "_BEAT", 0.01)
    with progress(1, "long") as bar:
        bar._bar.delay = 0
        deadline = time.monotonic() + 30
        while "long: " not in (seen := capsys.readouterr().err) and time.monotonic() < deadline:
            time.sleep(0.01)
    assert "0/1" in seen
    bar._bar.refresh()
    time.sleep(0.05)
    assert "long: " not in capsys.readouterr().err
