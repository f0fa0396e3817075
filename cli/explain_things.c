#include "cli/explain_things.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/plan_words.h"
#include "emit/words.h"

static bool is_rank(hb_arena *a, const hb_tree *rank, hb_str name)
{
    int64_t n = cli_plan_int(rank, "cluster_rank", -1);
    return hb_glob(name, cli_text_at(rank, "device")) ||
           hb_glob(name, cli_text_at(rank, "machine")) ||
           hb_str_eq(hb_fmt(a, "rank %lld", (long long)n), name);
}

static void print_use(hb_arena *a, const hb_tree *plan, const hb_tree *rank)
{
    const hb_tree *classes = cli_list_at(plan, "classes");
    int64_t k = cli_plan_int(rank, "class", -1);
    if (k < 0 || k >= classes->n) {
        double with = cli_number_at(rank, "with_ms"), step = cli_number_at(plan, "predicted_ms");
        printf("  unused: %.*s\n", HB_ARG(cli_text_at(rank, "dropped_because")));
        if (with > step)
            printf("  the fastest plan with it that the search saw takes %.*s a step, this one "
                   "%.*s\n",
                   HB_ARG(say_sec(a, with / 1e3)), HB_ARG(say_sec(a, step / 1e3)));
        return;
    }
    const hb_tree *c = classes->v[k], *memory = hb_get(c, "memory");
    printf("  computes %.*s of the step, waits %.*s for data and %.*s for others\n",
           HB_ARG(say_sec(a, cli_number_at(c, "compute_ms") / 1e3)),
           HB_ARG(say_sec(a, cli_number_at(c, "exposed_ms") / 1e3)),
           HB_ARG(say_sec(a, cli_number_at(c, "waiting_ms") / 1e3)));
    printf("  share of the work that is cut: %.*s\n",
           HB_ARG(say_percent(a, cli_number_at(rank, "ratio"))));
    double used = cli_number_at(c, "peak_bytes") + cli_number_at(c, "padded_bytes") +
                  cli_number_at(c, "work_bytes");
    printf("  memory: %.*s of %.*s; at the fullest moment", HB_ARG(emit_bytes(a, used)),
           HB_ARG(emit_bytes(a, cli_number_at(c, "capacity_bytes"))));
    static const char *const kinds[] = {"parameters", "optimizer", "activations", "gradients",
                                        "sending"};
    for (int i = 0; i < 5; i++)
        printf("%s %s %.*s", i ? "," : "", kinds[i],
               HB_ARG(emit_bytes(a, cli_number_at(memory, kinds[i]))));
    printf("\n");
    const hb_tree *what_if = cli_list_at(plan, "what_if");
    for (int i = 0; i < what_if->n; i++)
        if (hb_str_eq(cli_text_at(what_if->v[i], "class"), cli_text_at(c, "name")))
            printf("  10 %% more %.*s of its class would save %.*s a step\n",
                   HB_ARG(cli_text_at(what_if->v[i], "resource")),
                   HB_ARG(say_sec(a, cli_number_at(what_if->v[i], "ms") / 1e3)));
}

static void print_stage(hb_arena *a, const hb_tree *plan, int s)
{
    const hb_tree *list = cli_list_at(plan, "stages"), *ports = cli_list_at(plan, "ports");
    if (s < 0 || s >= list->n) return;
    const hb_tree *x = list->v[s], *machines = cli_list_at(x, "machines");
    int64_t first = cli_plan_int(x, "first_layer", 0), n = cli_plan_int(x, "layers", 1);
    printf("stage %d: layer%s %lld", s, n > 1 ? "s" : "", (long long)first);
    if (n > 1) printf("-%lld", (long long)(first + n - 1));
    for (int m = 0; m < machines->n; m++)
        printf("%s %.*s", m ? "," : " on", HB_ARG(say_name(a, machines->v[m]->s)));
    printf("\n  %.*s\n", HB_ARG(cli_text_at(x, "why")));
    printf("  busy %.*s of the step; waits %.*s for other stages (%.*s)\n",
           HB_ARG(say_sec(a, cli_number_at(x, "busy_ms") / 1e3)),
           HB_ARG(say_sec(a, cli_number_at(x, "waits_ms") / 1e3)),
           HB_ARG(say_percent(a, cli_number_at(x, "bubble"))));
    for (int i = 0; i < ports->n; i++) {
        const hb_tree *q = ports->v[i];
        int64_t from = cli_plan_int(q, "from", -1), to = cli_plan_int(q, "to", -1);
        if (from != s && to != s) continue;
        printf("  %s stage %lld, %.*s: %.*s, %.*s a message (%.*s)\n",
               from == s ? "sends to" : "gets from", (long long)(from == s ? to : from),
               HB_ARG(cli_text_at(q, "when")), HB_ARG(emit_bytes(a, cli_number_at(q, "bytes"))),
               HB_ARG(say_sec(a, cli_number_at(q, "ms") / 1e3)),
               HB_ARG(say_name(a, cli_text_at(q, "value"))));
    }
}

// Ranks in a row that say the same are one entry.
// The ranks of the name and the class of each, as plan.json has them.
static bool put_devices(hb_arena *a, const hb_tree *plan, hb_str name, hb_buf *json)
{
    const hb_tree *ranks = cli_list_at(plan, "ranks"), *classes = cli_list_at(plan, "classes");
    bool any = false;
    for (int i = 0; i < ranks->n; i++) {
        if (!is_rank(a, ranks->v[i], name)) continue;
        int64_t k = cli_plan_int(ranks->v[i], "class", -1);
        hb_puts(json, any ? ",{\"rank\":" : "{\"kind\":\"devices\",\"devices\":[{\"rank\":");
        hb_put_tree(json, ranks->v[i]);
        hb_puts(json, ",\"class\":");
        if (k >= 0 && k < classes->n)
            hb_put_tree(json, classes->v[k]);
        else
            hb_puts(json, "null");
        hb_putc(json, '}');
        any = true;
    }
    if (any) hb_puts(json, "]}");
    return any;
}

