/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/connect/client_settings.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/spelling.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/yaml/yaml.h"

#define SYSTEM_PATH SYSCONFDIR "/kiln/client.yaml"
#define MAX_SIZE    65536

static const char *const keys[] = {"server", "cluster", "serviceUser", "mungeSocket"};

const char *
client_settings_path(void)
{
    const char *path = getenv("KILN_CONFIG");

    return path != NULL && path[0] != '\0' ? path : SYSTEM_PATH;
}

void
client_settings_fini(struct client_settings *s)
{
    free(s->server);
    free(s->cluster);
    free(s->service_user);
    free(s->munge_socket);
    memset(s, 0, sizeof(*s));
}

static char **
place_of(struct client_settings *s, const char *key)
{
    char **const places[ARRAY_SIZE(keys)] = {&s->server, &s->cluster, &s->service_user,
                                             &s->munge_socket};

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        if (strcmp(keys[i], key) == 0)
            return places[i];
    return NULL;
}

static int
refuse_key(const char *key, struct error *err)
{
    const char *near = spelling_nearest(key, keys, ARRAY_SIZE(keys));

    if (near != NULL)
        return error_set(err, -EINVAL, "unknown key (did you mean '%s'?)", near);
    return error_set(err, -EINVAL, "unknown key");
}

/* The service user may be a uid, which YAML reads as a number. */
static int
take_member(struct client_settings *s, const struct json_member *member, struct error *err)
{
    char **place = place_of(s, member->name);
    const struct json *value = member->value;

    if (place == NULL)
        return refuse_key(member->name, err);
    if (json_is(value, JSON_NULL))
        return 0;
    if (!json_is(value, JSON_STRING) && !json_is(value, JSON_NUMBER))
        return error_set(err, -EINVAL, "must be a string");
    if (value->text[0] == '\0')
        return error_set(err, -EINVAL, "must not be empty");
    *place = xstrdup(value->text);
    return 0;
}

static int
read_text(struct client_settings *s, const char *path, const struct strbuf *text, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(yaml_reader_freep)
    struct yaml_reader *reader = yaml_reader_new(text->text, text->length);
    struct json *document = NULL;
    int r = yaml_reader_next(reader, arena, &document, NULL, err);

    if (r < 0)
        return error_wrap(err, r, "%s", path);
    if (document == NULL || json_is(document, JSON_NULL))
        return 0;
    if (!json_is(document, JSON_OBJECT))
        return error_set(err, -EINVAL, "%s: not a list of 'key: value' lines", path);
    for (uint32_t i = 0; i < document->count; i++) {
        const struct json_member *member = &document->members[i];

        r = take_member(s, member, err);
        if (r < 0)
            return error_wrap(err, r, "%s:%u: %s", path, yaml_reader_line(reader, member->value),
                              member->name);
    }
    return 0;
}

int
client_settings_read(struct client_settings *ret_settings, struct error *err)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const char *path = client_settings_path();
    struct error unread = {0};
    int r = file_read(path, MAX_SIZE, &text, &unread);

    if (r == -ENOENT && strcmp(path, SYSTEM_PATH) == 0)
        return 0;
    if (r < 0)
        return error_set(err, r, "%s", unread.text);
    return read_text(ret_settings, path, &text, err);
}

int
client_settings_check_clusters(const char *names, struct error *err)
{
    CLEANUP(client_settings_fini) struct client_settings settings = {0};
    int r = client_settings_read(&settings, err);
    const char *ours = settings.cluster != NULL ? settings.cluster : "kiln";

    if (r < 0)
        return r;
    for (size_t length; *names != '\0'; names += length + (names[length] == ',')) {
        length = strcspn(names, ",");
        if ((strncmp(names, ours, length) != 0 || ours[length] != '\0')
            && (length != 3 || strncasecmp(names, "all", 3) != 0))
            return error_set(err, -ENOENT, "'%.*s' is not this cluster, which is '%s'", (int)length,
                             names, ours);
    }
    return 0;
}
