#include "solver/minsum.h"

#include <math.h>
#include <string.h>

#include "solver/minsum_parts.h"
#include "solver/solver_limits.h"

// Bucket elimination (Dechter 1999) in four passes: who meets whom (scopes), how tables are laid
// out (from the last variable back), which eliminations are the same (ids), and the numbers. No
// argmin is kept: the way back sums a variable's factors once more at the states its scope took.

struct ms_order {
    uint64_t structure; // hash of domains and edges
    int *seq, n;        // variables with more than one live state when it was made
    double work;        // additions it took then
    double *pool;       // the messages, kept from solve to solve
    double pool_cells;
};

typedef struct bucket {
    HB_VEC(int) edges;    // of the problem, whose other end is eliminated later
    HB_VEC(int) messages; // from variables
    int n_scope, *scope;  // met variables; from pass 2 on in loop order, outermost first
    int step;
    ms_factor *factor; // sorted
    int n_factors;
} bucket;

typedef struct solve {
    hb_arena *arena;
    const ms_problem *p;
    ms_live *live;
    int *edge_source, *unary_source;
    ms_tables *tables;
    int *seq, n_seq, *place; // place[v] in seq, n_seq if folded
    bucket *bucket;          // by variable
    ms_keys *step_keys;
    HB_VEC(ms_step) step;
    HB_VEC(uint32_t) key; // scratch
    double cells, work;
} solve;

static ms_status find_live(solve *s)
{
    const ms_problem *p = s->p;
    bool **ok = HB_ARRAY(s->arena, bool *, p->n_vars);
    const bool *row_ok, *col_ok;
    s->live = HB_ARRAY(s->arena, ms_live, p->n_vars);
    s->unary_source = HB_ARRAY(s->arena, int, p->n_vars);
    s->edge_source = HB_ARRAY(s->arena, int, p->n_edges);
    for (int v = 0; v < p->n_vars; v++) {
        hb_assert(p->domain[v] >= 1);
        ok[v] = HB_ARRAY(s->arena, bool, p->domain[v]);
        memset(ok[v], true, (size_t)p->domain[v]);
        s->unary_source[v] = -1;
        if (!p->unary || !p->unary[v]) continue;
        s->unary_source[v] = ms_source(s->tables, p->unary[v], p->domain[v], 1, &row_ok, &col_ok);
        memcpy(ok[v], row_ok, (size_t)p->domain[v]);
    }
    for (int e = 0; e < p->n_edges; e++) {
        const ms_edge *g = &p->edge[e];
        hb_assert(g->a != g->b && g->a >= 0 && g->a < p->n_vars && g->b >= 0 && g->b < p->n_vars);
        s->edge_source[e] =
            ms_source(s->tables, g->table, p->domain[g->a], p->domain[g->b], &row_ok, &col_ok);
        for (int i = 0; i < p->domain[g->a]; i++)
            ok[g->a][i] &= row_ok[i];
        for (int i = 0; i < p->domain[g->b]; i++)
            ok[g->b][i] &= col_ok[i];
    }
    ms_keys *ids = ms_keys_new(s->arena);
    HB_VEC(const int *) lists = {0};
    for (int v = 0; v < p->n_vars; v++) {
        ms_live *l = &s->live[v];
        int *state = HB_ARRAY(s->arena, int, p->domain[v]);
        for (int i = 0; i < p->domain[v]; i++)
            if (ok[v][i]) state[l->n++] = i;
        if (!l->n) return MS_INFEASIBLE;
        bool is_new;
        l->all = l->n == p->domain[v];
        l->id = ms_key_id(ids, (const uint32_t *)state, l->n, &is_new);
        if (is_new) HB_PUSH(s->arena, &lists, state);
        l->state = lists.p[l->id];
    }
    return MS_OPTIMAL;
}

