// The model on the page, module by module, and what is sent: things that are alike are one row.

#include "emit/page.h"

#include <stdlib.h>
#include <string.h>

#include "synth/price/pair_cost.h"

// Things of one key, in the order they come.
typedef struct groups {
    hb_arena *a;
    hb_map *at;
    int n;
} groups;

static int group_of(groups *g, hb_str key)
{
    int at = hb_map_get(g->at, key);
    if (at >= 0) return at;
    hb_map_put(g->at, key, g->n);
    return g->n++;
}

static int compare_ints(const void *x, const void *y)
{
    const int *a = x, *b = y;
    return (*a > *b) - (*a < *b);
}

// "0-3, 7"; empty where none is a block.
static hb_str ranges(hb_arena *a, int *v, int n)
{
    hb_buf b = {.arena = a};
    qsort(v, (size_t)n, sizeof *v, compare_ints);
    for (int i = 0, k; i < n; i = k + 1) {
        for (k = i; k + 1 < n && v[k + 1] <= v[k] + 1; k++) {}
        if (v[i] < 0) continue;
        hb_printf(&b, v[k] > v[i] ? "%s%d-%d" : "%s%d", b.n ? ", " : "", v[i], v[k]);
    }
    return hb_done(&b);
}

// "transformer.h.*.mlp.c_fc" of "transformer.h.3.mlp.c_fc'dx" and of "….c_fc.weight".
static hb_str module_of(page *g, const hb_map *homes, hb_str name)
{
    const char *quote = memchr(name.p, '\'', name.n);
    if (quote) name.n = (size_t)(quote - name.p);
    name = hb_str_n(g->a, name.p, name.n);
    if (hb_map_get(homes, name) >= 0)
        for (size_t i = name.n; i > 0; i--)
            if (name.p[i - 1] == '.') {
                name.n = i - 1;
                break;
            }
    return say_name(g->a, emit_pattern(g->a, name));
}

static hb_map *home_names(page *g)
{
    hb_map *homes = hb_map_new(g->a);
    for (int i = 0; i < g->graph->tensors.n; i++) {
        ir_kind kind = g->graph->tensors.p[i].kind;
        if (kind == IR_PARAM || kind == IR_BUFFER)
            hb_map_put(homes, g->graph->tensors.p[i].name, i);
    }
    return homes;
}

// Instructions, or tensors, of all parts.
static int count_all(const page *g, bool tensors)
{
    const plan_part *last = &g->all->part[g->all->n - 1];
    return tensors ? last->first_tensor + last->p->tensors.n : last->first_instr + last->p->instr.n;
}

// --- modules ---

typedef struct module {
    hb_str name, from;
    double phase[3], exposed;
    int blocks;
} module;

static void find_modules(page *g, const hb_map *homes, module *m, groups *all)
{
    const syn_program *p = g->p;
    const step_times *t = g->t;
    for (int i = 0; i < p->instr.n; i++) {
        const ir_node *node = &p->g->nodes.p[p->instr.p[i].node];
        int block, k = group_of(all, module_of(g, homes, node->name));
        if (m[k].name.n == 0) {
            m[k].name = module_of(g, homes, node->name);
            m[k].from = say_name(g->a, node->from);
        }
        (void)page_block(node->name, &block);
        if (block + 1 > m[k].blocks) m[k].blocks = block + 1;
        m[k].exposed += t->exposed[i];
    }
    for (int i = 0; i < t->n_spans[t->busiest]; i++) {
        const step_span *s = &t->span[t->busiest][i];
        const ir_node *node = &p->g->nodes.p[p->instr.p[s->instr].node];
        int k = group_of(all, module_of(g, homes, node->name));
        m[k].phase[node->phase] += s->end - s->begin;
    }
}

static void put_modules(page *g, const hb_map *homes)
{
    groups all = {g->a, hb_map_new(g->a), 0};
    module *m = HB_ARRAY(g->a, module, count_all(g, false) + 1);
    for (int i = 0; i < g->all->n; i++) {
        page_go(g, i);
        find_modules(g, homes, m, &all);
    }
    js *j = &g->j;
    js_key(j, "modules");
    js_open(j, '[');
    for (int k = 0; k < all.n; k++) {
        js_sep(j);
        js_open(j, '{');
        js_text(j, "n", m[k].name);
        hb_printf(j->b, ",\"t\":[%.6g,%.6g,%.6g],\"e\":%.6g,\"blocks\":%d", m[k].phase[0] * 1e3,
                  m[k].phase[1] * 1e3, m[k].phase[2] * 1e3, m[k].exposed * 1e3, m[k].blocks);
        if (m[k].from.n) js_text(j, "from", m[k].from);
        js_close(j, '}');
    }
    js_close(j, ']');
}

