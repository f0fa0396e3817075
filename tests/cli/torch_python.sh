# shellcheck shell=bash
# Sourced by tests of what documents say to type: a Python with torch and transformers ($python;
# HAP_PYTHON names one), or the test is skipped; hapc and the exporter on their paths; a folder $work
# that goes with the test.
root=$PWD
export PATH=$HAP_BUILD/bin:$PATH PYTHONPATH=$root/ir/export
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for python in "${HAP_PYTHON:-}" "$root/.venv/bin/python" python3; do
    [ -n "$python" ] && "$python" -c 'import torch, transformers' 2>/dev/null && break
    python=
done
if [ -z "$python" ]; then
    echo "skipped: no Python with torch and transformers (script/bootstrap --torch makes .venv)"
    exit 77
fi

# blocks FILE [LANGUAGE]: the lines of its code blocks
blocks()
{
    awk -v open="\`\`\`${2:-}" '/^```/ { on = !within && $0 == open; within = !within; next } on' "$1"
}
