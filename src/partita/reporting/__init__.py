"""The report: one HTML file that a scientist would send to a colleague.

``_steps`` (the slider over K), ``_content`` (numbers for the page), ``_sections`` (sentences and
tables), ``_page`` (the file); what runs in the browser is in ``static/``. Everything of rows 1 to
10 of the design may be used here.
"""

from __future__ import annotations

from partita.reporting._report import report

__all__ = ["report"]
