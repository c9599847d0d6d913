/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/client/api_path.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "lib/api/object/kind.h"
#include "lib/base/strbuf.h"
#include "lib/client/client.h"
#include "lib/http/target.h"

static void
add_segment(struct strbuf *out, const char *segment)
{
    strbuf_add_char(out, '/');
    target_escape(out, segment);
}

static void
add_namespace(const struct kind *kind, const char *namespace, struct strbuf *out)
{
    if (kind->group[0] == '\0')
        strbuf_printf(out, "/api/%s", kind->version);
    else
        strbuf_printf(out, "/apis/%s/%s", kind->group, kind->version);
    if ((kind->flags & KIND_NAMESPACED) != 0 && namespace != NULL) {
        strbuf_add_text(out, "/namespaces");
        add_segment(out, namespace);
    }
}

/* The path of the collection: "/api/v1/nodes". Namespace may be NULL. */
static void
add_collection(const struct kind *kind, const char *namespace, struct strbuf *out)
{
    add_namespace(kind, namespace, out);
    add_segment(out, kind->plural);
}

/* A binding without a pod's name is the binding of a group. */
static bool
is_group_binding(const struct client_request *request)
{
    return request->kind == &pod_kind && request->name == NULL && request->subresource != NULL
           && strcmp(request->subresource, "binding") == 0;
}

static void
add_resource(const struct client_request *request, struct strbuf *out)
{
    if (is_group_binding(request)) {
        add_namespace(request->kind, request->namespace, out);
        add_segment(out, "bindings");
        return;
    }
    add_collection(request->kind, request->namespace, out);
    if (request->name != NULL)
        add_segment(out, request->name);
    if (request->subresource != NULL)
        add_segment(out, request->subresource);
}

/* Appends "?name=value" or "&name=value"; nothing if the value is NULL or "".
 */
static void
add_query(struct strbuf *out, char *separator, const char *name, const char *value)
{
    if (value == NULL || value[0] == '\0')
        return;
    strbuf_add_char(out, *separator);
    *separator = '&';
    strbuf_printf(out, "%s=", name);
    target_escape(out, value);
}

void
api_path_of_request(const struct client_request *request, struct strbuf *out)
{
    char separator = '?';

    add_resource(request, out);
    add_query(out, &separator, "labelSelector", request->label_selector);
    add_query(out, &separator, "fieldSelector", request->field_selector);
    add_query(out, &separator, "continue", request->continue_token);
    add_query(out, &separator, "resourceVersion", request->resource_version);
    if (request->limit > 0) {
        strbuf_printf(out, "%climit=%" PRId64, separator, request->limit);
        separator = '&';
    }
    if (request->query != NULL && request->query[0] != '\0')
        strbuf_printf(out, "%c%s", separator, request->query);
}

void
api_path_of_watch(const struct client_watch_request *request, struct strbuf *out)
{
    char separator = '?';

    add_collection(request->kind, request->namespace, out);
    add_query(out, &separator, "watch", "true");
    add_query(out, &separator, "allowWatchBookmarks", "true");
    add_query(out, &separator, "labelSelector", request->label_selector);
    add_query(out, &separator, "fieldSelector", request->field_selector);
    add_query(out, &separator, "resourceVersion", request->resource_version);
    if (request->query != NULL)
        strbuf_printf(out, "%c%s", separator, request->query);
}
