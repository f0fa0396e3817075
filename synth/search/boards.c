#include "synth/search/boards.h"

#include <string.h>

#include "synth/plan/mesh.h"

bool pool_few_starts(const pool *p)
{
    return ir_step_nodes(p->g) > SYN_MANY_NODES;
}

bool pool_is_long(const pool *p)
{
    return pool_few_starts(p) || p->g->few_of || p->work > SYN_WORK_MORE * syn_work(p->opt);
}

bool pool_is_large(const pool *p)
{
    return ir_step_nodes(p->g) > SYN_LARGE;
}

static void add_starting_ratio(pool *p, syn_starting_ratio starting)
{
    board *b = p->b;
    double *w = HB_ARRAY(p->arena, double, b->mesh->n_ranks);
    syn_starting_ratio_weights(p->m, b->mesh, starting, w);
    syn_partitions_add_ranks(p->arena, b->partitions, b->mesh, -1, w,
                             hb_str_c(p->arena, syn_starting_ratio_name(starting)));
}

void pool_set_starting_ratio(pool *p, syn_starting_ratio starting)
{
    syn_partitions_clear(p->b->partitions);
    if (starting == SYN_STARTING_BANDWIDTH && p->b->mesh->n_axes == 1)
        add_starting_ratio(p, SYN_STARTING_COMPUTE);
    add_starting_ratio(p, starting);
}

void pool_add_lp_cuts(pool *p, const syn_ratios *lp)
{
    board *b = p->b;
    for (int i = 0; b->mesh->n_axes == 2 && i < lp->n; i++) {
        struct syn_partition_set *q = &b->partitions->set[lp->v[i].set];
        q->n[lp->v[i].axis] = 0;
        if (lp->v[i].axis == SYN_BOTH) q->n[0] = 0; // its sums are there
        if (lp->v[i].axis == 0) q->n[SYN_BOTH] = 0;
    }
    for (int both = 1; both >= 0; both--)
        for (int i = 0; i < lp->n; i++)
            if ((lp->v[i].axis == SYN_BOTH) == both)
                syn_partitions_add(p->arena, b->partitions, b->mesh, lp->v[i].set, lp->v[i].axis,
                                   lp->v[i].share, HB_STR("lp"));
}

double *pool_even_weights(const pool *p)
{
    double *w = HB_ARRAY(p->arena, double, p->b->mesh->n_classes);
    for (int c = 0; c < p->b->mesh->n_classes; c++)
        w[c] = 1.0 / p->b->mesh->n_classes;
    return w;
}

void pool_add_board(pool *p, syn_mesh *mesh)
{
    if (!mesh) return;
    board *b = HB_NEW(p->arena, board);
    *b = (board){.mesh = mesh, .partitions = syn_partitions_new(p->arena, p->g, p->f)};
    syn_partitions_align(b->partitions, p->m, mesh);
    for (int s = 0; s < syn_n_strategies; s++)
        b->baseline[s] = -1;
    b->costs = syn_costs_new(p->arena, p->m, mesh, p->g, p->f);
    b->costs->prices = p->opt->prices;
    b->costs->kinds = p->kinds;
    b->costs->listed = p->listed;
    HB_PUSH(p->arena, &p->boards, b);
}

void pool_add_boards(pool *p, const bool *keep)
{
    const cl_cluster *c = p->m->cluster;
    if (p->opt->mesh != SYN_MESH_FLAT) pool_add_board(p, syn_mesh_machines(p->arena, c, keep));
    if (p->opt->mesh != SYN_MESH_MACHINES) pool_add_board(p, syn_mesh_flat(p->arena, c, keep));
}

bool pool_same_ranks(const syn_mesh *a, const syn_mesh *b)
{
    return a->n_ranks == b->n_ranks && memcmp(a->cluster_rank, b->cluster_rank,
                                              sizeof *a->cluster_rank * (size_t)a->n_ranks) == 0;
}
