#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/backend.h"
#include "core/checkpoint.h"
#include "core/comm.h"
#include "core/fail.h"
#include "core/heartbeat.h"
#include "core/safetensors.h"
#include "core/slice.h"

enum { N_SCALARS = 3 };

// The file being written; on rank 0 alone it has a map.
typedef struct saving {
    const char *path;
    char temp[1100];
    const hap_var **var;
    int n;
    bool scalars;
    char *map;
    int64_t bytes, data; // all; where the tensors' bytes begin
    int fd;
} saving;

static int64_t global_bytes(const hap_tensor *t)
{
    int64_t bytes = hap_dtype_bytes(t->type);
    for (int i = 0; i < t->rank; i++)
        bytes *= hap_dim_size(&t->dim[i]);
    return bytes;
}

static _Noreturn void give_up(hap_rank *r, saving *s)
{
    int error = errno;
    unlink(s->temp);
    hap_fail(r, HAP_EXIT_FAILED, "%s: %s", s->path, strerror(error));
}

// A growing text; the header is short beside the data.
typedef struct text {
    char *p;
    size_t n, cap;
} text;

static void put(hap_rank *r, text *t, const char *s, size_t n)
{
    if (t->n + n + 1 > t->cap) {
        t->cap = 2 * (t->cap + n + 64);
        char *p = realloc(t->p, t->cap);
        HAP_CK(r, p, "out of memory");
        t->p = p;
    }
    memcpy(t->p + t->n, s, n);
    t->n += n;
    t->p[t->n] = 0;
}

static void put_name(hap_rank *r, text *t, const char *name)
{
    put(r, t, "\"", 1);
    for (; *name; name++) {
        char code[8];
        unsigned char c = (unsigned char)*name;
        if (c == '"' || c == '\\' || c < 0x20)
            put(r, t, code, (size_t)snprintf(code, sizeof code, "\\u%04x", c));
        else
            put(r, t, name, 1);
    }
    put(r, t, "\"", 1);
}

static void put_entry(hap_rank *r, text *t, const char *name, const char *type, const hap_tensor *x,
                      int64_t begin, int64_t end)
{
    char buf[128];
    put(r, t, t->n ? "," : "{", 1);
    put_name(r, t, name);
    put(r, t, buf, (size_t)snprintf(buf, sizeof buf, ":{\"dtype\":\"%s\",\"shape\":[", type));
    for (int i = 0; x && i < x->rank; i++)
        put(r, t, buf,
            (size_t)snprintf(buf, sizeof buf, "%s%lld", i ? "," : "",
                             (long long)hap_dim_size(&x->dim[i])));
    put(r, t, buf,
        (size_t)snprintf(buf, sizeof buf, "],\"data_offsets\":[%lld,%lld]}", (long long)begin,
                         (long long)end));
}

