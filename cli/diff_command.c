// hapc diff DIR DIR2: what two plans decide differently, in words. Both are read from their
// plan.json.
//
// A line stands only where the two differ, the first plan's value before the second's. Names of
// equal layers are one row: transformer.h.*.mlp.c_fc.weight.

#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "cli/cli.h"
#include "cli/plan_words.h"
#include "emit/words.h"

extern char **environ;

enum { LEFT = 14, MOST_ROWS = 16 };

typedef struct two {
    hb_arena *a;
    const hb_tree *plan[2];
    int differences;
} two;

static void say(two *t, const char *what, hb_str before, hb_str after)
{
    if (hb_str_eq(before, after)) return;
    t->differences++;
    printf("%-*s %.*s -> %.*s\n", LEFT, what, HB_ARG(say_name(t->a, before)),
           HB_ARG(say_name(t->a, after)));
}

// --- what was asked and what was chosen ---

static hb_str join(hb_arena *a, const hb_tree *list, const char *none)
{
    hb_buf b = {.arena = a};
    for (int i = 0; i < list->n; i++) {
        const hb_tree *v = list->v[i];
        if (v->kind == HB_TEXT)
            hb_printf(&b, "%s%.*s", i ? ", " : "", HB_ARG(v->s));
        else
            hb_printf(&b, "%s%lld", i ? ", " : "", (long long)v->i);
    }
    return b.n ? hb_done(&b) : hb_str_c(a, none);
}

// "2 x A100-40GB, 2 x V100-16GB": the devices that the plan keeps.
static hb_str kept(hb_arena *a, const hb_tree *plan)
{
    const hb_tree *classes = cli_list_at(plan, "classes");
    hb_buf b = {.arena = a};
    for (int i = 0; i < classes->n; i++)
        hb_printf(&b, "%s%lld x %.*s", i ? ", " : "",
                  (long long)cli_plan_int(classes->v[i], "count", 0),
                  HB_ARG(cli_text_at(classes->v[i], "name")));
    return b.n ? hb_done(&b) : HB_STR("");
}

static hb_str mesh(hb_arena *a, const hb_tree *plan)
{
    const hb_tree *m = cli_list_at(plan, "mesh");
    if (hb_get(plan, "stages")) return HB_STR("one for each stage");
    if (m->n != 2) return HB_STR("one axis over all devices");
    return hb_fmt(a, "%lld machines x %lld devices", (long long)m->v[0]->i, (long long)m->v[1]->i);
}

// "layers 0-5 on m0; layers 6-11 on m1, m2".
static hb_str stages(hb_arena *a, const hb_tree *plan)
{
    const hb_tree *list = cli_list_at(plan, "stages");
    hb_buf b = {.arena = a};
    for (int s = 0; s < list->n; s++) {
        int64_t first = cli_plan_int(list->v[s], "first_layer", 0),
                n = cli_plan_int(list->v[s], "layers", 1);
        hb_printf(&b, n > 1 ? "%slayers %lld-%lld" : "%slayer %lld", s ? "; " : "",
                  (long long)first, (long long)(first + n - 1));
        hb_printf(&b, " on %.*s", HB_ARG(join(a, cli_list_at(list->v[s], "machines"), "")));
    }
    return b.n ? hb_done(&b) : HB_STR("none");
}

static hb_str blocks(hb_arena *a, const hb_tree *plan)
{
    const hb_tree *list = cli_list_at(plan, "recomputed");
    if (list->n == 0) return HB_STR("no block");
    return hb_fmt(a, "%d block%s (%.*s)", list->n, list->n == 1 ? "" : "s",
                  HB_ARG(join(a, list, "")));
}

static hb_str expert_room(hb_arena *a, const hb_tree *plan)
{
    double room = cli_number_at(plan, "expert_room");
    return isnan(room) ? HB_STR("none") : hb_fmt(a, "%g", room);
}

