#include "cli/hosts.h"

#include "cli/build.h"
#include "cli/launch.h"

typedef struct host_question {
    hb_arena *arena;
    hb_str host;
} host_question;

static bool answers(void *ctx)
{
    const host_question *q = ctx;
    hb_str out;
    return cli_capture(q->arena, launch_probe(q->arena, q->host), NULL, HOST_SECONDS, &out) == 0;
}

int host_ask(hb_arena *a, hb_str host)
{
    host_question q = {a, host};
    return question_ask(answers, &q);
}
