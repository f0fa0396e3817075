// A hand-written program with two pairs, for tests of the runtime: x += f(x W1) W2, rows of x cut
// over N ranks, columns of W1 and rows of W2 too. With -DPLAIN the brackets are left out.

#include "hap/runtime.h"

#if N == 1
static const int64_t rows[] = {12}, hidden[] = {8};
#elif N == 2
static const int64_t rows[] = {7, 5}, hidden[] = {3, 5};
#elif N == 3
static const int64_t rows[] = {5, 0, 7}, hidden[] = {2, 6, 0};
#elif N == 4
static const int64_t rows[] = {3, 1, 6, 2}, hidden[] = {1, 3, 2, 2};
#endif
#ifdef PLAIN
#    define GROUPS(...)
#    define END
#    define TILES(...)
#else
#    define GROUPS(...)                                                                            \
        hap_overlap(r, sizeof(int64_t[][3]){__VA_ARGS__} / 24, (const int64_t[][3]){__VA_ARGS__})
#    define END hap_overlapped(r)
// Rows and columns of a tile, how, groups.
#    define TILES(rows, cols, how, ...)                                                            \
        hap_tiles(r, rows, cols, how, sizeof(int64_t[][3]){__VA_ARGS__} / 24,                      \
                  (const int64_t[][3]){__VA_ARGS__})
#endif

enum { B = 12, S = 3, K = 5, H = 8, M = B * S * K };

int main(int argc, char **argv)
{
    hap_rank *r = hap_init(&argc, &argv, "pair", N);
    static const int mesh[] = {N}, classes[N];
    static const int64_t local_bytes[] = {16 * 1024};
#define AT(k) ((const int64_t[]){(k)*1024})
    hap_mesh(r, 1, mesh);
    hap_classes(r, classes);
    hap_segments(r, 8 * 1024, local_bytes);
    hap_tensor *x =
        hap_at(r, SEG_LOCAL, AT(0), HAP_F32, 3, HAP_DIMS(CUT(0, B, rows), WHOLE(S), WHOLE(K)));
    hap_tensor *w1 = hap_at(r, SEG_LOCAL, AT(1), HAP_F32, 2, HAP_DIMS(WHOLE(K), CUT(0, H, hidden)));
    hap_tensor *w2 = hap_at(r, SEG_LOCAL, AT(2), HAP_F32, 2, HAP_DIMS(CUT(0, H, hidden), WHOLE(K)));
    hap_tensor *xf = hap_at(r, SEG_SYM, AT(0), HAP_F32, 3, HAP_DIMS(WHOLE(B), WHOLE(S), WHOLE(K)));
    hap_tensor *h =
        hap_at(r, SEG_LOCAL, AT(3), HAP_F32, 3, HAP_DIMS(WHOLE(B), WHOLE(S), CUT(0, H, hidden)));
    hap_tensor *g =
        hap_at(r, SEG_LOCAL, AT(5), HAP_F32, 3, HAP_DIMS(WHOLE(B), WHOLE(S), CUT(0, H, hidden)));
    hap_tensor *yp =
        hap_at(r, SEG_LOCAL, AT(7), HAP_F32, 3, HAP_DIMS(WHOLE(B), WHOLE(S), WHOLE(K)));
    hap_tensor *y =
        hap_at(r, SEG_LOCAL, AT(9), HAP_F32, 3, HAP_DIMS(CUT(0, B, rows), WHOLE(S), WHOLE(K)));
    hap_tensor *slots = hap_at(r, SEG_SYM, AT(2), HAP_BOOL, 1, HAP_DIMS(WHOLE(4 * 1024)));
    hap_param(r, "x", x, HAP_NORMAL(0, 1));
    hap_param(r, "w1", w1, HAP_NORMAL(0, 0.5));
    hap_param(r, "w2", w2, HAP_NORMAL(0, 0.5));

    while (hap_next_step(r)) {
#if N == 1
        GROUPS({0, 1}, {0, 2});
#elif N == 2
        GROUPS({0, 1}, {1, 1}, {1, 3});
#elif N == 3
        GROUPS({0, 1}, {1, 3}, {2, 1}, {1, -2}, {2, 1});
        TILES(128, 256, HAP_TILE_FIRST, {0, 1}, {1, 1}, {2, 1});
#else
        GROUPS({0, 1}, {1, 3}, {2, 1}, {1, -2}, {3, 1, 1});
#endif
        hap_event *e = coll_all_gather_start(r, AXIS(0), FORM_PUT(1), 1, &xf, &x, NULL);
        hap_wait(r, e);
        op_linear(r, h, xf, w1, NULL, HAP_NN);
        END;
        op_relu(r, g, h);
#if N == 1
        GROUPS({0, 1}, {0, 2});
#elif N == 2
        GROUPS({1, 1}, {1, 3}, {0, 1});
#elif N == 3
        GROUPS({1, 3}, {2, 1}, {0, -1});
        TILES(128, 128, HAP_TILE_TURNS | HAP_TILE_SUMS, {1, 1}, {2, 1}, {1, 1}, {2, 3}, {0, 1});
#else
        GROUPS({1, 3}, {2, 1}, {3, 1}, {0, 1}, {0, 1});
#endif
        op_linear(r, yp, g, w2, NULL, HAP_NN);
        e = coll_reduce_scatter_start(r, AXIS(0), FORM_PUT(N > 2 ? N - 1 : 1), 1, &y, &yp, slots);
        END;
        op_scale(r, x, x, 0.5);
        hap_wait(r, e);
        op_add(r, x, x, y);
    }
    return hap_finish(r);
}
