// The timeline on the page: one row an instruction that takes time, and lanes of when each runs.
// Times are ticks, so that equal layers are equal numbers (packed_list.h).

#include "emit/page.h"
#include "ir/base/plain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double TICKS = 5e7; // of a step, about

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
typedef struct rows {
    words_once names, ops, forms;
    int64_t *v[8];
    int n;
    int64_t line; // of the row before
} rows;

static rows rows_new(page *g)
{
    words_once none = {g->a, hb_map_new(g->a), {0}};
    rows r = {none, none, none, {NULL}, 0, 0};
    r.ops.at = hb_map_new(g->a);
    r.forms.at = hb_map_new(g->a);
    int most = g->all->staged ? g->all->staged->cut->ports.n : 0;
    for (int i = 0; i < g->all->n; i++)
        most += g->all->part[i].p->instr.n;
    for (int k = 0; k < 8; k++)
        r.v[k] = HB_ARRAY(g->a, int64_t, most + 1);
    return r;
}

// sends: of a collective or a message; bytes, exposed share and form are of these.
static void add_row(page *g, rows *r, hb_str name, hb_str op, ir_phase phase, int line, bool sends,
                    double bytes, double exposed, hb_str form)
{
    int block, n = r->n++;
    name = say_name(g->a, name);
    (void)page_block(name, &block);
    r->v[0][n] = number_of(&r->names, block < 0 ? name : emit_pattern(g->a, name));
    r->v[1][n] = block;
    r->v[2][n] = number_of(&r->ops, op);
    r->v[3][n] = phase;
    r->v[4][n] = line - r->line;
    r->line = line;
    r->v[5][n] = sends ? (int64_t)bytes : -1;
    r->v[6][n] = sends ? llround(1000 * fmin(1, exposed)) : 0;
    r->v[7][n] = sends ? number_of(&r->forms, form) : 0;
}

// Of the part's instructions that are shown; row: their numbers.
static void add_rows(page *g, rows *r, const bool *shown, int *row)
{
    const syn_program *p = g->p;
    const emit_lines *where = g->part->where;
    for (int i = 0; i < p->instr.n; i++) {
        const syn_instr *in = &p->instr.p[i];
        if (!shown[i]) continue;
        row[i] = r->n;
        bool sends = in->kind == SYN_START;
        double took = g->e->res->timeline.end[i * p->mesh->n_classes] -
                      g->e->res->timeline.begin[i * p->mesh->n_classes];
        if (g->part->stage >= 0) took *= syn_instr_slots(p, in);
        add_row(g, r, p->g->nodes.p[in->node].name, say_op(g->a, p, i), step_phase(p, i),
                where ? where->line[i] : 0, sends, sends ? emit_coll_bytes(p, in) : 0,
                took > 0 ? g->t->exposed[i] / took : 0,
                sends ? hb_str_c(g->a, cost_form_name(in->form).s) : (hb_str){"", 0});
    }
}

static void put_rows(page *g, rows *r)
{
    static const char *const keys[] = {"p", "l", "o", "f", "s", "b", "e", "form"};
    for (int k = 0; k < 8; k++)
        put_list(g, keys[k], r->v[k], r->n);
    put_words(g, "names", &r->names);
    put_words(g, "ops", &r->ops);
    put_words(g, "forms", &r->forms);
}

