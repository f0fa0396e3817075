#include "synth/passes/workspace.h"

#include "costmodel/device_defaults.h"
#include "ir/runtime_limits.h"
#include "synth/plan/liveness.h"

typedef struct copy {
    int64_t room; // of its buffer, bytes
    int tensor;   // whose copy it holds, -1: none
} copy;

typedef struct walk {
    const syn_program *p;
    int c;              // class of the mesh
    const int64_t *cut; // [cut]: largest part in the class
    copy at[IR_CUDA_SHADOWS];
    int n;
    int64_t work;
    int *sum, n_sums; // results of sums of columns
    // Before buffers have places: whose bytes a tensor's are, and the last use; NULL behind that.
    int *root, *until;
} walk;

static int64_t round_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

static const syn_tensor *tensor(const walk *w, int t)
{
    return &w->p->tensors.p[t];
}

static int rank_of(const walk *w, int t)
{
    return w->p->g->tensors.p[tensor(w, t)->value].rank;
}

static int64_t dim(const walk *w, int t, int d)
{
    const syn_state *s = &tensor(w, t)->state;
    int64_t n = w->p->g->tensors.p[tensor(w, t)->value].dim[d];
    for (int a = syn_joint(w->p->mesh, s) ? 1 : 0; a < w->p->mesh->n_axes; a++)
        if (s->ax[a].kind == SYN_S && s->ax[a].dim == d)
            n = n / w->p->mesh->cuts.p[s->ax[a].cut].size * w->cut[s->ax[a].cut];
    return n;
}

static int64_t last(const walk *w, int t)
{
    return rank_of(w, t) ? dim(w, t, rank_of(w, t) - 1) : 1;
}

// Entries of a row's leading dims.
static int64_t rows(const walk *w, int t)
{
    int64_t n = 1;
    for (int d = 0; d + 1 < rank_of(w, t); d++)
        n *= dim(w, t, d);
    return n;
}

// The largest divisor of n that is at most `most`.
static int64_t divisor(int64_t n, int64_t most)
{
    int64_t d = most < n ? most : n;
    while (d > 1 && n % d)
        d--;
    return d;
}

static int64_t elem(const walk *w, int t)
{
    return ir_dtype_bytes(tensor(w, t)->dtype);
}

// --- copies

static bool meet(const walk *w, int x, int y)
{
    if (w->root) return w->root[x] == w->root[y];
    const syn_tensor *a = tensor(w, x), *b = tensor(w, y);
    return a->sym == b->sym && a->off[w->c] < b->off[w->c] + b->bytes[w->c] &&
           b->off[w->c] < a->off[w->c] + a->bytes[w->c];
}

static copy *find(walk *w, int t)
{
    for (int i = 0; i < w->n; i++) {
        int k = w->at[i].tensor;
        if (k < 0) continue;
        const syn_tensor *a = tensor(w, k), *b = tensor(w, t);
        bool there =
            w->root ? w->root[k] == w->root[t] : a->sym == b->sym && a->off[w->c] == b->off[w->c];
        if (there && a->bytes[w->c] == b->bytes[w->c] && a->dtype == b->dtype &&
            last(w, k) == last(w, t))
            return &w->at[i];
    }
    return NULL;
}

static void write_to(walk *w, int t)
{
    for (int i = 0; i < w->n; i++)
        if (w->at[i].tensor >= 0 && meet(w, w->at[i].tensor, t)) w->at[i].tensor = -1;
}

static copy *start(walk *w, int t)
{
    int64_t room =
        round_up(rows(w, t), IR_CUDA_ROUND) * round_up(last(w, t), IR_CUDA_ROUND) * elem(w, t);
    copy *best = NULL;
    for (int i = 0; i < w->n; i++)
        if (w->at[i].tensor < 0 && w->at[i].room >= room && (!best || w->at[i].room < best->room))
            best = &w->at[i];
    if (!best && w->n < IR_CUDA_SHADOWS) {
        best = &w->at[w->n++];
        best->room = room;
    }
    if (best) best->tensor = t;
    return best;
}

static void new_rows(walk *w, int t)
{
    copy *s = find(w, t);
    if (!s) s = start(w, t);
    if (s) s->tensor = -1;
    write_to(w, t);
    if (s) s->tensor = t;
}

static void takes(walk *w, int64_t bytes)
{
    if (bytes > w->work) w->work = bytes;
}

// --- ops of the table

// A matrix of a matmul: stored [rows, cols], wanted [more_rows, more_cols].
typedef struct matrix {
    int t;
    int64_t rows, cols, more_rows, more_cols;
} matrix;

