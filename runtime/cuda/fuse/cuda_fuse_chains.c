// Calls that follow each other, or could, and one kernel runs.

#include "cuda/fuse/cuda_passes.h"
#include "cuda/kernels/cuda_chains.h"

static const hap_op_call *op_at(const cuda_record *c, int i)
{
    return &c->call[i].op;
}

static bool outputs_meet(const hap_op_call *a, const hap_op_call *b)
{
    for (int i = 0; i < a->n_out; i++)
        for (int k = 0; k < b->n_out; k++)
            if (cuda_meets(a->out[i], b->out[k])) return true;
    return false;
}

// Whether calls behind `end`, or somebody behind the step, read t that call k makes.
static bool read_behind(const hap_rank *r, const cuda_record *c, int k, int end,
                        const hap_tensor *t)
{
    if (cuda_made_outlives(r, t)) return true;
    const int next = cuda_next_write(c, k, t);
    for (int j = end + 1; j <= next && j < c->n; j++)
        if (cuda_reads(c, j, t)) return true;
    return false;
}

// Statistics of rows that the chain at `first` alone reads: its kernel leaves them nowhere.
static bool passing_stats(const hap_rank *r, const cuda_record *c, int first, int k)
{
    const hap_op_call *o = op_at(c, k);
    const int end = first + c->call[first].n_joined;
    if ((o->op != HAP_OP_norm_bwd_stats && o->op != HAP_OP_rms_bwd_stats) || end == k) return false;
    for (int i = 0; i < o->n_out; i++)
        if (read_behind(r, c, k, end, o->out[i])) return false;
    return true;
}

// Whether one kernel may run the chain's calls and j, each thread on its own elements. Sums of
// columns are written when all else is done; statistics that pass are neither written nor read.
static bool fits(const hap_rank *r, const cuda_record *c, int first, int j)
{
    const hap_op_call *all[CUDA_MAX_CHAIN + 1], *passing = NULL;
    hap_op_call reader; // of what passes
    int n = 0;
    for (int k = first; k <= first + c->call[first].n_joined; k++) {
        const hap_op_call *o = op_at(c, k);
        if (passing_stats(r, c, first, k)) {
            passing = o;
        } else if (o->op == HAP_OP_norm_bwd_params || o->op == HAP_OP_rms_bwd_params ||
                   o->op == HAP_OP_sum) {
            if (outputs_meet(o, op_at(c, j))) return false;
        } else if (passing && (o->op == HAP_OP_norm_bwd || o->op == HAP_OP_rms_bwd)) {
            reader = *o;
            for (int i = 0; i < reader.n_in; i++)
                for (int s = 0; s < passing->n_out; s++)
                    if (reader.in[i] && cuda_same_place(reader.in[i], passing->out[s]))
                        reader.in[i] = NULL;
            all[n++] = &reader;
        } else {
            all[n++] = o;
        }
    }
    all[n++] = op_at(c, j);
    return cuda_apart(all, n);
}

// Appends op j, which goes over the chain's rows like the others.
static bool appends(const hap_rank *r, cuda_record *c, int first, int j)
{
    return j >= 0 && fits(r, c, first, j) && cuda_joins(c, first, j);
}

// Appends op j, sums of columns: nothing that the chain has written lies where they go, but for the
// statistics of rows that it alone needs.
static bool appends_sums(cuda_record *c, int first, int j)
{
    for (int k = first; j >= 0 && k <= first + c->call[first].n_joined; k++)
        if (op_at(c, k)->op != HAP_OP_norm_bwd_stats && op_at(c, k)->op != HAP_OP_rms_bwd_stats &&
            outputs_meet(op_at(c, k), op_at(c, j)))
            return false;
    return j >= 0 && cuda_joins(c, first, j);
}

// No broadcast, f32 out: what a kernel adds up in registers is what the next call would read.
static bool adds_alike(const hap_op_call *add)
{
    return add->out[0]->type == HAP_F32 && add->in[0]->elements == add->out[0]->elements &&
           add->in[1]->elements == add->out[0]->elements && cuda_is_float(add->in[0]->type) &&
           cuda_is_float(add->in[1]->type) && !cuda_same_place(add->in[0], add->in[1]);
}

