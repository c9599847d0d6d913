/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of the store to others: one object, a list, a watch, a blob, a damaged row. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/store/memory/blob_counts.h"
#include "controller/store/memory/change_log.h"
#include "controller/store/memory/object_index.h"
#include "controller/store/memory/secondary_index.h"
#include "controller/store/memory/watchers.h"
#include "controller/store/past_events.h"
#include "controller/store/quarantine.h"
#include "controller/store/scrub.h"
#include "controller/store/store_state.h"
#include "controller/store/write/serial_worker.h"
#include "controller/store/write/writer.h"
#include "lib/api/job/job.h"
#include "lib/api/object/kind.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"

const struct object *
store_find(const struct store *s, enum store_head head, const struct kind *kind,
           const char *namespace, const char *name)
{
    const struct entry *entry =
        object_index_find(contents_section(&s->contents, kind)->objects, namespace, name);

    return entry != NULL ? entry->heads[head] : NULL;
}

static bool
take_first(const struct object *object, void *context)
{
    *(const struct object **)context = object;
    return false;
}

const struct object *
store_find_job_id(const struct store *s, enum store_head head, int64_t id)
{
    const struct object *found = NULL;
    char value[32];

    snprintf(value, sizeof(value), "%lld", (long long)id);
    store_visit_index(s, &job_kind, JOB_BY_ID, head, value, take_first, &found);
    return found;
}

int64_t
store_revision(const struct store *s)
{
    return change_log_revision(s->change_log);
}

int64_t
store_opened_at(const struct store *s)
{
    return s->opening.opened_at;
}

int64_t
store_begun_at(const struct store *s)
{
    return s->opening.begun_at;
}

bool
store_was_closed(const struct store *s)
{
    return s->opening.was_closed;
}

uint64_t
store_run(const struct store *s)
{
    return s->opening.runs.links[s->opening.runs.count - 1].run;
}

const struct run_chain *
store_runs(const struct store *s)
{
    return &s->opening.runs;
}

int64_t
store_epoch(const struct store *s)
{
    return s->opening.epoch;
}

void
store_durable(const struct store *s, int64_t *ret_revision, int64_t *ret_job_id)
{
    *ret_revision = writer_durable(s->writer)->revision;
    *ret_job_id = writer_durable(s->writer)->job_id;
}

int64_t
store_oldest_revision(const struct store *s)
{
    return change_log_oldest_revision(s->change_log);
}

bool
store_has_read(const struct store *s, const struct kind *kind)
{
    return !kind_is(kind, KIND_TRANSIENT) || past_events_are_read(s->past_events);
}

size_t
store_count(const struct store *s, const struct kind *kind)
{
    return contents_section(&s->contents, kind)->count;
}

/* The first entry that a list visits. */
static struct entry *
start_of_list(const struct object_index *objects, const char *namespace, const char *after)
{
    CLEANUP_FREE char *copy = after != NULL ? xstrdup(after) : NULL;
    char *slash = copy != NULL ? strchr(copy, '/') : NULL;

    if (copy == NULL)
        return namespace != NULL ? object_index_seek(objects, namespace, "")
                                 : object_index_first(objects);
    if (slash == NULL)
        return object_index_seek_behind(objects, NULL, copy);
    *slash = '\0';
    if (namespace != NULL && strcmp(copy, namespace) < 0)
        return object_index_seek(objects, namespace, "");
    return object_index_seek_behind(objects, copy, slash + 1);
}

int
store_list(struct store *s, const struct kind *kind, const char *namespace, const char *after,
           int64_t revision, store_visit_fn *visit, void *context)
{
    const struct object_index *objects = contents_section(&s->contents, kind)->objects;
    bool is_now = revision == 0 || revision >= store_revision(s);

    if (!is_now && revision < store_oldest_revision(s))
        return -ESTALE;
    for (const struct entry *e = start_of_list(objects, namespace, after); e != NULL;
         e = e->next[0]) {
        const struct object *object =
            is_now ? e->heads[STORE_PUBLISHED] : change_log_at(s->change_log, e, revision);

        if (namespace != NULL && strcmp(entry_namespace(e), namespace) != 0)
            break;
        if (object != NULL && !visit(object, context))
            break;
    }
    return 0;
}

void
store_visit_index(const struct store *s, const struct kind *kind, unsigned index,
                  enum store_head head, const char *value, store_visit_fn *visit, void *context)
{
    secondary_index_visit(contents_section(&s->contents, kind)->indexes[index], head, value, visit,
                          context);
}

