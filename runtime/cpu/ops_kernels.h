// CPU kernels of the op table: one function a row, on this rank's shards.
//
// A kernel sees local sizes (hap_tensor.local) and row-major data. Where its meaning depends on the
// place of the shard in the whole (labels, causal masks, random counters, global row lengths,
// attributes in global sizes) it asks cpu_span about the cut dim. It allocates nothing and never
// talks to other ranks; sums it leaves behind are partial wherever the op table says so.
//
// A kernel returns NULL, or one line saying why it cannot ("not supported: …", a bad label). The
// caller (hap_cpu_op, or a test) adds rank, step and line and ends the program.
//
//     hap_step_state s = {.step = 0, .lr = 1e-3, .seed = 1};
//     const char *why = hap_cpu_run(&s, &call);

#ifndef HAP_RUNTIME_CPU_OPS_KERNELS_H
#define HAP_RUNTIME_CPU_OPS_KERNELS_H

#include "core/tensor.h"

typedef const char *cpu_kernel(const hap_step_state *s, const hap_op_call *c);

bool hap_cpu_has(hap_op_id op); // a kernel
const char *hap_cpu_run(const hap_step_state *s, const hap_op_call *c);
void hap_cpu_op(hap_rank *r, const hap_op_call *c);

// --- one dim of a shard (ops_index.c) ---
// A dim is outer blocks of n * inner entries; this rank holds entries [first, first + part) of
// each, all counted in units of the dim's last index: {outer = o, block = n*i, first = first*i,
// part = n_r*i}.
typedef struct cpu_axis {
    int64_t outer, block, first, part;
} cpu_axis;

cpu_axis cpu_axis_of(const hap_tensor *t, int dim);
int64_t cpu_axis_size(const cpu_axis *a); // global size of the dim
// Global index of local entry l; *run = how many entries from l on are consecutive in both.
int64_t cpu_axis_global(const cpu_axis *a, int64_t l, int64_t *run);
// Local index of global entry g, -1 if another rank has it; *run as above (0 with -1).
int64_t cpu_axis_local(const cpu_axis *a, int64_t g, int64_t *run);

// --- sizes ---
int64_t cpu_entries(const hap_tensor *t, int from,
                    int to); // product of local sizes of dims [from, to)

// --- rows that broadcast: t's dims but its last `tail` are leading dims of these sizes, aligned
// right, or 1 ---
const char *cpu_rows_fit(const hap_tensor *t, int tail, int lead, const int64_t *size);
// Which row of t meets row r of the whole.
int64_t cpu_row_at(const hap_tensor *t, int tail, int lead, const int64_t *size, int64_t r);

// --- copies (ops_copy.c) ---
// y[i0..] = x[i0..] for strides in elements; either side may have any strides.
void cpu_copy(int rank, const int64_t *size, void *y, const int64_t *ys, const void *x,
              const int64_t *xs, int64_t elem_bytes);
void cpu_fill(hap_tensor *y, double value);
// y along `dim` reads x at global index + shift; the other dims are the same. Entries of y that
// fall outside x get `pad`, or are an error if pad is NULL.
const char *cpu_copy_shifted(hap_tensor *y, const hap_tensor *x, int dim, int64_t shift,
                             const double *pad);
// x along `dim` goes to y at global index + shift; entries of y that x does not have stay.
const char *cpu_copy_into(hap_tensor *y, const hap_tensor *x, int dim, int64_t shift);

// --- errors ---
const char *cpu_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
const char *cpu_outside(int64_t index, int64_t n); // an index that no rank holds
// NULL if t is there and of that type.
const char *cpu_want(const hap_tensor *t, hap_dtype type, const char *what);
const char *cpu_want_f32(const hap_op_call *c);                // every operand and output present
bool cpu_same_shape(const hap_tensor *a, const hap_tensor *b); // local sizes

static inline const hap_tensor *cpu_in(const hap_op_call *c, int i)
{
    return i < c->n_in ? c->in[i] : NULL;
}

#define CPU_TRY(e)                                                                                 \
    do {                                                                                           \
        const char *why_ = (e);                                                                    \
        if (why_) return why_;                                                                     \
    } while (0)

