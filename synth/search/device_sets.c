#include "synth/search/device_sets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/variant.h"
#include "synth/search/lower_bound.h"

static double speed(const pool *p, int rank)
{
    const cl_class *c = &p->m->cluster->cls[p->m->cluster->class_of[rank]];
    double fast = p->m->math == COST_BF16 ? c->bf16 : p->m->math == COST_TF32 ? c->tf32 : c->f32;
    return fast > 0 ? fast : c->f32;
}

// What devices, and machines by their sums, are ranked by.
typedef enum { BY_STEP, BY_SPEED, BY_MEMORY, BY_MEMORY_BANDWIDTH, BY_LINK, N_ORDERS } order;

static double worth(const device_sets *s, int rank, order by)
{
    const cl_cluster *cluster = s->p->m->cluster;
    const cl_class *c = &cluster->cls[cluster->class_of[rank]];
    return by == BY_STEP     ? s->step_rate[cluster->class_of[rank]]
           : by == BY_SPEED  ? speed(s->p, rank)
           : by == BY_MEMORY ? (double)c->capacity
           : by == BY_LINK   ? 1 / (c->link_latency + s->param_bytes / c->link_bandwidth)
                             : c->memory_bandwidth;
}

// How many devices of each class it takes from a machine, of all machines in any order.
static uint64_t kind_of_set(const cl_cluster *c, const bool *keep)
{
    uint64_t kind = 0;
    for (int i = 0; i < c->n_machines; i++) {
        const cl_machine *m = &c->machine[i];
        int of[CL_MAX_CLASSES + 1] = {0}, kept = 0;
        for (int r = m->first_rank; r < m->first_rank + m->n_ranks; r++) {
            of[c->class_of[r]] += keep[r];
            kept += keep[r];
        }
        of[CL_MAX_CLASSES] = m->peer;
        if (kept > 0) kind += hb_hash(of, sizeof of);
    }
    return kind;
}

// A set of some devices, not all, of a kind that was not there before.
static void add_set(device_sets *s, const bool *keep)
{
    int n_ranks = s->p->m->cluster->n_ranks, kept = 0;
    for (int r = 0; r < n_ranks; r++)
        kept += keep[r];
    if (kept == 0 || kept == n_ranks || s->n == s->most) return;
    uint64_t kind = kind_of_set(s->p->m->cluster, keep);
    for (int i = 0; i < s->n; i++)
        if (s->kind[i] == kind) return;
    s->kind[s->n] = kind;
    s->keep[s->n++] = hb_copy(s->p->arena, keep, sizeof *keep * (size_t)n_ranks);
}

static int descending(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a < b) - (a > b);
}

// Without the classes that are worth least, step by step; fastest few first.
static void add_class_prefixes(device_sets *s, order by)
{
    int n = s->p->m->cluster->n_ranks;
    double *level = HB_ARRAY(s->p->arena, double, n + 1);
    bool *keep = HB_ARRAY(s->p->arena, bool, n + 1);
    for (int r = 0; r < n; r++)
        level[r] = worth(s, r, by);
    qsort(level, (size_t)n, sizeof *level, descending);
    for (int k = n - 1, last = n; k > 0; k--) {
        // Of many levels those a step apart.
        if (level[k] == level[k - 1] || last - k < last / SYN_PREFIX_STEP) continue;
        last = k;
        for (int r = 0; r < n; r++)
            keep[r] = worth(s, r, by) >= level[k - 1];
        add_set(s, keep);
    }
}

// The best few of each machine that has so many, as many of one as of another; `among`: of these
// machines alone, NULL: of all.
static void add_equal_counts(device_sets *s, order by, int count, const bool *among)
{
    const cl_cluster *c = s->p->m->cluster;
    bool *keep = HB_ARRAY(s->p->arena, bool, c->n_ranks + 1);
    for (int i = 0; i < c->n_machines; i++)
        for (int k = 0; k < count && count <= c->machine[i].n_ranks && (!among || among[i]); k++) {
            int pick = -1;
            for (int r = c->machine[i].first_rank;
                 r < c->machine[i].first_rank + c->machine[i].n_ranks; r++)
                if (!keep[r] && (pick < 0 || worth(s, r, by) > worth(s, pick, by))) pick = r;
            keep[pick] = true;
        }
    add_set(s, keep);
}

static double machine_worth(const device_sets *s, int machine, order by)
{
    const cl_machine *x = &s->p->m->cluster->machine[machine];
    double sum = 0;
    for (int r = 0; r < x->n_ranks; r++)
        sum += worth(s, x->first_rank + r, by);
    return sum;
}

