/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/krun/krun_hold.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "cli/krun/krun_link.h"
#include "cli/krun/krun_nodes.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/step/step_frames.h"

#define AGAIN_MS    1000
#define TELL_MS     10000 /* how long the end is told */
#define KILLED_CODE 137

struct krun_hold {
    const char *place, *pod;
    int control;
    bool is_ending, is_told;
    uint32_t code;
    int64_t ending_ms;
};

static int64_t
now_ms(void)
{
    return clock_boottime_us() / 1000;
}

static void
listen_to_kalloc(struct krun_hold *h, int most_ms)
{
    struct pollfd p = {.fd = h->control, .events = POLLIN};
    unsigned char code;
    ssize_t n;

    if (h->is_ending || poll(&p, 1, most_ms) <= 0)
        return;
    n = read(h->control, &code, 1);
    if (n < 0 && errno == EINTR)
        return;
    h->is_ending = true;
    h->ending_ms = now_ms();
    h->code = n == 1 ? code : KILLED_CODE;
}

static void
send_end(const struct krun_hold *h, struct krun_link *l)
{
    step_frame_add_exit(&l->out, 0, &(struct step_exit){.exit_code = h->code});
}

/* Until the link is lost, or the end was told. */
static void
hold_link(struct krun_hold *h, struct krun_link *l)
{
    bool is_held = false, has_sent_end = false;
    int64_t beat_ms = now_ms();

    krun_link_add(l, STEP_FRAME_HOLD, h->pod, strlen(h->pod));
    while (!l->is_lost && !h->is_told) {
        struct pollfd p[2] = {{.fd = l->fd, .events = POLLIN},
                              {.fd = h->is_ending ? -1 : h->control, .events = POLLIN}};
        struct step_frame f;

        if (!is_held && now_ms() - beat_ms > STEP_LOST_MS)
            return;
        if (is_held && h->is_ending && !has_sent_end) {
            send_end(h, l);
            has_sent_end = true;
        } else if (is_held && now_ms() - beat_ms >= STEP_BEAT_MS) {
            krun_link_add(l, STEP_FRAME_BEAT, NULL, 0);
            beat_ms = now_ms();
        }
        krun_link_flush(l);
        (void)krun_link_check(l, -1);
        (void)poll(p, 2, h->is_ending ? AGAIN_MS : STEP_BEAT_MS);
        listen_to_kalloc(h, 0);
        krun_link_receive(l);
        while (krun_link_next(l, &f) == 1) {
            is_held = is_held || f.type == STEP_FRAME_BEAT;
            if (f.type == STEP_FRAME_END)
                h->is_told = true;
            else if (f.type == STEP_FRAME_REFUSE)
                l->is_lost = true;
        }
        if (h->is_ending && now_ms() - h->ending_ms > TELL_MS)
            return;
    }
}

int
krun_hold_run(const char *place, const char *pod_uid, int control, struct error *err)
{
    struct krun_hold h = {.place = place, .pod = pod_uid, .control = control};
    int r = 0;

    while (!h.is_told) {
        CLEANUP(krun_nodes_freep) struct krun_nodes *nodes = NULL;
        struct krun_link l;

        r = krun_nodes_open(place, pod_uid, true, &nodes, err);
        if (r == 0)
            r = krun_nodes_dial_manager(nodes, &l, err);
        if (r == 0) {
            hold_link(&h, &l);
            krun_link_close(&l);
        }
        if (h.is_ending && !h.is_told && now_ms() - h.ending_ms > TELL_MS)
            return r < 0 ? r : error_set(err, -ETIMEDOUT, "the node does not answer");
        if (h.is_ending && !h.is_told)
            usleep(AGAIN_MS * 1000);
        else if (!h.is_told)
            listen_to_kalloc(&h, AGAIN_MS);
    }
    return 0;
}
