// Ops of the table on a GPU in bf16 and f32 against the CPU kernels, at sizes past vectors,
// warps and blocks, with odd row lengths and unaligned rows, and captured against as called. Small
// shapes and every cut of them are in op_cuts_test.

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/float16.h"
#include "cpu/ops_kernels.h"
#include "tests/support/few.h"
#include "tests/support/run_cuda.h"

static const hap_step_state now = {.step = 2, .lr = 0.01, .seed = 7};
static uint64_t state = 5;

static double uniform(double lo, double hi)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return lo + (hi - lo) * (double)(state >> 11) * 0x1p-53;
}

static void set(hap_tensor *t, int64_t i, double v)
{
    if (t->type == HAP_F32)
        ((float *)t->data)[i] = (float)v;
    else if (t->type == HAP_BF16)
        ((uint16_t *)t->data)[i] = hap_f32_to_bf16((float)v);
    else if (t->type == HAP_I64)
        ((int64_t *)t->data)[i] = (int64_t)floor(v);
    else if (t->type == HAP_U8)
        ((uint8_t *)t->data)[i] = (uint8_t)v;
    else
        ((uint8_t *)t->data)[i] = v > 0;
}

static double get(const hap_tensor *t, int64_t i)
{
    if (t->type == HAP_F32) return (double)((const float *)t->data)[i];
    if (t->type == HAP_BF16) return (double)hap_bf16_to_f32(((const uint16_t *)t->data)[i]);
    if (t->type == HAP_I64) return (double)((const int64_t *)t->data)[i];
    return ((const uint8_t *)t->data)[i];
}

// "b4x768 -1 1": type letter (f f32, h bf16, i i64, c u8, b bool), dims, range of the values. A dim
// "96@200/512" is entries 200 to 295 of 512.
static hap_tensor *make(const char *text)
{
    hap_tensor *t = calloc(1, sizeof *t);
    char letter = text[0];
    double lo = -1, hi = 1;
    const char *p = text + 1;
    t->type = letter == 'f'   ? HAP_F32
              : letter == 'h' ? HAP_BF16
              : letter == 'i' ? HAP_I64
              : letter == 'c' ? HAP_U8
                              : HAP_BOOL;
    t->elements = 1;
    while (*p && *p != ' ') {
        char *end;
        int64_t n = strtoll(p, &end, 10);
        t->dim[t->rank] = WHOLE(n);
        if (*end == '@') {
            static const int64_t none = 0;
            t->first[t->rank] = strtoll(end + 1, &end, 10);
            t->dim[t->rank] = CUT(0, strtoll(end + 1, &end, 10), &none);
        }
        t->local[t->rank++] = n;
        t->elements *= n;
        p = *end == 'x' ? end + 1 : end;
    }
    sscanf(p, "%lf %lf", &lo, &hi);
    t->bytes = t->elements * hap_dtype_bytes(t->type);
    t->data = calloc(1, (size_t)t->bytes + 1);
    for (int64_t i = 0; i < t->elements; i++)
        set(t, i, uniform(lo, hi));
    return t;
}

static hap_tensor *clone(const hap_tensor *t)
{
    hap_tensor *c = malloc(sizeof *c);
    *c = *t;
    c->data = malloc((size_t)t->bytes + 1);
    memcpy(c->data, t->data, (size_t)t->bytes);
    return c;
}

static double distance(const hap_tensor *a, const hap_tensor *b)
{
    double d = 0, n = 0;
    for (int64_t i = 0; i < a->elements; i++) {
        double x = get(a, i), y = get(b, i);
        if (!isfinite(x) || !isfinite(y)) {
            if (!(isinf(x) && isinf(y) && (x > 0) == (y > 0))) return HUGE_VAL;
            continue;
        }
        d += (x - y) * (x - y), n += y * y;
    }
    return n > 0 ? sqrt(d / n) : sqrt(d);
}

typedef struct spec {
    hap_op_id op;
    const char *in[8], *out[4]; // in-place rows: no out, n_written operands are written
    hap_attr attr[6];
    int n_written;
    double limit;
} spec;

// Its operands, those of a gradient of attention as the forward pass made them.
static hap_op_call call_of(const spec *s)
{
    hap_op_call c = {.op = s->op, .n_attr = 6};
    memcpy(c.attr, s->attr, sizeof s->attr);
    for (int i = 0; i < 8 && s->in[i]; i++, c.n_in++)
        c.in[i] = s->in[i][0] == '-' ? NULL : make(s->in[i]);
    if (s->op == HAP_OP_sdpa_bwd) {
        hap_op_call f = {.op = HAP_OP_sdpa, .n_out = 2, .n_in = 3, .n_attr = 4};
        f.out[0] = c.in[4], f.out[1] = c.in[5];
        for (int i = 0; i < 3; i++)
            f.in[i] = c.in[1 + i];
        memcpy(f.attr, c.attr, sizeof f.attr);
        ck_assert_ptr_null(hap_cpu_run(&now, &f));
    }
    for (int i = 0; i < s->n_written; i++)
        c.out[c.n_out++] = c.in[i];
    for (int i = 0; i < 4 && s->out[i]; i++)
        c.out[c.n_out++] = make(s->out[i]);
    return c;
}

// The same call on tensors of its own; what it only writes holds rubbish.
static hap_op_call copy_of(const spec *s, const hap_op_call *c)
{
    hap_op_call copy = *c;
    for (int i = 0; i < c->n_in; i++)
        copy.in[i] = c->in[i] ? clone(c->in[i]) : NULL;
    for (int i = 0; i < c->n_out; i++) {
        copy.out[i] = i < s->n_written ? copy.in[i] : clone(c->out[i]);
        if (i >= s->n_written) memset(copy.out[i]->data, 0x7B, (size_t)copy.out[i]->bytes);
    }
    return copy;
}

static void free_call(const spec *s, hap_op_call *c)
{
    for (int i = 0; i < c->n_in; i++)
        if (c->in[i]) free(c->in[i]->data), free(c->in[i]);
    for (int i = s->n_written; i < c->n_out; i++)
        free(c->out[i]->data), free(c->out[i]);
}

static const char *name_of(const spec *s)
{
    return s->in[0] ? s->in[0] : "";
}

static void run_spec(const spec *s)
{
    if (test_left_out(s->op)) return;
    hap_op_call cpu = call_of(s), gpu = copy_of(s, &cpu);
    const char *why = hap_cpu_run(&now, &cpu);
    ck_assert_msg(!why, "%s on the CPU: %s", hap_op_names[s->op], why);
    why = test_cuda_run(&now, &gpu);
    ck_assert_msg(!why, "%s %s: %s", hap_op_names[s->op], name_of(s), why);
    for (int i = 0; i < cpu.n_out; i++) {
        double d = distance(gpu.out[i], cpu.out[i]);
        if (getenv("VERBOSE"))
            printf("%-18s %-22s output %d off by %.2e of %.0e\n", hap_op_names[s->op], name_of(s),
                   i, d, s->limit);
        ck_assert_msg(d <= s->limit, "%s %s: output %d is off by %.3g of %.3g", hap_op_names[s->op],
                      name_of(s), i, d, s->limit);
    }
    free_call(s, &cpu);
    free_call(s, &gpu);
}

// A captured call reads nothing of the host's that is gone when it is launched: cudnn-frontend once
// had the lengths of attention's rows there.
static void run_captured(const spec *s)
{
    if (test_left_out(s->op)) return;
    hap_op_call from = call_of(s), called = copy_of(s, &from), captured = copy_of(s, &from);
    const char *why = test_cuda_run(&now, &called);
    ck_assert_msg(!why, "%s %s: %s", hap_op_names[s->op], name_of(s), why);
    why = test_cuda_run_captured(&now, &captured);
    ck_assert_msg(!why, "%s %s, captured: %s", hap_op_names[s->op], name_of(s), why);
    for (int i = 0; i < called.n_out; i++)
        ck_assert_msg(
            !memcmp(called.out[i]->data, captured.out[i]->data, (size_t)called.out[i]->bytes),
            "%s %s: output %d is another one when captured, off by %.3g", hap_op_names[s->op],
            name_of(s), i, distance(captured.out[i], called.out[i]));
    free_call(s, &from);
    free_call(s, &called);
    free_call(s, &captured);
}

