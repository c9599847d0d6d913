/* SPDX-License-Identifier: Apache-2.0 */
/* The loops know nothing of each other. If one of them wants something of another, it writes
 * that into an object, and the other learns of it as any client would; so each can be read,
 * tested and restarted alone. They share one cache, since thirty informers would each parse
 * and keep every pod (decision 128). At the end the calls are dropped first, because an answer
 * that came later would reach a loop that is gone.
 */
#include "controller/lifecycle/lifecycle.h"

#include "controller/lifecycle/cronjob/cron_controller.h"
#include "controller/lifecycle/disruption/disruption.h"
#include "controller/lifecycle/gang/gang_holders.h"
#include "controller/lifecycle/gang/gang_starter.h"
#include "controller/lifecycle/gang/pod_group_status.h"
#include "controller/lifecycle/gc/garbage_collector.h"
#include "controller/lifecycle/gc/namespace_controller.h"
#include "controller/lifecycle/gc/retention.h"
#include "controller/lifecycle/job/job_controller.h"
#include "controller/lifecycle/job_waits.h"
#include "controller/lifecycle/mail/mail_sender.h"
#include "controller/lifecycle/node/node_health.h"
#include "controller/lifecycle/node/reservation_controller.h"
#include "controller/lifecycle/node/taint_eviction.h"
#include "controller/lifecycle/quota/quota_controller.h"
#include "controller/lifecycle/reconcile/object_cache.h"
#include "controller/lifecycle/state_counts.h"
#include "controller/lifecycle/storage/ephemeral_claims.h"
#include "controller/lifecycle/storage/storage_protection.h"
#include "controller/lifecycle/storage/volume_controller.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/client/client.h"
#include "lib/json/json.h"

struct lifecycle {
    struct client *client;
    struct object_cache *cache;
    struct job_controller *jobs;
    struct cron_controller *cron_jobs;
    struct node_health *nodes;
    struct reservation_controller *reservations;
    struct retention *retention;
    struct namespace_controller *namespace_controller;
    struct taint_eviction *taints;
    struct disruption *disruption;
    struct pod_group_status *pod_groups;
    struct gang_starter *gangs;
    struct gang_holders *gang_holders;
    struct mail_sender *mail; /* or NULL */
    struct garbage_collector *garbage_collector;
    struct quota_controller *quotas;
    struct storage_protection *storage;
    struct volume_controller *volumes;
    struct ephemeral_claims *ephemeral;
    struct state_counts *counts; /* or NULL */
    struct job_waits *waits;     /* or NULL */
};

struct lifecycle *
lifecycle_new(const struct lifecycle_settings *s)
{
    struct lifecycle *l = xnew(struct lifecycle);

    l->client = s->client;
    l->cache = object_cache_new(s->client);
    object_cache_ask_damaged(l->cache, s->is_damaged, s->damaged_context);
    l->jobs = job_controller_new(s->loop, s->client, l->cache, s->clock);
    l->cron_jobs = cron_controller_new(s->loop, s->client, l->cache, s->clock);
    job_controller_hold_never_satisfied(l->jobs, s->holds_never_satisfied);
    job_controller_limit_requeues(l->jobs, s->maximum_requeues);
    l->nodes = node_health_new(&(struct node_health_settings){
        .loop = s->loop,
        .client = s->client,
        .cache = l->cache,
        .clock = s->clock,
        .grace_ms = s->node_grace_ms,
        .check_ms = s->node_check_ms,
        .fence_program = s->fence_program,
        .fence_after_ms = s->fence_after_ms,
        .fence_limit_ms = s->fence_limit_ms,
        .is_cut_off = s->is_cut_off,
        .cut_off_context = s->cut_off_context,
    });
    l->reservations = reservation_controller_new(s->loop, s->client, l->cache, s->clock);
    l->retention = retention_new(&(struct retention_settings){
        .loop = s->loop,
        .client = s->client,
        .cache = l->cache,
        .clock = s->clock,
        .max_age_s = s->finished_max_age_s,
        .max_count = s->finished_max_count,
    });
    l->namespace_controller = namespace_controller_new(s->loop, s->client, l->cache);
    l->taints = taint_eviction_new(&(struct taint_eviction_settings){
        .loop = s->loop,
        .client = s->client,
        .cache = l->cache,
        .clock = s->clock,
    });
    l->disruption = disruption_new(s->loop, s->client, l->cache, s->clock);
    l->pod_groups = pod_group_status_new(s->loop, s->client, l->cache, s->clock);
    l->gangs = gang_starter_new(&(struct gang_starter_settings){
        .loop = s->loop,
        .client = s->client,
        .cache = l->cache,
        .clock = s->clock,
        .wait_ms = s->gang_prepare_ms,
    });
    if (s->mail_program != NULL)
        l->mail = mail_sender_new(&(struct mail_sender_settings){
            .loop = s->loop,
            .client = s->client,
            .cache = l->cache,
            .clock = s->clock,
            .program = s->mail_program,
            .cluster = s->cluster,
            .most_an_hour = s->mails_an_hour,
        });
    l->gang_holders = gang_holders_new(s->loop, s->client, l->cache);
    l->garbage_collector = garbage_collector_new(s->loop, s->client, l->cache);
    l->quotas = quota_controller_new(s->loop, s->client, l->cache);
    l->storage = storage_protection_new(s->loop, s->client, l->cache);
    l->volumes = volume_controller_new(&(struct volume_controller_settings){
        .loop = s->loop,
        .client = s->client,
        .cache = l->cache,
        .clock = s->clock,
    });
    l->ephemeral = ephemeral_claims_new(s->loop, s->client, l->cache);
    if (s->metrics != NULL) {
        l->counts = state_counts_new(l->cache, s->metrics);
        l->waits = job_waits_new(l->cache, s->clock, s->metrics);
    }
    object_cache_start(l->cache);
    return l;
}

struct json *
lifecycle_explain(struct lifecycle *l, const struct object *object, struct arena *arena)
{
    struct json *answer =
        object->kind == &job_kind ? job_controller_explain_quota(l->jobs, object, arena) : NULL;

    return answer != NULL ? answer : json_object(arena);
}

void
lifecycle_free(struct lifecycle *l)
{
    if (l == NULL)
        return;
    gang_holders_free(l->gang_holders);
    gang_starter_free(l->gangs);
    pod_group_status_free(l->pod_groups);
    disruption_free(l->disruption);
    taint_eviction_free(l->taints);
    mail_sender_free(l->mail);
    client_abandon(l->client); /* drops the pending calls of the loops below */
    ephemeral_claims_free(l->ephemeral);
    volume_controller_free(l->volumes);
    storage_protection_free(l->storage);
    quota_controller_free(l->quotas);
    garbage_collector_free(l->garbage_collector);
    namespace_controller_free(l->namespace_controller);
    retention_free(l->retention);
    reservation_controller_free(l->reservations);
    node_health_free(l->nodes);
    cron_controller_free(l->cron_jobs);
    job_controller_free(l->jobs);
    job_waits_free(l->waits);
    state_counts_free(l->counts);
    object_cache_free(l->cache);
    free(l);
}
