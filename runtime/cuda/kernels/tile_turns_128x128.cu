#include "cuda/kernels/tile_kernel.cuh"

const char *tile_launch_turns_128x128(const tile_args *p, bool a_t, bool b_t, int clusters,
                                      cudaStream_t s)
{
    return tile::launch_any<tile::form<128, 128, 2, true, 5, 4>>(p, a_t, b_t, clusters, s);
}
