#!/bin/bash
# The layering law (docs/architecture.md). Each room includes, and calls, only itself and rooms to
# its left; each external header stays in its room; files have names of their own; no files go round
# in a circle, by includes or by calls. A file is a .c with its .h. Calls are read from the objects of
# a build, if HAP_BUILD names one. Usage: tests/house/layering.sh [ROOT]
set -u
cd "${1:-$(dirname "$0")/../..}" || exit 2

# From left to right. The runtime sees no compiler room and none sees it, but for the tables
# runtime/hap/*.def, which both include; its CUDA backend's rooms
# have an order of their own.
compiler="ir/base ir clusters costmodel solver
    synth/plan synth/price synth/space synth/passes synth/certify synth/search emit cli"
cuda="runtime/cuda/device runtime/cuda/kernels runtime/cuda/comm runtime/cuda/fuse runtime/cuda/step"
# Rooms that see less than all to their left: the solver is mathematics, the checker takes nothing
# from what made the plan.
less="solver=ir/base synth/certify=ir/base,ir,clusters,costmodel,synth/plan"

folders="ir clusters costmodel solver synth emit cli runtime"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2086
find $folders tests -name '*.[ch]' >"$work/files" 2>/dev/null
# shellcheck disable=SC2086
grep -rnE '^[[:space:]]*#[[:space:]]*include' --include='*.[ch]' --include='*.cu' \
    --include='*.cuh' --include='*.def' $folders >"$work/includes" 2>/dev/null
: >"$work/symbols"
if [ -f "${HAP_BUILD:-}/compile_commands.json" ]; then
    objects=$(sed -nE 's/.* -o ([^ ]+[.]o) -c .*/\1/p' "$HAP_BUILD/compile_commands.json" | grep -v '^tests/')
    # shellcheck disable=SC2086
    (cd "$HAP_BUILD" && nm -AP $objects 2>/dev/null) >"$work/symbols"
fi

awk -v compiler="$compiler" -v cuda="$cuda" -v less="$less" \
    -v arrows="$work/arrows" '
function complain(where, what) { print where ": " what; bad = 1 }
# The room of a path: the longest name above that it begins with; runtime for all else of it.
function room_of(path,    dir) {
    for (dir = path; sub("/[^/]*$", "", dir);)
        if (dir in rank || dir in cuda_rank || dir == "runtime") return dir
    return ""
}
function stem(path) { sub("[.][a-z]+$", "", path); return path }
function in_list(list, item) { return index("," list ",", "," item ",") > 0 }
# Whether a file may include an external header.
function external_ok(file, name) {
    if (name == "glpk.h") return file ~ "^solver/"
    if (name == "yaml.h") return file ~ "^ir/base/"
    if (name ~ "^(cblas|openblas_config)[.]h$") return file ~ "^runtime/cpu/"
    if (name ~ "^(mpi|nccl|nvrtc|cuda.*|cublas.*|cudnn.*|cu_.*)[.]h$") return file ~ "^runtime/"
    return 1
}
# How `file` comes by `other`, a file of ours: is that lawful?
function check_arrow(file, other, where, how,    a, b) {
    a = room_of(file)
    b = room_of(other)
    if (a == "" || b == "" || a == b) return
    if (a ~ "^runtime" || b ~ "^runtime") {
        if (other ~ "^runtime/hap/[^/]*[.]def$") return # a table that both sides share
        if (b !~ "^runtime") complain(where, "the runtime sees no compiler folder (" how ")")
        else if (a !~ "^runtime") complain(where, "the compiler does not see the runtime (" how ")")
        else if (a in cuda_rank && b in cuda_rank && cuda_rank[b] > cuda_rank[a])
            complain(where, a " may not see " b " (" how ")")
        return
    }
    if (rank[b] > rank[a]) complain(where, a " may not see " b " (" how ")")
    else if (a in only && !in_list(only[a], b)) complain(where, a " takes nothing from " b " (" how ")")
}
function arrow(from, to) {
    if (from != to) drawn[from " " to] = 1
}

BEGIN {
    n = split(compiler, word, /[ \n]+/)
    for (i = 1; i <= n; i++) rank[word[i]] = i
    n = split(cuda, word, " ")
    for (i = 1; i <= n; i++) cuda_rank[word[i]] = i
    n = split(less, word, " ")
    for (i = 1; i <= n; i++) only[substr(word[i], 1, index(word[i], "=") - 1)] = substr(word[i], index(word[i], "=") + 1)
}

FILENAME ~ "/files$" {
    name = $0
    sub(".*/", "", name)
    if (name in path_of) complain(name, "two files have this name: " path_of[name] " " $0)
    path_of[name] = $0
    if ($0 ~ "^tests/") next
    files++
    known[stem($0)] = 1
    if ($0 ~ "^synth/[^/]*$" || $0 ~ "^runtime/cuda/[^/]*$") complain($0, "stands in no room")
    next
}

FILENAME ~ "/includes$" {
    match($0, "^[^:]*:[0-9]*:")
    where = substr($0, 1, RLENGTH - 1)
    file = where
    sub(":[0-9]*$", "", file)
    text = substr($0, RLENGTH + 1)
    header = text
    sub("^[^<\"]*[<\"]", "", header)
    ours = text ~ /^[^<"]*"/
    sub("[>\"].*", "", header)
    name = header
    sub(".*/", "", name)
    if (!external_ok(file, name)) complain(where, header " is not allowed in this folder")
    if (!ours) next
    if (header !~ "/") {
        if (header !~ "[.]def$") complain(where, "include \"" header "\" by its path from the root")
        next
    }
    if (header ~ "^(hap|core|cpu|cuda|record|profile)/") header = "runtime/" header
    check_arrow(file, header, where, header)
    arrow(stem(file), stem(header))
    # x.c includes x.h first.
    if (file ~ "[.]c$" && !(file in first)) {
        first[file] = header
        own = stem(file) ".h"
        sub(".*/", "", own)
        if (file ~ "^synth/" && own in path_of && stem(path_of[own]) == stem(file) && name != own)
            complain(where, "the first include of " file " is " own)
    }
    next
}

# nm -AP: "OBJECT: SYMBOL TYPE …", OBJECT is [FOLDER/]CMakeFiles/TARGET.dir/PATH.c.o
{
    path = $1
    sub(":$", "", path)
    sub("CMakeFiles/[^/]*[.]dir/", "", path)
    path = stem(stem(path))
    if (!(path in known)) next
    if ($3 == "U") wants[path " " $2] = 1
    else if ($3 ~ "[TDBRCV]") {
        if (!((path, $2) in has)) n_of[$2]++
        has[path, $2] = 1
        in_file[$2] = path
    }
}

END {
    for (x in wants) {
        split(x, part, " ")
        if (n_of[part[2]] != 1) continue # of no file, or of one file a backend
        calls++
        check_arrow(part[1] ".c", in_file[part[2]] ".c", part[1] ".c", part[2])
        arrow(part[1], in_file[part[2]])
    }
    for (x in drawn) print x >arrows
    if (files == 0) { print "no source files found"; exit 2 }
    if (bad) exit 1
    printf "layering holds in %d files, %d calls between them\n", files, calls
}' "$work/files" "$work/includes" "$work/symbols"
status=$?

if [ $status -ne 2 ] && [ -s "$work/arrows" ] && ! tsort "$work/arrows" >/dev/null 2>"$work/loops"; then
    echo "files in a circle:"
    sed 's/^tsort: //' "$work/loops"
    status=1
fi
exit $status
