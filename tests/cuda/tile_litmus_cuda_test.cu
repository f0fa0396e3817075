// The signals of lists of tiles (docs/cuda.md, "Overlapped pairs"), round after round on one device:
// a kernel makes rows part by part (MADE), a stream copies each part once it is made and says so
// (ARRIVED), a second kernel that is running already multiplies the parts as they come, and what it
// made is compared before the copy's place may be written again (CREDIT).
//
//     tile_litmus_cuda_test [signals of each kind]
//
// Matrices by which rows are multiplied are the identity and operands change from round to round, so
// that a read before its flag, or a write before its credit, leaves another round's numbers. Every
// element is compared. Protocols that are spoilt on purpose are to be noticed: a tally ends early, a
// wait is left out, a part is told before it is copied, no credit is waited for. From round to round
// now the one kernel has few processors, now the other, so that either is ahead, and a round that is
// read by few is followed by one that many make: it is there too soon without a credit. Four rounds are
// enqueued behind a flag (GO) and then let go: what is ahead is the device's doing, not the host's.

#include <cuda_bf16.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/float16.h"
#include "cuda/kernels/tile_gemm.h"
#include "tests/support/litmus.cuh"

enum { PARTS = 32, ROWS = 512, COLS = 512, ALL = PARTS * ROWS, OPERANDS = 3, SMS = 32, FEW_SMS = 2, LISTED = 4096 };
enum { MADE = 0, ARRIVED = PARTS, COPIED = 2 * PARTS, CREDIT, GO, FLAGS };
enum { SKIPPED = 77, AT_ONCE = 4 }; // rounds that are enqueued, then run and waited for; a stream holds 1024 calls

typedef enum { AS_IT_IS, SHORT_TALLY, NO_WAIT, EARLY, NO_CREDIT, SPOILS } spoil;

static __nv_bfloat16 *operand[OPERANDS], *identity, *y, *slot, *z;
static uint32_t *flags, *tallies, *late;
static unsigned long long *wrong;
static tile_entry *list[2];
static tile_wait *waits;
static cudaStream_t making, sending, reading, starting;

static tile_call call_of(const tile_shape *s, bool makes, spoil how)
{
    static tile_entry host[LISTED];
    int count[PARTS] = {0};
    tile_call c = {};
    c.p = cuda_gemm_of(ALL, COLS, COLS, false, false, HAP_BF16, HAP_BF16);
    c.a = makes ? NULL : slot, c.b = identity, c.y = makes ? y : z;
    c.flags = flags, c.tallies = tallies, c.waits = waits, c.late = late, c.sms = SMS;
    c.entries = 0;
    for (int p = 0; p < PARTS; p++) {
        const int per = ROWS / s->rows;
        tile_entry *e = host + c.entries;
        int n = tile_list_rows(s, p * per, (p + 1) * per, ALL, COLS, COLS, SMS, e);
        for (int i = 0; i < n; i++)
            count[p] += tile_arrivals(s, &e[i]);
        for (int i = 0; i < n; i++) {
            if (makes)
                e[i].kind |= TILE_SIGNALS, e[i].signal = e[i].tally = MADE + p, e[i].count = count[p];
            else
                e[i].wait = p, e[i].waits = how == NO_WAIT && p == PARTS / 2 ? 0 : 1;
            if (makes && how == SHORT_TALLY) e[i].count = s->parts;
        }
        c.entries += n;
    }
    c.list = list[!makes];
    OK(cudaMemcpy(list[!makes], host, (size_t)c.entries * sizeof *host, cudaMemcpyHostToDevice));
    return c;
}

static void round_of(tile_call *maker, tile_call *reader, const tile_shape *s, uint32_t number,
                     spoil how)
{
    const int64_t part = (int64_t)ROWS * COLS;
    const __nv_bfloat16 *from = operand[number % OPERANDS];
    maker->a = from;
    maker->number = reader->number = number;
    maker->sms = number / 4 % 2 ? FEW_SMS : SMS, reader->sms = number % 2 ? FEW_SMS : SMS;
    until(making, flags, COPIED, number - 1);
    right(tile_run(maker, s, making));
    if (how != NO_CREDIT) until(sending, flags, CREDIT, number - 1);
    for (int p = 0; p < PARTS; p++) {
        until(sending, flags, MADE + p, number);
        if (how == EARLY) raise(sending, flags, ARRIVED + p, number);
        OK(cudaMemcpyAsync(slot + p * part, y + p * part, (size_t)part * 2, cudaMemcpyDeviceToDevice,
                           sending));
        if (how != EARLY) raise(sending, flags, ARRIVED + p, number);
    }
    raise(sending, flags, COPIED, number);
    right(tile_run(reader, s, reading));
    compare<<<64, 256, 0, reading>>>((const uint4 *)z, (const uint4 *)from, PARTS * part / 8, wrong);
    raise(reading, flags, CREDIT, number);
}

