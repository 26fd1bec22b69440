"""The repository as tools/tidy sees it: files by path, their code without comments and literals, their functions."""
import os
import re
import subprocess
from typing import NamedTuple

CODE_SUFFIXES = (".h", ".cpp", ".py", ".sh", ".cmake", ".in")
TEXT_SUFFIXES = CODE_SUFFIXES + (".md", ".yaml", ".yml", ".ts", ".tsx", ".css")
DATA_DIRECTORIES = ("fuzz/corpus/", "api/")


class Finding(NamedTuple):
    path: str
    line: int
    rule: str
    text: str
    soft: bool = False

    def __str__(self):
        return f"{self.path}:{self.line}: {self.rule}: {self.text}"


class Include(NamedTuple):
    line: int
    name: str
    quoted: bool


class Tree:
    """The files by path, and what several rules want to know of them."""

    def __init__(self, files):
        self.files = dict(sorted(files.items()))
        self.cpp = [path for path in self.files if path.endswith((".h", ".cpp"))]
        self._code, self._includes = {}, {}

    def lines(self, path):
        return self.files[path].split("\n")

    def code(self, path):
        """The lines without comments, literals and preprocessor directives."""
        if path not in self._code:
            self._code[path] = blank_directives(blank_text(self.files[path])).split("\n")
        return self._code[path]

    def includes(self, path):
        if path not in self._includes:
            found = []
            for number, line in enumerate(self.lines(path), 1):
                match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
                if match:
                    found.append(Include(number, match.group(2), match.group(1) == '"'))
            self._includes[path] = found
        return self._includes[path]

    def directories(self):
        return {os.path.dirname(path) for path in self.files}


def is_test(path):
    return path.startswith(("test/", "fuzz/")) or bool(re.search(r"_test\.(cpp|h|py)$", path))


def module_of(path):
    parts = path.split("/")
    return parts[1] if parts[0] == "src" and len(parts) > 2 else None


def is_script(path, text):
    return "." not in os.path.basename(path) and text.startswith("#!")


def is_code(path, text):
    if path.startswith(DATA_DIRECTORIES):
        return False
    return path.endswith(CODE_SUFFIXES) or os.path.basename(path) == "CMakeLists.txt" or is_script(path, text)


def is_text(path, text):
    if path.startswith(DATA_DIRECTORIES):
        return False
    return is_code(path, text) or path.endswith(TEXT_SUFFIXES) or os.path.basename(path) == "Makefile"


TOKENS = re.compile(
    r'(?P<raw>\b(?:u8|[uUL])?R"(?P<tag>[^\s()\\]{0,16})\(.*?\)(?P=tag)")'
    r'|(?P<line>//[^\n]*)|(?P<block>/\*.*?\*/)'
    r'|(?P<string>"(?:[^"\\\n]|\\.)*")'
    r"|(?P<char>(?<![0-9a-fA-F])'(?:[^'\\\n]|\\.)+')",
    re.DOTALL)


def blank_text(source):
    """C++ with comments and the insides of literals replaced by spaces; lines keep their numbers."""
    def blank(match):
        text = re.sub(r"[^\n]", " ", match.group())
        if match.lastgroup in ("line", "block"):
            return text
        return '"' + text[1:-1] + '"' if "\n" not in text and len(text) > 1 else text
    # Includes first: their quotes are not literals.
    kept = re.sub(r'^([ \t]*#[ \t]*include)[^\n]*', lambda m: m.group(1), source, flags=re.MULTILINE)
    return TOKENS.sub(blank, kept)


def blank_directives(source):
    """Drops include lines, which may name <new>; macros stay."""
    return re.sub(r"^[ \t]*#[ \t]*include[^\n]*", "", source, flags=re.MULTILINE)


def functions(code):
    """The first and last line of each function's body. A lambda belongs to the function around it."""
    code = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: "\n" * m.group().count("\n"), code, flags=re.MULTILINE)
    stack, inside, parentheses, begin, number = [], False, 0, 0, 1
    for match in re.finditer(r"[\n(){};]", code):
        sign, at = match.group(), match.start()
        if sign == "\n":
            number += 1
        elif sign == "{":
            header = code[begin:at]
            # A space stands before a body, none before the braces of an initialised member.
            body = not inside and not parentheses and header[-1:].isspace() and is_function_header(header)
            stack.append((number if body else None, parentheses, header[-1:].isspace()))
            inside = inside or body
            parentheses = 0
            begin = at + 1 if stack[-1][2] else begin
        elif sign == "}" and stack:
            first, parentheses, spaced = stack.pop()
            if first is not None:
                inside = False
                yield first, number
            begin = at + 1 if spaced else begin
        elif sign == ";" and not parentheses:
            begin = at + 1
        elif sign in "()":
            parentheses += 1 if sign == "(" else -1


def is_function_header(text):
    text = " ".join(text.split())
    if re.match(r"(template ?<.*> )?(inline )?(namespace|class|struct|union|enum|extern)\b[^()]*$", text):
        return False
    return ")" in text or text.endswith("]")


def read_repository(root):
    # The tests may run as root on a user's checkout, which git otherwise refuses to read.
    listed = subprocess.run(["git", "-c", "safe.directory=*", "-C", root, "ls-files", "-co",
                             "--exclude-standard", "-z"], check=True, capture_output=True).stdout.decode()
    files = {}
    for path in filter(None, listed.split("\0")):
        full = os.path.join(root, path)
        if os.path.islink(full) or not os.path.isfile(full):
            continue
        with open(full, "rb") as file:
            content = file.read()
        if b"\0" not in content:
            files[path] = content.decode("utf-8", errors="replace")
    return Tree(files)
