/* SPDX-License-Identifier: Apache-2.0 */
/* Two threads, because a statement may wait ten seconds for a locked table, and a signal, a
 * health check and relayed connections must not: one thread waits for the lead, the loop does
 * everything else (decision 822). Whatever the waiting thread learns is posted to the loop; a
 * message may come after what it is about has changed, so it is compared with the present
 * state first.
 *
 * A handover ends the leader as an administrator would have, since what a controller has in
 * memory is what it has led with.
 */
#include "controller/standby.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "controller/apiserver/apiserver.h"
#include "controller/relay/proxy_header.h"
#include "controller/relay/relay.h"
#include "controller/settings.h"
#include "lib/auth/digest.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/random.h"
#include "lib/base/thread.h"
#include "lib/http/http_server.h"
#include "lib/loop/fdwatch.h"
#include "lib/loop/loop.h"
#include "lib/loop/timer.h"
#include "lib/program/readiness.h"

#define WAIT_MS       400
#define WAIT_AWAKE_MS 900 /* where the lead is announced */

/* A database that does not answer so long is served by a relay without a leader. */
#define SLOW_MS 1000

/* How long a stop waits for the database. One that has waited has nothing to lose; if it
 * leads already, it gives the lead back meanwhile.
 */
#define END_MS 2000

/* --- this controller as others reach it -------------------------------------------- */

static bool
is_any(const char *host, size_t length)
{
    static const char *const any[] = {"*", "0.0.0.0", "[::]"};

    for (size_t i = 0; i < ARRAY_SIZE(any); i++)
        if (strlen(any[i]) == length && strncmp(any[i], host, length) == 0)
            return true;
    return false;
}

/* An address that stands for all of this machine is replaced by the machine's name. */
static void
find_address(const struct controller_settings *s, const struct setting_texts *listen,
             char ret_address[ENGINE_ADDRESS_SIZE])
{
    const char *first = listen->count > 0 ? listen->items[0] : ":0";
    const char *port = strrchr(first, ':');
    size_t length = (size_t)(port - first);
    char name[256] = "";

    if (strcmp(port, ":0") == 0)
        return;
    (void)gethostname(name, sizeof(name) - 1);
    if (s->advertise_host != NULL)
        snprintf(ret_address, ENGINE_ADDRESS_SIZE, "%s%s", s->advertise_host, port);
    else if (is_any(first, length))
        snprintf(ret_address, ENGINE_ADDRESS_SIZE, "%s%s", name, port);
    else
        snprintf(ret_address, ENGINE_ADDRESS_SIZE, "%s", first);
}

void
standby_init(struct standby *standby, const struct controller_settings *settings, struct loop *loop,
             const bool *is_stopping)
{
    struct digest key;

    *standby = (struct standby){.settings = settings, .loop = loop, .is_stopping = is_stopping};
    pthread_mutex_init(&standby->lock, NULL);
    standby->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    random_bytes(key.bytes, sizeof(key.bytes));
    digest_format(&key, standby->self.key);
    find_address(settings, &settings->listen, standby->self.address);
    find_address(settings, &settings->tls_listen, standby->self.tls_address);
}

static void
forget_leader(const struct standby *standby)
{
    CLEANUP_FREE char *path = NULL;

    if (standby->settings->database == NULL)
        return;
    path = xasprintf("%s.leader", standby->settings->socket);
    (void)unlink(path);
}

void
standby_fini(struct standby *standby)
{
    if (standby->settings == NULL)
        return;
    forget_leader(standby);
    relay_free(standby->relay);
    proxy_receiver_free(standby->receiver);
    if (standby->stop_fd >= 0)
        close(standby->stop_fd);
    pthread_mutex_destroy(&standby->lock);
    *standby = (struct standby){0};
}

/* --- what the loop does for the thread that waits -------------------------------------- */

/* A port that is in use is not worth an end: this controller can still lead, and
 * will say so then.
 */
