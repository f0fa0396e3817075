#include "cuda/kernels/cuda_fusion.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "core/tensor.h"
#include "cuda/kernels/cuda_compile.h"
#include "cuda/kernels/cuda_lay.h"
#include "cuda/kernels/cuda_shadow.h"

static char *read_source(const char *folder)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/kernels.cu", folder);
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    if (!f) return NULL;
    if (fseek(f, 0, SEEK_END) == 0) {
        long n = ftell(f);
        rewind(f);
        text = n >= 0 ? calloc((size_t)n + 1, 1) : NULL;
        if (text && fread(text, 1, (size_t)n, f) != (size_t)n) {
            free(text);
            text = NULL;
        }
    }
    fclose(f);
    return text;
}

void cuda_fusions_start(hap_rank *r, cuda_fusions *g)
{
    if (g->started) return;
    g->started = true;
    const hap_cuda_options *o = &r->opt.cuda;
    g->off = o->fuse == HAP_CUDA_fuse_off || o->fusions == HAP_CUDA_fusions_off || r->opt.check_nan;
    g->all = o->fusions == HAP_CUDA_fusions_all;
}

// When the first fusion comes that is to run as a kernel.
static void load(hap_rank *r, cuda_fusions *g)
{
    if (g->loaded || g->off) return;
    g->loaded = true;
    const char *why = NULL;
    g->source = read_source(r->opt.folder);
    if (!g->source)
        why = "there is no kernels.cu beside the program";
    else
        g->library = cuda_compile(r->opt.folder, g->source, &why);
    g->off = !g->library;
    if (g->off && r->id == 0) fprintf(stderr, "note: fusions run op by op: %s\n", why);
}

void cuda_fusions_end(cuda_fusions *g)
{
#if CUDART_VERSION >= 12080
    if (g->library) cudaLibraryUnload(g->library);
#endif
    free(g->source);
    *g = (cuda_fusions){0};
}

// --- a kernel's text beside a fusion's calls ---

// The text that stands with kernel `name`, malloced, its literals joined; NULL if there is none.
static char *text_of(const char *source, const char *name, bool *rows)
{
    size_t n = strlen(name);
    for (const char *p = source; (p = strstr(p, "KERNEL("));) {
        *rows = p - source >= 8 && memcmp(p - 8, "HAP_ROW_", 8) == 0;
        p += 7;
        if (strncmp(p, name, n) != 0 || p[n] != ',') continue;
        char *text = calloc(strlen(p) + 1, 1);
        size_t used = 0;
        bool quoted = false;
        for (p += n + 1; text && *p && (quoted || *p != ')'); p++) {
            if (*p == '"')
                quoted = !quoted;
            else if (quoted)
                text[used++] = *p;
        }
        return text;
    }
    return NULL;
}

typedef struct matching {
    const char *at; // rest of the text
    cuda_fusion *out;
    int n_kept;
    hap_tensor *const *kept;
    hap_tensor *domain;
    int64_t repeats; // elements of what is the same in all turns; 0: nothing is
} matching;

static bool word(matching *m, const char *w)
{
    size_t n = strlen(w);
    while (*m->at == ' ')
        m->at++;
    if (strncmp(m->at, w, n) != 0) return false;
    m->at += n;
    return true;
}

static bool is_kept(const matching *m, const hap_tensor *t)
{
    for (int i = 0; i < m->n_kept; i++)
        if (m->kept[i] == t) return true;
    return false;
}

// The last dims of d; what dims stand before have one entry.
static bool is_tail(const hap_tensor *d, const hap_tensor *t)
{
    int off = d->rank - t->rank, k = 0;
    if (off < 0 || t->elements == 0) return false;
    while (k < t->rank && t->local[k] == 1)
        k++;
    for (; k < t->rank; k++)
        if (t->local[k] != d->local[off + k]) return false;
    return true;
}

// What the kernel adds up in its turns: entries of the domain's last dims, the sums over those
// before, in the order in which `sum` adds.
static bool is_added(matching *m, const hap_tensor *t)
{
    const hap_tensor *d = m->domain;
    if (!d || !is_tail(d, t)) return false;
    const int64_t cols = d->local[d->rank - 1], turns = d->elements / t->elements;
    m->out->args.turns = turns;
    return cols % 8 == 0 && cols < t->elements && cuda_adds_in_turn(turns, t->elements);
}

