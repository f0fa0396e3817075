// Quantities with mandatory units: "370 GB/s", "10 Gbit/s", "40 GiB", "8 us", "15.7 TFLOP/s".
//
// Strict: SI prefixes are powers of 1000, IEC prefixes of 1024, "bit" is an eighth of a byte, and a
// bare number is an error. Case matters ("mB" is not a megabyte).

#ifndef HAP_CLUSTERS_UNITS_H
#define HAP_CLUSTERS_UNITS_H

#include "ir/base/tree.h"

typedef enum { CL_BYTES, CL_BYTES_PER_SEC, CL_FLOPS, CL_SECONDS } cl_unit_kind;

// The scalar in SI units (bytes, bytes/s, flop/s, seconds). False after an error (with a hint) was
// added; zero is an error unless zero_ok, negative and infinite numbers always are.
bool cl_quantity(const hb_tree *t, cl_unit_kind kind, bool zero_ok, const hb_source *src,
                 hb_diag *d, double *out);

#endif
