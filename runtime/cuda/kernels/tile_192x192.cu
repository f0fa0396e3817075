#include "cuda/kernels/tile_kernel.cuh"

const char *tile_launch_192x192(const tile_args *p, bool a_t, bool b_t, int clusters,
                                cudaStream_t s)
{
    return tile::launch_any<tile::form<192, 192, 3, false, 4, 1>>(p, a_t, b_t, clusters, s);
}