// Pass 1: scopes, and the bucket each factor falls into.
static bool find_scopes(solve *s)
{
    const ms_problem *p = s->p;
    int *seen = HB_ARRAY(s->arena, int, p->n_vars);
    s->place = HB_ARRAY(s->arena, int, p->n_vars);
    s->bucket = HB_ARRAY(s->arena, bucket, p->n_vars);
    for (int v = 0; v < p->n_vars; v++)
        s->place[v] = s->n_seq;
    for (int i = 0; i < s->n_seq; i++)
        s->place[s->seq[i]] = i;
    for (int e = 0; e < p->n_edges; e++) {
        int a = p->edge[e].a, b = p->edge[e].b;
        if (s->place[a] == s->place[b]) continue; // both folded
        HB_PUSH(s->arena, &s->bucket[s->place[a] < s->place[b] ? a : b].edges, e);
    }
    int scope[MS_MOST_LOOPS];
    for (int i = 0; i < s->n_seq; i++) {
        int v = s->seq[i], n = 0, next = -1;
        bucket *k = &s->bucket[v];
        for (int j = 0; j < k->edges.n + k->messages.n; j++) {
            int other, m = 1;
            const int *from = &other;
            if (j < k->edges.n) {
                const ms_edge *g = &p->edge[k->edges.p[j]];
                other = g->a == v ? g->b : g->a;
            } else {
                const bucket *w = &s->bucket[k->messages.p[j - k->edges.n]];
                from = w->scope;
                m = w->n_scope;
            }
            for (int q = 0; q < m; q++) {
                int u = from[q];
                if (u == v || s->place[u] == s->n_seq || seen[u] == i + 1) continue;
                if (n == MS_MOST_LOOPS) return false;
                seen[u] = i + 1;
                scope[n++] = u;
                if (next < 0 || s->place[u] < s->place[next]) next = u;
            }
        }
        k->scope = hb_copy(s->arena, scope, sizeof *scope * (size_t)n);
        k->n_scope = n;
        if (next >= 0) HB_PUSH(s->arena, &s->bucket[next].messages, v);
        for (int q = 0; q < n; q++) // its receiver last, for pass 2
            if (k->scope[q] == next) {
                k->scope[q] = k->scope[n - 1];
                k->scope[n - 1] = next;
            }
    }
    return true;
}

// Pass 2: a message lies as its receiver reads it: the receiver's outer loops in order, the
// receiver, the receiver's innermost loop. That fixes the loops of the sender.
static void lay_out(solve *s)
{
    int *rank = HB_ARRAY(s->arena, int, s->p->n_vars);
    for (int i = s->n_seq - 1; i >= 0; i--) {
        bucket *k = &s->bucket[s->seq[i]];
        if (!k->n_scope) continue;
        int to = k->scope[k->n_scope - 1];
        const bucket *r = &s->bucket[to];
        for (int q = 0; q < r->n_scope; q++)
            rank[r->scope[q]] = q < r->n_scope - 1 ? q : r->n_scope;
        rank[to] = r->n_scope - 1;
        for (int q = 1; q < k->n_scope; q++) { // insertion sort
            int u = k->scope[q], j = q;
            for (; j > 0 && rank[k->scope[j - 1]] > rank[u]; j--)
                k->scope[j] = k->scope[j - 1];
            k->scope[j] = u;
        }
    }
}

static void add_factor(bucket *k, int table, uint64_t loops)
{
    int i = k->n_factors++;
    for (; i > 0 && (k->factor[i - 1].loops > loops ||
                     (k->factor[i - 1].loops == loops && k->factor[i - 1].table > table));
         i--)
        k->factor[i] = k->factor[i - 1];
    k->factor[i] = (ms_factor){table, loops};
}

