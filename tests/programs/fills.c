// A hand-written program, for tests of the runtime: constants and fills of every kind, cut, copied
// by the step into buffers, which --save writes. -DN=1 or 3.

#include "hap/runtime.h"

#if N == 1
static const int64_t rows[] = {8}, cols[] = {5};
#else
static const int64_t rows[] = {3, 0, 5}, cols[] = {1, 4, 0};
#endif
#define OFF(k) ((const int64_t[]){(k)*1024})

int main(int argc, char **argv)
{
    hap_rank *r = hap_init(&argc, &argv, "fills", N);
    static const int64_t local_bytes[] = {16 * 1024};
    static const int classes[N];
    hap_mesh(r, 1, (const int[]){N});
    hap_classes(r, classes);
    hap_segments(r, 0, local_bytes);
#define COLS HAP_DIMS(WHOLE(2), CUT(0, 5, cols))
#define ROWS HAP_DIMS(CUT(0, 8, rows), WHOLE(3))
    hap_tensor *iota = hap_at(r, SEG_LOCAL, OFF(0), HAP_F32, 2, COLS);
    hap_tensor *iota_out = hap_at(r, SEG_LOCAL, OFF(1), HAP_F32, 2, COLS);
    hap_tensor *stored = hap_at(r, SEG_LOCAL, OFF(2), HAP_F32, 2, ROWS);
    hap_tensor *stored_out = hap_at(r, SEG_LOCAL, OFF(3), HAP_F32, 2, ROWS);
    hap_tensor *half = hap_at(r, SEG_LOCAL, OFF(4), HAP_BF16, 2, ROWS);
    hap_tensor *wide = hap_at(r, SEG_LOCAL, OFF(5), HAP_I64, 2, COLS);
    hap_tensor *truth = hap_at(r, SEG_LOCAL, OFF(6), HAP_BOOL, 2, COLS);
    hap_tensor *scalar = hap_at(r, SEG_LOCAL, OFF(7), HAP_F32, 0, NULL);
    hap_const(r, "iota", iota, HAP_IOTA(10, 2));
    hap_const_file(r, "stored", stored, "init#fc.weight");
    hap_buffer(r, "iota.out", iota_out, HAP_FILL(0));
    hap_buffer(r, "stored.out", stored_out, HAP_FILL(0));
    hap_param(r, "half", half, HAP_NORMAL(1, 2));
    hap_buffer(r, "truth", truth, HAP_FILL(1));
    hap_buffer(r, "wide", wide, HAP_IOTA(-1, 1));
    hap_param(r, "scalar", scalar, HAP_UNIFORM(3, 4));
    while (hap_next_step(r)) {
        op_scale(r, iota_out, iota, 1);
        op_scale(r, stored_out, stored, 1);
    }
    return hap_finish(r);
}
