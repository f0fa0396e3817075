// Random programs of one-sided puts and of the library's collectives, in loops of steps: bounded,
// with delays of their own on each rank, and every element of what they make checked.
//
//     mpirun -n 4 put_stress [programs] [steps a program] [seed] [longest delay in microseconds]
//
// A program is a list of calls, made once and then run as steps of one emitted program are, so that
// on a GPU the first is called, the second recorded, then it is captured and the others replayed.
// Memory that collectives write is taken again as soon as the program has copied what lies there,
// without any wait of the host, so that a one-sided put before its owner's credit shows;
// collectives stay under way over others; products of odd widths make what is sent and read what
// comes, some of them as pairs.
//
// Prints a hash of all that was made, which says whether other ways to run a step give the same.

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/backend.h"
#include "core/coll_geometry.h"
#include "core/comm.h"
#include "tests/support/coll_memory.h"
#include "tests/support/coll_random.h"
#include "tests/support/pair_via.h"
#include "tests/support/test_options.h"

enum {
    SYM = 32 << 20,
    WORK = 48 << 20, // tensors made in a step
    IO = 96 << 20,   // what the host writes before and reads after it
    MOST_ITEMS = 20,
    MOST_CALLS = 400,
    MOST_TENSORS = 400,
    MOST_OPEN = 3,
    MOST_CHUNKS = 24,    // of a pair
    MOST_WIDE = 1 << 19, // elements of a large tensor
    MESHES = 3,
    WATCH = 40 // seconds that a step may take
};

static hap_rank *r;
static int failures;

// --- a program ---

typedef enum { COPY, PRODUCT, START, PAIR, WAIT, BURN } call_kind;
typedef struct call {
    call_kind kind;
    hap_tensor *y, *x, *w; // COPY, PRODUCT
    int item;              // START, PAIR, WAIT; BURN: what delays differ by
} call;

// A tensor that the host writes, or reads and checks, by step.
typedef struct held {
    hap_tensor *t;
    int64_t at, *global; // in the IO region; by element
    int item, number;    // values are those of `number`
    bool result, partial;
    int cols; // of the right side of a product, which the values are sums over; 0: no product
} held;

// A collective, perhaps with a product before or after it.
typedef struct item {
    hap_coll_call call;
    hap_tensor *dst[COLL_MOST_LIST], *src[COLL_MOST_LIST];
    int64_t rows, inner, cols; // of a product; rows 0: none
    bool feeds;                // the product makes what is moved, else it reads it
    bool pair;                 // and is overlapped with it
    hap_tensor *y, *x, *w;     // then: the product
    int n_chunks;
    int64_t chunk[MOST_CHUNKS][3];
    hap_event *event;
    int left; // items until it is waited for; -1: closed
    int n_rooms;
    int room[4 * COLL_MOST_LIST + 2];
} item;

typedef struct room { // memory taken in a segment
    hap_segment seg;
    int64_t lo, hi;
    bool used;
} room;

static struct {
    call call[MOST_CALLS];
    held held[MOST_TENSORS];
    item item[MOST_ITEMS];
    room room[MOST_TENSORS];
    int64_t offset[MOST_TENSORS * 2];
    int n_calls, n_held, n_items, n_rooms, n_offsets;
    int64_t io; // bytes taken of the region
    bool large;
    hap_tensor *burnt;
    char *mirror, *back;
} p;

static call *add(call_kind kind)
{
    call *c = &p.call[p.n_calls++];
    *c = (call){.kind = kind};
    return c;
}

static int64_t whole_bytes(hap_dtype type, int rank, const hap_dim *dims)
{
    int64_t bytes = hap_dtype_bytes(type);
    for (int i = 0; i < rank; i++)
        bytes *= hap_dim_size(&dims[i]);
    return (bytes + 64 + 255) / 256 * 256;
}

static hap_tensor *declare(hap_segment seg, int64_t at, hap_dtype type, int rank,
                           const hap_dim *dims)
{
    int64_t *offset = &p.offset[p.n_offsets++];
    *offset = at;
    return hap_at(r, seg, offset, type, rank, dims);
}