static void collect_factors(solve *s, int v, int *loop_of)
{
    bucket *k = &s->bucket[v];
    k->factor = HB_ARRAY(s->arena, ms_factor, k->edges.n + k->messages.n + 1);
    for (int q = 0; q < k->n_scope; q++)
        loop_of[k->scope[q]] = q;
    if (s->unary_source[v] >= 0) {
        static const int zero = 0;
        ms_live one = {.n = 1, .state = &zero, .id = -1, .all = true};
        add_factor(k, ms_part(s->tables, s->unary_source[v], &s->live[v], &one, false), 0);
    }
    for (int j = 0; j < k->edges.n; j++) {
        int e = k->edges.p[j], a = s->p->edge[e].a, b = s->p->edge[e].b, other = a == v ? b : a;
        bool folded = s->place[other] == s->n_seq;
        bool inner = !folded && loop_of[other] == k->n_scope - 1;
        // Wanted: [own][inner], else [other][own].
        bool transposed = inner ? b == v : a == v;
        int part = ms_part(s->tables, s->edge_source[e], &s->live[a], &s->live[b], transposed);
        add_factor(k, part, folded ? 0 : (uint64_t)1 << loop_of[other]);
    }
    for (int j = 0; j < k->messages.n; j++) {
        const bucket *w = &s->bucket[k->messages.p[j]];
        uint64_t loops = 0;
        for (int q = 0; q < w->n_scope; q++)
            if (w->scope[q] != v) loops |= (uint64_t)1 << loop_of[w->scope[q]];
        add_factor(k, s->step.p[w->step].result, loops);
    }
}

static void put_key(solve *s, uint32_t word)
{
    HB_PUSH(s->arena, &s->key, word);
}

// Pass 3: equal eliminations get one step.
static void name_steps(solve *s)
{
    int *loop_of = HB_ARRAY(s->arena, int, s->p->n_vars);
    s->step_keys = ms_keys_new(s->arena);
    for (int i = 0; i < s->n_seq; i++) {
        int v = s->seq[i];
        bucket *k = &s->bucket[v];
        collect_factors(s, v, loop_of);
        s->key.n = 0;
        put_key(s, (uint32_t)s->live[v].n);
        put_key(s, (uint32_t)k->n_scope);
        for (int q = 0; q < k->n_scope; q++)
            put_key(s, (uint32_t)s->live[k->scope[q]].n);
        for (int j = 0; j < k->n_factors; j++) {
            put_key(s, (uint32_t)k->factor[j].table);
            put_key(s, (uint32_t)k->factor[j].loops);
            put_key(s, (uint32_t)(k->factor[j].loops >> 32));
        }
        bool is_new;
        k->step = ms_key_id(s->step_keys, s->key.p, s->key.n, &is_new);
        if (!is_new) continue;
        double cells = 1;
        int *size = HB_ARRAY(s->arena, int, k->n_scope);
        for (int q = 0; q < k->n_scope; q++)
            cells *= size[q] = s->live[k->scope[q]].n;
        s->cells += cells;
        s->work += cells * s->live[v].n;
        HB_PUSH(s->arena, &s->step,
                (ms_step){.n_loops = k->n_scope,
                          .own = s->live[v].n,
                          .n_factors = k->n_factors,
                          .result = ms_message(s->tables, cells),
                          .size = size,
                          .factor = k->factor});
    }
}

static bool plan(solve *s)
{
    s->step.n = 0;
    s->cells = s->work = 0;
    if (!find_scopes(s)) {
        s->cells = s->work = (double)INFINITY;
        return false;
    }
    lay_out(s);
    name_steps(s);
    return true;
}

static uint64_t structure_of(const ms_problem *p)
{
    uint64_t h = hb_hash(p->domain, sizeof *p->domain * (size_t)p->n_vars);
    for (int e = 0; e < p->n_edges; e++)
        h = (h ^ ((uint64_t)p->edge[e].a << 32 | (uint32_t)p->edge[e].b)) * 0x100000001b3u;
    return h ^ (uint64_t)p->n_vars;
}

