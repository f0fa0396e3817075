#include "synth/search/stage_costs.h"

#include <math.h>

#include "ir/fold.h"
#include "ir/variant.h"
#include "synth/plan/liveness.h"
#include "synth/price/simulate_plan.h"
#include "synth/search/lower_bound.h"

// --- layers ---

// By few block: whether it stands for others; then none does.
static bool *take_alone(hb_arena *a, ir_graph *few, int n)
{
    bool *folded = HB_ARRAY(a, bool, n + 1);
    for (int k = 0; k < few->nodes.n; k++) {
        ir_node *x = &few->nodes.p[k];
        if (x->block > 0 && x->more > 0) folded[x->block - 1] = true;
        x->more = 0;
    }
    for (int t = 0; t < few->tensors.n; t++)
        few->tensors.p[t].more = 0;
    return folded;
}

// The ends of a run stand for themselves alone, the others for what is between.
static void set_stands(syn_layers *l, const bool *folded)
{
    const int *few_of = l->few->few_of;
    for (int k = 0; k < l->n_few;) {
        int n = folded[k] ? 2 * SYN_STAGE_KEEP : 1, from = 0, to;
        while (few_of[from] < k)
            from++;
        for (to = from; to < l->n && few_of[to] < k + n;)
            to++;
        for (int i = from; i < to; i++)
            l->stands[i] = i == from                ? k
                           : i == to - 1            ? k + n - 1
                           : few_of[i] == k         ? k + 1
                           : few_of[i] == k + n - 1 ? k + n - 2
                                                    : few_of[i];
        k += n;
    }
}

// What all stages of one layer each hold and hand on.
static const ir_stages *layer_by_layer(hb_arena *a, const ir_graph *g, int n, hb_diag *d)
{
    int *first = HB_ARRAY(a, int, n + 1);
    if (n > IR_MAX_STAGES) return NULL;
    for (int i = 0; i < n; i++)
        first[i] = i;
    return ir_stages_cut(a, g, n, first, d);
}

static double elements_of(const ir_graph *g)
{
    double n = 0;
    for (int t = 0; t < g->tensors.n; t++)
        if (g->tensors.p[t].kind == IR_PARAM) n += (double)ir_elements(&g->tensors.p[t]);
    return n;
}

syn_layers *syn_layers_new(hb_arena *a, ir_graph *step)
{
    syn_layers *l = HB_NEW(a, syn_layers);
    *l = (syn_layers){.arena = a, .n = ir_layers(a, step, NULL)};
    if (l->n < 2) return NULL;
    l->stands = HB_ARRAY(a, int, l->n + 1);
    l->few = step->n_blocks >= 2 ? ir_fold(a, step, SYN_STAGE_KEEP, false) : NULL;
    if (l->few) {
        l->n_few = 1 + l->few->few_of[l->n - 1];
        set_stands(l, take_alone(a, l->few, l->n_few));
    } else {
        l->few = hb_copy(a, step, sizeof *step);
        l->n_few = l->n;
        for (int i = 0; i < l->n; i++)
            l->stands[i] = i;
        l->few->few_of = l->stands; // searched as few layers are
    }
    const ir_stages *s = layer_by_layer(a, l->few, l->n_few, hb_diag_new(a));
    if (!s) return NULL;
    l->share = HB_ARRAY(a, double, l->n_few + 1);
    double all = 0;
    for (int i = 0; i < l->n_few; i++)
        all += l->share[i] = elements_of(s->graph[i]);
    for (int i = 0; i < l->n_few && all > 0; i++)
        l->share[i] /= all;
    return l;
}

// --- micro-batches ---

// Bytes of a micro-batch from each few layer to the next: the larger of both directions.
static double *borders(hb_arena *a, const ir_stages *s)
{
    double *way[2] = {HB_ARRAY(a, double, s->n + 1), HB_ARRAY(a, double, s->n + 1)};
    for (int i = 0; i < s->ports.n; i++) {
        const ir_port *p = &s->ports.p[i];
        const ir_tensor *t = &s->graph[p->from]->tensors.p[p->sent];
        int up = p->to > p->from, lo = up ? p->from : p->to, hi = up ? p->to : p->from;
        // Without micro-batches: not parameters, nor their gradients.
        bool passes = ir_in_slot(p->turn) ||
                      (s->graph[0]->micro_batches < 2 && t->producer >= 0 && p->from + 1 >= p->to);
        if (!passes) continue;
        for (int k = lo + 1; k <= hi; k++)
            way[up][k] += (double)(ir_elements(t) * ir_dtype_bytes(t->dtype));
    }
    for (int k = 0; k < s->n; k++)
        way[0][k] = fmax(way[0][k], way[1][k]);
    return way[0];
}

