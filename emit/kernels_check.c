#include "emit/kernels_check.h"

#include <string.h>

#include "emit/emit.h"
#include "emit/words.h"
#include "synth/plan/fusion_parts.h"

// --- the record's fusions as those of a plan ---

// A program of nothing but fusions: call by call a node, record tensor by record tensor a value.
typedef struct maker {
    hb_arena *a;
    const record *r;
    syn_program *p;
    ir_graph *g;
    hb_map *cuts; // what tells cuts apart: their number
    int n_cuts;
    bool *ready;   // by tensor
    int *first_of; // by kernel: the line of its fusion, 0 none
} maker;

// Equal tables at equal places of a dim are one cut.
static int16_t cut_of(maker *m, const rec_dim *d)
{
    hb_buf key = {.arena = m->a};
    hb_printf(&key, "%d %lld %lld %lld", d->axis, (long long)d->n, (long long)d->outer,
              (long long)d->inner);
    for (int i = 0; i < d->n_table; i++)
        hb_printf(&key, " %lld", (long long)d->table[i]);
    hb_str k = hb_done(&key);
    int cut = hb_map_get(m->cuts, k);
    if (cut < 0) hb_map_put(m->cuts, k, cut = m->n_cuts++);
    hb_assert(cut <= INT16_MAX);
    return (int16_t)cut;
}

static void take_tensor(maker *m, int id)
{
    const rec_tensor *x = id >= 0 ? &m->r->tensors.p[id] : NULL;
    if (!x || m->ready[id]) return;
    ir_tensor *v = &m->g->tensors.p[id];
    syn_tensor *t = &m->p->tensors.p[id];
    m->ready[id] = true;
    v->rank = x->rank;
    v->dtype = t->dtype = x->dtype;
    for (int d = 0; d < x->rank; d++) {
        const rec_dim *dim = &x->dim[d];
        v->dim[d] = dim->n * dim->outer * dim->inner;
        for (int axis = 0; axis < SYN_MAX_AXES; axis++)
            if (dim->axis == axis || dim->axis == SYN_BOTH)
                t->state.ax[axis] =
                    (syn_axis_state){.kind = SYN_S, .dim = (uint8_t)d, .cut = cut_of(m, dim)};
    }
}

static void take_call(maker *m, const rec_call *k)
{
    ir_node n = {.name = HB_STR("fusion"), .op = (ir_op)k->op, .n_in = k->n_in, .n_out = k->n_out};
    for (int i = 0; i < k->n_in; i++) {
        take_tensor(m, k->in[i]);
        n.in[i] = k->in[i];
    }
    for (int i = 0; i < k->n_out; i++) {
        take_tensor(m, k->out[i]);
        n.out[i] = k->out[i];
    }
    for (int i = 0; i < ir_op_of(n.op)->n_attr; i++)
        n.attr[i] = k->attr[i];
    syn_instr in = {.kind = SYN_OP,
                    .node = m->g->nodes.n,
                    .n_in = k->n_in,
                    .n_out = k->n_out,
                    .in = k->in,
                    .out = k->out};
    HB_PUSH(m->a, &m->g->nodes, n);
    HB_PUSH(m->a, &m->p->instr, in);
}

// "k12" is kernel 11; -1: hapc names none so where there are so many calls.
static int kernel_of(int most, hb_str name)
{
    int n = 0;
    if (name.n < 2 || name.p[0] != 'k' || name.p[1] == '0') return -1;
    for (size_t i = 1; i < name.n; i++) {
        if (name.p[i] < '0' || name.p[i] > '9' || n > most) return -1;
        n = 10 * n + name.p[i] - '0';
    }
    return n <= most ? n - 1 : -1;
}

static bool writes_in_place(const rec_call *k)
{
    for (int o = 0; o < k->n_out; o++)
        for (int i = 0; i < k->n_in; i++)
            if (k->in[i] == k->out[o]) return true;
    return false;
}

// The fusion of calls from .. to (a REC_FUSED), unless no kernel can be made of it: its ops then
// run one by one wherever they run.
static void take_fusion(maker *m, int kernel, int from, int to)
{
    const rec_call *call = m->r->calls.p, *kept = &call[to];
    syn_fusion g = {.first = m->p->instr.n, .len = to - from, .kernel = kernel};
    syn_parts parts = {.domain = -1};
    bool fits = g.len > 0 && g.len <= SYN_MAX_FUSION;
    for (int c = from; fits && c < to; c++) {
        fits = call[c].kind == REC_OP && !writes_in_place(&call[c]);
        if (!fits) break;
        take_call(m, &call[c]);
        const syn_instr *in = &m->p->instr.p[m->p->instr.n - 1];
        fits = syn_may_fuse(m->p, in) && syn_parts_take(m->p, &parts, in, c - from);
        for (int o = 0; o < call[c].n_out; o++)
            for (int i = 0; i < kept->n_in; i++)
                if (kept->in[i] == call[c].out[o]) g.kept[c - from] |= (uint8_t)(1 << o);
    }
    if (fits) HB_PUSH(m->a, &m->p->fusions, g);
}

