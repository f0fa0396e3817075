#include "core/run_options.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/items.h"

typedef struct row {
    enum { GROUP, OPTION, KEY, VALUE } kind;
    const char *name, *value, *what;
    size_t at; // KEY: of its int in hap_cuda_options
} row;

static const row rows[] = {
#define HAP_OPTION_GROUP(title)             {GROUP, NULL, NULL, title, 0},
#define HAP_OPTION(name, value, what)       {OPTION, name, value, what, 0},
#define HAP_OPTION_INNER(name, value, what) {OPTION, name, value, what, 0},
#define HAP_CUDA_KEY(key, what)             {KEY, #key, NULL, what, offsetof(hap_cuda_options, key)},
#define HAP_CUDA_VALUE(key, value, what)    {VALUE, #key, #value, what, 0},
#include "hap/run_options.def"
};
enum { N_ROWS = sizeof rows / sizeof *rows };

static bool is(const row *r, const char *name, size_t len)
{
    return r->name && strlen(r->name) == len && memcmp(r->name, name, len) == 0;
}

// The first row of a kind with this name; NULL: there is none.
static const row *find(int kind, const char *name, size_t len)
{
    for (int i = 0; i < N_ROWS; i++)
        if ((int)rows[i].kind == kind && is(&rows[i], name, len)) return &rows[i];
    return NULL;
}

// What there is in place of an unknown key (of NULL), or of an unknown value of `key`.
static void list(const row *key, char *why, int n)
{
    int at = (int)strlen(why);
    const char *between = " (";
    for (int i = 0; i < N_ROWS && at < n; i++) {
        bool wanted =
            key ? rows[i].kind == VALUE && !strcmp(rows[i].name, key->name) : rows[i].kind == KEY;
        if (!wanted) continue;
        at += snprintf(why + at, (size_t)(n - at), "%s%s", between,
                       key ? rows[i].value : rows[i].name);
        between = ", ";
    }
    if (at < n) snprintf(why + at, (size_t)(n - at), ")");
}

static bool whole_number(const char *s, int64_t *x)
{
    char *end = NULL;
    errno = 0;
    long long v = strtoll(s, &end, 10);
    if (errno || end == s || *end || v < 0) return false;
    *x = v;
    return true;
}

static bool unsigned_number(const char *s, uint64_t *x)
{
    char *end = NULL;
    errno = 0;
    if (s[0] == '-') return false;
    *x = strtoull(s, &end, 0);
    return !errno && end != s && !*end;
}

static bool seconds(const char *s, double *x)
{
    char *end = NULL;
    *x = strtod(s, &end);
    return end != s && !*end && isfinite(*x) && *x >= 0;
}

// "500MB", "2GiB", "1000000".
static bool bytes(const char *s, int64_t *x)
{
    static const struct {
        const char *name;
        double bytes;
    } units[] = {{"", 1},       {"KB", 1e3},
                 {"MB", 1e6},   {"GB", 1e9},
                 {"KiB", 1024}, {"MiB", 1024.0 * 1024},
                 {"B", 1},      {"GiB", 1024.0 * 1024 * 1024}};
    char *end = NULL;
    double v = strtod(s, &end);
    if (end == s || !isfinite(v)) return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        double all = v * units[i].bytes;
        if (strcmp(end, units[i].name) != 0 || all < 1 || all > 1e15) continue;
        *x = (int64_t)all;
        return true;
    }
    return false;
}

// KEY=VALUE, of n characters.
static bool cuda_option(hap_cuda_options *o, const char *text, int len, char *why, int n)
{
    const char *eq = memchr(text, '=', (size_t)len);
    size_t key_len = eq ? (size_t)(eq - text) : (size_t)len;
    const row *key = find(KEY, text, key_len);
    if (!key) {
        snprintf(why, (size_t)n, "--cuda has no key '%.*s'", (int)key_len, text);
        list(NULL, why, n);
        return false;
    }
    size_t value_len = eq ? (size_t)len - key_len - 1 : 0;
    for (int i = 0, value = 0; eq && i < N_ROWS; i++) {
        if (rows[i].kind != VALUE || strcmp(rows[i].name, key->name) != 0) continue;
        if (strlen(rows[i].value) == value_len && !memcmp(rows[i].value, eq + 1, value_len)) {
            *(int *)(void *)((char *)o + key->at) = value;
            return true;
        }
        value++;
    }
    snprintf(why, (size_t)n, "--cuda %s has no value '%.*s'", key->name, (int)value_len,
             eq ? eq + 1 : "");
    list(key, why, n);
    return false;
}

