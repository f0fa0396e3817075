// What stands in functions: declarations of one variable, calls, loops that count, `if`, `switch`,
// assignments of events and, before the step, of tensors.

#include <string.h>

#include "interpret/interpret.h"

enum { DEEPEST = 64, LONGEST_LOOP = 1 << 24 };

typedef enum { GOES_ON, RETURNS } flow;

static flow run_statement(interpreter *x);

// --- variables of functions ---

static int want_new_name(interpreter *x)
{
    if (next_token(x)->kind != TOK_NAME) refuse(x, x->at, "no name here");
    return x->at++;
}

// --- statements that are left out ---

static void skip_statement(interpreter *x)
{
    bool has_head = is_word(x, W_if) || is_word(x, W_for) || is_word(x, W_while);
    if (is_sign(x, '{')) {
        skip_to_end(x, '{', '}');
    } else if (has_head) {
        x->at++;
        skip_to_end(x, '(', ')');
        skip_statement(x);
        if (take_word(x, W_else)) skip_statement(x);
    } else {
        while (!is_sign(x, ';')) {
            if (next_token(x)->kind == TOK_END) refuse(x, x->at, "the file ends in a statement");
            if (is_sign(x, '{'))
                skip_to_end(x, '{', '}');
            else
                x->at++;
        }
        x->at++;
    }
}

// --- declarations ---

// "const int64_t m = slots[k].m;", "static const int64_t keys[] = {…};", "…chunks[][3] = {…};"
static void declare_numbers(interpreter *x)
{
    int from = x->at;
    bool fixed = take_word(x, W_static);
    want_word(x, W_const);
    bool wide = take_word(x, W_int64_t);
    if (!wide) want_word(x, W_int);
    int at = want_new_name(x);
    if (!take_sign(x, '[')) {
        if (fixed) refuse(x, from, "a static number");
        want_sign(x, '=');
        value v = read_value(x);
        if (v.kind != V_INT && !(wide && v.kind == V_LONG)) refuse(x, at, "this for a number");
        bind(x, at, value_of_int(v.i, wide));
        want_sign(x, ';');
        return;
    }
    want_sign(x, ']');
    bool three = take_sign(x, '[');
    if (three) {
        if (!wide || read_int(x) != 3) refuse(x, at, "a table like this one");
        want_sign(x, ']');
    }
    want_sign(x, '=');
    want_sign(x, '{');
    value v = three ? read_triples(x, '}') : read_longs(x, '}');
    bind(x, at, three || wide ? v : ints_of(x, at, v));
    want_sign(x, ';');
}

// "const h_block *b = &h[i];"
static void declare_block(interpreter *x)
{
    want_word(x, W_const);
    int type = want_new_name(x);
    const symbol *s = &x->symbol[x->t.token[type].name];
    if (s->kind != S_TYPE) refuse(x, type, "this type");
    want_sign(x, '*');
    int at = want_new_name(x);
    want_sign(x, '=');
    value v = read_value(x);
    if (v.kind != V_BLOCK_AT || v.of != s->of) refuse(x, at, "no address of such a block");
    bind(x, at, v);
    want_sign(x, ';');
}

// "hap_tensor *const to[] = {a, b};"
static void declare_tensors(interpreter *x)
{
    want_word(x, W_hap_tensor);
    want_sign(x, '*');
    want_word(x, W_const);
    int at = want_new_name(x);
    want_sign(x, '[');
    want_sign(x, ']');
    want_sign(x, '=');
    want_sign(x, '{');
    bind(x, at, read_tensors(x, '}'));
    want_sign(x, ';');
}

// "hap_event *e = coll_…;", "hap_rank *r = hap_init(…);"
static void declare_pointer(interpreter *x)
{
    bool event = take_word(x, W_hap_event);
    if (!event) want_word(x, W_hap_rank);
    want_sign(x, '*');
    int at = x->at;
    if (event)
        want_new_name(x);
    else
        want_word(x, W_r);
    want_sign(x, '=');
    value v = read_value(x);
    if (v.kind != (event ? V_EVENT : V_RANK)) refuse(x, at, "this for %s", name_at(x, at));
    v.event = NULL;
    bind(x, at, v);
    want_sign(x, ';');
}

// --- loops and choices ---