bool explain_device(hb_arena *a, const hb_tree *plan, hb_str name, hb_buf *json)
{
    if (json) return put_devices(a, plan, name, json);
    const hb_tree *ranks = cli_list_at(plan, "ranks");
    int said = -1; // a stage, once behind its ranks
    bool any = false;
    for (int i = 0, end; i < ranks->n; i = end) {
        const hb_tree *r = ranks->v[i];
        end = i + 1;
        if (!is_rank(a, r, name)) continue;
        while (end < ranks->n && is_rank(a, ranks->v[end], name) &&
               hb_str_eq(cli_text_at(ranks->v[end], "device"), cli_text_at(r, "device")) &&
               hb_str_eq(cli_text_at(ranks->v[end], "machine"), cli_text_at(r, "machine")) &&
               cli_plan_int(ranks->v[end], "class", -1) == cli_plan_int(r, "class", -1))
            end++;
        printf("%s %d", end > i + 1 ? "ranks" : "rank", i);
        if (end > i + 1) printf("-%d", end - 1);
        printf(" of the cluster: %.*s on %.*s\n", HB_ARG(say_name(a, cli_text_at(r, "device"))),
               HB_ARG(say_name(a, cli_text_at(r, "machine"))));
        print_use(a, plan, r);
        int stage = cli_plan_int(r, "rank", -1) < 0 ? -1 : (int)cli_plan_int(r, "stage", -1);
        if (said >= 0 && stage != said) print_stage(a, plan, said);
        said = stage;
        any = true;
    }
    if (said >= 0) print_stage(a, plan, said);
    return any;
}

bool explain_stage(hb_arena *a, const hb_tree *plan, hb_str name, hb_buf *json)
{
    const hb_tree *list = cli_list_at(plan, "stages");
    for (int s = 0; s < list->n; s++) {
        if (!hb_str_eq(name, hb_fmt(a, "stage %d", s))) continue;
        if (json) {
            hb_puts(json, "{\"kind\":\"stage\",\"stage\":");
            hb_put_tree(json, list->v[s]);
            hb_putc(json, '}');
        } else {
            print_stage(a, plan, s);
        }
        return true;
    }
    return false;
}

bool explain_cut(hb_arena *a, const hb_tree *plan, hb_str name, hb_buf *json)
{
    const hb_tree *cuts = cli_list_at(plan, "cuts"), *tensors = cli_list_at(plan, "tensors");
    bool any = false;
    for (int i = 0; i < cuts->n; i++) {
        const hb_tree *c = cuts->v[i], *entries = cli_list_at(c, "entries");
        if (name.n == 0 ||
            (!hb_str_eq(cli_text_at(c, "table"), name) && !hb_str_eq(cli_text_at(c, "word"), name)))
            continue;
        if (json) {
            hb_puts(json, any ? "," : "{\"kind\":\"cuts\",\"cuts\":[");
            hb_put_tree(json, c);
            any = true;
            continue;
        }
        int64_t axis = cli_plan_int(c, "axis", 0);
        printf("%.*s: a cut of %lld %.*s over %s, from '%.*s'\n ", HB_ARG(name),
               (long long)cli_plan_int(c, "size", 0), HB_ARG(cli_text_at(c, "word")),
               axis == 2   ? "both axes"
               : axis == 0 ? "axis 0"
                           : "axis 1",
               HB_ARG(cli_text_at(c, "from")));
        for (int k = 0, run; k < entries->n; k += run) {
            for (run = 1; k + run < entries->n && entries->v[k + run]->i == entries->v[k]->i;
                 run++) {}
            if (run > 1) printf(" %d x", run);
            printf(" %lld%s", (long long)entries->v[k]->i, k + run < entries->n ? " +" : "\n");
        }
        int n = 0;
        hb_str first = {"", 0};
        for (int t = 0; t < tensors->n; t++) {
            const hb_tree *of = cli_list_at(tensors->v[t], "cuts");
            bool has = false;
            for (int x = 0; x < of->n; x++)
                has = has || of->v[x]->i == i;
            if (has && n++ == 0) first = cli_text_at(tensors->v[t], "name");
        }
        printf("  %d buffers lie so, the first of %.*s\n", n, HB_ARG(say_name(a, first)));
        any = true;
    }
    if (any && json) hb_puts(json, "]}");
    return any;
}

int64_t explain_line(hb_str name)
{
    static const char head[] = "program.c:";
    size_t n = sizeof head - 1;
    if (name.n <= n || memcmp(name.p, head, n) != 0) return -1;
    int64_t line = 0;
    for (size_t i = n; i < name.n; i++) {
        if (name.p[i] < '0' || name.p[i] > '9' || line > 100000000) return -1;
        line = 10 * line + (name.p[i] - '0');
    }
    return line;
}

void explain_names(const hb_tree *plan, const char **names, int *n)
{
    const hb_tree *ranks = cli_list_at(plan, "ranks"), *cuts = cli_list_at(plan, "cuts");
    for (int i = 0; i < ranks->n; i++) {
        names[(*n)++] = cli_text_at(ranks->v[i], "device").p;
        names[(*n)++] = cli_text_at(ranks->v[i], "machine").p;
    }
    for (int i = 0; i < cuts->n; i++)
        if (cli_text_at(cuts->v[i], "table").n) names[(*n)++] = cli_text_at(cuts->v[i], "table").p;
}
