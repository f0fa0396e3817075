// Where every buffer lies: units of cells (liveness.h) packed into the two segments
// (arena_pack.h).
//
// SEG_SYM has one layout for all ranks: sizes are the largest of all classes, rounded to 4096
// bytes. SEG_LOCAL has one layout a class, rounded to 256. Member k of a family lies at base + (k %
// mod) * stride; mod is the smallest for which members on the same bytes never live at once, so a
// buffer that is dead before the next repetition needs its bytes makes mod 1, one that is saved for
// the backward pass makes mod = count.
//
// In a stage, units that the forward half of a slot leaves for the backward one are packed by
// themselves: a place of the ring, of which there are as many as micro-batches under way.

#include "synth/passes/arena_plan.h"

#include <math.h>
#include <stdlib.h>

#include "costmodel/device_defaults.h"
#include "synth/passes/arena_alias.h"
#include "synth/passes/arena_pack.h"
#include "synth/passes/workspace.h"

// What is packed by itself: SEG_SYM, SEG_LOCAL but for the ring, a place of the ring.
enum { SYM, LOCAL, RING, PARTS };

typedef struct planner {
    hb_arena *arena;
    const syn_program *p;
    arena_live *live;
    int *mod, *part;              // by unit of arena_live
    int n[PARTS], *number[PARTS]; // units of a part: unit of arena_live
    arena_unit *unit[PARTS];
    arena_pack *pack[PARTS];
} planner;

static arena_cell *cell_of(planner *a, int unit, int k)
{
    return &a->live->cell[arena_root(a->live, a->live->unit[unit].root[k])];
}

static bool always(const planner *a, const arena_cell *c)
{
    return c->def < 0 && c->last >= a->p->instr.n;
}

static bool together(const arena_cell *c, const arena_cell *d)
{
    if (c->def <= d->last && d->def <= c->last) return true;
    return (c->wraps && d->def < 0) || (d->wraps && c->def < 0); // both are there between two steps
}

// Members of the same residue never live at once.
static bool mod_fits(planner *a, int unit, int m)
{
    int n = a->live->unit[unit].n;
    for (int k = 0; k < n; k++)
        for (int j = k + m; j < n; j += m)
            if (together(cell_of(a, unit, k), cell_of(a, unit, j))) return false;
    return true;
}

static int smallest_mod(planner *a, int unit)
{
    int n = a->live->unit[unit].n;
    for (int m = 1; m < n && m <= SYN_PACK_MOD; m++)
        if (mod_fits(a, unit, m)) return m;
    return n;
}

static int by_start(const void *x, const void *y)
{
    const arena_span *a = x, *b = y;
    return (a->from > b->from) - (a->from < b->from);
}

static arena_chunk chunk_of(planner *a, int unit, int residue)
{
    int n = a->live->unit[unit].n, spans = 0;
    arena_span *s = HB_ARRAY(a->arena, arena_span, 2 * n);
    for (int k = residue; k < n; k += a->mod[unit]) {
        const arena_cell *c = cell_of(a, unit, k);
        if (c->wraps && c->def > 0) s[spans++] = (arena_span){-1, -1};
        s[spans++] = (arena_span){c->wraps && c->def == 0 ? -1 : c->def, c->last};
    }
    qsort(s, (size_t)spans, sizeof *s, by_start);
    return (arena_chunk){spans, s};
}

static bool waits(const planner *a, const arena_cell *c)
{
    return a->p->g->depth > 0 && syn_waits_in_ring(&a->live->slot, c->def, c->last);
}

static int part_of(planner *a, int unit)
{
    const struct arena_members *u = &a->live->unit[unit];
    bool ring = false;
    if (a->p->tensors.p[u->root[0]].sym) return SYM;
    for (int k = 0; k < u->n; k++)
        ring = ring || waits(a, cell_of(a, unit, k));
    return ring ? RING : LOCAL;
}

static void make_units(planner *a)
{
    const arena_live *l = a->live;
    a->mod = HB_ARRAY(a->arena, int, l->n_units + 1);
    a->part = HB_ARRAY(a->arena, int, l->n_units + 1);
    for (int seg = 0; seg < PARTS; seg++) {
        a->number[seg] = HB_ARRAY(a->arena, int, l->n_units + 1);
        a->unit[seg] = HB_ARRAY(a->arena, arena_unit, l->n_units + 1);
    }
    for (int u = 0; u < l->n_units; u++) {
        if (l->unit[u].n == 0) continue;
        int seg = a->part[u] = part_of(a, u), at = a->n[seg]++;
        bool fixed = true;
        for (int k = 0; k < l->unit[u].n; k++)
            fixed = fixed && always(a, cell_of(a, u, k));
        a->mod[u] = fixed ? l->unit[u].n : smallest_mod(a, u);
        arena_chunk *chunk = HB_ARRAY(a->arena, arena_chunk, a->mod[u]);
        for (int m = 0; !fixed && m < a->mod[u]; m++)
            chunk[m] = chunk_of(a, u, m);
        a->number[seg][at] = u;
        a->unit[seg][at] = (arena_unit){.always = fixed, .n_chunks = a->mod[u], .chunk = chunk};
    }
}

