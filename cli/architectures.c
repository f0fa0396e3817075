#include "cli/architectures.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cli/build.h"
#include "cli/cli.h"

hb_str cli_architectures(hb_arena *a)
{
    static const char key[] = "\narchitectures=";
    hb_str text;
    const char *why;
    hb_str path = hb_fmt(a, "%s/%s/haprt-cuda.pc", cli_self_dir(a), HAP_REL_PKGCONFIG);
    if (!hb_read_file(a, path.p, &text, &why)) return HB_STR("");
    const char *at = strstr(text.p, key);
    if (!at) return HB_STR("");
    at += sizeof key - 1;
    return hb_str_n(a, at, strcspn(at, "\n"));
}

// Does one entry run there? 90a is code for sm_90 alone, 80-real for 8.0 to 8.9; of 80 and
// 80-virtual the driver makes code for whatever is newer.
static bool runs_on(const char *entry, int arch)
{
    char *rest;
    int built = (int)strtol(entry, &rest, 10);
    if (*rest == 'a') return arch == built;
    bool family = *rest == 'f' || strcmp(rest, "-real") == 0;
    return built <= arch && (!family || built / 10 == arch / 10);
}

bool cli_has_code(hb_str built, int arch)
{
    hb_arena *a = hb_arena_new();
    int n;
    char **entry = cli_words(a, built, &n);
    bool has = n == 0 || arch == 0;
    for (int i = 0; i < n && !has; i++)
        has = !isdigit((unsigned char)entry[i][0]) || runs_on(entry[i], arch);
    hb_arena_free(a);
    return has;
}

hb_str cli_no_code(hb_arena *a, hb_str built, int arch)
{
    return hb_fmt(a,
                  "sm_%d: the CUDA runtime of this hapc was built for %.*s alone; build it with "
                  "-DCMAKE_CUDA_ARCHITECTURES=%d",
                  arch, HB_ARG(built), arch);
}
