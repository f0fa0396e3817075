#!/usr/bin/env bash
# A plan for GPUs that the CUDA runtime beside hapc has no code for: the planner says so, and
# `hapc run` ends before it builds or starts anything. The runtime is a package file alone.
set -u
export LC_ALL=C.UTF-8
build=$(realpath "${HAP_BUILD:?}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
wrong() {
    echo "FAILED: $*"
    cat "$work/err"
    failed=1
}
mkdir -p "$work/bin" "$work/lib"
cp "$build/bin/hapc" "$build/bin/hap-record" "$work/bin/"
ln -s "$build/share" "$work/share"
cp -r "$build/lib/pkgconfig" "$work/lib/"
hapc=$work/bin/hapc

# runs MODEL yes|no ARCHITECTURES…: of the runtime
runs() {
    local model=$1 is=$2 says code
    shift 2
    printf 'Name: haprt-cuda\narchitectures=%s\nLibs: -lnot-there\n' "$*" >"$work/lib/pkgconfig/haprt-cuda.pc"
    sed "s/H200/$model/" clusters/h200x4.yaml >"$work/cluster.yaml"
    "$hapc" examples/mlp/graph.json "$work/cluster.yaml" -o "$work/plan" >"$work/out" 2>"$work/err" || wrong "$model: no plan"
    says=$(grep -c "^hapc: note: it does not run here: $model: sm_[0-9]*: the CUDA runtime of this hapc was built for $* alone; build it with -DCMAKE_CUDA_ARCHITECTURES=[0-9]*$" "$work/err")
    [ "$is" = yes ] && [ -s "$work/err" ] && wrong "$model on '$*': a note"
    [ "$is" = no ] && [ "$says" != 1 ] && wrong "$model on '$*': no note"
    "$hapc" run "$work/plan" --dry-run >"$work/out" 2>"$work/err"
    code=$?
    if [ "$is" = no ]; then
        [ $code = 1 ] && [ ! -s "$work/out" ] && grep -q "^hapc: error: $model: sm_[0-9]*: the CUDA runtime of this hapc was built for $* alone; " "$work/err" || wrong "$model on '$*' is run: $code"
        grep -q '^hint: --backend cpu ' "$work/err" || wrong "$model on '$*': no hint"
    elif grep -q 'was built for' "$work/err"; then
        wrong "$model on '$*' is not run"
    fi
}
export HAPC_CACHE=$work/cache
runs T4 no 80-real 86-real 89-real 90a-real
runs T4 yes 75
runs A10 yes 80-real 90a-real
runs A10 no 89-real 90a-real
runs A100-40GB no 86-real
runs H200 yes 80-real 90a-real
runs H200 no 80-real 86-real
runs H200 yes 80-virtual
runs B200 no 80-real 90a-real 90a-virtual
runs B200 yes 90-virtual
runs B200 yes 100f
runs RTX5090 no 100f
runs T4 yes native
runs T4 yes
exit $failed
