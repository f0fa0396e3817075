// The record of a plan in memory: what haprt-record would log of the program that emit prints from
// it.
//
// Tensor ids are the program's tensor indices; event numbers count the starts.

#include "synth/certify/record.h"

#include "ir/variant.h"
#include "synth/plan/views.h"

// The hap_dim of one dim of a buffer: whole, or cut at one factor on one axis or on both.
static rec_dim dim_of(const syn_program *p, int64_t *const *tables, const syn_tensor *t, int d)
{
    rec_dim out = {.n = p->g->tensors.p[t->value].dim[d], .outer = 1, .inner = 1, .axis = -1};
    for (int x = 0; x < p->mesh->n_axes; x++) {
        const syn_axis_state *s = &t->state.ax[x];
        if (s->kind != SYN_S || s->dim != d) continue;
        if (x == 0 && syn_joint(p->mesh, &t->state)) continue; // its table is in that of axis 1
        const ir_dim_factors *f = &p->f->dim[t->value][d];
        const syn_cut *cut = &p->mesh->cuts.p[s->cut];
        out.axis = cut->axis;
        out.n = p->f->cls[f->cls[s->pos]].size;
        for (int q = 0; q < f->n; q++) {
            if (q < s->pos) out.outer *= p->f->cls[f->cls[q]].size;
            if (q > s->pos) out.inner *= p->f->cls[f->cls[q]].size;
        }
        out.n_table = cut->n;
        out.table = tables[s->cut];
    }
    return out;
}

static rec_tensor tensor_of(const syn_program *p, int64_t *const *tables, int i)
{
    const syn_tensor *t = &p->tensors.p[i];
    rec_tensor out = {.id = i, .seg = t->sym ? 0 : 1, .dtype = t->dtype};
    int64_t most = 0;
    for (int c = 0; c < p->mesh->n_classes; c++) {
        out.off[c] = t->off[c];
        if (t->bytes[c] > most) most = t->bytes[c];
    }
    if (t->value < 0) { // scratch: flat, as large on every rank
        out.rank = 1;
        out.dim[0] =
            (rec_dim){.n = (most + ir_dtype_bytes(t->dtype) - 1) / ir_dtype_bytes(t->dtype),
                      .outer = 1,
                      .inner = 1,
                      .axis = -1};
        return out;
    }
    out.rank = p->g->tensors.p[t->value].rank;
    for (int d = 0; d < out.rank; d++)
        out.dim[d] = dim_of(p, tables, t, d);
    return out;
}

static void set_fill(hb_arena *a, rec_call *k, const ir_tensor *t)
{
    const ir_init *init = &t->init;
    switch (init->kind) {
    case IR_INIT_CONST:
        k->num[1] = init->a;
        break;
    case IR_INIT_NORMAL:
        k->num[0] = 1;
        k->num[2] = init->a;
        break;
    case IR_INIT_UNIFORM:
    case IR_INIT_IOTA:
        k->num[0] = init->kind == IR_INIT_UNIFORM ? 2 : 3;
        k->num[1] = init->a;
        k->num[2] = init->b;
        break;
    case IR_INIT_STORED:
        k->text = hb_fmt(a, "consts.safetensors#%.*s", HB_ARG(t->name));
        break;
    }
}

static int *ids(hb_arena *a, int n, const int *v)
{
    return hb_copy(a, v, sizeof *v * (size_t)n);
}

