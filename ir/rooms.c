// --expert-room: rows are moved to the experts that they choose, instead of experts to rows.
//
// What lies between two products of rows by the matrices of their experts is done where the experts
// are, in rooms: room[g, e, i] is the i-th row of group g that chose expert e.
//
//     y = expert_linear(x, index, w1)      r = to_rooms(x, index)              [g, e, c, k]
//     a = silu(y)                     ->   y = room_linear(r, w1), a = silu(y) [g, e, c, h]
//     z = expert_linear(a, index, w2)      z = from_rooms(room_linear(a, w2), index)
//
// So experts are a factor that may be cut, as others, and an all-to-all takes rooms from a cut of
// groups to one of experts. A group is one example of the batch: so a room is as large under every
// plan. Its size is --expert-room times an even share of the group's rows; more rows than that end
// the job.
//
// What is done in rooms: an op that has an element of the output for that element of the operands,
// or moves entries of the last dim, if its operands are in the same rooms or are a row or a number.
// An op that draws numbers by the place of an element is done on rows. A tensor that is read
// outside too comes back by from_rooms. What is computed in empty places nobody reads: products
// leave them out.

#include "ir/names.h"
#include "ir/shapes.h"

#include <math.h>
#include <string.h>

typedef struct moving {
    ir_graph *g;
    ir_names *names;
    const ir_tensor *was; // the tensors of the graph before
    int *key;             // by tensor: the index by which it is in rooms, -1: it is not
    bool *rows;           // by tensor: is read, or kept, as rows
    bool *inside;         // by node: done in rooms
    int *rooms, *by;      // by tensor: itself in rooms, -1 not yet; by which index,
    int *like;            // and whose rows they are: those of this tensor
    int *grouped;         // by index: itself by group, -1 not yet, for the rows of `like`
    const ir_node *n;     // the node at hand
} moving;

// --- what is done in rooms ---

// The same dims before the last one: the same rows.
static bool same_rows(const ir_tensor *a, const ir_tensor *b)
{
    return a->rank == b->rank && a->rank > 0 &&
           memcmp(a->dim, b->dim, sizeof *a->dim * (size_t)(a->rank - 1)) == 0;
}

// Attribute `dim` of an op that has one, else -1.
static int dim_attr(ir_op op)
{
    const ir_op_info *r = ir_op_of(op);
    for (int i = 0; i < r->n_attr; i++)
        if (strcmp(r->attr[i].name, "dim") == 0) return i;
    return -1;
}

// The node, done in rooms by this index, reads operand i there.
static bool in_rooms(const moving *m, const ir_node *n, int i, int key)
{
    return m->key[n->in[i]] == key && same_rows(&m->was[n->in[i]], &m->was[n->out[0]]);
}

// The index by which the node may be done in rooms, -1: none.
static int key_of(const moving *m, const ir_node *n)
{
    const ir_op_info *r = ir_op_of(n->op);
    if (r->role == IR_ROLE_experts) return n->in[1];
    int dim = dim_attr(n->op), key = -1;
    bool each = r->flags & IR_EACH && !(r->flags & IR_RANDOM);
    if (!each && (dim < 0 || n->attr[dim].i != m->was[n->out[0]].rank - 1)) return -1;
    for (int i = 0; i < n->n_in; i++)
        if (m->key[n->in[i]] >= 0) key = m->key[n->in[i]];
    for (int i = 0; i < n->n_in && key >= 0; i++) {
        bool row = each && m->was[n->in[i]].rank <= 1;
        if (!row && !in_rooms(m, n, i, key)) key = -1;
    }
    return key;
}

static void decide(moving *m)
{
    const ir_graph *g = m->g;
    bool *needed = HB_ARRAY(g->arena, bool, g->tensors.n + 1); // by a product in rooms
    for (int k = 0; k < g->nodes.n; k++) {
        const ir_node *n = &g->nodes.p[k];
        int key = key_of(m, n);
        m->inside[k] = key >= 0;
        for (int o = 0; o < n->n_out; o++)
            m->key[n->out[o]] = key;
    }
    for (int k = g->nodes.n - 1; k >= 0; k--) {
        const ir_node *n = &g->nodes.p[k];
        int key = m->key[n->out[0]];
        bool stays = ir_op_of(n->op)->role == IR_ROLE_experts;
        for (int o = 0; o < n->n_out; o++)
            stays = stays || needed[n->out[o]];
        m->inside[k] = m->inside[k] && stays;
        for (int o = 0; o < n->n_out && !m->inside[k]; o++)
            m->key[n->out[o]] = -1;
        for (int i = 0; i < n->n_in && m->inside[k]; i++)
            if (in_rooms(m, n, i, key)) needed[n->in[i]] = true;
    }
    for (int k = 0; k < g->nodes.n; k++) {
        const ir_node *n = &g->nodes.p[k];
        for (int i = 0; i < n->n_in; i++)
            if (!m->inside[k] || !in_rooms(m, n, i, m->key[n->out[0]])) m->rows[n->in[i]] = true;
    }
    if (g->loss >= 0) m->rows[g->loss] = true;
    for (int i = 0; i < g->updates.n; i++)
        m->rows[g->updates.p[i].next] = true;
}

