#include "core/put_turns.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    M = HAP_TURN_MEMBERS,
    // Each permutation ends a message, or a member is from there on in all that follow.
    PIECES = M * M + 2 * M,
    TRIES = 3000 // exchanges of two pieces that are looked at
};

// Of the bound: not worth another order; as good as the bound.
static const double close_enough = 1.02, reached = 1.005;

typedef struct piece {
    int to;
    int64_t units;
} piece;

// Of an all-gather a member may pass on what it got of another's part: then its message has that
// behind its own part, from the begin of the other's part on.
typedef struct shop {
    int n;
    const int64_t *bytes;
    int64_t least;                                   // bytes of a piece, and of a pause
    int64_t size[M][M], passed[M][M], skipped[M][M]; // of a message: bytes, of those passed on; of
                                                     // the part, bytes that somebody passes on
    int helper[M], owner[M]; // who passes on a member's bytes, and whose a member passes on, or -1
    int64_t unit, units[M][M], left[M][M];
    int n_pieces[M];
    piece piece[M][PIECES];
} shop;

// --- what an order takes ---

// Bytes of a message before its units [0, units).
static int64_t bytes_before(const shop *s, int from, int to, int64_t units)
{
    return units < s->units[from][to] ? units * s->unit : s->size[from][to];
}

// Where a message is to be cut whatever its pieces are: before what is passed on, and behind what a
// helper passes on; 0: nowhere.
static int64_t edge_of(const shop *s, int from, int to)
{
    int64_t most = 0;
    if (s->passed[from][to] > 0) return s->size[from][to] - s->passed[from][to];
    for (int j = 0; j < s->n && s->helper[from] == to; j++)
        if (s->skipped[from][j] > most) most = s->skipped[from][j];
    return most;
}

// How far a member is: in its pieces, and by message in units and bytes that have begun.
typedef struct walk {
    int at;
    int64_t units[M], bytes[M];
    int to;
    int64_t first, count; // what it sends
} walk;

// What a member sends next; false: that was all.
static bool step(const shop *s, int from, walk *w)
{
    for (; w->at < s->n_pieces[from]; w->at++) {
        const piece *p = &s->piece[from][w->at];
        int64_t begin = w->bytes[p->to], edge = edge_of(s, from, p->to);
        int64_t end = bytes_before(s, from, p->to, w->units[p->to] + p->units);
        if (begin < end) {
            if (begin < edge && edge < end) end = edge;
            w->to = p->to;
            w->first = begin;
            w->count = end - begin;
            w->bytes[p->to] = end;
            return true;
        }
        w->units[p->to] += p->units;
    }
    return false;
}

typedef struct course {
    double end;
    int last[M]; // by member: from whom the last bytes come
} course;

// Everybody sends its pieces one after the other; who send to one member have its link in equal
// shares. Before a piece nothing leaves for as long as `pause` bytes take, and before what is
// passed on until it is there.
static course run(const shop *s, double pause)
{
    course c = {0};
    int n = s->n;
    bool on[M], told[M] = {false}; // told: by owner, the helper has what it passes on
    walk all[M];
    double left[M], pauses[M];
    memset(all, 0, sizeof all);
    for (int i = 0; i < n; i++) {
        c.last[i] = -1;
        on[i] = step(s, i, &all[i]);
        left[i] = (double)all[i].count;
        pauses[i] = pause;
    }
    for (;;) {
        int into[M] = {0};
        bool sends[M], more = false;
        double dt = (double)INFINITY;
        for (int i = 0; i < n; i++) {
            const walk *w = &all[i];
            bool passes = on[i] && s->passed[i][w->to] > 0 && w->first >= edge_of(s, i, w->to);
            sends[i] = on[i] && (!passes || told[s->owner[i]]);
            more |= on[i];
            if (sends[i] && pauses[i] <= 0) into[w->to]++;
        }
        if (!more) return c;
        for (int i = 0; i < n; i++)
            if (sends[i]) dt = fmin(dt, pauses[i] > 0 ? pauses[i] : left[i] * into[all[i].to]);
        c.end += dt;
        if (!(dt < (double)INFINITY)) return c;
        for (int i = 0; i < n; i++) {
            walk *w = &all[i];
            if (!sends[i]) continue;
            if (pauses[i] > 0) {
                pauses[i] -= dt;
                if (pauses[i] < 1e-3) pauses[i] = 0; // of a byte
                continue;
            }
            left[i] -= dt / into[w->to];
            if (left[i] > 1e-3) continue;
            c.last[w->to] = i;
            if (s->helper[i] == w->to && w->bytes[w->to] >= edge_of(s, i, w->to)) told[i] = true;
            on[i] = step(s, i, w);
            left[i] = (double)w->count;
            pauses[i] = pause;
        }
    }
}

