/* SPDX-License-Identifier: Apache-2.0 */
/* kctl version - the version of this program and of the controller */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/connect/connection.h"
#include "cli/kctl/client/command.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/output/listing.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/base/version/version.h"
#include "lib/http/http_client.h"
#include "lib/json/json.h"
#include "lib/loop/loop.h"
#include "lib/yaml/yaml.h"

struct version_options {
    struct common_options common;
    const char *form;
    bool client_only;
};

static const struct option_spec rows[] = {
    COMMON_OPTIONS,
    {.name = "client",
     .help = "only the version of this program",
     .type = OPTION_FLAG,
     .offset = offsetof(struct version_options, client_only)},
    {.name = "output",
     .letter = 'o',
     .argument = "FORM",
     .help = "json or yaml",
     .type = OPTION_TEXT,
     .offset = offsetof(struct version_options, form)},
};

static const struct option_table table = {
    .name = "kctl version",
    .usage = "[OPTION]...",
    .summary = "Show the versions of kctl and of the controller.",
    OPTION_ROWS(rows),
};

struct version_request {
    struct loop *loop;
    struct arena *arena;
    struct json *version; /* the answer */
    struct error *err;
    int result;
};

static void
answered(const struct http_response *answer, const struct error *err, void *arg)
{
    struct version_request *q = arg;

    if (answer == NULL)
        q->result = error_set(q->err, err->code, "%s", err->text);
    else if (answer->status != 200)
        q->result = error_set(q->err, -EREMOTEIO, "the server answered with HTTP status %d",
                              answer->status);
    else
        q->version = json_parse(q->arena, answer->body, answer->length, NULL, q->err);
    loop_stop(q->loop);
}

static int
ask(struct kctl *kctl, struct arena *arena, struct json **ret_version, struct error *err)
{
    struct version_request q = {.arena = arena, .err = err};
    const struct http_client_request http = {
        .method = HTTP_GET,
        .target = "/version",
        .done = answered,
        .arg = &q,
    };
    int r = kctl_open(kctl, err);

    if (r < 0)
        return r;
    q.loop = kctl_client(kctl)->loop;
    http_client_call(connection_http(kctl->connection), &http);
    loop_run(q.loop);
    if (q.result == 0 && q.version == NULL)
        q.result = error_wrap(err, -EPROTO, "the server's version");
    *ret_version = q.version;
    return connection_advise(q.result, err);
}

/* Prints the versions in kubectl's format. */
static void
print_tree(struct arena *arena, enum listing_form form, struct json *server)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct json *both = json_object(arena);

    json_set(arena, json_make_object(arena, both, "clientVersion"), "gitVersion",
             json_stringf(arena, "v%s", version_text()));
    if (server != NULL)
        json_set(arena, both, "serverVersion", server);
    if (form == LISTING_JSON) {
        json_print_indented(both, &text);
        strbuf_add_char(&text, '\n');
    } else {
        yaml_print(both, &text);
    }
    fwrite(text.text, 1, text.length, stdout);
}

static int
version_run(struct kctl *kctl, const void *options, int n_operands, char **operands,
            struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct version_options *o = options;
    enum listing_form form = LISTING_TABLE;
    struct json *server = NULL;
    int r = 0;

    if (n_operands > 0)
        return error_set(err, -EINVAL, "'%s' is not expected", operands[0]);
    if (o->form != NULL && strcmp(o->form, "json") != 0 && strcmp(o->form, "yaml") != 0)
        return error_set(err, -EINVAL, "-o '%s' is neither json nor yaml", o->form);
    if (o->form != NULL)
        form = o->form[0] == 'j' ? LISTING_JSON : LISTING_YAML;
    if (form == LISTING_TABLE)
        printf("Client: v%s\n", version_text());
    if (!o->client_only)
        r = ask(kctl, arena, &server, err);
    if (form != LISTING_TABLE)
        print_tree(arena, form, server);
    else if (server != NULL)
        printf("Server: %s\n", json_get_text(server, "gitVersion") != NULL
                                   ? json_get_text(server, "gitVersion")
                                   : "unknown");
    return r;
}

const struct command version_command = {
    .name = "version",
    .options = &table,
    .options_size = sizeof(struct version_options),
    .run = version_run,
};
