#!/bin/sh
# What hap-record says of programs that are not of its language: one message with line and column.
# Each edit changes what a run would do in some step, on some rank or in some environment, or hides
# from the reader what a compiler would see.
set -u
build=${HAP_BUILD:?}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
plans=$(cd "$(dirname "$0")/../plans" && pwd)
failed=0

wrong()
{
    echo "FAILED: $*"
    failed=1
}

# refused PATTERN SED [FILE]
refused()
{
    cp "$plans/mlp@laptop3.c" "$dir/program.c"
    cp "$plans/mlp@laptop3.h" "$dir/buffers.h"
    sed -i "$2" "$dir/${3:-program.c}"
    cmp -s "$dir/program.c" "$plans/mlp@laptop3.c" && cmp -s "$dir/buffers.h" "$plans/mlp@laptop3.h" &&
        wrong "'$2' changes nothing"
    "$build/bin/hap-record" "$dir/program.c" --record "$dir/log" 2>"$dir/err"
    [ $? = 1 ] || wrong "'$2': status $?"
    head -n 1 "$dir/err" | grep -Eq "^$dir/[a-z]+\.[ch]:[0-9]+:[0-9]+: error: .*$1" ||
        { wrong "'$2': no '$1' in"; cat "$dir/err"; }
    [ "$(wc -l <"$dir/err")" = 3 ] || wrong "'$2': more than a message and its line"
}

# Steps, ranks and the environment.
refused "such a declaration|variables of this type|'n'" 's/^int main/static int n;\nint main/'
refused "'getenv'" 's/    op_relu(r, relu, fc1/    if (getenv("X")) op_relu(r, relu, fc1/'
refused "'rand'" 's/    op_relu(r, relu, fc1/    if (rand() == 3) op_relu(r, relu, fc1/'
refused "'system'" 's/    hap_mesh(/    system("true");\n    hap_mesh(/'
refused "'id'" 's/    op_relu(r, relu, fc1/    if (r->id) op_relu(r, relu, fc1/'
refused "'int'" 's/while (hap_next_step(r)) {/int step = 0; while (hap_next_step(r)) {\n step++;/'
refused 'a loop that is not of steps' 's/while (hap_next_step(r)) {/while (1) {/'
refused 'takes the place of in a step' 's/while (hap_next_step(r)) {/while (hap_next_step(r)) {\n        image = label;/'
refused '.' 's/    op_relu(r, relu, fc1/    ((void (*)(void))main)();\n    op_relu(r, relu, fc1/'
refused 'a function that calls itself' 's/^static void forward(hap_rank \*r)$/static void forward(hap_rank *r)\n{\n    forward(r);\n}\nstatic void rest(hap_rank *r)/'
# What a compiler would read otherwise than it looks.
refused 'this directive' 's/^static const hap_cuts/#define op_relu op_gelu\n&/'
refused 'this directive' 's/^static const hap_cuts/#include <stdlib.h>\n&/'
refused 'this directive' 's/^#include "buffers.h"/#include "others.h"/'
refused '%:' 's/^static const hap_cuts/%:define op_relu op_gelu\n&/'
refused 'a trigraph' 's/^static const hap_cuts/\/\/ what??\/\n&/'
refused 'goes on in the next one' 's/^static const hap_cuts/\/\/ \\\n&/'
refused 'turns the direction' "s/^static const hap_cuts/\/\/ $(printf '\342\200\256')\n&/"
refused 'a control character' "s/^static const hap_cuts/\/\/ $(printf '\033')[2J\n&/"
refused 'variables of this type' 's/^static void forward(hap_rank \*r)$/static __attribute__((constructor)) void forward(hap_rank *r)/'
refused "'asm'" 's/    op_relu(r, relu, fc1/    asm("");\n&/'
refused "'op_relu' as a name|'op_relu' twice|no '\(' here" 's/^int main/static void op_relu(hap_rank *r)\n{\n}\nint main/'
refused "'_Pragma'" 's/    op_relu(r, relu, fc1/    _Pragma("x")\n&/'
refused 'a number like this one' 's/HAP_NN);/010);/'
refused "'r' twice" 's/^static void forward(hap_rank \*r),/& other(hap_rank *r, hap_rank *r),/'
# Behind a return nothing is read, which a compiler would read.
refused "no '}' here" 's/^    return hap_finish(r);/&\n\& /'
# Numbers and places that C has not.
refused 'a number C has not' 's/hap_batch(r, /hap_batch(r, 2147483647 + /'
refused 'a number C has not' 's/hap_batch(r, /hap_batch(r, 1 \/ 0 + /'
refused 'a list of 3 where 4 are read|a list of [0-9]+ where' 's/hap_mesh(r, 1,/hap_mesh(r, 4,/'
refused 'this argument' 's/hap_batch(r, /hap_batch(r, 1.5 + /'
refused 'no string here|this argument' 's/AS_INPUT("image")/AS_INPUT(image)/' buffers.h
refused 'no tensor here|such a row|before it is declared|this argument' 's/ONE(image)/ONE(cuts)/' buffers.h

cp "$plans/mlp@laptop3.c" "$dir/program.c"
cp "$plans/mlp@laptop3.h" "$dir/buffers.h"
chmod a-w "$dir/program.c" "$dir/buffers.h"
"$build/bin/hap-record" "$dir/program.c" --record "$dir/log" || wrong "the program itself"
"$build/bin/hap-record" 2>/dev/null
[ $? = 2 ] || wrong "no program"
"$build/bin/hap-record" "$dir/none.c" --record "$dir/log" 2>"$dir/err"
[ $? = 1 ] && grep -q 'none.c: No such file' "$dir/err" || wrong "a file that is not there"

[ $failed = 0 ] && echo "interpret_program: all right"
exit $failed
