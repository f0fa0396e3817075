#!/usr/bin/env bash
# Checkpoints of programs/fit.c, as files and as folders: what is in them, from which ranks they are
# read, what kill -9 at every call of a save leaves, and what is refused before the first step.
set -u
build=${HAP_BUILD:?}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export PKG_CONFIG_PATH="$build/lib/pkgconfig"
rows=(--input x=tests/programs/fit_x.npy --input y=tests/programs/fit_y.npy)
flags=--oversubscribe
mpirun --version 2>/dev/null | grep -Eq 'Open MPI|OpenRTE' || flags=
failed=0
wrong()
{
    echo "FAILED: $*"
    failed=1
}

for n in 1 3; do
    cc -std=c11 -DN=$n tests/programs/fit.c $(pkg-config --cflags --libs haprt) -o "$dir/fit$n" || exit 1
done
wraps=
for call in fsync unlink rmdir mkdir rename posix_fallocate renameat2; do wraps+=" -Wl,--wrap=$call"; done
cc -std=c11 -DN=1 tests/programs/fit.c tests/programs/crash_at.c $(pkg-config --cflags --libs haprt) $wraps -o "$dir/crash" || exit 1
cc -std=c11 -DN=1 tests/programs/fit.c tests/programs/small_disk.c $(pkg-config --cflags --libs haprt) -Wl,--wrap=statvfs -o "$dir/small" || exit 1
sed 's/hap_init(&argc, &argv, "[^"]*"/hap_init(\&argc, \&argv, "another"/' tests/programs/fit.c >"$dir/other.c"
cc -std=c11 -DN=1 "$dir/other.c" $(pkg-config --cflags --libs haprt) -o "$dir/other" || exit 1

# fit PROGRAM OPTIONS…: a run of one rank that ends well
fit()
{
    "$dir/$1" "${rows[@]}" "${@:2}" >"$dir/out" 2>"$dir/err" || {
        wrong "$* ends with $?"
        cat "$dir/err"
    }
}
# says STATUS PATTERN PROGRAM OPTIONS…: no step is made
says()
{
    local status
    "$dir/$3" "${rows[@]}" "${@:4}" >"$dir/out" 2>"$dir/err"
    status=$?
    [ $status = "$1" ] || wrong "${*:4}: status $status, not $1"
    grep -Eq -- "$2" "$dir/err" || { wrong "${*:4}: no '$2' in"; cat "$dir/err"; }
    grep -q '^step' "$dir/out" && wrong "${*:4}: steps are made first"
}
losses() { sed 's/.*"step":\([0-9]*\),"loss":\([0-9.e+-]*\).*/\1 \2/' "$dir/out"; }

# A folder: steps by name, the newest taken, the last two kept; the same values as in one file.
fit fit1 --steps 8 --seed 5 --json --save "$dir/all.safetensors"
losses >"$dir/all"
fit fit1 --steps 4 --seed 5 --save "$dir/run" --save-every 1 --keep 2 --shard-size 50
[ "$(ls -A "$dir/run" | tr '\n' ' ')" = 'step-3 step-4 ' ] || wrong "kept: $(ls -A "$dir/run")"
[ "$(ls "$dir/run/step-4" | wc -l)" -ge 6 ] || wrong "not cut into shards: $(ls "$dir/run/step-4")"
grep -q '"fc.bias": "model-0000[12]-of-00002.safetensors"' "$dir/run/step-4/model.safetensors.index.json" || wrong "no index of weights"
for from in run run/step-4 run/step-4/model.safetensors.index.json; do
    fit fit1 --steps 4 --json --init "$dir/$from" --save "$dir/again.safetensors"
    losses | cmp -s - <(tail -n 4 "$dir/all") || wrong "losses from $from"
    cmp "$dir/again.safetensors" "$dir/all.safetensors" || wrong "values from $from"