static matrix stored(int t, bool turned, int64_t m, int64_t n, int64_t more_m, int64_t more_n)
{
    return turned ? (matrix){t, n, m, more_n, more_m} : (matrix){t, m, n, more_m, more_n};
}

// y[m,n] = a b; a is stored [k,m] if a_t, b is stored [n,k] if b_t.
static void matmul(walk *w, const syn_instr *in, bool a_t, bool b_t)
{
    int a = in->in[0], b = in->in[1], y = in->out[0];
    int64_t k = a_t ? rows(w, a) : last(w, a), m = a_t ? last(w, a) : rows(w, a), n = last(w, y);
    int64_t each = IR_CUDA_VECTOR / elem(w, a);
    int64_t more_m = a_t && m % each ? round_up(m, IR_CUDA_ROUND) : m;
    int64_t more_n = n % each ? round_up(n, IR_CUDA_ROUND) : n;
    int64_t more_k = !(a_t && !b_t) && k % each ? round_up(k, IR_CUDA_ROUND) : k;
    bool fits = more_m == m && more_n == n && more_k == k;
    if (fits || (double)m * (double)n * (double)k < IR_CUDA_WORTH) {
        write_to(w, y);
        return;
    }
    matrix of[3] = {stored(a, a_t, m, k, more_m, more_k), stored(b, b_t, k, n, more_k, more_n),
                    stored(y, false, m, n, more_m, more_n)};
    int64_t work = 0;
    for (int i = 0; i < 3; i++) {
        const matrix *x = &of[i];
        if (x->cols == x->more_cols) {
            if (i == 2) write_to(w, y);
            if (x->rows != x->more_rows)
                work += round_up(x->more_rows * x->cols * elem(w, x->t), COST_CUDA_ALIGN);
        } else if (i == 2) {
            new_rows(w, y);
        } else if (!find(w, x->t)) {
            start(w, x->t);
        }
    }
    if (in->n_in > 2 && more_n != n) work += more_n * elem(w, in->in[2]);
    takes(w, work);
}

bool syn_attention_ordered(int64_t group, int64_t q, int64_t k)
{
    const int64_t mib = 1 << 20;
    int64_t scores = round_up(q, IR_CUDA_HEAD_ROWS) * round_up(k, IR_CUDA_HEAD_KEYS) * 2;
    return scores <= IR_CUDA_HEAD_SCORES * mib && scores * group <= IR_CUDA_HEAD_ROOM * mib;
}

int64_t syn_attention_room(int64_t b, int64_t hk, int64_t group, int64_t q, int64_t k, int64_t e)
{
    const int64_t mib = 1 << 20;
    if (b * hk * group * q * k * e == 0) return 0;
    int64_t scores = round_up(q, IR_CUDA_HEAD_ROWS) * round_up(k, IR_CUDA_HEAD_KEYS) * 2;
    int64_t most = IR_CUDA_HEAD_ROOM * mib / (scores * group), each = scores;
    if (!syn_attention_ordered(group, q, k))
        each = q * e * 4; // dq
    else if (most < hk)
        b = 1, hk = divisor(hk, most);
    else
        b = divisor(b, most / hk);
    if (group > 1) each += 2 * k * e * 2; // dk and dv of every query head
    int64_t lengths = q % IR_CUDA_HEAD_KEYS ? b * 8 : 0;
    return b * hk * group * (each + q * 4) + lengths + COST_CUDA_ALIGN;
}

int64_t syn_heads_room(int64_t heads, int64_t q, int64_t e)
{
    int64_t rows = round_up(q, IR_CUDA_HEAD_KEYS);
    return heads * (rows * (e + 2) + rows / IR_CUDA_HEAD_ROWS) * 4 + 4;
}

// Queries of a part that begins at `first`: what their gradient takes.
static void attention_part(walk *w, const syn_instr *in, int64_t first, int64_t n_q)
{
    const ir_node *n = &w->p->g->nodes.p[in->node];
    int q = in->in[1], k = in->in[2];
    int64_t b = dim(w, q, 0), hq = dim(w, q, 1), hk = dim(w, k, 1), e = dim(w, q, 3);
    int64_t n_k = dim(w, k, 2);
    bool causal = n->attr[ir_attr_index(n->op, "causal")].i, narrow;
    narrow = elem(w, q) == 2 && in->n_in < 7 && n->attr[ir_attr_index(n->op, "dropout")].f == 0 &&
             e % (IR_CUDA_VECTOR / 2) == 0 && e <= IR_CUDA_HEAD_WIDTH && e == dim(w, in->in[3], 3);
    if (causal && first + n_q <= n_k)
        n_k = first + n_q;
    else
        narrow &= !causal || first == 0;
    takes(w, b * hq * n_q * 4);
    if (narrow && hk && n_q >= IR_CUDA_HEAD_ROWS && n_k >= IR_CUDA_HEAD_ROWS)
        takes(w, syn_attention_room(b, hk, hq / hk, n_q, n_k, e));
    if (narrow && hk && (e == 64 || e == 128) && !syn_attention_ordered(hq / hk, n_q, n_k))
        takes(w, syn_heads_room(b * hq, n_q, e));
}

