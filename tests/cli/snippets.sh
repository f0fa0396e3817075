#!/bin/bash
# What README.md, docs/training.md and the exporter's docstrings say to type runs as it stands there
# (README's Python listing: readme_listing.sh). Left out: what installs, builds or measures. A run of
# GPT-2 124M goes as far as --dry-run; an ellipsis stands for the inputs. Needs a Python with torch and
# transformers (HAP_PYTHON names one).
set -u
. tests/cli/torch_python.sh
fails=0

# does WHAT COMMAND…
does()
{
    local what=$1
    shift
    echo "$what"
    "$@" >"$work/said" 2>&1 && return
    echo "  WRONG exit $?"
    tail -n 20 "$work/said"
    fails=$((fails + 1))
}

# commands FILE: its code blocks of no language, a command whole on one line
commands()
{
    blocks "$1" | sed -e ':a' -e '/\\$/N; s/\\\n *//; ta'
}

ln -s "$root/clusters" "$root/examples" "$root/README.md" "$work"
cd "$work" || exit 1
mkdir tools data
printf '#!/bin/sh\ntest -e "$1"\n' >tools/xdg-open # a browser
chmod +x tools/xdg-open
export PATH=$work/tools:$PATH
"$python" - <<'END' || exit 1
import numpy as np, transformers
np.save("tokens.npy", np.random.default_rng(0).integers(0, 50257, (128, 1024)))
rng = np.random.default_rng(1)
for path, n in (("data/a.bin", 9), ("data/b.bin", 7), ("held.bin", 8)):
    rng.integers(0, 128, n * 32).astype(np.uint16).tofile(path)
config = transformers.LlamaConfig(vocab_size=128, hidden_size=32, intermediate_size=64, num_hidden_layers=2,
                                  num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=32)
transformers.LlamaForCausalLM(config).save_pretrained("llama")
END

# README: plans, reports and runs.
commands README.md >commands
while IFS= read -r command; do
    command=${command%%  *#*}
    case $command in
    '' | script/* | *script/bootstrap*) continue ;;
    esac
    command=${command//build-cuda\/bin\//}
    [[ $command != 'hapc run gpus'* || -e $HAP_BUILD/lib/pkgconfig/haprt-cuda.pc ]] || continue
    [[ $command != 'hapc run'* ]] || command+=' --dry-run'
    does "README: $command" bash -c "$command"
done <commands

# The package's docstring, and what it says to do with the file.
"$python" -c 'import hap_export; print("\n".join(x[4:] for x in hap_export.__doc__.splitlines() if x.startswith("    ")))' >doc.py
grep -q 'export(model' doc.py || { echo "WRONG hap_export's docstring has no listing"; fails=$((fails + 1)); }
printf '%s\n' 'import subprocess, numpy as np' 'np.save("ids.npy", ids.numpy())' \
    'subprocess.run("hapc graph.json clusters/laptop2.yaml -o cut && hapc run cut --steps 1 --save trained.safetensors "' \
    '               "--input input_ids=ids.npy --input labels=ids.npy", shell=True, check=True)' \
    'load_into(model, "trained.safetensors")' >more.py
cat doc.py more.py >all.py
does "hap_export's docstring" "$python" all.py
# That of moe.py: x, the weights and what an expert does are the reader's.
"$python" - >moe.py <<'END'
from hap_export import moe
print("import torch\nfrom hap_export import expert_linear, expert_slots, top_gates")
print("w1, w2 = torch.randn(3, 4, 6), torch.randn(3, 6, 4)")
print("x, gate, capacity = torch.randn(2, 8, 4), torch.nn.Linear(4, 3), 4")
for x in moe.__doc__.splitlines():
    if x.startswith("    "):
        print(x[4:])
print("assert out.shape == x.shape and out.abs().sum() > 0")
END
does "moe.py's docstring" "$python" moe.py

# docs/training.md: a checkpoint of transformers, another plan, evaluation and its metrics.
"$python" - <<'END' || exit 1
import torch, transformers, hap_export
model = transformers.LlamaForCausalLM.from_pretrained("llama")
ids = torch.zeros(4, 32, dtype=torch.int64)
hap_export.export(model, (), "llama.json", kwargs=dict(input_ids=ids, labels=ids),
                  optimizer=torch.optim.AdamW(model.parameters(), lr=1e-3))
END
hapc llama.json laptop2 -q -o plan && hapc llama.json laptop -q -o other-plan || fails=$((fails + 1))
inputs="--input 'input_ids=data/*.bin' --input 'labels=data/*.bin'"
commands "$root/docs/training.md" >commands
while IFS= read -r command; do
    [ -n "$command" ] || continue
    whole=${command//--input …/$inputs}
    does "training.md: $command" bash -c "${whole//…/$inputs}"
done <commands
[ "$(ls out)" = step-8 ] || { echo "  WRONG saved $(ls out)"; fails=$((fails + 1)); }
grep -q eval_loss log.jsonl || { echo "  WRONG no evaluation in log.jsonl"; fails=$((fails + 1)); }
blocks "$root/docs/training.md" python >metrics.py
echo 'assert train and all(loss > 0 for _, loss, _ in train)' >>metrics.py
does "training.md: metrics" "$python" metrics.py
echo "$fails wrong"
exit $((fails > 0))
