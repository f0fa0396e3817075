#include "cli/explain_calls.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/plan_words.h"
#include "emit/words.h"

enum { MOST_ROWS = 24 };

// Calls that are alike: of one call, one op in equal blocks, one state.
typedef struct row {
    hb_str call, node, words;
    int count;
    double ms, waited, bytes; // all of them, on the class that takes longest for them
} row;

typedef struct group {
    hb_arena *a;
    const hb_tree *plan, *instr, *tensors;
    bool one_block; // names stay as they are
    hb_map *at;
    HB_VEC(row) rows;
    HB_VEC(int) calls;
    double *of_class;           // ms of all ops
    double sent, waited, bytes; // of all collectives
    int n_sent;
} group;

static group group_of(hb_arena *a, const hb_tree *plan)
{
    return (group){.a = a,
                   .plan = plan,
                   .instr = cli_list_at(plan, "instructions"),
                   .tensors = cli_list_at(plan, "tensors"),
                   .at = hb_map_new(a),
                   .of_class = HB_ARRAY(a, double, cli_list_at(plan, "classes")->n + 1)};
}

// How the first value of one side lies.
static hb_str words_at(const group *g, const hb_tree *in, const char *side)
{
    const hb_tree *list = cli_list_at(in, side);
    if (list->n == 0 || list->v[0]->i < 0 || list->v[0]->i >= g->tensors->n) return (hb_str){"", 0};
    return plan_state_words(g->a, g->plan, g->tensors->v[list->v[0]->i]);
}

static void add_call(group *g, int i)
{
    const hb_tree *in = g->instr->v[i], *ms = cli_list_at(in, "ms");
    bool sends = cli_text_at(in, "form").n > 0;
    hb_str call = plan_call(in), node = cli_text_at(in, "node"), words = words_at(g, in, "out");
    if (!g->one_block) node = plan_pattern(g->a, node);
    if (sends) words = hb_fmt(g->a, "%.*s -> %.*s", HB_ARG(words_at(g, in, "in")), HB_ARG(words));
    hb_str key = hb_fmt(g->a, "%.*s|%.*s|%.*s", HB_ARG(call), HB_ARG(node), HB_ARG(words));
    int k = hb_map_get(g->at, key);
    if (k < 0) {
        k = g->rows.n;
        hb_map_put(g->at, key, k);
        HB_PUSH(g->a, &g->rows, ((row){.call = call, .node = node, .words = words}));
    }
    double most = 0;
    for (int c = 0; c < ms->n; c++) {
        most = fmax(most, ms->v[c]->f);
        if (!sends && c < cli_list_at(g->plan, "classes")->n) g->of_class[c] += ms->v[c]->f;
    }
    row *r = &g->rows.p[k];
    r->count++;
    r->ms += most;
    HB_PUSH(g->a, &g->calls, i);
    if (!sends) return;
    double bytes = fmax(cli_number_at(in, "bytes"), 0), waited = cli_number_at(in, "exposed_ms");
    r->bytes += bytes;
    r->waited += waited;
    g->bytes += bytes;
    g->waited += waited;
    g->sent += most;
    g->n_sent++;
}

static int by_ms(const void *p, const void *q)
{
    const row *x = p, *y = q;
    if (x->ms != y->ms) return x->ms > y->ms ? -1 : 1;
    int d = hb_str_cmp(x->call, y->call);
    return d ? d : hb_str_cmp(x->node, y->node);
}

static void print_rows(group *g)
{
    int left = 0;
    double ms = 0;
    qsort(g->rows.p, (size_t)g->rows.n, sizeof *g->rows.p, by_ms);
    for (int k = 0; k < g->rows.n; k++) {
        const row *r = &g->rows.p[k];
        if (k >= MOST_ROWS) {
            left += r->count;
            ms += r->ms;
            continue;
        }
        printf("  %4d x  %9.*s  %.*s of %.*s\n", r->count, HB_ARG(say_sec(g->a, r->ms / 1e3)),
               HB_ARG(r->call), HB_ARG(say_name(g->a, r->node)));
        printf("                    %.*s", HB_ARG(r->words));
        if (r->bytes > 0)
            printf("; %.*s, waited for %.*s", HB_ARG(emit_bytes(g->a, r->bytes)),
                   HB_ARG(say_sec(g->a, r->waited / 1e3)));
        putchar('\n');
    }
    if (left > 0) printf("  %4d more, %.*s\n", left, HB_ARG(say_sec(g->a, ms / 1e3)));
}

