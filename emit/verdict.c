#include "emit/verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "synth/passes/workspace.h"
#include "synth/plan/search_limits.h"

// A ratio below which two times are said to be the same, and above which it is said in times.
static const double SAME = 1.0005, NEAR = 1.005, TIMES = 1.1;
// A share of the step below which more of a resource brings nothing.
static const double NOTHING = 5e-4;
// Shares of the computing: worth naming, and worth a warning if repeated.
static const double NAMED = 0.1, REPEATED = 0.2, MOSTLY = 0.5;

hb_str verdict_model(hb_arena *a, hb_str path)
{
    hb_str file = path, folder = {"", 0};
    for (size_t i = path.n; i > 0 && file.n == path.n; i--)
        if (path.p[i - 1] == '/') {
            file = (hb_str){path.p + i, path.n - i};
            folder = (hb_str){path.p, i - 1};
        }
    if (!hb_str_is(file, "graph.json") || folder.n == 0) {
        size_t n = file.n;
        if (n > 5 && memcmp(file.p + n - 5, ".json", 5) == 0) n -= 5;
        return say_name(a, (hb_str){file.p, n});
    }
    size_t at = folder.n;
    while (at > 0 && folder.p[at - 1] != '/')
        at--;
    return say_name(a, (hb_str){folder.p + at, folder.n - at});
}

// --- devices ---

static int by_use(const void *x, const void *y)
{
    const device_row *a = x, *b = y;
    if ((a->cls < 0) != (b->cls < 0)) return a->cls < 0 ? 1 : -1;
    if (a->share != b->share) return a->share > b->share ? -1 : 1;
    return (a->cluster_cls > b->cluster_cls) - (a->cluster_cls < b->cluster_cls);
}

static void find_devices(const wording *w, verdict *v)
{
    const syn_program *p = w->p;
    const cl_cluster *c = p->cluster;
    double *ratio = emit_ratios(w->a, p);
    const double *with = w->e->res->others.with_sec;
    int *mesh_rank = HB_ARRAY(w->a, int, c->n_ranks + 1);
    v->device = HB_ARRAY(w->a, device_row, p->mesh->n_classes + c->n_classes + 1);
    for (int r = 0; r < p->mesh->n_ranks; r++)
        mesh_rank[p->mesh->cluster_rank[r]] = r + 1;
    for (int r = 0; r < c->n_ranks; r++) {
        int m = mesh_rank[r] - 1, k = 0;
        int cls = m < 0 ? -1 : p->mesh->class_of[m];
        while (k < v->n_devices &&
               !(v->device[k].cls == cls && v->device[k].cluster_cls == c->class_of[r]))
            k++;
        device_row *d = &v->device[k];
        if (k == v->n_devices) {
            *d = (device_row){.cls = cls, .cluster_cls = c->class_of[r]};
            v->n_devices++;
        }
        d->count++;
        d->share += m < 0 ? 0 : ratio[m];
        if (m < 0 && with && with[r] > 0 && (d->with_sec <= 0 || with[r] < d->with_sec))
            d->with_sec = with[r];
    }
    qsort(v->device, (size_t)v->n_devices, sizeof *v->device, by_use);
}

// "2 A100-40GB and 4 V100-16GB" of those in use or those that are not.
static hb_str device_list(const wording *w, const verdict *v, bool used, int *count)
{
    hb_str *item = HB_ARRAY(w->a, hb_str, v->n_devices + 1);
    int n = 0;
    *count = 0;
    for (int i = 0; i < v->n_devices; i++) {
        const device_row *d = &v->device[i];
        if ((d->cls >= 0) != used) continue;
        hb_str name = say_name(w->a, w->p->cluster->cls[d->cluster_cls].name);
        item[n++] = d->count == 1 ? name
                                  : hb_fmt(w->a, "%.*s x %.*s", HB_ARG(say_count(w->a, d->count)),
                                           HB_ARG(name));
        *count += d->count;
    }
    return say_list(w->a, item, n);
}

// --- alternatives ---

static hb_str strategy_title(hb_arena *a, syn_strategy s)
{
    static const struct {
        const char *name, *title;
    } titles[] = {{"dp-even", "Data parallel, equal batches"},
                  {"dp-prop", "Data parallel, batches by speed"},
                  {"zero", "ZeRO / FSDP"},
                  {"tp", "Tensor parallel"},
                  {"hap", "HAP (2024 method)"}};
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        if (strcmp(titles[i].name, syn_strategy_name(s)) == 0) return hb_str_c(a, titles[i].title);
    return hb_str_c(a, syn_strategy_name(s));
}