static int64_t round_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

// Bytes of a buffer, in one class of SEG_LOCAL or in all (cls < 0) of SEG_SYM, with its alignment.
static int64_t cell_bytes(const syn_program *p, const syn_tensor *t, int cls)
{
    if (cls >= 0) return round_up(t->bytes[cls], COST_LOCAL_ALIGN);
    int64_t most = 0;
    for (int c = 0; c < p->mesh->n_classes; c++)
        if (t->bytes[c] > most) most = t->bytes[c];
    return round_up(most, COST_SYM_ALIGN);
}

typedef struct layout {
    int64_t *base, *stride; // by unit of arena_live
    int64_t bytes, bound;
} layout;

// pack: places buffers, as soon as they need at most `enough` no better; else bytes are the bound,
// too.
static layout lay_out(planner *a, int seg, int cls, bool pack, int64_t enough)
{
    int n = a->n[seg], units = a->live->n_units;
    layout y = {.base = HB_ARRAY(a->arena, int64_t, units + 1),
                .stride = HB_ARRAY(a->arena, int64_t, units + 1)};
    int64_t *size = HB_ARRAY(a->arena, int64_t, n + 1), *base = HB_ARRAY(a->arena, int64_t, n + 1);
    for (int t = 0; t < a->p->tensors.n; t++) { // all buffers of a unit have as many
        if (a->p->tensors.p[t].sym != (seg == SYM)) continue;
        int64_t bytes = cell_bytes(a->p, &a->p->tensors.p[t], cls);
        int64_t *most = &y.stride[a->live->cell[arena_root(a->live, t)].unit];
        if (bytes > *most) *most = bytes;
    }
    for (int i = 0; i < n; i++)
        size[i] = y.stride[a->number[seg][i]];
    y.bound = arena_pack_bound(a->pack[seg], size);
    y.bytes = pack ? arena_pack_within(a->pack[seg], size, enough, base) : y.bound;
    for (int i = 0; i < n; i++)
        y.base[a->number[seg][i]] = base[i];
    return y;
}

static bool same_bytes(const syn_program *p, int c, int d)
{
    for (int t = 0; t < p->tensors.n; t++)
        if (p->tensors.p[t].bytes[c] != p->tensors.p[t].bytes[d]) return false;
    return true;
}

// Bytes that do for each class whose buffers are as large as those of class c; 0: as few as can be.
static int64_t least_room(const planner *a, int c, const int64_t *room)
{
    int64_t least = room[c];
    if (a->n[RING] > 0) return 0;
    for (int d = c + 1; d < a->p->mesh->n_classes; d++)
        if (room[d] < least && same_bytes(a->p, c, d)) least = room[d];
    return least;
}

// SEG_LOCAL of every class, behind it the places of the ring; then where all buffers lie. room: as
// in sizes_of.
static void lay_out_classes(planner *a, arena_size *size, const layout *sym, bool pack,
                            const int64_t *room, int64_t (*off)[CL_MAX_CLASSES])
{
    const syn_program *p = a->p;
    layout own[CL_MAX_CLASSES][PARTS];
    int places = p->g->depth > 1 ? p->g->depth : 1;
    for (int c = 0; c < p->mesh->n_classes; c++) {
        int like = 0;
        while (like < c && !same_bytes(p, like, c))
            like++;
        int64_t enough = room && like == c ? least_room(a, c, room) - sym->bytes : 0;
        for (int part = LOCAL; part < PARTS; part++)
            own[c][part] = like < c ? own[like][part] : lay_out(a, part, c, pack, enough);
        size->ring_at[c] = own[c][LOCAL].bytes;
        size->ring[c] = own[c][RING].bytes;
        size->local[c] = own[c][LOCAL].bytes + places * own[c][RING].bytes;
        size->local_bound[c] = own[c][LOCAL].bound + places * own[c][RING].bound;
        for (int t = 0; t < p->tensors.n && pack; t++) {
            const arena_cell *cell = &a->live->cell[arena_root(a->live, t)];
            int part = a->part[cell->unit];
            const layout *y = part == SYM ? sym : &own[c][part];
            off[t][c] =
                y->base[cell->unit] + cell->index % a->mod[cell->unit] * y->stride[cell->unit];
            if (part == RING) off[t][c] += size->ring_at[c];
        }
    }
}

