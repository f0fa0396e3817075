// A plan as what prints its data sees it: one part, or one a stage. In data the lists of all parts
// stand one behind the other: those of a part begin at its first_*.

#ifndef HAP_EMIT_PLAN_PARTS_H
#define HAP_EMIT_PLAN_PARTS_H

#include "emit/words.h"

typedef struct plan_part {
    const emit_plan *e; // of the stage
    const syn_program *p;
    const step_times *t;
    const wording *w;
    const emit_lines *where; // may be NULL
    int stage;               // -1: the plan has none
    int first_class, first_cut, first_tensor, first_instr;
} plan_part;

typedef struct plan_parts {
    int n, n_classes;
    plan_part *part;
    const syn_staged *staged;       // NULL: a plan without stages
    const syn_stage_piece **pieces; // by stage
    int *n_pieces;
    int pace; // the part whose busiest class computes longest
} plan_parts;

plan_parts *parts_of(hb_arena *a, const emit_plan *e, const emit_lines *where);
// where: by stage, may be NULL.
plan_parts *parts_of_stages(hb_arena *a, const syn_staged *p, const emit_plan *about,
                            const emit_lines *where);
// A plan a stage, with its own timeline; all else as in about.
emit_plan *emit_stage_plans(hb_arena *a, const syn_staged *p, const emit_plan *about);
// "A100-40GB", of a stage "A100-40GB, stage 0".
hb_str part_class_name(const plan_part *x, int cls);
const char *part_prefix(hb_arena *a, const plan_part *x); // "stage 0, ", ""

// Bytes that the class of a program's mesh with the fullest memory holds, and has room for.
void part_fullest(const syn_program *p, double *filled, double *capacity);

void emit_stages_trace(hb_buf *out, const plan_parts *x); // trace.json (trace_json.c)
// report.html (report_html.c)
void emit_stages_html(hb_buf *out, const plan_parts *x, const emit_plan *about);

// A message from stage to stage, on its way.
typedef struct part_message {
    int port, m;
    double begin, end,
        waited; // seconds; waited: of the time, how long its receiver does nothing else
} part_message;
// All of a step by port and time; their number.
int parts_messages(hb_arena *a, const plan_parts *x, part_message **out);

#endif