const char *
store_find_secret(const struct store *s, const char *name)
{
    return map_find(s->contents.secrets, name);
}

size_t
store_visit_secrets(const struct store *s, const char *prefix, store_secret_fn *visit,
                    void *context)
{
    const size_t length = strlen(prefix);
    const char *name;
    void *value;
    size_t at = 0, n = 0;

    while (map_next(s->contents.secrets, &at, &name, &value))
        if (strncmp(name, prefix, length) == 0) {
            visit(name, value, context);
            n++;
        }
    return n;
}

int
store_watch(struct store *s, const struct kind *kind, int64_t revision, int index,
            const char *value, store_change_fn *changed, void *context,
            struct store_watch **ret_watch)
{
    const struct watch_request request = {
        .kind = kind,
        .index = index,
        .value = value,
        .revision = revision,
        .changed = changed,
        .context = context,
    };

    if (revision < store_oldest_revision(s))
        return -ESTALE;
    watchers_add(s->watchers, s->change_log, &request, ret_watch);
    return 0;
}

void
store_unwatch(struct store_watch *watch)
{
    if (watch != NULL)
        watchers_remove(watch);
}

void
store_compact(struct store *s, int64_t revision)
{
    change_log_forget_to(s->change_log, revision);
}

/* --- blobs ----------------------------------------------------------------------------------- */

/* A pending read of a blob. */
struct blob_read {
    struct serial_worker_task task;
    struct store *store;
    int64_t row;
    struct strbuf content;
    int result;
    struct error err;
    store_blob_fn *got;
    void *context;
};

static void
read_blob_work(struct serial_worker_task *task)
{
    struct blob_read *read = container_of(task, struct blob_read, task);
    struct engine *engine = read->store->engine;

    read->result = engine->ops->read_blob(engine, read->row, &read->content, &read->err);
}

static void
read_blob_done(struct serial_worker_task *task)
{
    struct blob_read *read = container_of(task, struct blob_read, task);
    bool is_there = read->result == 0;

    if (read->result < 0 && read->result != -ENOENT)
        log_error("Cannot read a blob: %s", read->err.text);
    read->got(is_there ? read->content.text : NULL, is_there ? read->content.length : 0,
              read->context);
    strbuf_fini(&read->content);
    free(read);
}

static void
submit_read(int outcome, void *context)
{
    struct blob_read *read = context;

    (void)outcome; /* a refused blob is then not found */
    serial_worker_submit(read->store->reader, &read->task);
}

/* A missing blob is read the same way, so that the callback never runs before
 * this call has returned.
 */
void
store_get_blob(struct store *s, const char *digest, store_blob_fn *got, void *context)
{
    struct stored_blob blob = blob_counts_get(s->contents.blobs, digest);
    struct blob_read *read = xnew(struct blob_read);

    read->task.work = read_blob_work;
    read->task.done = read_blob_done;
    read->store = s;
    read->row = blob.row;
    read->got = got;
    read->context = context;
    strbuf_init(&read->content);
    if (blob.revision > store_revision(s))
        store_when_durable(s, submit_read, read);
    else
        submit_read(0, read);
}

/* --- rows that could not be read ------------------------------------------------------ */

size_t
store_count_damaged(const struct store *s)
{
    return quarantine_count(s->contents.quarantine);
}

size_t
store_count_damaged_since(const struct store *s)
{
    return scrub_count(s->scrub);
}

const struct store_damaged *
store_damaged(const struct store *s, size_t i)
{
    return quarantine_get(s->contents.quarantine, i);
}

bool
store_is_damaged(const struct store *s, const struct kind *kind, const char *namespace,
                 const char *name)
{
    CLEANUP_FREE char *key = NULL;

    if (quarantine_count(s->contents.quarantine) == 0 || name == NULL)
        return false;
    key = namespace != NULL && namespace[0] != '\0'
              ? xasprintf("%s/%s/%s", contents_section(&s->contents, kind)->name, namespace, name)
              : xasprintf("%s/%s", contents_section(&s->contents, kind)->name, name);
    return quarantine_has(s->contents.quarantine, key);
}

bool
store_names_damaged(const struct store *s, const char *uid)
{
    return uid != NULL && quarantine_names(s->contents.quarantine, uid);
}