// Are all messages one size, but for less than a unit?
static bool alike(const shop *s)
{
    for (int i = 0; i < s->n * s->n; i++)
        if (i / s->n != i % s->n && s->units[i / s->n][i % s->n] != s->units[0][1]) return false;
    return true;
}

// --- by distance ---

static void by_distance(shop *s)
{
    for (int i = 0; i < s->n; i++) {
        s->n_pieces[i] = s->n - 1;
        for (int d = 1; d < s->n; d++) {
            int to = (i + d) % s->n;
            s->piece[i][d - 1] = (piece){to, s->units[i][to]};
        }
    }
}

// --- permutations ---

// to[i]: the columns of rows so that the sum of weight[i][to[i]] is as large as can be (the
// Hungarian method by shortest paths: Jonker and Volgenant 1987), O(n^3).
static void assign(int n, int64_t weight[M][M], int *to)
{
    int64_t u[M + 1] = {0}, v[M + 1] = {0};
    int row_of[M + 1], way[M + 1];
    for (int j = 0; j <= n; j++)
        row_of[j] = n;
    for (int i = 0; i < n; i++) {
        int64_t least[M];
        bool used[M + 1] = {false};
        int j0 = n;
        row_of[n] = i;
        for (int j = 0; j < n; j++)
            least[j] = INT64_MAX;
        do {
            int i0 = row_of[j0], j1 = 0;
            int64_t delta = INT64_MAX;
            used[j0] = true;
            for (int j = 0; j < n; j++) {
                if (used[j]) continue;
                int64_t cost = -weight[i0][j] - u[i0] - v[j];
                if (cost < least[j]) least[j] = cost, way[j] = j0;
                if (least[j] < delta) delta = least[j], j1 = j;
            }
            for (int j = 0; j <= n; j++) {
                if (used[j])
                    u[row_of[j]] += delta, v[j] -= delta;
                else
                    least[j] -= delta;
            }
            j0 = j1;
        } while (row_of[j0] != n);
        do {
            int j1 = way[j0];
            row_of[j0] = row_of[j1];
            j0 = j1;
        } while (j0 != n);
    }
    for (int j = 0; j < n; j++)
        to[row_of[j]] = j;
}

static int64_t sums(const shop *s, int64_t row[M], int64_t column[M])
{
    int64_t most = 0;
    memset(column, 0, sizeof *column * M);
    for (int i = 0; i < s->n; i++) {
        row[i] = 0;
        for (int j = 0; j < s->n; j++) {
            row[i] += s->left[i][j];
            column[j] += s->left[i][j];
        }
    }
    for (int i = 0; i < s->n; i++) {
        if (row[i] > most) most = row[i];
        if (column[i] > most) most = column[i];
    }
    return most;
}

static void add_piece(shop *s, int from, int to, int64_t units)
{
    int k = s->n_pieces[from];
    if (k > 0 && s->piece[from][k - 1].to == to)
        s->piece[from][k - 1].units += units;
    else
        s->piece[from][s->n_pieces[from]++] = (piece){to, units};
}

