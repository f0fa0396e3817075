// What is said of a plan of stages: its report, its plan.json, one object for --json.

#include "emit/stages_report.h"

#include <math.h>

#include "emit/plan_lists.h"
#include "emit/verdict.h"
#include "ir/base/plain.h"
#include "synth/price/simulate_plan.h"

static const char *turn_words(ir_turn t)
{
    return t == IR_BEFORE      ? "before"
           : t == IR_SLOT      ? "forward"
           : t == IR_SLOT_BACK ? "backward"
           : t == IR_AFTER     ? "behind"
                               : "weights";
}

static void stage_table(hb_buf *out, const plan_parts *x, const emit_plan *about)
{
    hb_arena *a = out->arena;
    const syn_staged *p = x->staged;
    int k = p->g->micro_batches > 1 ? p->g->micro_batches : 1;
    hb_puts(out,
            "Stages\n\nstage  devices  under way  forward  backward  weights  update     waits  "
            "memory\n");
    for (int s = 0; s < p->n; s++) {
        const syn_stage *y = &p->stage[s];
        double filled, capacity, ahead = k > 1 ? y->before + y->after : y->before;
        part_fullest(y->program, &filled, &capacity);
        hb_printf(out, "%5d  %7d  %9d  ", s, y->program->mesh->n_ranks,
                  y->program->g->depth > 1 ? y->program->g->depth : 1);
        if (k > 1)
            hb_printf(out, "%7.3f  %8.3f  %7.3f  %6.3f", y->forward * 1e3, y->backward * 1e3,
                      y->weights * 1e3, ahead * 1e3);
        else
            hb_printf(out, "%34.3f", ahead * 1e3);
        hb_printf(out, "  %6.1f %%  %.*s (%.0f %%)\n", 100 * (1 - y->busy / p->predicted_sec),
                  HB_ARG(emit_bytes(a, filled)), 100 * filled / capacity);
    }
    hb_puts(
        out,
        "\nMilliseconds of one micro-batch; weights: their gradients, where they are a part of\nthe "
        "slot of their own; update: what is done once a step. Waits: the share of the\nstep "
        "in which a stage has nothing to do.\n\n");
    for (int s = 0; s < p->n; s++)
        verdict_wrapped(out, hb_fmt(a, "%d", s).p,
                        hb_fmt(a, "%.*s. %.*s", HB_ARG(say_name(a, emit_stage_words(a, p, s))),
                               HB_ARG(stages_why(a, x, about, s))),
                        6);
}

// What each class of devices of a stage does with the step.
static void device_table(hb_buf *out, const plan_parts *x)
{
    hb_arena *a = out->arena;
    hb_puts(out, "\nDevices\n\nstage  devices                      computes  waits for data  for "
                 "others\n");
    for (int s = 0; s < x->n; s++)
        for (int c = 0; c < x->part[s].p->mesh->n_classes; c++) {
            const plan_part *k = &x->part[s];
            const class_times *t = &k->t->of[c];
            hb_str name = say_name(a, k->p->cluster->cls[k->p->mesh->cluster_class[c]].name);
            hb_printf(out, "%5d  %-27s  %8.*s  %14.*s  %10.*s\n", s,
                      hb_fmt(a, "%d x %.*s", k->w->n_of[c], HB_ARG(name)).p,
                      HB_ARG(say_sec(a, t->compute)), HB_ARG(say_sec(a, t->exposed)),
                      HB_ARG(say_sec(a, t->waiting)));
        }
}

static void port_table(hb_buf *out, const plan_parts *x)
{
    hb_arena *a = out->arena;
    const syn_staged *p = x->staged;
    part_message *m;
    int n = parts_messages(a, x, &m), n_ports = p->cut->ports.n;
    double *waited = HB_ARRAY(a, double, n_ports + 1);
    for (int i = 0; i < n; i++)
        waited[m[i].port] += m[i].waited;
    if (n_ports > 0)
        hb_puts(out, "\nPorts\n\nport  stages  when           bytes      ms  waited for  value\n");
    for (int i = 0; i < n_ports; i++) {
        const ir_port *q = &p->cut->ports.p[i];
        hb_printf(out, "%4d  %2d > %-2d %-8s  %10.*s  %6.3f  %10.*s  %.*s\n", i, q->from, q->to,
                  turn_words(q->turn), HB_ARG(emit_bytes(a, p->port_bytes[i])),
                  p->port_sec[i] * 1e3, HB_ARG(say_sec(a, waited[i])),
                  HB_ARG(say_name(a, q->name)));
    }
    if (n_ports > 0)
        hb_puts(out,
                "\nBytes and milliseconds of one message; waited for: in the whole step, while "
                "one is on its way\nand its receiver has nothing to do.\n");
}

