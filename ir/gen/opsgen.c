// Prints what others need of ops.def, to stdout:
//
//     opsgen header   hap/ops.h         one prototype an op
//     opsgen points   hap/pointwise.h   values of pointwise ops, for CPU and CUDA
//     opsgen calls    op_calls.c        the functions: pack arguments, dispatch
//     opsgen user     (a test)          what a graph file may say, to compare with the exporter's
//
// CMake runs it (runtime/CMakeLists.txt); what it prints stays in the build folder.

#include <stdio.h>
#include <string.h>

#include "ir/formula.h"

static const char *const outs[IR_MAX_OUT] = {"y", "y1", "y2", "y3", "y4", "y5", "y6", "y7"};
static const char *const ins[IR_MAX_IN] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};

static const char *in_name(const ir_op_info *r, int i)
{
    hb_assert(i >= 0 && i < IR_MAX_IN);
    return r->max_in == 1 ? "x" : ins[i];
}

// Appends words to a line of C, breaking at 100 columns under a hanging indent.
typedef struct {
    int col, indent, limit;
    bool first;
} words;

static void word(words *w, const char *text)
{
    int n = (int)strlen(text);
    if (!w->first) {
        if (w->col + 1 + n > w->limit) {
            printf("\n%*s", w->indent, "");
            w->col = w->indent;
        } else {
            putchar(' ');
            w->col++;
        }
    }
    fputs(text, stdout);
    w->col += n;
    w->first = false;
}

static void comment(const char *text)
{
    words w = {3, 3, 98, true};
    char piece[128];
    fputs("// ", stdout);
    while (*text) {
        size_t n = strcspn(text, " ");
        hb_assert(n < sizeof piece);
        memcpy(piece, text, n);
        piece[n] = 0;
        if (!w.first && w.col + 1 + (int)n > 98) {
            fputs("\n// ", stdout);
            w.col = 3;
            w.first = true;
        }
        word(&w, piece);
        text += n;
        text += strspn(text, " ");
    }
    putchar('\n');
}

// .note, or .text without the marks of attributes and what .note adds to it.
static void meaning(const ir_op_info *r)
{
    char text[1024];
    size_t n = 0;
    bool whole = r->note && r->note[0] != ';';
    for (const char *p = whole || !r->text ? "" : r->text; *p && n + 2 < sizeof text; p++)
        if (*p != '%') text[n++] = *p;
    snprintf(text + n, sizeof text - n, "%s", r->note ? r->note : n ? "." : "");
    if (*text) comment(text);
}

static const char *attr_type(ir_attr_kind k)
{
    switch (k) {
    case IR_ATTR_INT:
        return "int64_t ";
    case IR_ATTR_REAL:
        return "double ";
    case IR_ATTR_BOOL:
        return "bool ";
    case IR_ATTR_DTYPE:
        return "hap_dtype ";
    case IR_ATTR_INTS:
        return "hap_ints ";
    }
    return "";
}

// void op_NAME(hap_rank *r, …) without what follows; `open` is "void op_add(" or "void (op_add)(".
static void signature(const ir_op_info *r, const char *open, const char *end)
{
    char text[80];
    words w = {(int)strlen(open), (int)strlen(open), 100, true};
    fputs(open, stdout);
    word(&w, "hap_rank *r,");
    // The list of the rest, so that the last one knows it is last.
    struct {
        const char *type, *name;
    } arg[IR_MAX_IN + IR_MAX_OUT + IR_MAX_ATTR];
    int n = 0;
    if (r->list_out) {
        arg[n].type = "int ", arg[n++].name = "n";
        arg[n].type = "hap_tensor *const *", arg[n++].name = "ys";
    } else if (!(r->flags & IR_IN_PLACE)) {
        for (int i = 0; i < r->n_out; i++)
            arg[n].type = "hap_tensor *", arg[n++].name = outs[i];
    }
    if (r->list_in) {
        arg[n].type = "int ", arg[n++].name = "n";
        arg[n].type = "hap_tensor *const *", arg[n++].name = "xs";
    } else {
        for (int i = 0; i < r->max_in; i++)
            arg[n].type = "hap_tensor *", arg[n++].name = in_name(r, i);
    }
    for (int i = 0; i < r->n_attr; i++)
        arg[n].type = attr_type(r->attr[i].kind), arg[n++].name = r->attr[i].name;
    for (int i = 0; i < n; i++) {
        snprintf(text, sizeof text, "%s%s%s", arg[i].type, arg[i].name, i + 1 < n ? "," : end);
        word(&w, text);
    }
}

