/* SPDX-License-Identifier: Apache-2.0 */
/* step_records.c - keeps what the controller does not know yet, in memory and on the disk
 *
 * The controller may be away for days, and a script may start thousands of steps, so all is
 * bounded, by records and by bytes; what does not fit is counted, for a number that is
 * missing is worse than a record that is. The memory is right, and the file follows it as well as
 * the disk allows: a record is never refused because a disk is full.
 */
#include "agent/steps/step_records.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/steps/step_records_state.h"
#include "lib/api/cluster/step_record.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define FILE_BYTES    (64u << 20)
#define SHRINK_BYTES  (1u << 20)
#define NUMBER_BYTES  16u /* in an arena */
#define MEMBER_CLOSED "closed"

/* ---- Memory ---- */

static void
free_pod(struct kept_pod *p)
{
    for (unsigned i = 0; i < p->count; i++)
        arena_free(p->records[i].arena);
    free(p->records);
    free(p->namespace);
    free(p->name);
    free(p->uid);
    free(p);
}

static struct kept_pod *
add_pod(struct step_records *s, const struct step_records_pod *like)
{
    struct kept_pod *p = xnew(struct kept_pod);

    p->namespace = xstrdup(like->namespace);
    p->name = xstrdup(like->name);
    p->uid = xstrdup(like->uid);
    map_put(s->pods, p->uid, p);
    return p;
}

/* The place of the record of that id, or the one where it would be. */
static unsigned
find_place(const struct kept_pod *p, int64_t id)
{
    unsigned from = 0, to = p->count;

    while (from < to) {
        const unsigned middle = from + (to - from) / 2;

        if (p->records[middle].r.id < id)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static struct kept_step *
find_record(const struct kept_pod *p, int64_t id)
{
    const unsigned at = p != NULL ? find_place(p, id) : 0;

    return p != NULL && at < p->count && p->records[at].r.id == id ? &p->records[at] : NULL;
}

static const char *
copy_text(struct arena *arena, const char *text)
{
    return text != NULL ? arena_strdup(arena, text) : NULL;
}

static const int64_t *
copy_number(struct arena *arena, const int64_t *n)
{
    return n != NULL ? arena_memdup(arena, n, sizeof(*n)) : NULL;
}

static size_t
length_of(const char *text)
{
    return text != NULL ? strlen(text) + NUMBER_BYTES : 0;
}

/* A controller that is away for long leaves many. */
static size_t
memory_of(const struct step_record *r)
{
    return length_of(r->name) + length_of(r->command) + length_of(r->nodes) + length_of(r->state)
           + length_of(r->distribution) + length_of(r->host) + length_of(r->submit_line)
           + 5 * NUMBER_BYTES;
}

static void
set_record(struct kept_step *to, const struct step_record *from)
{
    struct arena *arena = arena_new(memory_of(from));

    to->r = *from;
    to->r.name = copy_text(arena, from->name);
    to->r.command = copy_text(arena, from->command);
    to->r.nodes = copy_text(arena, from->nodes);
    to->r.state = copy_text(arena, from->state);
    to->r.distribution = copy_text(arena, from->distribution);
    to->r.host = copy_text(arena, from->host);
    to->r.submit_line = copy_text(arena, from->submit_line);
    to->r.ended_by = copy_number(arena, from->ended_by);
    to->r.exit_code = copy_number(arena, from->exit_code);
    to->r.cpu_user_us = copy_number(arena, from->cpu_user_us);
    to->r.cpu_system_us = copy_number(arena, from->cpu_system_us);
    to->r.peak_memory_bytes = copy_number(arena, from->peak_memory_bytes);
    arena_free(to->arena);
    to->arena = arena;
    to->version++;
}

static void
add_record(struct step_records *s, struct kept_pod *p, const struct step_record *from)
{
    const unsigned at = find_place(p, from->id);

    xgrow(p->records, p->count, p->capacity);
    memmove(&p->records[at + 1], &p->records[at], (p->count - at) * sizeof(p->records[0]));
    p->records[at] = (struct kept_step){0};
    p->count++;
    s->count++;
    set_record(&p->records[at], from);
}

bool
kept_step_is_known(const struct kept_step *r)
{
    return r->r.end_at_us > 0 && r->acknowledged == r->version;
}

void
kept_pod_remove_known(struct step_records *s, struct kept_pod *p)
{
    unsigned n = 0;

    for (unsigned i = 0; i < p->count; i++)
        if (kept_step_is_known(&p->records[i]))
            arena_free(p->records[i].arena);
        else
            p->records[n++] = p->records[i];
    s->count -= p->count - n;
    p->count = n;
}

/* ---- Files ---- */

static void
print_pod(const struct kept_pod *p, struct strbuf *out)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct step_batch batch = {
        .namespace = p->namespace,
        .pod = p->name,
        .pod_uid = p->uid,
        .omitted = p->omitted,
    };

    json_print(record_encode(&step_batch_record, arena, &batch), out);
    strbuf_add_char(out, '\n');
    if (p->is_closed)
        strbuf_add_text(out, "{\"" MEMBER_CLOSED "\":true}\n");
}

static void
print_record(const struct step_record *r, struct strbuf *out)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    json_print(record_encode(&step_record_record, arena, r), out);
    strbuf_add_char(out, '\n');
}

