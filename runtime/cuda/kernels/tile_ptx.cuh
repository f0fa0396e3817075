// Instructions of sm_90a that CUDA C++ has no words for: barriers in shared memory, tensor copies,
// warpgroup matmuls. Compiled for that architecture alone.

#ifndef HAP_RUNTIME_CUDA_TILE_PTX_CUH
#define HAP_RUNTIME_CUDA_TILE_PTX_CUH

#include <cstdint>
#include <cuda.h>
#include <cuda_bf16.h>

#include "cuda/kernels/cuda_flags.cuh"

// --- barriers in shared memory ---
// Arrivals and waits are unqualified: those that name a scope of the cluster put a fence of the
// whole device, or an invalidation of L1, into every step of the main loop.

__device__ inline uint32_t shared_address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

__device__ inline void barrier_init(uint32_t barrier, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals)
                 : "memory");
}

__device__ inline void barrier_arrive(uint32_t barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// Arrives once and lets the phase end when so many bytes have come, too.
__device__ inline void barrier_expect(uint32_t barrier, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
}

// At the barrier of the cluster's block `block` that lies where `barrier` does here.
__device__ inline void barrier_arrive_at(uint32_t barrier, uint32_t block)
{
    uint32_t there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(barrier), "r"(block));
    asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(there) : "memory");
}

// Until the phase of this parity has ended.
__device__ inline void barrier_wait(uint32_t barrier, uint32_t parity)
{
    asm volatile("{\n.reg .pred done;\n"
                 "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again;\n}" ::"r"(barrier),
                 "r"(parity)
                 : "memory");
}

// Named barriers of a block: wait for n threads, or only count as come.
__device__ inline void threads_wait(int barrier, int n)
{
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(n) : "memory");
}
__device__ inline void threads_come(int barrier, int n)
{
    asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(n) : "memory");
}

__device__ inline void cluster_wait()
{
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

__device__ inline uint32_t block_of_cluster()
{
    uint32_t rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

template <int N> __device__ inline void registers_up()
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N));
}
template <int N> __device__ inline void registers_down()
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N));
}

// --- tensor copies ---

__device__ inline void prefetch_map(const CUtensorMap *map)
{
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// The box of the map at column x, row y to shared memory; its bytes count at the barrier.
__device__ inline void load_box(uint32_t to, const CUtensorMap *map, int x, int y, uint32_t barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];" ::"r"(to),
                 "l"(map), "r"(x), "r"(y), "r"(barrier)
                 : "memory");
}

// The same to both blocks of the cluster, and to the barriers of both.
__device__ inline void load_box_both(uint32_t to, const CUtensorMap *map, int x, int y,
                                     uint32_t barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),
                 "l"(map), "r"(x), "r"(y), "r"(barrier), "h"((uint16_t)3)
                 : "memory");
}

__device__ inline void store_box(const CUtensorMap *map, uint32_t from, int x, int y)
{
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];"
                 "\ncp.async.bulk.commit_group;" ::"l"(map),
                 "r"(x), "r"(y), "r"(from)
                 : "memory");
}

// A run of bytes, a multiple of 16, where it lies in one piece on both sides.
__device__ inline void store_bytes(char *to, uint32_t from, int bytes)
{
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                 "\ncp.async.bulk.commit_group;" ::"l"(to),
                 "r"(from), "r"(bytes)
                 : "memory");
}
__device__ inline void load_bytes(uint32_t to, const char *from, int bytes, uint32_t barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(barrier)
                 : "memory");
}

// Until all but the last N stores of this thread have read shared memory.
template <int N> __device__ inline void stores_read()
{
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory");
}

// Until all stores of this thread are done.
__device__ inline void stores_done()
{
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

// What threads wrote to shared memory is seen by copies and matmuls that start behind this.
__device__ inline void fence_shared()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
__device__ inline void fence_all()
{
    asm volatile("fence.proxy.async;" ::: "memory");
}

// --- flags in global memory ---

// What other threads of the block wrote before a barrier is released, too.
__device__ inline void count_flag(uint32_t *flag)
{
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(flag) : "memory");
}

// The same n times, and what they released who counted before is acquired. Their count.
__device__ inline uint32_t count_tally(uint32_t *tally, uint32_t n)
{
    uint32_t before;
    asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;"
                 : "=r"(before)
                 : "l"(tally), "r"(n)
                 : "memory");
    return before;
}

