#include "core/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/comm.h"
#include "core/fail.h"

// Steps whose line is shown however short they are; after them a line each so many seconds.
enum { FIRST_LINES = 10 };
static const double line_seconds = 0.2;

struct hap_report {
    FILE *metrics;
    double *took; // of each step
    int n, cap;
    double start, line;
    double usual; // of a step, the last ones counting most
};

static double rows_per_second(const hap_rank *r, double seconds)
{
    bool tokens = r->tokens_per_row > 1;
    return (double)r->batch_rows * (double)(tokens ? r->tokens_per_row : 1) / seconds;
}

static const char *unit(const hap_rank *r)
{
    return r->tokens_per_row > 1 ? "tokens" : "samples";
}

void hap_report_start(hap_rank *r)
{
    if (r->id != 0) return;
    struct hap_report *p = r->report = hap_alloc(r, sizeof *p);
    p->start = hap_seconds();
    if (!r->opt.metrics) return;
    p->metrics = fopen(r->opt.metrics, r->now.step > 0 ? "a" : "w"); // a run that goes on appends
    if (!p->metrics) hap_fail(r, HAP_EXIT_FAILED, "%s: %s", r->opt.metrics, strerror(errno));
}

static void clock_text(char *buf, int n, double seconds)
{
    long long s = (long long)(seconds + 0.5);
    if (s >= 3600)
        snprintf(buf, (size_t)n, "%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(buf, (size_t)n, "%lld:%02lld", s / 60, s % 60);
}

static void say_step(const hap_rank *r, bool has_loss, double loss, double seconds)
{
    const struct hap_report *p = r->report;
    int64_t left = r->opt.steps - r->steps_done - 1;
    char text[32];
    printf("step %lld", (long long)r->now.step);
    if (has_loss) printf("  loss %.4f", loss);
    printf("  lr %.3g", r->now.lr);
    if (r->norm >= 0) printf("  norm %.3g", r->norm);
    printf("  %.*f ms", seconds < 0.1 ? 2 : 0, seconds * 1e3);
    if (r->batch_rows) printf("  %.0f %s/s", rows_per_second(r, seconds), unit(r));
    // What the step's arithmetic takes at the devices' peak: `hapc run` knows it from the plan.
    if (r->opt.peak_seconds > 0 && seconds > 0)
        printf("  %.1f %% of peak", 100 * r->opt.peak_seconds / seconds);
    clock_text(text, sizeof text, (double)left * p->usual);
    if (left > 0) printf("  ETA %s", text);
    printf("%s\n", r->emulated ? "  (emulated)" : "");
}

static void write_metrics(const hap_rank *r, bool has_loss, double loss, double seconds)
{
    FILE *f = r->report->metrics;
    fprintf(f, "{\"step\":%lld", (long long)r->now.step);
    if (has_loss) fprintf(f, ",\"loss\":%.9g", loss);
    fprintf(f, ",\"lr\":%.9g", r->now.lr);
    if (r->norm >= 0) fprintf(f, ",\"grad_norm\":%.9g", r->norm);
    fprintf(f, ",\"ms\":%.3f", seconds * 1e3);
    if (r->batch_rows) fprintf(f, ",\"%s_per_second\":%.6g", unit(r), rows_per_second(r, seconds));
    if (r->samples)
        fprintf(f, ",\"epoch\":%.6g", (double)(r->cursor + r->batch_rows) / (double)r->samples);
    fprintf(f, "%s}\n", r->emulated ? ",\"emulated\":true" : "");
    fflush(f);
}

void hap_report_step(hap_rank *r, bool has_loss, double loss, double seconds)
{
    struct hap_report *p = r->report;
    if (!p) return;
    double now = hap_seconds();
    p->took = hap_grow(r, p->took, &p->cap, p->n + 1, sizeof *p->took);
    p->took[p->n++] = seconds;
    p->usual = p->n < 2 ? seconds : p->usual + 0.1 * (seconds - p->usual);
    if (p->metrics) write_metrics(r, has_loss, loss, seconds);
    bool last = r->steps_done + 1 == r->opt.steps || r->stopped || r->moves;
    if (r->opt.json) {
        printf("{\"step\":%lld", (long long)r->now.step);
        if (has_loss) printf(",\"loss\":%.9g", loss);
        printf(",\"ms\":%.3f%s}\n", seconds * 1e3, r->emulated ? ",\"emulated\":true" : "");
    } else if (p->n <= FIRST_LINES || last || now - p->line >= line_seconds) {
        p->line = now;
        say_step(r, has_loss, loss, seconds);
    }
    fflush(stdout);
}

void hap_report_eval(hap_rank *r, double loss, int64_t batches, double seconds)
{
    struct hap_report *p = r->report;
    long long rows = (long long)(batches * r->batch_rows);
    if (!p) return;
    if (r->opt.json)
        printf("{\"step\":%lld,\"eval_loss\":%.9g,\"eval_ms\":%.3f}\n", (long long)r->now.step,
               loss, seconds * 1e3);
    else
        printf("evaluated before step %lld  loss %.4f  %lld of %lld samples  %.*f ms\n",
               (long long)r->now.step, loss, rows, (long long)r->eval_samples,
               seconds < 0.1 ? 2 : 0, seconds * 1e3);
    fflush(stdout);
    if (!p->metrics) return;
    fprintf(p->metrics,
            "{\"step\":%lld,\"eval_loss\":%.9g,\"eval_samples\":%lld,\"eval_ms\":%.3f}\n",
            (long long)r->now.step, loss, rows, seconds * 1e3);
    fflush(p->metrics);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void hap_report_end(hap_rank *r)
{
    struct hap_report *p = r->report;
    if (!p) return;
    char text[32];
    clock_text(text, sizeof text, hap_seconds() - p->start);
    if (p->n > 0) qsort(p->took, (size_t)p->n, sizeof *p->took, by_size);
    if (!r->opt.json && p->n > 0) {
        double median = p->took[p->n / 2], said = r->opt.predicted_seconds;
        printf("%d steps in %s: %.*f ms a step in the median", p->n, text, median < 0.1 ? 2 : 0,
               median * 1e3);
        if (said > 0)
            printf(", %.2f times the predicted %.*f", median / said, said < 0.1 ? 2 : 0,
                   said * 1e3);
        if (r->emulated) printf(" (emulated)");
        printf("\n");
    }
    if (!r->opt.json && r->saved_to[0])
        printf("saved %s: what is done before step %lld\n", r->saved_to, (long long)r->saved_step);
    fflush(stdout);
    bool bad = p->metrics && (ferror(p->metrics) | fclose(p->metrics)) != 0;
    if (bad) fprintf(stderr, "error: %s is not whole: %s\n", r->opt.metrics, strerror(errno));
    free(p->took);
    free(p);
    r->report = NULL;
}