// The sum over all rows of t.
static bool sums_columns(const hap_op_call *sum, const hap_tensor *t)
{
    const hap_tensor *x = sum->in[0];
    hap_ints dims = sum->attr[0].v;
    for (int k = 0; k < dims.n; k++)
        if (dims.v[k] == -1 || dims.v[k] == x->rank - 1) return false;
    return cuda_is_float(x->type) && cuda_is_float(sum->out[0]->type) && dims.n == x->rank - 1 &&
           x->local[x->rank - 1] == t->local[t->rank - 1] &&
           sum->out[0]->elements == t->local[t->rank - 1];
}

static int narrowing_near(const cuda_record *c, int i, const hap_tensor *t)
{
    int k = cuda_reader_near(c, i, HAP_OP_cast, t);
    return k >= 0 && t->type == HAP_F32 && cuda_is_float(op_at(c, k)->out[0]->type) ? k : -1;
}

static bool applies_norm(const hap_op_call *o)
{
    return o->op == HAP_OP_norm_apply || o->op == HAP_OP_rms_apply;
}

// What the residual's sum at the head of chain i adds, if an earlier norm made it and nobody else
// reads it as it is: the op that makes it. The chain makes it again from what the backward pass
// keeps anyway, so that the earlier chain need not write it.
static const hap_op_call *made_by_norm(const hap_rank *r, const cuda_record *c, int i)
{
    const hap_op_call *add = op_at(c, i);
    for (int s = 0; s < 2; s++) {
        const hap_tensor *t = add->in[s];
        int w = cuda_last_write(c, i, t), head = w, end = cuda_next_write(c, w, t);
        if (w < 0 || !applies_norm(op_at(c, w)) || t->type != HAP_F32 ||
            !cuda_same_place(op_at(c, w)->out[0], t) || cuda_outlives(r, t) ||
            t->local[t->rank - 1] % CUDA_NORM_VECTOR || t->local[t->rank - 1] > CUDA_NORM_COLUMNS)
            continue;
        while (head > 0 && c->call[head].kind == CUDA_JOINED)
            head--;
        bool alone = c->call[head].chain == CUDA_NORM && !cuda_under_way(c, w, i, t);
        for (int k = w + 1; k <= end && k < c->n; k++)
            if (k != i && k > head + c->call[head].n_joined && cuda_reads(c, k, t)) alone = false;
        const hap_op_call *all[CUDA_MAX_CHAIN + 1], *made = op_at(c, w);
        for (int k = 0; k < made->n_in; k++)
            if (made->in[k] && (cuda_meets(made->in[k], t) ||
                                cuda_next_write(c, w, made->in[k]) <= i + c->call[i].n_joined))
                alone = false;
        int n = 0;
        all[n++] = made;
        for (int k = i; k <= i + c->call[i].n_joined; k++)
            all[n++] = op_at(c, k);
        if (alone && cuda_apart(all, n)) return made;
    }
    return NULL;
}

// The ops of a norm over rows: its statistics, each of which reads the input and those before it.
typedef struct norm_kind {
    hap_op_id stat[2], apply, bwd_stats, bwd, params;
    int n_stats;
} norm_kind;
static const norm_kind layer_norm = {{HAP_OP_row_sum, HAP_OP_row_m2}, HAP_OP_norm_apply,
                                     HAP_OP_norm_bwd_stats,           HAP_OP_norm_bwd,
                                     HAP_OP_norm_bwd_params,          2};
static const norm_kind rms_norm = {{HAP_OP_row_sq}, HAP_OP_rms_apply,      HAP_OP_rms_bwd_stats,
                                   HAP_OP_rms_bwd,  HAP_OP_rms_bwd_params, 1};

// Calls of a norm of x: statistics at[0..], then its application. Returns how many, 0 if they are
// not there. at[0] is given.
static int norm_calls(const cuda_record *c, const norm_kind *kind, const hap_tensor *x, int *at)
{
    for (int n = 1; n <= kind->n_stats; n++) {
        const hap_tensor *made = op_at(c, at[n - 1])->out[0];
        hap_op_id next = n < kind->n_stats ? kind->stat[n] : kind->apply;
        at[n] = cuda_reader_near(c, at[n - 1], next, made);
        if (at[n] < 0 || made->type != HAP_F32 || !cuda_same_place(op_at(c, at[n])->in[0], x))
            return 0;
        for (int k = 0; k < n; k++)
            if (!cuda_same_place(op_at(c, at[n])->in[k + 1], op_at(c, at[k])->out[0])) return 0;
    }
    return kind->n_stats + 1;
}

