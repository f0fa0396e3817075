#include "solver/lp.h"

#include <check.h>
#include <glpk.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static hb_arena *arena;

static void setup(void)
{
    arena = hb_arena_new();
}

static void teardown(void)
{
    hb_arena_free(arena);
}

static uint64_t state = 1;

static int draw(int below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((uint32_t)(state >> 33) % (uint32_t)below);
}

// --- oracles: a small dense program  min c x,  A x <= b,  0 <= x <= u ---
enum { COLS = 3, ROWS = 4 };
typedef struct dense {
    double c[COLS], a[ROWS][COLS], b[ROWS], u[COLS];
} dense;

static dense random_dense(void)
{
    dense p;
    for (int j = 0; j < COLS; j++) {
        p.c[j] = draw(21) - 10;
        p.u[j] = draw(4) ? draw(10) : HUGE_VAL;
    }
    for (int i = 0; i < ROWS; i++) {
        p.b[i] = draw(25) - 6;
        for (int j = 0; j < COLS; j++)
            p.a[i][j] = draw(11) - 4;
    }
    return p;
}

static lp *program_of(const dense *p)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    lp *q = lp_new(arena);
    for (int j = 0; j < COLS; j++)
        lp_col(q, names[j], 0, p->u[j], p->c[j]);
    for (int i = 0; i < ROWS; i++) {
        lp_row(q, names[i], -HUGE_VAL, p->b[i]);
        for (int j = 0; j < COLS; j++) { // in two terms
            lp_term(q, i, j, p->a[i][j] - 1);
            lp_term(q, i, j, 1);
        }
    }
    return q;
}

// The same by GLPK's exact simplex (rational arithmetic).
static lp_status exactly(const dense *p, double *objective)
{
    glp_term_out(GLP_OFF);
    glp_prob *g = glp_create_prob();
    int row[ROWS * COLS + 1], col[ROWS * COLS + 1], n = 0;
    double coef[ROWS * COLS + 1];
    glp_add_cols(g, COLS);
    glp_add_rows(g, ROWS);
    for (int j = 0; j < COLS; j++) {
        int type = isinf(p->u[j]) ? GLP_LO : p->u[j] > 0 ? GLP_DB : GLP_FX;
        glp_set_col_bnds(g, j + 1, type, 0, p->u[j]);
        glp_set_obj_coef(g, j + 1, p->c[j]);
    }
    for (int i = 0; i < ROWS; i++) {
        glp_set_row_bnds(g, i + 1, GLP_UP, 0, p->b[i]);
        for (int j = 0; j < COLS; j++) {
            n++;
            row[n] = i + 1;
            col[n] = j + 1;
            coef[n] = p->a[i][j];
        }
    }
    glp_load_matrix(g, n, row, col, coef);
    glp_smcp how;
    glp_init_smcp(&how);
    how.msg_lev = GLP_MSG_OFF;
    ck_assert_int_eq(glp_exact(g, &how), 0);
    int s = glp_get_status(g);
    *objective = glp_get_obj_val(g);
    glp_delete_prob(g);
    return s == GLP_OPT ? LP_OPTIMAL : s == GLP_UNBND ? LP_UNBOUNDED : LP_INFEASIBLE;
}

static bool feasible(const dense *p, const double *x)
{
    for (int j = 0; j < COLS; j++)
        if (x[j] < -1e-7 || x[j] > p->u[j] + 1e-7) return false;
    for (int i = 0; i < ROWS; i++) {
        double sum = 0;
        for (int j = 0; j < COLS; j++)
            sum += p->a[i][j] * x[j];
        if (sum > p->b[i] + 1e-7) return false;
    }
    return true;
}

// The k-th of all planes: a row, x_j = 0, x_j = u_j.
static void plane(const dense *p, int k, double *w, double *rhs)
{
    for (int j = 0; j < COLS; j++)
        w[j] = k < ROWS ? p->a[k][j] : (k - ROWS) % COLS == j;
    *rhs = k < ROWS ? p->b[k] : k < ROWS + COLS ? 0 : p->u[k - ROWS - COLS];
}

