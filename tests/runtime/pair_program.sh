#!/bin/bash
# programs/pair.c with and without its brackets on 1 to 4 ranks: the same checkpoint; and what a pair
# may not hold, each with its message, by the runtime and by the recording one.
set -u
build=${HAP_BUILD:?}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
here=$(cd "$(dirname "$0")/.." && pwd)
export PKG_CONFIG_PATH="$build/lib/pkgconfig"
flags=--oversubscribe
mpirun --version 2>/dev/null | grep -Eq 'Open MPI|OpenRTE' || flags=
failed=0

wrong()
{
    echo "FAILED: $*"
    failed=1
}

program() # SOURCE RANKS OUT LIBRARY [FLAG…]
{
    source=$1 ranks=$2 out=$3 library=$4
    shift 4
    cc -std=c11 -Wall -Wextra -Wconversion -Wno-sign-conversion -Werror -DN="$ranks" "$@" "$source" \
        $(pkg-config --cflags --libs "$library") -o "$out" || { wrong "$source does not compile"; exit 1; }
}

for n in 1 2 3 4; do
    program "$here/programs/pair.c" $n "$dir/pair$n" haprt
    program "$here/programs/pair.c" $n "$dir/plain$n" haprt -DPLAIN
    for way in pair plain; do
        mpirun $flags -n $n "$dir/$way$n" --steps 5 --seed 3 --save "$dir/$way$n.safetensors" >"$dir/out" 2>&1 ||
            { wrong "$way on $n ranks"; cat "$dir/out"; }
    done
    cmp "$dir/pair$n.safetensors" "$dir/plain$n.safetensors" || wrong "brackets change values on $n ranks"
done
mpirun $flags -n 3 "$dir/pair3" --steps 0 --seed 3 --save "$dir/start.safetensors" >"$dir/out" 2>&1
cmp -s "$dir/start.safetensors" "$dir/pair3.safetensors" && wrong "the steps change nothing"
mpirun $flags -n 3 "$dir/pair3" --steps 5 --seed 3 --check-nan --save "$dir/nan.safetensors" --trace "$dir/trace.json" >"$dir/out" 2>&1
cmp "$dir/nan.safetensors" "$dir/plain3.safetensors" || wrong "--check-nan changes values"
mpirun $flags -n 3 "$dir/pair3" --steps 1 --trace "$dir/trace.json" >"$dir/out" 2>&1
[ "$(grep -c '"op_linear:[0-9]*","pid":2,"tid":0' "$dir/trace.json")" = 5 ] || wrong "products in the trace"
[ "$(grep -c '"coll_all_gather:[0-9]*","pid":1,"tid":1' "$dir/trace.json")" = 1 ] || wrong "the collective in the trace"

# breaks PATTERN SED: the edited program ends with status 5 and one such line, recorded or run. Faults
# are tried several at a time, as mpirun mostly waits; each in a folder of its own.
tried=0
breaks()
{
    tried=$((tried + 1))
    [ $tried -le 4 ] || wait -n
    (
        failed=0
        at=$dir/$tried
        mkdir "$at"
        break_one "$1" "$2" "$at" >"$at/wrong"
        [ $failed = 1 ] || mv "$at/wrong" "$at/right"
    ) &
}

break_one() # PATTERN SED FOLDER
{
    sed "$2" "$here/programs/pair.c" >"$3/edited.c"
    cmp -s "$here/programs/pair.c" "$3/edited.c" && wrong "'$2' changes nothing"
    program "$3/edited.c" 3 "$3/edited" haprt
    mpirun $flags -n 3 "$3/edited" --steps 1 >"$3/out" 2>"$3/err"
    [ $? = 5 ] || { wrong "$2: not status 5"; cat "$3/err"; }
    # One rank speaks, or on a busy machine some, all of the same.
    said=$(grep -Ec '^(error:|rank [0-9]+ host)' "$3/err")
    [ "$said" -ge 1 ] && [ "$(grep -Ec "^rank [0-9]+ host .*program.c:[0-9]+: $1" "$3/err")" = "$said" ] ||
        { wrong "$2: not '$1' alone in"; cat "$3/err"; }
    program "$3/edited.c" 3 "$3/edited" haprt-record
    "$3/edited" --record "$3/record" >"$3/out" 2>"$3/err"
    [ $? = 5 ] || { wrong "$2, recorded: not status 5"; cat "$3/err"; }
    grep -Eq "program.c:[0-9]+: $1" "$3/err" || { wrong "$2, recorded: no '$1' in"; cat "$3/err"; }
}

