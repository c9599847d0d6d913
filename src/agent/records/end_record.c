/* SPDX-License-Identifier: Apache-2.0 */
/* After a store was put back, only the nodes know of the ends since. A line for each end in
 * two files of bounded size is enough for some thousands; nothing is synced, since this is for
 * a restored store and not for a machine that crashed at the same time.
 */
#include "agent/records/end_record.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"

#define LINE_MAX_LEN (1u << 20)

struct end_place {
    int64_t revision;
    uint32_t at, length; /* of the text, in its file */
    bool is_former;      /* in ended.1 */
};

struct end_records {
    char *path, *former;
    struct map *places; /* by the pod's uid */
    int fd;             /* of `path`; -1: not open */
    uint32_t size;
    bool has_failed; /* logged once */
};

/* ---- Reading ---- */

static void
note_place(struct end_records *e, const char *uid, const struct end_place *place)
{
    struct end_place *p = map_find(e->places, uid);

    if (p == NULL) {
        p = xnew(struct end_place);
        map_put(e->places, uid, p);
    }
    *p = *place;
}

/* A line that a full disk or a crash has cut is passed over. */
static void
read_line(struct end_records *e, char *line, uint32_t at, bool is_former)
{
    char *blank = strchr(line, ' '), *end;
    struct end_place place = {.is_former = is_former};

    if (blank == NULL || blank == line)
        return;
    place.revision = strtoll(blank + 1, &end, 10);
    if (end == blank + 1 || *end != ' ')
        return;
    place.at = at + (uint32_t)(end + 1 - line);
    place.length = (uint32_t)strlen(end + 1);
    *blank = '\0';
    note_place(e, line, &place);
}

static void
read_file(struct end_records *e, const char *path, bool is_former)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (file_read(path, END_RECORD_FILE_MAX + LINE_MAX_LEN, &text, NULL) < 0)
        return;
    for (size_t at = 0; at < text.length;) {
        char *line = text.text + at;
        char *newline = memchr(line, '\n', text.length - at);

        if (newline == NULL)
            return;
        *newline = '\0';
        read_line(e, line, (uint32_t)at, is_former);
        at += (size_t)(newline + 1 - line);
    }
}

static void
open_file(struct end_records *e)
{
    struct stat st;

    e->fd = open(e->path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    e->size = e->fd >= 0 && fstat(e->fd, &st) == 0 ? (uint32_t)st.st_size : 0;
}

struct end_records *
end_records_open(const char *state_dir)
{
    struct end_records *e = xnew(struct end_records);

    e->path = xasprintf("%s/ended", state_dir);
    e->former = xasprintf("%s/ended.1", state_dir);
    e->places = map_new();
    e->fd = -1;
    read_file(e, e->former, true);
    read_file(e, e->path, false);
    return e;
}

static void
free_places(struct end_records *e)
{
    size_t at = 0;
    void *place;

    while (map_next(e->places, &at, NULL, &place))
        free(place);
    map_free(e->places);
}

void
end_records_free(struct end_records *e)
{
    if (e == NULL)
        return;
    if (e->fd >= 0)
        close(e->fd);
    free_places(e);
    free(e->path);
    free(e->former);
    free(e);
}

/* ---- Writing ---- */

static void
begin_next_file(struct end_records *e)
{
    close(e->fd);
    e->fd = -1;
    if (rename(e->path, e->former) < 0)
        return;
    free_places(e);
    e->places = map_new();
    read_file(e, e->former, true);
    open_file(e);
}

void
end_records_add(struct end_records *e, const char *uid, int64_t revision, const char *text)
{
    /* The newline in front separates the line from one that a full disk has cut. */
    CLEANUP_FREE char *line = xasprintf("\n%s %" PRId64 " %s\n", uid, revision, text);
    const size_t length = strlen(line);
    int r = 0;

    if (strchr(text, '\n') != NULL || length > LINE_MAX_LEN)
        return;
    if (e->fd < 0)
        open_file(e);
    if (e->fd >= 0 && e->size >= END_RECORD_FILE_MAX)
        begin_next_file(e);
    r = e->fd < 0 ? -errno : fd_write_all(e->fd, line, length);
    if (r < 0) {
        if (!e->has_failed)
            log_warning("cannot record how pods ended in '%s': %s; if an older state of the "
                        "controller is put back, jobs that have ended may run again",
                        e->path, strerror(-r));
        e->has_failed = true;
        if (e->fd >= 0)
            close(e->fd);
        e->fd = -1; /* its size is known again when it is opened */
        return;
    }
    e->has_failed = false;
    note_place(e, uid,
               &(struct end_place){
                   .revision = revision,
                   .at = e->size + (uint32_t)(length - strlen(text) - 1),
                   .length = (uint32_t)strlen(text),
               });
    e->size += (uint32_t)length;
}

/* ---- Looking ---- */

static char *
read_text(const struct end_records *e, const struct end_place *place)
{
    CLEANUP_FD int fd = open(place->is_former ? e->former : e->path, O_RDONLY | O_CLOEXEC);
    char *text = xmalloc(place->length + 1);

    if (fd < 0 || pread(fd, text, place->length, place->at) != (ssize_t)place->length) {
        free(text);
        return NULL;
    }
    text[place->length] = '\0';
    return text;
}

char *
end_records_find(const struct end_records *e, const char *uid)
{
    const struct end_place *place = map_find(e->places, uid);

    return place != NULL ? read_text(e, place) : NULL;
}

void
end_records_visit(const struct end_records *e, const struct end_record_visitor *v)
{
    const char *uid;
    size_t at = 0;
    void *value;

    while (map_next(e->places, &at, &uid, &value)) {
        const struct end_place *place = value;
        CLEANUP_FREE char *text =
            v->wants(place->revision, v->context) ? read_text(e, place) : NULL;

        if (text != NULL)
            v->visit(uid, place->revision, text, v->context);
    }
}
