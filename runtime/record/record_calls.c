// Every function of runtime.h, logged instead of done: no MPI, no memory, no arithmetic.
//
// Options: --record FILE, where the log goes, or --sum: the calls of the step as one number, on
// stdout (core/call_sum.h); --class K: main pretends to be the first rank of that class (0). Whole
// tables are logged, so the logs of all classes say what every rank does. Shapes, offsets, and what
// a collective may move are checked as at run time (core/tensor.c, core/coll_geometry.c).

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/abort.h"
#include "core/call_sum.h"
#include "core/coll_check.h"
#include "core/coll_geometry.h"
#include "core/fail.h"
#include "core/pair_calls.h"
#include "core/ports.h"
#include "core/tensor.h"
#include "record/record_log.h"

struct hap_event {
    int id, n;
    hap_tensor **dst;
    hap_event *before; // all of the program's, until hap_finish
};

static hap_event *last_event;
static int n_events, n_steps;

bool hap_abort_first_word(void)
{
    return true;
}

_Noreturn void hap_comm_abort(const hap_rank *r, int code)
{
    (void)r;
    exit(code);
}

static void begin(hap_rank *r, const char *name)
{
    r->doing = name;
    rec_begin(r, "", name);
}

static void end(hap_rank *r)
{
    rec_end();
    r->doing = NULL;
}

hap_rank *hap_line(hap_rank *r, int line)
{
    r->line = line;
    return r;
}

// --- start ---

static const char *log_path, *wanted_class = "0", *wanted_stage = "0";
static bool sum_alone;

static void read_options(hap_rank *r, int argc, char **argv)
{
    for (int i = 1; i < argc; i += 2) {
        if (!strcmp(argv[i], "--sum")) {
            sum_alone = true;
            log_path = "/dev/null";
            i--;
            continue;
        }
        const char **to = !strcmp(argv[i], "--record")  ? &log_path
                          : !strcmp(argv[i], "--class") ? &wanted_class
                          : !strcmp(argv[i], "--stage") ? &wanted_stage
                                                        : NULL;
        if (!to || i + 1 == argc)
            hap_fail(r, HAP_EXIT_USAGE,
                     "options of a recording program: --record FILE or --sum, --class K --stage S");
        *to = argv[i + 1];
    }
    if (!log_path)
        hap_fail(r, HAP_EXIT_USAGE, "--record names no file (the program is linked to record)");
}

hap_rank *hap_init(int *argc, char ***argv, const char *graph_sha, int n_ranks)
{
    static hap_rank rank;
    hap_rank *r = &rank;
    r->host[0] = '-';
    r->seg_bytes[SEG_SYM] = r->seg_bytes[SEG_LOCAL] = -1;
    r->n_ranks = r->n_members = n_ranks;
    read_options(r, *argc, *argv);
    rec_open(r, log_path);
    begin(r, "hap_init");
    rec_text("graph", graph_sha);
    rec_int("ranks", n_ranks);
    end(r);
    return r;
}

int hap_stages(hap_rank *r, int n_stages, const hap_stage *stages, int n_ports,
               const hap_port *ports)
{
    char *rest = NULL;
    long wanted = strtol(wanted_stage, &rest, 10);
    HAP_CK(r, rest != wanted_stage && !*rest && wanted >= 0 && wanted < n_stages,
           "--stage is '%s', there are %d", wanted_stage, n_stages);
    hap_stages_begin(r, n_stages, stages, n_ports, ports, (int)wanted);
    begin(r, "hap_stages");
    rec_int("stages", n_stages);
    rec_int("stage", r->stage);
    rec_int("ranks", r->n_members);
    end(r);
    return r->stage;
}

void hap_math(hap_rank *r, hap_math_mode mode)
{
    HAP_CK(r, r->n_axes == 0, "hap_math after hap_mesh");
    HAP_CK(r, mode == HAP_MATH_F32 || mode == HAP_MATH_TF32, "there is no math %d", (int)mode);
    begin(r, "hap_math");
    rec_text("mode", mode == HAP_MATH_TF32 ? "tf32" : "f32");
    end(r);
}

// Where a rank runs changes nothing of what it computes.
void hap_places(hap_rank *r, const int *device, const int *sms, const int *host)
{
    HAP_CK(r, r->n_axes == 0, "hap_places after hap_mesh");
    (void)device;
    (void)sms;
    (void)host;
}