static double det(const double *a, const double *b, const double *c)
{
    return a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0]) +
           a[2] * (b[0] * c[1] - b[1] * c[0]);
}

// Least cost over all feasible vertices; +inf if there is none.
static double best_vertex(const dense *p)
{
    enum { PLANES = ROWS + 2 * COLS };
    double best = HUGE_VAL, w[3][3], r[3];
    for (int i = 0; i < PLANES; i++)
        for (int j = i + 1; j < PLANES; j++)
            for (int k = j + 1; k < PLANES; k++) {
                int which[3] = {i, j, k};
                for (int m = 0; m < 3; m++)
                    plane(p, which[m], w[m], &r[m]);
                double d = det(w[0], w[1], w[2]), x[3], cost = 0;
                if (fabs(d) < 1e-9 || isinf(r[0]) || isinf(r[1]) || isinf(r[2])) continue;
                for (int c = 0; c < 3; c++) { // Cramer
                    double v[3][3];
                    for (int m = 0; m < 3; m++)
                        for (int q = 0; q < 3; q++)
                            v[m][q] = q == c ? r[m] : w[m][q];
                    x[c] = det(v[0], v[1], v[2]) / d;
                    cost += p->c[c] * x[c];
                }
                if (feasible(p, x) && cost < best) best = cost;
            }
    return best;
}

START_TEST(random_programs_equal_exact_and_brute_force)
{
    int seen[3] = {0};
    for (int round = 0; round < 500; round++) {
        dense p = random_dense();
        double exact;
        lp *q = program_of(&p);
        lp_status got = lp_solve(q), want = exactly(&p, &exact);
        ck_assert_int_eq(got, want);
        ck_assert_int_le(got, LP_UNBOUNDED);
        seen[got]++;
        if (got != LP_OPTIMAL) {
            if (got == LP_INFEASIBLE) ck_assert(isinf(best_vertex(&p)));
            continue;
        }
        double x[COLS], dual_value = 0;
        for (int j = 0; j < COLS; j++)
            x[j] = lp_value(q, j);
        ck_assert(feasible(&p, x));
        ck_assert_double_eq_tol(lp_objective(q), exact, 1e-7);
        ck_assert_double_eq_tol(lp_objective(q), best_vertex(&p), 1e-6);
        // Strong duality: b y + sum over columns of u min(0, c - A'y).
        for (int i = 0; i < ROWS; i++) {
            ck_assert_double_le(lp_dual(q, i), 1e-9);
            dual_value += p.b[i] * lp_dual(q, i);
        }
        for (int j = 0; j < COLS; j++) {
            double reduced = p.c[j];
            for (int i = 0; i < ROWS; i++)
                reduced -= p.a[i][j] * lp_dual(q, i);
            if (reduced < -1e-9) dual_value += p.u[j] * reduced;
        }
        ck_assert_double_eq_tol(dual_value, lp_objective(q), 1e-6);
    }
    for (int s = 0; s < 3; s++)
        ck_assert_int_ge(seen[s], 10);
}
END_TEST

// Stage time T over two ranks of speed 3 and 1: shares 3/4, 1/4; the duals of the stage sum to 1.
START_TEST(duals_of_a_stage_sum_to_its_multiplicity)
{
    lp *p = lp_new(arena);
    int t = lp_col(p, "T", 0, HUGE_VAL, 5), a = lp_col(p, "fast", 0, 1, 0);
    int b = lp_col(p, "slow", 0, 1, 0), all = lp_row(p, "shares", 1, 1);
    int ra = lp_row(p, "fast.stage", -HUGE_VAL, -0.25), rb = lp_row(p, "slow.stage", -HUGE_VAL, 0);
    lp_term(p, all, a, 1);
    lp_term(p, all, b, 1);
    lp_term(p, ra, a, 1.0 / 3);
    lp_term(p, ra, t, -1);
    lp_term(p, rb, b, 1);
    lp_term(p, rb, t, -1);
    ck_assert_int_eq(lp_solve(p), LP_OPTIMAL);
    ck_assert_double_eq_tol(lp_value(p, a), 0.5625, 1e-9); // a / 3 + 1 / 4 = b
    ck_assert_double_eq_tol(lp_value(p, b), 0.4375, 1e-9);
    ck_assert_double_eq_tol(lp_objective(p), 5 * 0.4375, 1e-9);
    ck_assert_double_eq_tol(lp_dual(p, ra) + lp_dual(p, rb), -5, 1e-9);
    ck_assert_double_eq_tol(lp_dual(p, ra), 3 * lp_dual(p, rb), 1e-9);
}
END_TEST

