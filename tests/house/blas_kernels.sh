#!/bin/bash
# Runs a test with the kernels that OpenBLAS has for another processor, where this one can run them:
#     tests/house/blas_kernels.sh Nehalem|Haswell|Zen|SkylakeX PROGRAM ARGS…
# Exit 77: skipped, with the reason.
core=$1
shift
case $core in
Nehalem) needs=sse4_2 ;;
Haswell | Zen) needs='avx2 fma' ;;
SkylakeX) needs=avx512f ;;
*) echo "no such kernels: $core" && exit 2 ;;
esac
has=" $(grep -m 1 '^flags' /proc/cpuinfo) "
for flag in $needs; do
    [[ $has == *" $flag "* ]] || { echo "skipped: the processor has no $flag, $core wants it" && exit 77; }
done
said=$(mktemp)
trap 'rm -f "$said"' EXIT
OPENBLAS_CORETYPE=$core OPENBLAS_VERBOSE=2 "$@" 2>"$said"
code=$?
cat "$said" >&2
[ $code = 0 ] || exit $code
grep -qx "Core: $core" "$said" || { echo "skipped: BLAS took no kernels of $core" && exit 77; }
