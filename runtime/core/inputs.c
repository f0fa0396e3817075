#include "core/inputs.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/backend.h"
#include "core/comm.h"
#include "core/fail.h"
#include "core/philox.h"
#include "core/rows.h"
#include "core/slice.h"

typedef struct input {
    const hap_var *var;
    hap_rows rows;
    int64_t per_step;   // rows
    int64_t per_sample; // rows; 0: not a batch input
    bool sent;          // those at hap_inputs.ahead
} input;

typedef struct data {
    const char *option;
    int n;
    input in[HAP_MAX_INPUTS];
    int64_t samples; // 0: no batch input
} data;

struct hap_inputs {
    data train, eval;
    int64_t ahead; // r->cursor of the step whose rows have been sent; -1: there are none
};

static void unknown_input(const hap_rank *r, const char *option, const char *name, char *why, int n)
{
    if (r->n_stages > 1) {
        snprintf(why, (size_t)n, "%s %s: no stage of the program has such an input", option, name);
        return;
    }
    int at = snprintf(why, (size_t)n, "%s %s: the program has no such input; it has", option, name);
    for (int k = 0; k < r->n_vars && at < n; k++)
        if (r->var[k].kind == HAP_VAR_INPUT)
            at += snprintf(why + at, (size_t)(n - at), " %s", r->var[k].name);
}

static bool has_file(const hap_var *v, int n_files, const hap_named_file *file)
{
    for (int i = 0; i < n_files; i++)
        if (!strcmp(file[i].name, v->name)) return true;
    return false;
}

// All inputs that have none, in one sentence.
static void no_files(const hap_rank *r, const data *d, int n_files, const hap_named_file *file,
                     char *why, int n)
{
    char text[128];
    int missing = 0, at = 0;
    for (int i = 0; i < r->n_vars; i++)
        missing += r->var[i].kind == HAP_VAR_INPUT && !has_file(&r->var[i], n_files, file);
    if (missing > 1) at = snprintf(why, (size_t)n, "no files for %d inputs:", missing);
    for (int i = 0; i < r->n_vars && at < n; i++) {
        const hap_var *v = &r->var[i];
        if (v->kind != HAP_VAR_INPUT || has_file(v, n_files, file)) continue;
        hap_tensor_text(r, v->t, text, sizeof text);
        if (missing == 1)
            snprintf(why, (size_t)n, "no file for input '%s' (%s): %s %s=FILE.npy", v->name, text,
                     d->option, v->name);
        else
            at += snprintf(why + at, (size_t)(n - at), " %s %s=FILE.npy (%s)", d->option, v->name,
                           text);
    }
}

static void open_one(hap_rank *r, data *d, const hap_var *v, int n_files,
                     const hap_named_file *file, char *why, int n)
{
    if (d->n == HAP_MAX_INPUTS) {
        snprintf(why, (size_t)n, "more than %d inputs", HAP_MAX_INPUTS);
        return;
    }
    input *in = &d->in[d->n++];
    in->var = v;
    for (int i = 0; i < n_files && !why[0]; i++)
        if (!strcmp(file[i].name, v->name))
            hap_rows_add(&in->rows, v->t, v->name, file[i].file, r->opt.tokens, why, n);
}

// Rows and samples of an input, once all files are open.
static void count(hap_rank *r, data *d, input *in, int64_t shift, char *why, int n)
{
    hap_rows_count(&in->rows, shift);
    const hap_tensor *t = in->var->t;
    const char *path = in->rows.file[0].path;
    if (t->rank == 0) return;
    if (in->rows.rows == 0) {
        snprintf(why, (size_t)n, "%s: input '%s' has no row: %lld tokens are less than one of %lld",
                 path, in->var->name, (long long)in->rows.file[0].npy.elements,
                 (long long)(in->rows.elements + shift));
        return;
    }
    in->per_step = hap_dim_size(&t->dim[0]);
    if (!r->batch_rows || in->per_step % r->batch_rows) return;
    in->per_sample = in->per_step / r->batch_rows;
    int64_t rows = in->rows.rows, samples = rows / in->per_sample;
    if (rows % in->per_sample) {
        snprintf(why, (size_t)n, "%s: %lld rows are no whole number of samples of %lld", path,
                 (long long)rows, (long long)in->per_sample);
    } else if (d->samples && d->samples != samples) {
        const input *other = d->in;
        while (!other->per_sample)
            other++;
        snprintf(why, (size_t)n, "%s: input '%s' has %lld samples, '%s' has %lld", path,
                 in->var->name, (long long)samples, other->var->name, (long long)d->samples);
    }
    d->samples = samples;
}

static void open_data(hap_rank *r, data *d, int n_files, const hap_named_file *file, char *why,
                      int n)
{
    int64_t shift = 0;
    for (int i = 0; i < n_files && !why[0]; i++) {
        bool known = false;
        for (int k = 0; k < r->n_vars; k++)
            known |= r->var[k].kind == HAP_VAR_INPUT && !strcmp(r->var[k].name, file[i].name);
        if (r->n_stages > 1) known = hap_comm_max(r, known); // of another stage
        if (!known) unknown_input(r, d->option, file[i].name, why, n);
    }
    if (!why[0]) no_files(r, d, n_files, file, why, n);
    for (int i = 0; i < r->n_vars && !why[0]; i++)
        if (r->var[i].kind == HAP_VAR_INPUT) open_one(r, d, &r->var[i], n_files, file, why, n);
    for (int i = 0; i < d->n && !why[0]; i++)
        if (hap_rows_shift(&d->in[i].rows) > shift) shift = hap_rows_shift(&d->in[i].rows);
    for (int i = 0; i < d->n && !why[0]; i++)
        count(r, d, &d->in[i], shift, why, n);
}