// --- tensors ---

typedef struct tensor_row {
    hb_str module, leaf, words;
    const char *kind;
    int part, first, count, *blocks, n_blocks, cap;
    double *bytes; // by class of all parts
} tensor_row;

// Parts along the tensor of axis 0 (or of all ranks), how often they are cut again inside.
static void put_picture(page *g, const syn_tensor *t)
{
    const syn_mesh *m = g->p->mesh;
    const syn_axis_state *s = &t->state.ax[0], *inner = &t->state.ax[1];
    bool joint = syn_joint(m, &t->state), partial = false;
    js *j = &g->j;
    js_key(j, "pic");
    js_open(j, '{');
    for (int x = 0; x < m->n_axes; x++)
        partial = partial || t->state.ax[x].kind == SYN_P;
    js_flag(j, "partial", partial);
    if (s->kind == SYN_S) {
        int cut = joint ? inner->cut : s->cut;
        part_run *run = HB_ARRAY(g->a, part_run, m->cuts.p[cut].n + 1);
        int n = cut_runs(g->w, cut, run);
        js_key(j, "x");
        js_open(j, '[');
        for (int i = 0; i < n; i++) {
            js_sep(j);
            int cls = run[i].cls < 0 ? -1 : g->part->first_class + run[i].cls;
            hb_printf(j->b, "[%d,%lld,%d]", cls, (long long)run[i].entries, run[i].count);
        }
        js_close(j, ']');
    }
    if (m->n_axes == 2 && inner->kind == SYN_S && !joint) js_integer(j, "y", m->size[1]);
    js_close(j, '}');
}

static bool is_shown(const syn_program *p, const syn_tensor *t, const bool *forward, int i)
{
    if (t->role == SYN_ROLE_HOME) return p->g->tensors.p[t->value].kind != IR_STATE;
    return t->role == SYN_ROLE_VALUE && forward[i] &&
           !memchr(p->g->tensors.p[t->value].name.p, '\'', p->g->tensors.p[t->value].name.n);
}

static void add_tensor(page *g, const hb_map *homes, groups *all, tensor_row *row, int i)
{
    const syn_tensor *t = &g->p->tensors.p[i];
    const ir_tensor *value = &g->p->g->tensors.p[t->value];
    bool home = t->role == SYN_ROLE_HOME, of_home = hb_map_get(homes, value->name) >= 0;
    hb_str words = say_state(g->w, t->value, &t->state);
    hb_str pattern = emit_pattern(g->a, value->name);
    hb_str key =
        hb_fmt(g->a, "%d %d %.*s|%.*s", home, g->part->stage, HB_ARG(pattern), HB_ARG(words));
    int block, k = group_of(all, key);
    tensor_row *r = &row[k];
    if (r->count++ == 0) {
        r->module = module_of(g, homes, value->name);
        r->kind = home ? "parameter" : of_home ? "copy" : "result";
        r->words = words;
        r->part = (int)(g->part - g->all->part);
        r->first = i;
        r->bytes = HB_ARRAY(g->a, double, g->all->n_classes + 1);
        size_t dot = value->name.n;
        while (dot > 0 && value->name.p[dot - 1] != '.')
            dot--;
        r->leaf = say_name(g->a, (hb_str){value->name.p + dot, value->name.n - dot});
    }
    (void)page_block(value->name, &block);
    if (r->n_blocks == r->cap) r->blocks = hb_grow(g->a, r->blocks, &r->cap, sizeof *r->blocks);
    r->blocks[r->n_blocks++] = block;
    for (int c = 0; c < g->p->mesh->n_classes; c++)
        r->bytes[g->part->first_class + c] += (double)t->bytes[c];
}

static void put_tensor(page *g, tensor_row *r)
{
    page_go(g, r->part);
    const syn_tensor *t = &g->p->tensors.p[r->first];
    const ir_tensor *value = &g->p->g->tensors.p[t->value];
    js *j = &g->j;
    js_sep(j);
    js_open(j, '{');
    js_text(j, "m", r->module);
    js_text(j, "n", r->leaf);
    js_text(j, "kind", hb_str_c(g->a, r->kind));
    js_int64s(j, "shape", value->dim, value->rank);
    js_text(j, "dtype", hb_str_c(g->a, ir_dtype_name(t->dtype)));
    js_text(j, "w", r->words);
    js_integer(j, "count", r->count);
    js_text(j, "blocks", ranges(g->a, r->blocks, r->n_blocks));
    js_reals(j, "bytes", r->bytes, g->all->n_classes, 1);
    put_picture(g, t);
    js_close(j, '}');
}

