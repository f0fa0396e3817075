#include <math.h>
#include <stdio.h>
#include <string.h>

#include "costmodel/cost.h"
#include "costmodel/curve.h"
#include "costmodel/device_defaults.h"
#include "ir/runtime_limits.h"

// One table of what each form of each collective costs: seconds on the wire, bytes through memory
// for packing, bytes of scratch. N ranks with shards b_i, link of latency a and bandwidth B
// (docs/theory.md section 3; scratch: docs/formats.md "Scratch", the same rule as
// runtime/core/scratch.c). Contention with computation is not in it.
//
//     all_gather, reduce_scatter
//       EVEN, PADDED   (N-1) (a + max b / B)
//       GROUPED        N a + (sum b - min b) / B
//       SENDRECV       (N-1) a + max_i max((N-1) b_i, sum b - b_i) / B
//       EVEN_FLAT      as EVEN at sum b / N, and a reshard from even boundaries to those of the
//       table
//     all_reduce
//       FLAT           reduce_scatter and all_gather, even
//       TWO_LEVEL      even reduce_scatter inside, FLAT of a shard between, even all_gather inside
//     all_to_all, reshard: m_ij bytes from i to j
//       EVEN           (N-1) a + max_i max(sent_i, received_i) / B
//       SENDRECV       the same with as many a as the busiest rank has partners
//
// One-sided puts, by copies into the other members' memory, exist between peers and not for
// reshard:
//
//       PUT(k)        as SENDRECV with COST_PUT_FIRST for a, COST_PUT_MORE for each copy in flight
//                      but the first
//       PUT(1) of an all_gather between GPUs: who has less to send passes on parts of who has more
//                      (runtime/core/put_turns.c), so that mostly what is received binds
//       all_reduce     reduce_scatter and all_gather, even
//
// Between peers B is what copies reach, and each form has its share of it (device_defaults.h);
// numbers of copies between one and all take a share in proportion, which is a guess. Elsewhere B
// is what collectives reach.

const char *cost_coll_name(cost_coll k)
{
    static const char *const name[] = {"all_gather", "reduce_scatter", "all_reduce", "all_to_all",
                                       "reshard"};
    return name[k];
}

static const char *const form_name[COST_PUTS] = {"even",      "padded", "grouped",  "sendrecv",
                                                 "even_flat", "flat",   "two_level"};

cost_form_text cost_form_name(cost_form f)
{
    cost_form_text t;
    if (cost_is_put(f))
        snprintf(t.s, sizeof t.s, "put(%d)", cost_copies(f));
    else
        snprintf(t.s, sizeof t.s, "%s", (unsigned)f < COST_PUTS ? form_name[f] : "?");
    return t;
}

bool cost_form_read(hb_str s, const char *const name[COST_PUTS + 1], cost_form *f)
{
    int64_t copies = 0;
    size_t at = strlen(name[COST_PUTS]) + 1;
    for (int i = COST_EVEN; i < COST_PUTS; i++)
        if (hb_str_is(s, name[i])) {
            *f = (cost_form)i;
            return true;
        }
    if (s.n < at + 2 || s.n > at + 7 || memcmp(s.p, name[COST_PUTS], at - 1) != 0 ||
        s.p[at - 1] != '(' || s.p[s.n - 1] != ')')
        return false;
    for (; at < s.n - 1; at++) {
        if (s.p[at] < '0' || s.p[at] > '9') return false;
        copies = 10 * copies + (s.p[at] - '0');
    }
    *f = COST_PUT(copies);
    return true;
}

bool cost_is_put(cost_form f)
{
    return ((unsigned)f & 15u) == COST_PUTS;
}

int cost_copies(cost_form f)
{
    return (int)f >> 4;
}

// For a switch.
static cost_form kind_of(cost_form f)
{
    return cost_is_put(f) ? COST_PUTS : f;
}

bool cost_form_exists(cost_coll k, cost_form f)
{
    if (cost_is_put(f)) return k != COST_RESHARD && cost_copies(f) > 0;
    switch (k) {
    case COST_ALL_GATHER:
        return f <= COST_SENDRECV;
    case COST_REDUCE_SCATTER:
        return f <= COST_EVEN_FLAT;
    case COST_ALL_REDUCE:
        return f == COST_FLAT || f == COST_TWO_LEVEL;
    case COST_ALL_TO_ALL:
    case COST_RESHARD:
        return f == COST_EVEN || f == COST_SENDRECV;
    }
    return false;
}

