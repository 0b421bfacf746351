# One rival of R on one task: Rscript contenders.R TASK RIVAL FOLDER REPEATS BUDGET
# Reads what table.py wrote into FOLDER, prints seconds and memory, writes the last answer there.
words <- commandArgs(TRUE)
task <- words[1]; rival <- words[2]; folder <- words[3]
repeats <- as.integer(words[4]); budget <- as.numeric(words[5])
at <- function(name) file.path(folder, name)
size <- as.integer(scan(at("size.txt"), quiet = TRUE)) # draws, items, rank, columns of the data
whole <- function(name, n) readBin(at(name), "integer", n, size = 4L)
real <- function(name, n) readBin(at(name), "double", n)
draws <- if (file.exists(at("draws.bin"))) matrix(whole("draws.bin", size[1] * size[2]), size[1])
center <- if (file.exists(at("labels.bin"))) whole("labels.bin", size[2])
psm <- if (file.exists(at("matrix.bin"))) matrix(real("matrix.bin", size[2]^2), size[2])
data <- if (file.exists(at("data.bin"))) as.data.frame(matrix(real("data.bin", size[2] * size[4]), size[2]))
suppressMessages(library(rival, character.only = TRUE))

salso_names <- c(vi = "VI", binder = "binder", nid = "NID", "vi-lower-bound" = "VI.lb", pear = "omARI.approx")
epl_names <- c(vi = "VI", binder = "B", nid = "NID")
nmf_names <- c(ls = "lee", kl = "brunet", ns = "nsNMF", offset = "offset")
what <- sub(".*-nmf-|.*search-", "", task)

premium <- function() {
  folder <- tempfile(); dir.create(folder); old <- setwd(folder); on.exit(setwd(old))
  utils::capture.output(PReMiuM::profRegr(
    covNames = names(data), data = data, output = "out", xModel = "Normal", excludeY = TRUE,
    hyper = PReMiuM::setHyperparams(kappa0 = ncol(data)), useHyperpriorR1 = FALSE,
    nSweeps = 10000, nBurn = 5000, nProgress = 100000, seed = 1))
  z <- as.matrix(read.table("out_z.txt"))[, seq_len(nrow(data))]
  tail(z, 10000)
}

run <- switch(paste(sub("-.*", "", task), rival),
  "similarity mcclust" = function() comp.psm(draws),
  "similarity salso" = function() psm(draws, nCores = 1),
  "loss mcclust" = function() mean(apply(draws, 1, vi.dist, cl2 = center)),
  "loss mcclust.ext" = function() VI(center, draws),
  "loss salso" = function() mean(partition.loss(draws, center, loss = VI())),
  "search salso" = function()
    as.integer(suppressWarnings(salso(draws, loss = salso_names[[what]], nRuns = 16, nCores = 1))),
  "search GreedyEPL" = function() as.integer(MinimiseEPL(draws, list(loss_type = epl_names[[what]]))$decision),
  "search mcclust.ext" = function() as.integer(minVI(mcclust::comp.psm(draws), draws, method = "greedy")$cl),
  "search mcclust" = function() {
    p <- comp.psm(draws)
    as.integer(if (what == "pear") maxpear(p)$cl else minbinder(p)$cl)
  },
  "nmf NMF" = function() deviance(nmf(psm, size[3], nmf_names[[sub("nmf-", "", task)]], nrun = 10, seed = 1, .options = "-p-t")),
  "sampler PReMiuM" = premium,
  "ball mcclust.ext" = function() credibleball(center, draws, c.dist = "VI", alpha = 0.05)$dist.horiz,
  stop("no such contender: ", task, " ", rival)
)

status <- function(field) {
  if (!file.exists("/proc/self/status")) return(NA)
  line <- grep(paste0("^", field), readLines("/proc/self/status"), value = TRUE)
  as.numeric(strsplit(trimws(sub(".*:", "", line)), " ")[[1]][1]) / 1024
}
invisible(gc())
if (file.exists("/proc/self/clear_refs")) cat("5", file = "/proc/self/clear_refs")
before <- status("VmRSS"); seconds <- c(); set.seed(1)
while (length(seconds) < repeats && (length(seconds) == 0 || sum(seconds) < budget)) {
  began <- proc.time(); answer <- run(); spent <- proc.time() - began
  seconds <- c(seconds, sum(spent[c("user.self", "sys.self", "user.child", "sys.child")]))
}
memory <- status("VmHWM") - before
if (is.integer(answer)) writeBin(as.vector(answer), at("answer.bin"), size = 4L) else
  writeBin(as.vector(as.double(answer)), at("answer.bin"))
cat("\nMEASURED", memory, seconds, "\n")
