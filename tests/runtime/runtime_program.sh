#!/bin/sh
# programs/fit.c on 1 to 4 ranks: losses, checkpoints, inputs and messages of the runtime, as a user
# builds and starts it (cc, pkg-config haprt, mpirun).
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

# start RANKS PROGRAM OPTIONS…: stdout to out, stderr to err, status in $status
start()
{
    ranks=$1
    program=$2
    shift 2
    mpirun $flags -n "$ranks" "$dir/$program" "$@" >"$dir/out" 2>"$dir/err"
    status=$?
}

fit()
{
    n=$1
    shift
    start "$n" "fit$n" --input "x=$here/programs/fit_x.npy" --input "y=$here/programs/fit_y.npy" "$@"
    [ $status = 0 ] || { wrong "fit on $n ranks, $*: status $status"; cat "$dir/err"; }
}

# says STATUS COUNT PATTERN WHAT: exit status and one line of ours that matches
says()
{
    [ $status = "$1" ] || { wrong "$3: status $status, not $1"; cat "$dir/err"; }
    lines=$(grep -Ec '^(error:|rank [0-9]+ host)' "$dir/err")
    [ "$lines" = 1 ] || { wrong "$3: $lines messages instead of one"; cat "$dir/err"; }
    grep -Eq "$2" "$dir/err" || { wrong "$3: no '$2' in"; cat "$dir/err"; }
}

losses()
{
    sed 's/.*"step":\([0-9]*\),"loss":\([0-9.e+-]*\).*/\1 \2/' "$dir/out" |
        awk '{printf "%d %.4g\n", $1, $2}'
}

for n in 1 2 3 4; do
    cc -std=c11 -Wall -Wextra -Wconversion -Wno-sign-conversion -Werror -DN=$n "$here/programs/fit.c" \
        $(pkg-config --cflags --libs haprt) -o "$dir/fit$n" || exit 1
done

# The first values do not depend on the plan; neither does the file. Losses agree with one rank's.
for n in 1 2 3 4; do
    fit $n --steps 0 --seed 5 --save "$dir/init$n.safetensors"
    cmp -s "$dir/init1.safetensors" "$dir/init$n.safetensors" || wrong "initial checkpoint of $n ranks differs"
    fit $n --steps 20 --json --save "$dir/end$n.safetensors" --save-grads "$dir/grads$n"
    losses >"$dir/losses$n"
    [ "$(wc -l <"$dir/losses$n")" = 20 ] || wrong "$n ranks: not 20 lines"
    cmp -s "$dir/losses1" "$dir/losses$n" || { wrong "losses of $n ranks differ"; diff "$dir/losses1" "$dir/losses$n"; }
    [ "$(wc -c <"$dir/end$n.safetensors")" = "$(wc -c <"$dir/end1.safetensors")" ] || wrong "checkpoint size of $n ranks"
    [ "$(wc -c <"$dir/grads$n")" = "$(wc -c <"$dir/grads1")" ] || wrong "gradients' size of $n ranks"
    fit $n --steps 20 --json --shuffle
    losses >"$dir/shuffled$n"
    cmp -s "$dir/shuffled1" "$dir/shuffled$n" || wrong "--shuffle depends on the number of ranks"
done
cmp -s "$dir/losses1" "$dir/shuffled1" && wrong "--shuffle changes nothing"
grep -q '^19 ' "$dir/losses1" || wrong "last step is not 19"

# Resuming: bit for bit on the same ranks, same losses on others; --save-every leaves the same file.
for n in 1 3; do
    fit $n --steps 12 --save "$dir/part$n.safetensors"
    fit $n --steps 8 --json --init "$dir/part$n.safetensors" --save "$dir/again$n.safetensors"
    cmp -s "$dir/end$n.safetensors" "$dir/again$n.safetensors" || wrong "12 + 8 steps differ from 20 on $n ranks"
    tail -n 8 "$dir/losses1" >"$dir/tail"
    losses | cmp -s "$dir/tail" - || wrong "losses after resuming on $n ranks"
done
fit 4 --steps 8 --json --init "$dir/part1.safetensors"
losses | cmp -s "$dir/tail" - || wrong "losses after resuming on other ranks"
fit 2 --steps 20 --save "$dir/every.safetensors" --save-every 10
cmp -s "$dir/every.safetensors" "$dir/end2.safetensors" || wrong "--save-every"
ls "$dir" | grep -q tmp && wrong "a temporary file is left"

