/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/name.h"

#include <string.h>

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGIT "0123456789"

#define DNS_LABEL_PATTERN "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
#define NAME_PART_PATTERN "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
#define IS_USED           "regex used for validation is '"

#define SUBDOMAIN_WORDS                                                       \
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric " \
    "characters, '-' or '.', and must start and end with an alphanumeric "    \
    "character (e.g. 'example.com', " IS_USED DNS_LABEL_PATTERN               \
    "(\\." DNS_LABEL_PATTERN ")*')"
#define NAME_PART_WORDS                                                   \
    "must consist of alphanumeric characters, '-', '_' or '.', and must " \
    "start and end with an alphanumeric character (e.g. 'MyName',  or "   \
    "'my.name',  or '123-abc', " IS_USED NAME_PART_PATTERN "')"

static const char *const too_long_63 = "must be no more than 63 characters";
static const char *const too_long_253 = "must be no more than 253 characters";

/* All of `length` bytes inside, the first and the last in `ends`. */
static bool
consists_of(const char *name,
            size_t length,
            const char *inside,
            const char *ends)
{
    if (length == 0)
        return false;
    for (size_t i = 0; i < length; i++)
        if (name[i] == '\0' || strchr(inside, name[i]) == NULL)
            return false;
    return strchr(ends, name[0]) != NULL
           && strchr(ends, name[length - 1]) != NULL;
}

static bool
is_subdomain(const char *name, size_t length)
{
    for (size_t at = 0;;) {
        size_t n = strcspn(name + at, "./");

        n = at + n > length ? length - at : n;
        if (!consists_of(name + at, n, LOWER DIGIT "-", LOWER DIGIT))
            return false;
        if (at + n == length)
            return true;
        at += n + 1;
    }
}

static const char *
refuse_dns_label(const char *name)
{
    size_t n = strlen(name);

    if (n > 63)
        return too_long_63;
    if (strchr(name, '.') != NULL && strchr(name, '/') == NULL
        && is_subdomain(name, n))
        return "must not contain dots";
    if (!consists_of(name, n, LOWER DIGIT "-", LOWER DIGIT))
        return "a lowercase RFC 1123 label must consist of lower case "
               "alphanumeric characters or '-', and must start and end with "
               "an alphanumeric character (e.g. 'my-name',  or '123-abc', " IS_USED
                   DNS_LABEL_PATTERN "')";
    return NULL;
}

static const char *
refuse_dns_1035(const char *name)
{
    size_t n = strlen(name);

    if (n > 63)
        return too_long_63;
    if (!consists_of(name, n, LOWER DIGIT "-", LOWER DIGIT)
        || strchr(LOWER, name[0]) == NULL)
        return "a DNS-1035 label must consist of lower case alphanumeric "
               "characters or '-', start with an alphabetic character, and "
               "end with an alphanumeric character (e.g. 'my-name',  or "
               "'abc-123', " IS_USED "[a-z]([-a-z0-9]*[a-z0-9])?')";
    return NULL;
}

static const char *
refuse_subdomain(const char *name)
{
    size_t n = strlen(name);

    if (n > 253)
        return too_long_253;
    return n > 0 && is_subdomain(name, n) && strchr(name, '/') == NULL
               ? NULL
               : SUBDOMAIN_WORDS;
}

static const char *
refuse_qualified(const char *name)
{
    const char *slash = strchr(name, '/');
    const char *part = slash != NULL ? slash + 1 : name;
    size_t n = strlen(part);

    if (slash != NULL && strchr(part, '/') != NULL)
        return "a qualified name " NAME_PART_WORDS
               " with an optional DNS subdomain prefix and '/' (e.g. "
               "'example.com/MyName')";
    if (slash == name)
        return "prefix part must be non-empty";
    if (slash != NULL && slash - name > 253)
        return "prefix part must be no more than 253 characters";
    if (slash != NULL && !is_subdomain(name, (size_t)(slash - name)))
        return "prefix part " SUBDOMAIN_WORDS;
    if (n == 0)
        return "name part must be non-empty; name part " NAME_PART_WORDS;
    if (n > 63)
        return "name part must be no more than 63 characters";
    if (!consists_of(part, n, LOWER UPPER DIGIT "-_.", LOWER UPPER DIGIT))
        return "name part " NAME_PART_WORDS;
    return NULL;
}

static const char *
refuse_label_value(const char *value)
{
    size_t n = strlen(value);

    if (n > 63)
        return too_long_63;
    if (n > 0
        && !consists_of(value, n, LOWER UPPER DIGIT "-_.", LOWER UPPER DIGIT))
        return "a valid label must be an empty string or consist of "
               "alphanumeric characters, '-', '_' or '.', and must start and "
               "end with an alphanumeric character (e.g. 'MyValue',  or "
               "'my_value',  or '12345', " IS_USED "(" NAME_PART_PATTERN ")?')";
    return NULL;
}

static const char *
refuse_port(const char *name)
{
    size_t n = strlen(name);

    if (n > 15)
        return "must be no more than 15 characters";
    if (n == 0 || strspn(name, LOWER DIGIT "-") != n)
        return "must contain only alpha-numeric characters (a-z, 0-9), and "
               "hyphens (-)";
    if (strcspn(name, LOWER) == n)
        return "must contain at least one letter (a-z)";
    if (strstr(name, "--") != NULL)
        return "must not contain consecutive hyphens";
    if (name[0] == '-' || name[n - 1] == '-')
        return "must not begin or end with a hyphen";
    return NULL;
}

/* 1.32 allows every printable character of ASCII but '='. */
static const char *
refuse_env(const char *name)
{
    if (*name == '\0')
        return "environment variable name must not be empty";
    for (const char *p = name; *p != '\0'; p++)
        if (*p < ' ' || *p > '~' || *p == '=')
            return "a valid environment variable name must consist only of "
                   "printable ASCII characters other than '='";
    return NULL;
}

static const char *
refuse_config_key(const char *name)
{
    size_t n = strlen(name);

    if (n > 253)
        return too_long_253;
    if (n == 0 || strspn(name, LOWER UPPER DIGIT "-_.") != n)
        return "a valid config key must consist of alphanumeric characters, "
               "'-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or "
               "'key-name', " IS_USED "[-._a-zA-Z0-9]+')";
    if (strcmp(name, ".") == 0)
        return "must not be '.'";
    if (strcmp(name, "..") == 0)
        return "must not be '..'";
    return strncmp(name, "..", 2) == 0 ? "must not start with '..'" : NULL;
}

static const char *
refuse_path_segment(const char *name)
{
    if (strcmp(name, ".") == 0)
        return "may not be '.'";
    if (strcmp(name, "..") == 0)
        return "may not be '..'";
    if (strchr(name, '/') != NULL)
        return "may not contain '/'";
    return strchr(name, '%') != NULL ? "may not contain '%'" : NULL;
}

const char *
name_refuse(enum name_form form, const char *name)
{
    switch (form) {
    case NAME_DNS_LABEL:
        return refuse_dns_label(name);
    case NAME_DNS_SUBDOMAIN:
        return refuse_subdomain(name);
    case NAME_DNS_1035:
        return refuse_dns_1035(name);
    case NAME_QUALIFIED:
        return refuse_qualified(name);
    case NAME_LABEL_VALUE:
        return refuse_label_value(name);
    case NAME_PORT:
        return refuse_port(name);
    case NAME_ENV:
        return refuse_env(name);
    case NAME_CONFIG_KEY:
        return refuse_config_key(name);
    case NAME_PATH_SEGMENT:
        return refuse_path_segment(name);
    }
    return NULL;
}
