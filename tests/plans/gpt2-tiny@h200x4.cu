// kernels.cu: the fusions of program.c as CUDA kernels, by hapc 0.1.0.
//
// t is a tensor of the fusion in the order of its text (op, operands > outputs), or, of a number
// behind these, what two ops start from; p its memory, b where the row begins there, o an op over
// rows, a what it adds up, h what a thread holds of the row, n of the next one. A fusion that does
// not read as its text runs op by op.

#include "hap/kernels.cuh"

// k1: row_sum, row_m2, norm_apply (transformer.h.0.ln_1 and 3 more)
HAP_ROW_KERNEL(k1,
           "row_sum 0:full1:f32 > 1:row:f32:kept; "
           "row_m2 0 1 > 2:row:f32:kept; "
           "norm_apply 0 1 2 3:column:f32 4:column:f32 > 5:full:f32:kept")
{
    auto p0 = at<const f32>(g, 0);
    auto p1 = at<f32>(g, 1);
    auto p2 = at<f32>(g, 2);
    auto p3 = at<const f32>(g, 3);
    auto p4 = at<const f32>(g, 4);
    auto p5 = at<f32>(g, 5);
    const row r(g);
    held<f32, 1> h0;
    if (r.here)
        each_slot<1>(r, [&](auto w, i64 i, i64 j, int slot) {
            h0.load(w, slot, p0, i);
        });
    const op::row_sum o0(r);
    sum a1;
    if (r.here)
        each_slot<1>(r, [&](auto w, i64 i, i64 j, int slot) {
            auto t0 = h0.get(w, slot);
            o0.add(a1.v, t0);
        });
    float t1 = total(a1);
    const op::row_m2 o1(r, t1);
    sum a2;
    if (r.here)
        each_slot<1>(r, [&](auto w, i64 i, i64 j, int slot) {
            auto t0 = h0.get(w, slot);
            o1.add(a2.v, t0);
        });
    float t2 = total(a2);
    const op::norm_apply o2(r, t1, t2, g.attr[0].f);
    if (r.here)
        each_slot<1>(r, [&](auto w, i64 i, i64 j, int slot) {
            auto t0 = h0.get(w, slot);
            auto t3 = load(w, p3, j);
            auto t4 = load(w, p4, j);
            auto t5 = o2(t0, t3, t4);
            store(p5, i, t5);
        });
    row_done();
    if (r.here && r.leads()) {
        store_one(p1, r.at, t1);
        store_one(p2, r.at, t2);
    }
}

// k2: add, row_sum, row_m2, norm_apply (transformer.h.0.ln_2 and 2 more)
HAP_ROW_KERNEL(k2,
           "add 0:full:f32 1:full:f32 > 2:full1:f32:kept; "
           "row_sum 2 > 3:row:f32:kept; "
           "row_m2 2 3 > 4:row:f32:kept; "
           "norm_apply 2 3 4 5:column:f32 6:column:f32 > 7:full:f32:kept")
{
    auto p0 = at<const f32>(g, 0);
    auto p1 = at<const f32>(g, 1);
    auto p2 = at<f32>(g, 2);
    auto p3 = at<f32>(g, 3);
    auto p4 = at<f32>(g, 4);
    auto p5 = at<const f32>(g, 5);
    auto p6 = at<const f32>(g, 6);
    auto p7 = at<f32>(g, 7);
    const row r(g);
    held<f32, 1> h0;
    held<f32, 1> h1;
    held<f32, 1> h2;
    if (r.here)
        each_slot<1>(r, [&](auto w, i64 i, i64 j, int slot) {
            h0.load(w, slot, p0, i);
            h1.load(w, slot, p1, i);
        });
    const op::row_sum o1(r);
    sum a3;
    if (r.here)
        each_slot<1>(r, [&](auto w, i64 i, i64 j, int slot) {
            auto t0 = h0.get(w, slot);
            auto t1 = h1.get(w, slot);
            auto t2 = op::add(t0, t1);
            h2.put(w, slot, t2);
            o1.add(a3.v, t2);
        });
    float t3 = total(a3);
    const op::row_m2 o2(r, t3);
    sum a4;
    if (r.here)
        each_slot<1>(r, [&](auto w, i64 i, i64 j, int slot) {
            auto t2 = h2.get(w, slot);
            o2.add(a4.v, t2);
        });
    float t4 = total(a4);
    const op::norm_apply o3(r, t3, t4, g.attr[0].f);
    if (r.here)
        each_slot<1>(r, [&](auto w, i64 i, i64 j, int slot) {
            auto t5 = load(w, p5, j);
            auto t6 = load(w, p6, j);
            auto t2 = h2.get(w, slot);
            auto t7 = o3(t2, t5, t6);
            store(p2, i, t2);
            store(p7, i, t7);
        });
    row_done();
    if (r.here && r.leads()) {
        store_one(p3, r.at, t3);
        store_one(p4, r.at, t4);
    }
}