// --- building ---

// Appends a node that stands for the one at hand, its outputs of the shapes that they have then.
static void place(moving *m, ir_node n)
{
    ir_graph *g = m->g;
    ir_tensor outs[IR_MAX_OUT] = {0};
    hb_str why = {0};
    if (!ir_infer(g, &n, outs, g->arena, &why)) {
        fprintf(stderr, "node %.*s: %.*s\n", HB_ARG(n.name), HB_ARG(why));
        hb_assert(false && "what fits rows fits rooms");
    }
    n.forward = g->nodes.n;
    HB_PUSH(g->arena, &g->nodes, n);
    for (int i = 0; i < n.n_out; i++) {
        ir_tensor *t = &g->tensors.p[n.out[i]];
        t->producer = g->nodes.n - 1;
        t->out = i;
        t->dtype = outs[i].dtype;
        t->rank = outs[i].rank;
        memcpy(t->dim, outs[i].dim, sizeof t->dim);
    }
}

static int add(moving *m, const char *what, ir_op op, int n_in, const int *in, const ir_attr *attr)
{
    ir_graph *g = m->g;
    hb_str name = hb_fmt(g->arena, "%.*s.%s", HB_ARG(m->n->name), what);
    int id = ir_add_node(g, ir_names_take(m->names, name), op, IR_FORWARD, n_in, in, attr);
    ir_node *n = &g->nodes.p[id];
    n->from = m->n->from;
    n->at = g->tensors.p[n->out[0]].at = m->n->at;
    return n->out[0];
}

// The tensor with these dims, by `op`: reshape or expand.
static int shaped(moving *m, const char *what, ir_op op, int t, int rank, const int64_t *dim)
{
    const ir_tensor *x = &m->g->tensors.p[t];
    ir_attr shape = {.kind = IR_ATTR_INTS, .n = rank};
    if (x->rank == rank && memcmp(x->dim, dim, sizeof *dim * (size_t)rank) == 0) return t;
    memcpy(shape.v, dim, sizeof *dim * (size_t)rank);
    return add(m, what, op, 1, &t, &shape);
}

// Rows in groups: n entries of each row of y, or, n 0, one.
static int by_group(moving *m, const char *what, int t, const ir_tensor *y, int64_t n)
{
    int64_t dim[IR_MAX_RANK], rows = 1;
    int lead = y->rank - 1, more = n > 0;
    for (int d = 0; d < lead; d++)
        rows *= dim[d] = y->dim[d];
    dim[lead] = n;
    t = shaped(m, hb_fmt(m->g->arena, "%s_of_each", what).p, IR_OP_expand, t, lead + more, dim);
    return shaped(m, hb_fmt(m->g->arena, "%s_by_group", what).p, IR_OP_reshape, t, 2 + more,
                  (int64_t[]){m->g->batch, rows / m->g->batch, n});
}

static int index_of(moving *m, int index, int like)
{
    int *at = &m->grouped[index];
    if (*at >= 0 && same_rows(&m->was[m->like[index]], &m->was[like])) return *at;
    m->like[index] = like;
    return *at = by_group(m, "index", index, &m->was[like], 0);
}

// Operand 0 of the product at hand, in rooms.
static int moved(moving *m)
{
    ir_graph *g = m->g;
    int x = m->n->in[0], index = m->n->in[1], y = m->n->out[0];
    if (m->rooms[x] >= 0 && m->by[x] == index && same_rows(&m->was[m->like[x]], &m->was[y]))
        return m->rooms[x];
    int64_t experts = m->was[m->n->in[2]].dim[0], width = m->was[x].dim[m->was[x].rank - 1];
    int in[2] = {by_group(m, "x", x, &m->was[y], width), index_of(m, index, y)};
    int64_t rows = g->tensors.p[in[0]].dim[1];
    double share = ceil(g->expert_room * (double)rows / (double)experts);
    int64_t room = share < (double)rows ? (int64_t)share : rows;
    ir_attr a[2] = {{.kind = IR_ATTR_INT, .i = experts}, {.kind = IR_ATTR_INT, .i = room}};
    int to = add(m, "to_rooms", IR_OP_to_rooms, 2, in, a);
    if (m->rooms[x] < 0) {
        m->rooms[x] = to;
        m->by[x] = index;
        m->like[x] = y;
    }
    return to;
}