// What people do without a planner: all rows but the published method.
static bool is_simple(syn_strategy s)
{
    return strcmp(syn_strategy_name(s), "hap") != 0;
}

int verdict_by_sec(const void *x, const void *y)
{
    const alternative *a = x, *b = y;
    if ((a->sec < 0) != (b->sec < 0)) return a->sec < 0 ? 1 : -1;
    if (a->sec != b->sec) return a->sec < b->sec ? -1 : 1;
    if (a->kept != b->kept) return a->kept ? 1 : -1;
    return (a->strategy > b->strategy) - (a->strategy < b->strategy);
}

static bool same_devices(const syn_others *o, const syn_mesh *m)
{
    return o->kept && o->n_kept == m->n_ranks &&
           memcmp(o->kept, m->cluster_rank, sizeof *o->kept * (size_t)o->n_kept) == 0;
}

hb_str verdict_all(hb_arena *a, const char *device, int n)
{
    if (n == 1) return hb_fmt(a, "on the one %s", device);
    if (n == 2) return hb_fmt(a, "on both %ss", device);
    return hb_fmt(a, "on all %.*s", HB_ARG(say_things(a, n, device)));
}

// "7.2 GiB" for "7730941133 bytes": long numbers as the search's reasons have them.
hb_str verdict_readable(hb_arena *a, hb_str s)
{
    enum { LONG = 7 };
    hb_buf b = {.arena = a};
    for (size_t i = 0; i < s.n;) {
        size_t end = i;
        while (end < s.n && s.p[end] >= '0' && s.p[end] <= '9')
            end++;
        if (end - i < LONG) {
            hb_putn(&b, s.p + i, end > i ? end - i : 1);
            i = end > i ? end : i + 1;
            continue;
        }
        hb_str size = emit_bytes(a, strtod(s.p + i, NULL));
        hb_putn(&b, size.p, size.n);
        i = end + (s.n - end >= 6 && memcmp(s.p + end, " bytes", 6) == 0 ? 6 : 0);
    }
    return hb_done(&b);
}

// Batches by speed, where all devices are as fast as each other, are equal batches.
static void join_equal(const wording *w, verdict *v)
{
    int n = 0;
    for (int i = 0; i < v->n_alt; i++) {
        alternative *x = &v->alt[i], *y = NULL;
        for (int k = 0; k < n && strcmp(syn_strategy_name(x->strategy), "dp-prop") == 0; k++)
            if (strcmp(syn_strategy_name(v->alt[k].strategy), "dp-even") == 0 &&
                v->alt[k].kept == x->kept && v->alt[k].other == x->other)
                y = &v->alt[k];
        bool same = y && x->sec > 0 && fabs(y->sec - x->sec) < (SAME - 1) * x->sec;
        if (same)
            y->name = hb_fmt(w->a, "Data parallel, equal batches or by speed");
        else
            v->alt[n++] = *x;
    }
    v->n_alt = n;
}

static void find_alternatives(const wording *w, verdict *v)
{
    const syn_result *r = w->e->res;
    const syn_others *o = &r->others;
    const syn_mesh *m = w->p->mesh;
    v->alt = HB_ARRAY(w->a, alternative, 3 * syn_n_strategies + 2);
    bool kept = v->kept_known = m->n_ranks > 1 && same_devices(o, m);
    for (int s = SYN_AUTO + 1; s < syn_n_strategies; s++) {
        hb_str why = o->why[s].n ? verdict_readable(w->a, o->why[s]) : HB_STR("not tried");
        alternative x = {.strategy = s,
                         .name = strategy_title(w->a, s),
                         .where = verdict_all(w->a, w->device, w->p->cluster->n_ranks),
                         .sec = r->baseline_sec[s],
                         .why = why,
                         .simple = is_simple(s)};
        v->alt[v->n_alt++] = x;
        double least = x.sec;
        x.kept = true;
        if (kept && o->baseline_sec[s] >= 0) {
            x.sec = o->baseline_sec[s];
            x.where =
                hb_fmt(w->a, "on the same %.*s", HB_ARG(say_things(w->a, m->n_ranks, w->device)));
            v->alt[v->n_alt++] = x;
            least = least < 0 || x.sec < least ? x.sec : least;
        }
        double near = o->near_sec[s]; // on other devices, if these do better
        if (near < 0 || o->near_n[s] < 2 || (least >= 0 && near * NEAR > least)) continue;
        x.sec = near;
        x.other = true;
        x.where = hb_fmt(w->a, "on %.*s of the %.*s", HB_ARG(say_count(w->a, o->near_n[s])),
                         HB_ARG(say_things(w->a, w->p->cluster->n_ranks, w->device)));
        v->alt[v->n_alt++] = x;
    }
    bool alone = m->n_ranks == 1 && w->p->cluster->class_of[m->cluster_rank[0]] == o->one_class;
    if (o->one_class >= 0 && w->p->cluster->n_ranks > 1 && !alone)
        v->alt[v->n_alt++] = (alternative){
            .strategy = SYN_AUTO,
            .name = hb_fmt(w->a, "One %.*s alone",
                           HB_ARG(say_name(w->a, w->p->cluster->cls[o->one_class].name))),
            .where = HB_STR("nothing is sent"),
            .sec = o->one_sec,
            .kept = true,
            .simple = true};
    join_equal(w, v);
    qsort(v->alt, (size_t)v->n_alt, sizeof *v->alt, verdict_by_sec);
    for (int i = 0; i < v->n_alt && !v->best; i++)
        if (v->alt[i].simple && v->alt[i].sec >= 0) v->best = &v->alt[i];
}

