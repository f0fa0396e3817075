// Pairs on the CPU: messages part by part, products of row ranges between them.
//
// All receives are posted first, so that a part is taken whenever it comes; messages between two
// ranks match in the order of the groups, which both have. MPI moves them on while this rank tests
// its requests: before and after each product.

#include <sched.h>
#include <string.h>

#include "core/backend.h"
#include "core/comm.h"
#include "core/fail.h"
#include "core/pair_rows.h"
#include "core/trace.h"
#include "cpu/coll_engine.h"
#include "cpu/coll_pack.h"
#include "cpu/cpu.h"

// The pair's ops on a range of rows.
static void multiply(hap_rank *r, const hap_pair *p, hap_range range)
{
    for (int i = 0; i < p->n_ops; i++) {
        hap_tensor rows[2];
        hap_op_call part = hap_op_of_rows(&p->op[i], range.lo, range.lo + range.n, rows);
        double start = r->trace ? hap_seconds() : 0;
        int line = r->line;
        r->line = p->op_line[i];
        hap_cpu_op(r, &part);
        if (r->trace)
            hap_trace_add(r, HAP_TRACE_COMPUTE, hap_op_names[part.op], r->line, start,
                          hap_seconds());
        r->line = line;
    }
    hap_backend_poll(r);
}

// The products of the n groups from k on.
static void compute(hap_rank *r, const hap_pair *p, int k, int n)
{
    hap_range rows[HAP_PAIR_GROUPS];
    int n_rows = hap_joined_rows(r, p, k, n, rows);
    for (int i = 0; i < n_rows; i++)
        multiply(r, p, rows[i]);
}

static hap_event *open(hap_rank *r, const hap_pair *p)
{
    hap_coll_call c = hap_pair_coll(p);
    int line = r->line;
    r->line = p->coll_line;
    hap_event *e = cpu_coll_open(r, &c);
    r->line = line;
    e->part[0].filling = true;
    return e;
}

// --- consumer ---

// Waits for the request, moving all collectives on.
static void arrives(hap_rank *r, cpu_part *part, int request)
{
    for (;;) {
        int there = 0;
        cpu_mpi_check(r, MPI_Test(&part->req[request], &there, MPI_STATUS_IGNORE), "MPI_Test");
        if (there) return;
        hap_backend_poll(r);
        sched_yield();
    }
}

static void consume(hap_rank *r, const hap_pair *p)
{
    hap_event *e = open(r, p);
    cpu_part *part = &e->part[0];
    hap_coll_view v = hap_pair_view(r, p);
    hap_box all = hap_pair_dst(r, p, v.me), mine = hap_pair_src(r, p, v.me);
    int64_t lo, hi;
    int member, request = 0;
    for (int k = 0; k < p->n_groups; k++) { // the first requests, in the order of the groups
        hap_group_rows(r, p, k, &member, &lo, &hi);
        hap_box rows = {{lo, hi - lo}, {0, 1}};
        if (member != v.me) cpu_part_take(r, part, &v, p->dst->data, all, rows, member);
    }
    for (int k = 0; k < p->n_groups; k++) {
        int to = hap_pair_other(r, p, k);
        hap_part_rows(r, p, k, v.me, &lo, &hi);
        hap_box rows = {{lo, hi - lo}, {0, 1}};
        if (to != v.me) cpu_part_give(r, part, &v, p->src->data, mine, rows, to);
    }
    cpu_move(&v, p->dst->data, all, p->src->data, mine, mine);
    for (int k = 0, n; k < p->n_groups; k += n) {
        n = hap_joined_groups(p, k);
        for (int i = k; i < k + n; i++) {
            hap_group_rows(r, p, i, &member, &lo, &hi);
            hap_box rows = {{lo, hi - lo}, {0, 1}};
            if (member != v.me && hap_box_bytes(&v, rows) > 0) arrives(r, part, request++);
        }
        compute(r, p, k, n);
    }
    part->filling = false;
    part->step = 1; // what is left are sends
    hap_backend_wait(r, e);
}

// --- producer ---

// Rows of an all-reduce, as elements: what of them member m adds.
static hap_box piece_of(const hap_pair *p, const hap_coll_view *v, hap_range rows, int m)
{
    int64_t cols = p->src->local[p->src->rank - 1];
    hap_box elements = {{rows.lo * cols, rows.n * cols}, {0, 1}};
    return hap_box_common(elements, (hap_box){hap_push_shard(v, m), {0, 1}});
}

