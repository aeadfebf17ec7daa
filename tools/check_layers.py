#!/usr/bin/env python3
"""Checks every #include of the engine against the arrows of the architecture.

Usage: tools/check_layers.py [--root DIR]

Files called x_test, x_bench and test_x are tests, benchmarks and what they share.

The arrows are the DEPS of the di_library() rows in src/CMakeLists.txt: a library may include itself and whatever its
row reaches.  Tests and benchmarks of a library may use its TEST_DEPS too.  Public headers belong to the library that
implements them; the data headers are open to all.  A third-party header may be included only in the folders that wrap
it.

The table of docs/architecture.md shows the same rows, with a layer number that no dependency exceeds.

Prints one line for each fault, `file:line: what`, and exits with 1 if there is any, with 2 if it could not check.
"""

import argparse
import pathlib
import re
import sys

SOURCE_SUFFIXES = (".h", ".cc", ".cu", ".cuh", ".inc")
DATA_HEADERS = ("status.h", "config.h", "request.h", "output.h")
# The owner of each other public header, by the start of its path under include/deepinfer.
PUBLIC_OWNERS = (("llm.h", "engine"), ("engine.h", "engine"), ("recipe/", "recipe"))

# Third-party headers, by the start of the include, and the only folders of src/ that may use them.  Tests may use
# whatever they link.
THIRD_PARTY = (
    ("simdjson", ("base",)),
    ("gtest/", ()),
    ("gmock/", ()),
    ("nlohmann/", ()),
    ("rapidcheck", ()),
    ("fmt/", ("base",)),
    ("spdlog/", ("base",)),
    ("CLI/", ("cli",)),
    ("curl/", ("base",)),
    ("boost/", ("net",)),
    ("openssl/", ("base", "net", "kv")),
    ("zstd", ("base", "net", "runner")),
    ("xxhash", ("base", "kv")),
    ("pcre2", ("tokenizer",)),
    ("xgrammar/", ("grammar",)),
    ("dlpack/", ("grammar",)),
    ("opencv2/", ("image",)),
    ("liburing", ("runner",)),
    ("mpi.h", ("backend/cpu", "backend/cuda")),
    ("nccl", ("backend/cuda",)),
    ("cuda", ("backend/cuda",)),
    ("cublas", ("backend/cuda",)),
    ("cutlass/", ("backend/cuda",)),
    ("cute/", ("backend/cuda",)),
    ("immintrin.h", ("base", "tensor", "tokenizer", "backend/cpu")),
    ("x86intrin.h", ("base", "tensor", "tokenizer", "backend/cpu")),
    ("cpuid.h", ("base", "backend/cpu")),
)

KEYWORDS = ("DEPS", "LINK", "SRCS", "TESTS", "TEST_DEPS", "BENCH")
TABLE_ROW = re.compile(r"^\| (\d+) \| `(\w+)` \|([^|]*)\|$")  # | 1 | `backend` | `base` `tensor` |
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')


class CheckError(Exception):
    """The rows can't be read, so nothing can be checked."""


class Library:
    """One di_library() row."""

    def __init__(self, name, line, lists):
        self.name = name
        self.line = line
        self.deps = lists["DEPS"]
        self.test_deps = lists["TEST_DEPS"]
        self.files = lists["SRCS"] + lists["TESTS"] + lists["BENCH"]

    @property
    def folder(self):
        """Where its files lie under src/: backend_cpu in backend/cpu, any other library in its own name."""
        return self.name.replace("_", "/", 1) if self.name.startswith("backend_") else self.name


def parse_rows(text):
    """The di_library() rows of a CMake file, by name."""
    code = re.sub(r"#[^\n]*", "", text)
    rows = {}
    for match in re.finditer(r"\bdi_library\s*\(([^()]*)\)", code):
        line = code.count("\n", 0, match.start()) + 1
        words = match.group(1).replace(";", " ").split()
        if not words:
            raise CheckError(f"src/CMakeLists.txt:{line}: di_library without a name")
        lists = {keyword: [] for keyword in KEYWORDS}
        current = None
        for word in words[1:]:
            if word in lists:
                current = lists[word]
            elif current is None:
                raise CheckError(f"src/CMakeLists.txt:{line}: {words[0]}: expected one of {' '.join(KEYWORDS)}, got {word}")
            else:
                current.append(word.strip('"'))
        if words[0] in rows:
            raise CheckError(f"src/CMakeLists.txt:{line}: {words[0]} has a second row")
        rows[words[0]] = Library(words[0], line, lists)
    if not rows:
        raise CheckError("src/CMakeLists.txt: expected di_library() rows, found none")
    return rows


