"""Names of ours in ``code`` lead to their page of the API, without markup that GitHub would show.

`pt.estimate`, `estimate(draws)` and `losses.VI(a=0.5)` become links; a word that is no public name
stays as it is.
"""

from __future__ import annotations

import re

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms.post_transforms import SphinxPostTransform

_NAME = re.compile(r"^(?:pt\.|partita\.)?([A-Za-z_][\w.]*)(?:\(.*\))?$", re.DOTALL)
_WORDS = {"losses", "search", "nmf", "mixture", "plots", "datasets", "errors"}


class CodeLinks(SphinxPostTransform):
    """Link literals that name something documented."""

    default_priority = 9  # before references are resolved
    formats = ("html",)

    def run(self, **_: object) -> None:
        """Look at every literal of a page that is not a link or a heading already."""
        if self.env.docname.startswith(("api/", "gallery/")):
            return
        objects = self.env.get_domain("py").objects
        for node in list(self.document.findall(nodes.literal)):
            found = _NAME.match(node.astext())
            if not found or isinstance(node.parent, nodes.reference | nodes.title):
                continue
            if isinstance(node.parent, addnodes.pending_xref) or found[1] in _WORDS:
                continue
            name = f"partita.{found[1]}"
            if name in objects and objects[name].objtype != "module":
                self._link(node, name)

    def _link(self, node: nodes.literal, name: str) -> None:
        reference = addnodes.pending_xref(
            "", refdomain="py", reftype="obj", reftarget=name, refdoc=self.env.docname
        )
        node.replace_self(reference)
        reference += node


def setup(app):
    """Sphinx calls this."""
    app.add_post_transform(CodeLinks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
