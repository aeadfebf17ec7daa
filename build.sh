#!/usr/bin/env bash
# Usage: ./build.sh           install what is missing, build, and put the command and the Python package into .venv
#        ./build.sh demo      the same, then answer a few prompts with the built-in model
#        ./build.sh test      the same, then run every test
#        ./build.sh wheel     the same, then make dist/*.whl
#        ./build.sh clean     remove build folders, .venv and dist; keeps .deps
#        ./build.sh --help    this text
#
# Environment: DEEPINFER_ACCELERATOR=cpu|nvidia|ascend   the backend to build beside the CPU's (default: nvidia
#                                                        where a device and that backend are present, else cpu)
#              PYTHON=/path/to/python3                   the interpreter of .venv (default: the system's)
#
# May be run again at any time; with nothing changed it takes seconds.
set -euo pipefail
cd "$(dirname "$0")"

BUILD=build
LOGS=$BUILD/logs
STEP=0

die() { printf 'build.sh: %s\n' "$*" >&2; exit 1; }
note() { STEP=$((STEP + 1)); printf '[%d] %s\n' "$STEP" "$*"; }

# quietly LABEL COMMAND...: one line for the step; the command's output goes to a log, whose end is shown on failure.
quietly() {
  local label=$1 log begin=$SECONDS
  shift
  STEP=$((STEP + 1))
  mkdir -p "$LOGS"
  log=$LOGS/$STEP.log
  printf '[%d] %s ... ' "$STEP" "$label"
  if "$@" >"$log" 2>&1; then
    printf 'done, %d s\n' $((SECONDS - begin))
  else
    printf 'failed\n'
    tail -n 40 "$log" >&2
    die "$label failed; the whole output is in $log"
  fi
}

# Sets PRESET (CMakePresets.json) from DEEPINFER_ACCELERATOR and the machine.
choose_backend() {
  local accelerator=${DEEPINFER_ACCELERATOR:-}
  if [ -z "$accelerator" ]; then
    accelerator=cpu
    if [ -e /dev/nvidia0 ] && [ -d src/backend/cuda ]; then accelerator=nvidia; fi
  fi
  case $accelerator in
    cpu)
      PRESET=release
      if [ -n "${CI:-}" ]; then PRESET=ci; fi
      ;;
    nvidia)
      [ -d src/backend/cuda ] ||
        die "DEEPINFER_ACCELERATOR=nvidia: the NVIDIA backend does not exist yet; it belongs in src/backend/cuda"
      PRESET=cuda-release
      ;;
    ascend)
      die "DEEPINFER_ACCELERATOR=ascend: the Ascend backend does not exist yet; it belongs in src/backend/ascend"
      ;;
    *) die "DEEPINFER_ACCELERATOR: expected cpu, nvidia or ascend, got $accelerator" ;;
  esac
  note "backend: $accelerator"
}

install_system_packages() {
  local need
  if ! need=$(tools/deps.sh missing); then
    note "system packages: unknown distribution, building with what is installed"
    return
  fi
  if [ -z "$need" ]; then
    note "system packages: all installed"
  elif [ "$(id -u)" = 0 ]; then
    quietly "installing $(wc -w <<<"$need") system packages (about a minute)" tools/deps.sh system
  elif command -v sudo >/dev/null; then
    note "installing $(wc -w <<<"$need") system packages with sudo"
    sudo tools/deps.sh system
  else
    die "$(wc -w <<<"$need") system packages are missing and this is not root; run this once, then ./build.sh again:
  su -c '$PWD/tools/deps.sh system'"
  fi
}

# Configures when the choice or the presets changed; ninja sees to changes of the CMake files by itself.
configure() {
  local wanted
  wanted="$PRESET $(sha256sum CMakePresets.json tools/deps.sh .venv/deps-stamp | sha256sum)"
  if [ -f $BUILD/build.ninja ] && [ "$(cat $BUILD/configured 2>/dev/null)" = "$wanted" ]; then
    note "configuration: $PRESET, unchanged"
    return
  fi
  rm -f $BUILD/configured
  quietly "configuring: $PRESET" cmake --preset "$PRESET"
  echo "$wanted" >$BUILD/configured
}

