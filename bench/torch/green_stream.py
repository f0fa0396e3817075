"""A stream of PyTorch on a green context of so many SMs of a device: every kernel launched on it stays there."""

import torch


def green_stream(ordinal, count):
    from cuda.bindings import driver as cu

    def ok(result):
        assert int(result[0]) == 0, result
        return result[1:] if len(result) > 2 else result[1]

    device = ok(cu.cuDeviceGet(ordinal))
    whole = ok(cu.cuDeviceGetDevResource(device, cu.CUdevResourceType.CU_DEV_RESOURCE_TYPE_SM))
    part = ok(cu.cuDevSmResourceSplitByCount(1, whole, 0, count))[0]
    described = ok(cu.cuDevResourceGenerateDesc([part[0]], 1))
    context = ok(cu.cuGreenCtxCreate(described, device, cu.CUgreenCtxCreate_flags.CU_GREEN_CTX_DEFAULT_STREAM))
    stream = ok(cu.cuGreenCtxStreamCreate(context, cu.CUstream_flags.CU_STREAM_NON_BLOCKING, 0))
    return torch.cuda.ExternalStream(int(stream), device=torch.device("cuda", ordinal))
