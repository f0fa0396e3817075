// Dense rows: families of square matmuls [m, w] x [w, w] by width w, attention by length, and
// convolutions of w channels to as many, all together (3 x 3) or each by itself (7 x 7).

#include "core/fail.h"
#include "profile/profile.h"

typedef struct shape {
    int64_t m, w;
} shape;

static double bytes_of(const hap_op_call *c)
{
    double n = 0;
    for (int i = 0; i < c->n_out; i++)
        n += (double)c->out[i]->bytes;
    for (int i = 0; i < c->n_in; i++)
        n += c->in[i] ? (double)c->in[i]->bytes : 0;
    return n;
}

static bool complete(const hap_op_call *c)
{
    for (int i = 0; i < c->n_out; i++)
        if (!c->out[i]) return false;
    for (int i = 0; i < c->n_in; i++)
        if (!c->in[i]) return false;
    return true;
}

// The k-th repetition of a matmul: forward with its bias and the gradient of its input take turns.
static bool matmul(profile *p, hap_op_id op, hap_dtype t, shape s, int k)
{
    profile_call *call = profile_add(p, CALL_OP);
    hap_op_call c = {.op = op, .n_out = 1};
    int64_t b = 4, mw[] = {s.m, s.w}, ww[] = {s.w, s.w};
    int64_t bmw[] = {b, s.m / b, s.w}, bww[] = {b, s.w, s.w};
    switch ((int)op) {
    case HAP_OP_linear:
        c.n_in = k % 2 ? 2 : 3;
        c.in[0] = profile_tensor(p, PROFILE_IN, t, 2, mw);
        c.in[1] = profile_tensor(p, PROFILE_IN, t, 2, ww);
        if (c.n_in == 3) c.in[2] = profile_tensor(p, PROFILE_IN, t, 1, &s.w);
        c.out[0] = profile_tensor(p, PROFILE_OUT, t, 2, mw);
        c.n_attr = 1;
        c.attr[0].i = k % 2 ? HAP_NT : HAP_NN;
        break;
    case HAP_OP_linear_dw:
        c.n_in = 2;
        c.in[0] = profile_tensor(p, PROFILE_IN, t, 2, mw);
        c.in[1] = profile_tensor(p, PROFILE_IN, t, 2, mw);
        c.out[0] = profile_tensor(p, PROFILE_OUT, HAP_F32, 2, ww);
        break;
    default: // matmul
        c.n_in = 2;
        c.in[0] = profile_tensor(p, PROFILE_IN, t, 3, bmw);
        c.in[1] = profile_tensor(p, PROFILE_IN, t, 3, bww);
        c.out[0] = profile_tensor(p, PROFILE_OUT, t, 3, bmw);
        c.n_attr = 1;
        c.attr[0].i = k % 2 ? HAP_NT : HAP_NN;
        break;
    }
    call->op = c;
    return complete(&c);
}

static const char *name_of(const profile *p, hap_dtype t)
{
    return t == HAP_F32 ? p->dense_dtype : "bf16";
}

static void matmuls(profile *p, hap_op_id op, hap_dtype t)
{
    static const int64_t gpu_w[] = {64, 256, 768, 2048, 8192, 0}, cpu_w[] = {32, 128, 512, 0},
                         quick_w[] = {32, 128, 0};
    static const int64_t gpu_m[] = {512, 4096, 32768, 262144, 0}, cpu_m[] = {64, 512, 4096, 0},
                         quick_m[] = {64, 256, 0};
    const int64_t *w = p->quick ? quick_w : p->device.gpu ? gpu_w : cpu_w;
    // Of one matmul: 32768 x 8192 x 8192, in f32 proper 4096.
    double most = t == HAP_F32 && !p->only_dense ? 6e11 : 5e12;
    const int64_t *ms = p->quick ? quick_m : p->device.gpu ? gpu_m : cpu_m;
    for (; *w; w++)
        for (const int64_t *m = ms; *m; m++) {
            double flops = 2 * (double)*m * (double)*w * (double)*w, bytes = 0;
            if ((*m < *w / 2 && *w < 8192) || flops > most) continue;
            bool fits = true;
            profile_begin(p);
            int n = profile_times(p, flops, 4 * 3 * (double)*m * (double)*w);
            n += op != HAP_OP_linear_dw && n % 2; // both layouts
            for (int k = 0; fits && k < n; k++) {
                fits = matmul(p, op, t, (shape){*m, *w}, k);
                if (fits) bytes += bytes_of(&p->call[p->n_calls - 1].op) / n;
            }
            if (!fits) continue;
            double sec = profile_run(p) / n;
            profile_keep(p, (profile_result){PROFILE_OP, hap_op_names[op], "", name_of(p, t),
                                             flops / bytes, flops, sec});
            profile_progress(p);
        }
}

// b sequences of 12 heads of 64.
static void attention(profile *p, hap_op_id op, hap_dtype t, int64_t b, int64_t length)
{
    bool causal = length > 512, back = op == HAP_OP_sdpa_bwd;
    int64_t heads = p->device.gpu ? 12 : 4, q[] = {b, heads, length, 64};
    double flops =
        (back ? 5 : 2) * (double)(b * heads * length * length) * 128 * (causal ? 0.5 : 1);
    double bytes = 0;
    bool fits = true;
    profile_begin(p);
    int n = profile_times(p, flops, 4 * (double)(b * heads * length * 64 * 4));
    for (int k = 0; fits && k < n; k++) {
        profile_call *call = profile_add(p, CALL_OP);
        hap_op_call c = {.op = op, .n_out = back ? 3 : 2, .n_in = back ? 6 : 3, .n_attr = 5};
        for (int i = 0; i < c.n_in; i++)
            c.in[i] = i == 5 ? profile_tensor(p, PROFILE_IN, HAP_F32, 3, q)
                             : profile_tensor(p, PROFILE_IN, t, 4, q);
        for (int i = 0; i < c.n_out; i++)
            c.out[i] = !back && i == 1 ? profile_tensor(p, PROFILE_OUT, HAP_F32, 3, q)
                                       : profile_tensor(p, PROFILE_OUT, t, 4, q);
        c.attr[0].i = causal;
        c.attr[1].f = 0.125;
        fits = complete(&c);
        call->op = c;
        if (fits) bytes = bytes_of(&c);
    }
    if (!fits) return;
    double sec = profile_run(p) / n;
    profile_keep(p, (profile_result){PROFILE_OP, hap_op_names[op], "", name_of(p, t), flops / bytes,
                                     flops, sec});
    profile_progress(p);
}

