// What hosts have: cards, memory and links, as a cluster file on stdout.

#ifndef HAP_CLI_SCAN_H
#define HAP_CLI_SCAN_H

#include "cli/cli.h"

// Asks each host by ssh (none: this machine). An exit code.
int scan_hosts(hb_arena *a, const cl_card *card, int n_cards, const char **host, int n_hosts);

#endif