def check_rows(rows):
    """Faults of the rows themselves: unknown names and cycles."""
    faults = []
    for lib in rows.values():
        for dep in lib.deps + lib.test_deps:
            if dep not in rows:
                faults.append(f"src/CMakeLists.txt:{lib.line}: {lib.name} depends on {dep}, which has no row")
    done, path = set(), []

    def visit(name):
        if name in path:
            cycle = path[path.index(name):] + [name]
            faults.append(f"src/CMakeLists.txt:{rows[name].line}: cycle {' -> '.join(cycle)}")
            return
        if name in done or name not in rows:
            return
        path.append(name)
        for dep in rows[name].deps:
            visit(dep)
        path.pop()
        done.add(name)

    for name in rows:
        visit(name)
    return faults


def check_table(rows, text):
    """Faults of the table in docs/architecture.md against the rows."""
    faults, layers = [], {}
    where = "docs/architecture.md"
    for number, line in enumerate(text.splitlines(), 1):
        match = TABLE_ROW.match(line)
        if not match:
            continue
        layer, name, deps = int(match.group(1)), match.group(2), re.findall(r"`(\w+)`", match.group(3))
        if name in layers:
            faults.append(f"{where}:{number}: {name} stands in the table twice")
        layers[name] = layer
        if name not in rows:
            faults.append(f"{where}:{number}: {name} has no di_library() row in src/CMakeLists.txt")
            continue
        if sorted(deps) != sorted(rows[name].deps):
            faults.append(f"{where}:{number}: {name}: the table says {' '.join(deps) or 'nothing'}, "
                          f"src/CMakeLists.txt says {' '.join(rows[name].deps) or 'nothing'}")
        above = [d for d in deps if layers.get(d, -1) > layer]
        if above:
            faults.append(f"{where}:{number}: {name} is in layer {layer}, below {' '.join(above)} that it depends on")
    faults += [f"{where}:1: its table lacks {name}" for name in rows if name not in layers]
    return faults


def reach(rows, names):
    """The libraries in `names` and all that their rows reach."""
    seen, todo = set(), list(names)
    while todo:
        name = todo.pop()
        if name not in seen and name in rows:
            seen.add(name)
            todo.extend(rows[name].deps)
    return seen


def owner_of(rows, path):
    """The name of the library whose folder holds `path` (relative to src/), or None.  The innermost folder wins."""
    best = None
    for lib in rows.values():
        if path.startswith(lib.folder + "/") and (best is None or len(lib.folder) > len(best.folder)):
            best = lib
    return best.name if best else None


def includes_of(path):
    """(line number, path, is in angle brackets) of each #include."""
    text = path.read_text(encoding="utf-8", errors="replace")
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1) or match.group(2), match.group(1) is None


def is_test(path):
    return path.stem.endswith(("_test", "_bench")) or path.stem.startswith("test_")


def third_party_fault(included, folder):
    """What is wrong with including a third-party header from `folder`, or None."""
    for prefix, folders in THIRD_PARTY:
        if not included.startswith(prefix):
            continue
        if any(folder == f or folder.startswith(f + "/") for f in folders):
            return None
        return f"<{included}> may be included only in {', '.join('src/' + f for f in folders) or 'tests'}"
    return None


