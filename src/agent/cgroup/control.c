/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cgroup/control.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"

#define CONTROL_LIMIT_BYTES (4u << 20) /* cgroup.procs of a large job */

static int
open_control(const char *directory, const char *file, int mode)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof(path), "%s/%s", directory, file);
    int fd;

    if (length < 0 || (size_t)length >= sizeof(path))
        return -ENAMETOOLONG;
    fd = open(path, mode | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* The value is written by one write, because the kernel accepts or rejects the
 * value of a control file as a whole.
 */
int
control_write(const char *directory, const char *file, const char *value, struct error *err)
{
    CLEANUP_FD int fd = open_control(directory, file, O_WRONLY);
    int r = fd < 0 ? fd : 0;

    if (r == 0 && write(fd, value, strlen(value)) < 0)
        r = -errno;
    if (r < 0)
        return error_set(err, r, "writing '%s' to '%s/%s': %s", value, directory, file,
                         strerror(-r));
    return 0;
}

int
control_write_number(const char *directory, const char *file, uint64_t value, struct error *err)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRIu64, value);
    return control_write(directory, file, text, err);
}

int
control_read(const char *directory, const char *file, struct strbuf *out, struct error *err)
{
    CLEANUP_FD int fd = open_control(directory, file, O_RDONLY);
    int r = fd < 0 ? fd : fd_read_all(fd, CONTROL_LIMIT_BYTES, out);

    if (r < 0)
        return error_set(err, r, "reading '%s/%s': %s", directory, file, strerror(-r));
    while (out->length > 0 && out->text[out->length - 1] == '\n')
        strbuf_truncate(out, out->length - 1);
    return 0;
}

int
control_partition(const char *directory, const char *kind, struct error *err)
{
    static const char file[] = "cpuset.cpus.partition";
    CLEANUP_STRBUF struct strbuf is = STRBUF_INIT;
    int r = control_write(directory, file, kind, err);

    if (r == 0)
        r = control_read(directory, file, &is, err);
    if (r < 0 || strcmp(is.text, kind) == 0)
        return r;
    control_write(directory, file, "member", NULL);
    return error_set(err, -EINVAL, "'%s' cannot be a CPU partition: it would be '%s'", directory,
                     is.text);
}

static int
parse_number(const char *text, uint64_t *ret_value)
{
    char *end;
    unsigned long long value;

    if (strncmp(text, "max", 3) == 0) {
        *ret_value = UINT64_MAX;
        return 0;
    }
    errno = 0;
    value = strtoull(text, &end, 10);
    if (end == text || errno != 0)
        return -EINVAL;
    *ret_value = value;
    return 0;
}

int
control_find_key(const char *text, const char *key, uint64_t *ret_value)
{
    size_t length = strlen(key);

    for (const char *line = text; line != NULL;) {
        if (strncmp(line, key, length) == 0 && line[length] == ' ')
            return parse_number(line + length + 1, ret_value);
        line = strchr(line, '\n');
        line = line == NULL ? NULL : line + 1;
    }
    return -ENODATA;
}

/* The kernel returns all of a small file by one read, so no second read is
 * needed to find its end.
 */
int
control_read_small(const char *directory, const char *file, char text[CONTROL_SMALL_BYTES])
{
    CLEANUP_FD int fd = open_control(directory, file, O_RDONLY);
    ssize_t n;

    if (fd < 0)
        return fd;
    do
        n = read(fd, text, CONTROL_SMALL_BYTES - 1);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    text[n] = '\0';
    return 0;
}

int
control_read_number(const char *directory, const char *file, uint64_t *ret_value)
{
    char text[CONTROL_SMALL_BYTES];
    int r = control_read_small(directory, file, text);

    return r < 0 ? r : parse_number(text, ret_value);
}

int
control_read_key(const char *directory, const char *file, const char *key, uint64_t *ret_value)
{
    char text[CONTROL_SMALL_BYTES];
    int r = control_read_small(directory, file, text);

    return r < 0 ? r : control_find_key(text, key, ret_value);
}

bool
control_exists(const char *directory, const char *file)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof(path), "%s/%s", directory, file);

    return length > 0 && (size_t)length < sizeof(path) && access(path, F_OK) == 0;
}

/* Users cannot nest cgroups in the cgroups of their jobs, and root is not
 * expected to nest them this deep.
 */
#define DEPTH_LIMIT 32

static int visit_below(const char *directory, control_visit_fn visit, void *context, int depth);

static int
visit_children(DIR *dir, const char *directory, control_visit_fn visit, void *context, int depth)
{
    struct dirent *entry;
    int r = 0;

    while (r == 0 && (entry = readdir(dir)) != NULL) {
        char path[PATH_MAX];

        if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
            continue;
        if (snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name) >= (int)sizeof(path))
            return -ENAMETOOLONG;
        r = visit_below(path, visit, context, depth + 1);
    }
    return r;
}

static int
visit_below(const char *directory, control_visit_fn visit, void *context, int depth)
{
    DIR *dir;
    int r;

    if (depth > DEPTH_LIMIT)
        return -ELOOP;
    dir = opendir(directory);
    if (dir == NULL)
        return errno == ENOENT && depth > 0 ? 0 : -errno;
    r = visit_children(dir, directory, visit, context, depth);
    closedir(dir);
    return r != 0 ? r : visit(directory, context);
}

int
control_visit_tree(const char *directory, control_visit_fn visit, void *context)
{
    return visit_below(directory, visit, context, 0);
}

static int
remove_one(const char *directory, void *context)
{
    (void)context;
    return rmdir(directory) < 0 && errno != ENOENT ? -errno : 0;
}

/* Most cgroups have no cgroups inside: then one rmdir is enough. */
int
control_remove_tree(const char *directory)
{
    int r = remove_one(directory, NULL);

    if (r != -EBUSY && r != -ENOTEMPTY)
        return r;
    r = control_visit_tree(directory, remove_one, NULL);
    return r == -ENOENT ? 0 : r;
}
