// Numbers mod p, and where one part's elements lie in another.

#include "synth/certify/modp_model.h"
#include "synth/plan/search_limits.h"

#include <math.h>
#include <string.h>

void mp_reset(mp *m)
{
    hb_arena_free(m->tmp);
    m->tmp = hb_arena_new();
}

bool mp_fail(mp *m, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    hb_buf b = {.arena = m->a};
    hb_vprintf(&b, fmt, ap);
    va_end(ap);
    m->why = hb_done(&b);
    return false;
}

uint64_t mp_inverse(uint64_t a)
{
    uint64_t y = 1;
    for (uint64_t e = MP_P - 2; e > 0; e >>= 1) {
        if (e & 1u) y = mp_mul(y, a);
        a = mp_mul(a, a);
    }
    return y;
}

uint64_t mp_int(int64_t i)
{
    return i >= 0 ? (uint64_t)i % MP_P : MP_P - 1 - ((uint64_t) - (i + 1) % MP_P);
}

uint64_t mp_const(const mp *m, double f)
{
    if (fabs(f) < SYN_MODP_WHOLE && !(floor(f) < f)) return mp_int((int64_t)f);
    uint64_t bits;
    memcpy(&bits, &f, sizeof bits);
    return mp_hash(m, 0xc0, bits);
}

int64_t mp_count(const mp_part *x, int rank)
{
    int64_t n = 1;
    for (int d = 0; d < rank; d++)
        n *= x->ix[d]->l;
    return n;
}

static void next(int64_t *i, const mp_part *x, int rank)
{
    for (int d = rank - 1; d >= 0; d--) {
        if (++i[d] < x->ix[d]->l) return;
        i[d] = 0;
    }
}

int64_t *mp_global(mp *m, const mp_part *x)
{
    int64_t *out = HB_ARRAY(m->tmp, int64_t, x->n + 1), i[IR_MAX_RANK] = {0};
    for (int64_t e = 0; e < x->n; e++, next(i, x, x->rank)) {
        int64_t g = 0;
        for (int d = 0; d < x->rank; d++)
            g = g * x->ix[d]->g + x->ix[d]->at[i[d]];
        out[e] = g;
    }
    return out;
}

// Offsets that one dim of x gives to the local indices of the dim of s beside it.
static int32_t *along(mp *m, const mp_index *s, const mp_index *x, int64_t stride, bool shifted,
                      int64_t shift)
{
    int32_t *out = HB_ARRAY(m->tmp, int32_t, s->l + 1);
    bool broadcast = !shifted && x->g == 1;
    if (!shifted && !broadcast && s->g != x->g) {
        mp_fail(m, "a dim of %lld entries meets one of %lld", (long long)s->n, (long long)x->n);
        return NULL;
    }
    if (!broadcast && s->g == x->g && shift == 0 && s->l != x->l) {
        mp_fail(m, "has operands or results cut differently"); // kernels go by local entries
        return NULL;
    }
    for (int64_t i = 0; i < s->l; i++) {
        int64_t g = broadcast ? 0 : s->at[i] + shift;
        int32_t l = g < 0 || g >= x->g ? -1 : x->of[g];
        if (l < 0 && (!shifted || (g >= 0 && g < x->g))) {
            mp_fail(m, "needs an entry that its operand does not hold on this rank");
            return NULL;
        }
        out[i] = l < 0 ? -1 : (int32_t)(l * stride);
    }
    return out;
}

bool mp_same(mp *m, const mp_part *x, int dx, const mp_part *y, int dy)
{
    const mp_index *p = x->ix[dx], *q = y->ix[dy];
    return (p->l == q->l && p->g == q->g &&
            memcmp(p->at, q->at, sizeof *p->at * (size_t)p->l) == 0) ||
           mp_fail(m, "has operands or results cut differently");
}

int32_t *mp_align(mp *m, const mp_part *s, int ns, const mp_part *x, int nx, const int *map,
                  const int64_t *shift)
{
    int32_t *by[IR_MAX_RANK] = {NULL};
    int64_t stride = 1, n = mp_count(s, ns);
    if (nx > ns && !map) {
        mp_fail(m, "an operand has more dims than the result");
        return NULL;
    }
    for (int d = nx - 1; d >= 0; d--) {
        int at = map ? map[d] : d + ns - nx;
        if (at >= 0 && at < ns) {
            by[at] = along(m, s->ix[at], x->ix[d], stride, shift != NULL, shift ? shift[d] : 0);
            if (!by[at]) return NULL;
        }
        stride *= x->ix[d]->l;
    }
    int32_t *out = HB_ARRAY(m->tmp, int32_t, n + 1);
    int64_t i[IR_MAX_RANK] = {0};
    for (int64_t e = 0; e < n; e++, next(i, s, ns)) {
        int32_t o = 0;
        for (int d = 0; d < ns && o >= 0; d++)
            if (by[d]) o = by[d][i[d]] < 0 ? -1 : o + by[d][i[d]];
        out[e] = o;
    }
    return out;
}