static void
begin_relay(struct standby *standby)
{
    const struct relay_settings settings = {
        .listen = &standby->settings->listen,
        .tls_listen = &standby->settings->tls_listen,
        .state_dir = standby->settings->state_dir,
    };
    struct error err = {0};

    standby->has_tried_relay = true;
    if (settings.listen->count + settings.tls_listen->count == 0)
        return;
    if (relay_new(&settings, &standby->relay, &err) < 0)
        log_warning("While it waits, this controller relays nothing: %s", err.text);
}

/* Clients of this machine, which use the local socket, read there whom to ask, and go
 * on with this controller if that one dies.
 */
static void
name_leader(struct standby *standby)
{
    CLEANUP_FREE char *path = xasprintf("%s.leader", standby->settings->socket);
    CLEANUP_FREE char *text =
        xasprintf("http://%s,%s\n", standby->leader.address, standby->self.address);
    struct error err = {0};

    if (standby->leader.address[0] == '\0' || standby->self.address[0] == '\0') {
        (void)unlink(path);
        return;
    }
    if (file_write_atomic(path, 0644, text, strlen(text), &err) < 0)
        log_warning("Local clients will not find the controller that leads: %s", err.text);
}

static void
update_relay(struct standby *standby)
{
    bool is_known = standby->leader.key[0] != '\0';

    if (standby->relay == NULL || !standby->must_tell)
        return;
    relay_set_leader(standby->relay, is_known ? &standby->leader : NULL);
    standby->must_tell = false;
}

static bool
is_same_leader(const struct engine_leader *a, const struct engine_leader *b)
{
    return strcmp(a->key, b->key) == 0 && strcmp(a->address, b->address) == 0
           && strcmp(a->tls_address, b->tls_address) == 0;
}

static void
log_waiting(struct standby *standby, const struct standby_news *news)
{
    bool is_named = news->why.code == -EBUSY;

    if (!standby->has_waited || (is_named && !standby->has_named))
        log_info("Waiting to lead: %s", news->why.text);
    standby->has_waited = true;
    standby->has_named |= is_named;
    readiness_ready();
    readiness_status("waiting to lead%s: %s", standby->is_loading ? ", and reads all objects" : "",
                     news->why.text);
}

/* The same one is named again after the session to the database was lost; what is relayed
 * to it goes on.
 */
static void
set_leader(struct standby *standby, const struct engine_leader *leader)
{
    standby->must_tell |= !is_same_leader(leader, &standby->leader);
    standby->leader = *leader;
    name_leader(standby);
}

static void
take_news(void *arg)
{
    struct standby *standby = arg;
    struct standby_news news;

    pthread_mutex_lock(&standby->lock);
    news = standby->news;
    standby->news = (struct standby_news){0};
    pthread_mutex_unlock(&standby->lock);
    if (!standby->is_opening)
        return;
    if (standby->relay == NULL && !standby->has_tried_relay)
        begin_relay(standby);
    if (news.has_follower)
        standby->is_loading = news.n_objects == 0;
    if (standby->relay != NULL && news.has_follower)
        relay_set_objects(standby->relay, news.n_objects);
    if (news.has_leader)
        set_leader(standby, &news.leader);
    if (news.waits)
        log_waiting(standby, &news);
    update_relay(standby);
}

/* Something that may be posted too late is not looked at. */
static void
is_slow(void *arg)
{
    take_news(arg);
}

/* A database that is silent, or a table that is locked, ends a statement after ten
 * seconds only, and a name server never.
 */
static void
end_now(void *arg)
{
    struct standby *standby = arg;

    log_info("stopping: the database does not answer, and this controller has changed nothing");
    forget_leader(standby);
    _exit(0);
}

/* --- the thread that waits --------------------------------------------------------------- */

static void
post_news(struct standby *standby)
{
    pthread_mutex_unlock(&standby->lock);
    loop_post(standby->loop, take_news, standby);
}

static void
leader_changed(const struct engine_leader *leader, void *context)
{
    static const struct engine_leader nobody = {0};
    struct standby *standby = context;

    pthread_mutex_lock(&standby->lock);
    standby->news.has_leader = true;
    standby->news.leader = leader != NULL ? *leader : nobody;
    post_news(standby);
}

