// A JSON writer: keys in the order they are written, reals with 9 digits.
//
//     js j = {&buf, true};
//     js_open(&j, '{');
//     js_text(&j, "name", HB_STR("a"));
//     js_close(&j, '}');

#ifndef HAP_EMIT_JSON_OUT_H
#define HAP_EMIT_JSON_OUT_H

#include "ir/base/arena.h"

typedef struct js {
    hb_buf *b;
    bool first; // of the object or list that is open
} js;

void js_sep(js *j); // before an entry of a list
void js_key(js *j, const char *name);
void js_open(js *j, char bracket);
void js_close(js *j, char bracket);
void js_text(js *j, const char *name, hb_str s);
void js_integer(js *j, const char *name, int64_t v);
void js_real(js *j, const char *name, double v);                       // null if it is not finite
void js_real_or_null(js *j, const char *name, double v, double scale); // null if v < 0
void js_flag(js *j, const char *name, bool v);
void js_int64s(js *j, const char *name, const int64_t *v, int n);
void js_ints(js *j, const char *name, const int *v, int n);
void js_reals(js *j, const char *name, const double *v, int n, double scale);
// Text of a page's script: nothing in it ends the script.
void js_put_in_script(hb_buf *out, hb_str json);

#endif
