// The signals of lists whose kernels store parts where they go (docs/cuda.md, "Overlapped pairs"),
// round after round, on two devices or, where there is one, on that: a sender makes rows part by
// part in the receiver's slot and says so there (STORED), once the slot may be written (CREDIT); the
// receiver adds parts of its own as they come. Of sums to all it stores them at both and says so
// (SUMMED), for which the sender's kernel waits at its end.
//
//     stores_litmus_cuda_test [signals of each kind]
//
// As in tile_litmus_cuda_test matrices are the identity, operands change from round to round, and
// every element is compared where it lies. Spoilt protocols are to be noticed: a tally ends early, a
// wait is left out, no credit is waited for, the end waits for nothing. Where sums go to all a
// sender that has them all needs no credit; so that spoilt one is of sums at their owner alone.

#include <cuda_bf16.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/float16.h"
#include "cuda/kernels/tile_gemm.h"
#include "tests/support/litmus.cuh"

enum { PARTS = 32, ROWS = 512, COLS = 512, ALL = PARTS * ROWS, OPERANDS = 3, SMS = 32, FEW_SMS = 2, LISTED = 4096 };
enum { STORED = 0, SUMMED = PARTS, CREDIT = 2 * PARTS, GO, FLAGS };
enum { SKIPPED = 77, AT_ONCE = 4, MEMBERS = 2, SENDER = 0, RECEIVER = 1 };

typedef enum { TO_ALL, TO_OWNER, SHORT_TALLY, NO_WAIT, NO_CREDIT, NO_END, SPOILS } spoil;

typedef struct member {
    int device;
    __nv_bfloat16 *operand[OPERANDS], *identity, *y, *sum, *want[OPERANDS];
    uint32_t *flags, *tallies;
    unsigned long long *wrong;
    char *host, *tables; // list, waits, places, parts
    cudaStream_t stream, starting;
    tile_call call;
    tile_sums sums;
} member;

static member at[MEMBERS];
static char *slot; // of the receiver
static uint32_t *late;
static const int64_t bytes = (int64_t)ALL * COLS * 2;

// Sums go to both members.
static bool to_all(spoil how)
{
    return how != TO_OWNER && how != NO_CREDIT;
}

static void use(const member *m)
{
    OK(cudaSetDevice(m->device));
}

// --- lists ---

enum { WAITS = LISTED * 64, PLACES = WAITS + 4096, PARTS_AT = PLACES + 4096, TABLES = PARTS_AT + 4096 };
static_assert(sizeof(tile_entry) == 64, "");

static void signals(tile_entry *e, int n, int flag, int part, const tile_shape *s, spoil how)
{
    int count = 0;
    for (int i = 0; i < n; i++)
        count += tile_arrivals(s, &e[i]);
    for (int i = 0; i < n; i++) {
        e[i].kind |= TILE_SIGNALS;
        e[i].signal = flag + part, e[i].tally = part;
        e[i].count = how == SHORT_TALLY ? s->parts : count;
    }
}

static void list_of(int me, const tile_shape *s, spoil how)
{
    member *m = &at[me];
    tile_entry *e = (tile_entry *)m->host;
    tile_wait *w = (tile_wait *)(m->host + WAITS);
    int n = 0;
    for (int p = 0; p < PARTS; p++) {
        const int per = ROWS / s->rows;
        const int some = tile_list_rows(s, p * per, (p + 1) * per, ALL, COLS, COLS, SMS, e + n);
        for (int i = n; i < n + some; i++) {
            e[i].place = RECEIVER; // whose rows all are
            e[i].wait = me == SENDER ? 0 : 2 * p, e[i].waits = me == SENDER || !to_all(how) ? 1 : 2;
            e[i].kind |= me == SENDER ? TILE_SENDS : to_all(how) ? TILE_SUMS | TILE_ALL : TILE_SUMS;
            if (me == SENDER && how == NO_CREDIT) e[i].waits = 0;
            if (me == RECEIVER && how == NO_WAIT && p == PARTS / 2) e[i].waits = 0;
        }
        if (me == SENDER) signals(e + n, some, STORED, p, s, how);
        if (me == RECEIVER && to_all(how)) signals(e + n, some, SUMMED, p, s, TO_ALL);
        if (me == RECEIVER) w[2 * p] = tile_wait{STORED + p, 0}, w[2 * p + 1] = tile_wait{CREDIT, -1};
        if (me == SENDER) w[1 + p] = tile_wait{SUMMED + p, 0};
        n += some;
    }
    if (me == SENDER) w[0] = tile_wait{CREDIT, -1};
    if (me == SENDER && to_all(how)) {
        e[n] = tile_entry{};
        e[n].row = INT32_MAX / 2, e[n].wait = 1, e[n].waits = how == NO_END ? 0 : PARTS;
        n++;
    }
    m->call.entries = n;
}

