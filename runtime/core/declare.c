// Tensors with names outside the program, and what the step needs to know of the training.

#include <string.h>

#include "core/fail.h"
#include "core/rank.h"

static void add(hap_rank *r, hap_var v)
{
    HAP_CK(r, v.t, "%s: no tensor", v.name);
    HAP_CK(r, !r->in_step && !r->loaded, "%s is declared after the first step began", v.name);
    for (int i = 0; i < r->n_vars; i++) {
        bool grad = v.kind == HAP_VAR_GRAD, other = r->var[i].kind == HAP_VAR_GRAD;
        HAP_CK(r, grad != other || strcmp(r->var[i].name, v.name) != 0, "%s is declared twice",
               v.name);
    }
    v.line = r->line;
    r->var = hap_grow(r, r->var, &r->cap_vars, r->n_vars + 1, sizeof *r->var);
    r->var[r->n_vars++] = v;
}

void(hap_input)(hap_rank *r, const char *name, hap_tensor *t)
{
    add(r, (hap_var){.kind = HAP_VAR_INPUT, .name = name, .t = t});
}

void(hap_param)(hap_rank *r, const char *name, hap_tensor *t, hap_fill init)
{
    add(r, (hap_var){.kind = HAP_VAR_PARAM, .name = name, .t = t, .fill = init});
}

void(hap_state)(hap_rank *r, const char *name, hap_tensor *t)
{
    add(r, (hap_var){.kind = HAP_VAR_STATE, .name = name, .t = t});
}

void(hap_buffer)(hap_rank *r, const char *name, hap_tensor *t, hap_fill init)
{
    add(r, (hap_var){.kind = HAP_VAR_BUFFER, .name = name, .t = t, .fill = init});
}

void(hap_const)(hap_rank *r, const char *name, hap_tensor *t, hap_fill value)
{
    add(r, (hap_var){.kind = HAP_VAR_CONST, .name = name, .t = t, .fill = value});
}

void(hap_const_file)(hap_rank *r, const char *name, hap_tensor *t, const char *file_and_name)
{
    add(r, (hap_var){.kind = HAP_VAR_CONST, .name = name, .t = t, .file = file_and_name});
}

void(hap_grad)(hap_rank *r, const char *name, hap_tensor *t)
{
    add(r, (hap_var){.kind = HAP_VAR_GRAD, .name = name, .t = t});
}

void(hap_alias)(hap_rank *r, const char *name, const char *of)
{
    r->alias = hap_grow(r, r->alias, &r->cap_aliases, r->n_aliases + 1, sizeof *r->alias);
    r->alias[r->n_aliases++] = (hap_alias_name){name, of};
}

void(hap_loss)(hap_rank *r, hap_tensor *t)
{
    HAP_CK(r, t && t->elements == 1 && (t->type == HAP_F32 || t->type == HAP_BF16),
           "the loss is not one f32 or bf16");
    r->loss = t;
}

void(hap_batch)(hap_rank *r, int64_t rows, int64_t tokens_per_row)
{
    HAP_CK(r, rows >= 1 && tokens_per_row >= 0, "a batch of %lld rows", (long long)rows);
    r->batch_rows = rows;
    r->tokens_per_row = tokens_per_row;
}

void(hap_schedule)(hap_rank *r, hap_lr lr)
{
    r->schedule = lr;
}
