// Hosts and devices that are lost, and come back.

#include "cli/replan_state.h"

#include <stdio.h>

#include "cli/hosts.h"

enum { ASK_SECONDS = 5 };   // between two questions to a host that was lost
enum { LOST_FOR_GOOD = 2 }; // times that a device was lost on a host that answers

double replan_since(const struct timespec *t)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - t->tv_sec) + 1e-9 * (double)(now.tv_nsec - t->tv_nsec);
}

static bool same_host(const replan *x, int i, int k)
{
    return hb_str_eq(x->device[i].host, x->device[k].host);
}

static bool first_of_host(const replan *x, int i)
{
    for (int k = 0; k < i; k++)
        if (same_host(x, i, k)) return false;
    return true;
}

// Marks the devices of hosts that do not answer. Returns how many they are.
int replan_ask_all(replan *x)
{
    int n = 0;
    for (int i = 0; i < x->n; i++)
        if (first_of_host(x, i) && !is_this_machine(x->device[i].host))
            x->question[i] = host_ask(x->arena, x->device[i].host);
    for (int i = 0; i < x->n; i++) {
        if (!first_of_host(x, i) || is_this_machine(x->device[i].host)) continue;
        bool lost = question_answer(x->question[i], true) == QUESTION_NO;
        x->question[i] = -1;
        for (int k = i; k < x->n && lost; k++) {
            if (!same_host(x, i, k)) continue;
            n += !x->device[k].gone;
            x->device[k].gone = true;
        }
    }
    return n;
}

// A device that may be taken in again if its host answers.
static bool may_return(const device *d)
{
    return d->gone && d->lost < LOST_FOR_GOOD;
}

// The devices marked: "2 x V100 of node3, T4".
hb_str replan_list_of(const replan *x, const bool *mark)
{
    hb_buf b = {.arena = x->arena};
    hb_puts(&b, "");
    for (int i = 0, n; i < x->n; i += n) {
        const device *d = &x->device[i];
        for (n = 1; i + n < x->n && mark[i + n] == mark[i] && same_host(x, i, i + n) &&
                    hb_str_eq(d->name, x->device[i + n].name);)
            n++;
        if (!mark[i]) continue;
        hb_puts(&b, b.n ? ", " : "");
        if (n > 1) hb_printf(&b, "%d x ", n);
        hb_printf(&b, "%.*s%s%.*s", HB_ARG(d->name), d->host.n ? " of " : "", HB_ARG(d->host));
    }
    return hb_done(&b);
}

// The devices of device i's host that were lost may be taken in again, at the next checkpoint.
static void host_is_back(replan *x, int i)
{
    bool *back = HB_ARRAY(x->arena, bool, x->n);
    for (int k = i; k < x->n; k++)
        if (same_host(x, i, k) && may_return(&x->device[k]) && !x->back[k])
            x->back[k] = back[k] = true;
    hb_str list = replan_list_of(x, back);
    if (list.n) fprintf(stderr, "hapc: back: %.*s\n", HB_ARG(list));
}

bool replan_any_back(const replan *x)
{
    for (int i = 0; i < x->n; i++)
        if (x->back[i]) return true;
    return false;
}

// Some host that was lost answers again.
bool replan_is_back(replan *x)
{
    bool again = replan_since(&x->asked) > ASK_SECONDS;
    if (again) clock_gettime(CLOCK_MONOTONIC, &x->asked);
    for (int i = 0; i < x->n; i++) {
        bool wanted = false;
        for (int k = i; k < x->n && first_of_host(x, i); k++)
            wanted = wanted || (same_host(x, i, k) && may_return(&x->device[k]) && !x->back[k]);
        if (!wanted) continue;
        if (is_this_machine(x->device[i].host)) {
            host_is_back(x, i);
        } else if (x->question[i] >= 0) {
            question_state s = question_answer(x->question[i], false);
            if (s != QUESTION_OPEN) x->question[i] = -1;
            if (s == QUESTION_YES) host_is_back(x, i);
        } else if (again) {
            x->question[i] = host_ask(x->arena, x->device[i].host);
        }
    }
    return replan_any_back(x);
}

void replan_take_back(replan *x)
{
    for (int i = 0; i < x->n; i++)
        x->device[i].gone = x->device[i].gone && !x->back[i];
}

// By device of the cluster. *left: how many are not.
bool *replan_gone_of(const replan *x, int *left)
{
    bool *gone = HB_ARRAY(x->arena, bool, x->n);
    *left = x->n;
    for (int i = 0; i < x->n; i++) {
        gone[i] = x->device[i].gone;
        *left -= gone[i];
    }
    return gone;
}