bool hap_cuda_options_parse(hap_cuda_options *o, const char *text, char *why, int n)
{
    for (;;) {
        int len = (int)strcspn(text, ",");
        if (!cuda_option(o, text, len, why, n)) return false;
        if (!text[len]) return true;
        text += len + 1;
    }
}

static bool add_file(const char *option, int *count, hap_named_file *list, char *text, char *why,
                     int n)
{
    char *eq = strchr(text, '=');
    if (!eq || eq == text || !eq[1]) {
        snprintf(why, (size_t)n, "%s wants NAME=FILE.npy, not '%s'", option, text);
        return false;
    }
    if (*count == HAP_MAX_INPUTS) {
        snprintf(why, (size_t)n, "more than %d %s (FILE may be a pattern: 'data/*.bin')",
                 HAP_MAX_INPUTS, option);
        return false;
    }
    *eq = 0; // argv's strings are ours to change and live as long as the program
    for (int i = 0; i < *count; i++)
        if (!strcmp(list[i].name, text) && !strcmp(list[i].file, eq + 1)) {
            snprintf(why, (size_t)n, "%s %s=%s is given twice", option, text, eq + 1);
            return false;
        }
    list[(*count)++] = (hap_named_file){text, eq + 1};
    return true;
}

static bool token_type(hap_options *o, const char *name)
{
    static const struct {
        const char *name;
        hap_item type;
    } types[] = {{"u8", HAP_U8}, {"u16", HAP_ITEM_U16}, {"i32", HAP_I32}, {"i64", HAP_I64}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(name, types[i].name)) {
            o->tokens = types[i].type;
            return true;
        }
    return false;
}

// Is the option one of a whole number? *wanted: what the value should have been.
static bool number_of(hap_options *o, const char *name, const char *value, const char **wanted)
{
    const struct {
        const char *name, *what;
        int64_t *at, least;
    } numbers[] = {{"--steps", "a number of steps", &o->steps, 0},
                   {"--epochs", "a number of epochs", &o->epochs, 1},
                   {"--save-every", "a number of steps", &o->save_every, 1},
                   {"--keep", "a number of checkpoints", &o->keep, 1},
                   {"--eval-every", "a number of steps", &o->eval_every, 1},
                   {"--eval-batches", "a number of batches", &o->eval_batches, 1},
                   {"--rehearse", "a number of passes", &o->rehearse, 0},
                   {"--pace", "a number of steps", &o->pace, 1}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (strcmp(name, numbers[i].name) != 0) continue;
        if (!whole_number(value, numbers[i].at) || *numbers[i].at < numbers[i].least)
            *wanted = numbers[i].what;
        return true;
    }
    return false;
}

static void flag(hap_options *o, const char *name)
{
    const struct {
        const char *name;
        bool *at;
    } flags[] = {{"--json", &o->json},
                 {"--shuffle", &o->shuffle},
                 {"--fresh", &o->fresh},
                 {"--check-nan", &o->check_nan},
                 {"-v", &o->verbose}};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (!strcmp(name, flags[i].name)) *flags[i].at = true;
}

static bool text_of(hap_options *o, const char *name, const char *value)
{
    const struct {
        const char *name, **at;
    } texts[] = {{"--init", &o->init},
                 {"--save", &o->save},
                 {"--trace", &o->trace},
                 {"--metrics", &o->metrics},
                 {"--save-grads", &o->save_grads},
                 {"--calls", &o->calls},
                 {"--folder", &o->folder}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!strcmp(name, texts[i].name)) {
            *texts[i].at = value;
            return true;
        }
    return false;
}