// --- sentences ---

hb_str verdict_cut(const wording *w)
{
    hb_arena *a = w->a;
    enum { NAMES = 3 };
    hb_str word[NAMES];
    int n = 0, most = w->p->mesh->n_axes > 1 ? NAMES - 1 : NAMES; // of two axes each is long
    bool samples = false;
    for (int i = 0; i < w->n_shares && n < most; i++) {
        hb_str *by = w->share[i].by;
        if (w->share[i].share < NAMED) break;
        if (hb_str_is(by[0], "repeated") && (by[1].n == 0 || hb_str_is(by[1], "repeated")))
            continue;
        samples = samples || hb_str_is(by[0], "samples");
        bool same = w->same_inside > MOSTLY && hb_str_is(by[0], "repeated");
        word[n++] = same ? by[1] : words_both(w, by);
    }
    if (w->p->mesh->n_ranks == 1) return HB_STR("");
    if (w->repeated > MOSTLY && n == 0)
        return HB_STR(" Nearly all of the computing is repeated on every device.");
    if (w->repeated > MOSTLY)
        return hb_fmt(a,
                      " Most of the computing is repeated on every device; the rest is cut by "
                      "%.*s.",
                      HB_ARG(say_list(a, word, n)));
    if (n == 1 && samples) return HB_STR(" The batch is shared out (data parallel).");
    if (n == 0) return HB_STR("");
    if (w->same_inside > MOSTLY)
        return hb_fmt(a, " Every machine does the same work, cut by %.*s.",
                      HB_ARG(say_list(a, word, n)));
    return hb_fmt(a, " The computing is cut by %.*s.", HB_ARG(say_list(a, word, n)));
}

// What plans are not with a device that stays unused, where the best of them takes `with`.
static hb_str no_faster(const wording *w, double with)
{
    if (with <= 0 || with * SAME >= w->t->total) return HB_STR("faster");
    return hb_fmt(w->a, "over %.*s faster", HB_ARG(say_percent(w->a, SYN_FEWER_WORTH)));
}

static bool trains(const wording *w)
{
    for (int i = 0; i < w->p->instr.n; i++)
        if (step_phase(w->p, i) == IR_UPDATE) return true;
    return false;
}

// " 4 x RTX2080Ti stay unused: …": what the best plan found with them takes, and what they are
// like.
static void put_unused(hb_buf *b, const wording *w, const verdict *v, hb_str who, int n)
{
    hb_arena *a = w->a;
    double with = -1;
    hb_str why = {"", 0};
    for (int i = 0; i < v->n_devices; i++) {
        const device_row *d = &v->device[i];
        if (d->cls >= 0) continue;
        if (with < 0 || d->with_sec < with) with = d->with_sec;
        if (why.n == 0) why = words_unused(a, w->p, d->cluster_cls);
    }
    hb_printf(b, " %.*s stay%s unused: ", HB_ARG(who), n == 1 ? "s" : "");
    const char *any = n == 1 ? "it" : "any of them";
    if (with > NEAR * w->t->total)
        hb_printf(b, "the fastest plan found with %s takes %.*s", any, HB_ARG(say_sec(a, with)));
    else
        hb_printf(b, "no plan with %s was %.*s", any, HB_ARG(no_faster(w, with)));
    if (why.n > 0) hb_printf(b, "; %s %.*s", n == 1 ? "it" : "each", HB_ARG(why));
    hb_putc(b, '.');
}

