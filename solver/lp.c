#include "solver/lp.h"

#include <glpk.h>
#include <math.h>
#include <setjmp.h>
#include <string.h>

#include "solver/solver_limits.h"

// A program is kept as plain vectors; a glp_prob lives only inside one call, so that after GLPK
// aborted (longjmp out of its error hook) its whole environment can be dropped without invalidating
// anything of ours. GLPK's environment is per thread, and so is the hook.

typedef struct bound {
    hb_str name;
    double lo, hi, cost; // cost: columns only
} bound;

typedef struct term {
    int row, col;
    double coef;
} term;

struct lp {
    hb_arena *arena;
    HB_VEC(bound) col;
    HB_VEC(bound) row;
    HB_VEC(term) term;
    bool bad; // a NaN, or an infinity where a number belongs
    double *value, *dual, objective;
};

lp *lp_new(hb_arena *a)
{
    lp *p = HB_NEW(a, lp);
    p->arena = a;
    return p;
}

int lp_col(lp *p, const char *name, double lo, double hi, double cost)
{
    if (isnan(lo) || isnan(hi) || !isfinite(cost)) p->bad = true;
    HB_PUSH(p->arena, &p->col, (bound){hb_str_c(p->arena, name), lo, hi, cost});
    return p->col.n - 1;
}

int lp_row(lp *p, const char *name, double lo, double hi)
{
    if (isnan(lo) || isnan(hi)) p->bad = true;
    HB_PUSH(p->arena, &p->row, (bound){hb_str_c(p->arena, name), lo, hi, 0});
    return p->row.n - 1;
}

void lp_term(lp *p, int row, int col, double coef)
{
    hb_assert(row >= 0 && row < p->row.n && col >= 0 && col < p->col.n);
    if (!isfinite(coef)) p->bad = true;
    HB_PUSH(p->arena, &p->term, (term){row, col, coef});
}

// Bounds that no number meets; GLPK would call them an error of the program.
static bool crossed(const bound *b, int n)
{
    for (int i = 0; i < n; i++)
        if (b[i].lo > b[i].hi || (isinf(b[i].lo) && b[i].lo > 0) || (isinf(b[i].hi) && b[i].hi < 0))
            return true;
    return false;
}

static int bound_type(const bound *b)
{
    if (isinf(b->lo)) return isinf(b->hi) ? GLP_FR : GLP_UP;
    if (isinf(b->hi)) return GLP_LO;
    return b->lo < b->hi ? GLP_DB : GLP_FX;
}

// Terms by row with repeated ones added up, in GLPK's 1-based arrays.
static int merged_terms(const lp *p, hb_arena *scratch, int **row, int **col, double **coef)
{
    int n = p->term.n, kept = 0;
    int *start = HB_ARRAY(scratch, int, p->row.n + 1), *by_row = HB_ARRAY(scratch, int, n);
    int *at = HB_ARRAY(scratch, int, p->col.n); // 1-based place of a column in the present row
    *row = HB_ARRAY(scratch, int, n + 1);
    *col = HB_ARRAY(scratch, int, n + 1);
    *coef = HB_ARRAY(scratch, double, n + 1);
    for (int i = 0; i < n; i++)
        start[p->term.p[i].row + 1]++;
    for (int r = 0; r < p->row.n; r++)
        start[r + 1] += start[r];
    int *fill = hb_copy(scratch, start, sizeof(int) * (size_t)(p->row.n + 1));
    for (int i = 0; i < n; i++)
        by_row[fill[p->term.p[i].row]++] = i;
    for (int r = 0; r < p->row.n; r++) {
        int first = kept + 1;
        for (int k = start[r]; k < start[r + 1]; k++) {
            const term *t = &p->term.p[by_row[k]];
            if (at[t->col] >= first) {
                (*coef)[at[t->col]] += t->coef;
                continue;
            }
            kept++;
            at[t->col] = kept;
            (*row)[kept] = r + 1;
            (*col)[kept] = t->col + 1;
            (*coef)[kept] = t->coef;
        }
    }
    return kept;
}

static glp_prob *build(const lp *p, hb_arena *scratch)
{
    glp_prob *g = glp_create_prob();
    glp_set_obj_dir(g, GLP_MIN);
    if (p->row.n) glp_add_rows(g, p->row.n);
    if (p->col.n) glp_add_cols(g, p->col.n);
    for (int i = 0; i < p->row.n; i++) {
        const bound *b = &p->row.p[i];
        if (b->name.n && b->name.n <= LP_NAME_LENGTH) glp_set_row_name(g, i + 1, b->name.p);
        glp_set_row_bnds(g, i + 1, bound_type(b), b->lo, b->hi);
    }
    for (int i = 0; i < p->col.n; i++) {
        const bound *b = &p->col.p[i];
        if (b->name.n && b->name.n <= LP_NAME_LENGTH) glp_set_col_name(g, i + 1, b->name.p);
        glp_set_col_bnds(g, i + 1, bound_type(b), b->lo, b->hi);
        glp_set_obj_coef(g, i + 1, b->cost);
    }
    int *row, *col;
    double *coef;
    int n = merged_terms(p, scratch, &row, &col, &coef);
    if (n) glp_load_matrix(g, n, row, col, coef);
    return g;
}

