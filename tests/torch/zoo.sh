#!/bin/sh
# Models of the zoo (zoo.py) trained beside PyTorch, where there is a Python with torch and transformers
# (HAP_PYTHON names one); skipped elsewhere. A few under one strategy; at night all of them, under four. Three in stages,
# one with rows that go to experts, of which one is chosen by half of the tokens.
for python in "$HAP_PYTHON" .venv/bin/python ../venv/bin/python python3; do
    [ -n "$python" ] || continue
    if "$python" -c 'import torch, transformers' 2>/dev/null; then
        if [ "$HAP_NIGHTLY" = 1 ]; then
            "$python" tests/torch/zoo_run.py --strategies auto,dp-prop --cluster clusters/laptop2x2.yaml \
                --stages 0-2@left,3-4@right:1 ResNet-50 || exit 1
            exec "$python" tests/torch/zoo_run.py --export
        fi
        "$python" tests/torch/zoo_run.py --strategies dp-prop --cluster clusters/laptop2x2.yaml \
            --stages 0@left,1@right:1 --stages 0@right,1@left:2 Llama "tied weights" || exit 1
        "$python" tests/torch/zoo_run.py --strategies dp-prop --cluster clusters/laptop2x2.yaml \
            --stages 0@left,1@right:1 Mixtral || exit 1
        "$python" tests/torch/zoo_run.py --strategies hap --crowd 100 --plan=--expert-room=5 \
            --plan=--pin "--plan=model.layers.?.mlp.experts.*_proj=S(0)" \
            --plan=--pin "--plan=model.layers.?.mlp.experts.*to_rooms=S(1)" Mixtral || exit 1
        exec "$python" tests/torch/zoo_run.py --strategies auto Llama Mixtral BART CLIP DLRM "buffers that forward updates"
    fi
done
echo "skipped: no Python with torch and transformers (set HAP_PYTHON)"
exit 77
