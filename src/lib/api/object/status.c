/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/object/status.h"

#include <stdbool.h>
#include <string.h>

#include "lib/api/object/kind.h"
#include "lib/api/value/rows.h"
#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"

/* clang-format off */
static const struct field status_cause_fields[] = {
    STRING("reason", status_cause, reason, 0,
        HELP("Reason in one word, for programs.")),
    STRING("message", status_cause, message, 0,
        HELP("Explanation, for people.")),
    STRING("field", status_cause, field, 0,
        HELP("Where.")),
};
static RECORD(status_cause, status_cause,
       "io.k8s.apimachinery.pkg.apis.meta.v1.StatusCause",
       HELP("One cause of the error."));

static const struct field status_details_fields[] = {
    STRING("name", status_details, name, 0,
        HELP("Its name.")),
    STRING("group", status_details, group, 0,
        HELP("The group.")),
    STRING("kind", status_details, kind, 0,
        HELP("The kind of object.")),
    STRING("uid", status_details, uid, 0,
        HELP("The required uid of the object.")),
    OBJECTS("causes", status_details, causes, status_cause, 0,
        HELP("What is wrong.")),
    INT("retryAfterSeconds", status_details, retry_after_s, 0,
        HELP("When to try again.")),
};
static RECORD(status_details, status_details,
       "io.k8s.apimachinery.pkg.apis.meta.v1.StatusDetails",
       HELP("Details of an answer."));

static const struct field list_meta_fields[] = {
    OPAQUE(STRING, "selfLink", 0,
        HELP("No longer used.")),
    OPAQUE(STRING, "resourceVersion", 0,
        HELP("The revision of the whole list.")),
    OPAQUE(STRING, "continue", 0,
        HELP("Send it to get the next page.")),
    OPAQUE(INT64, "remainingItemCount", KEPT,
        HELP("How many objects follow this page.")),
};
OPAQUE_RECORD(list_meta, "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
       HELP("The metadata of a list."));

static const struct field status_fields[] = {
    TYPE_META,
    OPAQUE_OBJECT("metadata", list_meta, ALWAYS,
        HELP("Name, namespace, labels and what else objects have in "
             "common.")),
    STRING("status", status, status, 0,
        HELP("Success or Failure.")),
    STRING("message", status, message, 0,
        HELP("Explanation, for people.")),
    STRING("reason", status, reason, 0,
        HELP("Reason in one word, for programs.")),
    OBJECT("details", status, details, status_details, 0,
        HELP("Details.")),
    INT("code", status, code, 0,
        HELP("The HTTP status.")),
};
RECORD(status, status, "io.k8s.apimachinery.pkg.apis.meta.v1.Status",
       HELP("The result of a request."));
/* clang-format on */

/* Takes "jobs.batch" or "Job.batch" off the beginning. NULL: it does not begin
 * with the resource of a kind, and *at is unchanged.
 */
static const struct kind *
take_resource(const char **at)
{
    const size_t whole = strcspn(*at, " \"");
    const size_t length = strcspn(*at, ".");
    CLEANUP_FREE char *word = xstrndup(*at, length < whole ? length : whole);
    const struct kind *kind = word[0] != '\0' ? kind_find_any_name(word) : NULL;

    if (kind == NULL || (strcmp(word, kind->plural) != 0 && strcmp(word, kind->name) != 0))
        return NULL;
    *at += whole;
    return kind;
}

/* Takes ` "NAME"` off the beginning, and appends "job 7" or "node n1". */
static bool
take_name(const char **at, const struct kind *kind, struct strbuf *out)
{
    const char *end = strncmp(*at, " \"", 2) == 0 ? strchr(*at + 2, '"') : NULL;
    const char *name = *at + 2;

    if (end == NULL)
        return false;
    if (kind == &job_kind && strncmp(name, "job-", 4) == 0
        && name + 4 + strspn(name + 4, "0123456789") == end && end > name + 4)
        name += 4;
    if (end > name)
        strbuf_printf(out, "%s %.*s", kind->singular, (int)(end - name), name);
    *at = end + 1;
    return true;
}

/* False: the text is no message of the API about an object; `out` is unchanged. */
static bool
add_plain(const char *text, struct strbuf *out)
{
    static const char forbidden[] = " is forbidden: ";
    static const char unfulfilled[] = "Operation cannot be fulfilled on ";
    const char *at = text;
    const size_t start = out->length;
    const struct kind *kind;
    bool has_name;

    if (strncmp(at, unfulfilled, sizeof(unfulfilled) - 1) == 0)
        at += sizeof(unfulfilled) - 1;
    kind = take_resource(&at);
    has_name = kind != NULL && take_name(&at, kind, out);
    if (kind != NULL && strncmp(at, forbidden, sizeof(forbidden) - 1) == 0) {
        at += sizeof(forbidden) - 1;
        strbuf_printf(out, "%s%s", out->length > start ? ": " : "", at);
    } else if (has_name && (at[0] == ' ' || at[0] == ':'))
        strbuf_add_text(out, out->length > start ? at : at + 1);
    else {
        strbuf_truncate(out, start);
        return false;
    }
    return true;
}

void
status_add_plain_message(const char *message, struct strbuf *out)
{
    const char *colon = strstr(message, ": ");
    const size_t start = out->length;

    if (add_plain(message, out))
        return;
    if (colon != NULL) {
        strbuf_add(out, message, (size_t)(colon + 2 - message));
        if (add_plain(colon + 2, out))
            return;
        strbuf_truncate(out, start);
    }
    strbuf_add_text(out, message);
}
