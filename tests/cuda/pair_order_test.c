// What pairs on the device wait for (cuda/comm/cuda_pair.c): that file and cuda_put.c as they are,
// for several ranks in one process, on streams that run in orders drawn at random
// (support/fake_streams.h).
//
//     pair_order_test [programs each] [seed]
//
// A program is some pairs; a producer's wait comes when a later pair has been enqueued, or at once.
// Operands are made on the compute stream just before a pair and overwritten there just behind it,
// results when they have been looked at. A matmul takes several steps. Every value is to be right,
// also of steps as one graph (cuda/step/cuda_whole.h) in turns with live ones; where one stream
// does not wait for another, some are to be wrong: each of these waits matters.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/coll_geometry.h"
#include "core/pair_calls.h"
#include "core/pair_rows.h"
#include "core/tensor.h"
#include "cuda/comm/cuda_pair.h"
#include "cuda/comm/cuda_put.h"
#include "cuda/device/cuda_trace.h"
#include "cuda/kernels/cuda_shadow.h"
#include "cuda/step/cuda_program.h"
#include "tests/support/coll_random.h"
#include "tests/support/fake_nccl.h"
#include "tests/support/fake_ranks.h"
#include "tests/support/fake_streams.h"
#include "tests/support/fake_trial.h"
#include "tests/support/pair_tiles.h"
#include "tests/support/pair_via.h"

enum { ITEMS = 6, OPEN = 2, ROOM = 1 << 20, CALLS = 2 * ITEMS, OPS = 2, GROUPS = 24, STEPS = 5 };

// A pair of one rank.
typedef struct item {
    struct rank *q;
    int number, room, n_ops, n_chunks;
    bool columns; // an all-to-all whose matmuls read what comes
    int64_t chunk[GROUPS][3], listed[PAIR_TILES_GROUPS][3];
    hap_pair_tiles tiles;
    hap_coll_call call;
    hap_tensor *x, *w[OPS], *y[OPS]; // operand, matrices, results of the matmuls
    hap_tensor *dst, *src;
    hap_pair pair;
    cudaEvent_t done;
} item;

typedef struct rank {
    hap_rank r;
    cuda_backend b;
    cuda_steps steps;
    item item[ITEMS];
    int step, at, weight;
    cuda_whole whole;
} rank;

typedef enum { START, FINISH } call_kind;
static struct {
    call_kind kind;
    int item;
} program[CALLS];
static rank all[FAKE_RANKS];
static int n_calls;
static bool tiles;
static int64_t offset[ITEMS][2 * OPS + 4], col_table[ITEMS][FAKE_RANKS];
static long wrong;

// --- what cuda_pair.c calls ---

const char *cuda_will_read(cuda_context *x, const void *p, int64_t bytes)
{
    (void)x, (void)p, (void)bytes;
    return NULL;
}

void cuda_will_write(cuda_context *x, const void *p, int64_t bytes)
{
    (void)x, (void)p, (void)bytes;
}

const char *cuda_copy(cudaStream_t s, void *y, const void *x, int64_t bytes)
{
    return cuda_said(cudaMemcpyAsync(y, x, (size_t)bytes, cudaMemcpyDeviceToDevice, s),
                     "cudaMemcpy");
}

ncclResult_t ncclAllReduce(const void *x, void *y, size_t n, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t c, cudaStream_t s)
{
    (void)x, (void)y, (void)n, (void)type, (void)op, (void)c, (void)s;
    abort();
}

typedef struct matmul {
    const float *x, *w;
    float *y;
    int64_t rows, k, n;
} matmul;

// Half of the rows a step.
static bool multiply_some(void *arg, int number)
{
    const matmul *m = arg;
    int64_t half = m->rows / 2;
    for (int64_t i = number ? half : 0; i < (number ? m->rows : half); i++)
        for (int64_t j = 0; j < m->n; j++) {
            float sum = 0;
            for (int64_t k = 0; k < m->k; k++)
                sum += m->x[i * m->k + k] * m->w[k * m->n + j];
            m->y[i * m->n + j] = sum;
        }
    return number == 1;
}

// --trace shows each matmul that is called, at its line.
static int traced_line = -1;

int cuda_trace_open(hap_rank *r, cudaStream_t s, int lane, const char *name, int line)
{
    (void)r, (void)s, (void)lane, (void)name;
    traced_line = line;
    return 0;
}