static void attention_bwd(walk *w, const syn_instr *in)
{
    int q = in->in[1];
    const syn_mesh *m = w->p->mesh;
    const syn_cut *cut = NULL;
    for (int a = 0; a < m->n_axes; a++) {
        const syn_axis_state *s = &tensor(w, q)->state.ax[a];
        if (s->kind == SYN_S && s->dim == 2) cut = &m->cuts.p[s->cut];
    }
    if (!cut) {
        attention_part(w, in, 0, dim(w, q, 2));
        return;
    }
    int64_t first = 0;
    for (int at = 0; at < cut->n; first += cut->table[at++]) {
        bool here = false;
        for (int r = 0; r < m->n_ranks && !here; r++)
            here = m->class_of[r] == w->c && syn_coord(m, r, cut->axis) == at;
        if (here && cut->table[at] > 0) attention_part(w, in, first, cut->table[at]);
    }
}

// Sums of as many columns that one kernel may do together with `in`, itself among them.
static int64_t sums_alike(const walk *w, const syn_instr *in)
{
    int64_t n = 0, y = last(w, in->out[0]);
    for (int i = 0; i < w->n_sums && n < IR_CUDA_MOST_SUMS; i++)
        n += last(w, w->sum[i]) == y;
    return n;
}

// A sum over leading dims that adds its rows in turn, without parts (cuda_adds_in_turn).
static bool adds_in_turn(const walk *w, const syn_instr *in)
{
    const ir_node *n = &w->p->g->nodes.p[in->node];
    int64_t cells = rows(w, in->out[0]) * last(w, in->out[0]);
    int64_t of = rows(w, in->in[0]) * last(w, in->in[0]);
    for (int d = 0; d < n->attr[0].n; d++)
        if (n->attr[0].v[d] != d) return false;
    return rank_of(w, in->out[0]) > 1 && cells >= IR_CUDA_ADDED_COLUMNS && of > cells &&
           of / cells <= IR_CUDA_ADDED_ROWS;
}

// Rows of both sides by expert, and where each expert's begin. On sm_90 rows of bf16 are gathered,
// from which place on each of their tiles is told by an entry of a list.
static void experts(walk *w, const syn_instr *in, bool dw)
{
    int x = in->in[0], y = dw ? in->in[2] : in->out[0], matrices = dw ? in->out[0] : in->in[2];
    int64_t held = dim(w, matrices, 0), n_rows = rows(w, y), k = last(w, x), n = last(w, y);
    int64_t lists =
        2 * round_up(n_rows * 4, COST_CUDA_ALIGN) + round_up((held + 1) * 4, COST_CUDA_ALIGN);
    if (elem(w, x) != 2) {
        takes(w, lists);
        return;
    }
    int64_t places = (n_rows / IR_CUDA_EXPERT_ROWS + held) * IR_CUDA_EXPERT_ROWS;
    int64_t pairs = dw ? held * ((k + IR_CUDA_EXPERT_PAIR - 1) / IR_CUDA_EXPERT_PAIR)
                       : n_rows / IR_CUDA_EXPERT_PAIR + held;
    int64_t across = (n + IR_CUDA_EXPERT_COLUMNS - 1) / IR_CUDA_EXPERT_COLUMNS;
    takes(w, lists + 2 * round_up(places * 4, COST_CUDA_ALIGN) + COST_CUDA_ALIGN +
                 round_up(pairs * across * IR_CUDA_EXPERT_ENTRY, COST_CUDA_ALIGN) +
                 round_up(places * k * 2, COST_CUDA_ALIGN) +
                 (dw ? round_up(places * n * 2, COST_CUDA_ALIGN) : 0));
}

