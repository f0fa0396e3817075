// What stands outside of functions: tables, structs of tensors, tensors, events, functions.

#include <string.h>

#include "interpret/interpret.h"

enum { MOST = 1 << 24 }; // of an array, a size of a mesh

static symbol *declare_symbol(interpreter *x, int at, symbol_kind kind)
{
    declare(x, at);
    symbol *s = &x->symbol[x->t.token[at].name];
    if (s->kind != S_NONE) refuse(x, at, "'%s' twice", name_at(x, at));
    s->kind = kind;
    s->declared = at;
    return s;
}

static int want_name(interpreter *x)
{
    if (next_token(x)->kind != TOK_NAME) refuse(x, x->at, "no name here");
    return x->at++;
}

static int want_count(interpreter *x)
{
    int at = x->at;
    int64_t n = read_int(x);
    if (n < 1 || n > MOST) refuse(x, at, "an array of %lld", (long long)n);
    want_sign(x, ']');
    return (int)n;
}

// --- tensors, events, blocks ---

// "*a, *b[3];" behind hap_tensor or hap_event.
static void declare_pointers(interpreter *x, value_kind kind)
{
    do {
        want_sign(x, '*');
        symbol *s = declare_symbol(x, want_name(x), S_VALUE);
        s->alone = !take_sign(x, '[');
        int n = s->alone ? 1 : want_count(x);
        s->v = (value){.kind = kind, .p = take_memory(n * (int64_t)sizeof(void *)), .n = n};
    } while (take_sign(x, ','));
    want_sign(x, ';');
}

// "typedef struct h_block { hap_tensor *a, *b; } h_block;"
static void declare_type(interpreter *x)
{
    block *b = take_memory(sizeof *b);
    int cap = 0;
    want_word(x, W_typedef);
    want_word(x, W_struct);
    int tag = want_name(x);
    want_sign(x, '{');
    want_word(x, W_hap_tensor);
    do {
        want_sign(x, '*');
        int at = want_name(x);
        declare(x, at);
        if (b->n == cap) {
            int *more = take_memory((cap = cap ? 2 * cap : 64) * (int64_t)sizeof *more);
            if (b->n) memcpy(more, b->member, (size_t)b->n * sizeof *more);
            b->member = more;
        }
        b->member[b->n++] = x->t.token[at].name;
    } while (take_sign(x, ','));
    want_sign(x, ';');
    want_sign(x, '}');
    int at = want_name(x);
    if (x->t.token[at].name != x->t.token[tag].name) refuse(x, at, "another name");
    want_sign(x, ';');
    declare_symbol(x, at, S_TYPE)->of = b;
}

// "h[12];" behind h_block
static void declare_blocks(interpreter *x, const block *of)
{
    symbol *s = declare_symbol(x, want_name(x), S_VALUE);
    want_sign(x, '[');
    int n = want_count(x);
    s->v = (value){.kind = V_BLOCKS,
                   .p = take_memory((int64_t)n * of->n * (int64_t)sizeof(void *)),
                   .n = n,
                   .of = of};
    want_sign(x, ';');
}

// --- tables ---

// The text of a macro's argument, as # makes it: here without spaces.
static const char *text_of(const interpreter *x, int from, int to)
{
    int64_t n = 0;
    for (int i = from; i < to; i++)
        n += x->t.token[i].len;
    char *text = take_memory(n + 1), *end = text;
    for (int i = from; i < to; i++) {
        memcpy(end, x->t.token[i].at, (size_t)x->t.token[i].len);
        end += x->t.token[i].len;
    }
    return text;
}

static hap_cuts read_cut(interpreter *x)
{
    hap_cuts c = {0};
    int at = x->at;
    want_word(x, W_HAP_CUT);
    want_sign(x, '(');
    c.name = want_text(x);
    want_sign(x, ',');
    value v = read_longs(x, ')');
    const int64_t *number = v.p;
    if (v.n < 3 || number[0] < 0 || number[0] > HAP_BOTH) refuse(x, at, "a cut like this one");
    c.axis = (int)number[0];
    c.size = number[1];
    c.n = v.n - 2;
    c.entry = number + 2;
    return c;
}

// One tensor, or an array of them, in a row of the table of buffers.
static value read_variable(interpreter *x, const char **text)
{
    int from = x->at;
    value v = read_value(x);
    if (text) *text = text_of(x, from, x->at);
    return v;
}

static hap_tensor **want_cell(const interpreter *x, int at, const value *v)
{
    if (v->kind != V_TENSOR || !v->cell) refuse(x, at, "no tensor here");
    return v->cell;
}