static void
print_all(const struct kept_pod *p, struct strbuf *out)
{
    print_pod(p, out);
    for (unsigned i = 0; i < p->count; i++)
        print_record(&p->records[i].r, out);
}

/* A file that cannot be written is tried again with the next change. */
static void
shrink(const struct step_records *s, struct kept_pod *p)
{
    CLEANUP_FREE char *path = xasprintf("%s/%s", s->dir, p->uid);
    CLEANUP_FREE char *next = xasprintf("%s/.%s", s->dir, p->uid);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    CLEANUP_FD int fd = open(next, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    print_all(p, &text);
    if (fd < 0 || fd_write_all(fd, text.text, text.length) < 0 || rename(next, path) < 0)
        unlink(next);
    else
        p->bytes = p->shrunk_bytes = text.length;
}

/* Without room on the disk the records are in memory only. */
void
kept_pod_append(const struct step_records *s, struct kept_pod *p, const struct strbuf *text)
{
    CLEANUP_FREE char *path = xasprintf("%s/%s", s->dir, p->uid);
    CLEANUP_FD int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    int r = fd < 0 ? -errno : fd_append_all(fd, text->text, text->length);

    if (r < 0)
        log_debug("the steps of pod '%s' are not written to '%s': %s", p->uid, path, strerror(-r));
    else
        p->bytes += text->length;
    if (p->bytes > p->shrunk_bytes + SHRINK_BYTES)
        shrink(s, p);
}

static void
append_record(const struct step_records *s, struct kept_pod *p, const struct step_record *r)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (p->bytes == 0)
        print_pod(p, &text);
    print_record(r, &text);
    kept_pod_append(s, p, &text);
}

/* Nothing more comes of the pod, and nothing has to be sent. */
bool
kept_pod_forget_if_done(struct step_records *s, struct kept_pod *p)
{
    CLEANUP_FREE char *path = NULL;

    if (!p->is_closed || p->count > 0 || p->omitted != p->omitted_acknowledged)
        return false;
    path = xasprintf("%s/%s", s->dir, p->uid);
    unlink(path);
    map_remove(s->pods, p->uid);
    free_pod(p);
    return true;
}

/* ---- Reading ---- */

static void
take_record(struct step_records *s, struct kept_pod *p, struct arena *arena, struct json *tree)
{
    struct step_record r = {0};
    struct kept_step *known;

    if (record_normalize(&step_record_record, arena, tree, NULL, NULL) < 0)
        return;
    record_decode(&step_record_record, arena, tree, &r);
    if (r.state == NULL || r.id < 0 || r.id >= STEP_RECORDS_MOST)
        return;
    known = find_record(p, r.id);
    if (known != NULL)
        set_record(known, &r);
    else
        add_record(s, p, &r);
}

static struct kept_pod *
take_pod(struct step_records *s, const char *uid, struct arena *arena, struct json *tree)
{
    struct step_batch batch = {0};
    struct kept_pod *p = map_find(s->pods, uid);

    if (record_normalize(&step_batch_record, arena, tree, NULL, NULL) < 0)
        return p;
    record_decode(&step_batch_record, arena, tree, &batch);
    if (batch.namespace == NULL || batch.pod == NULL || batch.pod_uid == NULL
        || strcmp(batch.pod_uid, uid) != 0)
        return p;
    if (p == NULL)
        p = add_pod(s, &(struct step_records_pod){batch.namespace, batch.pod, uid});
    p->omitted = batch.omitted;
    return p;
}

static struct kept_pod *
take_line(struct step_records *s, struct kept_pod *p, const char *uid, const char *line,
          size_t length)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *tree = json_parse(arena, line, length, NULL, NULL);
    struct kept_step *known;
    int64_t id;

    if (json_get(tree, "podUid") != NULL)
        return take_pod(s, uid, arena, tree);
    if (p == NULL || tree == NULL)
        return p;
    if (json_get(tree, MEMBER_CLOSED) != NULL)
        p->is_closed = true;
    else if ((id = json_get_int(tree, MEMBER_KNOWN, -1)) >= 0) {
        known = find_record(p, id);
        if (known != NULL && known->r.end_at_us > 0) {
            known->acknowledged = known->version;
            kept_pod_remove_known(s, p);
        }
    } else
        take_record(s, p, arena, tree);
    return p;
}

