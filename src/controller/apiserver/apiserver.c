/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/apiserver.h"

#include "controller/apiserver/access/membership.h"
#include "controller/apiserver/access/node_verifier.h"
#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/access/scheduling_pause.h"
#include "controller/apiserver/access/start_rights.h"
#include "controller/apiserver/access/user_counts.h"
#include "controller/apiserver/bootstrap.h"
#include "controller/apiserver/cut_off.h"
#include "controller/apiserver/discovery/openapi.h"
#include "controller/apiserver/discovery/request_metrics.h"
#include "controller/apiserver/http/channel.h"
#include "controller/apiserver/http/dispatch.h"
#include "controller/apiserver/http/refusal.h"
#include "controller/apiserver/http_handler.h"
#include "controller/apiserver/local/local_client.h"
#include "controller/apiserver/marks/lost_pods.h"
#include "controller/apiserver/marks/node_reports.h"
#include "controller/apiserver/objects/barred_tasks.h"
#include "controller/apiserver/request/responder.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/request/time_slice.h"
#include "controller/apiserver/verbs/agent_relay.h"
#include "controller/apiserver/verbs/usage.h"
#include "controller/apiserver/watch/shared_change.h"
#include "controller/apiserver/watch/watch.h"
#include "controller/store/store.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/http/http_server.h"

static const struct principal component_principals[] = {
    [APISERVER_SCHEDULER] = {.type = PRINCIPAL_SCHEDULER, .name = "scheduler"},
    [APISERVER_LIFECYCLE] = {.type = PRINCIPAL_LIFECYCLE, .name = "lifecycle"},
};

struct apiserver *
apiserver_new(const struct apiserver_settings *settings)
{
    struct apiserver *server = xnew(struct apiserver);

    server->loop = settings->loop;
    server->clock = settings->clock;
    server->started_us = clock_monotonic_us(settings->clock);
    server->store = settings->store;
    server->workers = settings->workers;
    server->auth = settings->auth;
    server->profile = settings->profile;
    server->policy = settings->policy;
    server->cluster = settings->cluster;
    server->metrics = settings->metrics;
    server->audit = settings->audit;
    if (server->metrics != NULL)
        server->request_metrics = request_metrics_new(server->metrics);
    server->job_counts = settings->job_counts;
    server->history = settings->history;
    server->node_uses = settings->node_uses;
    server->node_classes = settings->node_classes;
    server->configz = settings->configz;
    server->token_endpoint = xnew(struct token_endpoint);
    *server->token_endpoint = settings->token_endpoint;
    server->hand_over = settings->hand_over;
    server->hand_over_context = settings->hand_over_context;
    server->is_munge_dead = settings->is_munge_dead;
    for (unsigned i = 0; i < ARRAY_SIZE(server->leases); i++)
        server->leases[i] = settings->leases[i];
    list_init(&server->watches);
    server->shared_change = shared_change_new(server->metrics, server->clock);
    server->dispatch = dispatch_new(server->loop, channel_flush);
    server->time_slices = time_slices_new(server->loop);
    server->barred_tasks = barred_tasks_new();
    server->agent_relay = agent_relay_new(server);
    server->responders = responders_new(server, false);
    server->quota_responders = responders_new(server, true);
    server->usage = usage_new(server->loop, server->clock);
    server->membership = membership_new(server->loop, server->store, server->workers);
    server->class_users = membership_new_of_classes(server->loop, server->store, server->workers);
    server->partition_users =
        membership_new_of_partitions(server->loop, server->store, server->workers);
    server->reservation_users =
        membership_new_of_reservations(server->loop, server->store, server->workers);
    server->start_rights = start_rights_new(&(struct start_rights_settings){
        .loop = server->loop,
        .clock = server->clock,
        .workers = server->workers,
        .policy = server->policy,
        .look_up = settings->look_up_user,
        .accounts = server->membership,
        .partitions = server->partition_users,
        .reservations = server->reservation_users,
        .classes = server->class_users,
    });
    if (settings->counts == NULL)
        server->own_counts = user_counts_new(server->clock);
    server->counts = settings->counts != NULL ? settings->counts : server->own_counts;
    server->http = http_server_new(server->loop, settings->limits, http_handler_serve, server);
    http_server_set_refusal_text(server->http, refusal_word);
    server->is_scheduling_paused = settings->is_scheduling_paused;
    server->lost_pods = lost_pods_new();
    bootstrap(server);
    scheduling_pause_begin(server, settings->begins_paused);
    server->node_reports = node_reports_new(server, settings->startup_wait_ms);
    server->cut_off = cut_off_new(server);
    return server;
}

void
apiserver_stop(struct apiserver *server)
{
    node_reports_stop(server->node_reports);
    cut_off_free(server->cut_off);
    server->cut_off = NULL;
    watch_end_all(server);
    time_slices_finish(server->time_slices);
    agent_relay_free(server->agent_relay);
    server->agent_relay = NULL;
    responders_stop(server->responders);
    responders_stop(server->quota_responders);
    membership_stop(server->membership);
    bootstrap_stop(server);
    membership_stop(server->class_users);
    membership_stop(server->partition_users);
    membership_stop(server->reservation_users);
}

void
apiserver_free(struct apiserver *server)
{
    if (server == NULL)
        return;
    http_server_free(server->http);
    membership_free(server->membership);
    membership_free(server->class_users);
    membership_free(server->partition_users);
    membership_free(server->reservation_users);
    start_rights_free(server->start_rights);
    shared_change_free(server->shared_change);
    dispatch_free(server->dispatch);
    time_slices_free(server->time_slices);
    barred_tasks_free(server->barred_tasks);
    usage_free(server->usage);
    responders_free(server->responders);
    responders_free(server->quota_responders);
    node_reports_free(server->node_reports);
    lost_pods_free(server->lost_pods);
    openapi_free(server->openapi);
    request_metrics_free(server->request_metrics);
    user_counts_free(server->own_counts);
    free(server->token_endpoint);
    free(server);
}

int
apiserver_check_address(const char *address, struct error *err)
{
    return http_server_check_address(address, err);
}

bool
apiserver_is_loopback(const char *address)
{
    return http_server_is_loopback(address);
}

void
apiserver_set_preface(struct apiserver *server, const struct http_preface *preface)
{
    http_server_set_preface(server->http, preface);
}

int
apiserver_listen(struct apiserver *server, const char *address, struct error *err)
{
    return http_server_listen(server->http, address, err);
}

int
apiserver_listen_tls(struct apiserver *server, const char *address, const struct http_layer *layer,
                     struct error *err)
{
    return http_server_listen_layered(server->http, address, layer, err);
}

int
apiserver_listen_unix(struct apiserver *server, const char *path, mode_t mode, struct error *err)
{
    return http_server_listen_unix(server->http, path, mode, err);
}

void
apiserver_end_watches(struct apiserver *server)
{
    watch_end_all(server);
}

void
apiserver_close(struct apiserver *server)
{
    server->is_closing = true;
    http_server_pause(server->http);
}

bool
apiserver_find_verifier(const char *node_name, struct digest *ret_verifier, void *context)
{
    return node_verifier_find(context, node_name, ret_verifier);
}

struct client *
apiserver_client_new(struct apiserver *server, struct loop *loop, enum apiserver_room room)
{
    return local_client_new(server, loop, &component_principals[room]);
}

struct start_rights *
apiserver_start_rights(const struct apiserver *server)
{
    return server->start_rights;
}