class Tree:
    """The source tree under one root, and the checks over it."""

    def __init__(self, root):
        self.root = root
        cmake = root / "src" / "CMakeLists.txt"
        if not cmake.is_file():
            raise CheckError(f"{cmake}: no such file")
        self.rows = parse_rows(cmake.read_text(encoding="utf-8"))

    def files(self, folder):
        top = self.root / folder
        return sorted(p for p in top.rglob("*") if p.suffix in SOURCE_SUFFIXES and p.is_file())

    def check(self):
        faults = check_rows(self.rows) + self.check_file_lists() + check_table(self.rows, self.table_text())
        for path in self.files("src"):
            faults += self.check_source(path)
        for path in self.files("include/deepinfer"):
            faults += self.check_public_header(path)
        return faults

    def table_text(self):
        path = self.root / "docs" / "architecture.md"
        if not path.is_file():
            raise CheckError(f"{path}: no such file")
        return path.read_text(encoding="utf-8")

    def check_file_lists(self):
        """A listed file exists and lies in its library's folder; a source that no CMake file names is never built."""
        faults = []
        for lib in self.rows.values():
            for name in lib.files:
                if "$" in name:
                    continue
                if not (self.root / "src" / name).is_file():
                    faults.append(f"src/CMakeLists.txt:{lib.line}: {lib.name} lists src/{name}, which does not exist")
                elif owner_of(self.rows, name) != lib.name:
                    faults.append(f"src/CMakeLists.txt:{lib.line}: {lib.name} lists src/{name}, which is not in src/{lib.folder}")
        cmake_text = "\n".join(p.read_text(encoding="utf-8") for p in sorted((self.root / "src").rglob("CMakeLists.txt")))
        words = {w.rsplit("/", 1)[-1] for w in re.findall(r"[\w./-]+", re.sub(r"#[^\n]*", "", cmake_text))}
        for path in self.files("src"):
            if path.suffix in (".cc", ".cu") and path.name not in words:
                faults.append(f"{path.relative_to(self.root)}:1: no CMake file lists it, so it is never built")
        return faults

    def check_source(self, path):
        """Faults of the includes of one file under src/."""
        inside = path.relative_to(self.root / "src").as_posix()
        where = path.relative_to(self.root).as_posix()
        folder = inside.rpartition("/")[0]
        name = owner_of(self.rows, inside)
        if name is None:
            return [f"{where}:1: its folder has no di_library() row in src/CMakeLists.txt"]
        allowed = reach(self.rows, [name] + (self.rows[name].test_deps if is_test(path) else []))
        faults = []
        for line, included, in_brackets in includes_of(path):
            if in_brackets or included.startswith(("gtest/", "gmock/")):
                fault = None if is_test(path) else third_party_fault(included, folder)
            else:
                fault = self.project_fault(included, name, allowed)
            if fault:
                faults.append(f"{where}:{line}: {fault}")
        return faults

    def project_fault(self, included, name, allowed):
        """What is wrong with `name` including "included", or None.  `allowed` is a set of libraries."""
        if included.startswith("deepinfer/"):
            public = included[len("deepinfer/"):]
            if not (self.root / "include" / included).is_file():
                return f'"{included}" is not in include/'
            if public in DATA_HEADERS:
                return None
            target = public_owner(public)
            if target is None:
                return f'"{included}" is a public header without an owner in tools/check_layers.py'
        else:
            if not (self.root / "src" / included).is_file():
                return f'"{included}" is not in src/; project headers are included by their path under src/'
            target = owner_of(self.rows, included)
            if target is None:
                return f'"{included}" lies in a folder without a row'
        if target in allowed:
            return None
        return f'{name} may not include "{included}": its row does not reach {target}'

    def check_public_header(self, path):
        """A public header is all that a user gets, so it includes public headers and the standard library alone."""
        public = path.relative_to(self.root / "include" / "deepinfer").as_posix()
        where = path.relative_to(self.root).as_posix()
        owner = None if public in DATA_HEADERS else public_owner(public)
        faults = []
        if owner is None and public not in DATA_HEADERS:
            faults.append(f"{where}:1: a public header without an owner in tools/check_layers.py")
        for line, included, in_brackets in includes_of(path):
            fault = None
            if in_brackets:
                if "/" in included or third_party_fault(included, "include"):
                    fault = f"<{included}>: a public header includes the standard library and public headers alone"
            elif not included.startswith("deepinfer/"):
                fault = f'"{included}": a public header includes the standard library and public headers alone'
            elif not (self.root / "include" / included).is_file():
                fault = f'"{included}" is not in include/'
            elif included[len("deepinfer/"):] not in DATA_HEADERS and public_owner(included[len("deepinfer/"):]) != owner:
                fault = f'"{included}" belongs to another library'
            if fault:
                faults.append(f"{where}:{line}: {fault}")
        return faults


def public_owner(public):
    for prefix, owner in PUBLIC_OWNERS:
        if public.startswith(prefix):
            return owner
    return None


def main(argv=None):
    parser = argparse.ArgumentParser(description="Checks every #include against the arrows of src/CMakeLists.txt.")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    options = parser.parse_args(argv)
    try:
        tree = Tree(options.root)
        faults = tree.check()
    except CheckError as error:
        print(error, file=sys.stderr)
        return 2
    for fault in faults:
        print(fault)
    if faults:
        print(f"check_layers: {len(faults)} faults")
        return 1
    print(f"check_layers: {len(tree.rows)} libraries, no fault")
    return 0


if __name__ == "__main__":
    sys.exit(main())