void cuda_trace_close(hap_rank *r, int span, cudaStream_t s)
{
    (void)r, (void)span, (void)s;
    traced_line = -1;
}

void cuda_trace_joined(hap_rank *r, int span, const char *name, int line)
{
    (void)r, (void)span, (void)name, (void)line;
}

const char *hap_cuda_run(cuda_context *x, const hap_op_call *c)
{
    if (traced_line < 0 || traced_line != x->line) {
        fprintf(stderr, "a matmul of a pair that no trace shows\n");
        abort();
    }
    const hap_tensor *in = c->in[0], *w = c->in[1], *y = c->out[0];
    matmul m = {in->data, w->data, y->data, in->local[0], in->local[1], y->local[1]};
    fake_call_own(x->stream, NULL, multiply_some, &m, sizeof m);
    return NULL;
}

// --- what a program computes ---

static float value(uint64_t number, int q, int what, int64_t row, int64_t col)
{
    uint64_t z = coll_mix((number * 8 + (uint64_t)q) * 8 + (uint64_t)what);
    return (float)((int)(coll_mix(z + (uint64_t)(row * 64 + col)) % 5) - 2);
}

// What values of the pair are drawn from, in this step.
static uint64_t values(const item *x)
{
    return (uint64_t)(x->q->step * ITEMS + x->number);
}

static bool consumes(const item *x)
{
    return x->call.kind == HAP_ALL_GATHER || x->columns;
}

// The first column that a rank holds of the side that is cut so.
static int64_t first_column(const item *x, int q)
{
    int64_t first = 0;
    for (int i = 0; i < q; i++)
        first += col_table[x->number][i];
    return first;
}

static int operand_of(const item *x, int q)
{
    return consumes(x) ? 0 : q; // what is gathered is of all
}

// Element of a product of rank q.
static float made(const item *x, int q, int op, int64_t row, int64_t col)
{
    float sum = 0;
    int64_t first = x->columns ? first_column(x, q) : 0;
    for (int64_t k = 0; k < x->w[op]->local[0]; k++)
        sum +=
            value(values(x), operand_of(x, q), 7, row, first + k) * value(values(x), q, op, k, col);
    return sum;
}

static bool fill(void *arg, int number)
{
    item *x = arg;
    int me = x->q->r.id;
    int64_t first = consumes(x) ? hap_pair_src(&x->q->r, &x->pair, me).f1.lo : 0;
    float *to = x->x->data;
    (void)number;
    for (int64_t i = 0; i < x->x->local[0]; i++)
        for (int64_t k = 0; k < x->x->local[1]; k++)
            *to++ = value(values(x), operand_of(x, me), 7, first + i, k);
    for (int op = 0; op < x->n_ops; op++) {
        to = x->w[op]->data;
        for (int64_t k = 0; k < x->w[op]->local[0]; k++)
            for (int64_t j = 0; j < x->w[op]->local[1]; j++)
                *to++ = value(values(x), me, op, k, j);
    }
    return true;
}

static void poison(hap_tensor *t)
{
    memset(t->data, 0xA5, (size_t)t->bytes);
}

static bool spoil_operands(void *arg, int number)
{
    item *x = arg;
    (void)number;
    poison(x->x);
    for (int op = 0; op < x->n_ops; op++)
        poison(x->w[op]);
    return true;
}

static bool spoil_results(void *arg, int number)
{
    item *x = arg;
    (void)number;
    poison(x->dst);
    for (int op = 0; op < x->n_ops; op++)
        poison(x->y[op]);
    if (x->call.scratch) poison(x->call.scratch);
    return true;
}

static float expected(const item *x, int64_t row, int64_t col)
{
    float sum = 0;
    if (x->columns) col += first_column(x, x->q->r.id);
    if (consumes(x)) return value(values(x), 0, 7, row, col);
    for (int q = 0; q < fake.n; q++) {
        int64_t cols = col_table[x->number][q];
        if (x->call.kind != HAP_ALL_TO_ALL)
            sum += made(x, q, 0, row, col);
        else if (col >= 0 && col < cols)
            return made(x, q, 0, row, col);
        else
            col -= cols;
    }
    return sum;
}

static void look(float have, float want)
{
    wrong += !(have <= want && have >= want);
}