// Values do not depend on how operands lie: the same bits from those that lie channels last.
static void run_last(const spec *s)
{
    if (test_left_out(s->op)) return;
    hap_op_call from = call_of(s), declared = copy_of(s, &from), last = copy_of(s, &from);
    const char *why = test_cuda_run(&now, &declared);
    ck_assert_msg(!why, "%s %s: %s", hap_op_names[s->op], name_of(s), why);
    test_cuda_channels_last(true);
    why = test_cuda_run(&now, &last);
    test_cuda_channels_last(false);
    ck_assert_msg(!why, "%s %s, channels last: %s", hap_op_names[s->op], name_of(s), why);
    for (int i = 0; i < declared.n_out; i++)
        ck_assert_msg(
            !memcmp(declared.out[i]->data, last.out[i]->data, (size_t)declared.out[i]->bytes),
            "%s %s: output %d is another one where operands lie channels last, off by %.3g",
            hap_op_names[s->op], name_of(s), i, distance(last.out[i], declared.out[i]));
    free_call(s, &from);
    free_call(s, &declared);
    free_call(s, &last);
}

// clang-format off
#define I(k) {.i = (k)}
#define F(x) {.f = (x)}
#define LIST(...) ((const int64_t[]){__VA_ARGS__})
#define L(...)    {.v = {(int)(sizeof LIST(__VA_ARGS__) / sizeof(int64_t)), LIST(__VA_ARGS__)}}
#define SDPA(c) {I(c), F(0), F(0), I(0)}
// clang-format on
// The root mean square of a rounding to bf16 is 2^-7 / sqrt(12) of its binade's lower end, or less
// of a value. A product with its bias is rounded twice on one side and once on the other: results
// lie sqrt(3) such roundings apart.
#define NARROW 0x1p-8
#define EXACT  1e-6