typedef struct cut { // bytes of the shards of one table
    double entry;    // bytes of one entry
    double largest, smallest;
} cut;

static cost_entries entries_of(const int64_t *table, int n)
{
    int64_t sum = table[0], most = table[0], least = table[0];
    for (int i = 1; i < n; i++) {
        sum += table[i];
        if (table[i] > most) most = table[i];
        if (table[i] < least) least = table[i];
    }
    return (cost_entries){true, sum, most, least};
}

void cost_measure(cost_shards *s)
{
    if (s->table) s->entries = entries_of(s->table, s->n);
    if (s->table2) s->entries2 = entries_of(s->table2, s->n);
}

static cut cut_of(const cost_shards *s, const int64_t *table)
{
    cost_entries e = table == s->table ? s->entries : s->entries2;
    if (!e.known) e = entries_of(table, s->n);
    double entry = e.sum > 0 ? s->bytes / (double)e.sum : 0;
    return (cut){entry, (double)e.most * entry, (double)e.least * entry};
}

// What the busiest rank sends or receives, and the most partners of a rank in one direction.
typedef struct traffic {
    double bytes;
    int partners;
} traffic;

static void count_rank(traffic *t, double out, double in, int to, int from)
{
    double most = out > in ? out : in;
    int partners = to > from ? to : from;
    if (most > t->bytes) t->bytes = most;
    if (partners > t->partners) t->partners = partners;
}

// A walk over the ranges of a table in rank order (even ranges where table is NULL), in bytes.
typedef struct walk {
    const cost_shards *s;
    const int64_t *table;
    double entry;
    int i;
    int64_t upto;  // entries of ranks 0 to i
    double lo, hi; // of rank i
} walk;

static void look(walk *w)
{
    const cost_shards *s = w->s;
    if (w->table && w->i < s->n) w->upto += w->table[w->i];
    w->lo = w->hi;
    w->hi = w->table ? (double)w->upto * w->entry : s->bytes * (w->i + 1) / s->n;
}

static walk walk_start(const cost_shards *s, const int64_t *table)
{
    walk w = {.s = s, .table = table, .entry = table ? cut_of(s, table).entry : 0};
    look(&w);
    return w;
}

static void step(walk *w)
{
    w->i++;
    look(w);
}

// Each rank's range of one table becomes its range of another: what is not in both comes or goes.
// One merge of the two rows of ranges, which both ascend; a partner is another rank whose range of
// the other table meets this one. Overlaps under eps are rounding.
static traffic reshard_traffic(const cost_shards *s, const int64_t *from, const int64_t *to)
{
    traffic t = {0, 0};
    double eps = COST_ROUNDING * s->bytes, kept_a = 0, kept_b = 0;
    int to_others = 0, from_others = 0;
    walk a = walk_start(s, from), b = walk_start(s, to);
    while (a.i < s->n || b.i < s->n) {
        double overlap = (a.hi < b.hi ? a.hi : b.hi) - (a.lo > b.lo ? a.lo : b.lo);
        if (a.i < s->n && b.i < s->n && a.i == b.i) {
            kept_a = kept_b = overlap > 0 ? overlap : 0;
        } else if (a.i < s->n && b.i < s->n && overlap > eps) {
            to_others++;
            from_others++;
        }
        if (b.i == s->n || (a.i < s->n && a.hi <= b.hi)) {
            count_rank(&t, a.hi - a.lo - kept_a, 0, to_others, 0);
            to_others = 0;
            kept_a = 0;
            step(&a);
        } else {
            count_rank(&t, 0, b.hi - b.lo - kept_b, 0, from_others);
            from_others = 0;
            kept_b = 0;
            step(&b);
        }
    }
    return t;
}

// Source cut by table, result by table2 of another factor: rank i sends j the product of shares.
static traffic all_to_all_traffic(const cost_shards *s)
{
    traffic t = {0, 0};
    cut a = cut_of(s, s->table), b = cut_of(s, s->table2);
    double all = s->bytes > 0 ? 1 / s->bytes : 0;
    int n_from = 0, n_to = 0;
    for (int i = 0; i < s->n; i++) {
        n_from += s->table[i] > 0;
        n_to += s->table2[i] > 0;
    }
    for (int i = 0; i < s->n; i++) {
        double mine = (double)s->table[i] * a.entry, next = (double)s->table2[i] * b.entry;
        double kept = mine * next * all;
        int to = mine > 0 ? n_to - (next > 0) : 0, from = next > 0 ? n_from - (mine > 0) : 0;
        count_rank(&t, mine - kept, next - kept, to, from);
    }
    return t;
}

