// Leaves of a graph file: numbers, affine sizes in B, shapes, dtypes, initial values, attributes.

#include "ir/reader.h"

#include <math.h>
#include <string.h>

static const int64_t LARGEST = (int64_t)1 << 40;       // one size or integer
static const int64_t MOST_ELEMENTS = (int64_t)1 << 50; // of one tensor

static const char *kind_name(hb_kind k)
{
    switch (k) {
    case HB_NULL:
        return "null";
    case HB_BOOL:
        return "true or false";
    case HB_INT:
        return "an integer";
    case HB_REAL:
        return "a number";
    case HB_TEXT:
        return "text";
    case HB_LIST:
        return "a list";
    case HB_TABLE:
        return "a table";
    }
    return "";
}

void rd_error(ir_reader *r, hb_pos at, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    hb_buf b = {.arena = r->a};
    hb_vprintf(&b, fmt, ap);
    va_end(ap);
    hb_error(r->d, r->src, at, "%.*s", HB_ARG(hb_done(&b)));
}

bool rd_is(ir_reader *r, const hb_tree *t, hb_kind kind)
{
    if (t->kind == kind) return true;
    rd_error(r, t->at, "expected %s, found %s", kind_name(kind), kind_name(t->kind));
    return false;
}

const hb_tree *rd_need(ir_reader *r, const hb_tree *table, const char *key, const char *of,
                       hb_kind kind)
{
    const hb_tree *t = hb_get(table, key);
    if (!t) {
        rd_error(r, table->at, "%s has no '%s'", of, key);
        return NULL;
    }
    return rd_is(r, t, kind) ? t : NULL;
}

bool rd_text(ir_reader *r, const hb_tree *t, hb_str *s)
{
    if (!rd_is(r, t, HB_TEXT)) return false;
    if (t->s.n == 0) {
        rd_error(r, t->at, "empty text");
        return false;
    }
    *s = t->s;
    return true;
}

bool rd_real(ir_reader *r, const hb_tree *t, double *f)
{
    if (t->kind != HB_INT && t->kind != HB_REAL) return rd_is(r, t, HB_REAL);
    if (!isfinite(t->f)) {
        rd_error(r, t->at, "the number is not finite");
        return false;
    }
    *f = t->f;
    return true;
}

bool rd_bool(ir_reader *r, const hb_tree *t, bool *b)
{
    if (!rd_is(r, t, HB_BOOL)) return false;
    *b = t->b;
    return true;
}

// One term of affine text: INT, B, INT*B or B*INT. Returns the end, NULL on a mismatch.
static const char *affine_term(const char *p, int64_t *factor, bool *has_b)
{
    *factor = 1;
    *has_b = false;
    for (;;) {
        p += strspn(p, " ");
        if (*p == 'B' && !*has_b) {
            *has_b = true;
            p++;
        } else if (*p >= '0' && *p <= '9') {
            int64_t v = 0;
            for (; *p >= '0' && *p <= '9'; p++)
                if ((v = v * 10 + (*p - '0')) > LARGEST) return NULL;
            if (v != 0 && *factor > LARGEST / v) return NULL;
            *factor *= v;
        } else {
            return NULL;
        }
        p += strspn(p, " ");
        if (*p != '*') return p;
        p++;
    }
}

// "B", "2*B", "B+1", "2*B - 1": affine in the batch symbol.
static bool affine(ir_reader *r, const hb_tree *t, int64_t *out)
{
    const char *p = t->s.p ? t->s.p : "";
    int64_t sum = 0, sign = 1;
    bool any_b = false;
    for (;;) {
        int64_t factor;
        bool has_b;
        p = affine_term(p, &factor, &has_b);
        if (!p) break;
        int64_t b = has_b ? r->batch : 1;
        any_b = any_b || has_b;
        if (b > 0 && factor > LARGEST / b) break;
        sum += sign * factor * b;
        if (sum > LARGEST || sum < -LARGEST) break;
        if (*p == 0) {
            if (any_b && r->batch == 0) {
                rd_error(r, t->at, "B has no value: the file has no 'batch'");
                return false;
            }
            *out = sum;
            return true;
        }
        if (*p != '+' && *p != '-') break;
        sign = *p++ == '+' ? 1 : -1;
    }
    rd_error(r, t->at, "'%.*s' is not affine in B", HB_ARG(t->s));
    hb_hint(r->d, "write an integer or text like \"B\", \"2*B\", \"B+1\"");
    return false;
}

bool rd_int(ir_reader *r, const hb_tree *t, int64_t *i)
{
    if (t->kind == HB_TEXT) return affine(r, t, i);
    if (!rd_is(r, t, HB_INT)) return false;
    if (t->i > LARGEST || t->i < -LARGEST) {
        rd_error(r, t->at, "%lld is out of range", (long long)t->i);
        return false;
    }
    *i = t->i;
    return true;
}

bool rd_dtype(ir_reader *r, const hb_tree *t, ir_dtype *dtype)
{
    hb_str s;
    if (!rd_text(r, t, &s)) return false;
    if (ir_dtype_parse(s, dtype)) return true;
    const char *names[IR_N_DTYPES];
    for (int i = 0; i < IR_N_DTYPES; i++)
        names[i] = ir_dtype_name((ir_dtype)i);
    rd_error(r, t->at, "unknown dtype '%.*s'", HB_ARG(s));
    const char *near = hb_nearest(s, names, IR_N_DTYPES);
    if (near)
        hb_hint(r->d, "did you mean '%s'?", near);
    else
        hb_hint(r->d, "dtypes are f32, bf16, f16, i64, i32, bool, u8");
    return false;
}

