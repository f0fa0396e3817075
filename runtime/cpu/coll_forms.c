// The steps of every kind and form of collective. Step 0 packs and posts; the last one unpacks.
// Sizes of scratch and what lies in it: core/scratch.c. Forms mean what the plan's cost model
// prices.

#include <string.h>

#include "cpu/coll_forms.h"
#include "cpu/coll_pack.h"
#include "cpu/coll_push.h"

static void send(hap_rank *r, cpu_part *p, const void *buf, int64_t bytes, int to)
{
    if (bytes == 0) return;
    cpu_mpi_check(r,
                  MPI_Isend(buf, cpu_mpi_count(r, bytes / p->v.item), p->type, to, p->tag, p->comm,
                            cpu_part_post(r, p)),
                  "MPI_Isend");
}

static void recv(hap_rank *r, cpu_part *p, void *buf, int64_t bytes, int from)
{
    if (bytes == 0) return;
    cpu_mpi_check(r,
                  MPI_Irecv(buf, cpu_mpi_count(r, bytes / p->v.item), p->type, from, p->tag,
                            p->comm, cpu_part_post(r, p)),
                  "MPI_Irecv");
}

static int count_of(hap_rank *r, const cpu_part *p, int64_t bytes)
{
    return cpu_mpi_count(r, bytes / p->v.item);
}

static bool finish(cpu_part *p)
{
    p->done = true;
    return true;
}

// --- all-gather ---

static void gather_unpack(hap_rank *r, cpu_part *p, const char *parts, int64_t pitch)
{
    for (int m = 0; m < p->v.n_members; m++) {
        hap_box part = hap_src_box(r, &p->v, m);
        const char *from = parts + (pitch ? m * pitch : hap_packed_at(&p->v, part));
        cpu_unpack(&p->v, p->dst->data, from, hap_view_box(&p->v), part);
    }
}

static void gather_padded(hap_rank *r, cpu_part *p)
{
    int64_t max = hap_max_src_bytes(r, &p->v), own = p->src->bytes;
    char *mine = p->scratch + p->v.n_members * max;
    if (max == 0) return;
    memcpy(mine, p->src->data, (size_t)own);
    memset(mine + own, 0, (size_t)(max - own));
    int n = count_of(r, p, max);
    cpu_mpi_check(
        r, MPI_Iallgather(mine, n, p->type, p->scratch, n, p->type, p->comm, cpu_part_post(r, p)),
        "MPI_Iallgather");
}

static bool gather_step(hap_rank *r, cpu_part *p)
{
    bool direct = p->v.outer == 1;
    char *base = direct ? p->dst->data : p->scratch;
    hap_box mine = hap_src_box(r, &p->v, p->v.me);
    if (p->step++ > 0) {
        if (p->form == FORM_PADDED)
            gather_unpack(r, p, p->scratch, hap_max_src_bytes(r, &p->v));
        else if (!direct)
            gather_unpack(r, p, base, 0);
        return finish(p);
    }
    if (hap_view_bytes(&p->v) == 0) return finish(p);
    if (p->form == FORM_PADDED) {
        gather_padded(r, p);
        return true;
    }
    if (p->form == FORM_EVEN) {
        int n = count_of(r, p, p->src->bytes);
        cpu_mpi_check(r,
                      MPI_Iallgather(p->src->data, n, p->type, base, n, p->type, p->comm,
                                     cpu_part_post(r, p)),
                      "MPI_Iallgather");
        return true;
    }
    memcpy(base + hap_packed_at(&p->v, mine), p->src->data, (size_t)p->src->bytes);
    for (int m = 0; m < p->v.n_members; m++) {
        hap_box part = hap_src_box(r, &p->v, m);
        char *at = base + hap_packed_at(&p->v, part);
        int64_t bytes = hap_box_bytes(&p->v, part);
        if (p->form == FORM_GROUPED) {
            if (bytes == 0) continue;
            cpu_mpi_check(
                r, MPI_Ibcast(at, count_of(r, p, bytes), p->type, m, p->comm, cpu_part_post(r, p)),
                "MPI_Ibcast");
        } else if (m != p->v.me) {
            recv(r, p, at, bytes, m);
            send(r, p, p->src->data, p->src->bytes, m);
        }
    }
    return true;
}

