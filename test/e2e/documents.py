"""Documents as their readers take them: blocks of commands and YAML, typed in order at a place of the reader's own.

A block of commands (```sh, or no language) is typed line by line. Where lines begin with "$ " the others are what the
reader is told to see: those lines must come, in this order; … stands for any text, and one duration is as good as another.
A YAML block that begins with "# NAME.yaml" (or .conf) is written to that file. An HTML comment before a block says that it cannot be
run in a test, and why: <!-- not run: it downloads PyTorch -->."""
import glob
import os
import re
import shutil
import subprocess
import tempfile
import time
from typing import NamedTuple

import platform_under_test as put

NOT_RUN = re.compile(r"<!-- not run: (.*) -->$")
FENCE = re.compile(r"^( *)```(\w*)$")
DURATION = re.compile(r"^(\d+(\.\d+)?(ms|s|m|h|d))+$")
# What only looks: a reader who does not see it yet looks again.
LOOKS = re.compile(r"^(kubectl|hekla)( -n \S+)? (get|describe|logs|wait|top|explain|events|auth)\b|^hekla \w+ (list|view|get)\b"
                   r"|^(vqueues|vjobs)\b|^curl\b|^ls\b|^cat\b")


class Block(NamedTuple):
    path: str
    line: int
    language: str
    text: str
    reason: str  # why it is not run, or empty

    def place(self):
        return "%s:%d" % (os.path.relpath(self.path, put.ROOT), self.line)

    def is_commands(self):
        return self.language in ("", "sh")

    def file_name(self):
        match = re.match(r"# ([\w.-]+\.(?:yaml|conf))\n", self.text)
        return match.group(1) if match else None

    def commands(self):
        """(command, lines that are shown); a command goes on while the shell would ask for more."""
        prompted = re.search(r"^\$ ", self.text, re.MULTILINE) is not None
        found, pending = [], ""
        for line in self.text.splitlines():
            if prompted and not pending and not line.startswith("$ "):
                found[-1][1].append(line)
                continue
            pending += line[2:] if prompted and not pending else line
            if pending.endswith("\\") or is_open(pending):
                pending += "\n"
                continue
            if pending.strip() and not pending.lstrip().startswith("#"):
                found.append((pending, []))
            pending = ""
        if pending:
            raise AssertionError("%s: the last command has no end: %s" % (self.place(), pending))
        return found


def is_open(command):
    """Whether a quotation mark or a here-document of it has not been closed yet."""
    done = subprocess.run(["bash", "-n", "-c", command], capture_output=True, text=True)
    return "unexpected EOF" in done.stderr or "here-document" in done.stderr


def blocks_of(path):
    found, reason, block = [], "", None
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file.read().splitlines(), 1):
            fence = FENCE.match(line)
            if block is not None:
                if fence and not fence.group(2) and len(fence.group(1)) == indent:
                    found.append(Block(path, start, language, "".join(block), reason))
                    block, reason = None, ""
                else:
                    block.append(line[indent:] + "\n")
            elif fence:
                block, start, language, indent = [], number, fence.group(2), len(fence.group(1))
            elif line.strip():
                mark = NOT_RUN.search(line)
                reason = mark.group(1) if mark else ""
    if block is not None:
        raise AssertionError("%s: the block of line %d has no end" % (path, start))
    return found


def matches(word, said):
    if DURATION.match(word) and DURATION.match(said):
        return True
    return re.fullmatch(".*".join(map(re.escape, word.split("…"))), said) is not None


def line_matches(wanted, said):
    """Word by word, for columns are as wide as what stands in them; … at the end stands for whatever follows."""
    wanted, said = wanted.split(), said.split()
    if wanted and wanted[-1] == "…":
        wanted, said = wanted[:-1], said[:len(wanted) - 1]
    return len(wanted) == len(said) and all(map(matches, wanted, said))


def first_missing(shown, said):
    """The first shown line that does not come after those before it, or None."""
    rest = iter(said.splitlines())
    for wanted in shown:
        if wanted.strip() not in ("", "…") and not any(line_matches(wanted, line) for line in rest):
            return wanted
    return None