static void print_header(void)
{
    fputs(
        "// One function an op. Generated from ir/ops.def by opsgen; do not edit.\n"
        "//\n"
        "// Outputs first, then operands, then attributes. An operand in [ ] may be NULL. Ops that\n"
        "// write in place take operands only. Sizes in attributes are global. Letters of the formula:\n"
        "// docs/theory.md, section 1.\n\n"
        "#ifndef HAP_OPS_H\n#define HAP_OPS_H\n\n#include \"hap/runtime.h\"\n\n"
        "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
        "typedef enum hap_op_id {\n",
        stdout);
    for (int op = 0; op < IR_N_OPS; op++)
        printf("    HAP_OP_%s,\n", ir_op_of((ir_op)op)->name);
    fputs("    HAP_N_OPS\n} hap_op_id;\n", stdout);
    for (int op = 0; op < IR_N_OPS; op++) {
        const ir_op_info *r = ir_op_of((ir_op)op);
        char text[256];
        putchar('\n');
        snprintf(text, sizeof text, "%s: %s", r->name, r->formula);
        comment(text);
        meaning(r);
        snprintf(text, sizeof text, "void op_%s(", r->name);
        signature(r, text, ");");
        printf("\n#define op_%s(r, ...) op_%s(hap_line(r, __LINE__), __VA_ARGS__)\n", r->name,
               r->name);
    }
    fputs("\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n", stdout);
}

static void print_call(const ir_op_info *r)
{
    char text[256];
    putchar('\n');
    snprintf(text, sizeof text, "void(op_%s)(", r->name);
    signature(r, text, ")");
    printf("\n{\n    hap_op_call o = {.op = HAP_OP_%s};\n", r->name);
    bool place = r->flags & IR_IN_PLACE;
    if (r->list_out) {
        fputs("    for (o.n_out = 0; o.n_out < n && o.n_out < HAP_MAX_OUT; o.n_out++)\n"
              "        o.out[o.n_out] = ys[o.n_out];\n",
              stdout);
    } else {
        printf("    o.n_out = %d;\n", r->n_out);
        for (int i = 0; i < r->n_out; i++)
            printf("    o.out[%d] = %s;\n", i, place ? in_name(r, i) : outs[i]);
    }
    if (r->list_in) {
        fputs("    for (o.n_in = 0; o.n_in < n && o.n_in < HAP_MAX_IN; o.n_in++)\n"
              "        o.in[o.n_in] = xs[o.n_in];\n",
              stdout);
    } else if (r->max_in > 0) {
        printf("    o.n_in = %d;\n", r->max_in);
        for (int i = 0; i < r->max_in; i++)
            printf("    o.in[%d] = %s;\n", i, in_name(r, i));
    }
    if (r->n_attr > 0) printf("    o.n_attr = %d;\n", r->n_attr);
    for (int i = 0; i < r->n_attr; i++) {
        static const char *const field[] = {"i", "f", "i", "i", "v"};
        printf("    o.attr[%d].%s = %s%s;\n", i, field[r->attr[i].kind],
               r->attr[i].kind == IR_ATTR_DTYPE ? "(int64_t)" : "", r->attr[i].name);
    }
    fputs("    hap_op_packed(r, &o);\n}\n", stdout);
}

// Counts of outputs and operands, -1 a count and a list; attributes, a letter each.
static void print_takes(const ir_op_info *r)
{
    printf("    [HAP_OP_%s] = {%d, %d, %s, \"", r->name, r->list_out ? -1 : r->n_out,
           r->list_in ? -1 : r->max_in, r->flags & IR_IN_PLACE ? "true" : "false");
    for (int i = 0; i < r->n_attr; i++)
        putchar("ldbiG"[r->attr[i].kind]);
    fputs("\"},\n", stdout);
}

static void print_calls(void)
{
    fputs(
        "// The op_ functions of hap/ops.h: each packs its arguments and hands them to the backend.\n"
        "// Generated from ir/ops.def by opsgen; do not edit.\n\n"
        "#include \"core/runtime_core.h\"\n\n"
        "const char *const hap_op_names[] = {\n",
        stdout);
    for (int op = 0; op < IR_N_OPS; op++)
        printf("    \"%s\",\n", ir_op_of((ir_op)op)->name);
    fputs("};\n\n"
          "// What may stand in a pair (core/runtime_core.h).\n"
          "const hap_op_row hap_op_rows[HAP_N_OPS] = {\n",
          stdout);
    for (int op = 0; op < IR_N_OPS; op++) {
        const ir_op_info *r = ir_op_of((ir_op)op);
        bool matrix = r->flops_kind == IR_FLOPS_DENSE;
        if (r->by_rows)
            printf("    [HAP_OP_%s] = {%u, %d, %u, %s},\n", r->name, r->by_rows, r->row_dims,
                   r->along, matrix ? "true" : "false");
    }
    fputs(
        "};\n\n"
        "// What its CUDA kernel reads and writes in any float type: a bit an operand and output.\n"
        "const hap_op_floats hap_op_any_float[HAP_N_OPS] = {\n",
        stdout);
    for (int op = 0; op < IR_N_OPS; op++) {
        const ir_op_info *r = ir_op_of((ir_op)op);
        if (r->any_float.in || r->any_float.out)
            printf("    [HAP_OP_%s] = {%u, %u},\n", r->name, r->any_float.in, r->any_float.out);
    }
    fputs("};\n\nconst hap_op_args hap_op_takes[HAP_N_OPS] = {\n", stdout);
    for (int op = 0; op < IR_N_OPS; op++)
        print_takes(ir_op_of((ir_op)op));
    fputs("};\n\n"
          "void hap_op_packed(hap_rank *r, hap_op_call *c)\n{\n"
          "    while (c->n_in > 0 && !c->in[c->n_in - 1])\n        c->n_in--;\n"
          "    hap_dispatch(r, c);\n}\n",
          stdout);
    for (int op = 0; op < IR_N_OPS; op++)
        print_call(ir_op_of((ir_op)op));
}