// All calls at[], in order, follow call start as its chain, or none does.
static bool joins_all(cuda_record *c, int start, const int *at, int n)
{
    const hap_op_call *all[CUDA_MAX_CHAIN + 1];
    int n_all = 0;
    if (at[0] > start) all[n_all++] = op_at(c, start);
    for (int i = 0; i < n; i++)
        all[n_all++] = op_at(c, at[i]);
    if (!cuda_apart(all, n_all)) return false;
    for (int i = n - 1; i > 0; i--) // all of them may move
        for (int k = start + 1; k < at[i]; k++) {
            bool one_of_them = false;
            for (int o = 0; o < i; o++)
                one_of_them |= k == at[o];
            if (!one_of_them && cuda_ordered(c, k, at[i])) return false;
        }
    bool joined = at[0] == start || cuda_joins(c, start, at[0]);
    for (int i = 1; joined && i < n; i++)
        joined = cuda_joins(c, start, at[i]);
    if (joined) return true;
    for (int k = start + 1; k <= start + c->call[start].n_joined; k++)
        c->call[k].kind = CUDA_OP;
    c->call[start].n_joined = 0;
    return false;
}

// (add,) row_sum, row_m2, norm_apply (, cast), from the first of them on; before the sum
// norm_apply, once more. The same of an RMS norm: (add,) row_sq, rms_apply (, cast).
static void join_norm(hap_rank *r, cuda_record *c, int i)
{
    const norm_kind *const kinds[] = {&layer_norm, &rms_norm};
    int start = i, at[3], n = 0;
    const hap_op_call *add = op_at(c, i)->op == HAP_OP_add ? op_at(c, i) : NULL;
    if (add && !adds_alike(add)) return;
    for (int k = 0; k < 2 && n == 0; k++) {
        at[0] = add ? cuda_reader_near(c, i, kinds[k]->stat[0], add->out[0]) : i;
        if (at[0] >= 0 && op_at(c, at[0])->op == kinds[k]->stat[0])
            n = norm_calls(c, kinds[k], op_at(c, at[0])->in[0], at);
    }
    if (n == 0 || !joins_all(c, start, at, n)) return;
    c->call[start].chain = CUDA_NORM;
    int end = start + c->call[start].n_joined;
    appends(r, c, start, narrowing_near(c, end, op_at(c, end)->out[0]));
    const hap_op_call *again = add ? made_by_norm(r, c, start) : NULL;
    if (!again) return;
    const hap_op_call copy = *again;
    cuda_insert(r, c, start, &copy);
    cuda_call *head = &c->call[start];
    head->chain = CUDA_NORM;
    head->n_joined = head[1].n_joined + 1;
    head[1].kind = CUDA_JOINED;
    head[1].chain = CUDA_ALONE;
    head[1].n_joined = 0;
}