static hb_str decided(const wording *w, const verdict *v)
{
    hb_arena *a = w->a;
    int used, unused, all = w->p->cluster->n_ranks;
    hb_str in = device_list(w, v, true, &used), out = device_list(w, v, false, &unused);
    hb_buf b = {.arena = a};
    hb_printf(&b, "One %s takes %.*s", trains(w) ? "training step" : "forward pass",
              HB_ARG(say_sec(a, w->t->total)));
    if (unused == 0) {
        hb_printf(&b, ", %.*s: %.*s.", HB_ARG(verdict_all(w->a, w->device, all)), HB_ARG(in));
    } else {
        hb_printf(&b, ", on %.*s of the %.*s: %.*s.", HB_ARG(say_count(a, used)),
                  HB_ARG(say_things(a, all, w->device)), HB_ARG(in));
        put_unused(&b, w, v, out, unused);
    }
    hb_str cut = verdict_cut(w);
    hb_putn(&b, cut.p, cut.n);
    return hb_done(&b);
}

hb_str verdict_faster(hb_arena *a, double ratio)
{
    if (ratio >= TIMES) return hb_fmt(a, "%.*s as fast as", HB_ARG(say_times(a, ratio)));
    if (ratio > NEAR) return hb_fmt(a, "%.*s faster than", HB_ARG(say_percent(a, ratio - 1)));
    if (ratio * TIMES <= 1) return hb_fmt(a, "%.*s as slow as", HB_ARG(say_times(a, 1 / ratio)));
    if (ratio * NEAR < 1)
        return hb_fmt(a, "%.*s slower than", HB_ARG(say_percent(a, 1 / ratio - 1)));
    return ratio < SAME ? HB_STR("no faster than") : HB_STR("hardly faster than");
}

// "zero" as in the middle of a sentence.
hb_str verdict_lower(hb_arena *a, hb_str s)
{
    if (s.n < 2 || s.p[1] < 'a') return s; // "ZeRO", "HAP"
    if (memcmp(s.p, "ZeRO", s.n < 4 ? s.n : 4) == 0) return s;
    return hb_fmt(a, "%c%.*s", s.p[0] | 32, (int)s.n - 1, s.p + 1);
}

// What the slowest class in use brings.
static void put_without(hb_buf *b, const wording *w, const verdict *v)
{
    const device_row *slowest = NULL;
    const cl_class *k = w->p->cluster->cls;
    int n = 0;
    for (int i = 0; i < v->n_devices; i++) {
        const device_row *d = &v->device[i];
        if (d->cls < 0) continue;
        n++;
        if (!slowest || words_peak_flops(w->p->g, &k[d->cluster_cls]) <
                            words_peak_flops(w->p->g, &k[slowest->cluster_cls]))
            slowest = d;
    }
    if (n < 2 || !w->e->res->others.without_sec) return;
    double sec = w->e->res->others.without_sec[slowest->cluster_cls];
    if (sec < NEAR * w->t->total) return;
    hb_printf(b, " Without the %.*s the best plan found takes %.*s.",
              HB_ARG(say_name(w->a, k[slowest->cluster_cls].name)), HB_ARG(say_sec(w->a, sec)));
}

// Of the bytes of parameters, or of what the optimizer keeps of them, the share that is cut.
static double cut_homes(const syn_program *p, ir_kind kind)
{
    double cut = 0, all = 0;
    for (int i = 0; i < p->tensors.n; i++) {
        const syn_tensor *t = &p->tensors.p[i];
        if (t->role != SYN_ROLE_HOME || p->g->tensors.p[t->value].kind != kind) continue;
        bool whole = true;
        for (int x = 0; x < p->mesh->n_axes; x++)
            whole = whole && t->state.ax[x].kind != SYN_S;
        double bytes = (double)ir_elements(&p->g->tensors.p[t->value]);
        all += bytes;
        cut += whole ? 0 : bytes;
    }
    return all > 0 ? cut / all : 0;
}

