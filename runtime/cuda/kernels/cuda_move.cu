// Moving bytes: strided copies (transpose, expand), copies between cuts, fills, sums into place.

#include "cuda/kernels/cuda_kernels.cuh"

enum { THREADS = 256 };

const char *cuda_copy(cudaStream_t s, void *y, const void *x, int64_t bytes)
{
    if (bytes == 0 || y == x) return NULL;
    CUDA_CALL(cudaMemcpyAsync(y, x, (size_t)bytes, cudaMemcpyDefault, s));
    return NULL;
}

// --- strided ---

struct strides {
    int rank;
    int64_t size[HAP_MAX_RANK + 2], to[HAP_MAX_RANK + 2], from[HAP_MAX_RANK + 2];
};

// Where element i goes to and comes from; the last dim fastest.
__device__ inline void strided_at(const strides &m, bool small, int64_t i, int64_t *to,
                                  int64_t *from)
{
    int64_t rest = i;
    *to = *from = 0;
    if (small) {
        uint32_t r = (uint32_t)i;
        for (int d = m.rank - 1; d > 0; d--) {
            uint32_t size = (uint32_t)m.size[d], k = r % size;
            r /= size;
            *to += k * m.to[d], *from += k * m.from[d];
        }
        rest = r;
    } else {
        for (int d = m.rank - 1; d > 0; d--) {
            int64_t k = rest % m.size[d];
            rest /= m.size[d];
            *to += k * m.to[d], *from += k * m.from[d];
        }
    }
    *to += rest * m.to[0], *from += rest * m.from[0];
}

// A few elements a thread, all read before one is written.
template <class T> __global__ void copy_strided(int64_t n, T *y, const T *x, strides m)
{
    enum { MANY = 4 };
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += MANY * step) {
        T v[MANY];
        int64_t to[MANY], from;
#pragma unroll
        for (int k = 0; k < MANY; k++) {
            if (i + k * step >= n) break;
            strided_at(m, n <= UINT32_MAX, i + k * step, &to[k], &from);
            v[k] = x[from];
        }
#pragma unroll
        for (int k = 0; k < MANY; k++)
            if (i + k * step < n) y[to[k]] = v[k];
    }
}

// The largest unit of up to 16 bytes in which all of these are whole.
static int unit_of(const void *y, const void *x, int64_t elem, int64_t run, const int64_t *steps,
                   int n)
{
    int64_t all = (int64_t)((uintptr_t)y | (uintptr_t)x) | run * elem;
    for (int i = 0; i < n; i++)
        all |= steps[i] * elem;
    for (int u = 16; u > 1; u /= 2)
        if (all % u == 0) return u;
    return 1;
}

template <class Run> static void with_unit(int bytes, Run run)
{
    switch (bytes) {
    case 16:
        run((uint4 *)nullptr);
        break;
    case 8:
        run((uint64_t *)nullptr);
        break;
    case 4:
        run((uint32_t *)nullptr);
        break;
    case 2:
        run((uint16_t *)nullptr);
        break;
    default:
        run((uint8_t *)nullptr);
    }
}