void hap_mesh(hap_rank *r, int n_axes, const int *sizes)
{
    int64_t logged[HAP_MAX_AXES];
    int n = 1;
    HAP_CK(r, r->n_axes == 0, "hap_mesh is called twice");
    HAP_CK(r, n_axes >= 1 && n_axes <= HAP_MAX_AXES, "a mesh of %d axes", n_axes);
    for (int a = 0; a < n_axes; a++) {
        HAP_CK(r, sizes[a] >= 1, "a mesh with %d ranks on axis %d", sizes[a], a);
        logged[a] = r->size[a] = sizes[a];
        n *= sizes[a];
    }
    HAP_CK(r, n == r->n_members, "a mesh of %d ranks in a program of %d", n, r->n_members);
    r->n_axes = n_axes;
    begin(r, "hap_mesh");
    rec_ints("sizes", n_axes, logged);
    end(r);
}

void hap_classes(hap_rank *r, const int *class_of_rank)
{
    char *rest = NULL;
    errno = 0;
    long wanted = strtol(wanted_class, &rest, 10);
    HAP_CK(r, r->n_axes > 0, "classes before mesh");
    HAP_CK(r, !errno && rest != wanted_class && !*rest, "--class is '%s'", wanted_class);
    int64_t *logged = hap_alloc(r, (size_t)r->n_members * sizeof *logged);
    r->id = -1;
    for (int i = 0; i < r->n_members; i++) {
        HAP_CK(r, class_of_rank[i] >= 0, "rank %d has class %d", i, class_of_rank[i]);
        logged[i] = class_of_rank[i];
        if (class_of_rank[i] >= r->n_classes) r->n_classes = class_of_rank[i] + 1;
        if (r->id < 0 && class_of_rank[i] == wanted) r->id = i;
    }
    HAP_CK(r, r->id >= 0, "no rank has class %ld", wanted);
    r->member = r->id;
    r->class_of = class_of_rank;
    r->class_id = class_of_rank[r->id];
    r->coord[0] = r->n_axes == 2 ? r->id / r->size[1] : r->id;
    r->coord[1] = r->n_axes == 2 ? r->id % r->size[1] : 0;
    begin(r, "hap_classes");
    rec_ints("class_of_rank", r->n_members, logged);
    rec_int("class", r->class_id);
    rec_int("rank", r->id);
    end(r);
    free(logged);
}

void hap_segments(hap_rank *r, int64_t sym_bytes, const int64_t *local_bytes)
{
    HAP_CK(r, r->n_classes > 0, "segments before classes");
    HAP_CK(r, r->seg_bytes[SEG_SYM] < 0, "hap_segments is called twice");
    HAP_CK(r, sym_bytes >= 0, "a segment of %lld bytes", (long long)sym_bytes);
    r->seg_bytes[SEG_SYM] = sym_bytes;
    r->seg_bytes[SEG_LOCAL] = local_bytes[r->class_id];
    begin(r, "hap_segments");
    rec_int("sym_bytes", sym_bytes);
    rec_ints("local_bytes", r->n_classes, local_bytes);
    end(r);
}

hap_tensor *(hap_at)(hap_rank *r, hap_segment seg, const int64_t *off, hap_dtype type, int rank,
                     const hap_dim *dims)
{
    hap_tensor *t = hap_tensor_declare(r, seg, off, type, rank, dims);
    hap_ring_add(r, t);
    begin(r, "hap_at");
    rec_int("id", t->id);
    rec_text("seg", seg == SEG_SYM ? "SEG_SYM" : "SEG_LOCAL");
    rec_ints("off", r->n_classes, off);
    rec_text("dtype", hap_dtype_name(type));
    rec_dims(rank, dims, r);
    end(r);
    return t;
}

// The tensors of the ring's other places follow all that were declared, place by place.
static void declare_places(hap_rank *r)
{
    int n = r->n_tensors, rings = r->n_rings;
    int64_t off[HAP_MAX_CLASSES];
    r->n_rings = 0; // the copies are of no ring themselves
    for (int k = 1; k < rings; k++)
        for (int i = 0; i < n; i++) {
            const hap_tensor t = *r->tensor[i];
            if (!t.ring) continue;
            for (int c = 0; c < r->n_classes; c++)
                off[c] = t.off_of[c] + k * r->ring_bytes[c];
            (hap_at)(r, t.seg, off, t.type, t.rank, t.dim);
        }
    r->n_rings = rings;
    rec_rings(r, n);
}

