// Which device a rank computes on.

#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "cuda/device/cuda_backend.h"
#include "cuda/device/cuda_image.h"

void cuda_check(hap_rank *r, const char *why)
{
    if (why) hap_fail(r, HAP_EXIT_FAILED, "%s", why);
}

// The device is the one of hap_places, else that of the rank's place on its host; or the only one
// that the launcher lets this rank see. No two ranks of a host share one, but for --cuda share=on.
static void take_device(hap_rank *r, cuda_backend *b, int n_devices)
{
    enum { ID = 32 };
    MPI_Comm host;
    bool share = cuda_shares(r);
    int place = 0, ranks = 1;
    char id[ID] = "";
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &place);
    MPI_Comm_size(host, &ranks);
    b->device = r->device ? r->device[r->member] : place;
    if (n_devices == 1 && getenv("CUDA_VISIBLE_DEVICES")) b->device = 0;
    if (share) b->device %= n_devices;
    HAP_CK(r, b->device < n_devices,
           "this rank is for device %d of its host, which has %d CUDA device%s (--cuda share=on: "
           "ranks take turns)",
           b->device, n_devices, n_devices == 1 ? "" : "s");
    cuda_check(r, cuda_said(cudaDeviceGetPCIBusId(id, ID, b->device), "cudaDeviceGetPCIBusId"));
    char *all = hap_alloc(r, (size_t)ranks * ID);
    MPI_Allgather(id, ID, MPI_CHAR, all, ID, MPI_CHAR, host);
    for (int k = 0; k < ranks; k++)
        HAP_CK(r, share || k == place || strncmp(all + k * ID, id, ID) != 0,
               "this rank and another of its host are both for the CUDA device %s", id);
    free(all);
    MPI_Comm_free(&host);
}

void cuda_device_take(hap_rank *r)
{
    cuda_backend *b = cuda_of(r);
    int n = 0, driver = 0, runtime = 0;
    // Streams that wait for other ranks are not to share a queue with those that compute.
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
    cudaError_t e = cudaGetDeviceCount(&n);
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    if (driver == 0) hap_fail(r, HAP_EXIT_FAILED, "there is no CUDA driver on this host");
    if (e == cudaErrorInsufficientDriver)
        hap_fail(r, HAP_EXIT_FAILED,
                 "the CUDA driver is too old: it supports CUDA %d.%d, this runtime is %d.%d",
                 driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    if (e == cudaErrorNoDevice || (e == cudaSuccess && n == 0))
        hap_fail(r, HAP_EXIT_FAILED, "there is no CUDA device on this host");
    cuda_check(r, cuda_said(e, "cudaGetDeviceCount"));
    take_device(r, b, n);
    MPI_Comm_split(MPI_COMM_WORLD, r->stage, r->id, &b->stage);
    cuda_check(r, cuda_said(cudaSetDevice(b->device), "cudaSetDevice"));
    cuda_check(r, cuda_image());
}