// clang-format off
static const spec specs[] = {
    {HAP_OP_linear, {"h96x64", "h64x129", "h129"}, {"h96x129"}, {I(0)}, 0, NARROW},
    {HAP_OP_linear, {"h2x128x768", "h768x2304", "h2304"}, {"h2x128x2304"}, {I(0)}, 0, NARROW},
    {HAP_OP_linear, {"h256x768", "h1003x768"}, {"h256x1003"}, {I(1)}, 0, NARROW},
    {HAP_OP_linear, {"h64x1003", "h1003x256"}, {"h64x256"}, {I(0)}, 0, NARROW},
    {HAP_OP_linear, {"f128x320", "f320x77", "f77"}, {"f128x77"}, {I(0)}, 0, 1e-5},
    {HAP_OP_linear, {"f128x320", "f77x320", "f77"}, {"f128x77"}, {I(1)}, 0, 1e-5},
    {HAP_OP_linear_dw, {"h4x100x320", "h4x100x200"}, {"f320x200"}, {I(0)}, 0, 1e-5},
    {HAP_OP_linear_dw, {"h400x1003", "h400x64"}, {"f1003x64"}, {I(0)}, 0, 1e-5},
    {HAP_OP_linear_dw, {"f400x33", "f400x64"}, {"f33x64"}, {I(0)}, 0, 1e-5},
    // Few tiles of long k, which tile kernels share (--cuda tiles=all).
    {HAP_OP_linear_dw, {"h4096x256", "h4096x192"}, {"h256x192"}, {I(0)}, 0, NARROW},
    {HAP_OP_linear_dw, {"h4096x200", "h4096x264"}, {"f200x264"}, {I(0)}, 0, 3e-5},
    {HAP_OP_linear, {"h136x4096", "h328x4096", "h328"}, {"h136x328"}, {I(1)}, 0, NARROW},
    // Large products of odd extents.
    {HAP_OP_linear, {"h1100x1024", "h1003x1024", "h1003"}, {"h1100x1003"}, {I(1)}, 0, NARROW},
    {HAP_OP_linear, {"h1100x1003", "h1003x1024"}, {"h1100x1024"}, {I(0)}, 0, NARROW},
    {HAP_OP_linear, {"f1100x1003", "f1003x1025"}, {"f1100x1025"}, {I(0)}, 0, 1e-5},
    {HAP_OP_linear_dw, {"h1100x1003", "h1100x1024"}, {"h1003x1024"}, {I(0)}, 0, NARROW},
    {HAP_OP_linear_dw, {"h1100x1024", "h1100x1003"}, {"h1024x1003"}, {I(0)}, 0, NARROW},
    {HAP_OP_linear_dw, {"f1100x1003", "f1100x1025"}, {"f1003x1025"}, {I(0)}, 0, 1e-5},
    {HAP_OP_linear_dw, {"h1100x1003", "h1100x1024"}, {"f1003x1024"}, {I(0)}, 0, 1e-5},

    {HAP_OP_top_gates, {"f70x9 0 1"}, {"f70x9"}, {I(2)}, 0, EXACT},
    {HAP_OP_top_gates, {"h4x70x8 0 1"}, {"h4x70x8"}, {I(3)}, 0, NARROW},
    {HAP_OP_top_gates_bwd, {"f70x9", "f70x9 0 1"}, {"f70x9"}, {I(2)}, 0, 1e-5},
    {HAP_OP_expert_slots, {"f3x100x4 0 1"}, {"f3x100x4x40"}, {I(40)}, 0, 0},
    {HAP_OP_expert_slots, {"f3x100x4 0 1"}, {"f3x100x4x120"}, {I(120)}, 0, 0},
    {HAP_OP_expert_slots_bwd, {"f3x100x4x9", "f3x100x4x9"}, {"f3x100x4"}, {I(9)}, 0, 1e-6},
    {HAP_OP_dispatch, {"h3x100x4x24", "h3x100x64"}, {"h4x3x24x64"}, {I(0)}, 0, NARROW},
    {HAP_OP_dispatch, {"f3x100x4x9", "f3x100x31"}, {"f4x3x9x31"}, {I(0)}, 0, 1e-5},
    {HAP_OP_combine, {"h3x100x4x24", "h4x3x24x64"}, {"h3x100x64"}, {I(0)}, 0, NARROW},
    {HAP_OP_combine, {"f3x100x4x9", "f4x3x9x31"}, {"f3x100x31"}, {I(0)}, 0, 1e-5},
    {HAP_OP_top_index, {"f70x9 0 1"}, {"i70x3"}, {I(3)}, 0, 0},
    {HAP_OP_top_index, {"h4x70x128 0 1"}, {"i4x70x8"}, {I(8)}, 0, 0},
    {HAP_OP_expert_linear, {"h300x1x64", "i300x2 0 8", "h8x64x192"}, {"h300x2x192"}, {I(0)}, 0, NARROW},
    {HAP_OP_expert_linear, {"h300x1x64", "i300x2 0 8", "h8x192x64"}, {"h300x2x192"}, {I(1)}, 0, NARROW},
    {HAP_OP_expert_linear, {"h3x150x72", "i3x150 0 3", "h3x72x129"}, {"h3x150x129"}, {I(0)}, 0, NARROW},
    {HAP_OP_expert_linear, {"h333x71", "i333 0 2", "h2x40x71"}, {"h333x40"}, {I(1)}, 0, NARROW},
    {HAP_OP_expert_linear, {"f300x1x31", "i300x2 0 8", "f8x31x65"}, {"f300x2x65"}, {I(0)}, 0, 1e-5},
    {HAP_OP_expert_linear, {"f70x64", "i70 3 5", "f8x9x64"}, {"f70x9"}, {I(1)}, 0, 1e-5},
    {HAP_OP_expert_linear, {"h200x64", "i200 0 8", "h3@2/8x64x64"}, {"h200x64"}, {I(0)}, 0, NARROW},
    // More than a tile, which the tile kernel takes (--cuda tiles=all).
    {HAP_OP_expert_linear, {"h900x1x200", "i900x2 0 3", "h3x520x200"}, {"h900x2x520"}, {I(1)}, 0, NARROW},
    {HAP_OP_expert_linear, {"h1500x192", "i1500 0 4", "h4x192x520"}, {"h1500x520"}, {I(0)}, 0, NARROW},
    {HAP_OP_expert_linear, {"h700x64", "i700 0 9", "h3@2/9x136x64"}, {"h700x136"}, {I(1)}, 0, NARROW},
    {HAP_OP_expert_linear_dw, {"h900x1x320", "i900x2 0 3", "h900x2x520"}, {"f3x320x520"}, {I(3)}, 0, 1e-5},
    {HAP_OP_expert_linear_dw, {"h333x128", "i333 1 2", "h333x72"}, {"h3x128x72"}, {I(3)}, 0, NARROW},
    {HAP_OP_room_linear, {"h3x4x300x192", "i3x700 0 4", "h4x264x192"}, {"h3x4x300x264"}, {I(1)}, 0, NARROW},
    {HAP_OP_room_linear_dw, {"h3x4x300x320", "i3x700 0 4", "h3x4x300x264"}, {"f4x320x264"}, {I(0)}, 0, 1e-5},
    {HAP_OP_expert_linear_dw, {"h300x1x64", "i300x2 0 8", "h300x2x192"}, {"f8x64x192"}, {I(8)}, 0, 1e-5},
    {HAP_OP_expert_linear_dw, {"h300x2x192", "i300x2 0 8", "h300x1x64"}, {"f8x192x64"}, {I(8)}, 0, 1e-5},
    {HAP_OP_expert_linear_dw, {"h333x71", "i333 1 2", "h333x40"}, {"f3x71x40"}, {I(3)}, 0, 1e-5},
    {HAP_OP_expert_linear_dw, {"f300x1x31", "i300x2 0 8", "f300x2x65"}, {"f8x31x65"}, {I(8)}, 0, 1e-5},
    {HAP_OP_expert_linear_dw, {"h200x64", "i200 0 8", "h200x136"}, {"f3@2/8x64x136"}, {I(8)}, 0, 1e-5},
    {HAP_OP_to_rooms, {"h3x1100x64", "i3x1100 0 5"}, {"h3x5x300x64"}, {I(5), I(300)}, 0, 0},
    {HAP_OP_to_rooms, {"h3x1100x520", "i3x1100 0 5"}, {"h3x5x300x520"}, {I(5), I(300)}, 0, 0},
    {HAP_OP_to_rooms, {"h2x90x331", "i2x90 0 8"}, {"h2x3@2/8x40x331"}, {I(8), I(40)}, 0, 0},
    {HAP_OP_to_rooms, {"f2x90x7", "i2x90 1 3"}, {"f2x3x90x7"}, {I(3), I(90)}, 0, 0},
    {HAP_OP_to_rooms, {"h2x90x31", "i2x90 0 8"}, {"h2x3@2/8x40x31"}, {I(8), I(40)}, 0, 0},
    {HAP_OP_from_rooms, {"h3x5x300x64", "i3x1100 0 5"}, {"h3x1100x64"}, {I(0)}, 0, 0},
    {HAP_OP_from_rooms, {"h3x5x300x520", "i3x1100 0 5"}, {"h3x1100x520"}, {I(0)}, 0, 0},
    {HAP_OP_from_rooms, {"h2x3@2/8x40x31", "i2x90 0 8"}, {"h2x90x31"}, {I(0)}, 0, 0},
    {HAP_OP_room_linear, {"h3x8x80x64", "i3x300 0 8", "h8x64x192"}, {"h3x8x80x192"}, {I(0)}, 0, NARROW},
    {HAP_OP_room_linear, {"h3x5x300x72", "i3x1100 0 5", "h5x129x72"}, {"h3x5x300x129"}, {I(1)}, 0, NARROW},
    {HAP_OP_room_linear, {"f2x3x90x31", "i2x90 1 3", "f3x31x65"}, {"f2x3x90x65"}, {I(0)}, 0, 1e-5},
    {HAP_OP_room_linear, {"h2x3@2/8x40x64", "i2x90 0 8", "h3@2/8x64x64"}, {"h2x3@2/8x40x64"}, {I(0)}, 0, NARROW},
    {HAP_OP_room_linear_dw, {"h3x8x80x64", "i3x300 0 8", "h3x8x80x192"}, {"f8x64x192"}, {I(0)}, 0, 1e-5},
    {HAP_OP_room_linear_dw, {"f2x3x90x31", "i2x90 1 3", "f2x3x90x65"}, {"f3x31x65"}, {I(0)}, 0, 1e-5},
    {HAP_OP_room_linear_dw, {"h2x3@2/8x40x64", "i2x90 0 8", "h2x3@2/8x40x136"}, {"f3@2/8x64x136"}, {I(0)}, 0, 1e-5},
    {HAP_OP_dispatch_dw, {"h3x100x64", "h4x3x24x64"}, {"h3x100x4x24"}, {I(0)}, 0, NARROW},

    {HAP_OP_matmul, {"h3x4x40x64", "h3x4x64x56"}, {"h3x4x40x56"}, {I(0)}, 0, NARROW},
    {HAP_OP_matmul, {"h3x4x40x64", "h4x56x64"}, {"h3x4x40x56"}, {I(1)}, 0, NARROW},
    {HAP_OP_matmul, {"f3x4x64x40", "f3x1x64x57"}, {"f3x4x40x57"}, {I(2)}, 0, 1e-5},
    {HAP_OP_matmul, {"f5x40x64", "f64x57"}, {"f5x40x57"}, {I(0)}, 0, 1e-5},

    {HAP_OP_sdpa, {"h2x3x128x64", "h2x3x128x64", "h2x3x128x64"}, {"h2x3x128x64", "f2x3x128"}, SDPA(1), 0, NARROW},
    {HAP_OP_sdpa, {"h2x3x200x64", "h2x3x200x64", "h2x3x200x64"}, {"h2x3x200x64", "f2x3x200"}, SDPA(0), 0, NARROW},
    {HAP_OP_sdpa, {"h2x4x96x128", "h2x2x160x128", "h2x2x160x128"}, {"h2x4x96x128", "f2x4x96"}, SDPA(0), 0, NARROW},
    {HAP_OP_sdpa, {"f2x4x75x40", "f2x2x75x40", "f2x2x75x24"}, {"f2x4x75x24", "f2x4x75"}, SDPA(1), 0, 1e-5},
    {HAP_OP_sdpa, {"f2x2x50x64", "f2x2x70x64", "f2x2x70x64", "f2x1x1x70 -3 0"}, {"f2x2x50x64", "f2x2x50"}, SDPA(0), 0, 1e-5},
    {HAP_OP_sdpa, {"f2x2x50x64", "f2x2x70x64", "f2x2x70x64"}, {"f2x2x50x64", "f2x2x50"}, {I(0), F(0), F(0.2), I(9)}, 0, 1e-5},
    // Dropout: on heads that cuDNN would take without.
    {HAP_OP_sdpa, {"h2x3x128x64", "h2x3x128x64", "h2x3x128x64"}, {"h2x3x128x64", "f2x3x128"}, {I(1), F(0), F(0.2), I(9)}, 0, NARROW},
    {HAP_OP_sdpa_bwd, {"h2x3x128x64", "h2x3x128x64", "h2x3x128x64", "h2x3x128x64", "h2x3x128x64", "f2x3x128"},
     {"h2x3x128x64", "h2x3x128x64", "h2x3x128x64"}, {I(1), F(0), F(0.2), I(9)}, 0, 1e-2},
    {HAP_OP_sdpa_bwd, {"h2x3x128x64", "h2x3x128x64", "h2x3x128x64", "h2x3x128x64", "h2x3x128x64", "f2x3x128"},
     {"h2x3x128x64", "h2x3x128x64", "h2x3x128x64"}, SDPA(1), 0, 1e-2},
    {HAP_OP_sdpa_bwd, {"h5x3x128x64", "h5x3x128x64", "h5x3x128x64", "h5x3x128x64", "h5x3x128x64", "f5x3x128"},
     {"h5x3x128x64", "h5x3x128x64", "h5x3x128x64"}, SDPA(0), 0, 1e-2},
    {HAP_OP_sdpa_bwd, {"h2x3x77x64", "h2x3x77x64", "h2x3x77x64", "h2x3x77x64", "h2x3x77x64", "f2x3x77"},
     {"h2x3x77x64", "h2x3x77x64", "h2x3x77x64"}, SDPA(1), 0, 1e-2},
    {HAP_OP_sdpa_bwd, {"h2x3x21x64", "h2x3x21x64", "h2x3x113x64", "h2x3x113x64", "h2x3x21x64", "f2x3x21"},
     {"h2x3x21x64", "h2x3x113x64", "h2x3x113x64"}, SDPA(0), 0, 1e-2},
    {HAP_OP_sdpa_bwd, {"h2x4x160x64", "h2x4x160x64", "h2x2x160x64", "h2x2x160x64", "h2x4x160x64", "f2x4x160"},
     {"h2x4x160x64", "h2x2x160x64", "h2x2x160x64"}, SDPA(0), 0, 1e-2},
    {HAP_OP_sdpa_bwd, {"h2x3x300x64", "h2x3x300x64", "h2x3x300x64", "h2x3x300x64", "h2x3x300x64", "f2x3x300"},
     {"h2x3x300x64", "h2x3x300x64", "h2x3x300x64"}, SDPA(1), 0, 1e-2},
    {HAP_OP_sdpa_bwd, {"h1x6x260x128", "h1x6x260x128", "h1x2x260x128", "h1x2x260x128", "h1x6x260x128", "f1x6x260"},
     {"h1x6x260x128", "h1x2x260x128", "h1x2x260x128"}, SDPA(1), 0, 1e-2},
    {HAP_OP_sdpa_bwd, {"h2x4x131x128", "h2x4x131x128", "h2x4x390x128", "h2x4x390x128", "h2x4x131x128", "f2x4x131"},
     {"h2x4x131x128", "h2x4x390x128", "h2x4x390x128"}, SDPA(0), 0, 1e-2},
    {HAP_OP_sdpa_bwd, {"h1x4x390x64", "h1x4x390x64", "h1x2x140x64", "h1x2x140x64", "h1x4x390x64", "f1x4x390"},
     {"h1x4x390x64", "h1x2x140x64", "h1x2x140x64"}, SDPA(1), 0, 1e-2},
    {HAP_OP_sdpa_bwd, {"h1x3x1900x64", "h1x3x1900x64", "h1x3x1900x64", "h1x3x1900x64", "h1x3x1900x64", "f1x3x1900"},
     {"h1x3x1900x64", "h1x3x1900x64", "h1x3x1900x64"}, SDPA(1), 0, 1e-2},
    {HAP_OP_sdpa_bwd, {"h2x6x600x64", "h2x6x600x64", "h2x2x600x64", "h2x2x600x64", "h2x6x600x64", "f2x6x600"},
     {"h2x6x600x64", "h2x2x600x64", "h2x2x600x64"}, SDPA(1), 0, 1e-2},
    {HAP_OP_sdpa_bwd, {"h1x4x700x128", "h1x4x700x128", "h1x2x520x128", "h1x2x520x128", "h1x4x700x128", "f1x4x700"},
     {"h1x4x700x128", "h1x2x520x128", "h1x2x520x128"}, SDPA(0), 0, 1e-2},
    {HAP_OP_sdpa_bwd, {"h1x4x300x128", "h1x4x300x128", "h1x1x900x128", "h1x1x900x128", "h1x4x300x128", "f1x4x300"},
     {"h1x4x300x128", "h1x1x900x128", "h1x1x900x128"}, SDPA(1), 0, 1e-2},
    {HAP_OP_sdpa, {"h2x3x128@256/512x64", "h2x3x512x64", "h2x3x512x64"}, {"h2x3x128@256/512x64", "f2x3x128@256/512"}, SDPA(1), 0, NARROW},
    {HAP_OP_sdpa_bwd, {"h2x3x128@256/512x64", "h2x3x128@256/512x64", "h2x3x512x64", "h2x3x512x64", "h2x3x128@256/512x64", "f2x3x128@256/512"},
     {"h2x3x128@256/512x64", "h2x3x512x64", "h2x3x512x64"}, SDPA(1), 0, 1e-2},
    {HAP_OP_sdpa, {"h2x3x128@0/512x64", "h2x3x512x64", "h2x3x512x64"}, {"h2x3x128@0/512x64", "f2x3x128@0/512"}, SDPA(1), 0, NARROW},
    {HAP_OP_sdpa_bwd, {"h2x3x128@0/512x64", "h2x3x128@0/512x64", "h2x3x512x64", "h2x3x512x64", "h2x3x128@0/512x64", "f2x3x128@0/512"},
     {"h2x3x128@0/512x64", "h2x3x512x64", "h2x3x512x64"}, SDPA(1), 0, 1e-2},
    {HAP_OP_sdpa, {"h2x3x128@384/512x64", "h2x3x512x64", "h2x3x512x64"}, {"h2x3x128@384/512x64", "f2x3x128@384/512"}, SDPA(0), 0, NARROW},
    {HAP_OP_sdpa_bwd, {"h2x3x128@384/512x64", "h2x3x128@384/512x64", "h2x3x512x64", "h2x3x512x64", "h2x3x128@384/512x64", "f2x3x128@384/512"},
     {"h2x3x128@384/512x64", "h2x3x512x64", "h2x3x512x64"}, SDPA(0), 0, 1e-2},
    {HAP_OP_sdpa, {"h1x4x100@77/300x64", "h1x2x300x64", "h1x2x300x64"}, {"h1x4x100@77/300x64", "f1x4x100@77/300"}, SDPA(1), 0, NARROW},
    {HAP_OP_sdpa_bwd, {"h1x4x100@77/300x64", "h1x4x100@77/300x64", "h1x2x300x64", "h1x2x300x64", "h1x4x100@77/300x64", "f1x4x100@77/300"},
     {"h1x4x100@77/300x64", "h1x2x300x64", "h1x2x300x64"}, SDPA(1), 0, 1e-2},
    {HAP_OP_sdpa, {"h2x2x200@101/500x128", "h2x2x500x128", "h2x2x500x128"}, {"h2x2x200@101/500x128", "f2x2x200@101/500"}, SDPA(1), 0, NARROW},
    {HAP_OP_sdpa_bwd, {"h2x2x200@101/500x128", "h2x2x200@101/500x128", "h2x2x500x128", "h2x2x500x128", "h2x2x200@101/500x128", "f2x2x200@101/500"},
     {"h2x2x200@101/500x128", "h2x2x500x128", "h2x2x500x128"}, SDPA(1), 0, 1e-2},
    {HAP_OP_sdpa, {"h2x3x64@0/128x64", "h2x3x128x64", "h2x3x128x64"}, {"h2x3x64@0/128x64", "f2x3x64@0/128"}, SDPA(1), 0, NARROW},
    {HAP_OP_sdpa_bwd, {"h2x3x64@0/128x64", "h2x3x64@0/128x64", "h2x3x128x64", "h2x3x128x64", "h2x3x64@0/128x64", "f2x3x64@0/128"},
     {"h2x3x64@0/128x64", "h2x3x128x64", "h2x3x128x64"}, SDPA(1), 0, 1e-2},
    {HAP_OP_sdpa, {"h2x3x64@64/128x64", "h2x3x128x64", "h2x3x128x64"}, {"h2x3x64@64/128x64", "f2x3x64@64/128"}, SDPA(1), 0, NARROW},
    {HAP_OP_sdpa_bwd, {"h2x3x64@64/128x64", "h2x3x64@64/128x64", "h2x3x128x64", "h2x3x128x64", "h2x3x64@64/128x64", "f2x3x64@64/128"},
     {"h2x3x64@64/128x64", "h2x3x128x64", "h2x3x128x64"}, SDPA(1), 0, 1e-2},
    {HAP_OP_sdpa_bwd, {"f2x4x75x24", "f2x4x75x40", "f2x2x75x40", "f2x2x75x24", "f2x4x75x24", "f2x4x75"},
     {"f2x4x75x40", "f2x2x75x40", "f2x2x75x24"}, SDPA(1), 0, 1e-5},
    {HAP_OP_sdpa_bwd, {"f2x2x50x64", "f2x2x50x64", "f2x2x70x64", "f2x2x70x64", "f2x2x50x64", "f2x2x50"},
     {"f2x2x50x64", "f2x2x70x64", "f2x2x70x64"}, {I(0), F(0), F(0.2), I(9)}, 0, 1e-5},

    {HAP_OP_row_sum, {"h37x768"}, {"f37"}, {I(0)}, 0, 1e-5},
    {HAP_OP_row_sum, {"f9x50257"}, {"f9"}, {I(0)}, 0, 1e-5},
    {HAP_OP_row_max, {"h9x50257"}, {"f9"}, {I(0)}, 0, 0},
    {HAP_OP_row_max, {"f300x1003"}, {"f300"}, {I(0)}, 0, 0},
    {HAP_OP_row_m2, {"f37x768", "f37"}, {"f37"}, {I(0)}, 0, 1e-5},
    {HAP_OP_row_m2, {"h37x3001", "f37"}, {"f37"}, {I(0)}, 0, 1e-5},
    {HAP_OP_row_expsum, {"h9x50257", "f9 1 2"}, {"f9"}, {I(0)}, 0, 1e-5},
    {HAP_OP_row_dot, {"h37x1003", "h37x1003"}, {"f37"}, {I(0)}, 0, 1e-4},
    {HAP_OP_softmax_apply, {"h300x1003", "f300 1 2", "f300 500 900"}, {"h300x1003"}, {I(0)}, 0, NARROW},
    {HAP_OP_softmax_bwd, {"f300x1003", "f300x1003", "f300"}, {"f300x1003"}, {I(0)}, 0, EXACT},
    {HAP_OP_log_softmax_apply, {"f30x5001", "f30 1 2", "f30 500 900"}, {"f30x5001"}, {I(0)}, 0, EXACT},
    {HAP_OP_log_softmax_bwd, {"f30x5001", "f30x5001", "f30"}, {"f30x5001"}, {I(0)}, 0, EXACT},
    {HAP_OP_target_logit, {"h300x1003", "i300 0 1003"}, {"f300"}, {I(-100)}, 0, 0},
    {HAP_OP_gather, {"h300x77", "i300x1003 0 77"}, {"h300x1003"}, {I(0)}, 0, 0},
    {HAP_OP_gather_bwd, {"h300x1003", "i300x1003 0 77"}, {"f300x77"}, {I(77)}, 0, 0},
    {HAP_OP_nll_sum, {"f30000", "f30000 500 900", "f30000", "i30000 0 9"}, {"f"}, {I(5)}, 0, 1e-6},
    {HAP_OP_count, {"i30000 0 9"}, {"f"}, {I(5)}, 0, 0},
    {HAP_OP_ce_bwd, {"h300x1003", "f300 1 2", "f300 500 900", "i300 0 1003", "f"}, {"h300x1003"}, {I(7)}, 0, NARROW},
    {HAP_OP_ce_bwd, {"f5x50257", "f5 1 2", "f5 500 900", "i5 0 50257", "f"}, {"f5x50257"}, {I(7)}, 0, 1e-5},
    {HAP_OP_norm_apply, {"f300x768", "f300", "f300 500 900", "f768", "f768"}, {"f300x768"}, {F(1e-5)}, 0, EXACT},
    {HAP_OP_norm_apply, {"h300x1003", "f300", "f300 500 900", "f1003", "f1003"}, {"h300x1003"}, {F(1e-5)}, 0, NARROW},
    {HAP_OP_norm_apply, {"f7x5001", "f7", "f7 500 900", "-", "f5001"}, {"f7x5001"}, {F(1e-5)}, 0, EXACT},
    {HAP_OP_norm_bwd_stats, {"h300x768", "f300x768", "f300", "f300 500 900", "f768"}, {"f300", "f300"}, {F(1e-5)}, 0, 1e-5},
    {HAP_OP_norm_bwd, {"f300x768", "f300x768", "f300", "f300 500 900", "f300", "f300", "f768"}, {"f300x768"}, {F(1e-5)}, 0, EXACT},
    {HAP_OP_norm_bwd, {"f7x5001", "f7x5001", "f7", "f7 500 900", "f7", "f7", "f5001"}, {"f7x5001"}, {F(1e-5)}, 0, EXACT},
    {HAP_OP_norm_bwd_params, {"f4000x768", "f4000x768", "f4000", "f4000 500 900"}, {"f768", "f768"}, {F(1e-5)}, 0, 1e-5},
    {HAP_OP_norm_bwd_params, {"h33x1003", "f33x1003", "f33", "f33 500 900"}, {"f1003", "f1003"}, {F(1e-5)}, 0, 1e-5},

    {HAP_OP_gelu, {"h7x1003 -6 6"}, {"h7x1003"}, {I(1)}, 0, NARROW},
    {HAP_OP_gelu, {"f64x1000 -6 6"}, {"f64x1000"}, {I(1)}, 0, EXACT},
    {HAP_OP_gelu, {"f64x1000 -6 6"}, {"f64x1000"}, {I(0)}, 0, EXACT},
    {HAP_OP_gelu_bwd, {"f64x1000", "f64x1000 -6 6"}, {"f64x1000"}, {I(1)}, 0, 3e-6},
    {HAP_OP_gelu_bwd, {"h64x1000", "h64x1000 -6 6"}, {"h64x1000"}, {I(0)}, 0, NARROW},
    {HAP_OP_silu, {"f1003 -30 30"}, {"f1003"}, {I(0)}, 0, EXACT},
    {HAP_OP_tanh, {"f1003 -12 12"}, {"f1003"}, {I(0)}, 0, EXACT},
    {HAP_OP_exp, {"h1003"}, {"h1003"}, {I(0)}, 0, NARROW},
    {HAP_OP_pow_scalar, {"f1003 0.5 2"}, {"f1003"}, {F(1.7)}, 0, EXACT},
    {HAP_OP_cast, {"f1003"}, {"h1003"}, {I(HAP_BF16)}, 0, 0},
    {HAP_OP_cast, {"h64x80"}, {"f64x80"}, {I(HAP_F32)}, 0, 0},
    {HAP_OP_cast, {"i1003 -9 9"}, {"f1003"}, {I(HAP_F32)}, 0, 0},
    {HAP_OP_cast, {"c1003 0 256"}, {"f1003"}, {I(HAP_F32)}, 0, 0},
    {HAP_OP_cast, {"c6x3x40x37 0 256"}, {"h6x3x40x37"}, {I(HAP_BF16)}, 0, 0},
    {HAP_OP_dropout, {"f13x7x31"}, {"f13x7x31"}, {F(0.3), I(4)}, 0, EXACT},
    {HAP_OP_add, {"f4x100x768", "f100x768"}, {"f4x100x768"}, {I(0)}, 0, 0},
    {HAP_OP_add, {"h4x100x768", "h768"}, {"h4x100x768"}, {I(0)}, 0, 0},
    {HAP_OP_mul, {"f4x100x33", "f4x100x1"}, {"f4x100x33"}, {I(0)}, 0, 0},
    {HAP_OP_div, {"f4x100x64", "f4x1x1 1 2"}, {"f4x100x64"}, {I(0)}, 0, EXACT},
    {HAP_OP_where, {"b4x1x64", "f4x10x64", "f1"}, {"f4x10x64"}, {I(0)}, 0, 0},
    {HAP_OP_lt, {"f4x100", "f100"}, {"b4x100"}, {I(0)}, 0, 0},

    {HAP_OP_sum, {"h4x1000x2304"}, {"f2304"}, {L(0, 1), I(0)}, 0, 1e-4},
    {HAP_OP_sum, {"f3x1000x70"}, {"f3x70"}, {L(1), I(0)}, 0, 1e-4},
    {HAP_OP_sum, {"f300x70x9"}, {"f300x70"}, {L(2), I(0)}, 0, 1e-5},
    {HAP_OP_sum, {"f300x2x4100"}, {"f300x2x1"}, {L(2), I(1)}, 0, 1e-5},
    {HAP_OP_sum, {"h70x20x333"}, {"f70"}, {L(1, 2), I(0)}, 0, 1e-5},
    {HAP_OP_sum, {"f30x7x90x2"}, {"f7x2"}, {L(0, 2), I(0)}, 0, 1e-4},
    {HAP_OP_sum, {"f33x131x1008"}, {"f131x1008"}, {L(0), I(0)}, 0, 1e-5}, // in turn
    {HAP_OP_sum, {"h7x3x2x70000"}, {"f1x1x2x70000"}, {L(0, 1), I(1)}, 0, 1e-5},
    {HAP_OP_sum, {"f5x131077"}, {"f131077"}, {L(0), I(0)}, 0, 1e-5},
    {HAP_OP_sum, {"f300x700"}, {"f"}, {L(0, 1), I(0)}, 0, 1e-4},
    {HAP_OP_sumsq, {"f300x701"}, {"f"}, {I(0)}, 0, 1e-6},
    {HAP_OP_sumsq, {"h300x701"}, {"f"}, {I(0)}, 0, 1e-6},
    {HAP_OP_clip_scale, {"f 400 500"}, {"f"}, {F(1)}, 0, 1e-6},

    // Of more entries than a grid of blocks_for has threads, too.
    {HAP_OP_conv, {"h8x16x40x36", "h32x16x3x3", "h32"}, {"h8x32x40x36"}, {L(1, 1), L(1, 1), L(1, 1), I(1)}, 0, NARROW},
    {HAP_OP_conv, {"f6x64x70x70", "f64x64x1x1"}, {"f6x64x70x70"}, {L(1, 1), L(0, 0), L(1, 1), I(1)}, 0, 1e-5},
    {HAP_OP_conv, {"f4x12x21x19", "f24x3x3x2", "f24"}, {"f4x24x11x17"}, {L(2, 1), L(1, 0), L(1, 2), I(4)}, 0, 1e-5},
    {HAP_OP_conv_transposed, {"f4x32x20x18", "f32x16x3x3"}, {"f4x16x40x36"}, {L(2, 2), L(1, 1), L(1, 1), L(40, 36), I(1)}, 0, 1e-5},
    {HAP_OP_conv_transposed, {"h4x32x20x18", "h32x8x3x3"}, {"h4x16x40x36"}, {L(2, 2), L(1, 1), L(1, 1), L(40, 36), I(2)}, 0, NARROW},
    {HAP_OP_conv_dw, {"h8x16x40x36", "h8x32x40x36"}, {"f32x16x3x3"}, {L(1, 1), L(1, 1), L(1, 1), L(3, 3), I(1)}, 0, NARROW}, // bf16, widened
    {HAP_OP_conv_dw, {"f4x12x21x19", "f4x24x11x17"}, {"f24x3x3x2"}, {L(2, 1), L(1, 0), L(1, 2), L(3, 2), I(4)}, 0, 1e-5},
    {HAP_OP_conv, {"h4x3x37x29", "h24x3x7x7"}, {"h4x24x19x15"}, {L(2, 2), L(3, 3), L(1, 1), I(1)}, 0, NARROW},
    {HAP_OP_conv, {"h3x5x20x20", "h7x5x3x3", "h7"}, {"h3x7x20x20"}, {L(1, 1), L(1, 1), L(1, 1), I(1)}, 0, NARROW},
    {HAP_OP_conv, {"h4x64x14x14", "h128x64x1x1"}, {"h4x128x7x7"}, {L(2, 2), L(0, 0), L(1, 1), I(1)}, 0, NARROW},
    {HAP_OP_conv, {"h4x16x21x19", "h24x4x3x2", "h24"}, {"h4x24x11x17"}, {L(2, 1), L(1, 0), L(1, 2), I(4)}, 0, NARROW},
    {HAP_OP_conv, {"h4x48x14x14", "h48x1x7x7", "h48"}, {"h4x48x14x14"}, {L(1, 1), L(3, 3), L(1, 1), I(48)}, 0, NARROW},
    {HAP_OP_conv_transposed, {"h4x48x14x14", "h48x1x7x7"}, {"h4x48x14x14"}, {L(1, 1), L(3, 3), L(1, 1), L(14, 14), I(48)}, 0, NARROW},
    {HAP_OP_conv, {"h3x24x23x19", "h24x1x5x5", "h24"}, {"h3x24x21x17"}, {L(1, 1), L(1, 1), L(1, 1), I(24)}, 0, NARROW},
    {HAP_OP_conv, {"h3x136x9x30", "h136x1x3x7"}, {"h3x136x9x30"}, {L(1, 1), L(1, 3), L(1, 1), I(136)}, 0, NARROW},
    {HAP_OP_conv_transposed, {"h3x24x21x17", "h24x1x5x5"}, {"h3x24x23x19"}, {L(1, 1), L(1, 1), L(1, 1), L(23, 19), I(24)}, 0, NARROW},
    {HAP_OP_conv, {"h3x2x30x27", "h16x2x5x4", "h16"}, {"h3x16x10x10"}, {L(3, 3), L(1, 2), L(1, 1), I(1)}, 0, NARROW},
    {HAP_OP_conv_dw, {"h3x2x30x27", "h3x16x10x10"}, {"f16x2x5x4"}, {L(3, 3), L(1, 2), L(1, 1), L(5, 4), I(1)}, 0, NARROW},
    {HAP_OP_conv_transposed, {"h4x7x20x20", "h7x5x3x3"}, {"h4x5x20x20"}, {L(1, 1), L(2, 2), L(2, 2), L(20, 20), I(1)}, 0, NARROW},
    {HAP_OP_conv_dw, {"h4x48x14x14", "h4x48x14x14"}, {"f48x1x7x7"}, {L(1, 1), L(3, 3), L(1, 1), L(7, 7), I(48)}, 0, NARROW},
    {HAP_OP_conv_dw, {"h4x3x37x29", "h4x24x19x15"}, {"f24x3x7x7"}, {L(2, 2), L(3, 3), L(1, 1), L(7, 7), I(1)}, 0, NARROW},
    {HAP_OP_conv_dw, {"h4x64x14x14", "h4x128x7x7"}, {"f128x64x1x1"}, {L(2, 2), L(0, 0), L(1, 1), L(1, 1), I(1)}, 0, NARROW},
    {HAP_OP_sum, {"h40x72x300"}, {"f72"}, {L(0, 2), I(0)}, 0, 1e-5},
    {HAP_OP_sum, {"f9x33x13x11"}, {"f33"}, {L(0, 2, 3), I(0)}, 0, 1e-5},
    {HAP_OP_relu, {"h9x33x13x11"}, {"h9x33x13x11"}, {I(0)}, 0, 0},
    {HAP_OP_relu_bwd, {"h9x64x13x11", "h9x64x13x11"}, {"h9x64x13x11"}, {I(0)}, 0, 0},
    {HAP_OP_add, {"h9x64x13x11", "h9x64x13x11"}, {"h9x64x13x11"}, {I(0)}, 0, NARROW},
    {HAP_OP_mul, {"h9x64x13x11", "h64x1x1"}, {"h9x64x13x11"}, {I(0)}, 0, NARROW},
    {HAP_OP_transpose, {"h9x64x13x11"}, {"h9x13x11x64"}, {L(0, 2, 3, 1)}, 0, 0},
    {HAP_OP_transpose, {"h9x13x11x33"}, {"h9x33x13x11"}, {L(0, 3, 1, 2)}, 0, 0},
    {HAP_OP_transpose, {"f9x33x13x1x11x1"}, {"f9x13x11x33x1x1"}, {L(0, 2, 4, 1, 3, 5)}, 0, 0},
    {HAP_OP_transpose, {"h9x33x6x2x4x3"}, {"h9x6x4x33x2x3"}, {L(0, 2, 4, 1, 3, 5)}, 0, 0},
    {HAP_OP_batch_m2, {"h64x72x49", "f72"}, {"f72"}, {I(0)}, 0, 1e-5},
    {HAP_OP_batch_apply, {"h64x72x49", "f72", "f72 1000 3000", "f72", "f72"}, {"h64x72x49"}, {F(1e-5)}, 0, NARROW},
    {HAP_OP_batch_bwd_stats, {"h64x72x49", "h64x72x49", "f72", "f72 1000 3000"}, {"f72", "f72"}, {F(1e-5)}, 0, 1e-4},
    {HAP_OP_batch_bwd, {"h64x72x49", "h64x72x49", "f72", "f72 1000 3000", "f72", "f72", "f72"}, {"h64x72x49"}, {F(1e-5)}, 0, NARROW},
    {HAP_OP_max_pool_bwd, {"h3x5x21x17", "h3x5x41x33"}, {"h3x5x41x33"}, {L(3, 3), L(2, 2), L(1, 1), L(1, 1), I(0)}, 0, NARROW},
    {HAP_OP_batch_m2, {"f40x33x700", "f33"}, {"f33"}, {I(0)}, 0, 1e-5},
    {HAP_OP_batch_m2, {"h300x5x1", "f5"}, {"f5"}, {I(0)}, 0, 1e-5},
    {HAP_OP_batch_apply, {"h40x33x700", "f33", "f33 20000 30000", "f33", "f33"}, {"h40x33x700"}, {F(1e-5)}, 0, NARROW},
    {HAP_OP_batch_apply, {"f30x64x49", "f64", "f64 1000 3000", "f64", "f64"}, {"f30x64x49"}, {F(1e-5)}, 0, 1e-6},
    {HAP_OP_batch_bwd_stats, {"h40x33x700", "f40x33x700", "f33", "f33 20000 30000"}, {"f33", "f33"}, {F(1e-5)}, 0, 1e-4},
    {HAP_OP_batch_bwd, {"f30x64x49", "f30x64x49", "f64", "f64 1000 3000", "f64", "f64", "f64"}, {"f30x64x49"}, {F(1e-5)}, 0, 1e-5},
    {HAP_OP_max_pool, {"f16x64x40x40"}, {"f16x64x20x20"}, {L(2, 2), L(2, 2), L(0, 0), L(1, 1), I(0)}, 0, 0},
    {HAP_OP_max_pool, {"h3x5x41x33"}, {"h3x5x21x17"}, {L(3, 3), L(2, 2), L(1, 1), L(1, 1), I(0)}, 0, 0},
    {HAP_OP_max_pool_bwd, {"f16x64x20x20", "f16x64x40x40"}, {"f16x64x40x40"}, {L(2, 2), L(2, 2), L(0, 0), L(1, 1), I(0)}, 0, 1e-6},

    {HAP_OP_embedding, {"h500x768", "i4x100 0 500"}, {"h4x100x768"}, {I(0)}, 0, 0},
    {HAP_OP_embedding, {"f500x33", "i400 0 500"}, {"f400x33"}, {I(0)}, 0, 0},
    {HAP_OP_embedding_bwd, {"f4x1000x96", "i4x1000 0 700"}, {"f700x96"}, {I(700)}, 0, 1e-6},
    {HAP_OP_embedding_bwd, {"f8000x40", "i8000 0 2"}, {"f2x40"}, {I(2)}, 0, 1e-4},
    {HAP_OP_embedding_bwd, {"h300x40", "i300 0 70000"}, {"f70000x40"}, {I(70000)}, 0, 1e-6},

    {HAP_OP_transpose, {"h4x100x12x64"}, {"h4x12x100x64"}, {L(0, 2, 1, 3)}, 0, 0},
    {HAP_OP_transpose, {"f70x130"}, {"f130x70"}, {L(1, 0)}, 0, 0},
    {HAP_OP_split, {"h4x100x2304"}, {"h4x100x768", "h4x100x768", "h4x100x768"}, {I(2), L(768, 768, 768)}, 0, 0},
    {HAP_OP_split, {"f4x33"}, {"f4x11", "f4x22"}, {I(1), L(11, 22)}, 0, 0},
    {HAP_OP_concat, {"h4x100x768", "h4x100x768", "h4x100x768"}, {"h4x100x2304"}, {I(2)}, 0, 0},
    {HAP_OP_concat, {"f4x3x5", "f4x1x5"}, {"f4x4x5"}, {I(1)}, 0, 0},
    {HAP_OP_slice, {"i32x1025 0 99"}, {"i32x1024"}, {I(1), I(1), I(1025)}, 0, 0},
    {HAP_OP_pad, {"i32x1023 0 99"}, {"i32x1024"}, {I(1), I(0), I(1), F(-100)}, 0, 0},
    {HAP_OP_expand, {"f1x100x1"}, {"f7x100x30"}, {L(7, 100, 30)}, 0, 0},
    {HAP_OP_full, {NULL}, {"f7x100"}, {L(7, 100), F(2.5), I(0)}, 0, 0},

    {HAP_OP_adam, {"f70x101", "f70x101", "f70x101 0 1", "f70x101", "f 0.5 1"}, {NULL},
     {F(1), F(0.9), F(0.95), F(1e-8), F(0.1), I(1)}, 3, 1e-6},
    {HAP_OP_adam, {"f7000", "f7000", "f7000 0 1", "h7000"}, {NULL},
     {F(1), F(0.9), F(0.95), F(1e-8), F(0.1), I(0)}, 3, 1e-6},
    {HAP_OP_momentum, {"f7001", "f7001", "f7001"}, {NULL}, {F(1), F(0.9), I(1), F(0.1)}, 2, 1e-6},
    {HAP_OP_sgd, {"f7001", "h7001"}, {NULL}, {F(1), F(0.1)}, 1, 1e-6},
};
// clang-format on