// (add,) norm_bwd_stats, norm_bwd (, norm_bwd_params) (, add) (, cast) (, sum), or those of an RMS
// norm.
static void join_norm_bwd(const hap_rank *r, cuda_record *c, int i)
{
    const hap_op_call *stats = op_at(c, i);
    int before = cuda_last_write(c, i, stats->in[0]), start = i;
    if (before >= 0 && i - before <= 16 && c->call[before].kind == CUDA_OP &&
        op_at(c, before)->op == HAP_OP_add && !c->call[before].chain &&
        adds_alike(op_at(c, before)) && cuda_same_place(op_at(c, before)->out[0], stats->in[0]) &&
        appends(r, c, before, i))
        start = before;
    i = start + c->call[start].n_joined;
    stats = op_at(c, i);
    const norm_kind *kind = stats->op == rms_norm.bwd_stats ? &rms_norm : &layer_norm;
    int n_stats = kind->n_stats, n_in = 2 + n_stats; // gradient, input, statistics
    int at = cuda_reader_near(c, i, kind->bwd, stats->out[0]);
    const hap_op_call *bwd = at < 0 ? NULL : op_at(c, at);
    bool same = bwd;
    for (int k = 0; same && k < n_stats; k++)
        same = cuda_same_place(bwd->in[n_in + k], stats->out[k]) && stats->out[k]->type == HAP_F32;
    for (int k = 0; same && k < n_in; k++)
        same = cuda_same_place(stats->in[k], bwd->in[k]);
    const hap_tensor *w = stats->n_in > n_in ? stats->in[n_in] : NULL;
    const hap_tensor *w2 = same && bwd->n_in > n_in + n_stats ? bwd->in[n_in + n_stats] : NULL;
    same = same && !w == !w2 && (!w || cuda_same_place(w, w2));
    if (!same || !appends(r, c, start, at)) {
        for (int k = start + 1; k <= i; k++)
            c->call[k].kind = CUDA_OP;
        c->call[start].n_joined = 0;
        return;
    }
    c->call[start].chain = CUDA_NORM_BWD;
    int end = i + 1;
    const hap_tensor *dx = op_at(c, end)->out[0];
    int params = cuda_reader_near(c, end, kind->params, stats->in[0]);
    if (params >= 0) {
        const hap_op_call *o = op_at(c, params);
        same = true;
        for (int k = 0; k < n_in; k++)
            same = same && cuda_same_place(op_at(c, i)->in[k], o->in[k]);
        if (same && appends_sums(c, start, params)) end++;
    }
    if (dx->type != HAP_F32) return;
    int sum = cuda_reader_near(c, end, HAP_OP_add, dx);
    if (sum >= 0 && adds_alike(op_at(c, sum)) && appends(r, c, start, sum))
        dx = op_at(c, ++end)->out[0];
    if (appends(r, c, start, narrowing_near(c, end, dx))) dx = op_at(c, ++end)->out[0];
    int total = cuda_reader_near(c, end, HAP_OP_sum, dx);
    if (total >= 0 && sums_columns(op_at(c, total), dx)) appends_sums(c, start, total);
}

static void join_slope(cuda_record *c, int i)
{
    const hap_tensor *y = op_at(c, i)->out[0];
    int sum = cuda_reader_near(c, i, HAP_OP_sum, y);
    if (sum >= 0 && sums_columns(op_at(c, sum), y) && appends_sums(c, i, sum))
        c->call[i].chain = CUDA_SLOPE;
}

// sum, batch_m2 of the same tensor and that sum.
static void join_moments(cuda_record *c, int i)
{
    const hap_op_call *sum = op_at(c, i);
    int at = cuda_reader_near(c, i, HAP_OP_batch_m2, sum->out[0]);
    if (at < 0 || !cuda_same_place(sum->in[0], op_at(c, at)->in[0]) ||
        !cuda_same_place(sum->out[0], op_at(c, at)->in[1]) || sum->out[0]->type != HAP_F32)
        return;
    if (appends_sums(c, i, at)) c->call[i].chain = CUDA_MOMENTS;
}

// A matmul's kernel may write y, and reads what lies where it does: not what else it reads.
static bool beside_operands(const hap_op_call *op, const hap_tensor *y)
{
    for (int k = 0; k < op->n_in; k++)
        if (op->in[k] && cuda_meets(y, op->in[k])) return false;
    return true;
}

// conv and relu of its result, which may be read by others. conv does not go entry by entry: what
// relu makes lies beside its operands.
static void join_conv(const hap_rank *r, cuda_record *c, int i)
{
    int at = cuda_reader_near(c, i, HAP_OP_relu, op_at(c, i)->out[0]);
    if (at < 0 || !beside_operands(op_at(c, i), op_at(c, at)->out[0])) return;
    if (appends(r, c, i, at)) c->call[i].chain = CUDA_CONV;
}

// No broadcast, and two tensors.
static bool adds_entries(const hap_op_call *add)
{
    const hap_tensor *y = add->out[0], *a = add->in[0], *b = add->in[1];
    return a->elements == y->elements && b->elements == y->elements && cuda_is_float(y->type) &&
           cuda_is_float(a->type) && cuda_is_float(b->type) && !cuda_same_place(a, b);
}