// Rows again of tensor t, which is in rooms.
static void bring_back(moving *m, int t)
{
    ir_graph *g = m->g;
    const ir_tensor *rows = &m->was[t];
    int in[2] = {m->rooms[t], index_of(m, m->by[t], t)};
    ir_node n = {.name = ir_names_take(m->names, hb_fmt(g->arena, "%.*s.rows", HB_ARG(rows->name))),
                 .op = IR_OP_reshape,
                 .phase = IR_FORWARD,
                 .n_in = 1,
                 .in = {add(m, "from_rooms", IR_OP_from_rooms, 2, in, NULL)},
                 .n_out = 1,
                 .out = {t},
                 .attr = {{.kind = IR_ATTR_INTS, .n = rows->rank}},
                 .from = m->n->from,
                 .at = m->n->at};
    memcpy(n.attr[0].v, rows->dim, sizeof *rows->dim * (size_t)rows->rank);
    place(m, n);
}

static void build(moving *m, const ir_node *n)
{
    ir_graph *g = m->g;
    ir_node r = *n;
    m->n = n;
    int key = m->key[n->out[0]], dim = dim_attr(n->op);
    if (ir_op_of(n->op)->role == IR_ROLE_experts) {
        r.op = IR_OP_room_linear; // of the same attribute
        r.in[0] = moved(m);
        r.in[1] = index_of(m, key, n->out[0]);
    } else {
        for (int i = 0; i < n->n_in; i++)
            if (in_rooms(m, n, i, key)) r.in[i] = m->rooms[n->in[i]];
        if (dim >= 0) r.attr[dim].i = 3;
    }
    for (int o = 0; o < n->n_out; o++) {
        const ir_tensor *t = &m->was[n->out[o]];
        if (m->rows[n->out[o]])
            r.out[o] = ir_add_tensor(
                g, ir_names_take(m->names, hb_fmt(g->arena, "%.*s.rooms", HB_ARG(t->name))),
                IR_VALUE, t->dtype, 0, NULL);
        g->tensors.p[r.out[o]].at = t->at;
        m->rooms[n->out[o]] = r.out[o];
        m->by[n->out[o]] = key;
        m->like[n->out[o]] = n->out[o];
    }
    place(m, r);
    for (int o = 0; o < n->n_out; o++)
        if (m->rows[n->out[o]]) bring_back(m, n->out[o]);
}

// Every product of rows by their experts' matrices has groups; false if not, or if there is none.
static bool has_groups(const ir_graph *g, hb_diag *d)
{
    int found = 0;
    for (int k = 0; k < g->nodes.n; k++) {
        const ir_node *n = &g->nodes.p[k];
        if (ir_op_of(n->op)->role != IR_ROLE_experts) continue;
        const ir_tensor *y = &g->tensors.p[n->out[0]];
        found++;
        if (y->rank > 1 && g->batch > 0 && y->dim[0] % g->batch == 0) continue;
        hb_error(d, &g->src, n->at,
                 "not supported with --expert-room: the rows of '%.*s', %.*s, are no %lld examples",
                 HB_ARG(n->name), HB_ARG(ir_shape_text(g->arena, y->rank, y->dim)),
                 (long long)g->batch);
        return false;
    }
    if (found == 0)
        hb_error(d, &g->src, (hb_pos){0}, "--expert-room: no rows of this graph choose experts");
    return found > 0;
}

static int *none(const ir_graph *g)
{
    int *list = HB_ARRAY(g->arena, int, g->tensors.n + 1);
    memset(list, -1, sizeof *list * (size_t)g->tensors.n);
    return list;
}

bool ir_rooms(ir_graph *g, hb_diag *d)
{
    if (!(g->expert_room > 0)) return true;
    if (!has_groups(g, d)) return false;
    const ir_node *old = g->nodes.p;
    int n_old = g->nodes.n;
    moving m = {.g = g,
                .names = ir_names_new(g->arena, g),
                .was = hb_copy(g->arena, g->tensors.p, sizeof(ir_tensor) * (size_t)g->tensors.n),
                .key = none(g),
                .rows = HB_ARRAY(g->arena, bool, g->tensors.n + 1),
                .inside = HB_ARRAY(g->arena, bool, n_old + 1),
                .rooms = none(g),
                .by = none(g),
                .like = none(g),
                .grouped = none(g)};
    decide(&m);
    g->nodes.p = NULL;
    g->nodes.n = g->nodes.cap = 0;
    for (int k = 0; k < n_old; k++) {
        if (m.inside[k])
            build(&m, &old[k]);
        else
            place(&m, old[k]);
    }
    return true;
}
