/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/client/job_content.h"

#include <string.h>

#include "cli/kctl/client/kctl.h"
#include "lib/api/object/kind.h"
#include "lib/client/sync_call.h"

int
job_content_fetch(struct kctl *kctl, const struct target_object *job, const char *what,
                  struct sync_call *ret_call, struct error *err)
{
    const struct client_request request = {
        .verb = CLIENT_GET,
        .kind = &job_kind,
        .namespace = job->namespace,
        .name = job->name,
        .subresource = what,
        .raw = true,
    };

    return kctl_call_raw(kctl, &request, ret_call, err);
}

/* The next line of a script that is neither empty nor a comment; NULL: none. */
static const char *
next_command(const char *at, size_t *ret_length)
{
    while (*at != '\0') {
        const size_t length = strcspn(at, "\n");
        const size_t blanks = strspn(at, " \t");

        if (blanks < length && at[blanks] != '#') {
            *ret_length = length - blanks;
            return at + blanks;
        }
        at += length + (at[length] == '\n');
    }
    return NULL;
}

const char *
job_content_find_command(const char *script, size_t *ret_length)
{
    size_t more;
    const char *command = next_command(script, ret_length);

    return command == NULL || next_command(command + *ret_length, &more) != NULL ? NULL : command;
}
