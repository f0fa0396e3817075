// Do hosts answer? Asked as ranks are started: by mpirun, so by ssh or by what a cluster's
// scheduler brings.

#ifndef HAP_CLI_HOSTS_H
#define HAP_CLI_HOSTS_H

#include "cli/question.h"
#include "ir/base/arena.h"

enum { HOST_SECONDS = 10 }; // one that has not answered by then is lost

int host_ask(hb_arena *a, hb_str host); // a question (cli/question.h)

#endif
