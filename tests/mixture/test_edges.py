"""Absurd parameters, signals at any moment, a folder used twice: an answer or one clear error."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import partita as pt
from partita.errors import FileError, InvalidValueError, PartitaError, PartitaWarning
from partita.mixture import Conjugate, FiniteMixture, Independent, Moves, Paper, PitmanYor

X = np.random.default_rng(0).normal(size=(30, 2)) + 6.0 * (np.arange(30) >= 15)[:, None]
posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")

TINY, HUGE = 1e-300, 1e300
EYE = np.eye(2)
CASES = [
    *({"df": df} for df in (1.0 + 1e-12, 1e8, 1e16, HUGE, np.inf, np.nan, -1.0)),
    *({"df": df, "covariance": "diagonal"} for df in (TINY, 1e-9, 1e8)),
    *({"concentration": a} for a in (TINY, HUGE, 0.0, np.inf, (TINY, 1.0), (1.0, TINY))),
    *({"concentration": a} for a in ((HUGE, HUGE), (1e-3, 1e3), (1e8, 1e-8))),
    *({"concentration": a, "partition": PitmanYor(0.999999)} for a in (TINY, HUGE, (1.0, 1.0))),
    *({"partition": PitmanYor(d)} for d in (0.0, 0.5, 1 - 1e-15)),
    *({"partition": FiniteMixture(g)} for g in (1e-300, 1e-6, 1e6, HUGE)),
    *({"partition": FiniteMixture(1.0, "poisson", r)} for r in (TINY, 1e3, 1e300)),
    *({"partition": FiniteMixture(1.0, "geometric", r)} for r in (TINY, 1e-4, 1 - 1e-16)),
    *({"prior": Conjugate(mean_weight=w)} for w in (TINY, 1e-6, 1e9, HUGE)),
    *({"prior": Independent(EYE[0], EYE * v, EYE, 3.0)} for v in (TINY, 1e-30, 1e30, HUGE)),
    *({"prior": Independent(EYE[0], EYE, EYE * s, 3.0)} for s in (TINY, 1e-30, 1e30, HUGE)),
    *({"prior": Independent(EYE[0] * m, EYE, EYE, 3.0)} for m in (1e12, 1e150, HUGE)),
    *({"prior": prior, "covariance": "spherical"} for prior in (Paper(), Conjugate())),
    *({"thin": t, "n_draws": 2} for t in (10**30, 2**62)),
    *({"n_burn": b} for b in (10**30, 2**63)),
    *({"moves": Moves(s, r)} for s, r in ((0, 0), (0, 5), (50, 0))),
    *({"start": s} for s in ("one", "singletons", "random", np.arange(30) * 10**15)),
]


def case(words):
    with np.errstate(all="ignore"):
        settings = {"n_draws": 5, "n_burn": 5, "rng": 0, **words}
        return pt.sample_mixture(X, **settings)


def test_absurd_parameters_give_draws_or_an_error_of_one_line():
    """Under a watchdog: the interpreter is ended, with a traceback, where a case takes a minute."""
    import faulthandler

    refusals = []
    for words in CASES:
        faulthandler.dump_traceback_later(60, exit=True)
        try:
            draws = case(words)
        except PartitaError as error:
            refusals.append(str(error))
        else:
            assert draws.labels.shape[1] == 30, words
            assert not np.isnan(draws.traces["log_joint"]).any(), words
        finally:
            faulthandler.cancel_dump_traceback_later()
    assert 10 < len(refusals) < len(CASES) / 2
    assert not [message for message in refusals if "\n" in message]


@pytest.mark.parametrize("factor", [1e150, 1e-150])
def test_sums_that_would_overflow_are_refused(factor):
    prior = Independent([0.0, 0.0], EYE, EYE, 3.0)
    with pytest.raises(InvalidValueError, match="units of the data"):
        pt.sample_mixture(X, prior=Independent([0, 0], EYE / factor, EYE, 3.0), n_draws=2)
    if factor > 1:
        with pytest.raises(InvalidValueError, match="units of the data"):
            pt.sample_mixture(X * factor, prior=prior, n_draws=2)


def run(code, *arguments):
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


@posix
def test_ctrl_c_at_any_moment_ends_within_a_fraction_of_a_second():
    """From before the first thread to the middle of the run, on large and small problems."""
    done = run("""
        import json, os, signal, threading, time
        import numpy as np, partita as pt
        from partita.mixture import Moves

        rng = np.random.default_rng(0)
        long = {"n_draws": 10**6, "thin": 10, "n_chains": 3, "n_jobs": 2, "rng": 0}
        problems = [
            (rng.normal(size=(30, 2)), long),
            (rng.normal(size=(400, 300)), {**long, "start": "singletons", "n_draws": 10**5}),
            (rng.normal(size=(20_000, 3)), {**long, "start": "singletons", "n_draws": 10**3}),
            (rng.normal(size=(3000, 20)), {**long, "moves": Moves(10**6, 10**6), "n_draws": 10**4}),
        ]
        slowest, outcomes = 0.0, set()
        for X, words in problems:
            for delay in (0.0, 0.002, 0.01, 0.05, 0.2, 0.5):
                sent = []
                def send():
                    sent.append(time.monotonic())
                    os.kill(os.getpid(), signal.SIGINT)
                timer = threading.Timer(delay, send)
                try:
                    timer.start()
                    pt.sample_mixture(X, **words)
                    outcomes.add("draws")
                except KeyboardInterrupt:
                    outcomes.add("stopped")
                timer.join()
                slowest = max(slowest, time.monotonic() - sent[0])
        print(json.dumps([slowest, sorted(outcomes)]))
    """)
    assert done.returncode == 0, done.stderr
    slowest, outcomes = json.loads(done.stdout)
    assert "stopped" in outcomes
    assert slowest < 10, "a run went on after Ctrl-C"


@posix
def test_a_folder_in_use_is_refused(tmp_path):
    folder = tmp_path / "run"
    told = []

    def second(report):
        code = (
            "import sys, partita as pt; pt.sample_mixture([0.0, 1.0, 2.0], checkpoint=sys.argv[1])"
        )
        told.append(run(code, str(folder)).stderr.splitlines()[-1])
        with pytest.raises(FileError, match="in use by another run"):
            pt.sample_mixture(X, checkpoint=folder)
        return True

    settings = {"n_draws": 100_000, "n_burn": 0, "thin": 20, "rng": 0, "checkpoint": folder}
    with pytest.warns(PartitaWarning, match="Stopped"):
        pt.sample_mixture(X, callback=second, **settings)
    assert "in use by another run; wait until that is done" in told[0]
    with pytest.warns(PartitaWarning, match="Stopped"):  # free again
        pt.sample_mixture(X, callback=lambda report: True, **settings)
