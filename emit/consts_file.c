// consts.safetensors: the stored constants of a plan, copied from the files that the graph names.
//
// safetensors: u64 little-endian header length, JSON header {name: {dtype, shape, data_offsets}},
// data.

#include "emit/consts_file.h"

#include <stdio.h>
#include <string.h>

#include "ir/base/plain.h"
#include "ir/stored.h"

bool emit_consts(hb_arena *a, const ir_graph *g, hb_str graph_path, const char *path, bool *any,
                 hb_str *why)
{
    hb_buf head = {.arena = a}, data = {.arena = a};
    ir_store store = {.arena = a, .graph = graph_path};
    *any = false;
    hb_putc(&head, '{');
    for (int i = 0; i < g->tensors.n; i++) {
        const ir_tensor *t = &g->tensors.p[i];
        if (t->kind != IR_CONST || t->init.kind != IR_INIT_STORED) continue;
        ir_array v;
        if (!ir_stored(&store, t, &v, why)) return false;
        if (*any) hb_putc(&head, ',');
        *any = true;
        hb_put_json(&head, t->name);
        hb_puts(&head, ":{\"dtype\":");
        hb_put_json(&head, v.dtype);
        hb_puts(&head, ",\"shape\":[");
        for (int d = 0; d < t->rank; d++)
            hb_printf(&head, "%s%lld", d ? "," : "", (long long)t->dim[d]);
        hb_printf(&head, "],\"data_offsets\":[%zu,%zu]}", data.n, data.n + v.bytes.n);
        hb_putn(&data, v.bytes.p, v.bytes.n);
    }
    if (!*any) return true;
    hb_putc(&head, '}');
    while (head.n % 8)
        hb_putc(&head, ' ');
    hb_buf all = {.arena = a};
    for (int i = 0; i < 8; i++)
        hb_putc(&all, (char)((uint64_t)head.n >> (8 * i) & 255));
    hb_putn(&all, head.p, head.n);
    hb_putn(&all, data.p, data.n);
    if (hb_write_file(path, hb_done(&all))) return true;
    *why = hb_fmt(a, "%s: cannot be written", path);
    return false;
}