done
mpirun $flags -n 3 "$dir/fit3" "${rows[@]}" --steps 4 --json --init "$dir/run" >"$dir/out" 2>"$dir/err" || wrong "three ranks"
awk '{printf "%d %.4g\n", $1, $2}' <(losses) | cmp -s - <(tail -n 4 "$dir/all" | awk '{printf "%d %.4g\n", $1, $2}') || wrong "losses of three ranks"
fit fit1 --steps 1 --fresh --json --init "$dir/run"
grep -q '^{"step":0,' "$dir/out" || wrong "--fresh goes on from another step"

# Killed right before each call of two saves and what they remove: what is there then is whole.
fit fit1 --steps 2 --init "$dir/run" --save "$dir/step6.safetensors"
fit fit1 --steps 0 --init "$dir/run" --save "$dir/step4.safetensors"
cp "$dir/all.safetensors" "$dir/step8.safetensors"
seen=
for form in run last.safetensors; do
    for ((at = 1; ; at++)); do
        rm -rf "$dir/try"
        mkdir "$dir/try"
        if [ $form = run ]; then cp -r "$dir/run" "$dir/try/run"; else cp "$dir/step4.safetensors" "$dir/try/$form"; fi
        keep=()
        [ $form = run ] && keep=(--keep 2)
        { CRASH_AT=$at "$dir/crash" "${rows[@]}" --init "$dir/try/$form" --steps 4 --save "$dir/try/$form" \
            --save-every 2 "${keep[@]}" >"$dir/out" 2>"$dir/err"; } 2>/dev/null # the shell's own "Killed"
        status=$?
        [ $status = 0 ] || [ $status = 137 ] || { wrong "at call $at: status $status"; cat "$dir/err"; }
        left=$(find "$dir/try" -name '.*tmp-*' | wc -l)
        fit fit1 --steps 0 --init "$dir/try/$form" --save "$dir/now.safetensors"
        for step in 4 6 8 none; do cmp -s "$dir/now.safetensors" "$dir/step$step.safetensors" && break; done
        [ $step = none ] && wrong "$form, killed at call $at: what is there is of no step"
        seen+=" $form:$step:$((left > 0))"
        fit fit1 --steps 0 --init "$dir/try/$form" --save "$dir/try/$form"
        [ "$(find "$dir/try" -name '.*tmp-*' | wc -l)" = 0 ] || wrong "$form, killed at call $at: temporaries are left"
        [ $status = 0 ] && break
    done
done
for what in run:4:1 run:6:0 run:6:1 run:8:0 last.safetensors:4:1 last.safetensors:6:0 last.safetensors:8:0; do
    [[ " $seen " = *" $what "* ]] || wrong "no crash leaves $what:$seen"
done

# What is damaged, mixed or of another model.
shard=$dir/run/step-4/model-00002-of-00002.safetensors
cp "$shard" "$dir/kept"
printf '\1' | dd of="$shard" bs=1 seek=$(($(wc -c <"$shard") - 3)) conv=notrunc 2>/dev/null
says 1 "error: .*model-00002-of-00002.safetensors: damaged: tensor '.*', or .*: its data from byte [0-9]* on" fit1 --init "$dir/run"
sed 's/"hap.step":"4"/"hap.step":"3"/' "$dir/kept" >"$shard"
says 1 'error: .*model-00002-of-00002.safetensors: damaged: its header is not what was written' fit1 --init "$dir/run"
cp "$dir/run/step-3/model-00002-of-00002.safetensors" "$shard"
says 1 'are not of one checkpoint \(steps 4, 3\)' fit1 --init "$dir/run"
rm "$shard"
says 1 'error: .*model-00002-of-00002.safetensors: No such file' fit1 --init "$dir/run"
cp "$dir/kept" "$shard"
says 1 "error: .*: a checkpoint of another graph \(.*, this one is another\): --fresh takes" other --init "$dir/run"
fit other --steps 1 --fresh --init "$dir/run"
sed 's/"hap.format":"1"/"hap.format":"2"/' "$dir/step4.safetensors" >"$dir/newer.safetensors"
says 1 'not supported: a checkpoint in format 2, this hapc reads format 1: --fresh takes' fit1 --init "$dir/newer.safetensors"
fit fit1 --steps 1 --fresh --init "$dir/newer.safetensors"
mkdir "$dir/empty" "$dir/pickled"
touch "$dir/pickled/pytorch_model.bin"
says 1 'error: .*empty: there is no model.safetensors in it' fit1 --init "$dir/empty"
says 1 'not supported: pytorch_model.bin' fit1 --init "$dir/pickled"
says 1 'its rows were read in the order of the files: --shuffle cannot begin' fit1 --init "$dir/run" --shuffle
fit fit1 --steps 2 --shuffle --seed 3 --json --save "$dir/half.safetensors"
fit fit1 --steps 2 --json --init "$dir/half.safetensors"
losses >"$dir/rest"
fit fit1 --steps 4 --shuffle --seed 3 --json
losses | tail -n 2 | cmp -s - "$dir/rest" || wrong "--shuffle is not in the checkpoint"