// In flight at most, of one of n ranks: one to every other.
static int copies_of(cost_form f, int n)
{
    return cost_copies(f) < n ? cost_copies(f) : n - 1;
}

double cost_rate(cost_form f, int n, cl_link link)
{
    double share = COST_LIBRARY_SHARE;
    if (cost_is_put(f)) {
        double all = n > 2 ? (copies_of(f, n) - 1) / (n - 2.0) : 0;
        share = (1 - all) * COST_ONE_COPY + all * COST_ALL_COPIES;
    }
    return link.peer ? share * link.bandwidth : link.bandwidth;
}

double cost_parts_latency(cost_form f, int n, cl_link link)
{
    if (!cost_is_put(f) || n == 1) return (n - 1) * link.latency;
    int copies = copies_of(f, n);
    return (n - copies) * COST_PUT_FIRST + (copies - 1) * COST_PUT_MORE;
}

static double even_steps(cost_form f, int n, double shard, cl_link link)
{
    return cost_parts_latency(f, n, link) + (n - 1) * shard / cost_rate(f, n, link);
}

// Bytes that the busiest link carries where messages go from member to member: of a sender all it
// has for others, of a receiver all that it lacks. In an all-gather by one-sided puts of GPUs a
// member that has less to send passes on what it got (runtime/core/put_turns.c; here are its
// amounts): as long as one has more to send than any receives, the one that has least takes over
// some of its messages, but not the one to itself, and helps nobody else; who is helped has one
// helper. Not all of that is won, as the helper must have it before: of 605 random cuts between 2
// to 8 members this is 0.70 to 1.23 of what the turns take, simulated, 1.02 on average and 5 % off,
// where nothing passed on would be 15 % off (tests/runtime/put_turns_test.c). On four H200s rows of
// .337 .337 .163 .163 took .84 of the tensor at the rate of even ones, here .91, and 1.01 before
// any was passed on.
static double busiest(cost_coll k, cost_form f, const cost_shards *s, cl_link link)
{
    static const double least = IR_CUDA_TURN; // of a message: pieces are no smaller
    cut c = cut_of(s, s->table);
    double most = s->bytes - c.smallest, own = (s->n - 1) * c.largest, row[IR_TURN_MEMBERS];
    bool helped[IR_TURN_MEMBERS] = {false}, helps[IR_TURN_MEMBERS] = {false};
    if (k != COST_ALL_GATHER || f != COST_PUT(1) || !link.gpus || s->n > IR_TURN_MEMBERS ||
        own - most < least)
        return own > most ? own : most;
    for (int i = 0; i < s->n; i++)
        row[i] = (s->n - 1) * (double)s->table[i] * c.entry;
    for (int turn = 0; turn < s->n; turn++) {
        int i = 0, helper = -1;
        for (int m = 1; m < s->n; m++)
            if (row[m] > row[i]) i = m;
        for (int m = 0; m < s->n; m++)
            if (row[m] < most && !helps[m] && (helper < 0 || row[m] < row[helper])) helper = m;
        if (helper < 0 || helped[i] || row[i] - most < least) break;
        double some = fmin(fmin(row[i] - most, most - row[helper]),
                           (s->n - 2) * (double)s->table[i] * c.entry);
        if (some < least || (double)s->table[i] * c.entry < least) break;
        row[i] -= some;
        row[helper] += some;
        helped[i] = helps[helper] = true;
    }
    for (int i = 0; i < s->n; i++)
        most = fmax(most, row[i]);
    return own + COST_PASSED_SHARE * (most - own);
}