bool syn_chunk_open(hb_arena *a, const syn_layers *l, int64_t micro_batches, bool again,
                    syn_chunk *out, hb_str *why)
{
    hb_diag *d = hb_diag_new(a);
    bool *all = HB_ARRAY(a, bool, l->n_few + 1);
    for (int i = 0; i < l->n_few; i++)
        all[i] = true;
    ir_graph *v = ir_variant(a, l->few, micro_batches, again ? all : NULL, d);
    if (!v) {
        *why = hb_fmt(a, "the batch has no %lld micro-batches", (long long)micro_batches);
        return false;
    }
    const ir_stages *one = ir_stages_cut(a, v, 1, (const int[]){0}, d),
                    *each = layer_by_layer(a, v, l->n_few, d);
    if (!one || !each) {
        *why = HB_STR("its layers cannot be cut");
        return false;
    }
    ir_graph *g = one->graph[0];
    g->depth = 1;
    *out = (syn_chunk){.layers = l, .graph = g, .f = ir_factorize(a, g)};
    const double *few = borders(a, each);
    out->border = HB_ARRAY(a, double, l->n + 1);
    for (int i = 1; i < l->n; i++)
        out->border[i] = few[l->stands[i]];
    return true;
}

// --- a plan of few layers ---

typedef struct cutting {
    const syn_program *p;
    const syn_layers *layers;
    syn_slot slot;
    cost_timeline time;
    int *layer;                        // by node of the graph: its few layer, -1
    double *forward, *backward, *sent; // by few layer
    double before, after;              // seconds: ahead of the micro-batches, behind them
} cutting;

// The few layer of every node: of its own, or of the one that it differentiates.
static int *layers_of(hb_arena *a, const ir_graph *g)
{
    int *layer = HB_ARRAY(a, int, g->nodes.n + 1);
    (void)ir_layers(a, g, layer);
    for (int k = 0; k < g->nodes.n; k++) {
        const ir_node *n = &g->nodes.p[k];
        if (n->phase == IR_BACKWARD && n->forward >= 0) layer[k] = layer[n->forward];
    }
    return layer;
}

static double end_of(const cutting *c, int instr)
{
    int n = c->p->mesh->n_classes;
    double last = 0;
    for (int i = 0; i < n; i++)
        last = fmax(last, c->time.end[instr * n + i]);
    return last;
}

typedef enum { HALF_NONE, HALF_FORWARD, HALF_BACKWARD } half;

// Without micro-batches: by what it is there for.
static half half_of(const ir_graph *g, ir_turn turn, ir_phase phase)
{
    if (g->micro_batches > 1)
        return turn == IR_SLOT ? HALF_FORWARD : turn == IR_SLOT_BACK ? HALF_BACKWARD : HALF_NONE;
    return phase == IR_FORWARD ? HALF_FORWARD : phase == IR_BACKWARD ? HALF_BACKWARD : HALF_NONE;
}

static half half_of_node(const ir_graph *g, int node)
{
    return half_of(g, g->nodes.p[node].turn, g->nodes.p[node].phase);
}

static half half_of_instr(const cutting *c, int instr)
{
    const syn_instr *in = &c->p->instr.p[instr];
    if (in->kind == SYN_START) return HALF_NONE;
    return half_of(c->p->g, in->turn, c->p->g->nodes.p[in->node].phase);
}

double syn_stage_least(const syn_chunk *c, const cost_model *group)
{
    const cl_cluster *cl = group->cluster;
    hb_arena *own = hb_arena_new();
    const int *layer = layers_of(own, c->graph);
    double *sec = HB_ARRAY(own, double, c->layers->n_few + 1), least = INFINITY, launch;
    for (int k = 0; k < c->graph->nodes.n; k++) {
        if (layer[k] < 0 || half_of_node(c->graph, k) == HALF_NONE) continue;
        double fastest = INFINITY;
        for (int i = 0; i < cl->n_classes; i++)
            fastest = fmin(fastest, syn_least_op(group, c->graph, c->f, k, i, &launch));
        sec[layer[k]] += fastest / cl->n_ranks;
    }
    for (int l = 0; l < c->layers->n_few; l++)
        least = fmin(least, sec[l]);
    hb_arena_free(own);
    return least;
}