static unsigned long long rounds_of(spoil how, int64_t rounds)
{
    unsigned long long bad = 0;
    const tile_shape *s = &tile_shapes[0]; // 128 x 256
    OK(cudaMemset(flags, 0, FLAGS * TILE_FLAG_APART * 4));
    OK(cudaMemset(tallies, 0, FLAGS * TILE_FLAG_APART * 4));
    OK(cudaMemset(wrong, 0, sizeof *wrong));
    tile_call maker = call_of(s, true, how), reader = call_of(s, false, how);
    for (int64_t r = 1; r <= rounds; r += AT_ONCE) {
        until(making, flags, GO, (uint32_t)r), until(sending, flags, GO, (uint32_t)r), until(reading, flags, GO, (uint32_t)r);
        for (int64_t i = r; i < r + AT_ONCE && i <= rounds; i++)
            round_of(&maker, &reader, s, (uint32_t)i, how);
        raise(starting, flags, GO, (uint32_t)r);
        OK(cudaDeviceSynchronize());
    }
    OK(cudaMemcpy(&bad, wrong, sizeof bad, cudaMemcpyDeviceToHost));
    if (*late) {
        printf("flag %u did not come\n", *late - 1);
        exit(1);
    }
    return bad;
}

static void set_up(void)
{
    const size_t bytes = (size_t)ALL * COLS * 2;
    uint16_t *host = (uint16_t *)malloc(bytes);
    uint64_t z0 = 12345;
    for (int k = 0; k < OPERANDS; k++) {
        for (int64_t i = 0; i < (int64_t)ALL * COLS; i++) {
            z0 = z0 * 6364136223846793005u + 1442695040888963407u;
            host[i] = hap_f32_to_bf16((float)((int)(z0 >> 33) % 2001 - 1000) / 1000 + 2.0f * (float)k);
        }
        OK(cudaMalloc(&operand[k], bytes));
        OK(cudaMemcpy(operand[k], host, bytes, cudaMemcpyHostToDevice));
    }
    for (int i = 0; i < COLS * COLS; i++)
        host[i] = hap_f32_to_bf16(i % (COLS + 1) == 0 ? 1.0f : 0.0f);
    OK(cudaMalloc(&identity, COLS * COLS * 2));
    OK(cudaMemcpy(identity, host, COLS * COLS * 2, cudaMemcpyHostToDevice));
    free(host);
    OK(cudaMalloc(&y, bytes));
    OK(cudaMalloc(&slot, bytes));
    OK(cudaMalloc(&z, bytes));
    OK(cudaMalloc(&flags, FLAGS * TILE_FLAG_APART * 4));
    OK(cudaMalloc(&tallies, FLAGS * TILE_FLAG_APART * 4));
    OK(cudaMalloc(&wrong, sizeof *wrong));
    OK(cudaHostAlloc(&late, sizeof *late, cudaHostAllocMapped));
    *late = 0;
    tile_wait w[PARTS];
    for (int p = 0; p < PARTS; p++)
        w[p] = tile_wait{ARRIVED + p, 0};
    OK(cudaMalloc(&waits, sizeof w));
    OK(cudaMemcpy(waits, w, sizeof w, cudaMemcpyHostToDevice));
    for (int i = 0; i < 2; i++)
        OK(cudaMalloc(&list[i], LISTED * sizeof(tile_entry)));
    OK(cudaStreamCreateWithFlags(&making, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&sending, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&reading, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&starting, cudaStreamNonBlocking));
    litmus_driver();
}

int main(int argc, char **argv)
{
    static const char *const what[SPOILS] = {"as it is", "a tally ends early", "a wait is left out",
                                             "told before it is copied", "no credit is waited for"};
    const int64_t signals = argc > 1 ? atoll(argv[1]) : 6400;
    enum { FEW = 200 };
    int n = 0, major = 0, failed = 0;
    setenv("CUDA_MODULE_LOADING", "EAGER", 1); // a kernel loaded behind GO would wait for it
    if (cudaGetDeviceCount(&n) == cudaSuccess && n > 0)
        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0);
    if (major != 9) {
        printf("skipped: no device of sm_90\n");
        return SKIPPED;
    }
    set_up();
    for (int how = 0; how < SPOILS; how++) {
        const int64_t rounds = how == AS_IT_IS ? (signals + PARTS - 1) / PARTS : FEW;
        const unsigned long long bad = rounds_of((spoil)how, rounds);
        const bool fine = how == AS_IT_IS ? bad == 0 : bad > 0;
        failed += !fine;
        printf("%-24s %lld rounds, %lld signals of each kind, %llu vectors wrong: %s\n", what[how],
               (long long)rounds, (long long)rounds * PARTS, bad, fine ? "all right" : "FAILED");
        fflush(stdout);
    }
    return failed ? 1 : 0;
}
