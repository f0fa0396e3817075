// What a form of a collective takes, packing included: by its measured curve, or by formula.
//
// A curve is of even shards. Uneven ones stand at the bytes that the form would move as long for
// (cost_even_bytes): the number of messages, and so the latency in the curve, stays the same. A
// curve of another number of ranks is scaled as the formulas of the two. k groups on one network
// link have a k-th of it each: a curve between machines is read at k times the bytes. A one-sided
// put whose number of copies in flight was not measured takes what the nearest one that was does.
//
// Curves are of parts in long runs. Copies and packing kernels go run by run: shorter
// ones take a time each, whatever their bytes.

#include <math.h>

#include "costmodel/cost.h"
#include "costmodel/curve.h"
#include "costmodel/device_defaults.h"

static double formula(cost_coll k, cost_form f, int n, double bytes, cl_link link)
{
    double share = bytes / n, rate = cost_rate(f, n, link), wait = cost_parts_latency(f, n, link);
    if (k == COST_ALL_TO_ALL) return wait + (n - 1) * share / n / rate;
    if (k == COST_RESHARD) return (f == COST_SENDRECV ? 1 : n - 1) * link.latency + bytes / rate;
    if (f == COST_GROUPED) return link.latency + wait + (n - 1) * share / rate;
    return (k == COST_ALL_REDUCE ? 2 : 1) * (wait + (n - 1) * share / rate);
}

// Negative: not measured.
static double by_curve(const cost_model *m, cost_coll k, cost_form f, int n, double bytes,
                       cl_link link)
{
    cost_coll_curve x;
    if (!cost_curve_of_coll(m, k, f, n, link.crosses, &x)) return -1;
    if (link.crosses && link.groups > 1) bytes *= link.groups;
    double sec = cost_curve_at(x.curve, 1, bytes);
    if (x.n == n) return sec;
    return sec * formula(k, x.as, n, bytes, link) / formula(k, x.form, x.n, bytes, link);
}

// Several copies in flight are done by the copy engines that the driver gives their streams: what
// was measured may have been luck, unless it is faster by a tenth.
static double measured(const cost_model *m, cost_coll k, cost_form f, int n, double bytes,
                       cl_link link)
{
    double sec = by_curve(m, k, f, n, bytes, link);
    if (sec < 0 || !cost_is_put(f) || cost_copies(f) == 1) return sec;
    double one = by_curve(m, k, COST_PUT(1), n, bytes, link);
    return fmax(sec, fmin(COST_BAD_LUCK * sec, COST_NO_LUCK * one));
}

static double even(const cost_model *m, cost_coll k, cost_form f, int n, double bytes, cl_link link)
{
    if (n == 1) return 0;
    double sec = measured(m, k, f, n, bytes, link);
    return sec >= 0 ? sec : formula(k, f, n, bytes, link);
}

double cost_launch_overhead(const cl_class *c, bool put)
{
    bool gpu = c->kind == CL_GPU;
    double library = c->launch_overhead > 0 ? c->launch_overhead : gpu ? COST_LAUNCH_OVERHEAD : 0;
    if (!put) return library;
    return c->put_overhead > 0 ? c->put_overhead : gpu ? library + COST_PUT_BREAK : library;
}

void cost_memory_add(cost_memory *x, const cl_class *c)
{
    double one_sided = c->run_put > 0 ? c->run_put : COST_PUT_RUN;
    double bandwidth = c->stream > 0 ? c->stream : c->memory_bandwidth;
    x->bandwidth = x->bandwidth > 0 ? fmin(x->bandwidth, bandwidth) : bandwidth;
    x->run_put = fmax(x->run_put, one_sided);
    x->run_pack = fmax(x->run_pack, c->run_pack);
    for (int put = 0; put < 2; put++)
        x->launch_overhead[put] = fmax(x->launch_overhead[put], cost_launch_overhead(c, put));
}

static double by_runs(cost_coll k, cost_form f, const cost_shards *s, cl_link link,
                      const cost_memory *memory)
{
    double each = cost_is_put(f) ? memory->run_put : memory->run_pack;
    double runs = each > 0 ? cost_runs(k, s) : 0;
    return runs > 0 ? cost_parts_latency(f, s->n, link) + runs * each : 0;
}

static double by_bytes(const cost_model *m, cost_coll k, cost_form f, const cost_shards *s,
                       cl_link link, double pack_bandwidth)
{
    double wire = cost_collective(k, f, s, link), pack = cost_pack_bytes(k, f, s);
    if (m->curves && s->n > 1 && isfinite(wire)) {
        if (f == COST_TWO_LEVEL) { // its three parts
            int outer = s->n / s->n_inner;
            return even(m, COST_REDUCE_SCATTER, COST_EVEN, s->n_inner, s->bytes, s->inner) +
                   even(m, COST_ALL_REDUCE, COST_FLAT, outer, s->bytes / s->n_inner, s->between) +
                   even(m, COST_ALL_GATHER, COST_EVEN, s->n_inner, s->bytes, s->inner) +
                   pack / pack_bandwidth;
        }
        double sec = measured(m, k, f, s->n, cost_even_bytes(k, f, s, link), link);
        if (sec >= 0) {
            cost_shards leading = *s;
            leading.apart = leading.apart2 = 1;
            if (f == COST_EVEN_FLAT) // what crosses from even boundaries to the table's
                sec += wire - formula(COST_REDUCE_SCATTER, COST_EVEN, s->n, s->bytes, link);
            return sec + (pack - cost_pack_bytes(k, f, &leading)) / pack_bandwidth;
        }
    }
    return wire + pack / pack_bandwidth;
}

double cost_form_seconds(const cost_model *m, cost_coll k, cost_form f, const cost_shards *s,
                         cl_link link, const cost_memory *memory)
{
    double sec = by_bytes(m, k, f, s, link, memory->bandwidth);
    if (s->n == 1 || !isfinite(sec)) return sec;
    sec = fmax(sec, by_runs(k, f, s, link, memory)) + memory->launch_overhead[cost_is_put(f)];
    return cost_factor_of_coll(m, k, f, link.crosses) * sec;
}

bool cost_coll_measured(const cost_model *m, cost_coll k, cost_form f, int n, bool crosses)
{
    cost_coll_curve x;
    return cost_curve_of_coll(m, k, f, n, crosses, &x) && x.as == f;
}
