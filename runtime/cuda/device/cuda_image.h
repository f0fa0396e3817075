// Whether this runtime has code for the device.

#ifndef HAP_RUNTIME_CUDA_IMAGE_H
#define HAP_RUNTIME_CUDA_IMAGE_H

#ifdef __cplusplus
extern "C" {
#endif

// NULL, or that the current device is of an architecture that it was not built for.
const char *cuda_image(void);

#ifdef __cplusplus
}
#endif

#endif
