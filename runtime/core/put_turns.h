// In which order a member sends to the others, one message at a time (FORM_PUT(1); with more in
// flight they go by distance), so that all are done as soon as the busiest link allows.
//
// bytes[i * n + j] go from member i to member j. A link out of a member and a link into one each
// take one byte a unit of time, so nothing takes less than the largest sum of a row or a column
// (the diagonal aside). Nobody waits for its turn: a member sends one message after the other.
// Where two send to one member they share its link, and where a link's time is all needed that
// costs what is lost: of rows .337 .337 .163 .163 by distance an all-gather on four H200s took 1.39
// times the bound, to the third digit as the shared link says.
//
// Equal messages go by distance: to me + 1 first. Others, if that takes clearly longer than need
// be, in the order of an open shop with preemption (Gonzalez and Sahni, Open shop scheduling to
// minimize finish time, J. ACM 23, 1976: the matrix of bytes as a sum of permutations): messages
// may be cut, and a piece of one stands between those of another. All members find the same turns
// of the same bytes.

#ifndef HAP_RUNTIME_PUT_TURNS_H
#define HAP_RUNTIME_PUT_TURNS_H

#include <stdbool.h>
#include <stdint.h>

enum { HAP_TURN_MEMBERS = 16 }; // larger groups send by distance

typedef struct hap_put_turn {
    int to, of;           // of: whose bytes, the sender's but in an all-gather
    int64_t first, count; // bytes of what `of` has for `to`
    bool tells;           // `to` has all it passes on of the sender's once it has this
} hap_put_turn;

typedef struct hap_put_turns {
    int n;
    int64_t least;
    bool gathers;
    int *begin; // turns of member m: [begin[m], begin[m + 1])
    // To one member in ascending order, those of the sender's own bytes first; one at least.
    hap_put_turn *turn;
    int *last; // by member: from whom the last bytes come; -1: nobody sends any
    int64_t *bytes;
} hap_put_turns;

// Pieces are of `least` bytes or more, but for the rest of a message; as much could leave a member
// while a copy begins. In one piece of memory, to be freed; NULL if there is none.
hap_put_turns *hap_put_turns_of(int n, const int64_t *bytes, int64_t least, bool gathers);

#endif
