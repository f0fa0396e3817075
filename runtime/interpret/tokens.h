// program.c and buffers.h as a list of tokens, of which each is one that an emitted program has.
//
// What a C compiler would read otherwise than it looks is refused wherever it stands, in comments
// too: directives, digraphs and trigraphs, lines that go on in the next one, marks that turn the
// direction of text. So the tokens here are the compiler's.

#ifndef HAP_INTERPRET_TOKENS_H
#define HAP_INTERPRET_TOKENS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum { TOK_END, TOK_NAME, TOK_INT, TOK_REAL, TOK_TEXT, TOK_SIGN } token_kind;

typedef struct token {
    token_kind kind;
    int file, line, col; // from 1 on
    int name;            // TOK_NAME: number of the name
    int sign;            // TOK_SIGN: its character, or two as SIGN2
    int64_t i;           // TOK_INT
    double f;            // TOK_REAL
    const char *text;    // TOK_TEXT: without quotes and escapes
    const char *at;      // in the source, len bytes
    int len;
} token;
#define SIGN2(a, b) ((a) << 8 | (b))

typedef struct source {
    const char *path, *text;
    int64_t n;
} source;

enum { SOURCES = 2 }; // program.c, buffers.h

typedef struct tokens {
    source file[SOURCES];
    int n_files;
    token *token;
    int n, cap;
    char **name; // by number
    int n_names, cap_names;
    int *bucket, n_buckets; // of names by their text; -1: none
} tokens;

// Reads path and, where it says #include "buffers.h", that file beside it. Prints why and exits
// with 1 if a file cannot be read or has something else in it.
void tokens_read(tokens *t, const char *path);
int tokens_name(tokens *t, const char *text, int len); // its number; new names get the next one

// Prints file, line and column, the message and the line with a caret; exits with 1.
_Noreturn void tokens_refuse(const tokens *t, const token *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

void *take_memory(int64_t bytes); // zeroed, to the end of the process; never NULL

#endif