static bool with_value(hap_options *o, const char *name, char *value, char *why, int n)
{
    const char *wanted = NULL;
    o->has_steps |= !strcmp(name, "--steps");
    o->has_rehearse |= !strcmp(name, "--rehearse");
    if (number_of(o, name, value, &wanted)) {
        ;
    } else if (!strcmp(name, "--shard-size")) {
        if (!bytes(value, &o->shard_size)) wanted = "bytes (500MB, 5GB)";
    } else if (!strcmp(name, "--tokens")) {
        if (!token_type(o, value)) wanted = "u8, u16, i32 or i64";
    } else if (!strcmp(name, "--predicted-seconds")) {
        if (!seconds(value, &o->predicted_seconds)) wanted = "seconds";
    } else if (!strcmp(name, "--seed")) {
        o->has_seed = true;
        if (!unsigned_number(value, &o->seed)) wanted = "a number";
    } else if (!strcmp(name, "--peak-seconds")) {
        if (!seconds(value, &o->peak_seconds)) wanted = "seconds";
    } else if (!strcmp(name, "--input")) {
        return add_file(name, &o->n_inputs, o->input, value, why, n);
    } else if (!strcmp(name, "--eval")) {
        return add_file(name, &o->n_evals, o->eval, value, why, n);
    } else if (!strcmp(name, "--cuda")) {
        return hap_cuda_options_parse(&o->cuda, value, why, n);
    } else if (!value[0]) {
        wanted = "a file or folder";
    } else {
        return text_of(o, name, value);
    }
    if (wanted) snprintf(why, (size_t)n, "%s wants %s, not '%s'", name, wanted, value);
    return !wanted;
}

uint64_t hap_calls_wanted(const hap_options *o, int stage)
{
    const char *at = o->calls;
    for (; at && stage > 0; stage--)
        at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL;
    return at ? strtoull(at, NULL, 16) : 0;
}

// The folder of argv[0], for files that the program names.
static const char *folder_of(const char *program)
{
    static char folder[1024];
    const char *slash = strrchr(program, '/');
    size_t n = slash ? (size_t)(slash - program) : 0;
    if (!slash || n >= sizeof folder) return ".";
    memcpy(folder, program, n);
    return n ? folder : "/";
}

bool hap_options_parse(hap_options *o, int argc, char **argv, char *why, int n)
{
    *o = (hap_options){.steps = 10, .shard_size = 5000000000, .tokens = HAP_ITEM_U16};
    o->folder = argc > 0 ? folder_of(argv[0]) : ".";
    // Not an option, so that it does not go along to other hosts, whose processes nobody here sees.
    const char *heartbeat = getenv("HAP_HEARTBEAT");
    o->heartbeat = heartbeat && heartbeat[0] ? heartbeat : NULL;
    for (int i = 1; i < argc; i++) {
        size_t len = strcspn(argv[i], "=");
        const row *r = find(OPTION, argv[i], len);
        if (!r) {
            snprintf(why, (size_t)n, "%s '%.*s' (hapc run --help lists them)",
                     argv[i][0] == '-' ? "unknown option" : "unexpected argument", (int)len,
                     argv[i]);
            return false;
        }
        bool joined = argv[i][len] == '=';
        if (!r->value && joined) {
            snprintf(why, (size_t)n, "%s takes no value", r->name);
            return false;
        }
        if (!r->value) {
            flag(o, r->name);
            continue;
        }
        if (!joined && i + 1 == argc) {
            snprintf(why, (size_t)n, "%s wants a value", r->name);
            return false;
        }
        char *value = joined ? argv[i] + len + 1 : argv[++i];
        if (!with_value(o, r->name, value, why, n)) return false;
    }
    if (o->save_every && !o->save) {
        snprintf(why, (size_t)n, "--save-every without --save");
        return false;
    }
    if (o->epochs && o->has_steps) {
        snprintf(why, (size_t)n, "--epochs and --steps both say when the run ends");
        return false;
    }
    if ((o->eval_every || o->eval_batches) && !o->n_evals) {
        snprintf(why, (size_t)n, "%s without --eval",
                 o->eval_every ? "--eval-every" : "--eval-batches");
        return false;
    }
    if (o->fresh && !o->init) {
        snprintf(why, (size_t)n, "--fresh without --init");
        return false;
    }
    return true;
}
