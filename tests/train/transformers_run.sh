#!/bin/sh
# transformers_run.py, where there is a Python with torch and transformers (HAP_PYTHON names one).
for python in "$HAP_PYTHON" .venv/bin/python ../venv/bin/python python3; do
    [ -n "$python" ] || continue
    if "$python" -c 'import torch, transformers' 2>/dev/null; then
        exec "$python" tests/train/transformers_run.py "${HAP_BUILD:?}"
    fi
done
echo "skipped: no Python with torch and transformers (set HAP_PYTHON)"
exit 77
