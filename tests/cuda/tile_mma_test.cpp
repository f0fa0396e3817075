// The tile kernel of sm_80 (kernels/tile_mma.cuh) without a device, on fake_block.cuh: every element
// of small results with ragged ends against sums in f64, all tiles, all ways that operands lie, all
// endings, parts of k, sums of members, flags. No read of shared memory comes before its copy is
// there, no copy before what it replaces is read. tile_cuda_test.cu runs it on devices.

#include <stdio.h>
#include <stdlib.h>

#include "tests/support/fake_block.cuh"
// What the kernel's instructions and formulas are here.
#define HAP_RUNTIME_CUDA_TILE_PTX_CUH
#define HAP_RUNTIME_CUDA_TILE_MMA_PTX_CUH
#define HAP_RUNTIME_CUDA_GELU_CUH
#define HAP_FORMULAS_CUH
namespace hap_formula
{
static float hap_gelu_tanh(float x)
{
    return x / 2 * (1 + tanhf(.79788456f * (x + .044715f * x * x * x)));
}
static float gelu_tanh_slope(float x)
{
    const float t = tanhf(.79788456f * (x + .044715f * x * x * x));
    return (1 + t) / 2 + x * (1 - t * t) / 2 * .79788456f * (1 + 3 * .044715f * x * x);
}
static float hap_silu(float x)
{
    return x / (1 + expf(-x));
}
static float silu_slope(float x)
{
    const float s = 1 / (1 + expf(-x));
    return s * (1 + x * (1 - s));
}
} // namespace hap_formula
static float short_gelu(float x)
{
    return x / 2 * (1 + erff(x * .70710678f));
}
static float short_gelu_slope(float x)
{
    return (1 + erff(x * .70710678f)) / 2 + x * expf(-x * x / 2) * .39894228f;
}
#define __CUDA_ARCH__ 800
#include "cuda/kernels/tile_mma.cuh"
#undef __CUDA_ARCH__
#include "core/float16.h"
#include "cuda/kernels/tile_ways.h"
#include "tests/support/cases.h"

using namespace tile;
namespace tile
{
alignas(128) char shared[128];
}

static uint64_t state = 5;
static int64_t below(int64_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((state >> 33) % (uint64_t)n);
}
static float number()
{
    return hap_bf16_to_f32(hap_f32_to_bf16((float)(below(2001) - 1000) / 1000));
}

// A matrix of bf16 or f32; what lies between its rows stays.
struct matrix {
    int64_t rows, cols, apart;
    bool wide;
    std::vector<char> bytes;
    char *data;
    matrix(int64_t m, int64_t n, bool is_wide = false)
        : rows(m), cols(n), apart((n + 7) / 8 * 8 + 8 * below(3)), wide(is_wide)
    {
        bytes.assign((size_t)(size() + 16), (char)0xFF);
        data = bytes.data() + (16 - (uintptr_t)bytes.data() % 16) % 16;
    }
    matrix(const matrix &) = delete;
    int64_t size() const { return ((rows - 1) * apart + cols) * (wide ? 4 : 2); }
    void fill()
    {
        for (int64_t i = 0; i < rows * cols; i++)
            put(i / cols, i % cols, number());
        fake::memory(data, size());
    }
    void put(int64_t i, int64_t j, float v)
    {
        const uint16_t narrow = hap_f32_to_bf16(v);
        memcpy(data + (i * apart + j) * (wide ? 4 : 2), wide ? (void *)&v : (void *)&narrow,
               wide ? 4 : 2);
    }
    float at(int64_t i, int64_t j) const
    {
        float v;
        uint16_t narrow;
        memcpy(&v, data + (i * apart + j) * (wide ? 4 : 2), wide ? 4 : 2);
        memcpy(&narrow, &v, 2);
        return wide ? v : hap_bf16_to_f32(narrow);
    }
    void is_kept() const // between rows
    {
        const int64_t each = wide ? 4 : 2;
        for (int64_t i = 0; i + 1 < rows; i++)
            for (int64_t b = cols * each; b < apart * each; b++)
                ck_assert_int_eq(data[i * apart * each + b], (char)0xFF);
    }
    void to(tile_matrix *m) const { m->rows.data = data, m->rows.apart = apart; }
};

