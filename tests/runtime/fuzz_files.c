// Any bytes: the readers of .npy and safetensors give tensors that lie inside the file, or a
// message.

#include "core/npy.h"
#include "core/safetensors.h"
#include "tests/support/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(int holds)
{
    if (!holds) abort();
}

static unsigned touch(const unsigned char *p, int64_t bytes)
{
    unsigned sum = 0;
    for (int64_t i = 0; i < bytes; i++)
        sum += p[i];
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const int64_t item[] = {4, 2, 2, 8, 4, 1}; // by hap_dtype
    static volatile unsigned sum;
    char why[256];
    const char *path = fuzz_file(data, n);

    hap_npy npy;
    why[0] = 0;
    if (hap_npy_open(&npy, path, why, sizeof why)) {
        must(npy.rank <= HAP_MAX_RANK);
        sum += touch(npy.data, npy.elements * item[npy.type]);
        hap_npy_close(&npy);
    } else {
        must(why[0] != 0);
    }
    hap_st st;
    why[0] = 0;
    if (hap_st_open(&st, path, why, sizeof why)) {
        for (int i = 0; i < st.n; i++) {
            const hap_st_tensor *t = &st.tensor[i];
            must(hap_st_find(&st, t->name) == t);
            sum += touch(t->data, t->end - t->begin);
        }
        hap_st_close(&st);
    } else {
        must(why[0] != 0);
    }
    return 0;
}