// ":full2": a thread of the kernel takes up to two vectors of a row, "2+" what stands before and
// behind them, too.
static bool slots_fit(matching *m, int64_t cols)
{
    char *end;
    if (!isdigit((unsigned char)*m->at)) return true;
    const long slots = strtol(m->at, &end, 10);
    m->at = end;
    const bool ragged = word(m, "+");
    return (ragged || cols % 8 == 0) && cols / 8 <= slots * cuda_row_threads(cols);
}

static bool fits(matching *m, const hap_tensor *t)
{
    if (word(m, ":full")) {
        const hap_tensor *d = m->domain;
        return d && d->rank > 0 && slots_fit(m, d->local[d->rank - 1]) && cuda_same_shape(t, d);
    }
    const hap_tensor *d = m->domain;
    if (word(m, ":row")) return d && t->elements == cuda_entries(d, 0, d->rank - 1);
    if (word(m, ":column")) return d && t->elements == d->local[d->rank - 1];
    if (word(m, ":tail")) return d && is_tail(d, t);
    if (word(m, ":added")) return is_added(m, t);
    if (word(m, ":repeat")) {
        if (!d || !is_tail(d, t) || (m->repeats && m->repeats != t->elements)) return false;
        m->repeats = t->elements;
        return true;
    }
    return word(m, ":one") && t->elements == 1;
}

// "4" of a tensor that was there, "4:row:f32:kept" of a new one.
static bool tensor(matching *m, hap_tensor *t, bool made)
{
    cuda_fusion *g = m->out;
    char *end;
    while (*m->at == ' ')
        m->at++;
    if (!isdigit((unsigned char)*m->at) || !t) return false;
    long k = strtol(m->at, &end, 10);
    m->at = end;
    if (k < 0 || k > g->n_tensors || k >= HAP_FUSION_TENSORS) return false;
    if (k < g->n_tensors) return !made && g->tensor[k].t == t;
    for (int i = 0; i < k; i++)
        if (g->tensor[i].t == t) return false;
    bool kept = made && is_kept(m, t);
    if (!fits(m, t) || !word(m, ":") || !word(m, hap_dtype_name(t->type))) return false;
    if (word(m, ":kept") != kept) return false;
    g->tensor[k].t = t;
    g->tensor[k].read = !made;
    g->tensor[k].written = kept;
    g->tensor[k].cast_of = -1;
    g->args.tensor[k] = !made || kept ? t->data : NULL;
    g->args.count[k] = t->elements;
    g->n_tensors++;
    return true;
}

static bool sums_leading(const hap_op_call *c)
{
    const hap_ints dims = c->attr[0].v;
    for (int i = 0; i < dims.n; i++)
        if (dims.v[i] != i) return false;
    return dims.n > 0;
}

// What the first ":full" of the first op is said of.
static hap_tensor *domain_of(const char *text, const hap_op_call *c)
{
    const char *full = strstr(text, ":full"), *at = strchr(text, ' ');
    int i = 0;
    if (!full || !at) return NULL;
    while ((at = strchr(at + 1, ' ')) && at < full)
        i += at[1] != '>';
    if (i < c->n_in) return c->in[i];
    return i < c->n_in + c->n_out ? c->out[i - c->n_in] : NULL;
}

static bool one_op(matching *m, const hap_op_call *c, bool last, int *n_attr)
{
    cuda_fusion *g = m->out;
    if (!word(m, hap_op_names[c->op])) return false;
    while (*m->at == '.') { // ".1=0": an attribute that the kernel is made for
        char *end;
        long k = strtol(m->at + 1, &end, 10), v = *end == '=' ? strtol(end + 1, &end, 10) : -1;
        if (k < 0 || k >= c->n_attr || c->attr[k].i != v) return false;
        m->at = end;
    }
    if (c->op == HAP_OP_sum && !sums_leading(c)) return false;
    if (*m->at != ' ' || *n_attr + c->n_attr > HAP_FUSION_ATTRS) return false;
    for (int k = 0; k < c->n_attr; k++) {
        g->args.attr[*n_attr].f = c->attr[k].f;
        g->args.attr[(*n_attr)++].i = c->attr[k].i;
    }
    for (int i = 0; i < c->n_in && c->in[i]; i++)
        if (!tensor(m, c->in[i], false)) return false;
    if (!word(m, ">")) return false;
    for (int o = 0; o < c->n_out; o++)
        if (!tensor(m, c->out[o], true)) return false;
    if (c->op == HAP_OP_cast && g->tensor[g->n_tensors - 1].written)
        for (int i = 0; i < g->n_tensors; i++)
            if (g->tensor[i].t == c->in[0] && g->tensor[i].read)
                g->tensor[g->n_tensors - 1].cast_of = i;
    return last ? *m->at == '\0' : word(m, ";");
}

