#include "synth/search/blocks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/fold.h"
#include "synth/plan/liveness.h"

typedef struct measure {
    hb_arena *arena;
    const syn_program *p;
    const ir_again *parts;
    syn_blocks *out;
    int *left, *met; // by block: last instruction of its forward pass, first that needs what it
                     // holds; -1, n_instr
} measure;

static const ir_node *node_of(const measure *m, const syn_instr *in)
{
    return in->node >= 0 ? &m->p->g->nodes.p[in->node] : NULL;
}

// Where a block's values are made: its forward node, or the one that does it again.
static const ir_node *maker_of(const measure *m, int value)
{
    int p = value < 0 ? -1 : m->p->g->tensors.p[value].producer;
    return p >= 0 && m->parts->freed[value] ? &m->p->g->nodes.p[p] : NULL;
}

static double seconds_of(const measure *m, const syn_instr *in)
{
    double most = 0;
    if (in->kind == SYN_START) return in->sec[0];
    for (int c = 0; c < m->out->n_classes && in->kind != SYN_WAIT; c++)
        most = fmax(most, in->sec[c]);
    return most;
}

static void find_places(measure *m)
{
    const syn_program *p = m->p;
    int n = m->out->n;
    m->left = HB_ARRAY(m->arena, int, n + 1);
    m->met = HB_ARRAY(m->arena, int, n + 1);
    for (int k = 0; k < n; k++) {
        m->left[k] = -1;
        m->met[k] = p->instr.n;
    }
    for (int i = 0; i < p->instr.n; i++) {
        const ir_node *x = node_of(m, &p->instr.p[i]);
        if (!x) continue;
        if (x->block > 0 && m->parts->redo[p->instr.p[i].node]) {
            double sec = seconds_of(m, &p->instr.p[i]);
            m->out->sec[x->block - 1] += sec;
            m->out->computing[x->block - 1] += p->instr.p[i].kind == SYN_START ? 0 : sec;
        }
        if (p->instr.p[i].kind != SYN_OP) continue;
        if (x->block > 0 && x->phase == IR_FORWARD) m->left[x->block - 1] = i;
        if (x->block > 0 && x->again && i < m->met[x->block - 1]) m->met[x->block - 1] = i;
        for (int k = 0; x->phase != IR_FORWARD && k < x->n_in; k++) {
            const ir_node *from = maker_of(m, x->in[k]);
            if (from && i < m->met[from->block - 1]) m->met[from->block - 1] = i;
        }
    }
}

// What each block holds: values that are there between its passes or, where it is done again, when
// that is done.
static void find_bytes(measure *m, const int *birth, const int *death)
{
    const syn_program *p = m->p;
    int n = m->out->n, classes = m->out->n_classes;
    double *sum = HB_ARRAY(m->arena, double, n *classes + 1);
    int *done = HB_ARRAY(m->arena, int, n + 1);
    for (int i = 0; i < p->instr.n; i++) {
        const ir_node *x = node_of(m, &p->instr.p[i]);
        if (x && p->instr.p[i].kind == SYN_OP && x->again) done[x->block - 1] = i;
    }
    for (int t = 0; t < p->tensors.n; t++) {
        const ir_node *from = maker_of(m, p->tensors.p[t].value);
        if (!from || birth[t] > death[t]) continue;
        int k = from->block - 1;
        bool there = from->again ? birth[t] <= done[k] && death[t] > done[k]
                                 : birth[t] <= m->left[k] && death[t] >= m->met[k];
        for (int c = 0; there && c < classes; c++)
            sum[k * classes + c] +=
                (double)p->tensors.p[t].bytes[c] * ir_tensor_times(p->g, p->tensors.p[t].value);
    }
    memcpy(m->out->bytes, sum, sizeof *sum * (size_t)(n * classes));
}

// At each instruction the first j blocks are between their passes.
static void find_room(measure *m, const int *birth, const int *death)
{
    const double *times = syn_held_times(m->arena, m->p, birth, death);
    const syn_program *p = m->p;
    syn_blocks *b = m->out;
    int n = p->instr.n, classes = b->n_classes;
    int *between = HB_ARRAY(m->arena, int, n + 1);
    int *change = HB_ARRAY(m->arena, int, b->n + 1), *first = HB_ARRAY(m->arena, int, n + 2);
    int *who = HB_ARRAY(m->arena, int, 2 * b->n + 1);
    for (int k = 0; k < b->n; k++) { // sorted by position
        if (m->left[k] < 0 || m->met[k] <= m->left[k] + 1) continue;
        first[m->left[k] + 2]++;
        first[m->met[k] + 1]++;
    }
    for (int i = 0; i <= n; i++)
        first[i + 1] += first[i];
    int *next = hb_copy(m->arena, first, sizeof *first * (size_t)(n + 2));
    for (int k = 0; k < b->n; k++) {
        if (m->left[k] < 0 || m->met[k] <= m->left[k] + 1) continue;
        who[next[m->left[k] + 1]++] = k + 1;
        who[next[m->met[k]]++] = -(k + 1);
    }
    for (int i = 0, j = 0; i <= n; i++) {
        for (int e = first[i]; e < first[i + 1]; e++)
            change[abs(who[e]) - 1] += who[e] > 0 ? 1 : -1;
        if (first[i] < first[i + 1])
            for (j = 0; j < b->n && change[j] > 0; j++) {}
        between[i] = j;
    }
    double *held = HB_ARRAY(m->arena, double, b->n + 1), *delta = HB_ARRAY(m->arena, double, n + 2);
    for (int c = 0; c < classes; c++) {
        for (int j = 0; j < b->n; j++)
            held[j + 1] = held[j] + (b->again[j] ? 0 : b->bytes[j * classes + c]);
        memset(delta, 0, sizeof *delta * (size_t)(n + 2));
        for (int t = 0; t < p->tensors.n; t++) {
            if (birth[t] > death[t]) continue;
            double bytes = (double)p->tensors.p[t].bytes[c] * times[t];
            delta[birth[t]] += bytes;
            delta[death[t] + 1] -= bytes;
        }
        double live = (double)(p->padded_bytes[c] + p->work_bytes[c]);
        for (int i = 0; i <= n; i++) {
            live += delta[i];
            double *room = &b->room[between[i] * classes + c];
            *room = fmin(*room, b->capacity[c] - (live - held[between[i]]));
        }
    }
}