// "h, ln_1": the member of the first block, and how many blocks there are.
static hap_tensor **read_member(interpreter *x, value *blocks, const char **name)
{
    const char *array;
    int at = x->at;
    *blocks = read_variable(x, &array);
    if (blocks->kind != V_BLOCKS) refuse(x, at, "no blocks here");
    want_sign(x, ',');
    int member = want_name(x);
    if (name) {
        char *whole = take_memory((int64_t)strlen(array) + x->t.token[member].len + 2);
        strcpy(whole, array);
        strcat(whole, ".");
        strcat(whole, name_at(x, member));
        *name = whole;
    }
    for (int i = 0; i < blocks->of->n; i++)
        if (blocks->of->member[i] == x->t.token[member].name)
            return (hap_tensor **)(uintptr_t)blocks->p + i;
    refuse(x, member, "the block has no such member");
}

static int want_next(interpreter *x, int least, int most)
{
    int at = x->at;
    int64_t i = read_int(x);
    if (i < least || i > most) refuse(x, at, "%lld of %d", (long long)i, most);
    return (int)i;
}

// ONE(x), EACH(h, x), ALL(h, x), EACH_FROM(1, h, x), SOME(h, x, 1, 2, 2), LIST(x, 3): who gets the
// pointers.
static void read_to(interpreter *x, hap_place *p)
{
    int at = x->at++, first = 0;
    word w = (word)x->t.token[at].name;
    value blocks;
    want_sign(x, '(');
    if (w == W_ONE || w == W_LIST) {
        value v = read_variable(x, &p->name);
        if (w == W_LIST && v.kind != V_TENSORS) refuse(x, at, "no array of tensors here");
        p->to = w == W_ONE ? want_cell(x, at, &v) : (hap_tensor **)(uintptr_t)v.p;
        p->pitch = w == W_ONE ? 0 : sizeof *p->to;
        p->n = w == W_ONE ? 1 : v.n;
        p->places = 1;
        if (w == W_LIST) {
            want_sign(x, ',');
            p->places = want_next(x, 1, MOST);
        }
        want_sign(x, ')');
        return;
    }
    if (w < W_EACH || w > W_SOME) refuse(x, at, "a row like this one");
    int first_at = x->at;
    if (w == W_EACH_FROM || w == W_ALL_FROM) {
        first = want_next(x, 0, MOST);
        want_sign(x, ',');
    }
    hap_tensor **member = read_member(x, &blocks, &p->name);
    p->n = blocks.n;
    p->places = w == W_ALL || w == W_ALL_FROM ? 1 : blocks.n;
    if (w == W_SOME) {
        want_sign(x, ',');
        first = want_next(x, 0, blocks.n - 1);
        want_sign(x, ',');
        p->n = want_next(x, 1, blocks.n - first);
        want_sign(x, ',');
        p->places = want_next(x, 1, MOST);
    } else if (first >= blocks.n) {
        refuse(x, first_at, "block %d of %d", first, blocks.n);
    } else {
        p->n -= first;
    }
    want_sign(x, ')');
    p->first = first;
    p->pitch = (size_t)blocks.of->n * sizeof *member;
    p->to = member + (int64_t)first * blocks.of->n;
}

// AT(0, 512), AT_SYM(3), VIEW(x), VIEWS(h, x, 0), VIEW_LIST(x)
static void read_where(interpreter *x, hap_place *p)
{
    int at = x->at++;
    word w = (word)x->t.token[at].name;
    value v;
    p->line = x->t.token[at].line;
    want_sign(x, '(');
    if (w == W_AT || w == W_AT_SYM) {
        v = read_longs(x, ')');
        if (v.n < 1 || v.n > (w == W_AT ? HAP_MAX_CLASSES : 1)) refuse(x, at, "%d offsets", v.n);
        memcpy(p->at, v.p, (size_t)v.n * sizeof *p->at);
        p->segment = w == W_AT ? SEG_LOCAL : SEG_SYM;
        return;
    }
    if (w == W_VIEW) {
        v = read_value(x);
        p->of = want_cell(x, at, &v);
    } else if (w == W_VIEW_LIST) {
        v = read_value(x);
        if (v.kind != V_TENSORS || v.n < p->n) refuse(x, at, "no such array of tensors");
        p->of = (hap_tensor **)(uintptr_t)v.p;
        p->of_pitch = sizeof *p->of;
    } else if (w == W_VIEWS) {
        hap_tensor **member = read_member(x, &v, NULL);
        want_sign(x, ',');
        int from = want_next(x, 0, v.n - p->n);
        p->of = member + (int64_t)from * v.of->n;
        p->of_pitch = (size_t)v.of->n * sizeof *member;
    } else {
        refuse(x, at, "a place like this one");
    }
    want_sign(x, ')');
}