static void
follows(size_t n_objects, void *context)
{
    struct standby *standby = context;

    pthread_mutex_lock(&standby->lock);
    standby->news.has_follower = true;
    standby->news.n_objects = n_objects;
    post_news(standby);
}

static bool
wait_once(const struct error *why, int wakes, void *context)
{
    struct standby *standby = context;
    struct pollfd fds[] = {{.fd = standby->stop_fd, .events = POLLIN},
                           {.fd = wakes, .events = POLLIN}};

    pthread_mutex_lock(&standby->lock);
    standby->news.waits = true;
    standby->news.why = *why;
    post_news(standby);
    (void)poll(fds, 2, wakes < 0 ? WAIT_MS : WAIT_AWAKE_MS);
    return (fds[0].revents & POLLIN) == 0;
}

static bool
is_over(void *context)
{
    struct standby *standby = context;

    return atomic_load(&standby->is_over);
}

struct aside_work {
    struct standby *standby;
    void (*work)(void *arg);
    void *arg;
    bool is_done; /* the loop's */
};

static void
opened(void *arg)
{
    struct aside_work *o = arg;

    o->is_done = true;
    loop_stop(o->standby->loop);
}

static void *
opening_main(void *arg)
{
    struct aside_work *o = arg;

    o->work(o->arg);
    loop_post(o->standby->loop, opened, o);
    return NULL;
}

/* A signal stops the loop. */
static void
open_aside(void (*work)(void *arg), void *arg, void *context)
{
    static const uint64_t one = 1;
    struct standby *standby = context;
    struct aside_work o = {.standby = standby, .work = work, .arg = arg};
    struct timer *slow = timer_new(standby->loop, is_slow, standby);
    struct timer *end = timer_new(standby->loop, end_now, standby);
    pthread_t thread;
    int r = thread_start(&thread, "kiln-open", opening_main, &o);

    if (r != 0) {
        log_error("Cannot start a thread: %s", strerror(r));
        abort();
    }
    standby->is_opening = true;
    timer_start(slow, SLOW_MS);
    while (!o.is_done) {
        loop_run(standby->loop);
        if (o.is_done || !*standby->is_stopping)
            continue;
        atomic_store(&standby->is_over, true);
        if (write(standby->stop_fd, &one, sizeof(one)) < 0)
            abort(); /* it counts to a few */
        timer_start(end, standby->has_waited ? END_MS : standby->settings->stop_timeout_us / 1000);
    }
    standby->is_opening = false;
    pthread_join(thread, NULL);
    timer_free(slow);
    timer_free(end);
    loop_drain(standby->loop); /* news that came too late */
}

struct engine_waits
standby_waits(struct standby *standby)
{
    return (struct engine_waits){
        .waits = wait_once,
        .leader = leader_changed,
        .follows = follows,
        .aside = open_aside,
        .is_over = is_over,
        .self = &standby->self,
        .context = standby,
    };
}

/* --- leading ------------------------------------------------------------------------- */

static bool
check_header(const unsigned char *bytes, char ret_address[64], void *arg)
{
    struct standby *standby = arg;

    if (proxy_receiver_accept(standby->receiver, bytes, ret_address))
        return true;
    log_debug("a connection was refused that says falsely that a standby relays it");
    return false;
}

void
standby_end(struct standby *standby, struct apiserver *api)
{
    forget_leader(standby);
    relay_free(standby->relay);
    standby->relay = NULL;
    if (standby->settings->database == NULL)
        return;
    standby->receiver = proxy_receiver_new(standby->self.key);
    apiserver_set_preface(api, &(struct http_preface){
                                   .signature = proxy_signature,
                                   .signature_length = PROXY_SIGNATURE_LENGTH,
                                   .length = PROXY_HEADER_SIZE,
                                   .check = check_header,
                                   .arg = standby,
                               });
}

/* As if an administrator had stopped it. */
void
standby_hand_over(void *arg)
{
    struct standby *standby = arg;

    standby->is_handed_over = true;
    (void)raise(SIGTERM);
}

int
standby_result(const struct standby *standby, struct error *err)
{
    if (!standby->is_handed_over)
        return 0;
    return error_set(err, -ESTALE, "the lead was handed over: this controller ends, to wait");
}
