#include "emit/op_text.h"

#include <string.h>

// Of "A ; B ; C" the one that the first attribute chooses, as with formulas.
static hb_str alternative(const ir_node *n, const char *p)
{
    const char *end;
    for (int64_t k = n->attr[0].i; (end = strstr(p, " ; ")) && k > 0; k--)
        p = end + strlen(" ; ");
    return (hb_str){p, end ? (size_t)(end - p) : strlen(p)};
}

hb_str emit_op_formula(hb_arena *a, const ir_node *n)
{
    hb_buf b = {.arena = a};
    hb_assert(ir_op_of(n->op)->text);
    hb_str s = alternative(n, ir_op_of(n->op)->text);
    bool skip = false;
    for (const char *p = s.p; p < s.p + s.n; p++) {
        if (*p == '[' && (p[1] == ' ')) { // "[ + c]": the letter before ']' says which operand
            const char *end = strchr(p, ']');
            skip = end[-1] - 'a' >= n->n_in;
        } else if (*p == ']' && p[-1] >= 'a' && p[-1] <= 'z' && strchr("cde", p[-1]) &&
                   (p[-2] == ' ')) {
            skip = false;
        } else if (skip) {
            continue;
        } else if (*p == '%') {
            char name[32];
            size_t k = strspn(p + 1, "abcdefghijklmnopqrstuvwxyz_");
            hb_assert(k < sizeof name);
            memcpy(name, p + 1, k);
            name[k] = 0;
            const ir_attr *v = &n->attr[ir_attr_index(n->op, name)];
            hb_printf(&b, "%.4g", v->kind == IR_ATTR_REAL ? v->f : (double)v->i);
            p += k;
        } else {
            hb_putc(&b, *p);
        }
    }
    return hb_done(&b);
}