/* A torn last line is ignored. */
static void
read_file(struct step_records *s, const char *uid)
{
    CLEANUP_FREE char *path = xasprintf("%s/%s", s->dir, uid);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct kept_pod *p = NULL;

    if (file_read(path, FILE_BYTES, &text, NULL) < 0)
        return;
    for (const char *line = text.text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1)
        p = take_line(s, p, uid, line, (size_t)(end - line));
    if (p == NULL) {
        unlink(path);
        return;
    }
    p->bytes = text.length;
    shrink(s, p);
    (void)kept_pod_forget_if_done(s, p);
}

int
step_records_open(const char *dir, struct step_records **ret_records, struct error *err)
{
    struct step_records *s;
    int r = dir_make(dir, 0700, err);
    DIR *d = r == 0 ? opendir(dir) : NULL;

    if (d == NULL)
        return r < 0 ? r : error_set(err, -errno, "'%s': %s", dir, strerror(errno));
    s = xnew(struct step_records);
    s->dir = xstrdup(dir);
    s->pods = map_new();
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        if (e->d_name[0] != '.')
            read_file(s, e->d_name);
    closedir(d);
    *ret_records = s;
    return 0;
}

void
step_records_free(struct step_records *s)
{
    size_t at = 0;
    void *p;

    if (s == NULL)
        return;
    while (map_next(s->pods, &at, NULL, &p))
        free_pod(p);
    map_free(s->pods);
    free(s->dir);
    free(s);
}

/* ---- Changes ---- */

static void
omit(struct step_records *s, struct kept_pod *p)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    p->omitted++;
    print_pod(p, &text);
    kept_pod_append(s, p, &text);
}

void
step_records_begin(struct step_records *s, const struct step_records_pod *pod,
                   const struct step_record *record)
{
    struct kept_pod *p = map_find(s->pods, pod->uid);

    if (p == NULL)
        p = add_pod(s, pod);
    if (find_record(p, record->id) != NULL)
        return;
    if (record->id >= STEP_RECORDS_MOST || s->count >= STEP_RECORDS_OF_NODE_MOST) {
        omit(s, p);
        return;
    }
    add_record(s, p, record);
    append_record(s, p, record);
}

const struct step_record *
step_records_find(const struct step_records *s, const char *pod_uid, int64_t id)
{
    const struct kept_step *r = find_record(map_find(s->pods, pod_uid), id);

    return r != NULL && r->r.end_at_us == 0 ? &r->r : NULL;
}

void
step_records_end(struct step_records *s, const char *pod_uid, const struct step_record *record)
{
    struct kept_pod *p = map_find(s->pods, pod_uid);
    struct kept_step *r = find_record(p, record->id);

    if (r == NULL || r->r.end_at_us > 0)
        return;
    set_record(r, record);
    append_record(s, p, &r->r);
}

void
step_records_observe(struct step_records *s, const char *pod_uid, const struct step_record *record)
{
    struct kept_step *r = find_record(map_find(s->pods, pod_uid), record->id);

    if (r != NULL && r->r.end_at_us == 0)
        set_record(r, record);
}

/* Written down, for an agent that sees its end. */
bool
step_records_cancel(struct step_records *s, const char *pod_uid, int64_t id, int64_t uid,
                    int64_t now_us)
{
    struct kept_pod *p = map_find(s->pods, pod_uid);
    struct kept_step *known = find_record(p, id);
    struct step_record r;

    if (known == NULL || known->r.end_at_us > 0 || known->r.ended_by != NULL)
        return false;
    r = known->r;
    r.ended_by = &uid;
    r.observed_at_us = now_us;
    set_record(known, &r);
    append_record(s, p, &known->r);
    return true;
}

void
step_records_close(struct step_records *s, const char *pod_uid, const char *state, int64_t now_us)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct kept_pod *p = map_find(s->pods, pod_uid);

    if (p == NULL || p->is_closed)
        return;
    for (unsigned i = 0; i < p->count; i++)
        if (p->records[i].r.end_at_us == 0) {
            struct step_record r = p->records[i].r;

            r.state = state;
            r.end_at_us = r.observed_at_us = now_us;
            step_records_end(s, pod_uid, &r);
        }
    p->is_closed = true;
    strbuf_add_text(&text, "{\"" MEMBER_CLOSED "\":true}\n");
    kept_pod_append(s, p, &text);
    (void)kept_pod_forget_if_done(s, p);
}

void
step_records_close_others(struct step_records *s,
                          bool (*is_here)(const char *pod_uid, void *context), void *context,
                          const char *state, int64_t now_us)
{
    const char *uid;
    size_t at = 0;
    void *value;

    while (map_next(s->pods, &at, &uid, &value))
        if (!((struct kept_pod *)value)->is_closed && !is_here(uid, context)) {
            step_records_close(s, uid, state, now_us);
            at = 0; /* the map may have changed */
        }
}
