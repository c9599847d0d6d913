/* SPDX-License-Identifier: Apache-2.0 */
/* step_socket.c - connections until they have sent their request
 *
 * Anybody on the machine can connect and say nothing, or a little. So
 * all is counted for each user: connections, bytes that are not a request yet, and time. When all
 * places are taken, the user with the most loses the oldest, so that nobody keeps others out by
 * being early; root never loses one, because a login waits for it (pam_kiln). All who have no pod
 * here are one user in this: with subordinate uids one user would be many, and a refusal is the most
 * that they are answered.
 */
#include "agent/steps/step_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/auth/step_handshake.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/list.h"
#include "lib/base/strbuf.h"
#include "lib/loop/fdwatch.h"
#include "lib/loop/timer.h"
#include "lib/step/step_channel.h"
#include "lib/step/step_frames.h"

#define BACKLOG      1024
#define ACCEPTS_MOST 64 /* in a row, before others have their turn */
#define HELLO_MS     10000
/* Connections without a complete request, of one user and of all. Of all of them, those of the
 * user with the most give way to a user with fewer; those of root, who asks for pam_kiln, never do.
 */
#define USER_MOST    256u
#define ALL_MOST     2048u
#define ROOT         0
/* Of their bytes, which arrive in pieces. A request of the usual size is not counted. */
#define USER_BYTES   (48u << 20)
#define ALL_BYTES    (256u << 20)
#define SMALL_BYTES  (128u << 10)
/* Without descriptors, new connections wait in the backlog. */
#define PAUSE_MS     100

struct step_socket {
    struct step_socket_settings s;
    int fd;
    struct fdwatch *watch;
    struct timer *pause;
    struct list guests; /* oldest first */
    unsigned n_guests, most;
    struct list users;
    char *path;
};

/* A user who has guests, or all who have no pods here. */
struct guest_user {
    struct list link;
    uid_t uid;
    bool has_pods;
    unsigned n_guests;
};

struct guest {
    struct list link;
    struct step_socket *door;
    struct guest_user *user;
    struct step_channel *channel; /* NULL: handed over */
    struct step_peer caller;
    char *pod, *by; /* of the caller */
    struct step_reader in;
    struct strbuf grant, places;
    struct fdwatch *watch;
    struct timer *timer;
};

/* A krun that is gone, or reads nothing, needs no answer. */
void
step_socket_answer(struct step_channel *connection, enum step_frame_type type, const char *payload)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    ssize_t n = 1;

    step_frame_add(&out, &(struct step_frame){
                             .type = type,
                             .task = STEP_ALL_TASKS,
                             .payload = payload,
                             .length = strnlen(payload, step_frame_limit(type)),
                         });
    for (size_t at = 0; at < out.length && n > 0; at += (size_t)n) {
        n = step_channel_send(connection, out.text + at, out.length - at);
        if (n < 0)
            return;
    }
}

int
step_socket_release(struct step_channel *connection)
{
    const int fd = connection->fd;

    step_channel_fini(connection);
    free(connection);
    return fd;
}

void
step_socket_close(struct step_channel *connection)
{
    if (connection != NULL)
        close(step_socket_release(connection));
}

static void
free_guest(struct guest *g)
{
    fdwatch_free(g->watch);
    timer_free(g->timer);
    step_reader_fini(&g->in);
    step_socket_close(g->channel);
    strbuf_fini(&g->grant);
    strbuf_fini(&g->places);
    free(g->pod);
    free(g->by);
    list_remove(&g->link);
    g->door->n_guests--;
    if (--g->user->n_guests == 0) {
        list_remove(&g->user->link);
        free(g->user);
    }
    free(g);
}

static void
on_late(void *context)
{
    struct guest *g = context;

    step_socket_answer(g->channel, STEP_FRAME_REFUSE, "no request came within 10 seconds");
    free_guest(g);
}

static void
hand_over(struct guest *g, const struct step_frame *f)
{
    const struct step_socket *d = g->door;
    struct step_channel *channel = g->channel;
    const struct step_asked asked = {
        .peer = g->caller,
        .type = f->type,
        .text = f->payload,
        .length = f->length,
        .grant = g->grant.length > 0 ? g->grant.text : NULL,
        .grant_length = g->grant.length,
        .places = g->places.length > 0 ? g->places.text : NULL,
        .places_length = g->places.length,
    };

    fdwatch_free(g->watch);
    g->watch = NULL;
    g->channel = NULL;
    step_channel_rest(channel);
    d->s.asked(channel, &asked, d->s.context);
    free_guest(g);
}

