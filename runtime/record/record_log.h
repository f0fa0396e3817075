// The log of haprt-record: JSON lines (docs/formats.md, "Record").

#ifndef HAP_RUNTIME_RECORD_LOG_H
#define HAP_RUNTIME_RECORD_LOG_H

#include "core/rank.h"

void rec_open(hap_rank *r, const char *path);
// {"i":N,"line":L,"call":"NAME"   … then fields …   }; "source":"buffers.h" in front of a line of
// it
void rec_begin(const hap_rank *r, const char *prefix, const char *name);
void rec_end(void);
void rec_close(hap_rank *r);
// From here on a tensor of the ring is that of the place meant (r->ring): tensors from n on are
// those of the second place, then of the third.
void rec_rings(const hap_rank *r, int n);

void rec_int(const char *key, int64_t x);
void rec_real(const char *key, double x); // round-trips; infinities and NaN as strings
void rec_bool(const char *key, bool x);
void rec_text(const char *key, const char *s);
void rec_ints(const char *key, int n, const int64_t *v);
void rec_chunks(const char *key, int n,
                const int64_t (*v)[3]);                // [[1,2],[3,4,1]]: a last 0 is left out
void rec_tensor(const char *key, const hap_tensor *t); // its id or null
void rec_tensors(const char *key, int n, hap_tensor *const *t);
void rec_attrs(int n, const hap_attr *a);
void rec_dims(int rank, const hap_dim *dims, hap_rank *r);

#endif
