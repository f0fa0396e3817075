// Few classes of many: a cluster of devices that all differ is planned as one of fewer kinds.

#ifndef HAP_CLUSTERS_JOIN_CLASSES_H
#define HAP_CLUSTERS_JOIN_CLASSES_H

#include "clusters/cluster.h"

// Joins the n classes of cls, those that are nearest to each other first, until `most` are left: a
// joined class is as slow as the slowest of its own, has the least memory of them, and the
// slowest's name with "~" and their number. to[i]: the class that i is in, numbered as before by
// their first ones. n_ranks of each class must be set. Joined are devices of one kind that run
// alike (as many processors or threads, the same arithmetic). Returns how many are left: more than
// `most` where there are more kinds that cannot be joined.
int cl_join_classes(hb_arena *a, cl_class *cls, int n, int most, int *to);

#endif
