/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/krun/krun_lost.h"

#include <inttypes.h>
#include <signal.h>
#include <unistd.h>

#include "cli/krun/krun_ends.h"
#include "cli/krun/krun_link.h"
#include "cli/krun/krun_nodes.h"
#include "lib/base/strbuf.h"
#include "lib/step/step_frames.h"

/* The agent ends what is left of the step first. */
#define TRIES    30
#define AGAIN_US 100000

/* True: the words of the agent. An agent of the release before refuses the question. */
static bool
ask_once(const struct krun_lost *lost, const char *node, struct strbuf *words, bool *ret_again)
{
    CLEANUP_STRBUF struct strbuf question = STRBUF_INIT;
    struct krun_link l;
    struct step_frame f;

    *ret_again = false;
    if (krun_nodes_dial_again(lost->nodes, node, &l, NULL) < 0)
        return false;
    strbuf_printf(&question, "%s %" PRId64, lost->pod_uid, lost->step);
    krun_link_add(&l, STEP_FRAME_WHY, question.text, question.length);
    if (krun_link_wait(&l, &f, NULL) == 0) {
        *ret_again = f.type == STEP_FRAME_WAIT;
        if (f.type == STEP_FRAME_END)
            strbuf_add(words, f.payload, f.length);
    }
    krun_link_close(&l);
    return words->length > 0;
}

static bool
ask(const struct krun_lost *lost, const char *node, struct strbuf *words)
{
    bool again = true;

    for (int i = 0; again && i < TRIES; i++) {
        if (i > 0)
            usleep(AGAIN_US);
        if (ask_once(lost, node, words, &again))
            return true;
    }
    return false;
}

bool
krun_lost_explain(const struct krun_lost *lost, struct krun_ends *ends)
{
    bool is_explained = false;

    for (unsigned i = 0; i < lost->n_links; i++) {
        CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;
        const struct krun_link *l = &lost->links[i];

        if (!l->is_lost || l->has_ended || !ask(lost, l->node, &words))
            continue;
        krun_ends_add_node(ends, i,
                           &(struct step_exit){
                               .signal = SIGKILL,
                               .message = words.text,
                               .message_length = words.length,
                           });
        is_explained = true;
    }
    return is_explained;
}
