// hapc profile: later.

#include "cli/cli.h"

int cmd_profile(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return cli_error(
        CLI_USAGE, "not supported: profile (clusters are planned by the datasheet figures of their "
                   "devices until this version can measure them)");
}
