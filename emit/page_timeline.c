// The timeline on the page: one row an instruction that takes time, and lanes of when each runs.
// Times are ticks, so that equal layers are equal numbers (packed_list.h).

#include "emit/page.h"

#include <math.h>
#include <string.h>

static const double TICKS = 5e7; // of a step, about

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

// Words that stand once each in a list.
typedef struct words_once {
    hb_arena *a;
    hb_map *at;
    HB_VEC(hb_str) list;
} words_once;

static int number_of(words_once *w, hb_str s)
{
    int at = hb_map_get(w->at, s);
    if (at >= 0) return at;
    hb_map_put(w->at, s, w->list.n);
    HB_PUSH(w->a, &w->list, s);
    return w->list.n - 1;
}

static void put_words(page *g, const char *key, const words_once *w)
{
    js_key(&g->j, key);
    js_open(&g->j, '[');
    for (int i = 0; i < w->list.n; i++) {
        js_sep(&g->j);
        hb_put_json(g->j.b, w->list.p[i]);
    }
    js_close(&g->j, ']');
}

static void put_list(page *g, const char *key, const int64_t *v, int n)
{
    js_key(&g->j, key);
    packed_list(g->j.b, v, n);
}

// Rows: name pattern, block, op, phase, line of program.c; of collectives bytes, exposed, form.
static void put_rows(page *g, const emit_lines *where, const bool *shown, int *row)
{
    const syn_program *p = g->p;
    words_once names = {g->a, hb_map_new(g->a), {0}}, ops = names, forms = names;
    ops.at = hb_map_new(g->a);
    forms.at = hb_map_new(g->a);
    int64_t *v[8], n = 0, line = 0;
    for (int k = 0; k < 8; k++)
        v[k] = HB_ARRAY(g->a, int64_t, p->instr.n + 1);
    for (int i = 0; i < p->instr.n; i++) {
        const syn_instr *in = &p->instr.p[i];
        if (!shown[i]) continue;
        row[i] = (int)n;
        int block;
        hb_str node = say_name(g->a, p->g->nodes.p[in->node].name);
        (void)page_block(node, &block);
        hb_str pattern = block < 0 ? node : emit_pattern(g->a, node);
        bool sends = in->kind == SYN_START;
        v[0][n] = number_of(&names, pattern);
        v[1][n] = block;
        v[2][n] = number_of(&ops, say_op(g->a, p, i));
        v[3][n] = step_phase(p, i);
        v[4][n] = where ? where->line[i] - line : 0;
        line = where ? where->line[i] : 0;
        v[5][n] = sends ? (int64_t)emit_coll_bytes(p, in) : -1;
        double took = g->e->res->timeline.end[i * p->mesh->n_classes] -
                      g->e->res->timeline.begin[i * p->mesh->n_classes];
        v[6][n] = sends && took > 0 ? llround(1000 * fmin(1, g->t->exposed[i] / took)) : 0;
        v[7][n] = sends ? number_of(&forms, hb_str_c(g->a, cost_form_name(in->form).s)) : 0;
        n++;
    }
    static const char *const keys[] = {"p", "l", "o", "f", "s", "b", "e", "form"};
    for (int k = 0; k < 8; k++)
        put_list(g, keys[k], v[k], (int)n);
    put_words(g, "names", &names);
    put_words(g, "ops", &ops);
    put_words(g, "forms", &forms);
}

// When each runs: number of the row as a step from the one before; gap and length in ticks.
static void put_lane(page *g, int lane, double tick, const int *row)
{
    const step_times *t = g->t;
    int n = t->n_spans[lane], kept = 0, before = 0;
    int64_t *index = HB_ARRAY(g->a, int64_t, n + 1), *time = HB_ARRAY(g->a, int64_t, 2 * n + 1);
    int64_t at = 0;
    for (int i = 0; i < n; i++) {
        const step_span *s = &t->span[lane][i];
        int64_t from = llround(s->begin / tick), to = llround(s->end / tick);
        if (to == from) to++;
        if (from < at) from = at;
        if (to <= from) continue;
        index[kept] = row[s->instr] - before;
        before = row[s->instr];
        time[2 * kept] = from - at;
        time[2 * kept + 1] = to - from;
        at = to;
        kept++;
    }
    js_sep(&g->j);
    js_open(&g->j, '{');
    if (lane < t->n_classes)
        js_integer(&g->j, "c", lane);
    else
        js_integer(&g->j, "a", lane - t->n_classes);
    put_list(g, "i", index, kept);
    put_list(g, "g", time, 2 * kept);
    js_close(&g->j, '}');
}

// Runs of one block, and of one phase, on the busiest class.
static void put_marks(page *g, bool blocks)
{
    const step_times *t = g->t;
    const syn_program *p = g->p;
    hb_str label = {"", 0};
    int phase = -1;
    double from = 0, to = 0;
    js_key(&g->j, blocks ? "blocks" : "phases");
    js_open(&g->j, '[');
    for (int i = 0; i <= t->n_spans[t->busiest]; i++) {
        const step_span *s = &t->span[t->busiest][i];
        bool end = i == t->n_spans[t->busiest];
        int block = -1, now = end ? -1 : (int)step_phase(p, s->instr);
        hb_str next = {"", 0};
        if (!end && blocks && now != IR_UPDATE) {
            hb_str name = page_block(p->g->nodes.p[p->instr.p[s->instr].node].name, &block);
            if (block >= 0) next = hb_fmt(g->a, "%.*s.%d", HB_ARG(say_name(g->a, name)), block);
        }
        if (!end && now == phase && hb_str_eq(next, label)) {
            to = s->end;
            continue;
        }
        if (phase >= 0 && (!blocks || label.n > 0)) {
            js_sep(&g->j);
            hb_printf(g->j.b, "[%d,", phase);
            if (blocks) {
                hb_put_json(g->j.b, label);
                hb_putc(g->j.b, ',');
            }
            hb_printf(g->j.b, "%.6g,%.6g]", from * 1e3, to * 1e3);
        }
        if (end) break;
        label = next;
        phase = now;
        from = s->begin;
        to = s->end;
    }
    js_close(&g->j, ']');
}

void page_timeline(page *g, const emit_lines *where)
{
    const step_times *t = g->t;
    int lanes = t->n_classes + g->p->mesh->n_axes;
    double tick = pow(10, floor(log10(t->total / TICKS)));
    bool *shown = HB_ARRAY(g->a, bool, g->p->instr.n + 1);
    int *row = HB_ARRAY(g->a, int, g->p->instr.n + 1);
    for (int lane = 0; lane < lanes; lane++)
        for (int i = 0; i < t->n_spans[lane]; i++)
            shown[t->span[lane][i].instr] = true;
    js_key(&g->j, "tl");
    js_open(&g->j, '{');
    js_real(&g->j, "tick", tick * 1e3);
    put_rows(g, where, shown, row);
    js_key(&g->j, "lanes");
    js_open(&g->j, '[');
    for (int lane = 0; lane < lanes; lane++)
        put_lane(g, lane, tick, row);
    js_close(&g->j, ']');
    put_marks(g, true);
    put_marks(g, false);
    js_close(&g->j, '}');
}
