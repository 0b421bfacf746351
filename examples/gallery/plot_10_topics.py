"""
Topics whose number will not hold still
=======================================
Topic models that cluster documents, as BERTopic does, find another number of topics with every
seed, and leave some documents out as noise. Here documents are made of words of four themes, and
each run embeds them, clusters them by density and calls what is left noise.
"""

import numpy as np
from sklearn.cluster import HDBSCAN
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

import partita as pt

themes = {
    "sport": "goal team match season player coach league score win cup",
    "food": "bread oven sugar recipe butter taste salt dinner chef spice",
    "space": "orbit rocket planet moon launch star telescope mission crew comet",
    "money": "bank market price profit share loan trade budget tax fund",
}
rng = np.random.default_rng(0)
words = [text.split() for text in themes.values()]
everyday = ["today", "people", "new", "long", "small", "good", "year", "time", "place", "part"]
truth = rng.integers(0, 4, 400)
documents = []
for theme in truth:
    other = words[rng.integers(4)]
    chosen = [*rng.choice(words[theme], 7), *rng.choice(everyday, 6), *rng.choice(other, 2)]
    documents.append(" ".join(chosen))


def topics(texts, rng, smallest):
    """One run: the words that count, a random projection of them, dense groups."""
    counts = TfidfVectorizer().fit_transform(texts)
    seed = int(rng.integers(1 << 30))
    embedded = TruncatedSVD(8, random_state=seed, n_iter=1).fit_transform(counts)
    embedded += rng.normal(scale=0.07, size=embedded.shape)
    return HDBSCAN(min_cluster_size=smallest, copy=True).fit_predict(embedded)


runs = pt.consensus(topics, documents, n_runs=60, vary={"smallest": [4, 6, 10, 16]}, rng=0)
print(runs)
numbers = runs.n_clusters.tolist()
print("runs with so many topics:", {k: numbers.count(k) for k in sorted(set(numbers))})

# %%
# A document called noise says nothing of that run; the others decide. Topics of fewer than 15
# documents are not wanted.
similarity = pt.posterior_similarity(runs, unobserved=0.0)
best = pt.estimate(similarity, min_size=15, rng=0)
print(f"{best.n_clusters} topics of {best.sizes} documents")
print(f"adjusted Rand index to the themes {pt.adjusted_rand_index(truth, best.labels):.2f}")
pt.plots.similarity(similarity, best, truth=truth)