# A parameter under its other name.
sed 's/"hap\./"was./g; s/"fc.weight"/"tied.weight"/' "$dir/init1.safetensors" >"$dir/short" # two bytes more in the header
head -c 8 "$dir/init1.safetensors" | od -An -tu8 | awk '{printf "%d", $1 + 2}' >"$dir/size"
awk -v n="$(cat "$dir/size")" 'BEGIN {for (i = 0; i < 8; i++) {printf "\\%03o", n % 256; n = int(n / 256)}}' >"$dir/oct"
{ printf "$(cat "$dir/oct")"; tail -c +9 "$dir/short"; } >"$dir/alias"
fit 2 --steps 20 --json --seed 0 --init "$dir/alias" --save "$dir/aliased.safetensors"
fit 2 --steps 20 --json --seed 0 --init "$dir/init2.safetensors" --save "$dir/named.safetensors"
cmp -s "$dir/aliased.safetensors" "$dir/named.safetensors" || wrong "a parameter under its alias"

# Constants and fills.
for n in 1 3; do
    cc -std=c11 -DN=$n "$here/programs/fills.c" $(pkg-config --cflags --libs haprt) -o "$dir/fills$n" || exit 1
    cp "$dir/init1.safetensors" "$dir/init"
    start $n fills$n --steps 1 --seed 3 --save "$dir/filled$n.safetensors"
    [ $status = 0 ] || { wrong "fills on $n ranks"; cat "$dir/err"; }