static void op(walk *w, const syn_instr *in)
{
    const ir_node *n = &w->p->g->nodes.p[in->node];
    const ir_op_info *row = ir_op_of(n->op);
    bool view = row->flags & IR_ZERO_COPY && w->root && // as far as its operand is cut alike
                tensor(w, in->in[0])->bytes[w->c] == tensor(w, in->out[0])->bytes[w->c];
    if (view) w->root[in->out[0]] = w->root[in->in[0]];
    if (row->flags & IR_ZERO_COPY && meet(w, in->in[0], in->out[0])) return; // copies stay, too
    switch ((int)row->role) {
    case IR_ROLE_matmul:
        matmul(w, in, false, n->attr[0].i == 1);
        return;
    case IR_ROLE_matmul_dw:
        matmul(w, in, true, false);
        return;
    case IR_ROLE_loss:
        if (find(w, in->in[0])) {
            new_rows(w, in->out[0]);
            return;
        }
        break;
    case IR_ROLE_attention_bwd:
        attention_bwd(w, in);
        break;
    case IR_ROLE_scatter: { // four lists, sorted; where each row's run is
        int64_t list = round_up(rows(w, in->in[0]) * 4, COST_CUDA_ALIGN);
        takes(w, 5 * list + round_up(dim(w, in->out[0], 0) * 8, COST_CUDA_ALIGN) + COST_CUDA_SORT);
        break;
    }
    case IR_ROLE_parameters:
        takes(w, rows(w, in->in[0]) * 8 + 16 + 3 * IR_CUDA_COLUMN_PARTS * last(w, in->out[0]) * 4);
        break;
    case IR_ROLE_columns: { // with others beside it
        int64_t y = last(w, in->out[0]), cells = rows(w, in->out[0]) * y;
        int64_t parts = IR_CUDA_COLUMN_PARTS * y;
        int64_t one = (cells > parts ? cells : parts) * 4;
        if (adds_in_turn(w, in)) break;
        if (IR_CUDA_MOST_SUMS * one > w->work) takes(w, sums_alike(w, in) * one);
        break;
    }
    case IR_ROLE_square: // with others and what adds them up
        takes(w, ((IR_CUDA_MAX_CHAIN + 1) * IR_CUDA_NUMBER_PARTS + 1) * 8);
        break;
    case IR_ROLE_conv: {
        int64_t bytes = tensor(w, in->in[0])->bytes[w->c] + tensor(w, in->in[1])->bytes[w->c] +
                        tensor(w, in->out[0])->bytes[w->c];
        takes(w, IR_CUDA_CONV_TIMES * bytes + ((int64_t)IR_CUDA_CONV_ROOM << 20));
        break;
    }
    case IR_ROLE_experts:
    case IR_ROLE_experts_dw:
        experts(w, in, row->role == IR_ROLE_experts_dw);
        break;
    case IR_ROLE_mixture:
        takes(w, rows(w, in->out[0]) * last(w, in->out[0]) * 4);
        break;
    default:
        break;
    }
    for (int o = 0; o < in->n_out; o++)
        write_to(w, in->out[o]);
}

static void step(walk *w)
{
    for (int i = 0; i < w->n; i++)
        w->at[i].tensor = -1;
    for (int i = 0; i < w->p->instr.n; i++) {
        const syn_instr *in = &w->p->instr.p[i];
        for (int k = 0; w->root && k < w->n; k++)
            if (w->at[k].tensor >= 0 && w->until[w->root[w->at[k].tensor]] < i)
                w->at[k].tensor = -1;
        if (in->kind == SYN_OP) op(w, in);
        for (int o = 0; o < in->n_out && in->kind != SYN_OP && in->kind != SYN_WAIT; o++)
            write_to(w, in->out[o]);
        if (in->kind == SYN_START && in->scratch >= 0) write_to(w, in->scratch);
    }
}

// Of each tensor, itself, and its last use; views are found on the way.
static void without_places(hb_arena *a, const syn_program *p, walk *w)
{
    int *birth = HB_ARRAY(a, int, p->tensors.n + 1);
    w->until = HB_ARRAY(a, int, p->tensors.n + 1);
    w->root = HB_ARRAY(a, int, p->tensors.n + 1);
    syn_lifetimes(p, birth, w->until);
    for (int t = 0; t < p->tensors.n; t++)
        w->root[t] = t;
    for (int i = p->instr.n - 1; i >= 0; i--) { // a view's uses are its operand's
        const syn_instr *in = &p->instr.p[i];
        if (in->kind != SYN_OP) continue;
        if (!(ir_op_of(p->g->nodes.p[in->node].op)->flags & IR_ZERO_COPY)) continue;
        if (w->until[in->out[0]] > w->until[in->in[0]]) w->until[in->in[0]] = w->until[in->out[0]];
    }
}

