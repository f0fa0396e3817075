#include "small_models.h"

static void loss_of(hb_buf *b, const char *logits)
{
    hb_printf(b, "ce = ce_sum(%s, y)\nn = count(y)\ntotal = div(ce, n)\nloss total\n", logits);
}

ir_graph *small_mlp(hb_arena *a, int64_t batch, int n_layers, const int64_t *width)
{
    hb_buf b = {.arena = a};
    hb_printf(&b, "x: input f32 %lld %lld\ny: input i64 %lld\n", (long long)batch,
              (long long)width[0], (long long)batch);
    for (int i = 0; i < n_layers; i++)
        hb_printf(&b, "w%d: param f32 %lld %lld\n", i, (long long)width[i],
                  (long long)width[i + 1]);
    for (int i = 0; i < n_layers; i++) {
        hb_printf(&b, "f%d = linear(%s, w%d)\n", i, i ? hb_fmt(a, "a%d", i - 1).p : "x", i);
        if (i + 1 < n_layers) hb_printf(&b, "a%d = relu(f%d)\n", i, i);
    }
    loss_of(&b, hb_fmt(a, "f%d", n_layers - 1).p);
    return graph_text(a, hb_done(&b).p);
}

static void block(hb_arena *a, hb_buf *decl, hb_buf *body, const small_transformer *m, int i,
                  const char *x)
{
    static const char *const letter = "qkv";
    bool wide = m->alike > 0 && i / m->alike % 2 == 1;
    long long d = m->width, h = m->hidden + (wide ? m->hidden / 8 : 0) + (long long)m->wider * i,
              e = m->width / m->heads;
    const char *in = x;
    if (m->norm) {
        hb_printf(decl, "g%d: param f32 %lld\nb%d: param f32 %lld\n", i, d, i, d);
        hb_printf(body, "n%d = layer_norm(%s, g%d, b%d)\n", i, x, i, i);
        in = hb_fmt(a, "n%d", i).p;
    }
    for (int k = 0; k < 3; k++) {
        char c = letter[k];
        hb_printf(decl, "w%c%d: param f32 %lld %lld\n", c, i, d, d);
        hb_printf(body, "%cf%d = linear(%s, w%c%d)\n", c, i, in, c, i);
        hb_printf(body, "%cr%d = reshape(%cf%d) shape=%lld,%lld,%lld,%lld\n", c, i, c, i,
                  (long long)m->batch, (long long)m->tokens, (long long)m->heads, e);
        hb_printf(body, "%c%d = transpose(%cr%d) perm=0,2,1,3\n", c, i, c, i);
    }
    hb_printf(decl, "wo%d: param f32 %lld %lld\nwu%d: param f32 %lld %lld\n", i, d, d, i, d, h);
    hb_printf(decl, "wd%d: param f32 %lld %lld\n", i, h, d);
    hb_printf(body, "s%d = sdpa(q%d, k%d, v%d) causal=true\n", i, i, i, i);
    hb_printf(body, "st%d = transpose(s%d) perm=0,2,1,3\n", i, i);
    hb_printf(body, "sr%d = reshape(st%d) shape=%lld,%lld,%lld\n", i, i, (long long)m->batch,
              (long long)m->tokens, d);
    hb_printf(body, "o%d = linear(sr%d, wo%d)\nm%d = add(%s, o%d)\n", i, i, i, i, x, i);
    in = hb_fmt(a, "m%d", i).p;
    if (m->norm) {
        hb_printf(decl, "h%d: param f32 %lld\nc%d: param f32 %lld\n", i, d, i, d);
        hb_printf(body, "l%d = layer_norm(m%d, h%d, c%d)\n", i, i, i, i);
        in = hb_fmt(a, "l%d", i).p;
    }
    hb_printf(body, "u%d = linear(%s, wu%d)\ne%d = gelu(u%d)\nd%d = linear(e%d, wd%d)\n", i, in, i,
              i, i, i, i, i);
    hb_printf(body, "x%d = add(m%d, d%d)\n", i + 1, i, i);
}

ir_graph *small_attention(hb_arena *a, const small_transformer *m)
{
    hb_buf decl = {.arena = a}, body = {.arena = a};
    long long b = m->batch, t = m->tokens, d = m->width, v = m->vocabulary;
    hb_printf(&decl, "y: input i64 %lld %lld\n", b, t);
    if (!m->tied) hb_printf(&decl, "wout: param f32 %lld %lld\n", d, v);
    if (m->embedding) {
        hb_printf(&decl, "ids: input i64 %lld %lld\nwte: param f32 %lld %lld\n", b, t, v, d);
        hb_puts(&body, "x0 = embedding(wte, ids)\n");
    } else {
        hb_printf(&decl, "x0: input f32 %lld %lld %lld\n", b, t, d);
    }
    for (int i = 0; i < m->n_layers; i++)
        block(a, &decl, &body, m, i, hb_fmt(a, "x%d", i).p);
    hb_printf(&body, m->tied ? "f = linear(x%d, wte) trans=1\n" : "f = linear(x%d, wout)\n",
              m->n_layers);
    loss_of(&body, "f");
    return graph_text(a, hb_fmt(a, "%s%s", hb_done(&decl).p, hb_done(&body).p).p);
}
