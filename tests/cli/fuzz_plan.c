// Any bytes as plan.json: it is taken or refused with a message; with the options that it names the
// graph is built or not, and its pins are read.

#include <stdlib.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "tests/support/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static char folder[64];
static FILE *sink; // for messages; libFuzzer and sanitizers write their own to stderr's descriptor

static void remove_folder(void)
{
    char path[128];
    snprintf(path, sizeof path, "%s/plan.json", folder);
    unlink(path);
    rmdir(folder);
}

static void open_folder(void)
{
    strcpy(folder, "/tmp/hap_fuzz.XXXXXX");
    sink = fopen("/dev/null", "w");
    if (!mkdtemp(folder) || !sink) abort();
    atexit(remove_folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char path[128];
    if (!folder[0]) open_folder();
    snprintf(path, sizeof path, "%s/plan.json", folder);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, n, f) != n || fclose(f) != 0) abort();
    FILE *before = stderr;
    stderr = sink;
    hb_arena *a = hb_arena_new();
    ir_options o;
    cli_inputs in;
    const syn_pins *pins;
    const hb_tree *plan = cli_plan(a, folder);
    if (plan && cli_plan_options(a, plan, &o) &&
        cli_load(a, "tests/seeds/graph/mlp.json", NULL, &o, &in))
        cli_plan_pins(a, &in, plan, &pins);
    hb_arena_free(a);
    stderr = before;
    return 0;
}
