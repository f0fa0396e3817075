#include "ir/base/tree.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

// A document from libyaml's events: one document, no anchors, aliases, tags or merge keys. A syntax
// error ends the reading; what libyaml accepts and we do not is collected.

enum { DEEPEST = 64 };

typedef struct reader {
    hb_arena *arena, *scratch; // scratch: key sets and line starts, gone with the reader
    const hb_source *src;
    hb_diag *diag;
    yaml_parser_t parser;
    yaml_event_t event;   // the present one; deleted by the next advance()
    HB_VEC(size_t) lines; // offset of each line
    int depth;
} reader;

// libyaml counts columns in characters, a position in bytes.
static hb_pos pos_of(const reader *r, yaml_mark_t mark)
{
    hb_str text = r->src->text;
    if (mark.line >= (size_t)r->lines.n) return (hb_pos){r->lines.n, 1};
    size_t start = r->lines.p[mark.line], p = start;
    for (size_t i = 0; i < mark.column && p < text.n && text.p[p] != '\n'; i++)
        do
            p++;
        while (p < text.n && ((unsigned char)text.p[p] & 0xc0) == 0x80);
    return (hb_pos){(int)mark.line + 1, (int)(p - start) + 1};
}

static hb_pos pos_of_offset(const reader *r, size_t offset)
{
    int line = r->lines.n;
    while (line > 1 && r->lines.p[line - 1] > offset)
        line--;
    return (hb_pos){line, (int)(offset - r->lines.p[line - 1]) + 1};
}

static void report_syntax(const reader *r)
{
    const yaml_parser_t *p = &r->parser;
    const char *problem = p->problem ? p->problem : "cannot be read";
    switch (p->error) {
    case YAML_MEMORY_ERROR:
        hb_bug("libyaml ran out of memory", __FILE__, __LINE__);
    case YAML_READER_ERROR:
        hb_error(r->diag, r->src, pos_of_offset(r, p->problem_offset), "%s", problem);
        return;
    case YAML_NO_ERROR:
    case YAML_SCANNER_ERROR:
    case YAML_PARSER_ERROR:
    case YAML_COMPOSER_ERROR:
    case YAML_WRITER_ERROR:
    case YAML_EMITTER_ERROR:
        break;
    }
    hb_error(r->diag, r->src, pos_of(r, p->problem_mark), "%s%s%s", problem, p->context ? " " : "",
             p->context ? p->context : "");
}

static bool advance(reader *r)
{
    yaml_event_delete(&r->event);
    memset(&r->event, 0, sizeof r->event);
    if (yaml_parser_parse(&r->parser, &r->event)) return true;
    report_syntax(r);
    return false;
}

static void refuse(const reader *r, const char *what)
{
    hb_error(r->diag, r->src, pos_of(r, r->event.start_mark), "not supported: %s", what);
}

// [-+]digits[.digits][e[-+]digits], with a digit on at least one side of the dot.
static bool is_number(const char *p, bool *whole)
{
    int before = 0, after = 0;
    *whole = true;
    if (*p == '-' || *p == '+') p++;
    for (; *p >= '0' && *p <= '9'; p++)
        before++;
    if (*p == '.') {
        *whole = false;
        for (p++; *p >= '0' && *p <= '9'; p++)
            after++;
    }
    if (before + after == 0) return false;
    if (*p == 'e' || *p == 'E') {
        *whole = false;
        p++;
        if (*p == '-' || *p == '+') p++;
        if (*p < '0' || *p > '9') return false;
        while (*p >= '0' && *p <= '9')
            p++;
    }
    return *p == '\0';
}

// YAML 1.2's core schema, less hexadecimal, octal and infinities, which stay text.
static void type_plain(reader *r, hb_tree *t)
{
    static const char *const yes[] = {"true", "True", "TRUE"};
    static const char *const no[] = {"false", "False", "FALSE"};
    static const char *const none[] = {"", "~", "null", "Null", "NULL"};
    t->kind = HB_TEXT;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (hb_str_is(t->s, none[i])) t->kind = HB_NULL;
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) {
        bool is_yes = hb_str_is(t->s, yes[i]);
        if (!is_yes && !hb_str_is(t->s, no[i])) continue;
        t->kind = HB_BOOL;
        t->b = is_yes;
    }
    bool whole;
    if (t->kind != HB_TEXT || memchr(t->s.p, '\0', t->s.n) || !is_number(t->s.p, &whole)) return;
    t->kind = HB_REAL;
    t->f = strtod(t->s.p, NULL);
    if (isinf(t->f)) hb_error(r->diag, r->src, t->at, "number out of range");
    if (!whole) return;
    errno = 0;
    long long i = strtoll(t->s.p, NULL, 10);
    if (errno) return;
    t->kind = HB_INT;
    t->i = i;
}

static hb_tree *read_node(reader *r);

static hb_tree *node_new(const reader *r, hb_kind kind)
{
    hb_tree *t = HB_NEW(r->arena, hb_tree);
    t->kind = kind;
    t->at = pos_of(r, r->event.start_mark);
    return t;
}

// An alias to an earlier node and a "<<" key would let text stand for other text elsewhere; a tag
// would change types.
static void check_properties(const reader *r, const yaml_char_t *anchor, const yaml_char_t *tag)
{
    if (anchor) refuse(r, "anchors");
    if (tag) refuse(r, "tags");
}