static void add_tensors(page *g, const hb_map *homes, groups *all, tensor_row *row)
{
    const syn_program *p = g->p;
    bool *forward = HB_ARRAY(g->a, bool, p->tensors.n + 1);
    for (int i = p->instr.n - 1; i >= 0; i--) {
        const syn_instr *in = &p->instr.p[i];
        for (int k = 0; in->kind != SYN_WAIT && k < in->n_out; k++)
            forward[in->out[k]] = step_phase(p, i) == IR_FORWARD;
    }
    for (int i = 0; i < p->tensors.n; i++)
        if (is_shown(p, &p->tensors.p[i], forward, i)) add_tensor(g, homes, all, row, i);
}

void page_model(page *g)
{
    hb_map *homes = home_names(g);
    put_modules(g, homes);
    groups all = {g->a, hb_map_new(g->a), 0};
    tensor_row *row = HB_ARRAY(g->a, tensor_row, count_all(g, true) + 1);
    for (int i = 0; i < g->all->n; i++) {
        page_go(g, i);
        add_tensors(g, homes, &all, row);
    }
    js_key(&g->j, "tensors");
    js_open(&g->j, '[');
    for (int k = 0; k < all.n; k++)
        put_tensor(g, &row[k]);
    js_close(&g->j, ']');
}

// --- collectives ---

typedef struct coll_row {
    int part, first, count, *blocks, n_blocks, cap;
    double bytes, sec, exposed;
} coll_row;

// What travels: a parameter, a gradient, what the forward pass made, or gradients of that.
static const char *cargo(const syn_program *p, int start)
{
    const syn_tensor *t = &p->tensors.p[p->instr.p[start].in[0]];
    for (int i = 0; i < p->g->grads.n; i += 2)
        if (p->g->grads.p[i + 1] == t->value) return "gradient";
    if (t->role == SYN_ROLE_HOME) return "parameter";
    if (t->role == SYN_ROLE_INPUT) return "input";
    ir_phase phase = step_phase(p, start);
    return phase == IR_FORWARD  ? "activation"
           : phase == IR_UPDATE ? "update"
                                : "activation gradient";
}

static const char *among(const syn_mesh *m, unsigned axes)
{
    if (m->n_axes == 1) return "all devices in use";
    return axes == 1 ? "between machines" : axes == 2 ? "inside machines" : "all devices in use";
}

static void put_collective(page *g, coll_row *r)
{
    page_go(g, r->part);
    const syn_program *p = g->p;
    const syn_instr *s = &p->instr.p[r->first];
    const syn_tensor *from = &p->tensors.p[s->in[0]], *to = &p->tensors.p[s->out[0]];
    const syn_alternative *x = g->e->instead ? &g->e->instead[r->first] : NULL;
    js *j = &g->j;
    js_sep(j);
    js_open(j, '{');
    js_text(j, "w", say_op(g->a, p, r->first));
    js_text(j, "of", say_name(g->a, emit_pattern(g->a, p->g->tensors.p[from->value].name)));
    js_integer(j, "more", s->n_in - 1);
    js_text(j, "cargo", hb_str_c(g->a, cargo(p, r->first)));
    js_text(j, "among", hb_fmt(g->a, "%s%s", part_prefix(g->a, g->part), among(p->mesh, s->axes)));
    js_text(j, "form", hb_str_c(g->a, cost_form_name(s->form).s));
    js_text(j, "from", say_state(g->w, from->value, &from->state));
    js_text(j, "to", say_state(g->w, to->value, &to->state));
    js_integer(j, "n", r->count);
    js_text(j, "blocks", ranges(g->a, r->blocks, r->n_blocks));
    js_real(j, "bytes", r->bytes);
    js_real(j, "ms", r->sec * 1e3);
    js_real(j, "exposed_ms", r->exposed * 1e3);
    if (x && (x->what.n > 0 || x->delta_sec != 0))
        js_real(j, "instead_ms", x->what.n > 0 ? x->delta_sec * 1e3 : -1);
    js_close(j, '}');
}