# Where nothing can be written: said before the first step, and nothing is replaced.
mkfifo "$dir/fifo.safetensors"
mkdir "$dir/folder.safetensors" "$dir/folder.json"
ln -s "$dir/all.safetensors" "$dir/link.safetensors"
touch "$dir/file"
says 1 'fifo.safetensors: a FIFO' fit1 --save "$dir/fifo.safetensors"
says 1 'folder.safetensors: a folder' fit1 --save "$dir/folder.safetensors"
says 1 'link.safetensors: a symbolic link' fit1 --save "$dir/link.safetensors"
says 1 'null: a device' fit1 --save-grads /dev/null
says 1 'file: a file, where checkpoints want a folder' fit1 --save "$dir/file"
says 1 'folder.json: a folder' fit1 --trace "$dir/folder.json"
says 1 'fifo.safetensors: a FIFO' fit1 --trace "$dir/fifo.safetensors"
says 1 'fifo.safetensors: a FIFO' fit1 --metrics "$dir/fifo.safetensors"
fit fit1 --steps 1 --metrics /dev/null
# A name that fits, but for what the temporary beside it has in front and behind.
long=$(printf 'n%.0s' $(seq 240)).safetensors
for option in --save --save-grads; do says 1 'nnn…: the name is too long: [0-9]* bytes, the folder takes 255' fit1 $option "$dir/$long"; done
says 1 'nnn…: the name is too long: [0-9]* bytes, the folder takes 255' fit1 --metrics "$dir/$long$long"
says 1 'too long' fit1 --save "$dir/$(printf '%.0s/././././././././././.' $(seq 120))/x"
# Too little room for a checkpoint, for some of them, for anything.
for name in one.safetensors folder; do
    ROOM=100 says 1 "$name: it takes 0.000[0-9]* MB, 0.0001 MB are free there" small --save "$dir/$name"
    ROOM=0 says 1 "$name: No space left on device" small --save "$dir/$name"
done
ROOM=1500 fit small --steps 9 --save "$dir/few" --save-every 1
grep -q '^note: --save .*few: 9 checkpoints of 0.000[0-9]* MB, 0.0015 MB are free there; --keep N' "$dir/err" || { wrong "no note of the room"; cat "$dir/err"; }
ROOM=1500 fit small --steps 9 --save "$dir/few" --save-every 1 --keep 2 --init "$dir/few"
grep -q '^note:' "$dir/err" && wrong "a note where two checkpoints are kept"
ROOM=0 says 1 'log: No space left on device' small --metrics "$dir/log"
ROOM=0 fit small --steps 1 --metrics /dev/null
says 1 'run: step-4 is in it, and this run begins at step 0: --init .*run goes on from there' fit1 --save "$dir/run"
says 1 '--keep wants --save FOLDER' fit1 --save "$dir/one.safetensors" --keep 1
says 2 '--fresh without --init' fit1 --fresh
says 2 "--shard-size wants bytes \(500MB, 5GB\), not '5TB'" fit1 --shard-size 5TB
[ -p "$dir/fifo.safetensors" ] && [ -L "$dir/link.safetensors" ] || wrong "something is replaced"

[ $failed = 0 ] && echo "checkpoint_program: all right"
exit $failed
