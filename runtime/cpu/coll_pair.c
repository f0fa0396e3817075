// Pairs on the CPU: messages part by part, matmuls of row ranges between them.
//
// All receives are posted first, so that a part is taken whenever it comes; messages between two
// ranks match in the order of the chunks, which both have. MPI moves them on while this rank tests
// its requests: before and after each matmul. Sends go in the order of the chunks, too: behind
// what is passed on they wait until that is there.

#include <sched.h>
#include <string.h>

#include "core/backend.h"
#include "core/comm.h"
#include "core/fail.h"
#include "core/pair_rows.h"
#include "core/trace.h"
#include "cpu/coll_engine.h"
#include "cpu/coll_pack.h"
#include "cpu/coll_push.h"
#include "cpu/cpu.h"

// The pair's ops on a range of rows.
static void multiply(hap_rank *r, const hap_pair *p, hap_range range)
{
    for (int i = 0; i < p->n_ops; i++) {
        hap_row_tensors rows;
        hap_op_call part = hap_op_of_rows(&p->op[i], range.lo, range.lo + range.n, &rows);
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

// The products of the n chunks from k on.
static void compute(hap_rank *r, const hap_pair *p, int k, int n)
{
    hap_range rows[HAP_PAIR_CHUNKS];
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

typedef struct consumer {
    hap_rank *r;
    const hap_pair *p;
    cpu_part *part;
    hap_coll_view v;
    hap_box all, mine;
    int request[HAP_PAIR_CHUNKS]; // that brings chunk k here; -1: none does
    int sent;                     // chunks
} consumer;

// Of these rows what the member takes: of an all-gather all, of an all-to-all its columns.
static hap_box rows_of(const consumer *x, hap_range rows, int member)
{
    return (hap_box){rows, hap_pair_dst(x->r, x->p, member).f2};
}

static bool came(const consumer *x, int k)
{
    int there = 1;
    if (x->request[k] >= 0)
        cpu_mpi_check(x->r, MPI_Test(&x->part->req[x->request[k]], &there, MPI_STATUS_IGNORE),
                      "MPI_Test");
    return there;
}

// Sends chunk after chunk, as far as what is passed on is there. No rank waits for good: what it
// passes on comes with chunks before, which all ranks send before that one.
static void send(consumer *x)
{
    for (; x->sent < x->p->n_chunks; x->sent++) {
        int k = x->sent, to = hap_pair_other(x->r, x->p, k);
        int64_t lo, hi;
        hap_passed w = hap_pair_passed(x->r, x->p, k);
        for (int i = 0; i < k && w.rows.n; i++)
            if (hap_pair_brings(x->p, i, k) && !came(x, i)) return;
        hap_part_rows(x->r, x->p, k, x->v.me, &lo, &hi);
        if (to != x->v.me && hap_pair_sender(x->r, x->p, k, x->v.me) == x->v.me)
            cpu_part_give(x->r, x->part, &x->v, x->p->src->data, x->mine,
                          rows_of(x, (hap_range){lo, hi - lo}, to), to);
        if (w.rows.n)
            cpu_part_give(x->r, x->part, &x->v, x->p->dst->data, x->all, rows_of(x, w.rows, w.to),
                          w.to);
    }
}

static void move_on(consumer *x)
{
    send(x);
    hap_backend_poll(x->r);
    sched_yield();
}

static void take_rows(consumer *x, int k)
{
    int64_t lo, hi;
    int owner, before = x->part->n_req;
    hap_chunk_rows(x->r, x->p, k, &owner, &lo, &hi);
    if (owner != x->v.me)
        cpu_part_take(x->r, x->part, &x->v, x->p->dst->data, x->all,
                      rows_of(x, (hap_range){lo, hi - lo}, x->v.me),
                      hap_pair_sender(x->r, x->p, k, owner));
    x->request[k] = x->part->n_req > before ? before : -1;
}

static void consume(hap_rank *r, const hap_pair *p)
{
    hap_event *e = open(r, p);
    consumer x = {.r = r, .p = p, .part = &e->part[0], .v = hap_pair_view(r, p)};
    x.all = hap_pair_dst(r, p, x.v.me);
    x.mine = hap_pair_src(r, p, x.v.me);
    for (int k = 0; k < p->n_chunks; k++)
        take_rows(&x, k);
    send(&x);
    cpu_move(&x.v, p->dst->data, x.all, p->src->data, x.mine, rows_of(&x, x.mine.f1, x.v.me));
    for (int k = 0, n; k < p->n_chunks; k += n) {
        n = hap_joined_chunks(p, k);
        for (int i = k; i < k + n; i++)
            while (!came(&x, i))
                move_on(&x);
        send(&x);
        compute(r, p, k, n);
    }
    while (x.sent < p->n_chunks)
        move_on(&x);
    x.part->filling = false;
    x.part->step = 1; // what is left are sends
    hap_backend_wait(r, e);
}

// --- producer ---

// Rows of an all-reduce, as elements: what of them member m adds.
static hap_box piece_of(const hap_pair *p, const hap_coll_view *v, hap_range rows, int m)
{
    int64_t cols = hap_pair_cols(p);
    hap_box elements = {{rows.lo * cols, rows.n * cols}, {0, 1}};
    return hap_box_common(elements, (hap_box){hap_put_shard(v, m), {0, 1}});
}

static void give_pieces(hap_rank *r, const hap_pair *p, cpu_part *part, hap_range rows)
{
    const hap_coll_view *v = &part->v;
    hap_box all = {{0, v->n1}, {0, 1}}, mine = {hap_put_shard(v, v->me), {0, 1}};
    for (int m = 0; m < v->n_members; m++)
        if (m != v->me) cpu_part_give(r, part, v, p->src->data, all, piece_of(p, v, rows, m), m);
    cpu_move(v, part->scratch + v->me * part->slot, mine, p->src->data, all,
             piece_of(p, v, rows, v->me));
}

static void take_pieces(hap_rank *r, const hap_pair *p, cpu_part *part, hap_range rows)
{
    const hap_coll_view *v = &part->v;
    hap_box mine = {hap_put_shard(v, v->me), {0, 1}};
    for (int m = 0; m < v->n_members; m++)
        if (m != v->me)
            cpu_part_take(r, part, v, part->scratch + m * part->slot, mine,
                          piece_of(p, v, rows, v->me), m);
}

static void reduce_rows(hap_rank *r, const hap_pair *p, cpu_part *part, hap_range rows)
{
    int64_t cols = hap_pair_cols(p), at = rows.lo * cols * part->v.item;
    const char *from = (const char *)p->src->data + at;
    if (rows.n * cols == 0) return;
    cpu_mpi_check(r,
                  MPI_Iallreduce(p->src->data == p->dst->data ? MPI_IN_PLACE : from,
                                 (char *)p->dst->data + at, cpu_mpi_count(r, rows.n * cols),
                                 part->type, part->op, part->comm, cpu_part_post(r, part)),
                  "MPI_Iallreduce");
}

// What comes to this rank as chunk k of the member that sends it.
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

// Chunk k of the matmul goes out.
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
    for (int k = 0; k < p->n_chunks; k++)
        take(r, p, part, &v, k);
    for (int k = 0, n; k < p->n_chunks; k += n) {
        n = hap_joined_chunks(p, k);
        compute(r, p, k, n);
        for (int i = k; i < k + n; i++) {
            int64_t lo, hi;
            int to;
            hap_chunk_rows(r, p, i, &to, &lo, &hi);
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
