/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/site_audit.h"

#include <stdatomic.h>
#include <string.h>

#include "controller/apiserver/access/audit_log.h"
#include "controller/apiserver/access/policy.h"
#include "controller/apiserver/apiserver.h"
#include "controller/apiserver/summary/job_counts.h"
#include "controller/component_threads.h"
#include "controller/history/history.h"
#include "controller/scheduler/config/kube_configuration.h"
#include "controller/settings.h"
#include "controller/store/store.h"
#include "lib/base/error.h"
#include "lib/base/metric.h"
#include "lib/http/http_server.h"

static double
read_dropped(void *context)
{
    return (double)audit_log_dropped(context);
}

int
site_audit_open(const struct controller_settings *s, struct metric_registry *metrics,
                struct audit_log **ret_log, struct error *err)
{
    struct audit_log_settings settings = {
        .path = s->audit_file,
        .max_bytes = s->audit_max_bytes,
        .keep = s->audit_keep,
        .store = s->state_dir,
    };
    int r;

    if (strcmp(s->audit_file, "none") == 0)
        return 0;
    if (strcmp(s->audit_file, "journal") == 0)
        settings.path = NULL;
    r = audit_log_open(&settings, ret_log, err);
    if (r < 0)
        return error_wrap(err, r, "audit.file");
    metric_read(metric_series(metric_counter(metrics, "kiln_audit_dropped_total",
                                             "Lines of the audit log that could "
                                             "not be written.",
                                             NULL)),
                read_dropped, *ret_log);
    return 0;
}