const char *cuda_copy_strided(cudaStream_t stream, void *y, const void *x, const cuda_strided *m,
                              int64_t elem)
{
    // Drop dims of one entry, merge neighbours that are one run on both sides.
    strides s = {};
    for (int d = 0; d < m->rank; d++) {
        if (m->size[d] == 0) return NULL;
        if (m->size[d] == 1) continue;
        int k = s.rank;
        if (k > 0 && s.to[k - 1] == m->to[d] * m->size[d] &&
            s.from[k - 1] == m->from[d] * m->size[d]) {
            s.size[k - 1] *= m->size[d], s.to[k - 1] = m->to[d], s.from[k - 1] = m->from[d];
        } else {
            s.size[k] = m->size[d], s.to[k] = m->to[d], s.from[k] = m->from[d], s.rank++;
        }
    }
    if (s.rank == 0) return cuda_copy(stream, y, x, elem);
    int last = s.rank - 1, unit = (int)elem;
    if (s.to[last] == 1 && s.from[last] == 1) { // a run: in larger units
        if (last == 0) return cuda_copy(stream, y, x, s.size[0] * elem);
        int64_t steps[2 * (HAP_MAX_RANK + 2)];
        for (int d = 0; d < last; d++)
            steps[2 * d] = s.to[d], steps[2 * d + 1] = s.from[d];
        unit = unit_of(y, x, elem, s.size[last], steps, 2 * last);
        if (unit < elem) unit = (int)elem;
        int64_t per = unit / elem;
        s.size[last] /= per;
        for (int d = 0; d < last; d++)
            s.to[d] /= per, s.from[d] /= per;
    }
    int64_t n = 1;
    for (int d = 0; d < s.rank; d++)
        n *= s.size[d];
    with_unit(unit, [&](auto *t) {
        using T = std::remove_pointer_t<decltype(t)>;
        copy_strided<T>
            <<<blocks_for(n, THREADS, 4), THREADS, 0, stream>>>(n, (T *)y, (const T *)x, s);
    });
    return launched();
}

// --- between cuts ---

struct remap {
    int rank;
    cuda_axis walked[HAP_MAX_RANK + 1], other[HAP_MAX_RANK + 1]; // the last may be a run of bytes
    int64_t size[HAP_MAX_RANK + 1], far[HAP_MAX_RANK + 1];       // local sizes
    int dim;
    int64_t shift;
    bool into, has_pad;
};

template <class T> __global__ void move_remapped(int64_t n, T *walked, T *other, remap m, T pad)
{
    int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        int64_t rest = i, at = 0, stride = 1;
        for (int d = m.rank - 1; d >= 0 && at >= 0; d--) {
            int64_t l = rest % m.size[d];
            rest /= m.size[d];
            int64_t g = axis_global(m.walked[d], l) + (d == m.dim ? m.shift : 0);
            int64_t k = axis_local(m.other[d], g);
            at = k < 0 ? -1 : at + k * stride;
            stride *= m.far[d];
        }
        if (at < 0) {
            if (!m.into && m.has_pad) walked[i] = pad;
        } else if (m.into) {
            other[at] = walked[i];
        } else {
            walked[i] = other[at];
        }
    }
}

// A value's bytes in the type, repeated to 16.
static void pattern_of(hap_dtype type, double value, char out[16])
{
    char one[8] = {0};
    int n = (int)hap_dtype_bytes(type);
    float f = (float)value;
    int64_t i64 = type == HAP_I64 ? (int64_t)value : 0;
    int32_t i32 = type == HAP_I32 ? (int32_t)value : 0;
    __nv_bfloat16 b = __float2bfloat16_rn(f);
    __half h = __float2half_rn(f);
    switch (type) {
    case HAP_F32:
        memcpy(one, &f, 4);
        break;
    case HAP_BF16:
        memcpy(one, &b, 2);
        break;
    case HAP_F16:
        memcpy(one, &h, 2);
        break;
    case HAP_I64:
        memcpy(one, &i64, 8);
        break;
    case HAP_I32:
        memcpy(one, &i32, 4);
        break;
    case HAP_BOOL:
        one[0] = value != 0;
        break;
    case HAP_U8:
        one[0] = (unsigned char)value;
        break;
    }
    for (int i = 0; i < 16; i++)
        out[i] = one[i % n];
}

static bool same_axis(const cuda_axis *a, const cuda_axis *b)
{
    return a->outer == b->outer && a->block == b->block && a->first == b->first &&
           a->part == b->part;
}

static bool divides(int64_t u, const cuda_axis &a)
{
    return a.block % u == 0 && a.first % u == 0 && a.part % u == 0;
}