static bool check(void *arg, int number)
{
    const item *x = arg;
    int me = x->q->r.id;
    int64_t first = consumes(x) ? 0 : hap_pair_dst(&x->q->r, &x->pair, me).f1.lo;
    const float *have = x->dst->data;
    (void)number;
    for (int64_t i = 0; i < x->dst->local[0]; i++)
        for (int64_t j = 0; j < x->dst->local[1]; j++)
            look(*have++, expected(x, first + i, j));
    for (int op = 0; op < x->n_ops && consumes(x); op++) {
        have = x->y[op]->data;
        for (int64_t i = 0; i < x->y[op]->local[0]; i++)
            for (int64_t j = 0; j < x->y[op]->local[1]; j++)
                look(*have++, made(x, me, op, i, j));
    }
    return true;
}

static void enqueue(rank *q)
{
    item *x = &q->item[program[q->at].item];
    cudaStream_t compute = q->b.x.stream;
    if (program[q->at++].kind == START) {
        fake_call(compute, fill, x);
        cuda_pair_run(&q->r, &x->pair, x->number % 3 > 0, x->done); // alone or not
        fake_call(compute, spoil_operands, x);                      // the memory is another's
        return;
    }
    if (!consumes(x)) cudaStreamWaitEvent(compute, x->done, 0);
    fake_call(compute, check, x);
    fake_call(compute, spoil_results, x);
}

// --- programs ---

static hap_tensor *take(rank *q, int number, int at, int64_t end[2], hap_segment seg,
                        const hap_dim *dims)
{
    int64_t bytes = hap_dim_size(&dims[0]) * hap_dim_size(&dims[1]) * (int64_t)sizeof(float);
    offset[number][at] = q->item[number].room * ROOM + end[seg];
    end[seg] += (bytes + 255) / 256 * 256;
    if (end[seg] > ROOM) abort();
    return (hap_at)(&q->r, seg, &offset[number][at], HAP_F32, 2, dims);
}

static void draw_chunks(item *x, int n, bool gathered)
{
    x->n_chunks = 0;
    for (int d = 0; d < n; d++)
        for (int64_t k = 1 + coll_below(3); k > 0; k--) {
            int at = x->n_chunks++, to = (int)coll_below(at + 1);
            memcpy(x->chunk[at], x->chunk[to], sizeof x->chunk[at]);
            x->chunk[to][0] = d;
            x->chunk[to][1] = 1 + coll_below(4);
        }
    for (int k = 1; k < x->n_chunks; k++)
        if (coll_chance(40)) x->chunk[k][1] *= -1;
    for (int k = 0; k < x->n_chunks && gathered; k++) {
        int64_t via = coll_below(n);
        if (!pair_via_fits((const int64_t(*)[3])x->chunk, x->n_chunks, k, via)) continue;
        x->chunk[k][2] = via;
    }
}

