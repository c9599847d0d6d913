/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/records/output_record.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/fd.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"

#define LINE_MAX_LEN (PATH_MAX + 256)
#define TRIES        8

/* A uid of the API is one word of the line. */
static bool
is_word(const char *text)
{
    for (const char *c = text; *c != '\0'; c++)
        if (strchr(" \n\r\t", *c) != NULL)
            return false;
    return *text != '\0';
}

/* Users choose the path: one with a newline in it could forge the entry of
 * another pod.
 */
static bool
is_sound(const struct output_record *o)
{
    return is_word(o->pod_uid) && strlen(o->pod_uid) < 128 && o->path[0] == '/'
           && strchr(o->path, '\n') == NULL && strlen(o->path) < PATH_MAX;
}

/* Opens and locks the file. Tries again if the path now names another file,
 * because another worker may have renamed the one that was opened.
 */
static int
open_locked(const char *path, struct stat *st)
{
    for (int i = 0; i < TRIES; i++) {
        int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
        struct stat named;

        if (fd < 0)
            return -errno;
        if (flock(fd, LOCK_EX) == 0 && fstat(fd, st) == 0 && stat(path, &named) == 0
            && named.st_ino == st->st_ino && named.st_dev == st->st_dev)
            return fd;
        close(fd);
    }
    return -EAGAIN;
}

int
output_record_note(const char *state_dir, const struct output_record *o)
{
    CLEANUP_FREE char *path = xasprintf("%s/outputs", state_dir);
    CLEANUP_FREE char *former = xasprintf("%s/outputs.1", state_dir);
    CLEANUP_FREE char *line = NULL;
    CLEANUP_FD int fd = -1;
    struct stat st;

    if (!is_sound(o))
        return -EINVAL;
    /* The newline in front separates this line from one that a full disk has
     * cut.
     */
    line = xasprintf("\n%s %" PRIu32 " %" PRIu32 " %s\n", o->pod_uid, (uint32_t)o->uid,
                     (uint32_t)o->gid, o->path);
    fd = open_locked(path, &st);
    if (fd >= 0 && st.st_size >= (off_t)OUTPUT_RECORD_FILE_MAX) {
        if (rename(path, former) < 0)
            return -errno;
        close(fd);
        fd = open_locked(path, &st);
    }
    return fd < 0 ? fd : fd_write_all(fd, line, strlen(line));
}

/* The last complete line that begins with the uid. */
static const char *
find_line(const char *text, const char *pod_uid)
{
    CLEANUP_FREE char *begin = xasprintf("\n%s ", pod_uid);
    const char *found = NULL;

    for (const char *at = strstr(text, begin); at != NULL; at = strstr(at + 1, begin))
        if (strchr(at + 1, '\n') != NULL)
            found = at + strlen(begin);
    return found;
}

static bool
read_line(const char *line, uid_t *ret_uid, gid_t *ret_gid, char **ret_path)
{
    char *end;
    unsigned long uid = strtoul(line, &end, 10), gid;

    if (end == line || *end != ' ')
        return false;
    line = end + 1;
    gid = strtoul(line, &end, 10);
    if (end == line || end[0] != ' ' || end[1] != '/')
        return false;
    *ret_uid = (uid_t)uid;
    *ret_gid = (gid_t)gid;
    *ret_path = xstrndup(end + 1, strcspn(end + 1, "\n"));
    return true;
}

int
output_record_find(const char *state_dir, const char *pod_uid, uid_t *ret_uid, gid_t *ret_gid,
                   char **ret_path)
{
    static const char *const names[] = {"outputs", "outputs.1"};

    if (!is_word(pod_uid))
        return -ENOENT;
    for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
        CLEANUP_FREE char *path = xasprintf("%s/%s", state_dir, names[i]);
        CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
        const char *line = NULL;

        if (file_read(path, OUTPUT_RECORD_FILE_MAX + LINE_MAX_LEN, &text, NULL) < 0)
            continue;
        /* After a power failure the file may contain zeros. */
        for (size_t at = 0; at < text.length; at++)
            if (text.text[at] == '\0')
                text.text[at] = '\n';
        if (text.length > 0)
            line = find_line(text.text, pod_uid);
        if (line != NULL && read_line(line, ret_uid, ret_gid, ret_path))
            return 0;
    }
    return -ENOENT;
}
