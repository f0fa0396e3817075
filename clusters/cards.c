// All devices of the catalogue, for lists.

#include "clusters/cluster_file.h"

int cl_cards(hb_arena *a, const char *devices_path, cl_card **out, hb_diag *d)
{
    cl_catalogue *k = cl_catalogue_new(a, devices_path, (hb_str){0}, d);
    hb_source *asking = HB_NEW(a, hb_source);
    asking->name = HB_STR("hapc devices");
    cl_catalogue_load(k, (hb_pos){0, 0}, asking);
    int n = k->tree ? k->tree->n : 0;
    *out = HB_ARRAY(a, cl_card, n + 1);
    for (int i = 0; i < n; i++) {
        cl_device device = {.kind = CL_GPU};
        hb_tree model = {.kind = HB_TEXT, .s = k->tree->key[i]};
        if (!cl_from_catalogue(k, &model, asking, &device)) return -1;
        const hb_tree *arch = hb_get(k->tree->v[i], "arch"),
                      *source = hb_get(k->tree->v[i], "source");
        (*out)[i] = (cl_card){.name = device.name,
                              .arch = arch ? arch->s : HB_STR(""),
                              .source = source->s,
                              .kind = device.kind,
                              .f32 = device.f32,
                              .tf32 = device.tf32,
                              .bf16 = device.bf16,
                              .fp16 = device.fp16,
                              .memory_bandwidth = device.memory_bandwidth,
                              .nvlink = device.nvlink,
                              .memory = device.memory,
                              .units = device.units,
                              .plan_only = device.plan_only};
    }
    return k->tree ? n : -1;
}