static void give_pieces(hap_rank *r, const hap_pair *p, cpu_part *part, hap_range rows)
{
    const hap_coll_view *v = &part->v;
    hap_box all = {{0, v->n1}, {0, 1}}, mine = {hap_push_shard(v, v->me), {0, 1}};
    for (int m = 0; m < v->n_members; m++)
        if (m != v->me) cpu_part_give(r, part, v, p->src->data, all, piece_of(p, v, rows, m), m);
    cpu_move(v, part->scratch + v->me * part->slot, mine, p->src->data, all,
             piece_of(p, v, rows, v->me));
}

static void take_pieces(hap_rank *r, const hap_pair *p, cpu_part *part, hap_range rows)
{
    const hap_coll_view *v = &part->v;
    hap_box mine = {hap_push_shard(v, v->me), {0, 1}};
    for (int m = 0; m < v->n_members; m++)
        if (m != v->me)
            cpu_part_take(r, part, v, part->scratch + m * part->slot, mine,
                          piece_of(p, v, rows, v->me), m);
}

static void reduce_rows(hap_rank *r, const hap_pair *p, cpu_part *part, hap_range rows)
{
    int64_t cols = p->src->local[p->src->rank - 1], at = rows.lo * cols * part->v.item;
    const char *from = (const char *)p->src->data + at;
    if (rows.n * cols == 0) return;
    cpu_mpi_check(r,
                  MPI_Iallreduce(p->src->data == p->dst->data ? MPI_IN_PLACE : from,
                                 (char *)p->dst->data + at, cpu_mpi_count(r, rows.n * cols),
                                 part->type, part->op, part->comm, cpu_part_post(r, part)),
                  "MPI_Iallreduce");
}

// What comes to this rank as group k of the member that sends it.
static void take(hap_rank *r, const hap_pair *p, cpu_part *part, const hap_coll_view *v, int k)
{
    int64_t lo, hi;
    int from = hap_pair_other(r, p, k);
    hap_part_rows(r, p, k, v->me, &lo, &hi);
    hap_box mine = hap_pair_dst(r, p, v->me), rows = {{lo, hi - lo}, mine.f2};
    if (p->kind == HAP_ALL_REDUCE) {
        if (p->form != FORM_FLAT) take_pieces(r, p, part, rows.f1);
    } else if (from != v->me && p->kind == HAP_REDUCE_SCATTER) {
        cpu_part_take(r, part, v, part->scratch + from * part->slot, mine, rows, from);
    } else if (from != v->me) {
        rows.f2 = hap_pair_src(r, p, from).f2;
        cpu_part_take(r, part, v, p->dst->data, mine, rows, from);
    }
}

// Group k of the product goes out.
static void give(hap_rank *r, const hap_pair *p, cpu_part *part, const hap_coll_view *v, int to,
                 hap_range rows)
{
    hap_box held = hap_pair_src(r, p, v->me), out = {rows, held.f2};
    if (p->kind == HAP_ALL_REDUCE) {
        if (p->form == FORM_FLAT)
            reduce_rows(r, p, part, rows);
        else
            give_pieces(r, p, part, rows);
    } else if (to != v->me) {
        cpu_part_give(r, part, v, p->src->data, held, out, to);
    } else {
        hap_box mine = hap_pair_dst(r, p, v->me);
        bool adds = p->kind == HAP_REDUCE_SCATTER;
        cpu_move(v, adds ? part->scratch + to * part->slot : p->dst->data, mine, p->src->data, held,
                 out);
    }
}

static hap_event *produce(hap_rank *r, const hap_pair *p)
{
    hap_event *e = open(r, p);
    cpu_part *part = &e->part[0];
    hap_coll_view v = hap_pair_view(r, p);
    for (int k = 0; k < p->n_groups; k++)
        take(r, p, part, &v, k);
    for (int k = 0, n; k < p->n_groups; k += n) {
        n = hap_joined_groups(p, k);
        compute(r, p, k, n);
        for (int i = k; i < k + n; i++) {
            int64_t lo, hi;
            int to;
            hap_group_rows(r, p, i, &to, &lo, &hi);
            give(r, p, part, &v, to, (hap_range){lo, hi - lo});
        }
    }
    part->filling = false;
    part->step = 1;
    hap_backend_poll(r);
    return e;
}

hap_event *hap_backend_pair(hap_rank *r, const hap_pair *p)
{
    if (!p->consumer) return produce(r, p);
    consume(r, p);
    return NULL;
}