struct problem {
    int64_t m, n, k;
    bool a_t, b_t;
    matrix a, b, y;
    std::vector<float> bias;
    tile_args args = {};
    problem(int64_t m_, int64_t n_, int64_t k_, bool at, bool bt, bool wide)
        : m(m_), n(n_), k(k_), a_t(at), b_t(bt), a(at ? k : m, at ? m : k),
          b(bt ? k : n, bt ? n : k), y(m, n, wide)
    {
        a.fill(), b.fill();
        a.to(&args.one.a), b.to(&args.one.b), y.to(&args.one.y);
        args.one.depth = (int32_t)k, args.wide = wide;
        args.patience = 1000000;
    }
    void add_bias()
    {
        for (int64_t j = 0; j < n; j++)
            bias.push_back(number());
        args.one.bias = bias.data(), args.has_bias = args.bias_is_wide = true;
    }
    double sum(int64_t i, int64_t j) const
    {
        double s = bias.empty() ? 0 : bias[(size_t)j];
        for (int64_t x = 0; x < k; x++)
            s += (double)(a_t ? a.at(x, i) : a.at(i, x)) * (double)(b_t ? b.at(x, j) : b.at(j, x));
        return s;
    }
    // roundings: to bf16
    void is_near(double got, double want, const char *what, int64_t i, int64_t j,
                 int roundings = 2) const
    {
        double may = fabs(want) / (args.wide ? 1e5 : roundings == 2 ? 120 : 84) + 2e-5 * sqrt((double)k) + 1e-5;
        ck_assert_msg(fabs(got - want) <= may,
                      "%s of %lld x %lld x %lld, a_t %d b_t %d: %g at %lld %lld, not %g", what,
                      (long long)m, (long long)n, (long long)k, a_t, b_t, got, (long long)i,
                      (long long)j, want);
    }
};

template <class F, ending END> static void run(problem *p, int blocks)
{
    auto *const kernel = p->a_t   ? mma_kernel<F, END, true, true>
                         : p->b_t ? mma_kernel<F, END, false, true>
                                  : mma_kernel<F, END, false, false>;
    for (int i = 0; i < blocks; i++)
        fake::run((unsigned)i, (unsigned)blocks, F::SHARED, [=]() { kernel(p->args); });
}

static const tile_shape *shape_of(int rows, int cols, bool turns)
{
    for (const tile_shape &s : tile_shapes)
        if (s.rows == rows && s.cols == cols && s.turns == turns) return &s;
    return NULL;
}

template <class F>
static std::vector<tile_entry> list_of(problem *p, bool turns, int sms, tile_share share = {0, 0})
{
    const tile_shape *s = shape_of(F::ROWS, F::COLS, turns);
    std::vector<tile_entry> list((size_t)tile_list(s, p->m, p->n, p->k, sms, share, NULL));
    tile_list(s, p->m, p->n, p->k, sms, share, list.data());
    p->args.entries = (int)list.size(), p->args.arrivals = s->parts;
    return list;
}

static const bool ways[3][2] = {{false, false}, {false, true}, {true, true}}; // rows are steps of k

// Of about a tile and a half; n in steps of 8.
template <class F> static problem *drawn(const bool *way, bool wide)
{
    const int64_t m = 1 + below(F::ROWS * 3 / 2), n = 8 + 8 * below(F::COLS * 3 / 16);
    return new problem(m, n, 1 + below(150), way[0], way[1], wide);
}

// y = a b (+ bias) (+ with), with also in the place of y; parts of k.
template <class F> static void is_plain(const bool *way, int i)
{
    problem *p = drawn<F>(way, i % 2);
    matrix with(p->m, p->n, i % 2);
    if (i % 3 == 1) p->add_bias();
    with.fill();
    if (i % 4 == 1) {
        with.to(&p->args.with);
        p->args.has_with = true;
    } else if (i % 4 == 2) {
        for (int64_t e = 0; e < p->m * p->n; e++)
            p->y.put(e / p->n, e % p->n, with.at(e / p->n, e % p->n));
        p->y.to(&p->args.with);
        p->args.has_with = true;
    }
    const int sms = 2 * (1 + (int)below(3));
    const bool parts = i % 4 == 3;
    std::vector<tile_entry> list =
        list_of<F>(p, false, parts ? 8 : sms, parts ? tile_share{2, 1} : tile_share{0, 0});
    const size_t tile_floats = (size_t)2 * F::ROWS * F::COLS;
    std::vector<float> slots(parts ? 8 * tile_floats : 0);
    std::vector<uint32_t> slot_flags(TILE_SLOTS * TILE_SLOT_FLAGS);
    p->args.list = list.data(), p->args.slots = slots.data();
    p->args.slot_flags = slot_flags.data();
    run<F, PLAIN>(p, parts ? 8 : sms);
    for (int64_t e = 0; e < p->m * p->n; e++) {
        const int64_t r = e / p->n, c = e % p->n;
        const double w = p->args.has_with ? (double)with.at(r, c) : 0;
        p->is_near(p->y.at(r, c), p->sum(r, c) + w, "y", r, c);
    }
    p->y.is_kept();
    for (uint32_t f : slot_flags)
        ck_assert_uint_eq(f, 0);
    delete p;
}