static void say_choices(two *t)
{
    static const struct {
        const char *key, *what;
    } texts[] = {{"graph_path", "Graph"},          {"cluster_name", "Cluster"},
                 {"precision", "Precision"},       {"grad_dtype", "Gradients"},
                 {"strategy_option", "Asked for"}, {"strategy", "Found by"}};
    hb_str v[2];
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
        say(t, texts[k].what, cli_text_at(t->plan[0], texts[k].key),
            cli_text_at(t->plan[1], texts[k].key));
    for (int i = 0; i < 2; i++)
        v[i] = hb_fmt(t->a, "%lld", (long long)cli_plan_int(t->plan[i], "batch", 0));
    say(t, "Batch", v[0], v[1]);
    for (int i = 0; i < 2; i++)
        v[i] = expert_room(t->a, t->plan[i]);
    say(t, "Rooms of experts", v[0], v[1]);
    for (int i = 0; i < 2; i++)
        v[i] = join(t->a, cli_list_at(t->plan[i], "pins"), "none");
    say(t, "Pins", v[0], v[1]);
    for (int i = 0; i < 2; i++)
        v[i] = kept(t->a, t->plan[i]);
    say(t, "Devices", v[0], v[1]);
    for (int i = 0; i < 2; i++)
        v[i] = mesh(t->a, t->plan[i]);
    say(t, "Mesh", v[0], v[1]);
    for (int i = 0; i < 2; i++)
        v[i] = stages(t->a, t->plan[i]);
    say(t, "Stages", v[0], v[1]);
    for (int i = 0; i < 2; i++)
        v[i] = hb_fmt(t->a, "%lld", (long long)cli_plan_int(t->plan[i], "micro_batches", 1));
    say(t, "Micro-batches", v[0], v[1]);
    for (int i = 0; i < 2; i++)
        v[i] = blocks(t->a, t->plan[i]);
    say(t, "Computed again", v[0], v[1]);
}

// --- times and memory ---

static hb_str ms_at(hb_arena *a, const hb_tree *t, const char *key)
{
    double ms = cli_number_at(t, key);
    return isnan(ms) ? HB_STR("-") : say_sec(a, ms / 1e3);
}

static void say_step(two *t)
{
    double before = cli_number_at(t->plan[0], "predicted_ms"),
           after = cli_number_at(t->plan[1], "predicted_ms");
    bool faster = after < before;
    double ratio = faster ? before / after : after / before;
    hb_str by = ratio < 1.1 ? hb_fmt(t->a, "%.*s %s", HB_ARG(say_percent(t->a, ratio - 1)),
                                     faster ? "faster" : "slower")
                            : hb_fmt(t->a, "%.*s as %s", HB_ARG(say_times(t->a, ratio)),
                                     faster ? "fast" : "slow");
    t->differences += before != after;
    printf("%-*s %.*s -> %.*s", LEFT, "Step", HB_ARG(ms_at(t->a, t->plan[0], "predicted_ms")),
           HB_ARG(ms_at(t->a, t->plan[1], "predicted_ms")));
    if (before != after)
        printf(", %.*s\n", HB_ARG(by));
    else
        printf(", the same\n");
}

static const hb_tree *class_named(const hb_tree *plan, hb_str name)
{
    const hb_tree *classes = cli_list_at(plan, "classes");
    for (int i = 0; i < classes->n; i++)
        if (hb_str_eq(cli_text_at(classes->v[i], "name"), name)) return classes->v[i];
    return NULL;
}

static hb_str class_use(hb_arena *a, const hb_tree *c)
{
    double used = cli_number_at(c, "peak_bytes") + cli_number_at(c, "padded_bytes") +
                  cli_number_at(c, "work_bytes");
    return hb_fmt(a, "computes %.*s, waits %.*s for data and %.*s for others, uses %.*s",
                  HB_ARG(ms_at(a, c, "compute_ms")), HB_ARG(ms_at(a, c, "exposed_ms")),
                  HB_ARG(ms_at(a, c, "waiting_ms")), HB_ARG(emit_bytes(a, used)));
}

static void say_classes(two *t)
{
    for (int side = 0; side < 2; side++) {
        const hb_tree *classes = cli_list_at(t->plan[side], "classes");
        for (int i = 0; i < classes->n; i++) {
            hb_str name = cli_text_at(classes->v[i], "name");
            const hb_tree *other = class_named(t->plan[!side], name);
            if (other && side == 1) continue; // said already
            hb_str here = class_use(t->a, classes->v[i]),
                   there = other ? class_use(t->a, other) : HB_STR("not used");
            if (hb_str_eq(here, there)) continue;
            t->differences++;
            printf("%.*s\n    %.*s\n -> %.*s\n", HB_ARG(say_name(t->a, name)),
                   HB_ARG(side == 0 ? here : there), HB_ARG(side == 0 ? there : here));
        }
    }
}

