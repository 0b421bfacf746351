"""Change kernels and losses a little, one place at a time: which changes does no test notice?

    python tools/mutate.py --count 200 --seed 1 --output out/mutants.jsonl

Every test of a kernel or a loss is run once, and its seconds and the kernels it calls are noted.
For each mutant the process forks: the child changes the code of one function in place, forgets what
was compiled from that function or from a caller of it, and runs the tests that reach it, the
quickest first, until one fails. Only what was changed is compiled again. A line of JSON a mutant
goes to ``--output``; those that it holds already are not tried again. Code that writes LLVM by hand
(`greedy_vector`, half of `_pairs`) is left alone: a changed generator tells nothing of a loop.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import os
import random
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest
from joblib.externals.loky import get_reusable_executor
from numba.core.caching import NullCache
from numba.core.dispatcher import Dispatcher

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "partita"
TESTS = ["kernels", "draws", "search", "nmf", "mixture"]
TESTS += ["test_every_loss.py", "test_every_search.py", "test_every_model.py", "test_reference.py"]
TESTS += ["test_ball.py", "test_partitions.py", "test_similarity.py", "test_estimate.py"]
TESTS += ["test_draws.py", "test_scale.py", "test_uncertainty.py", "test_modes.py"]
TESTS += ["test_representative.py", "test_certificates.py", "test_diagnostics.py"]
OF_LOSSES = ("test_every_loss", "test_reference", "test_ball", "test_estimate", "test_exact")
COMPARED = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
COMPARED |= {ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
COMBINED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
COMBINED |= {ast.FloorDiv: ast.Mult}
HANGS = 20  # CPU seconds beyond five times its own after which a test is taken to hang


@dataclass(frozen=True)
class Mutant:
    """One place in a file, and which of the changes it allows."""

    path: Path
    node: int
    kind: str

    @property
    def name(self) -> str:
        """The module, as it is imported."""
        parts = self.path.relative_to(SOURCE).with_suffix("").parts
        return ".".join(("partita", *(part for part in parts if part != "__init__")))


def changes(node: ast.AST) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The changes that a node allows, each with what makes it."""
    match node:
        case ast.Compare(ops=[op, *_]) if type(op) in COMPARED:
            yield "compare", lambda: node.ops.__setitem__(0, COMPARED[type(op)]())
        case ast.BinOp(op=op) if type(op) in COMBINED:
            yield "operator", lambda: setattr(node, "op", COMBINED[type(op)]())
        case ast.AugAssign(op=op) if type(op) in COMBINED:
            yield "operator", lambda: setattr(node, "op", COMBINED[type(op)]())
            yield "drop", lambda: node.__dict__.update(op=ast.Add(), value=ast.Constant(0))
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            other = value + 1 if isinstance(value, int) or value == 0 else 2 * value
            yield "number", lambda: setattr(node, "value", other)
        case ast.BoolOp(op=op):
            yield "and-or", lambda: setattr(node, "op", [ast.And(), ast.Or()][type(op) is ast.And])
        case ast.If() | ast.While() | ast.IfExp():
            yield "negate", lambda: setattr(node, "test", ast.UnaryOp(ast.Not(), node.test))
        case ast.Continue():
            yield "break", lambda: setattr(node, "__class__", ast.Break)


def functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.FunctionDef]]:
    """Every function and method, by its qualified name."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            yield from functions(node, f"{prefix}{node.name}.")
        elif isinstance(node, ast.FunctionDef):
            yield prefix + node.name, node


def nodes(tree: ast.AST) -> list[tuple[str, ast.AST]]:
    """Every node inside a function, with the function's name."""
    return [
        (name, node)
        for name, function in functions(tree)
        for statement in function.body
        for node in ast.walk(statement)
    ]


def sampled(count: int, seed: int) -> list[Mutant]:
    """Mutants drawn at random from each file in turn."""
    rng, piles = random.Random(seed), []
    for path in sorted([*SOURCE.glob("losses/*.py"), *SOURCE.glob("kernels/*.py")]):
        found = [
            Mutant(path, i, kind)
            for i, (name, node) in enumerate(nodes(ast.parse(path.read_text())))
            for kind, _ in changes(node)
            if path.parent.name == "losses" or is_kernel(find(path, name))
        ]
        piles.append(rng.sample(found, len(found)))
    turns = [pile[k] for k in range(max(map(len, piles))) for pile in piles if k < len(pile)]
    return turns[:count]