static bool
keep(struct strbuf *to, const struct step_frame *f)
{
    if (to->length > 0 || f->length == 0)
        return false;
    strbuf_add(to, f->payload, f->length);
    return true;
}

static bool
is_request(enum step_frame_type type)
{
    return type == STEP_FRAME_HELLO || type == STEP_FRAME_ASK || type == STEP_FRAME_HOLD
           || type == STEP_FRAME_AWAIT || type == STEP_FRAME_ENTER || type == STEP_FRAME_CALL
           || type == STEP_FRAME_WHY;
}

/* A grant is for programs alone: it holds no job, and signals no step of others. */
static bool
may_ask(const struct guest *g, enum step_frame_type type)
{
    return g->caller.by == NULL || type == STEP_FRAME_HELLO || type == STEP_FRAME_ASK;
}

/* Whether the guest is still one. A grant and places come before a request, each at most
 * once.
 */
static bool
take_frame(struct guest *g, const struct step_frame *f)
{
    if ((f->type == STEP_FRAME_GRANT && keep(&g->grant, f))
        || (f->type == STEP_FRAME_PLACES && keep(&g->places, f)))
        return true;
    if (is_request(f->type) && may_ask(g, f->type) && step_reader_left(&g->in) == 0
        && !step_channel_has_bytes(g->channel)) {
        hand_over(g, f);
        return false;
    }
    step_socket_answer(g->channel, STEP_FRAME_REFUSE,
                       "this is not the request of a krun of this release");
    free_guest(g);
    return false;
}

static size_t
weigh(const struct guest *g)
{
    return step_reader_left(&g->in) + g->grant.length + g->places.length;
}

static bool
has_room(const struct guest *g)
{
    size_t all = 0, of_user = 0;

    if (weigh(g) <= SMALL_BYTES)
        return true;
    list_foreach(at, &g->door->guests)
    {
        const struct guest *other = container_of(at, struct guest, link);

        all += weigh(other);
        of_user += other->user == g->user ? weigh(other) : 0;
    }
    return of_user <= USER_BYTES && all <= ALL_BYTES;
}

static void
on_readable(UNUSED int fd, UNUSED unsigned ready, void *context)
{
    struct guest *g = context;

    do {
        struct step_frame f;
        size_t room;
        char *at = step_reader_space(&g->in, &room);
        ssize_t n = step_channel_receive(g->channel, at, room);
        int r;

        if (n == -EAGAIN)
            return;
        if (n <= 0) {
            free_guest(g);
            return;
        }
        step_reader_add(&g->in, (size_t)n);
        if (!has_room(g)) {
            step_socket_answer(g->channel, STEP_FRAME_REFUSE,
                               "too many large requests at the same time; try again");
            free_guest(g);
            return;
        }
        while ((r = step_reader_next(&g->in, &f)) == 1)
            if (!take_frame(g, &f))
                return;
        if (r < 0) {
            step_socket_answer(g->channel, STEP_FRAME_REFUSE,
                               "this is not the request of a krun of this release");
            free_guest(g);
            return;
        }
    } while (step_channel_has_bytes(g->channel));
}

static bool
has_pods(const struct step_socket *d, uid_t uid)
{
    return uid == ROOT || d->s.has_pod == NULL || d->s.has_pod(uid, d->s.context);
}

static struct guest_user *
find_user(const struct step_socket *d, uid_t uid, bool is_known)
{
    list_foreach(at, &d->users)
    {
        struct guest_user *user = container_of(at, struct guest_user, link);

        if (user->has_pods == is_known && (!is_known || user->uid == uid))
            return user;
    }
    return NULL;
}

/* The user with the most guests, if these are more than `least`; or NULL. */
static const struct guest_user *
find_busiest(const struct step_socket *d, unsigned least)
{
    const struct guest_user *busiest = NULL;

    list_foreach(at, &d->users)
    {
        const struct guest_user *user = container_of(at, struct guest_user, link);

        if (user->uid != ROOT && user->n_guests > least) {
            busiest = user;
            least = user->n_guests;
        }
    }
    return busiest;
}

static void
end_oldest(struct step_socket *d, const struct guest_user *user)
{
    list_foreach_safe(at, &d->guests)
    {
        struct guest *g = container_of(at, struct guest, link);

        if (g->user != user)
            continue;
        step_socket_answer(g->channel, STEP_FRAME_REFUSE,
                           "others needed the connection, which had not sent its request; try "
                           "again");
        free_guest(g);
        return;
    }
}