// Both greedy orders are planned to the end, unless the first is cheap; the one with less work
// stays. One that takes more than may be done, or than the other, ends as soon as that shows.
// Whether the plan that s is left with is that of *o.
static bool find_order(solve *s, double max_work, ms_order *o)
{
    int n_vars = s->p->n_vars;
    bool planned = false;
    o->work = (double)INFINITY;
    for (int rule = 0; rule < MS_N_RULES && o->work > MS_CHEAP_ORDER; rule++) {
        int *seq = HB_ARRAY(s->arena, int, n_vars);
        int n = ms_greedy(s->p, s->live, rule, fmin(max_work, o->work), seq);
        if (n < 0) continue;
        s->seq = seq;
        s->n_seq = n;
        bool fits = plan(s);
        planned = fits && s->work < o->work;
        if (s->work >= o->work) continue;
        memcpy(o->seq, s->seq, sizeof *s->seq * (size_t)s->n_seq);
        o->n = s->n_seq;
        o->work = s->work;
    }
    return planned;
}

// The cached order without the variables folded today; those that were folded when it was made
// (their domains have more states than then) come first.
static void use_order(solve *s, const ms_order *o)
{
    int n_vars = s->p->n_vars;
    bool *listed = HB_ARRAY(s->arena, bool, n_vars);
    s->seq = HB_ARRAY(s->arena, int, n_vars);
    s->n_seq = 0;
    for (int i = 0; i < o->n; i++)
        listed[o->seq[i]] = true;
    for (int v = 0; v < n_vars; v++)
        if (!listed[v] && s->live[v].n > 1) s->seq[s->n_seq++] = v;
    for (int i = 0; i < o->n; i++)
        if (s->live[o->seq[i]].n > 1) s->seq[s->n_seq++] = o->seq[i];
}

// Pass 4; false if some message is infinite everywhere.
static bool run_steps(solve *s, double *pool)
{
    for (int i = 0; i < s->step.n; i++) {
        const ms_step *q = &s->step.p[i];
        hb_arena *scratch = hb_arena_new();
        ms_step_run(s->tables, q, pool, scratch);
        hb_arena_free(scratch);
        ms_table *t = ms_table_at(s->tables, q->result);
        t->p = pool;
        pool += (size_t)t->cells;
        if (q->n_loops == 0 && isinf(t->p[0])) return false;
    }
    return true;
}

static void walk_back(const solve *s, int *assignment)
{
    int *at = HB_ARRAY(s->arena, int, s->p->n_vars); // index of the live state
    for (int i = s->n_seq - 1; i >= 0; i--) {
        int v = s->seq[i], own = s->live[v].n;
        const bucket *k = &s->bucket[v];
        double *sum = HB_ARRAY(s->arena, double, own);
        for (int j = 0; j < k->n_factors; j++) {
            const ms_factor *f = &k->factor[j];
            const double *t = ms_table_at(s->tables, f->table)->p;
            size_t outer = 0, inner = 0, n_inner = 1;
            for (int q = 0; q < k->n_scope; q++) {
                if (!(f->loops >> q & 1)) continue;
                int u = k->scope[q];
                if (q < k->n_scope - 1) {
                    outer = outer * (size_t)s->live[u].n + (size_t)at[u];
                } else {
                    inner = (size_t)at[u];
                    n_inner = (size_t)s->live[u].n;
                }
            }
            for (int x = 0; x < own; x++)
                sum[x] += t[(outer * (size_t)own + (size_t)x) * n_inner + inner];
        }
        for (int x = 1; x < own; x++)
            if (sum[x] < sum[at[v]]) at[v] = x;
    }
    for (int v = 0; v < s->p->n_vars; v++)
        assignment[v] = s->live[v].state[at[v]];
}