// In free memory of a segment, mostly the first that there is.
static hap_tensor *take(item *x, hap_segment seg, hap_dtype type, int rank, const hap_dim *dims)
{
    int64_t bytes = whole_bytes(type, rank, dims);
    int64_t at = coll_chance(70) ? 0 : 256 * coll_below(p.large ? 4096 : 64);
    for (int i = 0; i < p.n_rooms; i++) {
        const room *o = &p.room[i];
        if (!o->used || o->seg != seg || at + bytes <= o->lo || at >= o->hi) continue;
        at = o->hi;
        i = -1;
    }
    x->room[x->n_rooms++] = p.n_rooms;
    p.room[p.n_rooms++] = (room){seg, at, at + bytes, true};
    return declare(seg, at, type, rank, dims);
}

// In the region of the host.
static held *hold(int number, bool result, hap_dtype type, int rank, const hap_dim *dims)
{
    held *h = &p.held[p.n_held++];
    *h = (held){.at = p.io, .item = p.n_items - 1, .number = number, .result = result};
    h->t = declare(SEG_LOCAL, WORK + p.io, type, rank, dims);
    p.io += whole_bytes(type, rank, dims);
    h->global = malloc(sizeof *h->global * (size_t)(h->t->elements + 1));
    for (int64_t i = 0; i < h->t->elements; i++)
        h->global[i] = coll_global(h->t, i);
    static char name[MOST_TENSORS][32]; // variables: nothing that makes them may be left out
    snprintf(name[p.n_held - 1], sizeof *name, "held.%d", p.n_held - 1);
    hap_state(r, name[p.n_held - 1], h->t);
    return h;
}

static void copy(hap_tensor *y, hap_tensor *x)
{
    call *c = add(COPY);
    c->y = y;
    c->x = x;
}

static void product(hap_tensor *y, hap_tensor *x, hap_tensor *w)
{
    call *c = add(PRODUCT);
    c->y = y;
    c->x = x;
    c->w = w;
}

static void start(item *x)
{
    hap_coll_call *c = &x->call;
    // Chunks whose parts of other dims are larger need more; it lies at one place on all ranks.
    int64_t need = -hap_comm_min(r, -(int)hap_coll_scratch_bytes(r, c));
    hap_dim d = WHOLE(need);
    if (need > 0)
        c->scratch = take(x, hap_form_put(c->form) ? SEG_SYM : SEG_LOCAL, HAP_BOOL, 1, &d);
    add(x->pair ? PAIR : START)->item = p.n_items - 1;
}

// Where others may write, of a one-sided put, and else anywhere.
static hap_segment place_of(const hap_coll_call *c, bool written)
{
    if (hap_form_put(c->form) && written && c->kind != HAP_REDUCE_SCATTER) return SEG_SYM;
    return coll_chance(25) ? SEG_SYM : SEG_LOCAL;
}

static void widen(coll_shape *s)
{
    int64_t elements = 1;
    for (int i = 0; i < s->rank; i++)
        elements *= hap_dim_size(&s->src[i]) > hap_dim_size(&s->dst[i]) ? hap_dim_size(&s->src[i])
                                                                        : hap_dim_size(&s->dst[i]);
    if (s->rank == HAP_MAX_RANK || elements == 0 || elements > MOST_WIDE / 2) return;
    int64_t n = 1 + coll_below(MOST_WIDE / elements);
    s->src[s->rank] = s->dst[s->rank] = WHOLE(n);
    s->rank++;
}

static void make_any(item *x)
{
    hap_coll_call *c = &x->call;
    hap_dtype type;
    coll_call(r, c, &type);
    if (c->kind != HAP_RESHARD && c->reduce != HAP_MAX && coll_chance(50)) {
        c->form = coll_put(r, c->axes);
        if (coll_sums(c) && type == HAP_BOOL) type = HAP_F16;
    }
    c->dst = x->dst;
    c->src = x->src;
    for (int k = 0; k < c->n; k++) {
        coll_shape s;
        coll_shapes(r, c, &s);
        if (p.large && coll_chance(60)) widen(&s);
        held *in = hold(k, false, type, s.rank, s.src);
        in->partial = coll_sums(c);
        bool in_place = c->kind == HAP_ALL_REDUCE && coll_chance(50);
        x->src[k] = in->t;
        if (in_place || coll_chance(70)) {
            x->src[k] = take(x, place_of(c, in_place), type, s.rank, s.src);
            copy(x->src[k], in->t);
        }
        x->dst[k] = in_place ? x->src[k] : take(x, place_of(c, true), type, s.rank, s.dst);
    }
    start(x);
}

