// A hand-written program, for tests of the runtime: y = x W + b fitted by Adam, mean squared error.
// Rows, W's rows and b's entries are cut unevenly over N ranks (-DN=3), some shards empty; the
// mesh may have two axes (-DROWS=2: the batch over both, W over the second).
// W and its moments live cut (ZeRO); `cc -DN=3 fit.c $(pkg-config --cflags --libs haprt)`.

#include "hap/runtime.h"

#if N == 1
static const int64_t rows[] = {12}, wrows[] = {2}, cols[] = {3};
#elif N == 2
static const int64_t rows[] = {7, 5}, wrows[] = {0, 2}, cols[] = {1, 2};
#elif N == 3
static const int64_t rows[] = {5, 0, 7}, wrows[] = {1, 1, 0}, cols[] = {0, 3, 0};
#elif N == 4
static const int64_t rows[] = {3, 1, 6, 2}, wrows[] = {1, 1}, cols[] = {0, 3};
#endif
#if N == 4
enum { AXES = 2, W_AXIS = 1 };
static const int mesh[] = {2, 2};
#    define EVERY (AXIS(0) | AXIS(1))
#else
enum { AXES = 1, W_AXIS = 0 };
static const int mesh[] = {N};
#    define EVERY AXIS(0)
#endif

enum { B = 12, K = 8, M = 3 };
// Offsets by class; the second class has its local segment the other way round.
#define SYM(k)   ((const int64_t[]){(k)*1024, (k)*1024})
#define LOCAL(k) ((const int64_t[]){(k)*1024, (7 - (k)) * 1024})

int main(int argc, char **argv)
{
    hap_rank *r = hap_init(&argc, &argv, "fit", N);
    static const int64_t local_bytes[] = {8 * 1024, 8 * 1024};
    static const int classes[] = {0, 0, 1, 1};
    hap_mesh(r, AXES, mesh);
    hap_classes(r, classes);
    hap_segments(r, 14 * 1024, local_bytes);

    // K = 2 . 2 . 2 is cut on its middle factor: a shard is not one run of the file's bytes.
    hap_tensor *x = hap_at(r, SEG_LOCAL, LOCAL(0), HAP_F32, 2, HAP_DIMS(CUT2(B, rows), WHOLE(K)));
    hap_tensor *y = hap_at(r, SEG_LOCAL, LOCAL(1), HAP_F32, 2, HAP_DIMS(CUT2(B, rows), WHOLE(M)));
    hap_tensor *w = hap_at(r, SEG_SYM, SYM(0), HAP_F32, 2, HAP_DIMS(WHOLE(K), WHOLE(M)));
#define W_CUT HAP_DIMS(CUT_IN(W_AXIS, 2, 2, 2, wrows), WHOLE(M))
    hap_tensor *wr = hap_at(r, SEG_SYM, SYM(1), HAP_F32, 2, W_CUT);
    hap_tensor *m = hap_at(r, SEG_LOCAL, LOCAL(2), HAP_F32, 2, W_CUT);
    hap_tensor *v = hap_at(r, SEG_LOCAL, LOCAL(3), HAP_F32, 2, W_CUT);
    hap_tensor *g = hap_at(r, SEG_SYM, SYM(2), HAP_F32, 2, HAP_DIMS(WHOLE(K), WHOLE(M)));
    hap_tensor *gr = hap_at(r, SEG_SYM, SYM(3), HAP_F32, 2, W_CUT);
    hap_tensor *b = hap_at(r, SEG_SYM, SYM(4), HAP_F32, 1, HAP_DIMS(WHOLE(M)));
    hap_tensor *bc = hap_at(r, SEG_SYM, SYM(5), HAP_F32, 1, HAP_DIMS(CUT(W_AXIS, M, cols)));
    hap_tensor *bg = hap_at(r, SEG_SYM, SYM(6), HAP_F32, 1, HAP_DIMS(WHOLE(M)));
    hap_tensor *bgc = hap_at(r, SEG_SYM, SYM(7), HAP_F32, 1, HAP_DIMS(CUT(W_AXIS, M, cols)));
    hap_tensor *h = hap_at(r, SEG_LOCAL, LOCAL(4), HAP_F32, 2, HAP_DIMS(CUT2(B, rows), WHOLE(M)));
    hap_tensor *d = hap_at(r, SEG_LOCAL, LOCAL(5), HAP_F32, 2, HAP_DIMS(CUT2(B, rows), WHOLE(M)));
    hap_tensor *sq = hap_at(r, SEG_LOCAL, LOCAL(6), HAP_F32, 2, HAP_DIMS(CUT2(B, rows), WHOLE(M)));
    hap_tensor *part = hap_at(r, SEG_SYM, SYM(8), HAP_F32, 0, NULL);
    hap_tensor *loss = hap_at(r, SEG_SYM, SYM(9), HAP_F32, 0, NULL);
    hap_tensor *s1 = hap_at(r, SEG_SYM, SYM(10), HAP_BOOL, 1, HAP_DIMS(WHOLE(2048)));
    hap_tensor *s2 = hap_at(r, SEG_SYM, SYM(12), HAP_BOOL, 1, HAP_DIMS(WHOLE(2048)));

    hap_input(r, "x", x);
    hap_input(r, "y", y);
    hap_param(r, "fc.weight", wr, HAP_NORMAL(0, 0.5));
    hap_param(r, "fc.bias", bc, HAP_UNIFORM(-1, 1));
    hap_alias(r, "tied.weight", "fc.weight");
    hap_state(r, "fc.weight.exp_avg", m);
    hap_state(r, "fc.weight.exp_avg_sq", v);
    hap_grad(r, "fc.weight", gr);
    hap_grad(r, "fc.bias", bgc);
    hap_loss(r, loss);
    hap_batch(r, B, 1);
    hap_schedule(r, (hap_lr){.lr = 0.05, .warmup = 2, .cosine = 40, .min_lr = 0.1});

    while (hap_next_step(r)) {
        hap_tensor *const whole[] = {w, b}, *const parts[] = {wr, bc};
        hap_event *e = coll_all_gather_start(r, AXIS(W_AXIS), FORM_PADDED, 2, whole, parts, s1);
        hap_wait(r, e);
        op_linear(r, h, x, w, b, 0);
        op_sub(r, d, h, y);
        op_mul(r, sq, d, d);
        op_sum(r, part, sq, HAP_INTS(0, 1), false);
        op_scale(r, part, part, 1.0 / (B * M));
        e = coll_all_reduce_start(r, EVERY, FORM_FLAT, 1, &loss, &part, NULL);
        op_scale(r, d, d, 2.0 / (B * M));
        op_linear_dw(r, g, x, d);
        op_sum(r, bg, d, HAP_INTS(0), false);
        hap_wait(r, e);
#if N == 4
        hap_tensor *const grads[] = {g, bg};
        e = coll_all_reduce_start(r, AXIS(0), FORM_FLAT, 2, grads, grads, NULL);
        hap_wait(r, e);
#endif
        hap_tensor *const to[] = {gr, bgc}, *const from[] = {g, bg};
        e = coll_reduce_scatter_start(r, AXIS(W_AXIS), FORM_EVEN_FLAT, 2, to, from, s2);
        hap_wait(r, e);
        op_adam(r, wr, m, v, gr, NULL, 1, 0.9, 0.99, 1e-8, 0.01, true);
        op_sgd(r, bc, bgc, NULL, 1, 0);
    }
    return hap_finish(r);
}
