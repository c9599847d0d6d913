/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/state/topology_levels.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"

struct topology_levels {
    pthread_mutex_t mutex;
    char *keys[DOMAIN_LEVELS_MAX];
    unsigned count;
    atomic_uint version;
    _Atomic int64_t wait_us;
};

/* Slurm's max_switch_wait */
#define WAIT_US (INT64_C(300) * 1000000)

struct topology_levels *
topology_levels_new(void)
{
    struct topology_levels *t = xnew(struct topology_levels);

    pthread_mutex_init(&t->mutex, NULL);
    atomic_store(&t->wait_us, WAIT_US);
    return t;
}

void
topology_levels_free(struct topology_levels *t)
{
    if (t == NULL)
        return;
    for (unsigned i = 0; i < t->count; i++)
        free(t->keys[i]);
    pthread_mutex_destroy(&t->mutex);
    free(t);
}

static bool
is_same(const struct topology_levels *t, const char *const *keys, unsigned count)
{
    for (unsigned i = 0; i < count && count == t->count; i++)
        if (strcmp(t->keys[i], keys[i]) != 0)
            return false;
    return count == t->count;
}

void
topology_levels_set(struct topology_levels *t, const char *const *keys, unsigned count)
{
    if (count > DOMAIN_LEVELS_MAX)
        count = DOMAIN_LEVELS_MAX;
    pthread_mutex_lock(&t->mutex);
    if (!is_same(t, keys, count)) {
        for (unsigned i = 0; i < t->count; i++)
            free(t->keys[i]);
        for (unsigned i = 0; i < count; i++)
            t->keys[i] = xstrdup(keys[i]);
        t->count = count;
        atomic_fetch_add(&t->version, 1);
    }
    pthread_mutex_unlock(&t->mutex);
}

void
topology_levels_set_wait(struct topology_levels *t, int64_t most_us)
{
    if (atomic_exchange(&t->wait_us, most_us) != most_us)
        atomic_fetch_add(&t->version, 1);
}

int64_t
topology_levels_wait_us(const struct topology_levels *t)
{
    return t != NULL ? atomic_load(&t->wait_us) : WAIT_US;
}

unsigned
topology_levels_version(const struct topology_levels *t)
{
    return t != NULL ? atomic_load(&t->version) : 0;
}

struct node_domains *
topology_levels_make_domains(struct topology_levels *t, unsigned *ret_version)
{
    struct node_domains *d;

    *ret_version = 0;
    if (t == NULL)
        return node_domains_new(NULL, 0);
    pthread_mutex_lock(&t->mutex);
    d = node_domains_new((const char *const *)t->keys, t->count);
    *ret_version = atomic_load(&t->version);
    pthread_mutex_unlock(&t->mutex);
    return d;
}
