// The protocol of one-sided puts (cuda/comm/cuda_put.h) without a device: cuda_put.c and
// cuda_put_forms.c as they are, for several ranks in one process, on streams that run in orders
// drawn at random (support/fake_streams.h), what a program enqueues mixed with what runs.
//
//     put_order_test [programs each] [seed]
//
// Of a rank as many copies of a collective are in flight as its form says, and at times all of
// them.
//
// A program is some collectives, up to three under way at a time, in memory that is taken again as
// soon as what came there has been looked at, and filled with something else first. Whatever goes
// in pieces and whatever by kernels (cuda_put_sizes), and whatever credits each rank gives ahead,
// each is to give every value, and to end; so are steps of it as one graph
// (cuda/step/cuda_whole.h), in turns with live ones, and where the trial of the graph did not end.
// Where one rank does not wait for another's credits, or for its flags, where parts are copied by
// kernels and numbers are no fences, and where credits are given while the memory is in use, values
// are to be wrong: so the programs are such that each of these matters. The same collectives also
// go by NCCL (support/fake_nccl.h), as where ranks have no peers, and are to be wrong where streams
// pack into one room.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/coll_geometry.h"
#include "core/tensor.h"
#include "cuda/comm/cuda_box.h"
#include "cuda/comm/cuda_put.h"
#include "cuda/step/cuda_program.h"
#include "tests/support/coll_random.h"
#include "tests/support/fake_nccl.h"
#include "tests/support/fake_ranks.h"
#include "tests/support/fake_streams.h"
#include "tests/support/fake_trial.h"

enum { ITEMS = 9, OPEN = 3, ROOM = 1 << 24, CALLS = 4 * ITEMS, PARTS = 3, WORDS = 70, STEPS = 6 };

// A collective of one rank.
typedef struct item {
    hap_rank *r;
    hap_coll_call call;
    hap_dtype type;
    hap_tensor *dst[COLL_MOST_LIST], *src[COLL_MOST_LIST];
    cudaEvent_t ready, done, seen, made;
    int number;
    bool by_hand;           // sends of PARTS parts to each member, looked at as they come
    bool makes;             // and each part is made just before it is sent
    bool in_place, at_once; // on the compute stream, waited for by the next call
    int room;
} item;

typedef struct rank {
    hap_rank r;
    cuda_backend b;
    cuda_steps steps;
    item item[ITEMS];
    cudaStream_t aside;
    cuda_room room;
    int step, at; // in the program
    int given;    // calls up to here have their credits
    int weight;
    cuda_whole whole;
} rank;

typedef enum { START, FINISH } call_kind;
static struct {
    call_kind kind;
    int item;
} program[CALLS];
static rank all[FAKE_RANKS];
static int n_calls;
static int64_t offset[ITEMS][2 * COLL_MOST_LIST + 1];
static long wrong;

static bool one_room;  // of all streams
static bool by_stores; // small collectives

// --- copies in flight ---

static int in_flight[FAKE_RANKS * ITEMS];
static long too_many, full[FAKE_RANKS]; // full: times that all of them were, by how many

// Of a rank and its collective, into the memory of others.
static void count(int tag, const char *to, int change)
{
    const item *x = &all[tag / ITEMS].item[tag % ITEMS];
    const char *own = fake.sym[tag / ITEMS], *local = fake.local[tag / ITEMS];
    if ((to >= own && to < own + fake.room) || (to >= local && to < local + fake.room)) return;
    int n = in_flight[tag] += change, most = hap_form_copies(x->call.form);
    too_many += n > most;
    if (change > 0 && n == most) full[most]++;
}

// --- what a program computes ---

// What values of tensor k are drawn from, in this step.
static int values(const item *x, int k)
{
    return ((const rank *)(const void *)x->r)->step * 64 + x->number * 3 + k;
}

static void fill_some(const item *x, int k, int64_t lo, int64_t hi)
{
    for (int64_t i = lo; i < hi; i++)
        coll_set(x->src[k], i,
                 coll_value(x->type, coll_global(x->src[k], i), coll_sums(&x->call) ? x->r->id : 0,
                            values(x, k)));
}