// "heads: 62 calls, 1.2 ms computing on A100 …", then the rows; of a call nobody makes nothing.
static bool print_group(group *g, hb_str name, hb_buf *json)
{
    const hb_tree *classes = cli_list_at(g->plan, "classes");
    for (int i = 0; json && i < g->calls.n; i++) {
        hb_puts(json, i ? "," : "{\"kind\":\"calls\",\"calls\":[");
        hb_put_tree(json, g->instr->v[g->calls.p[i]]);
    }
    if (json && g->calls.n > 0) hb_puts(json, "]}");
    if (json || g->calls.n == 0) return g->calls.n > 0;
    printf("%.*s: %d call%s a step", HB_ARG(say_name(g->a, name)), g->calls.n,
           g->calls.n == 1 ? "" : "s");
    for (int c = 0; c < classes->n && g->n_sent < g->calls.n; c++)
        printf("%s %.*s on %.*s", c ? "," : "; computing",
               HB_ARG(say_sec(g->a, g->of_class[c] / 1e3)),
               HB_ARG(say_name(g->a, cli_text_at(classes->v[c], "name"))));
    if (g->n_sent > 0)
        printf("; sending %.*s in %.*s, of which the step waits for %.*s",
               HB_ARG(emit_bytes(g->a, g->bytes)), HB_ARG(say_sec(g->a, g->sent / 1e3)),
               HB_ARG(say_sec(g->a, g->waited / 1e3)));
    printf("\n");
    print_rows(g);
    return true;
}

// Waits take no time of their own, views none at all.
static bool counts(const hb_tree *in)
{
    return !hb_get(in, "start") && cli_plan_int(in, "line", 0) > 0;
}

bool explain_block(hb_arena *a, const hb_tree *plan, hb_str name, hb_buf *json)
{
    group g = group_of(a, plan);
    hb_str inside = hb_fmt(a, "*.%.*s.*", HB_ARG(name)), first = hb_fmt(a, "%.*s.*", HB_ARG(name));
    if (name.n == 0 || memchr(name.p, '*', name.n)) return false;
    g.one_block = true;
    for (int i = 0; i < g.instr->n; i++) {
        hb_str node = cli_text_at(g.instr->v[i], "node");
        if (counts(g.instr->v[i]) && (hb_glob(inside, node) || hb_glob(first, node)))
            add_call(&g, i);
    }
    return print_group(&g, name, json);
}

static bool is_kind(hb_str call, hb_str name)
{
    const char *word = memchr(call.p, '_', call.n); // behind op_, coll_, hap_
    if (hb_glob(name, call)) return true;
    return word && hb_glob(name, (hb_str){word + 1, (size_t)(call.p + call.n - word - 1)});
}

bool explain_kind(hb_arena *a, const hb_tree *plan, hb_str name, hb_buf *json)
{
    group g = group_of(a, plan);
    for (int i = 0; i < g.instr->n; i++)
        if (counts(g.instr->v[i]) && is_kind(plan_call(g.instr->v[i]), name)) add_call(&g, i);
    return print_group(&g, name, json);
}

void explain_kinds(const hb_tree *plan, const char **names, int *n)
{
    const hb_tree *instr = cli_list_at(plan, "instructions");
    for (int i = 0; i < instr->n; i++)
        if (!hb_get(instr->v[i], "start")) names[(*n)++] = cli_text_at(instr->v[i], "call").p;
    names[(*n)++] = "network";
}

// --- the network ---

// Whether the devices of the plan, or of one of its stages, are on several machines.
static bool several_machines(const hb_tree *plan, int64_t stage)
{
    const hb_tree *ranks = cli_list_at(plan, "ranks");
    hb_str first = {"", 0};
    for (int i = 0; i < ranks->n; i++) {
        hb_str machine = cli_text_at(ranks->v[i], "machine");
        if (cli_plan_int(ranks->v[i], "rank", -1) < 0 ||
            (stage >= 0 && cli_plan_int(ranks->v[i], "stage", -1) != stage))
            continue;
        if (first.n > 0 && !hb_str_eq(first, machine)) return true;
        first = machine;
    }
    return false;
}

