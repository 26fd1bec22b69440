"""tools/tidy's rule that runs clang-format."""
import concurrent.futures
import hashlib
import os
import re
import subprocess

from tidy_tree import Finding

FORMATTER = "clang-format-19"
FORMATTED = ".cache/tidy_formatted"


def formatting(root, tree):
    """What clang-format would write otherwise. Contents that were clean once are known by their hash."""
    style = tree.files.get(".clang-format")
    if style is None:
        return
    try:
        version = subprocess.run([FORMATTER, "--version"], check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        yield Finding(".clang-format", 1, "format", f"{FORMATTER} is not installed, so nothing was checked: make deps-test")
        return
    hashes = {path: hashlib.sha256("\0".join((version, style, path, tree.files[path])).encode()).hexdigest()
              for path in tree.cpp}
    known = read_formatted(root)
    left = [path for path in tree.cpp if hashes[path] not in known]
    batches = [left[at:at + 40] for at in range(0, len(left), 40)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        dirty = {}
        for found in pool.map(lambda batch: misformatted(root, batch), batches):
            dirty.update(found)
    for path, line in sorted(dirty.items()):
        yield Finding(path, line, "format", f"{FORMATTER} -i {path}")
    clean = {digest for path, digest in hashes.items() if path not in dirty}
    if clean != known:
        write_formatted(root, clean)


def misformatted(root, paths):
    """The first line that would change, by path."""
    done = subprocess.run([FORMATTER, "--dry-run", "--style=file", *paths], cwd=root, capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        return {paths[0]: 1}
    found = {}
    for match in re.finditer(r"^(\S+):(\d+):\d+: \w+: code should be clang-formatted", done.stderr, re.MULTILINE):
        found.setdefault(match.group(1), int(match.group(2)))
    return found


def read_formatted(root):
    try:
        with open(os.path.join(root, FORMATTED), encoding="ascii") as file:
            return set(file.read().split())
    except OSError:
        return set()


def write_formatted(root, hashes):
    """A memory that cannot be written is only slower."""
    path = os.path.join(root, FORMATTED)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(f"{path}.{os.getpid()}", "w", encoding="ascii") as file:
            file.write("\n".join(sorted(hashes)) + "\n")
        os.replace(f"{path}.{os.getpid()}", path)
    except OSError:
        pass