static void declarations(hb_arena *a, const syn_program *p, record *r)
{
    static const rec_kind kinds[] = {[IR_INPUT] = REC_INPUT,
                                     [IR_PARAM] = REC_PARAM,
                                     [IR_STATE] = REC_STATE,
                                     [IR_BUFFER] = REC_BUFFER,
                                     [IR_CONST] = REC_CONST};
    const ir_graph *g = p->g;
    for (int t = 0; t < g->tensors.n; t++) {
        const ir_tensor *v = &g->tensors.p[t];
        if (v->kind == IR_VALUE || p->home[t] < 0) continue;
        rec_call k = {
            .kind = kinds[v->kind], .name = v->name, .n_in = 1, .in = ids(a, 1, &p->home[t])};
        if (v->kind == IR_PARAM || v->kind == IR_BUFFER || v->kind == IR_CONST) set_fill(a, &k, v);
        HB_PUSH(a, &r->calls, k);
    }
    for (int t = 0; p->keep_grads && t < g->tensors.n; t++)
        if (p->grad && p->grad[t] >= 0)
            HB_PUSH(a, &r->calls,
                    (rec_call){.kind = REC_GRAD,
                               .name = g->tensors.p[t].name,
                               .n_in = 1,
                               .in = ids(a, 1, &p->grad[t])});
    for (int i = 0; i < g->n_alias; i++)
        HB_PUSH(a, &r->calls,
                (rec_call){.kind = REC_ALIAS,
                           .name = g->alias[i].name,
                           .text = g->tensors.p[g->alias[i].tensor].name});
    if (p->loss >= 0)
        HB_PUSH(a, &r->calls, (rec_call){.kind = REC_LOSS, .n_in = 1, .in = ids(a, 1, &p->loss)});
    HB_PUSH(
        a, &r->calls,
        (rec_call){.kind = REC_BATCH, .num = {(double)g->batch, (double)rec_tokens_per_row(g)}});
    rec_call schedule = {.kind = REC_SCHEDULE};
    ir_schedule(&g->opt, schedule.num);
    if (g->opt.name.n > 0) HB_PUSH(a, &r->calls, schedule);
}

int64_t rec_tokens_per_row(const ir_graph *g)
{
    int64_t most = 1;
    for (int t = 0; t < g->tensors.n; t++) {
        const ir_tensor *v = &g->tensors.p[t];
        bool integers = v->dtype == IR_I64 || v->dtype == IR_I32;
        if (v->kind != IR_INPUT || !integers || v->batch < 0 || v->dim[v->batch] <= 0) continue;
        int64_t n = ir_elements(v) / v->dim[v->batch];
        if (n > most) most = n;
    }
    return most;
}

static const ir_attr *attributes(hb_arena *a, const ir_node *n, int slot)
{
    if (slot == 0 || n->step == 0) return n->attr;
    int n_attr = ir_op_of(n->op)->n_attr;
    ir_attr *v = HB_ARRAY(a, ir_attr, n_attr + 1);
    for (int k = 0; k < n_attr; k++)
        v[k] = ir_slot_attr(n, k, slot);
    return v;
}

static rec_call call_of(hb_arena *a, const syn_program *p, const syn_instr *i, const int *event,
                        int slot)
{
    rec_call k = {.n_out = i->n_out,
                  .n_in = i->n_in,
                  .out = ids(a, i->n_out, i->out),
                  .in = ids(a, i->n_in, i->in),
                  .scratch = -1};
    switch (i->kind) {
    case SYN_OP:
        k.kind = REC_OP;
        k.op = (int)p->g->nodes.p[i->node].op;
        k.attr = attributes(a, &p->g->nodes.p[i->node], ir_in_slot(i->turn) ? slot : 0);
        break;
    case SYN_SLICE:
        k.kind = REC_SLICE;
        break;
    case SYN_PARTIAL:
        k.kind = REC_PARTIAL;
        k.axes = i->axes;
        break;
    case SYN_START:
        k.kind = REC_START;
        k.coll = i->coll;
        k.form = i->form;
        k.reduce_max = i->reduce_max;
        k.axes = i->axes;
        k.scratch = i->scratch;
        k.event = event[i - p->instr.p];
        break;
    case SYN_WAIT:
        k.kind = REC_WAIT;
        k.n_in = k.n_out = 0;
        k.event = event[i->start];
        break;
    }
    return k;
}

static rec_call fused(hb_arena *a, const syn_program *p, const syn_fusion *g)
{
    rec_call k = {.kind = REC_FUSED, .scratch = -1, .in = HB_ARRAY(a, int, g->len *IR_MAX_OUT)};
    for (int m = 0; m < g->len; m++)
        for (int o = 0; o < p->instr.p[g->first + m].n_out; o++)
            if (g->kept[m] >> o & 1) k.in[k.n_in++] = p->instr.p[g->first + m].out[o];
    return k;
}