// Rank 0: the header, and room for the data.
static void open_file(hap_rank *r, saving *s)
{
    static const char *const scalar[N_SCALARS] = {"hap.step", "hap.seed", "hap.cursor"};
    text t = {NULL, 0, 0};
    int64_t at = 0;
    for (int i = 0; s->scalars && i < N_SCALARS; i++, at += 8)
        put_entry(r, &t, scalar[i], "I64", NULL, at, at + 8);
    for (int i = 0; i < s->n; i++) {
        int64_t bytes = global_bytes(s->var[i]->t);
        put_entry(r, &t, s->var[i]->name, hap_st_type_name(s->var[i]->t->type), s->var[i]->t, at,
                  at + bytes);
        at += bytes;
    }
    put(r, &t, t.n ? "}" : "{}", t.n ? 1 : 2);
    while (t.n % 8) // the data begins at a multiple of 8
        put(r, &t, " ", 1);
    s->data = 8 + (int64_t)t.n;
    s->bytes = s->data + at;

    snprintf(s->temp, sizeof s->temp, "%.1000s.tmp%ld", s->path, (long)getpid());
    s->fd = open(s->temp, O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (s->fd < 0) give_up(r, s);
    errno = posix_fallocate(s->fd, 0, s->bytes); // a full disk says so here, not in a page fault
    if (errno) give_up(r, s);
    s->map = mmap(NULL, (size_t)s->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
    if (s->map == MAP_FAILED) give_up(r, s);
    for (int i = 0; i < 8; i++)
        s->map[i] = (char)((uint64_t)t.n >> (8 * i) & 0xFF);
    memcpy(s->map + 8, t.p, t.n);
    free(t.p);
    if (s->scalars) {
        int64_t value[N_SCALARS] = {r->now.step, (int64_t)r->now.seed, r->cursor};
        memcpy(s->map + s->data, value, sizeof value);
    }
}

// Rank 0 puts every owner's part in its place, one part at a time.
static void gather(hap_rank *r, saving *s)
{
    int64_t at = s->data + (s->scalars ? 8 * N_SCALARS : 0), room = 0;
    char *part = NULL;
    for (int i = 0; i < s->n; i++) {
        hap_tensor *t = s->var[i]->t;
        int64_t item = hap_dtype_bytes(t->type);
        hap_beat(r, "save");
        for (int q = 0; q < r->n_ranks; q++) {
            hap_range range[HAP_MAX_RANK];
            int64_t bytes = hap_slice_of(r, t, q, range) * item;
            if (!hap_slice_owner(r, t, q) || bytes == 0 || (r->id != 0 && r->id != q)) continue;
            void *own = r->id == q ? hap_backend_open(r, t, false) : NULL;
            if (r->id != 0) {
                hap_comm_send(r, 0, own, bytes);
            } else if (q == 0) {
                hap_slice_write(r, t, q, own, s->map + at);
            } else {
                if (bytes > room) {
                    free(part);
                    part = hap_alloc(r, (size_t)bytes);
                    room = bytes;
                }
                hap_comm_recv(r, q, part, bytes);
                hap_slice_write(r, t, q, part, s->map + at);
            }
            if (own) hap_backend_close(r, t, own, false);
        }
        at += global_bytes(t);
    }
    free(part);
}

static void save(hap_rank *r, const char *path, bool grads)
{
    saving s = {.path = path, .scalars = !grads, .fd = -1};
    hap_beat(r, "save");
    s.var = hap_alloc(r, (size_t)(r->n_vars + 1) * sizeof *s.var);
    for (int i = 0; i < r->n_vars; i++) {
        hap_var_kind k = r->var[i].kind;
        bool wanted = grads ? k == HAP_VAR_GRAD
                            : k == HAP_VAR_PARAM || k == HAP_VAR_STATE || k == HAP_VAR_BUFFER;
        if (wanted) s.var[s.n++] = &r->var[i];
    }
    hap_backend_sync(r);
    if (r->id == 0) open_file(r, &s);
    gather(r, &s);
    if (r->id == 0) {
        munmap(s.map, (size_t)s.bytes);
        if (fsync(s.fd) != 0 || close(s.fd) != 0 || rename(s.temp, s.path) != 0) give_up(r, &s);
    }
    free(s.var);
    r->doing = NULL;
}

void hap_checkpoint_save(hap_rank *r, const char *path)
{
    save(r, path, false);
}

void hap_checkpoint_save_grads(hap_rank *r, const char *path)
{
    save(r, path, true);
}

void hap_checkpoint_check(const hap_rank *r, char *why, int n)
{
    const char *files[] = {r->opt.save, r->opt.save_grads, r->opt.trace};
    if (r->id == 0) {
        for (int i = 0; i < 3 && !why[0]; i++) {
            char folder[1024];
            if (!files[i]) continue;
            const char *slash = strrchr(files[i], '/');
            int len = slash == files[i] ? 1 : slash ? (int)(slash - files[i]) : 1;
            snprintf(folder, sizeof folder, "%.*s", len, slash ? files[i] : ".");
            if (access(folder, W_OK) != 0)
                snprintf(why, (size_t)n, "%s: %s", files[i], strerror(errno));
        }
    }
    bool grads = false;
    for (int i = 0; i < r->n_vars; i++)
        grads |= r->var[i].kind == HAP_VAR_GRAD;
    if (r->opt.save_grads && !grads && !why[0])
        snprintf(why, (size_t)n,
                 "--save-grads: the program keeps no gradients (hapc --keep-grads)");
}
