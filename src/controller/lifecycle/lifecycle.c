/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/lifecycle.h"

#include "controller/lifecycle/collector.h"
#include "controller/lifecycle/disruption.h"
#include "controller/lifecycle/ephemeral_claims.h"
#include "controller/lifecycle/garbage.h"
#include "controller/lifecycle/job_control.h"
#include "controller/lifecycle/node_health.h"
#include "controller/lifecycle/quota_count.h"
#include "controller/lifecycle/retention.h"
#include "controller/lifecycle/state_counts.h"
#include "controller/lifecycle/stock.h"
#include "controller/lifecycle/storage_guard.h"
#include "controller/lifecycle/taint_eviction.h"
#include "controller/lifecycle/volume_control.h"
#include "controller/lifecycle/warehouse.h"
#include "lib/base/alloc.h"
#include "lib/client/client.h"

struct lifecycle {
    struct client *client;
    struct stock *stock;
    struct job_control *jobs;
    struct node_health *nodes;
    struct retention *retention;
    struct garbage *garbage;
    struct taint_eviction *taints;
    struct disruption *disruption;
    struct collector *collector;
    struct quota_count *quotas;
    struct warehouse *warehouse;
    struct storage_guard *storage;
    struct volume_control *volumes;
    struct ephemeral_claims *ephemeral;
    struct state_counts *counts; /* or NULL */
};

struct lifecycle *
lifecycle_new(const struct lifecycle_settings *s)
{
    struct lifecycle *l = xnew(struct lifecycle);

    l->client = s->client;
    l->stock = stock_new(s->client);
    stock_ask_damaged(l->stock, s->is_damaged, s->damaged_context);
    l->jobs = job_control_new(s->loop, s->client, l->stock, s->clock);
    l->nodes = node_health_new(&(struct node_health_settings){
        .loop = s->loop,
        .client = s->client,
        .stock = l->stock,
        .clock = s->clock,
        .grace_ms = s->node_grace_ms,
        .check_ms = s->node_check_ms,
    });
    l->retention = retention_new(&(struct retention_settings){
        .loop = s->loop,
        .client = s->client,
        .stock = l->stock,
        .clock = s->clock,
        .max_age_s = s->finished_max_age_s,
        .max_count = s->finished_max_count,
    });
    l->garbage = garbage_new(s->loop, s->client, l->stock);
    l->taints = taint_eviction_new(&(struct taint_eviction_settings){
        .loop = s->loop,
        .client = s->client,
        .stock = l->stock,
        .clock = s->clock,
    });
    l->disruption = disruption_new(s->loop, s->client, l->stock, s->clock);
    l->collector = collector_new(s->loop, s->client, l->stock);
    l->quotas = quota_count_new(s->loop, s->client, l->stock);
    l->warehouse = warehouse_new(s->client);
    l->storage = storage_guard_new(s->loop, s->client, l->stock, l->warehouse);
    l->volumes = volume_control_new(&(struct volume_control_settings){
        .loop = s->loop,
        .client = s->client,
        .stock = l->stock,
        .warehouse = l->warehouse,
        .clock = s->clock,
    });
    l->ephemeral =
        ephemeral_claims_new(s->loop, s->client, l->stock, l->warehouse);
    if (s->metrics != NULL)
        l->counts = state_counts_new(l->stock, s->metrics);
    stock_start(l->stock);
    warehouse_start(l->warehouse);
    return l;
}

void
lifecycle_free(struct lifecycle *l)
{
    if (l == NULL)
        return;
    disruption_free(l->disruption);
    taint_eviction_free(l->taints);
    client_abandon(l->client); /* they let go of what they asked for */
    ephemeral_claims_free(l->ephemeral);
    volume_control_free(l->volumes);
    storage_guard_free(l->storage);
    warehouse_free(l->warehouse);
    quota_count_free(l->quotas);
    collector_free(l->collector);
    garbage_free(l->garbage);
    retention_free(l->retention);
    node_health_free(l->nodes);
    job_control_free(l->jobs);
    state_counts_free(l->counts);
    stock_free(l->stock);
    free(l);
}