static void call_of(int me, const tile_shape *s, spoil how)
{
    member *m = &at[me];
    tile_call *c = &m->call;
    use(m);
    *c = tile_call{};
    c->p = cuda_gemm_of(ALL, COLS, COLS, false, false, HAP_BF16, HAP_BF16);
    c->b = m->identity, c->y = m->y;
    c->to = me == SENDER ? slot : NULL;
    c->flags = m->flags, c->tallies = m->tallies, c->late = late;
    m->sums = tile_sums{(const struct tile_part *)(m->tables + PARTS_AT), MEMBERS, me, true};
    c->sum = &m->sums;
    list_of(me, s, how);
    char *parts = m->host + PARTS_AT;
    const int64_t one = tile_part_bytes();
    for (int i = 0; i < MEMBERS; i++) {
        right(tile_part_make(c, at[i].sum, (struct tile_part *)(parts + (MEMBERS + i) * one)));
        if (i == me) right(tile_part_make(c, m->sum, (struct tile_part *)(parts + i * one)));
        if (i != me) tile_boxes_make(slot, at[i].flags, (struct tile_part *)(parts + i * one));
    }
    OK(cudaMemcpy(m->tables, m->host, TABLES, cudaMemcpyHostToDevice));
    c->list = (const tile_entry *)m->tables, c->waits = (const tile_wait *)(m->tables + WAITS);
    c->places = (const struct tile_place *)(m->tables + PLACES);
}

// --- rounds ---

// Whose rows are another operand in each round: the place is made anew, behind all that reads it.
static void launch(int me, const tile_shape *s, uint32_t number, spoil how)
{
    member *m = &at[me];
    static char *places; // page-locked: read when the copy runs
    if (!places) OK(cudaHostAlloc(&places, (size_t)MEMBERS * OPERANDS * 4096, cudaHostAllocPortable));
    char *mine = places + (me * OPERANDS + number % OPERANDS) * 4096;
    tile_call c = m->call;
    c.a = m->operand[number % OPERANDS], c.number = number;
    c.sms = number / (me == SENDER ? 2 : 1) % 2 ? FEW_SMS : SMS;
    right(tile_place_make(&c, s, (struct tile_place *)mine));
    OK(cudaMemcpyAsync(m->tables + PLACES + RECEIVER * tile_place_bytes(), mine,
                       (size_t)tile_place_bytes(), cudaMemcpyHostToDevice, m->stream));
    right(tile_run(&c, s, m->stream));
    if (me == RECEIVER || to_all(how))
        compare<<<64, 256, 0, m->stream>>>((const uint4 *)m->sum, (const uint4 *)m->want[number % OPERANDS],
                                           bytes / 16, m->wrong);
    raise(m->stream, at[1 - me].flags, CREDIT, number);
}

static unsigned long long rounds_of(spoil how, int64_t rounds)
{
    unsigned long long bad = 0, one;
    const tile_shape *s = &tile_shapes[TILE_FORM_128x128_1];
    for (int me = 0; me < MEMBERS; me++) {
        use(&at[me]);
        OK(cudaMemset(at[me].flags, 0, FLAGS * TILE_FLAG_APART * 4));
        OK(cudaMemset(at[me].tallies, 0, FLAGS * TILE_FLAG_APART * 4));
        OK(cudaMemset(at[me].wrong, 0, sizeof *at[me].wrong));
        call_of(me, s, how);
        OK(cudaDeviceSynchronize());
    }
    for (int64_t r = 1; r <= rounds; r += AT_ONCE) {
        for (int me = 0; me < MEMBERS; me++) {
            use(&at[me]);
            until(at[me].stream, at[me].flags, GO, (uint32_t)r);
            for (int64_t i = r; i < r + AT_ONCE && i <= rounds; i++)
                launch(me, s, (uint32_t)i, how);
        }
        for (int me = 0; me < MEMBERS; me++) {
            use(&at[me]);
            raise(at[me].starting, at[me].flags, GO, (uint32_t)r);
        }
        for (int me = 0; me < MEMBERS; me++) {
            use(&at[me]);
            OK(cudaDeviceSynchronize());
        }
    }
    for (int me = 0; me < MEMBERS; me++) {
        use(&at[me]);
        OK(cudaMemcpy(&one, at[me].wrong, sizeof one, cudaMemcpyDeviceToHost));
        bad += one;
    }
    if (*late) {
        printf("flag %u did not come\n", *late - 1);
        exit(1);
    }
    return bad;
}

// --- memory ---

