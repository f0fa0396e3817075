// Stages on the page, and the ports between them.

#include "emit/page.h"

static void put_stage(page *g, int s)
{
    const syn_staged *p = g->all->staged;
    const syn_stage *k = &p->stage[s];
    double filled, capacity;
    js *j = &g->j;
    part_fullest(k->program, &filled, &capacity);
    js_sep(j);
    js_open(j, '{');
    js_text(j, "w", say_name(g->a, emit_stage_words(g->a, p, s)));
    js_text(j, "why", say_name(g->a, stages_why(g->a, g->all, g->about, s)));
    js_integer(j, "layers", k->n_layers);
    js_integer(j, "devices", k->program->mesh->n_ranks);
    js_integer(j, "under_way", k->program->g->depth > 1 ? k->program->g->depth : 1);
    js_real(j, "once_ms", (k->before + k->after) * 1e3);
    js_real(j, "forward_ms", k->forward * 1e3);
    js_real(j, "backward_ms", k->backward * 1e3);
    js_real(j, "weights_ms", k->weights * 1e3);
    js_real(j, "busy_ms", k->busy * 1e3);
    js_real(j, "filled", filled);
    js_real(j, "capacity", capacity);
    js_close(j, '}');
}

static void put_ports(page *g)
{
    const syn_staged *p = g->all->staged;
    js *j = &g->j;
    part_message *m;
    int n = parts_messages(g->a, g->all, &m), *count = HB_ARRAY(g->a, int, p->cut->ports.n + 1);
    double *waited = HB_ARRAY(g->a, double, p->cut->ports.n + 1);
    for (int i = 0; i < n; i++) {
        waited[m[i].port] += m[i].waited;
        count[m[i].port]++;
    }
    js_key(j, "ports");
    js_open(j, '[');
    for (int i = 0; i < p->cut->ports.n; i++) {
        const ir_port *q = &p->cut->ports.p[i];
        js_sep(j);
        js_open(j, '{');
        js_text(j, "value", say_name(g->a, q->name));
        js_integer(j, "from", q->from);
        js_integer(j, "to", q->to);
        js_integer(j, "n", count[i]);
        js_real(j, "bytes", count[i] * p->port_bytes[i]);
        js_real(j, "ms", count[i] * p->port_sec[i] * 1e3);
        js_real(j, "waited_ms", waited[i] * 1e3);
        js_close(j, '}');
    }
    js_close(j, ']');
}

void page_stages(page *g)
{
    js_key(&g->j, "stages");
    js_open(&g->j, '[');
    for (int s = 0; s < g->all->n; s++)
        put_stage(g, s);
    js_close(&g->j, ']');
    put_ports(g);
}
