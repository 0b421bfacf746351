"""Throw bad arguments at every function of the native core: an error or an answer, never a crash.

    python fuzz/bindings.py [--rounds 200 | --seconds 3600] [--seed 0] [--only NAME] [--log FILE]

Half of the calls are those that the package itself makes, recorded while it does a little of everything, with one
to three of their arguments changed: other shapes, types and orders, labels out of range, NaN, arrays that are
read-only, byte-swapped or of no size. The others are made from the signatures alone, so a function that is new is
found by itself. Each call is named in the log before it is made; after a crash its last line says which it was, and
--only NAME --from ROUND --rounds 1 makes that call again.
"""

from __future__ import annotations

import argparse
import ast
import faulthandler
import os
import re
import resource
import sys
import time
import warnings
import zlib
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

import partita as pt
from partita import _core

Call = tuple[tuple[Any, ...], dict[str, Any]]
ERRORS = (TypeError, ValueError, IndexError, OverflowError, MemoryError, RuntimeError)
HANGS = 600  # seconds after which a call is taken to hang; a busy machine stretches calls a lot
IS_SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")
HUGE = [] if IS_SANITIZED else [2**31, 2**63 - 1, 2**64 - 1]  # a sanitizer ends where memory does
INTEGERS = [-1, 0, 1, 2, 3, 7, 255, 256, 65_535, 1_000_000, *HUGE]
NUMBERS = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, 1e-300, 1e300]
DTYPES = ["u1", "u2", "u4", "u8", "i4", "i8", "f4", "f8", "?"]


