#!/usr/bin/env python3
"""Feeds tidy small trees: a clean one passes, and each rule finds what it is for and nothing else."""
import importlib.machinery
import importlib.util
import os
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
loader = importlib.machinery.SourceFileLoader("tidy", os.path.join(HERE, "tidy"))
tidy = importlib.util.module_from_spec(importlib.util.spec_from_loader("tidy", loader))
loader.exec_module(tidy)

ROOT_CMAKE = "add_subdirectory(src/base)\n"
CLEAN = {
    "CMakeLists.txt": ROOT_CMAKE,
    "Makefile": "all:\n\ttrue\n",
    "src/base/CMakeLists.txt": "hekla_module(base)\n",
    "src/base/README.md": "# base\n",
    "src/base/disk.h": "// Disks.\n#pragma once\n#include <string>\n",
    "src/base/disk.cpp": '#include "base/disk.h"\n#include <openssl/evp.h>\n',
    "src/store/CMakeLists.txt": "hekla_module(store DEPS base)\n",
    "src/store/README.md": "# store\n",
    "src/store/store.h": '#pragma once\n#include "base/disk.h"\n#include <boost/unordered/unordered_flat_map.hpp>\n',
    "src/store/store.cpp": '#include "store/store.h"\n#include <sys/stat.h>\n#include <unistd.h>\n',
    "src/store/store_test.cpp": '#include <gtest/gtest.h>\n#include "store/store.h"\n#include "support/sim.h"\n',
    "src/admission/CMakeLists.txt": "hekla_table(DIR steps HEADER admission/step.h)\nhekla_module(admission)\n",
    "src/admission/README.md": "# admission\n",
    "src/admission/step.h": "#pragma once\n",
    "src/admission/steps/job.cpp": "// Rejects jobs whose queue is closed. No arguments.\nint x;\n",
    "test/support/CMakeLists.txt": "file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)\n",
    "test/support/sim.h": "#pragma once\n",
    "test/support/sim.cpp": '#include "support/sim.h"\n',
    "bench/CMakeLists.txt": "hekla_bench(store DEPS store)\n",
    "bench/store.cpp": '#include "store/store.h"\nint main() { std::printf("x"); }\n',
    "tools/run": "#!/bin/sh\ntrue\n",
}


def findings(changes, rule=None):
    files = {path: text for path, text in {**CLEAN, **changes}.items() if text is not None}
    found = tidy.check(tidy.Tree(files))
    return [f for f in found if not f.soft and (rule is None or f.rule == rule)]