static void find_sums(hb_arena *a, const syn_program *p, walk *w)
{
    w->sum = HB_ARRAY(a, int, p->instr.n + 1);
    for (int i = 0; i < p->instr.n; i++) {
        const syn_instr *in = &p->instr.p[i];
        if (in->kind != SYN_OP || in->n_out == 0) continue;
        if (ir_op_of(p->g->nodes.p[in->node].op)->role == IR_ROLE_columns)
            w->sum[w->n_sums++] = in->out[0];
    }
}

// The cuts that a program's states have.
static bool *cuts_of(hb_arena *a, const syn_program *p)
{
    bool *has = HB_ARRAY(a, bool, p->mesh->cuts.n + 1);
    for (int t = 0; t < p->tensors.n; t++)
        for (int x = 0; x < p->mesh->n_axes; x++)
            if (p->tensors.p[t].state.ax[x].kind == SYN_S)
                has[p->tensors.p[t].state.ax[x].cut] = true;
    return has;
}

// [class][cut] the largest part of a class's ranks; 0 of a cut that no state has.
static const int64_t *most_parts(hb_arena *a, const syn_program *p)
{
    const syn_mesh *m = p->mesh;
    int64_t *most = HB_ARRAY(a, int64_t, m->n_classes * m->cuts.n + 1);
    const bool *has = cuts_of(a, p);
    for (int k = 0; k < m->cuts.n; k++) {
        const syn_cut *cut = &m->cuts.p[k];
        for (int r = 0; r < m->n_ranks && has[k]; r++) {
            int64_t part = cut->table[syn_coord(m, r, cut->axis)];
            int64_t *of = &most[m->class_of[r] * m->cuts.n + k];
            if (part > *of) *of = part;
        }
    }
    return most;
}

static void fill(syn_program *p, bool placed)
{
    const syn_mesh *m = p->mesh;
    hb_arena *arena = hb_arena_new();
    const int64_t *most = most_parts(arena, p);
    for (int c = 0; c < m->n_classes; c++) {
        p->padded_bytes[c] = p->work_bytes[c] = 0;
        if (p->cluster->cls[m->cluster_class[c]].kind != CL_GPU) continue;
        walk w = {.p = p, .c = c, .cut = most + (size_t)c * m->cuts.n};
        w.work = IR_CUDA_NUMBER_PARTS * 8;
        find_sums(arena, p, &w);
        if (!placed) without_places(arena, p, &w);
        step(&w);
        if (placed) step(&w); // buffers stay, and others may take them
        for (int i = 0; i < w.n; i++)
            p->padded_bytes[c] += w.at[i].room;
        p->work_bytes[c] = w.work;
    }
    hb_arena_free(arena);
}

void syn_workspace_of_op(syn_costs *costs, int node, const syn_state *in, const syn_state *out,
                         int64_t *padded, int64_t *work)
{
    const syn_mesh *m = costs->mesh;
    const ir_node *n = &costs->g->nodes.p[node];
    hb_arena *a = hb_arena_new();
    syn_program *p = HB_NEW(a, syn_program);
    syn_instr op = {.kind = SYN_OP, .node = node, .n_in = n->n_in, .n_out = n->n_out};
    *p = (syn_program){.arena = a, .g = costs->g, .cluster = costs->m->cluster};
    p->mesh = hb_copy(a, m, sizeof *m);
    op.in = HB_ARRAY(a, int, n->n_in + 1);
    op.out = HB_ARRAY(a, int, n->n_out + 1);
    for (int i = 0; i < n->n_in + n->n_out; i++) { // each in a place of its own
        int t = i < n->n_in ? n->in[i] : n->out[i - n->n_in];
        const syn_state *s = i < n->n_in ? &in[i] : &out[i - n->n_in];
        syn_tensor x = {.value = t, .state = *s, .dtype = costs->g->tensors.p[t].dtype};
        syn_local_bytes(costs, t, s, x.bytes);
        for (int c = 0; c < m->n_classes; c++)
            x.off[c] = i == 0 ? 0 : p->tensors.p[i - 1].off[c] + p->tensors.p[i - 1].bytes[c];
        *(i < n->n_in ? &op.in[i] : &op.out[i - n->n_in]) = i;
        HB_PUSH(a, &p->tensors, x);
    }
    HB_PUSH(a, &p->instr, op);
    fill(p, true);
    for (int c = 0; c < m->n_classes; c++) {
        padded[c] = p->padded_bytes[c];
        work[c] = p->work_bytes[c];
    }
    hb_arena_free(a);
}

void syn_workspace(syn_program *p)
{
    fill(p, true);
}

void syn_workspace_expected(syn_program *p)
{
    fill(p, false);
}
