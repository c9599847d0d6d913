/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "controller/store/memory/blob_counts.h"
#include "controller/store/store_state.h"
#include "controller/store/write/serial_worker.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"

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
    struct stored_blob blob = blob_counts_get(s->blobs, digest);
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
