"""The peers in R, each on one core and from the same draws, as a user calls it."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

SALSO = {
    "binder": "binder", "vi": "VI", "nvi": "NVI", "id": "ID", "nid": "NID", "omari": "omARI",
    "vi-lower-bound": "VI.lb", "pear": "omARI.approx",
}  # fmt: skip
PEERS = ("salso", "salso-uncapped", "GreedyEPL", "mcclust.ext")
R_SCRIPT = r"""
args <- commandArgs(TRUE); D <- as.matrix(read.csv(args[1], header=FALSE)) + 1L
loss <- args[2]; peer <- args[3]
salso <- function(...) suppressWarnings(salso::salso(D, loss=loss, nRuns=16, nCores=1, ...))
epl <- c(binder="B", VI="VI", NVI="NVI", NID="NID")
search <- switch(peer,
  salso = function() salso(),
  "salso-uncapped" = function() salso(maxNClusters=ncol(D)),
  GreedyEPL = if (loss %in% names(epl)) function()
    GreedyEPL::MinimiseEPL(D, list(loss_type=epl[[loss]]))$decision,
  mcclust.ext = if (loss == "VI.lb") function()
    mcclust.ext::minVI(mcclust::comp.psm(D), D, method="greedy")$cl)
if (requireNamespace(sub("-uncapped", "", peer), quietly=TRUE) && !is.null(search)) {
  spent <- function() sum(proc.time()[1:2])
  t <- spent(); z <- search(); cat(peer, spent() - t, paste(as.integer(z), collapse=" "), "\n") }
"""


def rivals(draws, loss, options):
    """Name to (labels, seconds) of every peer that is installed and has an answer in time."""
    found = {}
    if shutil.which("Rscript") is None:
        return found
    with tempfile.TemporaryDirectory() as folder:
        path, script = Path(folder, "draws.csv"), Path(folder, "run.R")
        np.savetxt(path, draws, fmt="%d", delimiter=",")
        script.write_text(R_SCRIPT)
        for peer in options.rivals:
            call = ["Rscript", str(script), str(path), SALSO[loss], peer]
            try:
                said = subprocess.run(
                    call, capture_output=True, text=True, check=False, timeout=options.patience
                ).stdout
            except subprocess.TimeoutExpired:
                continue
            for line in said.splitlines():
                name, seconds, *values = line.split()
                found[name] = (np.array(values, dtype=int), float(seconds))
    return found