static void add_collectives(page *g, groups *all, coll_row *row)
{
    const syn_program *p = g->p;
    const cost_timeline *line = &g->e->res->timeline;
    for (int i = 0; i < p->instr.n; i++) {
        const syn_instr *s = &p->instr.p[i];
        if (s->kind != SYN_START) continue;
        const syn_tensor *from = &p->tensors.p[s->in[0]], *to = &p->tensors.p[s->out[0]];
        hb_str name = p->g->tensors.p[from->value].name;
        hb_str key = hb_fmt(g->a, "%d %.*s %u %d %d %.*s|%.*s|%.*s", g->part->stage,
                            HB_ARG(emit_instr_name(g->a, p, i)), s->axes, s->form, s->n_in,
                            HB_ARG(emit_pattern(g->a, name)),
                            HB_ARG(say_state(g->w, from->value, &from->state)),
                            HB_ARG(say_state(g->w, to->value, &to->state)));
        int block;
        coll_row *r = &row[group_of(all, key)];
        if (r->count++ == 0) {
            r->part = (int)(g->part - g->all->part);
            r->first = i;
        }
        (void)page_block(name, &block);
        if (r->n_blocks == r->cap) r->blocks = hb_grow(g->a, r->blocks, &r->cap, sizeof *r->blocks);
        r->blocks[r->n_blocks++] = block;
        int times = syn_instr_slots(p, s);
        r->bytes += times * emit_coll_bytes(p, s);
        r->sec += times * (line->end[i * p->mesh->n_classes] - line->begin[i * p->mesh->n_classes]);
        r->exposed += g->t->exposed[i];
    }
}

static void put_collectives(page *g)
{
    groups all = {g->a, hb_map_new(g->a), 0};
    coll_row *row = HB_ARRAY(g->a, coll_row, count_all(g, false) + 1);
    for (int i = 0; i < g->all->n; i++) {
        page_go(g, i);
        add_collectives(g, &all, row);
    }
    js_key(&g->j, "colls");
    js_open(&g->j, '[');
    for (int k = 0; k < all.n; k++)
        put_collective(g, &row[k]);
    js_close(&g->j, ']');
}

// --- overlapped pairs ---

static void put_pair(page *g, const syn_pair *x, int count)
{
    const syn_program *p = g->p;
    const syn_instr *s = &p->instr.p[syn_pair_start(p, x)];
    bool consumer = syn_is_consumer(p, x);
    double busy = 0;
    for (int c = 0; c < p->mesh->n_classes; c++)
        busy = x->busy[c] > busy ? x->busy[c] : busy;
    const ir_node *node = &p->g->nodes.p[p->instr.p[x->first + (consumer ? 2 : 0)].node];
    js *j = &g->j;
    js_sep(j);
    js_open(j, '{');
    js_text(j, "op", say_name(g->a, emit_pattern(g->a, node->name)));
    js_integer(j, "more", consumer ? x->len - 3 : 0);
    js_flag(j, "consumer", consumer);
    js_text(j, "w", say_op(g->a, p, syn_pair_start(p, x)));
    js_text(j, "form", hb_str_c(g->a, cost_form_name(s->form).s));
    js_integer(j, "n", count);
    const syn_tiles *t = &x->tiles;
    const bool list = t->how & SYN_TILE_FIRST;
    js_integer(j, "chunks", list ? t->n_chunks : x->n_chunks);
    js_text(j, "tile", list ? hb_fmt(g->a, "tiles of %dx%d", t->rows, t->cols) : HB_STR(""));
    js_real(j, "other_ms", 1e3 * (list ? x->chunked : t->total)); // 0: no other way
    js_real(j, "compute_ms", busy * 1e3);
    js_real(j, "transfer_ms", x->transfer * 1e3);
    js_real(j, "ms", x->total * 1e3);
    js_real(j, "sequential_ms", x->sequential * 1e3);
    js_close(j, '}');
}

static void add_pairs(page *g)
{
    const syn_program *p = g->p;
    groups all = {g->a, hb_map_new(g->a), 0};
    int *first = HB_ARRAY(g->a, int, p->pairs.n + 1), *count = HB_ARRAY(g->a, int, p->pairs.n + 1);
    for (int i = 0; i < p->pairs.n; i++) {
        const syn_pair *x = &p->pairs.p[i];
        const ir_node *node = &p->g->nodes.p[p->instr.p[x->first].node];
        int start = syn_pair_start(p, x);
        hb_str key = hb_fmt(g->a, "%.*s %.*s %d %d %.6g", HB_ARG(emit_pattern(g->a, node->name)),
                            HB_ARG(emit_instr_name(g->a, p, start)), x->len, x->n_chunks, x->total);
        int k = group_of(&all, key);
        if (count[k]++ == 0) first[k] = i;
    }
    for (int k = 0; k < all.n; k++)
        put_pair(g, &p->pairs.p[first[k]], count[k]);
}

void page_collectives(page *g)
{
    put_collectives(g);
    js_key(&g->j, "pairs");
    js_open(&g->j, '[');
    for (int i = 0; i < g->all->n; i++) {
        page_go(g, i);
        add_pairs(g);
    }
    js_close(&g->j, ']');
}
