/* SPDX-License-Identifier: Apache-2.0 */
/* bcast_file.h - a copy of a file on one node, as sbcast makes it
 *
 * The copy has its name only when it is whole. Until then it has none, or where
 * the file system wants one, one that says what it is.
 *
 * Thread: the main one; sets signal handlers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct arena;
struct stat;

struct bcast_file {
    const char *path; /* of the copy */
    int64_t size;     /* so many bytes must arrive */
    mode_t mode;
    bool replaces;            /* a file of that name; without it, one is -EEXIST */
    bool keeps_times;         /* else they are of now */
    int64_t atime_s, mtime_s; /* to be kept */
};

struct bcast_file bcast_file_of(const struct stat *source, const char *path, bool preserves,
                                bool replaces);

/* Copies what is read from the descriptor. -ENODATA: that were fewer or more bytes than
 * expected; otherwise what the file system said. There is no file then.
 */
int bcast_file_receive(const struct bcast_file *file, int from, struct arena *arena);
