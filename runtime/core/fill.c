#include "core/fill.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "core/float16.h"
#include "core/philox.h"
#include "core/slice.h"

typedef struct filling {
    hap_dtype type;
    hap_fill fill;
    uint64_t key;
    int64_t last; // size of the last dim
    void *data;
} filling;

static void put(const filling *f, int64_t i, double x)
{
    switch (f->type) {
    case HAP_F32:
        ((float *)f->data)[i] = (float)x;
        break;
    case HAP_BF16:
        ((uint16_t *)f->data)[i] = hap_f32_to_bf16((float)x);
        break;
    case HAP_F16:
        ((uint16_t *)f->data)[i] = hap_f32_to_f16((float)x);
        break;
    case HAP_I64:
        ((int64_t *)f->data)[i] = (int64_t)x;
        break;
    case HAP_I32:
        ((int32_t *)f->data)[i] = (int32_t)x;
        break;
    case HAP_BOOL:
        ((uint8_t *)f->data)[i] = (uint8_t)(x < 0 || x > 0);
        break;
    case HAP_U8:
        ((uint8_t *)f->data)[i] = (uint8_t)x;
        break;
    }
}

static void fill_run(void *user, int64_t local, int64_t global, int64_t n)
{
    const filling *f = user;
    double lane[4] = {0};
    uint64_t have = UINT64_MAX; // block in lane[]
    for (int64_t i = 0; i < n; i++) {
        uint64_t g = (uint64_t)(global + i);
        double x = f->fill.a;
        if (f->fill.kind == 1 || f->fill.kind == 2) {
            if (g / 4 != have) {
                have = g / 4;
                if (f->fill.kind == 1)
                    hap_philox_normal4(have, f->key, lane);
                else
                    hap_philox_uniform4(have, f->key, lane);
            }
            double width = f->fill.kind == 1 ? f->fill.b : f->fill.b - f->fill.a;
            x = f->fill.a + width * lane[g % 4];
        } else if (f->fill.kind == 3) {
            x = f->fill.a + f->fill.b * (double)(g % (uint64_t)f->last);
        }
        put(f, local + i, x);
    }
}

// One of n threads' share of every run.
typedef struct share {
    const filling *f;
    const hap_tensor *t;
    const hap_range *part;
    int i, n;
    pthread_t thread;
} share;

static void fill_share(void *user, int64_t local, int64_t global, int64_t n)
{
    const share *s = user;
    int64_t lo = n * s->i / s->n, hi = n * (s->i + 1) / s->n;
    fill_run((void *)(uintptr_t)s->f, local + lo, global + lo, hi - lo);
}

static void *fill_thread(void *user)
{
    const share *s = user;
    hap_slice_runs(s->t->rank, s->t->dim, s->part, fill_share, user);
    return NULL;
}

const char *hap_fill_tensor(const hap_rank *r, const hap_tensor *t, const char *name, hap_fill fill,
                            uint64_t seed, void *data)
{
    if (fill.kind < 0 || fill.kind > 3) return "no such fill";
    filling f = {t->type, fill, hap_tensor_key(name, seed), 1, data};
    if (t->rank) f.last = hap_dim_size(&t->dim[t->rank - 1]);
    hap_range part[HAP_MAX_RANK];
    hap_slice_of(r, t, r->member, part);
    // Normal numbers take some 50 ns each: a rank's share of the processors, where it pays.
    enum { MOST_THREADS = 16, ENOUGH = 1 << 20 };
    share s[MOST_THREADS];
    long n = sysconf(_SC_NPROCESSORS_ONLN) / (r->n_ranks > 0 ? r->n_ranks : 1);
    n = t->elements < ENOUGH || n < 1 ? 1 : n > MOST_THREADS ? MOST_THREADS : n;
    for (int i = 0; i < n; i++)
        s[i] = (share){.f = &f, .t = t, .part = part, .i = i, .n = (int)n};
    int started = 1;
    while (started < n && !pthread_create(&s[started].thread, NULL, fill_thread, &s[started]))
        started++;
    fill_thread(&s[0]);
    for (int i = 1; i < n; i++)
        if (i < started)
            pthread_join(s[i].thread, NULL);
        else
            fill_thread(&s[i]);
    return NULL;
}

const char *hap_fill_like(const hap_rank *r, const hap_tensor *t, const char *name, hap_fill fill,
                          uint64_t seed, void *data)
{
    enum { PERIOD = 16381 }; // a prime: rows and tiles of a matrix differ
    if (fill.kind != 1 && fill.kind != 2) return hap_fill_tensor(r, t, name, fill, seed, data);
    filling f = {t->type, fill, hap_tensor_key(name, seed), 1, data};
    int64_t done = t->elements < PERIOD ? t->elements : PERIOD, item = hap_dtype_bytes(t->type);
    fill_run(&f, 0, 0, done);
    for (int64_t n; done < t->elements; done += n) {
        n = t->elements - done < done ? t->elements - done : done;
        memcpy((char *)data + done * item, data, (size_t)(n * item));
    }
    return NULL;
}