static double shard_seconds(cost_coll k, cost_form f, const cost_shards *s, cl_link link)
{
    cut c = cut_of(s, s->table);
    double n = s->n, rate = cost_rate(f, s->n, link);
    traffic t;
    switch (kind_of(f)) {
    case COST_EVEN:
        if (c.largest > c.smallest) return (double)INFINITY;
        return even_steps(f, s->n, c.largest, link);
    case COST_PADDED:
        return even_steps(f, s->n, c.largest, link);
    case COST_GROUPED:
        return n * link.latency + (s->bytes - c.smallest) / rate;
    case COST_SENDRECV:
    case COST_PUTS:
        return cost_parts_latency(f, s->n, link) + busiest(k, f, s, link) / rate;
    case COST_EVEN_FLAT:
        hb_assert(k == COST_REDUCE_SCATTER);
        t = reshard_traffic(s, NULL, s->table);
        return even_steps(f, s->n, s->bytes / n, link) + t.partners * link.latency + t.bytes / rate;
    case COST_FLAT:
    case COST_TWO_LEVEL:
        break;
    }
    return (double)INFINITY;
}

static double all_reduce_seconds(cost_form f, const cost_shards *s, cl_link link)
{
    if (f != COST_TWO_LEVEL) return 2 * even_steps(f, s->n, s->bytes / s->n, link);
    if (s->n_inner < 1 || s->n % s->n_inner != 0) return (double)INFINITY;
    int n_outer = s->n / s->n_inner;
    double shard = s->bytes / s->n_inner, sec = 0;
    if (s->n_inner > 1) sec += 2 * even_steps(f, s->n_inner, shard, s->inner);
    if (n_outer > 1) sec += 2 * even_steps(f, n_outer, shard / n_outer, s->between);
    return sec;
}

double cost_collective(cost_coll k, cost_form f, const cost_shards *s, cl_link link)
{
    hb_assert(s->n >= 1);
    if (!cost_form_exists(k, f) || (cost_is_put(f) && !link.peer)) return (double)INFINITY;
    if (s->n == 1) return 0;
    if (k == COST_ALL_REDUCE) return all_reduce_seconds(f, s, link);
    if (k == COST_ALL_GATHER || k == COST_REDUCE_SCATTER) return shard_seconds(k, f, s, link);
    traffic t = k == COST_RESHARD ? reshard_traffic(s, s->table, s->table2) : all_to_all_traffic(s);
    int messages = f == COST_EVEN ? s->n - 1 : t.partners;
    return cost_parts_latency(f, messages + 1, link) + t.bytes / cost_rate(f, s->n, link);
}

double cost_even_bytes(cost_coll k, cost_form f, const cost_shards *s, cl_link link)
{
    double n = s->n;
    if (s->n == 1 || k == COST_ALL_REDUCE) return s->bytes;
    if (k == COST_RESHARD) return reshard_traffic(s, s->table, s->table2).bytes;
    if (k == COST_ALL_TO_ALL) return all_to_all_traffic(s).bytes * n * n / (n - 1);
    cut c = cut_of(s, s->table);
    switch (kind_of(f)) {
    case COST_EVEN:
    case COST_PADDED:
        return n * c.largest;
    case COST_GROUPED:
        return (s->bytes - c.smallest) * n / (n - 1);
    case COST_SENDRECV:
    case COST_PUTS:
        return busiest(k, f, s, link) * n / (n - 1);
    case COST_EVEN_FLAT:
    case COST_FLAT:
    case COST_TWO_LEVEL:
        break;
    }
    return s->bytes;
}

// Each copy reads and writes; SENDRECV's reduce_scatter also adds N - 1 received shards to its own,
// one after the other, a one-sided put's all N at once. A one-sided put packs nothing, but copies
// strided parts about as slowly as packing them.
double cost_pack_bytes(cost_coll k, cost_form f, const cost_shards *s)
{
    if (!cost_form_exists(k, f) || s->n == 1) return 0;
    if (k == COST_ALL_REDUCE && cost_is_put(f)) return (s->n + 1) * s->bytes / s->n;
    if (k == COST_ALL_REDUCE)
        return f == COST_TWO_LEVEL && s->n_inner > 0 ? 2 * s->bytes / s->n_inner : 0;
    cut c = cut_of(s, s->table);
    if (k == COST_ALL_TO_ALL || k == COST_RESHARD) {
        double busiest = 0;
        cut d = cut_of(s, s->table2);
        for (int i = 0; i < s->n; i++) {
            double b = (double)s->table[i] * c.entry + (double)s->table2[i] * d.entry;
            if (b > busiest) busiest = b;
        }
        return 2 * busiest;
    }
    double whole = s->apart == 1 ? 0 : 2 * s->bytes;
    switch (kind_of(f)) {
    case COST_PADDED: // in and out of equal slots
        return 2 * s->bytes + 2 * c.largest;
    case COST_SENDRECV:
        return whole + (k == COST_REDUCE_SCATTER ? 3 * (s->n - 1) * c.largest : 0);
    case COST_EVEN_FLAT:
        return 2 * s->bytes + 2 * c.largest;
    case COST_PUTS:
        return whole + (k == COST_REDUCE_SCATTER ? (s->n + 1) * c.largest : 0);
    case COST_EVEN:
    case COST_GROUPED:
    case COST_FLAT:
    case COST_TWO_LEVEL:
        break;
    }
    return whole;
}