void hap_ring(hap_rank *r, int place)
{
    HAP_CK(r, place >= 0 && place < r->n_rings, "place %d of a ring of %d", place, r->n_rings);
    r->ring = place;
}

// --- views: to the checker a reshape right behind what makes their bytes ---

// Those of what the calls of an open chunk or pair, or a collective under way, have made.
static hap_tensor **made;
static int n_made, cap_made;

static void record_views(hap_rank *r, hap_tensor *t)
{
    for (hap_tensor *v = t->views; v; v = v->next_view) {
        int64_t shape[HAP_MAX_RANK];
        for (int d = 0; d < v->rank; d++)
            shape[d] = hap_dim_size(&v->dim[d]);
        rec_begin(r, "op_", "reshape");
        rec_tensors("out", 1, &v);
        rec_tensors("in", 1, &t);
        rec_attrs(1, &(hap_attr){.v = {v->rank, shape}});
        rec_end();
        record_views(r, v);
    }
}

// n tensors now hold values.
static void make(hap_rank *r, int n, hap_tensor *const *t)
{
    for (int i = 0; i < n; i++) {
        if (!t[i]->views) continue;
        if (!r->in_fusion && !r->pair.open) {
            record_views(r, t[i]);
            continue;
        }
        made = hap_grow(r, made, &cap_made, n_made + 1, sizeof *made);
        made[n_made++] = t[i];
    }
}

static void make_all(hap_rank *r)
{
    for (int i = 0; i < n_made; i++)
        record_views(r, made[i]);
    n_made = 0;
}

// --- names ---

static void named(hap_rank *r, const char *call, const char *name, const hap_tensor *t)
{
    HAP_CK(r, t, "%s: no tensor", name);
    begin(r, call);
    rec_text("name", name);
    rec_tensor("tensor", t);
}

static void filled(hap_rank *r, const char *call, const char *name, const hap_tensor *t, hap_fill f)
{
    static const char *const kind[] = {"const", "normal", "uniform", "iota"};
    HAP_CK(r, f.kind >= 0 && f.kind <= 3, "%s: no such fill", name);
    named(r, call, name, t);
    rec_text("fill", kind[f.kind]);
    rec_real("a", f.a);
    rec_real("b", f.b);
    end(r);
}

void(hap_input)(hap_rank *r, const char *name, hap_tensor *t)
{
    named(r, "hap_input", name, t);
    end(r);
}

void(hap_param)(hap_rank *r, const char *name, hap_tensor *t, hap_fill init)
{
    filled(r, "hap_param", name, t, init);
}

void(hap_state)(hap_rank *r, const char *name, hap_tensor *t)
{
    named(r, "hap_state", name, t);
    end(r);
}

void(hap_buffer)(hap_rank *r, const char *name, hap_tensor *t, hap_fill init)
{
    filled(r, "hap_buffer", name, t, init);
}

void(hap_const)(hap_rank *r, const char *name, hap_tensor *t, hap_fill value)
{
    filled(r, "hap_const", name, t, value);
}

void(hap_const_file)(hap_rank *r, const char *name, hap_tensor *t, const char *file_and_name)
{
    named(r, "hap_const_file", name, t);
    rec_text("file", file_and_name);
    end(r);
}

void(hap_grad)(hap_rank *r, const char *name, hap_tensor *t)
{
    named(r, "hap_grad", name, t);
    end(r);
}

void(hap_alias)(hap_rank *r, const char *name, const char *of)
{
    begin(r, "hap_alias");
    rec_text("name", name);
    rec_text("of", of);
    end(r);
}

void(hap_loss)(hap_rank *r, hap_tensor *t)
{
    HAP_CK(r, t, "no loss");
    begin(r, "hap_loss");
    rec_tensor("tensor", t);
    end(r);
}

void(hap_batch)(hap_rank *r, int64_t rows, int64_t tokens_per_row)
{
    begin(r, "hap_batch");
    rec_int("rows", rows);
    rec_int("tokens_per_row", tokens_per_row);
    end(r);
}

void(hap_schedule)(hap_rank *r, hap_lr lr)
{
    begin(r, "hap_schedule");
#define R                    rec_real
#define I                    rec_int
#define SCHEDULE(name, kind) kind(#name, lr.name);
#include "hap/schedule.def"
#undef SCHEDULE
#undef R
#undef I
    end(r);
}

