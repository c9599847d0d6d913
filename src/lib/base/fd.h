/* SPDX-License-Identifier: Apache-2.0 */
/* fd.h - files and descriptors, without partial reads and writes
 *
 * All calls return 0 or a negative errno. They block, so the loop thread uses
 * them only on /proc, /sys and /run.
 *
 * Thread:  any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/base/macro.h"

struct error;
struct strbuf;

void fd_closep(int *fd);
#define CLEANUP_FD CLEANUP(fd_closep)

/* Write_all writes all bytes. Append_all writes them at the end of a file that has no other
 * writer, all or none: a line that a full disk has cut would spoil the next one. Read_all reads
 * until end of file and appends to `out`; it refuses more than `limit` bytes with -EFBIG.
 */
int fd_write_all(int fd, const void *bytes, size_t length);
int fd_append_all(int fd, const void *bytes, size_t length);
int fd_read_all(int fd, size_t limit, struct strbuf *out);
int fd_set_nonblocking(int fd, bool nonblocking);

/* A whole file at a path. Write_atomic writes a temporary file beside it, syncs
 * it, renames it over the old one and syncs the directory: after a crash the
 * file has the old content or the new, never a part. Errors name the path.
 */
int file_read(const char *path, size_t limit, struct strbuf *out, struct error *err);
int file_write_atomic(const char *path, mode_t mode, const void *bytes, size_t length,
                      struct error *err);

/* Afterwards all that was written to the file or directory is on the disk. */
int path_sync(const char *path, struct error *err);

/* Makes the directory and its parents; a directory that exists is no error. */
int dir_make(const char *path, mode_t mode, struct error *err);
