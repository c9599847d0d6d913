/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "lib/api/object/check.h"
#include "lib/api/pod/rules/pod_rules.h"
#include "lib/api/value/name.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"

static void
check_http(struct causes *c, const struct json *action)
{
    const struct json *headers = json_get(action, "httpHeaders");

    check_present(c, action, "path", "");
    check_port_or_name(c, action, "port");
    check_one_of(c, action, "scheme", CHECK_VALUES("HTTP", "HTTPS"));
    for (uint32_t i = 0; i < json_count(headers); i++) {
        const char *name = check_text(json_at(headers, i), "name");
        bool good = *name != '\0';

        for (const char *p = name; *p != '\0'; p++)
            good = good && (isalnum((unsigned char)*p) || *p == '-');
        if (!good)
            causes_add(c, CAUSE_INVALID, "httpHeaders", json_get(json_at(headers, i), "name"),
                       "a valid HTTP header must consist of alphanumeric "
                       "characters or '-' (e.g. 'X-Header-Name', regex used "
                       "for validation is '[-A-Za-z0-9]+')");
    }
}

static void
check_action(struct causes *c, const char *name, const struct json *action, int64_t grace_seconds)
{
    int64_t seconds = json_get_int(action, "seconds", 0);

    if (strcmp(name, "exec") == 0)
        check_present(c, action, "command", "");
    else if (strcmp(name, "httpGet") == 0)
        check_http(c, action);
    else if (strcmp(name, "tcpSocket") == 0)
        check_port_or_name(c, action, "port");
    else if (strcmp(name, "grpc") == 0)
        check_port(c, action, "port");
    else if (seconds <= 0 || seconds > grace_seconds)
        causes_add(c, CAUSE_INVALID, "", json_get(action, "seconds"),
                   "must be greater than 0 and less than "
                   "terminationGracePeriodSeconds (%" PRId64 "). Enable "
                   "AllowPodLifecycleSleepActionZeroValue feature gate for "
                   "zero sleep.",
                   grace_seconds);
}

/* A handler must have exactly one action. */
static void
check_handler(struct causes *c, const struct json *handler, int64_t grace_seconds)
{
    static const char *const names[] = {
        "exec", "httpGet", "tcpSocket", "grpc", "sleep",
    };
    unsigned found = 0;

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        unsigned at;

        if (!check_is_set(handler, names[i]))
            continue;
        at = causes_enter(c, names[i]);
        if (++found > 1)
            causes_add(c, CAUSE_FORBIDDEN, "", NULL, "may not specify more than 1 handler type");
        else
            check_action(c, names[i], json_get(handler, names[i]), grace_seconds);
        causes_leave(c, at);
    }
    if (found == 0)
        causes_add(c, CAUSE_REQUIRED, "", NULL, "must specify a handler type");
}

void
lifecycle_check(struct causes *c, const struct json *container, int64_t grace_seconds)
{
    static const char *const names[] = {"postStart", "preStop"};
    const struct json *lifecycle = json_get(container, "lifecycle");
    unsigned at = causes_enter(c, "lifecycle");

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        unsigned inside = causes_enter(c, names[i]);

        if (check_is_set(lifecycle, names[i]))
            check_handler(c, json_get(lifecycle, names[i]), grace_seconds);
        causes_leave(c, inside);
    }
    causes_leave(c, at);
}

static void
check_probe(struct causes *c, const struct json *probe, int64_t grace_seconds)
{
    check_handler(c, probe, grace_seconds);
    check_not_negative(c, probe, "initialDelaySeconds");
    check_not_negative(c, probe, "timeoutSeconds");
    check_not_negative(c, probe, "periodSeconds");
    check_not_negative(c, probe, "successThreshold");
    check_not_negative(c, probe, "failureThreshold");
    check_positive(c, probe, "terminationGracePeriodSeconds");
}

static void
check_readiness(struct causes *c, const struct json *probe)
{
    if (check_is_set(probe, "terminationGracePeriodSeconds"))
        causes_add(c, CAUSE_INVALID, "terminationGracePeriodSeconds",
                   json_get(probe, "terminationGracePeriodSeconds"),
                   "must not be set for readinessProbes");
}

static void
check_one_success(struct causes *c, const struct json *probe)
{
    if (json_get_int(probe, "successThreshold", 0) != 1)
        causes_add(c, CAUSE_INVALID, "successThreshold", json_get(probe, "successThreshold"),
                   "must be 1");
}

void
probes_check(struct causes *c, const struct json *container, int64_t grace_seconds)
{
    static const struct {
        const char *name;
        void (*check)(struct causes *c, const struct json *probe);
    } probes[] = {
        {"livenessProbe", check_one_success},
        {"readinessProbe", check_readiness},
        {"startupProbe", check_one_success},
    };

    for (size_t i = 0; i < ARRAY_SIZE(probes); i++) {
        const struct json *probe = json_get(container, probes[i].name);
        unsigned at;

        if (!json_is(probe, JSON_OBJECT))
            continue;
        at = causes_enter(c, probes[i].name);
        check_probe(c, probe, grace_seconds);
        probes[i].check(c, probe);
        causes_leave(c, at);
    }
}