static void draw_chunks(item *x, int n)
{
    x->n_chunks = 0;
    for (int d = 0; d < n; d++)
        for (int64_t k = 1 + coll_below(3); k > 0; k--) {
            int at = x->n_chunks++, to = (int)coll_below(at + 1);
            memcpy(x->chunk[at], x->chunk[to], sizeof x->chunk[at]);
            x->chunk[to][0] = d;
            x->chunk[to][1] = (1 + coll_below(4)) * (at && coll_chance(30) ? -1 : 1);
        }
    x->chunk[0][1] = llabs(x->chunk[0][1]); // there is none before it
    for (int k = 0; k < x->n_chunks && x->call.kind == HAP_ALL_GATHER; k++) {
        int64_t via = coll_below(n);
        if (pair_via_fits((const int64_t(*)[3])x->chunk, x->n_chunks, k, via)) x->chunk[k][2] = via;
    }
}

// What multiplies, or is to be: a call, or a part of the pair.
static void multiply(item *x, hap_tensor *y, hap_tensor *in, hap_tensor *w)
{
    if (!x->pair) product(y, in, w);
    x->y = y, x->x = in, x->w = w;
}

// A factor in one dim and what multiplies it: y = x w, w on each rank its own.
static void make_matmul(item *x)
{
    static const hap_dtype types[] = {HAP_BF16, HAP_F32, HAP_F16};
    hap_coll_call *c = &x->call;
    hap_dtype type = types[coll_below(3)];
    unsigned axes = r->n_axes == 2 ? (unsigned)(1 + coll_below(3)) : 1u;
    int axis = axes == 3u ? HAP_BOTH : axes == 2u ? 1 : 0;
    int parts = axis == HAP_BOTH ? r->n_ranks : r->size[axis];
    x->rows = 1 + coll_below(p.large ? 200 : 40);
    x->inner = 1 + coll_below(14) * 2;
    x->cols = 1 + coll_below(12) * 2;
    x->feeds = coll_chance(60);
    x->pair = parts * 3 <= MOST_CHUNKS && coll_chance(40);
    hap_dim rows = CUT(axis, x->rows, coll_table(x->rows, parts, false)), all = WHOLE(x->rows);
    hap_dim inner = WHOLE(x->inner), cols = WHOLE(x->cols);
    *c = (hap_coll_call){.axes = axes, .n = 1, .dst = x->dst, .src = x->src};
    c->form = coll_put(r, c->axes);
    held *a = hold(0, false, type, 2, (hap_dim[]){x->feeds ? all : rows, inner});
    held *w = hold(1, false, type, 2, (hap_dim[]){inner, cols});
    a->partial = x->feeds;
    w->partial = true;
    if (x->feeds) {
        bool scatter = coll_chance(50), in_place = !scatter && coll_chance(50);
        c->kind = scatter ? HAP_REDUCE_SCATTER : HAP_ALL_REDUCE;
        x->src[0] = take(x, place_of(c, in_place), type, 2, (hap_dim[]){all, cols});
        multiply(x, x->src[0], a->t, w->t);
        hap_dim to[] = {scatter ? rows : all, cols};
        x->dst[0] = in_place ? x->src[0] : take(x, place_of(c, true), type, 2, to);
    } else {
        c->kind = HAP_ALL_GATHER;
        x->src[0] = a->t;
        if (coll_chance(60)) {
            x->src[0] = take(x, place_of(c, false), type, 2, (hap_dim[]){rows, inner});
            copy(x->src[0], a->t);
        }
        x->dst[0] = take(x, place_of(c, true), type, 2, (hap_dim[]){all, inner});
        if (x->pair)
            multiply(x, take(x, SEG_LOCAL, type, 2, (hap_dim[]){all, cols}), x->dst[0], w->t);
    }
    draw_chunks(x, c->kind == HAP_ALL_REDUCE ? 1 : parts);
    start(x);
}