// Of those that are not taken.
static int best_machine(const device_sets *s, order by, const bool *taken)
{
    int best = -1;
    for (int i = 0; i < s->p->m->cluster->n_machines; i++)
        if (!taken[i] && (best < 0 || machine_worth(s, i, by) > machine_worth(s, best, by)))
            best = i;
    return best;
}

// Whole machines: the best alone, the best two, and so on, and as many devices of each of these;
// each alone.
static void add_machines(device_sets *s, order by)
{
    int n = s->p->m->cluster->n_machines;
    bool *keep = HB_ARRAY(s->p->arena, bool, s->p->m->cluster->n_ranks + 1),
         *taken = HB_ARRAY(s->p->arena, bool, n + 1);
    int fewest = s->p->m->cluster->n_ranks;
    for (int k = 0; k < n && k < SYN_MACHINE_PREFIXES; k++) {
        int best = best_machine(s, by, taken);
        taken[best] = true;
        const cl_machine *x = &s->p->m->cluster->machine[best];
        memset(keep + x->first_rank, true, (size_t)x->n_ranks);
        add_set(s, keep);
        fewest = x->n_ranks < fewest ? x->n_ranks : fewest;
        if (k > 0) add_equal_counts(s, by, fewest, taken);
        bool *alone = HB_ARRAY(s->p->arena, bool, s->p->m->cluster->n_ranks + 1);
        memset(alone + x->first_rank, true, (size_t)x->n_ranks);
        add_set(s, alone);
    }
}

// The number of devices to be tried after k of n.
static int next_part(int n, int k)
{
    return n <= SYN_FEW_DEVICES ? k - 1 : k / 2;
}

// Of few machines half of the devices of each alone, a quarter, and so on; of few devices every
// number.
static void add_parts_of_machines(device_sets *s)
{
    const cl_cluster *c = s->p->m->cluster;
    for (int i = 0; i < c->n_machines && i < SYN_MACHINE_PREFIXES; i++)
        for (int n = c->machine[i].n_ranks, k = next_part(n, n); k > 0; k = next_part(n, k)) {
            bool *keep = HB_ARRAY(s->p->arena, bool, c->n_ranks + 1);
            int first = c->machine[i].first_rank;
            for (int taken = 0; taken < k; taken++) {
                int pick = -1;
                for (int r = first; r < first + c->machine[i].n_ranks; r++)
                    if (!keep[r] && (pick < 0 || worth(s, r, BY_SPEED) > worth(s, pick, BY_SPEED)))
                        pick = r;
                keep[pick] = true;
            }
            add_set(s, keep);
        }
}

// Of few machines the best two, the best three: as many devices of each, in smaller numbers.
static void add_parts_of_the_best(device_sets *s, order by)
{
    const cl_cluster *c = s->p->m->cluster;
    bool *taken = HB_ARRAY(s->p->arena, bool, c->n_machines + 1);
    int fewest = c->n_ranks;
    for (int k = 1; k < c->n_machines; k++) {
        int best = best_machine(s, by, taken), n = c->machine[best].n_ranks;
        taken[best] = true;
        fewest = n < fewest ? n : fewest;
        for (int i = k > 1 ? next_part(fewest, fewest) : 0; i > 0; i = next_part(fewest, i))
            add_equal_counts(s, by, i, taken);
    }
}

// Of machines of several classes, and of few machines: one class of a machine alone, the machine
// without it, all devices without it.
static void add_classes_of_machines(device_sets *s)
{
    const cl_cluster *c = s->p->m->cluster;
    bool *alone = HB_ARRAY(s->p->arena, bool, c->n_ranks + 1),
         *without = HB_ARRAY(s->p->arena, bool, c->n_ranks + 1),
         *rest = HB_ARRAY(s->p->arena, bool, c->n_ranks + 1);
    for (int i = 0; i < c->n_machines && i < SYN_MACHINE_PREFIXES; i++) {
        int first = c->machine[i].first_rank, end = first + c->machine[i].n_ranks;
        for (int k = first; k < end; k++) {
            bool seen = false;
            for (int r = first; r < k; r++)
                seen = seen || c->class_of[r] == c->class_of[k];
            bool one = true; // class in the machine
            for (int r = first; r < end; r++)
                one = one && c->class_of[r] == c->class_of[k];
            if (seen || (one && c->n_machines > SYN_FEW_MACHINES)) continue;
            for (int r = 0; r < c->n_ranks; r++) {
                bool here = r >= first && r < end;
                alone[r] = here && c->class_of[r] == c->class_of[k];
                without[r] = !alone[r];
                rest[r] = here && !alone[r];
            }
            add_set(s, rest);
            add_set(s, without);
            add_set(s, alone);
        }
    }
}

static int fewest_devices(const cl_cluster *c)
{
    int fewest = c->n_ranks;
    for (int i = 0; i < c->n_machines; i++)
        fewest = c->machine[i].n_ranks < fewest ? c->machine[i].n_ranks : fewest;
    return fewest;
}

