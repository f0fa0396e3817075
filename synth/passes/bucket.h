// Small all-reduces travel together.

#ifndef HAP_SYNTH_BUCKET_H
#define HAP_SYNTH_BUCKET_H

#include "synth/plan/program.h"
#include "synth/price/costs.h"

// SMALL: of less to wait for at the end of the step, with more latencies. PUTS_ALONE: and a
// one-sided put is sent when it is made.
typedef enum { SYN_BUCKETS, SYN_BUCKETS_SMALL, SYN_BUCKETS_PUTS_ALONE } syn_buckets;

// slack: as of syn_move_price.
void syn_bucket(syn_program *p, syn_costs *c, const syn_slack *slack, syn_buckets how);

#endif