def find(path: Path, name: str) -> Any:
    """The function of a module that a qualified name stands for; None if it is hidden."""
    found: Any = importlib.import_module(Mutant(path, 0, "").name)
    for part in name.split("."):
        found = vars(found).get(part)
    return getattr(found, "fget", None) or getattr(found, "__func__", found)


def is_kernel(value: Any) -> bool:
    """Whether a value was made by one of the decorators of kernels."""
    return isinstance(value, Dispatcher)


def changed(mutant: Mutant) -> tuple[str, CodeType, str]:
    """The function of a mutant, its new code, and the change in words."""
    tree = ast.parse(mutant.path.read_text())
    name, node = nodes(tree)[mutant.node]
    before = ast.unparse(node).split("\n")[0]
    dict(changes(node))[mutant.kind]()
    ast.fix_missing_locations(tree)
    said = f"{before}  ->  {ast.unparse(node).split(chr(10))[0]}"
    todo = [compile(tree, str(mutant.path), "exec")]
    while todo:
        code = todo.pop()
        if code.co_qualname == name:
            return name, code, f"line {getattr(node, 'lineno', 0)}: {said}"
        todo += [one for one in code.co_consts if isinstance(one, CodeType)]
    raise LookupError(name)


def kernels() -> dict[tuple[str, str], Any]:
    """Every kernel by module and name."""
    found = {}
    for path in sorted(SOURCE.glob("kernels/*.py")):
        module = importlib.import_module(Mutant(path, 0, "").name)
        inside = filter(is_kernel, vars(module).values())
        found |= {(one.py_func.__module__, one.py_func.__name__): one for one in inside}
    return found


def callees(function: FunctionType) -> Iterator[tuple[str, str]]:
    """What a function may call: the kernels among its globals, and in modules among them."""
    names = function.__code__.co_names
    for name in names:
        value = function.__globals__.get(name)
        inside = [getattr(value, n, None) for n in names] if isinstance(value, ModuleType) else []
        for one in filter(is_kernel, [value, *inside]):
            yield one.py_func.__module__, one.py_func.__name__


def callers(key: tuple[str, str], every: dict[tuple[str, str], Any]) -> set[tuple[str, str]]:
    """A kernel, and all that call it, however far up."""
    calls = {name: set(callees(kernel.py_func)) for name, kernel in every.items()}
    found = {key}
    while more := {name for name in calls if calls[name] & found} - found:
        found |= more
    return found


class Watched:
    """A module of kernels that notes which of them Python calls."""

    def __init__(self, module: ModuleType, seen: set[tuple[str, str]]) -> None:
        self._module, self._seen = module, seen

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._module, name)
        if is_kernel(value):
            self._seen.add((value.py_func.__module__, value.py_func.__name__))
        elif isinstance(value, FunctionType):
            self._seen.update(callees(value))
        return value


def watch_kernels(seen: set[tuple[str, str]]) -> None:
    """Put watched modules where Python looks for kernels, and leave those that kernels look at."""
    modules = {module for module, _ in kernels()}
    for other in list(sys.modules.values()):
        if getattr(other, "__name__", "") in modules or not hasattr(other, "__dict__"):
            continue
        for name, value in list(vars(other).items()):
            if isinstance(value, ModuleType) and value.__name__ in modules:
                setattr(other, name, Watched(value, seen))
            elif is_kernel(value) and value.py_func.__module__ in modules:
                home = sys.modules[value.py_func.__module__]
                setattr(other, name, partial(call, Watched(home, seen), name))


def call(module: Watched, name: str, *arguments: Any) -> Any:
    """Call a kernel that was imported by its own name."""
    return getattr(module, name)(*arguments)