static int quiet(void *info, const char *text)
{
    (void)info;
    (void)text;
    return 1; // nothing reaches the terminal
}

static void escape(void *info)
{
    longjmp(*(jmp_buf *)info, 1);
}

// GLPK aborts where there is no memory for its environment, unless it is made beforehand.
static bool have_glpk(void)
{
    return glp_init_env() <= 1; // 1: it is there
}

static void enter_glpk(jmp_buf *back)
{
    glp_error_hook(escape, back);
    glp_term_hook(quiet, NULL);
}

static void leave_glpk(void)
{
    glp_error_hook(NULL, NULL);
    glp_term_hook(NULL, NULL);
}

static lp_status status_of(glp_prob *g)
{
    switch (glp_get_status(g)) {
    case GLP_OPT:
        return LP_OPTIMAL;
    case GLP_NOFEAS:
        return LP_INFEASIBLE;
    case GLP_UNBND:
        return LP_UNBOUNDED;
    default:
        return LP_FAILED;
    }
}

static int size_of(glp_prob *g)
{
    return glp_get_num_rows(g) + glp_get_num_cols(g);
}

// How GLPK is to work. A simplex ends after a number of pivots that grows with the program: where
// values are degenerate to the last digit GLPK may go round in circles.
static glp_smcp method(glp_prob *g, int meth)
{
    glp_smcp how;
    glp_init_smcp(&how);
    how.msg_lev = GLP_MSG_OFF;
    how.meth = meth;
    how.it_lim = LP_PIVOTS_LEAST + LP_PIVOTS * size_of(g);
    return how;
}

static lp_status simplex(glp_prob *g, int meth)
{
    glp_smcp how = method(g, meth);
    glp_adv_basis(g, 0);
    return glp_simplex(g, &how) == 0 ? status_of(g) : LP_FAILED;
}

static lp_status exact(glp_prob *g)
{
    glp_smcp how = method(g, GLP_PRIMAL);
    glp_unscale_prob(g);
    glp_std_basis(g);
    return glp_exact(g, &how) == 0 ? status_of(g) : LP_FAILED;
}

// The primal simplex; where it fails numerically or does not end, the dual simplex, which takes
// another way; then exact arithmetic, if the program is small enough for it.
static lp_status optimize(glp_prob *g)
{
    glp_scale_prob(g, GLP_SF_AUTO);
    lp_status s = simplex(g, GLP_PRIMAL);
    if (s == LP_FAILED) s = simplex(g, GLP_DUALP);
    if (s == LP_FAILED && size_of(g) <= LP_EXACT) s = exact(g);
    return s;
}

static lp_status take(lp *p, glp_prob *g, lp_status s)
{
    if (s != LP_OPTIMAL) return s;
    p->value = HB_ARRAY(p->arena, double, p->col.n);
    p->dual = HB_ARRAY(p->arena, double, p->row.n);
    p->objective = glp_get_obj_val(g);
    bool finite = isfinite(p->objective);
    for (int i = 0; i < p->col.n; i++) {
        p->value[i] = glp_get_col_prim(g, i + 1);
        finite = finite && isfinite(p->value[i]);
    }
    for (int i = 0; i < p->row.n; i++) {
        p->dual[i] = glp_get_row_dual(g, i + 1);
        finite = finite && isfinite(p->dual[i]);
    }
    return finite ? LP_OPTIMAL : LP_FAILED;
}

lp_status lp_solve(lp *p)
{
    p->value = p->dual = NULL;
    if (p->bad) return LP_FAILED;
    if (crossed(p->col.p, p->col.n) || crossed(p->row.p, p->row.n)) return LP_INFEASIBLE;
    if (!have_glpk()) return LP_FAILED;
    hb_arena *scratch = hb_arena_new();
    volatile lp_status status = LP_FAILED;
    jmp_buf back;
    if (setjmp(back)) {
        glp_free_env(); // and with it the half-solved problem
        status = LP_FAILED;
    } else {
        enter_glpk(&back);
        glp_prob *g = build(p, scratch);
        status = take(p, g, optimize(g));
        glp_delete_prob(g);
        leave_glpk();
    }
    hb_arena_free(scratch);
    if (status != LP_OPTIMAL) p->value = p->dual = NULL;
    return status;
}

double lp_value(const lp *p, int col)
{
    hb_assert(p->value && col >= 0 && col < p->col.n);
    return p->value[col];
}

double lp_dual(const lp *p, int row)
{
    hb_assert(p->dual && row >= 0 && row < p->row.n);
    return p->dual[row];
}

double lp_objective(const lp *p)
{
    hb_assert(p->value);
    return p->objective;
}

bool lp_write(const lp *p, const char *path)
{
    if (p->bad || crossed(p->col.p, p->col.n) || crossed(p->row.p, p->row.n)) return false;
    if (!have_glpk()) return false;
    hb_arena *scratch = hb_arena_new();
    volatile bool done = false;
    jmp_buf back;
    if (setjmp(back)) {
        glp_free_env();
        done = false;
    } else {
        enter_glpk(&back);
        glp_prob *g = build(p, scratch);
        done = glp_write_lp(g, NULL, path) == 0;
        glp_delete_prob(g);
        leave_glpk();
    }
    hb_arena_free(scratch);
    return done;
}