// " Beside that it cuts 12 % of the computing by vocabulary.": what the plan does that the strategy
// it is measured by does not.
static void put_difference(hb_buf *b, const wording *w, const alternative *best)
{
    enum { MOST = 2 };
    const double LITTLE = 0.005;
    hb_arena *a = w->a;
    const char *other = best->strategy == SYN_AUTO ? "" : syn_strategy_name(best->strategy);
    bool data = strncmp(other, "dp-", 3) == 0, zero = strcmp(other, "zero") == 0,
         tp = strcmp(other, "tp") == 0;
    hb_str said[3], part[MOST];
    int n = 0, n_parts = 0;
    if (!data && !zero && !tp) return;
    for (int i = 0; i < w->n_shares && n_parts < MOST; i++) {
        const hb_str *by = w->share[i].by;
        int own = 0, axes = w->p->mesh->n_axes; // axes that the strategy cuts alike, or not at all
        for (int x = 0; x < axes; x++)
            own += hb_str_is(by[x], "repeated") || hb_str_is(by[x], "parts of sums") ||
                   hb_str_is(by[x], "samples") != tp;
        if (own < axes && w->share[i].share > LITTLE)
            part[n_parts++] = hb_fmt(a, "%.*s (%.*s)", HB_ARG(words_both(w, by)),
                                     HB_ARG(say_percent(a, w->share[i].share)));
    }
    if (n_parts > 0)
        said[n++] = hb_fmt(a, "cuts computing by %.*s", HB_ARG(say_list(a, part, n_parts)));
    double params = cut_homes(w->p, IR_PARAM), moments = cut_homes(w->p, IR_STATE);
    if (data && params > LITTLE)
        said[n++] =
            hb_fmt(a, "stores %.*s of the parameters in parts", HB_ARG(say_percent(a, params)));
    else if (data && moments > LITTLE)
        said[n++] =
            hb_fmt(a, "updates %.*s of the parameters in parts", HB_ARG(say_percent(a, moments)));
    if (w->p->pairs.n > 0)
        said[n++] = hb_fmt(a, "has %.*s", HB_ARG(say_things(a, w->p->pairs.n, "overlapped pair")));
    if (n > 0)
        hb_printf(b, " Beside that it %.*s.", HB_ARG(say_list(a, said, n)));
    else
        hb_puts(b, " It cuts by the same things, in other shares or forms.");
}

static hb_str brings(const wording *w, const verdict *v)
{
    hb_arena *a = w->a;
    double T = w->t->total;
    const syn_result *r = w->e->res;
    const alternative *best = v->best;
    if (!best) {
        if (r->lower_bound_sec < 0) return HB_STR("There is nothing to compare it with.");
        return hb_fmt(a,
                      "No simple alternative has a time here. The step cannot be below %.*s, "
                      "even if sending were free.",
                      HB_ARG(say_sec(a, r->lower_bound_sec)));
    }
    hb_buf b = {.arena = a};
    if (w->p->mesh->n_ranks == 1) {
        hb_printf(&b,
                  "No plan found on more devices is faster. The best simple one takes %.*s: %.*s, "
                  "%.*s.",
                  HB_ARG(say_sec(a, best->sec)), HB_ARG(verdict_lower(a, best->name)),
                  HB_ARG(best->where));
        return hb_done(&b);
    }
    hb_printf(&b, "It is %.*s the best simple alternative: %.*s, %.*s, %.*s.",
              HB_ARG(verdict_faster(a, best->sec / T)), HB_ARG(verdict_lower(a, best->name)),
              HB_ARG(best->where), HB_ARG(say_sec(a, best->sec)));
    if (best->sec > NEAR * T) put_difference(&b, w, best);
    const syn_strategy plain = syn_strategy_named("dp-even");
    if (best->strategy != plain && r->baseline_sec[plain] > 0)
        hb_printf(&b, " It is %.*s data parallel with equal batches %.*s (%.*s).",
                  HB_ARG(verdict_faster(a, r->baseline_sec[plain] / T)),
                  HB_ARG(verdict_all(w->a, w->device, w->p->cluster->n_ranks)),
                  HB_ARG(say_sec(a, r->baseline_sec[plain])));
    else if (best->strategy == plain && best->kept && r->baseline_sec[plain] > 0)
        hb_printf(&b, " The same %.*s takes %.*s.",
                  HB_ARG(verdict_all(w->a, w->device, w->p->cluster->n_ranks)),
                  HB_ARG(say_sec(a, r->baseline_sec[plain])));
    if (best->strategy != SYN_AUTO && r->others.one_sec > 0 && w->p->mesh->n_ranks > 1)
        hb_printf(&b, " One %.*s alone would take %.*s.",
                  HB_ARG(say_name(a, w->p->cluster->cls[r->others.one_class].name)),
                  HB_ARG(say_sec(a, r->others.one_sec)));
    put_without(&b, w, v);
    return hb_done(&b);
}

