// Sends and receives of NCCL on streams without a device (fake_streams.h): a group of calls is one
// kernel, which ends when all that it sends and receives has come, a piece at a time, in any order.
// Between two members messages meet in the order of their calls, whatever the streams.

#ifndef HAP_TESTS_FAKE_NCCL_H
#define HAP_TESTS_FAKE_NCCL_H

#include <nccl.h>

#include "core/tensor.h"

// Member `me` of the group of that number; types are hap_dtype.
ncclComm_t fake_comm(int group, int me);
void fake_comm_free(ncclComm_t c);
void fake_messages_forget(void); // once the streams are

#endif