// --- random numbers (ops_random.c) ---
// Dropout keeps element e iff cpu_uniform(key, e) >= p. The same in forward, backward and every
// plan:
//   key  = mix(mix(mix(seed) ^ step) ^ node), mix = the finaliser of SplitMix64
//   word = Philox4x32-10(counter = {lo(e/4), hi(e/4), 0, 0}, key = {lo(key), hi(key)})[e % 4]
//   uniform = (word >> 8) * 2^-24, in [0, 1)
// e is the element's index in the global tensor, row-major, plus the call's `first`.
uint64_t cpu_random_key(const hap_step_state *s, int64_t node);
// scale[i] = keep(e + i) ? 1 / (1 - p) : 0
void cpu_dropout_scale(uint64_t key, int64_t e, int64_t n, float p, float *scale);

// --- kernels ---
#define CPU_KERNEL(name) cpu_kernel cpu_##name
CPU_KERNEL(linear);
CPU_KERNEL(linear_dw);
CPU_KERNEL(matmul);
CPU_KERNEL(sdpa);
CPU_KERNEL(sdpa_bwd);
CPU_KERNEL(conv);
CPU_KERNEL(conv_transposed);
CPU_KERNEL(conv_dw);
CPU_KERNEL(max_pool);
CPU_KERNEL(max_pool_bwd);
CPU_KERNEL(embedding);
CPU_KERNEL(embedding_bwd);
CPU_KERNEL(gather);
CPU_KERNEL(gather_bwd);
CPU_KERNEL(binary);  // add sub mul div
CPU_KERNEL(compare); // eq … ge, logical_and, logical_or
CPU_KERNEL(where);
CPU_KERNEL(logical_not);
CPU_KERNEL(cast);
CPU_KERNEL(point); // of ops.def's formulas
CPU_KERNEL(gelu);  // gelu gelu_bwd
CPU_KERNEL(dropout);
CPU_KERNEL(sum);
CPU_KERNEL(row_sum);
CPU_KERNEL(row_max);
CPU_KERNEL(row_m2);
CPU_KERNEL(row_sq);
CPU_KERNEL(row_expsum);
CPU_KERNEL(row_dot);
CPU_KERNEL(cumsum);
CPU_KERNEL(softmax_apply);
CPU_KERNEL(softmax_bwd);
CPU_KERNEL(log_softmax_apply);
CPU_KERNEL(log_softmax_bwd);
CPU_KERNEL(target_logit);
CPU_KERNEL(nll_sum);
CPU_KERNEL(count);
CPU_KERNEL(ce_bwd);
CPU_KERNEL(norm_apply); // and rms_apply; so the three below
CPU_KERNEL(norm_bwd_stats);
CPU_KERNEL(norm_bwd);
CPU_KERNEL(norm_bwd_params);
CPU_KERNEL(batch_m2);
CPU_KERNEL(batch_apply);
CPU_KERNEL(batch_bwd_stats);
CPU_KERNEL(batch_bwd);
CPU_KERNEL(rotary);
CPU_KERNEL(top_gates);
CPU_KERNEL(top_gates_bwd);
CPU_KERNEL(expert_slots);
CPU_KERNEL(expert_slots_bwd);
CPU_KERNEL(dispatch);
CPU_KERNEL(combine);
CPU_KERNEL(dispatch_dw);
CPU_KERNEL(top_index);
CPU_KERNEL(expert_linear);
CPU_KERNEL(expert_linear_dw);
CPU_KERNEL(to_rooms);
CPU_KERNEL(from_rooms);
CPU_KERNEL(room_linear);
CPU_KERNEL(room_linear_dw);
CPU_KERNEL(reshape);
CPU_KERNEL(transpose);
CPU_KERNEL(split);
CPU_KERNEL(concat);
CPU_KERNEL(slice);
CPU_KERNEL(pad);
CPU_KERNEL(expand);
CPU_KERNEL(full);
CPU_KERNEL(sgd);
CPU_KERNEL(momentum);
CPU_KERNEL(adam);
CPU_KERNEL(sumsq);
CPU_KERNEL(clip_scale);

#endif
