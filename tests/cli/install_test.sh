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

version=$("$prefix/bin/hapc" --version)
[[ $version == *0.1.0* ]] || {
    echo "hapc --version says '$version'"
    exit 1
}
[ -f "$prefix/share/hapc/clusters/devices.yaml" ]