static planner planner_of(hb_arena *arena, const syn_program *p, bool families)
{
    planner a = {.arena = arena, .p = p, .live = arena_live_new(arena, p, families)};
    arena_alias(a.live);
    for (int t = 0; t < p->tensors.n; t++)
        a.live->cell[t].last = arena_last(a.live, &a.live->cell[t]);
    make_units(&a);
    for (int part = 0; part < PARTS; part++)
        a.pack[part] = arena_pack_new(arena, a.n[part], a.unit[part]);
    return a;
}

// pack: places buffers; else sizes are what no placement is below, and `off` stays. room: bytes by
// class, as many as do; NULL: as few as can be.
static arena_size sizes_of(planner *a, bool pack, const int64_t *room,
                           int64_t (*off)[CL_MAX_CLASSES])
{
    arena_size size = {0};
    layout sym = lay_out(a, SYM, -1, pack, 0);
    size.sym = sym.bytes;
    size.sym_bound = sym.bound;
    size.in_ring = HB_ARRAY(a->arena, bool, a->p->tensors.n + 1);
    for (int t = 0; t < a->p->tensors.n; t++)
        size.in_ring[t] = a->part[a->live->cell[arena_root(a->live, t)].unit] == RING;
    lay_out_classes(a, &size, &sym, pack, room, off);
    return size;
}

static void note_mods(const planner *a, int *mod)
{
    for (int t = 0; t < a->p->tensors.n; t++)
        if (a->p->tensors.p[t].family >= 0)
            mod[a->p->tensors.p[t].family] = a->mod[a->live->cell[arena_root(a->live, t)].unit];
}

arena_size arena_plan(hb_arena *arena, const syn_program *p, bool families,
                      int64_t (*off)[CL_MAX_CLASSES], int *mod)
{
    planner a = planner_of(arena, p, families);
    if (families) note_mods(&a, mod);
    return sizes_of(&a, true, NULL, off);
}

// Does no class need more than it has, all at `bytes` of SEG_LOCAL and `sym`?
static bool fits(const syn_program *p, const int64_t *bytes, int64_t sym)
{
    for (int c = 0; c < p->mesh->n_classes; c++)
        if (bytes[c] + sym + syn_workspace_bytes(p, c) >
            p->cluster->cls[p->mesh->cluster_class[c]].capacity)
            return false;
    return true;
}

static void note_sizes(syn_program *p, const arena_size *size)
{
    p->sym_bytes = size->sym;
    for (int c = 0; c < p->mesh->n_classes; c++) {
        p->local_bytes[c] = size->local[c];
        p->ring_at[c] = size->ring_at[c];
        p->ring_bytes[c] = size->ring[c];
        p->peak_bytes[c] = size->sym + size->local[c];
    }
}

// Does a program whose buffers have no places yet fit in none, by what it holds at once?
static bool fits_nowhere(syn_program *p, planner *a)
{
    arena_size least = sizes_of(a, false, NULL, NULL);
    note_sizes(p, &least);
    syn_workspace_expected(p);
    return !fits(p, least.local, least.sym);
}

typedef enum { FITS_NOWHERE, PACKED, PACKED_BADLY } packing; // badly: it does not fit, but might

// What is asked of a placement.
typedef enum {
    FINAL,   // as few bytes as can be
    MEASURE, // the same, but what fits nowhere is not packed
    SETTLE   // the same, and as many bytes as fit
} asked;

// Bytes of each class that are left beside its workspace, as it was expected last.
static void room_of(const syn_program *p, int64_t *room)
{
    for (int c = 0; c < p->mesh->n_classes; c++)
        room[c] = p->cluster->cls[p->mesh->cluster_class[c]].capacity - syn_workspace_bytes(p, c);
}

// Places a program's buffers: arena_plan, written down. room: as in sizes_of.
static arena_size place_within(syn_program *p, planner *a, const int64_t *room)
{
    int64_t(*off)[CL_MAX_CLASSES] = hb_alloc(a->arena, sizeof *off * (size_t)(p->tensors.n + 1));
    int *mod = HB_ARRAY(a->arena, int, p->families.n + 1);
    note_mods(a, mod);
    arena_size size = sizes_of(a, true, room, off);
    for (int t = 0; t < p->tensors.n; t++)
        p->tensors.p[t].ring = size.in_ring[t];
    for (int t = 0; t < p->tensors.n; t++)
        for (int c = 0; c < CL_MAX_CLASSES; c++)
            p->tensors.p[t].off[c] = c < p->mesh->n_classes ? off[t][c] : 0;
    for (int f = 0; f < p->families.n; f++) {
        syn_family *y = &p->families.p[f];
        const syn_tensor *t = &p->tensors.p[y->member[0]];
        y->mod = mod[f] < y->count ? mod[f] : y->count;
        for (int c = 0; c < p->mesh->n_classes; c++)
            y->stride[c] = cell_bytes(p, t, t->sym ? -1 : c);
    }
    note_sizes(p, &size);
    syn_workspace(p);
    return size;
}

