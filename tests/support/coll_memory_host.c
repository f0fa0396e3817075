#include "tests/support/coll_memory.h"

#include <string.h>
#include <time.h>

void coll_memory_begin(hap_rank *r)
{
    (void)r;
}

void coll_memory_end(hap_rank *r)
{
    (void)r;
}

void coll_memory_put(void *at, const void *host, int64_t bytes)
{
    memcpy(at, host, (size_t)bytes);
}

void coll_memory_get(void *host, const void *at, int64_t bytes)
{
    memcpy(host, at, (size_t)bytes);
}

void coll_memory_delay(hap_rank *r, int microseconds)
{
    (void)r;
    nanosleep(&(struct timespec){.tv_nsec = microseconds * 1000L}, NULL);
}
