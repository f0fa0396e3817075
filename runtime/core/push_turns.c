#include "core/push_turns.h"

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

typedef struct shop {
    int n;
    const int64_t *bytes;
    int64_t least; // bytes of a piece, and of a pause
    int64_t unit, units[M][M], left[M][M];
    int n_pieces[M];
    piece piece[M][PIECES];
} shop;

// --- what an order takes ---

typedef struct course {
    double end;
    int last[M]; // by member: from whom the last bytes come
} course;

// Bytes of a message before its units [0, units).
static int64_t bytes_before(const shop *s, int from, int to, int64_t units)
{
    return units < s->units[from][to] ? units * s->unit : s->bytes[from * s->n + to];
}

// Of the next piece of a member that has any; done[to]: units of the message that are over.
static double next_bytes(const shop *s, int from, int *at, int64_t *done)
{
    for (; *at < s->n_pieces[from]; ++*at) {
        const piece *p = &s->piece[from][*at];
        int64_t begin = bytes_before(s, from, p->to, done[p->to]);
        int64_t end = bytes_before(s, from, p->to, done[p->to] + p->units);
        done[p->to] += p->units;
        if (end > begin) return (double)(end - begin);
    }
    return 0;
}

// Everybody sends its pieces one after the other; who send to one member have its link in equal
// shares. Before a piece nothing leaves for as long as `pause` bytes take.
static course run(const shop *s, double pause)
{
    course c = {0};
    int at[M] = {0}, n = s->n;
    int64_t done[M][M] = {{0}};
    double left[M], pauses[M];
    for (int i = 0; i < n; i++) {
        c.last[i] = -1;
        left[i] = next_bytes(s, i, &at[i], done[i]);
        pauses[i] = pause;
    }
    for (;;) {
        int into[M] = {0};
        double dt = (double)INFINITY;
        for (int i = 0; i < n; i++)
            if (at[i] < s->n_pieces[i] && pauses[i] <= 0) into[s->piece[i][at[i]].to]++;
        for (int i = 0; i < n; i++)
            if (at[i] < s->n_pieces[i])
                dt = fmin(dt, pauses[i] > 0 ? pauses[i] : left[i] * into[s->piece[i][at[i]].to]);
        if (!(dt < (double)INFINITY)) return c;
        c.end += dt;
        for (int i = 0; i < n; i++) {
            if (at[i] == s->n_pieces[i]) continue;
            int to = s->piece[i][at[i]].to;
            if (pauses[i] > 0) {
                pauses[i] -= dt;
                if (pauses[i] < 1e-3) pauses[i] = 0; // of a byte
                continue;
            }
            left[i] -= dt / into[to];
            if (left[i] > 1e-3) continue;
            c.last[to] = i;
            ++at[i];
            left[i] = next_bytes(s, i, &at[i], done[i]);
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
    const int64_t distance = 1, goes_on = n * n * distance, sends = 2 * n * goes_on,
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
                weight[i][j] = (row[i] == left ? needed : 0) + (column[j] == left ? needed : 0) +
                               sends + (previous[i] == j ? goes_on : 0) +
                               distance * (n - (j - i + n) % n);
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
    int tries = 0;
    for (bool better = true; better;) {
        better = false;
        for (int i = 0; i < s->n; i++)
            for (int a = 0; a < s->n_pieces[i]; a++)
                for (int b = a + 1; b < s->n_pieces[i]; b++) {
                    piece *p = s->piece[i], own = p[a];
                    if (end <= bound * reached || tries++ == TRIES) return end;
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

static hap_push_turns *turns_new(int n, int64_t least, int n_turns)
{
    size_t bytes = sizeof(hap_push_turns) + sizeof(hap_push_turn) * (size_t)n_turns +
                   sizeof(int64_t) * (size_t)n * (size_t)n + sizeof(int) * (2 * (size_t)n + 1);
    hap_push_turns *x = malloc(bytes);
    if (!x) return NULL;
    *x = (hap_push_turns){.n = n, .least = least, .turn = (hap_push_turn *)(x + 1)};
    x->bytes = (int64_t *)(x->turn + n_turns);
    x->begin = (int *)(x->bytes + (size_t)n * (size_t)n);
    x->last = x->begin + n + 1;
    return x;
}

static hap_push_turns *turns_by_distance(int n, const int64_t *bytes, int64_t least)
{
    hap_push_turns *x = turns_new(n, least, n * (n - 1));
    if (!x) return NULL;
    memcpy(x->bytes, bytes, sizeof *bytes * (size_t)n * (size_t)n);
    for (int i = 0; i < n; i++) {
        x->begin[i] = i * (n - 1);
        x->last[i] = (i + 1) % n;
        for (int d = 1; d < n; d++) {
            int to = (i + d) % n;
            x->turn[i * (n - 1) + d - 1] = (hap_push_turn){to, 0, bytes[i * n + to]};
        }
    }
    x->begin[n] = n * (n - 1);
    return x;
}

static hap_push_turns *turns_of(const shop *s)
{
    int n = s->n, n_turns = 0;
    for (int i = 0; i < n; i++)
        n_turns += s->n_pieces[i] + n; // one more for each empty message
    hap_push_turns *x = turns_new(n, s->least, n_turns);
    if (!x) return NULL;
    memcpy(x->bytes, s->bytes, sizeof *s->bytes * (size_t)n * (size_t)n);
    course c = run(s, 0);
    int at = 0;
    for (int i = 0; i < n; i++) {
        int64_t done[M] = {0};
        bool seen[M] = {false};
        x->begin[i] = at;
        x->last[i] = c.last[i];
        for (int k = 0; k < s->n_pieces[i]; k++) {
            const piece *p = &s->piece[i][k];
            int64_t begin = bytes_before(s, i, p->to, done[p->to]);
            int64_t end = bytes_before(s, i, p->to, done[p->to] + p->units);
            if (end > begin || s->bytes[i * n + p->to] == 0)
                x->turn[at++] = (hap_push_turn){p->to, begin, end - begin};
            done[p->to] += p->units;
            seen[p->to] = true;
        }
        for (int d = 1; d < n; d++)
            if (!seen[(i + d) % n]) x->turn[at++] = (hap_push_turn){(i + d) % n, 0, 0};
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
            int64_t bytes = i == j ? 0 : s->bytes[i * s->n + j];
            int64_t units = (bytes + s->unit / 2) / s->unit;
            s->units[i][j] = bytes > 0 && units == 0 ? 1 : units;
        }
}

// Leaves the best order in s[0]; s[1] is for others.
static void order(shop *s)
{
    int64_t row[M], column[M], bound, least_message = INT64_MAX;
    count_units(s, 1);
    for (int i = 0; i < s->n; i++)
        for (int j = 0; j < s->n; j++) {
            int64_t bytes = s->left[i][j] = i == j ? 0 : s->bytes[i * s->n + j];
            if (bytes > 0 && bytes < least_message) least_message = bytes;
        }
    bound = sums(s, row, column);
    by_distance(s);
    double distance = run(s, (double)s->least).end, unpaused = run(s, 0).end, best = distance;
    double least = (double)bound + (s->n - 1) * (double)s->least;
    if (distance <= least * close_enough) return;
    const int64_t unit[] = {bound / 256,       bound / 96,        bound / 24,
                            least_message / 4, least_message / 2, least_message};
    s[1] = s[0];
    for (size_t k = 0; k < sizeof unit / sizeof *unit; k++) {
        count_units(&s[1], unit[k]);
        if (alike(&s[1])) continue;
        by_permutations(&s[1]);
        double end = run(&s[1], (double)s->least).end;
        if (end >= best) continue;
        best = end;
        s[0] = s[1];
    }
    best = exchange(s, least, best);
    join(s, fmax(best, least * reached));
    if (run(s, (double)s->least).end * close_enough < distance && run(s, 0).end < unpaused) return;
    count_units(s, 1);
    by_distance(s);
}

hap_push_turns *hap_push_turns_of(int n, const int64_t *bytes, int64_t least)
{
    if (n > M) return turns_by_distance(n, bytes, least);
    shop *s = malloc(2 * sizeof *s);
    if (!s) return NULL;
    s->n = n;
    s->bytes = bytes;
    s->least = least;
    order(s);
    hap_push_turns *x = turns_of(s);
    free(s);
    return x;
}