// --- the step ---

bool hap_next_step(hap_rank *r)
{
    bool more = n_steps++ == 0;
    r->file = NULL;
    r->ring = 0;
    if (more && r->n_rings > 1) declare_places(r);
    r->in_step = more;
    if (more)
        hap_sum_begin(r);
    else
        r->summing = false;
    begin(r, "hap_next_step");
    rec_bool("more", more);
    end(r);
    return more;
}

int hap_finish(hap_rank *r)
{
    begin(r, "hap_finish");
    end(r);
    rec_close(r);
    if (sum_alone) printf("%016llx\n", (unsigned long long)r->call_sum);
    hap_ports_close(r);
    hap_tensor_free_all(r);
    free(made);
    while (last_event) {
        hap_event *before = last_event->before;
        free(last_event->dst);
        free(last_event);
        last_event = before;
    }
    return 0;
}

void hap_dispatch(hap_rank *r, const hap_op_call *c)
{
    r->doing = hap_op_names[c->op];
    HAP_CK(r, r->in_step, "called outside the step");
    for (int i = 0; i < c->n_out; i++)
        HAP_CK(r, c->out[i], "output %d is NULL", i);
    if (r->pair.open) hap_pair_op(r, c);
    bool send;
    hap_sum_op(r, c);
    if (hap_is_port(c->op)) hap_port_check(r, c, &send);
    rec_begin(r, "op_", hap_op_names[c->op]);
    rec_tensors("out", c->n_out, c->out);
    rec_tensors("in", c->n_in, c->in);
    rec_attrs(c->n_attr, c->attr);
    end(r);
    make(r, c->n_out, c->out);
}

void(hap_cut)(hap_rank *r, hap_tensor *y, hap_tensor *x)
{
    char why[160], a[128], b[128];
    r->doing = "hap_cut";
    HAP_CK(r, r->in_step, "called outside the step");
    HAP_CK(r, !r->pair.open, "stands in a pair");
    HAP_CK(r, y && x, "a tensor is NULL");
    const char *bad = hap_cut_check(r, y, x, why, sizeof why);
    if (bad)
        hap_fail(r, HAP_EXIT_FAILED, "%s (y %s, x %s)", bad, hap_tensor_text(r, y, a, sizeof a),
                 hap_tensor_text(r, x, b, sizeof b));
    hap_sum_tensors(r, "hap_cut", 2, (hap_tensor *const[]){y, x});
    begin(r, "hap_cut");
    rec_tensors("out", 1, &y);
    rec_tensors("in", 1, &x);
    end(r);
    make(r, 1, &y);
}

void(hap_partial)(hap_rank *r, unsigned axes, hap_tensor *y, hap_tensor *x)
{
    r->doing = "hap_partial";
    HAP_CK(r, r->in_step, "called outside the step");
    HAP_CK(r, !r->pair.open, "stands in a pair");
    HAP_CK(r, y && x, "a tensor is NULL");
    hap_partial_check(r, axes, y, x);
    hap_sum_numbers(r, "hap_partial", 1, (const int64_t[]){axes});
    hap_sum_tensors(r, "", 2, (hap_tensor *const[]){y, x});
    begin(r, "hap_partial");
    rec_int("axes", axes);
    rec_tensors("out", 1, &y);
    rec_tensors("in", 1, &x);
    end(r);
    make(r, 1, &y);
}

void(hap_fuse)(hap_rank *r, const char *kernel)
{
    r->doing = "hap_fuse";
    HAP_CK(r, r->in_step, "called outside the step");
    HAP_CK(r, kernel, "the kernel has no name");
    HAP_CK(r, !r->pair.open, "stands in a pair");
    hap_sum_numbers(r, kernel, 0, NULL);
    begin(r, "hap_fuse");
    rec_text("kernel", kernel);
    end(r);
    r->in_fusion = true;
}

void(hap_fused)(hap_rank *r, int n, hap_tensor *const *kept)
{
    r->doing = "hap_fused";
    HAP_CK(r, r->in_step, "called outside the step");
    for (int i = 0; i < n; i++)
        HAP_CK(r, kept[i], "kept tensor %d is NULL", i);
    hap_sum_tensors(r, "hap_fused", n, kept);
    begin(r, "hap_fused");
    rec_tensors("kept", n, kept);
    end(r);
    r->in_fusion = false;
    make_all(r);
}

