#include "core/shard_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/backend.h"
#include "core/comm.h"
#include "core/fail.h"
#include "core/heartbeat.h"
#include "core/json_text.h"
#include "core/slice.h"
#include "core/stage_vars.h"
#include "core/xxh64.h"

// The file being written; on rank 0 alone it has a map.
typedef struct writing {
    int fd, n;
    const hap_var *const *var;
    char *map;
    int64_t bytes, data; // all; where the tensors' bytes begin
    char *sums;          // in the map: 16 digits a piece
    int error;
} writing;

int64_t hap_global_bytes(const hap_tensor *t)
{
    int64_t bytes = hap_dtype_bytes(t->type);
    for (int i = 0; i < t->rank; i++)
        bytes *= hap_dim_size(&t->dim[i]);
    return bytes;
}

static void put_metadata(hap_text *t, const hap_saved *s, int64_t data_bytes, size_t *sums)
{
    hap_text_put(t, "{\"__metadata__\":{\"format\":\"pt\"");
    if (s)
        hap_text_put(t,
                     ",\"hap.cursor\":\"%" PRId64 "\",\"hap.end\":\"%" PRId64
                     "\",\"hap.format\":\"%d\",\"hap.graph\":\"%s\",\"hap.samples\":\"%" PRId64
                     "\",\"hap.seed\":\"%" PRIu64
                     "\",\"hap.shuffle\":\"%d\",\"hap.step\":\"%" PRId64 "\"",
                     s->cursor, s->end, HAP_CHECKPOINT_FORMAT, s->graph, s->samples, s->seed,
                     s->shuffle, s->step);
    hap_text_put(t, "," HAP_HEAD_KEY "0000000000000000\",\"hap.sums\":\"");
    *sums = t->n;
    for (int64_t at = 0; at < data_bytes; at += HAP_PIECE)
        hap_text_put(t, "0000000000000000");
    hap_text_put(t, "\"}");
}

static void put_entry(hap_text *t, const hap_var *v, int64_t begin, int64_t end)
{
    hap_text_put(t, ",");
    hap_text_name(t, v->name);
    hap_text_put(t, ":{\"dtype\":\"%s\",\"shape\":[", hap_st_type_name(v->t->type));
    for (int i = 0; i < v->t->rank; i++)
        hap_text_put(t, "%s%" PRId64, i ? "," : "", hap_dim_size(&v->t->dim[i]));
    hap_text_put(t, "],\"data_offsets\":[%" PRId64 ",%" PRId64 "]}", begin, end);
}

// Rank 0: the header, and room for the data.
static bool open_file(writing *w, const char *path, const hap_saved *saved)
{
    hap_text t = {0};
    int64_t data = 0, at = 0;
    size_t sums = 0;
    for (int i = 0; i < w->n; i++)
        data += hap_global_bytes(w->var[i]->t);
    put_metadata(&t, saved, data, &sums);
    for (int i = 0; i < w->n; i++) {
        int64_t bytes = hap_global_bytes(w->var[i]->t);
        put_entry(&t, w->var[i], at, at + bytes);
        at += bytes;
    }
    hap_text_put(&t, "}");
    while (t.n % 8 && !t.none) // the data begins at a multiple of 8
        hap_text_put(&t, " ");
    w->data = 8 + (int64_t)t.n;
    w->bytes = w->data + data;
    errno = ENOMEM;
    w->fd = t.none ? -1 : open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
    bool ok = w->fd >= 0;
    if (ok) errno = posix_fallocate(w->fd, 0, w->bytes); // a full disk says so here, not in a fault
    ok = ok && errno == 0;
    if (ok) w->map = mmap(NULL, (size_t)w->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, w->fd, 0);
    ok = ok && w->map != MAP_FAILED;
    if (ok) {
        for (int i = 0; i < 8; i++)
            w->map[i] = (char)((uint64_t)t.n >> (8 * i) & 0xFF);
        memcpy(w->map + 8, t.p, t.n);
        w->sums = w->map + 8 + sums;
    } else {
        w->error = errno;
        w->map = NULL;
    }
    free(t.p);
    return ok;
}