// Where an axis has its entries from `from` to `to`, as it were of one block; false: of several.
static bool in_one_block(const cuda_axis *b, int64_t from, int64_t to, int64_t *first, int64_t *at)
{
    int64_t block = b->outer == 1 ? 0 : from / b->block;
    *first = b->first + block * b->block, *at = block * b->part;
    return b->outer == 1 || (from >= 0 && to <= (block + 1) * b->block);
}

// Where each dim is the same on both sides, or what is walked is one block and lies in one of the
// other side, an entry moves by a constant: what both sides hold is one strided copy.
static bool is_shift(const hap_tensor *walked, const hap_tensor *other, const cuda_remap *how,
                     cuda_strided *m, int64_t *at_walked, int64_t *at_other)
{
    int64_t sw = 1, so = 1;
    bool all = true;
    *m = {};
    m->rank = walked->rank;
    *at_walked = *at_other = 0;
    for (int d = walked->rank - 1; d >= 0; d--) {
        cuda_axis a = cuda_axis_of(walked, d), b = cuda_axis_of(other, d);
        int64_t shift = d == how->dim ? how->shift : 0, first, at;
        if (shift == 0 && same_axis(&a, &b)) {
            a = b = cuda_axis{1, walked->local[d], 0, walked->local[d]};
        } else if (a.outer != 1) {
            return false;
        }
        const int64_t begin = a.first + shift;
        if (!in_one_block(&b, begin, begin + a.part, &first, &at)) return false;
        int64_t by = begin - first; // other's less walked's
        int64_t lo = by < 0 ? -by : 0, hi = b.part - by < a.part ? b.part - by : a.part;
        m->size[d] = hi > lo ? hi - lo : 0;
        all &= m->size[d] == a.part;
        *at_walked += lo * sw, *at_other += (at + lo + by) * so;
        (how->into ? m->to : m->from)[d] = so;
        (how->into ? m->from : m->to)[d] = sw;
        sw *= walked->local[d], so *= other->local[d];
    }
    return all || how->into || !how->pad;
}

// Trailing dims that are the same on both sides are one run, whose bytes are returned; a plain last
// dim joins it.
static int64_t take_run(remap *m, int64_t elem)
{
    int64_t run = elem;
    while (m->rank > 0 && m->rank - 1 != m->dim) {
        int d = m->rank - 1;
        if (!same_axis(&m->walked[d], &m->other[d])) break;
        run *= m->size[d];
        m->rank--;
    }
    return run;
}

// Units of up to 16 bytes; what the last dim kept has in common with them moves into the unit.
static int unit_of(const remap *m, uintptr_t where, int64_t run, int64_t elem)
{
    int d = m->rank - 1, unit = 16;
    int64_t shift = d == m->dim ? m->shift : 0;
    for (; unit > elem; unit /= 2) {
        if (where % unit) continue;
        if (run % unit == 0) break;
        if (unit % run == 0) {
            int64_t u = unit / run;
            if (divides(u, m->walked[d]) && divides(u, m->other[d]) && shift % u == 0) break;
        }
    }
    return unit < elem ? (int)elem : unit;
}

// What is walked, in units instead of runs.
static void walk_units(remap *m, int64_t run, int unit)
{
    int d = m->rank - 1;
    if (run >= unit) {
        int64_t k = run / unit;
        if (k == 1) return;
        d = m->rank++;
        m->walked[d] = m->other[d] = cuda_axis{1, k, 0, k};
        m->size[d] = m->far[d] = k;
        return;
    }
    int64_t u = unit / run;
    for (cuda_axis *a : {&m->walked[d], &m->other[d]})
        a->block /= u, a->first /= u, a->part /= u;
    m->size[d] /= u, m->far[d] /= u;
    if (d == m->dim) m->shift /= u;
}

