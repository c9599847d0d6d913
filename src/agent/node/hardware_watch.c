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
    struct hardware_check *l = arg;

    fingerprint_read("", &l->request, l->was, &l->fingerprint);
    if (!l->is_asked && l->fingerprint_before != NULL
        && strcmp(l->fingerprint_before, l->fingerprint.text) == 0)
        return;
    if (hardware_discover(&l->request, &l->is, &l->err) < 0)
        return;
    if (!difference_find(l->was, l->is, &l->words)) {
        topology_free(l->is);
        l->is = NULL;
    }
}

static void
destroy(struct hardware_watch *s)
{
    timer_free(s->timer);
    fdwatch_free(s->watch);
    if (s->fd >= 0)
        close(s->fd);
    free(s->fingerprint);
    free(s);
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
take_result(struct hardware_watch *s, struct hardware_check *l)
{
    if (l->err.text[0] != '\0') {
        if (!s->is_quiet)
            log_warning("cannot read the hardware of this machine again: %s; "
                        "continuing with the earlier result",
                        l->err.text);
        s->is_quiet = true;
        return;
    }
    s->is_quiet = false;
    free(s->fingerprint);
    s->fingerprint = strbuf_take(&l->fingerprint);
    if (l->is != NULL) {
        bool is_less = has_less(l->was, l->is);

        s->s.topology = l->is;
        s->s.changed(l->is, l->words.length > 0 ? l->words.text : "the hardware has changed",
                     is_less, s->s.context);
        l->is = NULL;
        free(s->fingerprint); /* it was taken with the former devices */
        s->fingerprint = NULL;
    }
}

static void
on_checked(void *arg)
{
    struct hardware_check *l = arg;
    struct hardware_watch *s = l->hardware_watch;

    s->is_busy = false;
    if (s->is_freed) {
        destroy(s);
    } else {
        take_result(s, l);
        timer_start(s->timer, s->is_asked ? 0 : s->s.every_ms);
    }
    topology_free(l->is);
    free(l->fingerprint_before);
    strbuf_fini(&l->fingerprint);
    strbuf_fini(&l->words);
    free(l);
}

static void
start_check(void *context)
{
    struct hardware_watch *s = context;
    struct hardware_check *l;

    if (s->is_busy)
        return;
    l = xnew(struct hardware_check);
    l->hardware_watch = s;
    l->request = *s->s.request;
    l->was = s->s.topology;
    l->is_asked = s->is_asked;
    l->fingerprint_before = s->fingerprint != NULL ? xstrdup(s->fingerprint) : NULL;
    l->fingerprint = (struct strbuf)STRBUF_INIT;
    l->words = (struct strbuf)STRBUF_INIT;
    s->is_asked = false;
    s->is_busy = true;
    workers_submit(s->s.workers, s->s.loop, run_check, on_checked, l);
}

void
hardware_watch_check(struct hardware_watch *s)
{
    s->is_asked = true;
    if (!s->is_busy)
        timer_start(s->timer, 0);
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
    struct hardware_watch *s = context;
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
    s->is_asked = true;
    if (!s->is_busy)
        timer_start(s->timer, SETTLE_MS);
}

/* Without the socket (a container may have no netlink) only the timer and
 * SIGHUP start checks.
 */
static void
listen_to_kernel(struct hardware_watch *s)
{
    struct sockaddr_nl address = {
        .nl_family = AF_NETLINK,
        .nl_groups = KERNEL_GROUP,
    };

    s->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT);
    if (s->fd < 0)
        return;
    if (bind(s->fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
        close(s->fd);
        s->fd = -1;
        return;
    }
    s->watch = fdwatch_new(s->s.loop, s->fd, FDWATCH_READ, on_announced, s);
}

struct hardware_watch *
hardware_watch_new(const struct hardware_watch_settings *settings)
{
    struct hardware_watch *s = xnew(struct hardware_watch);

    s->s = *settings;
    s->fd = -1;
    s->timer = timer_new(settings->loop, start_check, s);
    if (settings->request->given == NULL)
        listen_to_kernel(s);
    timer_start(s->timer, settings->every_ms);
    return s;
}

void
hardware_watch_free(struct hardware_watch *s)
{
    if (s == NULL)
        return;
    s->is_freed = true;
    timer_stop(s->timer);
    fdwatch_free(s->watch);
    s->watch = NULL;
    if (!s->is_busy)
        destroy(s);
}