// --- reduce-scatter ---

static void scatter_pack(hap_rank *r, cpu_part *p, char *parts, int64_t pitch)
{
    for (int m = 0; m < p->v.n_members; m++) {
        hap_box part = hap_dst_box(r, &p->v, m);
        int64_t bytes = hap_box_bytes(&p->v, part);
        char *to = parts + (pitch ? m * pitch : hap_packed_at(&p->v, part));
        cpu_pack(&p->v, to, p->src->data, hap_view_box(&p->v), part);
        if (pitch) memset(to + bytes, 0, (size_t)(pitch - bytes));
    }
}

static bool scatter_padded(hap_rank *r, cpu_part *p)
{
    int64_t max = hap_max_dst_bytes(r, &p->v);
    char *mine = p->scratch + p->v.n_members * max;
    if (p->step++ > 0) {
        memcpy(p->dst->data, mine, (size_t)p->dst->bytes);
        return finish(p);
    }
    scatter_pack(r, p, p->scratch, max);
    cpu_mpi_check(r,
                  MPI_Ireduce_scatter_block(p->scratch, mine, count_of(r, p, max), p->type, p->op,
                                            p->comm, cpu_part_post(r, p)),
                  "MPI_Ireduce_scatter_block");
    return true;
}

// Even pieces of the flattened tensor are reduced first; then every member collects its own part
// from the pieces it overlaps.
static bool scatter_even_flat(hap_rank *r, cpu_part *p)
{
    const hap_coll_view *v = &p->v;
    int64_t total = hap_view_bytes(v), elements = total / v->item;
    int64_t piece = (elements + v->n_members - 1) / v->n_members * v->item;
    char *mine = p->scratch + v->n_members * piece;
    if (p->step == 0) {
        scatter_pack(r, p, p->scratch, 0);
        memset(p->scratch + total, 0, (size_t)(v->n_members * piece - total));
        cpu_mpi_check(r,
                      MPI_Ireduce_scatter_block(p->scratch, mine, count_of(r, p, piece), p->type,
                                                p->op, p->comm, cpu_part_post(r, p)),
                      "MPI_Ireduce_scatter_block");
    } else if (p->step == 1) {
        hap_range have = {v->me * piece, piece};
        int64_t own_at = hap_packed_at(v, hap_dst_box(r, v, v->me));
        hap_range want = {own_at, p->dst->bytes};
        for (int m = 0; m < v->n_members; m++) {
            hap_box part = hap_dst_box(r, v, m);
            hap_range theirs = {hap_packed_at(v, part), hap_box_bytes(v, part)};
            hap_range their_piece = {m * piece, piece};
            hap_box out = hap_box_common((hap_box){have, {0, 1}}, (hap_box){theirs, {0, 1}});
            hap_box in = hap_box_common((hap_box){their_piece, {0, 1}}, (hap_box){want, {0, 1}});
            const char *from = mine + (out.f1.lo - have.lo);
            char *to = (char *)p->dst->data + (in.f1.lo - own_at);
            if (m == v->me) {
                if (in.f1.n) memcpy(to, from, (size_t)in.f1.n);
                continue;
            }
            if (in.f1.n) recv(r, p, to, in.f1.n, m);
            if (out.f1.n) send(r, p, from, out.f1.n, m);
        }
    } else {
        return finish(p);
    }
    p->step++;
    return true;
}