static void finish(int i)
{
    item *x = &p.item[i];
    const hap_coll_call *c = &x->call;
    bool gathers = x->rows && !x->feeds;
    if (!x->pair || x->feeds) add(WAIT)->item = i;
    if (coll_chance(30)) add(BURN)->item = i + MOST_ITEMS;
    hap_tensor *y = x->pair && gathers ? x->y : x->dst[0];
    if (gathers && !x->pair) {
        held *w = &p.held[0];
        while (w->item != i || w->number != 1)
            w++;
        hap_dim dims[] = {WHOLE(x->rows), WHOLE(x->cols)};
        y = take(x, SEG_LOCAL, c->dst[0]->type, 2, dims);
        product(y, x->dst[0], w->t);
    }
    for (int k = 0; k < c->n; k++) {
        hap_tensor *from = k ? x->dst[k] : y;
        held *h = hold(k, true, from->type, from->rank, from->dim);
        h->item = i;
        copy(h->t, from);
    }
    for (int k = 0; k < x->n_rooms; k++)
        p.room[x->room[k]].used = false;
    x->left = -1;
}

static void finish_ripe(bool all)
{
    int open = 0;
    for (int i = 0; i < p.n_items; i++)
        open += p.item[i].left >= 0;
    for (int i = 0; i < p.n_items; i++) {
        item *x = &p.item[i];
        if (x->left < 0) continue;
        if (all || x->left-- == 0 || open-- > MOST_OPEN) finish(i);
    }
}

static void make_program(void)
{
    hap_backend_forget(r);
    hap_tensor_free_all(r);
    for (int i = 0; i < p.n_held; i++)
        free(p.held[i].global);
    r->n_vars = p.n_calls = p.n_held = p.n_items = p.n_rooms = p.n_offsets = 0;
    p.io = 0;
    p.large = coll_chance(4);
    p.burnt = declare(SEG_LOCAL, WORK + IO, HAP_F32, 1, HAP_DIMS(WHOLE(r->n_ranks * (1 << 18))));
    hap_state(r, "burnt", p.burnt);
    int n = p.large ? 4 : 3 + (int)coll_below(MOST_ITEMS - 2);
    while (p.n_items < n) {
        item *x = &p.item[p.n_items++];
        *x = (item){.left = (int)coll_below(MOST_OPEN)};
        if (coll_chance(30))
            make_matmul(x);
        else
            make_any(x);
        if (coll_chance(30)) add(BURN)->item = p.n_items;
        finish_ripe(false);
    }
    finish_ripe(true);
}

// --- a step ---

static int value_of(const held *h, int64_t global, int rank, int step)
{
    const item *x = &p.item[h->item];
    int v = coll_value(h->t->type, global, rank, step * 64 + h->item * 3 + h->number);
    return x->rows ? (v + 3) % 3 - 1 : v; // of products -1, 0 and 1: exact sums
}

// Row i, column k of what rank q multiplies.
static double matmul_at(const item *x, int i, int64_t row, int64_t col, int q, int step)
{
    held a = {.t = x->src[0], .item = i, .number = 0}, w = {.t = x->src[0], .item = i, .number = 1};
    double sum = 0;
    for (int64_t k = 0; k < x->inner; k++)
        sum += value_of(&a, row * x->inner + k, x->feeds ? q : 0, step) *
               value_of(&w, k * x->cols + col, q, step);
    return sum;
}

static double wanted(const held *h, int64_t global, int step)
{
    const item *x = &p.item[h->item];
    if (x->rows == 0)
        return coll_expected(r, &x->call, h->t->type, global, step * 64 + h->item * 3 + h->number);
    double sum = 0;
    for (int q = 0; q < r->n_ranks; q++)
        if (x->feeds ? coll_member(r, q, x->call.axes) : q == r->id)
            sum += matmul_at(x, h->item, global / x->cols, global % x->cols, q, step);
    return sum;
}

static void write_io(int step)
{
    for (int i = 0; i < p.n_held; i++) {
        held *h = &p.held[i];
        hap_tensor t = *h->t;
        t.data = p.mirror + h->at;
        memset(t.data, 0xA5, (size_t)t.bytes);
        for (int64_t k = 0; k < t.elements && !h->result; k++)
            coll_set(&t, k, value_of(h, h->global[k], h->partial ? r->id : 0, step));
    }
    if (p.io) coll_memory_put(r->seg[SEG_LOCAL] + WORK, p.mirror, p.io);
}