// The text of the present event, a scalar.
static hb_str text_of(const reader *r)
{
    const char *text = (const char *)r->event.data.scalar.value;
    size_t n = r->event.data.scalar.length;
    check_properties(r, r->event.data.scalar.anchor, r->event.data.scalar.tag);
    if (strlen(text) < n)
        hb_error(r->diag, r->src, pos_of(r, r->event.start_mark), "a zero byte in a string");
    return hb_str_n(r->arena, text, n);
}

static hb_tree *read_scalar(reader *r)
{
    hb_tree *t = node_new(r, HB_TEXT);
    t->s = text_of(r);
    if (r->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE) type_plain(r, t);
    return t;
}

static bool enter(reader *r)
{
    if (r->depth++ < DEEPEST) return true;
    hb_error(r->diag, r->src, pos_of(r, r->event.start_mark), "nested deeper than %d levels",
             DEEPEST);
    return false;
}

static hb_tree *read_list(reader *r)
{
    hb_tree *t = node_new(r, HB_LIST);
    HB_VEC(hb_tree *) v = {0};
    check_properties(r, r->event.data.sequence_start.anchor, r->event.data.sequence_start.tag);
    if (!enter(r)) return NULL;
    for (;;) {
        if (!advance(r)) return NULL;
        if (r->event.type == YAML_SEQUENCE_END_EVENT) break;
        hb_tree *child = read_node(r);
        if (!child) return NULL;
        HB_PUSH(r->arena, &v, child);
    }
    r->depth--;
    t->v = v.p;
    t->n = v.n;
    return t;
}

// The present event is a key; false if it cannot be one (then the reading ends).
static bool read_key(reader *r, hb_str *key, hb_pos *at)
{
    *at = pos_of(r, r->event.start_mark);
    if (r->event.type == YAML_ALIAS_EVENT) {
        refuse(r, "aliases");
        return false;
    }
    if (r->event.type != YAML_SCALAR_EVENT) {
        refuse(r, "a list or table as a key");
        return false;
    }
    *key = text_of(r);
    if (r->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE && hb_str_is(*key, "<<"))
        refuse(r, "merge keys");
    return true;
}

static hb_tree *read_table(reader *r)
{
    hb_tree *t = node_new(r, HB_TABLE);
    HB_VEC(hb_tree *) v = {0};
    HB_VEC(hb_str) keys = {0};
    HB_VEC(hb_pos) ats = {0};
    hb_map *seen = hb_map_new(r->scratch);
    check_properties(r, r->event.data.mapping_start.anchor, r->event.data.mapping_start.tag);
    if (!enter(r)) return NULL;
    for (;;) {
        hb_str key;
        hb_pos at;
        if (!advance(r)) return NULL;
        if (r->event.type == YAML_MAPPING_END_EVENT) break;
        if (!read_key(r, &key, &at)) return NULL;
        int before = hb_map_get(seen, key);
        if (before >= 0)
            hb_error(r->diag, r->src, at, "duplicate key '%.*s', first on line %d", HB_ARG(key),
                     ats.p[before].line);
        else
            hb_map_put(seen, key, keys.n);
        HB_PUSH(r->arena, &keys, key);
        HB_PUSH(r->arena, &ats, at);
        if (!advance(r)) return NULL;
        hb_tree *child = read_node(r);
        if (!child) return NULL;
        HB_PUSH(r->arena, &v, child);
    }
    r->depth--;
    t->v = v.p;
    t->n = v.n;
    t->key = keys.p;
    t->key_at = ats.p;
    return t;
}

// The node whose first event is the present one; leaves its last event as the present one.
static hb_tree *read_node(reader *r)
{
    if (r->event.type == YAML_SCALAR_EVENT) return read_scalar(r);
    if (r->event.type == YAML_SEQUENCE_START_EVENT) return read_list(r);
    if (r->event.type == YAML_MAPPING_START_EVENT) return read_table(r);
    hb_assert(r->event.type == YAML_ALIAS_EVENT);
    refuse(r, "aliases");
    return NULL;
}

static hb_tree *read_document(reader *r)
{
    if (!advance(r)) return NULL; // stream start
    if (!advance(r)) return NULL;
    if (r->event.type == YAML_STREAM_END_EVENT) {
        hb_error(r->diag, r->src, (hb_pos){0, 0}, "the file is empty");
        return NULL;
    }
    if (r->event.data.document_start.tag_directives.start !=
        r->event.data.document_start.tag_directives.end)
        refuse(r, "tags");
    if (!advance(r)) return NULL;
    hb_tree *t = read_node(r);
    if (!t || !advance(r) || !advance(r)) return NULL; // document end
    if (r->event.type != YAML_STREAM_END_EVENT) {
        refuse(r, "more than one document in a file");
        return NULL;
    }
    return t;
}

hb_tree *hb_yaml_read(hb_arena *a, const hb_source *src, hb_diag *d)
{
    hb_arena *scratch = hb_arena_new();
    reader r = {.arena = a, .scratch = scratch, .src = src, .diag = d};
    const char *text = src->text.p ? src->text.p : "";
    HB_PUSH(scratch, &r.lines, 0);
    for (size_t i = 0; i < src->text.n; i++)
        if (text[i] == '\n') HB_PUSH(scratch, &r.lines, i + 1);

    hb_tree *t = NULL;
    int errors = hb_diag_count(d);
    if (!yaml_parser_initialize(&r.parser)) hb_bug("libyaml ran out of memory", __FILE__, __LINE__);
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, src->text.n);
    t = read_document(&r);
    yaml_event_delete(&r.event);
    yaml_parser_delete(&r.parser);
    hb_arena_free(scratch);
    return hb_diag_count(d) == errors ? t : NULL;
}
