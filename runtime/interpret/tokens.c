#include "interpret/tokens.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"

enum { LARGEST = 1 << 30, LONGEST_NAME = 4096, HASH = 1 << 16 };

void *take_memory(int64_t bytes)
{
    typedef struct chunk {
        struct chunk *before;
        int64_t used, size;
        _Alignas(16) char bytes[];
    } chunk;
    static chunk *last;
    enum { CHUNK = 1 << 20 };
    bytes = (bytes + 15) / 16 * 16;
    if (!last || last->size - last->used < bytes) {
        int64_t size = bytes > CHUNK ? bytes : CHUNK;
        chunk *c = calloc(1, sizeof *c + (size_t)size);
        if (!c) {
            fputs("out of memory\n", stderr);
            exit(HAP_EXIT_FAILED);
        }
        c->before = last;
        c->size = size;
        last = c;
    }
    last->used += bytes;
    return last->bytes + last->used - bytes;
}

static void show_line(const source *s, const token *at)
{
    const char *from = at->at, *to = at->at, *end = s->text + s->n;
    while (from > s->text && from[-1] != '\n')
        from--;
    while (to < end && *to != '\n')
        to++;
    for (const char *c = from; c < to; c++)
        fputc(iscntrl((unsigned char)*c) ? ' ' : *c, stderr);
    fprintf(stderr, "\n%*s^\n", at->col - 1, "");
}

void tokens_refuse(const tokens *t, const token *at, const char *format, ...)
{
    va_list args;
    const source *s = &t->file[at->file];
    fprintf(stderr, "%s:%d:%d: error: ", s->path, at->line, at->col);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    show_line(s, at);
    exit(HAP_EXIT_INPUT);
}

// --- reading ---

static source read_source(const char *path)
{
    source s = {.path = path};
    FILE *f = fopen(path, "rb");
    long n = -1;
    if (f && fseek(f, 0, SEEK_END) == 0) n = ftell(f);
    if (!f || n < 0 || n > LARGEST || fseek(f, 0, SEEK_SET) != 0) {
        fprintf(stderr, "%s: %s\n", path, n > LARGEST ? "it is too large" : strerror(errno));
        exit(HAP_EXIT_INPUT);
    }
    char *text = take_memory(n + 1);
    s.n = (int64_t)fread(text, 1, (size_t)n, f);
    s.text = text;
    fclose(f);
    if (s.n != n) {
        fprintf(stderr, "%s: it cannot be read\n", path);
        exit(HAP_EXIT_INPUT);
    }
    return s;
}

static unsigned hash_of(const char *text, int len)
{
    unsigned h = 2166136261u;
    for (int i = 0; i < len; i++)
        h = (h ^ (unsigned char)text[i]) * 16777619u;
    return h;
}

// Doubles an array that is full. What it was stays in memory that nobody has.
static void *room(void *p, int *cap, int n, int64_t item)
{
    if (n < *cap) return p;
    int cap_now = *cap ? 2 * *cap : 1024;
    char *more = take_memory(cap_now * item);
    if (p) memcpy(more, p, (size_t)(n * item));
    *cap = cap_now;
    return more;
}

int tokens_name(tokens *t, const char *text, int len)
{
    if (!t->bucket) {
        t->bucket = take_memory(HASH * (int64_t)sizeof *t->bucket);
        t->n_buckets = HASH;
        for (int i = 0; i < HASH; i++)
            t->bucket[i] = -1;
    }
    unsigned at = hash_of(text, len) % HASH;
    for (; t->bucket[at] >= 0; at = (at + 1) % HASH) {
        const char *other = t->name[t->bucket[at]];
        if (strncmp(other, text, (size_t)len) == 0 && !other[len]) return t->bucket[at];
    }
    if (t->n_names >= HASH / 2) {
        fputs("not supported: a program of so many names\n", stderr);
        exit(HAP_EXIT_FAILED);
    }
    t->name = room(t->name, &t->cap_names, t->n_names, sizeof *t->name);
    char *copy = take_memory(len + 1);
    memcpy(copy, text, (size_t)len);
    t->name[t->n_names] = copy;
    return t->bucket[at] = t->n_names++;
}