static bool fill(void *arg, int number)
{
    const item *x = arg;
    (void)number;
    for (int k = 0; k < x->call.n; k++)
        fill_some(x, k, 0, x->src[k]->elements);
    return true;
}

static void look(const item *x, int k, int64_t lo, int64_t hi)
{
    for (int64_t i = lo; i < hi; i++) {
        int64_t global = coll_global(x->dst[k], i);
        double want = coll_expected(x->r, &x->call, x->type, global, values(x, k));
        double have = coll_get(x->dst[k], i);
        if (!(have <= want && have >= want)) wrong++;
    }
}

static bool check(void *arg, int number)
{
    const item *x = arg;
    for (int k = 0; k < x->call.n; k++) {
        int64_t half = x->dst[k]->elements / 2;
        look(x, k, number ? half : 0, number ? x->dst[k]->elements : half);
    }
    return number == 1;
}

// What came has been looked at: the memory is used for something else.
static bool spoil(void *arg, int number)
{
    const item *x = arg;
    (void)number;
    for (int k = 0; k < x->call.n; k++) {
        memset(x->dst[k]->data, 0xA5, (size_t)x->dst[k]->bytes);
        memset(x->src[k]->data, 0xA5, (size_t)x->src[k]->bytes);
    }
    if (x->call.scratch) memset(x->call.scratch->data, 0xA5, (size_t)x->call.scratch->bytes);
    return true;
}

typedef struct glance {
    const item *x;
    int64_t lo, hi;
} glance;

static bool check_part(void *arg, int number)
{
    const glance *g = arg;
    (void)number;
    look(g->x, 0, g->lo, g->hi);
    return true;
}

static bool fill_part(void *arg, int number)
{
    const glance *g = arg;
    (void)number;
    fill_some(g->x, 0, g->lo, g->hi);
    return true;
}

// An all-gather by single sends, its parts looked at by a stream of their own as they come; every
// other time the first part of each member is left out and goes with the second.
static void run_by_hand(rank *q, item *x)
{
    int n = hap_group_size(&q->r, x->call.axes), me = hap_group_member(&q->r, x->call.axes);
    int64_t part = WORDS * (int64_t)sizeof(float), first = x->number % 2;
    cudaStream_t s = q->b.stream[x->call.axes];
    cuda_put *p = cuda_put_open(&q->r, &x->call, PARTS);
    char *src = x->src[0]->data, *dst = x->dst[0]->data;
    for (int64_t k = first; k < PARTS; k++) {
        int64_t lo = k == first ? 0 : k * part;
        if (x->makes) {
            glance g = {x, lo / (int64_t)sizeof(float), (k + 1) * WORDS};
            fake_call_own(q->b.x.stream, NULL, fill_part, &g, sizeof g);
            cudaEventRecord(x->made, q->b.x.stream);
            cudaStreamWaitEvent(s, x->made, 0);
        }
        for (int d = 1; d < n; d++) {
            int to = (me + d) % n;
            if (x->makes) cudaStreamWaitEvent(cuda_put_stream(p, to), x->made, 0);
            cuda_put_send(p, to, (int)k, src + lo, dst + me * PARTS * part + lo,
                          (k + 1) * part - lo);
        }
    }
    cuda_check(&q->r,
               cuda_box_copy(
                   s, &(hap_coll_view){1, PARTS, 1, 1, WORDS, 4, 0, 0, 0, NULL, NULL, 0, 0, 0, 0},
                   dst + me * PARTS * part, (hap_box){{0, PARTS}, {0, 1}}, src,
                   (hap_box){{0, PARTS}, {0, 1}}, (hap_box){{0, PARTS}, {0, 1}},
                   cuda_put_sizes_of(&q->r)->run));
    for (int64_t k = first; k < PARTS; k++)
        for (int d = 1; d < n; d++) {
            int from = (me - d + n) % n;
            glance g = {x, from * PARTS * WORDS + (k == first ? 0 : k * WORDS),
                        (from * PARTS + k + 1) * WORDS};
            cuda_put_await(p, q->aside, from, (int)k);
            fake_call_own(q->aside, NULL, check_part, &g, sizeof g);
        }
    cudaEventRecord(x->seen, q->aside);
    cudaStreamWaitEvent(s, x->seen, 0);
    cuda_put_close(p, s, x->done);
}