// Gradients of long attention: heads in two calls of cuDNN; heads too long for its ordered sums.
// clang-format off
static const spec long_specs[] = {
    {HAP_OP_sdpa_bwd, {"h1x12x11520x64", "h1x12x11520x64", "h1x12x11520x64", "h1x12x11520x64", "h1x12x11520x64", "f1x12x11520"},
     {"h1x12x11520x64", "h1x12x11520x64", "h1x12x11520x64"}, SDPA(1), 0, 1e-2},
    {HAP_OP_sdpa_bwd, {"h1x2x16384x64", "h1x2x16384x64", "h1x2x16384x64", "h1x2x16384x64", "h1x2x16384x64", "f1x2x16384"},
     {"h1x2x16384x64", "h1x2x16384x64", "h1x2x16384x64"}, SDPA(1), 0, 1e-2},
};
// clang-format on

START_TEST(long_attention_agrees_with_the_cpu)
{
    run_spec(&long_specs[_i]);
    const char *asked = getenv("HAP_TEST_OPTIONS"); // cuDNN's sums may have no order
    if (test_cuda_is_hopper() && !(asked && strstr(asked, "=cudnn"))) run_captured(&long_specs[_i]);
}
END_TEST

START_TEST(rows_agree_with_the_cpu)
{
    run_spec(&specs[_i]);
}
END_TEST

