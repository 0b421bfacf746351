"""The paragraph of methods, ready to paste: what was really done, with its references."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, Any

from partita import losses, validate
from partita._version import __version__

if TYPE_CHECKING:
    from partita.estimation import Estimate
    from partita.reporting._sections import Findings
    from partita.reporting._sure import Sure

# Keys, what is said in the text, and the entries of BibTeX.
_WORKS = {
    "wade2018": ("Wade and Ghahramani, 2018", "article", "Wade, S. and Ghahramani, Z.",
                 "Bayesian cluster analysis: point estimation and credible balls",
                 "Bayesian Analysis", "2018"),
    "meila2007": ("Meilă, 2007", "article", "Meil{\\u a}, M.",
                  "Comparing clusterings: an information based distance",
                  "Journal of Multivariate Analysis", "2007"),
    "binder1978": ("Binder, 1978", "article", "Binder, D. A.", "Bayesian cluster analysis",
                   "Biometrika", "1978"),
    "vinh2010": ("Vinh, Epps and Bailey, 2010", "article",
                 "Vinh, N. X. and Epps, J. and Bailey, J.",
                 "Information theoretic measures for clusterings comparison",
                 "Journal of Machine Learning Research", "2010"),
    "hubert1985": ("Hubert and Arabie, 1985", "article", "Hubert, L. and Arabie, P.",
                   "Comparing partitions", "Journal of Classification", "1985"),
    "fritsch2009": ("Fritsch and Ickstadt, 2009", "article", "Fritsch, A. and Ickstadt, K.",
                    "Improved criteria for clustering based on the posterior similarity matrix",
                    "Bayesian Analysis", "2009"),
    "dahl2022": ("Dahl, Johnson and M{\\\"u}ller, 2022", "article",
                 "Dahl, D. B. and Johnson, D. J. and M{\\\"u}ller, P.",
                 "Search algorithms and loss functions for Bayesian clustering",
                 "Journal of Computational and Graphical Statistics", "2022"),
    "lee2001": ("Lee and Seung, 2001", "inproceedings", "Lee, D. D. and Seung, H. S.",
                "Algorithms for non-negative matrix factorization",
                "Advances in Neural Information Processing Systems 13", "2001"),
    "vehtari2021": ("Vehtari et al., 2021", "article",
                    "Vehtari, A. and Gelman, A. and Simpson, D. and Carpenter, B. and "
                    "B{\\\"u}rkner, P.-C.",
                    "Rank-normalization, folding, and localization: an improved R-hat",
                    "Bayesian Analysis", "2021"),
    "page2025": ("Page et al., 2025", "misc",
                 "Page, G. L. and Barrientos, A. F. and Dahl, D. B. and Dunson, D. B.",
                 "Uncertainty quantification in Bayesian clustering", "arXiv:2511.16040", "2025"),
    "balocchi2025": ("Balocchi and Wade, 2025", "misc", "Balocchi, C. and Wade, S.",
                     "Understanding uncertainty in Bayesian cluster analysis",
                     "arXiv:2506.16295", "2025"),
}  # fmt: skip
_OF_LOSS = {"vi": "meila2007", "binder": "binder1978", "vi-lower-bound": "wade2018",
            "pear": "fritsch2009", "omari": "hubert1985", "nvi": "vinh2010", "id": "vinh2010",
            "nid": "vinh2010"}  # fmt: skip


def methods(best: Estimate, draws: Any, findings: Findings, sure: Sure | None) -> tuple[str, str]:
    """Return the paragraph, as text, and the BibTeX of the works in it."""
    name = re.split(r"\(", best.loss_name, maxsplit=1)[0].lower()
    items = validate.count_text(draws.n_items, "item")
    what = f"a posterior similarity matrix of {items}"
    n_chains = getattr(draws, "n_chains", 0)
    if n_chains:
        what = f"{validate.count_text(draws.n_draws, 'posterior draw')} of a partition of {items}"
    if n_chains > 1:
        what += f" ({validate.count_text(n_chains, 'chain')})"
    sentences = [
        f"We summarised {what} by the partition of "
        f"{validate.count_text(best.n_clusters, 'cluster')} that has the least expected loss among "
        f"the candidates of the search {best.search_name}, with partita {__version__}.",
        f"The loss was {best.loss_name}{_cite(_OF_LOSS.get(name))}; its expected value is "
        f"{best.expected_loss:.4g}{_by_search(best)}.",
    ]
    ball = findings.ball
    if ball is not None:
        sentences.append(
            f"The smallest ball around it that holds {ball.prob:.0%} of the posterior"
            f"{_cite('wade2018')} has the radius {ball.radius:.3g} ({losses.name_of(ball.loss)})."
        )
    if n_chains > 1:
        sentences.append(
            "Chains were compared by rank-normalised split R-hat and effective sample sizes"
            f"{_cite('vehtari2021')}."
        )
    if sure is not None:
        sentences += [
            f"Of {sure.chips.n_kept:,} items it can be stated with probability "
            f"{sure.chips.probability:.2f} who is with whom{_cite('page2025')}.",
            "They were also summarised by "
            f"{validate.count_text(sure.modes.n_modes, 'weighted partition')}"
            f"{_cite('balocchi2025')}.",
        ]
    text = " ".join(sentences)
    used = [key for key, work in _WORKS.items() if _plain(work[0]) in text]
    return text, "\n\n".join(_bibtex(key) for key in used)


def _by_search(best: Estimate) -> str:
    if best.search_name.startswith("nmf"):
        return f"; candidates are factorisations of the similarity matrix{_cite('lee2001')}"
    if best.search_name in ("auto", "greedy", "salso"):
        return f"; moves of items and of clusters lower it directly{_cite('dahl2022')}"
    return ""


def _cite(key: str | None) -> str:
    return "" if key is None else f" ({_plain(_WORKS[key][0])})"


def _plain(text: str) -> str:
    return text.replace('{\\"u}', "ü")


def _bibtex(key: str) -> str:
    _, kind, author, title, where, year = _WORKS[key]
    place = {"article": "journal", "inproceedings": "booktitle"}.get(kind, "howpublished")
    return (
        f"@{kind}{{{key},\n  author = {{{author}}},\n  title = {{{{{title}}}}},\n"
        f"  {place} = {{{where}}},\n  year = {{{year}}}\n}}"
    )


def section(best: Estimate, draws: Any, findings: Findings, sure: Sure | None) -> str:
    """Return the text and the BibTeX as HTML."""
    text, entries = methods(best, draws, findings, sure)
    return (
        f'<p id="methods-text">{escape(text)}</p>\n<details><summary>BibTeX</summary>'
        f"<pre><code>{escape(entries)}</code></pre></details>"
    )
