#include "cuda/cuda_push_options.h"

#include <stdlib.h>
#include <string.h>

// Which of the names, that end with NULL, stands at s up to the next comma; -1: none.
static int name_at(const char *s, const char *const *names)
{
    size_t n = strcspn(s, ",");
    for (int i = 0; names[i]; i++)
        if (strlen(names[i]) == n && strncmp(s, names[i], n) == 0) return i;
    return -1;
}

static bool number_at(const char *s, int64_t least, int64_t most, int64_t *x)
{
    char *end;
    *x = strtoll(s, &end, 10);
    return end != s && (*end == ',' || *end == '\0') && *x >= least && *x <= most;
}

// One word.
static bool take(const char *s, cuda_push_options *o)
{
    static const char *const flags[] = {"each", "side", "copy", "late", "end", NULL};
    static const char *const credits[] = {"each", "once", "side", "none", NULL};
    static const char *const give[] = {"side", "compute", NULL};
    static const char *const awaits[] = {"each", "once", NULL};
    static const char *const add[] = {"plain", "wide", NULL};
    const char *value = s + strcspn(s, "=,");
    size_t n = (size_t)(value - s);
    int64_t x = -1;
    if (*value != '=') return false;
    value++;
#define IS(word) (n == sizeof word - 1 && strncmp(s, word, n) == 0)
    if (IS("flags")) {
        o->flags = (push_flags)(x = name_at(value, flags));
    } else if (IS("credits")) {
        o->credits = (push_credits)(x = name_at(value, credits));
    } else if (IS("give")) {
        o->give_compute = (x = name_at(value, give)) == 1;
    } else if (IS("awaits")) {
        o->awaits_once = (x = name_at(value, awaits)) == 1;
    } else if (IS("add")) {
        o->add_wide = (x = name_at(value, add)) == 1;
    } else if (IS("pieces")) {
        if (!number_at(value, 1, PUSH_MOST_PIECES, &x)) return false;
        o->pieces = (int)x;
    } else if (IS("cuts")) {
        if (!number_at(value, 1, PUSH_MOST_PIECES, &x)) return false;
        o->cuts = (int)x;
    } else if (IS("least")) {
        if (!number_at(value, 1, INT64_MAX / 16, &x)) return false;
        o->least = x;
    } else if (IS("kernel")) {
        if (!number_at(value, 0, INT64_MAX / 16, &x)) return false;
        o->kernel = x;
    }
#undef IS
    return x >= 0;
}

const char *cuda_push_options_of(const char *text, cuda_push_options *o)
{
    *o = (cuda_push_options){.pieces = 1, .cuts = 1, .least = 1 << 20};
    for (const char *s = text ? text : ""; *s;) {
        if (!take(s, o)) return s;
        s += strcspn(s, ",");
        s += *s == ',';
    }
    return NULL;
}