void stages_report_text(hb_buf *out, const plan_parts *x, const emit_plan *about)
{
    stages_verdict_text(out, x, about, NULL);
    hb_puts(out, "\n---\n\n");
    stage_table(out, x, about);
    device_table(out, x);
    port_table(out, x);
    hb_puts(out, "\nProved: every stage, and that together they are the step.\n");
    if (!x->staged->values_run) hb_printf(out, "%.*s\n", HB_ARG(say_not_run()));
}

static void put_stages(js *j, const syn_staged *p, const plan_parts *y, const emit_plan *about)
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
        js_real(j, "weights_ms", x->weights * 1e3);
        js_real(j, "after_ms", x->after * 1e3);
        js_real(j, "waits_ms", x->waits * 1e3);
        js_real(j, "busy_ms", x->busy * 1e3);
        js_real(j, "bubble", p->predicted_sec > 0 ? 1 - x->busy / p->predicted_sec : 0);
        js_key(j, "machines");
        js_open(j, '[');
        for (int m = 0; m < x->cluster->n_machines; m++) {
            js_sep(j);
            hb_put_json(j->b, x->cluster->machine[m].name);
        }
        js_close(j, ']');
        if (y) js_text(j, "why", stages_why(j->b->arena, y, about, s));
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

// y NULL: without the class and the share of the work of each.
static void put_ranks(js *j, const syn_staged *p, const plan_parts *y)
{
    const cl_cluster *c = p->cluster;
    hb_arena *a = j->b->arena;
    int *rank = HB_ARRAY(a, int, c->n_ranks + 1), *stage = HB_ARRAY(a, int, c->n_ranks + 1);
    for (int r = 0; r < c->n_ranks; r++)
        rank[r] = -1;
    for (int s = 0; s < p->n; s++) {
        const syn_mesh *m = p->stage[s].program->mesh;
        for (int r = 0; r < m->n_ranks; r++) {
            int at = p->stage[s].cluster_rank[m->cluster_rank[r]];
            rank[at] = p->stage[s].first_rank + r;
            stage[at] = s;
        }
    }
    js_key(j, "ranks");
    js_open(j, '[');
    for (int r = 0; r < c->n_ranks; r++) {
        js_sep(j);
        js_open(j, '{');
        emit_put_rank(j, c, r, rank[r]);
        if (rank[r] >= 0 && y) {
            const plan_part *k = &y->part[stage[r]];
            int own = rank[r] - p->stage[stage[r]].first_rank;
            js_integer(j, "stage", stage[r]);
            js_integer(j, "class", k->first_class + k->p->mesh->class_of[own]);
            js_real(j, "ratio", emit_ratios(a, k->p)[own]);
        } else if (y) {
            js_real(j, "ratio", 0);
            js_text(j, "dropped_because", HB_STR("no stage is faster with it"));
        }
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
    if (p->g->expert_room > 0) js_real(j, "expert_room", p->g->expert_room);
    js_text(j, "strategy_option", e->strategy);
    js_text(j, "stages_option", e->stages);
    js_flag(j, "keep_grads", p->stage[0].program->keep_grads);
    js_flag(j, "pairs", !e->no_pairs);
    js_flag(j, "emulated", p->cluster->emulated);
    emit_put_pins(j, e->pins);
}

// The verdict, and what it is compared with.
static void put_verdict(js *j, const verdict *v)
{
    emit_put_verdict(j, v);
    js_key(j, "without_stages_ms");
    if (v->best)
        hb_printf(j->b, "%.9g", v->best->sec * 1e3);
    else
        hb_puts(j->b, "null");
}

void stages_plan_json(hb_buf *out, const plan_parts *x, const emit_plan *e)
{
    js j = {out, true};
    const syn_staged *p = x->staged;
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
    put_verdict(&j, verdict_of_stages(out->arena, x, e));
    js_text(&j, "certificate", HB_STR("proved"));
    js_flag(&j, "modular_run", p->values_run);
    js_text(&j, "backend", p->cluster->cls[0].kind == CL_GPU ? HB_STR("cuda") : HB_STR("cpu"));
    put_stages(&j, p, x, e);
    emit_put_machines(&j, p->cluster);
    put_ranks(&j, p, x);
    emit_put_lists(&j, x);
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
    js_flag(&j, "modular_run", p->values_run);
    js_integer(&j, "micro_batches", p->g->micro_batches > 1 ? p->g->micro_batches : 1);
    put_stages(&j, p, NULL, NULL);
    put_ranks(&j, p, NULL);
    js_close(&j, '}');
    hb_putc(out, '\n');
}

void emit_stages_text(hb_buf *out, const syn_staged *p, const emit_plan *about)
{
    stages_report_text(out, parts_of_stages(out->arena, p, about, NULL), about);
}