// A fusion of y's sum with another tensor and relu of that, soon after i, is these two ops again if
// both may follow i.
static void open_sum(hap_rank *r, cuda_record *c, int i, const hap_tensor *y)
{
    for (int k = i + 1, near = 0; k < c->n && near < 8; k++) {
        const cuda_call *e = &c->call[k];
        near += e->kind != CUDA_DONE && e->kind != CUDA_JOINED;
        if (e->kind != CUDA_FUSION || e->fusion->n_ops != 2) continue;
        const hap_op_call *op = e->fusion->call;
        if (op[0].op != HAP_OP_add || op[1].op != HAP_OP_relu || !adds_entries(&op[0])) continue;
        if (!cuda_same_place(op[0].in[0], y) && !cuda_same_place(op[0].in[1], y)) continue;
        if (cuda_may_rise(c, k, i + 1, &op[0]) && cuda_may_rise(c, k, i + 1, &op[1]))
            cuda_opens(r, c, k);
        return;
    }
}

// batch_apply (, add of its result) (, relu), whose results may be read by others. The updates of
// running statistics may stand between, op by op.
static void join_batch(hap_rank *r, cuda_record *c, int i)
{
    enum { NEAR = 24 };
    const hap_tensor *y = op_at(c, i)->out[0];
    open_sum(r, c, i, y);
    int at = cuda_reader_within(c, i, NEAR, HAP_OP_add, y), end = i;
    if (at >= 0 && adds_entries(op_at(c, at)) && appends(r, c, i, at)) y = op_at(c, ++end)->out[0];
    if (appends(r, c, i, cuda_reader_within(c, end, NEAR, HAP_OP_relu, y))) end++;
    if (end > i) c->call[i].chain = CUDA_BATCH;
}

// batch_apply that made y, and relu's result of it in y's place, if the chain at i alone reads y
// from there on and all that batch norm read is still there: relu's slope is then told by what
// batch norm makes again of `of`, y is not read.
static const hap_op_call *made_by_batch(const cuda_record *c, int i, const hap_tensor *y,
                                        const hap_op_call *stats)
{
    int relu = cuda_last_write(c, i, y), w;
    if (relu < 0 || op_at(c, relu)->op != HAP_OP_relu ||
        !cuda_same_place(op_at(c, relu)->out[0], y))
        return NULL;
    const hap_tensor *of = op_at(c, relu)->in[0];
    w = cuda_last_write(c, relu, of);
    if (w < 0 || op_at(c, w)->op != HAP_OP_batch_apply || !cuda_same_place(op_at(c, w)->out[0], of))
        return NULL;
    const hap_op_call *made = op_at(c, w);
    for (int k = 0; k < made->n_in; k++) // as they were; x and its statistics are those of `stats`
        if (cuda_next_write(c, w, made->in[k]) <= i || cuda_under_way(c, w, i, made->in[k]) ||
            (k < 3 && !cuda_same_place(made->in[k], stats->in[k + 1])))
            return NULL;
    for (int k = i + 1, end = cuda_next_write(c, i, y); k <= end && k < c->n; k++)
        if (cuda_reads(c, k, y)) return NULL;
    return made;
}

// The gradient of batch norm behind relu_bwd i and its statistics: of the same operands.
static int batch_bwd_near(const cuda_record *c, int i, const hap_op_call *stats)
{
    int at = cuda_reader_near(c, i, HAP_OP_batch_bwd, stats->out[0]);
    bool same = at >= 0 && cuda_same_place(op_at(c, at)->in[4], stats->out[0]) &&
                cuda_same_place(op_at(c, at)->in[5], stats->out[1]);
    for (int k = 0; same && k < 4; k++)
        same = cuda_same_place(op_at(c, at)->in[k], stats->in[k]);
    return same ? at : -1;
}