static bool meets(const hap_tensor *a, const hap_tensor *b)
{
    const char *p = a->data, *q = b->data;
    return p < q + b->bytes && q < p + a->bytes;
}

// What is written lies apart from what is read, or takes its place element by element.
static bool apart(const cuda_fusion *g)
{
    for (int i = 0; i < g->n_tensors; i++)
        for (int k = 0; k < g->n_tensors; k++) {
            const hap_tensor *a = g->tensor[i].t, *b = g->tensor[k].t;
            if (!g->tensor[i].written || i == k) continue;
            if (!(g->tensor[k].read || g->tensor[k].written) || !meets(a, b)) continue;
            if (g->tensor[k].written || a->data != b->data || a->type != b->type ||
                !cuda_same_shape(a, b))
                return false;
        }
    return true;
}

static void place(hap_fusion_args *a, const hap_tensor *d)
{
    long long stride = 1;
    a->rows = cuda_entries(d, 0, d->rank - 1);
    if (a->turns == 0) a->turns = 1;
    a->own = a->rows / a->turns;
    a->cols = d->local[d->rank - 1];
    a->rank = d->rank;
    a->straight = 1;
    for (int i = d->rank - 1; i >= 0; i--) {
        cuda_axis x = cuda_axis_of(d, i);
        a->dim[i].block = x.block;
        a->dim[i].first = x.first;
        a->dim[i].part = x.part;
        a->dim[i].whole = cuda_axis_size(&x);
        a->dim[i].local = d->local[i];
        if (i > 0 ? d->local[i] != a->dim[i].whole : x.outer != 1) a->straight = 0;
        if (i == d->rank - 1) a->n = (double)a->dim[i].whole;
        if (i == 0) a->offset = x.first * stride;
        stride *= a->dim[i].whole;
    }
}

// Whether op k, of a norm, reads the tensor of which this fusion makes its statistics, if it does.
// A chain of a norm reads one tensor; where statistics are of a narrower copy it does not form.
static bool reads_one(const cuda_fusions *g, int k)
{
    for (int i = 0; i < k; i++)
        for (int o = 1; o < g->op[k].n_in; o++)
            if (g->op[k].in[o] && g->op[i].op != HAP_OP_cast &&
                g->op[i].out[0]->data == g->op[k].in[o]->data)
                return g->op[i].in[0]->data == g->op[k].in[0]->data;
    return true;
}

// A sum that `sum` does not add in turn.
static bool adds_otherwise(const hap_op_call *c)
{
    return c->op == HAP_OP_sum && c->out[0]->elements > 0 &&
           !cuda_adds_in_turn(c->in[0]->elements / c->out[0]->elements, c->out[0]->elements);
}

// cuda_fuse joins these with what stands around them.
static bool left_to_joins(const cuda_fusions *g, int n_kept, hap_tensor *const *kept)
{
    int casts = 0;
    bool whole = false;
    for (int k = 0; k < g->n; k++) {
        hap_op_id op = g->op[k].op;
        if ((op == HAP_OP_norm_apply || op == HAP_OP_norm_bwd || op == HAP_OP_rms_apply ||
             op == HAP_OP_rms_bwd) &&
            reads_one(g, k))
            return true;
        if (adds_otherwise(&g->op[k])) return true;
        casts += op == HAP_OP_cast;
    }
    for (int i = 0; i < n_kept; i++)
        whole |= kept[i]->elements == g->op[0].in[0]->elements;
    return g->n - casts < 2 || !whole;
}