static int most_devices(const cl_cluster *c)
{
    int most = 0;
    for (int i = 0; i < c->n_machines; i++)
        most = c->machine[i].n_ranks > most ? c->machine[i].n_ranks : most;
    return most;
}

// What devices and links are ranked by.
static void note_rates(device_sets *s)
{
    const pool *p = s->p;
    for (int t = 0; t < p->g->tensors.n; t++) {
        const ir_tensor *x = &p->g->tensors.p[t];
        if (x->kind == IR_PARAM)
            s->param_bytes +=
                (double)(ir_elements(x) * ir_dtype_bytes(x->dtype)) * ir_tensor_times(p->g, t);
    }
    for (int k = 0; k < p->m->cluster->n_classes; k++) {
        double sec = 0;
        for (int n = 0; n < p->g->nodes.n; n++) {
            double flops, bytes;
            ir_node_work(p->g, p->f, n, NULL, 0, &flops, &bytes);
            sec += cost_op(p->m, k, p->g->nodes.p[n].op, flops, bytes) * ir_node_times(p->g, n);
        }
        s->step_rate[k] = sec > 0 ? 1 / sec : 0;
    }
}

const bool *pool_best_machine(const pool *p)
{
    device_sets s = {.p = p};
    const cl_cluster *c = p->m->cluster;
    bool *keep = HB_ARRAY(p->arena, bool, c->n_ranks + 1),
         *none = HB_ARRAY(p->arena, bool, c->n_machines + 1);
    note_rates(&s);
    const cl_machine *best = &c->machine[best_machine(&s, BY_STEP, none)];
    memset(keep + best->first_rank, true, (size_t)best->n_ranks);
    return keep;
}

device_sets pool_device_sets(const pool *p)
{
    device_sets s = {.p = p, .most = SYN_FIRST_SETS};
    const cl_cluster *c = p->m->cluster;
    note_rates(&s);
    for (order by = BY_STEP; by < N_ORDERS; by++) {
        add_class_prefixes(&s, by);
        if (c->n_machines > 1) add_machines(&s, by);
        if (c->n_machines > 1) add_equal_counts(&s, by, fewest_devices(c), NULL);
    }
    add_classes_of_machines(&s);
    // Fewer of equal devices: half of them, a quarter, and so on, and powers of two, which divide
    // most batches and heads; of few every number.
    int all = most_devices(c), power = 1;
    for (int k = all; k > 0; k /= 2)
        add_equal_counts(&s, BY_STEP, k, NULL);
    while (2 * power < all)
        power *= 2;
    for (int k = power; k > 0; k /= 2)
        add_equal_counts(&s, BY_STEP, k, NULL);
    for (int k = all < SYN_FEW_DEVICES ? all : SYN_FEW_DEVICES; k > 0; k--)
        add_equal_counts(&s, BY_STEP, k, NULL);
    if (c->n_machines > 1 && c->n_machines <= SYN_FEW_MACHINES) add_parts_of_machines(&s);
    if (c->n_machines <= SYN_FEW_MACHINES) add_parts_of_the_best(&s, BY_STEP);
    s.most = SYN_MAX_SUBSETS;
    return s;
}

double pool_set_rate(const device_sets *s, const bool *keep)
{
    double sum = 0;
    for (int r = 0; r < s->p->m->cluster->n_ranks; r++)
        sum += keep[r] ? worth(s, r, BY_STEP) : 0;
    return sum;
}

// The devices of a class in a machine.
typedef struct bunch {
    int machine, cls, n, kept;
    int in, out; // a rank of it that is kept, and one that is not; -1: none
    double worth;
} bunch;

static int bunches_of(const device_sets *s, const bool *keep, bunch *b)
{
    const cl_cluster *c = s->p->m->cluster;
    int n = 0;
    for (int r = 0; r < c->n_ranks; r++) {
        int i = n;
        while (i > 0 && b[i - 1].machine == c->machine_of[r] && b[i - 1].cls != c->class_of[r])
            i--;
        bool known = i > 0 && b[i - 1].machine == c->machine_of[r];
        bunch *x = &b[known ? i - 1 : n];
        if (!known)
            b[n++] = (bunch){c->machine_of[r], c->class_of[r], 0, 0, -1, -1, worth(s, r, BY_STEP)};
        x->n++;
        x->kept += keep[r];
        if (keep[r])
            x->in = r;
        else if (x->out < 0)
            x->out = r;
    }
    return n;
}

