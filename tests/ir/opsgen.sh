#!/bin/sh
# The three files that opsgen prints from ir/ops.def are committed; this compares them with fresh
# output. UPDATE_GOLDEN=1 rewrites them.
set -u
opsgen="$HAP_BUILD/bin/opsgen"
status=0
compare() {
    if [ -n "${UPDATE_GOLDEN:-}" ]; then
        "$opsgen" "$1" >"$2"
    elif ! "$opsgen" "$1" | diff -u "$2" -; then
        echo "$2 is stale: UPDATE_GOLDEN=1 tests/ir/opsgen.sh"
        status=1
    fi
}
compare json ir/export/hap_export/ops.json
compare header runtime/hap/ops.h
compare calls runtime/core/op_calls.c
exit $status
