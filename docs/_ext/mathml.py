r"""Formulas as MathML, made while the site is built: no script, no network, no font to load.

Docutils converts TeX; browsers have drawn MathML by themselves since 2023. ``\tag{7}`` numbers a
formula, as it does where GitHub shows the same page, and ``[(7)](#eq-7)`` refers to it.
"""

from __future__ import annotations

import re
from html import escape

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.errors import ExtensionError
from sphinx.transforms import SphinxTransform

_TAG = re.compile(r"\\tag\{(\w+)\}")
_ACCENTED = r"\\(?:hat|bar|tilde|vec)\s*(?:\\[A-Za-z]+|\{[^{}]*\}|[A-Za-z])"
# What docutils reads otherwise than TeX does: (what is written, what it is told).
_HABITS = (
    (re.compile(r"\\([bB]ig)(?![lrg\w])"), r"\\\1l"),
    (re.compile(r"\\dots\b"), r"\\ldots"),
    # an index of an accented letter belongs beside it, not below
    (re.compile(rf"({_ACCENTED})(?=\s*[_^])"), r"{\1{}}"),
)


class Numbers(SphinxTransform):
    """Make a target of every formula that has a number."""

    default_priority = 400  # before MyST looks for what links point at

    def apply(self, **_: object) -> None:
        """Name the formula with the tag n ``eq-n``."""
        for node in self.document.findall(nodes.math_block):
            if found := _TAG.search(node.astext()):
                name = f"eq-{found[1]}"
                if name in self.document.nameids:
                    raise ExtensionError(f"{self.env.docname}: two formulas have tag {found[1]}")
                node["ids"].append(name)
                node["names"].append(name)
                self.document.note_explicit_target(node)


def _convert(tex: str, *, as_block: bool) -> str:
    plain = _TAG.sub("", tex)
    for written, told in _HABITS:
        plain = written.sub(told, plain)
    try:
        return str(tex2mathml(plain.strip(), as_block=as_block))
    except MathError as error:
        raise ExtensionError(f"a formula cannot be converted: {error}: {tex}") from error


def inline(translator, node: nodes.math) -> None:
    """Write a formula within a line."""
    translator.body.append(_convert(node.astext(), as_block=False))
    raise nodes.SkipNode


def block(translator, node: nodes.math_block) -> None:
    """Write a formula on a line of its own, its number beside it."""
    tex = node.astext()
    number = _TAG.search(tex)
    name = escape(node["ids"][0], quote=True) if node["ids"] else ""
    said = f'<a class="formula-number" href="#{name}">({escape(number[1])})</a>' if number else ""
    opening = f'<div class="formula" id="{name}">' if name else '<div class="formula">'
    parts = (opening, '<div class="formula-body">', _convert(tex, as_block=True), "</div>", said)
    translator.body.append("".join(parts) + "</div>\n")
    raise nodes.SkipNode


def setup(app):
    """Sphinx calls this."""
    app.add_transform(Numbers)
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