static void show_program(void)
{
    static const char *const name[] = {"copy", "product", "start", "pair", "wait", "burn"};
    char text[128];
    for (int i = 0; i < p.n_calls; i++) {
        const call *c = &p.call[i];
        fprintf(stderr, "  %3d %s", i, name[c->kind]);
        if (c->kind == START || c->kind == PAIR || c->kind == WAIT) {
            const hap_coll_call *x = &p.item[c->item].call;
            fprintf(stderr, " item %d, %s %s, axes %u", c->item, hap_coll_name(x),
                    hap_form_name(x->form).s, x->axes);
            for (int k = 0; k < x->n && c->kind != WAIT; k++)
                fprintf(stderr, ", %s at %lld to %lld", hap_tensor_text(r, x->src[k], text, 128),
                        (long long)x->src[k]->off, (long long)x->dst[k]->off);
            if (x->scratch && c->kind != WAIT)
                fprintf(stderr, ", scratch %lld", (long long)x->scratch->off);
        }
        if (c->kind == COPY || c->kind == PRODUCT)
            fprintf(stderr, " %s at %lld to %lld", hap_tensor_text(r, c->x, text, 128),
                    (long long)c->x->off, (long long)c->y->off);
        fprintf(stderr, "\n");
    }
}

static int program, step_of_it;

static void complain(const held *h, int64_t at, double have, double want)
{
    const item *x = &p.item[h->item];
    char text[128];
    if (failures++ >= 5) return;
    fprintf(stderr,
            "rank %d: program %d step %d item %d (%s %s, axes %u%s): %s %s, element %lld of %lld "
            "is %g, not %g\n",
            r->id, program, step_of_it, h->item, hap_coll_name(&x->call),
            hap_form_name(x->call.form).s, x->call.axes, x->rows ? ", product" : "",
            h->result ? "result" : "input", hap_tensor_text(r, h->t, text, sizeof text),
            (long long)at, (long long)h->t->elements, have, want);
    if (failures == 1 && r->id == 0) show_program();
}

// Of results every element; inputs are as they were.
static uint64_t check_io(int step)
{
    uint64_t hash = 0;
    if (p.io) coll_memory_get(p.back, r->seg[SEG_LOCAL] + WORK, p.io);
    for (int i = 0; i < p.n_held; i++) {
        const held *h = &p.held[i];
        hap_tensor t = *h->t;
        t.data = p.back + h->at;
        if (!h->result) {
            if (memcmp(t.data, p.mirror + h->at, (size_t)t.bytes) != 0) complain(h, 0, 0, 0);
            continue;
        }
        for (int64_t k = 0; k < t.elements; k++) {
            double want = wanted(h, h->global[k], step), have = coll_get(&t, k);
            if (want < have || want > have || have != have) {
                complain(h, k, have, want);
                break;
            }
        }
        for (int64_t k = 0; k < t.bytes; k++)
            hash = (hash ^ (uint8_t)((char *)t.data)[k]) * 0x100000001B3u;
    }
    return hash;
}

static void burn(int number, int longest)
{
    int64_t n =
        (int64_t)(coll_mix((uint64_t)(number * 64 + r->id) + (uint64_t)program * 4096) % 8u);
    for (int64_t k = 0; k < n && longest > 0; k++)
        op_scale(r, p.burnt, p.burnt, 0.5);
}

static void run_pair(item *x)
{
    hap_overlap(r, x->n_chunks, (const int64_t(*)[3])x->chunk);
    if (x->feeds) {
        op_linear(r, x->y, x->x, x->w, NULL, HAP_NN);
        x->event = coll_start(r, &x->call);
    } else {
        hap_wait(r, coll_start(r, &x->call));
        op_linear(r, x->y, x->x, x->w, NULL, HAP_NN);
    }
    hap_overlapped(r);
}

static void run_step(int longest)
{
    hap_backend_begin(r);
    r->in_step = true;
    for (int i = 0; i < p.n_calls; i++) {
        const call *c = &p.call[i];
        switch (c->kind) {
        case COPY:
            hap_cut(r, c->y, c->x);
            break;
        case PRODUCT:
            op_linear(r, c->y, c->x, c->w, NULL, HAP_NN);
            break;
        case START:
            p.item[c->item].event = coll_start(r, &p.item[c->item].call);
            break;
        case PAIR:
            run_pair(&p.item[c->item]);
            break;
        case WAIT:
            hap_wait(r, p.item[c->item].event);
            break;
        case BURN:
            burn(c->item, longest);
            break;
        }
    }
    hap_backend_sync(r);
    r->in_step = false;
    r->now.step++;
}