static hap_event *coll(hap_rank *r, hap_coll_kind kind, hap_reduce reduce, unsigned axes,
                       hap_form form, int n, hap_tensor *const *dst, hap_tensor *const *src,
                       hap_tensor *scratch)
{
    hap_coll_call c = {kind, reduce, axes, form, n, dst, src, scratch};
    r->doing = hap_coll_name(&c);
    HAP_CK(r, r->in_step, "called outside the step");
    hap_sum_coll(r, &c);
    hap_coll_check(r, &c);
    if (r->pair.open) hap_pair_start(r, &c);
    hap_event *e = hap_alloc(r, sizeof *e);
    *e = (hap_event){n_events++, n, hap_alloc(r, (size_t)n * sizeof *dst), last_event};
    memcpy(e->dst, dst, (size_t)n * sizeof *dst);
    last_event = e;
    if (r->pair.open) r->pair.event = e;
    rec_begin(r, hap_coll_name(&c), "_start");
    rec_int("axes", axes);
    rec_text("form", hap_form_name(form).s);
    rec_tensors("dst", n, dst);
    rec_tensors("src", n, src);
    rec_tensor("scratch", scratch);
    rec_int("event", e->id);
    rec_text("stream", "communication");
    end(r);
    return e;
}

#define COLL(name, kind, reduce)                                                                   \
    hap_event *(name)(hap_rank * r, unsigned axes, hap_form form, int n, hap_tensor *const *dst,   \
                      hap_tensor *const *src, hap_tensor *scratch)                                 \
    {                                                                                              \
        return coll(r, kind, reduce, axes, form, n, dst, src, scratch);                            \
    }
COLL(coll_all_gather_start, HAP_ALL_GATHER, HAP_SUM)
COLL(coll_reduce_scatter_start, HAP_REDUCE_SCATTER, HAP_SUM)
COLL(coll_all_reduce_start, HAP_ALL_REDUCE, HAP_SUM)
COLL(coll_all_reduce_max_start, HAP_ALL_REDUCE, HAP_MAX)
COLL(coll_all_to_all_start, HAP_ALL_TO_ALL, HAP_SUM)
COLL(coll_reshard_start, HAP_RESHARD, HAP_SUM)

void(hap_wait)(hap_rank *r, hap_event *e)
{
    r->doing = "hap_wait";
    HAP_CK(r, r->in_step, "called outside the step");
    HAP_CK(r, e, "there is no event");
    if (r->pair.open) hap_pair_wait(r, e);
    hap_sum_numbers(r, "hap_wait", 0, NULL);
    begin(r, "hap_wait");
    rec_int("event", e->id);
    end(r);
    make(r, e->n, e->dst);
}

void(hap_overlap)(hap_rank *r, int n_chunks, const int64_t (*chunks)[3])
{
    r->doing = "hap_overlap";
    HAP_CK(r, r->in_step, "called outside the step");
    hap_pair_begin(r, n_chunks, chunks);
    hap_sum_numbers(r, "hap_overlap", 3 * (int64_t)n_chunks, chunks[0]);
    begin(r, "hap_overlap");
    rec_chunks("chunks", n_chunks, chunks);
    end(r);
}

void(hap_tiles)(hap_rank *r, int rows, int cols, unsigned how, int n_chunks,
                const int64_t (*chunks)[3])
{
    r->doing = "hap_tiles";
    HAP_CK(r, r->in_step, "called outside the step");
    hap_pair_tile(
        r, &(hap_pair_tiles){
               .rows = rows, .cols = cols, .how = how, .n_chunks = n_chunks, .chunk = chunks});
    hap_sum_numbers(r, "hap_tiles", 3, (const int64_t[]){rows, cols, how});
    hap_sum_numbers(r, "", 3 * (int64_t)n_chunks, chunks[0]);
    begin(r, "hap_tiles");
    rec_int("rows", rows);
    rec_int("cols", cols);
    rec_int("how", how);
    rec_chunks("chunks", n_chunks, chunks);
    end(r);
}

void(hap_overlapped)(hap_rank *r)
{
    r->doing = "hap_overlapped";
    HAP_CK(r, r->in_step, "called outside the step");
    hap_pair_end(r);
    hap_sum_numbers(r, "hap_overlapped", 0, NULL);
    begin(r, "hap_overlapped");
    end(r);
    make_all(r);
}