// "for (int i = 3; i >= 0; i--) …"
static flow run_for(interpreter *x)
{
    int head = x->at, n = x->n_locals;
    want_word(x, W_for);
    want_sign(x, '(');
    bool wide = take_word(x, W_int64_t);
    if (!wide) want_word(x, W_int);
    int counter = want_new_name(x), name = x->t.token[counter].name;
    want_sign(x, '=');
    value v = value_of_int(read_int(x), wide);
    want_sign(x, ';');
    bind(x, counter, v);
    int test = x->at;
    if (next_token(x)->kind != TOK_NAME || next_token(x)->name != name ||
        x->t.token[test + 1].kind != TOK_SIGN)
        refuse(x, test, "a loop that does not test its counter");
    int than = x->t.token[test + 1].sign;
    bool up = than == '<' || than == SIGN2('<', '='), down = than == '>' || than == SIGN2('>', '=');
    flow f = GOES_ON;
    for (int64_t times = 0; f == GOES_ON; times++) {
        if (times > LONGEST_LOOP) refuse(x, head, "a loop of so many turns");
        x->at = test;
        bool more = read_int(x) != 0;
        want_sign(x, ';');
        int step = x->at;
        if (next_token(x)->kind != TOK_NAME || next_token(x)->name != name)
            refuse(x, step, "a loop that does not step its counter");
        x->at++;
        if (!((up && take_sign(x, SIGN2('+', '+'))) || (down && take_sign(x, SIGN2('-', '-')))))
            refuse(x, step, "a loop that does not step its counter to its end");
        want_sign(x, ')');
        if (!more) {
            skip_statement(x);
            break;
        }
        f = run_statement(x);
        x->local[n].v.i += up ? 1 : -1;
    }
    x->n_locals = n;
    return f;
}

// "while (hap_next_step(r)) …"
static flow run_while(interpreter *x)
{
    int head = x->at;
    flow f = GOES_ON;
    while (f == GOES_ON) {
        x->at = head;
        want_word(x, W_while);
        want_sign(x, '(');
        int at = x->at;
        if (next_token(x)->kind != TOK_NAME || strcmp(name_at(x, at), "hap_next_step") != 0)
            refuse(x, at, "a loop that is not of steps");
        bool more = read_int(x) != 0;
        want_sign(x, ')');
        if (!more) {
            skip_statement(x);
            break;
        }
        f = run_statement(x);
    }
    return f;
}

static flow run_if(interpreter *x)
{
    want_word(x, W_if);
    want_sign(x, '(');
    bool yes = read_int(x) != 0;
    want_sign(x, ')');
    flow f = GOES_ON;
    if (yes)
        f = run_statement(x);
    else
        skip_statement(x);
    if (f != GOES_ON || !take_word(x, W_else)) return f;
    if (!yes) return run_statement(x);
    skip_statement(x);
    return GOES_ON;
}

// "switch (hap_stages(…)) { case 0: …; break; … }"
static flow run_switch(interpreter *x)
{
    want_word(x, W_switch);
    want_sign(x, '(');
    int64_t which = read_int(x);
    want_sign(x, ')');
    int open = x->at;
    skip_to_end(x, '{', '}');
    int end = x->at;
    flow f = GOES_ON;
    x->at = open + 1;
    while (f == GOES_ON && x->at < end - 1) {
        want_word(x, W_case);
        bool this = read_int(x) == which;
        want_sign(x, ':');
        while (f == GOES_ON && !is_word(x, W_break)) {
            if (x->at >= end - 1) refuse(x, x->at, "a case without break");
            if (this)
                f = run_statement(x);
            else
                skip_statement(x);
        }
        if (f != GOES_ON) break;
        want_word(x, W_break);
        want_sign(x, ';');
        if (this) break;
    }
    x->at = end;
    return f;
}

// --- the rest ---

// Nothing stands behind a return: it would not be read.
static flow run_block(interpreter *x)
{
    int n = x->n_locals;
    flow f = GOES_ON;
    want_sign(x, '{');
    while (f == GOES_ON && !take_sign(x, '}'))
        f = run_statement(x);
    x->n_locals = n;
    if (f != GOES_ON) want_sign(x, '}');
    return f;
}

static void assign(interpreter *x, int at, const value *to)
{
    value v = read_value(x);
    bool null = v.kind == V_NULL;
    if (to->event && (v.kind == V_EVENT || null)) {
        *to->event = (hap_event *)(uintptr_t)v.p;
    } else if (to->cell && (v.kind == V_TENSOR || null)) {
        if (!x->r || x->r->in_step)
            refuse(x, at, "a tensor that another one takes the place of in a step");
        *to->cell = (hap_tensor *)(uintptr_t)v.p;
    } else {
        refuse(x, at, "such an assignment");
    }
}