START_TEST(captured_rows_are_the_called_ones)
{
    run_captured(&specs[_i]);
}
END_TEST

START_TEST(rows_do_not_depend_on_how_operands_lie)
{
    run_last(&specs[_i]);
}
END_TEST

// A block of a network of images, forward and back: what convolutions make goes on as it lies, into
// rows that take it so, and into one (the last sum) that does not. From case 1 on two channels are
// odd; in case 2 operands of the first calls lie channels last too.
START_TEST(a_block_of_images_agrees_with_the_cpu)
{
    bool odd = _i > 0;
    hap_tensor *x = make(odd ? "h6x20x18x14" : "h6x32x18x14");
    hap_tensor *w = make(odd ? "h37x20x3x3" : "h64x32x3x3"), *b = make(odd ? "h37" : "h64");
    hap_tensor *y = make(odd ? "h6x37x18x14" : "h6x64x18x14"),
               *flat = make(odd ? "h6x37x252" : "h6x64x252");
    hap_tensor *sum = make(odd ? "f37" : "f64"), *m2 = make(odd ? "f37" : "f64");
    hap_tensor *scale = make(odd ? "f37 0.5 1" : "f64 0.5 1"), *more = make(odd ? "f37" : "f64");
    hap_tensor *n = make(odd ? "h6x37x252" : "h6x64x252"),
               *at = make(odd ? "h6x37x18x14" : "h6x64x18x14");
    hap_tensor *a = make(odd ? "h6x37x18x14" : "h6x64x18x14"),
               *p = make(odd ? "h6x37x9x7" : "h6x64x9x7");
    hap_tensor *rows = make(odd ? "h6x9x7x37" : "h6x9x7x64"),
               *dp = make(odd ? "h6x37x9x7" : "h6x64x9x7");
    hap_tensor *da = make(odd ? "h6x37x18x14" : "h6x64x18x14"),
               *dn = make(odd ? "h6x37x252" : "h6x64x252");
    hap_tensor *u = make(odd ? "f37" : "f64"), *v = make(odd ? "f37" : "f64");
    hap_tensor *dflat = make(odd ? "h6x37x252" : "h6x64x252"),
               *dy = make(odd ? "h6x37x18x14" : "h6x64x18x14");
    hap_tensor *dx = make(odd ? "h6x20x18x14" : "h6x32x18x14"),
               *dw = make(odd ? "f37x20x3x3" : "f64x32x3x3");
    hap_tensor *db = make(odd ? "f37" : "f64"), *images = make("f6");
#define ONES L(1, 1), L(1, 1), L(1, 1)
    hap_op_call call[] = {
        {HAP_OP_conv, 1, {y}, 3, {x, w, b}, 4, {ONES, I(1)}},
        {HAP_OP_reshape, 1, {flat}, 1, {y}, 0, {I(0)}},
        {HAP_OP_sum, 1, {sum}, 1, {flat}, 2, {L(0, 2), I(0)}},
        {HAP_OP_batch_m2, 1, {m2}, 2, {flat, sum}, 0, {I(0)}},
        {HAP_OP_batch_apply, 1, {n}, 5, {flat, sum, m2, scale, more}, 1, {F(1e-5)}},
        {HAP_OP_reshape, 1, {at}, 1, {n}, 0, {I(0)}},
        {HAP_OP_relu, 1, {a}, 1, {at}, 0, {I(0)}},
        {HAP_OP_max_pool, 1, {p}, 1, {a}, 5, {L(2, 2), L(2, 2), L(0, 0), L(1, 1), I(0)}},
        {HAP_OP_transpose, 1, {rows}, 1, {p}, 1, {L(0, 2, 3, 1)}},
        {HAP_OP_transpose, 1, {dp}, 1, {rows}, 1, {L(0, 3, 1, 2)}},
        {HAP_OP_max_pool_bwd, 1, {da}, 2, {dp, a}, 5, {L(2, 2), L(2, 2), L(0, 0), L(1, 1), I(0)}},
        {HAP_OP_relu_bwd, 1, {da}, 2, {da, a}, 0, {I(0)}},
        {HAP_OP_reshape, 1, {dn}, 1, {da}, 0, {I(0)}},
        {HAP_OP_batch_bwd_stats, 2, {u, v}, 4, {dn, flat, sum, m2}, 1, {F(1e-5)}},
        {HAP_OP_batch_bwd, 1, {dflat}, 7, {dn, flat, sum, m2, u, v, scale}, 1, {F(1e-5)}},
        {HAP_OP_reshape, 1, {dy}, 1, {dflat}, 0, {I(0)}},
        {HAP_OP_conv_transposed, 1, {dx}, 2, {dy, w}, 5, {ONES, L(18, 14), I(1)}},
        {HAP_OP_conv_dw, 1, {dw}, 2, {x, dy}, 5, {ONES, L(3, 3), I(1)}},
        {HAP_OP_sum, 1, {db}, 1, {da}, 2, {L(0, 2, 3), I(0)}},
        {HAP_OP_sum, 1, {images}, 1, {a}, 2, {L(1, 2, 3), I(0)}},
    };
    enum { N = sizeof call / sizeof *call };
    hap_tensor *out[] = {y,  flat, sum, m2, n,     at, a,  p,  rows, dp,
                         da, dn,   u,   v,  dflat, dy, dx, dw, db,   images};
    enum { OUT = sizeof out / sizeof *out };
    hap_tensor *is[OUT];
    for (int k = 0; k < OUT; k++)
        is[k] = clone(out[k]);
    test_cuda_channels_last(_i == 2);
    const char *why = test_cuda_run_all(&now, call, N);
    test_cuda_channels_last(false);
    ck_assert_msg(!why, "%s", why);
    for (int k = 0; k < OUT; k++) { // what the GPU found, and room for the CPU's
        void *found = is[k]->data;
        is[k]->data = out[k]->data, out[k]->data = found;
    }
    for (int i = 0; i < N; i++)
        ck_assert_ptr_null(hap_cpu_run(&now, &call[i]));
    for (int k = 0; k < OUT; k++) {
        // Where rounding takes an entry over 0, or makes another the largest, its gradient goes.
        double d = distance(is[k], out[k]), limit = k < 10 ? 4 * NARROW : 0x1p-4;
        ck_assert_msg(d <= limit, "output %d of case %d is off by %.3g", k, _i, d);
    }
}
END_TEST

