#include "clusters/cluster.h"

static void put_tera(hb_buf *out, const char *name, double flops)
{
    if (flops > 0) hb_printf(out, " %s %.4g TFLOP/s", name, flops * 1e-12);
}

static void put_class(hb_buf *out, const cl_class *c)
{
    double gib = 1.0 / (1 << 30);
    hb_printf(out, "class %.*s: %d %s rank%s,", HB_ARG(c->name), c->n_ranks,
              c->kind == CL_GPU ? "gpu" : "cpu", c->n_ranks == 1 ? "" : "s");
    put_tera(out, "f32", c->f32);
    put_tera(out, "tf32", c->tf32);
    put_tera(out, "bf16", c->bf16);
    put_tera(out, "fp16", c->fp16);
    hb_printf(out, ", memory %.4g GiB - %.4g GiB at %.4g GB/s, link %.4g GB/s %.4g us",
              (double)c->memory * gib, (double)c->reserve * gib, c->memory_bandwidth * 1e-9,
              c->link_bandwidth * 1e-9, c->link_latency * 1e6);
    if (c->slowdown > 0 && c->slowdown != 1) hb_printf(out, ", slowed %.4g x", c->slowdown);
    if (c->emulated) hb_puts(out, ", emulated");
    if (c->plan_only) hb_puts(out, ", plan only here");
    hb_putc(out, '\n');
}

// What was measured of computing and communicating in one step, or is said in the file.
static void put_step(hb_buf *out, const cl_class *c)
{
    if (c->launch_overhead > 0)
        hb_printf(out, "  launch overhead of a collective %.4g us\n", c->launch_overhead * 1e6);
    if (c->put_overhead > 0)
        hb_printf(out, "  launch overhead of a one-sided put %.4g us\n", c->put_overhead * 1e6);
    if (c->compute_contention > 0)
        hb_printf(out, "  contention with a collective: computing %.4g x, communicating %.4g x\n",
                  c->compute_contention, c->communication_contention);
    if (c->compute_contention_put > 0)
        hb_printf(out,
                  "  contention with a one-sided put: computing %.4g x, communicating %.4g x\n",
                  c->compute_contention_put, c->communication_contention_put);
    if (c->fresh_put > 0)
        hb_printf(out, "  a one-sided put of rows just made: %.4g x\n", c->fresh_put);
}

void cl_print(hb_buf *out, const cl_cluster *c)
{
    hb_printf(out, "cluster %.*s: %d ranks on %d machine%s, %.*s%s\n", HB_ARG(c->name), c->n_ranks,
              c->n_machines, c->n_machines == 1 ? "" : "s", HB_ARG(c->source),
              c->emulated ? ", emulated" : "");
    if (c->n_machines > 1)
        hb_printf(out, "network %.4g GB/s %.4g us\n", c->network_bandwidth * 1e-9,
                  c->network_latency * 1e6);
    if (c->curves.n) hb_printf(out, "curves %.*s\n", HB_ARG(c->curves));
    for (int i = 0; i < c->n_classes; i++) {
        put_class(out, &c->cls[i]);
        put_step(out, &c->cls[i]);
    }
    for (int i = 0; i < c->n_machines; i++) {
        const cl_machine *m = &c->machine[i];
        hb_printf(out, "machine %.*s", HB_ARG(m->name));
        if (m->host.n) hb_printf(out, " on %.*s", HB_ARG(m->host));
        hb_putc(out, ':');
        for (int r = m->first_rank, n; r < m->first_rank + m->n_ranks; r += n) {
            for (n = 1; r + n < m->first_rank + m->n_ranks; n++)
                if (c->class_of[r + n] != c->class_of[r]) break;
            hb_printf(out, " %d x %.*s", n, HB_ARG(c->cls[c->class_of[r]].name));
        }
        if (m->n_ranks > 1 && m->peer) hb_puts(out, ", peers");
        hb_putc(out, '\n');
    }
}