// --- how tensors are stored, and what is sent ---

// What a row says, and in how many tensors or calls.
typedef struct row {
    hb_str name, side[2];
    int count[2];
    double ms[2], bytes[2];
} row;

typedef struct table {
    hb_map *at;
    HB_VEC(row) rows;
} table;

static row *row_of(hb_arena *a, table *t, hb_str key)
{
    int at = hb_map_get(t->at, key);
    if (at < 0) {
        at = t->rows.n;
        hb_map_put(t->at, key, at);
        HB_PUSH(a, &t->rows, (row){0});
    }
    return &t->rows.p[at];
}

// Whether a moment lies as its parameter in both plans: no row of its own.
static bool follows_parameter(hb_arena *a, const table *homes, const row *r)
{
    static const char *const moments[] = {".exp_avg", ".exp_avg_sq", ".momentum"};
    for (size_t k = 0; k < sizeof moments / sizeof *moments; k++) {
        size_t n = strlen(moments[k]);
        if (r->name.n <= n || memcmp(r->name.p + r->name.n - n, moments[k], n) != 0) continue;
        int at = hb_map_get(homes->at, hb_str_n(a, r->name.p, r->name.n - n));
        if (at >= 0 && hb_str_eq(homes->rows.p[at].side[0], r->side[0]) &&
            hb_str_eq(homes->rows.p[at].side[1], r->side[1]))
            return true;
    }
    return false;
}

// Stored tensors and what optimizers keep, by name.
static void say_stored(two *t)
{
    table homes = {.at = hb_map_new(t->a)}, changed = {.at = hb_map_new(t->a)};
    for (int side = 0; side < 2; side++) {
        const hb_tree *list = cli_list_at(t->plan[side], "tensors");
        for (int i = 0; i < list->n; i++) {
            hb_str role = cli_text_at(list->v[i], "role");
            if (!hb_str_is(role, "home") && !hb_str_is(role, "input")) continue;
            row *r = row_of(t->a, &homes, cli_text_at(list->v[i], "name"));
            r->name = cli_text_at(list->v[i], "name");
            r->side[side] = plan_state_words(t->a, t->plan[side], list->v[i]);
        }
    }
    for (int i = 0; i < homes.rows.n; i++) {
        const row *h = &homes.rows.p[i];
        if (!h->side[0].n || !h->side[1].n || hb_str_eq(h->side[0], h->side[1])) continue;
        if (follows_parameter(t->a, &homes, h)) continue;
        hb_str name = plan_pattern(t->a, h->name);
        row *r = row_of(
            t->a, &changed,
            hb_fmt(t->a, "%.*s %.*s %.*s", HB_ARG(name), HB_ARG(h->side[0]), HB_ARG(h->side[1])));
        *r = (row){name, {h->side[0], h->side[1]}, {r->count[0] + 1, 0}, {0}, {0}};
    }
    if (changed.rows.n == 0) return;
    t->differences++;
    printf("\nStored otherwise\n");
    for (int i = 0; i < changed.rows.n && i < MOST_ROWS; i++) {
        const row *r = &changed.rows.p[i];
        printf("  %3d  %.*s\n         %.*s -> %.*s\n", r->count[0], HB_ARG(say_name(t->a, r->name)),
               HB_ARG(r->side[0]), HB_ARG(r->side[1]));
    }
    if (changed.rows.n > MOST_ROWS) printf("  and %d rows more\n", changed.rows.n - MOST_ROWS);
}

static int by_change(const void *p, const void *q)
{
    const row *x = p, *y = q;
    double dx = fabs(x->ms[1] - x->ms[0]), dy = fabs(y->ms[1] - y->ms[0]);
    if (dx != dy) return dx > dy ? -1 : 1;
    return hb_str_cmp(x->name, y->name);
}

static hb_str sent(hb_arena *a, const row *r, int side)
{
    if (r->count[side] == 0) return HB_STR("none");
    return hb_fmt(a, "%d, %.*s, %.*s", r->count[side], HB_ARG(emit_bytes(a, r->bytes[side])),
                  HB_ARG(say_sec(a, r->ms[side] / 1e3)));
}

