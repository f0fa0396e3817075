#!/bin/bash
# Nothing that a user put into a plan folder is lost when hapc plans into it again: it is kept, or
# the folder stays as it was.
#     tests/emit/plan_folder.sh          files, links, read-only folders, names in the way
#     tests/emit/plan_folder.sh mount    another file system inside; 77 where none can be mounted
set -u
hapc=$HAP_BUILD/bin/hapc
if [ "${1:-}" = mount ]; then
    if unshare -Urm true 2>/dev/null; then exec unshare -Urm "$0" mounted; fi
    if unshare -m true 2>/dev/null; then exec unshare -m "$0" mounted; fi
    echo "skipped: no mount namespace without more rights (unshare -Urm)"
    exit 77
fi
work=$(mktemp -d)
trap 'umount "$work"/*/runs "$work"/volume 2>/dev/null; chmod -R u+w "$work"; rm -rf "$work"' EXIT
status=0
wrong() {
    echo "FAILED: $*"
    cat "$work/out"
    status=1
}
g=examples/mlp/graph.json c=clusters/laptop3.yaml
as=()
# plan FOLDER [CLUSTER]; refused FOLDER PATTERN [CLUSTER]: exit 1, and the old plan as it was
plan() { "${as[@]+"${as[@]}"}" "$hapc" $g "${2:-$c}" -q -o "$1" >"$work/out" 2>&1; }
refused() {
    local before after
    before=$(find "$1" | sort | xargs -d '\n' ls -ldi --time-style=+)
    plan "$1" "${3:-$c}" && wrong "$1 was planned into"
    grep -Eq -- "$2" "$work/out" || wrong "no '$2' in"
    after=$(find "$1" | sort | xargs -d '\n' ls -ldi --time-style=+)
    [ "$before" = "$after" ] || { diff <(echo "$before") <(echo "$after"); wrong "$1 was changed"; }
    [ -z "$(ls -d "$work"/*.tmp* "$work"/*.old* 2>/dev/null)" ] || wrong "folders are left: $(ls "$work")"
}

