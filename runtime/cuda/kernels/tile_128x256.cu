#include "cuda/kernels/tile_kernel.cuh"

const char *tile_launch_128x256(const tile_args *p, bool a_t, bool b_t, int clusters,
                                cudaStream_t s)
{
    return tile::launch_any<tile::form<128, 256, 2, false, 4, 2>>(p, a_t, b_t, clusters, s);
}
