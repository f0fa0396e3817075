#include "synth/plan/program_copy.h"

#include <string.h>

syn_program *syn_program_copy(hb_arena *a, const syn_program *p)
{
    syn_program *q = hb_copy(a, p, sizeof *p);
    q->arena = a;
    q->tensors.p = hb_copy(a, p->tensors.p, sizeof *p->tensors.p * (size_t)p->tensors.n);
    q->instr.p = hb_copy(a, p->instr.p, sizeof *p->instr.p * (size_t)p->instr.n);
    q->pairs.p = hb_copy(a, p->pairs.p, sizeof *p->pairs.p * (size_t)p->pairs.n);
    q->tensors.cap = p->tensors.n;
    q->instr.cap = p->instr.n;
    q->pairs.cap = p->pairs.n;
    memset(&q->fusions, 0, sizeof q->fusions);
    memset(&q->loops, 0, sizeof q->loops);
    memset(&q->families, 0, sizeof q->families);
    return q;
}
