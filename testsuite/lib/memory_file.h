/* SPDX-License-Identifier: Apache-2.0 */
/* memory_file.h - bytes as a file in memory, for functions that read a file */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct memory_file {
    int fd;
    char path[32];
};

static inline void
memory_file_init(struct memory_file *f, const void *bytes, size_t length)
{
    f->fd = memfd_create("memory_file", MFD_CLOEXEC);
    if (f->fd < 0 || write(f->fd, bytes, length) != (ssize_t)length)
        abort();
    snprintf(f->path, sizeof(f->path), "/proc/self/fd/%d", f->fd);
}

static inline void
memory_file_fini(struct memory_file *f)
{
    close(f->fd);
}