static bool hasty; // credits are given while the memory is in use

// Whether what call k writes is touched by no call from here to k.
static bool is_free(const rank *q, int k)
{
    const item *x = &q->item[program[k].item];
    for (int i = q->at; i < k; i++)
        if (q->item[program[i].item].room == x->room && !hasty) return false;
    return !x->in_place; // its source is made there
}

// Credits ahead, each rank as it likes.
static void give_ahead(rank *q)
{
    for (int k = q->given < q->at ? q->at : q->given; k < n_calls && fake_draw(4); k++) {
        const item *x = &q->item[program[k].item];
        bool start = program[k].kind == START;
        if (start && !is_free(q, k)) return;
        q->given = k + 1;
        if (start && x->by_hand)
            cuda_put_credit(&q->r, x->call.axes, PARTS);
        else if (start)
            cuda_put_run_credit(&q->r, &x->call);
    }
}

// As cuda_steps.c does.
static void enqueue(rank *q)
{
    item *x = &q->item[program[q->at].item];
    cudaStream_t compute = q->b.x.stream, s = q->b.stream[x->call.axes];
    fake_tag(x->r->id * ITEMS + x->number);
    if (program[q->at++].kind == FINISH) {
        if (!x->at_once) cudaStreamWaitEvent(compute, x->done, 0);
        fake_call(compute, check, x);
        fake_call(compute, spoil, x);
        return;
    }
    if (!x->makes) fake_call(compute, fill, x);
    x->at_once = !x->by_hand && !fake.by_nccl && program[q->at].item == x->number && fake_draw(2);
    if (x->at_once) {
        cuda_put_run(&q->r, &x->call, compute, NULL);
        return;
    }
    cudaEventRecord(x->ready, compute);
    cudaStreamWaitEvent(s, x->ready, 0);
    if (fake.by_nccl) {
        cuda_room *m = &q->b.bounce[x->call.axes];
        if (one_room) *m = q->room;
        cuda_put_by_nccl(&q->r, &x->call, s);
        cudaEventRecord(x->done, s);
        if (one_room) q->room = *m, *m = (cuda_room){0};
    } else if (x->by_hand) {
        run_by_hand(q, x);
    } else {
        cuda_put_run(&q->r, &x->call, s, x->done);
    }
}

// --- programs ---

static int64_t take(int64_t *end, hap_dtype type, int n, const hap_dim *dims)
{
    int64_t bytes = hap_dtype_bytes(type), at = *end;
    for (int i = 0; i < n; i++)
        bytes *= hap_dim_size(&dims[i]);
    *end += (bytes + 255) / 256 * 256;
    if (*end > ROOM) exit(printf("put_order_test: a program does not fit\n") > 0);
    return at;
}

static void draw_item(rank *q, int number, int room, int64_t end[2], int64_t *scratch)
{
    item *x = &q->item[number];
    hap_coll_call *c = &x->call;
    int64_t *off = offset[number];
    *x = (item){.r = &q->r, .number = number, .room = room};
    do {
        coll_call(&q->r, c, &x->type);
    } while (c->kind == HAP_RESHARD || (c->kind == HAP_ALL_REDUCE && c->reduce == HAP_MAX));
    x->by_hand = !fake.by_nccl && coll_chance(25);
    x->makes = x->by_hand && coll_chance(50);
    if (x->by_hand) *c = (hap_coll_call){.kind = HAP_ALL_GATHER, .axes = c->axes, .n = 1};
    c->form = coll_put(&q->r, c->axes);
    if (coll_sums(c) && x->type == HAP_BOOL) x->type = HAP_F16;
    if (x->by_hand) x->type = HAP_F32;
    c->dst = x->dst;
    c->src = x->src;
    for (int k = 0; k < c->n; k++) {
        coll_shape s;
        if (x->by_hand) {
            unsigned a = c->axes;
            int64_t n = (int64_t)PARTS * hap_group_size(&q->r, a);
            s.rank = 2;
            s.dst[0] = WHOLE(n), s.dst[1] = s.src[1] = WHOLE(WORDS);
            s.src[0] = CUT(a == 3   ? HAP_BOTH
                           : a == 2 ? 1
                                    : 0,
                           n, coll_table(n, hap_group_size(&q->r, a), true));
        } else {
            coll_shapes(&q->r, c, &s);
        }
        bool in_place = c->kind == HAP_ALL_REDUCE && coll_chance(50);
        x->in_place |= in_place;
        hap_segment to = c->kind == HAP_REDUCE_SCATTER ? SEG_LOCAL : SEG_SYM;
        hap_segment from = in_place ? to : coll_chance(50) ? SEG_SYM : SEG_LOCAL;
        off[2 * k] = room * ROOM + take(&end[from], x->type, s.rank, s.src);
        x->src[k] = (hap_at)(&q->r, from, &off[2 * k], x->type, s.rank, s.src);
        if (!in_place) off[2 * k + 1] = room * ROOM + take(&end[to], x->type, s.rank, s.dst);
        x->dst[k] =
            in_place ? x->src[k] : (hap_at)(&q->r, to, &off[2 * k + 1], x->type, s.rank, s.dst);
    }
    int64_t need = x->by_hand ? 0 : hap_coll_scratch_bytes(&q->r, c);
    if (need > *scratch) *scratch = need;
}

