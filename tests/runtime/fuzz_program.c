#define _GNU_SOURCE // memmem
// Any bytes as program.c, and behind the line "//// buffers.h" as buffers.h: hap-record refuses
// them with a message or ends well. It is a process of its own, so libFuzzer does not see what an
// input comes by in it: its mutations are as blind as those of a build without libFuzzer.

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/fail.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { MOST_SECONDS = 20 }; // of the processor

static char folder[] = "/tmp/hap_fuzz_program.XXXXXX";
static char program[64], buffers[64], record[64];

static void remove_files(void)
{
    unlink(program);
    unlink(buffers);
    unlink(record);
    rmdir(folder);
}

static void make_folder(void)
{
    if (program[0]) return;
    if (!mkdtemp(folder)) abort();
    snprintf(program, sizeof program, "%s/program.c", folder);
    snprintf(buffers, sizeof buffers, "%s/buffers.h", folder);
    snprintf(record, sizeof record, "%s/record", folder);
    atexit(remove_files);
}

static void write_file(const char *path, const uint8_t *data, size_t n)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, n, f) != n || fclose(f) != 0) abort();
}

static _Noreturn void child(void)
{
    int null = open("/dev/null", O_RDWR);
    struct rlimit most = {MOST_SECONDS, MOST_SECONDS};
    setrlimit(RLIMIT_CPU, &most);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    execl(HAP_RECORD, HAP_RECORD, program, "--record", record, (char *)NULL);
    _exit(127);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char mark[] = "//// buffers.h\n";
    make_folder();
    const uint8_t *end = n ? memmem(data, n, mark, sizeof mark - 1) : NULL;
    size_t first = end ? (size_t)(end - data) : n, skip = end ? sizeof mark - 1 : 0;
    write_file(program, data, first);
    write_file(buffers, data + first + skip, n - first - skip);
    pid_t pid = fork();
    if (pid < 0) abort();
    if (pid == 0) child();
    int status;
    if (waitpid(pid, &status, 0) != pid) abort();
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (code != 0 && code != HAP_EXIT_INPUT && code != HAP_EXIT_FAILED) abort();
    return 0;
}
