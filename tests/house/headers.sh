#!/bin/bash
# Each header compiles alone: as C11, and the runtime's public ones also as C++17 and without our
# feature macros, since emitted programs include them with plain `cc`.
# CC, CXX and MPI_CFLAGS (for runtime headers that name MPI types) may come from the environment.
set -u
cd "$(dirname "$0")/../.." || exit 2
cc=${CC:-cc}
cxx=${CXX:-c++}
build=${HAP_BUILD:-build} # has what opsgen prints
mpi_cflags=${MPI_CFLAGS:-$(pkg-config --cflags mpi-c 2>/dev/null)}
warnings=(-pedantic -Wall -Wextra -Wshadow -Wundef -Werror)
bad=0
count=0

# compile HEADER COMPILER FLAGS…
compile() {
    local header=$1
    shift
    printf '#include "%s"\ntypedef int of_a_header;\n' "$header" |
        "$@" "${warnings[@]}" -fsyntax-only -I. -Iruntime -I"$build/include" - || {
        echo "$header does not compile alone ($*)"
        bad=1
    }
}

while read -r header; do
    count=$((count + 1))
    case $header in
    runtime/hap/*)
        compile "$header" "$cc" -x c -std=c11
        compile "$header" "$cxx" -x c++ -std=c++17
        ;;
    runtime/cuda/*) ;; # needs a CUDA toolkit; compiled by preset cuda
    *) # shellcheck disable=SC2086
        compile "$header" "$cc" -x c -std=c11 -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE \
            $mpi_cflags ;;
    esac
    grep -q '^#ifndef HAP_' "$header" || {
        echo "$header: no include guard HAP_…"
        bad=1
    }
done < <(find ir clusters costmodel solver synth emit cli runtime -name '*.h' 2>/dev/null | sort)

[ $count -gt 0 ] || exit 2
[ $bad -eq 0 ] && echo "$count headers stand alone"
exit $bad
