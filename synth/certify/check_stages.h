// The part of the certificate that is between stages (ir/stages.h). Each stage's program is proved
// by itself against the graph of its stage, in the order in which it does its slots (record.h): so
// every micro-batch is done once, nothing is read after its place in the ring was taken again, and
// sums are added up in order. What that leaves open is proved here:
//
//     the graphs   declare what the step declares: batch, micro-batches, schedule and precision;
//                  inputs, parameters, moments, buffers and constants of the same sizes and types,
//                  with the same first values; other names of parameters. Glued at their ports
//                  they are the step: every parameter, moment and buffer has one home, and what it
//                  becomes is there what the step makes of it; so is the loss
//     messages     every message of every port is sent once and received once, by the stages of the
//                  port, in ascending order on both ends
//     no circle    each stage in its order, a receive waiting for its send: all end
//
// Buffers of sends are free when the call returns, so that no send waits.

#ifndef HAP_SYNTH_CHECK_STAGES_H
#define HAP_SYNTH_CHECK_STAGES_H

#include "ir/stages.h"
#include "synth/certify/record.h"

// A stage's record without all that is proved of the stage by itself: calls that send or receive.
record *syn_record_of_ports(hb_arena *a, const record *r);
// The same of a plan, whose record would have many calls.
record *syn_messages_of(hb_arena *a, const syn_program *p);

// step: what was cut. rec: by stage, whole or of ports alone. Otherwise false, and *why is one
// sentence.
bool syn_check_stages(hb_arena *a, const ir_graph *step, const ir_stages *s,
                      const record *const *rec, hb_str *why);

#endif
