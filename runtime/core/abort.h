// The end of all ranks by one of them, at any time, also before MPI has started, and who of several
// that end at once says why.

#ifndef HAP_RUNTIME_ABORT_H
#define HAP_RUNTIME_ABORT_H

#include "core/rank.h"

void hap_abort_start(void); // by all ranks together, once MPI has started
// Is this the first to ask of all the ranks of its host? Before start: yes.
bool hap_abort_first_word(void);
// Where this rank only hears that another one is gone: the time (5 s) that the launcher takes to
// name it and to end this one. A signal handler may call it.
void hap_abort_let_launcher_speak(void);
_Noreturn void hap_comm_abort(const hap_rank *r, int code);

#endif
