#include "cuda/kernels/tile_mma.cuh"

const char *tile_mma_192x192(const tile_args *p, bool a_t, bool b_t, int clusters, cudaStream_t s)
{
    return tile::launch_mma_any<tile::mma_form<192, 192>>(p, a_t, b_t, clusters, s);
}
