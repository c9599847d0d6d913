/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/krun/krun_place.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/error.h"

/* A number up to `most`, and the character after it. */
static bool
read_number(const char **at, uint32_t most, char after, uint32_t *ret_number)
{
    char *end;
    unsigned long long n = strtoull(*at, &end, 10);

    if (end == *at || **at < '0' || **at > '9' || n > most || *end != after)
        return false;
    *at = end + (after != '\0');
    *ret_number = (uint32_t)n;
    return true;
}

int
krun_place_parse(struct arena *arena, const char *text, struct krun_place *p, struct error *err)
{
    const char *colon = strchr(text, ':');
    const char *comma = colon != NULL ? strchr(colon, ',') : NULL;
    const char *at = colon != NULL ? colon + 1 : text;
    uint32_t port, uid, fd;

    *p = (struct krun_place){0};
    if (text[0] == '/') {
        p->socket = arena_strdup(arena, text);
        return 0;
    }
    if (comma == NULL || colon == text || !read_number(&at, UINT16_MAX, ',', &port) || port == 0)
        return error_set(err, -EINVAL, "KILN_STEP_SOCKET is '%.200s', which is no agent's socket",
                         text);
    comma = strchr(at, ',');
    p->node = arena_strndup(arena, text, (size_t)(colon - text));
    p->port = port;
    p->cluster = arena_strndup(arena, at, comma != NULL ? (size_t)(comma - at) : 0);
    at = comma != NULL ? comma + 1 : "";
    if (p->cluster[0] == '\0' || !read_number(&at, UINT32_MAX - 1, ',', &uid))
        return error_set(err, -EINVAL, "KILN_STEP_SOCKET is '%.200s', which is no agent's socket",
                         text);
    p->agent_uid = uid;
    if (*at == '@') {
        at++;
        if (!read_number(&at, INT16_MAX, '\0', &fd) || fd == 0)
            return error_set(err, -EINVAL,
                             "KILN_STEP_SOCKET is '%.200s', which names no grants of a controller",
                             text);
        p->grants_fd = (int)fd;
        return 0;
    }
    p->munge_socket = *at != '\0' ? arena_strdup(arena, at) : NULL;
    return 0;
}

const char *
krun_place_format(struct arena *arena, const struct krun_place *p)
{
    if (p->socket != NULL)
        return p->socket;
    if (p->grants_fd > 0)
        return arena_printf(arena, "%s:%u,%s,%u,@%d", p->node, p->port, p->cluster,
                            (unsigned)p->agent_uid, p->grants_fd);
    return arena_printf(arena, "%s:%u,%s,%u,%s", p->node, p->port, p->cluster,
                        (unsigned)p->agent_uid, p->munge_socket != NULL ? p->munge_socket : "");
}
