#include "tests/support/fake_trial.h"

#include <stdio.h>
#include <stdlib.h>

#include "cuda/comm/cuda_put.h"
#include "cuda/device/cuda_backend.h"
#include "cuda/step/cuda_release.h"
#include "tests/support/fake_streams.h"

enum { LONG = 1 << 12, RELEASES = 1000 }; // steps, and turns, in which what is released ends

static bool all_ended(hap_rank *const *r)
{
    for (int i = 0; i < fake.n; i++)
        if (!fake_stream_idle(cuda_of(r[i])->x.stream)) return false;
    return true;
}

bool fake_trial(hap_rank *const *r, cuda_whole *w, void (*enqueue)(int rank), bool silent)
{
    cuda_release release[FAKE_RANKS];
    uint32_t number = 0;
    for (int i = 0; i < fake.n; i++) {
        cuda_whole_begin(r[i], &w[i]);
        enqueue(i);
        cuda_whole_end(r[i], &w[i]);
        cuda_release_park(r[i], &release[i]);
    }
    bool fixed = false; // all ranks hear of it
    for (int i = 0; i < fake.n; i++)
        fixed |= w[i].fixed;
    for (int i = 0; i < fake.n && !fixed; i++) {
        cuda_whole_launch(r[i], &w[i], silent && i == fake.n - 1);
        for (int steps = (int)fake_draw(200); steps > 0; steps--)
            fake_step();
    }
    while (fake_step())
        ;
    bool passed = !fixed && all_ended(r);
    for (int i = 0; i < fake.n; i++)
        for (unsigned a = 0; a < CUDA_MASKS; a++)
            if (cuda_put_taken(r[i], a) > number) number = cuda_put_taken(r[i], a);
    for (int turn = 0; turn < RELEASES && !all_ended(r); turn++) {
        for (int i = 0; i < fake.n; i++)
            cuda_release_raise(r[i], &release[i], number);
        for (int steps = 0; steps < LONG && !all_ended(r); steps++)
            fake_step();
        for (int i = 0; i < fake.n; i++)
            cuda_release_rest(&release[i]);
        for (int steps = 0; steps < LONG && !all_ended(r); steps++)
            fake_step();
    }
    if (!all_ended(r)) exit(printf("a captured step cannot be released\n") > 0);
    for (int i = 0; i < fake.n; i++) {
        cuda_release_end(r[i], &release[i], number);
        if (!passed) cuda_whole_free(r[i], &w[i]);
    }
    return passed;
}