static flow run_expression(interpreter *x)
{
    int at = x->at;
    if (is_sign(x, '(') && x->t.token[at + 1].name == W_void &&
        x->t.token[at + 1].kind == TOK_NAME) {
        x->at += 2; // (void)i;
        want_sign(x, ')');
        read_value(x);
    } else {
        value v = read_value(x);
        if (take_sign(x, '='))
            assign(x, at, &v);
        else if (v.kind != V_NONE && v.kind != V_EVENT)
            refuse(x, at, "a statement without effect");
    }
    want_sign(x, ';');
    return GOES_ON;
}

static flow run_statement(interpreter *x)
{
    const token *k = next_token(x);
    if (take_sign(x, ';')) return GOES_ON;
    if (k->kind != TOK_NAME) return is_sign(x, '{') ? run_block(x) : run_expression(x);
    bool numbers = is_word(x, W_static);
    if (is_word(x, W_const))
        numbers = k[1].kind == TOK_NAME && (k[1].name == W_int || k[1].name == W_int64_t);
    if (numbers) {
        declare_numbers(x);
        return GOES_ON;
    }
    switch (k->name) {
    case W_const:
        declare_block(x);
        return GOES_ON;
    case W_hap_tensor:
        declare_tensors(x);
        return GOES_ON;
    case W_hap_event:
    case W_hap_rank:
        declare_pointer(x);
        return GOES_ON;
    case W_for:
        return run_for(x);
    case W_while:
        return run_while(x);
    case W_if:
        return run_if(x);
    case W_switch:
        return run_switch(x);
    case W_return:
        x->at++;
        if (strcmp(name_at(x, x->at), "hap_finish") != 0) refuse(x, x->at, "this at the end");
        read_value(x);
        want_sign(x, ';');
        return RETURNS;
    default:
        return run_expression(x);
    }
}

// --- functions ---

void read_parameters(interpreter *x, char takes[5], const value *given)
{
    int n = 0, head = x->at, name[4];
    want_sign(x, '(');
    do {
        if (n == 4) refuse(x, head, "so many parameters");
        char type = is_word(x, W_int64_t) ? 'l' : is_word(x, W_int) ? 'i' : 'r';
        if (!take_word(x, W_int) && !take_word(x, W_int64_t)) {
            want_word(x, W_hap_rank);
            want_sign(x, '*');
        }
        int at = x->at;
        if (type == 'r')
            want_word(x, W_r);
        else
            want_new_name(x);
        name[n] = x->t.token[at].name;
        for (int k = 0; k < n; k++)
            if (name[k] == name[n]) refuse(x, at, "'%s' twice", name_at(x, at));
        if (given) bind(x, at, given[n]);
        takes[n++] = type;
    } while (take_sign(x, ','));
    takes[n] = 0;
    want_sign(x, ')');
}

static value read_argument(interpreter *x, char type)
{
    int at = x->at;
    value v = read_value(x);
    if (type == 'l' && v.kind == V_INT) v.kind = V_LONG;
    if (v.kind != (type == 'r' ? V_RANK : type == 'i' ? V_INT : V_LONG))
        refuse(x, at, "this argument");
    return v;
}

value call_function(interpreter *x, int name, int at)
{
    const symbol *s = &x->symbol[name];
    value given[sizeof s->takes];
    char takes[sizeof s->takes];
    int frame = x->frame, n_locals = x->n_locals;
    for (int k = 0; s->takes[k]; k++) {
        want_sign(x, k ? ',' : '(');
        given[k] = read_argument(x, s->takes[k]);
    }
    want_sign(x, ')');
    if (!s->params) refuse(x, at, "a function that is nowhere");
    if (x->depth++ > DEEPEST) refuse(x, at, "a function that calls itself");
    int back = x->at;
    x->frame = n_locals;
    x->at = s->params;
    read_parameters(x, takes, given);
    if (run_block(x) == RETURNS) refuse(x, at, "a return from a function");
    x->at = back;
    x->frame = frame;
    x->n_locals = n_locals;
    x->depth--;
    return (value){.kind = V_NONE};
}

void run_main(interpreter *x)
{
    static const word head[] = {W_int, W_argc, W_char, W_argv};
    const symbol *s = &x->symbol[W_main];
    int at = x->at;
    if (!s->params) refuse(x, at, "a program without main");
    x->at = s->params;
    want_sign(x, '(');
    want_word(x, head[0]);
    want_word(x, head[1]);
    want_sign(x, ',');
    want_word(x, head[2]);
    want_sign(x, '*');
    want_sign(x, '*');
    want_word(x, head[3]);
    want_sign(x, ')');
    if (run_block(x) != RETURNS) refuse(x, at, "a main that does not end in hap_finish");
}