// (add,) relu_bwd, batch_bwd_stats; or, where relu's result is that of batch norm, batch_apply once
// more, relu_bwd, batch_bwd_stats (, batch_bwd).
static void join_batch_bwd(hap_rank *r, cuda_record *c, int i)
{
    const hap_op_call *relu = op_at(c, i);
    const hap_tensor *dy = relu->in[0], *y = relu->in[1];
    int stats = cuda_reader_near(c, i, HAP_OP_batch_bwd_stats, relu->out[0]);
    if (stats < 0 || !cuda_same_place(op_at(c, stats)->in[0], relu->out[0])) return;
    const hap_op_call *made = made_by_batch(c, i, y, op_at(c, stats));
    if (!appends_sums(c, i, stats)) return;
    c->call[i].chain = CUDA_BATCH_BWD;
    if (made) {
        const hap_op_call copy = *made; // in y's place, which nobody else reads
        int bwd = batch_bwd_near(c, i + 1, op_at(c, i + 1));
        if (bwd >= 0) {
            // The slope is told twice: what the chain writes lies where an entry of these is read.
            hap_op_call reads = *op_at(c, i);
            reads.n_in = 1;
            const hap_op_call *all[] = {&reads, op_at(c, i + 1), op_at(c, bwd)};
            hap_op_call params = copy; // what it reads of a channel
            params.n_out = 0;
            const hap_op_call *with[] = {all[0], all[1], all[2], &params};
            if (cuda_apart(with, 4)) cuda_joins(c, i, bwd);
        }
        cuda_insert(r, c, i, &copy);
        cuda_call *head = &c->call[i];
        head->op.out[0] = cuda_retyped(r, c, copy.out[0], y);
        head->name = hap_op_names[copy.op];
        head->chain = CUDA_BATCH_BWD;
        head->n_joined = head[1].n_joined + 1;
        head[1].kind = CUDA_JOINED;
        head[1].chain = CUDA_ALONE;
        head[1].n_joined = 0;
        return;
    }
    int w = cuda_last_write(c, i, dy);
    if (w < 0 || c->call[w].kind != CUDA_OP || c->call[w].chain || op_at(c, w)->op != HAP_OP_add ||
        !adds_entries(op_at(c, w)) || !cuda_same_place(op_at(c, w)->out[0], dy) ||
        cuda_made_outlives(r, dy) || !cuda_only_reads(c, w, i, dy))
        return;
    const hap_op_call *all[] = {op_at(c, w), op_at(c, i)};
    if (cuda_apart(all, 2) && !outputs_meet(op_at(c, w), op_at(c, i + 1))) cuda_leads(c, w, i);
}

// linear, gelu of its result, which may be read by others.
static void join_gelu(cuda_record *c, int i)
{
    const hap_op_call *linear = op_at(c, i);
    const hap_tensor *t = linear->out[0];
    int at = cuda_reader_near(c, i, HAP_OP_gelu, t);
    if (at < 0) return;
    const hap_tensor *y = op_at(c, at)->out[0];
    if (!cuda_meets(y, t) && beside_operands(linear, y) && cuda_joins(c, i, at))
        c->call[i].chain = CUDA_GELU;
}

// linear, gelu_bwd of its result, which nobody else reads (, sum): the linear comes down to it.
static void join_dense_slope(const hap_rank *r, cuda_record *c, int i)
{
    const hap_op_call *slope = op_at(c, i);
    const hap_tensor *dy = slope->in[0], *y = slope->out[0];
    int w = cuda_last_write(c, i, dy);
    if (w < 0 || c->call[w].kind != CUDA_OP || c->call[w].chain) return;
    const hap_op_call *linear = op_at(c, w);
    if (linear->op != HAP_OP_linear || (linear->n_in > 2 && linear->in[2]) ||
        !cuda_same_place(linear->out[0], dy) || cuda_outlives(r, dy) ||
        !cuda_only_reads(c, w, i, dy) || cuda_meets(y, slope->in[1]))
        return;
    for (int k = i; k <= i + c->call[i].n_joined; k++)
        if (!beside_operands(linear, op_at(c, k)->out[0]) ||
            cuda_meets(op_at(c, k)->out[0], slope->in[1]))
            return;
    if (cuda_leads(c, w, i)) c->call[i - 1].chain = CUDA_DENSE_SLOPE;
}

// A matmul whose result is added to y, in y's place, and read by nobody else adds to it.
static void join_adds(const hap_rank *r, cuda_record *c, int i)
{
    const hap_op_call *matmul = op_at(c, i);
    const hap_tensor *t = matmul->out[0];
    int at = cuda_reader_near(c, i, HAP_OP_add, t);
    if (at < 0 || (matmul->n_in > 2 && matmul->in[2]) || cuda_outlives(r, t)) return;
    const hap_op_call *add = op_at(c, at);
    const hap_tensor *y = add->out[0], *other = add->in[cuda_same_place(add->in[0], t) ? 1 : 0];
    int end = cuda_next_write(c, i, t);
    for (int k = i + 1; k <= end && k < c->n; k++)
        if (k != at && cuda_reads(c, k, t)) return;
    if (!cuda_same_place(other, y) || y->type != t->type || y->elements != t->elements ||
        cuda_meets(y, t) || cuda_meets(y, matmul->in[0]) || cuda_meets(y, matmul->in[1]))
        return;
    if (cuda_joins(c, i, at)) c->call[i].chain = CUDA_ADDS;
}

