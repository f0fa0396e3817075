#!/usr/bin/env python3
"""Bugs that others had and found late, planted in plans of hapc: each is rejected by `hapc check`,
which names a line that makes or reads what is wrong. docs/bugs_of_others.md says where each class
comes from, and which cannot be written in a program of hapc.

    known_bugs.py [-v]    -v prints what is said of each
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

hapc = os.environ["HAP_BUILD"] + "/bin/hapc"
GPT, MOE = "examples/gpt2-tiny/graph.json", "examples/bert-moe-tiny/graph.json"
TWO, FOUR = "clusters/laptop2.yaml", "clusters/laptop2x2.yaml"
STAGES = ["--stages", "0@left,1-2@right", "--micro-batches", "4"]
PLANS = {
    "dp": [GPT, TWO, "--strategy", "dp-prop"],
    "tp": [GPT, TWO, "--strategy", "tp"],
    "zero": [GPT, TWO, "--strategy", "zero"],
    "mesh": [GPT, FOUR, "--mesh", "machine", "--strategy", "dp-even"],
    "batches": [GPT, TWO, "--strategy", "dp-even", "--micro-batches", "4"],
    "stages": [GPT, FOUR, *STAGES],
    "moe": [MOE, TWO, "--strategy", "dp-even"],
    "experts": ["tests/graphs/experts.json", TWO, "--strategy", "dp-even"],
    "rooms": ["tests/graphs/experts.json", TWO, "--strategy", "dp-even", "--expert-room", "2"],
    "dropout": ["tests/graphs/gpt2-dropout.json", TWO, "--strategy", "dp-even"],
    "bf16": [GPT, TWO, "--strategy", "dp-even", "--precision", "bf16"],
}

# Source, plan, what is wrong, the text that is looked for (a space is any blank, the rest a regular
# expression), what stands there instead; what is said, where the line named is one further on that
# names nothing of the edit.
M, T, V = "Megatron-LM #7452", "Megatron-LM", "TrainVerify"
BUGS = [
    # --- the wrong group, a sum too many or too few ---
    (M + " 2", "dp", "whole logits are summed as if each rank had a part of the vocabulary",
     r"(op_row_expsum\(r, (\w+), [^;]*;)",
     r"\1 hap_wait(r, coll_all_reduce_start(r, AXIS(0), FORM_FLAT, 1, &\2, &\2, NULL));"),
    (M + " 4", "mesh", "a gradient is reduced over the other axis",
     r"(coll_all_reduce_start\(r,) AXIS\(0\) \| AXIS\(1\), FORM_TWO_LEVEL, (\d\d, to, from), \w+\)",
     r"\1 AXIS(1), FORM_FLAT, \2, NULL)",
     r"op_sumsq: operand 0 \(\S+\) is P\(sum\) on axis 0"),
    (M + " 7", "mesh", "the loss is summed inside a machine alone",
     r"(coll_all_reduce_start\(r,) AXIS\(0\) \| AXIS\(1\), FORM_TWO_LEVEL, (2, to, from), \w+\)",
     r"\1 AXIS(0), FORM_FLAT, \2, NULL)", r"op_div: operand \d \(\S+\) is P\(sum\) on axis 1"),
    (M + " 8", "dp", "a parameter stays out of the norm that gradients are clipped by",
     r"op_add\(r, ln_f_bias_norm, ln_f_weight_norm,",
     r"op_add(r, ln_f_bias_norm, h_mlp_c_proj_bias_norm[3],"),
    (M + " 9", "batches", "the loss is divided by the tokens of this rank",
     r"op_div\(r, loss_da, loss_seed, (\w+)_all\);", r"op_div(r, loss_da, loss_seed, \1);"),
    (M + " 10", "dp", "a sum in place, of which the own part is read afterwards",
     r"(op_add\(r, wte_dsum, lm_head_dw, (\w+)\);)",
     r"hap_wait(r, coll_all_reduce_start(r, AXIS(0), FORM_FLAT, 1, &\2, &\2, NULL)); \1"),
    (T + " PR 5916", "tp", "the norm is of this rank's shards alone",
     r"(op_add\(r, \w+_norm, \w+_norm)_all,", r"\1,"),
    ("radixark PR 80, ROCm TE PR 715", "tp", "what every rank has counts once a rank in the norm",
     r"(op_add\(r, \S+ \S+) (\w+_sumsq)_part\);", r"\1 \2);"),
    (T + " (MQA biases)", "dp", "the gradient of a bias is not summed over ranks",
     r"op_sumsq\(r, b->attn_c_attn_bias_sumsq, b->attn_c_attn_db_all\);",
     r"op_sumsq(r, b->attn_c_attn_bias_sumsq, b->attn_c_attn_db);"),
    (T + " #673", "dp", "the loss is scaled by the number of ranks",
     r"op_full\(r, loss_seed, \(hap_ints\)\{0, NULL\}, 1,", r"op_full(r, loss_seed, (hap_ints){0, NULL}, 2,"),
    (T + " #1464", "dp", "attention's gradients of keys and values change places",
     r"b->attn_sdpa_dk, b->attn_sdpa_dv,", r"b->attn_sdpa_dv, b->attn_sdpa_dk,",
     r"op_concat: is no node of the graph: operand 1 holds \S+reshape\.2'dx, "),
    # --- wrong tensors: shards, order, dims ---
    (V, "tp", "no all-reduce behind a row-parallel matmul",
     r"op_add\(r, b->add, b->attn_c_proj_all,", r"op_add(r, b->add, b->attn_c_proj,"),
    (V, "tp", "a bias is added on every rank ahead of the all-reduce",
     r"b->mlp_c_proj_bias_part, HAP_NN", r"b->mlp_c_proj_bias, HAP_NN"),
    (V, "tp", "a maximum where a sum is meant",
     r"coll_all_reduce_start(\(r, AXIS\(0\), FORM_FLAT, 1, &b->mlp_c_proj_all)",
     r"coll_all_reduce_max_start\1"),
    (V, "tp", "a sum where a maximum is meant",
     r"coll_all_reduce_max_start", r"coll_all_reduce_start", r"all_reduce: ce_sum\.max .* needs P\(sum\)"),
    (V, "tp", "queries, keys and values are split in another order",
     r"\{b->attn_split_0, b->attn_split_1,", r"{b->attn_split_1, b->attn_split_0,",
     r"op_sdpa: is no node of the graph: operand 0"),
    (V, "tp", "heads and positions change places another way",
     r"(op_transpose\(r, b->attn_transpose_4, b->attn_sdpa, HAP_INTS\()0, 2, 1, 3", r"\g<1>0, 1, 2, 3"),
    (V, "tp", "attention's scale is of all heads' width",
     r"NULL, true, 0\.25,", r"NULL, true, 0.125,",
     r"op_sdpa: .* attribute scale is 0\.125"),
    (V, "tp", "no causal mask", r"NULL, true, 0\.25,", r"NULL, false, 0.25,",
     r"op_sdpa: .* attribute causal is false"),
    (V, "tp", "shards of another parameter of the same shape",
     r"hap_cut\(r, b->mlp_c_fc_weight_cut, b->mlp_c_fc_weight\);",
     r"hap_cut(r, b->mlp_c_fc_weight_cut, b->attn_c_attn_weight);"),
    (V, "tp", "a gradient is of the weight's other operand",
     r"op_linear_dw\(r, b->mlp_c_fc_dw, b->ln_2,", r"op_linear_dw(r, b->mlp_c_fc_dw, b->ln_1,"),
    (V, "dp", "a table gives a row to two ranks", r'HAP_CUT\("rows", 0, 8, (\d), \d\)', r'HAP_CUT("rows", 0, 8, \1, 8)',
     r"buffers.h:\d+: hap_declare: the table of dim 0 is negative or exceeds 8"),
    (V, "dp", "the weights of a norm's gradient are left out",
     r"(op_norm_bwd\(r, b->ln_2_dx, [^;]*) b->ln_2_weight,", r"\1 b->ln_1_weight,"),
    (V, "dp", "one use of a tied parameter has no gradient",
     r"op_add\(r, wte_dsum, lm_head_dw, (\w+)\);", r"op_add(r, wte_dsum, \1, \1);"),
    # --- updates ---
    (V, "dp", "weight decay of a norm's weight",
     r"(op_adam\(r, ln_f_weight\w*, [^;]*1e-08,) 0, true\);", r"\1 0.1, true);"),
    (V, "dp", "gradients are not clipped", r"(op_clip_scale\(r, clip, \w+,) 1\);", r"\1 1e30);"),
    (V, "dp", "another moment's decay",
     r"(op_adam\(r, ln_f_weight\w*, [^;]*), 0\.9, 0\.95,", r"\1, 0.95, 0.9,"),
    (V, "dp", "an update is left out", r"op_adam\(r, ln_f_bias[^;]*;", r"",
     r"buffers.h:\d+: end of the step: transformer\.ln_f\.bias holds"),
    (V, "dp", "an update is done twice", r"(op_adam\(r, ln_f_bias[^;]*;)", r"\1 \1"),
    (V, "zero", "updated shards are not gathered", r"hap_wait\(r, wte_weight_ready\);", r""),
    (V, "zero", "gathered ahead of the update",
     r"(op_adam\(r, wte_weight_\w+, [^;]*;) (wte_weight_ready = [^;]*;)", r"\2 \1"),
    # --- micro-batches and stages ---
    (V, "batches", "micro-batches are not summed", r"op_add\(r, ce_sum, ce_sum, ce_sum_part\);", r""),
    (V, "batches", "one micro-batch too few", r"m = 0; m < 4; m\+\+", r"m = 0; m < 3; m++",
     r"program.c:\d+: hap_wait: there is no event"),
    (V, "batches", "the same micro-batch each time",
     r"(op_slice\(r, \w*input_ids\w*, [^;]*?)\bm\b", r"\g<1>0"),
    (V, "batches", "a gradient is summed from what the step before left",
     r"op_full\(r, ce_sum, [^;]*;", r""),
    (V, "stages", "a stage takes another micro-batch's message",
     r"(op_recv\(r, h_1_ln_1_dsum, [^;]*) m \* 1\);", r"\1 0);",
     r"op_linear_dw: .* operand 0 holds \S+#1, node \S+ reads \S+#0"),
    (V, "stages", "a value goes to the wrong port",
     r"(op_send\(r, clip_send, clip\w*,) 5, 0\);", r"\1 4, 0);"),
    (V, "stages", "activations of another micro-batch",
     r"hap_ring\(r, \(int\)\(m % 2\)\);", r"hap_ring(r, (int)(m % 1));",
     r"op_linear_dw: .* operand 0 holds \S+#1, node \S+ reads \S+#0"),
    (V, "stages", "the tied parameter's other gradient is not added",
     r"(op_add\(r, wte_dsum\w*,) (\w+), (\w+)\);", r"\1 \3, \3);"),
    (V, "stages", "a stage clips by its own norm",
     r"op_recv\(r, clip, [^;]*;", r"op_clip_scale(r, clip, h_0_mlp_c_proj_bias_norm_all, 1);"),
    # --- experts, random numbers, precision ---
    (V, "moe", "experts give their rows back by other slots",
     r"op_combine\(r, (\w+_combine), (\w+)_expert_slots,", r"op_combine(r, \1, \2_cast,"),
    (V, "moe", "fewer experts a token", r"(op_top_gates\(r, [^;]*,) 2\);", r"\1 1);"),
    (V, "experts", "fewer experts a token", r"(op_top_index\(r, b->[^;]*,) 2\);", r"\1 1);"),
    (V, "experts", "another layer's choice going back",
     r"(op_expert_linear\(r, b->mlp_experts_expert_linear_dx,[^;]*?) b->mlp_gate_top_index",
     r"\1 layers[0].mlp_gate_top_index"),
    (V, "rooms", "rows come back by another layer's choice",
     r"(op_from_rooms\(r, \S+ \S+) b->mlp_experts_expert_linear_index_by_group\);",
     r"\1 layers[0].mlp_experts_expert_linear_index_by_group);"),
    (V, "rooms", "rows that another place of the room has",
     r"(op_to_rooms\(r, b->mlp_experts_expert_linear_to_rooms, )\S+,", r"\1b->mlp_experts_expert_linear_2_rows_dx,"),
    (V, "rooms", "rooms of another size", r"(op_to_rooms\(r, [^;]*, 5,) (\d+)\);", r"\1 7);"),
    (V, "rooms", "empty places by another layer's choice",
     r"(op_room_linear_dw\(r, \S+ \S+) b->mlp_experts_expert_linear_index_by_group,",
     r"\1 layers[0].mlp_experts_expert_linear_index_by_group,"),
    (V, "experts", "gates that are no probabilities",
     r"op_gather\(r, b->mlp_gate_gather, b->mlp_gate_softmax,", r"op_gather(r, b->mlp_gate_gather, b->mlp_gate_linear,"),
    (M, "experts", "a rank updates experts by its own rows alone",
     r"(op_adam\(r, layers\[0\]\.mlp_experts_gate_up_proj,[^;]*?) layers_0_mlp_experts_expert_linear_dw_all",
     r"\1 layers[0].mlp_experts_expert_linear_dw"),
    ("Megatron-LM, TTrace", "dropout", "another mask going back than forward",
     r"(op_dropout\(r, b->mlp_dropout_dx, [^;]*0\.1,) 24 \+", r"\1 18 +"),
    ("Megatron-LM, TTrace", "dropout", "layers share their random numbers",
     r"(op_dropout\(r, b->mlp_dropout, [^;]*24 \+ )21 \* i", r"\g<1>0 * i"),
    ("TTrace", "bf16", "a sum in bf16 that the graph has in f32",
     r"op_cast\(r, (b->attn_c_proj_f32), (b->attn_c_proj), HAP_F32\);", r"op_cast(r, \1, \2, HAP_BF16);"),
    ("TTrace", "bf16", "a weight of before the update is computed with",
     r"op_cast\(r, b->mlp_c_fc_weight_bf16, b->mlp_c_fc_weight, HAP_BF16\);", r""),
]

WORDS = re.compile(r"[A-Za-z_]\w*")
COMMON = set("r b i m NULL AXIS HAP_INTS HAP_NN HAP_NT HAP_TN true false h n int m FORM_FLAT".split())


def names(text):
    words = {w for w in WORDS.findall(re.sub(r"//.*", "", text)) if w not in COMMON}
    return {w for w in words if not w.startswith(("op_", "coll_", "hap_", "HAP_", "FORM_"))}


def statement(lines, at):
    """The statement that line `at` (from 1) is part of."""
    first = last = at - 1
    while first > 0 and not re.search(r"[;{}]\s*(//.*)?$", lines[first - 1]):
        first -= 1
    while last + 1 < len(lines) and not re.search(r"[;{}]\s*(//.*)?$", lines[last]):
        last += 1
    return "\n".join(lines[first : last + 1])


def of_edit(found, new, wrong, line, said):
    """Does the line that is named make or read something of the edit?"""
    there = statement(wrong.split("\n"), int(line.group(2))) if line.group(1) == "program.c" else ""
    return names(found.group(0) + found.expand(new)) & names(there + said)


def main():
    verbose, failed = "-v" in sys.argv, 0
    with tempfile.TemporaryDirectory() as work:
        for name, words in PLANS.items():
            subprocess.run([hapc, *words, "-o", f"{work}/{name}", "-q"], check=True)
        for source, plan, what, old, new, *says in BUGS:
            folder = f"{work}/{plan}"
            with open(f"{folder}/program.c") as f:
                text = f.read()
            # comments at the ends of lines would stand between the words that are looked for
            bare = re.sub(r"(?m)[ ]*//.*$", "", text)
            found = re.search(old.replace(" ", r"\s+"), bare, re.S)
            if not found:
                print(f"FAILED: {plan}: no place for '{what}': {old}")
                failed = 1
                continue
            wrong = bare[: found.start()] + found.expand(new) + bare[found.end() :]
            shutil.copytree(folder, f"{work}/wrong")
            with open(f"{work}/wrong/program.c", "w") as f:
                f.write(wrong)
            p = subprocess.run([hapc, "check", f"{work}/wrong"], capture_output=True, text=True)
            shutil.rmtree(f"{work}/wrong")
            said = p.stderr.strip()
            if verbose:
                print(f"{source}: {what} [{plan}]\n    {said}")
            line = re.search(r"(program\.c|buffers\.h):(\d+)", said)
            if p.returncode != 1 or p.stdout:
                print(f"FAILED: {plan}: accepted: {what}\n    {said}{p.stdout}")
            elif not line:
                print(f"FAILED: {plan}: {what}: no line in: {said}")
            elif not (re.search(says[0], said) if says else of_edit(found, new, wrong, line, said)):
                print(f"FAILED: {plan}: {what}: another line is named: {said}")
            else:
                continue
            failed = 1
    print(f"{len(BUGS)} bugs of others")
    return failed


sys.exit(main())