// Cuts what lies between two times at the last ends of layers, done in ascending order or, going
// back, the other way round.
static void cut_half(const cutting *c, double begin, double end, half h, double *sec)
{
    int n = c->layers->n_few;
    for (int i = 0; i < n; i++)
        sec[i] = begin;
    for (int i = 0; i < c->p->instr.n; i++) {
        const syn_instr *in = &c->p->instr.p[i];
        int l = in->kind == SYN_OP && half_of_instr(c, i) == h ? c->layer[in->node] : -1;
        if (l >= 0) sec[l] = fmin(fmax(sec[l], end_of(c, i)), end);
    }
    double at = begin;
    for (int k = 0; k < n; k++) {
        double *x = &sec[h == HALF_BACKWARD ? n - 1 - k : k],
               until = k + 1 < n ? fmax(*x, at) : end;
        *x = until - at;
        at = until;
    }
}

// The last micro-batch is looked at. Its backward half is longer by what is done once behind the
// micro-batches beside it: that counts as behind them.
static void cut_times(hb_arena *a, cutting *c)
{
    double ends[3] = {0};
    syn_simulate_in(a, c->p, &c->time, true);
    for (int i = 0; i < c->p->instr.n; i++)
        ends[half_of_instr(c, i)] = fmax(ends[half_of_instr(c, i)], end_of(c, i));
    bool slots = c->slot.times > 1;
    double end = fmax(ends[HALF_FORWARD], ends[HALF_BACKWARD]), start = slots ? c->time.last : 0,
           round = slots ? c->time.round : end,
           middle = fmin(fmax(ends[HALF_FORWARD], start), fmin(end, start + round));
    c->before = slots ? fmax(start - (c->slot.times - 1) * round, 0) : 0;
    c->after = fmax(c->time.total - start - round, 0);
    cut_half(c, start, middle, HALF_FORWARD, c->forward);
    cut_half(c, middle, end, HALF_BACKWARD, c->backward);
    for (int l = 0; l < c->layers->n_few && end > middle; l++)
        c->backward[l] *= (start + round - middle) / (end - middle);
}

// Which nodes of backward halves make what the layer before reads; others may be done when that has
// been sent.
static bool *feeds_before(hb_arena *a, const cutting *c)
{
    const ir_graph *g = c->p->g;
    bool *feeds = HB_ARRAY(a, bool, g->nodes.n + 1);
    for (int k = g->nodes.n - 1; k >= 0; k--) {
        const ir_node *n = &g->nodes.p[k];
        for (int i = 0; half_of_node(g, k) == HALF_BACKWARD && i < n->n_in; i++) {
            int by = g->tensors.p[n->in[i]].producer;
            bool down = by >= 0 && c->layer[k] >= 0 && c->layer[k] < c->layer[by];
            if (by >= 0 && (feeds[k] || down)) feeds[by] = true;
        }
    }
    return feeds;
}

// Seconds of a backward half until what the layer before reads is made, as long as what is done for
// it takes a share of the layer's work.
static void cut_sent(hb_arena *a, cutting *c)
{
    int n = c->layers->n_few;
    bool *feeds = feeds_before(a, c);
    double *work = HB_ARRAY(a, double, n + 1), *first = HB_ARRAY(a, double, n + 1);
    for (int i = 0; i < c->p->instr.n; i++) {
        const syn_instr *in = &c->p->instr.p[i];
        int l =
            in->kind == SYN_OP && half_of_instr(c, i) == HALF_BACKWARD ? c->layer[in->node] : -1;
        double sec = 0;
        for (int k = 0; k < c->p->mesh->n_classes && l >= 0; k++)
            sec = fmax(sec, in->sec[k]);
        if (l < 0) continue;
        work[l] += sec;
        first[l] += feeds[in->node] ? sec : 0;
    }
    for (int l = 0; l < n; l++)
        c->sent[l] = c->backward[l] * (work[l] > 0 ? first[l] / work[l] : 1);
}

// --- its bytes ---

typedef struct bytes {
    double held;   // share of the fullest memory: that stays
    double *place; // by few layer: that a micro-batch under way takes
    double most;   // at once
} bytes;

// Which tensors of the graph are made in a forward half and read in a backward one.
static bool *in_ring(hb_arena *a, const ir_graph *g)
{
    bool *is = HB_ARRAY(a, bool, g->tensors.n + 1);
    for (int k = 0; k < g->nodes.n; k++) {
        const ir_node *n = &g->nodes.p[k];
        for (int i = 0; half_of_node(g, k) == HALF_BACKWARD && i < n->n_in; i++) {
            int p = g->tensors.p[n->in[i]].producer;
            is[n->in[i]] = is[n->in[i]] || (p >= 0 && half_of_node(g, p) == HALF_FORWARD);
        }
    }
    return is;
}

// Does what a node makes last as long as the micro-batches?
static bool stays(const ir_graph *g, int node)
{
    if (node < 0) return true;
    const ir_node *n = &g->nodes.p[node];
    return n->adds || (g->micro_batches > 1 && n->turn == IR_BEFORE);
}