START_TEST(nan_and_infinite_numbers_fail)
{
    for (int k = 0; k < 6; k++) {
        lp *p = lp_new(arena);
        lp_col(p, "x", k == 0 ? nan("") : 0, k == 1 ? nan("") : 1, k == 2 ? HUGE_VAL : 1);
        lp_row(p, "r", k == 3 ? nan("") : 0, 1);
        lp_term(p, 0, 0, k == 4 ? nan("") : k == 5 ? HUGE_VAL : 1);
        ck_assert_int_eq(lp_solve(p), LP_FAILED);
        ck_assert(!lp_write(p, "/dev/null"));
    }
}
END_TEST

START_TEST(crossed_bounds_are_infeasible)
{
    lp *p = lp_new(arena), *q = lp_new(arena), *r = lp_new(arena);
    lp_col(p, "x", 2, 1, 0);
    ck_assert_int_eq(lp_solve(p), LP_INFEASIBLE);
    lp_col(q, "x", HUGE_VAL, HUGE_VAL, 0);
    ck_assert_int_eq(lp_solve(q), LP_INFEASIBLE);
    lp_col(r, "x", 0, 1, 0);
    lp_row(r, "r", 0, -HUGE_VAL);
    ck_assert_int_eq(lp_solve(r), LP_INFEASIBLE);
}
END_TEST

START_TEST(programs_without_rows_or_columns)
{
    lp *p = lp_new(arena), *q = lp_new(arena), *r = lp_new(arena);
    ck_assert_int_eq(lp_solve(p), LP_OPTIMAL);
    int x = lp_col(q, "x", 3, 4, 2);
    ck_assert_int_eq(lp_solve(q), LP_OPTIMAL);
    ck_assert_double_eq(lp_value(q, x), 3);
    lp_row(r, "impossible", 1, 2);
    ck_assert_int_eq(lp_solve(r), LP_INFEASIBLE);
}
END_TEST

// Solving again after more rows, and after a failed attempt, starts afresh.
START_TEST(a_program_can_grow)
{
    lp *p = lp_new(arena);
    int x = lp_col(p, "x", 0, HUGE_VAL, -1);
    ck_assert_int_eq(lp_solve(p), LP_UNBOUNDED);
    int r = lp_row(p, "cap", -HUGE_VAL, 7);
    lp_term(p, r, x, 2);
    ck_assert_int_eq(lp_solve(p), LP_OPTIMAL);
    ck_assert_double_eq_tol(lp_value(p, x), 3.5, 1e-12);
    ck_assert_double_eq_tol(lp_dual(p, r), -0.5, 1e-12);
}
END_TEST

// GLPK aborts on an unknown symbol in a name; that must come back as a status, and the next program
// must work.
START_TEST(an_abort_of_glpk_is_caught)
{
    lp *p = lp_new(arena), *q = lp_new(arena);
    lp_col(p, "a\tcontrol character", 0, 1, 1);
    ck_assert_int_eq(lp_solve(p), LP_FAILED);
    int x = lp_col(q, "x", 1, 2, 1);
    ck_assert_int_eq(lp_solve(q), LP_OPTIMAL);
    ck_assert_double_eq(lp_value(q, x), 1);
}
END_TEST

static void bounds_of(FILE *f, double *lo, double *hi)
{
    ck_assert_int_eq(fscanf(f, "%lf %lf", lo, hi), 2);
}

static int type_of(double lo, double hi)
{
    return lo == hi ? GLP_FX : isinf(lo) ? GLP_UP : isinf(hi) ? GLP_LO : GLP_DB;
}