// The head of a language model of 1003 words: its logits and their gradient are read by products,
// rows of statistics and (odd cases) a row that wants them dense. From case 2 on the gradient lies
// on the logits.
START_TEST(a_head_agrees_with_the_cpu)
{
    hap_tensor *x = make("h1100x1024 -0.05 0.05"), *w = make("h1003x1024"), *b = make("h1003");
    hap_tensor *labels = make("i1100 0 1003"), *g = make("f 0.5 1"), *logits = make("h1100x1003");
    hap_tensor *max = make("f1100"), *sum = make("f1100"), *target = make("f1100");
    hap_tensor *dense = make("h1100x1003"), *dx = make("h1100x1024"), *dw = make("f1003x1024");
    hap_tensor *dlogits = _i < 2 ? make("h1100x1003") : logits;
    hap_op_call call[] = {
        {HAP_OP_linear, 1, {logits}, 3, {x, w, b}, 1, {I(1)}},
        {HAP_OP_row_max, 1, {max}, 1, {logits}, 0, {I(0)}},
        {HAP_OP_row_expsum, 1, {sum}, 2, {logits, max}, 0, {I(0)}},
        {HAP_OP_target_logit, 1, {target}, 2, {logits, labels}, 1, {I(-100)}},
        {HAP_OP_ce_bwd, 1, {dlogits}, 5, {logits, max, sum, labels, g}, 1, {I(-100)}},
        {HAP_OP_scale, 1, {dense}, 1, {dlogits}, 1, {F(2)}},
        {HAP_OP_linear, 1, {dx}, 2, {dlogits, w}, 1, {I(0)}},
        {HAP_OP_linear_dw, 1, {dw}, 2, {dlogits, x}, 0, {I(0)}},
    };
    enum { N = sizeof call / sizeof *call };
    if (_i % 2 == 0) call[5] = call[3];
    hap_tensor *out[] = {logits, max, sum, target, dx, dw, dense, dlogits}, *is[8];
    int n = dlogits == logits ? 7 : 8;
    for (int k = 0; k < n; k++)
        is[k] = clone(out[k]);
    const char *why = test_cuda_run_all(&now, call, N);
    ck_assert_msg(!why, "%s", why);
    for (int k = 0; k < n; k++) { // what the GPU found, and room for the CPU's
        void *p = is[k]->data;
        is[k]->data = out[k]->data, out[k]->data = p;
    }
    for (int i = 0; i < N; i++)
        ck_assert_ptr_null(hap_cpu_run(&now, &call[i]));
    for (int k = 0; k < n; k++) {
        double d = distance(is[k], out[k]);
        // Logits are rounded, what comes of them once or twice more.
        ck_assert_msg(d <= 2 * NARROW, "output %d of case %d is off by %.3g", k, _i, d);
    }
}
END_TEST