// k3: row_max, row_expsum (ce_sum)
HAP_ROW_KERNEL(k3,
           "row_max 0:full1+:f32 > 1:row:f32:kept; "
           "row_expsum 0 1 > 2:row:f32:kept")
{
    auto p0 = at<const f32>(g, 0);
    auto p1 = at<f32>(g, 1);
    auto p2 = at<f32>(g, 2);
    const row r(g);
    held<f32, 1> h0;
    if (r.here)
        each_slot<1, ragged>(r, [&](auto w, i64 i, i64 j, int slot) {
            h0.load(w, slot, p0, i);
        });
    const op::row_max o0(r);
    most a1;
    if (r.here)
        each_slot<1, ragged>(r, [&](auto w, i64 i, i64 j, int slot) {
            auto t0 = h0.get(w, slot);
            o0.add(a1.v, t0);
        });
    float t1 = total(a1);
    const op::row_expsum o1(r, t1);
    sum a2;
    if (r.here)
        each_slot<1, ragged>(r, [&](auto w, i64 i, i64 j, int slot) {
            auto t0 = h0.get(w, slot);
            o1.add(a2.v, t0);
        });
    float t2 = total(a2);
    row_done();
    if (r.here && r.leads()) {
        store_one(p1, r.at, t1);
        store_one(p2, r.at, t2);
    }
}

// k4: norm_bwd_stats, norm_bwd (transformer.ln_f)
HAP_ROW_KERNEL(k4,
           "norm_bwd_stats 0:full1:f32 1:full:f32 2:row:f32 3:row:f32 4:column:f32 > 5:row:f32 6:row:f32; "
           "norm_bwd 0 1 2 3 5 6 4 > 7:full:f32:kept")
{
    auto p0 = at<const f32>(g, 0);
    auto p1 = at<const f32>(g, 1);
    auto p2 = at<const f32>(g, 2);
    auto p3 = at<const f32>(g, 3);
    auto p4 = at<const f32>(g, 4);
    auto p7 = at<f32>(g, 7);
    const row r(g);
    float t2 = load_one(p2, r.at);
    float t3 = load_one(p3, r.at);
    held<f32, 1> h0;
    held<f32, 1> h1;
    if (r.here)
        each_slot<1>(r, [&](auto w, i64 i, i64 j, int slot) {
            h0.load(w, slot, p0, i);
            h1.load(w, slot, p1, i);
        });
    const op::norm_bwd_stats o0(r, t2, t3, g.attr[0].f);
    sum a5;
    sum a6;
    if (r.here)
        each_slot<1>(r, [&](auto w, i64 i, i64 j, int slot) {
            auto t0 = h0.get(w, slot);
            auto t1 = h1.get(w, slot);
            auto t4 = load(w, p4, j);
            o0.add(a5.v, a6.v, t0, t1, t4);
        });
    float t5 = total(a5);
    float t6 = total(a6);
    const op::norm_bwd o1(r, t2, t3, t5, t6, g.attr[1].f);
    if (r.here)
        each_slot<1>(r, [&](auto w, i64 i, i64 j, int slot) {
            auto t0 = h0.get(w, slot);
            auto t1 = h1.get(w, slot);
            auto t4 = load(w, p4, j);
            auto t7 = o1(t0, t1, t4);
            store(p7, i, t7);
        });
}

// k5: norm_bwd_stats, norm_bwd, add (transformer.h.2.ln_2 and 5 more)
HAP_ROW_KERNEL(k5,
           "norm_bwd_stats 0:full1:f32 1:full:f32 2:row:f32 3:row:f32 4:column:f32 > 5:row:f32 6:row:f32; "
           "norm_bwd 0 1 2 3 5 6 4 > 7:full:f32; "
           "add 8:full:f32 7 > 9:full:f32:kept")
{
    auto p0 = at<const f32>(g, 0);
    auto p1 = at<const f32>(g, 1);
    auto p2 = at<const f32>(g, 2);
    auto p3 = at<const f32>(g, 3);
    auto p4 = at<const f32>(g, 4);
    auto p8 = at<const f32>(g, 8);
    auto p9 = at<f32>(g, 9);
    const row r(g);
    float t2 = load_one(p2, r.at);
    float t3 = load_one(p3, r.at);
    held<f32, 1> h0;
    held<f32, 1> h1;
    held<f32, 1> h8;
    if (r.here)
        each_slot<1>(r, [&](auto w, i64 i, i64 j, int slot) {
            h0.load(w, slot, p0, i);
            h1.load(w, slot, p1, i);
            h8.load(w, slot, p8, i);
        });
    const op::norm_bwd_stats o0(r, t2, t3, g.attr[0].f);
    sum a5;
    sum a6;
    if (r.here)
        each_slot<1>(r, [&](auto w, i64 i, i64 j, int slot) {
            auto t0 = h0.get(w, slot);
            auto t1 = h1.get(w, slot);
            auto t4 = load(w, p4, j);
            o0.add(a5.v, a6.v, t0, t1, t4);
        });
    float t5 = total(a5);
    float t6 = total(a6);
    const op::norm_bwd o1(r, t2, t3, t5, t6, g.attr[1].f);
    if (r.here)
        each_slot<1>(r, [&](auto w, i64 i, i64 j, int slot) {
            auto t0 = h0.get(w, slot);
            auto t1 = h1.get(w, slot);
            auto t4 = load(w, p4, j);
            auto t8 = h8.get(w, slot);
            auto t7 = o1(t0, t1, t4);
            auto t9 = op::add(t8, t7);
            store(p9, i, t9);
        });
}