// Tensors but scratch.
static void draw_item(rank *q, int number, int room, int64_t end[2])
{
    static const hap_coll_kind kinds[] = {HAP_ALL_GATHER, HAP_ALL_GATHER, HAP_REDUCE_SCATTER,
                                          HAP_ALL_REDUCE, HAP_ALL_TO_ALL};
    item *x = &q->item[number];
    *x = (item){.q = q, .number = number, .room = room, .n_ops = 1};
    hap_coll_kind kind = kinds[coll_below(fake.by_nccl ? 3 : 5)];
    x->columns = kind == HAP_ALL_TO_ALL && coll_chance(50);
    hap_form form = coll_put(&q->r, 1);
    draw_chunks(x, kind == HAP_ALL_REDUCE ? 1 : fake.n, kind == HAP_ALL_GATHER);
    const bool deep = tiles && kind == HAP_ALL_GATHER && coll_chance(25); // in parts of k
    int64_t n_rows = 1 + coll_below(deep ? 12 : 40), cols = 4 * (1 + coll_below(3));
    hap_dim rows = WHOLE(n_rows), cut = CUT(0, n_rows, coll_table(n_rows, fake.n, false));
    hap_dim k = WHOLE(deep ? 64 * (32 + coll_below(8)) : 4 * (1 + coll_below(2)));
    hap_dim n = WHOLE(cols), of_n = n;
    if (kind == HAP_ALL_TO_ALL) {
        const int64_t *t = coll_table(2 * fake.n, fake.n, coll_chance(50));
        for (int i = 0; i < fake.n; i++)
            col_table[number][i] = 4 * t[i];
        n = WHOLE(8 * fake.n);
        of_n = CUT(0, 8 * fake.n, col_table[number]);
    }
    hap_dim of_k = k; // what the matmuls see
    if (x->columns) {
        k = n;
        of_k = of_n;
        n = of_n = WHOLE(cols);
    }
    if (kind == HAP_ALL_GATHER || x->columns) {
        x->n_ops = 1 + (int)coll_below(OPS);
        x->x = x->src = take(q, number, 0, end, SEG_LOCAL, (hap_dim[]){cut, k});
        x->dst = take(q, number, 1, end, SEG_SYM, (hap_dim[]){rows, of_k});
    } else {
        bool sums = kind == HAP_ALL_REDUCE, in_place = sums && coll_chance(50);
        x->x = take(q, number, 0, end, SEG_LOCAL, (hap_dim[]){rows, k});
        x->src = take(q, number, 1, end, sums ? SEG_SYM : SEG_LOCAL, (hap_dim[]){rows, of_n});
        x->y[0] = x->src;
        x->dst = in_place
                     ? x->src
                     : take(q, number, 2, end, kind == HAP_REDUCE_SCATTER ? SEG_LOCAL : SEG_SYM,
                            (hap_dim[]){sums ? rows : cut, n});
    }
    for (int op = 0; op < x->n_ops; op++) {
        x->w[op] = take(q, number, 3 + 2 * op, end, SEG_LOCAL, (hap_dim[]){of_k, of_n});
        if (x->src == x->x)
            x->y[op] = take(q, number, 4 + 2 * op, end, SEG_LOCAL, (hap_dim[]){rows, n});
    }
    x->call = (hap_coll_call){kind, HAP_SUM, 1, form, 1, &x->dst, &x->src, NULL};
    if (coll_chance(70) && !x->columns)
        x->tiles = pair_tiles_draw(coll_below, kind, fake.n, x->listed);
}

// The calls of the pair, as a program makes them.
static void collect(item *x)
{
    hap_rank *r = &x->q->r;
    hap_op_call op = {.op = HAP_OP_matmul, .n_out = 1, .n_in = 2, .n_attr = 1};
    hap_pair_begin(r, x->n_chunks, (const int64_t(*)[3])x->chunk);
    if (x->tiles.said) hap_pair_tile(r, &x->tiles);
    if (consumes(x)) {
        hap_pair_start(r, &x->call);
        hap_pair_wait(r, NULL);
    }
    for (int i = 0; i < x->n_ops; i++) {
        op.in[0] = consumes(x) ? x->dst : x->x;
        op.in[1] = x->w[i];
        op.out[0] = x->y[i];
        hap_pair_op(r, &op);
    }
    if (!consumes(x)) hap_pair_start(r, &x->call);
    hap_pair_end(r);
    x->pair = r->pair;
}

static void draw_pair(int number, int room, uint64_t seed)
{
    int64_t end[2], need = 0;
    for (int i = 0; i < fake.n; i++) {
        end[0] = end[1] = 0;
        coll_seed(seed);
        draw_item(&all[i], number, room, end);
        int64_t bytes = hap_coll_scratch_bytes(&all[i].r, &all[i].item[number].call);
        if (bytes > need) need = bytes;
    }
    if (end[SEG_SYM] + need > ROOM) abort();
    for (int i = 0; i < fake.n; i++) {
        item *x = &all[i].item[number];
        hap_dim d = WHOLE(need);
        int64_t *at = &offset[number][2 * OPS + 3];
        *at = room * ROOM + end[SEG_SYM];
        if (need) x->call.scratch = (hap_at)(&all[i].r, SEG_SYM, at, HAP_BOOL, 1, &d);
        collect(x);
    }
}

static void draw_program(uint64_t seed)
{
    int open[OPEN] = {-1, -1}, n = 0;
    n_calls = 0;
    while (n < ITEMS || open[0] >= 0 || open[1] >= 0) {
        int room = (int)fake_draw(OPEN);
        if (open[room] >= 0) {
            program[n_calls].kind = FINISH;
            program[n_calls++].item = open[room];
            open[room] = -1;
        } else if (n < ITEMS) {
            draw_pair(n, room, seed + (uint64_t)n * 977);
            open[room] = n;
            program[n_calls].kind = START;
            program[n_calls++].item = n++;
        }
    }
}

