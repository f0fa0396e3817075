// A question that takes long: a process of its own works out the answer, yes or no.
//
//     int q = question_ask(plan_is_there, &what);
//     question_state s = question_answer(q, false); // QUESTION_OPEN: not yet

#ifndef HAP_CLI_QUESTION_H
#define HAP_CLI_QUESTION_H

#include <stdbool.h>

typedef enum { QUESTION_OPEN, QUESTION_YES, QUESTION_NO } question_state;

// Asks; -1: the process could not be started, which question_answer takes for a no. The process is
// a group of its own and ends with the one that asks. What it changes in memory nobody sees.
int question_ask(bool (*yes)(void *ctx), void *ctx);
// wait: until there is an answer. Once one was given the question is closed.
question_state question_answer(int question, bool wait);

#endif
