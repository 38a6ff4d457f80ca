"""Launch keywords to the extension module's options."""

from ..backends.options import check_names, library_options, parse_options


def make_options(target, keywords, debug=None):
    """Return the extension module's Options for launch keywords; KeyError for an unknown one."""
    check_names(keywords)
    return library_options(target, parse_options(keywords, debug))
