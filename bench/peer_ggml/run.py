#!/usr/bin/env python3
"""Alternates our matrix-vector benchmarks with those of ggml and prints a table (see README.md)."""

import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

PACKAGE = "llama-cpp-python"
# (our weight format, ggml's, bytes a weight of ours and of ggml's, [(rows, columns)])
FORMATS = [
    ("f8", "q8_0", 1 + 1 / 1024, 34 / 32, [(32768, 1280), (32768, 5120), (20480, 8192)]),
    ("f4", "mxfp4", 17 / 32, 17 / 32, [(55296, 5120), (122880, 2304)]),
]
# Our instruction set and type of activations, and the build of ggml to compare with.
KINDS = [("avx2_f32", "avx2"), ("avx512_f32", "native"), ("avx512bf16_bf16", "native")]
CMAKE_FLAGS = {
    "avx2": ["-DGGML_NATIVE=OFF", "-DGGML_AVX2=ON", "-DGGML_FMA=ON", "-DGGML_F16C=ON", "-DGGML_BMI2=ON"],
    "native": ["-DGGML_NATIVE=ON"],
}


def run(command, **options):
    return subprocess.run([str(part) for part in command], check=True, **options)


def fetch(work):
    """The source tree of ggml inside the package."""
    found = sorted(work.glob("llama_cpp_python-*/vendor/llama.cpp"))
    if not found:
        run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", PACKAGE, PACKAGE, "-d", work])
        archive = next(work.glob("llama_cpp_python-*.tar.gz"))
        run(["tar", "-C", work, "-xf", archive])
        found = sorted(work.glob("llama_cpp_python-*/vendor/llama.cpp"))
    test = found[0] / "tests" / "test-backend-ops.cpp"
    text = test.read_text()
    test.write_text(text.replace("std::max<int>(1, N_THREADS/2)", "std::max<int>(1, N_THREADS)"))
    return found[0]


def build(source, work, name):
    folder = work / f"build-{name}"
    binary = folder / "bin" / "test-backend-ops"
    if not binary.exists():
        run(["cmake", "-S", source, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DLLAMA_CURL=OFF",
             "-DLLAMA_BUILD_TESTS=ON", "-DLLAMA_BUILD_EXAMPLES=OFF", "-DLLAMA_BUILD_TOOLS=OFF",
             "-DLLAMA_BUILD_SERVER=OFF", *CMAKE_FLAGS[name]], stdout=subprocess.DEVNULL)
        run(["cmake", "--build", folder, "--target", "test-backend-ops"], stdout=subprocess.DEVNULL)
    return binary


def constants(source, work):
    """ggml's numbers for the op and the types, asked from its header."""
    program = work / "constants.c"
    program.write_text('#include <stdio.h>\n#include "ggml.h"\nint main(void) { printf("%d %d %d %d", GGML_OP_MUL_MAT, '
                       'GGML_TYPE_F32, GGML_TYPE_Q8_0, GGML_TYPE_MXFP4); return 0; }\n')
    run(["cc", "-I", source / "ggml" / "include", program, "-o", work / "constants"])
    out = run([work / "constants"], capture_output=True, text=True).stdout
    op, f32, q8_0, mxfp4 = map(int, out.split())
    return {"op": op, "f32": f32, "q8_0": q8_0, "mxfp4": mxfp4}


def write_case(path, numbers, peer_type, rows, cols):
    """One line of the format that test-backend-ops reads: y[rows] = W[rows, cols] x[cols]."""
    block, block_bytes = {"q8_0": (32, 34), "mxfp4": (32, 17)}[peer_type]
    row_bytes = cols // block * block_bytes

    def tensor(type_number, shape, strides):
        return [type_number, *shape, *strides]

    line = [numbers["op"], numbers["f32"], rows, 1, 1, 1, 0, 2,
            *tensor(numbers[peer_type], (cols, rows, 1, 1), (block_bytes, row_bytes, row_bytes * rows, row_bytes * rows)),
            *tensor(numbers["f32"], (cols, 1, 1, 1), (4, 4 * cols, 4 * cols, 4 * cols)), "-"]
    path.write_text(" ".join(map(str, line)) + "\n")


def peer_seconds(binary, case):
    out = run([binary, "perf", "--test-file", case, "-b", "CPU"], capture_output=True, text=True).stdout
    found = re.search(r"([0-9.]+) us/run", out)
    if found is None:
        sys.exit(f"expected a time in the output of {binary}, got:\n{out}")
    return float(found.group(1)) * 1e-6


def our_seconds(bench, kind, weight, rows, cols):
    """Time of one call and read bandwidth of the machine, bytes a second."""
    name = f"BM_Linear/{kind}_{weight}/m:1/n:{rows}/k:{cols}/threads:0/real_time$"
    out = run([bench, f"--benchmark_filter={name}", "--benchmark_min_time=1", "--benchmark_format=json"],
              capture_output=True, text=True).stdout
    result = json.loads(out)["benchmarks"]
    if not result:
        sys.exit(f"expected a benchmark {name} in {bench}")
    if result[0].get("error_occurred"):
        return None
    seconds = result[0]["real_time"] * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3}[result[0]["time_unit"]]
    return seconds, result[0]["B/s"] / result[0]["of_read_bandwidth"]


def measure(args, binaries, case, row):
    weight, peer_type, kind, peer_build, rows, cols = row
    ours, peers, bandwidths = [], [], []
    for _ in range(args.rounds):
        result = our_seconds(args.bench, kind, weight, rows, cols)
        if result is None:
            return None
        ours.append(result[0])
        bandwidths.append(result[1])
        peers.append(peer_seconds(binaries[peer_build], case))
    return statistics.median(ours), statistics.median(peers), statistics.median(bandwidths)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bench", type=pathlib.Path, required=True, help="our benchmark binary, backend_cpu_bench")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "peer_ggml",
                        help="folder for ggml's source and builds, kept between runs (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each (default: %(default)s)")
    parser.add_argument("--kind", help="only this one of ours, for example avx2_f32")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    source = fetch(args.work)
    kinds = [kind for kind in KINDS if args.kind in (None, kind[0])]
    binaries = {name: build(source, args.work, name) for name in {peer for _, peer in kinds}}
    numbers = constants(source, args.work)
    case = args.work / "case.txt"
    print(f"{'ours':<22}{'ggml':<14}{'rows x columns':<16}{'ours us':>9}{'GB/s':>7}{'share':>7}"
          f"{'ggml us':>10}{'GB/s':>7}{'share':>7}{'ggml/ours':>11}")
    for weight, peer_type, our_bytes, peer_bytes, shapes in FORMATS:
        for kind, peer_build in kinds:
            for rows, cols in shapes:
                write_case(case, numbers, peer_type, rows, cols)
                result = measure(args, binaries, case, (weight, peer_type, kind, peer_build, rows, cols))
                if result is None:
                    print(f"{kind + '_' + weight:<22}not on this machine")
                    break
                ours, peer, bandwidth = result
                our_rate, peer_rate = rows * cols * our_bytes / ours, rows * cols * peer_bytes / peer
                print(f"{kind + '_' + weight:<22}{peer_type + ' ' + peer_build:<14}{f'{rows} x {cols}':<16}"
                      f"{ours * 1e6:>9.0f}{our_rate / 1e9:>7.1f}{our_rate / bandwidth:>7.0%}"
                      f"{peer * 1e6:>10.0f}{peer_rate / 1e9:>7.1f}{peer_rate / bandwidth:>7.0%}{peer / ours:>11.2f}",
                      flush=True)


if __name__ == "__main__":
    main()
