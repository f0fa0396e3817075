// Names of repeated blocks: built once at the start, kept for the life of the program.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hap/runtime.h"

typedef struct kept_name {
    struct kept_name *next; // keeps every name reachable
    char text[];
} kept_name;

static kept_name *kept;

const char *hap_name(const char *before, int i, const char *after)
{
    size_t n = strlen(before) + strlen(after) + 16;
    kept_name *k = malloc(sizeof *k + n);
    if (!k) {
        fputs("hap: out of memory\n", stderr);
        abort();
    }
    snprintf(k->text, n, "%s%d%s", before, i, after);
    k->next = kept;
    kept = k;
    return k->text;
}