// All calls of one kernel's name read alike, or only the first ones run as the kernel. first_of: of
// the records before; most: calls of all records.
static syn_program *fusions_of(hb_arena *a, const record *r, int most, int *first_of)
{
    maker m = {.a = a, .r = r, .p = HB_NEW(a, syn_program), .g = HB_NEW(a, ir_graph)};
    syn_mesh *mesh = HB_NEW(a, syn_mesh);
    mesh->n_axes = r->n_axes;
    *m.p = (syn_program){.arena = a, .g = m.g, .mesh = mesh};
    m.cuts = hb_map_new(a);
    m.ready = HB_ARRAY(a, bool, r->tensors.n + 1);
    for (int i = 0; i < r->tensors.n; i++) {
        HB_PUSH(a, &m.g->tensors, (ir_tensor){.producer = -1});
        HB_PUSH(a, &m.p->tensors, (syn_tensor){.value = i, .family = -1});
    }
    for (int c = 0; c < r->calls.n; c++) {
        int kernel = r->calls.p[c].kind == REC_FUSE ? kernel_of(most, r->calls.p[c].name) : -1,
            to = c;
        if (kernel < 0 || first_of[kernel]) continue;
        while (to < r->calls.n && r->calls.p[to].kind != REC_FUSED)
            to++;
        if (to == r->calls.n) break;
        first_of[kernel] = r->calls.p[c].line ? r->calls.p[c].line : 1;
        take_fusion(&m, kernel, c + 1, to);
    }
    return m.p;
}

// --- the comparison ---

// A text, line by line: the one at hand, and its number.
typedef struct reader {
    hb_arena *a;
    hb_str text, line;
    size_t at;
    int number;
} reader;

// A comment in which nothing can end it early, or make it go on in the next line.
static bool is_comment(const reader *x, hb_str line)
{
    return line.n >= 2 && line.p[0] == '/' && line.p[1] == '/' && !memchr(line.p, '\\', line.n) &&
           hb_str_eq(say_name(x->a, line), line);
}

// The next line that says something; empty behind the last.
static void next_line(reader *x)
{
    for (; x->at < x->text.n; x->at += x->line.n + 1) {
        const char *from = x->text.p + x->at, *end = memchr(from, '\n', x->text.n - x->at);
        x->line = (hb_str){from, end ? (size_t)(end - from) : x->text.n - x->at};
        x->number++;
        if (x->line.n > 0 && !is_comment(x, x->line)) {
            x->at += x->line.n + 1;
            return;
        }
    }
    x->line = (hb_str){0};
    x->number++;
}

// "HAP_ROW_KERNEL(k2," is kernel 1; -1: the line begins none.
static int begins(int most, hb_str line)
{
    const char *open = memchr(line.p, '(', line.n), *comma = memchr(line.p, ',', line.n);
    if (line.n < 4 || memcmp(line.p, "HAP_", 4) != 0 || !open || !comma || comma < open) return -1;
    return kernel_of(most, (hb_str){open + 1, (size_t)(comma - open - 1)});
}

static bool compare(hb_arena *a, int most, hb_str is, hb_str made, const int *first_of, hb_str *why)
{
    reader x = {.a = a, .text = is}, y = {.a = a, .text = made};
    int kernel = -1;
    for (;;) {
        next_line(&x);
        next_line(&y);
        int next = y.line.n > 0 ? begins(most, y.line) : -1;
        if (next >= 0) kernel = next;
        if (!hb_str_eq(x.line, y.line)) break;
        if (x.line.n == 0) return true;
    }
    hb_str of = kernel < 0 ? HB_STR("the fusions of program.c")
                           : hb_fmt(a, "program.c:%d, k%d", first_of[kernel], kernel + 1);
    hb_buf b = {.arena = a};
    hb_printf(&b, "kernels.cu:%d: not what hapc makes of %.*s\n    has:   ", x.number, HB_ARG(of));
    hb_printf(&b,
              "%.*s\n    wants: ", HB_ARG(x.line.n ? say_name(a, x.line) : HB_STR("(no more)")));
    hb_printf(&b, "%.*s", HB_ARG(y.line.n ? y.line : HB_STR("(no more)")));
    *why = hb_done(&b);
    return false;
}

bool emit_kernels_hold(hb_arena *a, const char *dir, const record *const *r, int n, hb_str *why)
{
    hb_str text = {0};
    const char *reason = NULL;
    int most = 0;
    for (int i = 0; i < n; i++)
        most += r[i]->calls.n;
    int *first_of = HB_ARRAY(a, int, most + 2);
    const syn_program **p = HB_ARRAY(a, const syn_program *, n);
    for (int i = 0; i < n; i++)
        p[i] = fusions_of(a, r[i], most, first_of);
    bool there = hb_read_file(a, hb_fmt(a, "%s/kernels.cu", dir).p, &text, &reason);
    hb_buf made = {.arena = a};
    bool wanted = emit_kernels(&made, (hb_str){0}, p, n);
    if (there && wanted) return compare(a, most, text, hb_done(&made), first_of, why);
    if (there)
        *why = HB_STR("kernels.cu:1: program.c has no fusion that a kernel could run");
    else if (wanted)
        *why = hb_fmt(a, "kernels.cu: %s; program.c has fusions", reason);
    return there == wanted;
}
