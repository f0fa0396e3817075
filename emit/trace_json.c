// trace.json: the predicted timeline in Chrome trace format (chrome://tracing, Perfetto). pid =
// class, tid 0 = computation, tid 1 + axis = communication. Names are those of the measured trace:
// "op_linear:83". A collective says what share of it is hidden (args.hidden, 0 to 1).

#include "emit/plan_parts.h"
#include "ir/base/plain.h"

#include <string.h>

static const char *const lanes[] = {
#define HAP_LANE(name, text) text,
#include "runtime/hap/trace_lanes.def"
#undef HAP_LANE
};

// hidden < 0: says nothing of it.
static void event(hb_buf *b, bool *first, hb_str name, hb_str what, int pid, int tid, double begin,
                  double end, double hidden)
{
    hb_printf(b, "%s\n{\"name\":", *first ? "" : ",");
    *first = false;
    hb_put_json(b, name);
    hb_printf(b, ",\"cat\":");
    hb_put_json(b, what);
    hb_printf(b, ",\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"dur\":%.5f", pid, tid,
              begin * 1e6, (end - begin) * 1e6);
    if (hidden >= 0) hb_printf(b, ",\"args\":{\"hidden\":%.3g}", hidden);
    hb_putc(b, '}');
}

static void label(hb_buf *b, bool *first, const char *kind, int pid, int tid, hb_str name)
{
    hb_printf(b, "%s\n{\"name\":\"%s\",\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"args\":{\"name\":",
              *first ? "" : ",", kind, pid, tid);
    *first = false;
    hb_put_json(b, name);
    hb_puts(b, "}}");
}

// The labels of the class of a part, which is `pid` of all.
static void put_labels(hb_buf *out, bool *first, int pid, hb_str name, int axes)
{
    label(out, first, "process_name", pid, 0, name);
    for (int i = 0; i <= axes; i++)
        label(out, first, "thread_name", pid, i, hb_str_c(out->arena, lanes[i]));
}

void emit_stages_trace(hb_buf *out, const plan_parts *x)
{
    hb_arena *a = out->arena;
    bool first = true;
    hb_puts(out, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[");
    for (int s = 0; s < x->n; s++) {
        const plan_part *k = &x->part[s];
        const syn_program *p = k->p;
        int n = p->mesh->n_classes;
        for (int c = 0; c < n; c++)
            put_labels(out, &first, k->first_class + c, part_class_name(k, c), p->mesh->n_axes);
        for (int lane = 0; lane < n + p->mesh->n_axes; lane++)
            for (int i = 0; i < k->t->n_spans[lane]; i++) {
                const step_span *y = &k->t->span[lane][i];
                hb_str name = emit_instr_name(a, p, y->instr);
                bool sends = y->cls < 0;
                if (sends) name.n -= strlen("_start");
                name = hb_fmt(a, "%.*s:%d", HB_ARG(name), k->where ? k->where->line[y->instr] : 0);
                hb_str what = p->g->nodes.p[p->instr.p[y->instr].node].name;
                for (int c = sends ? 0 : lane; c < (sends ? n : lane + 1); c++)
                    event(out, &first, name, what, k->first_class + c, sends ? 1 + lane - n : 0,
                          y->begin, y->end, -1);
            }
    }
    hb_puts(out, "\n]}\n");
}

void emit_trace_json(hb_buf *out, const emit_plan *e, const emit_lines *where)
{
    hb_arena *a = out->arena;
    const syn_program *p = e->p;
    const cost_timeline *t = &e->res->timeline;
    int n = p->mesh->n_classes;
    bool first = true;
    int *wait = HB_ARRAY(a, int, p->instr.n + 1); // of a start
    for (int i = 0; i < p->instr.n; i++)
        if (p->instr.p[i].kind == SYN_WAIT) wait[p->instr.p[i].start] = i;
    hb_puts(out, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[");
    for (int c = 0; c < n; c++) {
        put_labels(out, &first, c, p->cluster->cls[p->mesh->cluster_class[c]].name,
                   p->mesh->n_axes);
    }
    for (int i = 0; i < p->instr.n && t->begin; i++) {
        const syn_instr *in = &p->instr.p[i];
        if (in->kind == SYN_WAIT) continue;
        hb_str name = emit_instr_name(a, p, i);
        if (in->kind == SYN_START) name.n -= strlen("_start"); // as the measured trace has it
        if (where) name = hb_fmt(a, "%.*s:%d", HB_ARG(name), where->line[i]);
        hb_str what = p->g->nodes.p[in->node].name;
        double hidden = in->kind == SYN_START ? emit_hidden(e, i, wait[i]) : -1;
        for (int c = 0; c < n; c++) {
            int tid = 0, at = i * n + c;
            if (in->kind == SYN_START) {
                for (int x = 0; x < SYN_MAX_AXES; x++)
                    if (in->axes & (1u << x)) tid = 1 + x;
                at = i * n;
            }
            // Of a pair one matmul shows the time of all.
            if (t->end[at] > 0)
                event(out, &first, name, what, c, tid, t->begin[at], t->end[at], hidden);
        }
    }
    hb_puts(out, "\n]}\n");
}