// AS_PARAM("h.*.weight", HAP_FILL(1)), AS_INPUT("x"), AS_CONST_OF("c", "consts.safetensors#c")
static void read_as(interpreter *x, hap_place *p)
{
    static const hap_as kinds[] = {HAP_AS_INPUT,  HAP_AS_PARAM, HAP_AS_STATE,
                                   HAP_AS_BUFFER, HAP_AS_CONST, HAP_AS_CONST_FILE};
    int at = x->at++;
    word w = (word)x->t.token[at].name;
    if (w < W_AS_INPUT || w > W_AS_CONST_OF) refuse(x, at, "a name like this one");
    p->as = kinds[w - W_AS_INPUT];
    want_sign(x, '(');
    p->outer = want_text(x);
    if (w == W_AS_CONST_OF) {
        want_sign(x, ',');
        p->file = want_text(x);
    } else if (w != W_AS_INPUT && w != W_AS_STATE) {
        hap_fill *fill = take_memory(sizeof *fill);
        want_sign(x, ',');
        *fill = read_fill(x);
        p->fill = fill;
    }
    want_sign(x, ')');
}

static hap_place read_place(interpreter *x)
{
    hap_place p = {0};
    want_sign(x, '{');
    read_to(x, &p);
    want_sign(x, ',');
    p.shape = want_text(x);
    want_sign(x, ',');
    read_where(x, &p);
    if (take_sign(x, ',')) read_as(x, &p);
    want_sign(x, '}');
    return p;
}

static int want_int(interpreter *x)
{
    return want_next(x, 0, MOST);
}

// "{0, 1, {2, 1}, HAP_N(cuts_0), cuts_0}"
static hap_stage read_stage(interpreter *x)
{
    hap_stage s = {0};
    want_sign(x, '{');
    s.first = want_int(x);
    want_sign(x, ',');
    s.n_axes = want_int(x);
    want_sign(x, ',');
    want_sign(x, '{');
    for (int i = 0; i < HAP_MAX_AXES; i++) {
        if (i) want_sign(x, ',');
        s.size[i] = want_int(x);
    }
    want_sign(x, '}');
    want_sign(x, ',');
    s.n_cuts = want_int(x);
    want_sign(x, ',');
    int at = x->at;
    value v = read_value(x);
    if (v.kind != V_CUTS || v.n < s.n_cuts) refuse(x, at, "no such cuts");
    s.cuts = v.p;
    want_sign(x, '}');
    return s;
}

// "{"h.2", 0, "f32[8 64]", 1, "f32[8@rows 64]"}", or {0} where there is none
static hap_port read_port(interpreter *x)
{
    hap_port p = {0};
    want_sign(x, '{');
    if (next_token(x)->kind == TOK_TEXT) {
        p.name = want_text(x);
        want_sign(x, ',');
        p.from = want_int(x);
        want_sign(x, ',');
        p.sent = want_text(x);
        want_sign(x, ',');
        p.to = want_int(x);
        want_sign(x, ',');
        p.got = want_text(x);
    } else if (read_int(x) != 0) {
        refuse(x, x->at - 1, "a port like this one");
    }
    want_sign(x, '}');
    return p;
}

// HAP_FORWARD(3), HAP_BACK(3), HAP_WEIGHTS(3)
static hap_slot read_slot(interpreter *x)
{
    hap_slot s = {.weights = is_word(x, W_HAP_WEIGHTS)};
    s.back = s.weights || is_word(x, W_HAP_BACK);
    if (!s.back && !is_word(x, W_HAP_FORWARD)) refuse(x, x->at, "a slot like this one");
    x->at++;
    want_sign(x, '(');
    s.m = read_int(x);
    want_sign(x, ')');
    return s;
}

// One row of a table of type w, to `to`; its bytes.
static int64_t read_row(interpreter *x, word w, void *to)
{
    if (w == W_hap_cuts) {
        *(hap_cuts *)to = read_cut(x);
        return sizeof(hap_cuts);
    }
    if (w == W_hap_place) {
        *(hap_place *)to = read_place(x);
        return sizeof(hap_place);
    }
    if (w == W_hap_stage) {
        *(hap_stage *)to = read_stage(x);
        return sizeof(hap_stage);
    }
    if (w == W_hap_port) {
        *(hap_port *)to = read_port(x);
        return sizeof(hap_port);
    }
    *(hap_slot *)to = read_slot(x);
    return sizeof(hap_slot);
}

