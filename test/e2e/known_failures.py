"""The pages of docs/compat that say which tests of somebody else's suite do not pass.

Each is an item of a list, over as many lines as it takes: `- NAME **Why:** reason`. Spaces count once.
"""
import os
import re

import platform_under_test as put


def plain(name):
    return " ".join(name.split())


def known_failures(page):
    """Reason by plain name."""
    with open(os.path.join(put.ROOT, page), encoding="utf-8") as file:
        items = re.findall(r"^- (.*?)(?=^\S|\Z)", file.read(), re.MULTILINE | re.DOTALL)
    rows = [re.fullmatch(r"(.+) \*\*Why:\*\* (.+)", plain(item)) for item in items]
    return {row.group(1): row.group(2) for row in rows if row}
