/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/health_metrics.h"

#include <sys/stat.h>

#include "controller/store/directory/backup.h"
#include "lib/base/alloc.h"
#include "lib/base/macro.h"
#include "lib/base/metric.h"
#include "lib/tls/tls.h"

static double
read_munge(void *context)
{
    atomic_bool *is_dead = context;

    return atomic_load(is_dead) ? 0 : 1;
}

static double
read_certificate(void *context)
{
    return (double)tls_certificate_end_s(context);
}

static double
read_backup(void *context)
{
    return (double)store_last_backup_s(context);
}

static double
read_size(void *context)
{
    return (double)store_file_bytes(context);
}

static void
add(struct metric_registry *registry, const char *name, const char *help, metric_read_fn read,
    void *context)
{
    metric_read(metric_series(metric_gauge(registry, name, help, NULL)), read, context);
}

void
health_metrics_add(struct metric_registry *registry, const char *state_dir,
                   atomic_bool *is_munge_dead, struct tls *tls)
{
    union {
        const char *in;
        void *out;
    } dir = {.in = state_dir};

    add(registry, "kiln_munge_up",
        "1 while munged answers; without it nobody on another machine "
        "can authenticate.",
        read_munge, is_munge_dead);
    if (tls != NULL)
        add(registry, "kiln_tls_certificate_expiry_timestamp_seconds",
            "When the certificate of the TLS ports ends, in seconds since 1970.", read_certificate,
            tls);
    add(registry, "kiln_last_backup_timestamp_seconds",
        "When kiln-controller --backup last copied this store, in seconds since 1970; 0: never.",
        read_backup, dir.out);
    add(registry, "kiln_store_size_bytes", "Size of kiln.db with its write-ahead log.", read_size,
        dir.out);
}