// Each permutation has all members whose sum is all of the time that is left; then as many others
// as can be, who go on with what they send, or else send to the next by distance. It lasts until a
// message is over, or another member's sum is all of the time that is left.
static void by_permutations(shop *s)
{
    int n = s->n, previous[M];
    int64_t row[M], column[M], weight[M][M];
    // More than any number of the next smaller ones.
    const int64_t distance = 1, goes_on = n * n * distance, sends = 4 * n * goes_on,
                  needed = 2 * n * sends;
    memcpy(s->left, s->units, sizeof s->left);
    for (int i = 0; i < n; i++) {
        s->n_pieces[i] = 0;
        previous[i] = -1;
    }
    for (int64_t left = sums(s, row, column); left > 0; left = sums(s, row, column)) {
        int to[M];
        int64_t lasts = left;
        bool gets[M] = {false};
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                weight[i][j] = 0;
                if (s->left[i][j] == 0) continue;
                bool passes = s->left[i][j] * s->unit <= s->passed[i][j];
                weight[i][j] = (row[i] == left ? needed : 0) + (column[j] == left ? needed : 0) +
                               sends + (s->helper[i] == j ? 2 * goes_on : 0);
                if (!passes)
                    weight[i][j] +=
                        (previous[i] == j ? goes_on : 0) + distance * (n - (j - i + n) % n);
            }
        assign(n, weight, to);
        for (int i = 0; i < n; i++) {
            bool on = s->left[i][to[i]] > 0;
            int64_t until = on ? s->left[i][to[i]] : left - row[i];
            if (until < lasts) lasts = until;
            gets[to[i]] = on;
        }
        for (int j = 0; j < n; j++)
            if (!gets[j] && left - column[j] < lasts) lasts = left - column[j];
        for (int i = 0; i < n; i++) {
            previous[i] = -1;
            if (s->left[i][to[i]] == 0) continue;
            previous[i] = to[i];
            add_piece(s, i, to[i], lasts);
            s->left[i][to[i]] -= lasts;
        }
    }
}

// Where somebody was to wait, which nobody does, another order may be better: exchanges two pieces
// of a member as long as that helps.
static double exchange(shop *s, double bound, double end)
{
    int tries = 0, most = s->n <= 8 ? TRIES : TRIES / 8; // each takes n^3
    for (bool better = true; better;) {
        better = false;
        for (int i = 0; i < s->n; i++)
            for (int a = 0; a < s->n_pieces[i]; a++)
                for (int b = a + 1; b < s->n_pieces[i]; b++) {
                    piece *p = s->piece[i], own = p[a];
                    if (end <= bound * reached || tries++ == most) return end;
                    p[a] = p[b];
                    p[b] = own;
                    double sec = run(s, (double)s->least).end;
                    if (sec < end * (1 - 1e-6)) {
                        end = sec;
                        better = true;
                    } else {
                        p[b] = p[a];
                        p[a] = own;
                    }
                }
    }
    return end;
}

static void take_piece(shop *s, int from, int k)
{
    piece *p = s->piece[from];
    memmove(p + k, p + k + 1, sizeof *p * (size_t)(--s->n_pieces[from] - k));
}

// Pieces of one message become one, where the earlier or where the later one stands, unless that
// takes longer than `most`.
static void join(shop *s, double most)
{
    for (int i = 0; i < s->n; i++)
        for (int a = 0; a < s->n_pieces[i]; a++)
            for (int b = a + 1; b < s->n_pieces[i]; b++) {
                int n = s->n_pieces[i];
                piece own[PIECES];
                if (s->piece[i][a].to != s->piece[i][b].to) continue;
                memcpy(own, s->piece[i], sizeof *own * (size_t)n);
                bool joins = false;
                for (int later = 0; later < 2 && !joins; later++) {
                    s->piece[i][later ? b : a].units += s->piece[i][later ? a : b].units;
                    take_piece(s, i, later ? a : b);
                    joins = run(s, (double)s->least).end <= most;
                    if (joins) continue;
                    memcpy(s->piece[i], own, sizeof *own * (size_t)n);
                    s->n_pieces[i] = n;
                }
                if (joins) b = a; // looks at what now stands there again
            }
}

