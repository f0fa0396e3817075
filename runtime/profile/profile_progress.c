#include <stdio.h>

#include "profile/profile.h"

void profile_progress(profile *p)
{
    enum { WIDTH = 40 };
    double done = (double)++p->n_cases / p->n_expected;
    if (!p->shown || p->r->id != 0) return;
    double percent = p->from + (p->to - p->from) * (done < 1 ? done : 1);
    int bar = (int)(percent * WIDTH / 100);
    printf("\rmeasuring [%.*s%*s] %3.0f %%%s", bar, "########################################",
           WIDTH - bar, "", percent, percent >= 100 ? "\r\033[K" : "");
    fflush(stdout);
}
