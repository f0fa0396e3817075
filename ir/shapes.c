#include "ir/shapes.h"

int64_t ir_elements(const ir_tensor *t)
{
    int64_t n = 1;
    for (int i = 0; i < t->rank; i++) {
        if (t->dim[i] > 0 && n > INT64_MAX / t->dim[i])
            return INT64_MAX; // the reader refuses such a tensor
        n *= t->dim[i];
    }
    return n;
}

hb_str ir_shape_text(hb_arena *a, int rank, const int64_t *dim)
{
    hb_buf b = {.arena = a};
    hb_putc(&b, '[');
    for (int i = 0; i < rank; i++)
        hb_printf(&b, "%s%lld", i ? ", " : "", (long long)dim[i]);
    hb_putc(&b, ']');
    return hb_done(&b);
}

int ir_node_outs(const ir_node *n)
{
    const ir_op_info *r = ir_op_of(n->op);
    return r->list_out ? n->attr[ir_attr_index(n->op, "sizes")].n : r->n_out;
}