// --- turns ---

static hap_put_turns *turns_new(int n, int64_t least, int n_turns)
{
    size_t bytes = sizeof(hap_put_turns) + sizeof(hap_put_turn) * (size_t)n_turns +
                   sizeof(int64_t) * (size_t)n * (size_t)n + sizeof(int) * (2 * (size_t)n + 1);
    hap_put_turns *x = malloc(bytes);
    if (!x) return NULL;
    *x = (hap_put_turns){.n = n, .least = least, .turn = (hap_put_turn *)(x + 1)};
    x->bytes = (int64_t *)(x->turn + n_turns);
    x->begin = (int *)(x->bytes + (size_t)n * (size_t)n);
    x->last = x->begin + n + 1;
    return x;
}

static hap_put_turns *turns_by_distance(int n, const int64_t *bytes, int64_t least)
{
    hap_put_turns *x = turns_new(n, least, n * (n - 1));
    if (!x) return NULL;
    memcpy(x->bytes, bytes, sizeof *bytes * (size_t)n * (size_t)n);
    for (int i = 0; i < n; i++) {
        x->begin[i] = i * (n - 1);
        x->last[i] = (i + 1) % n;
        for (int d = 1; d < n; d++) {
            int to = (i + d) % n;
            x->turn[i * (n - 1) + d - 1] = (hap_put_turn){to, i, 0, bytes[i * n + to], false};
        }
    }
    x->begin[n] = n * (n - 1);
    return x;
}

static hap_put_turns *turns_of(const shop *s)
{
    int n = s->n, n_turns = 0;
    for (int i = 0; i < n; i++)
        n_turns += s->n_pieces[i] + 2 * n; // one more for each empty message, and for each edge
    hap_put_turns *x = turns_new(n, s->least, n_turns);
    if (!x) return NULL;
    memcpy(x->bytes, s->bytes, sizeof *s->bytes * (size_t)n * (size_t)n);
    course c = run(s, 0);
    int at = 0;
    for (int i = 0; i < n; i++) {
        walk w = {0};
        bool seen[M] = {false};
        x->begin[i] = at;
        x->last[i] = c.last[i];
        while (step(s, i, &w)) {
            int64_t edge = edge_of(s, i, w.to);
            bool passes = s->passed[i][w.to] > 0 && w.first >= edge;
            x->turn[at++] = (hap_put_turn){
                .to = w.to,
                .of = passes ? s->owner[i] : i,
                .first = passes ? w.first - edge : w.first + s->skipped[i][w.to],
                .count = w.count,
                .tells = s->helper[i] == w.to && w.first + w.count == edge,
            };
            seen[w.to] = true;
        }
        for (int d = 1; d < n; d++)
            if (!seen[(i + d) % n]) x->turn[at++] = (hap_put_turn){.to = (i + d) % n, .of = i};
    }
    x->begin[n] = at;
    return x;
}

// Messages in units, to the nearest, so that what is about a multiple of another is cut like it;
// the last unit of a message has the rest.
static void count_units(shop *s, int64_t unit)
{
    s->unit = unit > s->least ? unit : s->least;
    for (int i = 0; i < s->n; i++)
        for (int j = 0; j < s->n; j++) {
            int64_t bytes = s->size[i][j], units = (bytes + s->unit / 2) / s->unit;
            s->units[i][j] = bytes > 0 && units == 0 ? 1 : units;
        }
}