static rec_call chunks_of(hb_arena *a, rec_kind kind, int n, int (*chunk)[3])
{
    rec_call k = {.kind = kind, .scratch = -1, .n_chunks = n};
    k.chunk = hb_alloc(a, sizeof *k.chunk * (size_t)n);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < 3; j++)
            k.chunk[i][j] = chunk[i][j];
    return k;
}

static rec_call overlap(hb_arena *a, const syn_pair *x)
{
    return chunks_of(a, REC_OVERLAP, x->n_chunks, x->chunk);
}

static rec_call tiles(hb_arena *a, const syn_tiles *x)
{
    rec_call k = chunks_of(a, REC_TILES, x->n_chunks, x->chunk);
    k.tile[0] = x->rows, k.tile[1] = x->cols, k.tile[2] = x->how;
    return k;
}

typedef struct {
    hb_arena *a;
    const syn_program *p;
    record *r;
    int *event;             // by START instr: its number, in the micro-batch at hand
    int n_events, slot;     // micro-batch
    bool *view;             // by instr
    HB_VEC(int) * views_of; // by buffer: the reshapes that are views of it
    HB_VEC(int) made;       // inside a chunk or pair: buffers that have views
    int *ring, n_ring;      // by buffer: its number among those of a stage's ring, -1; how many
    int place;              // of the ring
} writer;

// Tensors of the ring's places but the first follow all others, place by place.
static void in_place(const writer *w, int n, int *id)
{
    for (int i = 0; w->place > 0 && i < n; i++)
        if (id[i] >= 0 && w->ring[id[i]] >= 0)
            id[i] = w->p->tensors.n + (w->place - 1) * w->n_ring + w->ring[id[i]];
}

static void put_call(writer *w, rec_call k)
{
    in_place(w, k.n_out, k.out);
    in_place(w, k.n_in, k.in);
    in_place(w, 1, &k.scratch);
    HB_PUSH(w->a, &w->r->calls, k);
}

static void put_views(writer *w, int buffer)
{
    for (int k = 0; k < w->views_of[buffer].n; k++) {
        const syn_instr *v = &w->p->instr.p[w->views_of[buffer].p[k]];
        put_call(w, call_of(w->a, w->p, v, w->event, w->slot));
        put_views(w, v->out[0]);
    }
}

// One call, and the views of what it makes: behind the chunk or pair that it is in.
static void put_instr(writer *w, int index, bool inside)
{
    const syn_instr *in = &w->p->instr.p[index];
    if (w->view[index]) return;
    if (in->kind == SYN_START) w->event[index] = w->n_events++;
    put_call(w, call_of(w->a, w->p, in, w->event, w->slot));
    if (in->kind == SYN_START) return;
    if (in->kind == SYN_WAIT) in = &w->p->instr.p[in->start];
    for (int k = 0; k < in->n_out; k++) {
        if (w->views_of[in->out[k]].n == 0) continue;
        if (inside)
            HB_PUSH(w->a, &w->made, in->out[k]);
        else
            put_views(w, in->out[k]);
    }
}

static void put_made(writer *w)
{
    for (int k = 0; k < w->made.n; k++)
        put_views(w, w->made.p[k]);
    w->made.n = 0;
}

static void put_range(writer *w, int first, int end)
{
    const syn_program *p = w->p;
    const syn_fusion *g = p->fusions.p, *past = g + p->fusions.n;
    const syn_pair *x = p->pairs.p, *last = x + p->pairs.n;
    while (g < past && g->first < first)
        g++;
    while (x < last && x->first < first)
        x++;
    for (int i = first; i < end; i++) {
        if (p->instr.p[i].turn == IR_AFTER && w->slot + 1 < p->g->micro_batches) continue;
        if (p->instr.p[i].turn == IR_BEFORE && w->slot > 0 && w->slot < p->g->micro_batches)
            continue;
        bool in_fusion = g < past && i >= g->first, in_pair = x < last && i >= x->first;
        if (in_pair && i == x->first) HB_PUSH(w->a, &w->r->calls, overlap(w->a, x));
        if (in_pair && i == x->first && x->tiles.n_chunks)
            HB_PUSH(w->a, &w->r->calls, tiles(w->a, &x->tiles));
        if (in_fusion && i == g->first)
            HB_PUSH(w->a, &w->r->calls,
                    (rec_call){.kind = REC_FUSE,
                               .name = hb_fmt(w->a, "k%d", g->kernel + 1),
                               .scratch = -1});
        put_instr(w, i, in_fusion || in_pair);
        if (in_fusion && i == g->first + g->len - 1) {
            put_call(w, fused(w->a, p, g++));
            put_made(w);
        }
        if (in_pair && i == x->first + x->len - 1) {
            HB_PUSH(w->a, &w->r->calls, (rec_call){.kind = REC_OVERLAPPED, .scratch = -1});
            put_made(w);
            x++;
        }
    }
}

