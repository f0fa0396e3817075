#!/bin/bash
# The layering law, by grep: each folder includes only itself and what is to its left, and each
# external header stays in its room (docs/architecture.md). Usage: tests/house/layering.sh [ROOT]
set -u
cd "${1:-$(dirname "$0")/../..}" || exit 2

order=(ir/base ir clusters costmodel solver synth emit cli)
bad=0

complain() {
    echo "$1: $2"
    bad=1
}

# Folder of a path among those above and runtime; empty for others. Include paths start at the root
# or, for the runtime's headers, at runtime/.
room_of() {
    case $1 in
    ir/base/*) echo ir/base ;;
    runtime/* | hap/* | core/* | cpu/* | cuda/* | record/* | profile/*) echo runtime ;;
    ir/* | clusters/* | costmodel/* | solver/* | synth/* | emit/* | cli/*) echo "${1%%/*}" ;;
    esac
}

rank_of() {
    local i
    for i in "${!order[@]}"; do
        [ "${order[$i]}" = "$1" ] && echo "$i"
    done
}

# Whether FILE may include the external header.
external_allowed() {
    case $2 in
    glpk.h) [[ $1 == solver/* ]] ;;
    yaml.h) [[ $1 == ir/base/* ]] ;;
    cblas.h | openblas_config.h) [[ $1 == runtime/cpu/* ]] ;;
    mpi.h) [[ $1 == runtime/* ]] ;;
    nccl.h | cuda*.h | cublas*.h | cudnn*.h | cu_*.h | nvrtc.h) [[ $1 == runtime/* ]] ;;
    *) true ;;
    esac
}

files=0
while IFS=: read -r file line text; do
    header=$(sed -E 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*["<]([^">]+)[">].*/\1/' <<<"$text")
    external_allowed "$file" "$(basename "$header")" ||
        complain "$file:$line" "$header is not allowed in this folder"
    from=$(room_of "$file")
    to=$(room_of "$header")
    [[ $text == *\"* ]] || continue # <…> is not ours
    if [[ $header != */* ]]; then
        [[ $header == *.def ]] || complain "$file:$line" "include \"$header\" by its path from the root"
        continue
    fi
    if [ "$from" = runtime ]; then
        [ "$to" = runtime ] || complain "$file:$line" "the runtime sees no compiler folder ($header)"
        continue
    fi
    [ -n "$from" ] && [ -n "$to" ] || continue
    if [[ $header == runtime/hap/*.def ]]; then
        continue # a table that the compiler and the runtime share
    elif [ "$to" = runtime ]; then
        complain "$file:$line" "the compiler does not see the runtime ($header)"
    elif [ "$(rank_of "$to")" -gt "$(rank_of "$from")" ]; then
        complain "$file:$line" "$from may not include $to ($header)"
    elif [ "$from" = solver ] && [ "$to" != solver ] && [ "$to" != ir/base ]; then
        complain "$file:$line" "the solver knows no $to, mathematics alone ($header)"
    fi
done < <(grep -rnE '^[[:space:]]*#[[:space:]]*include' --include='*.[ch]' --include='*.cu' \
    --include='*.cuh' --include='*.def' ir clusters costmodel solver synth emit cli runtime 2>/dev/null)

# File names are unique, so that one name means one concept.
while read -r name; do
    complain "$name" "two files have this name: $(find ir clusters costmodel solver synth emit cli \
        runtime tests -name "$name" 2>/dev/null | sort | tr '\n' ' ')"
done < <(find ir clusters costmodel solver synth emit cli runtime tests -name '*.[ch]' 2>/dev/null |
    sed 's|.*/||' | sort | uniq -d)

files=$(find ir clusters costmodel solver synth emit cli runtime -name '*.[ch]' 2>/dev/null | wc -l)
if [ "$files" -eq 0 ]; then
    echo "no source files found under $PWD"
    exit 2
fi
[ $bad -eq 0 ] && echo "layering holds in $files files"
exit $bad