syn_blocks syn_blocks_of(hb_arena *a, const syn_program *p, const ir_again *parts)
{
    int n = p->g->n_blocks, classes = p->mesh->n_classes;
    syn_blocks b = {.n = n, .n_classes = classes};
    bool *again = HB_ARRAY(a, bool, n + 1);
    for (int i = 0; i < p->g->recomputed.n; i++)
        again[p->g->recomputed.p[i]] = true;
    b.again = again;
    b.sec = HB_ARRAY(a, double, n + 1);
    b.computing = HB_ARRAY(a, double, n + 1);
    b.bytes = HB_ARRAY(a, double, n *classes + 1);
    b.room = HB_ARRAY(a, double, (n + 1) * classes);
    b.capacity = HB_ARRAY(a, double, classes);
    for (int c = 0; c < classes; c++)
        b.capacity[c] = (double)p->cluster->cls[p->mesh->cluster_class[c]].capacity;
    for (int i = 0; i < (n + 1) * classes; i++)
        b.room[i] = b.capacity[i % classes];
    hb_arena *scratch = hb_arena_new();
    measure m = {scratch, p, parts, &b, NULL, NULL};
    int *birth = HB_ARRAY(scratch, int, p->tensors.n + 1),
        *death = HB_ARRAY(scratch, int, p->tensors.n + 1);
    syn_lifetimes(p, birth, death);
    find_places(&m);
    find_bytes(&m, birth, death);
    find_room(&m, birth, death);
    hb_arena_free(scratch);
    return b;
}

// --- choosing ---

// A choice for the blocks so far. Of those whose kept bytes fall into one grain, the quickest.
typedef struct label {
    bool used;
    double sec, kept[CL_MAX_CLASSES];
    uint64_t *again; // bits
} label;

static int grain_of(const syn_blocks *b, const label *x)
{
    double most = 0;
    for (int c = 0; c < b->n_classes; c++)
        most = fmax(most, x->kept[c] / b->capacity[c]);
    int at = (int)(most * SYN_BLOCK_GRAINS);
    return at < SYN_BLOCK_GRAINS ? at : SYN_BLOCK_GRAINS;
}

// Fits where j blocks lie behind?
static bool fits(const syn_blocks *b, const label *x, int j, double share)
{
    for (int c = 0; c < b->n_classes; c++)
        if (x->kept[c] > b->room[j * b->n_classes + c] - (1 - share) * b->capacity[c]) return false;
    return true;
}

bool syn_blocks_fit(const syn_blocks *b, double share, const bool *again)
{
    label x = {.used = true};
    for (int j = 0; j <= b->n; j++) {
        if (!fits(b, &x, j, share)) return false;
        for (int c = 0; j < b->n && !again[j] && c < b->n_classes; c++)
            x.kept[c] += b->bytes[j * b->n_classes + c];
    }
    return true;
}

bool syn_blocks_choose(const syn_blocks *b, double share, bool *again, double *sec)
{
    memset(again, false, (size_t)b->n);
    *sec = 0;
    if (syn_blocks_fit(b, share, again)) return true;
    hb_arena *scratch = hb_arena_new();
    int words = b->n / 64 + 1, n = SYN_BLOCK_GRAINS + 1;
    label *now = HB_ARRAY(scratch, label, n), *then = HB_ARRAY(scratch, label, n);
    uint64_t *bits = hb_alloc(scratch, sizeof *bits * (size_t)(2 * n * words));
    for (int i = 0; i < n; i++) {
        now[i].again = bits + i * words;
        then[i].again = bits + (n + i) * words;
    }
    now[0].used = true;
    memset(now[0].again, 0, sizeof *bits * (size_t)words);
    for (int j = 0; j < b->n; j++) {
        for (int i = 0; i < n; i++)
            then[i].used = false;
        for (int i = 0; i < n; i++) {
            if (!now[i].used || !fits(b, &now[i], j, share)) continue;
            for (int redo = 1; redo >= 0; redo--) {
                label x = now[i];
                x.sec += redo ? b->sec[j] : 0;
                for (int c = 0; c < b->n_classes && !redo; c++)
                    x.kept[c] += b->bytes[j * b->n_classes + c];
                label *to = &then[grain_of(b, &x)];
                if (to->used && x.sec >= to->sec * (1 - SYN_ROUNDING_FEW)) continue;
                uint64_t *own = to->again;
                memcpy(own, now[i].again, sizeof *own * (size_t)words);
                *to = x;
                to->again = own;
                if (redo) own[j / 64] |= (uint64_t)1 << (j % 64);
            }
        }
        label *swap = now;
        now = then;
        then = swap;
    }
    const label *best = NULL;
    for (int i = 0; i < n; i++)
        if (now[i].used && fits(b, &now[i], b->n, share) &&
            (!best || now[i].sec < best->sec * (1 - SYN_ROUNDING_FEW)))
            best = &now[i];
    for (int j = 0; best && j < b->n; j++)
        again[j] = best->again[j / 64] >> (j % 64) & 1;
    if (best) *sec = best->sec;
    bool found = best != NULL;
    hb_arena_free(scratch);
    return found;
}
