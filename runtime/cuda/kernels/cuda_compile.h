// A program's kernels.cu, compiled by NVRTC.

#ifndef HAP_RUNTIME_CUDA_COMPILE_H
#define HAP_RUNTIME_CUDA_COMPILE_H

// The kernels of a file as a library; NULL with *why. path: of kernels.cu.
void *cuda_compile(const char *folder, const char *source, const char **why);

#endif
