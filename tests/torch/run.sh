#!/bin/sh
# The exporter's tests, where there is a Python with torch, transformers and pytest (HAP_PYTHON names
# one); skipped elsewhere.
for python in "$HAP_PYTHON" .venv/bin/python ../venv/bin/python python3; do
    [ -n "$python" ] || continue
    if "$python" -c 'import torch, transformers, pytest' 2>/dev/null; then
        exec "$python" -m pytest -q -p no:cacheprovider ir/export/tests "$@"
    fi
done
echo "skipped: no Python with torch, transformers and pytest (set HAP_PYTHON)"
exit 77
