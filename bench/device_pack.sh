#!/bin/bash
# Packs what bench/device.sh runs on a machine with GPUs that has no -dev packages: hapc, the runtime,
# the GPU tests and their shared libraries, built here, into .device/pack.tar.xz (ignored by git; it
# travels by `carry`, which takes 64 MiB). Needs nvcc and script/bootstrap --cuda; HAP_PYTHON is a Python with torch, if .venv has
# none. Usage: bench/device_pack.sh [BUILD]
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build-device}
out=.device/pack
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DHAP_CUDA=ON \
    -DCMAKE_CUDA_ARCHITECTURES=90 >"$build.log" ||
    { tail -n 20 "$build.log"; exit 1; }
grep runtime/cuda "$build.log"
tests=(op_values_cuda_test op_cuts_cuda_test op_blocks_cuda_test ops_bf16_cuda_test chains_cuda_test coll_cuda_test pair_cuda_test push_stress_cuda)
nice ninja -C "$build" hapc hap-profile-cuda hap-profile-cpu haprt-cuda haprt-cpu haprt-record train_compare \
    overlap-bench-cuda push-bench-cuda push-stores overlap-base pair_groups "${tests[@]}" >"$build.log" ||
    { grep -E 'error|FAILED' -A5 "$build.log" | head -n 40; exit 1; }
rm -rf .device
mkdir -p "$out"/{bin,lib/pkgconfig,tests,libs,tools,share}
cp -rL "$build/include" "$out/include"
cp "$build"/bin/{hapc,hap-profile-cuda,hap-profile-cpu,overlap-bench-cuda,push-bench-cuda,push-stores,overlap-base,pair_groups} "$out/bin/"
cp "$build"/lib/libhaprt-*.a "$out/lib/"
cp "$build"/lib/pkgconfig/*.pc "$out/lib/pkgconfig/"
for t in "${tests[@]}" train_compare; do cp "$build/tests/$t" "$out/tests/"; done
strip "$out"/bin/* "$out"/tests/*
strip --strip-debug "$out"/lib/*.a
ldd "$out/bin/hapc" "$out"/tests/* | awk '/=>/ {print $3}' | sort -u |
    grep -E 'lib(glpk|amd|colamd|suitesparseconfig|yaml|gmp|ltdl|subunit|check)' |
    xargs -I{} cp -L {} "$out/libs/"
cp -L /usr/bin/pkgconf "$out/tools/pkg-config"
ldd /usr/bin/pkgconf | awk '/libpkgconf/ {print $3}' | xargs -I{} cp -L {} "$out/libs/"
realpath "$build" >"$out/built-in"
python=${HAP_PYTHON:-.venv/bin/python}
"$python" bench/device_graph.py "$out/gpt2-1024.json"
tar -C "$out" -cf - . | xz -2 -T0 >.device/pack.tar.xz
rm -rf "$out"
du -sh .device
