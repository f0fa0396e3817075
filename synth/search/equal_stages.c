#include "synth/search/equal_stages.h"

#include <string.h>

static bool same_attr(const ir_attr *x, const ir_attr *y)
{
    if (x->kind != y->kind || x->i != y->i || x->f != y->f || x->n != y->n) return false;
    return memcmp(x->v, y->v, sizeof *x->v * (size_t)x->n) == 0;
}

static bool same_node(const ir_node *x, const ir_node *y)
{
    const ir_op_info *info = ir_op_of(x->op);
    if (x->op != y->op || x->phase != y->phase || x->n_in != y->n_in || x->n_out != y->n_out ||
        x->forward != y->forward || x->again != y->again || x->turn != y->turn ||
        x->adds != y->adds || x->step != y->step || x->more != y->more)
        return false;
    for (int k = 0; k < info->n_attr; k++) {
        const char *name = info->attr[k].name;
        if (strcmp(name, "key") != 0 && strcmp(name, "port") != 0 &&
            !same_attr(&x->attr[k], &y->attr[k]))
            return false;
    }
    return memcmp(x->in, y->in, sizeof *x->in * (size_t)x->n_in) == 0 &&
           memcmp(x->out, y->out, sizeof *x->out * (size_t)x->n_out) == 0;
}

static bool same_tensor(const ir_tensor *x, const ir_tensor *y)
{
    return x->kind == y->kind && x->dtype == y->dtype && x->rank == y->rank &&
           x->producer == y->producer && x->out == y->out && x->batch == y->batch &&
           x->of == y->of && x->more == y->more &&
           memcmp(x->dim, y->dim, sizeof *x->dim * (size_t)x->rank) == 0;
}

bool syn_same_graph(const ir_graph *x, const ir_graph *y)
{
    if (x->tensors.n != y->tensors.n || x->nodes.n != y->nodes.n || x->loss != y->loss ||
        x->updates.n != y->updates.n || x->grads.n != y->grads.n || x->batch != y->batch ||
        x->micro_batches != y->micro_batches)
        return false;
    for (int i = 0; i < x->nodes.n; i++)
        if (!same_node(&x->nodes.p[i], &y->nodes.p[i])) return false;
    for (int i = 0; i < x->tensors.n; i++)
        if (!same_tensor(&x->tensors.p[i], &y->tensors.p[i])) return false;
    for (int i = 0; i < x->updates.n; i++)
        if (x->updates.p[i].tensor != y->updates.p[i].tensor ||
            x->updates.p[i].next != y->updates.p[i].next)
            return false;
    return memcmp(x->grads.p, y->grads.p, sizeof *x->grads.p * (size_t)x->grads.n) == 0;
}

bool syn_same_machines(const cl_cluster *x, const cl_cluster *y)
{
    if (x->n_ranks != y->n_ranks || x->n_machines != y->n_machines ||
        x->n_classes != y->n_classes || x->network_bandwidth != y->network_bandwidth ||
        x->network_latency != y->network_latency)
        return false;
    for (int c = 0; c < x->n_classes; c++)
        if (memcmp(&x->cls[c], &y->cls[c], sizeof *x->cls) != 0)
            return false; // parts of one cluster
    for (int m = 0; m < x->n_machines; m++) {
        const cl_machine *p = &x->machine[m], *q = &y->machine[m];
        if (p->n_ranks != q->n_ranks || p->link_bandwidth != q->link_bandwidth ||
            p->link_latency != q->link_latency || p->peer != q->peer)
            return false;
    }
    return memcmp(x->class_of, y->class_of, sizeof *x->class_of * (size_t)x->n_ranks) == 0;
}

#define COPY(a, v)                                                                                 \
    ((v)->p = hb_copy((a), (v)->p, sizeof *(v)->p * (size_t)(v)->n), (v)->cap = (v)->n)

ir_graph *syn_graph_for(hb_arena *a, const ir_graph *g)
{
    ir_graph *h = hb_copy(a, g, sizeof *g);
    h->arena = a;
    COPY(a, &h->tensors);
    COPY(a, &h->nodes);
    COPY(a, &h->updates);
    COPY(a, &h->grads);
    return h;
}

syn_program *syn_program_for(hb_arena *a, const syn_program *p, const ir_graph *g,
                             const cl_cluster *c)
{
    syn_program *q = hb_copy(a, p, sizeof *p);
    q->arena = a;
    q->g = g;
    q->cluster = c;
    COPY(a, &q->tensors);
    COPY(a, &q->instr);
    COPY(a, &q->loops);
    COPY(a, &q->families);
    COPY(a, &q->fusions);
    COPY(a, &q->pairs);
    q->order.p = NULL;
    q->order.n = q->order.cap = 0;
    return q;
}

static int *ints(hb_arena *a, const int *v, int n)
{
    return v ? hb_copy(a, v, sizeof *v * (size_t)n) : NULL;
}

static syn_mesh *copy_mesh(hb_arena *a, const syn_mesh *m)
{
    syn_mesh *to = hb_copy(a, m, sizeof *m);
    to->class_of = ints(a, m->class_of, m->n_ranks);
    to->cluster_rank = ints(a, m->cluster_rank, m->n_ranks);
    to->cluster_class = ints(a, m->cluster_class, m->n_classes);
    for (int x = 0; x <= SYN_MAX_AXES; x++)
        to->coord_class[x] = ints(a, m->coord_class[x],
                                  x == SYN_BOTH   ? m->n_ranks
                                  : x < m->n_axes ? m->size[x]
                                                  : 1);
    COPY(a, &to->cuts);
    for (int k = 0; k < m->cuts.n; k++) {
        syn_cut *cut = &to->cuts.p[k];
        cut->table = hb_copy(a, cut->table, sizeof *cut->table * (size_t)cut->n);
        cut->name = hb_str_n(a, cut->name.p, cut->name.n);
    }
    return to;
}

static void *copy_chunks(hb_arena *a, int (*chunk)[3], int n)
{
    return chunk ? hb_copy(a, chunk, sizeof *chunk * (size_t)n) : NULL;
}

syn_program *syn_program_kept(hb_arena *a, const syn_program *p)
{
    syn_program *q = syn_program_for(a, p, p->g, p->cluster);
    q->mesh = copy_mesh(a, p->mesh);
    q->home = ints(a, p->home, p->g->tensors.n);
    q->grad = ints(a, p->grad, p->g->tensors.n);
    q->strategy = hb_str_n(a, p->strategy.p, p->strategy.n);
    q->dumps = hb_str_n(a, p->dumps.p, p->dumps.n);
    for (int t = 0; t < q->tensors.n; t++)
        q->tensors.p[t].name = (hb_str){0};
    for (int i = 0; i < q->instr.n; i++) {
        syn_instr *in = &q->instr.p[i];
        in->in = ints(a, in->in, in->n_in);
        in->out = ints(a, in->out, in->n_out);
    }
    for (int k = 0; k < q->loops.n; k++)
        q->loops.p[k].name = hb_str_n(a, q->loops.p[k].name.p, q->loops.p[k].name.n);
    for (int k = 0; k < q->families.n; k++)
        q->families.p[k].member = ints(a, q->families.p[k].member, q->families.p[k].count);
    for (int k = 0; k < q->pairs.n; k++) {
        syn_pair *x = &q->pairs.p[k];
        x->chunk = copy_chunks(a, x->chunk, x->n_chunks);
        x->tiles.chunk = copy_chunks(a, x->tiles.chunk, x->tiles.n_chunks);
    }
    return q;
}