// Every part goes straight to its owner, which adds what comes in one after the other: own part
// first, then members below it and round, so that the order of the sum is always the same.
static bool scatter_sendrecv(hap_rank *r, cpu_part *p, const char *base, char *inbox)
{
    const hap_coll_view *v = &p->v;
    int n = v->n_members;
    if (p->step++ == 0) {
        hap_box mine = hap_dst_box(r, v, v->me);
        if (p->dst->bytes)
            memcpy(p->dst->data, base + hap_packed_at(v, mine), (size_t)p->dst->bytes);
        for (int k = 1; k < n; k++) {
            int to = (v->me + k) % n;
            hap_box part = hap_dst_box(r, v, to);
            send(r, p, base + hap_packed_at(v, part), hap_box_bytes(v, part), to);
        }
        p->n_held = p->n_req; // a receive must not wait for sends: their receivers wait likewise
    } else if (p->dst->bytes && p->turn > 0) {
        cpu_mpi_check(
            r, MPI_Reduce_local(inbox, p->dst->data, count_of(r, p, p->dst->bytes), p->type, p->op),
            "MPI_Reduce_local");
    }
    p->turn++;
    if (p->turn >= n || p->dst->bytes == 0) {
        p->n_held = 0; // only sends are left
        p->step = -1;
        return true;
    }
    recv(r, p, inbox, p->dst->bytes, (v->me - p->turn + n) % n);
    return true;
}

static bool scatter_step(hap_rank *r, cpu_part *p)
{
    const hap_coll_view *v = &p->v;
    if (hap_view_bytes(v) == 0 || p->step < 0) return finish(p);
    if (p->form == FORM_PADDED) return scatter_padded(r, p);
    if (p->form == FORM_EVEN_FLAT) return scatter_even_flat(r, p);
    bool direct = v->outer == 1;
    char *base = direct ? p->src->data : p->scratch;
    if (p->step == 0 && !direct) scatter_pack(r, p, base, 0);
    if (p->form == FORM_SENDRECV)
        return scatter_sendrecv(r, p, base, p->scratch + (direct ? 0 : hap_view_bytes(v)));
    if (p->step++ > 0) return finish(p);
    if (p->form == FORM_EVEN) {
        cpu_mpi_check(r,
                      MPI_Ireduce_scatter_block(base, p->dst->data, count_of(r, p, p->dst->bytes),
                                                p->type, p->op, p->comm, cpu_part_post(r, p)),
                      "MPI_Ireduce_scatter_block");
        return true;
    }
    for (int m = 0; m < v->n_members; m++) { // GROUPED
        hap_box part = hap_dst_box(r, v, m);
        int64_t bytes = hap_box_bytes(v, part);
        if (bytes == 0) continue;
        cpu_mpi_check(r,
                      MPI_Ireduce(base + hap_packed_at(v, part), m == v->me ? p->dst->data : NULL,
                                  count_of(r, p, bytes), p->type, p->op, m, p->comm,
                                  cpu_part_post(r, p)),
                      "MPI_Ireduce");
    }
    return true;
}

// --- all-reduce ---

static bool reduce_flat(hap_rank *r, cpu_part *p)
{
    if (p->step++ > 0 || p->src->elements == 0) return finish(p);
    bool in_place = p->src->data == p->dst->data;
    cpu_mpi_check(r,
                  MPI_Iallreduce(in_place ? MPI_IN_PLACE : p->src->data, p->dst->data,
                                 cpu_mpi_count(r, p->src->elements), p->type, p->op, p->comm,
                                 cpu_part_post(r, p)),
                  "MPI_Iallreduce");
    return true;
}

