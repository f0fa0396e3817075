// The contract of what CUDA joins (runtime/hap/joins.def) against the roles of the op table: the
// runtime looks for just the ops that the planner takes as joined.

#include <check.h>
#include <stdbool.h>
#include <string.h>

#include "ir/graph.h"

typedef struct row {
    int op, role;
    bool slope;
} row;

static const row rows[] = {
#define HAP_JOIN_OP(role, op) {IR_OP_##op, IR_ROLE_##role, false},
#include "runtime/hap/joins.def"
#define HAP_JOIN_SLOPE(op) {IR_OP_##op, IR_ROLE_gradient, true},
#include "runtime/hap/joins.def"
#define HAP_JOIN_UPDATE(op, places) {IR_OP_##op, IR_ROLE_update, false},
#include "runtime/hap/joins.def"
};
enum { N_ROWS = sizeof rows / sizeof *rows };

// Roles that say nothing of joins.
static bool no_join(int role)
{
    return role == IR_ROLE_none || role == IR_ROLE_mixture || role == IR_ROLE_experts ||
           role == IR_ROLE_experts_dw || role == IR_ROLE_conv;
}

START_TEST(ops_have_their_roles)
{
    for (int i = 0; i < N_ROWS; i++) {
        const ir_op_info *op = ir_op_of((ir_op)rows[i].op);
        ck_assert_msg((int)op->role == rows[i].role, "%s has another role in ops.def", op->name);
        if (rows[i].role != IR_ROLE_gradient) continue;
        // A slope is made element by element, the gradient of a norm by whole rows.
        ck_assert_msg(rows[i].slope == !(op->flags & IR_ROWS), "%s", op->name);
    }
}
END_TEST

START_TEST(roles_have_their_ops)
{
    for (int op = 0; op < IR_N_OPS; op++) {
        int n = 0;
        for (int i = 0; i < N_ROWS; i++)
            n += rows[i].op == op;
        bool joins = !no_join((int)ir_op_of((ir_op)op)->role);
        ck_assert_msg(n == joins, "%s stands in joins.def %d times", ir_op_of((ir_op)op)->name, n);
    }
}
END_TEST

START_TEST(updates_write_in_place)
{
    static const struct {
        int op, places;
    } update[] = {
#define HAP_JOIN_UPDATE(op, places) {IR_OP_##op, places},
#include "runtime/hap/joins.def"
    };
    for (size_t i = 0; i < sizeof update / sizeof *update; i++)
        ck_assert_int_eq(ir_op_of((ir_op)update[i].op)->n_out, update[i].places);
}
END_TEST

START_TEST(joined_roles_have_ops)
{
    static const int joined[] = {
#define HAP_JOIN(role, plan, left) IR_ROLE_##role,
#include "runtime/hap/joins.def"
    };
    for (size_t k = 0; k < sizeof joined / sizeof *joined; k++) {
        bool found = false;
        for (int i = 0; i < N_ROWS; i++)
            found |= rows[i].role == joined[k];
        ck_assert_msg(found, "role %d is joined, and no op has it", joined[k]);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("joins");
    TCase *t = tcase_create("joins");
    tcase_add_test(t, ops_have_their_roles);
    tcase_add_test(t, roles_have_their_ops);
    tcase_add_test(t, updates_write_in_place);
    tcase_add_test(t, joined_roles_have_ops);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
