"""The shell, as a user runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

import partita as pt
from partita.cli import COMMANDS, main


@pytest.fixture
def csv(tmp_path, draws):
    path = tmp_path / "draws.csv"
    names = [f"item{i}" for i in range(draws.n_items)]
    pd.DataFrame(draws.labels + 1, columns=names).to_csv(path, index=False)
    return path


def run(capsys, *words):
    code = main([str(word) for word in words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def shell(*words, **kwargs):
    return subprocess.run(
        [sys.executable, "-m", "partita", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        **kwargs,
    )


def test_estimate_prints_a_table(capsys, csv):
    code, out, err = run(capsys, "estimate", csv, "--loss", "vi", "--seed", 1)
    assert (code, err) == (0, "")
    assert out.startswith("4 clusters, sizes ")
    assert "expected vi 1.1565" in out
    assert "item59" in out


def test_estimate_lists_the_sizes_of_forty_clusters_at_most(capsys, tmp_path):
    np.savetxt(tmp_path / "many.csv", np.tile(np.arange(50), (3, 2)), fmt="%d", delimiter=",")
    assert main(["estimate", str(tmp_path / "many.csv"), "--search", "draws"]) == 0
    assert "50 clusters, sizes " + "2, " * 39 + "2 and 10 more\n" in capsys.readouterr().out


def test_estimate_as_json_and_csv_equals_python(capsys, csv, draws):
    best = pt.estimate(draws, loss="binder", search="average", rng=1)
    words = ("estimate", csv, "--loss", "binder", "--search", "average", "--seed", 1)
    _, out, _ = run(capsys, *words, "--format", "json")
    answer = json.loads(out)
    assert answer["expected_loss"] == best.expected_loss
    assert [row["cluster"] for row in answer["items"]] == best.labels.tolist()
    assert answer["items"][3]["item"] == "item3"
    _, out, _ = run(capsys, *words, "--format", "csv")
    assert out.splitlines()[:2] == ["item,cluster", "item0,0"]


def test_searches_are_pooled_and_methods_named(capsys, csv):
    words = ("estimate", csv, "--seed", 0, "--format", "json")
    _, pooled, _ = run(capsys, *words, "--search", "draws", "--search", "average")
    _, single, _ = run(capsys, *words, "--search", "draws")
    assert json.loads(pooled)["expected_loss"] < json.loads(single)["expected_loss"]
    _, medv, _ = run(capsys, *words, "--method", "medv")
    assert json.loads(medv)["n_clusters"] == 1


def test_output_and_save_write_whole_files(capsys, csv, tmp_path):
    out_file, save_file = tmp_path / "out.csv", tmp_path / "best.npz"
    out_file.write_text("old")
    words = ("estimate", csv, "-o", out_file, "--save", save_file)
    code, out, _ = run(capsys, *words)
    assert (code, out) == (0, "")
    labels = pd.read_csv(out_file)["cluster"].to_numpy()
    assert np.array_equal(labels, pt.Estimate.load(save_file).labels)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["best.npz", "draws.csv", "out.csv"]


def test_compare_with_a_truth(capsys, csv, tmp_path, truth):
    for name, values in (("row.csv", truth[None, :]), ("column.csv", truth[:, None])):
        np.savetxt(tmp_path / name, values, fmt="%d", delimiter=",")
        words = ("compare", csv, "--truth", tmp_path / name, "--format", "json")
        code, out, _ = run(capsys, *words)
        assert code == 0
        rows = {row["method"]: row for row in json.loads(out)}
        assert rows["maxpear"]["AR"] == 1.0
    _, out, _ = run(capsys, "compare", csv, "--method", "minvi", "--method", "medv")
    assert out.splitlines()[2].startswith("minvi")
    _, out, _ = run(capsys, "compare", csv, "--format", "csv")
    assert out.startswith("method,K,binder")


@pytest.mark.parametrize("suffix", ["npy", "npz", "csv", "json", "txt"])
def test_similarity_in_every_format(capsys, csv, tmp_path, draws, suffix):
    path = tmp_path / f"psm.{suffix}"
    code, _, err = run(capsys, "similarity", csv, "-o", path)
    assert (code, err) == (0, f"The similarity written to {path}\n")
    expected = pt.posterior_similarity(draws).to_dense()
    if suffix == "npy":
        found = np.load(path)
    elif suffix == "npz":
        found = np.load(path)["similarity"]
    elif suffix == "csv":
        found = pd.read_csv(path, index_col=0).to_numpy()
    elif suffix == "json":
        found = np.array(json.loads(path.read_text())["similarity"])
    else:
        found = pd.read_csv(path, sep=r"\s+", skiprows=[1]).to_numpy()
    np.testing.assert_allclose(found, expected, atol=1e-12 if suffix != "txt" else 6e-4)


def test_info_says_what_is_there_and_what_was_assumed(capsys, csv, draws):
    code, out, _ = run(capsys, "info", csv)
    assert code == 0
    for words in ("items                60", "draws                400", "assumed", "header"):
        assert words in out
    _, out, _ = run(capsys, "info", csv, "--format", "json", "--burn", 100, "--thin", 3)
    about = json.loads(out)
    assert about["draws"] == 100
    assert sum(about["clusters"].values()) == pytest.approx(1)
    _, out, _ = run(capsys, "info", csv, "--format", "csv")
    assert f"distinct partitions,{draws.unique().n_draws}" in out


def test_reading_options_reach_the_reader(capsys, tmp_path):
    path = tmp_path / "items.tsv"
    path.write_text("name\td1\td2\nann\t1\t1\nbob\t2\t1\ncid\t2\t2\n")
    words = ("info", path, "--orient", "items", "--index", "name", "--format", "json")
    _, out, _ = run(capsys, *words)
    about = json.loads(out)
    assert (about["items"], about["draws"]) == (3, 2)
    assert about["item names"] == ["ann", "bob", "cid"]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_and_a_clean_error(command, capsys):
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    assert "usage: partita" in capsys.readouterr().out
    needed = ("similarity", "-o", "figure.png") if command == "plot" else ()
    code, out, err = run(capsys, command, *needed, "no-such-file.csv")
    assert (code, out) == (2, "")
    assert err.startswith("partita: ")
    assert err.count("\n") == 1
    assert "no-such-file.csv" in err


@pytest.mark.parametrize(
    "words",
    [
        ("--loss", "vii"),
        ("--search", "nearest"),
        ("--method", "minvi", "--loss", "vi"),
        ("--burn", "400"),
        ("--thin", "0"),
        ("--jobs", "0"),
        ("--seed", "-1"),
        ("-o", "no/such/folder/out.csv"),
    ],
)
def test_wrong_arguments_are_one_line_and_exit_2(words, csv, capsys):
    code, out, err = run(capsys, "estimate", csv, *words)
    assert (code, out) == (2, "")
    assert err.startswith("partita: ")
    assert err.count("\n") == 1


def test_unknown_commands_and_none():
    for words in ((), ("nonsense",)):
        done = shell(*words)
        assert done.returncode == 2
        assert "Traceback" not in done.stderr
    assert "Choose from estimate" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_full_disk_and_a_narrow_terminal_are_no_traceback(tmp_path):
    path = tmp_path / "u.csv"
    path.write_text("á,b\n1,1\n1,2\n1,1\n", encoding="utf-8")
    done = shell("estimate", path, env=os.environ | {"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert "\\xe1" in done.stdout
    done = shell("estimate", path, "--jobs", "abc")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    if os.path.exists("/dev/full"):
        with open("/dev/full", "w") as full:
            words = [sys.executable, "-m", "partita", "info", str(path)]
            done = subprocess.run(
                words, stdout=full, stderr=subprocess.PIPE, text=True, check=False
            )
        assert done.returncode == 2
        assert done.stderr.startswith("partita: ")


def test_version_and_help_answer_without_loading_anything_heavy():
    code = (
        "import sys; from partita.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'numba', 'pandas', 'scipy', 'matplotlib'} & set(sys.modules)\n"
        "sys.exit(repr(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    done = shell("--version")
    assert done.stdout.strip() == f"partita {pt.__version__}"


def test_an_interrupt_leaves_nothing_half_written(tmp_path):
    """SIGINT in the middle of a long run: exit 130, one line, no file."""
    if os.name == "nt":
        pytest.skip("POSIX signals")
    big = pt.datasets.simulate_draws(400, 8000, n_clusters=8, noise=0.3, rng=0)
    big.save(tmp_path / "big.npz")
    # Compiled before, so that the signal meets the search and not the compiler.
    pt.estimate(big.take(slice(50)), search="draws", n_jobs=2)
    words = ("estimate", tmp_path / "big.npz", "--search", "draws", "-o", tmp_path / "out.csv")
    # A shell that runs the tests in the background has them ignore SIGINT.
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from partita.cli import main; print('go', flush=True); sys.exit(main())"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, words), "--jobs", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "go\n"
    time.sleep(3)
    process.send_signal(2)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err.startswith("partita: interrupted; ")
    assert "nothing was written" in err
    assert err.count("\n") == 1
    assert [p.name for p in tmp_path.iterdir()] == ["big.npz"]


@pytest.mark.skipif(os.name != "posix", reason="needs head")
def test_a_closed_pipe_is_no_error(csv):
    pipe = f"{sys.executable} -m partita similarity {csv} --format csv | head -1"
    done = subprocess.run(pipe, shell=True, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("item,item0")
    assert done.stderr == ""


def test_an_estimate_goes_back_in_as_the_truth(capsys, csv, tmp_path):
    for name in ("best.csv", "best.npz"):
        how = ("--save",) if name.endswith("npz") else ("-o",)
        assert run(capsys, "estimate", csv, "--seed", 0, *how, tmp_path / name)[0] == 0
        words = ("compare", csv, "--method", "minvi", "--truth", tmp_path / name)
        code, out, err = run(capsys, *words, "--format", "json")
        assert (code, err) == (0, "")
        assert json.loads(out)[0]["AR"] > 0.8
    np.savetxt(tmp_path / "square.csv", np.eye(3, dtype=int), fmt="%d", delimiter=",")
    code, _, err = run(capsys, "compare", csv, "--truth", tmp_path / "square.csv")
    assert (code, err.count("\n")) == (2, 1)


@pytest.mark.parametrize("suffix", ["npy", "npz", "csv"])
def test_a_similarity_file_is_as_good_as_the_draws(capsys, csv, tmp_path, draws, suffix):
    path = tmp_path / f"psm.{suffix}"
    run(capsys, "similarity", csv, "-o", path)
    words = ("estimate", path, "--similarity", "--loss", "binder", "--format", "json")
    code, out, err = run(capsys, *words)
    assert (code, err) == (0, "")
    best = pt.estimate(draws, loss="binder", search="average")
    assert json.loads(out)["expected_loss"] <= best.expected_loss + 1e-9
    assert run(capsys, "compare", path, "--similarity")[0] == 0
    code, _, err = run(capsys, "estimate", path, "--similarity", "--loss", "vi")
    assert (code, err.count("\n")) == (2, 1)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("estimat", "CSV"), "unknown command 'estimat'. Did you mean 'estimate'? Choose from"),
        (("estimate", "CSV", "--loss", "bindr"), "got 'bindr'. Did you mean 'binder'?"),
        (("estimate", "CSV", "--search", "gredy"), "got 'gredy'. Did you mean 'greedy'?"),
        (
            ("reproduce", "simulation", "--device", "cuda", "--scheduler", "tcp://a:1"),
            "give one of the two",
        ),
        (("reproduce", "galxy"), "NAME must be one of 'simulation'"),
        (("reproduce", "galxy"), "got 'galxy'. Did you mean 'galaxy'?"),
        (("uncertainty", "CSV", "--table", "bal"), "got 'bal'. Did you mean 'ball'? It must be"),
        (("uncertainty", "CSV", "--ball-loss", "pear"), "--ball-loss must compare the answer"),
        (("uncertainty", "CSV", "--ball-loss", "viy"), "--ball-loss must be one of"),
        (("estimate", "CSV", "--search", "nmf-kl", "--device", "tpu"), "--device must "),
        (("estimate", "CSV", "--device", "torch:cpu"), "--device must go with a search"),
        (("estimate", "CSV", "--clusters", "0"), "--clusters must be at least 1"),
        (("uncertainty", "CSV", "--table", "modes", "--modes", "0"), "--modes must be"),
        (("sample", "DATA", "--draws", "0"), "--draws must be at least 1"),
        (("run", "DATA", "--burn", "-1"), "--burn must be at least 0"),
        (("run", "DATA", "--chains", "0"), "--chains must be at least 1"),
        (("estimate", "DATA"), "If these are data to cluster, `partita run` draws partitions"),
    ],
)
def test_a_slip_is_answered_in_the_words_of_the_shell(capsys, csv, tmp_path, words, said):
    data = tmp_path / "data.csv"
    data.write_text("x,y\n" + "\n".join(f"{i}.5,{i * i % 7}.25" for i in range(9)))
    places = {"CSV": csv, "DATA": data}
    try:
        code, out, err = run(capsys, *(places.get(word, word) for word in words))
    except SystemExit as left:  # argparse
        code, (out, err) = left.code, capsys.readouterr()
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err


def test_the_shell_speaks_its_own_words(capsys, csv, tmp_path):
    for words, expected in [
        (("--burn", -1), "--burn must be at least 0"),
        (("--jobs", 0), "--jobs must be at least 1, or -1"),
        (("-o", tmp_path / "e.tsv"), "--output must end in .csv, .json or .txt"),
        (("--loss", "vii"), "--loss must be one of"),
    ]:
        code, _, err = run(capsys, "estimate", csv, *words)
        assert code == 2
        assert err.startswith(f"partita: {expected}")
    np.save(tmp_path / "psm.npy", np.eye(4) * 0.5 + 0.5)
    _, _, err = run(capsys, "estimate", tmp_path / "psm.npy")
    assert "whole" in err
    assert run(capsys, "estimate", csv, "--method", "MinVI")[0] == 0


def test_certify_judges_a_partition_in_a_file(capsys, csv, draws, tmp_path):
    best = pt.estimate(draws, loss="binder", rng=0)
    kept = tmp_path / "best.csv"
    best.to_frame().to_csv(kept)
    code, out, err = run(capsys, "certify", csv, "--labels", kept)
    assert (code, err) == (0, "")
    assert out.endswith("no partition is better\n")
    _, out, _ = run(capsys, "certify", csv, "--labels", kept, "--format", "json")
    proof = pt.certify(best.labels, draws)
    assert json.loads(out)["lower_bound"] == pytest.approx(proof.lower_bound)
    one = tmp_path / "one.csv"
    one.write_text("\n".join(["0"] * draws.n_items))
    _, out, _ = run(capsys, "certify", csv, "--labels", one, "--time-limit", 5)
    assert "another is better by at most" in out
    _, out, _ = run(capsys, "certify", csv, "--seed", 0, "--format", "csv")
    assert out.splitlines()[0].startswith("expected_loss,lower_bound")
    assert ",True," in out


def test_estimate_ends_in_time(capsys, csv):
    words = ("estimate", csv, "--loss", "vi", "--seed", 1)
    code, out, err = run(capsys, *words, "--time-limit", 60)
    assert (code, err) == (0, "")
    assert "found by auto" in out
    code, _, err = run(capsys, *words, "--search", "average", "--time-limit", 60)
    assert code == 2
    assert "--time-limit must go with a search that knows when to stop" in err


def test_a_truth_is_matched_by_name(tmp_path, capsys):
    draws = pt.datasets.simulate_draws(12, 60, n_clusters=3, rng=0)
    names = [f"item{i}" for i in range(12)]
    named = pt.Draws(draws.labels, item_names=names)
    named.save(tmp_path / "draws.npz")
    planted = np.arange(12) * 3 // 12
    rows = [f"{name},{label}" for name, label in zip(names, planted, strict=True)]
    found = {}
    for kind, order in (("as they are", rows), ("turned round", rows[::-1])):
        path = tmp_path / "truth.csv"
        path.write_text("\n".join(["name,label", *order]) + "\n")
        words = ["compare", str(tmp_path / "draws.npz"), "--truth", str(path), "--format", "csv"]
        assert main([*words, "--method", "minvi", "--seed", "0"]) == 0
        told = capsys.readouterr()
        found[kind] = [line.rsplit(",", 1)[0] for line in told.out.splitlines()]
        assert told.err == ""
    assert found["as they are"] == found["turned round"]
    path.write_text("\n".join(["name,label", *rows]).replace("item0", "other") + "\n")
    done = shell(*words, "--method", "minvi", "--seed", "0")
    assert "matched by position" in done.stderr


def test_ranks_restarts_and_polish_of_nmf_are_those_of_python(capsys, csv, draws, tmp_path):
    how = pt.search.NMF("ls", ranks=(2, 4, 5, 6), n_init=3, polish=True)
    best = pt.estimate(draws, search=how, rng=1)
    words = ("--search", "nmf-ls", "--ranks", "2,4-6", "--restarts", 3, "--polish", "--seed", 1)
    kept = tmp_path / "best.npz"
    code, out, err = run(
        capsys, "estimate", csv, *words, "--save", kept, "--format", "json", "--jobs", 1
    )
    assert (code, err) == (0, f"The whole estimate written to {kept}\n")
    answer = json.loads(out)
    assert answer["expected_loss"] == best.expected_loss
    assert [row["cluster"] for row in answer["items"]] == best.labels.tolist()
    path = pt.Estimate.load(kept).path
    assert [step.rank for step in path] == [2, 4, 5, 6]
    assert all(step.restart_objectives.size == 3 for step in path)
    code, out, _ = run(capsys, "uncertainty", csv, *words, "--table", "ball", "--format", "csv")
    assert code == 0
    ball = pt.credible_ball(best, draws)
    assert f"{ball.radius:.6f}"[:6] in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--ranks", "2-12"), "--ranks must go with a search that factorises"),
        (("--search", "average", "--polish"), "--polish must go with a search that factorises"),
        (("--restarts", "3", "--search", "greedy"), "--restarts must go with a search"),
        (("--a", "1.2", "--loss", "nid"), "--a must go with a loss that has a weight, vi or bin"),
        (("--a", "3", "--loss", "binder"), "--a must lie in [0, 2]; got 3"),
        (("--a", "1.2", "--clusters", "3"), "--a is what --clusters chooses; give one of the two"),
        (("--max-clusters", "0"), "--max-clusters must be at least 1; got 0"),
        (("--max-clusters", "3", "--search", "draws"), "--max-clusters must go with searches"),
        (("--runs", "3", "--search", "average"), "--runs must go with a greedy search"),
        (("--search", "nmf-kl", "--restarts", "0"), "--restarts must be at least 1; got 0"),
        (("--search", "nmf-kl", "--device", "cuda", "--scheduler", "tcp://a:1"), "one of the two"),
    ],
)
def test_settings_that_go_with_nothing_are_refused(capsys, csv, words, said):
    code, out, err = run(capsys, "estimate", csv, *words)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_the_weight_the_cap_and_the_runs_are_those_of_python(capsys, csv, draws):
    how = pt.search.Greedy(max_clusters=2, n_runs=3)
    best = pt.estimate(draws, loss=pt.losses.VI(0.4), search=how, rng=1)
    words = ("--a", 0.4, "--max-clusters", 2, "--runs", 3, "--seed", 1, "--jobs", 1)
    answer = json.loads(run(capsys, "estimate", csv, *words, "--format", "json")[1])
    assert answer["loss"] == "VI(a=0.4)"
    assert answer["search"] == repr(how)
    assert answer["expected_loss"] == best.expected_loss
    assert answer["n_clusters"] <= 2


def test_run_takes_what_estimate_takes(capsys, tmp_path):
    data = np.random.default_rng(0).normal(size=(20, 2))
    data[:10] += 6
    np.savetxt(tmp_path / "data.csv", data, delimiter=",", header="x,y", comments="")
    short = ("--draws", 60, "--burn", 20, "--chains", 1, "--seed", 1, "--jobs", 1)
    words = ("--a", 0.4, "--max-clusters", 2, "--runs", 3, "--time-limit", 600)
    made = (*short, *words, "--save-draws", tmp_path / "draws.npz", "--format", "json")
    code, out, err = run(capsys, "run", tmp_path / "data.csv", *made)
    assert code == 0, err
    answer = json.loads(out)
    assert answer["loss"] == "VI(a=0.4)"
    assert "max_clusters=2" in answer["search"]
    how = pt.search.Greedy(max_clusters=2, n_runs=3)
    best = pt.estimate(tmp_path / "draws.npz", loss=pt.losses.VI(0.4), search=how, rng=1)
    assert answer["expected_loss"] == best.expected_loss


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--method", "minvi", "--a", 1), "--a"),
        (("--method", "minvii"), "--method must be one of"),
        (("--method", "minvi", "--loss", "vi"), "--method names a loss"),
        (("--method", "minvi", "--clusters", 3), "--clusters"),
        (("--loss", "vii"), "--loss must be one of"),
        (("--search", "greddy"), "--search must be one of"),
        (("--clusters", 3, "--loss", "nid"), "needs a loss with a weight"),
        (("--clusters", 0), "--clusters must be at least 1"),
        (("--clusters", 5, "--max-clusters", 2), "--clusters must be at most --max-clusters, 2"),
        (("--time-limit", -1), "--time-limit must lie"),
    ],
)
def test_run_refuses_before_it_samples(capsys, tmp_path, monkeypatch, words, said):
    np.savetxt(tmp_path / "data.csv", np.eye(5), delimiter=",")
    monkeypatch.setattr("partita.cli._sample.sample", lambda _: pytest.fail("it samples"))
    code, out, err = run(capsys, "run", tmp_path / "data.csv", *words)
    assert (code, out) == (2, "")
    assert said in err


def test_a_weight_on_a_similarity_is_binders(capsys, draws, tmp_path):
    np.save(tmp_path / "psm.npy", pt.posterior_similarity(draws).to_dense())
    words = ("estimate", tmp_path / "psm.npy", "--similarity", "--a", "1.2", "--format", "json")
    assert "weight, binder; got 'vi-lower-bound'" in run(capsys, *words)[2]
    out = run(capsys, *words, "--loss", "binder")[1]
    assert json.loads(out)["loss"] == "Binder(a=1.2)"


def test_a_seed_that_is_drawn_is_a_number_that_every_reader_of_json_keeps(capsys, csv):
    out = run(capsys, "estimate", csv, "--search", "draws", "--format", "json")[1]
    seed = json.loads(out)["seed"]
    assert seed == int(float(seed)) < 2**53


@pytest.mark.parametrize("ranks", ["", "0-3", "5-2", "two", "3,,4", "1-999999999", "2:12"])
def test_ranks_that_are_none_are_refused(capsys, csv, ranks):
    with pytest.raises(SystemExit) as left:
        main(["estimate", str(csv), "--search", "nmf-ls", "--ranks", ranks])
    assert left.value.code == 2
    assert "such as 2-12 or 3,5,8-10; got" in capsys.readouterr().err


def test_a_terminal_is_shown_the_beginning_of_a_long_table(capsys, tmp_path, monkeypatch):
    np.save(tmp_path / "a.npy", np.arange(5)[:, None] % 3 + np.arange(300) // 150)
    words = ("estimate", tmp_path / "a.npy", "--search", "average", "--seed", 0)
    _, whole, _ = run(capsys, *words)
    assert len(whole.splitlines()) > 300
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    _, out, _ = run(capsys, *words)
    assert out.splitlines()[-1] == "... 200 more rows: -o FILE has all of them."
    assert whole.startswith(out.rpartition("\n...")[0])
    ball = ("uncertainty", tmp_path / "a.npy", "--search", "average", "--table", "ball")
    _, out, _ = run(capsys, *ball)
    assert "282 more columns: -o FILE" in out
    _, out, _ = run(capsys, *words, "-o", tmp_path / "a.txt")
    assert (tmp_path / "a.txt").read_text() == whole
