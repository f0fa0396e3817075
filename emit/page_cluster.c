// The cluster on the page: classes of devices in use, machines that are alike, the network.

#include "emit/page.h"

#include <string.h>

#include "synth/passes/workspace.h"

static void put_memory(page *g, int c)
{
    memory_kinds m = memory_kinds_of(g->a, g->e, g->t, c);
    js *j = &g->j;
    js_reals(j, "mem", m.peak, MEM_N_KINDS, 1);
    js_real(j, "gaps", m.gaps);
    js_real(j, "peak_ms", m.peak_sec * 1e3);
    js_key(j, "curve");
    js_open(j, '[');
    for (int b = 0; b < MEM_N_BINS && g->part->stage < 0; b++) {
        js_sep(j);
        js_open(j, '[');
        for (int k = 0; k < MEM_N_KINDS; k++) {
            js_sep(j);
            hb_printf(j->b, "%.4g", m.curve[b][k] / (1 << 20));
        }
        js_close(j, ']');
    }
    js_close(j, ']');
}

static void put_class(page *g, int c)
{
    const syn_program *p = g->p;
    const cl_class *k = &p->cluster->cls[p->mesh->cluster_class[c]];
    const class_times *t = &g->t->of[c];
    js *j = &g->j;
    js_open(j, '{');
    js_text(j, "name", say_name(g->a, part_class_name(g->part, c)));
    js_integer(j, "n", g->w->n_of[c]);
    js_flag(j, "pace", c == g->t->busiest);
    js_real(j, "compute_ms", t->compute * 1e3);
    js_real(j, "exposed_ms", t->exposed * 1e3);
    js_real(j, "waiting_ms", t->waiting * 1e3);
    js_reals(j, "phases_ms", t->phase, 3, 1e3);
    js_real(j, "flops", words_peak_flops(p->g, k));
    js_integer(j, "memory", k->memory);
    js_integer(j, "capacity", k->capacity);
    js_integer(j, "reserve", k->reserve);
    js_integer(j, "arena", p->peak_bytes[c]);
    js_integer(j, "workspace", syn_workspace_bytes(p, c));
    js_flag(j, "plan_only", k->plan_only);
    put_memory(g, c);
    js_close(j, '}');
}

// Of devices that stand together in a machine and are alike.
typedef struct device_group {
    int cluster_cls, cls, n;
    double share;
} device_group;

typedef struct machine_row {
    const cl_machine *first;
    int count, n;
    device_group *group;
} machine_row;

static bool alike(const machine_row *x, const machine_row *y)
{
    if (x->n != y->n || x->first->link_bandwidth != y->first->link_bandwidth) return false;
    for (int i = 0; i < x->n; i++)
        if (x->group[i].cluster_cls != y->group[i].cluster_cls ||
            x->group[i].cls != y->group[i].cls || x->group[i].n != y->group[i].n)
            return false;
    return true;
}

static machine_row row_of(page *g, const cl_machine *m, const int *class_of, const double *share)
{
    const cl_cluster *c = g->cluster;
    machine_row row = {m, 1, 0, HB_ARRAY(g->a, device_group, m->n_ranks + 1)};
    for (int r = m->first_rank; r < m->first_rank + m->n_ranks; r++) {
        int cls = class_of[r];
        device_group *d = row.n > 0 ? &row.group[row.n - 1] : NULL;
        if (!d || d->cluster_cls != c->class_of[r] || d->cls != cls) {
            d = &row.group[row.n++];
            *d = (device_group){c->class_of[r], cls, 0, 0};
        }
        d->n++;
        d->share += share[r];
    }
    return row;
}

static double with_of(const verdict *v, int cluster_cls)
{
    for (int i = 0; i < v->n_devices; i++)
        if (v->device[i].cls < 0 && v->device[i].cluster_cls == cluster_cls)
            return v->device[i].with_sec;
    return 0;
}

static void put_machine(page *g, const machine_row *m)
{
    js *j = &g->j;
    js_sep(j);
    js_open(j, '{');
    js_text(j, "name", say_name(g->a, m->first->name));
    js_integer(j, "count", m->count);
    js_real(j, "bandwidth", m->first->link_bandwidth);
    js_real(j, "latency", m->first->link_latency);
    js_key(j, "devices");
    js_open(j, '[');
    for (int i = 0; i < m->n; i++) {
        const device_group *d = &m->group[i];
        const cl_class *k = &g->cluster->cls[d->cluster_cls];
        js_sep(j);
        js_open(j, '{');
        js_text(j, "model", say_name(g->a, k->name));
        js_integer(j, "c", d->cls);
        js_integer(j, "n", d->n);
        js_real(j, "flops", words_peak_flops(g->graph, k));
        js_real(j, "memory", (double)k->memory);
        js_real(j, "share", d->share);
        if (d->cls < 0) js_real(j, "with_ms", with_of(g->v, d->cluster_cls) * 1e3);
        js_close(j, '}');
    }
    js_close(j, ']');
    js_close(j, '}');
}

// Class and share of the work of a part's devices, by rank of the whole cluster.
static void find_use(page *g, int part, int *class_of, double *share)
{
    const syn_staged *staged = g->all->staged;
    page_go(g, part);
    double *ratio = emit_ratios(g->a, g->p), of_all = 1;
    if (staged) {
        int layers = 0;
        for (int s = 0; s < staged->n; s++)
            layers += staged->stage[s].n_layers;
        of_all = (double)staged->stage[part].n_layers / layers;
    }
    for (int r = 0; r < g->p->mesh->n_ranks; r++) {
        int at = g->p->mesh->cluster_rank[r];
        if (staged) at = staged->stage[part].cluster_rank[at];
        class_of[at] = g->part->first_class + g->p->mesh->class_of[r];
        share[at] = of_all * ratio[r];
    }
}

static void put_machines(page *g)
{
    const cl_cluster *c = g->cluster;
    int *class_of = HB_ARRAY(g->a, int, c->n_ranks + 1), n = 0;
    double *share = HB_ARRAY(g->a, double, c->n_ranks + 1);
    machine_row *row = HB_ARRAY(g->a, machine_row, c->n_machines + 1);
    for (int r = 0; r < c->n_ranks; r++)
        class_of[r] = -1;
    for (int i = 0; i < g->all->n; i++)
        find_use(g, i, class_of, share);
    for (int m = 0; m < c->n_machines; m++) {
        machine_row x = row_of(g, &c->machine[m], class_of, share);
        if (n > 0 && alike(&row[n - 1], &x)) {
            row[n - 1].count++;
            for (int i = 0; i < x.n; i++)
                row[n - 1].group[i].share += x.group[i].share;
        } else {
            row[n++] = x;
        }
    }
    js_key(&g->j, "machines");
    js_open(&g->j, '[');
    for (int m = 0; m < n; m++)
        put_machine(g, &row[m]);
    js_close(&g->j, ']');
}

void page_cluster(page *g)
{
    js *j = &g->j;
    js_key(j, "classes");
    js_open(j, '[');
    for (int i = 0; i < g->all->n; i++) {
        page_go(g, i);
        for (int c = 0; c < g->p->mesh->n_classes; c++) {
            js_sep(j);
            put_class(g, c);
        }
    }
    js_close(j, ']');
    put_machines(g);
    js_key(j, "network");
    js_open(j, '{');
    js_real(j, "bandwidth", g->cluster->network_bandwidth);
    js_real(j, "latency", g->cluster->network_latency);
    js_close(j, '}');
}