# As many compilers as cores, but one for each GiB that is free: the largest files want nearly that much.
num_jobs() {
  local cores gib
  cores=$(nproc)
  gib=$(awk '/^MemAvailable/ {print int($2 / 1048576)}' /proc/meminfo)
  if [ "$gib" -lt 1 ]; then gib=1; fi
  echo $((cores < gib ? cores : gib))
}

# compile TARGET.  A terminal gets ninja's own moving line, a log one line for each tenth of the work.
compile() {
  local begin=$SECONDS
  note "compiling with $(num_jobs) jobs"
  if [ -t 1 ]; then
    NINJA_STATUS='    %f/%t, %es  ' ninja -C $BUILD -j "$(num_jobs)" "$1"
  else
    NINJA_STATUS='@%f %t @' ninja -C $BUILD -j "$(num_jobs)" "$1" | awk '
      /^@[0-9]+ [0-9]+ @/ {
        done = substr($1, 2); tenth = int(10 * done / $2)
        if (tenth != last) { last = tenth; printf "    %d/%d\n", done, $2; fflush() }
        next
      }
      !/^ninja: (Entering directory|no work to do)/ { print; fflush() }'
  fi
  note "compiled in $((SECONDS - begin)) s"
}

install_into_venv() {
  local site
  site=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
  # A module that was deleted in the source must not live on.
  rm -rf "$site/deepinfer" "$site"/deepinfer-*.dist-info
  cmake --install $BUILD --component python --prefix "$site" >/dev/null
  cmake --install $BUILD --component venv --prefix "$site" >/dev/null
  cmake --install $BUILD --component cli --prefix .venv >/dev/null
  .venv/bin/python -c 'import deepinfer' || die "the package that was just installed can't be imported"
  note "installed: .venv/bin/deepinfer and the Python package in .venv"
}

# build TARGET: `product` is what gets installed, `all` has the tests too.
build() {
  choose_backend
  install_system_packages
  quietly "Python environment .venv" tools/deps.sh python
  configure
  compile "$1"
  install_into_venv
}

demo() {
  local prompt
  note "the built-in model answers (a small test article: fluent, seldom right)"
  for prompt in "Who are you?" "Reverse this list: red, blue, green" "What is a river?"; do
    printf '\n> %s\n' "$prompt"
    .venv/bin/deepinfer generate --chat --model models/DeepSeek-V4.1-Tiny --temperature 0 --max-tokens 64 "$prompt"
  done
}

# Runs all tests even when some fail; the last lines are the two summaries.
run_tests() {
  local failed=""
  note "C++ tests"
  ctest --test-dir $BUILD --output-on-failure --no-tests=error -j "$(nproc)" || failed="ctest"
  note "Python tests"
  .venv/bin/python -m pytest -q || failed="$failed pytest"
  [ -z "$failed" ] || die "failed: $failed"
}

wheel() {
  quietly "building the wheel" .venv/bin/python -m build --wheel --no-isolation
  ls -l dist/*.whl
}

if [ $# -gt 1 ]; then die "expected one argument, got $#; see ./build.sh --help"; fi
case "${1:-build}" in
  build) build product ;;
  demo) build product; demo ;;
  test) build all; run_tests ;;
  wheel) build product; wheel ;;
  clean)
    rm -rf build build-* dist .venv .pytest_cache
    find python tests tools examples -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true
    ;;
  -h | --help | help) sed -n '2,/^set /s/^# \{0,1\}//p' "$0" | sed '/^set /d' ;;
  *) die "unknown argument $1; see ./build.sh --help" ;;
esac
