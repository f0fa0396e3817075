#!/bin/bash
# Where `hapc run` keeps compiled programs: outside plan folders, by all that they are made from, and
# where nobody else writes. Nothing that lies in a plan folder is executed, and none is written to.
set -u
. tests/cli/commands_run.sh
umask 022
p=$work/plan
export HAPC_CACHE=$work/cache

# A compiler that counts its compilations.
cat >"$work/cc" <<S
#!/bin/sh
case "\$*" in *--version*) ;; *) echo once >>"$work/compiled" ;; esac
exec cc "\$@"
S
chmod +x "$work/cc"
export CC=$work/cc
compiled() { wc -l <"$work/compiled"; }
# built N WHAT: so many compilations since the last time, and a program of the cache is started
built() {
    : >"$work/compiled"
    "$hapc" run "$p" --dry-run --unproved >"$work/out" 2>"$work/err" || wrong "$2: exit $?"
    [ "$(compiled)" = "$1" ] || wrong "$2: compiled $(compiled) times, not $1"
    program=$(grep -o "$HAPC_CACHE/[0-9a-f]*/program" "$work/out") || wrong "$2: no program of the cache"
}
"$hapc" examples/mlp/graph.json clusters/laptop3.yaml -o "$p" -q || exit 1
cp -r "$p" "$work/twin"

# Each of these is another program; the same again is none.
built 1 'the first time'
built 0 'the second time'
first=$program
for file in program.c buffers.h kernels.cu; do
    echo '// mine' >>"$p/$file"
    built 1 "$file"
    built 0 "$file again"
done
CC="$work/cc -O1" built 1 'a flag'
CPATH=$work built 1 'a variable of compilers'
sed -i 's/once/Once/' "$work/cc"
built 1 'another compiler with the same words'
p=$work/twin built 1 'a copy of the folder as it was'
p=$work/twin built 0 'it again'

# The runtime counts by what is in it, not by its place's date.
mkdir "$work/lib" "$work/bin"
cp "$(sed -n 's/^libdir=//p' "$HAP_BUILD/lib/pkgconfig/haprt.pc")/libhaprt-cpu.a" "$work/lib"
cat >"$work/bin/pkg-config" <<S
#!/bin/sh
echo "-L$work/lib" && exec $(command -v pkg-config) "\$@"
S
chmod +x "$work/bin/pkg-config"
built_there() { PATH=$work/bin:$PATH built "$@"; }
built_there 1 'another runtime'
touch "$work/lib/libhaprt-cpu.a"
built_there 0 'the same runtime, touched'
echo 'int hap_more;' | cc -c -x c - -o "$work/more.o" && ar r "$work/lib/libhaprt-cpu.a" "$work/more.o" 2>/dev/null
built_there 1 'a runtime with more in it'

# Nothing of the plan folder is executed or compiled but its two sources.
rm -rf "$p" && cp -r "$work/twin" "$p"
built 0 'the plan again'
key=$(basename "$(dirname "$program")")
for place in "build/${key:0:16}" "build/$key" "$key" .; do
    mkdir -p "$p/$place"
    printf '#!/bin/sh\ntouch "%s/planted"\n' "$work" >"$p/$place/program"
    chmod +x "$p/$place/program"
done
mkdir "$p/hap" && echo '#error "planted"' >"$p/hap/runtime.h"
built 0 'what was planted'
echo '// more' >>"$p/program.c"
built 1 'beside a planted header'
"$hapc" run "$p" --unproved --steps 1 >"$work/out" 2>"$work/err" && wrong "a run without inputs"
grep -q 'no files for 2 inputs' "$work/err" || wrong "the program did not start"
[ -e "$work/planted" ] && wrong "a planted program was executed"

