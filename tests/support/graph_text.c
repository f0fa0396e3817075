#include "graph_text.h"

#include <stdlib.h>
#include <string.h>

#include "ir/shapes.h"

int graph_tensor(const ir_graph *g, const char *name)
{
    for (int i = 0; i < g->tensors.n; i++)
        if (hb_str_is(g->tensors.p[i].name, name)) return i;
    fprintf(stderr, "no tensor %s\n", name);
    hb_assert(false && "tensor exists");
    return -1;
}

int graph_node(const ir_graph *g, const char *name)
{
    for (int i = 0; i < g->nodes.n; i++)
        if (hb_str_is(g->nodes.p[i].name, name)) return i;
    fprintf(stderr, "no node %s\n", name);
    hb_assert(false && "node exists");
    return -1;
}

const char *line_of(hb_arena *a, hb_str print, const char *start)
{
    size_t n = strlen(start);
    for (const char *p = print.p; p && *p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL)
        if (strncmp(p, start, n) == 0) return hb_str_n(a, p + n, strcspn(p + n, "\n")).p;
    return "";
}

static char *next(char **p, const char *stop)
{
    *p += strspn(*p, " ");
    char *s = *p;
    size_t n = strcspn(s, stop);
    *p = s + n + (s[n] != 0);
    s[n] = 0;
    return s;
}

static void declare(ir_graph *g, char *name, char *p)
{
    static const char *const kinds[] = {"input", "param", "state", "buffer", "const"};
    const char *kind = next(&p, " "), *dtype = next(&p, " ");
    ir_dtype type;
    int64_t dim[IR_MAX_RANK];
    int rank = 0, k = 0;
    while (k < 5 && strcmp(kinds[k], kind) != 0)
        k++;
    hb_assert(k < 5 && ir_dtype_parse(hb_str_c(g->arena, dtype), &type));
    while (*p)
        dim[rank++] = atoll(next(&p, " "));
    int t = ir_add_tensor(g, hb_str_c(g->arena, name), (ir_kind)k, type, rank, dim);
    if (k == IR_INPUT) g->tensors.p[t].batch = rank ? 0 : -1;
}

static void set_attr(ir_op op, ir_attr *attrs, const char *name, char *value)
{
    ir_attr *a = &attrs[ir_attr_index(op, name)];
    ir_dtype type = IR_F32;
    switch (a->kind) {
    case IR_ATTR_INT:
        a->i = atoll(value);
        break;
    case IR_ATTR_REAL:
        a->f = atof(value);
        break;
    case IR_ATTR_BOOL:
        a->i = strcmp(value, "true") == 0;
        break;
    case IR_ATTR_DTYPE:
        hb_assert(ir_dtype_parse((hb_str){value, strlen(value)}, &type));
        a->i = (int64_t)type;
        break;
    case IR_ATTR_INTS:
        a->n = 0;
        while (*value)
            a->v[a->n++] = atoll(next(&value, ","));
        break;
    }
}

static void add(ir_graph *g, char *name, char *p)
{
    char *op_name = next(&p, "("), *args = next(&p, ")");
    int op = ir_op_parse((hb_str){op_name, strlen(op_name)}), in[IR_MAX_IN], n = 0;
    hb_assert(op >= 0);
    while (*args)
        in[n++] = graph_tensor(g, next(&args, ", "));
    ir_attr attrs[IR_MAX_ATTR];
    for (int i = 0; i < ir_op_of((ir_op)op)->n_attr; i++)
        attrs[i] = ir_op_of((ir_op)op)->attr[i].value;
    while (*p) {
        char *key = next(&p, "=");
        set_attr((ir_op)op, attrs, key, next(&p, " "));
    }
    ir_add_node(g, hb_str_c(g->arena, name), (ir_op)op, IR_FORWARD, n, in, attrs);
}

ir_graph *graph_text(hb_arena *a, const char *text)
{
    return graph_text_as(a, text, IR_PRECISION_FP32, IR_F32);
}

ir_graph *graph_text_as(hb_arena *a, const char *text, ir_precision precision, ir_dtype grad_dtype)
{
    ir_graph *g = ir_graph_new(a);
    char *all = hb_copy(a, text, strlen(text) + 1);
    long long batch = 0;
    while (*all) {
        char *line = next(&all, "\n");
        if (!*line) continue;
        if (strncmp(line, "loss ", 5) == 0) {
            g->loss = graph_tensor(g, line + 5);
            continue;
        }
        if (sscanf(line, "rooms %lf %lld", &g->expert_room, &batch) == 2) continue;
        char *name = next(&line, ": ");
        if (*line == '=') {
            line++;
            line += strspn(line, " ");
            add(g, name, line);
        } else {
            declare(g, name, line);
        }
    }
    hb_diag *d = hb_diag_new(a);
    g->opt = (ir_optimizer){.name = HB_STR("adamw"), .lr = 0.1, .beta1 = 0.9, .beta2 = 0.99};
    g->opt.eps = 1e-8;
    g->precision = precision;
    g->grad_dtype = grad_dtype;
    g->batch = batch;
    bool good = ir_expand(g, d) && ir_casts(g, d) && ir_rooms(g, d) && ir_autodiff(g, d) &&
                ir_optimize(g, d);
    if (!good) hb_diag_print(d, stderr);
    hb_assert(good);
    hb_str why = {0};
    if (!ir_verify(g, &why)) {
        fprintf(stderr, "%.*s\n", HB_ARG(why));
        hb_assert(false && "the graph verifies");
    }
    return g;
}