// "cuts[] = { … };" behind "static const hap_cuts"
static void declare_table(interpreter *x, word w)
{
    static const value_kind kinds[] = {V_CUTS, V_PLACES, V_STAGES, V_PORTS, V_SLOTS};
    union {
        hap_cuts cuts;
        hap_place place;
        hap_stage stage;
        hap_port port;
        hap_slot slot;
    } row;
    int at = want_name(x), n = 0;
    int64_t used = 0, cap = 0, item = 0;
    char *all = NULL;
    want_sign(x, '[');
    want_sign(x, ']');
    want_sign(x, '=');
    want_sign(x, '{');
    if (is_sign(x, '}')) refuse(x, x->at, "an empty table");
    for (bool more = true; more; n++) {
        item = read_row(x, w, &row);
        if (used + item > cap) {
            cap = cap ? 2 * cap : 64 * item;
            char *grown = take_memory(cap);
            if (used) memcpy(grown, all, (size_t)used);
            all = grown;
        }
        memcpy(all + used, &row, (size_t)item);
        used += item;
        more = take_sign(x, ',') && !is_sign(x, '}');
    }
    want_sign(x, '}');
    want_sign(x, ';');
    declare_symbol(x, at, S_VALUE)->v = (value){.kind = kinds[w - W_hap_cuts], .p = all, .n = n};
}

// "hap_device[] = {0, 1};" behind "static const int" or int64_t
static void declare_numbers(interpreter *x, bool wide)
{
    int at = want_name(x);
    want_sign(x, '[');
    want_sign(x, ']');
    want_sign(x, '=');
    want_sign(x, '{');
    value v = read_longs(x, '}');
    want_sign(x, ';');
    declare_symbol(x, at, S_VALUE)->v = wide ? v : ints_of(x, at, v);
}

// --- functions ---

// "h_forward(hap_rank *r, int i), …;" behind "static void", or a body
static void declare_functions(interpreter *x)
{
    for (;;) {
        int at = want_name(x);
        declare(x, at);
        symbol *s = &x->symbol[x->t.token[at].name];
        if (s->kind != S_NONE && s->kind != S_FUNCTION) refuse(x, at, "'%s' twice", name_at(x, at));
        char takes[sizeof s->takes];
        int params = x->at;
        read_parameters(x, takes, NULL);
        if (s->kind == S_NONE) s->declared = at;
        if (s->kind == S_FUNCTION && strcmp(s->takes, takes) != 0)
            refuse(x, at, "'%s' with other parameters", name_at(x, at));
        s->kind = S_FUNCTION;
        strcpy(s->takes, takes);
        if (is_sign(x, '{')) {
            if (s->params) refuse(x, at, "'%s' twice", name_at(x, at));
            s->params = params;
            skip_to_end(x, '{', '}');
            return;
        }
        if (take_sign(x, ';')) return;
        want_sign(x, ',');
    }
}

static void declare_static(interpreter *x)
{
    want_word(x, W_static);
    int at = x->at;
    if (take_word(x, W_const)) {
        const token *k = next_token(x);
        word w = k->kind == TOK_NAME ? (word)k->name : N_WORDS;
        x->at++;
        if (w == W_int || w == W_int64_t)
            declare_numbers(x, w == W_int64_t);
        else if (w >= W_hap_cuts && w <= W_hap_slot)
            declare_table(x, w);
        else
            refuse(x, at, "a table of this type");
    } else if (take_word(x, W_void)) {
        declare_functions(x);
    } else if (take_word(x, W_hap_tensor)) {
        declare_pointers(x, V_TENSORS);
    } else if (take_word(x, W_hap_event)) {
        declare_pointers(x, V_EVENTS);
    } else {
        int type = want_name(x);
        const symbol *s = &x->symbol[x->t.token[type].name];
        if (s->kind != S_TYPE) refuse(x, type, "variables of this type");
        declare_blocks(x, s->of);
    }
}

void read_declarations(interpreter *x)
{
    while (next_token(x)->kind != TOK_END) {
        if (is_word(x, W_static)) {
            declare_static(x);
        } else if (is_word(x, W_typedef)) {
            declare_type(x);
        } else if (take_word(x, W_int)) {
            int at = x->at;
            want_word(x, W_main);
            symbol *s = &x->symbol[W_main];
            if (s->kind != S_NONE) refuse(x, at, "main twice");
            *s = (symbol){.kind = S_FUNCTION, .params = x->at};
            skip_to_end(x, '(', ')');
            skip_to_end(x, '{', '}');
        } else {
            refuse(x, x->at, "such a declaration");
        }
    }
}
