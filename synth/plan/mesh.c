#include "synth/plan/mesh.h"

#include <string.h>

// Numbers rows of equal entries: class[i] of row i, their number returned. first: room for a row
// number each.
static int number_rows(const int *entry, int n_rows, int n, int *class, int *first)
{
    int count = 0;
    for (int i = 0; i < n_rows; i++) {
        int k = 0;
        while (k < count &&
               memcmp(entry + first[k] * n, entry + i * n, sizeof *entry * (size_t)n) != 0)
            k++;
        if (k == count) first[count++] = i;
        class[i] = k;
    }
    return count;
}

static syn_mesh *over_ranks(hb_arena *a, const cl_cluster *c, const bool *keep)
{
    syn_mesh *m = HB_NEW(a, syn_mesh);
    m->class_of = HB_ARRAY(a, int, c->n_ranks);
    m->cluster_rank = HB_ARRAY(a, int, c->n_ranks);
    for (int r = 0; r < c->n_ranks; r++)
        if (!keep || keep[r]) m->cluster_rank[m->n_ranks++] = r;
    return m;
}

// Classes of ranks of equal `key`, in the order of their first ranks. False if they are too many.
static bool classify(hb_arena *a, syn_mesh *m, const cl_cluster *c, const int *key, int n)
{
    int *class = HB_ARRAY(a, int, m->n_ranks);
    int count = number_rows(key, m->n_ranks, n, class, HB_ARRAY(a, int, m->n_ranks));
    if (count > CL_MAX_CLASSES) return false;
    m->class_of = class;
    m->n_classes = count;
    m->cluster_class = HB_ARRAY(a, int, count);
    for (int r = 0; r < m->n_ranks; r++)
        m->cluster_class[class[r]] = c->class_of[m->cluster_rank[r]];
    m->coord_class[SYN_BOTH] = class;
    m->n_coord_classes[SYN_BOTH] = count;
    return true;
}

syn_mesh *syn_mesh_flat(hb_arena *a, const cl_cluster *c, const bool *keep)
{
    syn_mesh *m = over_ranks(a, c, keep);
    int *key = HB_ARRAY(a, int, m->n_ranks);
    m->n_axes = 1;
    m->size[0] = m->n_ranks;
    m->size[1] = 1;
    for (int r = 0; r < m->n_ranks; r++)
        key[r] = c->class_of[m->cluster_rank[r]];
    hb_assert(classify(a, m, c, key, 1));
    m->coord_class[0] = m->class_of;
    m->n_coord_classes[0] = m->n_classes;
    m->coord_class[1] = HB_ARRAY(a, int, 1);
    m->n_coord_classes[1] = 1;
    return m;
}

syn_mesh *syn_mesh_machines(hb_arena *a, const cl_cluster *c, const bool *keep)
{
    syn_mesh *m = over_ranks(a, c, keep);
    int machines = 0, per = 0, here = 0;
    for (int r = 0; r < m->n_ranks; r++) {
        bool last = r + 1 == m->n_ranks ||
                    c->machine_of[m->cluster_rank[r]] != c->machine_of[m->cluster_rank[r + 1]];
        here++;
        if (!last) continue;
        if (machines > 0 && here != per) return NULL;
        per = here;
        here = 0;
        machines++;
    }
    if (machines < 2 || per < 2) return NULL;
    m->n_axes = 2;
    m->size[0] = machines;
    m->size[1] = per;
    int *grid[2] = {HB_ARRAY(a, int, m->n_ranks), HB_ARRAY(a, int, m->n_ranks)};
    for (int r = 0; r < m->n_ranks; r++) {
        int class = c->class_of[m->cluster_rank[r]];
        grid[0][r] = class;
        grid[1][r % per * machines + r / per] = class;
    }
    for (int axis = 0; axis < 2; axis++) {
        m->coord_class[axis] = HB_ARRAY(a, int, m->size[axis]);
        m->n_coord_classes[axis] =
            number_rows(grid[axis], m->size[axis], m->size[1 - axis], m->coord_class[axis],
                        HB_ARRAY(a, int, m->size[axis]));
    }
    int *key = HB_ARRAY(a, int, 3 * m->n_ranks);
    for (int r = 0; r < m->n_ranks; r++) {
        key[3 * r] = grid[0][r];
        key[3 * r + 1] = m->coord_class[0][r / per];
        key[3 * r + 2] = m->coord_class[1][r % per];
    }
    if (classify(a, m, c, key, 3)) return m;
    for (int r = 0; r < m->n_ranks; r++)
        key[r] = grid[0][r];
    hb_assert(classify(a, m, c, key, 1));
    return m;
}