// Bytes of the fullest class that no placement is below, as a share of its capacity.
static double least_full(const syn_program *p, const arena_size *size)
{
    double most = 0;
    for (int c = 0; c < p->mesh->n_classes; c++) {
        int64_t bytes = size->local_bound[c] + size->sym_bound + syn_workspace_bytes(p, c);
        double capacity = (double)p->cluster->cls[p->mesh->cluster_class[c]].capacity;
        most = fmax(most, (double)bytes / capacity);
    }
    return most;
}

// Was a class that does not fit packed into more than its room, so in as few bytes as can be?
static bool surely_full(const syn_program *p, const arena_size *size, const int64_t *room)
{
    for (int c = 0; c < p->mesh->n_classes; c++)
        if (size->local[c] + size->sym > room[c] &&
            size->local[c] + size->sym + syn_workspace_bytes(p, c) >
                p->cluster->cls[p->mesh->cluster_class[c]].capacity)
            return true;
    return false;
}

// least, if not NULL: as of syn_arena_settle, set where it fits.
static packing place(syn_program *p, asked what, double *least)
{
    hb_arena *arena = hb_arena_new();
    planner a = planner_of(arena, p, true);
    int64_t room[CL_MAX_CLASSES];
    if (what != FINAL && fits_nowhere(p, &a)) {
        hb_arena_free(arena);
        return FITS_NOWHERE;
    }
    if (what == SETTLE) room_of(p, room);
    arena_size size = place_within(p, &a, what == SETTLE ? room : NULL);
    bool fit = fits(p, size.local, size.sym);
    // The workspace hangs on the places.
    if (!fit && what == SETTLE && !surely_full(p, &size, room)) {
        size = place_within(p, &a, NULL);
        fit = fits(p, size.local, size.sym);
    }
    if (fit && least) *least = least_full(p, &size);
    hb_arena_free(arena);
    return !fit && fits(p, size.local_bound, size.sym_bound) ? PACKED_BADLY : PACKED;
}

// Is it computed, and takes so much of a capacity that where its members lie matters?
static bool matters(const syn_program *p, const syn_family *f)
{
    const syn_tensor *t = &p->tensors.p[f->member[0]];
    bool any = false;
    for (int c = 0; c < p->mesh->n_classes; c++) {
        int64_t capacity = p->cluster->cls[p->mesh->cluster_class[c]].capacity;
        any = any || (double)t->bytes[c] * f->count > SYN_PACK_SPLIT * (double)capacity;
    }
    return any && (t->role == SYN_ROLE_VALUE || t->role == SYN_ROLE_SCRATCH);
}

// The members of large families by themselves. (More declarations; loops stay.) False: there are
// none.
static bool split_families(syn_program *p)
{
    int n = p->families.n;
    const syn_family *old = p->families.p;
    p->families.p = NULL;
    p->families.n = p->families.cap = 0;
    for (int f = 0; f < n; f++) {
        bool split = matters(p, &old[f]);
        for (int k = 0; k < old[f].count; k++) {
            syn_tensor *t = &p->tensors.p[old[f].member[k]];
            t->family = split ? -1 : p->families.n;
            t->index = split ? -1 : k;
        }
        if (!split) HB_PUSH(p->arena, &p->families, old[f]);
    }
    return p->families.n < n;
}

// Families have one stride each, which costs room: what the forward pass saves, say, is freed from
// the last layer to the first, while gradients are made so, and of several of gradients only one
// finds a place there. Where that may be why a program does not fit, members lie by themselves.
static packing place_apart(syn_program *p, asked what, double *least)
{
    packing is = place(p, what, least);
    return is == PACKED_BADLY && split_families(p) ? place(p, what, least) : is;
}

void syn_arena(syn_program *p)
{
    (void)place_apart(p, FINAL, NULL);
}

bool syn_arena_settle(syn_program *p, double *least)
{
    return place_apart(p, least ? SETTLE : MEASURE, least) != FITS_NOWHERE;
}

void syn_arena_places(syn_program *p)
{
    int64_t local[CL_MAX_CLASSES] = {0};
    for (int c = 0; c < p->mesh->n_classes; c++)
        local[c] = p->ring_at[c] + (p->g->depth > 1 ? p->g->depth : 1) * p->ring_bytes[c];
    if (!fits(p, local, p->sym_bytes)) {
        syn_arena(p);
        return;
    }
    for (int c = 0; c < p->mesh->n_classes; c++) {
        p->local_bytes[c] = local[c];
        p->peak_bytes[c] = p->sym_bytes + local[c];
    }
}