static ms_status solve_in(solve *s, hb_arena *keep, uint64_t max_cells, double max_work,
                          ms_order *o, int *assignment, double *value)
{
    s->tables = ms_tables_new(s->arena);
    if (find_live(s) != MS_OPTIMAL) return MS_INFEASIBLE;
    uint64_t structure = structure_of(s->p);
    bool fits = false;
    if (o->seq && o->structure == structure) {
        use_order(s, o);
        fits = plan(s);
    }
    // A cached order made when more was pinned may be far from good.
    if (!fits || (s->work > MS_STALE_ORDER * o->work && s->work > MS_CHEAP_ORDER)) {
        double old = fits ? s->work : (double)INFINITY;
        int *old_seq = s->seq, old_n = s->n_seq;
        o->seq = HB_ARRAY(keep, int, s->p->n_vars);
        o->structure = structure;
        bool planned = find_order(s, max_work, o);
        if (o->work > old) {
            memcpy(o->seq, old_seq, sizeof *old_seq * (size_t)old_n);
            o->n = old_n;
            o->work = old;
            planned = false;
        }
        if (isinf(o->work)) return MS_TOO_LARGE;
        if (!planned) {
            use_order(s, o);
            fits = plan(s);
        } else {
            fits = true;
        }
    }
    double most = fmin((double)(max_cells ? max_cells : (uint64_t)MS_MAX_CELLS), INT32_MAX);
    if (!fits || s->cells > most || s->work > max_work) return MS_TOO_LARGE;
    if (s->cells > o->pool_cells) {
        o->pool = hb_room(keep, sizeof *o->pool, (int)s->cells); // all are written
        o->pool_cells = s->cells;
    }
    if (!run_steps(s, o->pool)) return MS_INFEASIBLE;
    walk_back(s, assignment);
    *value = ms_value(s->p, assignment);
    return isinf(*value) ? MS_INFEASIBLE : MS_OPTIMAL;
}

ms_status ms_solve(hb_arena *a, const ms_problem *p, uint64_t max_cells, ms_order **order,
                   int *assignment, double *value)
{
    hb_arena *arena = hb_arena_new();
    solve s = {.arena = arena, .p = p};
    ms_order once = {0}, *o = &once;
    if (order) {
        if (!*order) *order = HB_NEW(a, ms_order);
        o = *order;
    }
    ms_status status =
        solve_in(&s, order ? a : arena, max_cells, (double)INFINITY, o, assignment, value);
    hb_arena_free(arena);
    return status;
}

ms_status ms_solve_within(const ms_problem *p, uint64_t max_cells, double max_work, int *assignment,
                          double *value)
{
    hb_arena *arena = hb_arena_new();
    solve s = {.arena = arena, .p = p};
    ms_order o = {0};
    ms_status status = solve_in(&s, arena, max_cells, max_work, &o, assignment, value);
    hb_arena_free(arena);
    return status;
}

double ms_value(const ms_problem *p, const int *assignment)
{
    double sum = 0;
    for (int v = 0; v < p->n_vars; v++)
        if (p->unary && p->unary[v]) sum += p->unary[v][assignment[v]];
    for (int e = 0; e < p->n_edges; e++) {
        const ms_edge *g = &p->edge[e];
        sum +=
            g->table[(size_t)assignment[g->a] * (size_t)p->domain[g->b] + (size_t)assignment[g->b]];
    }
    return sum;
}

ms_status ms_exhaustive(const ms_problem *p, int *assignment, double *value)
{
    hb_arena *arena = hb_arena_new();
    int *at = HB_ARRAY(arena, int, p->n_vars);
    *value = (double)INFINITY;
    for (int v = 0; v >= 0;) {
        double x = ms_value(p, at);
        if (x < *value) {
            *value = x;
            memcpy(assignment, at, sizeof *at * (size_t)p->n_vars);
        }
        v = p->n_vars - 1;
        while (v >= 0 && ++at[v] == p->domain[v])
            at[v--] = 0;
    }
    hb_arena_free(arena);
    return isinf(*value) ? MS_INFEASIBLE : MS_OPTIMAL;
}
