#!/usr/bin/env bash
# Usage: tools/deps.sh system   install distribution packages (root; Debian 12 or Ubuntu 24.04)
#        tools/deps.sh prefix   fill .deps/ (no root): libraries a build host without packages needs
set -euo pipefail
cd "$(dirname "$0")/.."
. /etc/os-release
XGRAMMAR=0.2.9; CUTLASS=4.2.0.0
case "$ID$VERSION_ID" in
  debian12)    BOOST=libboost1.81-dev ;;
  ubuntu24.04) BOOST=libboost1.83-dev ;;
  *) echo "unsupported: $PRETTY_NAME" >&2; exit 1 ;;
esac
CORE="zlib1g-dev libsimdjson-dev libfmt-dev libspdlog-dev libcli11-dev libzstd-dev libxxhash-dev liburing-dev
      libpcre2-dev nlohmann-json3-dev librapidcheck-dev"
system() {
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -q
  apt-get install -y --no-install-recommends g++ cmake ninja-build pkg-config ccache python3-dev python3-venv python3-pip \
    "$BOOST" libopencv-core-dev libopencv-imgproc-dev libopencv-imgcodecs-dev libssl-dev libcurl4-openssl-dev libopenmpi-dev openmpi-bin libgtest-dev libgmock-dev libbenchmark-dev $CORE
}
prefix() {
  local P=$PWD/.deps w; w=$(mktemp -d); rm -rf "$P"; mkdir -p "$P/lib" "$P/include"
  local pk=() p
  for p in $CORE; do pk+=("$p"); done
  # run-time halves of the packages that ship no static archive
  pk+=($(apt-cache depends libsimdjson-dev libfmt-dev libspdlog-dev | awk '/Depends: lib(simdjson|fmt|spdlog)/{print $2}' | grep -v -- '-dev:any$' | sort -u))
  (cd "$w" && apt-get download -q $(printf '%s\n' "${pk[@]}" | sort -u) >/dev/null)
  for p in "$w"/*.deb; do dpkg -x "$p" "$w/r"; done
  cp -a "$w/r/usr/include/." "$P/include/"
  [ -d "$P/include/x86_64-linux-gnu" ] && { cp -a "$P/include/x86_64-linux-gnu/." "$P/include/"; rm -rf "$P/include/x86_64-linux-gnu"; }
  for p in "$w"/r/usr/lib/x86_64-linux-gnu "$w"/r/lib/x86_64-linux-gnu "$w"/r/usr/lib; do
    [ -d "$p" ] && find "$p" -maxdepth 1 \( -name '*.a' -o -name '*.so*' \) -exec cp -a {} "$P/lib/" \;
  done
  find "$P/lib" -xtype l -delete
  # xgrammar: its own CMake forces -Werror and slim LTO, so compile its sources directly
  python3 -m pip download -q --no-deps --no-build-isolation --no-binary xgrammar -d "$w" "xgrammar==$XGRAMMAR" 2>/dev/null ||
    python3 -m pip download -q --no-deps --no-binary xgrammar -d "$w" "xgrammar==$XGRAMMAR"
  tar -C "$w" -xf "$w/xgrammar-$XGRAMMAR.tar.gz"
  local X=$w/xgrammar-$XGRAMMAR
  mkdir "$w/o"
  find "$X/cpp" -name '*.cc' -not -path '*/tvm_ffi/*' | xargs -P "$(nproc)" -I{} sh -c \
    'ccache g++ -std=c++17 -O2 -fPIC -w -DXGRAMMAR_ENABLE_CPPTRACE=0 -I'"$X"'/include -I'"$X"'/3rdparty/picojson -I'"$X"'/3rdparty/dlpack/include -c "{}" -o '"$w"'/o/$(basename "{}" .cc).o'
  ar rcs "$P/lib/libxgrammar.a" "$w"/o/*.o
  cp -a "$X/include/xgrammar" "$X/3rdparty/dlpack/include/dlpack" "$P/include/"
  # CUTLASS headers, packed: 27 MiB unpacked, 1.7 MiB packed
  python3 -m pip download -q --no-deps -d "$w" "nvidia-cutlass==$CUTLASS"
  (cd "$w" && python3 -m zipfile -e nvidia_cutlass-*.whl c)
  tar -C "$w/c/cutlass_library/source/include" -czf "$P/cutlass.tar.gz" cute cutlass
  rm -rf "$w"; du -sh "$P"
}
"$@"
