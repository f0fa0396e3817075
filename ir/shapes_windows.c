// How many windows stand on the places of a dim (ops.def, .windows).

#include "ir/shapes.h"

static const ir_attr *attr(const ir_node *n, const char *name)
{
    return &n->attr[ir_attr_index(n->op, name)];
}

static bool entries(const ir_node *n, const char *name, int64_t least, hb_arena *a, hb_str *why)
{
    const ir_op_info *r = ir_op_of(n->op);
    const ir_attr *v = attr(n, name);
    int want = ir_row_formulas(n->op)->n_windows;
    bool good = v->n == want;
    for (int i = 0; good && i < want; i++)
        good = v->v[i] >= least && v->v[i] <= INT32_MAX;
    if (!good)
        *why = hb_fmt(a, "%s: %s is %.*s, not %d numbers of at least %lld", r->name, name,
                      HB_ARG(ir_shape_text(a, v->n, v->v)), want, (long long)least);
    return good;
}

// Windows of `size` on `places`, 0: they are too short.
static int64_t windows(const ir_node *n, int k, int64_t places, int64_t size, bool ceil)
{
    int64_t stride = attr(n, "stride")->v[k], padding = attr(n, "padding")->v[k];
    int64_t over = places + 2 * padding - attr(n, "dilation")->v[k] * (size - 1) - 1;
    if (over < 0) return 0;
    int64_t at = (over + (ceil ? stride - 1 : 0)) / stride;
    if (at * stride >= places + padding && ceil) at--; // it begins behind the last place
    return at + 1;
}

bool ir_bind_windows(const ir_node *n, ir_binding *b, hb_arena *a, hb_str *why)
{
    const ir_formulas *f = ir_row_formulas(n->op);
    if (f->n_windows == 0) return true;
    bool pools = f->window[0].size == '.';
    if (!entries(n, "stride", 1, a, why) || !entries(n, "padding", 0, a, why) ||
        !entries(n, "dilation", 1, a, why) || (pools && !entries(n, "window", 1, a, why)))
        return false;
    for (int k = 0; k < f->n_windows; k++) {
        const ir_window *w = &f->window[k];
        int64_t places = b->size[w->places - 'a'], *at = &b->size[w->at - 'a'];
        int64_t size = pools ? attr(n, "window")->v[k] : b->size[w->size - 'a'];
        int64_t fit = windows(n, k, places, size, pools && attr(n, "ceil")->i);
        if (fit < 1 || (*at && *at != fit)) {
            *why = hb_fmt(a, "%s: on %lld places, padded by %lld, stand %lld windows of %lld%s",
                          ir_op_of(n->op)->name, (long long)places,
                          (long long)attr(n, "padding")->v[k], (long long)fit, (long long)size,
                          fit < 1 ? "" : hb_fmt(a, ", not %lld", (long long)*at).p);
            return false;
        }
        *at = fit;
    }
    return true;
}
