// The parts of what report.html shows; page_data.h is the whole.

#ifndef HAP_EMIT_PAGE_H
#define HAP_EMIT_PAGE_H

#include "emit/json_out.h"
#include "emit/memory_kinds.h"
#include "emit/packed_list.h"
#include "emit/verdict.h"

typedef struct page {
    js j;
    hb_arena *a;
    const plan_parts *all;
    const emit_plan *about; // command, version, what was asked
    const ir_graph *graph;
    const cl_cluster *cluster;
    const verdict *v;
    // Of the part that is being written.
    const plan_part *part;
    const emit_plan *e;
    const syn_program *p;
    const step_times *t;
    const wording *w;
} page;

void page_go(page *g, int part); // fills what is of the part

// Each writes keys of the open object.
void page_cluster(page *g);     // classes, machines, network (page_cluster.c)
void page_timeline(page *g);    // lanes of events (page_timeline.c)
void page_model(page *g);       // modules and tensors (page_model.c)
void page_collectives(page *g); // rows of collectives, pairs (page_model.c)
void page_stages(page *g);      // stages and what goes between them (page_stages.c)

hb_str page_block(hb_str name, int *index); // "h" and 3 of "transformer.h.3.mlp"; -1: in none

#endif