/* Makes it, if need be. NULL: there is no room for one more. */
static struct guest_user *
admit(struct step_socket *d, uid_t uid)
{
    const bool is_known = has_pods(d, uid);
    struct guest_user *user = find_user(d, uid, is_known);
    const unsigned n = user != NULL ? user->n_guests : 0;
    const struct guest_user *busiest = NULL;

    if (n >= USER_MOST)
        return NULL;
    if (d->n_guests >= d->most) {
        busiest = find_busiest(d, uid == ROOT ? 0 : n);
        if (busiest == NULL)
            return NULL;
        end_oldest(d, busiest);
    }
    if (user == NULL) {
        user = xnew(struct guest_user);
        user->uid = uid;
        user->has_pods = is_known;
        list_add_last(&d->users, &user->link);
    }
    user->n_guests++;
    return user;
}

static void
add_guest(struct step_socket *d, int fd, const struct step_keys *keys,
          const struct step_peer *caller)
{
    struct step_channel *channel = xnew(struct step_channel);
    struct guest_user *user = admit(d, caller->uid);
    struct guest *g;

    step_channel_init(channel, fd, keys);
    if (user == NULL) {
        step_socket_answer(channel, STEP_FRAME_REFUSE,
                           "too many connections that have not sent their request; try again");
        step_socket_close(channel);
        return;
    }
    g = xnew(struct guest);
    g->door = d;
    g->user = user;
    g->channel = channel;
    g->caller = *caller;
    if (caller->pod != NULL)
        g->caller.pod = g->pod = xstrdup(caller->pod);
    if (caller->by != NULL)
        g->caller.by = g->by = xstrdup(caller->by);
    strbuf_init(&g->grant);
    strbuf_init(&g->places);
    g->watch = fdwatch_new(d->s.loop, fd, FDWATCH_READ, on_readable, g);
    g->timer = timer_new(d->s.loop, on_late, g);
    timer_start(g->timer, HELLO_MS);
    list_add_last(&d->guests, &g->link);
    d->n_guests++;
}

/* The agent says nothing while a step waits or runs, so the kernel asks whether the
 * machine of its krun is still there.
 */
void
step_socket_take(struct step_socket *d, int fd, const struct step_caller *caller)
{
    static const int on = 1, idle_s = 10, interval_s = 5, count = 4;

    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof(interval_s));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
    add_guest(d, fd, &caller->keys,
              &(struct step_peer){.uid = caller->uid, .pod = caller->pod, .by = caller->by});
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
        add_guest(d, connection, NULL, &(struct step_peer){.pid = peer.pid, .uid = peer.uid});
    }
}

static void
on_pause(void *context)
{
    struct step_socket *d = context;

    fdwatch_want(d->watch, FDWATCH_READ);
}

/* A path may be longer than an address can hold, so the directory is opened first.
 * The socket gets its name when it listens and everybody may connect: a krun that waits
 * for the next agent would otherwise be refused in between.
 */
static int
listen_at(int fd, const char *path, struct error *err)
{
    const char *slash = strrchr(path, '/');
    CLEANUP_FREE char *folder = xstrndup(path, (size_t)(slash - path));
    CLEANUP_FREE char *new_path = xasprintf("%s.new", path);
    CLEANUP_FD int dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int n;

    if (dir < 0)
        return error_set(err, -errno, "'%s': %s", folder, strerror(errno));
    n = snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s.new", dir,
                 slash + 1);
    if (n < 0 || (size_t)n >= sizeof(address.sun_path))
        return error_set(err, -ENAMETOOLONG, "'%s': %s", path, strerror(ENAMETOOLONG));
    if ((unlink(new_path) < 0 && errno != ENOENT)
        || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0
        || chmod(new_path, 0666) < 0 || listen(fd, BACKLOG) < 0 || rename(new_path, path) < 0)
        return error_set(err, -errno, "'%s': %s", path, strerror(errno));
    return 0;
}

/* Pods, and their files, need descriptors, too. */
static unsigned
find_most(void)
{
    struct rlimit files;

    return getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur / 4 < ALL_MOST
               ? (unsigned)(files.rlim_cur / 4)
               : ALL_MOST;
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
    d->most = find_most();
    list_init(&d->guests);
    list_init(&d->users);
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
