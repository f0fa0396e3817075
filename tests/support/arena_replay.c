#include "tests/support/arena_replay.h"

#include <string.h>

enum { GRAIN = 256, PAGE = 4096 };

typedef struct byte_block {
    int content; // number of the write
    int writer;  // START in flight that writes here, -1
    int readers; // STARTs in flight that read here
} byte_block;

typedef struct replay {
    hb_arena *a;
    const syn_program *p;
    int cls, n_writes, at;
    byte_block *memory[2]; // sym, local
    int *content; // by buffer: number of the write that made its value; of views: the operand's
    hb_str error;
} replay;

static const syn_tensor *tensor(const replay *r, int t)
{
    return &r->p->tensors.p[t];
}

static int64_t blocks(const replay *r, int t)
{
    return (tensor(r, t)->bytes[r->cls] + GRAIN - 1) / GRAIN;
}

static byte_block *memory_of(replay *r, int t)
{
    return r->memory[tensor(r, t)->sym ? 0 : 1] + tensor(r, t)->off[r->cls] / GRAIN;
}

static void fail(replay *r, const char *what, int t)
{
    if (r->error.n == 0)
        r->error = hb_fmt(r->a, "class %d, instruction %d: %s %.*s", r->cls, r->at, what,
                          HB_ARG(tensor(r, t)->name));
}

static void check_read(replay *r, int t)
{
    byte_block *m = memory_of(r, t);
    for (int64_t i = 0; i < blocks(r, t); i++) {
        if (m[i].writer >= 0) fail(r, "reads before it has arrived:", t);
        if (m[i].content != r->content[t]) fail(r, "reads bytes of another buffer:", t);
    }
}

static void write_fresh(replay *r, int t)
{
    byte_block *m = memory_of(r, t);
    r->content[t] = ++r->n_writes;
    for (int64_t i = 0; i < blocks(r, t); i++) {
        if (m[i].writer >= 0 || m[i].readers > 0) fail(r, "writes into a flying collective:", t);
        m[i].content = r->content[t];
    }
}

static bool same_place(const replay *r, int x, int y)
{
    const syn_tensor *a = tensor(r, x), *b = tensor(r, y);
    if (a->sym != b->sym) return false;
    for (int c = 0; c < r->p->mesh->n_classes; c++)
        if (a->off[c] != b->off[c] || a->bytes[c] != b->bytes[c]) return false;
    return true;
}

static bool overlap(replay *r, int x, int y)
{
    byte_block *a = memory_of(r, x), *b = memory_of(r, y);
    if (tensor(r, x)->sym != tensor(r, y)->sym) return false;
    return blocks(r, x) > 0 && blocks(r, y) > 0 && a < b + blocks(r, y) && b < a + blocks(r, x);
}

static void run_op(replay *r, const syn_instr *in)
{
    unsigned flags = in->kind == SYN_OP ? ir_op_of(r->p->g->nodes.p[in->node].op)->flags : 0;
    for (int i = 0; i < in->n_in; i++)
        check_read(r, in->in[i]);
    for (int o = 0; o < in->n_out; o++) {
        bool view = false;
        for (int i = 0; i < in->n_in; i++) {
            if (in->in[i] == in->out[o] || !overlap(r, in->in[i], in->out[o])) continue;
            bool same = same_place(r, in->in[i], in->out[o]);
            view = flags & IR_ZERO_COPY && same;
            if (!view && !(flags & IR_OVER && same))
                fail(r, "result lies on an operand:", in->out[o]);
        }
        for (int k = 0; k < o; k++)
            if (overlap(r, in->out[k], in->out[o]))
                fail(r, "results lie on each other:", in->out[o]);
        int content = in->n_in > 0 ? r->content[in->in[0]] : 0;
        byte_block *m = memory_of(r, in->out[o]);
        for (int64_t i = 0; i < blocks(r, in->out[o]); i++)
            if (m[i].writer >= 0 || m[i].readers > 0)
                fail(r, "writes into a flying collective:", in->out[o]);
        if (view)
            r->content[in->out[o]] = content;
        else
            write_fresh(r, in->out[o]);
    }
}

static void hold(replay *r, int t, int writer, int readers)
{
    byte_block *m = memory_of(r, t);
    for (int64_t i = 0; i < blocks(r, t); i++) {
        m[i].writer = writer;
        m[i].readers += readers;
    }
}

static bool pair_in_place(replay *r, const syn_instr *in, int k)
{
    if (!overlap(r, in->in[k], in->out[k])) return false;
    if (in->coll != COST_ALL_REDUCE || !same_place(r, in->in[k], in->out[k]))
        fail(r, "destination lies on its source:", in->out[k]);
    return true;
}

static void run_start(replay *r, const syn_instr *in, int at)
{
    for (int k = 0; k < in->n_in; k++)
        check_read(r, in->in[k]);
    for (int k = 0; k < in->n_in; k++)
        if (!pair_in_place(r, in, k)) hold(r, in->in[k], -1, 1);
    for (int k = 0; k < in->n_out; k++) {
        write_fresh(r, in->out[k]);
        hold(r, in->out[k], at, 0);
    }
    if (in->scratch < 0) return;
    write_fresh(r, in->scratch);
    hold(r, in->scratch, at, 0);
}

