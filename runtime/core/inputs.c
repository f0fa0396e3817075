#include "core/inputs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/backend.h"
#include "core/fail.h"
#include "core/npy.h"
#include "core/philox.h"
#include "core/slice.h"

typedef struct input {
    const hap_var *var;
    hap_npy file;
    int64_t per_step;   // rows
    int64_t per_sample; // rows; 0: not a batch input
} input;

struct hap_inputs {
    int n;
    input in[HAP_MAX_INPUTS];
};

static void shape_text(char *buf, int n, hap_dtype type, int rank, const int64_t *shape, bool any)
{
    int at = snprintf(buf, (size_t)n, "%s [", hap_dtype_name(type));
    for (int i = 0; i < rank && at < n; i++) {
        if (i == 0 && any)
            at += snprintf(buf + at, (size_t)(n - at), "rows");
        else
            at += snprintf(buf + at, (size_t)(n - at), "%s%lld", i ? " " : "", (long long)shape[i]);
    }
    if (at < n) snprintf(buf + at, (size_t)(n - at), "]");
}

static void check_shape(const input *in, const char *path, char *why, int n)
{
    const hap_tensor *t = in->var->t;
    int64_t want[HAP_MAX_RANK];
    bool same = t->type == in->file.type && t->rank == in->file.rank;
    for (int i = 0; i < t->rank; i++) {
        want[i] = hap_dim_size(&t->dim[i]);
        if (i > 0 && same) same = want[i] == in->file.shape[i];
    }
    if (same && (t->rank == 0 || in->file.shape[0] > 0)) return;
    char a[96], b[96];
    shape_text(a, sizeof a, t->type, t->rank, want, true);
    shape_text(b, sizeof b, in->file.type, in->file.rank, in->file.shape, false);
    snprintf(why, (size_t)n, "%s: input '%s' wants %s, the file holds %s", path, in->var->name, a,
             b);
}

static const char *file_of(const hap_rank *r, const char *name)
{
    for (int i = 0; i < r->opt.n_inputs; i++) {
        if (!strcmp(r->opt.input[i].name, name)) return r->opt.input[i].file;
    }
    return NULL;
}

static void open_one(hap_rank *r, struct hap_inputs *all, const hap_var *v, char *why, int n)
{
    if (all->n == HAP_MAX_INPUTS) {
        snprintf(why, (size_t)n, "more than %d inputs", HAP_MAX_INPUTS);
        return;
    }
    const char *path = file_of(r, v->name);
    if (!path) {
        char text[128];
        snprintf(why, (size_t)n, "no file for input '%s' (%s): --input %s=FILE.npy", v->name,
                 hap_tensor_text(r, v->t, text, sizeof text), v->name);
        return;
    }
    input *in = &all->in[all->n];
    in->var = v;
    if (!hap_npy_open(&in->file, path, why, n)) return;
    all->n++;
    check_shape(in, path, why, n);
    if (why[0] || v->t->rank == 0) return;
    in->per_step = hap_dim_size(&v->t->dim[0]);
    if (r->batch_rows && in->per_step % r->batch_rows == 0)
        in->per_sample = in->per_step / r->batch_rows;
    if (in->per_sample) r->samples = in->file.shape[0] / in->per_sample;
    if (!r->opt.shuffle || !in->per_sample) return;
    int64_t rows = in->file.shape[0];
    if (rows % in->per_sample) {
        snprintf(why, (size_t)n, "%s: %lld rows are no whole number of samples of %lld", path,
                 (long long)rows, (long long)in->per_sample);
        return;
    }
    for (int i = 0; i + 1 < all->n; i++) {
        const input *other = &all->in[i];
        if (!other->per_sample || other->file.shape[0] / other->per_sample == rows / in->per_sample)
            continue;
        snprintf(why, (size_t)n,
                 "%s: --shuffle needs as many samples in every file: %lld here, %lld in '%s'", path,
                 (long long)(rows / in->per_sample),
                 (long long)(other->file.shape[0] / other->per_sample), other->var->name);
        return;
    }
}

void hap_inputs_open(hap_rank *r)
{
    char why[512] = "";
    struct hap_inputs *all = hap_alloc(r, sizeof *all);
    r->inputs = all;
    for (int i = 0; i < r->opt.n_inputs && !why[0]; i++) {
        bool known = false;
        for (int k = 0; k < r->n_vars; k++)
            known |=
                r->var[k].kind == HAP_VAR_INPUT && !strcmp(r->var[k].name, r->opt.input[i].name);
        if (known) continue;
        int at = snprintf(why, sizeof why, "--input %s: the program has no such input; it has",
                          r->opt.input[i].name);
        for (int k = 0; k < r->n_vars && at < (int)sizeof why; k++) {
            if (r->var[k].kind == HAP_VAR_INPUT)
                at += snprintf(why + at, sizeof why - (size_t)at, " %s", r->var[k].name);
        }
    }
    for (int i = 0; i < r->n_vars && !why[0]; i++) {
        if (r->var[i].kind == HAP_VAR_INPUT) open_one(r, all, &r->var[i], why, sizeof why);
    }
    hap_agree(r, HAP_EXIT_INPUT, why);
}

// The file's row for the i-th row of this step's batch.
static int64_t row_of(const hap_rank *r, const input *in, int64_t i)
{
    int64_t rows = in->file.shape[0], k = in->per_sample;
    int64_t batch = r->batch_rows ? r->batch_rows : 1;
    int64_t a = (k ? r->cursor * k : r->cursor / batch * in->per_step) + i;
    if (!r->opt.shuffle || !k) return a % rows;
    int64_t samples = rows / k, sample = a / k;
    return hap_permute(sample % samples, samples, r->now.seed, (uint64_t)(sample / samples)) * k +
           a % k;
}

typedef struct row_copy {
    char *to;
    const char *from;
    int64_t item;
} row_copy;

static void copy_run(void *user, int64_t local, int64_t global, int64_t n)
{
    const row_copy *c = user;
    memcpy(c->to + local * c->item, c->from + global * c->item, (size_t)(n * c->item));
}

static void load_one(hap_rank *r, const input *in)
{
    hap_tensor *t = in->var->t;
    int64_t item = hap_dtype_bytes(t->type);
    char *data = hap_backend_open(r, t, true);
    const char *file = (const char *)in->file.data;
    if (t->rank == 0) {
        memcpy(data, file, (size_t)item);
    } else if (t->elements) {
        hap_range part[HAP_MAX_RANK];
        hap_slice_of(r, t, r->id, part);
        const hap_dim *d = &t->dim[0];
        int64_t block = part[0].n * d->inner, local_row = t->elements / t->local[0], global_row = 1;
        for (int i = 1; i < t->rank; i++)
            global_row *= hap_dim_size(&t->dim[i]);
        for (int64_t l = 0; l < t->local[0]; l++) {
            int64_t g = (l / block * d->n + part[0].lo) * d->inner + l % block;
            row_copy c = {data + l * local_row * item, file + row_of(r, in, g) * global_row * item,
                          item};
            hap_slice_runs(t->rank - 1, t->dim + 1, part + 1, copy_run, &c);
        }
    }
    hap_backend_close(r, t, data, true);
}

void hap_inputs_load(hap_rank *r)
{
    for (int i = 0; i < r->inputs->n; i++)
        load_one(r, &r->inputs->in[i]);
}

void hap_inputs_close(hap_rank *r)
{
    if (!r->inputs) return;
    for (int i = 0; i < r->inputs->n; i++)
        hap_npy_close(&r->inputs->in[i].file);
    free(r->inputs);
    r->inputs = NULL;
}