static bool alone_sums(const cuda_call *e)
{
    return e->kind == CUDA_OP && e->op.op == HAP_OP_sum && !e->chain && e->op.in[0]->rank > 1 &&
           sums_columns(&e->op, e->op.in[0]);
}

// Sums of columns that stand near each other, of tensors of one shape.
static void join_sums(cuda_record *c, int i)
{
    const hap_tensor *x = op_at(c, i)->in[0];
    for (int k = i + 1, near = 0; k < c->n && near < 12 && c->call[i].n_joined < 3; k++) {
        near += c->call[k].kind != CUDA_DONE && c->call[k].kind != CUDA_JOINED;
        if (!alone_sums(&c->call[k])) continue;
        const hap_tensor *y = op_at(c, k)->in[0];
        if (y->type == x->type && y->elements == x->elements &&
            y->local[y->rank - 1] == x->local[x->rank - 1] && appends_sums(c, i, k))
            c->call[i].chain = CUDA_SUMS;
    }
}

// Moves what makes t, if it stands after call *to, up to there, with what that needs; *to is then
// the call that stood there.
static bool rises(hap_rank *r, cuda_record *c, int before, const hap_tensor *t, int *to, int depth)
{
    int w = cuda_last_write(c, before, t);
    if (w < *to) return true;
    if (depth == 0 || c->call[w].kind != CUDA_OP || c->call[w].chain) return false;
    for (int k = 0; k < op_at(c, w)->n_in; k++) // what rises stood before w, which stays
        if (op_at(c, w)->in[k] && !rises(r, c, w, op_at(c, w)->in[k], to, depth - 1)) return false;
    for (int k = 0; k < op_at(c, w)->n_out; k++)
        cuda_gets_room(r, c, w, op_at(c, w)->out[k]);
    if (!cuda_moves_up(c, w, *to)) return false;
    ++*to;
    return true;
}

// row_max, row_expsum (, ce_bwd, once the gradient of the loss has risen before them).
static void join_ce(hap_rank *r, cuda_record *c, int i)
{
    const hap_op_call *max = op_at(c, i);
    const hap_tensor *x = max->in[0];
    int sum = cuda_reader_near(c, i, HAP_OP_row_expsum, max->out[0]);
    if (sum < 0) return;
    const hap_op_call *second = op_at(c, sum);
    if (!cuda_same_place(second->in[0], x) || !cuda_same_place(second->in[1], max->out[0]) ||
        max->out[0]->type != HAP_F32 || second->out[0]->type != HAP_F32 || !appends(r, c, i, sum))
        return;
    c->call[i].chain = CUDA_CE;
    const hap_tensor *total = op_at(c, i + 1)->out[0];
    int grad = cuda_reader_near(c, i + 1, HAP_OP_ce_bwd, total);
    if (grad < 0 || !cuda_same_place(op_at(c, grad)->in[0], x) ||
        !cuda_same_place(op_at(c, grad)->in[1], op_at(c, i)->out[0]) ||
        !cuda_same_place(op_at(c, grad)->in[2], total))
        return;
    int at = i;
    bool risen = rises(r, c, grad, op_at(c, grad)->in[4], &at, 4);
    grad = cuda_reader_near(c, at + 1, HAP_OP_ce_bwd, total);
    if (!risen || grad < 0) return;
    const hap_tensor *dx = op_at(c, grad)->out[0];
    for (int k = at + 2; k < grad; k++)
        for (int o = 0; c->call[k].kind == CUDA_OP && o < op_at(c, k)->n_out; o++)
            if (cuda_meets(op_at(c, k)->out[o], dx)) cuda_gets_room(r, c, k, op_at(c, k)->out[o]);
    appends(r, c, at, grad);
}

