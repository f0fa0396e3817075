// What plan.json holds, value by value.

#include <math.h>

#include "cli/cli.h"

int64_t cli_plan_int(const hb_tree *plan, const char *key, int64_t otherwise)
{
    const hb_tree *v = hb_get(plan, key);
    return v && v->kind == HB_INT ? v->i : otherwise;
}

hb_str cli_text_at(const hb_tree *t, const char *key)
{
    const hb_tree *v = hb_get(t, key);
    return v && v->kind == HB_TEXT ? v->s : (hb_str){"", 0};
}

double cli_number_at(const hb_tree *t, const char *key)
{
    const hb_tree *v = hb_get(t, key);
    return v && (v->kind == HB_INT || v->kind == HB_REAL) ? v->f : (double)NAN;
}

const hb_tree *cli_list_at(const hb_tree *t, const char *key)
{
    static const hb_tree empty = {.kind = HB_LIST};
    const hb_tree *v = hb_get(t, key);
    return v && v->kind == HB_LIST ? v : &empty;
}
