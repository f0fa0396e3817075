// Pins: states that the user demands (`hapc --pin 'NAME=S(h)'`, docs/theory.md section 7).
//
// A pin fixes the state in which a value stands in the buffer that other ops read: the stored state
// of a parameter, input or constant, and for a computed value the state it is kept in. A reader
// that wants another state converts privately; a second copy may exist. NAME is a glob over tensors
// and over ops (then: their outputs). Names that hapc made (they hold a ') match only a pattern
// that holds a ' too; moments, and parameters as an optimizer row leaves them, are never pinned.

#ifndef HAP_SYNTH_PINS_H
#define HAP_SYNTH_PINS_H

#include "ir/base/diag.h"
#include "synth/plan/state.h"

typedef struct syn_pin_state {
    uint8_t kind;  // syn_kind
    hb_str letter; // S: a factor class, or (without its number) that of every layer; empty: dim
    int dim;
} syn_pin_state;

// One state says what the axes together do: R all whole, S at least one cut so and the others so or
// whole, P likewise. Two say what each axis does: of machines, and inside them.
typedef struct syn_pin {
    hb_str text, name; // as typed; the glob
    int n;
    syn_pin_state on[SYN_MAX_AXES];
} syn_pin;

typedef struct syn_pins {
    int n;
    syn_pin *pin;
    uint64_t *of; // by tensor: bit k, pin k holds for it
    // [k * SYN_MAX_AXES + i][tensor]: places that the i-th state of pin k means, a bit each, of
    // factor `pos` of dim `dim` number dim * IR_MAX_FACTORS + pos; NULL: that state is no cut
    uint64_t **places;
} syn_pins;

// Reads pins for a graph; errors go to d, located in the pin's text (then NULL). A pin that leaves
// some matching tensor without a state whatever the strategy is an error here.
syn_pins *syn_pins_read(hb_arena *a, const ir_graph *g, const ir_factors *f, const hb_str *text,
                        int n, hb_diag *d);

// The same texts, read for another graph of the same step (a variant).
syn_pins *syn_pins_again(hb_arena *a, const syn_pins *p, const ir_graph *g, const ir_factors *f,
                         hb_diag *d);
// Those of a stage, or of few layers: tensors are pinned as those of their name in the whole, and a
// cut is of the factor that begins at the same place of the dim.
syn_pins *syn_pins_part(hb_arena *a, const syn_pins *p, const ir_graph *whole,
                        const ir_factors *whole_f, const ir_graph *part, const ir_factors *part_f);
// Of two parts, whose tensors have equal numbers.
bool syn_pins_same(const syn_pins *p, const syn_pins *q, int n_tensors);

// p may be NULL: no pins.
bool syn_pinned(const syn_pins *p, int tensor);
// n_axes: of the mesh that x is a state on.
bool syn_pins_allow(const syn_pins *p, int tensor, const syn_state *x, int n_axes);
// "--pin 'a=R' and --pin 'b=P'": the pins of one tensor (-1: all).
hb_str syn_pins_text(hb_arena *a, const syn_pins *p, int tensor);

#endif