static void draw_program(uint64_t seed)
{
    int open[OPEN] = {-1, -1, -1}, n = 0;
    n_calls = 0;
    while (n < ITEMS || open[0] >= 0 || open[1] >= 0 || open[2] >= 0) {
        int room = (int)fake_draw(OPEN);
        if (open[room] >= 0) {
            program[n_calls].kind = FINISH;
            program[n_calls++].item = open[room];
            open[room] = -1;
        } else if (n < ITEMS) {
            int64_t end[2], scratch = 0, first = 256 * (int64_t)fake_draw(8);
            for (int i = 0; i < fake.n; i++) {
                end[0] = end[1] = first;
                coll_seed(seed + (uint64_t)n * 977);
                draw_item(&all[i], n, room, end, &scratch);
            }
            for (int i = 0; i < fake.n && scratch > 0; i++) {
                hap_dim d = WHOLE(scratch);
                int64_t *at = &offset[n][2 * COLL_MOST_LIST];
                *at = room * ROOM + end[SEG_SYM];
                all[i].item[n].call.scratch = (hap_at)(&all[i].r, SEG_SYM, at, HAP_BOOL, 1, &d);
            }
            open[room] = n;
            program[n_calls].kind = START;
            program[n_calls++].item = n++;
        }
    }
}

static void new_stream(cudaStream_t *s)
{
    cudaStreamCreateWithPriority(s, 0, 0);
}

static void begin(int mesh, const cuda_put_sizes *sizes)
{
    static const int meshes[][3] = {{1, 2, 1}, {1, 3, 1}, {1, 4, 1}, {2, 2, 2}};
    static const int weights[] = {1, 8, 64};
    const int *m = meshes[mesh];
    fake.n = m[1] * m[2];
    for (int i = 0; i < fake.n; i++) {
        rank *q = &all[i];
        memset(q, 0, sizeof *q);
        q->weight = weights[fake_draw(3)];
        q->r = (hap_rank){.id = i, .n_ranks = fake.n, .n_axes = m[0], .n_classes = 1};
        q->r.member = i, q->r.n_members = fake.n;
        q->r.size[0] = m[1], q->r.size[1] = m[2];
        q->r.coord[0] = m[0] == 2 ? i / m[2] : i;
        q->r.coord[1] = m[0] == 2 ? i % m[2] : 0;
        q->r.backend = &q->b;
        q->b.steps = &q->steps;
        q->r.seg_bytes[0] = q->r.seg_bytes[1] = fake.room;
        q->r.seg[SEG_LOCAL] = fake.local[i];
        new_stream(&q->b.x.stream);
        new_stream(&q->aside);
        for (int a = 1; a < CUDA_MASKS; a++) {
            int group = a * FAKE_RANKS; // and its first member
            group += (a & 1 ? 0 : q->r.coord[0] * m[2]) + (a & 2 ? 0 : q->r.coord[1]);
            new_stream(&q->b.stream[a]);
            q->b.group[a] = fake_comm(group, hap_group_member(&q->r, (unsigned)a));
        }
        q->r.seg[SEG_SYM] = cuda_put_start(&q->r, fake.room);
        if (sizes) *cuda_put_sizes_of(&q->r) = *sizes;
        q->r.opt.cuda.stores = by_stores ? HAP_CUDA_stores_all : HAP_CUDA_stores_off;
    }
}