class Mutation:
    """A plugin of pytest whose loop over the tests is one over mutants."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.seconds, self.failed = 0.0, False

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note whether a test failed."""
        self.failed |= report.failed or report.skipped

    def pytest_runtestloop(self, session: Any) -> bool:
        """Watch the tests, then try the mutants."""
        known = self.watch(session.items)
        output = self.arguments.output
        output.parent.mkdir(parents=True, exist_ok=True)
        lines = output.read_text().splitlines() if output.exists() else []
        done = {(one["file"], one["node"], one["kind"]) for one in map(json.loads, lines)}
        for mutant in sampled(self.arguments.count, self.arguments.seed):
            place = (str(mutant.path.relative_to(SOURCE)), mutant.node, mutant.kind)
            if place not in done:
                found = self.one(mutant, known)
                line = dict(zip(("file", "node", "kind"), place, strict=True)) | found
                with output.open("a") as file:
                    file.write(json.dumps(line) + "\n")
        return True

    def watch(self, items: list[Any]) -> list[tuple[float, Any, set[tuple[str, str]]]]:
        """Run every test once: its seconds, itself, the kernels that it calls."""
        seen: set[tuple[str, str]] = set()
        watch_kernels(seen)
        known = []
        for item, after in zip(items, [*items[1:], None], strict=True):
            seen.clear()
            if not self.passes(item, after):
                print("left out:", item.nodeid, file=sys.stderr)
                continue
            known.append((self.seconds, item, set(seen)))
        get_reusable_executor().shutdown(wait=True)  # a fork would wait for its workers for ever
        return sorted(known, key=lambda one: one[0])

    def passes(self, item: Any, after: Any) -> bool:
        """Run one test, and note its seconds of the processor."""
        began, self.failed = time.process_time(), False
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
        self.seconds = time.process_time() - began
        return not self.failed

    def one(self, mutant: Mutant, known: list[Any]) -> dict[str, Any]:
        """Fork, change, run: what became of one mutant."""
        name, code, said = changed(mutant)
        every, function = kernels(), find(mutant.path, name)
        if is_kernel(function):
            stale = callers((mutant.name, name), every)
            able = [one for one in known if one[2] & stale]
        else:
            stale = set()
            able = [one for one in known if any(file in one[1].nodeid for file in OF_LOSSES)]
        spent, tests = 0.0, []
        for seconds, item, _ in able:
            spent += seconds
            if tests and spent > self.arguments.seconds:
                break
            tests.append((seconds, item))
        began = time.monotonic()
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(read)
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
            try:
                put_in(function, code, [every[key] for key in stale])
                self.run(tests, write)
            finally:
                os._exit(3)
        os.close(write)
        with os.fdopen(read) as pipe:
            last = pipe.read().splitlines()[-1:]
        _, status, used = os.wait4(pid, 0)
        code_of = os.waitstatus_to_exitcode(status)
        outcome = {0: "survived", 1: "killed", 3: "does not compile"}.get(code_of, "died or hung")
        if not tests:
            outcome = "reached by no test"
        return {
            "function": name,
            "change": said,
            "outcome": outcome,
            "test": last[0] if last else "",
            "tests": len(tests),
            "cpu": round(used.ru_utime + used.ru_stime, 1),
            "wall": round(time.monotonic() - began, 1),
        }

    def run(self, tests: list[tuple[float, Any]], write: int) -> None:
        """In the child: run tests until one fails, and leave with what came of it."""
        items = [item for _, item in tests]
        for (seconds, item), after in zip(tests, [*items[1:], None], strict=True):
            os.write(write, f"{item.nodeid}\n".encode())
            signal.setitimer(signal.ITIMER_PROF, HANGS + 5 * seconds)
            if not self.passes(item, after):
                os._exit(1)
        os._exit(0)


def put_in(function: Any, code: CodeType, stale: list[Any]) -> None:
    """Give a function another code, and forget what was compiled from the old one."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    plain: FunctionType = getattr(function, "py_func", function)
    plain.__code__ = code
    for kernel in stale:
        kernel._make_finalizer()()
        kernel._reset_overloads()
        kernel._cache = NullCache()
        kernel._can_compile = True


def main() -> int:
    """Read the arguments and hand over to pytest, which collects the tests."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=200, help="mutants; default %(default)s")
    parser.add_argument("--seed", type=int, default=1, help="of the sample")
    parser.add_argument("--seconds", type=float, default=30, help="of tests for each, at most")
    parser.add_argument("--output", type=Path, default=Path("out/mutants.jsonl"))
    arguments = parser.parse_args()
    arguments.output = arguments.output.resolve()
    files = [str(ROOT / "tests" / one) for one in TESTS]
    options = ["-q", "-p", "no:cacheprovider", f"--rootdir={ROOT}"]
    return int(pytest.main([*options, *files], plugins=[Mutation(arguments)]))


if __name__ == "__main__":
    sys.exit(main())