class Reader:
    """Someone with a copy of the repository after `make build`, who types what a document says. leave() ends it all."""

    def __init__(self):
        self.place = tempfile.mkdtemp(prefix="hekla-e2e-reader-")
        self.data_dir = os.path.join(self.place, "data")
        self.state, self.folder, self.up = [], self.place, None
        os.chmod(self.place, 0o755)
        for folder in ("bin", "build/release", "servers", "logs", "srv/data"):
            os.makedirs(os.path.join(self.place, folder))
        for program, name in [(put.HEKLA, "build/release/hekla"), (put.HEKLA, "bin/hekla"), (put.kubectls()[0], "bin/kubectl")]:
            os.symlink(program, os.path.join(self.place, name))
        shutil.copytree(os.path.join(put.ROOT, "examples"), os.path.join(self.place, "examples"))
        self.program("sudo", '#!/bin/sh\nexec "$@"\n')
        self.environment = dict(os.environ, HOME=self.place, PATH=self.place + "/bin:" + os.environ["PATH"],
                                KUBECONFIG=os.path.join(self.data_dir, "admin.kubeconfig"))
        for display in ("DISPLAY", "WAYLAND_DISPLAY"):  # no browser opens
            self.environment.pop(display, None)

    def program(self, name, text, folder="bin"):
        with open(os.path.join(self.place, folder, name), "w", opener=lambda path, flags: os.open(path, flags, 0o755)) as file:
            file.write(text)

    def local(self, text):
        """Of the real machine only the default data directory is not used, nor a directory of data."""
        return text.replace("/var/lib/hekla", self.data_dir).replace("/srv/data", os.path.join(self.place, "srv/data"))

    def shell(self, command, timeout=2 * put.PATIENCE):
        return subprocess.run(["bash", "-ec", "\n".join(self.state + [self.local(command)])], cwd=self.place,
                              env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=timeout, input="what a reader types when asked\n")

    def start(self, command="hekla up --no-agent --fake-nodes 4"):
        """The platform, with the flags that the document gives it; one that runs is stopped first."""
        if self.up:
            self.shell("hekla down")
            self.up.wait(put.PATIENCE)
            self.up.stdout.close()
        command = re.sub(r"\bhekla up\b", "hekla up --data-dir %s --eviction-hard 'memory.available<1Mi'" % self.data_dir,
                         self.local(command))
        with open(os.path.join(self.place, "up.log"), "ab") as log:
            self.up = subprocess.Popen(["bash", "-c", "exec " + command], cwd=self.place, env=self.environment,
                                       stdout=subprocess.PIPE, stderr=log)
        if b"hekla is ready" not in put.line_of(self.up):
            with open(os.path.join(self.place, "up.log"), errors="replace") as log:
                raise AssertionError("not ready: %s\n%s" % (command, log.read()))

    def type(self, command, shown, place=""):
        """One command, until it does and shows what the document says; what it said."""
        if re.match(r"(sudo )?\S*hekla up\b", command):
            return self.start(command.split("#")[0])
        deadline = time.monotonic() + put.PATIENCE
        while True:
            done = self.shell(command)
            missing = first_missing(shown, done.stdout)
            if done.returncode == 0 and missing is None:
                break
            if not LOOKS.match(command) or time.monotonic() > deadline:
                raise AssertionError("%s: %s\nexit %d%s\n%s" % (
                    place, command, done.returncode, ", not shown: " + missing if missing else "", done.stdout))
            time.sleep(0.3)
        if re.match(r"(export|cd) ", command):
            self.state.append(self.local(command))
        if command.startswith("cd "):
            self.folder = os.path.join(self.folder, command.split()[1])
        return done.stdout

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w") as file:
            file.write(text)

    def leave(self):
        try:
            subprocess.run([put.HEKLA, "down", "--data-dir", self.data_dir], capture_output=True, timeout=put.PATIENCE)
            if self.up and self.up.poll() is None:
                self.up.terminate()
                self.up.wait(put.PATIENCE)
        finally:
            if self.up:
                self.up.stdout.close()
            shutil.rmtree(self.place, ignore_errors=True)


def documents(*patterns):
    return sorted({os.path.relpath(path, put.ROOT) for pattern in patterns
                   for path in glob.glob(os.path.join(put.ROOT, pattern))})
