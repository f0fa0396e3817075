// HAP_TEST_OPTIONS="-v --cuda graph=list,peers=off": options of emitted programs
// (hap/run_options.def) for tests that start the runtime themselves.

#ifndef HAP_TESTS_SUPPORT_TEST_OPTIONS_H
#define HAP_TESTS_SUPPORT_TEST_OPTIONS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/run_options.h"

static inline void test_options(hap_options *o)
{
    static char text[512], name[] = "test";
    char *word[32] = {name}, why[256] = "";
    const char *given = getenv("HAP_TEST_OPTIONS");
    int n = 1;
    snprintf(text, sizeof text, "%s", given ? given : "");
    for (char *w = strtok(text, " "); w && n < 32; w = strtok(NULL, " "))
        word[n++] = w;
    if (hap_options_parse(o, n, word, why, sizeof why)) return;
    fprintf(stderr, "HAP_TEST_OPTIONS: %s\n", why);
    exit(2);
}

#endif