// n of both dims of places.
static hap_ints both(int n)
{
    static const int64_t of[][2] = {[1] = {1, 1}, [3] = {3, 3}, [7] = {7, 7}, [28] = {28, 28}};
    return (hap_ints){2, of[n]};
}

// b images of w channels, each a group of its own or all one.
static bool convolution(profile *p, hap_op_id op, hap_dtype t, int64_t b, int64_t w, bool alone)
{
    const int places = 28, wide = alone ? 7 : 3;
    int64_t image[] = {b, w, places, places}, windows[] = {w, alone ? 1 : w, wide, wide};
    profile_call *call = profile_add(p, CALL_OP);
    bool dw = op == HAP_OP_conv_dw;
    hap_op_call c = {.op = op, .n_in = 2, .n_out = 1, .n_attr = op == HAP_OP_conv ? 4 : 5};
    c.in[0] = profile_tensor(p, PROFILE_IN, t, 4, image);
    c.in[1] = profile_tensor(p, PROFILE_IN, t, 4, dw ? image : windows);
    c.out[0] = profile_tensor(p, PROFILE_OUT, dw ? HAP_F32 : t, 4, dw ? windows : image);
    c.attr[0].v = c.attr[2].v = both(1); // stride, dilation
    c.attr[1].v = both(wide / 2);
    if (op != HAP_OP_conv) c.attr[3].v = both(dw ? wide : places);
    c.attr[c.n_attr - 1].i = alone ? w : 1;
    call->op = c;
    return complete(&c);
}

static void convolutions(profile *p, hap_op_id op, hap_dtype t)
{
    static const struct {
        int64_t w;
        bool alone;
    } gpu[] = {{384, true}, {64, false}, {256, false}, {1024, false}},
      cpu[] = {{32, true}, {16, false}, {64, false}};
    static const int64_t gpu_b[] = {8, 64, 256, 0}, cpu_b[] = {1, 8, 0};
    double most = t == HAP_F32 && !p->only_dense ? 6e11 : 5e12;
    int shapes = p->device.gpu ? 4 : 3;
    for (int i = 0; i < shapes; i++)
        for (const int64_t *b = p->device.gpu ? gpu_b : cpu_b; *b; b++) {
            int64_t w = p->device.gpu ? gpu[i].w : cpu[i].w;
            bool alone = p->device.gpu ? gpu[i].alone : cpu[i].alone, fits = true;
            double image = (double)(*b * w) * 28 * 28, bytes = 0;
            double flops = 2 * image * (alone ? 49 : 9.0 * (double)w);
            if (flops > most || (p->quick && *b > 1)) continue;
            profile_begin(p);
            int n = profile_times(p, flops, 8 * image);
            for (int k = 0; fits && k < n; k++) {
                fits = convolution(p, op, t, *b, w, alone);
                if (fits) bytes = bytes_of(&p->call[p->n_calls - 1].op);
            }
            if (!fits) continue;
            double sec = profile_run(p) / n;
            profile_keep(p, (profile_result){PROFILE_OP, hap_op_names[op], "", name_of(p, t),
                                             flops / bytes, flops, sec});
            profile_progress(p);
        }
}

void profile_dense(profile *p)
{
    static const hap_op_id conv[] = {HAP_OP_conv, HAP_OP_conv_transposed, HAP_OP_conv_dw};
    static const hap_op_id row[] = {HAP_OP_linear, HAP_OP_linear_dw, HAP_OP_matmul};
    static const int64_t gpu_length[] = {128, 1024, 4096, 0}, cpu_length[] = {64, 256, 0};
    static const int64_t gpu_tokens[] = {8192, 32768, 131072, 0}, cpu_tokens[] = {256, 2048, 0};
    hap_dtype type[] = {HAP_F32, HAP_BF16};
    int n_types = p->device.gpu && !p->only_dense ? 2 : 1;
    for (int t = 0; t < n_types; t++) {
        // Power binds a device at work on matrix units for long, as in training.
        p->heat = p->device.gpu && (type[t] == HAP_BF16 || p->only_dense) ? 0.1 : 0;
        for (int i = 0; i < 3; i++)
            matmuls(p, row[i], type[t]);
        for (int i = 0; i < 3; i++)
            convolutions(p, conv[i], type[t]);
        for (int back = 0; back < 2; back++)
            for (const int64_t *l = p->device.gpu ? gpu_length : cpu_length; *l; l++)
                for (const int64_t *k = p->device.gpu ? gpu_tokens : cpu_tokens; *k; k++) {
                    if (*k < *l || (p->quick && (*l > 128 || *k > 256))) continue;
                    if (type[t] == HAP_F32 && p->device.gpu && *k > 32768) continue;
                    attention(p, back ? HAP_OP_sdpa_bwd : HAP_OP_sdpa, type[t], *k / *l, *l);
                }
    }
    p->heat = 0;
}
