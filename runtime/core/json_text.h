// Reading and writing the JSON of checkpoint files: headers of safetensors, indexes of shards.
//
//     hap_json s = {text, text, text + n, why, size, 0, false};
//     if (hap_json_expect(&s, '{')) …
//
// A function that returns false or NULL has put "byte 12: what is wrong" into why, once.

#ifndef HAP_RUNTIME_JSON_TEXT_H
#define HAP_RUNTIME_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/fail.h"

typedef struct hap_json {
    const unsigned char *start, *p, *end;
    char *why;
    int n;
    int64_t offset; // of start in the file, for messages
    bool failed;
} hap_json;

bool hap_json_bad(hap_json *s, const char *format, ...) HAP_PRINTF(2, 3); // false
bool hap_json_next_is(hap_json *s, char c); // skips blanks, takes c if it is there
bool hap_json_expect(hap_json *s, char c);
char *hap_json_string(hap_json *s); // allocated
bool hap_json_whole(hap_json *s, int64_t *x);
bool hap_json_ends(hap_json *s); // nothing but blanks is left
bool hap_json_skip(hap_json *s); // any value

// A growing text. Never fails: `none` is set where memory ran out.
typedef struct hap_text {
    char *p;
    size_t n, cap;
    bool none;
} hap_text;

void hap_text_put(hap_text *t, const char *format, ...) HAP_PRINTF(2, 3);
void hap_text_name(hap_text *t, const char *name); // as a JSON string

#endif