template <class F> static void is_gelu(const bool *way, int i)
{
    problem *p = drawn<F>(way, false);
    matrix before(p->m, p->n);
    before.apart = p->y.apart; // as y lies
    before.bytes.resize((size_t)(before.size() + 16), (char)0xFF);
    before.data = before.bytes.data() + (16 - (uintptr_t)before.bytes.data() % 16) % 16;
    p->add_bias();
    before.to(&p->args.before);
    p->args.has_before = true, p->args.activation = i % 2 ? TILE_GELU_TANH : TILE_GELU_ERF;
    std::vector<tile_entry> list = list_of<F>(p, true, 4);
    p->args.list = list.data();
    run<F, GELU>(p, 4);
    for (int64_t e = 0; e < p->m * p->n; e++) {
        const int64_t r = e / p->n, c = e % p->n;
        const float v = before.at(r, c);
        const float g = i % 2 ? hap_formula::hap_gelu_tanh(v) : short_gelu(v);
        p->is_near(v, p->sum(r, c), "before gelu", r, c);
        ck_assert_uint_eq(hap_f32_to_bf16(g), hap_f32_to_bf16(p->y.at(r, c)));
    }
    delete p;
}

template <class F> static void is_slope(const bool *way, int i)
{
    problem *p = drawn<F>(way, false);
    matrix with(p->m, p->n);
    std::vector<float> sums((size_t)((p->m + 63) / 64 * p->n), NAN);
    with.fill();
    with.to(&p->args.with);
    p->args.has_with = true, p->args.sums = sums.data();
    p->args.activation = i % 2 ? TILE_GELU_TANH_SLOPE : TILE_GELU_ERF_SLOPE;
    std::vector<tile_entry> list = list_of<F>(p, true, 2);
    p->args.list = list.data();
    run<F, SLOPE>(p, 2);
    std::vector<double> want(sums.size());
    for (int64_t e = 0; e < p->m * p->n; e++) {
        const int64_t r = e / p->n, c = e % p->n;
        const float x = with.at(r, c);
        const float s = i % 2 ? hap_formula::gelu_tanh_slope(x) : short_gelu_slope(x);
        p->is_near(p->y.at(r, c), p->sum(r, c) * (double)s, "slope", r, c);
        want[(size_t)(r / 64 * p->n + c)] += (double)p->y.at(r, c);
    }
    for (size_t k = 0; k < sums.size(); k++)
        ck_assert_msg(fabs((double)sums[k] - want[k]) <= 1e-4, "a sum of columns: %g, not %g",
                      (double)sums[k], want[k]);
    delete p;
}

// A matrix that lies as y does.
static matrix *beside(const problem *p)
{
    matrix *m = new matrix(p->m, p->n);
    m->apart = p->y.apart;
    m->bytes.assign((size_t)(m->size() + 16), (char)0xFF);
    m->data = m->bytes.data() + (16 - (uintptr_t)m->bytes.data() % 16) % 16;
    return m;
}

// Silu's product, of which the matmul makes either operand.
template <class F> static void is_gated(int i)
{
    problem *p = drawn<F>(ways[0], false);
    matrix *before = beside(p), *with = beside(p);
    p->add_bias();
    with->fill();
    before->to(&p->args.before), with->to(&p->args.with);
    p->args.has_before = p->args.has_with = true;
    p->args.activation = i % 2 ? TILE_SILU_TIMES : TILE_TIMES_SILU;
    std::vector<tile_entry> list = list_of<F>(p, true, 4);
    p->args.list = list.data();
    run<F, GATED>(p, 4);
    for (int64_t e = 0; e < p->m * p->n; e++) {
        const int64_t r = e / p->n, c = e % p->n;
        const float v = before->at(r, c), w = with->at(r, c);
        const float s = hap_bf16_to_f32(hap_f32_to_bf16(hap_formula::hap_silu(i % 2 ? v : w)));
        p->is_near(v, p->sum(r, c), "before silu's product", r, c);
        ck_assert_uint_eq(hap_f32_to_bf16(s * (i % 2 ? w : v)), hap_f32_to_bf16(p->y.at(r, c)));
    }
    before->is_kept(), p->y.is_kept();
    delete before, delete with, delete p;
}

