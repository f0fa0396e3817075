// What the planner takes as the end of a matmul (synth/price/endings.h) against what the list of a
// step joins to one (cuda/fuse/cuda_fuse_gated.h): plans of gated MLPs, call by call as lists, with
// every tensor at a place of its own. The kernel takes fewer than are joined: those are left to the
// calls' own kernels.

#include <check.h>
#include <string.h>

#include "cuda/fuse/cuda_passes.h"
#include "synth/price/endings.h"
#include "tests/support/gated_models.h"

// Buffer by buffer, one behind the other.
static hap_tensor *tensors_of(hb_arena *a, const syn_program *p)
{
    hap_tensor *t = HB_ARRAY(a, hap_tensor, p->tensors.n);
    char *at = hb_alloc(a, 1); // never read
    for (int i = 0; i < p->tensors.n; i++) {
        t[i].type = (hap_dtype)p->tensors.p[i].dtype;
        t[i].bytes = p->tensors.p[i].bytes[0];
        t[i].elements = t[i].bytes / ir_dtype_bytes(p->tensors.p[i].dtype);
        t[i].data = at;
        at += (t[i].bytes + 511) / 256 * 256;
    }
    return t;
}

static hap_op_call call_of(const syn_program *p, hap_tensor *t, const syn_instr *in)
{
    hap_op_call c = {
        .op = (hap_op_id)p->g->nodes.p[in->node].op, .n_out = in->n_out, .n_in = in->n_in};
    for (int i = 0; i < in->n_out; i++)
        c.out[i] = &t[in->out[i]];
    for (int i = 0; i < in->n_in; i++)
        c.in[i] = in->in[i] < 0 ? NULL : &t[in->in[i]];
    return c;
}

static void fusion_tensor(cuda_fusion *f, hap_tensor *t, bool made, bool kept)
{
    for (int k = 0; k < f->n_tensors; k++)
        if (f->tensor[k].t == t) return;
    f->tensor[f->n_tensors].t = t;
    f->tensor[f->n_tensors].read = !made;
    f->tensor[f->n_tensors].written = kept;
    f->tensor[f->n_tensors++].cast_of = -1;
}

static void add_fusion(hap_rank *r, cuda_record *c, const syn_program *p, hap_tensor *t,
                       const syn_fusion *g)
{
    cuda_fusion f = {.name = "k", .n_ops = g->len};
    hap_op_call op[SYN_MAX_FUSION];
    for (int m = 0; m < g->len; m++) {
        op[m] = call_of(p, t, &p->instr.p[g->first + m]);
        for (int i = 0; i < op[m].n_in; i++)
            fusion_tensor(&f, op[m].in[i], false, false);
        for (int o = 0; o < op[m].n_out; o++)
            fusion_tensor(&f, op[m].out[o], true, g->kept[m] >> o & 1);
    }
    cuda_record_fusion(r, c, &f, op);
}

static int joined(hap_rank *r, hb_arena *a, const syn_program *p)
{
    cuda_record c = {0};
    hap_tensor *t = tensors_of(a, p);
    int n = 0;
    for (int i = 0, k = 0; i < p->instr.n; i++) {
        ck_assert_int_eq(p->instr.p[i].kind, SYN_OP);
        if (k < p->fusions.n && p->fusions.p[k].first == i) {
            add_fusion(r, &c, p, t, &p->fusions.p[k]);
            i += p->fusions.p[k++].len - 1;
            continue;
        }
        hap_op_call op = call_of(p, t, &p->instr.p[i]);
        cuda_record_op(r, &c, &op);
    }
    cuda_fuse_gated(r, &c);
    for (int i = 0; i < c.n; i++)
        n += c.call[i].kind == CUDA_OP && c.call[i].chain == CUDA_GATED;
    cuda_record_free(&c);
    return n;
}

START_TEST(lists_join_as_planned)
{
    const gated_model *g = &gated_models[_i];
    hb_arena *a = hb_arena_new();
    hap_rank *r = HB_NEW(a, hap_rank);
    cost_model *m = gated_device(a, 90);
    syn_program *p = gated_plan(a, g, m);
    int n = joined(r, a, p), ends = 0;
    syn_endings e = syn_endings_of(a, p);
    for (int k = 0; k < p->fusions.n; k++)
        ends += syn_ends_matmul(p, &e, &p->fusions.p[k], 0);
    ck_assert_msg(n == ends + g->left, "%s: the list joins %d, the planner takes %d as joined",
                  g->what, n, ends);
    hb_arena_free(a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("gated plans");
    TCase *t = tcase_create("gated plans");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, lists_join_as_planned, 0, n_gated_models);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
