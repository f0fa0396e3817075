// Memory of a segment: fresh zero pages, touched only where tensors lie.

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/backend.h"
#include "core/comm.h"
#include "core/fail.h"
#include "core/port_host.h"
#include "cpu/segments.h"

char *hap_backend_segment(hap_rank *r, hap_segment seg, int64_t bytes)
{
    (void)seg;
    size_t n = bytes ? (size_t)bytes : 1; // never NULL, so that empty tensors have an address
    void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    HAP_CK(r, p != MAP_FAILED, "no memory for a segment of %lld bytes", (long long)bytes);
    return p;
}

void hap_backend_clear(hap_rank *r)
{
    for (int s = 0; s < 2; s++)
        memset(r->seg[s], 0, (size_t)r->seg_bytes[s]);
}

void cpu_segments_free(hap_rank *r)
{
    for (int s = 0; s < 2; s++) {
        if (r->seg[s]) munmap(r->seg[s], (size_t)(r->seg_bytes[s] ? r->seg_bytes[s] : 1));
        r->seg[s] = NULL;
    }
}

void *hap_backend_open(hap_rank *r, hap_tensor *t, bool write)
{
    (void)r;
    (void)write;
    return t->data;
}

void hap_backend_close(hap_rank *r, hap_tensor *t, void *host, bool write)
{
    (void)r;
    (void)t;
    (void)host;
    (void)write;
}

// Rows are read where they are used.
void *hap_backend_rows(hap_rank *r, const hap_tensor *t)
{
    (void)r;
    (void)t;
    return NULL;
}

void hap_backend_rows_send(hap_rank *r, const hap_tensor *t)
{
    (void)r;
    (void)t;
}

void hap_backend_rows_take(hap_rank *r, hap_tensor *t)
{
    (void)r;
    (void)t;
}

// None is needed here.
int hap_backend_rehearsals(hap_rank *r)
{
    return r->opt.has_rehearse ? (int)r->opt.rehearse : 0;
}

void hap_backend_begin(hap_rank *r)
{
    if (r->loaded) hap_port_host_step(r);
}

void hap_backend_sync(hap_rank *r)
{
    (void)r;
}
