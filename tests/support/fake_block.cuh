// One block of a CUDA kernel on the host, thread by thread: what tile_mma_ptx.cuh and tile_ptx.cuh
// have as instructions, for a kernel that is compiled as C++. Threads are contexts of one thread of
// the host, each runs until it waits for others; blocks run one after the other, by number.
//
// Copies to shared memory come as late as they may: when their thread waits for them, and what lies
// there until then is NaN. A piece of 16 bytes that is read before its copy is waited for and all
// threads have met since, or is copied to while others may still read it, ends the test; so does
// what lies outside of shared memory or of what fake_memory named.

#ifndef HAP_TESTS_FAKE_BLOCK_H
#define HAP_TESTS_FAKE_BLOCK_H

#include <check.h>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <cuda_bf16.h>
#include <deque>
#include <functional>
#include <setjmp.h>
#include <ucontext.h>
#include <vector>

static uint3 threadIdx, blockIdx;
static dim3 gridDim;

namespace fake
{
enum { THREADS = 256, PIECE = 16, STACK = 128 << 10 };

struct copy {
    uint32_t to;
    const char *from;
    int bytes;
};
struct thread {
    ucontext_t at; // where it begins; then `go_on`, which asks nothing of the system
    jmp_buf go_on;
    std::vector<char> stack;
    bool begun, done;
    std::vector<copy> open;
    std::deque<std::vector<copy>> groups;
};
// Threads that wait for one another, and what lanes of a warp show each other: of two meetings, as
// one of them may be left late.
struct meeting {
    int size, come;
    uint32_t number;
    struct {
        uint32_t v[32][8];
    } shown[2];
};
struct piece {
    bool open;              // a copy is on its way
    int writer, reader;     // threads; -1: none, reader THREADS: several
    uint32_t written, read; // when: meetings of the block
};
struct range {
    const char *from;
    int64_t bytes;
};

static thread all[THREADS];
static ucontext_t host;
static meeting block, warp[THREADS / 32];
static std::vector<char> shared;
static std::vector<piece> pieces;
static std::vector<range> ranges;
static int now; // the thread that runs
static std::function<void()> body;

static void memory(const void *p, int64_t bytes)
{
    ranges.push_back({(const char *)p, bytes});
}

static void next()
{
    int was = now;
    do
        now = (now + 1) % THREADS;
    while (all[now].done && now != was);
    threadIdx.x = (unsigned)now;
    if (now == was || _setjmp(all[was].go_on)) return;
    if (all[now].begun) _longjmp(all[now].go_on, 1);
    setcontext(&all[now].at);
}

static uint32_t meet(meeting *m)
{
    const uint32_t number = m->number;
    if (++m->come == m->size)
        m->come = 0, m->number++;
    else
        while (m->number == number)
            next();
    return number;
}

static meeting *my_warp()
{
    return &warp[now / 32];
}

// Shows v to the warp; what all lanes show.
static uint32_t (*show(const uint32_t *v, int n))[8]
{
    meeting *const m = my_warp();
    memcpy(m->shown[m->number % 2].v[now % 32], v, (size_t)n * 4);
    return m->shown[meet(m) % 2].v;
}

static void enter()
{
    all[now].begun = true;
    body();
    thread *const own = &all[now];
    ck_assert_msg(own->open.empty() && own->groups.empty(), "copies that nobody waited for");
    own->done = true;
    for (int k = 0; k < THREADS; k++)
        if (!all[k].done) {
            next();
            return;
        }
    setcontext(&host);
}

// A block of the kernel; `bytes` of shared memory.
static void run(unsigned at, unsigned blocks, size_t bytes, std::function<void()> kernel)
{
    body = kernel;
    blockIdx.x = at, gridDim.x = blocks;
    shared.assign(bytes, (char)0xFF);
    pieces.assign(bytes / PIECE, {false, -1, -1, 0, 0});
    block = {THREADS, 0, 1, {}};
    for (meeting &m : warp)
        m = {32, 0, 0, {}};
    for (thread &t : all) {
        t.begun = t.done = false, t.open.clear(), t.groups.clear();
        t.stack.resize(STACK);
        getcontext(&t.at);
        t.at.uc_stack.ss_sp = t.stack.data(), t.at.uc_stack.ss_size = STACK;
        t.at.uc_link = NULL;
        makecontext(&t.at, enter, 0);
    }
    now = 0, threadIdx.x = 0;
    swapcontext(&host, &all[0].at);
}

static piece *piece_at(uint32_t at)
{
    ck_assert_msg(at % PIECE == 0 && at + PIECE <= shared.size(), "shared memory at %u of %zu", at,
                  shared.size());
    return &pieces[at / PIECE];
}

// A thread of the warp reads the piece whose address another one gave.
static void reads(uint32_t at)
{
    piece *p = piece_at(at);
    ck_assert_msg(!p->open && p->writer >= 0, "thread %d reads %u before it is there", now, at);
    ck_assert_msg(p->writer == now || p->written < block.number,
                  "thread %d reads %u, which thread %d wrote, before they have met", now, at,
                  p->writer);
    p->reader = p->read == block.number && p->reader >= 0 && p->reader != now ? (int)THREADS : now;
    p->read = block.number;
}

static const uint16_t *row_at(uint32_t at)
{
    return (const uint16_t *)(shared.data() + at);
}
} // namespace fake

// --- what CUDA has ---

