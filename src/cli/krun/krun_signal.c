/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/krun/krun_signal.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "cli/krun/krun_link.h"
#include "cli/krun/krun_nodes.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/step/step_frames.h"

/* A step that is being started. */
#define TRIES    50
#define AGAIN_US 200000

static int
take_answer(const struct step_frame *f, int64_t id, struct error *err)
{
    switch (f->type) {
    case STEP_FRAME_ACCEPT:
        return 0;
    case STEP_FRAME_WAIT:
        return error_set(err, -EBUSY, "step %" PRId64 " is still being started", id);
    case STEP_FRAME_END:
        return error_set(err, -ESRCH, "no step %" PRId64 " of the job runs", id);
    case STEP_FRAME_REFUSE:
        return error_set(err, -EREMOTEIO, "%.*s", (int)f->length, f->payload);
    default:
        return error_set(err, -EBADMSG, "the agent's answer is not understood");
    }
}

static int
call(struct krun_nodes *nodes, const struct strbuf *request, int64_t id, struct error *err)
{
    struct krun_link l;
    struct step_frame f;
    int r = krun_nodes_dial_manager(nodes, &l, err);

    if (r < 0)
        return r;
    krun_link_add(&l, STEP_FRAME_CALL, request->text, request->length);
    r = krun_link_wait(&l, &f, err);
    if (r == 0)
        r = take_answer(&f, id, err);
    krun_link_close(&l);
    return r;
}

int
krun_signal_step(const char *place, const char *pod_uid, int64_t id, int signal_number,
                 struct error *err)
{
    CLEANUP(krun_nodes_freep) struct krun_nodes *nodes = NULL;
    CLEANUP_STRBUF struct strbuf request = STRBUF_INIT;
    int r = krun_nodes_open(place, pod_uid, true, &nodes, err);

    strbuf_printf(&request, "%s %" PRId64 " %d", pod_uid, id, signal_number);
    if (r == 0)
        r = call(nodes, &request, id, err);
    for (int i = 1; r == -EBUSY && i < TRIES; i++) {
        usleep(AGAIN_US);
        r = call(nodes, &request, id, err);
    }
    return r;
}