# A folder that nobody can write to: planned, checked, run; it stays as it is.
rm -rf "$p" && cp -r "$work/twin" "$p"
before=$(find "$p" | sort)
cat >"$work/readonly" <<S
mount --bind "$p" "$p" && mount -o remount,bind,ro "$p" || exit 77
touch "$p/x" 2>/dev/null && exit 78
"$hapc" check "$p" || exit 1
"$hapc" run "$p" --steps 1
[ \$? = 1 ] || exit 1
S
ways=("unshare -Urm" "unshare -m" none)
for way in "${ways[@]}"; do
    $way true 2>/dev/null && break
done
if [ "$way" = none ]; then
    echo "not tried: a read-only folder (no mount namespace)"
else
    $way sh "$work/readonly" >"$work/out" 2>"$work/err" || wrong "a read-only folder: $?"
    grep -q 'no files for 2 inputs' "$work/err" || wrong "no run of a read-only folder"
fi
[ "$before" = "$(find "$p" | sort)" ] || wrong "a run writes to the plan folder"

# What others can change is not executed; half of a build is made again.
built 0 'the plan as it was'
chmod g+w "$program"
built 1 'a program that a group may write'
built 0 'and again'
rm "$program"
built 1 'a folder without its program'
chmod o+w "$HAPC_CACHE"
code 1 'where others can change them' run "$p" --dry-run
grep -q 'hint: HAPC_CACHE names' "$work/err" || wrong "no hint"
chmod o-w "$HAPC_CACHE"
ln -s "$HAPC_CACHE" "$work/link"
HAPC_CACHE=$work/link code 0 'cache/[0-9a-f]*/program' run "$p" --dry-run
echo file >"$work/file"
HAPC_CACHE=$work/file code 1 'file: Not a directory' run "$p" --dry-run
HAPC_CACHE=$work/file/x code 1 'x: Not a directory' run "$p" --dry-run

# Where it is, if nothing says so.
export XDG_CACHE_HOME=$work/xdg
HAPC_CACHE= code 0 "$work/xdg/hapc/[0-9a-f]*/program" run "$p" --dry-run
[ "$(stat -c %a "$work/xdg/hapc")" = 700 ] || wrong "others can read it"
XDG_CACHE_HOME=relative HOME=$work/home HAPC_CACHE= code 0 "$work/home/.cache/hapc/[0-9a-f]*/program" run "$p" --dry-run
XDG_CACHE_HOME= HOME= HAPC_CACHE= code 1 'HAPC_CACHE, XDG_CACHE_HOME and HOME are not set' run "$p" --dry-run

# What was not used for long goes with the next build, and what killed builds left; nothing else.
old=$HAPC_CACHE/0123456789abcdef0123456789abcdef
mkdir "$old" "$HAPC_CACHE/tmp-1-01234567" "$HAPC_CACHE/tmp-2-01234567" "$HAPC_CACHE/mine"
touch "$old/program" "$HAPC_CACHE/mine/program"
touch -d '100 days ago' "$old" "$HAPC_CACHE/mine" "$(dirname "$program")"
touch -d '2 days ago' "$HAPC_CACHE/tmp-1-01234567"
built 0 'an old one in use'
echo '// another' >>"$p/program.c"
built 1 'another'
[ -e "$old" ] || [ -e "$HAPC_CACHE/tmp-1-01234567" ] && wrong "old programs are left"
[ -e "$HAPC_CACHE/mine/program" ] && [ -e "$HAPC_CACHE/tmp-2-01234567" ] || wrong "too much is swept"
rm -rf "$p" && cp -r "$work/twin" "$p"
built 0 'what was old and was used since'

# A program that does not compile is named by its own place, and leaves nothing.
count=$(find "$HAPC_CACHE" | wc -l)
echo 'int broken(' >>"$p/program.c"
code 5 "^$p/program.c:[0-9]+:[0-9]+: error" run "$p" --dry-run --unproved
[ "$count" = "$(find "$HAPC_CACHE" | wc -l)" ] || wrong "a failed build is left"
[ "$(find "$HAPC_CACHE" -name 'tmp-*' | wc -l)" = 1 ] || wrong "temporaries are left"

[ $status = 0 ] && echo "build_cache: all right"
exit $status
