// hapc explain DIR [NAME]: how a tensor or an op lies on the ranks, what that costs, what else
// would cost.
//
// What was chosen is read from plan.json. Prices of alternatives need the search: it is run again
// on the folder's copies of graph and cluster, with the plan's options.

#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/explain_things.h"

enum { MAX_PRICED = 3, MAX_ALTERNATIVES = 12, MAX_PAIR_OPS = 8 };

typedef struct {
    hb_arena *a;
    const hb_tree *plan, *tensors, *instr;
} view;

static bool holds(const hb_tree *list, int64_t id)
{
    for (int i = 0; list && list->kind == HB_LIST && i < list->n; i++)
        if (list->v[i]->kind == HB_INT && list->v[i]->i == id) return true;
    return false;
}

static hb_str numbers(hb_arena *a, const hb_tree *list, const char *fmt)
{
    hb_buf b = {.arena = a};
    for (int i = 0; list && list->kind == HB_LIST && i < list->n; i++) {
        char one[64];
        if (strcmp(fmt, "%.3g") == 0)
            snprintf(one, sizeof one, "%.3g", list->v[i]->f);
        else
            snprintf(one, sizeof one, "%lld", (long long)list->v[i]->i);
        hb_printf(&b, "%s%s", i ? " " : "", one);
    }
    return b.n ? hb_done(&b) : HB_STR("");
}

// The pair that instruction i is of: its times.
static void print_pair(const view *v, int i)
{
    for (int k = i; k >= 0 && k > i - 2 - MAX_PAIR_OPS; k--) {
        const hb_tree *x = hb_get(v->instr->v[k], "overlap");
        if (!x || k + cli_plan_int(x, "length", 0) <= i) continue;
        double ms[5];
        static const char *const keys[] = {"compute_ms", "transfer_ms", "ms", "sequential_ms",
                                           "hidden_ms"};
        for (int j = 0; j < 5; j++) {
            const hb_tree *t = hb_get(x, keys[j]);
            ms[j] = t ? t->f : 0;
        }
        const hb_tree *chunks = hb_get(x, "chunks");
        printf("        in a pair of %lld calls, %d chunks of rows: matmuls %.3g ms, transfer "
               "%.3g, together %.3g; one after the other %.3g; %.3g hidden\n",
               (long long)cli_plan_int(x, "length", 0), chunks ? chunks->n : 0, ms[0], ms[1], ms[2],
               ms[3], ms[4]);
    }
}

static void print_instr(const view *v, int i)
{
    const hb_tree *in = v->instr->v[i];
    hb_str call = cli_text_at(in, "call"), node = cli_text_at(in, "node"),
           form = cli_text_at(in, "form");
    printf("    program.c:%-5lld %.*s", (long long)cli_plan_int(in, "line", 0), HB_ARG(call));
    if (form.n) {
        const hb_tree *bytes = hb_get(in, "bytes");
        printf(" %.*s, %.*s", HB_ARG(form), HB_ARG(emit_bytes(v->a, bytes ? bytes->f : 0)));
    }
    printf("  of %.*s  %.*s ms\n", HB_ARG(node), HB_ARG(numbers(v->a, hb_get(in, "ms"), "%.3g")));
    print_pair(v, i);
    static const char *const sides[] = {"in", "out"};
    for (int s = 0; s < 2; s++) {
        const hb_tree *list = hb_get(in, sides[s]);
        for (int k = 0; list && list->kind == HB_LIST && k < list->n; k++) {
            if (list->v[k]->i < 0 || list->v[k]->i >= v->tensors->n) continue;
            const hb_tree *t = v->tensors->v[list->v[k]->i];
            printf("        %-3s  %-40.*s %.*s\n", sides[s], HB_ARG(cli_text_at(t, "c")),
                   HB_ARG(cli_text_at(t, "state")));
        }
    }
}

static void explain_tensor(const view *v, hb_str name)
{
    printf("%.*s\n", HB_ARG(name));
    for (int t = 0; t < v->tensors->n; t++) {
        const hb_tree *x = v->tensors->v[t];
        if (!hb_str_eq(cli_text_at(x, "name"), name)) continue;
        printf("  %.*s  (%.*s)  state %.*s  shape [%.*s] %.*s\n", HB_ARG(cli_text_at(x, "c")),
               HB_ARG(cli_text_at(x, "role")), HB_ARG(cli_text_at(x, "state")),
               HB_ARG(numbers(v->a, hb_get(x, "shape"), "%lld")), HB_ARG(cli_text_at(x, "dtype")));
        printf("    bytes by class %.*s in the %.*s segment\n",
               HB_ARG(numbers(v->a, hb_get(x, "bytes"), "%lld")),
               HB_ARG(cli_text_at(x, "segment")));
        for (int i = 0; i < v->instr->n; i++) {
            const hb_tree *in = v->instr->v[i];
            bool made = holds(hb_get(in, "out"), t), read = holds(hb_get(in, "in"), t);
            if (!made && !read) continue;
            hb_str call = cli_text_at(in, "call");
            bool converts = call.n > 3 && memcmp(call.p, "op_", 3) != 0;
            if (converts) {
                print_instr(v, i);
                continue;
            }
            printf("    program.c:%-5lld %s by %.*s of %.*s  %.*s ms\n",
                   (long long)cli_plan_int(in, "line", 0),
                   made && read ? "updated"
                   : made       ? "made"
                                : "read",
                   HB_ARG(call), HB_ARG(cli_text_at(in, "node")),
                   HB_ARG(numbers(v->a, hb_get(in, "ms"), "%.3g")));
        }
    }
}