hb_str verdict_resource(const wording *w, const struct syn_what_if *x)
{
    if (x->what == SYN_LINK) {
        if (w->p->mesh->n_axes == 1) return hb_fmt(w->a, "links between %ss", w->device);
        return x->axis == 0 ? HB_STR("links between machines") : HB_STR("links inside machines");
    }
    return hb_fmt(w->a, "%s of the %.*s", x->what == SYN_MEMORY ? "memory" : "computing speed",
                  HB_ARG(say_name(w->a, w->p->cluster->cls[x->cls].name)));
}

// " A T4 has no bf16: it computes at the rate of f32."
static hb_str missing_format(const wording *w)
{
    const syn_mesh *m = w->p->mesh;
    for (int c = 0; c < m->n_classes; c++) {
        const cl_class *k = &w->p->cluster->cls[m->cluster_class[c]];
        const char *lacks = words_not_in(w->p->g, k);
        if (lacks && k->kind == CL_GPU)
            return hb_fmt(w->a, " A %.*s has no %s: it computes at the rate of f32.",
                          HB_ARG(say_name(w->a, k->name)), lacks);
    }
    return HB_STR("");
}

// " In bf16 the A100-40GB computes 16 x as fast (--precision bf16)."
static hb_str faster_formats(const wording *w)
{
    const double WORTH = 1.5;
    hb_arena *a = w->a;
    const syn_mesh *m = w->p->mesh;
    ir_precision now = w->p->g->precision;
    const cl_class *best = NULL;
    for (int c = 0; c < m->n_classes; c++) {
        const cl_class *k = &w->p->cluster->cls[m->cluster_class[c]];
        double own = words_peak_flops(w->p->g, k);
        if (k->bf16 < WORTH * own || (best && k->bf16 <= best->bf16)) continue;
        best = k;
    }
    if (!best || now == IR_PRECISION_BF16) return HB_STR("");
    double own = words_peak_flops(w->p->g, best);
    hb_buf b = {.arena = a};
    hb_printf(&b, " In bf16 the %.*s computes %.*s as fast", HB_ARG(say_name(a, best->name)),
              HB_ARG(say_times(a, best->bf16 / own)));
    if (best->tf32 >= WORTH * own)
        hb_printf(&b, ", in tf32 %.*s", HB_ARG(say_times(a, best->tf32 / own)));
    hb_puts(&b, " (--precision).");
    return hb_done(&b);
}

static hb_str limits(const wording *w)
{
    hb_arena *a = w->a;
    const syn_result *r = w->e->res;
    const struct syn_what_if *first = NULL, *next = NULL;
    double T = w->t->total;
    for (int i = 0; i < r->n_what_if; i++)
        if (!first || r->what_if[i].gain_sec > first->gain_sec) first = &r->what_if[i];
    if (!first) return HB_STR("What limits it was not worked out for a model of this size.");
    if (first->gain_sec < NOTHING * T)
        return HB_STR("Ten per cent more of any one thing would bring almost nothing.");
    for (int i = 0; i < r->n_what_if; i++)
        if (r->what_if[i].what != first->what && (!next || r->what_if[i].gain_sec > next->gain_sec))
            next = &r->what_if[i];
    hb_buf b = {.arena = a};
    hb_printf(&b, "The %.*s: 10 %% more would save %.*s a step (%.*s)",
              HB_ARG(verdict_resource(w, first)), HB_ARG(say_sec(a, first->gain_sec)),
              HB_ARG(say_percent(a, first->gain_sec / T)));
    if (next && next->gain_sec >= NOTHING * T)
        hb_printf(&b, "; of the %.*s, %.*s", HB_ARG(verdict_resource(w, next)),
                  HB_ARG(say_sec(a, next->gain_sec)));
    else if (next)
        hb_printf(&b, "; of the %.*s, almost nothing", HB_ARG(verdict_resource(w, next)));
    hb_putc(&b, '.');
    return hb_done(&b);
}

hb_str verdict_times(hb_arena *a, const emit_plan *e)
{
    if (e->curves_missing)
        return HB_STR("Estimates from datasheets; `hapc profile` measures this cluster.");
    if (e->unmeasured.n)
        return hb_fmt(a, "Times are measured, but for datasheet estimates of %.*s.",
                      HB_ARG(e->unmeasured));
    return HB_STR("Times are simulated from measured curves.");
}

