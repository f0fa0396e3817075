// Any bytes as a checkpoint, as one file and as the index of shards beside one that is whole: it is
// opened or refused with a message, and what was opened lies inside its files.

#include <sys/stat.h>

#include "core/shards.h"
#include "tests/support/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(int holds)
{
    if (!holds) abort();
}

static char folder[64];

static void remove_folder(void)
{
    char path[128];
    snprintf(path, sizeof path, "%s/model.safetensors.index.json", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/a.safetensors", folder);
    unlink(path);
    rmdir(folder);
}

static void put(const char *name, const void *p, size_t n)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    must(f && fwrite(p, 1, n, f) == n && fclose(f) == 0);
}

static void make_folder(void)
{
    static const char head[] = "{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}";
    char whole[8 + sizeof head - 1 + 4] = {(char)(sizeof head - 1)};
    memcpy(whole + 8, head, sizeof head - 1);
    strcpy(folder, "/tmp/hap_fuzz.XXXXXX");
    must(mkdtemp(folder) != NULL);
    atexit(remove_folder);
    put("a.safetensors", whole, sizeof whole);
}

static void open_one(const char *path)
{
    static volatile unsigned sum;
    char why[512] = "";
    hap_shards s;
    if (!hap_shards_open(&s, path, why, sizeof why)) {
        must(why[0] != 0);
        return;
    }
    for (int i = 0; i < s.n; i++)
        for (int k = 0; k < s.file[i].n; k++) {
            const hap_st_tensor *t = &s.file[i].tensor[k];
            must(hap_shards_find(&s, t->name, NULL) == t);
            for (int64_t b = 0; b < t->end - t->begin; b++)
                sum += t->data[b];
        }
    hap_shards_verify(&s, 0, 1, why, sizeof why);
    hap_shards_close(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (!folder[0]) make_folder();
    open_one(fuzz_file(data, n));
    put("model.safetensors.index.json", data, n);
    open_one(folder);
    return 0;
}