// Stages have inputs of their own; what a step reads of the data is one number.
static int64_t agree_on_samples(hap_rank *r, const data *d, char *why, int n)
{
    if (r->n_stages < 2) return d->samples;
    HAP_CK(r, d->samples <= INT_MAX, "not supported: %lld samples", (long long)d->samples);
    int most = hap_comm_max(r, (int)d->samples);
    if (d->samples && d->samples != most && !why[0])
        snprintf(why, (size_t)n, "%s: the inputs of this stage have %lld samples, others %d",
                 d->option, (long long)d->samples, most);
    return most;
}

void hap_inputs_open(hap_rank *r)
{
    char why[512] = "";
    struct hap_inputs *all = hap_alloc(r, sizeof *all);
    r->inputs = all;
    all->ahead = -1;
    all->train.option = "--input";
    all->eval.option = "--eval";
    open_data(r, &all->train, r->opt.n_inputs, r->opt.input, why, sizeof why);
    r->samples = agree_on_samples(r, &all->train, why, sizeof why);
    hap_agree(r, HAP_EXIT_INPUT, why);
    if (r->opt.n_evals) {
        open_data(r, &all->eval, r->opt.n_evals, r->opt.eval, why, sizeof why);
        r->eval_samples = agree_on_samples(r, &all->eval, why, sizeof why);
        if (!why[0] && r->eval_samples < r->batch_rows)
            snprintf(why, sizeof why, "--eval: %lld samples are less than a batch of %lld",
                     (long long)r->eval_samples, (long long)r->batch_rows);
    }
    if (!why[0] && r->opt.epochs && !r->samples)
        snprintf(why, sizeof why, "--epochs: the program has no input of one row a sample");
    hap_agree(r, HAP_EXIT_INPUT, why);
}

// Where a batch's rows are: of the samples from `first` on, in the files' order or not.
typedef struct place {
    int64_t first;
    bool shuffle;
} place;

// The file's row for the i-th row of this step's batch.
static int64_t row_of(const hap_rank *r, const input *in, place p, int64_t i)
{
    int64_t rows = in->rows.rows, k = in->per_sample;
    int64_t batch = r->batch_rows ? r->batch_rows : 1;
    int64_t a = (k ? p.first * k : p.first / batch * in->per_step) + i;
    if (!p.shuffle || !k) return a % rows;
    int64_t samples = rows / k, sample = a / k;
    return hap_permute(sample % samples, samples, r->now.seed, (uint64_t)(sample / samples)) * k +
           a % k;
}

typedef struct row_copy {
    const input *in;
    char *to;
    int64_t row, item;
} row_copy;

static void copy_run(void *user, int64_t local, int64_t global, int64_t n)
{
    const row_copy *c = user;
    hap_rows_read(&c->in->rows, c->row, global, n, c->to + local * c->item);
}

// This rank's part of a step's rows.
static void read_part(const hap_rank *r, const input *in, place p, char *to)
{
    const hap_tensor *t = in->var->t;
    int64_t item = hap_dtype_bytes(t->type);
    if (t->rank == 0) {
        hap_rows_read(&in->rows, 0, 0, 1, to);
    } else if (t->elements) {
        hap_range part[HAP_MAX_RANK];
        hap_slice_of(r, t, r->member, part);
        const hap_dim *d = &t->dim[0];
        int64_t block = part[0].n * d->inner, local_row = t->elements / t->local[0];
        for (int64_t l = 0; l < t->local[0]; l++) {
            int64_t g = (l / block * d->n + part[0].lo) * d->inner + l % block;
            row_copy c = {in, to + l * local_row * item, row_of(r, in, p, g), item};
            hap_slice_runs(t->rank - 1, t->dim + 1, part + 1, copy_run, &c);
        }
    }
}

static bool send(hap_rank *r, const input *in, place p)
{
    char *to = hap_backend_rows(r, in->var->t);
    if (!to) return false;
    read_part(r, in, p, to);
    hap_backend_rows_send(r, in->var->t);
    return true;
}

static void load_one(hap_rank *r, const input *in, place p)
{
    hap_tensor *t = in->var->t;
    if (send(r, in, p)) {
        hap_backend_rows_take(r, t);
        return;
    }
    char *to = hap_backend_open(r, t, true);
    read_part(r, in, p, to);
    hap_backend_close(r, t, to, true);
}

void hap_inputs_load(hap_rank *r)
{
    data *d = &r->inputs->train;
    bool here = r->inputs->ahead == r->cursor;
    for (int i = 0; i < d->n; i++)
        if (here && d->in[i].sent)
            hap_backend_rows_take(r, d->in[i].var->t);
        else
            load_one(r, &d->in[i], (place){r->cursor, r->opt.shuffle});
    r->inputs->ahead = -1;
}

void hap_inputs_ahead(hap_rank *r)
{
    data *d = &r->inputs->train;
    int64_t next = r->cursor + (r->batch_rows ? r->batch_rows : 1);
    for (int i = 0; i < d->n; i++)
        d->in[i].sent = send(r, &d->in[i], (place){next, r->opt.shuffle});
    r->inputs->ahead = next;
}

void hap_inputs_load_eval(hap_rank *r, int64_t first)
{
    for (int i = 0; i < r->inputs->eval.n; i++)
        load_one(r, &r->inputs->eval.in[i], (place){first, false});
    r->inputs->ahead = -1; // they lay where these came
}

static void close_data(data *d)
{
    for (int i = 0; i < d->n; i++)
        hap_rows_close(&d->in[i].rows);
}

void hap_inputs_close(hap_rank *r)
{
    if (!r->inputs) return;
    close_data(&r->inputs->train);
    close_data(&r->inputs->eval);
    free(r->inputs);
    r->inputs = NULL;
}