static void end(void)
{
    fake_forget();
    fake_messages_forget();
    for (int i = 0; i < fake.n; i++) {
        rank *q = &all[i];
        if (q->whole.exec) cuda_whole_free(&q->r, &q->whole);
        for (int k = 0; k < ITEMS; k++) {
            cudaEventDestroy(q->item[k].ready);
            cudaEventDestroy(q->item[k].done);
            cudaEventDestroy(q->item[k].seen);
            cudaEventDestroy(q->item[k].made);
        }
        cuda_put_end(&q->r);
        cuda_room_free(&q->room);
        cudaStreamDestroy(q->b.x.stream);
        cudaStreamDestroy(q->aside);
        for (int a = 1; a < CUDA_MASKS; a++) {
            cudaStreamDestroy(q->b.stream[a]);
            fake_comm_free(q->b.group[a]);
            cuda_room_free(&q->b.bounce[a]);
        }
        hap_tensor_free_all(&q->r);
        free(q->r.tensor);
    }
}

static bool ahead;

static struct {
    int n;
    bool by_graph[STEPS];
} steps;

// Enqueued, and not yet run by this rank's device: its host waits.
static bool may_act(const rank *q)
{
    bool next = q->step + 1 < steps.n && fake_stream_idle(q->b.x.stream);
    return q->at < n_calls || next;
}

static void act(rank *q)
{
    if (q->at == n_calls) {
        q->step++;
        q->at = q->given = 0;
    } else if (steps.by_graph[q->step]) {
        cuda_whole_launch(&q->r, &q->whole, false);
        q->at = n_calls;
    } else {
        if (ahead) give_ahead(q);
        enqueue(q);
    }
}

// A step of the host of some rank. False: none can.
static bool host_step(void)
{
    int weight[FAKE_RANKS] = {0};
    for (int i = 0; i < fake.n; i++)
        weight[i] = may_act(&all[i]) ? all[i].weight : 0;
    int i = fake_one_of(weight);
    if (i >= 0) act(&all[i]);
    return i >= 0;
}

static bool run_steps(int n)
{
    unsigned eager = (unsigned)(1 + fake_draw(40));
    steps.n += n;
    for (bool more = true; more;) {
        more = fake_draw(40) < eager && host_step();
        if (!more) more = fake_step() || host_step();
    }
    return fake_idle();
}

static void enqueue_all(int i)
{
    rank *q = &all[i];
    cudaEventRecord(q->item[0].seen, q->b.x.stream);
    cudaStreamWaitEvent(q->aside, q->item[0].seen, 0);
    for (q->at = q->given = 0; q->at < n_calls;) {
        if (ahead) give_ahead(q);
        enqueue(q);
    }
    cudaEventRecord(q->item[0].seen, q->aside);
    cudaStreamWaitEvent(q->b.x.stream, q->item[0].seen, 0);
}

typedef enum { LIVE, CAPTURED, SILENT } how_captured;
static long released;

// The step as one graph, in a trial; what it computed does not count where it was released.
static void try_graph(how_captured how, int queues)
{
    hap_rank *r[FAKE_RANKS];
    cuda_whole w[FAKE_RANKS];
    long before = wrong;
    for (int i = 0; i < fake.n; i++)
        r[i] = &all[i].r;
    fake_queues(queues);
    bool passed = fake_trial(r, w, enqueue_all, how == SILENT);
    released += !passed;
    if (!passed) wrong = before;
    for (int i = 0; i < fake.n && passed; i++)
        all[i].whole = w[i];
    for (int k = steps.n; k < STEPS; k++)
        steps.by_graph[k] = passed && fake_draw(3);
    fake_queues(0);
}

