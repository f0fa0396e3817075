#include "cuda/kernels/tile_mma.cuh"

const char *tile_mma_128x128(const tile_args *p, bool a_t, bool b_t, int clusters, cudaStream_t s)
{
    return tile::launch_mma_any<tile::mma_form<128, 128>>(p, a_t, b_t, clusters, s);
}