class TidyTest(unittest.TestCase):
    def assert_finds(self, rule, path, text, line=1, containing=""):
        found = findings({path: text})
        self.assertEqual([(f.path, f.line, f.rule) for f in found], [(path, line, rule)],
                         "\n".join(map(str, found)))
        self.assertIn(containing, found[0].text)

    def assert_clean(self, changes):
        self.assertEqual([str(f) for f in findings(changes)], [])

    def in_store(self, code):
        return f'#include "store/store.h"\n{code}\n'

    def assert_banned(self, code):
        self.assert_finds("banned-call", "src/store/store.cpp", self.in_store(code), line=2)

    def test_a_clean_tree_passes(self):
        self.assert_clean({})

    def test_a_module_may_not_include_upwards(self):
        upwards = {"src/base/disk.cpp": '#include "base/disk.h"\n#include "store/store.h"\n'}
        self.assertEqual([str(f) for f in findings(upwards, "layers")],
                         ["src/base/disk.cpp:2: layers: base may not include store"])

    def test_neighbours_may_not_include_each_other(self):
        more = {"src/scheduler/CMakeLists.txt": "hekla_module(scheduler)\n", "src/scheduler/README.md": "#\n",
                "src/scheduler/loop.cpp": '#include "admission/step.h"\n'}
        self.assertEqual([(f.path, f.text) for f in findings(more)],
                         [("src/scheduler/loop.cpp", "scheduler may not include admission")])

    def test_main_includes_everybody(self):
        self.assert_clean({"src/main/CMakeLists.txt": "hekla_module(main)\n", "src/main/README.md": "#\n",
                           "src/main/main.cpp": '#include "admission/step.h"\n#include "store/store.h"\n'})

    def test_an_unknown_module_is_noticed(self):
        more = {"src/extra/CMakeLists.txt": "hekla_module(extra)\n", "src/extra/README.md": "#\n",
                "src/extra/a.cpp": "int a;\n"}
        self.assertEqual([f.rule for f in findings(more)], ["layers"])

    def test_includes_are_rooted_in_src_and_exist(self):
        self.assert_finds("layers", "src/store/store.cpp", '#include "store/store.h"\n#include "../base/disk.h"\n', 2)
        self.assert_finds("layers", "src/store/store.cpp", '#include "store/store.h"\n#include "store/gone.h"\n', 2)

    def test_only_tests_include_test_support(self):
        self.assert_finds("layers", "src/store/store.cpp", '#include "store/store.h"\n#include "support/sim.h"\n', 2)
        more = {"src/store/fixture_test.h": "#pragma once\n",
                "src/store/store.cpp": '#include "store/store.h"\n#include "store/fixture_test.h"\n'}
        self.assertEqual([f.rule for f in findings(more)], ["layers"])

    def test_a_room_includes_only_lower_rooms(self):
        face = {"src/apiserver/CMakeLists.txt": "hekla_module(apiserver)\n", "src/apiserver/README.md": "#\n",
                "src/apiserver/api_server.h": '#pragma once\n#include "apiserver/text/word.h"\n',
                "src/apiserver/text/README.md": "#\n", "src/apiserver/server/README.md": "#\n",
                "src/apiserver/text/word.h": "#pragma once\n",
                "src/apiserver/server/api_server.cpp": '#include "apiserver/api_server.h"\n'
                                                       '#include "apiserver/text/word.h"\n'}
        self.assert_clean(face)
        upwards = {**face, "src/apiserver/server/deep.h": "#pragma once\n",
                   "src/apiserver/text/word.cpp": '#include "apiserver/text/word.h"\n#include "apiserver/server/deep.h"\n'}
        self.assertEqual([str(f) for f in findings(upwards)],
                         ["src/apiserver/text/word.cpp:2: rooms: apiserver/text may not include server"])
        to_face = {**face, "src/apiserver/text/other.cpp": '#include "apiserver/api_server.h"\n'}
        self.assertEqual([str(f) for f in findings(to_face)],
                         ["src/apiserver/text/other.cpp:1: rooms: apiserver/text may not include the face"])
        self.assert_clean({**face, "src/apiserver/text/word_test.cpp": '#include "apiserver/api_server.h"\n'})
        unknown = {**face, "src/apiserver/attic/a.cpp": "int a;\n"}
        self.assertEqual([f.rule for f in findings(unknown)], ["rooms"])
        bare = {**face, "src/apiserver/text/README.md": None}
        self.assertEqual([str(f) for f in findings(bare)], ["src/apiserver/text/README.md:1: readme: missing"])

    def test_neighbouring_rooms_do_not_include_each_other(self):
        more = {"src/apiserver/CMakeLists.txt": "hekla_module(apiserver)\n", "src/apiserver/README.md": "#\n",
                "src/apiserver/read/README.md": "#\n", "src/apiserver/write/README.md": "#\n",
                "src/apiserver/write/put.h": "#pragma once\n",
                "src/apiserver/read/get.cpp": '#include "apiserver/write/put.h"\n'}
        self.assertEqual([f.text for f in findings(more)], ["apiserver/read may not include write"])

    def test_other_modules_see_a_modules_face_alone(self):
        more = {"src/main/CMakeLists.txt": "hekla_module(main)\n", "src/main/README.md": "#\n",
                "src/store/deep/page.h": "#pragma once\n",
                "src/main/main.cpp": '#include "store/store.h"\n#include "store/deep/page.h"\n'}
        self.assertEqual([str(f) for f in findings(more)],
                         ["src/main/main.cpp:2: faces: store/deep/page.h is inside store; include its face"])
        more["src/main/main_test.cpp"] = more.pop("src/main/main.cpp")
        self.assert_clean(more)

    def test_units_do_not_include_each_other(self):
        more = {"src/store/a.h": '#pragma once\n#include "store/b.h"\n',
                "src/store/b.h": "#pragma once\n",
                "src/store/b.cpp": '#include "store/b.h"\n#include "store/c.h"\n',
                "src/store/c.h": '#pragma once\n#include "store/a.h"\n'}
        self.assertEqual([str(f) for f in findings(more)],
                         ["src/store/a.h:1: cycle: include each other: store/a, store/b, store/c"])
        more["src/store/c.h"] = '#pragma once\n#include "base/disk.h"\n'
        self.assert_clean({**more, "src/store/store.cpp": self.in_store('#include "store/a.h"')})

    def test_exceptions_that_nobody_needs_go(self):
        unneeded = {"src/scheduler/CMakeLists.txt": "hekla_module(scheduler)\n", "src/scheduler/README.md": "#\n",
                    "src/scheduler/loop/scheduler.h": "#pragma once\n",
                    "src/scheduler/loop/scheduler.cpp": '#include "scheduler/loop/scheduler.h"\n'}
        self.assertEqual([(f.path, f.rule) for f in findings(unneeded)],
                         [("src/scheduler/loop/scheduler.h", "faces")])
        apart = {"src/base/crypto.h": "#pragma once\n", "src/base/crypto.cpp": '#include "base/crypto.h"\n',
                 "src/base/signing_request.h": '#pragma once\n#include "base/crypto.h"\n',
                 "src/base/signing_request.cpp": '#include "base/signing_request.h"\n'}
        self.assertEqual([(f.path, f.rule) for f in findings(apart)], [("src/base/crypto.h", "cycle")])

    def test_a_folder_holds_so_many_files(self):
        many = {f"src/store/f{number}.cpp": "int a;\n" for number in range(38)}
        self.assertEqual([f.rule for f in findings(many)], ["folder-size"])
        many.pop("src/store/f0.cpp")
        self.assert_clean(many)

    def test_third_party_headers_stay_with_their_owner(self):
        for header in ("boost/asio/io_context.hpp", "openssl/evp.h", "spdlog/spdlog.h", "zlib.h", "simdjson.h",
                       "CLI/CLI.hpp", "gtest/gtest.h", "curl/curl.h", "yaml.h", "nlohmann/json.hpp",
                       "boost/filesystem.hpp", "eigen3/dense"):
            self.assert_finds("third-party", "src/store/store.cpp", self.in_store(f"#include <{header}>"), 2, header)

    def test_the_owner_may_be_one_file(self):
        found = lambda name: [f.rule for f in findings({name: "// A parser.\n#include <CLI/CLI.hpp>\n"})]
        self.assertNotIn("third-party", found("src/cli/command_line.cpp"))
        self.assertIn("third-party", found("src/cli/verb.cpp"))

    def test_the_world_is_an_argument(self):
        for code in ("std::thread t;", "std::jthread t;", "std::this_thread::sleep_for(x);", "usleep(3);", "::sleep(1);",
                     "auto t = std::chrono::system_clock::now();", "auto t = steady_clock::now();", "int r = rand();",
                     "srand(1);", 'auto h = std::getenv("HOME");'):
            self.assert_banned(code)

    def test_base_main_and_tests_face_the_world(self):
        code = 'std::thread t;\nauto h = std::getenv("HOME");\nauto n = std::chrono::steady_clock::now();\n'
        self.assert_clean({"src/base/disk.cpp": '#include "base/disk.h"\n' + code,
                           "src/store/store_test.cpp": CLEAN["src/store/store_test.cpp"] + code})

    def test_language_bans(self):
        for code in ("auto p = new int;", "auto p = new (place) int;", "delete p;", "delete[] p;",
                     "auto q = const_cast<int*>(p);", "using namespace std;"):
            self.assert_banned(code)

    def test_lookalikes_are_not_calls(self):
        self.assert_clean({"src/store/store.cpp": self.in_store(
            "// new things, delete old ones, getenv(), rand() and const_cast in a comment\n"
            "/* std::thread\n   sleep(1) */\n"
            'const char* text = "delete p; new int \\" rand()";\n'
            'auto raw = R"(using namespace std; printf("x"))";\n'
            "Store(const Store&) = delete;\nvoid operator delete(void*);\nint newer, new_item, renew;\n"
            "using namespace std::chrono_literals;\nint n = 1'000'000; char c = '\\'';\nauto r = rng.rand();\n"
            "auto id = std::thread::id();\n#include <new>\nx.sleep(3); std::snprintf(b, 1, c); strand(3);")})

    def test_only_the_command_line_prints(self):
        for code in ('std::printf("x");', 'std::cout << "x";', 'std::fprintf(stdout, "x");', 'puts("x");'):
            self.assert_banned(code)
        self.assert_clean({"src/store/store.cpp": self.in_store('std::fprintf(stderr, "x");')})
        self.assert_clean({"src/cli/CMakeLists.txt": "hekla_module(cli)\n", "src/cli/README.md": "#\n",
                           "src/cli/print.cpp": 'void f() { std::printf("x"); }\n'})

    def test_file_sizes(self):
        self.assert_clean({"src/store/store.cpp": self.in_store("int a;\n" * 797)})
        self.assert_finds("file-size", "src/store/store.cpp", self.in_store("int a;\n" * 799), line=801)
        test = CLEAN["src/store/store_test.cpp"]
        self.assert_clean({"src/store/store_test.cpp": test + "int a;\n" * 997})
        self.assert_finds("file-size", "src/store/store_test.cpp", test + "int a;\n" * 998, line=1001)

    def test_line_lengths(self):
        self.assert_clean({"src/store/store.cpp": self.in_store("// " + "x" * 117)})
        self.assert_finds("line-length", "src/store/store.cpp", self.in_store("// " + "x" * 118), line=2)

    def test_documents_have_so_many_columns(self):
        self.assert_clean({"docs/guide.md": "x" * 120 + "\n"})
        self.assert_finds("line-length", "docs/guide.md", "# guide\n" + "x" * 121 + "\n", line=2)

    def test_functions_have_so_many_lines(self):
        body = lambda lines: "  a();\n" * lines
        self.assert_clean({"src/store/store.cpp": self.in_store("void f() {\n" + body(68) + "}")})
        for header in ("void f() {", "int Store::f(int a,\n             int b = {}) const {", "auto f = [](int a) {",
                       "Store::Store(int a)\n    : a_{a}, b_(a) {", "class A {\n  void f() noexcept {"):
            line = header.count("\n") + 2
            end = "}\n};" if header.startswith("class") else "};"
            self.assert_finds("function-size", "src/store/store.cpp", self.in_store(header + "\n" + body(69) + end),
                              line, "71 lines")

    def test_what_is_no_function_may_be_long(self):
        rows = '    {"a", 1},\n' * 100
        members = "  int a = f();\n" * 100
        self.assert_clean({"src/store/store.cpp": self.in_store(
            f"namespace x {{\nconst Row kRows[] = {{\n{rows}}};\nclass A : public B {{\n{members}}};\n"
            f"#define SWITCH \\\n  {{ \\\n" + "  a(); \\\n" * 80 + "  }\n}  // namespace x")})

    def test_tests_may_have_longer_functions(self):
        test = lambda lines: CLEAN["src/store/store_test.cpp"] + "TEST(A, B) {\n" + "  a();\n" * lines + "}\n"
        self.assert_clean({"src/store/store_test.cpp": test(108)})
        self.assert_finds("function-size", "src/store/store_test.cpp", test(109), line=4)

    def test_checks_only_become_more(self):
        code = self.in_store("void f() {\n  CHECK(a);\n  DCHECK(b, \"why\");\n}\n// CHECK(c)\n#define CHECK(x) x")
        ratchet = lambda count: {"tools/tidy_ratchets.txt": f"# Counts.\nchecks store {count}\n"}
        self.assert_clean({"src/store/store.cpp": code, **ratchet(2)})
        self.assert_clean({"src/store/store.cpp": code, **ratchet(1)})
        found = findings({"src/store/store.cpp": code, **ratchet(3)})
        self.assertEqual([(f.path, f.rule) for f in found], [("src/store/README.md", "ratchet")])
        self.assertIn("2 CHECKs in store, 3 at the last count", found[0].text)

    def test_comments_with_a_pronoun_first_only_become_fewer(self):
        code = self.in_store("// What is left\n// It ends here.\nint a;\n// A disk. It is slow.\nint b;\n  // Those of it\n")
        ratchet = lambda count: {"tools/tidy_ratchets.txt": f"pronouns store {count}\n"}
        self.assert_clean({"src/store/store.cpp": code, **ratchet(2)})
        self.assert_clean({"src/store/store.cpp": code, **ratchet(3)})
        found = findings({"src/store/store.cpp": code, **ratchet(1)})
        self.assertEqual([(f.path, f.line, f.rule) for f in found],
                         [("src/store/store.cpp", 2, "ratchet"), ("src/store/store.cpp", 7, "ratchet")])
        # A module that the file does not know has none.
        found = findings({"src/store/store.cpp": code, "tools/tidy_ratchets.txt": "# Counts.\n"})
        self.assertEqual(len(found), 2)

    def test_ratchets_are_only_tightened(self):
        code = self.in_store("// What is left\nvoid f() { CHECK(a); }")
        files = {**CLEAN, "src/store/store.cpp": code,
                 "tools/tidy_ratchets.txt": "# Counts.\nchecks base 4\nchecks store 0\npronouns base 2\npronouns store 0\n"}
        tree = tidy.Tree(files)
        self.assertEqual(tidy.written_ratchets(tree), "# Counts.\nchecks base 4\nchecks store 1\n")
        soft = [f for f in tidy.check(tree) if f.soft]
        self.assertEqual([f.path for f in soft], ["src/base/README.md", "src/store/README.md"])

    def test_soft_limits_are_marked_soft(self):
        files = {**CLEAN, "src/store/store.cpp": self.in_store("// " + "x" * 98 + "\n" + "int a;\n" * 400)}
        soft = [f for f in tidy.check(tidy.Tree(files)) if f.soft]
        self.assertEqual(sorted(f.rule for f in soft), ["file-size", "line-length"])

    def test_names_that_say_nothing(self):
        for name in ("utils", "string_utils", "helpers", "job_manager", "common", "misc"):
            self.assert_finds("name", f"src/store/{name}.cpp", "int a;\n")
        more = {"src/store/types.h": "#pragma once\n",
                "src/store/store.cpp": self.in_store('#include "store/types.h"')}
        self.assertEqual([f.rule for f in findings(more)], ["name"])
        self.assert_finds("name", "src/store/store.cpp", self.in_store("class QueueManager {};"), line=2)

    def test_every_module_has_a_readme(self):
        self.assertEqual([str(f) for f in findings({"src/store/README.md": None})],
                         ["src/store/README.md:1: readme: missing"])

    def test_plugins_begin_with_a_summary(self):
        for text in ("int x;\n", "// x\nint x;\n", "#include <string>\n// Rejects jobs whose queue is closed.\n"):
            self.assert_finds("summary", "src/admission/steps/job.cpp", text)
        self.assert_clean({"src/admission/steps/job_test.cpp": "int x;\n"})

    def test_headers_nobody_includes(self):
        self.assert_finds("dead-file", "src/store/orphan.h", "#pragma once\n")
        self.assert_clean({"src/store/orphan.h": "#pragma once\n",
                           "src/store/text.cpp.in": '#include "store/orphan.h"\n'})

    def test_sources_nobody_builds(self):
        self.assert_finds("dead-file", "bench/forgotten.cpp", "int a;\n")
        self.assert_finds("dead-file", "test/support/deeper/forgotten.cpp", "int a;\n")
        self.assert_clean({"src/store/deeper/found.cpp": "int a;\n"})
        self.assert_clean({"fuzz/CMakeLists.txt": "add_executable(f target.cpp)\n", "fuzz/target.cpp": "int a;\n"})

    def test_leftovers(self):
        for word in ("TO" + "DO", "FIX" + "ME", "XX" + "X"):
            self.assert_finds("leftover", "src/store/store.cpp", self.in_store(f"// {word}: later"), line=2)
        self.assert_clean({"src/store/store.cpp": self.in_store('auto t = "/tmp/aXXXXXX";')})

    def test_whitespace(self):
        self.assert_finds("whitespace", "src/store/store.cpp", self.in_store("\tint a;"), 2, "tab")
        self.assert_finds("whitespace", "src/store/store.cpp", self.in_store("int a; "), 2, "trailing")
        self.assert_finds("whitespace", "src/store/README.md", "# store", 1, "newline")
        self.assert_finds("whitespace", "tools/run", "#!/bin/sh\n\ttrue\n", 2, "tab")

    def test_paths_of_a_machine(self):
        for folder in ("wo" + "rk", "ro" + "ot"):
            text = f'auto p = "/{folder}/main/x";'
            self.assert_finds("machine-path", "src/store/store.cpp", self.in_store(text), line=2)
            self.assert_finds("machine-path", "src/store/more_test.cpp", text + "\n")
            self.assert_clean({"src/store/more_test.cpp": f"TEST(Agent, HidesTheMachine) {{ {text} }}\n"})
        self.assert_clean({"src/store/store.cpp": self.in_store('auto p = "/ro' 'ot/.ssh/id_rsa";')})
        self.assert_clean({"src/store/store.cpp": self.in_store('auto p = "/workspace/x/root/y", q = "$d/root/z";')})

    def test_data_is_left_alone(self):
        self.assert_clean({"fuzz/corpus/http/get": "GET /\t\r\n", "api/facts.txt": "a \t\n", "notes.bin": "\t "})

    def make_repository(self, root, files):
        for path, text in files.items():
            full = os.path.join(root, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as file:
                file.write(text)
        subprocess.run(["git", "init", "-q", root], check=True)

    def test_sources_are_formatted(self):
        ugly, neat = "int  f( int a ) ;\n", "int f(int a);\n"
        with tempfile.TemporaryDirectory() as root:
            self.make_repository(root, {".clang-format": "BasedOnStyle: Google\n", ".gitignore": "/.cache/\n",
                                        "a.cpp": neat, "b.cpp": neat + ugly})
            check = lambda: [str(f) for f in tidy.formatting(root, tidy.read_repository(root))]
            for _ in range(2):  # the second time the clean one is known, the other is looked at again
                self.assertEqual(check(), ["b.cpp:2: format: clang-format-19 -i b.cpp"])
            for name in ("a.cpp", "b.cpp"):
                with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                    file.write(ugly if name == "a.cpp" else neat)
            self.assertEqual(check(), ["a.cpp:1: format: clang-format-19 -i a.cpp"])
            with open(os.path.join(root, "a.cpp"), "w", encoding="utf-8") as file:
                file.write(neat)
            self.assertEqual(check(), [])
            # Another style makes everything new.
            with open(os.path.join(root, ".clang-format"), "w", encoding="utf-8") as file:
                file.write("BasedOnStyle: GNU\n")
            self.assertEqual(len(check()), 2)

    def test_a_missing_formatter_is_a_finding(self):
        with tempfile.TemporaryDirectory() as root:
            self.make_repository(root, {".clang-format": "BasedOnStyle: Google\n", "a.cpp": "int a;\n"})
            path = os.environ["PATH"]
            tree = tidy.read_repository(root)
            try:
                os.environ["PATH"] = root
                found = list(tidy.formatting(root, tree))
            finally:
                os.environ["PATH"] = path
            self.assertEqual([f.rule for f in found], ["format"])
            self.assertIn("is not installed", found[0].text)

    def test_the_program_reads_a_repository_and_tells_by_its_exit_code(self):
        with tempfile.TemporaryDirectory() as root:
            self.make_repository(root, {**CLEAN, "build/x.cpp": "new\n", ".gitignore": "/build/\n"})
            run = [os.path.join(HERE, "tidy"), root]
            clean = subprocess.run(run, capture_output=True, text=True, check=False)
            self.assertEqual((clean.returncode, clean.stdout), (0, ""))
            with open(os.path.join(root, "src/store/store.cpp"), "a", encoding="utf-8") as file:
                file.write("auto p = new int;\n")
            dirty = subprocess.run(run, capture_output=True, text=True, check=False)
            self.assertEqual(dirty.returncode, 1)
            self.assertEqual(dirty.stdout, "src/store/store.cpp:4: banned-call: "
                                           "new expression; use make_unique or make_shared\n")


if __name__ == "__main__":
    unittest.main()
