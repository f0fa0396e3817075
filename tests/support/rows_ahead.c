// Rows of inputs that come ahead of their step (hap_backend_rows), on the CPU backend: a program
// linked with -Wl,--wrap for the three functions takes them as a device does. What is sent lies in
// memory of its own until it is taken; where the host wrote it, and what has been taken, is rubbish
// at once. Says at the end how many rows were sent, and how many of them nobody took.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/backend.h"
#include "core/fail.h"

void *__wrap_hap_backend_rows(hap_rank *r, const hap_tensor *t);
void __wrap_hap_backend_rows_send(hap_rank *r, const hap_tensor *t);
void __wrap_hap_backend_rows_take(hap_rank *r, hap_tensor *t);

enum { RUBBISH = 0x7B };
static struct {
    const hap_tensor *t;
    char *host, *there;
    bool sent;
} of[HAP_MAX_INPUTS];
static int n, n_sent, n_left, rank;

static void say(void)
{
    for (int i = 0; i < n; i++) {
        n_left += of[i].sent;
        free(of[i].host), free(of[i].there);
    }
    fprintf(stderr, "rank %d inputs sent %d times, %d of them left\n", rank, n_sent, n_left);
}

static int find(hap_rank *r, const hap_tensor *t)
{
    int i = 0;
    while (i < n && of[i].t != t)
        i++;
    if (i < n) return i;
    if (n == 0) atexit(say);
    rank = r->id;
    n++;
    of[i].t = t;
    of[i].host = hap_alloc(r, (size_t)t->bytes + 1);
    of[i].there = hap_alloc(r, (size_t)t->bytes + 1);
    return i;
}

void *__wrap_hap_backend_rows(hap_rank *r, const hap_tensor *t)
{
    int i = find(r, t);
    memset(of[i].host, RUBBISH, (size_t)t->bytes);
    return of[i].host;
}

void __wrap_hap_backend_rows_send(hap_rank *r, const hap_tensor *t)
{
    int i = find(r, t);
    n_left += of[i].sent;
    n_sent++;
    of[i].sent = true;
    memcpy(of[i].there, of[i].host, (size_t)t->bytes);
    memset(of[i].host, RUBBISH, (size_t)t->bytes);
}

void __wrap_hap_backend_rows_take(hap_rank *r, hap_tensor *t)
{
    int i = find(r, t);
    HAP_CK(r, of[i].sent, "rows of an input are taken that were not sent");
    of[i].sent = false;
    memcpy(t->data, of[i].there, (size_t)t->bytes);
    memset(of[i].there, RUBBISH, (size_t)t->bytes);
}
