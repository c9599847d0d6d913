/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/steps/step_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/list.h"
#include "lib/base/strbuf.h"
#include "lib/loop/fdwatch.h"
#include "lib/loop/timer.h"
#include "lib/step/step_frames.h"

#define BACKLOG      1024
#define ACCEPTS_MOST 64 /* in a row, before others have their turn */
#define HELLO_MS     10000
/* Connections without a complete request, of one user and of all. */
#define USER_MOST    256u
#define ALL_MOST     2048u
/* Without descriptors, new connections wait in the backlog. */
#define PAUSE_MS     100

struct step_socket {
    struct step_socket_settings s;
    int fd;
    struct fdwatch *watch;
    struct timer *pause;
    struct list guests;
    unsigned n_guests;
    char *path;
};

struct guest {
    struct list link;
    struct step_socket *door;
    int fd;
    struct step_peer caller;
    struct step_reader in;
    struct fdwatch *watch;
    struct timer *timer;
};

void
step_socket_answer(int connection, enum step_frame_type type, const char *words)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    ssize_t n;

    step_frame_add(&out, &(struct step_frame){
                             .type = type,
                             .task = STEP_ALL_TASKS,
                             .payload = words,
                             .length = strnlen(words, STEP_FRAME_BYTES),
                         });
    n = send(connection, out.text, out.length, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)n; /* a krun that is gone needs no answer */
}

static void
free_guest(struct guest *g)
{
    fdwatch_free(g->watch);
    timer_free(g->timer);
    step_reader_fini(&g->in);
    if (g->fd >= 0)
        close(g->fd);
    list_remove(&g->link);
    g->door->n_guests--;
    free(g);
}

static void
on_late(void *context)
{
    struct guest *g = context;

    step_socket_answer(g->fd, STEP_FRAME_REFUSE, "no request came within 10 seconds");
    free_guest(g);
}

static void
hand_over(struct guest *g, const struct step_frame *f)
{
    const struct step_socket *d = g->door;
    const int fd = g->fd;

    fdwatch_free(g->watch);
    g->watch = NULL;
    g->fd = -1;
    d->s.asked(fd, &g->caller, f->payload, f->length, d->s.context);
    free_guest(g);
}

static void
on_readable(int fd, UNUSED unsigned ready, void *context)
{
    struct guest *g = context;
    struct step_frame f;
    size_t room;
    char *at = step_reader_space(&g->in, &room);
    ssize_t n = recv(fd, at, room, MSG_DONTWAIT);
    int r;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        free_guest(g);
        return;
    }
    step_reader_add(&g->in, (size_t)n);
    r = step_reader_next(&g->in, &f);
    if (r == 0)
        return;
    if (r < 0 || f.type != STEP_FRAME_HELLO || step_reader_left(&g->in) > 0) {
        step_socket_answer(fd, STEP_FRAME_REFUSE,
                           "this is not the request of a krun of this release");
        free_guest(g);
        return;
    }
    hand_over(g, &f);
}

static unsigned
count_guests(const struct step_socket *d, uid_t uid)
{
    unsigned n = 0;

    list_foreach(at, &d->guests) n += container_of(at, struct guest, link)->caller.uid == uid;
    return n;
}

static void
add_guest(struct step_socket *d, int fd, const struct step_peer *caller)
{
    struct guest *g;

    if (d->n_guests >= ALL_MOST || count_guests(d, caller->uid) >= USER_MOST) {
        step_socket_answer(fd, STEP_FRAME_REFUSE,
                           "too many connections that have not sent their request; try again");
        close(fd);
        return;
    }
    g = xnew(struct guest);
    g->door = d;
    g->fd = fd;
    g->caller = *caller;
    g->watch = fdwatch_new(d->s.loop, fd, FDWATCH_READ, on_readable, g);
    g->timer = timer_new(d->s.loop, on_late, g);
    timer_start(g->timer, HELLO_MS);
    list_add_last(&d->guests, &g->link);
    d->n_guests++;
}

static void
on_connection(int fd, UNUSED unsigned ready, void *context)
{
    struct step_socket *d = context;

    for (int i = 0; i < ACCEPTS_MOST; i++) {
        int connection = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        struct ucred peer;
        socklen_t length = sizeof(peer);

        if (connection < 0) {
            if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM)
                return;
            fdwatch_want(d->watch, 0);
            timer_start(d->pause, PAUSE_MS);
            return;
        }
        if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0) {
            close(connection);
            continue;
        }
        add_guest(d, connection, &(struct step_peer){.pid = peer.pid, .uid = peer.uid});
    }
}

static void
on_pause(void *context)
{
    struct step_socket *d = context;

    fdwatch_want(d->watch, FDWATCH_READ);
}

/* A path may be longer than an address can hold, so the directory is opened first.
 * The socket gets its rights before it listens; everybody may connect.
 */
static int
listen_at(int fd, const char *path, struct error *err)
{
    const char *slash = strrchr(path, '/');
    CLEANUP_FREE char *folder = xstrndup(path, (size_t)(slash - path));
    CLEANUP_FD int dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int n;

    if (dir < 0)
        return error_set(err, -errno, "'%s': %s", folder, strerror(errno));
    n = snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", dir, slash + 1);
    if (n < 0 || (size_t)n >= sizeof(address.sun_path))
        return error_set(err, -ENAMETOOLONG, "'%s': %s", path, strerror(ENAMETOOLONG));
    if ((unlink(path) < 0 && errno != ENOENT)
        || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 || chmod(path, 0666) < 0
        || listen(fd, BACKLOG) < 0)
        return error_set(err, -errno, "'%s': %s", path, strerror(errno));
    return 0;
}

int
step_socket_open(const struct step_socket_settings *settings, struct step_socket **ret_door,
                 struct error *err)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct step_socket *d;
    int r = fd < 0 ? error_set(err, -errno, "socket: %s", strerror(errno))
                   : listen_at(fd, settings->path, err);

    if (r < 0) {
        if (fd >= 0)
            close(fd);
        return r;
    }
    d = xnew(struct step_socket);
    d->s = *settings;
    d->path = xstrdup(settings->path);
    d->fd = fd;
    list_init(&d->guests);
    d->watch = fdwatch_new(settings->loop, fd, FDWATCH_READ, on_connection, d);
    d->pause = timer_new(settings->loop, on_pause, d);
    *ret_door = d;
    return 0;
}

/* The socket's file stays: kruns wait for the next agent. */
void
step_socket_free(struct step_socket *d)
{
    if (d == NULL)
        return;
    list_foreach_safe(at, &d->guests) free_guest(container_of(at, struct guest, link));
    fdwatch_free(d->watch);
    timer_free(d->pause);
    close(d->fd);
    free(d->path);
    free(d);
}