// Room that grows.
typedef struct room {
    char *p;
    int64_t bytes;
} room;

static char *room_for(hap_rank *r, room *x, int64_t bytes)
{
    if (bytes <= x->bytes) return x->p;
    free(x->p);
    x->p = hap_alloc(r, (size_t)bytes);
    x->bytes = bytes;
    return x->p;
}

// The first rank of a stage puts every owner's part in its place, one part at a time. whole: where,
// on that rank; NULL: nowhere, since the file cannot be written.
static void gather_one(hap_rank *r, hap_tensor *t, char *whole, room *part)
{
    int first = r->id - r->member;
    for (int q = 0; q < r->n_members; q++) {
        hap_range range[HAP_MAX_RANK];
        int64_t bytes = hap_slice_of(r, t, q, range) * hap_dtype_bytes(t->type);
        if (!hap_slice_owner(r, t, q) || bytes == 0 || (r->member != 0 && r->member != q)) continue;
        void *own = r->member == q ? hap_backend_open(r, t, false) : NULL;
        if (r->member != 0) {
            hap_comm_send(r, first, own, bytes);
        } else if (q == 0) {
            if (whole) hap_slice_write(r, t, q, own, whole);
        } else {
            hap_comm_recv(r, first + q, room_for(r, part, bytes), bytes);
            if (whole) hap_slice_write(r, t, q, part->p, whole);
        }
        if (own) hap_backend_close(r, t, own, false);
    }
}

// Rank 0 gets what other stages have from their first ranks.
static void gather(hap_rank *r, writing *w)
{
    int64_t at = w->data;
    room part = {NULL, 0}, all = {NULL, 0};
    for (int i = 0; i < w->n; i++) {
        const hap_var *v = w->var[i];
        int64_t bytes = hap_global_bytes(v->t);
        char *place = w->map ? w->map + at : NULL;
        hap_beat(r, "save");
        if (v->stage == r->stage) {
            char *whole = r->id == 0 ? place : r->member == 0 ? room_for(r, &all, bytes) : NULL;
            gather_one(r, v->t, whole, &part);
            if (r->id != 0 && r->member == 0) hap_comm_send(r, 0, whole, bytes);
        } else if (r->id == 0) {
            char *to = place ? place : room_for(r, &all, bytes);
            hap_comm_recv(r, hap_stage_leader(r, v->stage), to, bytes);
        }
        at += bytes;
    }
    free(part.p);
    free(all.p);
}

static void put_sums(writing *w)
{
    for (int64_t at = w->data, k = 0; at < w->bytes; at += HAP_PIECE, k++) {
        int64_t left = w->bytes - at;
        char sum[20];
        snprintf(sum, sizeof sum, "%016" PRIx64,
                 hap_xxh64(w->map + at, left < HAP_PIECE ? left : HAP_PIECE));
        memcpy(w->sums + 16 * k, sum, 16);
    }
    char *head = w->map + 8, sum[17];
    errno = ENOMEM;
    if (hap_head_sum(head, w->data - 8, sum))
        memcpy(strstr(head, HAP_HEAD_KEY) + strlen(HAP_HEAD_KEY), sum, 16);
    else
        w->error = errno;
}

bool hap_shard_write(hap_rank *r, const char *path, int n, const hap_var *const *var,
                     const hap_saved *saved)
{
    writing w = {.fd = -1, .n = n, .var = var};
    hap_beat(r, "save");
    if (r->id == 0) open_file(&w, path, saved);
    gather(r, &w);
    r->doing = NULL;
    if (r->id != 0) return true;
    if (w.map) {
        put_sums(&w);
        if (munmap(w.map, (size_t)w.bytes) != 0 || fsync(w.fd) != 0) w.error = errno;
    }
    if (w.fd >= 0 && close(w.fd) != 0 && !w.error) w.error = errno;
    if (w.error && w.fd >= 0) unlink(path);
    errno = w.error;
    return !w.error;
}
