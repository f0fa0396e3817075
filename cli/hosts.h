// Do hosts answer? Asked as ranks are started: by mpirun, so by ssh or by what a cluster's
// scheduler brings.

#ifndef HAP_CLI_HOSTS_H
#define HAP_CLI_HOSTS_H

#include "ir/base/arena.h"

enum { HOST_SECONDS = 10 }; // one that has not answered by then is lost

typedef enum { HOST_ASKED, HOST_ANSWERS, HOST_LOST } host_state;

// A question under way, in a process of its own that ends with hapc.
int host_ask(hb_arena *a, hb_str host); // what host_answer wants; -1: it could not be asked
// HOST_ASKED while nothing is known and `wait` is false. The question is over otherwise.
host_state host_answer(int question, bool wait);

#endif
