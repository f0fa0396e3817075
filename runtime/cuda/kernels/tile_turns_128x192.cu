#include "cuda/kernels/tile_kernel.cuh"

const char *tile_launch_turns_128x192(const tile_args *p, bool a_t, bool b_t, int clusters,
                                      cudaStream_t s)
{
    return tile::launch_any<tile::form<128, 192, 2, true, 4, 4>>(p, a_t, b_t, clusters, s);
}
