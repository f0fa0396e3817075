#include "ir/formula.h"

#include <string.h>

static const char *skip(const char *p)
{
    while (*p == ' ')
        p++;
    return p;
}

static char letter(const char **p)
{
    hb_assert(**p >= 'a' && **p <= 'z');
    return *(*p)++;
}

// One operand up to ',', '+', ']', "->", ';', '|' or the end.
static const char *parse_operand(const char *p, ir_foperand *o)
{
    p = skip(p);
    if (*p == '[') {
        o->optional = true;
        p = skip(p + 1);
    }
    if (*p == '*') {
        o->star = true;
        p++;
    }
    while ((*p >= 'a' && *p <= 'z') || *p == '(') {
        hb_assert(o->n < IR_MAX_RANK);
        ir_fdim *d = &o->dim[o->n++];
        if (*p == '(') {
            p++;
            while (*p != ')') {
                hb_assert(d->n < IR_MAX_LETTERS);
                d->letter[d->n++] = letter(&p);
            }
            p++;
        } else {
            d->letter[d->n++] = letter(&p);
        }
    }
    p = skip(p);
    if (o->optional) {
        hb_assert(*p == ']');
        p = skip(p + 1);
    }
    return p;
}

static const char *parse_one(const char *p, ir_formula *f)
{
    int term = 0;
    for (;;) {
        hb_assert(f->n_in < IR_MAX_IN);
        f->in[f->n_in].term = term;
        p = parse_operand(p, &f->in[f->n_in++]);
        if (*p == ',') {
            p++;
        } else if (*p == '+') {
            p++;
            term++;
        } else {
            break;
        }
    }
    f->n_terms = term + 1;
    hb_assert(p[0] == '-' && p[1] == '>');
    p += 2;
    for (;;) {
        hb_assert(f->n_out < IR_MAX_OUT);
        p = parse_operand(p, &f->out[f->n_out++]);
        if (*p != ',') break;
        p++;
    }
    if (*p == '|') {
        p = skip(p + 1);
        while (*p >= 'a' && *p <= 'z') {
            f->whole |= 1u << (unsigned)(*p - 'a');
            p = skip(p + 1);
        }
    }
    for (int i = 1; i < f->n_in; i++) // optional operands stand at the end
        hb_assert(f->in[i].optional || !f->in[i - 1].optional);
    return p;
}

void ir_formula_parse(const char *text, ir_formulas *out)
{
    memset(out, 0, sizeof *out);
    const char *p = skip(text);
    if (*p == '@') {
        out->rule = p + 1;
        return;
    }
    p = text;
    for (;;) {
        hb_assert(out->n < IR_MAX_ALTS);
        p = parse_one(p, &out->alt[out->n++]);
        if (*p != ';') break;
        p++;
    }
    hb_assert(*p == 0);
    for (int i = 1; i < out->n; i++)
        hb_assert(out->alt[i].n_in == out->alt[0].n_in && out->alt[i].n_out == out->alt[0].n_out);
}

void ir_windows_parse(const char *text, ir_formulas *out)
{
    for (const char *p = skip(text); *p; p = skip(p)) {
        hb_assert(out->n_windows < IR_MAX_WINDOWS);
        ir_window *w = &out->window[out->n_windows++];
        w->places = letter(&p);
        w->size = *p == '.' ? *p++ : letter(&p);
        w->at = letter(&p);
        for (int i = 0; i < out->n; i++) {
            out->alt[i].whole |= 1u << (unsigned)(w->places - 'a') | 1u << (unsigned)(w->at - 'a');
            if (w->size != '.') out->alt[i].whole |= 1u << (unsigned)(w->size - 'a');
        }
    }
}

void ir_sizes_parse(const char *text, const ir_op_info *op, ir_formulas *out)
{
    for (const char *p = skip(text); *p; p = skip(p)) {
        const char *letters = p;
        size_t n = strcspn(p, ":"), length = strcspn(p, " ") - n - 1;
        int attr = 0;
        while (strncmp(op->attr[attr].name, p + n + 1, length) != 0 || op->attr[attr].name[length])
            hb_assert(++attr < op->n_attr);
        bool list = op->attr[attr].kind == IR_ATTR_INTS;
        hb_assert(list || n == 1);
        for (size_t i = 0; i < n; i++) {
            hb_assert(out->n_given < IR_MAX_GIVEN);
            out->given[out->n_given].letter = letter(&letters);
            out->given[out->n_given].attr = (int8_t)attr;
            out->given[out->n_given].entry = (int8_t)i;
            out->given[out->n_given++].of = (int8_t)(list ? n : 0);
        }
        p += n + 1 + length;
    }
}
