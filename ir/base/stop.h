// Whether somebody who works for long is to end with what there is: a deadline, Ctrl-C.
//
//     if (hb_stopped(p->stop)) break;

#ifndef HAP_IR_BASE_STOP_H
#define HAP_IR_BASE_STOP_H

#include <stdbool.h>
#include <stddef.h>

typedef struct hb_stop {
    bool (*now)(const void *ctx); // NULL: never
    const void *ctx;
} hb_stop;

static inline bool hb_stopped(const hb_stop *s) // NULL: never
{
    return s && s->now && s->now(s->ctx);
}

#endif