// A program and the same for GLPK. The file: rows, columns; lo and hi of every row; lo, hi and cost
// of every column; of every row the number of its terms, then column (from 1) and coefficient.
static lp *read_program(FILE *f, glp_prob *g)
{
    enum { MOST = 100 };
    int n_rows, n_cols, n, col[MOST + 1];
    double lo, hi, coef[MOST + 1];
    lp *p = lp_new(arena);
    ck_assert_int_eq(fscanf(f, "%d %d", &n_rows, &n_cols), 2);
    glp_add_rows(g, n_rows);
    glp_add_cols(g, n_cols);
    for (int i = 0; i < n_rows; i++) {
        bounds_of(f, &lo, &hi);
        lp_row(p, "row", lo, hi);
        glp_set_row_bnds(g, i + 1, type_of(lo, hi), lo, hi);
    }
    for (int j = 0; j < n_cols; j++) {
        bounds_of(f, &lo, &hi);
        ck_assert_int_eq(fscanf(f, "%lf", coef), 1);
        lp_col(p, "column", lo, hi, coef[0]);
        glp_set_col_bnds(g, j + 1, type_of(lo, hi), lo, hi);
        glp_set_obj_coef(g, j + 1, coef[0]);
    }
    for (int i = 0; i < n_rows; i++) {
        ck_assert(fscanf(f, "%d", &n) == 1 && n <= MOST);
        for (int k = 1; k <= n; k++) {
            ck_assert_int_eq(fscanf(f, "%d %lf", &col[k], &coef[k]), 2);
            lp_term(p, i, col[k] - 1, coef[k]);
        }
        glp_set_mat_row(g, i + 1, n, col, coef);
    }
    return p;
}

// The ratio LP of 16 unlike branches on clusters/laptop2x2.yaml, less every row and column without
// which GLPK 5.0's primal simplex ends: on what is left it goes round in circles (200,000 pivots).
START_TEST(a_program_on_which_the_primal_simplex_cycles_is_solved)
{
    FILE *f = fopen("tests/solver/cycling_lp.txt", "r");
    ck_assert_ptr_nonnull(f);
    glp_prob *g = glp_create_prob();
    lp *p = read_program(f, g);
    fclose(f);
    ck_assert_int_eq(lp_solve(p), LP_OPTIMAL);
    glp_smcp how;
    glp_init_smcp(&how);
    glp_term_out(GLP_OFF);
    ck_assert_int_eq(glp_exact(g, &how), 0);
    double best = glp_get_obj_val(g);
    ck_assert_double_eq_tol(lp_objective(p), best, 1e-8 * best);
    glp_delete_prob(g);
}
END_TEST

START_TEST(names_are_written)
{
    char path[] = "/tmp/hap-lp-XXXXXX";
    const char *why;
    hb_str text;
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    close(fd);
    lp *p = lp_new(arena);
    int x = lp_col(p, "share.rank2", 0, 1, 1), r = lp_row(p, "rank2.matmul_7", 0.5, HUGE_VAL);
    lp_term(p, r, x, 1);
    ck_assert(lp_write(p, path));
    ck_assert(hb_read_file(arena, path, &text, &why));
    ck_assert(hb_glob(HB_STR("*rank2.matmul_7*share.rank2*"), text));
    unlink(path);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("lp");
    TCase *c = tcase_create("lp");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 60);
    tcase_add_test(c, random_programs_equal_exact_and_brute_force);
    tcase_add_test(c, duals_of_a_stage_sum_to_its_multiplicity);
    tcase_add_test(c, nan_and_infinite_numbers_fail);
    tcase_add_test(c, crossed_bounds_are_infeasible);
    tcase_add_test(c, programs_without_rows_or_columns);
    tcase_add_test(c, a_program_can_grow);
    tcase_add_test(c, an_abort_of_glpk_is_caught);
    tcase_add_test(c, a_program_on_which_the_primal_simplex_cycles_is_solved);
    tcase_add_test(c, names_are_written);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed;
}