START_TEST(an_index_outside_is_said)
{
    hap_op_call c = {.op = HAP_OP_embedding, .n_out = 1, .n_in = 2};
    c.in[0] = make("f10x8");
    c.in[1] = make("i5 0 10");
    c.out[0] = make("f5x8");
    ((int64_t *)c.in[1]->data)[3] = 10;
    const char *why = test_cuda_run(&now, &c);
    ck_assert_ptr_nonnull(why);
    ck_assert_str_eq(why, "embedding: index 10 lies outside [0, 10)");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("ops_bf16_cuda");
    TCase *t = tcase_create("rows");
    tcase_add_loop_test(t, rows_agree_with_the_cpu, 0, (int)(sizeof specs / sizeof *specs));
    tcase_add_loop_test(t, captured_rows_are_the_called_ones, 0,
                        (int)(sizeof specs / sizeof *specs));
    tcase_add_loop_test(t, rows_do_not_depend_on_how_operands_lie, 0,
                        (int)(sizeof specs / sizeof *specs));
    if (!test_few()) tcase_add_loop_test(t, a_block_of_images_agrees_with_the_cpu, 0, 3);
    if (!test_few()) tcase_add_loop_test(t, a_head_agrees_with_the_cpu, 0, 4);
    if (!test_few()) tcase_add_loop_test(t, long_attention_agrees_with_the_cpu, 0, 2);
    tcase_add_test(t, an_index_outside_is_said);
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_set_fork_status(sr, CK_NOFORK); // CUDA does not survive a fork
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed;
}