// False: it does not end.
static bool run(int mesh, const cuda_put_sizes *sizes, how_captured how, int queues, uint64_t seed)
{
    fake_seed(seed);
    memset(&steps, 0, sizeof steps);
    begin(mesh, sizes);
    draw_program(seed * 131);
    memset(in_flight, 0, sizeof in_flight);
    for (int i = 0; i < fake.n * ITEMS; i++) {
        item *x = &all[i / ITEMS].item[i % ITEMS];
        cudaEventCreateWithFlags(&x->ready, 0);
        cudaEventCreateWithFlags(&x->done, 0);
        cudaEventCreateWithFlags(&x->seen, 0);
        cudaEventCreateWithFlags(&x->made, 0);
    }
    fake_seed(seed); // weights of the streams
    bool ended = run_steps(1);
    if (ended && how != LIVE) {
        try_graph(how, queues);
        ended = run_steps(STEPS - 1);
    }
    end();
    return ended;
}

static cuda_put_flag unheard;

// Rank 0 does not wait for what rank 1 tells it.
static bool deaf(cudaStream_t s, const uint32_t *at)
{
    (void)s;
    int64_t i = ((const char *)at - fake.sym[0] - fake.room) / CUDA_PUT_FLAG_BYTES;
    bool here =
        (const char *)at >= fake.sym[0] && (const char *)at < fake.sym[0] + fake.room + FAKE_FLAGS;
    return here && i % fake.n == 1 && i / fake.n % CUDA_PUT_KINDS == unheard;
}

// Streams that send do not wait for what is to come before it is passed on.
static bool rash(cudaStream_t s, const uint32_t *at)
{
    for (int r = 0; r < fake.n; r++) {
        const rank *q = &all[r];
        if (s == q->b.x.stream || s == q->aside) return false;
        for (int a = 1; a < CUDA_MASKS; a++)
            if (s == q->b.stream[a]) return false;
    }
    for (int r = 0; r < fake.n; r++) {
        int64_t i = ((const char *)at - fake.sym[r] - fake.room) / CUDA_PUT_FLAG_BYTES;
        bool here = (const char *)at >= fake.sym[r] &&
                    (const char *)at < fake.sym[r] + fake.room + FAKE_FLAGS;
        if (here) return i / fake.n % CUDA_PUT_KINDS == CUDA_PUT_ARRIVED;
    }
    return false;
}