// The set with all of a bunch (cls -1: of the machine) kept or not.
static void add_with(device_sets *s, const bool *keep, int machine, int cls, bool with)
{
    const cl_cluster *c = s->p->m->cluster;
    bool *own = hb_copy(s->p->arena, keep, sizeof *keep * (size_t)c->n_ranks);
    const cl_machine *m = &c->machine[machine];
    for (int r = m->first_rank; r < m->first_rank + m->n_ranks; r++)
        if (cls < 0 || c->class_of[r] == cls) own[r] = with;
    add_set(s, own);
}

static void add_but_one(device_sets *s, const bool *keep, int rank)
{
    if (rank < 0) return;
    bool *own = hb_copy(s->p->arena, keep, sizeof *keep * (size_t)s->p->m->cluster->n_ranks);
    own[rank] = !own[rank];
    add_set(s, own);
}

static int by_worth(const void *x, const void *y)
{
    const bunch *a = x, *b = y;
    if (a->worth != b->worth) return (a->worth > b->worth) - (a->worth < b->worth);
    return a->machine != b->machine ? a->machine - b->machine : a->cls - b->cls;
}

void pool_add_neighbours(device_sets *s, const syn_mesh *of)
{
    const cl_cluster *c = s->p->m->cluster;
    bool *keep = HB_ARRAY(s->p->arena, bool, c->n_ranks + 1);
    bunch *b = HB_ARRAY(s->p->arena, bunch, c->n_ranks + 1);
    for (int r = 0; r < of->n_ranks; r++)
        keep[of->cluster_rank[r]] = true;
    int n = bunches_of(s, keep, b), go = 0, come = 0;
    qsort(b, (size_t)n, sizeof *b, by_worth);
    for (int i = 0; i < n; i++) {
        const bunch *least = &b[i], *most = &b[n - 1 - i];
        if (least->kept > 0 && go++ < SYN_NEIGHBOURS) {
            add_but_one(s, keep, least->in);
            add_with(s, keep, least->machine, least->cls, false);
            add_with(s, keep, least->machine, -1, false);
        }
        if (most->kept < most->n && come++ < SYN_NEIGHBOURS) {
            add_but_one(s, keep, most->out);
            add_with(s, keep, most->machine, most->cls, true);
            add_with(s, keep, most->machine, -1, true);
        }
    }
}

static struct known_set *known_set_of(const pool *p, const bool *keep)
{
    syn_known_sets *k = p->opt->known;
    uint64_t key = hb_hash(keep, sizeof *keep * (size_t)p->m->cluster->n_ranks);
    for (int i = 0; k && i < k->set.n; i++)
        if (k->set.p[i].key == key) return &k->set.p[i];
    if (!k) return NULL;
    const bool *own = hb_copy(k->arena, keep, sizeof *keep * (size_t)p->m->cluster->n_ranks);
    HB_PUSH(k->arena, &k->set,
            (struct known_set){key, HUGE_VAL, HUGE_VAL, HUGE_VAL, HUGE_VAL, own, false});
    return &k->set.p[k->set.n - 1];
}

bool pool_set_is_slow(const pool *p, const bool *keep)
{
    const syn_known_sets *k = p->opt->known;
    const struct known_set *x = known_set_of(p, keep);
    if (!x || k->best <= 0 || !isfinite(x->quickest)) return false;
    if (x->quickest > SYN_SET_SLOW * k->best) return true;
    if (ir_saved_bytes(p->g) < x->saved) return false; // may fit now
    int quicker = 0, better = 0, fit = 0;
    for (int i = 0; i < k->set.n; i++) {
        quicker += k->set.p[i].quickest < x->quickest;
        better += k->set.p[i].best < x->best;
        fit += isfinite(k->set.p[i].best);
    }
    return fit > 0 && quicker >= SYN_SETS_QUICK && (better >= SYN_SETS_BEST || !isfinite(x->best));
}

const bool *pool_leading_set(const pool *p)
{
    const syn_known_sets *k = p->opt->known;
    const struct known_set *lead = NULL;
    for (int i = 0; k && i < k->set.n; i++) {
        const struct known_set *x = &k->set.p[i];
        if (isfinite(x->best) && (!lead || x->best < lead->best)) lead = x;
    }
    return lead ? lead->keep : NULL;
}

void pool_note_set(const pool *p, const bool *keep, const board *b)
{
    struct known_set *x = known_set_of(p, keep);
    if (x) x->saved = fmin(x->saved, ir_saved_bytes(p->g));
    if (x && b->quickest > 0) x->quickest = fmin(x->quickest, b->quickest);
    if (x && b->best > 0) x->best = fmin(x->best, b->best);
    if (x && b->near > 0) x->near = fmin(x->near, b->near);
}

double pool_least_seconds(pool *p, const bool *keep)
{
    if (!p->least_times) p->least_times = syn_least_times_of(p->arena, p->m, p->g, p->f);
    return syn_least_seconds(p->least_times, keep);
}