static void begin(int n_ranks, int steps)
{
    static const int weights[] = {1, 8, 64};
    fake.n = n_ranks;
    for (int i = 0; i < n_ranks; i++) {
        rank *q = &all[i];
        memset(q, 0, sizeof *q);
        q->weight = weights[fake_draw(3)];
        q->r = (hap_rank){.id = i, .n_ranks = n_ranks, .n_axes = 1, .n_classes = 1};
        q->r.member = i, q->r.n_members = n_ranks;
        q->r.size[0] = n_ranks, q->r.size[1] = 1;
        q->r.coord[0] = i;
        q->r.backend = &q->b;
        q->b.steps = &q->steps;
        q->r.seg_bytes[0] = q->r.seg_bytes[1] = fake.room;
        q->r.seg[SEG_LOCAL] = fake.local[i];
        memset(fake.local[i], 0xA5, (size_t)fake.room);
        memset(fake.sym[i], 0xA5, (size_t)fake.room);
        cudaStreamCreateWithPriority(&q->b.x.stream, 0, 0);
        cudaStreamCreateWithPriority(&q->b.stream[1], 0, 0);
        q->b.group[1] = fake_comm(0, i);
        q->b.warm = steps > 1;
        q->r.opt.cuda.tiles = tiles ? HAP_CUDA_tiles_all : HAP_CUDA_tiles_off;
        q->r.opt.cuda.stores = HAP_CUDA_stores_on;
        q->r.seg[SEG_SYM] = cuda_put_start(&q->r, fake.room);
        q->b.peers[1] = !fake.by_nccl;
        cuda_pair_start(&q->r);
    }
}

static void end(void)
{
    fake_forget();
    fake_messages_forget();
    for (int i = 0; i < fake.n; i++) {
        rank *q = &all[i];
        if (q->whole.exec) cuda_whole_free(&q->r, &q->whole);
        for (int k = 0; k < ITEMS; k++)
            cudaEventDestroy(q->item[k].done);
        cuda_pair_end(&q->r);
        cuda_put_end(&q->r);
        cudaStreamDestroy(q->b.x.stream);
        cudaStreamDestroy(q->b.stream[1]);
        fake_comm_free(q->b.group[1]);
        hap_tensor_free_all(&q->r);
        free(q->r.tensor);
    }
}

static struct {
    int n;
    bool by_graph[STEPS];
} steps;

// A rank's host waits for its device before the next step.
static bool may_act(const rank *q)
{
    bool next = q->step + 1 < steps.n && fake_stream_idle(q->b.x.stream);
    return q->at < n_calls || next;
}

