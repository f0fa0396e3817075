// The verdict on a plan of stages: who has which layers, what that brings against plans without
// stages, which stage sets the pace.

#include "emit/verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// A share of the step below which nobody speaks of waiting.
static const double LITTLE = 0.01;

static const char *device_word(const plan_parts *x)
{
    const cl_cluster *c = x->staged->cluster;
    for (int k = 0; k < c->n_classes; k++)
        if (c->cls[k].kind != CL_GPU) return "device";
    return "GPU";
}

// "4 x A100-40GB and 2 x V100-16GB" of a stage's devices in use.
static hb_str devices_of(hb_arena *a, const plan_part *x)
{
    const syn_mesh *m = x->p->mesh;
    hb_str *item = HB_ARRAY(a, hb_str, m->n_classes + 1);
    for (int c = 0; c < m->n_classes; c++) {
        hb_str name = say_name(a, x->p->cluster->cls[m->cluster_class[c]].name);
        int n = x->w->n_of[c];
        item[c] = n == 1 ? name : hb_fmt(a, "%.*s x %.*s", HB_ARG(say_count(a, n)), HB_ARG(name));
    }
    return say_list(a, item, m->n_classes);
}

static hb_str decided(hb_arena *a, const plan_parts *x)
{
    const syn_staged *p = x->staged;
    const char *device = device_word(x);
    int all = p->cluster->n_ranks, k = p->g->micro_batches;
    hb_buf b = {.arena = a};
    hb_printf(&b, "One training step takes %.*s", HB_ARG(say_sec(a, p->predicted_sec)));
    if (p->n_ranks == all)
        hb_printf(&b, ", %.*s", HB_ARG(verdict_all(a, device, all)));
    else
        hb_printf(&b, ", on %.*s of the %.*s", HB_ARG(say_count(a, p->n_ranks)),
                  HB_ARG(say_things(a, all, device)));
    hb_printf(&b, " in %.*s", HB_ARG(say_things(a, p->n, "stage")));
    for (int s = 0; s < p->n; s++)
        hb_printf(&b, "%s %.*s (%.*s)", s ? ";" : ":",
                  HB_ARG(say_name(a, emit_stage_words(a, p, s))),
                  HB_ARG(devices_of(a, &x->part[s])));
    if (k > 1)
        hb_printf(&b, ". The batch goes through in %.*s", HB_ARG(say_things(a, k, "micro-batch")));
    hb_putc(&b, '.');
    return hb_done(&b);
}

// The plan without stages first, then what it was compared with itself.
static void find_alternatives(hb_arena *a, const plan_parts *x, const emit_plan *about, verdict *v)
{
    const syn_result *whole = about->whole;
    if (!whole || whole->status != SYN_OK) return;
    emit_plan e = *about;
    e.p = whole->program;
    e.res = whole;
    const verdict *own = verdict_of(wording_of(a, &e, step_times_of(a, &e)));
    int n = whole->program->mesh->n_ranks, all = x->staged->cluster->n_ranks;
    v->alt = hb_alloc(a, sizeof *v->alt * (size_t)(own->n_alt + 1));
    memcpy(v->alt, own->alt, sizeof *v->alt * (size_t)own->n_alt);
    v->n_alt = own->n_alt;
    hb_str where = n == all ? verdict_all(a, device_word(x), n)
                            : hb_fmt(a, "on %.*s of the %.*s", HB_ARG(say_count(a, n)),
                                     HB_ARG(say_things(a, all, device_word(x))));
    for (int i = 0; i < v->n_alt; i++) { // not the devices of the stages
        if (v->alt[i].kept && !v->alt[i].other && v->alt[i].strategy != SYN_AUTO)
            v->alt[i].where = where;
        v->alt[i].kept = v->alt[i].other = false;
    }
    v->alt[v->n_alt++] = (alternative){.strategy = SYN_AUTO,
                                       .whole = true,
                                       .name = HB_STR("Best plan without stages"),
                                       .where = where,
                                       .sec = whole->predicted_sec,
                                       .simple = true};
    qsort(v->alt, (size_t)v->n_alt, sizeof *v->alt, verdict_by_sec);
    for (int i = 0; i < v->n_alt && !v->best; i++)
        if (v->alt[i].whole) v->best = &v->alt[i];
}