// --- matmuls of a warpgroup ---

// Where an operand lies: swizzled by 128 bytes, 8 rows of 128 bytes after one another; blocks of 64
// columns of an operand whose rows are steps of k lie `apart` bytes from each other. The upper half
// is the same for all.
__device__ inline uint32_t operand_at(uint32_t address, int apart)
{
    return (address & 0x3FFFF) >> 4 | (uint32_t)(apart >> 4) << 16;
}

__device__ inline void matmul_begin()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ inline void matmul_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int N> __device__ inline void matmul_wait() // until all but N groups are done
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}

// Registers that matmuls write are not to be read before this.
template <int N> __device__ inline void matmul_results(float (&d)[N])
{
#pragma unroll
    for (int i = 0; i < N; i++)
        asm volatile("" : "+f"(d[i])::"memory");
}

// d [64, N] = a [64, 16] b [16, N] (+ d if ADDS), bf16; A_T, B_T: rows of the operand are steps of
// k. A thread holds of columns 8 j + 2 (lane mod 4) and the next one, d[4 j] and d[4 j + 1] of row
// 16 warp + lane / 4, then those of 8 rows below. What d held counts for dead if not ADDS.
#define TILE_T(t)                                                                                  \
    "%" #t "0,%" #t "1,%" #t "2,%" #t "3,%" #t "4,%" #t "5,%" #t "6,%" #t "7,%" #t "8,%" #t "9,"
#define TILE_TO_30 TILE_T() TILE_T(1) TILE_T(2)
#define TILE_TO_32 TILE_TO_30 "%30,%31"
#define TILE_TO_60 TILE_T() TILE_T(1) TILE_T(2) TILE_T(3) TILE_T(4) TILE_T(5)
#define TILE_TO_64 TILE_TO_60 "%60,%61,%62,%63"
#define TILE_TO_96 TILE_TO_60 TILE_T(6) TILE_T(7) TILE_T(8) "%90,%91,%92,%93,%94,%95"
#define TILE_TO_128                                                                                \
    TILE_TO_60 TILE_T(6) TILE_T(7) TILE_T(8) TILE_T(9) TILE_T(10)                                  \
        TILE_T(11) "%120,%121,%122,%123,%124,%125,%126,%127"
#define TILE_D4(how, i) how(d[i]), how(d[i + 1]), how(d[i + 2]), how(d[i + 3])
#define TILE_D16(how, i)                                                                           \
    TILE_D4(how, i), TILE_D4(how, i + 4), TILE_D4(how, i + 8), TILE_D4(how, i + 12)
#define TILE_D32(how, i) TILE_D16(how, i), TILE_D16(how, i + 16)
#define TILE_D64(how, i) TILE_D32(how, i), TILE_D32(how, i + 32)
#define TILE_D32_0(how)  TILE_D32(how, 0)
#define TILE_D64_0(how)  TILE_D64(how, 0)
#define TILE_D96_0(how)  TILE_D64(how, 0), TILE_D32(how, 64)
#define TILE_D128_0(how) TILE_D64(how, 0), TILE_D64(how, 64)
#define TILE_MATMUL(n, texts, A, B, ADD, AT, BT, ...)                                              \
    asm volatile("{\n.reg .pred adds;\n.reg .b64 a, b;\nsetp.ne.b32 adds, " ADD ", 0;\n"           \
                 "mov.b64 a, {" A ", 0x40000040};\nmov.b64 b, {" B ", 0x40000040};\n"              \
                 "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32.bf16.bf16 {" texts "}, a, b"      \
                 ", adds, 1, 1, " AT ", " BT ";\n}"                                                \
                 : __VA_ARGS__                                                                     \
                 : "r"(a), "r"(b), "n"((int)ADDS), "n"(A_T), "n"(B_T))
#define TILE_STEP(n, texts, A, B, ADD, AT, BT, results)                                            \
    template <int A_T, int B_T, bool ADDS>                                                         \
    __device__ inline void matmul_step(float(&d)[n / 2], uint32_t a, uint32_t b)                   \
    {                                                                                              \
        if constexpr (ADDS)                                                                        \
            TILE_MATMUL(n, texts, A, B, ADD, AT, BT, results("+f"));                               \
        else                                                                                       \
            TILE_MATMUL(n, texts, A, B, ADD, AT, BT, results("=f"));                               \
    }
