# Made the .rds and .RData files beside it: Rscript make.R (R 4.2.2). The labels are a formula that the tests repeat.
m <- rep(1:24, times = 9)
i <- rep(1:9, each = 24)
cls <- matrix(as.integer((m * m * i + m * 7 + i * i * 5) %/% 3 %% 4 + 1), 24, 9)            # as mcclust, salso and GreedyEPL take them
storage.mode(cls) <- "integer"
saveRDS(cls, "mcclust.rds")
saveRDS(cls, "mcclust_xz.rds", compress = "xz")
saveRDS(cls, "mcclust_bzip2.rds", compress = "bzip2")
saveRDS(cls, "mcclust_plain.rds", compress = FALSE)
saveRDS(cls, "mcclust_ascii.rds", ascii = TRUE)
psm <- matrix(0, 9, 9)
for (d in 1:24) psm <- psm + outer(cls[d, ], cls[d, ], "==") / 24
save(cls, psm, file = "mcclust.RData")
saveRDS(psm, "psm.rds")
fit <- list(density = matrix(m / 7 + i / 3, 24, 9), clust = cls - 1, niter = 24, nburn = 0, univariate = TRUE)
class(fit) <- "BNPdens"                                               # as BNPmix returns it
saveRDS(fit, "bnpmix.rds")
named <- cbind(alpha = (1:24) / 7, cls)
colnames(named) <- c("alpha", paste0("z[", 1:9, "]"))
half <- function(rows) structure(named[rows, ], mcpar = c(1, 12, 1), class = "mcmc")
saveRDS(structure(list(half(1:12), half(13:24)), class = "mcmc.list"), "coda.rds")
frame <- as.data.frame(cls)
frame$.chain <- rep(1:2, each = 12)
saveRDS(frame, "frame.rds")

# As rstan's as.array: iterations, chains, parameters, which the names of dimnames say; and labels alone, where nothing does.
both <- array(NA_real_, c(12, 2, 10))
for (chain in 1:2) both[, chain, ] <- named[12 * (chain - 1) + 1:12, ]
dimnames(both) <- list(iterations = NULL, chains = paste0("chain:", 1:2), parameters = colnames(named))
saveRDS(both, "array.rds")
saveRDS(unname(both[, , -1]), "bare.rds")

# premium_z.txt and premium_log.txt, by PReMiuM 3.2.13 where it is installed: twelve subjects in two groups, two more to be predicted.
if (requireNamespace("PReMiuM", quietly = TRUE)) {
  set.seed(1)
  x <- data.frame(a = c(rnorm(6), rnorm(6, 6)), b = c(rnorm(6), rnorm(6, 6)), outcome = 0)
  PReMiuM::profRegr(covNames = c("a", "b"), data = x, predict = data.frame(a = c(0, 6), b = c(0, 6)), excludeY = TRUE,
                    xModel = "Normal", yModel = "Normal", nSweeps = 10, nBurn = 20, output = "premium", seed = 1)
}
