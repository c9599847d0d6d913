/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/standby.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
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
#include "lib/http/http_server.h"
#include "lib/loop/fdwatch.h"
#include "lib/loop/loop.h"
#include "lib/loop/timer.h"
#include "lib/program/readiness.h"

#define WAIT_MS       400
#define WAIT_AWAKE_MS 900 /* where the lead is announced */

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
    random_bytes(key.bytes, sizeof(key.bytes));
    digest_format(&key, standby->self.key);
    find_address(settings, &settings->listen, standby->self.address);
    find_address(settings, &settings->tls_listen, standby->self.tls_address);
}

static void
forget_leader(const struct standby *standby)
{
    CLEANUP_FREE char *path = NULL;

    if (standby->settings == NULL || standby->settings->database == NULL)
        return;
    path = xasprintf("%s.leader", standby->settings->socket);
    (void)unlink(path);
}

void
standby_fini(struct standby *standby)
{
    forget_leader(standby);
    relay_free(standby->relay);
    proxy_receiver_free(standby->receiver);
    standby->relay = NULL;
    standby->receiver = NULL;
}

/* --- waiting ------------------------------------------------------------------------- */

/* A stop takes effect later, so a second one would end the next run of the loop. */
static void
end_wait(void *arg)
{
    struct standby *standby = arg;

    if (!standby->is_awake)
        loop_stop(standby->loop);
    standby->is_awake = true;
}

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
tell_relay(struct standby *standby)
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

/* The same one is named again after the session to the database was lost; what is relayed
 * to it goes on.
 */
static void
leader_changed(const struct engine_leader *leader, void *context)
{
    static const struct engine_leader nobody = {0};
    struct standby *standby = context;

    if (leader == NULL)
        leader = &nobody;
    standby->must_tell |= !is_same_leader(leader, &standby->leader);
    standby->leader = *leader;
    name_leader(standby);
}

static void
lead_may_be_free(int fd, unsigned ready, void *arg)
{
    (void)fd;
    (void)ready;
    end_wait(arg);
}

static bool
wait_once(const struct error *why, int wakes, void *context)
{
    struct standby *standby = context;
    struct timer *timer = timer_new(standby->loop, end_wait, standby);
    struct fdwatch *watch =
        wakes < 0 ? NULL
                  : fdwatch_new(standby->loop, wakes, FDWATCH_READ, lead_may_be_free, standby);

    if (!standby->has_waited || (why->code == -EBUSY && !standby->has_named))
        log_info("Waiting to lead: %s", why->text);
    if (!standby->has_waited)
        begin_relay(standby);
    standby->has_waited = true;
    standby->has_named |= why->code == -EBUSY;
    tell_relay(standby);
    readiness_ready();
    readiness_status("waiting to lead: %s", why->text);
    standby->is_awake = false;
    timer_start(timer, wakes < 0 ? WAIT_MS : WAIT_AWAKE_MS);
    loop_run(standby->loop);
    fdwatch_free(watch);
    timer_free(timer);
    return !*standby->is_stopping;
}

struct engine_waits
standby_waits(struct standby *standby)
{
    return (struct engine_waits){
        .waits = wait_once,
        .leader = leader_changed,
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
