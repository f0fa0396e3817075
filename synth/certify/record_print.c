// Canonical text of a record: two records are the same program iff their texts are equal.
//
// Left out is what does not change what runs: lines, the numbering of tensors and events
// (renumbered by first use), tensors nobody uses, and the order of the declarations (sorted by kind
// and name). Reshapes in place move nothing: they stand at the end, by the number of their result.

#include "ir/base/plain.h"
#include "synth/certify/record.h"

#include <stdlib.h>

static const char *const kind_names[] = {
    [REC_INPUT] = "input",     [REC_PARAM] = "param",
    [REC_STATE] = "state",     [REC_BUFFER] = "buffer",
    [REC_CONST] = "const",     [REC_GRAD] = "grad",
    [REC_ALIAS] = "alias",     [REC_LOSS] = "loss",
    [REC_BATCH] = "batch",     [REC_SCHEDULE] = "schedule",
    [REC_OP] = "op",           [REC_SLICE] = "slice",
    [REC_PARTIAL] = "partial", [REC_START] = "start",
    [REC_WAIT] = "wait",       [REC_FUSE] = "fuse",
    [REC_FUSED] = "fused",     [REC_OVERLAP] = "overlap",
    [REC_TILES] = "tiles",     [REC_OVERLAPPED] = "overlapped",
};

typedef struct printer {
    hb_buf *out;
    const record *r;
    int *number; // by tensor, -1 not printed yet
    int n_numbers;
    HB_VEC(int) events; // in the order of their starts
} printer;

static int compare_calls(const void *x, const void *y)
{
    const rec_call *a = *(const rec_call *const *)x, *b = *(const rec_call *const *)y;
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    int by_name = hb_str_cmp(a->name, b->name);
    if (by_name) return by_name;
    return a < b ? -1 : a > b;
}

static void print_dim(hb_buf *out, const rec_dim *d)
{
    if (d->axis < 0) {
        hb_printf(out, "%lld", (long long)d->n);
        return;
    }
    if (d->outer != 1 || d->inner != 1)
        hb_printf(out, "%lld*%lld*%lld", (long long)d->outer, (long long)d->n, (long long)d->inner);
    else
        hb_printf(out, "%lld", (long long)d->n);
    hb_printf(out, "@%d:", d->axis);
    for (int i = 0; i < d->n_table; i++)
        hb_printf(out, "%s%lld", i ? "," : "", (long long)d->table[i]);
}

static void declare(printer *p, int id)
{
    if (id < 0 || id >= p->r->tensors.n || p->number[id] >= 0) return;
    const rec_tensor *t = &p->r->tensors.p[id];
    p->number[id] = p->n_numbers++;
    hb_printf(p->out, "  %%%d = %s %s [", p->number[id], t->seg == 0 ? "sym" : "local",
              ir_dtype_name(t->dtype));
    for (int d = 0; d < t->rank; d++) {
        if (d) hb_putc(p->out, ' ');
        print_dim(p->out, &t->dim[d]);
    }
    hb_puts(p->out, "] at");
    for (int c = 0; c < p->r->n_classes; c++)
        hb_printf(p->out, " %lld", (long long)t->off[c]);
    hb_putc(p->out, '\n');
}

static void print_id(const printer *p, int id)
{
    if (id < 0)
        hb_puts(p->out, " -");
    else if (id >= p->r->tensors.n)
        hb_puts(p->out, " %?");
    else
        hb_printf(p->out, " %%%d", p->number[id]);
}

static void print_attrs(const printer *p, const rec_call *k)
{
    const ir_op_info *row = ir_op_of((ir_op)k->op);
    for (int i = 0; i < row->n_attr; i++) {
        const ir_attr *v = &k->attr[i];
        hb_printf(p->out, " %s=", row->attr[i].name);
        switch (row->attr[i].kind) {
        case IR_ATTR_REAL:
            hb_printf(p->out, "%.17g", v->f + 0.0);
            break;
        case IR_ATTR_BOOL:
            hb_puts(p->out, v->i ? "true" : "false");
            break;
        case IR_ATTR_INT:
        case IR_ATTR_DTYPE:
            hb_printf(p->out, "%lld", (long long)v->i);
            break;
        case IR_ATTR_INTS:
            for (int j = 0; j < v->n; j++)
                hb_printf(p->out, "%s%lld", j ? "," : "", (long long)v->v[j]);
            break;
        }
    }
}

static int event_number(const printer *p, int event)
{
    for (int i = p->events.n - 1; i >= 0; i--)
        if (p->events.p[i] == event) return i;
    return -1;
}

