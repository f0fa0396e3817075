#include "cuda/kernels/cuda_compute.h"

#include "cuda/kernels/cuda_ops.h"
#include "cuda/kernels/cuda_shadow.h"

const char *cuda_compute_start(cuda_context *x, int sms)
{
    CUDA_TRY(cuda_context_start(x, sms));
    CUDA_TRY(cuda_dense_start(x));
    CUDA_TRY(cuda_tiles_start(x));
    return cuda_cudnn_start(x);
}

void cuda_compute_end(cuda_context *x)
{
    cuda_cudnn_end(x);
    cuda_tiles_end(x);
    cuda_dense_end(x);
    cuda_free_shadows(x);
    cuda_columns_end(x);
    cuda_context_end(x);
}