bool rd_size_ok(ir_reader *r, hb_pos at, const ir_tensor *t)
{
    bool good = ir_elements(t) <= MOST_ELEMENTS;
    for (int i = 0; i < t->rank; i++)
        good = good && t->dim[i] <= LARGEST;
    if (!good) rd_error(r, at, "tensor '%.*s' is too large", HB_ARG(t->name));
    return good;
}

// *batch: the first dim written with B, -1 if none.
bool rd_shape(ir_reader *r, const hb_tree *t, int *rank, int64_t *dim, int *batch)
{
    if (!rd_is(r, t, HB_LIST)) return false;
    if (t->n > IR_MAX_RANK) {
        rd_error(r, t->at, "%d dims, at most %d are supported", t->n, IR_MAX_RANK);
        return false;
    }
    bool good = true;
    *rank = t->n;
    *batch = -1;
    for (int i = 0; i < t->n; i++) {
        dim[i] = 1;
        if (!rd_int(r, t->v[i], &dim[i])) {
            good = false;
        } else if (dim[i] < 1) {
            rd_error(r, t->v[i]->at, "size %lld (sizes are at least 1)", (long long)dim[i]);
            good = false;
        }
        if (*batch < 0 && t->v[i]->kind == HB_TEXT && memchr(t->v[i]->s.p, 'B', t->v[i]->s.n))
            *batch = i;
    }
    return good;
}

static bool stored(ir_reader *r, const hb_tree *t, ir_init *init)
{
    if (!rd_text(r, t, &init->stored)) return false;
    const char *hash = memchr(t->s.p, '#', t->s.n);
    if (!hash || hash == t->s.p || hash + 1 == t->s.p + t->s.n) {
        rd_error(r, t->at, "expected \"file.safetensors#name\"");
        return false;
    }
    init->kind = IR_INIT_STORED;
    init->at = t->at;
    return true;
}

static bool sha256(ir_reader *r, const hb_tree *t, ir_init *init)
{
    if (!rd_text(r, t, &init->sha256)) return false;
    init->at = t->at;
    if (t->s.n == 64 && strspn(hb_fmt(r->a, "%.*s", HB_ARG(t->s)).p, "0123456789abcdef") == 64)
        return true;
    rd_error(r, t->at, "expected the 64 hexadecimal digits of a SHA-256");
    return false;
}

static bool two_reals(ir_reader *r, const hb_tree *t, ir_init *init)
{
    if (!rd_is(r, t, HB_LIST)) return false;
    if (t->n != 2) {
        rd_error(r, t->at, "expected a list of two numbers");
        return false;
    }
    return rd_real(r, t->v[0], &init->a) && rd_real(r, t->v[1], &init->b);
}

bool rd_init(ir_reader *r, const hb_tree *t, ir_init *init)
{
    static const char *const names[] = {"const", "normal", "uniform", "iota", "stored", "sha256"};
    if (t->kind == HB_TEXT) return stored(r, t, init);
    if (!rd_is(r, t, HB_TABLE)) return false;
    int before = hb_diag_count(r->d);
    hb_only_keys(t, names, 6, r->src, r->d);
    if (hb_diag_count(r->d) > before) return false;
    const hb_tree *file = hb_get(t, "stored"), *sha = hb_get(t, "sha256");
    if (file && sha && t->n == 2) return stored(r, file, init) && sha256(r, sha, init);
    if (t->n != 1 || sha) {
        rd_error(r, t->at, "expected one of const, normal, uniform, iota, stored");
        return false;
    }
    const hb_tree *v = t->v[0];
    if (hb_str_is(t->key[0], "stored")) return stored(r, v, init);
    if (hb_str_is(t->key[0], "const")) {
        init->kind = IR_INIT_CONST;
        if (v->kind == HB_BOOL) {
            init->a = v->b;
            return true;
        }
        return rd_real(r, v, &init->a);
    }
    if (hb_str_is(t->key[0], "normal")) {
        init->kind = IR_INIT_NORMAL;
        if (!rd_real(r, v, &init->a)) return false;
        if (init->a < 0) {
            rd_error(r, v->at, "a standard deviation is not negative");
            return false;
        }
        return true;
    }
    init->kind = hb_str_is(t->key[0], "iota") ? IR_INIT_IOTA : IR_INIT_UNIFORM;
    if (!two_reals(r, v, init)) return false;
    if (init->kind == IR_INIT_UNIFORM && init->a > init->b) {
        rd_error(r, v->at, "the lower bound comes first");
        return false;
    }
    return true;
}

bool rd_attr(ir_reader *r, const hb_tree *t, ir_attr *attr)
{
    bool b;
    ir_dtype dtype;
    switch (attr->kind) {
    case IR_ATTR_INT:
        return rd_int(r, t, &attr->i);
    case IR_ATTR_REAL:
        return rd_real(r, t, &attr->f);
    case IR_ATTR_BOOL:
        if (!rd_bool(r, t, &b)) return false;
        attr->i = b;
        return true;
    case IR_ATTR_DTYPE:
        if (!rd_dtype(r, t, &dtype)) return false;
        attr->i = (int64_t)dtype;
        return true;
    case IR_ATTR_INTS:
        break;
    }
    if (!rd_is(r, t, HB_LIST)) return false;
    if (t->n > IR_MAX_RANK + 2) {
        rd_error(r, t->at, "%d entries, at most %d are supported", t->n, IR_MAX_RANK + 2);
        return false;
    }
    bool good = true;
    attr->n = t->n;
    for (int i = 0; i < t->n; i++)
        good = rd_int(r, t->v[i], &attr->v[i]) && good;
    return good;
}
