#!/bin/bash
# script/lint finds one planted fault of each kind, and nothing in documents without.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

fresh() {
    rm -rf "${work:?}"/*
    mkdir -p "$work/docs" "$work/synth/search"
    touch "$work/synth/search/explore.c"
    echo 'One contributes.' >"$work/CONTRIBUTING.md"
    printf '# Figures\n\nA step takes 58.2 ms.\n\n## A part, of it\n' >"$work/docs/benchmarks.md"
    cat >"$work/README.md" <<'E'
# A title

A step takes 58.2 ms: [figures](docs/benchmarks.md#a-part-of-it). The search is
`synth/search/explore.c`, or `explore.c` for short, or `synth/{search,search}/*.c`; it writes
`program.c`. `a / b` and `--option` are no files.

E
    {
        printf '| %s |\n' "a table may be as wide as it likes $(printf 'x%.0s' {1..120})"
        printf '```text\n%s 99.9 ms\n```\n' "$(printf 'x%.0s' {1..120})"
    } >>"$work/README.md"
}

# expect FILE TEXT WORDS: with TEXT added to FILE, lint fails and says WORDS.
expect() {
    fresh
    printf '\n%b\n' "$2" >>"$work/$1"
    if out=$("$root/script/lint" "$work"); then
        echo "not found: $3"
        failed=1
    elif ! grep -qF -- "$3" <<<"$out" || [ "$(wc -l <<<"$out")" -ne 1 ]; then
        printf 'wanted one fault, "%s", got:\n%s\n' "$3" "$out"
        failed=1
    fi
}

fresh
"$root/script/lint" "$work" || failed=1

# 39 words on four lines, as the text of a list item.
words=$(printf 'word word word word word word word word word word\\n  %.0s' 1 2 3)
words+='word word word word word word word word word'
expect README.md "$(printf 'x%.0s' {1..101})" '101 columns'
expect docs/benchmarks.md "\`\`\`\n$(printf 'x%.0s' {1..101})\n\`\`\`" '101 columns'
expect CONTRIBUTING.md "Many $words end." 'a sentence of 41 words'
expect docs/benchmarks.md "- First.\n- Many $words end" 'a sentence of 41 words'
expect README.md 'See [this](docs/none.md).' 'link to docs/none.md'
expect README.md 'See [this](docs/benchmarks.md#nowhere).' 'no such heading'
expect README.md 'See `synth/search/none.c`.' 'names synth/search/none.c'
expect README.md 'See `synth/{search,none}/*.c`.' 'names synth/none/*.c'
expect README.md 'See `none.c`.' 'names none.c'
expect README.md 'It takes 57.1 ms.' 'the figure 57.1'
expect README.md '| it is | 12 times faster |' 'the figure 12'
[ $failed -eq 0 ] && echo "each kind of fault is found"
exit $failed
