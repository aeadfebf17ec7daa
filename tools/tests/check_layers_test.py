"""tools/check_layers.py on small trees made here."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import check_layers

ROWS = """
# A comment with di_library(none DEPS nothing) in it.
di_library(base
  DEPS
  SRCS base/a.cc
  TESTS base/a_test.cc)
di_library(tensor DEPS base SRCS tensor/t.cc)
di_library(backend DEPS base tensor SRCS backend/b.cc)
di_library(backend_cpu DEPS backend LINK dep::x SRCS backend/cpu/c.cc)
di_library(tokenizer DEPS base SRCS tokenizer/k.cc TESTS tokenizer/k_test.cc TEST_DEPS tensor)
di_library(engine DEPS tokenizer SRCS engine/e.cc)
di_library(cli DEPS engine backend_cpu LINK dep::cli11)
add_executable(deepinfer cli/main.cc)
"""
TABLE = """
| Layer | Library | Depends on |
|---|---|---|
| 0 | `base` | |
| 0 | `tensor` | `base` |
| 1 | `backend` | `base` `tensor` |
| 1 | `backend_cpu` | `backend` |
| 1 | `tokenizer` | `base` |
| 4 | `engine` | `tokenizer` |
| 5 | `cli` | `engine` `backend_cpu` |
"""
FILES = {
    "docs/architecture.md": TABLE,
    "src/CMakeLists.txt": ROWS,
    "src/base/a.h": "#pragma once\n#include <string>\n",
    "src/base/a.cc": '#include "base/a.h"\n#include "deepinfer/status.h"\n#include <simdjson.h>\n',
    "src/base/a_test.cc": '#include <gtest/gtest.h>\n#include "base/a.h"\n',
    "src/base/test_tree.h": "#include <gtest/gtest.h>\n",
    "src/tensor/t.h": '#include "base/a.h"\n',
    "src/tensor/t.cc": '#include "tensor/t.h"\n',
    "src/backend/b.h": '#include "tensor/t.h"\n',
    "src/backend/b.cc": '#include "backend/b.h"\n#include "backend/ops/o.h"\n',
    "src/backend/ops/o.h": "",
    "src/backend/cpu/c.cc": '#include "backend/ops/o.h"\n#include "base/a.h"\n#include <immintrin.h>\n',
    "src/tokenizer/k.cc": '#include "base/a.h"\n',
    "src/tokenizer/k_test.cc": '#include "tensor/t.h"\n',
    "src/engine/e.cc": '#include "deepinfer/llm.h"\n#include "tokenizer/k.h"\n#include "base/a.h"\n',
    "src/tokenizer/k.h": "",
    "src/cli/main.cc": '#include "engine/x.h"\n#include "backend/cpu/c.h"\n#include <CLI/CLI.hpp>\n',
    "src/engine/x.h": "",
    "src/backend/cpu/c.h": "",
    "include/deepinfer/status.h": "#include <string>\n",
    "include/deepinfer/config.h": '#include "deepinfer/status.h"\n',
    "include/deepinfer/llm.h": '#include "deepinfer/config.h"\n#include <vector>\n',
}


class CheckLayersTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name, text in FILES.items():
            self.write(name, text)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def faults(self):
        return check_layers.Tree(self.root).check()

    def assert_one_fault(self, *parts):
        faults = self.faults()
        self.assertEqual(len(faults), 1, faults)
        for part in parts:
            self.assertIn(part, faults[0])

    def test_a_sound_tree_has_no_fault(self):
        self.assertEqual(self.faults(), [])

    def test_an_include_outside_the_row_is_named_with_its_line(self):
        self.write("src/base/a.cc", '#include "base/a.h"\n\n  #  include "tensor/t.h"\n')
        self.assert_one_fault("src/base/a.cc:3:", "tensor/t.h", "does not reach tensor")

    def test_what_the_row_reaches_over_another_row_is_allowed(self):
        self.write("src/backend/cpu/c.cc", '#include "tensor/t.h"\n')
        self.assertEqual(self.faults(), [])

    def test_nothing_reaches_down_into_an_implementation(self):
        self.write("src/backend/b.cc", '#include "backend/cpu/c.h"\n')
        self.assert_one_fault("src/backend/b.cc:1:", "does not reach backend_cpu")

    def test_only_tests_may_use_test_deps(self):
        self.write("src/tokenizer/k.cc", '#include "tensor/t.h"\n')
        self.assert_one_fault("src/tokenizer/k.cc:1:", "does not reach tensor")

    def test_the_table_of_the_document_must_agree(self):
        self.write("docs/architecture.md", TABLE.replace("| `tokenizer` | `base` |", "| `tokenizer` | `base` `tensor` |"))
        self.assert_one_fault("docs/architecture.md:8:", "the table says base tensor, src/CMakeLists.txt says base")
        self.write("docs/architecture.md", TABLE.replace("| 4 | `engine`", "| 4 | `engines`"))
        faults = self.faults()
        self.assertEqual(len(faults), 2, faults)
        self.assertIn("engines has no di_library() row", faults[0])
        self.assertIn("its table lacks engine", faults[1])
        self.write("docs/architecture.md", TABLE + "| 0 | `base` | |\n")
        self.assert_one_fault("docs/architecture.md:11:", "base stands in the table twice")
        self.write("docs/architecture.md", TABLE.replace("| 0 | `tensor`", "| 2 | `tensor`"))
        self.assert_one_fault("docs/architecture.md:6:", "below tensor")

    def test_a_cycle_is_shown(self):
        self.write("src/CMakeLists.txt", ROWS.replace("di_library(base\n  DEPS", "di_library(base\n  DEPS backend"))
        self.assertTrue(any("cycle base -> backend -> base" in f for f in self.faults()), self.faults())

    def test_a_library_that_depends_on_itself_is_a_cycle(self):
        self.write("src/CMakeLists.txt", ROWS.replace("di_library(tensor DEPS base", "di_library(tensor DEPS base tensor"))
        self.assertTrue(any("cycle tensor -> tensor" in f for f in self.faults()), self.faults())

    def test_an_unknown_dependency_is_named(self):
        self.write("src/CMakeLists.txt", ROWS.replace("DEPS tokenizer SRCS", "DEPS tokenizer sched SRCS"))
        self.assertTrue(any("engine depends on sched" in f for f in self.faults()), self.faults())

    def test_a_folder_without_a_row_is_named(self):
        self.write("src/net/n.h", "")
        self.assert_one_fault("src/net/n.h:1:", "no di_library() row")

    def test_a_source_that_is_never_built_is_named(self):
        self.write("src/base/lost.cc", "")
        self.assert_one_fault("src/base/lost.cc:1:", "never built")

    def test_a_listed_file_must_exist_in_its_own_folder(self):
        self.write("src/CMakeLists.txt", ROWS.replace("SRCS tensor/t.cc", "SRCS tensor/t.cc tensor/gone.cc tokenizer/k.cc"))
        faults = self.faults()
        self.assertEqual(len(faults), 2, faults)
        self.assertIn("src/tensor/gone.cc, which does not exist", faults[0])
        self.assertIn("src/tokenizer/k.cc, which is not in src/tensor", faults[1])

    def test_an_include_by_a_relative_path_is_refused(self):
        self.write("src/base/a.cc", '#include "a.h"\n')
        self.assert_one_fault('"a.h" is not in src/')

    def test_third_party_headers_stay_in_their_folder(self):
        self.write("src/tokenizer/k.cc", "#include <simdjson.h>\n")
        self.assert_one_fault("src/tokenizer/k.cc:1:", "<simdjson.h>", "src/base")

    def test_a_test_library_stays_in_tests(self):
        self.write("src/base/a.cc", "#include <nlohmann/json.hpp>\n")
        self.assert_one_fault("only in tests")
        self.write("src/base/a.cc", "")
        self.write("src/base/a_test.cc", "#include <nlohmann/json.hpp>\n")
        self.assertEqual(self.faults(), [])

    def test_a_public_header_belongs_to_its_library(self):
        self.write("src/tokenizer/k.cc", '#include "deepinfer/llm.h"\n')
        self.assert_one_fault("does not reach engine")

    def test_a_public_header_includes_public_headers_alone(self):
        self.write("include/deepinfer/llm.h", '#include "base/a.h"\n#include <fmt/core.h>\n#include "deepinfer/gone.h"\n')
        self.assertEqual(len(self.faults()), 3, self.faults())

    def test_a_data_header_includes_data_headers_alone(self):
        self.write("include/deepinfer/status.h", '#include "deepinfer/llm.h"\n')
        self.assert_one_fault("include/deepinfer/status.h:1:", "another library")

    def test_a_public_header_without_an_owner_is_named(self):
        self.write("include/deepinfer/new.h", "")
        self.assert_one_fault("include/deepinfer/new.h:1:", "without an owner")

    def test_rows_that_can_not_be_read_are_an_error(self):
        for rows in ("", "di_library(base a.cc)", "di_library()", ROWS + "di_library(base DEPS)"):
            with self.subTest(rows=rows):
                self.write("src/CMakeLists.txt", rows)
                with self.assertRaises(check_layers.CheckError):
                    self.faults()

    def test_the_exit_status_tells(self):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual(check_layers.main(["--root", str(self.root)]), 0)
            self.write("src/base/a.cc", '#include "tensor/t.h"\n')
            self.assertEqual(check_layers.main(["--root", str(self.root)]), 1)
            self.write("src/CMakeLists.txt", "")
            self.assertEqual(check_layers.main(["--root", str(self.root)]), 2)


if __name__ == "__main__":
    unittest.main()
