// Types of a data file's elements: hap_dtype, and u16, which no tensor has.

#ifndef HAP_RUNTIME_ITEMS_H
#define HAP_RUNTIME_ITEMS_H

#include "hap/runtime.h"

typedef int hap_item;
enum { HAP_ITEM_U16 = 64 };

#endif