verdict *verdict_of(const wording *w)
{
    verdict *v = HB_NEW(w->a, verdict);
    v->model = verdict_model(w->a, w->e->graph_path);
    v->cluster = say_name(w->a, w->p->cluster->name);
    find_devices(w, v);
    find_alternatives(w, v);
    v->decided = decided(w, v);
    v->brings = brings(w, v);
    hb_str formats = faster_formats(w);
    hb_str missing = missing_format(w);
    v->limits = hb_fmt(w->a, "%.*s%.*s%.*s", HB_ARG(limits(w)), HB_ARG(missing), HB_ARG(formats));
    v->times = verdict_times(w->a, w->e);
    if (w->repeated > REPEATED && w->p->mesh->n_ranks > 1)
        v->note = hb_fmt(w->a,
                         "%.*s of the computing is the same work done on every device: the search "
                         "found nothing faster that divides it.",
                         HB_ARG(say_percent(w->a, w->repeated)));
    if (w->same_inside > REPEATED)
        v->note = hb_fmt(w->a,
                         "%.*s of the computing is the same work done on every machine: more than "
                         "one brings little here.",
                         HB_ARG(say_percent(w->a, w->same_inside)));
    if (w->e->res->cut_short)
        v->note = hb_fmt(w->a, "%.*s%s%.*s", HB_ARG(v->note), v->note.n ? " " : "",
                         HB_ARG(say_cut_short()));
    v->proof = w->p->values_run ? HB_STR("") : say_not_run();
    return v;
}

// --- on a terminal ---

enum { WIDTH = 80, HANG = 9, DEVICE_ROWS = 3 };

// Characters of UTF-8 text.
static int columns(const char *p, size_t n)
{
    int k = 0;
    for (size_t i = 0; i < n; i++)
        k += ((unsigned char)p[i] & 0xc0) != 0x80;
    return k;
}

// The end of what stays on one line: a word, or a number and its unit.
static size_t word_end(hb_str text, size_t at)
{
    static const char *const units[] = {"ms", "us", "s", "%", "x", "B", "KiB", "MiB", "GiB"};
    size_t end = at;
    while (end < text.n && text.p[end] != ' ')
        end++;
    bool number = text.p[at] >= '0' && text.p[at] <= '9';
    for (size_t k = 0; number && end < text.n && k < sizeof units / sizeof *units; k++) {
        size_t n = strlen(units[k]);
        bool here = text.n - end > n && memcmp(text.p + end + 1, units[k], n) == 0;
        char next = here && end + 1 + n < text.n ? text.p[end + 1 + n] : ' ';
        if (!here || (next >= 'a' && next <= 'z')) continue;
        for (end++; end < text.n && text.p[end] != ' '; end++) {}
        break;
    }
    return end;
}

int verdict_wrapped(hb_buf *out, const char *head, hb_str text, int lines)
{
    hb_printf(out, "%-*s", HANG, head);
    int at = HANG, line = 1;
    for (size_t i = 0; i < text.n;) {
        size_t end = word_end(text, i);
        int n = columns(text.p + i, end - i);
        if (at + (at > HANG) + n > WIDTH - (line == lines ? 4 : 0) && at > HANG) {
            if (line == lines) {
                hb_puts(out, " ...");
                break;
            }
            line++;
            hb_printf(out, "\n%*s", HANG, "");
            at = HANG;
        }
        if (at > HANG) hb_putc(out, ' '), at++;
        if (at + n > WIDTH) { // one word as long as a line
            size_t room = (size_t)(WIDTH - at), k = 0;
            while (k < end - i && columns(text.p + i, k + 1) <= (int)room)
                k++;
            hb_putn(out, text.p + i, k);
            n = (int)room;
        } else {
            hb_putn(out, text.p + i, end - i);
        }
        at += n;
        i = end < text.n ? end + 1 : end;
    }
    hb_putc(out, '\n');
    return line;
}

void verdict_sentences(hb_buf *out, const verdict *v, int rows)
{
    enum { LINES = 24, FIXED = 7, DECIDED = 5 }; // FIXED: plan, heading of rows, page, run, blanks
    hb_buf rest = {.arena = out->arena};
    int below = verdict_wrapped(&rest, "Limits", v->limits, 3);
    below += verdict_wrapped(&rest, "Times", v->times, 2);
    if (v->proof.n) below += verdict_wrapped(&rest, "Proof", v->proof, 3);
    int above = verdict_wrapped(out, "Decided", v->decided, DECIDED);
    verdict_wrapped(out, "Brings", v->brings, LINES - FIXED - rows - above - below);
    hb_putn(out, rest.p, rest.n);
}

