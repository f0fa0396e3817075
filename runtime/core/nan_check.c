#include "core/nan_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/backend.h"
#include "core/coll_geometry.h"
#include "core/fail.h"
#include "core/tensor.h"

// Collectives not waited for.
struct hap_nan_check {
    struct under_way {
        const hap_event *e;
        hap_tensor **dst;
        int n, line;
        const char *name;
    } * open;
    int n_open, cap_open;
};

static bool is_float(hap_dtype t)
{
    return t == HAP_F32 || t == HAP_BF16 || t == HAP_F16;
}

static bool checked(hap_rank *r)
{
    if (!r->opt.check_nan || r->rehearsal) return false;
    if (!r->nan_check) r->nan_check = hap_alloc(r, sizeof *r->nan_check);
    return true;
}

static int64_t find(hap_rank *r, const hap_tensor *t, bool nan)
{
    return t && is_float(t->type) && t->elements ? hap_backend_find(r, t, nan) : -1;
}

// Which operand holds an infinity, for a message; empty if none does.
static const char *infinite(hap_rank *r, const hap_op_call *c, char *text, size_t size)
{
    text[0] = 0;
    for (int i = 0; i < c->n_in && !text[0]; i++) {
        bool written = false;
        for (int k = 0; k < c->n_out; k++)
            written |= c->in[i] && c->in[i]->data == c->out[k]->data;
        if (written || find(r, c->in[i], false) < 0) continue;
        snprintf(text, size, "; operand %d holds an infinity", i);
    }
    return text;
}

void hap_nan_before_step(hap_rank *r)
{
    static const char *const kinds[] = {"input", "parameter", "moment", "buffer", "constant", ""};
    if (!checked(r)) return;
    for (int i = 0; i < r->n_vars; i++) {
        const hap_var *v = &r->var[i];
        if (v->kind == HAP_VAR_GRAD || (v->kind != HAP_VAR_INPUT && r->steps_done > 0)) continue;
        int64_t at = find(r, v->t, true);
        if (at < 0) continue;
        r->line = v->line;
        r->doing = NULL;
        hap_fail(r, HAP_EXIT_FAILED,
                 "before step %lld the %s '%s' holds a NaN (element %lld of %lld here)",
                 (long long)r->now.step, kinds[v->kind], v->name, (long long)at,
                 (long long)v->t->elements);
    }
}

void hap_nan_after_op(hap_rank *r, const hap_op_call *c)
{
    char text[64];
    if (!checked(r)) return;
    for (int i = 0; i < c->n_out; i++) {
        int64_t at = find(r, c->out[i], true);
        if (at < 0) continue;
        hap_fail(r, HAP_EXIT_FAILED, "makes the first NaN (output %d, element %lld of %lld here)%s",
                 i, (long long)at, (long long)c->out[i]->elements,
                 infinite(r, c, text, sizeof text));
    }
}

void hap_nan_after_move(hap_rank *r, const hap_tensor *y)
{
    int64_t at = checked(r) ? find(r, y, true) : -1;
    if (at >= 0)
        hap_fail(r, HAP_EXIT_FAILED, "brings the first NaN (element %lld of %lld here)",
                 (long long)at, (long long)y->elements);
}

void hap_nan_start(hap_rank *r, const hap_coll_call *c, const hap_event *e)
{
    if (!checked(r)) return;
    struct hap_nan_check *k = r->nan_check;
    k->open = hap_grow(r, k->open, &k->cap_open, k->n_open + 1, sizeof *k->open);
    struct under_way *w = &k->open[k->n_open++];
    *w = (struct under_way){.e = e, .n = c->n, .line = r->line, .name = hap_coll_name(c)};
    w->dst = hap_alloc(r, (size_t)c->n * sizeof(hap_tensor *));
    memcpy(w->dst, c->dst, (size_t)c->n * sizeof(hap_tensor *));
}

void hap_nan_wait(hap_rank *r, const hap_event *e)
{
    if (!checked(r)) return;
    struct hap_nan_check *k = r->nan_check;
    for (int i = 0; i < k->n_open; i++) {
        struct under_way w = k->open[i];
        if (w.e != e) continue;
        k->open[i] = k->open[--k->n_open];
        for (int d = 0; d < w.n; d++) {
            int64_t at = find(r, w.dst[d], true);
            if (at < 0) continue;
            r->line = w.line;
            r->doing = w.name;
            hap_fail(r, HAP_EXIT_FAILED,
                     "brings the first NaN (tensor %d, element %lld of %lld here)", d,
                     (long long)at, (long long)w.dst[d]->elements);
        }
        free(w.dst);
        return;
    }
}
