#include "ir/factor_atoms.h"

typedef struct {
    int64_t size;
    int parent;       // itself: a root
    int major, minor; // of a root: -1 if it is a leaf
    int first, last;  // of a leaf: uses, as a list; -1 none
} atom;

typedef struct {
    int guard, next; // guard: index in `guards` of a tensor with a dim that holds the leaf
} use;

struct ir_atoms {
    hb_arena *arena;
    HB_VEC(atom) v;
    HB_VEC(int) guards; // rank, atoms …, rank, atoms …
    HB_VEC(use) uses;
};

ir_atoms *ir_atoms_new(hb_arena *a)
{
    ir_atoms *s = HB_NEW(a, ir_atoms);
    s->arena = a;
    return s;
}

int ir_atom(ir_atoms *s, int64_t size)
{
    hb_assert(size > 1);
    int id = s->v.n;
    HB_PUSH(s->arena, &s->v, (atom){size, id, -1, -1, -1, -1});
    return id;
}

int ir_atoms_count(const ir_atoms *s)
{
    return s->v.n;
}

static int ir_atom_root(const ir_atoms *s, int i)
{
    while (s->v.p[i].parent != i) {
        s->v.p[i].parent = s->v.p[s->v.p[i].parent].parent; // path halving
        i = s->v.p[i].parent;
    }
    return i;
}

int64_t ir_atom_size(const ir_atoms *s, int i)
{
    return s->v.p[i].size;
}

void ir_atom_leaves(const ir_atoms *s, int i, ir_leaves *out)
{
    i = ir_atom_root(s, i);
    if (s->v.p[i].major < 0) {
        hb_assert(out->n < IR_MAX_LEAVES);
        out->atom[out->n++] = i;
        return;
    }
    ir_atom_leaves(s, s->v.p[i].major, out);
    ir_atom_leaves(s, s->v.p[i].minor, out);
}

static int count_leaves(const ir_atoms *s, int i)
{
    i = ir_atom_root(s, i);
    if (s->v.p[i].major < 0) return 1;
    return count_leaves(s, s->v.p[i].major) + count_leaves(s, s->v.p[i].minor);
}

static void add_use(ir_atoms *s, int leaf, int guard)
{
    atom *a = &s->v.p[leaf];
    if (a->first < 0)
        a->first = s->uses.n;
    else
        s->uses.p[a->last].next = s->uses.n;
    a->last = s->uses.n;
    HB_PUSH(s->arena, &s->uses, (use){guard, -1});
}

void ir_atoms_guard(ir_atoms *s, int rank, const int *atoms)
{
    int at = s->guards.n;
    HB_PUSH(s->arena, &s->guards, rank);
    for (int i = 0; i < rank; i++) {
        HB_PUSH(s->arena, &s->guards, atoms[i]);
        if (atoms[i] < 0) continue;
        ir_leaves l = {0};
        ir_atom_leaves(s, atoms[i], &l);
        for (int k = 0; k < l.n; k++)
            add_use(s, l.atom[k], at);
    }
}

// Of the tensors that hold an atom.
static bool within_limits(const ir_atoms *s, int held)
{
    for (int u = s->v.p[held].first; u >= 0; u = s->uses.p[u].next) {
        int sum = 0, i = s->uses.p[u].guard;
        for (int d = 0; d < s->guards.p[i]; d++) {
            int a = s->guards.p[i + 1 + d];
            int n = a < 0 ? 1 : count_leaves(s, a);
            if (n > IR_MAX_FACTORS) return false;
            sum += n;
        }
        if (sum > IR_MAX_TENSOR_FACTORS) return false;
    }
    return true;
}

// Splits a leaf into major x rest; refused if some tensor would get too many factors.
static bool split(ir_atoms *s, int leaf, int64_t major)
{
    int hi = ir_atom(s, major), lo = ir_atom(s, s->v.p[leaf].size / major);
    s->v.p[leaf].major = hi;
    s->v.p[leaf].minor = lo;
    if (!within_limits(s, leaf)) {
        s->v.p[leaf].major = s->v.p[leaf].minor = -1;
        return false;
    }
    for (int u = s->v.p[leaf].first; u >= 0; u = s->uses.p[u].next) {
        add_use(s, hi, s->uses.p[u].guard);
        add_use(s, lo, s->uses.p[u].guard);
    }
    return true;
}

static void unite(ir_atoms *s, int a, int b) // two leaves
{
    int lo = a < b ? a : b, hi = a < b ? b : a;
    atom *x = &s->v.p[lo], *y = &s->v.p[hi];
    y->parent = lo;
    if (y->first < 0) return;
    if (x->first < 0)
        x->first = y->first;
    else
        s->uses.p[x->last].next = y->first;
    x->last = y->last;
}

static int64_t gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t t = a % b;
        a = b;
        b = t;
    }
    return a;
}

static void leaves_of(const ir_atoms *s, int n, const int *atoms, ir_leaves *out)
{
    out->n = 0;
    for (int i = 0; i < n; i++)
        if (atoms[i] >= 0) ir_atom_leaves(s, atoms[i], out);
}

// Moves both indices past a run without a common boundary inside.
static void skip_run(const ir_atoms *s, const ir_leaves *a, int *i, const ir_leaves *b, int *j)
{
    int64_t pa = s->v.p[a->atom[*i]].size, pb = s->v.p[b->atom[*j]].size;
    while (pa != pb) {
        if (pa < pb)
            pa *= s->v.p[a->atom[++*i]].size;
        else
            pb *= s->v.p[b->atom[++*j]].size;
        hb_assert(*i < a->n && *j < b->n);
    }
    ++*i;
    ++*j;
}

// One walk: true if a leaf was split (the sequences must be taken afresh).
static bool walk(ir_atoms *s, const ir_leaves *a, const ir_leaves *b, bool *changed)
{
    int i = 0, j = 0;
    while (i < a->n && j < b->n) {
        int x = ir_atom_root(s, a->atom[i]), y = ir_atom_root(s, b->atom[j]);
        int64_t nx = s->v.p[x].size, ny = s->v.p[y].size, g = gcd(nx, ny);
        if (nx == ny) {
            if (x != y) {
                unite(s, x, y);
                *changed = true;
            }
            i++;
            j++;
        } else if (g > 1 && (nx == g || split(s, x, g)) && (ny == g || split(s, y, g))) {
            *changed = true;
            return true;
        } else if (g > 1 && s->v.p[x].major >= 0) { // x was split, y could not be
            *changed = true;
            return true;
        } else {
            skip_run(s, a, &i, b, &j);
        }
    }
    hb_assert(i == a->n && j == b->n);
    return false;
}

bool ir_align(ir_atoms *s, int na, const int *a, int nb, const int *b)
{
    bool changed = false, again = true;
    while (again) {
        ir_leaves la, lb;
        leaves_of(s, na, a, &la);
        leaves_of(s, nb, b, &lb);
        again = walk(s, &la, &lb, &changed);
    }
    return changed;
}

void ir_match(const ir_atoms *s, const ir_leaves *a, const ir_leaves *b, int *pair)
{
    int i = 0, j = 0;
    for (int k = 0; k < a->n; k++)
        pair[k] = -1;
    while (i < a->n && j < b->n) {
        if (a->atom[i] == b->atom[j])
            pair[i++] = j++;
        else
            skip_run(s, a, &i, b, &j);
    }
    hb_assert(i == a->n && j == b->n);
}
