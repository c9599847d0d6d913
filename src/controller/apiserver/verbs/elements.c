/* SPDX-License-Identifier: Apache-2.0 */
/* elements.c - GET jobs/NAME/elements: what became of the elements of an array
 */
#include <inttypes.h>
#include <string.h>

#include "controller/apiserver/access/authorization.h"
#include "controller/apiserver/access/policy.h"
#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/objects/element_record.h"
#include "controller/apiserver/objects/write.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/verbs/verbs.h"
#include "controller/store/store.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_array.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

/* For the job controller at its start: {"chunks": [{"number": 0, "text": ...}]}
 * of those that are there.
 */
static struct json *
list_chunks(struct request *q, const struct object *job)
{
    const int64_t n = *job_of(job)->spec.completions;
    struct json *answer = json_object(q->arena);
    struct json *chunks = json_array(q->arena);

    for (int64_t i = 0; i * ELEMENTS_A_CHUNK < n; i++) {
        const char *text =
            element_record_find(q->server->store, job->meta->uid, i);
        struct json *chunk;

        if (text == NULL)
            continue;
        chunk = json_object(q->arena);
        json_set_int(q->arena, chunk, "number", i);
        json_set_string(q->arena, chunk, "text", text);
        json_append(q->arena, chunks, chunk);
    }
    json_set(q->arena, answer, "chunks", chunks);
    return answer;
}

void
verb_get_elements(struct request *q)
{
    const struct object *job = write_find(q);

    if (job == NULL || !authorization_covers(q, job)) {
        request_finish_durably(q);
        return;
    }
    if (!job_is_array(job_of(job)))
        reply_bad_request(&q->reply, "the Job is no array");
    else
        reply_tree(&q->reply, 200, list_chunks(q, job));
    request_finish_durably(q);
}
