#include "ir/names.h"

struct ir_names {
    hb_arena *arena;
    hb_map *used;
};

ir_names *ir_names_new(hb_arena *a, const ir_graph *g)
{
    ir_names *n = HB_NEW(a, ir_names);
    n->arena = a;
    n->used = hb_map_new(a);
    for (int i = 0; i < g->tensors.n; i++)
        hb_map_put(n->used, g->tensors.p[i].name, 1);
    for (int i = 0; i < g->nodes.n; i++)
        hb_map_put(n->used, g->nodes.p[i].name, 1);
    return n;
}

hb_str ir_names_take(ir_names *n, hb_str want)
{
    hb_str name = want;
    for (int k = 2; hb_map_get(n->used, name) >= 0; k++)
        name = hb_fmt(n->arena, "%.*s_%d", HB_ARG(want), k);
    hb_map_put(n->used, name, 1);
    return name;
}