static void print_call(printer *p, const rec_call *k)
{
    for (int i = 0; i < k->n_in; i++)
        declare(p, k->in[i]);
    for (int i = 0; i < k->n_out; i++)
        declare(p, k->out[i]);
    if (k->kind == REC_START) declare(p, k->scratch);
    hb_puts(p->out, kind_names[k->kind]);
    if (k->kind == REC_OP) hb_printf(p->out, " %s", ir_op_of((ir_op)k->op)->name);
    if (k->kind == REC_START) {
        hb_printf(p->out, " %s%s %s axes %u", cost_coll_name(k->coll), k->reduce_max ? "_max" : "",
                  cost_form_name(k->form).s, k->axes);
        HB_PUSH(p->out->arena, &p->events, k->event);
    }
    if (k->kind == REC_PARTIAL) hb_printf(p->out, " axes %u", k->axes);
    if (k->name.n > 0) {
        hb_putc(p->out, ' ');
        hb_put_json(p->out, k->name);
    }
    if (k->text.n > 0) {
        hb_putc(p->out, ' ');
        hb_put_json(p->out, k->text);
    }
    for (int i = 0; i < k->n_out; i++)
        print_id(p, k->out[i]);
    if (k->n_out > 0) hb_puts(p->out, " <-");
    for (int i = 0; i < k->n_in; i++)
        print_id(p, k->in[i]);
    if (k->kind == REC_OP) print_attrs(p, k);
    if (k->kind == REC_START) {
        hb_puts(p->out, " scratch");
        print_id(p, k->scratch);
    }
    for (int i = 0; i < 3 && k->kind == REC_TILES; i++)
        hb_printf(p->out, " %lld", (long long)k->tile[i]);
    for (int i = 0; i < k->n_chunks; i++)
        hb_printf(p->out, " %lld:%lld", (long long)k->chunk[i][0], (long long)k->chunk[i][1]);
    if (k->kind == REC_WAIT) hb_printf(p->out, " %d", event_number(p, k->event));
    bool fill =
        (k->kind == REC_PARAM || k->kind == REC_BUFFER || k->kind == REC_CONST) && k->text.n == 0;
    int n_num = k->kind == REC_SCHEDULE ? IR_SCHEDULE : fill ? 3 : k->kind == REC_BATCH ? 2 : 0;
    for (int i = 0; i < n_num; i++)
        hb_printf(p->out, " %.17g", k->num[i] + 0.0);
    hb_putc(p->out, '\n');
}

static bool moves_nothing(const record *r, const rec_call *k)
{
    if (k->kind != REC_OP || k->op != IR_OP_reshape) return false;
    if (k->n_in != 1 || k->n_out != 1 || k->in[0] < 0 || k->in[0] >= r->tensors.n ||
        k->out[0] < 0 || k->out[0] >= r->tensors.n)
        return false;
    const rec_tensor *x = &r->tensors.p[k->in[0]], *y = &r->tensors.p[k->out[0]];
    for (int c = 0; c < r->n_classes; c++)
        if (x->off[c] != y->off[c]) return false;
    return x->seg == y->seg && x->dtype == y->dtype;
}

static void print_views(printer *p, const rec_call **view, int n)
{
    for (;;) { // a view of a view has its number from this pass
        int next = -1;
        for (int i = 0; i < n; i++)
            if (view[i] && (next < 0 || (unsigned)p->number[view[i]->out[0]] <
                                            (unsigned)p->number[view[next]->out[0]]))
                next = i;
        if (next < 0) return;
        print_call(p, view[next]);
        view[next] = NULL;
    }
}

void record_print(hb_buf *out, const record *r)
{
    hb_arena *a = hb_arena_new();
    hb_buf text = {.arena = a};
    printer p = {.out = &text, .r = r, .number = HB_ARRAY(a, int, r->tensors.n + 1)};
    for (int i = 0; i < r->tensors.n; i++)
        p.number[i] = -1;
    hb_printf(&text, "graph %.*s%s\nmesh %d:", HB_ARG(r->graph_sha), r->tf32 ? " in tf32" : "",
              r->n_ranks);
    for (int i = 0; i < r->n_axes; i++)
        hb_printf(&text, " %d", r->size[i]);
    hb_puts(&text, "\nclasses");
    for (int i = 0; i < r->n_ranks; i++)
        hb_printf(&text, " %d", r->class_of[i]);
    hb_printf(&text, "\nsegments %lld,", (long long)r->sym_bytes);
    for (int c = 0; c < r->n_classes; c++)
        hb_printf(&text, " %lld", (long long)r->local_bytes[c]);
    hb_putc(&text, '\n');
    const rec_call **order = HB_ARRAY(a, const rec_call *, r->calls.n + 1);
    int n = 0;
    for (int i = 0; i < r->calls.n; i++)
        if (r->calls.p[i].kind < REC_OP) order[n++] = &r->calls.p[i];
    qsort(order, (size_t)n, sizeof *order, compare_calls);
    const rec_call **view = HB_ARRAY(a, const rec_call *, r->calls.n + 1);
    int n_views = 0;
    for (int i = 0; i < r->calls.n; i++) {
        const rec_call *k = &r->calls.p[i];
        if (moves_nothing(r, k))
            view[n_views++] = k;
        else if (k->kind >= REC_OP)
            order[n++] = k;
    }
    for (int i = 0; i < n; i++)
        print_call(&p, order[i]);
    print_views(&p, view, n_views);
    hb_putn(out, text.p, text.n);
    hb_arena_free(a);
}