// All runs of a gathered or scattered part go to, or come from, each other member. Of two
// factors the minor one (it has the other before it) is apart in more runs; a member's share
// of these is that of the major one, whose part it sends to all, or gets from each.
double cost_runs(cost_coll k, const cost_shards *s)
{
    bool two = k == COST_ALL_TO_ALL, second = two && s->apart2 > s->apart; // is the minor one
    double apart = second ? s->apart2 : s->apart;
    if (s->n == 1 || k == COST_ALL_REDUCE || s->bytes <= 0 || apart <= 1) return 0;
    if (!two) return apart * (s->n - 1);
    cut major = cut_of(s, second ? s->table : s->table2);
    double own = (s->n - 1) * major.largest, others = s->bytes - major.smallest;
    return apart * (own > others ? own : others) / s->bytes;
}

static double up(double bytes, double grain)
{
    return ceil(bytes / grain) * grain;
}

int64_t cost_scratch(cost_coll k, cost_form f, const cost_shards *s)
{
    if (!cost_form_exists(k, f)) return 0;
    double item = s->item > 0 ? (double)s->item : 4, bytes = 0;
    if (cost_is_put(f)) {
        // A slot for each member's part.
        if (k == COST_ALL_GATHER || k == COST_ALL_TO_ALL) return 0;
        double part = k == COST_ALL_REDUCE ? ceil(round(s->bytes / item) / s->n) * item
                                           : round(cut_of(s, s->table).largest);
        return (int64_t)(s->n * up(part, COST_SCRATCH_ALIGN));
    }
    if (k == COST_ALL_REDUCE) {
        if (f == COST_TWO_LEVEL && s->n_inner > 0) bytes = up(s->bytes / s->n_inner, item);
        return (int64_t)up(bytes, COST_SCRATCH_ALIGN);
    }
    double largest = cut_of(s, s->table).largest, packed = s->apart == 1 ? 0 : s->bytes;
    if (k == COST_ALL_TO_ALL || k == COST_RESHARD)
        bytes = largest + cut_of(s, s->table2).largest;
    else if (f == COST_PADDED)
        bytes = (s->n + 1) * largest;
    else if (f == COST_EVEN_FLAT)
        bytes = (s->n + 1) * up(s->bytes / s->n, item);
    else if (f == COST_SENDRECV && k == COST_REDUCE_SCATTER)
        bytes = packed + largest;
    else
        bytes = packed;
    // Whole bytes: shards are multiples of an element, up to rounding of entry bytes.
    return (int64_t)up(round(bytes), COST_SCRATCH_ALIGN);
}

cost_forms cost_forms_of(cost_coll k, int n, bool with_puts)
{
    cost_forms x = {.n = 0};
    for (cost_form f = COST_EVEN; f < COST_PUTS; f++)
        if (cost_form_exists(k, f)) x.form[x.n++] = f;
    if (!with_puts || k == COST_RESHARD) return x;
    x.form[x.n++] = COST_PUT(1);
    if (n > 2) x.form[x.n++] = COST_PUT(n - 1);
    for (int copies = 2; copies < n - 1 && x.n < COST_MAX_FORMS; copies *= 2)
        x.form[x.n++] = COST_PUT(copies);
    return x;
}

int cost_cheapest(const cost_forms *x)
{
    double least = (double)INFINITY;
    int best = 0;
    for (int i = 0; i < x->n; i++)
        least = fmin(least, x->sec[i]);
    hb_assert(isfinite(least));
    while (!(x->sec[best] <= least * (1 + COST_ROUNDING)))
        best++;
    return best;
}