static hb_str brings(hb_arena *a, const plan_parts *x, const emit_plan *about, const verdict *v)
{
    double T = x->staged->predicted_sec;
    const syn_result *whole = about->whole;
    if (!whole) return HB_STR("It was not compared with plans without stages.");
    if (!v->best)
        return hb_fmt(a, "Without stages there is no plan: %.*s.",
                      HB_ARG(verdict_readable(a, whole->why)));
    hb_buf b = {.arena = a};
    hb_printf(&b, "It is %.*s the best plan found without stages: %.*s, %.*s.",
              HB_ARG(verdict_faster(a, v->best->sec / T)), HB_ARG(v->best->where),
              HB_ARG(say_sec(a, v->best->sec)));
    for (int i = 0; i < v->n_alt; i++) {
        const alternative *k = &v->alt[i];
        if (k->whole || !k->simple || k->sec < 0) continue;
        hb_printf(&b, " It is %.*s %.*s, %.*s (%.*s).", HB_ARG(verdict_faster(a, k->sec / T)),
                  HB_ARG(verdict_lower(a, k->name)), HB_ARG(k->where), HB_ARG(say_sec(a, k->sec)));
        break;
    }
    return hb_done(&b);
}

// Which stage the others wait for, how much each waits; messages, if somebody waits for them.
static hb_str limits(hb_arena *a, const plan_parts *x)
{
    const syn_staged *p = x->staged;
    int pace = 0, n = 0;
    hb_str *item = HB_ARRAY(a, hb_str, p->n + 1);
    for (int s = 1; s < p->n; s++)
        if (p->stage[s].busy > p->stage[pace].busy) pace = s;
    const syn_stage *k = &p->stage[pace];
    hb_buf b = {.arena = a};
    hb_printf(&b, "Stage %d sets the pace: it is busy for %.*s of the step", pace,
              HB_ARG(say_percent(a, k->busy / p->predicted_sec)));
    if (p->g->micro_batches > 1)
        hb_printf(&b, ", %.*s forward and %.*s backward a micro-batch",
                  HB_ARG(say_sec(a, k->forward)), HB_ARG(say_sec(a, k->backward + k->weights)));
    for (int s = 0; s < p->n; s++) {
        double waits = 1 - p->stage[s].busy / p->predicted_sec;
        if (s != pace && waits > LITTLE)
            item[n++] = hb_fmt(a, "stage %d %.*s", s, HB_ARG(say_percent(a, waits)));
    }
    if (n > 0) hb_printf(&b, ". The others wait: %.*s", HB_ARG(say_list(a, item, n)));
    part_message *m;
    double waited = 0;
    for (int i = parts_messages(a, x, &m) - 1; i >= 0; i--)
        waited += m[i].waited;
    if (waited > LITTLE * p->predicted_sec)
        hb_printf(&b, ". Of all that, %.*s are spent with a message on its way",
                  HB_ARG(say_sec(a, waited)));
    hb_putc(&b, '.');
    return hb_done(&b);
}

verdict *verdict_of_stages(hb_arena *a, const plan_parts *x, const emit_plan *about)
{
    verdict *v = HB_NEW(a, verdict);
    v->model = verdict_model(a, about->graph_path);
    v->cluster = say_name(a, x->staged->cluster->name);
    find_alternatives(a, x, about, v);
    v->decided = decided(a, x);
    v->brings = brings(a, x, about, v);
    v->limits = limits(a, x);
    v->times = verdict_times(a, about);
    v->note = HB_STR("");
    v->proof = x->staged->values_run ? HB_STR("") : say_not_run();
    return v;
}

// --- why a stage is where it is ---

static double speed_of(const plan_part *x)
{
    double flops = 0;
    for (int c = 0; c < x->p->mesh->n_classes; c++)
        flops += x->w->n_of[c] *
                 words_peak_flops(x->p->g, &x->p->cluster->cls[x->p->mesh->cluster_class[c]]);
    return flops;
}

