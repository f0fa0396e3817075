// What is said of a plan of stages: its report, its plan.json, one object for --json.

#include <math.h>

#include "emit/emit.h"
#include "emit/json_out.h"
#include "synth/price/simulate_plan.h"

static double bubble(const syn_staged *p, int s)
{
    return p->predicted_sec > 0 ? 1 - p->stage[s].busy / p->predicted_sec : 0;
}

static int64_t capacity(const syn_program *p, int c)
{
    return p->cluster->cls[p->mesh->cluster_class[c]].capacity;
}

// The class of a stage whose memory is fullest.
static int fullest(const syn_program *p)
{
    int most = 0;
    for (int c = 1; c < p->mesh->n_classes; c++)
        if ((double)p->peak_bytes[c] / (double)capacity(p, c) >
            (double)p->peak_bytes[most] / (double)capacity(p, most))
            most = c;
    return most;
}

static const char *turn_words(ir_turn t)
{
    return t == IR_BEFORE      ? "before"
           : t == IR_SLOT      ? "forward"
           : t == IR_SLOT_BACK ? "backward"
                               : "behind";
}

void emit_stages_text(hb_buf *out, const syn_staged *p, const emit_plan *about)
{
    hb_arena *a = out->arena;
    int k = p->g->micro_batches > 1 ? p->g->micro_batches : 1;
    hb_printf(out, "%.6g ms a step, predicted%s: %d stage%s on %d devices, %d micro-batch%s\n\n",
              p->predicted_sec * 1e3, about->curves_missing ? " by datasheet formulas" : "", p->n,
              p->n > 1 ? "s" : "", p->n_ranks, k, k > 1 ? "es" : "");
    hb_puts(out, "stage  devices  under way  forward  backward  update     waits  memory\n");
    for (int s = 0; s < p->n; s++) {
        const syn_stage *x = &p->stage[s];
        int c = fullest(x->program);
        double filled = 100 * (double)x->program->peak_bytes[c] / (double)capacity(x->program, c);
        double ahead = k > 1 ? x->before + x->after : x->before;
        hb_printf(out, "%5d  %7d  %9d  ", s, x->program->mesh->n_ranks,
                  x->program->g->depth > 1 ? x->program->g->depth : 1);
        if (k > 1)
            hb_printf(out, "%7.3f  %8.3f  %6.3f", x->forward * 1e3, x->backward * 1e3, ahead * 1e3);
        else
            hb_printf(out, "%25.3f", ahead * 1e3);
        hb_printf(out, "  %6.1f %%  %.*s (%.0f %%)\n", 100 * bubble(p, s),
                  HB_ARG(emit_bytes(a, (double)x->program->peak_bytes[c])), filled);
        hb_printf(out, "       %.*s\n", HB_ARG(emit_stage_words(a, p, s)));
    }
    hb_puts(out, "\nMilliseconds of one micro-batch; update: what is done once a step. Waits: the "
                 "share of the\nstep in which a stage has nothing to do.\n");
    if (p->cut->ports.n > 0) hb_puts(out, "\nport  stages  when           bytes      ms  value\n");
    for (int i = 0; i < p->cut->ports.n; i++) {
        const ir_port *x = &p->cut->ports.p[i];
        hb_printf(out, "%4d  %2d > %-2d %-8s  %10.*s  %6.3f  %.*s\n", i, x->from, x->to,
                  turn_words(x->turn), HB_ARG(emit_bytes(a, p->port_bytes[i])),
                  p->port_sec[i] * 1e3, HB_ARG(x->name));
    }
    hb_puts(out, "\nProved: every stage, and that together they are the step.\n");
}

static void put_stages(js *j, const syn_staged *p)
{
    js_key(j, "stages");
    js_open(j, '[');
    for (int s = 0; s < p->n; s++) {
        const syn_stage *x = &p->stage[s];
        const syn_program *q = x->program;
        js_sep(j);
        js_open(j, '{');
        js_integer(j, "first_layer", x->first_layer);
        js_integer(j, "layers", x->n_layers);
        js_integer(j, "first_rank", x->first_rank);
        js_integer(j, "n_ranks", q->mesh->n_ranks);
        js_ints(j, "mesh", q->mesh->size, q->mesh->n_axes);
        js_integer(j, "under_way", q->g->depth > 1 ? q->g->depth : 1);
        js_real(j, "before_ms", x->before * 1e3);
        js_real(j, "forward_ms", x->forward * 1e3);
        js_real(j, "backward_ms", x->backward * 1e3);
        js_real(j, "after_ms", x->after * 1e3);
        js_real(j, "waits_ms", x->waits * 1e3);
        js_real(j, "bubble", bubble(p, s));
        js_int64s(j, "peak_bytes", q->peak_bytes, q->mesh->n_classes);
        js_close(j, '}');
    }
    js_close(j, ']');
    js_key(j, "ports");
    js_open(j, '[');
    for (int i = 0; i < p->cut->ports.n; i++) {
        const ir_port *x = &p->cut->ports.p[i];
        js_sep(j);
        js_open(j, '{');
        js_text(j, "value", x->name);
        js_integer(j, "from", x->from);
        js_integer(j, "to", x->to);
        js_text(j, "when", hb_str_c(j->b->arena, turn_words(x->turn)));
        js_real(j, "bytes", p->port_bytes[i]);
        js_real(j, "ms", p->port_sec[i] * 1e3);
        js_close(j, '}');
    }
    js_close(j, ']');
}

