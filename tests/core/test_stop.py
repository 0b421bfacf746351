"""When work in the core ends before it is done."""

import time

import pytest

from partita import _core


def test_deadline():
    stop = _core.Stop(0.02)
    assert not stop.is_up
    time.sleep(0.03)
    assert stop.is_up
    assert stop.elapsed >= 0.03


def test_flag():
    stop = _core.Stop()
    assert not stop.is_up
    stop.set()
    assert stop.is_up


def test_what_a_poll_raises_ends_the_work_and_is_raised_after_it():
    def fail(done, best):
        raise KeyboardInterrupt

    stop = _core.Stop(on_poll=fail)
    time.sleep(0.03)  # polls are 0.02 s apart
    assert stop.is_up
    with pytest.raises(KeyboardInterrupt):
        stop.rethrow()
    stop.rethrow()  # once is enough
