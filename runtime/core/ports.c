#include "core/ports.h"

#include <stdlib.h>
#include <string.h>

#include "core/declare_table.h"
#include "core/fail.h"

bool hap_is_port(hap_op_id op)
{
    return op == HAP_OP_send || op == HAP_OP_recv;
}

// --- stages ---

static int ranks_of(const hap_rank *r, const hap_ports *p, int stage)
{
    int end = stage + 1 < p->n_stages ? p->stage[stage + 1].first : r->n_ranks;
    return end - p->stage[stage].first;
}

int hap_stage_ranks(const hap_rank *r, int stage)
{
    return ranks_of(r, r->ports, stage);
}

// A rank of another stage, as far as shapes need it.
static hap_rank as_of(const hap_rank *r, const hap_ports *p, int stage)
{
    hap_rank x = *r;
    const hap_stage *s = &p->stage[stage];
    x.n_axes = s->n_axes;
    memcpy(x.size, s->size, sizeof x.size);
    memset(x.coord, 0, sizeof x.coord);
    x.n_members = ranks_of(r, p, stage);
    return x;
}

static void check_stages(hap_rank *r, const hap_ports *p)
{
    HAP_CK(r, p->n_stages >= 1 && p->stage[0].first == 0, "stages begin at rank %d",
           p->n_stages >= 1 ? p->stage[0].first : -1);
    for (int s = 0; s < p->n_stages; s++) {
        const hap_stage *x = &p->stage[s];
        HAP_CK(r, x->n_axes >= 1 && x->n_axes <= HAP_MAX_AXES, "stage %d has %d axes", s,
               x->n_axes);
        int n = x->size[0] * (x->n_axes > 1 ? x->size[1] : 1);
        HAP_CK(r, n >= 1 && n == ranks_of(r, p, s), "stage %d has a mesh of %d for %d ranks", s, n,
               ranks_of(r, p, s));
    }
}

static void read_ports(hap_rank *r, hap_ports *p, const hap_port *port)
{
    for (int i = 0; i < p->n; i++) {
        hap_port_end *e = &p->end[i];
        *e = (hap_port_end){.port = &port[i]};
        for (int side = 0; side < 2; side++) {
            int s = side ? port[i].to : port[i].from;
            HAP_CK(r, s >= 0 && s < p->n_stages, "port %d is of stage %d", i, s);
            hap_rank of = as_of(r, p, s);
            hap_shape_read(&of, side ? port[i].got : port[i].sent, p->stage[s].n_cuts,
                           p->stage[s].cuts, &e->shape[side]);
        }
        const hap_tensor *a = &e->shape[0], *b = &e->shape[1];
        bool same = a->type == b->type && a->rank == b->rank;
        for (int d = 0; same && d < a->rank; d++)
            same = hap_dim_size(&a->dim[d]) == hap_dim_size(&b->dim[d]);
        HAP_CK(r, same, "port %d (%s) has other shapes at its ends", i, port[i].name);
    }
}

void hap_stages_begin(hap_rank *r, int n_stages, const hap_stage *stage, int n_ports,
                      const hap_port *port, int wanted)
{
    HAP_CK(r, r->n_axes == 0 && !r->ports, "hap_stages after hap_mesh, or twice");
    hap_ports *p = hap_alloc(r, sizeof *p);
    *p = (hap_ports){.n_stages = n_stages, .n = n_ports, .stage = stage};
    p->end = hap_alloc(r, (size_t)(n_ports + 1) * sizeof *p->end);
    r->ports = p;
    check_stages(r, p);
    read_ports(r, p, port);
    r->n_stages = n_stages;
    for (r->stage = 0; r->stage + 1 < n_stages && stage[r->stage + 1].first <= r->id;)
        r->stage++;
    if (wanted >= 0) {
        HAP_CK(r, wanted < n_stages, "there is no stage %d", wanted);
        r->stage = wanted;
        r->id = stage[wanted].first;
    }
    r->member = r->id - stage[r->stage].first;
    r->n_members = ranks_of(r, p, r->stage);
}

void hap_ports_close(hap_rank *r)
{
    hap_ports *p = r->ports;
    if (!p) return;
    for (int i = 0; i < p->n; i++) {
        for (int k = 0; k < p->end[i].n; k++)
            free(p->end[i].piece[k].run);
        free(p->end[i].piece);
    }
    free(p->end);
    free(p);
    r->ports = NULL;
}

// --- calls ---

static bool same_dim(const hap_rank *r, const hap_dim *a, const hap_dim *b)
{
    if (a->n != b->n || a->outer != b->outer || a->inner != b->inner || a->axis != b->axis)
        return false;
    int n = a->axis < 0 ? 0 : a->axis == HAP_BOTH ? r->n_members : r->size[a->axis];
    return n == 0 || memcmp(a->table, b->table, (size_t)n * sizeof *a->table) == 0;
}

hap_port_end *hap_port_of(const hap_rank *r, const hap_op_call *c, bool *send)
{
    *send = c->op == HAP_OP_send;
    return &r->ports->end[c->attr[*send ? 0 : 2].i];
}

int64_t hap_port_message(const hap_op_call *c)
{
    return c->attr[c->op == HAP_OP_send ? 1 : 3].i;
}

