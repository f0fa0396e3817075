// Files and folders that are there whole or not at all: written under a name of their own, brought
// to the disk, renamed. Functions that return false leave errno.
//
// The name of a temporary says which process of which host writes it (FOLDER/.NAME.tmp-HOST-PID),
// so that a later run knows those whose process is gone.

#ifndef HAP_RUNTIME_SAFE_FILE_H
#define HAP_RUNTIME_SAFE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Of --save and its like: what is put behind it fits in the buffers of a path.
enum { HAP_LONGEST_PATH = 2000 };

void hap_folder_of(const char *path, char *folder, size_t n); // "." where path has no slash
void hap_temp_name(const char *path, const char *host, char *temp, size_t n);
// Removes temporaries of NAME, or of all step-N if name is NULL, whose process of this host is
// gone.
void hap_temp_sweep(const char *folder, const char *name, const char *host);
bool hap_sync_folder(const char *folder);
// temp, already on the disk, becomes path; what was there is gone only once the new is.
bool hap_publish(const char *temp, const char *path, const char *host);
bool hap_write_text(const char *path, const char *text, size_t bytes); // and to the disk
bool hap_copy_file(const char *from, const char *to);                  // the same
bool hap_remove_folder(const char *path); // its files, then itself; false if more is in it

// "" or why a file of this name cannot be written by renaming a temporary beside it; or by opening
// it. No name is too long, no FIFO waits for a reader.
void hap_file_check(const char *path, const char *host, char *why, int n);
void hap_stream_check(const char *path, char *why, int n);
// "" or why so many bytes cannot be written as `path`: its folder's disk has no room. What holds at
// the start of a run; others write there too.
void hap_room_check(const char *path, const char *folder, int64_t bytes, char *why, int n);
int64_t hap_room(const char *folder); // bytes that are free there; -1: not known

#endif