static void run_wait(replay *r, const syn_instr *in)
{
    for (int k = 0; k < in->n_out; k++)
        hold(r, in->out[k], -1, 0);
    if (in->scratch >= 0) hold(r, in->scratch, -1, 0);
    for (int k = 0; k < in->n_in; k++)
        if (!pair_in_place(r, in, k)) {
            check_read(r, in->in[k]); // nobody touched what was being sent
            hold(r, in->in[k], -1, -1);
        }
}

static void run_step(replay *r)
{
    const syn_program *p = r->p;
    for (int i = 0; i < p->instr.n; i++) {
        const syn_instr *in = &p->instr.p[i];
        r->at = i;
        if (in->kind == SYN_START)
            run_start(r, in, i);
        else if (in->kind == SYN_WAIT)
            run_wait(r, &p->instr.p[in->start]);
        else
            run_op(r, in);
    }
    r->at = p->instr.n;
    if (p->loss >= 0) check_read(r, p->loss);
    for (int t = 0; p->keep_grads && t < p->g->tensors.n; t++)
        if (p->grad[t] >= 0) check_read(r, p->grad[t]);
    for (int t = 0; t < p->tensors.n; t++)
        if (tensor(r, t)->role == SYN_ROLE_HOME || tensor(r, t)->role == SYN_ROLE_CONST)
            check_read(r, t);
}

static hb_str check_offsets(hb_arena *a, const syn_program *p)
{
    int classes = p->mesh->n_classes;
    for (int t = 0; t < p->tensors.n; t++) {
        const syn_tensor *x = &p->tensors.p[t];
        int64_t most = 0;
        for (int c = 0; c < classes; c++)
            most = x->bytes[c] > most ? x->bytes[c] : most;
        for (int c = 0; c < classes; c++) {
            int64_t end = x->off[c] + (x->sym ? most : x->bytes[c]);
            if (x->off[c] < 0 || x->off[c] % (x->sym ? PAGE : GRAIN) != 0)
                return hb_fmt(a, "%.*s is not aligned", HB_ARG(x->name));
            if (end > (x->sym ? p->sym_bytes : p->local_bytes[c]))
                return hb_fmt(a, "%.*s ends behind its segment", HB_ARG(x->name));
            if (x->sym && x->off[c] != x->off[0])
                return hb_fmt(a, "%.*s differs by class", HB_ARG(x->name));
        }
    }
    for (int c = 0; c < classes; c++)
        if (p->peak_bytes[c] != p->sym_bytes + p->local_bytes[c])
            return HB_STR("peak is not sym + local");
    return (hb_str){0};
}

static hb_str check_families(hb_arena *a, const syn_program *p)
{
    int members = 0, marked = 0;
    for (int f = 0; f < p->families.n; f++) {
        const syn_family *y = &p->families.p[f];
        const syn_tensor *first = &p->tensors.p[y->member[0]];
        if (y->count < 2 || y->mod < 1 || y->mod > y->count)
            return hb_fmt(a, "family %d: mod %d", f, y->mod);
        for (int k = 0; k < y->count; k++, members++) {
            const syn_tensor *x = &p->tensors.p[y->member[k]];
            if (x->family != f || x->index != k)
                return hb_fmt(a, "%.*s is not member %d", HB_ARG(x->name), k);
            if (x->sym != first->sym || x->role != first->role || x->dtype != first->dtype)
                return hb_fmt(a, "%.*s is unlike its family", HB_ARG(x->name));
            for (int c = 0; c < p->mesh->n_classes; c++) {
                if (x->off[c] != first->off[c] + k % y->mod * y->stride[c])
                    return hb_fmt(a, "%.*s is off its family's formula", HB_ARG(x->name));
                if (y->stride[c] < x->bytes[c])
                    return hb_fmt(a, "%.*s: stride too small", HB_ARG(x->name));
            }
        }
    }
    for (int t = 0; t < p->tensors.n; t++)
        marked += p->tensors.p[t].family >= 0;
    return marked == members ? (hb_str){0}
                             : HB_STR("a buffer names a family that does not know it");
}