// Slots as a stage does them: part by part.
static void put_parts(writer *w, const syn_slot *slot)
{
    const syn_program *p = w->p;
    const int from[] = {0, slot->first, slot->back, slot->weights, slot->end};
    for (int i = 0; i < p->order.n; i++) {
        const syn_slot_part *h = &p->order.p[i];
        w->slot = h->m;
        w->place = h->m % (p->g->depth > 0 ? p->g->depth : 1);
        put_range(w, from[h->turn], from[h->turn + 1]);
    }
    w->place = 0;
    w->slot = slot->times;
}

static void step(hb_arena *a, const syn_program *p, record *r)
{
    writer w = {.a = a, .p = p, .r = r, .event = HB_ARRAY(a, int, p->instr.n + 1)};
    const syn_slot slot = syn_slot_of(p);
    w.view = syn_views(a, p);
    w.ring = HB_ARRAY(a, int, p->tensors.n + 1);
    for (int t = 0; t < p->tensors.n; t++)
        w.ring[t] = p->tensors.p[t].ring ? w.n_ring++ : -1;
    w.views_of = hb_alloc(a, sizeof *w.views_of * (size_t)(p->tensors.n + 1));
    for (int i = 0; i < p->instr.n; i++)
        if (w.view[i]) HB_PUSH(a, &w.views_of[p->instr.p[i].in[0]], i);
    put_range(&w, 0, slot.first);
    if (p->order.n > 0) put_parts(&w, &slot);
    for (; w.slot < slot.times; w.slot++)
        put_range(&w, slot.first, slot.end);
    put_range(&w, slot.end, p->instr.n);
}

record *record_from_plan(hb_arena *a, const syn_program *p)
{
    record *r = HB_NEW(a, record);
    r->graph_sha = p->g->sha;
    r->tf32 = p->g->precision == IR_PRECISION_TF32;
    r->n_ranks = p->mesh->n_ranks;
    r->n_axes = p->mesh->n_axes;
    for (int x = 0; x < r->n_axes; x++)
        r->size[x] = p->mesh->size[x];
    r->n_classes = p->mesh->n_classes;
    r->class_of = hb_copy(a, p->mesh->class_of, sizeof *r->class_of * (size_t)r->n_ranks);
    r->sym_bytes = p->sym_bytes;
    for (int c = 0; c < r->n_classes; c++)
        r->local_bytes[c] = p->local_bytes[c];
    int64_t **tables = HB_ARRAY(a, int64_t *, p->mesh->cuts.n + 1);
    for (int k = 0; k < p->mesh->cuts.n; k++) {
        const syn_cut *cut = &p->mesh->cuts.p[k];
        tables[k] = hb_copy(a, cut->table, sizeof *cut->table * (size_t)cut->n);
    }
    HB_ROOM(a, &r->tensors, p->tensors.n);
    for (int i = 0; i < p->tensors.n; i++)
        r->tensors.p[r->tensors.n++] = tensor_of(p, tables, i);
    for (int k = 1; k < p->g->depth && p->order.n > 0; k++)
        for (int i = 0; i < p->tensors.n; i++) {
            if (!p->tensors.p[i].ring) continue;
            rec_tensor t = tensor_of(p, tables, i);
            t.id = r->tensors.n;
            for (int c = 0; c < p->mesh->n_classes; c++)
                t.off[c] += k * p->ring_bytes[c];
            HB_PUSH(a, &r->tensors, t);
        }
    HB_ROOM(a, &r->calls, p->instr.n + 2 * p->fusions.n + 2 * p->pairs.n + p->g->tensors.n + 8);
    declarations(a, p, r);
    step(a, p, r);
    return r;
}
