#!/bin/bash
# The README's listing, from a PyTorch model to a trained one, does what it says: it runs as it
# stands there, and the loss that it prints last is below the first. Needs a Python with torch and
# transformers (HAP_PYTHON names one).
set -u
. tests/cli/torch_python.sh

blocks README.md python >"$work/train.py"
grep -q 'hap_export.export' "$work/train.py" || {
    echo "README.md has no listing that calls hap_export.export"
    exit 1
}
ln -s "$root/README.md" "$root/clusters" "$work"
cd "$work" || exit 1
"$python" train.py >out 2>err || {
    cat out err
    exit 1
}
grep loss out
awk '/^loss/ && !n++ { first = $2 } /^loss/ { last = $2 }
     END { exit !(n == 2 && last < first - 0.5) }' out || {
    echo "the loss did not fall"
    exit 1
}
