/* SPDX-License-Identifier: Apache-2.0 */
/* Discovery costs milliseconds of a worker and may wait for drivers, so it is not repeated in
 * vain: a fingerprint of some small files is compared first. Uevents come in bursts, and may
 * be lost or missing in a container, hence the timer as well.
 */
#include "agent/node/hardware_watch.h"

#include <errno.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/hardware/difference.h"
#include "agent/hardware/fingerprint.h"
#include "agent/hardware/hardware.h"
#include "lib/api/node/topology.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/loop/fdwatch.h"
#include "lib/loop/timer.h"
#include "lib/loop/workers.h"

#define SETTLE_MS    300 /* uevents come in bursts */
#define KERNEL_GROUP 1   /* of NETLINK_KOBJECT_UEVENT: the kernel's own */

struct hardware_watch {
    struct hardware_watch_settings s;
    struct timer *timer;
    struct fdwatch *watch;
    int fd;
    char *fingerprint; /* of the last check; NULL: none */
    bool is_asked;     /* to discover even if the fingerprint is unchanged */
    bool is_busy;
    bool is_freed;
    bool is_quiet; /* the current failure has been logged */
};

/* One check. It runs on a worker. */
struct hardware_check {
    struct hardware_watch *hardware_watch;
    struct hardware_request request;
    const struct topology *was;
    char *fingerprint_before;
    bool is_asked;
    struct strbuf fingerprint;
    struct topology *is;
    struct strbuf words;
    struct error err;
};

static void
run_check(void *arg)
{
    struct hardware_check *c = arg;

    fingerprint_read("", &c->request, c->was, &c->fingerprint);
    if (!c->is_asked && c->fingerprint_before != NULL
        && strcmp(c->fingerprint_before, c->fingerprint.text) == 0)
        return;
    if (hardware_discover(&c->request, &c->is, &c->err) < 0)
        return;
    if (!difference_find(c->was, c->is, &c->words)) {
        topology_free(c->is);
        c->is = NULL;
    }
}

static void
destroy(struct hardware_watch *w)
{
    timer_free(w->timer);
    fdwatch_free(w->watch);
    if (w->fd >= 0)
        close(w->fd);
    free(w->fingerprint);
    free(w);
}

static bool
has_less(const struct topology *was, const struct topology *is)
{
    uint64_t memory_was = 0, memory_is = 0;

    for (unsigned i = 0; i < was->n_numa; i++)
        memory_was += was->numa[i].memory_bytes;
    for (unsigned i = 0; i < is->n_numa; i++)
        memory_is += is->numa[i].memory_bytes;
    return !bitset_contains(&is->pus, &was->pus) || memory_is < memory_was
           || is->n_devices < was->n_devices;
}

static void
take_result(struct hardware_watch *w, struct hardware_check *c)
{
    if (c->err.text[0] != '\0') {
        if (!w->is_quiet)
            log_warning("cannot read the hardware of this machine again: %s; "
                        "continuing with the earlier result",
                        c->err.text);
        w->is_quiet = true;
        return;
    }
    w->is_quiet = false;
    free(w->fingerprint);
    w->fingerprint = strbuf_take(&c->fingerprint);
    if (c->is != NULL) {
        bool is_less = has_less(c->was, c->is);

        w->s.topology = c->is;
        w->s.changed(c->is, c->words.length > 0 ? c->words.text : "the hardware has changed",
                     is_less, w->s.context);
        c->is = NULL;
        free(w->fingerprint); /* it was taken with the former devices */
        w->fingerprint = NULL;
    }
}

static void
on_checked(void *arg)
{
    struct hardware_check *c = arg;
    struct hardware_watch *w = c->hardware_watch;

    w->is_busy = false;
    if (w->is_freed) {
        destroy(w);
    } else {
        take_result(w, c);
        timer_start(w->timer, w->is_asked ? 0 : w->s.every_ms);
    }
    topology_free(c->is);
    free(c->fingerprint_before);
    strbuf_fini(&c->fingerprint);
    strbuf_fini(&c->words);
    free(c);
}

static void
start_check(void *context)
{
    struct hardware_watch *w = context;
    struct hardware_check *c;

    if (w->is_busy)
        return;
    c = xnew(struct hardware_check);
    c->hardware_watch = w;
    c->request = *w->s.request;
    c->was = w->s.topology;
    c->is_asked = w->is_asked;
    c->fingerprint_before = w->fingerprint != NULL ? xstrdup(w->fingerprint) : NULL;
    c->fingerprint = (struct strbuf)STRBUF_INIT;
    c->words = (struct strbuf)STRBUF_INIT;
    w->is_asked = false;
    w->is_busy = true;
    workers_submit(w->s.workers, w->s.loop, run_check, on_checked, c);
}

void
hardware_watch_check(struct hardware_watch *w)
{
    w->is_asked = true;
    if (!w->is_busy)
        timer_start(w->timer, 0);
}

/* ---- Events of the kernel ---- */

/* Whether a uevent concerns what a topology contains. A message is a list of
 * strings: "add@/devices/...\0ACTION=add\0SUBSYSTEM=cpu\0...".
 */
static bool
is_about_hardware(const char *message, size_t length)
{
    static const char *const subsystems[] = {"SUBSYSTEM=cpu", "SUBSYSTEM=memory", "SUBSYSTEM=node",
                                             "SUBSYSTEM=pci", "SUBSYSTEM=drm",    "SUBSYSTEM=nvme"};

    for (size_t at = 0; at < length; at += strlen(message + at) + 1)
        for (size_t i = 0; i < ARRAY_SIZE(subsystems); i++)
            if (strcmp(message + at, subsystems[i]) == 0)
                return true;
    return false;
}

static void
on_announced(int fd, UNUSED unsigned ready, void *context)
{
    struct hardware_watch *w = context;
    char message[8192];
    bool matters = false;

    for (;;) {
        ssize_t n = recv(fd, message, sizeof(message) - 1, MSG_DONTWAIT);

        if (n < 0 && errno == ENOBUFS) { /* messages were lost */
            matters = true;
            continue;
        }
        if (n <= 0)
            break;
        message[n] = '\0';
        matters = matters || is_about_hardware(message, (size_t)n);
    }
    if (!matters)
        return;
    w->is_asked = true;
    if (!w->is_busy)
        timer_start(w->timer, SETTLE_MS);
}

/* Without the socket (a container may have no netlink) only the timer and
 * SIGHUP start checks.
 */
static void
listen_to_kernel(struct hardware_watch *w)
{
    struct sockaddr_nl address = {
        .nl_family = AF_NETLINK,
        .nl_groups = KERNEL_GROUP,
    };

    w->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT);
    if (w->fd < 0)
        return;
    if (bind(w->fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
        close(w->fd);
        w->fd = -1;
        return;
    }
    w->watch = fdwatch_new(w->s.loop, w->fd, FDWATCH_READ, on_announced, w);
}

struct hardware_watch *
hardware_watch_new(const struct hardware_watch_settings *settings)
{
    struct hardware_watch *w = xnew(struct hardware_watch);

    w->s = *settings;
    w->fd = -1;
    w->timer = timer_new(settings->loop, start_check, w);
    if (settings->request->given == NULL)
        listen_to_kernel(w);
    timer_start(w->timer, settings->every_ms);
    return w;
}

void
hardware_watch_free(struct hardware_watch *w)
{
    if (w == NULL)
        return;
    w->is_freed = true;
    timer_stop(w->timer);
    fdwatch_free(w->watch);
    w->watch = NULL;
    if (!w->is_busy)
        destroy(w);
}