static float number_of(int me, int k, int64_t i)
{
    uint64_t z = (uint64_t)(i * OPERANDS + k) * MEMBERS + (uint64_t)me + 12345;
    z = z * 6364136223846793005u + 1442695040888963407u;
    z ^= z >> 29, z *= 0x94D049BB133111EBu;
    return hap_bf16_to_f32(hap_f32_to_bf16((float)((int)(z >> 33) % 2001 - 1000) / 1000 + 2.0f * (float)k));
}

static __nv_bfloat16 *matrix(const uint16_t *host, int64_t n)
{
    __nv_bfloat16 *p;
    OK(cudaMalloc(&p, (size_t)n));
    if (host) OK(cudaMemcpy(p, host, (size_t)n, cudaMemcpyHostToDevice));
    return p;
}

static void member_make(int me, uint16_t *host)
{
    member *m = &at[me];
    use(m);
    for (int k = 0; k < OPERANDS; k++) {
        for (int64_t i = 0; i < (int64_t)ALL * COLS; i++)
            host[i] = hap_f32_to_bf16(number_of(me, k, i));
        m->operand[k] = matrix(host, bytes);
        for (int64_t i = 0; i < (int64_t)ALL * COLS; i++)
            host[i] = hap_f32_to_bf16(number_of(0, k, i) + number_of(1, k, i));
        m->want[k] = matrix(host, bytes);
    }
    for (int i = 0; i < COLS * COLS; i++)
        host[i] = hap_f32_to_bf16(i % (COLS + 1) == 0 ? 1.0f : 0.0f);
    m->identity = matrix(host, COLS * COLS * 2);
    m->y = matrix(NULL, bytes);
    m->sum = matrix(NULL, bytes);
    if (me == RECEIVER) slot = (char *)matrix(NULL, bytes);
    OK(cudaMalloc(&m->flags, FLAGS * TILE_FLAG_APART * 4));
    OK(cudaMalloc(&m->tallies, FLAGS * TILE_FLAG_APART * 4));
    OK(cudaMalloc(&m->wrong, sizeof *m->wrong));
    OK(cudaMalloc(&m->tables, TABLES));
    m->host = (char *)calloc(1, TABLES);
    OK(cudaStreamCreateWithFlags(&m->stream, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&m->starting, cudaStreamNonBlocking));
}

// Two devices that reach each other, or one.
static void set_up(int devices)
{
    int reach = 0;
    if (devices > 1) OK(cudaDeviceCanAccessPeer(&reach, 0, 1));
    if (reach) OK(cudaDeviceCanAccessPeer(&reach, 1, 0));
    at[RECEIVER].device = reach ? 1 : 0;
    for (int me = 0; me < MEMBERS && reach; me++) {
        use(&at[me]);
        OK(cudaDeviceEnablePeerAccess(at[1 - me].device, 0));
    }
    uint16_t *host = (uint16_t *)malloc((size_t)bytes);
    for (int me = 0; me < MEMBERS; me++)
        member_make(me, host);
    free(host);
    OK(cudaHostAlloc(&late, sizeof *late, cudaHostAllocMapped | cudaHostAllocPortable));
    *late = 0;
    litmus_driver();
    printf("on %d device%s\n", reach ? 2 : 1, reach ? "s" : "");
}

int main(int argc, char **argv)
{
    static const char *const what[SPOILS] = {"sums to all", "sums to their owner",
                                             "a tally ends early", "a wait is left out",
                                             "no credit is waited for", "the end waits for nothing"};
    const int64_t wanted = argc > 1 ? atoll(argv[1]) : 6400;
    enum { FEW = 200 };
    int n = 0, major = 0, failed = 0;
    setenv("CUDA_MODULE_LOADING", "EAGER", 1); // a kernel loaded behind GO would wait for it
    if (cudaGetDeviceCount(&n) == cudaSuccess && n > 0)
        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0);
    if (major != 9) {
        printf("skipped: no device of sm_90\n");
        return SKIPPED;
    }
    set_up(n);
    for (int how = 0; how < SPOILS; how++) {
        const bool as_it_is = how == TO_ALL || how == TO_OWNER;
        const int64_t rounds = as_it_is ? (wanted + PARTS - 1) / PARTS : FEW;
        const unsigned long long bad = rounds_of((spoil)how, rounds);
        const bool fine = as_it_is ? bad == 0 : bad > 0;
        failed += !fine;
        printf("%-26s %lld rounds, %lld signals of each kind, %llu vectors wrong: %s\n", what[how],
               (long long)rounds, (long long)rounds * PARTS, bad, fine ? "all right" : "FAILED");
        fflush(stdout);
    }
    return failed ? 1 : 0;
}