const char *cuda_move_remapped(cudaStream_t s, hap_tensor *walked, hap_tensor *other,
                               const cuda_remap *how)
{
    if (walked->rank != other->rank || walked->type != other->type)
        return cuda_fail("rank or type differ between operand and output");
    if (walked->elements == 0) return NULL;
    cuda_strided shifted;
    int64_t at_walked, at_other, elem = hap_dtype_bytes(walked->type);
    if (walked->rank > 0 && is_shift(walked, other, how, &shifted, &at_walked, &at_other)) {
        char *w = (char *)walked->data + at_walked * elem;
        char *o = (char *)other->data + at_other * elem;
        return how->into ? cuda_copy_strided(s, o, w, &shifted, elem)
                         : cuda_copy_strided(s, w, o, &shifted, elem);
    }
    remap m = {};
    m.dim = how->dim, m.shift = how->shift, m.into = how->into, m.has_pad = how->pad != NULL;
    m.rank = walked->rank;
    for (int d = 0; d < m.rank; d++) {
        m.walked[d] = cuda_axis_of(walked, d);
        m.other[d] = cuda_axis_of(other, d);
        m.size[d] = walked->local[d], m.far[d] = other->local[d];
    }
    int64_t run = take_run(&m, elem);
    if (m.rank == 0)
        return how->into ? cuda_copy(s, other->data, walked->data, run)
                         : cuda_copy(s, walked->data, other->data, run);
    int unit = unit_of(&m, (uintptr_t)walked->data | (uintptr_t)other->data, run, elem);
    walk_units(&m, run, unit);
    int64_t n = 1;
    for (int k = 0; k < m.rank; k++)
        n *= m.size[k];
    char bits[16];
    pattern_of(walked->type, how->pad ? *how->pad : 0, bits);
    with_unit(unit, [&](auto *t) {
        using T = std::remove_pointer_t<decltype(t)>;
        T pad;
        memcpy(&pad, bits, sizeof pad);
        move_remapped<T><<<blocks_for(n, THREADS), THREADS, 0, s>>>(n, (T *)walked->data,
                                                                    (T *)other->data, m, pad);
    });
    return launched();
}

// --- fills and sums ---

template <class T> __global__ void fill(int64_t n, T *y, T v)
{
    int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        y[i] = v;
}

const char *cuda_fill(cudaStream_t s, hap_tensor *y, double value)
{
    if (y->elements == 0) return NULL;
    char bits[16];
    pattern_of(y->type, value, bits);
    bool zero = true;
    for (char b : bits)
        zero &= b == 0;
    if (zero) {
        CUDA_CALL(cudaMemsetAsync(y->data, 0, (size_t)y->bytes, s));
        return NULL;
    }
    with_unit((int)hap_dtype_bytes(y->type), [&](auto *t) {
        using T = std::remove_pointer_t<decltype(t)>;
        T v;
        memcpy(&v, bits, sizeof v);
        fill<T><<<blocks_for(y->elements, THREADS), THREADS, 0, s>>>(y->elements, (T *)y->data, v);
    });
    return launched();
}

__global__ void add_into(int64_t n, view y, view x, bool vec)
{
    for_all(n, vec, [&](auto w, int64_t i) {
        constexpr int V = decltype(w)::value;
        float a[V], b[V];
        load_vec<V>(y, i, a);
        load_vec<V>(x, i, b);
        for (int k = 0; k < V; k++)
            a[k] += b[k];
        store_vec<V>(y, i, a);
    });
}

__global__ void add_int_into(int64_t n, view y, view x)
{
    int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        int64_t a = load_int(y, i), b = load_int(x, i);
        store_int(y, i, y.type == HAP_BOOL ? (a | b) : a + b);
    }
}

const char *cuda_add_into(cudaStream_t s, hap_dtype type, void *y, const void *x, int64_t n)
{
    view a = {y, (int)type}, b = {const_cast<void *>(x), (int)type};
    if (n == 0) return NULL;
    if (cuda_is_float(type))
        add_into<<<blocks_for(n, THREADS, 8), THREADS, 0, s>>>(
            n, a, b, ((uintptr_t)y | (uintptr_t)x) % 16 == 0);
    else
        add_int_into<<<blocks_for(n, THREADS), THREADS, 0, s>>>(n, a, b);
    return launched();
}
