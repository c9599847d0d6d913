/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/shepherd/files/reused_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"

#define FILE_BYTES 1024u

struct file_content {
    char text[FILE_BYTES - sizeof(uint64_t)];
    uint64_t sum;
};

/* 64-bit FNV-1a. It detects torn writes, not tampering. */
static uint64_t
sum_of(const struct file_content *c)
{
    uint64_t sum = UINT64_C(14695981039346656037);

    for (size_t i = 0; i < sizeof(c->text); i++)
        sum = (sum ^ (unsigned char)c->text[i]) * UINT64_C(1099511628211);
    return sum;
}

static int
sync_directory(const char *directory)
{
    CLEANUP_FD int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

static int
write_content(int fd, const struct strbuf *text)
{
    struct file_content c = {.text = ""};
    ssize_t n;

    memcpy(c.text, text->text, text->length);
    c.sum = sum_of(&c);
    n = write(fd, &c, sizeof(c));
    if (n != (ssize_t)sizeof(c))
        return n < 0 ? -errno : -ENOSPC;
    return fsync(fd) < 0 ? -errno : 0;
}

int
reused_file_write(const char *directory, const char *name, const struct strbuf *text)
{
    CLEANUP_FREE char *path = xasprintf("%s/%s", directory, name);
    CLEANUP_FD int fd = -1;
    bool is_new = false;
    int r;

    if (text->length >= sizeof(((struct file_content *)NULL)->text))
        return -EFBIG;
    fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        is_new = true;
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    }
    if (fd < 0)
        return -errno;
    r = write_content(fd, text);
    if (r == 0 && is_new)
        r = sync_directory(directory);
    if (r < 0)
        unlink(path);
    return r;
}

int
reused_file_read(const char *directory, const char *name, struct strbuf *text)
{
    CLEANUP_FREE char *path = xasprintf("%s/%s", directory, name);
    CLEANUP_FD int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    struct file_content c;
    ssize_t n;

    if (fd < 0)
        return -errno;
    n = read(fd, &c, sizeof(c));
    if (n < 0)
        return -errno;
    if (n != (ssize_t)sizeof(c) || c.text[0] == '\0' || c.sum != sum_of(&c))
        return -ENOENT;
    strbuf_add(text, c.text, strnlen(c.text, sizeof(c.text)));
    return 0;
}

int
reused_file_blank(const char *directory, const char *name)
{
    CLEANUP_FREE char *path = xasprintf("%s/%s", directory, name);
    CLEANUP_FD int fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);

    return fd < 0 || write(fd, "", 1) < 0 ? -errno : 0;
}
