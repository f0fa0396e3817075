// kernels.cu by NVRTC, which is loaded when it is needed: of a CUDA toolkit or of its PyPI package,
// by LD_LIBRARY_PATH. The headers that kernels.cu reads are part of this library
// (cuda_headers.c, generated from runtime/hap).

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cuda/device/cuda_error.h"
#include "cuda/kernels/cuda_compile.h"

extern const char hap_text_kernels_cuh[], hap_text_elements_cuh[], hap_text_formulas_cuh[],
    hap_text_pointwise_h[], hap_text_fusion_args_h[];

#if CUDART_VERSION >= 12080

typedef struct nvrtc { // as nvrtc.h declares them
    int (*version)(int *, int *);
    int (*create)(void **, const char *, const char *, int, const char *const *,
                  const char *const *);
    int (*compile)(void *, int, const char *const *);
    int (*log_size)(void *, size_t *), (*log)(void *, char *);
    int (*size)(void *, size_t *), (*code)(void *, char *);
    int (*destroy)(void **);
} nvrtc;

static const char *load(nvrtc *n)
{
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
    void *lib = NULL;
    for (int i = 0; i < 3 && !lib; i++)
        lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!lib) return "there is no libnvrtc.so (of the CUDA toolkit; LD_LIBRARY_PATH)";
    struct {
        const char *name;
        void *to;
    } want[] = {{"nvrtcVersion", &n->version},        {"nvrtcCreateProgram", &n->create},
                {"nvrtcCompileProgram", &n->compile}, {"nvrtcGetProgramLogSize", &n->log_size},
                {"nvrtcGetProgramLog", &n->log},      {"nvrtcGetCUBINSize", &n->size},
                {"nvrtcGetCUBIN", &n->code},          {"nvrtcDestroyProgram", &n->destroy}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        void *f = dlsym(lib, want[i].name);
        if (!f) return cuda_fail("libnvrtc.so lacks %s", want[i].name);
        memcpy(want[i].to, &f, sizeof f);
    }
    return NULL;
}

enum { N_HEADERS = 5 };
static const char *const header_names[N_HEADERS] = {"hap/kernels.cuh", "hap/elements.cuh",
                                                    "hap/formulas.cuh", "hap/pointwise.h",
                                                    "hap/fusion_args.h"};
static const char *const header_texts[N_HEADERS] = {hap_text_kernels_cuh, hap_text_elements_cuh,
                                                    hap_text_formulas_cuh, hap_text_pointwise_h,
                                                    hap_text_fusion_args_h};

// The compiled code, malloced; NULL with *why.
static char *compile(const nvrtc *n, const char *source, int arch, size_t *size, const char **why)
{
    char target[32], *code = NULL;
    snprintf(target, sizeof target, "-arch=sm_%d", arch);
    const char *const options[] = {target, "-std=c++17", "-default-device"};
    void *p = NULL;
    if (n->create(&p, source, "kernels.cu", N_HEADERS, header_texts, header_names) != 0) {
        *why = "nvrtcCreateProgram failed";
        return NULL;
    }
    if (n->compile(p, 3, options) == 0 && n->size(p, size) == 0 && *size > 0) {
        code = malloc(*size);
        if (code && n->code(p, code) != 0) {
            free(code);
            code = NULL;
        }
        if (!code) *why = "NVRTC gives no code";
    } else {
        size_t bytes = 0;
        char *log = n->log_size(p, &bytes) == 0 && bytes > 0 ? calloc(bytes + 1, 1) : NULL;
        if (log) n->log(p, log);
        const char *line = log ? strstr(log, "error") : NULL;
        *why = cuda_fail("kernels.cu does not compile for sm_%d: %.*s", arch,
                         line ? (int)strcspn(line, "\n") : 0, line ? line : "");
        free(log);
    }
    n->destroy(&p);
    return code;
}

static uint64_t mixed(uint64_t h, const void *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        h = (h ^ ((const unsigned char *)p)[i]) * 0x100000001B3u;
    return h;
}

static char *read_all(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    struct stat s;
    char *p = NULL;
    if (!f) return NULL;
    if (fstat(fileno(f), &s) == 0 && s.st_size > 0 && (p = malloc((size_t)s.st_size))) {
        *size = fread(p, 1, (size_t)s.st_size, f);
        if (*size != (size_t)s.st_size) {
            free(p);
            p = NULL;
        }
    }
    fclose(f);
    return p;
}

// Beside the program if that can be written; nobody minds if not.
static void keep(const char *path, const char *code, size_t size)
{
    char tmp[4200];
    snprintf(tmp, sizeof tmp, "%s.%ld", path, (long)getpid());
    FILE *f = fopen(tmp, "wb");
    if (!f) return;
    bool ok = fwrite(code, 1, size, f) == size;
    ok = fclose(f) == 0 && ok;
    if (!ok || rename(tmp, path) != 0) unlink(tmp);
}

void *cuda_compile(const char *folder, const char *source, const char **why)
{
    nvrtc n = {0};
    int device = 0, major = 0, minor = 0, version[2] = {0};
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess ||
        cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) != cudaSuccess) {
        *why = "the device does not say what it is";
        return NULL;
    }
    *why = load(&n);
    if (*why) return NULL;
    n.version(&version[0], &version[1]);
    uint64_t h = mixed(0xCBF29CE484222325u, source, strlen(source));
    for (int i = 0; i < N_HEADERS; i++)
        h = mixed(h, header_texts[i], strlen(header_texts[i]));
    h = mixed(h, version, sizeof version);
    char path[4096];
    snprintf(path, sizeof path, "%s/build", folder);
    bool built = access(path, W_OK) == 0;
    snprintf(path, sizeof path, "%s%s/kernels.%016llx.sm_%d%d.cubin", folder, built ? "/build" : "",
             (unsigned long long)h, major, minor);
    size_t size = 0;
    char *code = read_all(path, &size);
    if (!code) {
        code = compile(&n, source, major * 10 + minor, &size, why);
        if (!code) return NULL;
        keep(path, code, size);
    }
    cudaLibrary_t library = NULL;
    cudaError_t e = cudaLibraryLoadData(&library, code, NULL, NULL, 0, NULL, NULL, 0);
    free(code);
    *why = cuda_said(e, "cudaLibraryLoadData");
    return *why ? NULL : library;
}

#else

void *cuda_compile(const char *folder, const char *source, const char **why)
{
    (void)folder;
    (void)source;
    *why = "the runtime was built with a CUDA before 12.8";
    return NULL;
}

#endif
