// bf16 and f16 on the CPU: storage only. Kernels compute in f32; a call with narrow operands or
// outputs runs on f32 copies of them, and what it wrote is rounded to nearest even on the way back.
// So one rounding an output, as a bf16 kernel with f32 accumulators gives. Views move narrow
// elements as they are, casts between f32 and a narrow type need no copy.
//
// The copies lie in one workspace, bump-allocated anew by every call. A program's is reserved at
// its first narrow call, before which all tensors are declared: room for the largest ones that one
// call could name together, as address space; pages are touched by what really meets. It never
// grows afterwards. Calls outside a program (tests) grow it as they need.

#include "cpu/ops_lowprec.h"

#include <sys/mman.h>

#include "core/float16.h"
#include "core/rank.h"
#include "cpu/ops_math.h"

enum { MAX_ARGS = HAP_MAX_IN + HAP_MAX_OUT, ALIGN = 16 }; // ALIGN in floats: a cache line

static float *space;
static int64_t room, used; // floats

static bool narrow(hap_dtype t)
{
    return t == HAP_BF16 || t == HAP_F16;
}

bool cpu_is_narrow(const hap_op_call *c)
{
    for (int i = 0; i < c->n_in; i++)
        if (c->in[i] && narrow(c->in[i]->type)) return true;
    for (int i = 0; i < c->n_out; i++)
        if (narrow(c->out[i]->type)) return true;
    return false;
}

bool cpu_moves_bytes(hap_op_id op)
{
    switch ((int)op) {
    case HAP_OP_reshape:
    case HAP_OP_transpose:
    case HAP_OP_split:
    case HAP_OP_concat:
    case HAP_OP_slice:
    case HAP_OP_pad:
    case HAP_OP_expand:
    case HAP_OP_full:
        return true;
    default:
        return false;
    }
}

static int64_t padded(int64_t n)
{
    return (n + ALIGN - 1) / ALIGN * ALIGN;
}

static const char *reserve(int64_t floats)
{
    if (floats <= room) return NULL;
    if (space) munmap(space, (size_t)room * sizeof *space);
    space = NULL;
    room = 0;
    void *p = mmap(NULL, (size_t)floats * sizeof *space, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return cpu_fail("no memory for f32 copies of %lld elements", (long long)floats);
    space = p;
    room = floats;
    return NULL;
}

const char *cpu_narrow_reserve(const hap_rank *r)
{
    int64_t most[MAX_ARGS] = {0}, sum = 0; // the largest narrow tensors, descending
    if (room > 0) return NULL;
    for (int i = 0; i < r->n_tensors; i++) {
        if (!narrow(r->tensor[i]->type)) continue;
        int64_t n = padded(r->tensor[i]->elements);
        for (int k = 0; k < MAX_ARGS; k++) {
            int64_t m = most[k];
            if (n > m) most[k] = n, n = m;
        }
    }
    for (int k = 0; k < MAX_ARGS; k++)
        sum += most[k];
    return reserve(sum > 0 ? sum : ALIGN);
}

CPU_WIDE static void widen_bf16(int64_t n, float *y, const uint16_t *x)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = hap_bf16_to_f32(x[i]);
}

CPU_WIDE static void narrow_bf16(int64_t n, uint16_t *y, const float *x)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = hap_f32_to_bf16(x[i]);
}

static void widen(const hap_tensor *x, float *y)
{
    if (x->type == HAP_BF16) {
        widen_bf16(x->elements, y, x->data);
        return;
    }
    for (int64_t i = 0; i < x->elements; i++)
        y[i] = hap_f16_to_f32(((const uint16_t *)x->data)[i]);
}

static void round_to(hap_tensor *y, const float *x)
{
    if (y->type == HAP_BF16) {
        narrow_bf16(y->elements, y->data, x);
        return;
    }
    for (int64_t i = 0; i < y->elements; i++)
        ((uint16_t *)y->data)[i] = hap_f32_to_f16(x[i]);
}

// The same tensor in f32, in the workspace.
static hap_tensor wide_of(const hap_tensor *t)
{
    hap_tensor w = *t;
    w.type = HAP_F32;
    w.bytes = t->elements * (int64_t)sizeof(float);
    w.data = space + used;
    used += padded(t->elements);
    return w;
}

const char *cpu_run_narrow(cpu_kernel *kernel, const hap_step_state *s, const hap_op_call *c)
{
    if (c->op == HAP_OP_cast && c->in[0]->elements == c->out[0]->elements) {
        if (narrow(c->in[0]->type) && c->out[0]->type == HAP_F32)
            return widen(c->in[0], c->out[0]->data), NULL;
        if (c->in[0]->type == HAP_F32) return round_to(c->out[0], c->in[0]->data), NULL;
    }
    hap_tensor copy[MAX_ARGS], *of[MAX_ARGS];
    hap_op_call wide = *c;
    int64_t need = 0;
    int n = 0;
    for (int i = 0; i < c->n_in + c->n_out; i++) {
        const hap_tensor *t = i < c->n_in ? c->in[i] : c->out[i - c->n_in];
        if (t && narrow(t->type)) need += padded(t->elements);
    }
    CPU_TRY(reserve(need));
    used = 0;
    for (int i = 0; i < c->n_in + c->n_out; i++) {
        hap_tensor *t = i < c->n_in ? c->in[i] : c->out[i - c->n_in];
        if (!t || !narrow(t->type)) continue;
        int k = 0; // one copy a tensor: in-place rows name it as operand and output
        while (k < n && of[k] != t)
            k++;
        if (k == n) {
            of[n] = t;
            copy[n++] = wide_of(t);
            if (i < c->n_in) widen(t, copy[k].data);
        }
        *(i < c->n_in ? &wide.in[i] : &wide.out[i - c->n_in]) = &copy[k];
    }
    CPU_TRY(kernel(s, &wide));
    for (int i = 0; i < c->n_out; i++)
        if (wide.out[i] != c->out[i]) round_to(c->out[i], wide.out[i]->data);
    return NULL;
}
