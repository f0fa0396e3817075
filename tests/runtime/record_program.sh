#!/bin/sh
# What haprt-record writes for programs/fit.c, against goldens (UPDATE_GOLDEN=1 rewrites), and what
# it says of programs that cannot be right.
set -u
build=${HAP_BUILD:?}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
here=$(cd "$(dirname "$0")/.." && pwd)
export PKG_CONFIG_PATH="$build/lib/pkgconfig"
failed=0

wrong()
{
    echo "FAILED: $*"
    failed=1
}

compile()
{
    cc -std=c11 "$@" $(pkg-config --cflags --libs haprt-record) -o "$dir/program" || exit 1
}

# A program that ends in an error frees nothing.
record()
{
    ASAN_OPTIONS=detect_leaks=${leaks:-0} "$dir/program" --record "$dir/log" --class "$1" >"$dir/out" 2>"$dir/err"
    status=$?
}

# rejects PATTERN SED: the edited program is refused with one line that matches
rejects()
{
    sed "$2" "$here/programs/fit.c" >"$dir/edited.c"
    cmp -s "$here/programs/fit.c" "$dir/edited.c" && wrong "'$2' changes nothing"
    compile -DN=3 "$dir/edited.c"
    record 0
    [ $status = 5 ] || wrong "'$2': status $status"
    [ "$(wc -l <"$dir/err")" = 1 ] && grep -Eq "$1" "$dir/err" || { wrong "'$2': no '$1' in"; cat "$dir/err"; }
}

for n in 3 4; do
    compile -DN=$n "$here/programs/fit.c"
    leaks=1 record 0
    [ $status = 0 ] || { wrong "fit$n: status $status"; cat "$dir/err"; }
    [ -z "${UPDATE_GOLDEN:-}" ] || cp "$dir/log" "$here/programs/fit$n.record"
    diff -u "$here/programs/fit$n.record" "$dir/log" >"$dir/diff" || { wrong "fit$n.record"; head -n 40 "$dir/diff"; }
    sed '/"hap_classes"/d' "$dir/log" >"$dir/first"
    record 1
    grep -q '"class":1,"rank":2' "$dir/log" || wrong "class 1 of fit$n"
    sed '/"hap_classes"/d' "$dir/log" | cmp -s "$dir/first" - || wrong "logs of the classes of fit$n differ"
done
record 2
[ $status = 5 ] && grep -q 'no rank has class 2' "$dir/err" || wrong "a class that does not exist"
ASAN_OPTIONS=detect_leaks=0 "$dir/program" 2>"$dir/err"
[ $? = 2 ] || wrong "no --record"

rejects 'program.c:[0-9]+: .*table of dim 0 sums to 11 instead of 12' 's/{5, 0, 7}/{5, 0, 6}/'
rejects 'a tensor ends at byte [0-9]+ of a segment of 8192' 's/LOCAL(6)/LOCAL(8)/'
rejects 'coll_all_gather: form PADDED needs [0-9]+ bytes of scratch, the plan gives 8' 's/SYM(10), HAP_BOOL, 1, HAP_DIMS(WHOLE(2048))/SYM(10), HAP_BOOL, 1, HAP_DIMS(WHOLE(8))/'
rejects 'coll_all_gather: item 0: form EVEN on unequal shards' 's/FORM_PADDED/FORM_EVEN/'
rejects 'coll_all_gather: there is no form FLAT' 's/FORM_PADDED/FORM_FLAT/'
rejects 'coll_all_reduce: axis mask 2 of a mesh of 1' 's/EVERY, FORM_FLAT/AXIS(1), FORM_FLAT/'
rejects 'coll_reduce_scatter: item 0: dst must be cut .*src f32 \[8 3\]' 's/const to\[\] = {gr, bgc}/const to[] = {g, bgc}/'
rejects 'sub: output 0 is NULL' 's/op_sub(r, d, h, y)/op_sub(r, NULL, h, y)/'
rejects 'sub: called outside the step' '/while (hap_next_step/i op_sub(r, d, h, y);'

[ $failed = 0 ] && echo "record_program: all right"
exit $failed