template <class F> static void is_gated_slopes()
{
    problem *p = drawn<F>(ways[1], false);
    matrix *before = beside(p), *gate = beside(p), *up = beside(p);
    gate->fill(), up->fill();
    before->to(&p->args.before), gate->to(&p->args.with), up->to(&p->args.with2);
    p->args.has_before = p->args.has_with = p->args.has_with2 = true;
    p->args.activation = TILE_GATED_SLOPES;
    std::vector<tile_entry> list = list_of<F>(p, true, 2);
    p->args.list = list.data();
    run<F, GATED_BWD>(p, 2);
    for (int64_t e = 0; e < p->m * p->n; e++) {
        const int64_t r = e / p->n, c = e % p->n;
        const float g = gate->at(r, c), u = up->at(r, c);
        const double d = p->sum(r, c);
        p->is_near(before->at(r, c), d * (double)hap_formula::hap_silu(g), "gradient of up", r, c, 3);
        p->is_near(p->y.at(r, c), d * (double)u * (double)hap_formula::silu_slope(g),
                   "gradient of the gate", r, c, 3);
    }
    before->is_kept(), p->y.is_kept();
    delete before, delete gate, delete up, delete p;
}

// Own rows of which members' parts are added, behind a tile that signals; both wait for flags.
template <class F> static void is_summed(const bool *way)
{
    enum { MEMBERS = 3, ME = 1 };
    problem *p = drawn<F>(way, false);
    matrix part0(p->m, p->n), part2(p->m, p->n), to(p->m, p->n);
    tile_part parts[MEMBERS] = {};
    part0.fill(), part2.fill();
    part0.to(&parts[0].at), part2.to(&parts[2].at), to.to(&parts[ME].at);
    p->args.parts = parts, p->args.members = MEMBERS, p->args.me = ME;
    std::vector<tile_entry> list = list_of<F>(p, false, 2);
    std::vector<uint32_t> flags(8 * TILE_FLAG_APART, 6), tallies(8 * TILE_FLAG_APART);
    const tile_wait waits[] = {{2, 0}};
    uint32_t late = 0;
    int count = 0;
    for (const tile_entry &e : list)
        count += tile_arrivals(shape_of(F::ROWS, F::COLS, false), &e);
    for (tile_entry &e : list) {
        e.kind |= TILE_SUMS | TILE_SIGNALS, e.wait = 0, e.waits = 1;
        e.signal = e.tally = 5, e.count = count, e.raise = 2;
    }
    flags[2 * TILE_FLAG_APART] = 7;
    p->args.list = list.data(), p->args.waits = waits, p->args.number = 7;
    p->args.flags = flags.data(), p->args.tallies = tallies.data(), p->args.late = &late;
    run<F, PLAIN>(p, 2);
    ck_assert_uint_eq(late, 0);
    ck_assert_uint_eq(tallies[5 * TILE_FLAG_APART], 0);
    ck_assert_uint_eq(flags[5 * TILE_FLAG_APART], 9);
    for (int64_t e = 0; e < p->m * p->n; e++) {
        const int64_t r = e / p->n, c = e % p->n;
        p->is_near(p->y.at(r, c), p->sum(r, c), "own part", r, c);
        float want = -0.f;
        want += part0.at(r, c), want += p->y.at(r, c), want += part2.at(r, c);
        ck_assert_uint_eq(hap_f32_to_bf16(to.at(r, c)), hap_f32_to_bf16(want));
    }
    flags[2 * TILE_FLAG_APART] = 6; // comes never: said
    run<F, PLAIN>(p, 2);
    ck_assert_uint_eq(late, 3);
    delete p;
}

template <class F> static void all_endings(const bool *way, int cases)
{
    fake::ranges.clear();
    for (int i = 0; i < cases; i++)
        is_plain<F>(way, (int)below(12));
    if (!way[0]) is_summed<F>(way);
    if constexpr (F::ROWS == 128 && F::COLS <= 192) {
        if (way[0]) return;
        is_gelu<F>(way, (int)below(2));
        is_slope<F>(way, (int)below(2));
        if (way[1])
            is_gated_slopes<F>();
        else
            is_gated<F>((int)below(2));
    }
}

START_TEST(tiles)
{
    static void (*const form[])(const bool *way, int cases) = {
        all_endings<mma_form<128, 256>>, all_endings<mma_form<128, 192>>,
        all_endings<mma_form<128, 128>>, all_endings<mma_form<192, 192>>,
        all_endings<mma_form<256, 128>>};
    form[_i / 3](ways[_i % 3], test_cases(1, 1, 20));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("tile kernel of sm_80");
    TCase *t = tcase_create("tiles");
    tcase_set_timeout(t, 100);
    tcase_add_loop_test(t, tiles, 0, 15);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_set_fork_status(r, CK_NOFORK);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
