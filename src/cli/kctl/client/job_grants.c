/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/client/job_grants.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "cli/kctl/client/kctl.h"
#include "cli/krun/krun_grants.h"
#include "lib/api/object/kind.h"
#include "lib/base/error.h"
#include "lib/json/json.h"

/* How many connections a program needs that starts. The first node gets two questions, two
 * requests, because the step manager may send krun to ask all nodes for what they have, and
 * the step; some are left for an agent that is restarted meanwhile. The others get a question
 * and the step.
 */
#define OF_FIRST 8
#define OF_OTHER 3

static int
add(struct krun_grants *grants, const struct json *answer, struct error *err)
{
    const char *node = json_get_text(answer, "node"), *key = json_get_text(answer, "nodeKey");
    const struct json *list = json_get(answer, "grants");
    int r = 0;

    if (node == NULL || key == NULL || json_count(list) == 0)
        return error_set(err, -EBADMSG, "the controller's answer is not understood");
    for (uint32_t i = 0; i < json_count(list) && r == 0; i++)
        r = json_is(json_at(list, i), JSON_STRING)
                ? krun_grants_add(grants, node, key, json_text(json_at(list, i)), err)
                : error_set(err, -EBADMSG, "the controller's answer is not understood");
    return r;
}

static int
ask(struct kctl *kctl, const struct json *pod, const char *key, int64_t count, struct arena *arena,
    struct krun_grants *grants, struct error *err)
{
    struct json *body = json_object(arena), *answer = NULL;
    const struct client_request request = {
        .verb = CLIENT_CREATE,
        .kind = &pod_kind,
        .namespace = json_path_text(pod, "metadata.namespace"),
        .name = json_path_text(pod, "metadata.name"),
        .subresource = "exec-grant",
        .body = body,
        .raw = true,
    };
    int r;

    json_set_string(arena, body, "key", key);
    json_set_int(arena, body, "count", count);
    r = kctl_call(kctl, &request, arena, &answer, err);
    return r < 0 ? r : add(grants, answer, err);
}

static bool
runs_elsewhere(const struct json *pod, const struct json *first)
{
    const char *phase = json_path_text(pod, "status.phase");
    const char *node = json_path_text(pod, "spec.nodeName"),
               *of_first = json_path_text(first, "spec.nodeName");

    return phase != NULL && strcmp(phase, "Running") == 0 && node != NULL && of_first != NULL
           && strcmp(node, of_first) != 0;
}

int
job_grants_get(struct kctl *kctl, const struct json *pod, const struct json *others,
               struct arena *arena, struct krun_grants **ret_grants, struct error *err)
{
    CLEANUP(krun_grants_freep) struct krun_grants *grants = NULL;
    char key[KRUN_GRANTS_KEY_SIZE];
    int r = krun_grants_make(&grants, key, err);

    if (r == 0)
        r = ask(kctl, pod, key, OF_FIRST, arena, grants, err);
    for (uint32_t i = 0; i < json_count(others) && r == 0; i++)
        if (runs_elsewhere(json_at(others, i), pod))
            r = ask(kctl, json_at(others, i), key, OF_OTHER, arena, grants, err);
    if (r < 0)
        return r;
    *ret_grants = grants;
    grants = NULL;
    return 0;
}