int main(int argc, char **argv)
{
    enum { NONE = -1, FENCE = CUDA_PUT_KINDS, RASH, STALE, RUN = OPEN * ROOM };
    enum {
        AHEAD = 1,
        HASTY = 2,
        BY_NCCL = 4,
        ONE_ROOM = 8,
        STORES = 16,
        CURRENT = 32,
        SET_BY_NONE = 64
    };
    static const struct {
        const char *what;
        int missing; // a kind of flag, the fences, waits of streams that send, or new numbers
        cuda_put_sizes sizes;
        unsigned how;
        how_captured captured;
        int queues; // 0: as many as nodes
    } cases[] = {
        {"as it is", NONE, {0, 0, 0}, 0, LIVE, 0},
        {"credits ahead", NONE, {0, 0, 0}, AHEAD, LIVE, 0},
        {"in pieces, by copy engines", NONE, {1, 0, 1}, AHEAD, LIVE, 0},
        {"large parts in pieces, short runs by kernels", NONE, {64, 64, 64}, AHEAD, LIVE, 0},
        {"in pieces, by kernels", NONE, {1, RUN, 1}, AHEAD, LIVE, 0},
        {"by NCCL, packed by copy engines", NONE, {1, 0, 1}, BY_NCCL, LIVE, 0},
        {"by NCCL, packed by kernels", NONE, {1, RUN, 1}, BY_NCCL, LIVE, 0},
        {"one rank ignores one other's credits", CUDA_PUT_CREDIT, {0, 0, 0}, AHEAD, LIVE, 0},
        {"one rank ignores one other's flags", CUDA_PUT_ARRIVED, {0, 0, 0}, AHEAD, LIVE, 0},
        {"numbers are no fences, by kernels", FENCE, {1, RUN, 1}, AHEAD, LIVE, 0},
        {"what is to come is passed on", RASH, {1, 0, 1}, AHEAD, LIVE, 0},
        {"credits while the memory is in use", NONE, {0, 0, 0}, AHEAD | HASTY, LIVE, 0},
        {"by NCCL, one room for all streams", NONE, {1, 0, 1}, BY_NCCL | ONE_ROOM, LIVE, 0},
        {"captured", NONE, {0, 0, 0}, AHEAD, CAPTURED, 0},
        {"captured, in pieces, by kernels", NONE, {1, RUN, 1}, AHEAD, CAPTURED, 0},
        {"captured, numbers of the first time", STALE, {0, 0, 0}, AHEAD, CAPTURED, 0},
        {"captured, numbers set by the current context",
         NONE,
         {0, 0, 0},
         AHEAD | CURRENT,
         CAPTURED,
         0},
        {"captured, numbers that the driver does not set",
         NONE,
         {0, 0, 0},
         AHEAD | SET_BY_NONE,
         CAPTURED,
         0},
        {"captured, few queues", NONE, {64, 64, 64}, 0, CAPTURED, 24},
        {"captured, a rank keeps its flags", NONE, {0, 0, 0}, AHEAD, SILENT, 0},
        {"by stores", NONE, {0, 0, 0}, AHEAD | STORES, LIVE, 0},
        {"by stores, credits while the memory is in use",
         NONE,
         {0, 0, 0},
         AHEAD | HASTY | STORES,
         LIVE,
         0},
        {"by stores, captured", NONE, {0, 0, 0}, AHEAD | STORES, CAPTURED, 0},
        {"by stores, captured, a rank keeps its flags", NONE, {0, 0, 0}, AHEAD | STORES, SILENT, 0},
    };
    int programs = argc > 1 ? atoi(argv[1]) : 300, failed = 0;
    uint64_t seed = argc > 2 ? (uint64_t)atoll(argv[2]) : 1;
    fake_ranks_new((int64_t)OPEN * ROOM);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const cuda_put_sizes *sizes = cases[c].sizes.piece ? &cases[c].sizes : NULL;
        int missing = cases[c].missing, stuck = 0, bad = 0;
        fake_deaf(missing == RASH ? rash : missing >= 0 && missing < FENCE ? deaf : NULL);
        fake_loose(missing == FENCE);
        fake_stale(missing == STALE);
        fake_contexts(cases[c].how & SET_BY_NONE ? FAKE_NONE
                      : cases[c].how & CURRENT   ? FAKE_CURRENT
                                                 : FAKE_OWN);
        unheard = (cuda_put_flag)missing;
        ahead = cases[c].how & AHEAD;
        hasty = cases[c].how & HASTY;
        fake.by_nccl = cases[c].how & BY_NCCL;
        one_room = cases[c].how & ONE_ROOM;
        by_stores = cases[c].how & STORES;
        fake.kernels = released = 0;
        fake_watch(fake.by_nccl ? NULL : count);
        too_many = 0;
        memset(full, 0, sizeof full);
        int n = cases[c].captured ? 1 + programs / 6 : programs; // those take six steps
        for (int k = 0; k < n; k++) {
            wrong = 0;
            stuck +=
                !run(k % 4, sizes, cases[c].captured, cases[c].queues, seed * 100003 + (uint64_t)k);
            bad += wrong > 0;
        }
        bool ok = missing == NONE && !hasty && !one_room ? bad == 0 && stuck == 0 : bad > 0;
        ok &= too_many == 0;
        for (int copies = 1; copies < FAKE_RANKS && !fake.by_nccl && !by_stores && n > 20; copies++)
            ok &= full[copies] > 0;
        if (sizes && programs > 20) ok &= (fake.kernels > 0) == (sizes->run > 0);
        if (cases[c].captured) // with few queues some are to be released
            ok &= cases[c].captured == SILENT || cases[c].how & SET_BY_NONE ? released == n
                  : cases[c].queues ? programs <= 60 || (released > 0 && released < n)
                                    : released == 0;
        failed += !ok;
        printf("%-46s %d programs, %d with wrong values, %d without an end, %ld released, "
               "%ld kernels, %ld times too many copies: %s\n",
               cases[c].what, n, bad, stuck, released, fake.kernels, too_many,
               ok ? "all right" : "FAILED");
    }
    fake_ranks_free();
    return failed ? 1 : 0;
}
