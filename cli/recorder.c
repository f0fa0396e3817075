#include "cli/recorder.h"

#include "cli/build.h"
#include "cli/cli.h"

int cli_recorder(hb_arena *a, const char *dir, int stage, const char *log, hb_str *output)
{
    hb_str recorder = hb_fmt(a, "%s/hap-record", cli_self_dir(a)),
           program = hb_fmt(a, "%s/program.c", dir), number = hb_fmt(a, "%d", stage),
           to = hb_fmt(a, "%s", log ? log : "");
    char *argv[8] = {hb_copy(a, recorder.p, recorder.n + 1), hb_copy(a, program.p, program.n + 1),
                     hb_copy(a, "--stage", 8), hb_copy(a, number.p, number.n + 1)};
    argv[4] = log ? hb_copy(a, "--record", 9) : hb_copy(a, "--sum", 6);
    if (log) argv[5] = hb_copy(a, to.p, to.n + 1);
    return cli_capture(a, argv, NULL, CLI_RECORD_SECONDS, output);
}