typedef struct reader {
    tokens *t;
    int file, line;
    const char *at, *end, *line_at;
} reader;

static token here(const reader *x, token_kind kind, const char *from)
{
    return (token){.kind = kind,
                   .file = x->file,
                   .line = x->line,
                   .col = (int)(from - x->line_at) + 1,
                   .at = from,
                   .len = (int)(x->at - from)};
}

static void add(reader *x, token k)
{
    tokens *t = x->t;
    k.len = (int)(x->at - k.at);
    t->token = room(t->token, &t->cap, t->n, sizeof *t->token);
    t->token[t->n++] = k;
}

_Noreturn static void refuse(const reader *x, const char *from, const char *why)
{
    token k = here(x, TOK_END, from);
    tokens_refuse(x->t, &k, "not in the language of emitted programs: %s", why);
}

static bool begins(const reader *x, const char *with)
{
    size_t n = strlen(with);
    return (size_t)(x->end - x->at) >= n && memcmp(x->at, with, n) == 0;
}

// What would change how a compiler reads the text around it.
static void check_text(reader *x)
{
    for (; x->at < x->end; x->at++) {
        unsigned char c = (unsigned char)*x->at;
        const char *next = x->at + 1;
        if (c == '\n') {
            x->line++;
            x->line_at = next;
        }
        if (begins(x, "??")) refuse(x, x->at, "a trigraph");
        if (c == '\\' && (next == x->end || *next == '\n' || *next == '\r'))
            refuse(x, x->at, "a line that goes on in the next one");
        if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f)
            refuse(x, x->at, "a control character");
        if (c == 0xe2 && x->end - x->at > 2) {
            unsigned char d = (unsigned char)next[0], e = (unsigned char)next[1];
            if ((d == 0x80 && e >= 0xaa && e <= 0xae) || (d == 0x81 && e >= 0xa6 && e <= 0xa9))
                refuse(x, x->at, "a mark that turns the direction of text");
        }
    }
    x->at = x->t->file[x->file].text;
    x->line = 1;
    x->line_at = x->at;
}

static void skip_comment(reader *x)
{
    const char *from = x->at;
    if (x->at[1] == '/') {
        while (x->at < x->end && *x->at != '\n')
            x->at++;
        return;
    }
    token k = here(x, TOK_END, from);
    for (x->at += 2; !begins(x, "*/"); x->at++) {
        if (x->at >= x->end) tokens_refuse(x->t, &k, "the comment does not end");
        if (*x->at == '\n') {
            x->line++;
            x->line_at = x->at + 1;
        }
    }
    x->at += 2;
}

static void read_text(reader *x)
{
    const char *from = x->at++, *quote = x->at;
    while (quote < x->end && *quote != '"' && *quote != '\n')
        quote += *quote == '\\' ? 2 : 1;
    if (quote >= x->end || *quote == '\n') refuse(x, from, "a string that does not end");
    char *text = take_memory(quote - from), *to = text;
    for (; x->at < quote; to++) {
        *to = *x->at++;
        if (*to != '\\') continue;
        char c = *x->at++;
        int value, digits = 1;
        if (c == '"' || c == '\\' || c == '?') {
            *to = c;
            continue;
        }
        if (c < '0' || c > '7') refuse(x, x->at - 2, "an escape like this one");
        for (value = c - '0'; digits < 3 && *x->at >= '0' && *x->at <= '7'; digits++)
            value = 8 * value + (*x->at++ - '0');
        if (value == 0 || value > 255) refuse(x, from, "a string with such a character");
        *to = (char)value;
    }
    x->at = quote + 1;
    token k = here(x, TOK_TEXT, from);
    k.text = text;
    add(x, k);
}