// The largest share of a memory that a buffer takes, of the memory that it was planned with.
static double share_of(const syn_program *p, const syn_tensor *t)
{
    double most = 0;
    for (int c = 0; c < p->mesh->n_classes; c++)
        most = fmax(most, (double)t->bytes[c] /
                              (double)p->cluster->cls[p->mesh->cluster_class[c]].capacity);
    return most;
}

static bytes bytes_of(hb_arena *a, const cutting *c)
{
    const syn_program *p = c->p;
    const ir_graph *g = p->g;
    bytes b = {.place = HB_ARRAY(a, double, c->layers->n_few + 1)};
    bool *ring = in_ring(a, g);
    for (int i = 0; i < p->tensors.n; i++) {
        const syn_tensor *t = &p->tensors.p[i];
        int by = t->value >= 0 ? g->tensors.p[t->value].producer : -1;
        if (t->role == SYN_ROLE_SCRATCH || t->role == SYN_ROLE_INPUT) continue;
        if (stays(g, by))
            b.held += share_of(p, t);
        else if (ring[t->value] && c->layer[by] >= 0)
            b.place[c->layer[by]] += share_of(p, t);
    }
    b.most = syn_live_share(p, false);
    return b;
}

// --- costs ---

static double *by_layer(hb_arena *a, const syn_layers *l, const double *few, double times)
{
    double *v = HB_ARRAY(a, double, l->n + 1);
    for (int i = 0; i < l->n; i++)
        v[i] = times * few[l->stands[i]];
    return v;
}

static double network_of(const cl_cluster *c, const cl_cluster *group)
{
    return c->network_bandwidth > 0 ? c->network_bandwidth * group->n_machines : (double)INFINITY;
}

// A group's model with so many times its memory.
static cost_model *roomy(hb_arena *a, const cost_model *group, double times)
{
    cost_model *m = hb_copy(a, group, sizeof *group);
    cl_cluster *c = hb_copy(a, group->cluster, sizeof *group->cluster);
    c->cls = hb_copy(a, c->cls, sizeof *c->cls * (size_t)c->n_classes);
    for (int k = 0; k < c->n_classes; k++)
        c->cls[k].capacity = (int64_t)((double)c->cls[k].capacity * times);
    m->cluster = c;
    return m;
}

bool syn_stage_costs(hb_arena *a, const syn_chunk *c, const cl_cluster *whole,
                     const cost_model *group, const syn_options *o, pl_option *out,
                     syn_mesh_choice *mesh, bool *tight)
{
    const syn_layers *l = c->layers;
    hb_arena *own = hb_arena_new();
    syn_options quick = *o;
    quick.baselines = false;
    quick.pins = c->pins;
    quick.no_pairs = quick.all_devices = quick.brief = true;
    // A stage has fewer layers, or none of the ends: what does not fit here may fit there.
    double times = 1;
    syn_result r = syn_synthesize(own, c->graph, c->f, group, &quick);
    if (r.status == SYN_INFEASIBLE) {
        times = SYN_STAGE_ROOM;
        r = syn_synthesize(own, c->graph, c->f, roomy(own, group, times), &quick);
    }
    if (r.status == SYN_OK && r.program) {
        cutting x = {.p = r.program,
                     .layers = l,
                     .slot = syn_slot_of(r.program),
                     .layer = layers_of(own, c->graph),
                     .forward = HB_ARRAY(own, double, l->n_few + 1),
                     .backward = HB_ARRAY(own, double, l->n_few + 1),
                     .sent = HB_ARRAY(own, double, l->n_few + 1)};
        cut_times(own, &x);
        cut_sent(own, &x);
        bytes b = bytes_of(own, &x);
        double places = 0;
        for (int i = 0; i < l->n_few; i++)
            places += b.place[i];
        *mesh = r.program->mesh->n_axes > 1 ? SYN_MESH_MACHINES : SYN_MESH_FLAT;
        *tight = times > 1 || r.tight;
        out->width = network_of(whole, group->cluster);
        out->forward = by_layer(a, l, x.forward, 1);
        out->backward = by_layer(a, l, x.backward, 1);
        out->sent = by_layer(a, l, x.sent, 1);
        out->ends = by_layer(a, l, l->share, x.before + x.after);
        out->held = by_layer(a, l, l->share, times * b.held);
        out->place = by_layer(a, l, b.place, times);
        out->room = 1 - times * fmax(b.most - b.held - places, 0);
    }
    hb_arena_free(own);
    return r.status == SYN_OK && r.program;
}
