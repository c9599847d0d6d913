/* SPDX-License-Identifier: Apache-2.0 */
/* api_profiles.c - Kiln's API, and kube-apiserver's alone for the replay of recordings
 *
 * Both profiles are here, side by side, so that one page shows what conformance leaves
 * out. A new path of Kiln's own is one function and one line in kiln_paths; it is absent
 * in conformance because it is not in the other list.
 */
#include <stddef.h>

#include "controller/apiserver/access/metrics_token.h"
#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/access/scheduling_pause.h"
#include "controller/apiserver/access/token_endpoint.h"
#include "controller/apiserver/conformance.h"
#include "controller/apiserver/controllers.h"
#include "controller/apiserver/discovery/resource_metrics.h"
#include "controller/apiserver/kinds/kinds.h"
#include "controller/apiserver/pipeline.h"
#include "controller/apiserver/pod_reports.h"
#include "controller/apiserver/request/api_profile.h"
#include "controller/apiserver/request/options.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/summary/summary.h"
#include "controller/apiserver/verbs/job_action.h"
#include "lib/base/macro.h"
#include "lib/http/http_request.h"

static bool
serve_history(struct request *q, struct http_request *http)
{
    const struct parameter *parameters;
    size_t count;

    if (q->server->history == NULL || !summary_history_is_asked(http_request_path(http)))
        return false;
    parameters = options_copy_parameters(q->arena, http, &count);
    summary_history(q, http_request_path(http), parameters, count);
    return true;
}

static bool
serve_timeline(struct request *q, struct http_request *http)
{
    const struct parameter *parameters;
    size_t count;

    if (!summary_timeline_is_asked(http_request_path(http)))
        return false;
    parameters = options_copy_parameters(q->arena, http, &count);
    summary_timeline(q, parameters, count);
    return true;
}

static bool
serve_controllers(struct request *q, struct http_request *http)
{
    return controllers_serve(q, http_request_path(http), http_request_query(http, "to"));
}

static bool
serve_pause(struct request *q, struct http_request *http)
{
    return scheduling_pause_serve(q, http_request_path(http));
}

static bool
serve_token(struct request *q, struct http_request *http)
{
    return token_endpoint_serve(q, http_request_path(http));
}

static bool
serve_resource_metrics(struct request *q, struct http_request *http)
{
    return resource_metrics_serve(q, http_request_path(http));
}

static bool
serve_summary(struct request *q, struct http_request *http)
{
    return summary_serve(q, http_request_path(http));
}

static bool
serve_job_action(struct request *q, struct http_request *http)
{
    return job_action_serve(q, http_request_path(http), http_request_peer(http));
}

static bool
serve_pipeline(struct request *q, struct http_request *http)
{
    return pipeline_serve(q, http_request_path(http), http_request_peer(http));
}

static bool
serve_pod_reports(struct request *q, struct http_request *http)
{
    return pod_reports_serve(q, http_request_path(http), http_request_peer(http));
}

static bool
serve_metrics_token(struct request *q, struct http_request *http)
{
    const struct http_peer *peer = http_request_peer(http);

    return metrics_token_serve(q, http_request_path(http), http_request_query(http, "name"),
                               peer->is_local || peer->is_secure);
}

static bool
serve_conformance(struct request *q, struct http_request *http)
{
    return conformance_serve(q, http_request_path(http));
}

static path_fn *const kiln_paths[] = {
    serve_history,  serve_timeline,         serve_controllers,   serve_pause,
    serve_token,    serve_resource_metrics, serve_summary,       serve_job_action,
    serve_pipeline, serve_pod_reports,      serve_metrics_token, NULL,
};

static const struct kind_hooks *const kiln_hooks[] = {
    &pod_hooks,
    &job_hooks,
    &node_hooks,
    &event_hooks,
    &events_event_hooks,
    &lease_hooks,
    &cron_job_hooks,
    &persistent_volume_hooks,
    &persistent_volume_claim_hooks,
    &pod_group_hooks,
    &namespace_hooks,
    &partition_hooks,
    &reservation_hooks,
    NULL,
};

const struct api_profile api_profile_kiln = {
    .paths = kiln_paths,
    .hooks = kiln_hooks,
    .has_additions = true,
    .signs_changes = true,
    .refuses_later_revisions = true,
};

static path_fn *const conformance_paths[] = {
    serve_resource_metrics,
    serve_conformance,
    NULL,
};

/* All hooks are Kiln's additions but those that remove them. */
static const struct kind_hooks *const conformance_hooks[] = {
    &job_conformance_hooks,
    NULL,
};

/* No limit of users binds the local root. */
static const struct principal everybody = {
    .type = PRINCIPAL_ADMINISTRATOR,
    .name = "admin",
    .proof = IDENTITY_LOCAL,
};

const struct api_profile api_profile_conformance = {
    .paths = conformance_paths,
    .hooks = conformance_hooks,
    .everybody = &everybody,
    .token = "Bearer conformance",
    .everybodys_uid = "u1",
};
