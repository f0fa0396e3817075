// Any bytes as program.c, and behind the line "//// buffers.h" as buffers.h: hap-record reads them
// to their end or refuses them, with a message. Each is read by a process of its own, which ends by
// exit() as hap-record does; where libFuzzer runs, what it came by there is handed back.

#define _GNU_SOURCE // memmem, on_exit
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/fail.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int hap_record_main(int argc, char **argv); // main of runtime/interpret/record_main.c

enum { MOST_SECONDS = 20 }; // of the processor

// What libFuzzer counts: a byte an edge. This file itself is not counted, since the compiler
// declares the same names where it counts.
#ifdef HAP_FUZZ
extern uint8_t __start___sancov_cntrs[], __stop___sancov_cntrs[];
#    define COUNTS   __start___sancov_cntrs
#    define N_COUNTS ((size_t)(__stop___sancov_cntrs - __start___sancov_cntrs))
#else
static uint8_t none[1];
#    define COUNTS   none
#    define N_COUNTS sizeof none
#endif

// What the process that reads hands back. A sanitizer ends it with an exit code of its own, and not
// by exit().
typedef struct handed_back {
    int ended; // by exit()
    uint8_t count[];
} handed_back;

static handed_back *back;
static char folder[] = "/tmp/hap_fuzz_program.XXXXXX";
static char program[64], buffers[64], record[64], said[64];
static pid_t owner;

static void remove_files(void)
{
    if (getpid() != owner) return;
    unlink(program);
    unlink(buffers);
    unlink(record);
    unlink(said);
    rmdir(folder);
}

static void make_folder(void)
{
    if (back) return;
    back = mmap(NULL, sizeof *back + N_COUNTS, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                -1, 0);
    if (back == MAP_FAILED || !mkdtemp(folder)) abort();
    snprintf(program, sizeof program, "%s/program.c", folder);
    snprintf(buffers, sizeof buffers, "%s/buffers.h", folder);
    snprintf(record, sizeof record, "%s/record", folder);
    snprintf(said, sizeof said, "%s/said", folder);
    owner = getpid();
    atexit(remove_files);
}

static void write_file(const char *path, const uint8_t *data, size_t n)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, n, f) != n || fclose(f) != 0) abort();
}

static void hand_back(int code, void *unused)
{
    (void)unused;
    fflush(NULL);
    memcpy(back->count, COUNTS, N_COUNTS);
    back->ended = 1;
    _exit(code); // libFuzzer takes an exit for a failure
}

static _Noreturn void read_program(void)
{
    static char name[] = "hap-record", option[] = "--record";
    char *words[] = {name, program, option, record, NULL};
    struct rlimit most = {MOST_SECONDS, MOST_SECONDS};
    int file = open(said, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    setrlimit(RLIMIT_CPU, &most);
    dup2(file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
    on_exit(hand_back, NULL);
    exit(hap_record_main(4, words));
}

static void print_said(void)
{
    char text[4096];
    FILE *f = fopen(said, "rb");
    if (f) fwrite(text, 1, fread(text, 1, sizeof text, f), stderr);
    if (f) fclose(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char mark[] = "//// buffers.h\n";
    make_folder();
    const uint8_t *end = n ? memmem(data, n, mark, sizeof mark - 1) : NULL;
    size_t first = end ? (size_t)(end - data) : n, skip = end ? sizeof mark - 1 : 0;
    write_file(program, data, first);
    write_file(buffers, data + first + skip, n - first - skip);
    back->ended = 0;
    pid_t pid = fork();
    if (pid < 0) abort();
    if (pid == 0) read_program();
    int status;
    struct stat about;
    while (waitpid(pid, &status, 0) != pid) // libFuzzer has a clock that interrupts
        if (errno != EINTR) abort();
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    bool right = code == 0 || code == HAP_EXIT_INPUT || code == HAP_EXIT_FAILED;
    if (!right || !back->ended || (code != 0 && (stat(said, &about) != 0 || about.st_size == 0))) {
        fprintf(stderr, "reading ended with %d:\n", code);
        print_said();
        abort();
    }
    for (size_t i = 0; i < N_COUNTS; i++)
        COUNTS[i] |= back->count[i];
    return 0;
}