// When each runs: number of the row as a step from the one before; gap and length in ticks.
static void put_events(page *g, const step_span *span, int n, double tick, const int *row)
{
    int kept = 0, before = 0;
    int64_t *index = HB_ARRAY(g->a, int64_t, n + 1), *time = HB_ARRAY(g->a, int64_t, 2 * n + 1);
    int64_t at = 0;
    for (int i = 0; i < n; i++) {
        const step_span *s = &span[i];
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
    put_list(g, "i", index, kept);
    put_list(g, "g", time, 2 * kept);
}

static void put_lane(page *g, int lane, double tick, const int *row)
{
    const step_times *t = g->t;
    js_sep(&g->j);
    js_open(&g->j, '{');
    if (lane < t->n_classes)
        js_integer(&g->j, "c", g->part->first_class + lane);
    else
        js_integer(&g->j, "a", lane - t->n_classes);
    if (g->part->stage >= 0 && lane >= t->n_classes)
        js_text(&g->j, "t",
                hb_fmt(g->a, "sending, stage %d%s", g->part->stage,
                       g->p->mesh->n_axes < 2 ? ""
                       : lane == t->n_classes ? ", between machines"
                                              : ", inside machines"));
    put_events(g, t->span[lane], t->n_spans[lane], tick, row);
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

static int by_begin(const void *x, const void *y)
{
    const step_span *a = x, *b = y;
    if (a->begin != b->begin) return a->begin < b->begin ? -1 : 1;
    return (a->instr > b->instr) - (a->instr < b->instr);
}

// Messages: a row a port, a lane each way between two stages.
typedef struct messages {
    part_message *m;
    int n, *row;
} messages;

static messages add_messages(page *g, rows *r)
{
    const syn_staged *p = g->all->staged;
    messages x = {.row = HB_ARRAY(g->a, int, p->cut->ports.n + 1)};
    double *waited = HB_ARRAY(g->a, double, p->cut->ports.n + 1);
    int *count = HB_ARRAY(g->a, int, p->cut->ports.n + 1);
    x.n = parts_messages(g->a, g->all, &x.m);
    for (int i = 0; i < x.n; i++) {
        waited[x.m[i].port] += x.m[i].waited;
        count[x.m[i].port]++;
    }
    for (int i = 0; i < p->cut->ports.n; i++) {
        const ir_port *q = &p->cut->ports.p[i];
        double took = count[i] * p->port_sec[i];
        ir_phase phase = q->turn == IR_SLOT_BACK ? IR_BACKWARD
                         : q->turn == IR_AFTER   ? IR_UPDATE
                                                 : IR_FORWARD;
        x.row[i] = r->n;
        add_row(g, r, q->name, HB_STR("message"), phase, 0, true, p->port_bytes[i],
                took > 0 ? waited[i] / took : 0, HB_STR("from stage to stage"));
    }
    return x;
}

static void put_messages(page *g, const messages *x, double tick)
{
    const syn_staged *p = g->all->staged;
    step_span *s = hb_alloc(g->a, sizeof *s * (size_t)(x->n + 1));
    for (int from = 0; from < p->n; from++)
        for (int to = 0; to < p->n; to++) {
            int n = 0;
            for (int i = 0; i < x->n; i++) {
                const ir_port *q = &p->cut->ports.p[x->m[i].port];
                if (q->from == from && q->to == to)
                    s[n++] = (step_span){x->m[i].port, -1, x->m[i].begin, x->m[i].end};
            }
            if (n == 0) continue;
            qsort(s, (size_t)n, sizeof *s, by_begin);
            js_sep(&g->j);
            js_open(&g->j, '{');
            js_integer(&g->j, "a", 0);
            js_text(&g->j, "t", hb_fmt(g->a, "messages, stage %d to %d", from, to));
            put_events(g, s, n, tick, x->row);
            js_close(&g->j, '}');
        }
}

void page_timeline(page *g)
{
    double tick = pow(10, floor(log10(g->t->total / TICKS)));
    rows r = rows_new(g);
    int **row = hb_alloc(g->a, sizeof *row * (size_t)g->all->n);
    messages sent = {0};
    js_key(&g->j, "tl");
    js_open(&g->j, '{');
    js_real(&g->j, "tick", tick * 1e3);
    for (int i = 0; i < g->all->n; i++) {
        page_go(g, i);
        bool *shown = HB_ARRAY(g->a, bool, g->p->instr.n + 1);
        row[i] = HB_ARRAY(g->a, int, g->p->instr.n + 1);
        for (int lane = 0; lane < g->t->n_classes + g->p->mesh->n_axes; lane++)
            for (int k = 0; k < g->t->n_spans[lane]; k++)
                shown[g->t->span[lane][k].instr] = true;
        add_rows(g, &r, shown, row[i]);
    }
    if (g->all->staged) sent = add_messages(g, &r);
    put_rows(g, &r);
    js_key(&g->j, "lanes");
    js_open(&g->j, '[');
    for (int i = 0; i < g->all->n; i++) {
        page_go(g, i);
        for (int lane = 0; lane < g->t->n_classes + g->p->mesh->n_axes; lane++)
            if (g->part->stage < 0 || g->t->n_spans[lane] > 0) put_lane(g, lane, tick, row[i]);
    }
    if (g->all->staged) put_messages(g, &sent, tick);
    js_close(&g->j, ']');
    page_go(g, g->all->pace);
    put_marks(g, true);
    put_marks(g, false);
    js_close(&g->j, '}');
}
