#include "core/run_options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static bool add_input(hap_options *o, char *text, char *why, int n)
{
    char *eq = strchr(text, '=');
    if (!eq || eq == text || !eq[1]) {
        snprintf(why, (size_t)n, "--input wants NAME=FILE.npy, not '%s'", text);
        return false;
    }
    if (o->n_inputs == HAP_MAX_INPUTS) {
        snprintf(why, (size_t)n, "more than %d --input", HAP_MAX_INPUTS);
        return false;
    }
    *eq = 0; // argv's strings are ours to change and live as long as the program
    o->input[o->n_inputs].name = text;
    o->input[o->n_inputs++].file = eq + 1;
    return true;
}

static bool with_value(hap_options *o, const char *key, char *value, char *why, int n)
{
    const char *wanted = NULL;
    if (!strcmp(key, "steps")) {
        if (!whole_number(value, &o->steps)) wanted = "a number of steps";
    } else if (!strcmp(key, "save-every")) {
        if (!whole_number(value, &o->save_every) || o->save_every < 1) wanted = "a number of steps";
    } else if (!strcmp(key, "seed")) {
        o->has_seed = true;
        if (!unsigned_number(value, &o->seed)) wanted = "a number";
    } else if (!strcmp(key, "input")) {
        return add_input(o, value, why, n);
    } else if (!strcmp(key, "init")) {
        o->init = value;
    } else if (!strcmp(key, "save")) {
        o->save = value;
    } else if (!strcmp(key, "save-grads")) {
        o->save_grads = value;
    } else if (!strcmp(key, "trace")) {
        o->trace = value;
    } else {
        snprintf(why, (size_t)n, "unknown option --%s", key);
        return false;
    }
    if (wanted) snprintf(why, (size_t)n, "--%s wants %s, not '%s'", key, wanted, value);
    return !wanted;
}

// The folder of argv[0], for files that the program names; HAP_FOLDER overrides it.
static const char *folder_of(char *program)
{
    const char *env = getenv("HAP_FOLDER");
    if (env && env[0]) return env;
    static char folder[1024];
    const char *slash = strrchr(program, '/');
    size_t n = slash ? (size_t)(slash - program) : 0;
    if (!slash || n >= sizeof folder) return ".";
    memcpy(folder, program, n);
    return n ? folder : "/";
}

bool hap_options_parse(hap_options *o, int argc, char **argv, char *why, int n)
{
    *o = (hap_options){.steps = 10};
    const char *nan = getenv("HAP_NAN");
    o->check_nan = nan && nan[0] == '1';
    o->folder = argc > 0 ? folder_of(argv[0]) : ".";
    for (int i = 1; i < argc; i++) {
        char key[32];
        if (strncmp(argv[i], "--", 2) != 0) {
            snprintf(why, (size_t)n, "unexpected argument '%s'", argv[i]);
            return false;
        }
        if (!strcmp(argv[i], "--json")) {
            o->json = true;
        } else if (!strcmp(argv[i], "--shuffle")) {
            o->shuffle = true;
        } else if (!strcmp(argv[i], "--check-nan")) {
            o->check_nan = true;
        } else {
            char *eq = strchr(argv[i], '='), *value = eq             ? eq + 1
                                                      : i + 1 < argc ? argv[i + 1]
                                                                     : NULL;
            size_t len = eq ? (size_t)(eq - argv[i] - 2) : strlen(argv[i]) - 2;
            if (len >= sizeof key) len = sizeof key - 1;
            memcpy(key, argv[i] + 2, len);
            key[len] = 0;
            if (!value) {
                snprintf(why, (size_t)n, "--%s wants a value", key);
                return false;
            }
            if (!with_value(o, key, value, why, n)) return false;
            i += !eq;
        }
    }
    if (o->save_every && !o->save) {
        snprintf(why, (size_t)n, "--save-every without --save");
        return false;
    }
    return true;
}