def work() -> None:
    """Do a little of everything that the core serves."""
    rng = np.random.default_rng(0)
    draws = pt.Draws(rng.integers(0, 3, (9, 7)), weights=rng.random(9))
    psm = pt.posterior_similarity(pt.Draws(draws.labels))
    work_in_blocks(draws.labels, rng.random(9))
    for loss in pt.losses.NAMES:
        pt.expected_loss(draws.labels, draws, loss=loss)
        pt.estimate(draws, loss=loss, search="exact")
        pt.estimate(draws, loss=loss, search="average")
    pt.certify(np.arange(7) % 3, psm)
    pt.certify(np.arange(20) % 3, pt.Draws(rng.integers(0, 3, (9, 20))))
    pt.chips(draws, prob=0.3, rng=0)
    best = pt.estimate(draws, loss="vi", search="exact")
    pt.credible_ball(best.labels, draws)
    pt.item_uncertainty(best, draws)
    pt.diagnose(pt.Draws(draws.labels, chains=np.arange(9) // 5))
    pt.align_memberships(best.labels, draws)
    pt.summarize_modes(draws, n_modes=2, rng=0)
    for model in pt.nmf.NAMES:
        for solver in ("fast", "mu"):
            if (model, solver) != ("symmetric", "mu"):
                pt.factorize(psm, model=model, rank=3, n_init=2, solver=solver, rng=0)
    for data in (rng.normal(size=(30, 1)), rng.normal(size=(20, 2))):
        for prior, covariance in (("paper", "full"), ("conjugate", "diagonal")):
            sampled = pt.sample_mixture(
                data, n_draws=5, n_burn=5, prior=prior, covariance=covariance, rng=0
            )
            pt.mixture.predictive_density(sampled, data, data[:3], rng=0)
            pt.mixture.join_probabilities(sampled, data, data[:3], sampled.labels[0], rng=0)
            pt.mixture.component_parameters(sampled, data, rng=0)
    for loss in (pt.losses.VI(), pt.losses.ID(), pt.losses.PEAR()):
        sums = loss.numerator.coefficients.tolist(), loss.denominator.coefficients.tolist()
        of = (
            {"similarity": psm.to_dense(), "on_similarity": True}
            if loss.needs == "similarity"
            else {}
        )
        problem = _core.SearchProblem(loss.table(7).tolist(), *sums, labels=draws.labels, **of)
        starts = np.zeros((2, 7), np.int32)
        problem.search({"patience": 1, "n_starts": 2}, 0, 1, _core.Stop(), starts)
        problem.descend(starts, {}, 0, 2, _core.Stop())
        problem.complete(np.array([0, -1, 1, 0, -1, -1, 1], np.int32), 3, 0, 2, _core.Stop())
    pt.estimate(draws, loss="vi", rng=0)
    pt.estimate(draws, loss="vi", rng=0, n_clusters=2)
    pt.estimate(draws, loss="pear", rng=0, search=pt.search.Greedy(max_clusters=3))


def work_in_blocks(labels: Any, weights: Any) -> None:
    """Call what is used where draws or items are too many to be held, which is long to bring about."""
    n = labels.shape[1]
    sizes = labels.max(axis=1).astype(np.int64) + 1
    edges = np.append(0, np.cumsum(sizes))
    rows, partition = int(edges[-1]), np.arange(n, dtype=np.uint32) % 3
    _core.count(labels, edges, partition, np.zeros((rows, 3), np.int32))
    _core.own(labels, edges, weights, partition, np.ones((rows, 3)), np.zeros(n))
    _core.joint_sums(labels, sizes, partition[None], np.array([3]), np.arange(n + 1.0) ** 2)


def functions() -> dict[str, Callable[..., Any]]:
    """The functions of the core, and the methods of its classes, which take their object first."""
    found = {}
    for name, one in vars(_core).items():
        if isinstance(one, type):
            inside = {k: v for k, v in vars(one).items() if hasattr(v, "__nb_signature__")}
            found |= {f"{name}.{k}": v for k, v in inside.items() if not k.startswith("__")}
            found[name] = one
        elif hasattr(one, "__nb_signature__"):
            found[name] = one
    return dict(sorted(found.items()))


def recorded(every: dict[str, Callable[..., Any]]) -> dict[str, list[Call]]:
    """Some calls of each function that the package makes."""
    calls: dict[str, list[Call]] = defaultdict(list)
    kinds: set[Any] = set()

    def listening(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            kind = name, *((type(x), getattr(x, "dtype", 0)) for x in args)
            if kind not in kinds or len(calls[name]) < 4:
                kinds.add(kind)
                calls[name].append((kept(args), kept(kwargs)))
            return plain(*args, **kwargs)

        return call

    heard = {name: plain for name, plain in every.items() if plain is not _core.Stop}
    for name, plain in heard.items():
        owner, _, method = name.rpartition(".")
        setattr(every[owner] if owner else _core, method, listening(name, plain))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            work()
    finally:
        for name, plain in heard.items():
            owner, _, method = name.rpartition(".")
            setattr(every[owner] if owner else _core, method, plain)
    return calls


def kept(value: Any) -> Any:
    """An argument as it is now, whatever is written into it."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, tuple | list):
        return type(value)(kept(one) for one in value)
    if isinstance(value, dict):
        return {name: kept(one) for name, one in value.items()}
    return value


class Chance:
    """What is drawn for one call."""

    def __init__(self, *seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.lengths = [int(x) for x in self.rng.choice([0, 1, 2, 3, 5, 7, 8, 16, 17, 40], 3)]

    def pick(self, some: Any) -> Any:
        """One of them."""
        return some[int(self.rng.integers(len(some)))]

    def happens(self, p: float) -> bool:
        """True with this probability."""
        return bool(self.rng.random() < p)

    def array(self, dtype: str, ndim: int) -> Any:
        """An array that a function might take, of the call's few lengths."""
        shape = tuple(self.pick(self.lengths) for _ in range(ndim))
        if np.dtype(dtype).kind == "f":
            values = self.pick(
                [self.rng.random(shape), self.rng.normal(size=shape), np.ones(shape)]
            )
        else:
            values = self.rng.integers(0, self.pick([1, 2, 3, max([1, *shape])]), shape)
        return values.astype(dtype)

    def damaged(self, value: Any) -> Any:
        """A value that differs from the one given in a way that callers should not rely on."""
        if self.happens(0.05):
            return self.pick([None, "a", b"", 1, 1.5, [], np.empty(0), object(), -1])
        if isinstance(value, np.ndarray):
            return self.pick([self.values, self.values, self.shape, self.shape, self.form])(value)
        if isinstance(value, tuple | list) and value:
            at = int(self.rng.integers(len(value)))
            return type(value)([*value[:at], self.damaged(value[at]), *value[at + 1 :]])
        if isinstance(value, dict) and value:
            name = self.pick(sorted(value))
            return {**value, self.pick([name, name, "a"]): self.damaged(value[name])}
        if isinstance(value, bool):
            return not value
        if isinstance(value, int | np.integer):
            return self.pick([int(value) + 1, int(value) - 1, 2 * int(value), *INTEGERS])
        if isinstance(value, float | np.floating):
            return self.pick([2 * float(value), -float(value), *NUMBERS])
        return value

    def values(self, array: Any) -> Any:
        """Some entries out of range."""
        out = array.copy()
        if not out.size:
            return out
        places = self.rng.integers(out.size, size=self.pick([1, 1, 2, out.size]))
        kind = out.dtype.kind
        if kind == "f":
            with np.errstate(all="ignore"):
                out.ravel()[places] = self.rng.choice(NUMBERS, places.size)
        elif kind in "iu":
            limits = np.iinfo(out.dtype)
            some = [
                limits.min,
                limits.max,
                *(x for x in (-1, 0, 1, *array.shape) if limits.min <= x <= limits.max),
            ]
            for place in places[:9]:
                out.ravel()[place] = self.pick(
                    [*some, *(min(limits.max, x + 1) for x in array.shape)]
                )
        return out

    def shape(self, array: Any) -> Any:
        """A row or a column more or less, none at all, or another number of dimensions."""
        if array.ndim == 0 or self.happens(0.1):
            return self.pick([array[None], array.ravel(), np.array(0, array.dtype)])
        axis = int(self.rng.integers(array.ndim))
        length = array.shape[axis]
        wanted = self.pick([0, 1, max(0, length - 1), length + 1, 2 * length])
        return (
            np.ascontiguousarray(np.take(array, np.arange(wanted) % max(length, 1), axis=axis))
            if length
            else array
        )

    def form(self, array: Any) -> Any:
        """The same numbers otherwise: type, order, stride, bytes, leave to write."""
        how = int(self.rng.integers(6))
        if how == 0:
            with np.errstate(all="ignore"):
                return array.astype(self.pick(DTYPES))
        if how == 1:
            return np.asfortranarray(array)
        if how == 2:
            return np.repeat(array, 2, axis=-1)[..., ::2] if array.ndim else array
        if how == 3:
            return array.astype(array.dtype.newbyteorder())
        if how == 4:
            held = np.empty(array.nbytes + 1, np.uint8)[1:]  # beside where numbers of the type lie
            held[:] = np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)
            return held.view(array.dtype).reshape(array.shape)
        out = array.copy()
        out.setflags(write=False)
        return out

    def value(self, said: ast.expr) -> Any:
        """Something of the type that a signature names."""
        text = ast.unparse(said)
        if isinstance(said, ast.Call):
            how = {one.arg: ast.unparse(one.value) for one in said.keywords}
            dtype = how.get("dtype", "None")
            dtype = self.pick(DTYPES[:-1]) if dtype == "None" else np.dtype(dtype).str
            return self.array(dtype, how.get("shape", "None, None").count("None"))
        if isinstance(said, ast.BinOp):
            return self.value(self.pick([said.left, said.right]))
        if isinstance(said, ast.Subscript):
            inside = said.slice.elts if isinstance(said.slice, ast.Tuple) else [said.slice]
            if text.startswith("tuple"):
                return tuple(self.value(one) for one in inside)
            return [self.value(inside[0]) for _ in range(self.pick([0, 1, 2, 7]))]
        simple: dict[str, Callable[[], Any]] = {
            "int": lambda: self.pick(INTEGERS + 3 * self.lengths),
            "float": lambda: self.pick([*NUMBERS, 0.1, 1e-3]),
            "bool": lambda: self.happens(0.5),
            "str": lambda: "a",
        }
        if text in simple:
            return simple[text]()
        name = text.rpartition(".")[2]
        return made(name, self) if isinstance(getattr(_core, name, None), type) else None


def made(name: str, chance: Chance) -> Any:
    """An object of a class of the core, or None if its arguments were refused."""
    if name == "Stop":
        return _core.Stop(0.02)
    try:
        return getattr(_core, name)(*generated(getattr(_core, name), chance))
    except ERRORS:
        return None


def generated(function: Any, chance: Chance) -> list[Any]:
    """Arguments made from a signature."""
    source = function.__init__ if isinstance(function, type) else function
    text = chance.pick(source.__nb_signature__)[0]
    text = re.sub(r"ndarray\[([^\[\]]*)\]", r"ndarray(\1)", text.replace("*", "None"))
    text = re.sub(r"\\\d+", "None", text.replace("numpy.ndarray", "ndarray"))
    head = ast.parse(text + ": ...").body[0]
    assert isinstance(head, ast.FunctionDef)
    given = [
        one for one in head.args.args if not (isinstance(function, type) and one.arg == "self")
    ]
    owner = getattr(function, "__qualname__", "").rpartition(".")[0]
    return [
        made(owner, chance) if one.annotation is None else chance.value(one.annotation)
        for one in given
    ]


def arguments(name: str, function: Any, known: list[Call], chance: Chance) -> Call:
    """What to call a function with."""
    if known and chance.happens(0.7):
        args, kwargs = kept(chance.pick(known))
        args = [_core.Stop(0.02) if isinstance(one, _core.Stop) else one for one in args]
        if "stop" in kwargs:
            kwargs["stop"] = _core.Stop(0.02)
        for _ in range(chance.pick([0, 1, 1, 2, 3])):
            if args:
                at = int(chance.rng.integers(len(args)))
                args[at] = chance.damaged(args[at])
        if args and chance.happens(0.05):
            args[-1] = chance.pick(args)  # one array twice
        return args, {k: chance.damaged(v) if chance.happens(0.2) else v for k, v in kwargs.items()}
    args = generated(function, chance)
    return [chance.damaged(one) if chance.happens(0.1) else one for one in args], {}


def attempt(name: str, function: Any, known: list[Call], chance: Chance) -> bool:
    """Call once; whether there was an answer."""
    args, kwargs = arguments(name, function, known, chance)
    faulthandler.dump_traceback_later(HANGS, exit=True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function(*args, **kwargs)
    except ERRORS:
        return False
    finally:
        faulthandler.cancel_dump_traceback_later()
    return True


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=200, help="calls of each function")
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first round")
    parser.add_argument("--seconds", type=float, help="in all, in place of rounds")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="the one function to call")
    parser.add_argument(
        "--log", default=os.devnull, help="where every call is named before it is made"
    )
    options = parser.parse_args()
    faulthandler.enable()
    every = functions()
    calls = recorded(every)
    if not IS_SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))
    log = os.open(options.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    end = time.monotonic() + options.seconds if options.seconds else np.inf
    last = 10**9 if options.seconds else options.first + options.rounds
    answers: dict[str, int] = defaultdict(int)
    tried = 0
    for turn in range(options.first, last):
        for name, function in every.items():
            if options.only not in (None, name):
                continue
            os.write(log, f"--only {name} --from {turn} --seed {options.seed}\n".encode())
            chance = Chance(options.seed, turn, zlib.crc32(name.encode()))
            answers[name] += attempt(name, function, calls[name], chance)
            tried += 1
        if time.monotonic() > end:
            break
    for name in every:
        print(f"{name:28} recorded {len(calls[name]):3}  answers {answers[name]:6,}")
    print(f"{tried:,} calls of {len(every)} functions, no crash")


if __name__ == "__main__":
    sys.exit(main())
