"""
Consensus of k-means: handwritten digits
========================================
1,797 images of digits, k-means with 5 to 15 clusters on random parts of them. Any other clusterer
will do, and so will runs that are there already.
"""

import matplotlib.pyplot as plt
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

import partita as pt

X, digits = load_digits(return_X_y=True)
runs = pt.consensus(KMeans(n_init=1), X, n_runs=66, vary={"n_clusters": range(5, 16)}, rng=0)
best = pt.estimate(runs, rng=0)
one = KMeans(10, n_init=1, random_state=0).fit_predict(X)
print(f"{runs}\nthe consensus: {best.n_clusters} clusters")
print(f"adjusted Rand index to the digits {adjusted_rand_score(digits, best.labels):.2f}")
print(f"of one k-means into 10: {adjusted_rand_score(digits, one):.2f}")

# %%
# Which images are least like the others of their cluster?
items = pt.item_uncertainty(best, runs)
least = items["own_similarity"].nsmallest(16).index
figure, panels = plt.subplots(2, 8, figsize=(8, 2.4), layout="constrained")
for panel, i in zip(panels.ravel(), least, strict=True):
    panel.imshow(X[i].reshape(8, 8), cmap="gray_r")
    panel.set_title(f"a {digits[i]}", fontsize=8)
    panel.axis("off")

# %%
# What speaks for each number of clusters, the loss beside what else is in use.
table = pt.choose_n_clusters(runs, n_splits=2, rng=0)
print(table.round(3))
pt.plots.choice(table)
