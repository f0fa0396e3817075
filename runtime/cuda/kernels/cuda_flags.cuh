// Flags in global memory, as kernels read and raise them: on every architecture.

#ifndef HAP_RUNTIME_CUDA_FLAGS_CUH
#define HAP_RUNTIME_CUDA_FLAGS_CUH

#include <cstdint>

__device__ inline uint32_t read_flag(const uint32_t *flag)
{
    uint32_t v;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(v) : "l"(flag) : "memory");
    return v;
}

// For copy engines and for devices that have this one's memory mapped.
__device__ inline void raise_flag(uint32_t *flag, uint32_t number)
{
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(flag), "r"(number) : "memory");
}

// Between blocks of one device.
__device__ inline uint32_t read_flag_here(const uint32_t *flag)
{
    uint32_t v;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(flag) : "memory");
    return v;
}
__device__ inline void raise_flag_here(uint32_t *flag, uint32_t number)
{
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(flag), "r"(number) : "memory");
}

__device__ inline uint64_t nanoseconds()
{
    uint64_t t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
}

#endif
