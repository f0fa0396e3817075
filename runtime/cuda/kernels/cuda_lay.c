#include "cuda/kernels/cuda_lay.h"

#include <string.h>

#include "cuda/kernels/cuda_shadow.h"

const char *cuda_lie_last(cuda_context *x, const hap_tensor *t, const cuda_last *shape)
{
    cuda_will_write(x, t->data, t->bytes);
    if (cuda_last_turns(shape)) cuda_last_note(x, t, shape);
    return NULL;
}

const char *cuda_all_last(cuda_context *x, hap_tensor *const *in, int n, const cuda_last *shape,
                          int64_t beside, hap_tensor *at, char **work, bool *taken)
{
    int64_t elements = shape->images * shape->channels * shape->places;
    int64_t copies = 0, first = (beside + 255) / 256 * 256;
    bool copied[CUDA_LAST_IN] = {false};
    *taken = false;
    for (int i = 0; i < n; i++) {
        cuda_last lies;
        if (!in[i]) continue;
        at[i] = *in[i];
        if (in[i]->elements != elements || !cuda_last_turns(shape)) continue;
        copied[i] = !cuda_lies_last(x, in[i], &lies) || memcmp(&lies, shape, sizeof lies) != 0;
        if (copied[i]) copies += (in[i]->bytes + 255) / 256 * 256;
    }
    if (copies > cuda_conv_room(0) && copies > x->work.bytes) return NULL;
    // Those that do not lie so are as declared from here on.
    for (int i = 0; i < n; i++)
        if (in[i] && (copied[i] || in[i]->elements != elements || !cuda_last_turns(shape)))
            CUDA_TRY(cuda_will_read(x, in[i]->data, in[i]->bytes));
    const char *why = NULL;
    char *to = first + copies ? (char *)cuda_work(x, first + copies, &why) : NULL;
    if (why) return why;
    if (work) *work = to;
    *taken = true;
    to += first;
    for (int i = 0; i < n; i++) {
        if (!in[i] || !copied[i]) continue;
        CUDA_TRY(cuda_turn(x, in[i]->type, to, in[i]->type, in[i]->data, shape->images,
                           shape->channels, shape->places));
        at[i].data = to;
        to += (in[i]->bytes + 255) / 256 * 256;
    }
    return NULL;
}