static void explain_node(const view *v, hb_str name)
{
    printf("%.*s\n", HB_ARG(name));
    for (int i = 0; i < v->instr->n; i++)
        if (hb_str_eq(cli_text_at(v->instr->v[i], "node"), name) &&
            !hb_get(v->instr->v[i], "start"))
            print_instr(v, i);
}

static void print_alternatives(hb_arena *a, const syn_result *r, bool is_node, int id)
{
    syn_alternative alt[MAX_ALTERNATIVES];
    int n = syn_explain(a, r, is_node, id, alt, MAX_ALTERNATIVES);
    if (n == 0) {
        printf("  it has no choice of its own: one op makes it, one reads it\n");
        return;
    }
    printf(
        "  alternatives, everything else chosen again (additive cost on these cuts, without memory):\n");
    for (int i = 0; i < n; i++)
        printf("    %+10.4g ms  %.*s%s\n", alt[i].delta_sec * 1e3, HB_ARG(alt[i].what),
               alt[i].chosen ? "   <- cheapest" : "");
}

// Distinct values of one text field of a list that match; at most max.
static int matches(const hb_tree *list, const char *key, hb_str pattern, hb_str *out, int max)
{
    int n = 0;
    for (int i = 0; i < list->n && n < max; i++) {
        hb_str s = cli_text_at(list->v[i], key);
        if (s.n == 0 || !hb_glob(pattern, s)) continue;
        bool known = false;
        for (int k = 0; k < n; k++)
            known = known || hb_str_eq(out[k], s);
        if (!known) out[n++] = s;
    }
    return n;
}

static void suggest(const view *v, hb_str name)
{
    const char **names = HB_ARRAY(v->a, const char *, v->tensors->n + v->instr->n + 1);
    int n = 0;
    for (int i = 0; i < v->tensors->n; i++)
        if (cli_text_at(v->tensors->v[i], "name").n)
            names[n++] = hb_str_n(v->a, cli_text_at(v->tensors->v[i], "name").p,
                                  cli_text_at(v->tensors->v[i], "name").n)
                             .p;
    for (int i = 0; i < v->instr->n; i++)
        names[n++] = hb_str_n(v->a, cli_text_at(v->instr->v[i], "node").p,
                              cli_text_at(v->instr->v[i], "node").n)
                         .p;
    const hb_tree *ranks = hb_get(v->plan, "ranks"), *cuts = hb_get(v->plan, "cuts");
    int more = (ranks ? 2 * ranks->n : 0) + (cuts ? cuts->n : 0);
    const char **all = HB_ARRAY(v->a, const char *, n + more + 1);
    memcpy(all, names, sizeof *all * (size_t)n);
    explain_names(v->plan, all, &n);
    const char *near = hb_nearest(name, all, n);
    if (near) fprintf(stderr, "hint: did you mean '%s'?\n", near);
}

// The search once more, as the plan was made.
static bool search_again(hb_arena *a, const char *dir, const hb_tree *plan, cli_inputs *in,
                         syn_result *r)
{
    syn_options o = syn_default_options();
    const hb_tree *keep = hb_get(plan, "keep_grads");
    ir_options front;
    if (!cli_plan_options(a, plan, &front) ||
        !cli_load(a, hb_fmt(a, "%s/graph.json", dir).p, hb_fmt(a, "%s/cluster.yaml", dir).p, &front,
                  in))
        return false;
    if (!syn_strategy_parse(cli_text_at(plan, "strategy_option"), &o.strategy))
        o.strategy = SYN_AUTO;
    o.keep_grads = keep && keep->b;
    const hb_tree *pairs = hb_get(plan, "pairs");
    o.no_pairs = pairs && pairs->kind == HB_BOOL && !pairs->b;
    const hb_tree *mesh = hb_get(plan, "mesh"); // the plan's own: states are said on its axes
    o.mesh = mesh && mesh->kind == HB_LIST && mesh->n == 2 ? SYN_MESH_MACHINES : SYN_MESH_FLAT;
    if (!cli_plan_pins(a, in, plan, &o.pins)) return false;
    *r = syn_synthesize(a, in->g, in->f, &in->model, &o);
    return r->status == SYN_OK;
}

enum { MAX_MATCHES = 64 };

// The names of tensors and nodes that a pattern means.
typedef struct found {
    hb_str tensor[MAX_MATCHES], node[MAX_MATCHES];
    int n_tensors, n_nodes;
} found;