done
cmp -s "$dir/filled1.safetensors" "$dir/filled3.safetensors" || wrong "fills depend on the number of ranks"
# tensor NAME FILE: where its bytes are by the header, as hexadecimal
tensor()
{
    size=$(head -c 8 "$2" | od -An -tu8 | tr -d ' ')
    range=$(head -c $((8 + size)) "$2" | tail -c +9 |
        sed 's/.*"'"$1"'":{[^}]*"data_offsets":\[\([0-9]*\),\([0-9]*\)\].*/\1 \2/')
    tail -c +$((9 + size + ${range% *})) "$2" | head -c $((${range#* } - ${range% *})) | od -An -v "$3" | tr -s ' \n' ' '
}
[ "$(tensor iota.out "$dir/filled3.safetensors" -tf4)" = ' 10 12 14 16 18 10 12 14 16 18 ' ] || wrong "iota"
[ "$(tensor wide "$dir/filled3.safetensors" -td8)" = ' -1 0 1 2 3 -1 0 1 2 3 ' ] || wrong "iota of integers"
[ "$(tensor truth "$dir/filled3.safetensors" -tu1)" = ' 1 1 1 1 1 1 1 1 1 1 ' ] || wrong "bool"
[ "$(tensor stored.out "$dir/filled3.safetensors" -tx4)" = "$(tensor fc.weight "$dir/init" -tx4)" ] || wrong "constant of a file"
start 3 fills3 --init "$dir/init1.safetensors"
says 1 "error: .*init1.safetensors: there is no tensor 'half' \(bf16 \[8/3 3\]\)" "another model's checkpoint"
rm "$dir/init"
start 3 fills3
says 1 'error: .*/init: No such file' "no file of constants"

# A program that cannot be right says so once, from any number of ranks.
# breaks PATTERN SED: the edited program ends with status 5
breaks()
{
    sed "$2" "$here/programs/fit.c" >"$dir/edited.c"
    cmp -s "$here/programs/fit.c" "$dir/edited.c" && wrong "'$2' changes nothing"
    cc -std=c11 -DN=3 "$dir/edited.c" $(pkg-config --cflags --libs haprt) -o "$dir/edited" || exit 1
    start 3 edited --input "x=$here/programs/fit_x.npy" --input "y=$here/programs/fit_y.npy"
    says 5 "$1" "'$2'"
}
breaks 'rank 0 host [^ ]+ step 0 program.c:[0-9]+: the collective started at program.c:[0-9]+ is never waited for' '/&loss, &part/,/hap_wait/{/hap_wait/d}'
breaks 'rank 0 host [^ ]+ step 0 program.c:[0-9]+: hap_wait: an event is waited for twice' 's/hap_wait(r, e);/& hap_wait(r, e);/'
breaks 'rank 0 host [^ ]+ program.c:[0-9]+: a tensor ends at byte' 's/LOCAL(6)/LOCAL(8)/'

# Heartbeat and trace.
mkdir "$dir/beat"
HAP_HEARTBEAT="$dir/beat" fit 3 --steps 3 --trace "$dir/trace.json"
for k in 0 1 2; do
    [ "$(wc -c <"$dir/beat/rank.$k")" = 128 ] || wrong "heartbeat of rank $k is not 128 bytes"
    grep -Eq '^[0-9]+ -1 [0-9]+ end [0-9]+ +$' "$dir/beat/rank.$k" || wrong "heartbeat of rank $k"
done
[ "$(grep -c '"op_linear:[0-9]*","pid":2,"tid":0' "$dir/trace.json")" = 3 ] || wrong "trace of ops"
[ "$(grep -c '"coll_reduce_scatter:[0-9]*","pid":1,"tid":1' "$dir/trace.json")" = 3 ] || wrong "trace of collectives"

# Messages.
x="--input x=$here/programs/fit_x.npy"
start 3 fit2 $x
says 1 'error: the program is for 2 ranks, started on 3' "number of ranks"
start 2 fit2 --stpes 3
says 2 "error: unknown option '--stpes' \(hapc run --help lists them\)" "unknown option"
start 2 fit2 --cuda graph=list,tnue=off
says 2 "error: --cuda has no key 'tnue' \(graph, tune, .*, peers\)" "unknown key of --cuda"
start 2 fit2 --cuda graph=maybe
says 2 "error: --cuda graph has no value 'maybe' \(usual, on, list, auto, off\)" "unknown value of --cuda"
start 2 fit2 --json=1
says 2 'error: --json takes no value' "flag with a value"
start 2 fit2 --rehearse
says 2 'error: --rehearse wants a value' "option without its value"
start 2 fit2 --rehearse=-1
says 2 "error: --rehearse wants a number of passes, not '-1'" "rehearsals under 0"
start 2 fit2 --steps x
says 2 "error: --steps wants a number of steps, not 'x'" "malformed number"
start 2 fit2 $x
says 1 "error: no file for input 'y' \(f32 \[12/2 3\]\): --input y=FILE.npy" "missing input"
start 2 fit2
says 1 "error: no files for 2 inputs: --input x=FILE.npy \(f32 \[[^)]*\]\) --input y=FILE.npy \(f32 \[12/2 3\]\)" "missing inputs"
start 2 fit2 $x --input "y=$here/programs/fit_x.npy"
says 1 "fit_x.npy: input 'y' wants f32 \[rows 3\], the file holds f32 \[30 8\]" "wrong shape"
start 2 fit2 $x --input z=q.npy
says 1 'error: --input z: the program has no such input; it has x y' "unknown input"
start 2 fit2 $x --input y=/nowhere
says 1 'error: /nowhere: No such file' "no such file"
y="--input y=$here/programs/fit_y.npy"
head -c 300 "$dir/end1.safetensors" >"$dir/cut"
start 2 fit2 $x $y --init "$dir/cut"
says 1 'error: .*cut: .*truncated' "truncated checkpoint"
start 2 fit2 $x $y --init "$dir/grads1"
[ $status = 0 ] || wrong "a file without moments is no --init" # optional: they start at zero
sed 's/"hap\./"was./g; s/"fc.bias"/"fc.bits"/' "$dir/init1.safetensors" >"$dir/lacks"
start 2 fit2 $x $y --init "$dir/lacks"
says 1 "error: .*lacks: there is no tensor 'fc.bias' \(f32 \[3/2\]\)" "missing tensor"
sed 's/"hap\./"was./g; s/\[8,3\]/[3,8]/' "$dir/init1.safetensors" >"$dir/turned"
start 2 fit2 $x $y --init "$dir/turned"
says 1 "turned: tensor 'fc.weight(.exp_avg)?' is F32 \[3 8\], the program wants F32 \[8 3\]" "wrong shape in a checkpoint"
start 2 fit2 $x $y --save /nowhere/f
says 1 'error: /nowhere/f: No such file' "--save to nowhere"
head -c 128 "$here/programs/fit_y.npy" >"$dir/nan.npy" # every y is NaN
head -c 360 /dev/zero | tr '\000' '\377' >>"$dir/nan.npy"
start 3 fit3 $x --input "y=$dir/nan.npy" --json
says 5 'error: step 0: the loss is not a number' "NaN"
[ -s "$dir/out" ] && wrong "a line is printed for a step without loss"
start 3 fit3 $x --input "y=$dir/nan.npy" --check-nan
says 5 "rank [02] host .*: before step 0 the input 'y' holds a NaN \(element 0 of (15|21) here\)" "NaN of an input"
# Once too where the launcher takes its time to end the others.
mpicc -std=c11 -DN=3 "$here/programs/slow_abort.c" "$here/programs/fit.c" \
    $(pkg-config --cflags --libs haprt) -o "$dir/slow" || exit 1
start 3 slow $x --input "y=$dir/nan.npy" --check-nan
says 5 "before step 0 the input 'y' holds a NaN" "a slow launcher"
{ head -c 128 "$here/programs/fit_x.npy"; head -c 960 /dev/zero; } >"$dir/inf.npy" # the last row is infinite, and meets weights of both signs
for i in 1 2 3 4 5 6 7 8; do printf '\0\0\200\177'; done | dd of="$dir/inf.npy" bs=1 seek=$((128 + 11 * 32)) conv=notrunc 2>/dev/null
start 3 fit3 --input "x=$dir/inf.npy" $y --check-nan
says 5 'rank 2 host .* step 0 program.c:[0-9]+: linear: makes the first NaN \(output 0, element 18 of 21 here\); operand 0 holds an infinity' "first NaN"
start 3 fit3 $x $y --check-nan
[ $status = 0 ] || wrong "a good run under --check-nan ends with $status"

[ $failed = 0 ] && echo "runtime_program: all right"
exit $failed