// The better of s[0] and the best order of s[1], of other messages, in s[0].
static void improve(shop *s, int64_t bound, int64_t least_message)
{
    const int64_t unit[] = {bound / 256,       bound / 96,        bound / 24,
                            least_message / 4, least_message / 2, least_message};
    double best = (double)INFINITY, least = (double)bound + (s->n - 1) * (double)s->least;
    double paused = run(s, (double)s->least).end, unpaused = run(s, 0).end;
    for (size_t k = 0; k < sizeof unit / sizeof *unit; k++) {
        count_units(&s[1], unit[k]);
        if (alike(&s[1])) continue;
        by_permutations(&s[1]);
        double end = run(&s[1], (double)s->least).end;
        if (end >= best) continue;
        best = end;
        s[2] = s[1];
    }
    if (!(best < (double)INFINITY)) return;
    best = exchange(&s[2], least, best);
    join(&s[2], fmax(best, least * reached));
    if (run(&s[2], (double)s->least).end * close_enough < paused && run(&s[2], 0).end < unpaused)
        s[0] = s[2];
}

// What a member of an all-gather has more to send than the bound of all asks for, another one that
// has less passes on to some: first to those who get most. False: nobody is to.
static bool pass_on(shop *s)
{
    int64_t row[M], column[M], bound = 0, all = 0;
    memcpy(s->left, s->size, sizeof s->left);
    sums(s, row, column);
    for (int i = 0; i < s->n; i++) {
        all += row[i];
        if (column[i] > bound) bound = column[i];
    }
    if (bound < (all + s->n - 1) / s->n) bound = (all + s->n - 1) / s->n;
    bool any = false;
    for (int turn = 0; turn < s->n; turn++) {
        int i = 0, k = -1;
        for (int m = 1; m < s->n; m++)
            if (row[m] > row[i]) i = m;
        for (int m = 0; m < s->n; m++)
            if (row[m] < bound && s->owner[m] < 0 && (k < 0 || row[m] < row[k])) k = m;
        if (k < 0 || row[i] - bound < s->least || s->helper[i] >= 0) break;
        while (row[i] - bound >= s->least && bound - row[k] >= s->least) {
            int l = -1;
            for (int m = 0; m < s->n; m++)
                if (m != i && m != k && (l < 0 || s->size[i][m] > s->size[i][l])) l = m;
            if (l < 0 || s->size[i][l] < s->least) break;
            int64_t some = s->size[i][l], room = bound - row[k], over = row[i] - bound;
            if (room < some) some = room;
            if (over < some) some = over;
            s->size[i][l] -= some;
            s->skipped[i][l] += some;
            s->size[k][l] += some;
            s->passed[k][l] += some;
            row[i] -= some;
            row[k] += some;
            s->helper[i] = k;
            s->owner[k] = i;
            any = true;
        }
    }
    return any;
}

// Leaves the best order in s[0]; the others are room.
static void order(shop *s, bool gathers)
{
    int64_t row[M], column[M], bound, least_message = INT64_MAX;
    memset(s->passed, 0, sizeof s->passed);
    memset(s->skipped, 0, sizeof s->skipped);
    for (int i = 0; i < s->n; i++) {
        s->helper[i] = s->owner[i] = -1;
        for (int j = 0; j < s->n; j++) {
            int64_t bytes = s->size[i][j] = s->left[i][j] = i == j ? 0 : s->bytes[i * s->n + j];
            if (bytes > 0 && bytes < least_message) least_message = bytes;
        }
    }
    bound = sums(s, row, column);
    count_units(s, 1);
    by_distance(s);
    double least = (double)bound + (s->n - 1) * (double)s->least;
    s[1] = s[0];
    if (run(s, (double)s->least).end > least * close_enough) improve(s, bound, least_message);
    if (!gathers || !pass_on(&s[1])) return;
    memcpy(s[1].left, s[1].size, sizeof s[1].left);
    improve(s, sums(&s[1], row, column), least_message);
}

hap_put_turns *hap_put_turns_of(int n, const int64_t *bytes, int64_t least, bool gathers)
{
    if (n > M) return turns_by_distance(n, bytes, least);
    shop *s = malloc(3 * sizeof *s);
    if (!s) return NULL;
    s->n = n;
    s->bytes = bytes;
    s->least = least;
    order(s, gathers);
    hap_put_turns *x = turns_of(s);
    if (x) x->gathers = gathers;
    free(s);
    return x;
}