// Even pieces over the inner axis: reduce-scatter inside, all-reduce of the piece between machines,
// all-gather inside.
static bool reduce_two_level(hap_rank *r, cpu_part *p)
{
    cpu_backend *b = cpu_of(r);
    int n = r->size[1];
    int64_t q = p->src->elements / n, rest = p->src->elements % n;
    int *counts = p->counts, *displs = p->counts + n;
    if (p->src->elements == 0) return finish(p); // on every rank of the group
    switch (p->step) {
    case 0:
        for (int m = 0; m < n; m++) {
            counts[m] = cpu_mpi_count(r, q + (m < rest));
            displs[m] = cpu_mpi_count(r, m * q + (m < rest ? m : rest));
        }
        cpu_mpi_check(r,
                      MPI_Ireduce_scatter(p->src->data, p->scratch, counts, p->type, p->op,
                                          b->group[AXIS(1)], cpu_part_post(r, p)),
                      "MPI_Ireduce_scatter");
        break;
    case 1:
        if (b->coll->turn_between != p->ticket) return false;
        b->coll->turn_between++;
        cpu_mpi_check(r,
                      MPI_Iallreduce(MPI_IN_PLACE, p->scratch, counts[r->coord[1]], p->type, p->op,
                                     b->between, cpu_part_post(r, p)),
                      "MPI_Iallreduce");
        break;
    case 2:
        if (b->coll->turn_spread != p->ticket) return false;
        b->coll->turn_spread++;
        cpu_mpi_check(r,
                      MPI_Iallgatherv(p->scratch, counts[r->coord[1]], p->type, p->dst->data,
                                      counts, displs, p->type, b->spread, cpu_part_post(r, p)),
                      "MPI_Iallgatherv");
        break;
    default:
        return finish(p);
    }
    p->step++;
    return true;
}

// --- all-to-all and reshard ---

static bool exchange_step(hap_rank *r, cpu_part *p)
{
    const hap_coll_view *v = &p->v;
    int n = v->n_members;
    hap_box src = hap_src_box(r, v, v->me), dst = hap_dst_box(r, v, v->me);
    if (hap_view_bytes(v) == 0) return finish(p);
    char *out = p->scratch, *in = p->scratch + hap_max_src_bytes(r, v);
    if (p->step++ > 0) {
        for (int m = 0; m < n; m++) {
            hap_box part = hap_box_common(hap_src_box(r, v, m), dst);
            if (m == v->me) continue;
            cpu_unpack(v, p->dst->data, in, dst, part);
            in += hap_box_bytes(v, part);
        }
        return finish(p);
    }
    cpu_move(v, p->dst->data, dst, p->src->data, src, hap_box_common(src, dst));
    int *counts = p->counts;
    int64_t out_at = 0, in_at = 0;
    for (int m = 0; m < n; m++) {
        hap_box to = hap_box_common(src, hap_dst_box(r, v, m));
        hap_box from = hap_box_common(hap_src_box(r, v, m), dst);
        int64_t n_out = m == v->me ? 0 : hap_box_bytes(v, to);
        int64_t n_in = m == v->me ? 0 : hap_box_bytes(v, from);
        if (n_out) cpu_pack(v, out + out_at, p->src->data, src, to);
        if (p->form == FORM_SENDRECV) {
            recv(r, p, in + in_at, n_in, m);
            send(r, p, out + out_at, n_out, m);
        } else {
            counts[m] = count_of(r, p, n_out);
            counts[n + m] = count_of(r, p, out_at);
            counts[2 * n + m] = count_of(r, p, n_in);
            counts[3 * n + m] = count_of(r, p, in_at);
        }
        out_at += n_out;
        in_at += n_in;
    }
    if (p->form == FORM_SENDRECV) return true;
    cpu_mpi_check(r,
                  MPI_Ialltoallv(out, counts, counts + n, p->type, in, counts + 2 * n,
                                 counts + 3 * n, p->type, p->comm, cpu_part_post(r, p)),
                  "MPI_Ialltoallv");
    return true;
}

bool cpu_part_step(hap_rank *r, cpu_part *p)
{
    if (hap_form_put(p->form)) return cpu_put_step(r, p);
    switch (p->kind) {
    case HAP_ALL_GATHER:
        return gather_step(r, p);
    case HAP_REDUCE_SCATTER:
        return scatter_step(r, p);
    case HAP_ALL_REDUCE:
        return p->form == FORM_TWO_LEVEL ? reduce_two_level(r, p) : reduce_flat(r, p);
    case HAP_ALL_TO_ALL:
    case HAP_RESHARD:
        return exchange_step(r, p);
    }
    return finish(p);
}
