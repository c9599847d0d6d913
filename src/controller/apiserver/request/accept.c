/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/request/accept.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "controller/apiserver/request/reply.h"
#include "lib/base/alloc.h"

/* One media range with the parameters that Kiln reads. */
struct media_range {
    const char *type;
    const char *as;
    const char *version;
    const char *group;
    const char *profile;
};

static char *
trim(char *text)
{
    size_t n;

    text += strspn(text, " \t");
    n = strlen(text);
    while (n > 0 && (text[n - 1] == ' ' || text[n - 1] == '\t'))
        text[--n] = '\0';
    return text;
}

static void
read_range(char *text, struct media_range *ret_range)
{
    char *part;

    memset(ret_range, 0, sizeof(*ret_range));
    ret_range->type = trim(strsep(&text, ";"));
    while ((part = strsep(&text, ";")) != NULL) {
        char *value = strchr(part, '=');

        if (value == NULL)
            continue;
        *value++ = '\0';
        part = trim(part);
        value = trim(value);
        if (strcmp(part, "as") == 0)
            ret_range->as = value;
        else if (strcmp(part, "v") == 0)
            ret_range->version = value;
        else if (strcmp(part, "g") == 0)
            ret_range->group = value;
        else if (strcmp(part, "profile") == 0)
            ret_range->profile = value;
    }
}

typedef bool take_form_fn(const struct media_range *range, struct accept *accept);

static bool
take_discovery(const struct media_range *range, struct accept *accept)
{
    if (range->as == NULL)
        return true;
    if (strcmp(range->as, "APIGroupDiscoveryList") != 0 || range->group == NULL
        || strcmp(range->group, "apidiscovery.k8s.io") != 0 || range->version == NULL)
        return false;
    accept->is_v2beta1 = strcmp(range->version, "v2beta1") == 0;
    if (!accept->is_v2beta1 && strcmp(range->version, "v2") != 0)
        return false;
    accept->form = ACCEPT_DISCOVERY;
    return true;
}

static bool
take_form(const struct media_range *range, struct accept *accept)
{
    bool v1beta1;

    if (range->as == NULL)
        return true;
    v1beta1 = range->version != NULL && strcmp(range->version, "v1beta1") == 0;
    if (range->group == NULL || strcmp(range->group, "meta.k8s.io") != 0 || range->version == NULL
        || (!v1beta1 && strcmp(range->version, "v1") != 0))
        return false;
    if (strcmp(range->as, "Table") == 0)
        accept->form = ACCEPT_TABLE;
    else if (strcmp(range->as, "PartialObjectMetadata") == 0)
        accept->form = ACCEPT_METADATA;
    else if (strcmp(range->as, "PartialObjectMetadataList") == 0)
        accept->form = ACCEPT_METADATA_LIST;
    else
        return false;
    accept->is_v1beta1 = v1beta1;
    accept->is_kiln = range->profile != NULL && strcmp(range->profile, "kiln") == 0;
    return true;
}

/* Whether the server can answer in this media range. */
static bool
take(const struct media_range *range, take_form_fn *form, struct accept *accept,
     bool *ret_knows_type)
{
    bool is_yaml = strcasecmp(range->type, "application/yaml") == 0;

    if (!is_yaml && strcasecmp(range->type, "application/json") != 0
        && strcmp(range->type, "*/*") != 0)
        return false;
    *ret_knows_type = true;
    if (!form(range, accept))
        return false;
    accept->is_yaml = is_yaml;
    return true;
}

static void
refuse(struct reply *reply, bool knows_type)
{
    reply_fail(reply, &(struct reply_failure){
                          .code = 406,
                          .reason = "NotAcceptable",
                          .message = knows_type ? "only the following media types are accepted: "
                                                  "application/json, application/yaml, "
                                                  "application/vnd.kubernetes.protobuf"
                                                : "406: Not Acceptable\n\nAvailable "
                                                  "representations: application/json, "
                                                  "application/yaml, "
                                                  "application/vnd.kubernetes.protobuf",
                          .empty_details = !knows_type,
                      });
}

static bool
parse(const char *header, take_form_fn *form, struct accept *ret_accept, struct reply *reply)
{
    CLEANUP_FREE char *copy = NULL;
    bool knows_type = false;
    char *rest, *text;

    memset(ret_accept, 0, sizeof(*ret_accept));
    if (header == NULL || header[0] == '\0')
        return true;
    copy = xstrdup(header);
    rest = copy;
    while ((text = strsep(&rest, ",")) != NULL) {
        struct media_range range;

        read_range(text, &range);
        if (take(&range, form, ret_accept, &knows_type))
            return true;
    }
    refuse(reply, knows_type);
    return false;
}

bool
accept_parse(const char *header, struct accept *ret_accept, struct reply *reply)
{
    return parse(header, take_form, ret_accept, reply);
}

bool
accept_parse_discovery(const char *header, struct accept *ret_accept, struct reply *reply)
{
    return parse(header, take_discovery, ret_accept, reply);
}
