"""Tables of put_bench: python3 put_report.py LOG

Of each kind a row for the library and for pushes by copies in flight: bus GB/s and, in brackets, times the library's at each size; then the fit of
the sizes from 16 MiB on, ms = a + bytes / bandwidth, least squares of relative errors: a in us, GB/s of the fit."""
import json
import sys


def fit(points):  # [(bytes, sec)] -> (a, bytes a second)
    sw = sx = sy = sxx = sxy = 0.0
    for x, y in points:
        w = 1 / y**2
        sw, sx, sy, sxx, sxy = sw + w, sx + w * x, sy + w * y, sxx + w * x * x, sxy + w * x * y
    slope = (sw * sxy - sx * sy) / (sw * sxx - sx * sx)
    return (sy - slope * sx) / sw, 1 / slope


def main():
    rows, ranks, wrong = {}, 0, []
    for line in open(sys.argv[1], errors="replace"):
        if not line.startswith('{"kind"'):
            continue
        x = json.loads(line)
        ranks = x["ranks"]
        form = x["form"] if x["form"].startswith("PUSH") else "library"
        rows.setdefault(x["kind"], {}).setdefault(form, {})[x["mib"]] = x
        if x["wrong"] > 0 or x.get("fits") is False:
            wrong.append((x["kind"], form, x["mib"], x["wrong"]))
    for kind, forms in rows.items():
        sizes = sorted({mib for at in forms.values() for mib in at})
        print(f"\n{kind}, {ranks} ranks, bf16: bus GB/s (times the library's)\n")
        print("| form | " + " | ".join(f"{mib:g} MiB" for mib in sizes) + " | a, us | fitted GB/s |")
        print("|---" * (len(sizes) + 3) + "|")
        for form, at in forms.items():
            cells = [f"{at[m]['bus_gbs']:.0f} ({at[m]['to_library']:.3f})" if m in at else "" for m in sizes]
            points = [(at[m]["mib"] * 2**20 * (ranks - 1) / ranks, at[m]["ms"] / 1e3) for m in sizes if m in at and m >= 16 and at[m]["ms"] > 0]
            a, speed = fit(points) if len(points) > 2 else (float("nan"), float("nan"))
            print(f"| {form} | " + " | ".join(cells) + f" | {a * 1e6:.1f} | {speed / 1e9:.0f} |")
    print(f"\nwrong: {wrong or 'none'}")


main()