TILE_STEP(64, TILE_TO_32, "%32", "%33", "%34", "%35", "%36", TILE_D32_0)
TILE_STEP(128, TILE_TO_64, "%64", "%65", "%66", "%67", "%68", TILE_D64_0)
TILE_STEP(192, TILE_TO_96, "%96", "%97", "%98", "%99", "%100", TILE_D96_0)
TILE_STEP(256, TILE_TO_128, "%128", "%129", "%130", "%131", "%132", TILE_D128_0)

// d [64, N] += a [64, 16] b [16, N], where a thread holds a: of columns 2 (lane mod 4) and the next
// one, as two bf16, row 16 warp + lane / 4 and that 8 below; then those 8 columns on. Rows of b are
// steps of k.
#define TILE_HELD_STEP(n, texts, A0, A1, A2, A3, B, results)                                       \
    __device__ inline void matmul_held_step(float(&d)[n / 2], const uint32_t(&a)[4], uint32_t b)   \
    {                                                                                              \
        asm volatile("{\n.reg .b64 b;\nmov.b64 b, {" B ", 0x40000040};\n"                          \
                     "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32.bf16.bf16 {" texts "}, {" A0  \
                     ", " A1 ", " A2 ", " A3 "}, b, 1, 1, 1, 1;\n}"                                \
                     : results("+f")                                                               \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b));                        \
    }
TILE_HELD_STEP(64, TILE_TO_32, "%32", "%33", "%34", "%35", "%36", TILE_D32_0)
TILE_HELD_STEP(128, TILE_TO_64, "%64", "%65", "%66", "%67", "%68", TILE_D64_0)

// --- elements to shared memory ---

__device__ inline uint32_t pack_bf16(float low, float high)
{
    __nv_bfloat162 v = __floats2bfloat162_rn(low, high);
    return *(uint32_t *)&v;
}
__device__ inline float low_of(uint32_t v)
{
    return __uint_as_float(v << 16);
}
__device__ inline float high_of(uint32_t v)
{
    return __uint_as_float(v & 0xFFFF0000u);
}
// Both products, rounded: a product of two bf16 is exact in f32.
__device__ inline uint32_t multiply_pairs(uint32_t a, uint32_t b)
{
    __nv_bfloat162 v = __hmul2_rn(*(__nv_bfloat162 *)&a, *(__nv_bfloat162 *)&b);
    return *(uint32_t *)&v;
}

// Four 8 x 8 matrices of 16-bit elements; a lane's address is that of row lane mod 8 of matrix
// lane / 8.
__device__ inline void store_matrices(uint32_t to, uint32_t v0, uint32_t v1, uint32_t v2,
                                      uint32_t v3)
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to),
                 "r"(v0), "r"(v1), "r"(v2), "r"(v3)
                 : "memory");
}
// The same, each turned: a lane's address is that of its column.
__device__ inline void store_matrices_turned(uint32_t to, uint32_t v0, uint32_t v1, uint32_t v2,
                                             uint32_t v3)
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to),
                 "r"(v0), "r"(v1), "r"(v2), "r"(v3)
                 : "memory");
}
// Where store_matrices put them.
__device__ inline void load_matrices(uint32_t from, uint32_t *v)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                 : "r"(from)
                 : "memory");
}
__device__ inline void store_shared_word(uint32_t to, uint32_t x)
{
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(to), "r"(x) : "memory");
}
__device__ inline uint32_t load_shared_word(uint32_t from)
{
    uint32_t x;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(x) : "r"(from) : "memory");
    return x;
}
__device__ inline uint4 load_shared_vector(uint32_t from)
{
    uint4 v;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "r"(from)
                 : "memory");
    return v;
}
__device__ inline float load_shared_one(uint32_t from)
{
    float v;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(v) : "r"(from) : "memory");
    return v;
}
__device__ inline void store_shared(uint32_t to, float x, float y)
{
    asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(to), "f"(x), "f"(y) : "memory");
}
__device__ inline float2 load_shared(uint32_t from)
{
    float2 v;
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(v.x), "=f"(v.y) : "r"(from) : "memory");
    return v;
}

#endif
