"""What is published: the wheel and the sdist, in an environment of their own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import partita as pt

ROOT = Path(__file__).parent.parent
RECIPE = ROOT / "conda" / "meta.yaml"


def call(*words, cwd=ROOT, **environment):
    """Run a command away from the sources that PYTHONPATH or the folder may offer."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(
        list(map(str, words)),
        capture_output=True,
        text=True,
        cwd=cwd,
        env=clean | environment,
        check=False,
    )
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_version_is_in_one_place():
    said = re.search(r'__version__ = "(.+)"', (ROOT / "src/partita/_version.py").read_text())
    assert said[1] == pt.__version__
    for place in ("pyproject.toml", "CITATION.cff", "conda/meta.yaml", "docs/conf.py", "README.md"):
        if (ROOT / place).exists():
            assert pt.__version__ not in (ROOT / place).read_text(), place
    pattern = re.search(r"regex_pattern='(.+?)'", RECIPE.read_text())[1].replace("\\\\", "\\")
    assert re.search(pattern, (ROOT / "src/partita/_version.py").read_text())[1] == pt.__version__


def test_conda_asks_for_what_pip_asks_for(project):
    text = RECIPE.read_text()
    run = text[text.index("  run:") : text.index("\ntest:")]
    listed = set(re.findall(r"^    - (.+)$", run, flags=re.M))
    wanted = {word.replace(">=", " >=") for word in project["dependencies"]}
    assert listed == wanted | {f"python {project['requires-python']}"}


def test_the_citation_can_be_read():
    yaml = pytest.importorskip("yaml")
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    # The fields without which version 1.2.0 of the format is not valid.
    assert {"cff-version", "message", "title", "authors"} <= set(cited)
    assert cited["license"] == "BSD-3-Clause"
    assert all({"type", "title", "authors"} <= set(work) for work in cited["references"])


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """Return the sdist and the wheel made of it: of PARTITA_DIST, or built here."""
    if "PARTITA_DIST" in os.environ:
        folder = Path(os.environ["PARTITA_DIST"])
    else:
        pytest.importorskip("build")
        folder = tmp_path_factory.mktemp("dist")
        call(sys.executable, "-m", "build", "--outdir", folder)
    (sdist,) = folder.glob("partita-*.tar.gz")
    (wheel,) = folder.glob("partita-*.whl")
    return sdist.resolve(), wheel.resolve()


@pytest.mark.slow
def test_what_is_in_them(published):
    sdist, wheel = published
    with zipfile.ZipFile(wheel) as archive:
        inside = set(archive.namelist())
    tracked = call("git", "ls-files", "src/partita").split() if (ROOT / ".git").exists() else []
    assert {name.removeprefix("src/") for name in tracked} <= inside
    assert {"partita/py.typed", "partita/datasets/data/galaxies.csv"} <= inside
    assert not [name for name in inside if "__pycache__" in name or name.startswith("tests")]
    assert [name for name in inside if name.endswith("/licenses/LICENSE")]
    with tarfile.open(sdist) as archive:
        names = {name.split("/", 1)[-1] for name in archive.getnames()}
    folders = ("src", "tests", "benchmarks", "docs", "examples", "fuzz", "conda")
    tracked = call("git", "ls-files", *folders).split() if (ROOT / ".git").exists() else []
    assert {"pyproject.toml", "README.md", "CITATION.cff", "conftest.py", *tracked} <= names
    assert not [name for name in names if name.startswith("results")]
    assert not [name for name in names if name.startswith((".venv", "out/", "dist/"))]


@pytest.mark.slow
def test_their_descriptions_pass(published):
    pytest.importorskip("twine")
    said = call(sys.executable, "-m", "twine", "check", "--strict", *published)
    assert said.count("PASSED") == 2


CODE = """
import json
import partita as pt
draws = pt.datasets.simulate_draws(30, 40, n_clusters=3, rng=0)
best = pt.estimate(draws, method="minvi")
data = pt.datasets.load_crabs().data.shape
print(json.dumps([pt.__version__, best.n_clusters, data, pt.__file__]))
"""


@pytest.mark.slow
def test_installed_in_a_clean_environment(published, tmp_path):
    sdist, wheel = published
    place = tmp_path / "clean"
    venv.create(place, with_pip=True)
    folder = place / ("Scripts" if sys.platform == "win32" else "bin")
    pip = (folder / "python", "-m", "pip", "--quiet", "--disable-pip-version-check", "install")
    call(*pip, "--no-compile", wheel)
    version, n_clusters, shape, where = json.loads(
        call(folder / "python", "-c", CODE, cwd=tmp_path)
    )
    assert (version, n_clusters) == (pt.__version__, 3)
    assert shape == list(pt.datasets.load_crabs().data.shape)
    assert Path(where).is_relative_to(place)
    call(*pip, "--force-reinstall", "--no-deps", sdist)
    assert call(folder / "partita", "--version", cwd=tmp_path).strip() == f"partita {version}"
    assert "complete" in call(folder / "partita", "completion", "bash", cwd=tmp_path)