static void put_ranks(js *j, const syn_staged *p)
{
    const cl_cluster *c = p->cluster;
    int *rank = HB_ARRAY(j->b->arena, int, c->n_ranks + 1);
    for (int r = 0; r < c->n_ranks; r++)
        rank[r] = -1;
    for (int s = 0; s < p->n; s++) {
        const syn_mesh *m = p->stage[s].program->mesh;
        for (int r = 0; r < m->n_ranks; r++)
            rank[p->stage[s].cluster_rank[m->cluster_rank[r]]] = p->stage[s].first_rank + r;
    }
    js_key(j, "ranks");
    js_open(j, '[');
    for (int r = 0; r < c->n_ranks; r++) {
        const cl_machine *m = &c->machine[c->machine_of[r]];
        js_sep(j);
        js_open(j, '{');
        js_integer(j, "rank", rank[r]);
        js_integer(j, "cluster_rank", r);
        js_text(j, "device", c->cls[c->class_of[r]].name);
        js_text(j, "machine", m->name);
        js_text(j, "host", m->host);
        js_flag(j, "dropped", rank[r] < 0);
        js_close(j, '}');
    }
    js_close(j, ']');
}

static void put_request(js *j, const syn_staged *p, const emit_plan *e)
{
    js_text(j, "command", e->command);
    js_text(j, "graph", p->g->sha);
    js_text(j, "graph_path", e->graph_path);
    js_text(j, "cluster", p->cluster->sha);
    js_text(j, "cluster_path", e->cluster_path);
    js_text(j, "cluster_name", p->cluster->name);
    js_integer(j, "batch", p->g->batch);
    js_integer(j, "batch_option", e->batch);
    js_integer(j, "micro_batches", p->g->micro_batches > 1 ? p->g->micro_batches : 1);
    js_ints(j, "recomputed", p->g->recomputed.p, p->g->recomputed.n);
    js_text(j, "precision", hb_str_c(j->b->arena, ir_precision_name(p->g->precision)));
    js_text(j, "grad_dtype", hb_str_c(j->b->arena, ir_dtype_name(p->g->grad_dtype)));
    js_text(j, "strategy_option", e->strategy);
    js_flag(j, "keep_grads", p->stage[0].program->keep_grads);
}

void emit_stages_plan_json(hb_buf *out, const syn_staged *p, const emit_plan *e)
{
    js j = {out, true};
    double peak = 0;
    for (int s = 0; s < p->n; s++)
        peak = fmax(peak, syn_peak_seconds(p->stage[s].program));
    js_open(&j, '{');
    js_text(&j, "format", HB_STR("hap.plan"));
    js_integer(&j, "version", 1);
    js_text(&j, "producer", hb_fmt(out->arena, "hapc %.*s", HB_ARG(e->version)));
    put_request(&j, p, e);
    js_integer(&j, "n_ranks", p->n_ranks);
    js_real(&j, "predicted_ms", p->predicted_sec * 1e3);
    js_real(&j, "peak_ms", peak * 1e3);
    js_text(&j, "certificate", HB_STR("proved"));
    js_text(&j, "backend", p->cluster->cls[0].kind == CL_GPU ? HB_STR("cuda") : HB_STR("cpu"));
    put_stages(&j, p);
    put_ranks(&j, p);
    js_close(&j, '}');
    hb_putc(out, '\n');
}

void emit_stages_json(hb_buf *out, const syn_staged *p)
{
    js j = {out, true};
    js_open(&j, '{');
    js_real(&j, "predicted_ms", p->predicted_sec * 1e3);
    js_real(&j, "plan_seconds", p->plan_sec);
    js_text(&j, "certificate", HB_STR("proved"));
    js_integer(&j, "micro_batches", p->g->micro_batches > 1 ? p->g->micro_batches : 1);
    put_stages(&j, p);
    put_ranks(&j, p);
    js_close(&j, '}');
    hb_putc(out, '\n');
}