bool cuda_fusion_find(hap_rank *r, cuda_fusions *g, int n_kept, hap_tensor *const *kept,
                      cuda_fusion *out)
{
#if CUDART_VERSION >= 12080
    static bool said;
    *out = (cuda_fusion){.name = g->open};
    matching m = {.out = out, .n_kept = n_kept, .kept = kept};
    if (!g->all && left_to_joins(g, n_kept, kept)) return false;
    load(r, g);
    char *text = g->off || g->too_long ? NULL : text_of(g->source, g->open, &out->rows);
    int n_attr = 0, n_written = 0;
    bool ok = text && g->n > 0;
    m.at = text;
    if (ok) m.domain = domain_of(text, &g->op[0]);
    for (int k = 0; ok && k < g->n; k++)
        ok = one_op(&m, &g->op[k], k == g->n - 1, &n_attr);
    for (int i = 0; ok && i < out->n_tensors; i++)
        n_written += out->tensor[i].written;
    ok = ok && m.domain && n_written == n_kept && apart(out) &&
         (m.repeats == 0 || m.repeats * out->args.turns == m.domain->elements);
    free(text);
    cudaKernel_t kernel = NULL;
    ok = ok && cudaLibraryGetKernel(&kernel, g->library, g->open) == cudaSuccess;
    if (!ok && !g->off && !said && r->id == 0) {
        said = true;
        fprintf(stderr,
                "note: program.c:%d: the fusion does not read as %s of kernels.cu: its ops "
                "run one by one\n",
                r->line, g->open);
    }
    if (!ok) return false;
    out->kernel = kernel;
    place(&out->args, m.domain);
    for (int k = 0; k < g->n; k++) {
        out->op[k] = g->op[k].op;
        out->line[k] = g->line[k];
    }
    out->n_ops = g->n;
    return true;
#else
    (void)r, (void)g, (void)n_kept, (void)kept, (void)out;
    return false;
#endif
}

// A fusion that goes over entries one by one, where some operand lies channels last: so do all
// then, and what it writes. Of the ops that may stand in one dropout alone asks which entry it has.
static const char *by_entries(cuda_context *x, const cuda_fusion *g, hap_fusion_args *a, bool *done)
{
    int64_t n = a->rows * a->cols;
    hap_tensor *in[HAP_FUSION_TENSORS] = {NULL}, at[HAP_FUSION_TENSORS];
    cuda_last shape;
    *done = false;
    for (int k = 0; k < g->n_ops; k++)
        if (g->op[k] == HAP_OP_dropout) return NULL;
    for (int i = 0; i < g->n_tensors; i++) {
        hap_tensor *t = g->tensor[i].t;
        if (!g->tensor[i].read && !g->tensor[i].written) continue;
        if (t->elements != n && (t->elements != 1 || g->tensor[i].written)) return NULL;
        if (g->tensor[i].read) in[i] = t;
    }
    if (g->rows || !cuda_any_last(x, in, g->n_tensors, n, &shape)) return NULL;
    for (int i = 0; i < g->n_tensors; i++)
        if (g->tensor[i].written && !cuda_may_lie_last(x, g->tensor[i].t, &shape)) return NULL;
    CUDA_TRY(cuda_all_last(x, in, g->n_tensors, &shape, 0, at, NULL, done));
    for (int i = 0; *done && i < g->n_tensors; i++) {
        if (in[i]) a->tensor[i] = at[i].data;
        if (g->tensor[i].written) CUDA_TRY(cuda_lie_last(x, g->tensor[i].t, &shape));
    }
    return NULL;
}

const char *cuda_fusion_run(cuda_context *x, const cuda_fusion *g)
{
    hap_fusion_args a = g->args;
    bool done;
    CUDA_TRY(by_entries(x, g, &a, &done));
    for (int i = 0; !done && i < g->n_tensors; i++) {
        const hap_tensor *t = g->tensor[i].t;
        if (g->tensor[i].read) CUDA_TRY(cuda_will_read(x, t->data, t->bytes));
    }
    for (int i = 0; !done && i < g->n_tensors; i++)
        if (g->tensor[i].written) cuda_will_write(x, g->tensor[i].t->data, g->tensor[i].t->bytes);
    a.step = (const hap_fusion_step *)x->step;
    dim3 block = {256, 1, 1}, grid = {1, 1, 1};
    long long n = a.rows * a.cols;
    if (g->rows) { // as row_block
        if (a.rows == 0) return NULL;
        block.x = (unsigned)cuda_row_threads(a.cols);
        block.y = block.x == 32 ? CUDA_ROW_WARPS : 1;
        grid.x = (unsigned)((a.own + block.y - 1) / block.y);
    } else {
        if (n == 0) return NULL;
        long long blocks = (n + 256 * 8 - 1) / (256 * 8);
        grid.x = (unsigned)(blocks > 132 * 32 ? 132 * 32 : blocks);
    }
    void *args[] = {&a};
    return cuda_said(cudaLaunchKernel(g->kernel, grid, block, args, 0, x->stream), g->name);
}
