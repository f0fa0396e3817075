// Whose the gap is between the additive bound and the best plan (docs/theory.md section 3).

#ifndef HAP_SYNTH_GAP_H
#define HAP_SYNTH_GAP_H

// What lies between a bound and the best plan that fits, in seconds of additive cost.
typedef struct syn_bound_levels {
    double searched; // the choice that the search found where it proved the bound
    double priced;   // what no prices on memory prove more than; HUGE_VAL: not known
    double counted;  // the cheapest choice that would fit if plans held no more than the bound
                     // counts; HUGE_VAL: none is known
} syn_bound_levels;

// Whose the gap is, its parts in seconds; they add up to it.
typedef enum {
    SYN_GAP_SEARCH,    // a search that is not exact
    SYN_GAP_PRICES,    // memory prices that were not found
    SYN_GAP_CHOICES,   // choices that no prices lead to
    SYN_GAP_UNCOUNTED, // memory that plans take and the bound does not count
    SYN_GAP_PARTS
} syn_gap_part;
void syn_gap_parts(const syn_bound_levels *l, double bound, double best, double *part);

#endif
