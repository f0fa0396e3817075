// Instructions of sm_80 that CUDA C++ has no words for: copies to shared memory, matmuls of a warp.

#ifndef HAP_RUNTIME_CUDA_TILE_MMA_PTX_CUH
#define HAP_RUNTIME_CUDA_TILE_MMA_PTX_CUH

#include <cstdint>

// 16 bytes to shared memory, of which the first `bytes` come from there and the others are 0.
__device__ inline void copy_piece(uint32_t to, const void *from, int bytes)
{
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
                 "r"(bytes)
                 : "memory");
}
__device__ inline void copies_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int N> __device__ inline void copies_wait() // until all but N groups are there
{
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

// Four 8 x 8 matrices of 16-bit elements, each turned, as load_matrices takes their rows.
__device__ inline void load_turned(uint32_t from, uint32_t (&v)[4])
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                 : "r"(from)
                 : "memory");
}

// d [16, 8] += a [16, 16] b [16, 8], bf16. A lane has of d columns 2 (lane mod 4) and the next, of
// row lane / 4, then of the row 8 below.
__device__ inline void matmul_16x8(float (&d)[4], const uint32_t *a, const uint32_t *b)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

#endif