// Messages between stages, all of a step.
static void print_messages(hb_arena *a, const hb_tree *plan)
{
    const hb_tree *ports = cli_list_at(plan, "ports");
    double bytes = 0, ms = 0;
    int64_t n = 0;
    for (int i = 0; i < ports->n; i++) {
        hb_str when = cli_text_at(ports->v[i], "when");
        bool slot = hb_str_is(when, "forward") || hb_str_is(when, "backward");
        int64_t times = slot ? cli_plan_int(plan, "micro_batches", 1) : 1;
        n += times;
        bytes += (double)times * cli_number_at(ports->v[i], "bytes");
        ms += (double)times * cli_number_at(ports->v[i], "ms");
    }
    if (n > 0)
        printf("  between stages: %.*s a step, %.*s, %.*s on their way\n",
               HB_ARG(say_things(a, n, "message")), HB_ARG(emit_bytes(a, bytes)),
               HB_ARG(say_sec(a, ms / 1e3)));
}

static bool same_link(const hb_tree *x, const hb_tree *y)
{
    return cli_plan_int(x, "ranks", 1) == cli_plan_int(y, "ranks", 1) &&
           cli_number_at(x, "link_bandwidth") == cli_number_at(y, "link_bandwidth") &&
           cli_number_at(x, "link_latency") == cli_number_at(y, "link_latency");
}

static void print_links(hb_arena *a, const hb_tree *plan, const hb_tree *machines)
{
    const hb_tree *what_if = cli_list_at(plan, "what_if"), *mesh = cli_list_at(plan, "mesh");
    for (int i = 0, next; i < machines->n; i = next) {
        const hb_tree *m = machines->v[i], *peer = hb_get(m, "peer");
        for (next = i + 1; next < machines->n && same_link(m, machines->v[next]);)
            next++;
        if (cli_plan_int(m, "ranks", 1) < 2) continue;
        printf("  inside %.*s", HB_ARG(say_name(a, cli_text_at(m, "name"))));
        if (next - i > 1)
            printf(" to %.*s", HB_ARG(say_name(a, cli_text_at(machines->v[next - 1], "name"))));
        printf(": %.*s, %.*s a message%s\n",
               HB_ARG(say_rate(a, cli_number_at(m, "link_bandwidth"), "B/s")),
               HB_ARG(say_sec(a, cli_number_at(m, "link_latency"))),
               peer && peer->b ? "; devices are peers" : "");
    }
    for (int i = 0; i < what_if->n; i++)
        if (hb_str_is(cli_text_at(what_if->v[i], "resource"), "link"))
            printf("  10 %% more of the links %s would save %.*s a step\n",
                   mesh->n < 2                                   ? "between devices"
                   : cli_plan_int(what_if->v[i], "axis", 0) == 0 ? "between machines"
                                                                 : "inside machines",
                   HB_ARG(say_sec(a, cli_number_at(what_if->v[i], "ms") / 1e3)));
    puts("  another network: hapc GRAPH CLUSTER --what-if 'network.bandwidth=100 Gbit/s'");
}

bool explain_network(hb_arena *a, const hb_tree *plan, hb_str name, hb_buf *json)
{
    const hb_tree *network = hb_get(plan, "network"), *machines = cli_list_at(plan, "machines");
    if (!network || (!hb_str_is(name, "network") && !hb_str_is(name, "links"))) return false;
    group g = group_of(a, plan);
    for (int i = 0; i < g.instr->n; i++)
        if (hb_get(g.instr->v[i], "form") && (cli_plan_int(g.instr->v[i], "axes", 1) & 1) &&
            several_machines(plan, cli_plan_int(g.instr->v[i], "stage", -1)))
            add_call(&g, i);
    if (json) {
        hb_puts(json, "{\"kind\":\"network\",\"network\":");
        hb_put_tree(json, network);
        hb_puts(json, ",\"machines\":");
        hb_put_tree(json, machines);
        hb_puts(json, "}");
        return true;
    }
    printf("network: %.*s, %.*s a message, between %.*s\n",
           HB_ARG(say_rate(a, cli_number_at(network, "bandwidth"), "B/s")),
           HB_ARG(say_sec(a, cli_number_at(network, "latency"))),
           HB_ARG(say_things(a, machines->n, "machine")));
    print_messages(a, plan);
    if (!several_machines(plan, -1))
        puts("  nothing goes over it: the devices of the plan are on one machine");
    else if (g.calls.n == 0 && !hb_get(plan, "ports"))
        puts("  nothing goes over it");
    print_links(a, plan, machines);
    if (g.calls.n > 0) print_group(&g, HB_STR("over the network"), NULL);
    return true;
}
