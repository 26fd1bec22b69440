"""What the documents say is tried: every command and YAML block of README, docs and examples as a reader meets it (see
documents.py), links, the pages that are made, and that the Chinese pages tell the reader to type the same."""
import glob
import json
import os
import re
import subprocess
import unittest

import documents
import platform_under_test as put
import yaml
from documents import blocks_of

# Documents that no reader here takes up, and what tries them instead.
ELSEWHERE = {
    "README.md": "test/e2e/readme_test.py",
    "docs/zh/README.md": "test/e2e/readme_test.py",
    "docs/ARCHITECTURE.md": "tools/tidy",
    "docs/extending.md": "src/scheduler/plugins/patience_test.cpp",
    "docs/on-a-cluster.md": "test/e2e/components_test.py",
    "docs/pipelines.md": "test/clients/python/pipelines_client_test.py",
    "examples/deadlock/README.md": "test/e2e/examples_test.py",
    "examples/sharing/README.md": "test/e2e/examples_test.py",
}
# The platform of documents that start none themselves: nodes that are played, or this machine with small servers in place
# of JupyterLab and TensorBoard.
PLAYED = "hekla up --no-agent --fake-nodes 4"
SERVED = "hekla up --image-map '*=host, files=%s:/usr/local/bin, cmd=/usr/local/bin/jupyter'"
PLATFORMS = {"docs/workbench.md": SERVED}
SERVER = """#!/usr/bin/python3
import http.server, signal, sys
class Greeting(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
signal.signal(signal.SIGTERM, lambda *_: sys.exit())
http.server.HTTPServer(("", %d), Greeting).serve_forever()
"""
TRANSLATED = ["first-job.md", "concepts.md"]
READ = documents.documents("README.md", "docs/*.md", "docs/zh/*.md", "examples/**/README.md")
# Of blocks in other languages a reader types nothing.
SHOWN_ONLY = {"cpp", "text", "json"}


def text_of(path):
    with open(os.path.join(put.ROOT, path), encoding="utf-8") as file:
        return file.read()


