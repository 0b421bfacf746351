"""How Sphinx builds the site: ``make docs``."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

from partita import __version__ as release  # noqa: E402

project = "partita"
author = "the partita developers"
copyright = author
version = release

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
    "code_links",
    "mathml",
    "project_pages",
    "shell_help",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "gallery/*.py", "gallery/GALLERY_HEADER.rst"]
templates_path = ["_templates"]
html_math_renderer = "mathml"
nitpicky = True
nitpick_ignore_regex = [
    (r"py:class", r"^(?!partita\b).*")
]  # types of others, as docstrings say them

# The same pages are read on GitHub: nothing but what it shows too.
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
myst_dmath_double_inline = False

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples" / "gallery"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "download_all_examples": False,
    "abort_on_example_error": True,
    "capture_repr": (),
    "matplotlib_animations": False,
    "min_reported_time": 1e9,
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "write_computation_times": False,
    "within_subsection_order": "FileNameSortKey",
    "copyfile_regex": r".*\.rst",
}
warnings.filterwarnings("error", category=DeprecationWarning, module="partita")

html_theme = "pydata_sphinx_theme"
html_title = "partita"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navbar_center": [],
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "logo": {"text": "partita"},
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
html_context = {"default_mode": "auto"}
html_sidebars = {"**": ["pages"]}


def _apart() -> dict[str, str]:
    """File names for pages that differ from others only in the case of a letter."""
    words = (HERE / "api.md").read_text(encoding="utf-8").split()
    lower = [word.lower() for word in words]
    twice = {word for word in words if lower.count(word.lower()) > 1 and word != word.lower()}
    return {f"partita.{name}": f"partita.{name}-class" for name in twice if name.isalpha()}


autosummary_filename_map = _apart()
