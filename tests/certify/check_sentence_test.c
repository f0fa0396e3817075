// What the checker says, word for word, of a small program and its edits; and the sharing of bytes
// that it must allow: an all-reduce in place, a view on its operand.

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "synth/certify/record.h"
#include "tests/support/graph_text.h"

// y = x w + b, contracted over the dim of 4 on two ranks.
static const char *const graph =
    "x: input f32 8 4\n w: param f32 4 6\n b: param f32 6\n"
    "y = linear(x, w, b)\n z = reshape(y) shape=48\n r = relu(z)\n q = neg(y)\n"
    "s = add(q, q)\n";

static const char *const base[] = {
    /* 0 */ "1 hap_init 'graph':'','ranks':2",
    /* 1 */ "2 hap_mesh 'sizes':[2]",
    /* 2 */ "3 hap_classes 'class_of_rank':[0,1],'class':0,'rank':0",
    /* 3 */ "4 hap_segments 'sym_bytes':8192,'local_bytes':[2048,2048]",
    /* 4 x */
    "5 hap_at 'id':0,'seg':'SEG_LOCAL','off':[0,0],'dtype':'f32','dims':[{'n':8},{'n':4,'outer':1,"
    "'inner':1,'axis':0,'table':[1,3]}]",
    /* 5 w */
    "6 hap_at 'id':1,'seg':'SEG_LOCAL','off':[256,256],'dtype':'f32','dims':[{'n':4,'outer':1,"
    "'inner':1,'axis':0,'table':[1,3]},{'n':6}]",
    /* 6 b */ "7 hap_at 'id':2,'seg':'SEG_LOCAL','off':[512,512],'dtype':'f32','dims':[{'n':6}]",
    /* 7 bp */ "8 hap_at 'id':3,'seg':'SEG_LOCAL','off':[768,768],'dtype':'f32','dims':[{'n':6}]",
    /* 8 y */ "9 hap_at 'id':4,'seg':'SEG_SYM','off':[0,0],'dtype':'f32','dims':[{'n':8},{'n':6}]",
    /* 9 z */ "10 hap_at 'id':5,'seg':'SEG_SYM','off':[0,0],'dtype':'f32','dims':[{'n':48}]",
    /* 10 r */
    "11 hap_at 'id':6,'seg':'SEG_LOCAL','off':[1024,1024],'dtype':'f32','dims':[{'n':48}]",
    /* 11 q */
    "12 hap_at 'id':7,'seg':'SEG_LOCAL','off':[1280,1280],'dtype':'f32','dims':[{'n':8},{'n':6}]",
    /* 12 s */
    "12 hap_at 'id':8,'seg':'SEG_LOCAL','off':[1280,1280],'dtype':'f32','dims':[{'n':8},{'n':6}]",
    /* 13 */ "13 hap_input 'name':'x','tensor':0",
    /* 14 */ "14 hap_param 'name':'w','tensor':1,'fill':'const','a':0,'b':0",
    /* 15 */ "15 hap_param 'name':'b','tensor':2,'fill':'const','a':0,'b':0",
    /* 16 */ "20 hap_next_step 'more':true",
    /* 17 */ "21 hap_partial 'axes':1,'out':[3],'in':[2]",
    /* 18 */ "22 op_linear 'out':[4],'in':[0,1,3],'attrs':[0]",
    /* 19 */
    "23 coll_all_reduce_start 'axes':1,'form':'FLAT','dst':[4],'src':[4],'scratch':null,'event':0,"
    "'stream':'communication'",
    /* 20 */ "24 hap_wait 'event':0",
    /* 21 */ "25 op_reshape 'out':[5],'in':[4],'attrs':[[48]]",
    /* 22 */ "26 op_neg 'out':[7],'in':[4],'attrs':[]",
    /* 23 */ "27 op_relu 'out':[6],'in':[5],'attrs':[]",
    /* 24 */ "28 op_add 'out':[8],'in':[7,7],'attrs':[]",
    /* 25 */ "30 hap_next_step 'more':false",
    /* 26 */ "31 hap_finish",
};
enum { N_LINES = sizeof base / sizeof *base };

