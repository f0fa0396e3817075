#include "ir/variant.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ir/fold.h"

ir_graph *ir_variant(hb_arena *a, ir_graph *step, int64_t micro_batches, const bool *again,
                     hb_diag *d)
{
    return ir_variant_by(a, step, NULL, micro_batches, again, d);
}

ir_graph *ir_variant_by(hb_arena *a, ir_graph *step, const ir_factors *f, int64_t micro_batches,
                        const bool *again, hb_diag *d)
{
    bool any = false;
    for (int b = 0; again && b < step->n_blocks; b++)
        any = any || again[b];
    ir_graph *g = any ? ir_recompute(a, step, again) : step;
    if (micro_batches > 1) g = ir_micro_batches(a, g, any ? NULL : f, micro_batches, d);
    if (g && g != step) g->step_nodes = step->nodes.n;
    return g;
}

double ir_saved_bytes(const ir_graph *g)
{
    hb_arena *a = hb_arena_new();
    bool *seen = HB_ARRAY(a, bool, g->tensors.n + 1);
    double bytes = 0;
    for (int i = 0; i < g->nodes.n; i++) {
        const ir_node *n = &g->nodes.p[i];
        for (int k = 0; k < n->n_in && n->phase != IR_FORWARD; k++) {
            const ir_tensor *t = &g->tensors.p[n->in[k]];
            if (t->producer < 0 || g->nodes.p[t->producer].phase != IR_FORWARD) continue;
            if (seen[n->in[k]]) continue;
            seen[n->in[k]] = true;
            bytes += (double)ir_elements(t) * (double)ir_dtype_bytes(t->dtype) * (1 + t->more);
        }
    }
    hb_arena_free(a);
    return bytes;
}

double ir_home_bytes(const ir_graph *g)
{
    double sum = 0;
    for (int t = 0; t < g->tensors.n; t++) {
        const ir_tensor *x = &g->tensors.p[t];
        if (x->kind == IR_PARAM || x->kind == IR_STATE)
            sum += (double)(ir_elements(x) * ir_dtype_bytes(x->dtype)) * ir_tensor_times(g, t);
    }
    return sum;
}

static bool number(const char **text, int64_t *out)
{
    char *end = NULL;
    if (**text < '0' || **text > '9') return false;
    errno = 0;
    *out = strtoll(*text, &end, 10);
    *text = end;
    return errno == 0;
}

bool *ir_blocks_named(hb_arena *a, const ir_graph *step, const char *text, hb_diag *d)
{
    int n = step->n_blocks;
    bool *again = HB_ARRAY(a, bool, n + 1);
    bool all = strcmp(text, "all") == 0, list = strpbrk(text, ",-") != NULL;
    if (n == 0 && strcmp(text, "0") != 0) {
        hb_error(d, &step->src, (hb_pos){0},
                 "the step has no blocks that repeat, to recompute them");
        return NULL;
    }
    for (const char *at = text; !all; at++) {
        int64_t from = 0, to;
        if (!number(&at, &to)) {
            hb_error(d, &step->src, (hb_pos){0},
                     "blocks to recompute are all, how many, or a list like 0,2,5-7, not '%s'",
                     text);
            return NULL;
        }
        if (list) {
            from = to;
            if (*at == '-') {
                at++;
                if (!number(&at, &to)) to = -1;
            }
            to++;
        }
        if (to > n) {
            if (list)
                hb_error(d, &step->src, (hb_pos){0}, "no block %lld: %d blocks repeat, from 0 on",
                         (long long)(to - 1), n);
            else
                hb_error(d, &step->src, (hb_pos){0},
                         "%lld blocks to recompute, but %d blocks repeat", (long long)to, n);
            return NULL;
        }
        for (int64_t b = from; b < to; b++)
            again[b] = true;
        if ((list && to <= from) || (*at && *at != ',')) {
            hb_error(d, &step->src, (hb_pos){0},
                     "blocks to recompute are all, how many, or a list like 0,2,5-7, not '%s'",
                     text);
            return NULL;
        }
        if (!*at) break;
    }
    for (int b = 0; all && b < n; b++)
        again[b] = true;
    return again;
}