static void read_number(reader *x)
{
    const char *from = x->at;
    bool real = false;
    while (x->at < x->end && (isalnum((unsigned char)*x->at) || *x->at == '.' ||
                              ((*x->at == '-' || *x->at == '+') && x->at[-1] == 'e'))) {
        real |= *x->at == '.' || *x->at == 'e';
        x->at++;
    }
    token k = here(x, real ? TOK_REAL : TOK_INT, from);
    char text[64], *rest = text;
    if (k.len >= (int)sizeof text) refuse(x, from, "a number of so many digits");
    memcpy(text, from, (size_t)k.len);
    text[k.len] = 0;
    bool octal = !real && k.len > 1 && text[0] == '0', hex = text[0] == '0' && strpbrk(text, "xX");
    errno = 0;
    if (real)
        k.f = strtod(text, &rest);
    else
        k.i = strtoll(text, &rest, 10);
    if (octal || hex || *rest || (!real && errno)) refuse(x, from, "a number like this one");
    add(x, k);
}

static void read_name(reader *x)
{
    const char *from = x->at;
    while (x->at < x->end && (isalnum((unsigned char)*x->at) || *x->at == '_'))
        x->at++;
    token k = here(x, TOK_NAME, from);
    if (k.len > LONGEST_NAME) refuse(x, from, "a name of so many letters");
    k.name = tokens_name(x->t, from, k.len);
    add(x, k);
}

static void read_sign(reader *x)
{
    static const char *const pairs[] = {"->", "++", "--", "&&", "||", "==", "!=", "<=", ">="};
    static const char *const others[] = {"<<", ">>", "+=", "-=", "*=", "/=", "%=", "&=", "|=",
                                         "^=", "<:", ":>", "<%", "%>", "%:", "..", "##"};
    const char *from = x->at;
    token k = here(x, TOK_SIGN, from);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (begins(x, others[i])) refuse(x, from, others[i]);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs && !k.sign; i++)
        if (begins(x, pairs[i])) k.sign = SIGN2(pairs[i][0], pairs[i][1]);
    if (!k.sign && !strchr("(){}[];,.=+-*/%<>!&|:", *from)) refuse(x, from, "this character");
    x->at += k.sign ? 2 : 1;
    if (!k.sign) k.sign = *from;
    add(x, k);
}

static void read_file(tokens *t, const char *path, bool outer);

// #include of the runtime's headers, which say what this language has, or of buffers.h.
static void read_include(reader *x, bool outer)
{
    static const char *const runtime[] = {"#include \"hap/runtime.h\"\n",
                                          "#include \"hap/table.h\"\n"};
    static const char buffers[] = "#include \"buffers.h\"\n";
    const char *from = x->at;
    bool first = true;
    for (const char *c = x->line_at; c < from; c++)
        first &= *c == ' ';
    for (int i = 0; first && i < 2; i++)
        if (begins(x, runtime[i])) {
            x->at += strlen(runtime[i]) - 1;
            return;
        }
    if (!first || !outer || !begins(x, buffers)) refuse(x, from, "this directive");
    if (x->t->n_files == SOURCES) refuse(x, from, "buffers.h twice");
    x->at += strlen(buffers) - 1;
    const char *path = x->t->file[0].path, *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash - path) + 1 : 0;
    char *beside = take_memory(folder + 16);
    snprintf(beside, (size_t)folder + 16, "%.*sbuffers.h", folder, path);
    read_file(x->t, beside, false);
}

static void read_file(tokens *t, const char *path, bool outer)
{
    reader x = {.t = t, .file = t->n_files, .line = 1};
    t->file[t->n_files++] = read_source(path);
    const source *s = &t->file[x.file];
    x.at = x.line_at = s->text;
    x.end = s->text + s->n;
    check_text(&x);
    while (x.at < x.end) {
        char c = *x.at;
        if (c == '\n') {
            x.line++;
            x.line_at = ++x.at;
        } else if (c == ' ' || c == '\t') {
            x.at++;
        } else if (begins(&x, "//") || begins(&x, "/*")) {
            skip_comment(&x);
        } else if (c == '#') {
            read_include(&x, outer);
        } else if (c == '"') {
            read_text(&x);
        } else if (isdigit((unsigned char)c)) {
            read_number(&x);
        } else if (isalpha((unsigned char)c) || c == '_') {
            read_name(&x);
        } else {
            read_sign(&x);
        }
    }
    if (outer) add(&x, here(&x, TOK_END, x.at));
}

void tokens_read(tokens *t, const char *path)
{
    read_file(t, path, true);
}
