#!/bin/bash
# An installed hapc is of use to others: a program builds against it by pkg-config with plain cc and
# by find_package(hapc) with CMake, from a prefix that was moved after installing.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "${HAP_BUILD:?}" --prefix "$work/first" >/dev/null
mv "$work/first" "$work/moved"
prefix=$work/moved

cat >"$work/program.c" <<'EOF'
#include "hap/runtime.h"

int main(int argc, char **argv)
{
    hap_rank *r = hap_init(&argc, &argv, "0", 1);
    return hap_finish(r);
}
EOF

pc=$(dirname "$(find "$prefix" -name haprt.pc)")
export PKG_CONFIG_PATH=$pc
for package in haprt haprt-record; do
    # shellcheck disable=SC2046
    cc -std=c11 -Wall -Wextra -Wconversion -Werror "$work/program.c" \
        $(pkg-config --cflags --libs $package) -o "$work/$package"
done
# Nothing that a user ships links GLPK, and a recording program needs no MPI.
if ldd "$work/haprt" "$work/haprt-record" | grep -i glpk; then exit 1; fi
if ldd "$work/haprt-record" | grep -i libmpi; then exit 1; fi

cat >"$work/CMakeLists.txt" <<'EOF'
cmake_minimum_required(VERSION 3.25)
project(consumer C)
find_package(hapc 0.1 REQUIRED)
add_executable(cpu program.c)
target_link_libraries(cpu hapc::haprt-cpu)
add_executable(record program.c)
target_link_libraries(record hapc::haprt-record)
EOF
flags=$(pkg-config --cflags-only-other haprt) # a sanitized build asks for its own
cmake -S "$work" -B "$work/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_C_FLAGS="$flags" >"$work/log" 2>&1 &&
    cmake --build "$work/build" >>"$work/log" 2>&1 || {
    cat "$work/log"
    exit 1
}

# What hapc profile starts finds its libraries (in a CUDA build NVIDIA's too).
if ldd "$prefix"/bin/hap-profile-* | grep 'not found'; then exit 1; fi

# hapc check finds its reader.
[ -x "$prefix/bin/hap-record" ] || {
    echo "no bin/hap-record"
    exit 1
}

# Man page and completion lie where shells look; uninstall takes all of it away.
for file in man/man1/hapc.1 bash-completion/completions/hapc zsh/site-functions/_hapc fish/vendor_completions.d/hapc.fish; do
    [ -s "$prefix/share/$file" ] || {
        echo "no share/$file"
        exit 1
    }
done
cmake --install "$HAP_BUILD" --prefix "$work/gone" >/dev/null
cmake -D MANIFEST="$HAP_BUILD/install_manifest.txt" -P script/uninstall.cmake >/dev/null 2>&1
if find "$work/gone" ! -type d | grep .; then exit 1; fi

# Debian packages: what they hold, unpacked, plans.
if command -v dpkg-deb >/dev/null && command -v cpack >/dev/null; then
    (cd "$HAP_BUILD" && cpack -G DEB -B "$work/deb") >"$work/log" 2>&1 || {
        cat "$work/log"
        exit 1
    }
    [ "$(find "$work/deb" -maxdepth 1 -name '*.deb' | wc -l)" = 3 ]
    for package in "$work/deb"/*.deb; do dpkg-deb -x "$package" "$work/root"; done
    "$work/root/usr/bin/hapc" examples/mlp/graph.json laptop3 | grep -q '^Decided'
    dpkg-deb -f "$work/deb"/hapc_*.deb Depends | grep -q libglpk
    if dpkg-deb -f "$work/deb"/haprt-dev_*.deb Depends | grep glpk; then exit 1; fi
    [ -f "$(find "$work/root" -name haprt.pc)" ] && [ -f "$work/root/usr/include/hap/runtime.h" ]
fi

version=$("$prefix/bin/hapc" --version)
[[ $version == *0.1.0* ]] || {
    echo "hapc --version says '$version'"
    exit 1
}
[ -f "$prefix/share/hapc/clusters/devices.yaml" ]