hap_port_end *hap_port_check(hap_rank *r, const hap_op_call *c, bool *send)
{
    *send = c->op == HAP_OP_send;
    int64_t port = c->attr[*send ? 0 : 2].i;
    const hap_tensor *t = *send ? c->in[0] : c->out[0];
    HAP_CK(r, r->ports && port >= 0 && port < r->ports->n, "there is no port %lld",
           (long long)port);
    hap_port_end *e = &r->ports->end[port];
    HAP_CK(r, (*send ? e->port->from : e->port->to) == r->stage, "port %lld (%s) is of stage %d",
           (long long)port, e->port->name, *send ? e->port->from : e->port->to);
    const hap_tensor *want = &e->shape[*send ? 0 : 1];
    bool same = t && t->type == want->type && t->rank == want->rank;
    for (int d = 0; same && d < t->rank; d++)
        same = same_dim(r, &t->dim[d], &want->dim[d]);
    HAP_CK(r, same, "port %lld (%s) is declared with another shape", (long long)port,
           e->port->name);
    return e;
}

// --- the ring ---

void hap_rings(hap_rank *r, int n, const int64_t *at, const int64_t *bytes)
{
    HAP_CK(r, r->seg_bytes[SEG_LOCAL] >= 0 && r->n_rings == 0 && r->n_tensors == 0,
           "hap_rings stands behind hap_segments, once");
    HAP_CK(r,
           n >= 1 && at[r->class_id] >= 0 && bytes[r->class_id] >= 0 &&
               at[r->class_id] + n * bytes[r->class_id] <= r->seg_bytes[SEG_LOCAL],
           "a ring of %d places of %lld bytes at %lld", n, (long long)bytes[r->class_id],
           (long long)at[r->class_id]);
    r->n_rings = n;
    for (int c = 0; c < r->n_classes; c++) {
        r->ring_at[c] = at[c];
        r->ring_bytes[c] = bytes[c];
    }
}

void hap_ring_add(hap_rank *r, hap_tensor *t)
{
    int c = r->class_id, n = 0;
    if (r->n_rings == 0 || t->seg != SEG_LOCAL || t->off < r->ring_at[c]) return;
    HAP_CK(r, t->off + t->bytes <= r->ring_at[c] + r->ring_bytes[c],
           "a tensor lies beyond the first place of the ring");
    for (int i = 0; i < r->n_tensors; i++)
        n += r->tensor[i]->ring > 0;
    t->ring = n + 1;
}

// --- pieces ---

typedef struct runs {
    int n, cap;
    struct stretch {
        int64_t local, global, n;
    } * run;
    hap_rank *r;
} runs;

static void add_run(void *user, int64_t local, int64_t global, int64_t n)
{
    runs *x = user;
    x->run = hap_grow(x->r, x->run, &x->cap, x->n + 1, sizeof *x->run);
    x->run[x->n++] = (struct stretch){local, global, n};
}

static runs runs_of(hap_rank *r, const hap_tensor *t, const hap_range *part)
{
    runs x = {.r = r};
    hap_slice_runs(t->rank, t->dim, part, add_run, &x);
    return x;
}

// What both hold, as runs of a's part.
static void intersect(hap_rank *r, const runs *a, const runs *b, hap_piece *out)
{
    for (int i = 0, k = 0; i < a->n && k < b->n;) {
        const struct stretch *x = &a->run[i], *y = &b->run[k];
        int64_t lo = x->global > y->global ? x->global : y->global;
        int64_t x_end = x->global + x->n, y_end = y->global + y->n;
        int64_t end = x_end < y_end ? x_end : y_end;
        if (end > lo) {
            out->run = hap_grow(r, out->run, &out->cap, out->n + 1, sizeof *out->run);
            out->run[out->n++] = (hap_piece_run){x->local + lo - x->global, end - lo};
            out->elements += end - lo;
        }
        if (x_end <= y_end) i++;
        if (y_end <= x_end) k++;
    }
}

static bool same_part(const hap_tensor *t, const hap_range *a, const hap_range *b)
{
    for (int d = 0; d < t->rank; d++)
        if (a[d].lo != b[d].lo || a[d].n != b[d].n) return false;
    return true;
}

// Does member p of the sending stage give member q of the receiving one what both hold? Of ranks
// with one part every receiver has one.
static bool gives(const hap_rank *from, const hap_tensor *sent, int p, int q)
{
    hap_range own[HAP_MAX_RANK], other[HAP_MAX_RANK];
    int alike = 0, before = 0;
    hap_slice_of(from, sent, p, own);
    for (int i = 0; i < from->n_members; i++) {
        hap_slice_of(from, sent, i, other);
        if (!same_part(sent, own, other)) continue;
        alike++;
        before += i < p;
    }
    return q % alike == before;
}

void hap_port_pieces(hap_rank *r, hap_port_end *e, bool send)
{
    if (e->known) return;
    e->known = true;
    hap_rank end[2] = {as_of(r, r->ports, e->port->from), as_of(r, r->ports, e->port->to)};
    int own = send ? 0 : 1;
    hap_range part[HAP_MAX_RANK];
    hap_slice_of(&end[own], &e->shape[own], r->member, part);
    runs mine = runs_of(r, &e->shape[own], part);
    e->piece = hap_alloc(r, (size_t)(end[1 - own].n_members + 1) * sizeof *e->piece);
    for (int i = 0; i < end[1 - own].n_members; i++) {
        if (!gives(&end[0], &e->shape[0], send ? r->member : i, send ? i : r->member)) continue;
        hap_piece x = {.peer = r->ports->stage[send ? e->port->to : e->port->from].first + i};
        hap_slice_of(&end[1 - own], &e->shape[1 - own], i, part);
        runs theirs = runs_of(r, &e->shape[1 - own], part);
        intersect(r, &mine, &theirs, &x);
        free(theirs.run);
        if (x.elements > 0) e->piece[e->n++] = x;
    }
    free(mine.run);
}
