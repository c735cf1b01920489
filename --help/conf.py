"""Sphinx configuration of the documentation site; scripts/docs lays the sources out and builds it."""
import pathlib
import re

header = (pathlib.Path(__file__).parent / "petscbcr.h").read_text()
part = lambda name: re.search(r"#define PETSCBCR_VERSION_%s +(\d+)" % name, header).group(1)

project = "petscbcr"
copyright = "the authors of petscbcr"
release = version = "%s.%s.%s" % (part("MAJOR"), part("MINOR"), part("PATCH"))

extensions = ["myst_parser", "sphinx_copybutton", "sphinx_design"]
myst_enable_extensions = ["colon_fence", "attrs_inline"]
myst_heading_anchors = 4
source_suffix = {".md": "markdown"}
exclude_patterns = ["files"]
highlight_language = "none"
smartquotes = False
suppress_warnings = ["myst.header"]  # chapters whose first heading is not of the first level

html_theme = "pydata_sphinx_theme"
html_title = "petscbcr " + release
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "petscbcr"},
    "header_links_before_dropdown": 5,
    "navbar_persistent": ["search-button"],
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {page.stem: [] for page in pathlib.Path(__file__).parent.glob("*.md")}  # they have no pages below them

linkcheck_timeout = 10
linkcheck_retries = 1
linkcheck_anchors = False