// As before a program's first step: what the backend tries there may compute anything (on a GPU the
// trial of a captured step, cuda/step/cuda_litmus.h).
static void rehearse(int step, int longest)
{
    r->rehearsal = 1;
    write_io(step);
    run_step(longest);
    r->rehearsal = 0;
}

static void late(int signal)
{
    (void)signal;
    fprintf(stderr, "rank %d: program %d step %d does not end, at %s, call %d of the list\n", r->id,
            program, step_of_it, r->doing ? r->doing : "none", r->line);
    if (r->id == 0) show_program();
    _exit(3);
}

int main(int argc, char **argv)
{
    static hap_rank base;
    hap_comm_start(&base, &argc, &argv);
    test_options(&base.opt);
    int programs = argc > 1 ? atoi(argv[1]) : 21, steps = argc > 2 ? atoi(argv[2]) : 5;
    uint64_t seed = argc > 3 ? (uint64_t)atoll(argv[3]) : 1, hash = 0;
    int longest = argc > 4 ? atoi(argv[4]) : 50, class_of[64] = {0};
    int64_t n_puts = 0, others = 0, done = 0;
    int64_t local = WORK + IO + (int64_t)base.n_ranks * (1 << 20) + 4096;
    double begin = hap_seconds();
    p.mirror = malloc(IO);
    p.back = malloc(IO);
    signal(SIGALRM, late);
    for (int mesh = 0; mesh < MESHES && mesh < programs; mesh++) {
        static hap_rank rank;
        int n_axes = mesh ? 2 : 1, size[2] = {base.n_ranks, 1};
        for (int k = 2; n_axes == 2 && k * k <= base.n_ranks; k++)
            if (base.n_ranks % k == 0) size[0] = k, size[1] = base.n_ranks / k;
        if (mesh == 2 && size[1] == 1) size[0] = 1, size[1] = base.n_ranks;
        rank = base;
        r = &rank;
        r->seg_bytes[SEG_SYM] = r->seg_bytes[SEG_LOCAL] = -1;
        hap_mesh(r, n_axes, size);
        hap_classes(r, class_of);
        hap_segments(r, SYM, &local);
        coll_memory_begin(r);
        for (program = mesh; program < programs; program += MESHES) {
            coll_seed(seed * 7919 + (uint64_t)program);
            make_program();
            for (int i = 0; i < p.n_items; i++)
                *(hap_form_put(p.item[i].call.form) ? &n_puts : &others) +=
                    p.large && steps > 6 ? 6 : steps;
            for (step_of_it = 0; step_of_it < steps && (!p.large || step_of_it < 6); step_of_it++) {
                alarm(WATCH);
                if (step_of_it == 2) rehearse(step_of_it, longest);
                write_io(step_of_it);
                if (longest && coll_mix((uint64_t)(step_of_it * 64 + r->id)) % 3u == 0)
                    coll_memory_delay(
                        r, (int)(coll_mix((uint64_t)(program * 64 + r->id)) % (uint64_t)longest));
                run_step(longest);
                hash = (hash ^ check_io(step_of_it)) * 0x9E3779B97F4A7C15u;
                done++;
            }
            if (hap_comm_min(r, -failures) < -4) break;
        }
        alarm(0);
        hap_backend_forget(r);
        coll_memory_end(r);
        hap_backend_finish(r);
        hap_tensor_free_all(r);
    }
    int all = -hap_comm_min(&base, -failures);
    int hash_min = hap_comm_min(&base, (int)(hash >> 34)),
        hash_max = -hap_comm_min(&base, -(int)(hash >> 34));
    if (base.id == 0)
        printf(
            "put_stress: %lld one-sided puts and %lld other collectives in %lld steps on %d ranks, "
            "%.1f s, hash %08x %08x, %s\n",
            (long long)n_puts, (long long)others, (long long)done, base.n_ranks,
            hap_seconds() - begin, (unsigned)hash_min, (unsigned)hash_max,
            all ? "FAILED" : "all right");
    hap_comm_finish(&base);
    return all ? 1 : 0;
}