const cl_class *verdict_plan_only(const syn_program *p)
{
    for (int c = 0; c < p->mesh->n_classes; c++) {
        const cl_class *k = &p->cluster->cls[p->mesh->cluster_class[c]];
        if (k->plan_only) return k;
    }
    return NULL;
}

void verdict_ways(hb_buf *out, const char *dir, const cl_class *unable)
{
    hb_printf(out, "\nPage     hapc report %s --open\n", dir);
    if (!unable) {
        hb_printf(out, "Run      hapc run %s\n", dir);
        return;
    }
    hb_str name = say_name(out->arena, unable->name);
    hb_str why = hb_fmt(out->arena, "the runtime is CUDA, a %.*s has none.", HB_ARG(name));
    if (unable->arch)
        why = hb_fmt(out->arena, "CUDA 13 builds for sm_%d and newer, a %.*s is sm_%d.",
                     CL_OLDEST_ARCH, HB_ARG(name), unable->arch);
    verdict_wrapped(out, "Run", hb_fmt(out->arena, "Not here: %.*s", HB_ARG(why)), 2);
}

static void put_device(hb_buf *out, const wording *w, const device_row *d)
{
    hb_arena *a = w->a;
    hb_str name = say_name(a, w->p->cluster->cls[d->cluster_cls].name);
    hb_str who = hb_fmt(a, "%.*s x %.*s", HB_ARG(say_count(a, d->count)), HB_ARG(name));
    while (columns(who.p, who.n) > 24) { // whole characters
        who.n--;
        while (who.n > 0 && ((unsigned char)who.p[who.n] & 0xc0) == 0x80)
            who.n--;
    }
    hb_printf(out, "  %.*s%*s", HB_ARG(who), 25 - columns(who.p, who.n), "");
    if (d->cls < 0) {
        if (d->with_sec > NEAR * w->t->total)
            hb_printf(out, "unused: with it %.*s at best\n", HB_ARG(say_sec(a, d->with_sec)));
        else
            hb_printf(out, "unused: no plan with it is %.*s\n", HB_ARG(no_faster(w, d->with_sec)));
        return;
    }
    const class_times *t = &w->t->of[d->cls];
    const cl_class *k = &w->p->cluster->cls[d->cluster_cls];
    double used = (double)(w->p->peak_bytes[d->cls] + syn_workspace_bytes(w->p, d->cls));
    hb_str share = d->share > 0 && d->share < 1e-3 ? HB_STR("<0.1 %") : say_percent(a, d->share);
    hb_printf(out, "%6.*s  %8.*s  %8.*s  %8.*s of %.*s\n", HB_ARG(share),
              HB_ARG(say_sec(a, t->compute)), HB_ARG(say_sec(a, t->exposed + t->waiting)),
              HB_ARG(emit_bytes(a, used)), HB_ARG(emit_bytes(a, (double)k->capacity)));
}

void emit_verdict_text(hb_buf *out, const emit_plan *e, const char *dir)
{
    hb_arena *a = out->arena;
    const step_times *t = step_times_of(a, e);
    const wording *w = wording_of(a, e, t);
    const verdict *v = verdict_of(w);
    const ir_graph *g = e->p->g;
    hb_buf who = {.arena = a};
    hb_printf(&who, "%.*s on %.*s, batch %lld, %s", HB_ARG(v->model), HB_ARG(v->cluster),
              (long long)g->batch, ir_precision_name(g->precision));
    if (g->micro_batches > 1)
        hb_printf(&who, ", %.*s", HB_ARG(say_things(a, g->micro_batches, "micro-batch")));
    if (g->recomputed.n > 0)
        hb_printf(&who, ", %.*s recomputed", HB_ARG(say_things(a, g->recomputed.n, "block")));
    if (w->p->cluster->emulated) hb_puts(&who, ", emulated");
    verdict_wrapped(out, "Plan", hb_done(&who), 1);
    hb_putc(out, '\n');
    int rows = v->n_devices > DEVICE_ROWS ? DEVICE_ROWS + 1 : v->n_devices;
    verdict_sentences(out, v, rows);
    hb_printf(out, "\n  %-25s%6s  %8s  %8s  %s\n", "Devices", "share", "computes", "waits",
              "memory");
    for (int i = 0; i < v->n_devices && i < DEVICE_ROWS; i++)
        put_device(out, w, &v->device[i]);
    if (v->n_devices > DEVICE_ROWS)
        hb_printf(out, "  and %.*s more\n",
                  HB_ARG(say_things(a, v->n_devices - DEVICE_ROWS, "kind")));
    if (dir) verdict_ways(out, dir, verdict_plan_only(e->p));
}
