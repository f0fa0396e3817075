#include "emit/page.h"

void page_go(page *g, int part)
{
    g->part = &g->all->part[part];
    g->e = g->part->e;
    g->p = g->part->p;
    g->t = g->part->t;
    g->w = g->part->w;
}

hb_str page_block(hb_str name, int *index)
{
    size_t from = 0, before = 0; // of this component, of the one before
    *index = -1;
    for (size_t i = 0; i <= name.n && (i == name.n || name.p[i] != '\''); i++) {
        if (i < name.n && name.p[i] != '.') continue;
        bool digits = i > from && i - from < 9 && from > 0 && i < name.n;
        int v = 0;
        for (size_t k = from; k < i && digits; k++) {
            digits = name.p[k] >= '0' && name.p[k] <= '9';
            v = v * 10 + (name.p[k] - '0');
        }
        if (digits) {
            *index = v;
            return (hb_str){name.p + before, from - 1 - before};
        }
        before = from;
        from = i + 1;
    }
    return (hb_str){"", 0};
}
