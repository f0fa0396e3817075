// hapc devices: the catalogue, or a cluster file of what hosts have.

#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/scan.h"
#include "ir/base/plain.h"

enum { MAX_HOSTS = 1024 };

static void put_rate(double flops)
{
    if (flops > 0)
        printf(" %7.4g", flops / 1e12);
    else
        printf(" %7s", "-");
}

static void print_cards(const cl_card *card, int n)
{
    printf("%-13s %7s %7s %7s %7s %7s %7s  %s\n", "", "f32", "tf32", "bf16", "fp16", "memory",
           "memory", "");
    printf("%-13s %31s %7s %7s  %s\n", "model", "TFLOP/s", "GB", "GB/s", "arch");
    for (int i = 0; i < n; i++) {
        printf("%-13.*s", HB_ARG(card[i].name));
        put_rate(card[i].f32);
        put_rate(card[i].tf32);
        put_rate(card[i].bf16);
        put_rate(card[i].fp16);
        printf(" %7.4g %7.4g  %.*s%s\n", (double)card[i].memory / 1e9,
               card[i].memory_bandwidth / 1e9, HB_ARG(card[i].arch),
               card[i].plan_only ? ", plan only" : "");
    }
    puts("\nDense peaks of data sheets. In a cluster file: devices: [{model: H200, count: 4}].\n"
         "Plan only: hapc plans for it; the runtime is not built for it.");
}

static void print_json(hb_arena *a, const cl_card *card, int n)
{
    hb_buf b = {.arena = a};
    for (int i = 0; i < n; i++) {
        const cl_card *c = &card[i];
        hb_puts(&b, i ? ",{\"model\":" : "{\"model\":");
        hb_put_json(&b, c->name);
        hb_printf(&b,
                  ",\"kind\":\"%s\",\"f32\":%.9g,\"tf32\":%.9g,\"bf16\":%.9g,\"fp16\":%.9g,"
                  "\"memory\":%lld,\"memory_bandwidth\":%.9g,\"units\":%d,\"plan_only\":%s,",
                  c->kind == CL_GPU ? "gpu" : "cpu", c->f32, c->tf32, c->bf16, c->fp16,
                  (long long)c->memory, c->memory_bandwidth, c->units,
                  c->plan_only ? "true" : "false");
        hb_puts(&b, "\"arch\":");
        hb_put_json(&b, c->arch);
        hb_puts(&b, ",\"source\":");
        hb_put_json(&b, c->source);
        hb_putc(&b, '}');
    }
    printf("{\"devices\":[%s]}\n", n ? hb_done(&b).p : "");
}

static int devices(hb_arena *a, bool scan, bool json, const char **host, int n_hosts)
{
    cl_card *card;
    hb_diag *d = hb_diag_new(a);
    int n = cl_cards(a, cli_devices(a), &card, d);
    hb_diag_print(d, stderr);
    if (n < 0) return CLI_INPUT;
    if (scan) return scan_hosts(a, card, n, host, n_hosts);
    if (n_hosts > 0) return cli_error(CLI_USAGE, "hosts are for --scan");
    if (json)
        print_json(a, card, n);
    else
        print_cards(card, n);
    return CLI_OK;
}

int cmd_devices(int argc, char **argv)
{
    bool scan = false, json = false;
    const char *host[MAX_HOSTS];
    const cli_option options[] = {{"--scan", NULL, &scan}, {"--json", NULL, &json}};
    cli_line line = {.most = MAX_HOSTS, .rest = host};
    int code = cli_parse("devices", argc, argv, options, 2, &line);
    if (code != CLI_GO) return code;
    hb_arena *a = hb_arena_new();
    code = devices(a, scan, json, host, line.n_rest);
    hb_arena_free(a);
    return code;
}