def anchor(heading):
    """As GitHub makes it of a heading."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.strip()).replace("`", "")
    return re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")


class Pages(unittest.TestCase):
    def test_links_lead_somewhere(self):
        wrong = []
        for path in documents.documents("*.md", "docs/**/*.md", "docs/*.md", "docs/*/*.md", "examples/**/*.md"):
            prose = re.sub(r"(?ms)^ *```.*?^ *```$", "", text_of(path))
            for target in re.findall(r"\]\(([^)\s]+)\)", prose):
                if re.match(r"[a-z]+:", target):
                    continue
                name, _, part = target.partition("#")
                place = os.path.join(put.ROOT, os.path.dirname(path), name) if name else os.path.join(put.ROOT, path)
                if not os.path.exists(place):
                    wrong.append("%s: %s" % (path, target))
                elif part and part not in map(anchor, re.findall(r"(?m)^#+ (.*)$", text_of(os.path.relpath(place, put.ROOT)))):
                    wrong.append("%s: %s has no such heading" % (path, target))
        self.assertEqual(wrong, [])

    def test_the_index_has_every_document(self):
        index = text_of("docs/README.md")
        self.assertEqual([path for path in documents.documents("docs/*.md")
                          if path != "docs/README.md" and "(%s)" % os.path.basename(path) not in index], [])

    def test_the_kinds_are_those_of_the_api(self):
        done = subprocess.run([os.path.join(put.ROOT, "tools/kind_pages"), "--check"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_every_plugin_is_described_with_its_arguments(self):
        page = text_of("docs/scheduler.md")
        for room in ("actions", "plugins"):
            for path in glob.glob(os.path.join(put.ROOT, "src/scheduler", room, "*.cpp")):
                with open(path, encoding="utf-8") as file:
                    found = re.search(r"const (?:Plugin|Action)Info \w+\{\s*(.*?)(?:\[\]\(|\w+\s*[,}]\s*$)", file.read(),
                                      re.DOTALL | re.MULTILINE)
                if path.endswith("_test.cpp") or not found:
                    continue
                name, _, *arguments = re.findall(r'"([^"]*)"', found.group(1))
                section = re.search(r"(?ms)^### %s\n(.*?)(?=^##|\Z)" % re.escape(name), page)
                self.assertTrue(section, "docs/scheduler.md does not describe %s" % name)
                for argument in re.findall(r"(?:^|, )([\w.-]+)", re.sub(r"\([^)]*\)|\{.*\}|\[.*\]", "", "".join(arguments))):
                    self.assertIn(argument, section.group(1), name)

    def test_commands_and_flags_that_are_named_exist(self):
        """docs/flags.md is what the program says of itself (cli_test); prose and tables must not name others."""
        sections = dict(re.findall(r"(?ms)^## hekla (.*?)\n(.*?)(?=^## |\Z)", text_of("docs/flags.md")))
        verbs, wrong = {name.split()[0] for name in sections} | {"flags"}, []
        for path in READ + documents.documents("docs/compat/*.md"):
            for verb, rest in re.findall(r"`hekla ([a-z-]+)([^`]*)`", text_of(path)):
                known = "".join(text for name, text in sections.items() if name.split()[0] == verb)
                wrong += ["%s: hekla %s" % (path, verb)] * (verb not in verbs)
                wrong += ["%s: hekla %s %s" % (path, verb, flag) for flag in re.findall(r"(?<!\S)--?[a-z][\w-]*", rest.split(" -- ")[0])
                          if verb in verbs and flag != "--help" and not re.search(r"`[^`]*(?<![\w-])%s(?![\w-])" % re.escape(flag), known)]
        self.assertEqual(wrong, [])

    def test_every_event_and_action_of_policies_is_described(self):
        lists = re.findall(r"> k(?:Events|Actions) = \{(.*?)\};", text_of("src/admission/policies.cpp"), re.DOTALL)
        names = [name for one in lists for name in re.findall(r'"([^"]+)"', one)]
        self.assertEqual(len(names), 16, names)
        page = text_of("docs/policies.md")
        self.assertEqual([name for name in names if "`%s`" % name not in page], [])

    def test_the_chinese_pages_tell_the_reader_to_type_the_same(self):
        def typed(path):
            return [re.sub(r"(?m) +# .*$", "", block.text) for block in blocks_of(os.path.join(put.ROOT, path))]
        for name in TRANSLATED:
            self.assertEqual(typed("docs/zh/" + name), typed("docs/" + name))
        self.assertEqual(typed("docs/zh/README.md"), typed("README.md"))

    def test_every_block_is_tried_or_says_why_not(self):
        for path in READ:
            for block in blocks_of(os.path.join(put.ROOT, path)):
                if path in ELSEWHERE or block.language in SHOWN_ONLY:
                    continue
                self.assertIn(block.language, ("", "sh", "yaml", "python"), block.place())
                if block.reason or block.language == "python":
                    self.assertGreater(len(block.reason), 15, "%s: why is it not run?" % block.place())
        for path, test in ELSEWHERE.items():
            self.assertTrue(os.path.exists(os.path.join(put.ROOT, path)), path)
            self.assertTrue(os.path.exists(os.path.join(put.ROOT, test)), test)


class Reading(unittest.TestCase):
    """What the reader takes for shown, and for a command."""

    def test_shown_lines_come_in_order(self):
        said = "NAME    STATUS    AGE\njob-1   Running   12s\nchief: loss 0.25 after 3 steps\n"
        for shown in (["NAME STATUS AGE", "job-1   Running   2m3s"], ["…", "chief: loss … after 3 steps"], ["job-… Running …"],
                      ["chief: loss …"], [""]):
            self.assertIsNone(documents.first_missing(shown, said), shown)
        for shown in (["job-1 Pending 2s"], ["job-1 Running 2s", "NAME STATUS AGE"], ["job-1 Running"], ["job-1 Running 2s 3s"],
                      ["chief: loss 0.26 …"], ["job-1 Running many"]):
            self.assertIsNotNone(documents.first_missing(shown, said), shown)

    def test_commands_go_on_while_they_are_open(self):
        block = documents.Block("x.md", 1, "", "# a comment\necho 'a\nb'\nls \\\n  -l\ncat <<END\nb\nEND\n", "")
        self.assertEqual(block.commands(), [("echo 'a\nb'", []), ("ls \\\n  -l", []), ("cat <<END\nb\nEND", [])])
        block = documents.Block("x.md", 1, "", "$ echo a\na\n$ true\n", "")
        self.assertEqual(block.commands(), [("echo a", ["a"]), ("true", [])])


class Document(unittest.TestCase):
    """One document, from its first block to its last. Each is a class of its own, for run.py runs classes side by side."""
    path = None

    def setUp(self):
        self.reader = documents.Reader()
        self.addCleanup(self.reader.leave)

    def read(self):
        blocks = [block for block in blocks_of(os.path.join(put.ROOT, self.path))
                  if not block.reason and block.language not in SHOWN_ONLY]
        commands = [command for block in blocks if block.is_commands() for command, _ in block.commands()
                    if command != "hekla doctor"]
        if not re.match(r"(sudo )?hekla up\b", commands[0] if commands else ""):
            self.reader.start(self.platform())
        for block in blocks:
            if block.language == "yaml":
                self.take(block)
            else:
                for command, shown in block.commands():
                    self.reader.type(command, shown, block.place())

    def platform(self):
        if PLATFORMS.get(self.path) != SERVED:
            return PLAYED
        self.reader.program("jupyter", SERVER % 8888, "servers")
        self.reader.program("tensorboard", SERVER % 6006, "servers")
        return SERVED % os.path.join(self.reader.place, "servers")

    def take(self, block):
        """A YAML block: a file to keep, objects for the server to judge, or a part of the scheduler's configuration."""
        text = block.text
        if block.file_name():
            self.reader.write(block.file_name(), text)
        if re.search(r"^apiVersion:", text, re.MULTILINE):
            self.reader.write("tried.yaml", text)
            done = self.reader.shell("kubectl apply --server-side --force-conflicts --dry-run=server -f tried.yaml")
            self.assertEqual(done.returncode, 0, "%s\n%s" % (block.place(), done.stdout))
            self.assertNotIn("Warning", done.stdout, block.place())
            return
        configuration = yaml.safe_load(text)
        if isinstance(configuration, list):  # of plugins
            configuration = {"actions": "enqueue, allocate, backfill", "tiers": [{"plugins": configuration}]}
        self.assertIn("actions", configuration, "%s: neither objects nor configuration" % block.place())
        self.assertEqual(self.complaints_about(configuration), [], block.place())

    def complaints_about(self, configuration):
        """What the scheduler says of it. An unknown plugin at the end tells when it has read all the rest."""
        self.tried = getattr(self, "tried", 0) + 1
        last = "no-such-plugin-%d" % self.tried
        configuration["tiers"][-1]["plugins"].append({"name": last})
        self.reader.write("tried.json", json.dumps({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "volcano-scheduler-configmap", "namespace": "volcano-system"},
            "data": {"volcano-scheduler.conf": json.dumps(configuration)}}))
        done = self.reader.shell("kubectl apply --server-side --force-conflicts -f tried.json")
        self.assertEqual(done.returncode, 0, done.stdout)

        def said():
            events = json.loads(self.reader.shell("kubectl get events -n volcano-system -o json").stdout)["items"]
            messages = [event["message"] for event in events if event["reason"].find("Configuration") >= 0]
            return messages if any(last in message or "is not used" in message for message in messages) else None
        return [message for message in put.wait_for("the scheduler has read it", said) if "no-such-plugin" not in message]


def class_of(path):
    name = "Reads_" + re.sub(r"\W", "_", os.path.splitext(path)[0])
    return name, type(name, (Document,), {"path": path, "test_as_it_is_written": Document.read, "__module__": __name__})


for one in READ:
    tried = [block for block in blocks_of(os.path.join(put.ROOT, one)) if not block.reason and block.language not in SHOWN_ONLY]
    if tried and one not in ELSEWHERE and not one.startswith("docs/zh/"):
        globals().update([class_of(one)])

class ReadsTheFirstJobWithoutKubectl(Document):
    """As docs/first-job.md says: hekla instead of kubectl, in every line."""
    path = "docs/first-job.md"

    def test_hekla_instead(self):
        typed = self.reader.type
        self.reader.type = lambda command, shown, place: typed(re.sub(r"\bkubectl\b", "hekla", command), shown, place)
        self.read()


if __name__ == "__main__":
    unittest.main()
