// Form PUT (core/coll_geometry.h), which is point to point here: parts go from where they lie in
// the source straight to where they belong, as regions of both tensors. All are posted at once,
// however many copies are to be in flight: MPI takes them as it likes.

#include <stdlib.h>

#include "core/float16.h"
#include "cpu/coll_pack.h"
#include "cpu/coll_push.h"

// `part` of a tensor stored over `held`: rows of the second factor, in runs of the first.
static MPI_Datatype region(hap_rank *r, const cpu_part *p, const hap_coll_view *v, hap_box held,
                           hap_box part)
{
    int size[] = {cpu_mpi_count(r, v->outer), cpu_mpi_count(r, held.f1.n * v->mid),
                  cpu_mpi_count(r, held.f2.n * v->inner)};
    int sub[] = {size[0], cpu_mpi_count(r, part.f1.n * v->mid),
                 cpu_mpi_count(r, part.f2.n * v->inner)};
    int first[] = {0, cpu_mpi_count(r, (part.f1.lo - held.f1.lo) * v->mid),
                   cpu_mpi_count(r, (part.f2.lo - held.f2.lo) * v->inner)};
    MPI_Datatype t;
    cpu_mpi_check(r, MPI_Type_create_subarray(3, size, sub, first, MPI_ORDER_C, p->type, &t),
                  "MPI_Type_create_subarray");
    cpu_mpi_check(r, MPI_Type_commit(&t), "MPI_Type_commit");
    return t;
}

void cpu_part_give(hap_rank *r, cpu_part *p, const hap_coll_view *v, const void *from, hap_box held,
                   hap_box part, int to)
{
    if (hap_box_bytes(v, part) == 0) return;
    MPI_Datatype t = region(r, p, v, held, part);
    cpu_mpi_check(r, MPI_Isend(from, 1, t, to, p->tag, p->comm, cpu_part_post(r, p)), "MPI_Isend");
    MPI_Type_free(&t);
}

void cpu_part_take(hap_rank *r, cpu_part *p, const hap_coll_view *v, void *to, hap_box held,
                   hap_box part, int from)
{
    if (hap_box_bytes(v, part) == 0) return;
    MPI_Datatype t = region(r, p, v, held, part);
    cpu_mpi_check(r, MPI_Irecv(to, 1, t, from, p->tag, p->comm, cpu_part_post(r, p)), "MPI_Irecv");
    MPI_Type_free(&t);
}

static bool finish(cpu_part *p)
{
    p->done = true;
    return true;
}

// --- all-gather and all-to-all: a part is what one side has and the other wants ---

static bool exchange(hap_rank *r, cpu_part *p)
{
    const hap_coll_view *v = &p->v;
    hap_box src = hap_src_box(r, v, v->me), dst = hap_dst_box(r, v, v->me);
    if (p->step++ > 0 || hap_view_bytes(v) == 0) return finish(p);
    for (int k = 1; k < v->n_members; k++) {
        int to = (v->me + k) % v->n_members, from = (v->me - k + v->n_members) % v->n_members;
        cpu_part_take(r, p, v, p->dst->data, dst, hap_box_common(hap_src_box(r, v, from), dst),
                      from);
        cpu_part_give(r, p, v, p->src->data, src, hap_box_common(src, hap_dst_box(r, v, to)), to);
    }
    cpu_move(v, p->dst->data, dst, p->src->data, src, hap_box_common(src, dst));
    return true;
}

// --- sums ---

#define ADD(type, sum, load, store)                                                                \
    for (int64_t i = 0; i < n; i++) {                                                              \
        sum a = load(((const type *)slots)[i]);                                                    \
        for (int m = 1; m < members; m++)                                                          \
            a += load(((const type *)(slots + m * pitch))[i]);                                     \
        ((type *)to)[i] = store(a);                                                                \
    }
#define SAME(x) (x)

// to[i] = the sum of element i of all slots, in their order.
static void add_slots(hap_dtype type, char *to, const char *slots, int members, int64_t pitch,
                      int64_t n)
{
    switch (type) {
    case HAP_F32:
        ADD(float, float, SAME, SAME)
        return;
    case HAP_BF16:
        ADD(uint16_t, float, hap_bf16_to_f32, hap_f32_to_bf16)
        return;
    case HAP_F16:
        ADD(uint16_t, float, hap_f16_to_f32, hap_f32_to_f16)
        return;
    case HAP_I64:
        ADD(int64_t, int64_t, SAME, SAME)
        return;
    case HAP_I32:
        ADD(int32_t, int32_t, SAME, SAME)
        return;
    case HAP_U8:
        ADD(uint8_t, int, SAME, (uint8_t))
        return;
    case HAP_BOOL: // "any"
        for (int64_t i = 0; i < n; i++) {
            uint8_t a = 0;
            for (int m = 0; m < members; m++)
                a |= ((const uint8_t *)slots)[m * pitch + i];
            ((uint8_t *)to)[i] = a;
        }
        return;
    }
}

static bool scatter(hap_rank *r, cpu_part *p)
{
    const hap_coll_view *v = &p->v;
    hap_box mine = hap_dst_box(r, v, v->me), all = hap_view_box(v);
    if (hap_view_bytes(v) == 0) return finish(p);
    if (p->step++ > 0) {
        add_slots(p->dst->type, p->dst->data, p->scratch, v->n_members, p->slot, p->dst->elements);
        return finish(p);
    }
    for (int k = 1; k < v->n_members; k++) {
        int to = (v->me + k) % v->n_members, from = (v->me - k + v->n_members) % v->n_members;
        cpu_part_take(r, p, v, p->scratch + from * p->slot, mine, mine, from);
        cpu_part_give(r, p, v, p->src->data, all, hap_dst_box(r, v, to), to);
    }
    cpu_pack(v, p->scratch + v->me * p->slot, p->src->data, all, mine);
    return true;
}

// A reduce-scatter over flat shards; every owner then sends its sums to all.
static bool reduce(hap_rank *r, cpu_part *p)
{
    const hap_coll_view *v = &p->v;
    hap_box all = hap_view_box(v), mine = {hap_put_shard(v, v->me), {0, 1}};
    char *sums = (char *)p->dst->data + mine.f1.lo * v->item;
    if (p->step > 1 || v->n1 == 0) return finish(p);
    if (p->step == 1)
        add_slots(p->dst->type, sums, p->scratch, v->n_members, p->slot, mine.f1.n);
    else
        cpu_pack(v, p->scratch + v->me * p->slot, p->src->data, all, mine);
    for (int k = 1; k < v->n_members; k++) {
        int to = (v->me + k) % v->n_members, from = (v->me - k + v->n_members) % v->n_members;
        hap_box out = {hap_put_shard(v, to), {0, 1}}, in = {hap_put_shard(v, from), {0, 1}};
        if (p->step == 0) {
            cpu_part_take(r, p, v, p->scratch + from * p->slot, mine, mine, from);
            cpu_part_give(r, p, v, p->src->data, all, out, to);
        } else {
            cpu_part_take(r, p, v, p->dst->data, all, in, from);
            cpu_part_give(r, p, v, p->dst->data, all, mine, to);
        }
    }
    p->step++;
    return true;
}

bool cpu_put_step(hap_rank *r, cpu_part *p)
{
    if (p->kind == HAP_REDUCE_SCATTER) return scatter(r, p);
    return p->kind == HAP_ALL_REDUCE ? reduce(r, p) : exchange(r, p);
}
