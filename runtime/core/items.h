// Types of a data file's elements: hap_dtype, and integers that no tensor has.

#ifndef HAP_RUNTIME_ITEMS_H
#define HAP_RUNTIME_ITEMS_H

#include "hap/runtime.h"

typedef int hap_item;
enum { HAP_ITEM_U8 = 64, HAP_ITEM_U16 };

#endif