hb_str replay_arena(hb_arena *a, const syn_program *p)
{
    hb_str error = check_offsets(a, p);
    if (error.n == 0) error = check_families(a, p);
    for (int c = 0; c < p->mesh->n_classes && error.n == 0; c++) {
        hb_arena *own = hb_arena_new();
        replay r = {.a = a, .p = p, .cls = c, .content = HB_ARRAY(own, int, p->tensors.n + 1)};
        for (int seg = 0; seg < 2; seg++) {
            int64_t n = (seg ? p->local_bytes[c] : p->sym_bytes) / GRAIN + 1;
            r.memory[seg] = HB_ARRAY(own, byte_block, n);
            for (int64_t i = 0; i < n; i++)
                r.memory[seg][i].writer = -1;
        }
        r.at = -1;
        for (int t = 0; t < p->tensors.n; t++)
            if (tensor(&r, t)->role == SYN_ROLE_HOME || tensor(&r, t)->role == SYN_ROLE_CONST)
                write_fresh(&r, t);
        for (int step = 0; step < 2; step++) {
            for (int t = 0; t < p->tensors.n; t++)
                if (tensor(&r, t)->role == SYN_ROLE_INPUT) write_fresh(&r, t);
            run_step(&r);
        }
        error = r.error;
        hb_arena_free(own);
    }
    return error;
}

// --- loops

static bool same_attr(const ir_attr *x, const ir_attr *y)
{
    return x->i == y->i && memcmp(&x->f, &y->f, sizeof x->f) == 0 && x->n == y->n &&
           memcmp(x->v, y->v, sizeof x->v) == 0;
}

static bool alike(const syn_program *p, int x, int y)
{
    const syn_tensor *a = &p->tensors.p[x], *b = &p->tensors.p[y];
    if (a->role != b->role || a->dtype != b->dtype) return false;
    if (a->value < 0 || b->value < 0) return a->value == b->value && a->bytes[0] == b->bytes[0];
    const ir_tensor *v = &p->g->tensors.p[a->value], *w = &p->g->tensors.p[b->value];
    if (v->rank != w->rank || memcmp(v->dim, w->dim, sizeof v->dim[0] * (size_t)v->rank) != 0)
        return false;
    for (int i = 0; i < p->mesh->n_axes; i++)
        if (a->state.ax[i].kind != b->state.ax[i].kind ||
            (a->state.ax[i].kind == SYN_S && (a->state.ax[i].cut != b->state.ax[i].cut ||
                                              a->state.ax[i].dim != b->state.ax[i].dim)))
            return false;
    return true;
}

static bool instr_alike(const syn_program *p, const syn_instr *x, const syn_instr *y)
{
    if (x->kind != y->kind || x->n_in != y->n_in || x->n_out != y->n_out) return false;
    if (x->kind == SYN_WAIT) return instr_alike(p, &p->instr.p[x->start], &p->instr.p[y->start]);
    for (int i = 0; i < x->n_in; i++)
        if (!alike(p, x->in[i], y->in[i])) return false;
    for (int i = 0; i < x->n_out; i++)
        if (!alike(p, x->out[i], y->out[i])) return false;
    if (x->kind == SYN_START) {
        if (x->coll != y->coll || x->form != y->form || x->axes != y->axes ||
            x->reduce_max != y->reduce_max)
            return false;
        return x->scratch < 0 || y->scratch < 0 ? x->scratch == y->scratch
                                                : alike(p, x->scratch, y->scratch);
    }
    if (x->kind != SYN_OP) return x->axes == y->axes;
    const ir_node *n = &p->g->nodes.p[x->node], *m = &p->g->nodes.p[y->node];
    if (n->op != m->op || n->phase != m->phase) return false;
    for (int i = 0; i < ir_op_of(n->op)->n_attr; i++)
        if (strcmp(ir_op_of(n->op)->attr[i].name, "key") != 0 &&
            !same_attr(&n->attr[i], &m->attr[i]))
            return false;
    return true;
}

static int slot_buffer(const syn_instr *in, int s)
{
    return s < in->n_out              ? in->out[s]
           : s < in->n_out + in->n_in ? in->in[s - in->n_out]
                                      : in->scratch;
}

hb_str replay_loops(hb_arena *a, const syn_program *p)
{
    int end = 0;
    for (int k = 0; k < p->loops.n; k++) {
        const syn_loop *l = &p->loops.p[k];
        if (l->first < end || l->len < 1 || l->count < 2 || (l->dir != 1 && l->dir != -1))
            return hb_fmt(a, "loop %d is out of order", k);
        end = l->first + l->len * l->count;
        if (end > p->instr.n) return hb_fmt(a, "loop %d ends behind the program", k);
        for (int j = 0; j < l->len; j++) {
            const syn_instr *x = &p->instr.p[l->first + j];
            for (int r = 1; r < l->count; r++)
                if (!instr_alike(p, x, &p->instr.p[l->first + j + r * l->len]))
                    return hb_fmt(a, "loop %d: instruction %d of repetition %d differs", k, j, r);
            for (int s = 0; s < x->n_out + x->n_in + (x->kind == SYN_START && x->scratch >= 0);
                 s++) {
                int equal = 0;
                for (int r = 0; r < l->count; r++)
                    for (int q = 0; q < r; q++)
                        equal += slot_buffer(x + r * l->len, s) == slot_buffer(x + q * l->len, s);
                if (equal != 0 && equal != l->count * (l->count - 1) / 2)
                    return hb_fmt(a, "loop %d: slot %d of instruction %d is neither one nor new", k,
                                  s, j);
            }
        }
    }
    return (hb_str){0};
}
