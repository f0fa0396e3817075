// Bytes of a text as rows of tokens: an input file for hapc run.
//
//     cc -o tokens examples/tokens.c && ./tokens /usr/share/common-licenses/GPL-3 128 tokens.npy
//
// Writes a .npy file of i64 [rows, length]: row k is bytes k * length … of the text. A last row
// that is not full is left out.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const char *what)
{
    perror(what);
    return 1;
}

// Little-endian, whatever the machine's order.
static void put(unsigned char *p, int bytes, uint64_t x)
{
    for (int i = 0; i < bytes; i++)
        p[i] = (unsigned char)(x >> (8 * i) & 255);
}

int main(int argc, char **argv)
{
    if (argc != 4 || atol(argv[2]) < 1) {
        fputs("usage: tokens TEXT LENGTH OUT.npy\n", stderr);
        return 2;
    }
    FILE *in = fopen(argv[1], "rb");
    if (!in || fseek(in, 0, SEEK_END) != 0) return fail(argv[1]);
    long size = ftell(in), length = atol(argv[2]), rows = size / length;
    rewind(in);
    if (rows < 1) {
        fprintf(stderr, "%s: shorter than one row\n", argv[1]);
        return 1;
    }
    FILE *out = fopen(argv[3], "wb");
    if (!out) return fail(argv[3]);
    char header[128];
    memset(header, ' ', sizeof header);
    memcpy(header, "\x93NUMPY\x01\x00\x76\x00", 10); // version 1.0, 118 bytes of dictionary
    char dict[100];
    int n =
        snprintf(dict, sizeof dict,
                 "{'descr': '<i8', 'fortran_order': False, 'shape': (%ld, %ld), }", rows, length);
    memcpy(header + 10, dict, (size_t)n);
    header[127] = '\n';
    if (fwrite(header, 1, sizeof header, out) != sizeof header) return fail(argv[3]);
    for (long i = 0; i < rows * length; i++) {
        unsigned char token[8];
        int c = getc(in);
        if (c == EOF) return fail(argv[1]);
        put(token, 8, (uint64_t)c);
        if (fwrite(token, 1, 8, out) != 8) return fail(argv[3]);
    }
    fclose(in);
    if (fclose(out) != 0) return fail(argv[3]);
    return 0;
}