#undef __launch_bounds__
#undef __grid_constant__
#define __launch_bounds__(...)
#define __grid_constant__

static void __syncthreads()
{
    fake::meet(&fake::block);
}
static void __threadfence() {}
static uint32_t __shfl_xor_sync(unsigned, uint32_t v, int apart)
{
    return fake::show(&v, 1)[(fake::now % 32) ^ apart][0];
}
static float __shfl_xor_sync(unsigned all, float v, int apart)
{
    uint32_t bits;
    memcpy(&bits, &v, 4);
    bits = __shfl_xor_sync(all, bits, apart);
    memcpy(&v, &bits, 4);
    return v;
}
static float __uint_as_float(uint32_t v)
{
    float f;
    memcpy(&f, &v, 4);
    return f;
}
template <class T> static T __ldg(const T *p)
{
    return *p;
}
template <class T> static T __ldcg(const T *p)
{
    return *p;
}
template <class T> static void __stcg(T *p, T v)
{
    *p = v;
}
static float __fmul_rn(float a, float b)
{
    return a * b;
}
using std::max;
using std::min;

// --- tile_mma_ptx.cuh ---

static void copy_piece(uint32_t to, const void *from, int bytes)
{
    using namespace fake;
    piece *p = piece_at(to);
    ck_assert_msg(!p->open, "two copies to %u", to);
    ck_assert_msg(p->reader < 0 || p->reader == now || p->read < block.number,
                  "thread %d copies to %u, which others may still read", now, to);
    ck_assert(bytes >= 0 && bytes <= PIECE && (uintptr_t)from % PIECE == 0);
    bool there = bytes == 0;
    for (const range &r : ranges)
        there |= (const char *)from >= r.from && (const char *)from + bytes <= r.from + r.bytes;
    ck_assert_msg(there, "thread %d copies from elsewhere", now);
    memset(shared.data() + to, 0xFF, PIECE);
    p->open = true;
    all[now].open.push_back({to, (const char *)from, bytes});
}
static void copies_commit()
{
    fake::thread *t = &fake::all[fake::now];
    t->groups.push_back(t->open);
    t->open.clear();
}
template <int N> static void copies_wait()
{
    using namespace fake;
    for (thread *t = &all[now]; t->groups.size() > N; t->groups.pop_front())
        for (const copy &c : t->groups.front()) {
            memset(shared.data() + c.to, 0, PIECE);
            memcpy(shared.data() + c.to, c.from, (size_t)c.bytes);
            piece *p = piece_at(c.to);
            p->open = false, p->writer = now, p->written = block.number;
        }
}
static void load_matrices(uint32_t from, uint32_t *v)
{
    using namespace fake;
    const uint32_t(*at)[8] = show(&from, 1);
    const int lane = now % 32;
    reads(from);
    for (int i = 0; i < 4; i++)
        memcpy(&v[i], row_at(at[i * 8 + lane / 4][0]) + lane % 4 * 2, 4);
}
static void load_turned(uint32_t from, uint32_t (&v)[4])
{
    using namespace fake;
    const uint32_t(*at)[8] = show(&from, 1);
    const int lane = now % 32;
    reads(from);
    for (int i = 0; i < 4; i++)
        v[i] = row_at(at[i * 8 + lane % 4 * 2][0])[lane / 4] |
               (uint32_t)row_at(at[i * 8 + lane % 4 * 2 + 1][0])[lane / 4] << 16;
}
static void matmul_16x8(float (&d)[4], const uint32_t *a, const uint32_t *b)
{
    const uint32_t own[6] = {a[0], a[1], a[2], a[3], b[0], b[1]};
    const uint32_t(*v)[8] = fake::show(own, 6);
    const int lane = fake::now % 32;
    for (int e = 0; e < 4; e++) {
        const int row = lane / 4, col = lane % 4 * 2 + e % 2;
        for (int k = 0; k < 16; k++) {
            const uint32_t x = v[row * 4 + k % 8 / 2][e / 2 + k / 8 * 2];
            const uint32_t y = v[col * 4 + k % 8 / 2][4 + k / 8];
            d[e] += __uint_as_float(k % 2 ? x & 0xFFFF0000u : x << 16) *
                    __uint_as_float(k % 2 ? y & 0xFFFF0000u : y << 16);
        }
    }
}

// --- tile_ptx.cuh ---

static uint32_t shared_address(const void *)
{
    return 0;
}
static uint32_t pack_bf16(float low, float high)
{
    const __nv_bfloat162 v = __floats2bfloat162_rn(low, high);
    uint32_t bits;
    memcpy(&bits, &v, 4);
    return bits;
}
static float low_of(uint32_t v)
{
    return __uint_as_float(v << 16);
}
static float high_of(uint32_t v)
{
    return __uint_as_float(v & 0xFFFF0000u);
}
static uint32_t multiply_pairs(uint32_t a, uint32_t b)
{
    return pack_bf16(low_of(a) * low_of(b), high_of(a) * high_of(b));
}
static uint32_t read_flag(const uint32_t *flag)
{
    return *flag;
}
static void count_flag(uint32_t *flag)
{
    ++*flag;
}
static uint32_t count_tally(uint32_t *tally, uint32_t n)
{
    *tally += n;
    return *tally - n;
}
static void raise_flag(uint32_t *flag, uint32_t number)
{
    *flag = number;
}
static uint64_t nanoseconds() // each look takes a while
{
    static uint64_t t;
    return t += 1000;
}

#endif
