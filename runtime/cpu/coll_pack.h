// Copies between a local tensor, seen as a box of the view (core/coll_geometry.h), and the packed
// part of it that another member holds or wants: [outer, f1.n, mid, f2.n, inner].

#ifndef HAP_RUNTIME_CPU_COLL_PACK_H
#define HAP_RUNTIME_CPU_COLL_PACK_H

#include "core/coll_geometry.h"

// local is stored over `held`; part lies inside it.
void cpu_pack(const hap_coll_view *v, void *packed, const void *local, hap_box held, hap_box part);
void cpu_unpack(const hap_coll_view *v, void *local, const void *packed, hap_box held,
                hap_box part);
// From one local tensor to another, without a buffer.
void cpu_move(const hap_coll_view *v, void *dst, hap_box dst_held, const void *src,
              hap_box src_held, hap_box part);

#endif