static const struct {
    int line; // replaced by `with`, dropped if that is empty
    const char *with, *says;
} edits[] = {
    {26, "31 hap_finish", ""},
    // a sum over its operand, or beside it; over half of it; over what is read again
    {12,
     "12 hap_at 'id':8,'seg':'SEG_LOCAL','off':[1536,1536],'dtype':'f32','dims':[{'n':8},{'n':6}]",
     ""},
    {12,
     "12 hap_at 'id':8,'seg':'SEG_LOCAL','off':[1280,1536],'dtype':'f32','dims':[{'n':8},{'n':6}]",
     "program.c:28: op_add: output 0 shares bytes with operand 0"},
    {23, "27 op_add 'out':[8],'in':[7,7],'attrs':[]",
     "program.c:28: op_add: operand 0 was overwritten by program.c:27: op_add"},
    {17, "", "program.c:22: op_linear: operand 2 (tensor 3) holds nothing"},
    {18, "22 op_linear 'out':[4],'in':[0,1,2],'attrs':[0]",
     "program.c:22: op_linear: operand 2 (b) is R on axis 0, but the other terms are partial sums: it would be "
     "added once a rank"},
    {18, "22 op_linear 'out':[4],'in':[0,1],'attrs':[0]",
     "program.c:22: op_linear: is no node of the graph: 2 operands, node y has 3"},
    {18, "22 op_linear 'out':[4],'in':[0,1,3],'attrs':[1]",
     "program.c:22: op_linear: is no node of the graph: attribute trans is 1, node y has 0"},
    {19,
     "23 coll_all_reduce_max_start 'axes':1,'form':'FLAT','dst':[4],'src':[4],'scratch':null,'event':0,"
     "'stream':'communication'",
     "program.c:23: all_reduce (max): y (pair 0) goes from P(sum) to whole on axis 0, the call needs P(max) to R"},
    {19,
     "23 coll_all_gather_start 'axes':1,'form':'PADDED','dst':[4],'src':[4],'scratch':null,'event':0,"
     "'stream':'communication'",
     "program.c:23: all_gather: y (pair 0) goes from P(sum) to whole on axis 0, the call needs S to R"},
    {19,
     "23 coll_all_reduce_start 'axes':1,'form':'EVEN','dst':[4],'src':[4],'scratch':null,'event':0,"
     "'stream':'communication'",
     "program.c:23: all_reduce: has no form even"},
    {20, "",
     "program.c:25: op_reshape: operand 0 is not there yet: program.c:23: all_reduce has not been waited for"},
    {20, "24 hap_wait 'event':1",
     "program.c:24: hap_wait: event 1 was not started, or waited for already"},
    {21, "25 op_relu 'out':[5],'in':[4],'attrs':[]",
     "program.c:25: op_relu: is no node of the graph: operand 0 holds y, node r reads z"},
    {9, "10 hap_at 'id':5,'seg':'SEG_SYM','off':[4096,4096],'dtype':'f32','dims':[{'n':48}]", ""},
    {9, "10 hap_at 'id':5,'seg':'SEG_LOCAL','off':[768,768],'dtype':'f32','dims':[{'n':48}]", ""},
    {9, "10 hap_at 'id':5,'seg':'SEG_LOCAL','off':[512,512],'dtype':'f32','dims':[{'n':48}]",
     "program.c:15: end of the step: b was overwritten by program.c:25: op_reshape"},
    {10, "11 hap_at 'id':6,'seg':'SEG_LOCAL','off':[1000,1024],'dtype':'f32','dims':[{'n':48}]",
     "program.c: tensor 6: offset 1000 of class 0 is not a multiple of 256"},
    {10, "11 hap_at 'id':6,'seg':'SEG_SYM','off':[0,0],'dtype':'f32','dims':[{'n':48}]",
     "program.c:27: op_relu: output 0 shares bytes with operand 0"},
    {11, "12 hap_at 'id':7,'seg':'SEG_SYM','off':[0,0],'dtype':'f32','dims':[{'n':8},{'n':6}]",
     "program.c:26: op_neg: output 0 shares bytes with operand 0"},
    {8,
     "9 hap_at 'id':4,'seg':'SEG_SYM','off':[0,0],'dtype':'f32','dims':[{'n':8,'outer':1,'inner':1,'axis':0,"
     "'table':[4,4]},{'n':6}]",
     "program.c:22: op_linear: output 0 (y) is S(d0 even), another operand is cut on another factor"},
    {5, "6 hap_at 'id':1,'seg':'SEG_LOCAL','off':[256,256],'dtype':'f32','dims':[{'n':4},{'n':6}]",
     "program.c:22: op_linear: operand 1 (w) is R on axis 0, the op needs it cut as the others (by 1,3)"},
    {5,
     "6 hap_at 'id':1,'seg':'SEG_LOCAL','off':[256,256],'dtype':'f32','dims':[{'n':4,'outer':1,'inner':1,"
     "'axis':0,'table':[2,2]},{'n':6}]",
     "program.c:22: op_linear: operand 1 (w) is S(d0 even), another operand is cut by another table (by 1,3)"},
    {14, "14 hap_param 'name':'w','tensor':1,'fill':'normal','a':0,'b':1",
     "program.c:14: hap_param 'w': is filled by {1, 0, 1}, the graph says {0, 0, 0}"},
    {15, "", "program.c: b is not declared"},
    {0, "1 hap_init 'graph':'77ab','ranks':2",
     "program.c: hap_init names graph 77ab, this is graph "},
};

START_TEST(sentences)
{
    hb_arena *a = hb_arena_new();
    ir_graph *g = graph_text(a, graph);
    ir_factors *f = ir_factorize(a, g);
    hb_buf b = {.arena = a};
    for (int i = 0, n = 0; i < N_LINES; i++) {
        const char *line = i == edits[_i].line ? edits[_i].with : base[i];
        if (!*line) continue;
        char *rest = NULL, name[64];
        long number = strtol(line, &rest, 10);
        rest += strspn(rest, " ");
        size_t k = strcspn(rest, " ");
        ck_assert_uint_lt(k, sizeof name);
        memcpy(name, rest, k);
        name[k] = 0;
        rest += k + (rest[k] != 0);
        hb_printf(&b, "{\"i\":%d,\"line\":%ld,\"call\":\"%s\"%s", n++, number, name,
                  *rest ? "," : "");
        for (; *rest; rest++)
            hb_putc(&b, *rest == '\'' ? '"' : *rest);
        hb_puts(&b, "}\n");
    }
    char path[] = "/tmp/check_sentence.XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    FILE *out = fdopen(fd, "w");
    fwrite(b.p, 1, b.n, out);
    fclose(out);
    hb_diag *d = hb_diag_new(a);
    record *r = record_read(a, path, d);
    hb_diag_print(d, stderr);
    remove(path);
    ck_assert_ptr_nonnull(r);
    hb_str why;
    bool ok = syn_check(a, g, f, r, &why);
    ck_assert_str_eq(ok ? "" : why.p, edits[_i].says);
    hb_arena_free(a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("check_sentence");
    TCase *t = tcase_create("sentences");
    tcase_add_loop_test(t, sentences, 0, (int)(sizeof edits / sizeof *edits));
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed;
}
