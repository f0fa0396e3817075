#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpret/interpret.h"

const token *next_token(const interpreter *x)
{
    return &x->t.token[x->at];
}

bool is_sign(const interpreter *x, int sign)
{
    return next_token(x)->kind == TOK_SIGN && next_token(x)->sign == sign;
}

bool is_word(const interpreter *x, word w)
{
    return next_token(x)->kind == TOK_NAME && next_token(x)->name == (int)w;
}

bool take_sign(interpreter *x, int sign)
{
    bool is = is_sign(x, sign);
    x->at += is;
    return is;
}

bool take_word(interpreter *x, word w)
{
    bool is = is_word(x, w);
    x->at += is;
    return is;
}

_Noreturn void refuse(const interpreter *x, int at, const char *format, ...)
{
    char why[300];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    tokens_refuse(&x->t, &x->t.token[at], "not in the language of emitted programs: %s", why);
}

void want_sign(interpreter *x, int sign)
{
    char text[3] = {(char)(sign > 255 ? sign >> 8 : sign), (char)(sign > 255 ? sign & 255 : 0), 0};
    if (!take_sign(x, sign)) refuse(x, x->at, "no '%s' here", text);
}

void want_word(interpreter *x, word w)
{
    if (!take_word(x, w)) refuse(x, x->at, "no '%s' here", x->t.name[w]);
}

const char *want_text(interpreter *x)
{
    if (next_token(x)->kind != TOK_TEXT) refuse(x, x->at, "no string here");
    return x->t.token[x->at++].text;
}

const char *name_at(const interpreter *x, int at)
{
    return x->t.name[x->t.token[at].name];
}

void skip_to_end(interpreter *x, int open, int close)
{
    int from = x->at, depth = 0;
    do {
        if (next_token(x)->kind == TOK_END) refuse(x, from, "it does not end");
        depth += is_sign(x, open);
        depth -= is_sign(x, close);
        x->at++;
    } while (depth > 0);
}
