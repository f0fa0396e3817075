#!/bin/sh
# digits_run.py, where there is a Python with torch (HAP_PYTHON names one) and scikit-learn's digits.
digits=.deps/digits/digits.csv.gz
[ -f $digits ] || { echo "skipped: no $digits (script/bootstrap --torch)"; exit 77; }
for python in "$HAP_PYTHON" .venv/bin/python ../venv/bin/python python3; do
    [ -n "$python" ] || continue
    if "$python" -c 'import torch, safetensors' 2>/dev/null; then
        exec "$python" tests/train/digits_run.py "${HAP_BUILD:?}" $digits
    fi
done
echo "skipped: no Python with torch (set HAP_PYTHON)"
exit 77