static void act(rank *q)
{
    if (q->at == n_calls) {
        q->step++;
        q->at = 0;
    } else if (steps.by_graph[q->step]) {
        cuda_whole_launch(&q->r, &q->whole, false);
        q->at = n_calls;
    } else {
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
    for (all[i].at = 0; all[i].at < n_calls;)
        enqueue(&all[i]);
}

typedef enum { LIVE, CAPTURED, SILENT } how_captured;
static long released;

// The step as one graph, in a trial; what it computed does not count where it was released.
static void try_graph(bool silent)
{
    hap_rank *r[FAKE_RANKS];
    cuda_whole w[FAKE_RANKS];
    long before = wrong;
    for (int i = 0; i < fake.n; i++)
        r[i] = &all[i].r;
    bool passed = fake_trial(r, w, enqueue_all, silent);
    released += !passed;
    if (!passed) wrong = before;
    for (int i = 0; i < fake.n && passed; i++)
        all[i].whole = w[i];
    for (int k = steps.n; k < STEPS; k++)
        steps.by_graph[k] = passed && fake_draw(3);
}

// False: it does not end.
static bool run(int n_ranks, int first, how_captured how, uint64_t seed)
{
    fake_seed(seed);
    memset(&steps, 0, sizeof steps);
    begin(n_ranks, first);
    draw_program(seed * 131);
    for (int i = 0; i < n_ranks * ITEMS; i++)
        cudaEventCreateWithFlags(&all[i / ITEMS].item[i % ITEMS].done, 0);
    fake_seed(seed); // weights of the streams
    bool ended = run_steps(1);
    if (ended && how != LIVE) {
        try_graph(how == SILENT);
        ended = run_steps(STEPS - 1);
    }
    end();
    return ended;
}

// --- waits that are left out ---

typedef enum { OTHER, COMPUTE, BESIDE, WAITS } role;

static role role_of(cudaStream_t s)
{
    for (int i = 0; i < fake.n; i++) {
        const cuda_backend *b = &all[i].b;
        if (s == b->x.stream) return COMPUTE;
        if (s == b->beside) return BESIDE;
        if (s == b->waits) return WAITS;
    }
    return OTHER; // of one-sided puts
}

static role waits_not, for_what;

static bool rash(cudaStream_t s, cudaStream_t recorded)
{
    return role_of(s) == waits_not && role_of(recorded) == for_what;
}

// Streams of one-sided puts do not wait for what is to be passed on; or, by tiles, for what is
// made.
static bool deaf(cudaStream_t s, const uint32_t *at)
{
    for (int i = 0; i < fake.n; i++) {
        int64_t flag = ((const char *)at - fake.sym[i] - fake.room) / CUDA_PUT_FLAG_BYTES;
        bool here = (const char *)at >= fake.sym[i] + fake.room &&
                    (const char *)at < fake.sym[i] + fake.room + FAKE_FLAGS;
        int64_t by_rank = (int64_t)CUDA_MASKS * CUDA_PUT_KINDS * fake.n;
        if (here && flag >= by_rank) return tiles && role_of(s) != COMPUTE;
        if (here && tiles) return false;
        if (here) return role_of(s) == OTHER && flag / fake.n % CUDA_PUT_KINDS == CUDA_PUT_ARRIVED;
    }
    return false;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *what;
        int steps; // 1: matmuls are rehearsed
        role waits_not, for_what;
        how_captured captured;
        bool deaf, by_nccl, tiles;
    } cases[] = {
        {"as it is", 2, OTHER, OTHER, LIVE, false, false, false},
        {"by NCCL", 2, OTHER, OTHER, LIVE, false, true, false},
        {"rehearsed", 1, OTHER, OTHER, LIVE, false, false, false},
        {"matmuls before rows have come", 2, COMPUTE, WAITS, LIVE, false, false, false},
        {"what follows before sums and copies", 2, COMPUTE, BESIDE, LIVE, false, false, false},
        {"one-sided puts before rows are made", 2, OTHER, COMPUTE, LIVE, false, false, false},
        {"sums and copies before rows are made", 2, BESIDE, COMPUTE, LIVE, false, false, false},
        {"passed on before rows have come", 2, OTHER, OTHER, LIVE, true, false, false},
        {"captured", 2, OTHER, OTHER, CAPTURED, false, false, false},
        {"by tiles", 2, OTHER, OTHER, LIVE, false, false, true},
        {"by tiles, before rows are made", 2, OTHER, OTHER, LIVE, true, false, true},
        {"by tiles, before what follows may", 2, COMPUTE, BESIDE, LIVE, false, false, true},
        {"by tiles, captured", 2, OTHER, OTHER, CAPTURED, false, false, true},
        {"by tiles, captured, flags kept", 2, OTHER, OTHER, SILENT, false, false, true},
        {"captured, a rank keeps its flags", 2, OTHER, OTHER, SILENT, false, false, false},
    };
    int programs = argc > 1 ? atoi(argv[1]) : 200, failed = 0;
    uint64_t seed = argc > 2 ? (uint64_t)atoll(argv[2]) : 1;
    fake_ranks_new((int64_t)OPEN * ROOM);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        bool whole = cases[c].waits_not == OTHER && cases[c].for_what == OTHER;
        int stuck = 0, bad = 0;
        waits_not = cases[c].waits_not;
        for_what = cases[c].for_what;
        fake_rash(whole ? NULL : rash);
        fake_deaf(cases[c].deaf ? deaf : NULL);
        whole = whole && !cases[c].deaf;
        fake.by_nccl = cases[c].by_nccl;
        tiles = cases[c].tiles;
        int n = cases[c].captured ? 1 + programs / 5 : programs; // those take five steps
        released = 0;
        for (int k = 0; k < n; k++) {
            wrong = 0;
            stuck +=
                !run(2 + k % 3, cases[c].steps, cases[c].captured, seed * 100003 + (uint64_t)k);
            bad += wrong > 0;
        }
        bool ok = stuck == 0 && (whole ? bad == 0 : bad > 0);
        if (whole) ok &= released == (cases[c].captured == SILENT ? n : 0);
        failed += !ok;
        printf("%-42s %d programs, %d with wrong values, %d without an end, %ld released: %s\n",
               cases[c].what, n, bad, stuck, released, ok ? "all right" : "FAILED");
    }
    fake_ranks_free();
    return failed ? 1 : 0;
}