// Casts of parameters rise to the step's beginning, several a launch; those that are made once come
// first.
static void join_casts(hap_rank *r, cuda_record *c)
{
    int top = 0;
    for (int once = 1; once >= 0; once--) {
        int first = -1;
        for (int i = top; i < c->n; i++) {
            if (c->call[i].kind != CUDA_OP || op_at(c, i)->op != HAP_OP_cast) continue;
            hap_tensor *x = op_at(c, i)->in[0], *y = op_at(c, i)->out[0];
            if (c->call[i].once != (once == 1) || !cuda_is_float(x->type) ||
                !cuda_is_float(y->type) || !cuda_outlives(r, x))
                continue;
            if (!cuda_moves_up(c, i, top) &&
                !(cuda_gets_room(r, c, i, y) && cuda_moves_up(c, i, top)))
                continue;
            if (first >= 0 && c->call[first].n_joined < CUDA_MAX_CHAIN) {
                c->call[top].kind = CUDA_JOINED;
                c->call[first].n_joined++;
                c->call[first].chain = CUDA_CASTS;
            } else {
                first = top;
            }
            top++;
        }
    }
}

// embedding_bwd, add: the sums go where they are added.
static void join_lookup(const hap_rank *r, cuda_record *c, int i)
{
    const hap_op_call *lookup = op_at(c, i);
    const hap_tensor *t = lookup->out[0];
    int at = cuda_reader_near(c, i, HAP_OP_add, t);
    if (at < 0 || t->type != HAP_F32 || !adds_alike(op_at(c, at))) return;
    const hap_tensor *y = op_at(c, at)->out[0];
    for (int k = 0; k < 2; k++)
        if (cuda_meets(y, lookup->in[k]) || op_at(c, at)->in[k]->type != HAP_F32) return;
    if (fits(r, c, i, at) && cuda_joins(c, i, at)) c->call[i].chain = CUDA_LOOKUP;
}

// Calls of the chain whose outputs are read by nobody after it.
static unsigned unread(const hap_rank *r, const cuda_record *c, int i)
{
    int end = i + c->call[i].n_joined;
    unsigned bits = 0;
    for (int k = i; k <= end && k - i < 32; k++) {
        const hap_op_call *o = op_at(c, k);
        bool read = o->n_out == 0;
        for (int n = 0; n < o->n_out; n++)
            read = read || read_behind(r, c, k, end, o->out[n]);
        if (!read) bits |= 1u << (k - i);
    }
    return bits;
}

void cuda_fuse_chains(hap_rank *r, cuda_record *c, bool exact)
{
    join_casts(r, c);
    for (int i = 0; i < c->n; i++) {
        if (c->call[i].kind != CUDA_OP || c->call[i].chain) continue;
        switch ((int)op_at(c, i)->op) {
        case HAP_OP_add:
        case HAP_OP_row_sum:
        case HAP_OP_row_sq:
            join_norm(r, c, i);
            break;
        case HAP_OP_norm_bwd_stats:
        case HAP_OP_rms_bwd_stats:
            join_norm_bwd(r, c, i);
            break;
#define HAP_JOIN_SLOPE(op) case HAP_OP_##op:
#include "hap/joins.def"
            join_slope(c, i);
            if (!c->call[i].chain && op_at(c, i)->op == HAP_OP_relu_bwd) join_batch_bwd(r, c, i);
            if (!exact && op_at(c, i)->op == HAP_OP_gelu_bwd) join_dense_slope(r, c, i);
            break;
        case HAP_OP_batch_apply:
            join_batch(r, c, i);
            break;
        case HAP_OP_conv:
            if (!exact) join_conv(r, c, i);
            break;
        case HAP_OP_sum:
            if (!exact) join_moments(c, i);
            break;
        case HAP_OP_row_max:
            join_ce(r, c, i);
            break;
        case HAP_OP_linear:
            if (!exact) join_gelu(c, i);
            if (!exact && !c->call[i].chain) join_adds(r, c, i);
            break;
        case HAP_OP_embedding_bwd:
            join_lookup(r, c, i);
        }
    }
    for (int i = 0; i < c->n; i++)
        if (alone_sums(&c->call[i])) join_sums(c, i);
    for (int i = 0; i < c->n; i++)
        if (c->call[i].kind == CUDA_OP && c->call[i].chain) c->call[i].unread = unread(r, c, i);
}
