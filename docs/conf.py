"""Settings of Sphinx; `scripts/docs.py` puts the pages together and calls it."""

import os

project = "Pantile"
author = "the authors of Pantile"
copyright = "2026, the authors of Pantile"  # noqa: A001, the name that Sphinx reads
version = release = os.environ.get("PANTILE_VERSION", "")

extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
source_suffix = {".md": "markdown"}
root_doc = "index"
nitpicky = True
highlight_language = "python"
smartquotes = False  # strings of code stand in plain text, too
suppress_warnings = ["misc.highlighting_failure"]

html_theme = "furo"
html_title = f"Pantile {release}".strip()
html_static_path = ["static"]
html_css_files = ["pantile.css"]
html_show_sphinx = False
