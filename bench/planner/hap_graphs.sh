#!/bin/bash
# Planning times of HAP's own graphs (reference/hap.md 5), beside what the released HAP took on a
# 2-core machine (hap.md 6): ViT, BERT and BERT-MoE by layers on 2 + 6 devices, with 12 layers on 8
# to 64 devices, and k branches. Medians of RUNS plans, each search to certificate.
#
#     bench/plan [--build BUILD] hap [RUNS]          PYTHON=.venv/bin/python
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${1:?} runs=${2:-7} python=${PYTHON:-.venv/bin/python} work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# 2 machines of V100 and 6 of P100 with m / 8 devices each, 10.4 Gbit/s between them. MEMORY, if
# set, instead of 16 GB: HAP knows no limit, and 64 layers of BERT-MoE take 20 GB.
cluster() {
    local per=$(($1 / 8)) memory=${MEMORY:+, memory: $MEMORY}
    printf 'name: hap%d\nmachines:\n' "$1"
    printf '  - {name: v100, count: 2, devices: [{model: V100-16GB, count: %d%s}], link: {bandwidth: 150 GB/s, latency: 10 us}}\n' $per "$memory"
    printf '  - {name: p100, count: 6, devices: [{model: P100, count: %d%s}], link: {bandwidth: 12 GB/s, latency: 12 us}}\n' $per "$memory"
    printf 'network: {bandwidth: 10.4 Gbit/s, latency: 35 us}\nsource: datasheet\n'
}

graph() { # NAME LAYERS GPUS
    [ -f "$work/$1-$2-$3.json" ] || "$python" "examples/$1/make" "$2" "$3" -o "$work/$1-$2-$3.json" >/dev/null 2>&1
}

line() { # NAME SIZE GPUS HAP_SECONDS
    local name=$1 size=$2 gpus=$3 out
    if [ "$name" = branches ]; then
        "$python" examples/branches/make "$size" -o "$work/$name-$size-$gpus.json" >/dev/null 2>&1
    else
        graph "$name" "$size" "$gpus"
    fi
    cluster "$gpus" >"$work/$gpus.yaml"
    out=$("$build/bin/plan_bench" "$work/$name-$size-$gpus.json" "$work/$gpus.yaml" "$runs") || true
    awk -v name="$name" -v size="$size" -v gpus="$gpus" -v hap="$4" '
        /^plan_seconds/ { ms = $3 * 1e3 }
        /^cpu_seconds/ { cpu = $3 * 1e3 }
        /^predicted_ms/ { predicted = $2 }
        /^no plan/ { predicted = "no plan" }
        END {
            faster = (hap + 0 > 0 && ms > 0) ? sprintf("%.0f", hap * 1e3 / ms) : ""
            printf("| %s | %s | %s | %.1f | %.1f | %s | %s | %s |\n", name, size, gpus, ms, cpu, predicted, hap, faster)
        }' <<<"$out"
}

echo "| graph | layers | devices | plan ms | processor ms | predicted ms/step | released HAP s | times faster |"
echo "|---|---|---|---|---|---|---|---|"
for l in 8:0.545 12:1.17 24:4.72 32:8.39 64:35.6; do line vit "${l%:*}" 8 "${l#*:}"; done
for l in 12:1.42 24:8.36; do line bert-hap "${l%:*}" 8 "${l#*:}"; done
for l in 12:2.90 24:11.6; do line bert-moe "${l%:*}" 8 "${l#*:}"; done
MEMORY='64 GiB' line bert-moe 64 8 95.7
for m in 16:1.23 32:1.44 64:2.13; do line vit 12 "${m%:*}" "${m#*:}"; done
for m in 16: 32: 64:2.43; do line bert-hap 12 "${m%:*}" "${m#*:}"; done
for m in 16: 32: 64:4.81; do line bert-moe 12 "${m%:*}" "${m#*:}"; done
for k in 2:0.06 4:85.5 8:; do line branches "${k%:*}" 8 "${k#*:}"; done