if [ "${1:-}" = mounted ]; then
    plan "$work/plan" || wrong "no plan"
    mkdir "$work/plan/runs" "$work/volume"
    mount -t tmpfs none "$work/plan/runs" || { echo "skipped: tmpfs cannot be mounted" && exit 77; }
    echo weights >"$work/plan/runs/step100"
    echo notes >"$work/plan/a-note"
    refused "$work/plan" 'plan/runs is no part of the plan, and it is on another file system'
    [ "$(cat "$work/plan/runs/step100" "$work/plan/a-note")" = "weights
notes" ] || wrong "what was on the volume is lost"
    # The same file system twice: its number does not tell, rename does.
    umount "$work/plan/runs"
    mkdir "$work/data" && echo weights >"$work/data/step100"
    mount --bind "$work/data" "$work/plan/runs"
    refused "$work/plan" 'plan/runs is no part of the plan and cannot be moved'
    [ "$(cat "$work/data/step100")" = weights ] || wrong "what was on the volume is lost"
    umount "$work/plan/runs"
    # Deeper inside a folder of the user's: it moves with it.
    mkdir "$work/plan/runs/deep" && mount -t tmpfs none "$work/plan/runs/deep"
    echo weights >"$work/plan/runs/deep/step200"
    plan "$work/plan" || wrong "no plan around a folder with a volume in it"
    [ "$(cat "$work/plan/runs/deep/step200" 2>&1)" = weights ] || wrong "a volume deeper inside is lost"
    umount "$work/plan/runs/deep"
    # The plan folder itself.
    mount -t tmpfs none "$work/volume"
    cp "$work"/plan/*.* "$work/volume" && echo weights >"$work/volume/step300"
    refused "$work/volume" 'volume is where a file system is mounted'
    exit $status
fi

# Files, folders and links are kept; links are not followed.
plan "$work/plan" || wrong "no plan"
mkdir -p "$work/out-there" "$work/plan/runs/a" "$work/plan/build/0123456789abcdef"
echo weights >"$work/out-there/w" && echo weights >"$work/plan/runs/a/w" && chmod a-w "$work/plan/runs/a/w"
echo program >"$work/plan/build/0123456789abcdef/program"
echo mine >"$work/plan/build/notes"
ln -s ../out-there "$work/plan/link" && ln -s ../out-there/w "$work/plan/weights"
rm "$work/plan/report.txt" && ln -s ../out-there/w "$work/plan/report.txt"
plan "$work/plan" || wrong "no second plan"
for f in out-there/w plan/runs/a/w plan/link/w plan/weights; do
    [ "$(cat "$work/$f")" = weights ] || wrong "$f is lost"
done
[ "$(cat "$work/plan/build/notes")" = mine ] || wrong "a note in build/ is lost"
[ -L "$work/plan/report.txt" ] && wrong "the report went through a link"

# What a hapc that was killed left is cleared, and what it had moved goes back; nobody else's is touched.
gone=$(sh -c 'echo $$')
left=$work/plan.tmp-$(hostname)-$gone
cp -r "$work/plan" "$left" && rm -rf "$left"/runs "$left"/build "$left"/link "$left"/weights "$left"/report.txt
echo moved >"$left/step-9" && echo other >"$left/runs"
cp -r "$work/plan" "$work/plan.old-$(hostname)-$gone" && rm -rf "$work/plan.old-$(hostname)-$gone"/{runs,build,link,weights}
mkdir "$work/plan.tmp-$(hostname)-$$" "$work/plan.tmp-another-$gone" "$work/plan.tmp-$(hostname)-$gone.mine"
plan "$work/plan" || wrong "no plan beside what was left"
[ "$(cat "$work/plan/step-9")" = moved ] && [ "$(cat "$work/plan/runs/a/w")" = weights ] || wrong "what a killed hapc had moved is lost"
[ "$(ls "$left")" = runs ] && [ "$(cat "$left/runs")" = other ] || wrong "not cleared, or lost: $(ls "$left")"
[ -e "$work/plan.old-$(hostname)-$gone" ] && wrong "an old plan is left"
for f in "$(hostname)-$$" "another-$gone" "$(hostname)-$gone.mine"; do rmdir "$work/plan.tmp-$f" || wrong "plan.tmp-$f is gone"; done
rm -r "$left" "$work/plan/step-9"

# A link to a plan folder stays a link.
ln -s plan "$work/latest"
plan "$work/latest" || wrong "no plan through a link"
[ -L "$work/latest" ] && [ "$(cat "$work/plan/runs/a/w")" = weights ] || wrong "a link to a plan is lost"

# The new plan wants a name that the user has: a folder, then a file of curves.
mkdir "$work/plan/trace.json.d" && rm "$work/plan/trace.json" && mkdir "$work/plan/trace.json"
echo mine >"$work/plan/trace.json/file"
refused "$work/plan" 'plan/trace.json is no part of the plan, and the new plan has a file of this name'
rm -r "$work/plan/trace.json"
sed 's/^source:.*/source: measured 2026-11-20/' $c >"$work/measured.yaml"
grep -q '^source:' "$work/measured.yaml" || echo 'source: measured 2026-11-20' >>"$work/measured.yaml"
echo 'measured: curves.json' >>"$work/measured.yaml"
cp tests/curves/hap4.curves.json "$work/curves.json"
echo mine >"$work/plan/curves.json"
refused "$work/plan" 'plan/curves.json is no part of the plan' "$work/measured.yaml"
[ "$(cat "$work/plan/curves.json")" = mine ] || wrong "a file with the curves' name is lost"
rm "$work/plan/curves.json"
plan "$work/plan" "$work/measured.yaml" || wrong "no plan with curves"
echo ' ' >>"$work/curves.json" # measured again
plan "$work/plan" "$work/measured.yaml" || wrong "no second plan with curves"
cmp -s "$work/curves.json" "$work/plan/curves.json" || wrong "the curves are old ones"
plan "$work/plan" || wrong "no plan without curves behind one with them"
[ -e "$work/plan/curves.json" ] && wrong "the curves are left"

# Curves in a folder below the cluster file lie beside it in the plan, which can be planned from.
mkdir "$work/below"
mv "$work/curves.json" "$work/below"
for line in 'measured: below/curves.json' "measured: './below/curves.json' # by hapc profile"; do
    sed "s|^measured:.*|$line|" "$work/measured.yaml" >"$work/below.yaml"
    plan "$work/plan" "$work/below.yaml" || wrong "no plan with curves below"
    grep -Eq "^measured: '?curves.json'?( #.*)?$" "$work/plan/cluster.yaml" || wrong "$line: $(grep measured: "$work/plan/cluster.yaml")"
    plan "$work/again" "$work/plan/cluster.yaml" || wrong "no plan from the cluster of a plan"
    cmp -s "$work/below/curves.json" "$work/again/curves.json" || wrong "the plan's curves are lost"
done

# Curves that would lie where a file of the plan does.
cp "$work/below/curves.json" "$work/program.c"
sed 's|^measured:.*|measured: program.c|' "$work/measured.yaml" >"$work/taken.yaml"
refused "$work/plan" 'program.c: curves that are called as a file of the plan is: rename them' "$work/taken.yaml"

# A folder that may not be moved (a read-only one, to who is not root).
chmod a+rwx "$work"
if [ "$(id -u)" = 0 ]; then
    as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
    chown -R 65534:65534 "$work"
fi
if "${as[@]+"${as[@]}"}" "$hapc" --version >/dev/null 2>&1; then
    chmod a-w "$work/plan/runs"
    refused "$work/plan" 'plan/runs is no part of the plan and cannot be moved \(Permission denied\)'
    chmod u+w "$work/plan/runs"
    plan "$work/plan" || wrong "no plan once it may be moved"
    [ "$(cat "$work/plan/runs/a/w")" = weights ] || wrong "a checkpoint is lost"
else
    echo "read-only folders are not tried: another user cannot run $hapc"
fi
exit $status