static bool find(const view *v, const char *pattern, found *out)
{
    hb_str name = {pattern, strlen(pattern)}, id[1];
    out->n_tensors = matches(v->tensors, "name", name, out->tensor, MAX_MATCHES);
    out->n_nodes = matches(v->instr, "node", name, out->node, MAX_MATCHES);
    if (out->n_tensors + out->n_nodes == 0 && matches(v->tensors, "id", name, id, 1))
        for (int i = 0; i < v->tensors->n && out->n_tensors == 0; i++)
            if (hb_str_eq(cli_text_at(v->tensors->v[i], "id"), id[0]))
                out->tensor[out->n_tensors++] = cli_text_at(v->tensors->v[i], "name");
    if (out->n_tensors + out->n_nodes > 0) return true;
    cli_error(CLI_INPUT, "nothing in the plan is called '%s'", pattern);
    suggest(v, name);
    return false;
}

// Everything of what was found; priced: with the alternatives of the search that r holds.
static void explain_found(const view *v, const found *f, const cli_inputs *in, const syn_result *r,
                          bool priced)
{
    for (int i = 0; i < f->n_tensors; i++) {
        explain_tensor(v, f->tensor[i]);
        for (int t = 0; priced && t < in->g->tensors.n; t++)
            if (hb_str_eq(in->g->tensors.p[t].name, f->tensor[i]))
                print_alternatives(v->a, r, false, t);
    }
    for (int i = 0; i < f->n_nodes; i++) {
        explain_node(v, f->node[i]);
        for (int t = 0; priced && t < in->g->nodes.n; t++)
            if (hb_str_eq(in->g->nodes.p[t].name, f->node[i])) print_alternatives(v->a, r, true, t);
    }
}

static int print_report(hb_arena *a, const char *dir)
{
    hb_str path = hb_fmt(a, "%s/report.txt", dir), text;
    const char *why = NULL;
    if (!hb_read_file(a, path.p, &text, &why))
        return cli_error(CLI_INPUT, "%.*s: %s", HB_ARG(path), why);
    fwrite(text.p, 1, text.n, stdout);
    return CLI_OK;
}

// The calls of a line, or of a block ("h.3"); false if there are none.
static bool explain_calls(const view *v, hb_str name, int64_t line)
{
    bool any = false;
    hb_str block = hb_fmt(v->a, "*.%.*s.*", HB_ARG(name)),
           first = hb_fmt(v->a, "%.*s.*", HB_ARG(name));
    for (int i = 0; i < v->instr->n; i++) {
        hb_str node = cli_text_at(v->instr->v[i], "node");
        if (hb_get(v->instr->v[i], "start")) continue;
        bool here = line >= 0 ? cli_plan_int(v->instr->v[i], "line", -1) == line
                              : hb_glob(block, node) || hb_glob(first, node);
        if (!here) continue;
        print_instr(v, i);
        any = true;
    }
    return any;
}

// What is neither a tensor nor an op.
static bool explain_other(const view *v, hb_str name)
{
    hb_str id[1];
    if (matches(v->tensors, "name", name, id, 1) || matches(v->instr, "node", name, id, 1) ||
        matches(v->tensors, "id", name, id, 1))
        return false;
    int64_t line = explain_line(name);
    if (line >= 0) return explain_calls(v, name, line);
    bool known = explain_device(v->a, v->plan, name);
    known = explain_cut(v->a, v->plan, name) || known;
    return known || (!memchr(name.p, '*', name.n) && name.n > 0 && explain_calls(v, name, -1));
}

// pattern NULL: the report.
static int explain(hb_arena *a, const char *dir, const char *pattern, bool fast)
{
    view v = {.a = a, .plan = cli_plan(a, dir)};
    if (!v.plan) return CLI_INPUT;
    if (!pattern) return print_report(a, dir);
    v.tensors = hb_get(v.plan, "tensors");
    v.instr = hb_get(v.plan, "instructions");
    if (!v.tensors || v.tensors->kind != HB_LIST || !v.instr || v.instr->kind != HB_LIST)
        return cli_error(CLI_INPUT, "%s/plan.json is broken", dir);
    found f = {0};
    if (explain_other(&v, (hb_str){pattern, strlen(pattern)})) return CLI_OK;
    if (!find(&v, pattern, &f)) return CLI_INPUT;
    cli_inputs in = {0};
    syn_result r = {0};
    bool priced =
        !fast && f.n_tensors + f.n_nodes <= MAX_PRICED && search_again(a, dir, v.plan, &in, &r);
    explain_found(&v, &f, &in, &r, priced);
    return CLI_OK;
}

int cmd_explain(int argc, char **argv)
{
    bool fast = false;
    const cli_option options[] = {{"--no-search", NULL, &fast}};
    const char *arg[2] = {NULL, NULL};
    cli_line line = {.least = 1, .most = 2, .rest = arg};
    int code = cli_parse("explain", argc, argv, options, 1, &line);
    if (code != CLI_GO) return code;
    hb_arena *a = hb_arena_new();
    code = explain(a, arg[0], arg[1], fast);
    hb_arena_free(a);
    return code;
}