// Collectives by kind and form: calls a step, bytes, time.
static void say_sent(two *t)
{
    table kinds = {.at = hb_map_new(t->a)};
    for (int side = 0; side < 2; side++) {
        const hb_tree *list = cli_list_at(t->plan[side], "instructions");
        for (int i = 0; i < list->n; i++) {
            hb_str form = cli_text_at(list->v[i], "form"), call = plan_call(list->v[i]);
            if (!form.n || call.n < 5) continue;
            hb_str name = hb_fmt(t->a, "%.*s, %.*s", (int)(call.n - 5), call.p + 5, HB_ARG(form));
            row *r = row_of(t->a, &kinds, name);
            const hb_tree *ms = cli_list_at(list->v[i], "ms");
            r->name = name;
            r->count[side]++;
            r->bytes[side] += fmax(cli_number_at(list->v[i], "bytes"), 0);
            if (ms->n > 0) r->ms[side] += ms->v[0]->f;
        }
    }
    qsort(kinds.rows.p, (size_t)kinds.rows.n, sizeof *kinds.rows.p, by_change);
    bool any = false;
    for (int i = 0; i < kinds.rows.n && i < MOST_ROWS; i++) {
        hb_str side[2];
        for (int k = 0; k < 2; k++)
            side[k] = sent(t->a, &kinds.rows.p[i], k);
        if (hb_str_eq(side[0], side[1])) continue;
        if (!any) printf("\nSent otherwise (calls, bytes a device, time)\n");
        any = true;
        printf("  %-28.*s %.*s -> %.*s\n", HB_ARG(kinds.rows.p[i].name), HB_ARG(side[0]),
               HB_ARG(side[1]));
    }
    t->differences += any;
}

// --- program.c ---

static int lines_of(hb_arena *a, const char *dir)
{
    const char *why;
    hb_str text;
    int n = 0;
    if (!hb_read_file(a, hb_fmt(a, "%s/program.c", dir).p, &text, &why)) return 0;
    for (size_t i = 0; i < text.n; i++)
        n += text.p[i] == '\n';
    return n;
}

static void print_program(hb_arena *a, const char *const *dir)
{
    char program[] = "diff", flag[] = "-u";
    hb_str file[2];
    for (int i = 0; i < 2; i++)
        file[i] = hb_fmt(a, "%s/program.c", dir[i]);
    char *argv[] = {program, flag, hb_copy(a, file[0].p, file[0].n + 1),
                    hb_copy(a, file[1].p, file[1].n + 1), NULL};
    pid_t pid;
    int status;
    putchar('\n');
    fflush(stdout);
    if (posix_spawnp(&pid, program, NULL, NULL, argv, environ) == 0)
        waitpid(pid, &status, 0);
    else
        fputs("hapc: warning: there is no program `diff`\n", stderr);
}

static int diff(hb_arena *a, const char *const *dir, bool program)
{
    two t = {.a = a};
    int lines[2];
    for (int i = 0; i < 2; i++) {
        t.plan[i] = cli_plan(a, dir[i]);
        if (!t.plan[i]) return CLI_INPUT;
        lines[i] = lines_of(a, dir[i]);
    }
    printf("%s -> %s\n\n", dir[0], dir[1]);
    say_step(&t);
    say_choices(&t);
    say(&t, "Program", hb_fmt(a, "%d lines", lines[0]), hb_fmt(a, "%d lines", lines[1]));
    say_classes(&t);
    say_stored(&t);
    say_sent(&t);
    if (t.differences == 0) printf("The plans decide the same.\n");
    if (program) print_program(a, dir);
    return CLI_OK;
}

int cmd_diff(int argc, char **argv)
{
    bool program = false;
    const cli_option options[] = {{"--program", NULL, &program}};
    const char *dir[2];
    cli_line line = {.least = 2, .most = 2, .rest = dir};
    int code = cli_parse("diff", argc, argv, options, 1, &line);
    if (code != CLI_GO) return code;
    hb_arena *a = hb_arena_new();
    code = diff(a, dir, program);
    hb_arena_free(a);
    return code;
}
