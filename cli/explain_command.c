// hapc explain DIR [NAME]: how a tensor or an op lies on the ranks, what that costs, what else
// would cost.
//
// What was chosen is read from plan.json. Prices of alternatives need the search: it is run again
// on the folder's copies of graph and cluster, with the plan's options.

#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/explain_calls.h"
#include "cli/explain_things.h"
#include "cli/plan_words.h"
#include "emit/words.h"
#include "ir/base/plain.h"
#include "synth/plan/search_limits.h"

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

// alike: instructions of equal blocks that this one stands for, itself among them.
static void print_instr(const view *v, int i, int alike)
{
    const hb_tree *in = v->instr->v[i];
    hb_str call = cli_text_at(in, "call"), node = cli_text_at(in, "node"),
           form = cli_text_at(in, "form");
    printf("    program.c:%-5lld %.*s", (long long)cli_plan_int(in, "line", 0), HB_ARG(call));
    if (form.n) {
        const hb_tree *bytes = hb_get(in, "bytes");
        printf(" %.*s, %.*s", HB_ARG(form), HB_ARG(emit_bytes(v->a, bytes ? bytes->f : 0)));
    }
    if (alike > 1) node = plan_pattern(v->a, node);
    printf("  of %.*s  %.*s ms", HB_ARG(node), HB_ARG(numbers(v->a, hb_get(in, "ms"), "%.3g")));
    if (alike > 1) printf(" each, %d alike", alike);
    putchar('\n');
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

// What there is to say of a tensor or an op.
typedef struct item {
    hb_str name, lies, why; // lies, why: sentences, perhaps empty
    bool is_op;
    HB_VEC(int) buffers, calls; // of plan.json
    syn_alternative alt[MAX_ALTERNATIVES];
    int n_alt; // -1: not priced
} item;

static hb_str call_at(const view *v, int i)
{
    return cli_text_at(v->instr->v[i], "call");
}

static bool is_op_call(const view *v, int i)
{
    hb_str call = call_at(v, i);
    return call.n > 3 && memcmp(call.p, "op_", 3) == 0;
}

// Buffers of the name, calls that make or read them; of an op its calls.
static void gather(const view *v, item *x)
{
    for (int t = 0; t < v->tensors->n && !x->is_op; t++)
        if (hb_str_eq(cli_text_at(v->tensors->v[t], "name"), x->name))
            HB_PUSH(v->a, &x->buffers, t);
    for (int i = 0; i < v->instr->n; i++) {
        const hb_tree *in = v->instr->v[i];
        bool of = x->is_op && hb_str_eq(cli_text_at(in, "node"), x->name) && !hb_get(in, "start");
        for (int k = 0; k < x->buffers.n; k++)
            of = of || holds(hb_get(in, "out"), x->buffers.p[k]) ||
                 holds(hb_get(in, "in"), x->buffers.p[k]);
        if (of) HB_PUSH(v->a, &x->calls, i);
    }
}

// The states of a call as the search prints them: "R S(0:b@t) -> S(0:b@t)".
static hb_str states_of_call(const view *v, int i)
{
    static const char *const sides[] = {"in", "out"};
    hb_buf b = {.arena = v->a};
    for (int s = 0; s < 2; s++) {
        const hb_tree *list = cli_list_at(v->instr->v[i], sides[s]);
        if (s == 1) hb_puts(&b, " -> ");
        for (int k = 0; k < list->n; k++)
            if (list->v[k]->i >= 0 && list->v[k]->i < v->tensors->n)
                hb_printf(&b, "%s%.*s", k ? " " : "",
                          HB_ARG(cli_text_at(v->tensors->v[list->v[k]->i], "state")));
    }
    return b.n ? hb_done(&b) : HB_STR("");
}

// The states that the plan has it in, as the search prints them; empty: it has no call, no buffer.
static hb_str states_of(const view *v, const item *x)
{
    for (int i = 0; x->is_op && i < x->calls.n; i++)
        if (is_op_call(v, x->calls.p[i])) return states_of_call(v, x->calls.p[i]);
    if (!x->is_op && x->buffers.n > 0) return cli_text_at(v->tensors->v[x->buffers.p[0]], "state");
    return HB_STR("");
}

static hb_str lies_text(const view *v, const item *x)
{
    if (x->is_op) {
        hb_str states = states_of(v, x);
        return states.n ? hb_fmt(v->a, "It is computed so: %.*s.",
                                 HB_ARG(plan_text_words(v->a, v->plan, states)))
                        : HB_STR("It is no call of its own.");
    }
    if (x->buffers.n == 0) return HB_STR("");
    const hb_tree *t = v->tensors->v[x->buffers.p[0]];
    bool home = hb_str_is(cli_text_at(t, "role"), "home");
    return hb_fmt(v->a, "It is %s %.*s.", home ? "stored" : "made",
                  HB_ARG(plan_state_words(v->a, v->plan, t)));
}

// The class whose memory is short: where a tenth more is worth most, or one that is nearly full.
static hb_str short_of_memory(const view *v)
{
    const hb_tree *what_if = cli_list_at(v->plan, "what_if"),
                  *classes = cli_list_at(v->plan, "classes");
    hb_str name = {"", 0};
    double most = 0;
    for (int i = 0; i < what_if->n; i++)
        if (hb_str_is(cli_text_at(what_if->v[i], "resource"), "memory") &&
            cli_number_at(what_if->v[i], "ms") > most) {
            most = cli_number_at(what_if->v[i], "ms");
            name = cli_text_at(what_if->v[i], "class");
        }
    for (int i = 0; i < classes->n && most == 0; i++) {
        const hb_tree *c = classes->v[i];
        double used = cli_number_at(c, "peak_bytes") + cli_number_at(c, "padded_bytes") +
                      cli_number_at(c, "work_bytes");
        if (used > SYN_ROOMY * cli_number_at(c, "capacity_bytes")) name = cli_text_at(c, "name");
    }
    return name;
}

// Up to two other ways and what they would cost more.
static void put_others(hb_buf *b, const view *v, const item *x, int chosen)
{
    int n = 0;
    for (int i = 0; i < x->n_alt && n < 2; i++) {
        hb_str what = x->alt[i].what;
        double more = x->alt[i].delta_sec - x->alt[chosen].delta_sec;
        if (i == chosen || more < 0 || strstr(what.p, " and a copy ")) continue;
        hb_str words = plan_text_words(v->a, v->plan, what);
        if (n++ == 0)
            hb_printf(b, " Otherwise, all else chosen again: %.*s", HB_ARG(words));
        else
            hb_printf(b, "; %.*s", HB_ARG(words));
        if (more > 0)
            hb_printf(b, ", %.*s a step more", HB_ARG(say_sec(v->a, more)));
        else
            hb_puts(b, ", which costs the same");
    }
    if (n > 0) hb_puts(b, ".");
}

// Who or what makes it so: a pin, its neighbours, prices, somebody's memory.
static hb_str why_text(const view *v, const item *x)
{
    hb_buf b = {.arena = v->a};
    const hb_tree *pins = cli_list_at(v->plan, "pins");
    for (int i = 0; i < pins->n; i++) {
        hb_str pin = pins->v[i]->s;
        const char *eq = pin.n ? memchr(pin.p, '=', pin.n) : NULL;
        if (eq && hb_glob((hb_str){pin.p, (size_t)(eq - pin.p)}, x->name))
            hb_printf(&b, " --pin '%.*s' asks for it.", HB_ARG(pin));
    }
    if (x->n_alt == 0) hb_puts(&b, " It has no choice of its own: one op makes it, one reads it.");
    if (x->n_alt <= 0) return b.n ? (hb_str){b.p + 1, b.n - 1} : HB_STR("");
    hb_str states = states_of(v, x), memory = short_of_memory(v);
    int chosen = -1;
    for (int i = 0; i < x->n_alt; i++)
        if (chosen < 0 && hb_str_eq(x->alt[i].what, states)) chosen = i;
    double more = chosen >= 0 ? x->alt[chosen].delta_sec : 0;
    if (chosen < 0)
        hb_puts(&b, " The search that is run for the prices ends at other cuts than the plan.");
    else if (more == 0)
        hb_puts(&b, " Nothing is cheaper.");
    else if (memory.n > 0)
        hb_printf(&b, " %.*s would be %.*s a step cheaper, but memory is short: that of %.*s.",
                  HB_ARG(plan_text_words(v->a, v->plan, x->alt[0].what)),
                  HB_ARG(say_sec(v->a, more)), HB_ARG(memory));
    else
        hb_printf(
            &b,
            " Where costs are added up, %.*s is %.*s a step cheaper; the simulated step, which "
            "overlaps, is no faster so.",
            HB_ARG(plan_text_words(v->a, v->plan, x->alt[0].what)), HB_ARG(say_sec(v->a, more)));
    put_others(&b, v, x, chosen >= 0 ? chosen : 0);
    return (hb_str){b.p + 1, b.n - 1};
}

static void print_buffer(const view *v, const item *x, int t)
{
    const hb_tree *of = v->tensors->v[t];
    printf("  %.*s  (%.*s)  state %.*s  shape [%.*s] %.*s\n", HB_ARG(cli_text_at(of, "c")),
           HB_ARG(cli_text_at(of, "role")), HB_ARG(cli_text_at(of, "state")),
           HB_ARG(numbers(v->a, hb_get(of, "shape"), "%lld")), HB_ARG(cli_text_at(of, "dtype")));
    printf("    bytes by class %.*s in the %.*s segment\n",
           HB_ARG(numbers(v->a, hb_get(of, "bytes"), "%lld")), HB_ARG(cli_text_at(of, "segment")));
    for (int k = 0; k < x->calls.n; k++) {
        int i = x->calls.p[k];
        const hb_tree *in = v->instr->v[i];
        bool made = holds(hb_get(in, "out"), t), read = holds(hb_get(in, "in"), t);
        if (!made && !read) continue;
        if (!is_op_call(v, i)) {
            print_instr(v, i, 1);
            continue;
        }
        printf("    program.c:%-5lld %s by %.*s of %.*s  %.*s ms\n",
               (long long)cli_plan_int(in, "line", 0),
               made && read ? "updated"
               : made       ? "made"
                            : "read",
               HB_ARG(call_at(v, i)), HB_ARG(hb_plain(v->a, cli_text_at(in, "node"))),
               HB_ARG(numbers(v->a, hb_get(in, "ms"), "%.3g")));
    }
}

static void print_item(const view *v, const item *x)
{
    printf("%.*s\n", HB_ARG(hb_plain(v->a, x->name)));
    if (x->lies.n) printf("  %.*s\n", HB_ARG(x->lies));
    if (x->why.n) printf("  %.*s\n", HB_ARG(x->why));
    for (int k = 0; k < x->buffers.n; k++)
        print_buffer(v, x, x->buffers.p[k]);
    for (int k = 0; x->is_op && k < x->calls.n; k++)
        print_instr(v, x->calls.p[k], 1);
    if (x->n_alt > 0)
        puts("  alternatives, everything else chosen again (additive cost on these cuts, without "
             "memory):");
    for (int i = 0; i < x->n_alt; i++)
        printf("    %+10.4g ms  %.*s%s\n", x->alt[i].delta_sec * 1e3, HB_ARG(x->alt[i].what),
               x->alt[i].chosen ? "   <- cheapest" : "");
}

static void put_item(hb_buf *b, const view *v, const item *x)
{
    hb_printf(b, "{\"kind\":\"%s\",\"name\":", x->is_op ? "op" : "tensor");
    hb_put_json(b, x->name);
    hb_puts(b, ",\"lies\":");
    hb_put_json(b, x->lies);
    hb_puts(b, ",\"why\":");
    hb_put_json(b, x->why);
    hb_puts(b, ",\"buffers\":[");
    for (int k = 0; k < x->buffers.n; k++) {
        if (k) hb_putc(b, ',');
        hb_put_tree(b, v->tensors->v[x->buffers.p[k]]);
    }
    hb_puts(b, "],\"calls\":[");
    for (int k = 0; k < x->calls.n; k++) {
        if (k) hb_putc(b, ',');
        hb_put_tree(b, v->instr->v[x->calls.p[k]]);
    }
    hb_puts(b, "],\"alternatives\":[");
    for (int i = 0; i < x->n_alt; i++) {
        hb_printf(b, "%s{\"ms\":%.9g,\"states\":", i ? "," : "", x->alt[i].delta_sec * 1e3);
        hb_put_json(b, x->alt[i].what);
        hb_puts(b, ",\"words\":");
        hb_put_json(b, plan_text_words(v->a, v->plan, x->alt[i].what));
        hb_putc(b, '}');
    }
    hb_puts(b, "]}");
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
    int more = (ranks ? 2 * ranks->n : 0) + (cuts ? cuts->n : 0) + v->instr->n + 1;
    const char **all = HB_ARRAY(v->a, const char *, n + more + 1);
    memcpy(all, names, sizeof *all * (size_t)n);
    explain_names(v->plan, all, &n);
    explain_kinds(v->plan, all, &n);
    const char *near = hb_nearest(name, all, n);
    if (near) cli_note("hint: did you mean '%s'?", near);
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
    const hb_tree *search = hb_get(plan, "search");
    const hb_tree *effort = search ? hb_get(search, "effort") : NULL;
    if (effort && effort->f >= 1) {
        o.effort = effort->f;
        o.first_draw = (int)cli_plan_int(search, "first_draw", 0);
    }
    const hb_tree *mesh = hb_get(plan, "mesh"); // the plan's own: states are said on its axes
    o.mesh = mesh && mesh->kind == HB_LIST && mesh->n == 2 ? SYN_MESH_MACHINES : SYN_MESH_FLAT;
    if (!cli_plan_pins(a, in, plan, &o.pins)) return false;
    *r = syn_synthesize(a, in->g, ir_factorize(a, in->g), &in->model, &o);
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

// An item; with the alternatives of the search that r holds, if it holds one.
static item *explain_one(const view *v, hb_str name, bool is_op, const cli_inputs *in,
                         const syn_result *r)
{
    item *x = HB_NEW(v->a, item);
    *x = (item){.name = name, .is_op = is_op, .n_alt = -1};
    gather(v, x);
    int n = !r ? 0 : is_op ? in->g->nodes.n : in->g->tensors.n;
    for (int t = 0; t < n; t++) {
        hb_str of = is_op ? in->g->nodes.p[t].name : in->g->tensors.p[t].name;
        if (hb_str_eq(of, name))
            x->n_alt = syn_explain(v->a, r, is_op, t, x->alt, MAX_ALTERNATIVES);
    }
    x->lies = lies_text(v, x);
    x->why = why_text(v, x);
    return x;
}

// Everything of what was found.
static void explain_found(const view *v, const found *f, const cli_inputs *in, const syn_result *r,
                          bool json)
{
    hb_buf b = {.arena = v->a};
    for (int i = 0; i < f->n_tensors + f->n_nodes; i++) {
        bool is_op = i >= f->n_tensors;
        hb_str name = is_op ? f->node[i - f->n_tensors] : f->tensor[i];
        const item *x = explain_one(v, name, is_op, in, r);
        if (!json) {
            print_item(v, x);
            continue;
        }
        hb_puts(&b, i ? "," : "{\"found\":[");
        put_item(&b, v, x);
    }
    if (json) printf("%s]}\n", b.p);
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

// Instructions from i on that are as this one, in equal blocks; 0: one before it was.
static int alike_from(const view *v, const int *calls, int n, int i)
{
    hb_str key[2];
    int count = 0;
    if (cli_plan_int(v->instr->v[calls[i]], "line", 0) == 0) return 1; // a view: in no line
    for (int k = 0; k < n; k++) {
        const hb_tree *in = v->instr->v[calls[k]], *own = v->instr->v[calls[i]];
        key[0] = plan_pattern(v->a, cli_text_at(in, "node"));
        key[1] = plan_pattern(v->a, cli_text_at(own, "node"));
        if (cli_plan_int(in, "line", 0) != cli_plan_int(own, "line", 0) ||
            !hb_str_eq(key[0], key[1]) ||
            !hb_str_eq(cli_text_at(in, "call"), cli_text_at(own, "call")))
            continue;
        if (k < i) return 0;
        count++;
    }
    return count;
}

// The calls of a line; false if there are none.
static bool explain_calls(const view *v, int64_t line, hb_buf *json)
{
    int *calls = HB_ARRAY(v->a, int, v->instr->n + 1), n = 0;
    for (int i = 0; i < v->instr->n; i++)
        if (!hb_get(v->instr->v[i], "start") && cli_plan_int(v->instr->v[i], "line", -1) == line)
            calls[n++] = i;
    for (int i = 0; i < n; i++) {
        int alike = json ? 1 : alike_from(v, calls, n, i);
        if (json) {
            hb_puts(json, i ? "," : "{\"kind\":\"calls\",\"calls\":[");
            hb_put_tree(json, v->instr->v[calls[i]]);
        } else if (alike > 0) {
            print_instr(v, calls[i], alike);
        }
    }
    if (n > 0 && json) hb_puts(json, "]}");
    return n > 0;
}

// What is neither a tensor nor an op: printed, or put into json if that is given.
static bool explain_other(const view *v, hb_str name, hb_buf *json)
{
    hb_str id[1];
    if (matches(v->tensors, "name", name, id, 1) || matches(v->instr, "node", name, id, 1) ||
        matches(v->tensors, "id", name, id, 1))
        return false;
    int64_t line = explain_line(name);
    if (line >= 0) return explain_calls(v, line, json);
    bool known = explain_device(v->a, v->plan, name, json);
    if (known && json) return true;
    known = explain_stage(v->a, v->plan, name, json) || known;
    known = explain_cut(v->a, v->plan, name, json) || known;
    return known || explain_network(v->a, v->plan, name, json) ||
           explain_block(v->a, v->plan, name, json) || explain_kind(v->a, v->plan, name, json);
}

// pattern NULL: the report.
static int explain(hb_arena *a, const char *dir, const char *pattern, bool fast, bool json)
{
    view v = {.a = a, .plan = cli_plan(a, dir)};
    if (!v.plan) return CLI_INPUT;
    if (!pattern && json)
        return cli_error(CLI_USAGE, "--json wants a NAME; all is in %s/plan.json", dir);
    if (!pattern) return print_report(a, dir);
    v.tensors = hb_get(v.plan, "tensors");
    v.instr = hb_get(v.plan, "instructions");
    if (!v.tensors || v.tensors->kind != HB_LIST || !v.instr || v.instr->kind != HB_LIST)
        return cli_error(CLI_INPUT, "%s/plan.json is broken", dir);
    found f = {0};
    hb_buf b = {.arena = a};
    if (explain_other(&v, (hb_str){pattern, strlen(pattern)}, json ? &b : NULL)) {
        if (json) printf("{\"found\":[%s]}\n", b.p);
        return CLI_OK;
    }
    if (!find(&v, pattern, &f)) return CLI_INPUT;
    cli_inputs in = {0};
    syn_result r = {0};
    bool priced = !fast && !hb_get(v.plan, "stages") && f.n_tensors + f.n_nodes <= MAX_PRICED &&
                  search_again(a, dir, v.plan, &in, &r);
    explain_found(&v, &f, &in, priced ? &r : NULL, json);
    return CLI_OK;
}

int cmd_explain(int argc, char **argv)
{
    bool fast = false, json = false;
    const cli_option options[] = {{"--no-search", NULL, &fast}, {"--json", NULL, &json}};
    const char *arg[2] = {NULL, NULL};
    cli_line line = {.least = 1, .most = 2, .rest = arg};
    int code = cli_parse("explain", argc, argv, options, 2, &line);
    if (code != CLI_GO) return code;
    hb_arena *a = hb_arena_new();
    code = explain(a, arg[0], arg[1], fast, json);
    hb_arena_free(a);
    return code;
}