hb_str stages_why(hb_arena *a, const plan_parts *x, const emit_plan *about, int s)
{
    const syn_staged *p = x->staged;
    const syn_stage *k = &p->stage[s];
    double speed = 0, filled, capacity, slot = k->forward + k->backward + k->weights;
    int layers = 0, slowest = 0;
    for (int i = 0; i < p->n; i++) {
        speed += speed_of(&x->part[i]);
        layers += p->stage[i].n_layers;
        if (p->stage[i].busy > p->stage[slowest].busy) slowest = i;
    }
    hb_buf b = {.arena = a};
    hb_printf(&b, "%d of %s on %.*s of the computing speed in use", k->n_layers,
              say_things(a, layers, "layer").p,
              HB_ARG(say_percent(a, speed > 0 ? speed_of(&x->part[s]) / speed : 0)));
    if (hb_str_is(about->stages, "auto"))
        hb_puts(&b, ", as the search of stages found it");
    else if (about->stages.n > 0)
        hb_printf(&b, ", as --stages %.*s has it", HB_ARG(about->stages));
    hb_puts(&b, ".");
    if (slot > 0)
        hb_printf(&b, " A micro-batch takes it %.*s, a layer about %.*s", HB_ARG(say_sec(a, slot)),
                  HB_ARG(say_sec(a, slot / k->n_layers)));
    else
        hb_printf(&b, " The step takes it %.*s, a layer about %.*s", HB_ARG(say_sec(a, k->busy)),
                  HB_ARG(say_sec(a, k->busy / k->n_layers)));
    if (s == slowest)
        hb_puts(&b, "; no stage is busy for longer");
    else
        hb_printf(&b, "; it is busy for %.*s, stage %d longest, for %.*s",
                  HB_ARG(say_sec(a, k->busy)), slowest, HB_ARG(say_sec(a, p->stage[slowest].busy)));
    part_fullest(k->program, &filled, &capacity);
    hb_printf(&b, ". Its fullest memory is %.*s full.", HB_ARG(say_percent(a, filled / capacity)));
    return hb_done(&b);
}

// --- on a terminal ---

static void put_row(hb_buf *out, const plan_parts *x, int s)
{
    enum { NAME = 24 };
    hb_arena *a = out->arena;
    const syn_stage *k = &x->staged->stage[s];
    const syn_program *p = k->program;
    hb_str who = hb_fmt(a, "%d: %.*s", s, HB_ARG(say_name(a, emit_stage_words(a, x->staged, s))));
    double filled, capacity;
    part_fullest(p, &filled, &capacity);
    int width = 0, end = 0; // whole characters
    for (size_t i = 0; i < who.n; i++) {
        bool first = ((unsigned char)who.p[i] & 0xc0) != 0x80;
        if (first && width == NAME) break;
        width += first;
        end = (int)i + 1;
    }
    hb_printf(out, "  %.*s%*s", end, who.p, NAME + 1 - width, "");
    hb_printf(out, "%6d  %8.*s  %8.*s  %8.*s of %.*s\n", p->mesh->n_ranks,
              HB_ARG(say_sec(a, k->busy)),
              HB_ARG(say_sec(a, fmax(0, x->staged->predicted_sec - k->busy))),
              HB_ARG(emit_bytes(a, filled)), HB_ARG(emit_bytes(a, capacity)));
}

void stages_verdict_text(hb_buf *out, const plan_parts *x, const emit_plan *about, const char *dir)
{
    enum { MOST = 5 };
    hb_arena *a = out->arena;
    const syn_staged *p = x->staged;
    const verdict *v = verdict_of_stages(a, x, about);
    hb_buf who = {.arena = a};
    hb_printf(&who, "%.*s on %.*s, batch %lld, %s, %.*s", HB_ARG(v->model), HB_ARG(v->cluster),
              (long long)p->g->batch, ir_precision_name(p->g->precision),
              HB_ARG(say_things(a, p->n, "stage")));
    if (p->g->micro_batches > 1)
        hb_printf(&who, ", %.*s", HB_ARG(say_things(a, p->g->micro_batches, "micro-batch")));
    if (p->g->recomputed.n > 0)
        hb_printf(&who, ", %.*s recomputed", HB_ARG(say_things(a, p->g->recomputed.n, "block")));
    verdict_wrapped(out, "Plan", hb_done(&who), 1);
    hb_putc(out, '\n');
    verdict_sentences(out, v, p->n > MOST ? MOST + 1 : p->n);
    hb_printf(out, "\n  %-25s%6s  %8s  %8s  %s\n", "Stages", "ranks", "busy", "waits", "memory");
    for (int s = 0; s < p->n && s < MOST; s++)
        put_row(out, x, s);
    if (p->n > MOST)
        hb_printf(out, "  and %.*s more\n", HB_ARG(say_things(a, p->n - MOST, "stage")));
    const cl_class *unable = NULL;
    for (int s = 0; s < x->n && !unable; s++)
        unable = verdict_plan_only(x->part[s].p);
    if (dir) verdict_ways(out, dir, unable);
}

void emit_stages_verdict(hb_buf *out, const syn_staged *p, const emit_plan *about, const char *dir)
{
    stages_verdict_text(out, parts_of_stages(out->arena, p, about, NULL), about, dir);
}
