#include "tests/support/fake_nccl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/comm/cuda_nccl.h"
#include "tests/support/fake_streams.h"

enum { PIECES = 3, MOST_CALLS = 64, LONG = 1 << 24 };

struct ncclComm {
    int group, me;
};

// Ranks of a test are as able as one another.
int cuda_agree(hap_rank *r, int number)
{
    (void)r;
    return number;
}

typedef struct message {
    int group, from, to;
    const char *x; // NULL: not sent yet
    char *y;       // NULL: nobody is there to receive it yet
    size_t bytes;
    int come; // pieces
    struct message *next;
} message;

// One of the two calls of a message, as enqueued.
typedef struct end {
    message key;
    message *m;
} end;

typedef struct kernel {
    end end[MOST_CALLS];
    int n;
} kernel;

static message *messages; // in the order of their first calls
static kernel *open;      // between ncclGroupStart and ncclGroupEnd
static cudaStream_t stream;

ncclComm_t fake_comm(int group, int me)
{
    ncclComm_t c = malloc(sizeof *c);
    *c = (struct ncclComm){group, me};
    return c;
}

void fake_comm_free(ncclComm_t c)
{
    free(c);
}

void fake_messages_forget(void)
{
    for (message *m = messages, *next; m; m = next) {
        next = m->next;
        free(m);
    }
    messages = NULL;
}

// The first message between the two of which the other end alone is known, or a new one.
static message *meet(const message *k)
{
    message **at = &messages;
    for (; *at; at = &(*at)->next) {
        message *m = *at;
        bool pair = m->group == k->group && m->from == k->from && m->to == k->to;
        if (!pair || (k->x ? m->x != NULL : m->y != NULL)) continue;
        if (m->bytes != k->bytes) exit(printf("NCCL: sizes of a message differ\n") > 0);
        if (k->x)
            m->x = k->x;
        else
            m->y = k->y;
        return m;
    }
    *at = malloc(sizeof **at);
    **at = *k;
    return *at;
}

static bool run(void *arg, int number)
{
    kernel *k = arg;
    int left = 0, able[MOST_CALLS], n = 0;
    for (int i = 0; i < k->n; i++) {
        end *e = &k->end[i];
        if (number == 0) e->m = meet(&e->key);
        left += e->m->come < PIECES;
        if (e->key.y && e->m->x && e->m->come < PIECES) able[n++] = i;
    }
    if (n > 0) {
        message *m = k->end[able[fake_draw((uint64_t)n)]].m;
        size_t lo = m->bytes * (size_t)m->come / PIECES, hi = m->bytes * (size_t)++m->come / PIECES;
        memcpy(m->y + lo, m->x + lo, hi - lo);
    }
    if (number == LONG) exit(printf("NCCL: a group does not end\n") > 0);
    if (left == 0) free(k);
    return left == 0;
}

ncclResult_t ncclGroupStart(void); // in nccl.h without `void`
ncclResult_t ncclGroupStart(void)
{
    open = calloc(1, sizeof *open);
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void);
ncclResult_t ncclGroupEnd(void)
{
    if (open->n)
        fake_call(stream, run, open);
    else
        free(open);
    open = NULL;
    return ncclSuccess;
}

static ncclResult_t add(cudaStream_t s, message key)
{
    if (!open || open->n == MOST_CALLS || (open->n > 0 && s != stream)) abort();
    stream = s;
    open->end[open->n++].key = key;
    return ncclSuccess;
}

static size_t bytes_of(size_t n, ncclDataType_t type)
{
    return n * (size_t)hap_dtype_bytes((hap_dtype)type);
}

ncclResult_t ncclSend(const void *x, size_t n, ncclDataType_t type, int to, ncclComm_t c,
                      cudaStream_t s)
{
    return add(s, (message){c->group, c->me, to, x, NULL, bytes_of(n, type), 0, NULL});
}

ncclResult_t ncclRecv(void *y, size_t n, ncclDataType_t type, int from, ncclComm_t c,
                      cudaStream_t s)
{
    return add(s, (message){c->group, from, c->me, NULL, y, bytes_of(n, type), 0, NULL});
}
