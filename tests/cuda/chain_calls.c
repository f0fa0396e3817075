#include "tests/cuda/chain_calls.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "core/float16.h"
#include "core/tensor.h"
#include "tests/support/run_cuda.h"

const hap_step_state chain_now = {.step = 2, .lr = 0.01, .seed = 7};
static uint64_t state = 11;

double chain_uniform(double lo, double hi)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return lo + (hi - lo) * (double)(state >> 11) * 0x1p-53;
}

// [rows, cols], or [rows] if cols is 0; integers are labels below hi.
hap_tensor *chain_tensor(hap_dtype type, int64_t rows, int64_t cols, double lo, double hi)
{
    hap_tensor *t = calloc(1, sizeof *t);
    t->type = type;
    t->rank = cols ? 2 : 1;
    t->local[0] = rows, t->local[1] = cols;
    for (int d = 0; d < t->rank; d++)
        t->dim[d] = WHOLE(t->local[d]);
    t->elements = rows * (cols ? cols : 1);
    t->bytes = t->elements * hap_dtype_bytes(type);
    t->data = calloc(1, (size_t)t->bytes + 1);
    for (int64_t i = 0; i < t->elements; i++) {
        double v = chain_uniform(lo, hi);
        if (type == HAP_F32) ((float *)t->data)[i] = (float)v;
        if (type == HAP_BF16) ((uint16_t *)t->data)[i] = hap_f32_to_bf16((float)v);
        if (type == HAP_I64) ((int64_t *)t->data)[i] = (int64_t)v;
    }
    return t;
}

hap_op_call *chain_call(chain_calls *s, hap_op_id op, int n_out, int n_in)
{
    hap_op_call *c = &s->c[s->n++];
    *c = (hap_op_call){.op = op, .n_out = n_out, .n_in = n_in};
    return c;
}

unsigned chain_not_read; // outputs that a chain need not write (cuda_chains.h)

// Runs the calls both ways on fresh outputs and compares these, where the chain takes such calls.
void chain_both_ways(chain_calls *s, cuda_chain_kernel *chain, const char *what, int64_t cols,
                     bool takes)
{
    hap_tensor *out[4 * CHAIN_MOST];
    void *one[4 * CHAIN_MOST];
    int n = 0;
    bool done = false;
    const char *why = test_cuda_run_all(&chain_now, s->c, s->n);
    ck_assert_msg(!why, "%s: %s", what, why);
    for (int k = 0; k < s->n; k++)
        for (int i = 0; i < s->c[k].n_out; i++) {
            hap_tensor *t = out[n] = s->c[k].out[i];
            one[n] = t->data;
            t->data = malloc((size_t)t->bytes + 1);
            memset(t->data, 0x7B, (size_t)t->bytes);
            n++;
        }
    test_cuda_unread(chain_not_read);
    why = test_cuda_run_chain(&chain_now, s->c, s->n, chain, &done);
    test_cuda_unread(0);
    ck_assert_msg(!why, "%s: %s", what, why);
    ck_assert_msg(done == takes, "%s of %lld columns is%s taken", what, (long long)cols,
                  done ? "" : " not");
    for (int k = 0, at = 0; at < s->n; at++)
        for (int i = 0; i < s->c[at].n_out; i++, k++) {
            bool same = memcmp(one[k], out[k]->data, (size_t)out[k]->bytes) == 0;
            bool stats =
                s->c[at].op == HAP_OP_norm_bwd_stats || s->c[at].op == HAP_OP_rms_bwd_stats;
            bool read = !(chain_not_read >> at & 1) || (i > 0 && !stats);
            ck_assert_msg(!takes || !read || same, "%s of %lld columns: output %d differs", what,
                          (long long)cols, k);
            for (int64_t b = 0; takes && stats && !read && b < out[k]->bytes;
                 b++) // others lie there
                ck_assert_msg(((unsigned char *)out[k]->data)[b] == 0x7B,
                              "%s of %lld columns: statistics that nobody reads are written", what,
                              (long long)cols);
            free(one[k]);
        }
    for (int k = 0; k < s->n; k++)
        for (int i = 0; i < s->c[k].n_in + s->c[k].n_out; i++) {
            hap_tensor *t = i < s->c[k].n_in ? s->c[k].in[i] : s->c[k].out[i - s->c[k].n_in];
            bool gone =
                !t || !t->data; // named by several calls: freed by the first, kept as a mark
            if (gone) continue;
            free(t->data);
            t->data = NULL;
        }
}

void chain_same_bits(chain_calls *s, cuda_chain_kernel *chain, const char *what, int64_t cols)
{
    chain_both_ways(s, chain, what, cols, true);
}