breaks 'hap_overlapped: no pair was begun' 's/^        END;/& END;/'
breaks 'hap_overlapped: a pair without a collective' 's/{1, -2}, {2, 1});/{1, -2}, {2, 1}); END;/'
breaks 'hap_overlap: a pair stands in another' 's/{1, -2}, {2, 1});/&GROUPS({0, 1});/'
breaks 'hap_overlap: the first chunk of a pair is joined' 's/GROUPS({0, 1}, {1, 3}, {2, 1}, {1, -2}/GROUPS({0, -1}, {1, 3}, {2, 1}, {1, -2}/'
breaks 'hap_overlap: chunk 1 has distance 1 and weight 0' 's/{0, 1}, {1, 3}, {2, 1}, {1, -2}, {2/{0, 1}, {1, 0}, {2, 1}, {1, -2}, {2/'
breaks 'coll_all_gather: the pair has no chunk of distance 0' 's/GROUPS({0, 1}, {1, 3}, {2, 1}, {1, -2}, {2/GROUPS({1, 3}, {2, 1}, {1, -2}, {2/'
breaks 'coll_all_gather: chunk 4 of the pair has distance 3 among 3' 's/{1, -2}, {2, 1}/{1, -2}, {3, 1}/'
breaks 'hap_overlap: chunk 1 goes by way of 1' 's/{0, 1}, {1, 3}, {2, 1}, {1, -2}, {2/{0, 1}, {1, 3, 1}, {2, 1}, {1, -2}, {2/'
breaks 'coll_all_gather: chunk 1 goes by way of 3' 's/{0, 1}, {1, 3}, {2, 1}, {1, -2}, {2/{0, 1}, {1, 3, 3}, {2, 1}, {1, -2}, {2/'
breaks 'coll_all_gather: chunk 1 is passed on before chunk 2' 's/{0, 1}, {1, 3}, {2, 1}, {1, -2}, {2/{0, 1}, {1, 3, 2}, {2, 1}, {1, -2}, {2/'
breaks 'coll_reduce_scatter: chunk 0 goes by way of another' 's/GROUPS({1, 3}, {2, 1}, {0, -1})/GROUPS({1, 3, 2}, {2, 1}, {0, -1})/'
breaks 'relu: stands in a pair, but is no matmul' 's/op_relu.*/END;/; s/op_linear(r, h, xf.*/& op_relu(r, g, h);/; s/^        END;//'
breaks 'hap_cut: stands in a pair' 's/op_linear(r, h, xf.*/hap_cut(r, xf, xf);/'
breaks 'linear: stands in a pair before the wait' '/op_linear(r, h, xf/d; s/hap_wait(r, e);$/&&/; 0,/hap_wait(r, e);hap_wait/s/hap_wait(r, e);hap_wait/op_linear(r, h, xf, w1, NULL, HAP_NN); hap_wait/; s/hap_wait(r, e);hap_wait/hap_wait/'
breaks 'linear: stands in a pair, but does not read what it gathers' 's/op_linear(r, h, xf, w1/op_linear(r, h, yp, w1/'
breaks 'coll_all_gather: there is no pair of form SENDRECV' 's/FORM_PUT(1), 1/FORM_SENDRECV, 1/'
breaks 'coll_all_gather: item 0: form PUT\(1\) writes to dst, outside SEG_SYM' 's/xf = hap_at(r, SEG_SYM, AT(0)/xf = hap_at(r, SEG_LOCAL, AT(12)/'
breaks 'coll_all_gather: form PUT\(0\): of 3 members 1 to 2 copies are in flight' 's/FORM_PUT(1), 1/FORM_PUT(0), 1/'
breaks 'coll_all_gather: form PUT\(3\): of 3 members 1 to 2 copies are in flight' 's/FORM_PUT(1), 1/FORM_PUT(3), 1/'
breaks 'coll_all_gather: form PUT\(-1\): of 3 members 1 to 2 copies are in flight' 's/FORM_PUT(1), 1/FORM_PUT(-1), 1/'
breaks 'linear: a second matmul before the collective of a pair' 's/op_linear(r, yp, .*/&&/'
breaks 'coll_reduce_scatter: does not move what the pair.s matmul makes' 's/op_linear(r, yp, g/op_linear(r, xf, g/'
breaks 'coll_reduce_scatter: two tensors of a pair share memory' 's/AT(5)/AT(9)/'
breaks 'hap_overlapped: two tensors of a pair share memory' 's/AT(3)/AT(0)/'
breaks 'coll_all_gather: .*outermost of the matmul.s rows' 's/CUT(0, B, rows), WHOLE(S), WHOLE(K)/WHOLE(S), CUT(0, B, rows), WHOLE(K)/; s/WHOLE(B), WHOLE(S)/WHOLE(S), WHOLE(B)/'
breaks 'hap_tiles: there is no tile kernel of 100 x 256' 's/TILES(128, 256,/TILES(100, 256,/'
breaks 'hap_tiles: there is no tile kernel of 128 x 256 in turns' 's/TILES(128, 256, HAP_TILE_FIRST/TILES(128, 256, HAP_TILE_TURNS/'
breaks 'hap_tiles: tiles made in a way 64' 's/TILES(128, 256, HAP_TILE_FIRST/TILES(128, 256, 64/'
breaks 'coll_all_gather: tiles in parts of their k of what is no all-gather, or in turns' 's/TILES(128, 256, HAP_TILE_FIRST/TILES(128, 128, HAP_TILE_TURNS | HAP_TILE_PARTS/'
breaks 'coll_reduce_scatter: tiles are stored where nothing adds them' 's/HAP_TILE_TURNS | HAP_TILE_SUMS/HAP_TILE_TURNS | HAP_TILE_STORES/'
breaks 'hap_tiles: stands directly behind hap_overlap, once' 's/TILES(128, 256.*/&&/'
breaks 'hap_tiles: chunk 1 has distance 1 and weight 0' 's/HAP_TILE_FIRST, {0, 1}, {1, 1}/HAP_TILE_FIRST, {0, 1}, {1, 0}/'
breaks 'coll_all_gather: the pair has no chunk of distance 2' 's/HAP_TILE_FIRST, {0, 1}, {1, 1}, {2, 1}/HAP_TILE_FIRST, {0, 1}, {1, 1}, {1, 1}/'
breaks 'coll_all_gather: tiles add sums of what is no reduce-scatter' 's/TILES(128, 256, HAP_TILE_FIRST/TILES(128, 256, HAP_TILE_SUMS/'
breaks 'coll_reduce_scatter: tiles by rows of what is no all-reduce' 's/HAP_TILE_TURNS | HAP_TILE_SUMS/HAP_TILE_TURNS | HAP_TILE_SUMS | HAP_TILE_BY_ROWS/'
breaks 'coll_reduce_scatter: tiles of group 1 stand behind own ones' 's/HAP_TILE_SUMS, {1, 1}, {2, 1}, {1, 1}/HAP_TILE_SUMS, {0, 1}, {2, 1}, {1, 1}/'
wait
for said in "$dir"/*/wrong; do
    [ -e "$said" ] && { cat "$said"; failed=1; }
done
[ "$(ls -d "$dir"/*/right 2>/dev/null | wc -l)" = $tried ] || wrong "not all of $tried faults were noticed"

[ $failed = 0 ] && echo "pair_program: all right, $tried faults"
exit $failed