// Real attributes, in order; others have no place in a pointwise value.
static int n_real(const ir_op_info *r)
{
    for (int i = 0; i < r->n_attr; i++)
        hb_assert(r->attr[i].kind == IR_ATTR_REAL);
    return r->n_attr;
}

static void print_points(void)
{
    fputs(
        "// Values of pointwise ops of floats. Generated from ir/ops.def by opsgen; do not edit.\n"
        "//\n"
        "// HAP_POINT says how a function is declared; where it is, the words of the formulas are\n"
        "// declared before this is included. HAP_POINTS_n(X): X(op, (arguments)) for all ops of n\n"
        "// operands; these are u and v, attributes k0 and k1.\n\n"
        "#ifndef HAP_POINTWISE_H\n#define HAP_POINTWISE_H\n",
        stdout);
    for (int n_in = 1; n_in <= 2; n_in++) {
        printf("\n#define HAP_POINTS_%d(X)", n_in);
        for (int op = 0; op < IR_N_OPS; op++) {
            const ir_op_info *r = ir_op_of((ir_op)op);
            if (!r->point || r->max_in != n_in) continue;
            printf(" \\\n    X(%s, (u%s", r->name, n_in == 2 ? ", v" : "");
            for (int i = 0; i < n_real(r); i++)
                printf(", k%d", i);
            fputs("))", stdout);
        }
        putchar('\n');
    }
    fputs("\n#ifdef HAP_POINT\n", stdout);
    for (int op = 0; op < IR_N_OPS; op++) {
        const ir_op_info *r = ir_op_of((ir_op)op);
        if (!r->point) continue;
        hb_assert(r->flags & IR_EACH && r->max_in <= 2 && n_real(r) <= 2);
        printf("HAP_POINT float hap_%s(", r->name);
        for (int i = 0; i < r->max_in; i++)
            printf("%sfloat %s", i ? ", " : "", in_name(r, i));
        for (int i = 0; i < r->n_attr; i++)
            printf(", float %s", r->attr[i].name);
        printf(")\n{\n    return %s;\n}\n", r->point);
    }
    fputs("#endif\n\n#endif\n", stdout);
}

// "clamp 1 1 1 min:f=-inf max:f=inf": least and most operands, outputs, attributes.
static void print_user(void)
{
    for (int op = 0; op < IR_N_ALL_OPS; op++) {
        if (op == IR_N_OPS || !(ir_op_of((ir_op)op)->flags & IR_USER)) continue;
        const ir_op_info *r = ir_op_of((ir_op)op);
        printf("%s %d %d ", r->name, r->min_in, r->max_in);
        fputs(r->list_out ? "sizes" : "", stdout);
        if (!r->list_out) printf("%d", r->n_out);
        for (int i = 0; i < r->n_attr; i++) {
            const ir_attr *v = &r->attr[i].value;
            printf(" %s:%c", r->attr[i].name, "ifbdI"[r->attr[i].kind]);
            if (!r->attr[i].has_default) continue;
            printf("=%.15g", v->kind == IR_ATTR_REAL ? v->f : (double)v->i);
        }
        putchar('\n');
    }
}

int main(int argc, char **argv)
{
    const char *what = argc == 2 ? argv[1] : "";
    if (strcmp(what, "header") == 0)
        print_header();
    else if (strcmp(what, "points") == 0)
        print_points();
    else if (strcmp(what, "calls") == 0)
        print_calls();
    else if (strcmp(what, "user") == 0)
        print_user();
    else {
        fputs("usage: opsgen header|points|calls|user\n", stderr);
        return 2;
    }
    return 0;
}
