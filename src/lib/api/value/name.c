/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/value/name.h"

#include <string.h>

#include "lib/base/arena.h"

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGIT "0123456789"

#define DNS_LABEL_PATTERN "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
#define NAME_PART_PATTERN "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
#define IS_USED           "regex used for validation is '"

#define SUBDOMAIN_WORDS                                                       \
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric " \
    "characters, '-' or '.', and must start and end with an alphanumeric "    \
    "character (e.g. 'example.com', " IS_USED DNS_LABEL_PATTERN "(\\." DNS_LABEL_PATTERN ")*')"
#define NAME_PART_WORDS                                                   \
    "must consist of alphanumeric characters, '-', '_' or '.', and must " \
    "start and end with an alphanumeric character (e.g. 'MyName',  or "   \
    "'my.name',  or '123-abc', " IS_USED NAME_PART_PATTERN "')"

static const char *const too_long_63 = "must be no more than 63 characters";
static const char *const too_long_253 = "must be no more than 253 characters";

/* Classes of characters in names. */
enum {
    IS_LOWER = 1 << 0,
    IS_UPPER = 1 << 1,
    IS_DIGIT = 1 << 2,
    IS_DASH = 1 << 3,
    IS_MARK = 1 << 4, /* '_' and '.' */
};
#define IS_OF_LABEL (IS_LOWER | IS_DIGIT)
#define IS_OF_PART  (IS_LOWER | IS_UPPER | IS_DIGIT)

static unsigned
sort_of(char c)
{
    if (c >= 'a' && c <= 'z')
        return IS_LOWER;
    if (c >= '0' && c <= '9')
        return IS_DIGIT;
    if (c >= 'A' && c <= 'Z')
        return IS_UPPER;
    return c == '-' ? IS_DASH : c == '_' || c == '.' ? IS_MARK : 0;
}

/* Whether all `length` characters are in the class `inside`, and the first and
 * the last in the class `ends`.
 */
static bool
consists_of(const char *name, size_t length, unsigned inside, unsigned ends)
{
    if (length == 0)
        return false;
    for (size_t i = 0; i < length; i++)
        if ((sort_of(name[i]) & inside) == 0)
            return false;
    return (sort_of(name[0]) & ends) != 0 && (sort_of(name[length - 1]) & ends) != 0;
}

static bool
is_subdomain(const char *name, size_t length)
{
    for (size_t at = 0;;) {
        size_t n = strcspn(name + at, "./");

        n = at + n > length ? length - at : n;
        if (!consists_of(name + at, n, IS_OF_LABEL | IS_DASH, IS_OF_LABEL))
            return false;
        if (at + n == length)
            return true;
        at += n + 1;
    }
}

static void
add(struct name_faults *faults, bool is_wrong, const char *words)
{
    if (is_wrong)
        faults->items[faults->count++] = words;
}

static void
judge_dns_label(const char *name, struct name_faults *faults)
{
    size_t n = strlen(name);

    add(faults, n > 63, too_long_63);
    if (consists_of(name, n, IS_OF_LABEL | IS_DASH, IS_OF_LABEL))
        return;
    if (n > 0 && strchr(name, '/') == NULL && is_subdomain(name, n))
        add(faults, true, "must not contain dots");
    else
        add(faults, true,
            "a lowercase RFC 1123 label must consist of lower case "
            "alphanumeric characters or '-', and must start and end with "
            "an alphanumeric character (e.g. 'my-name',  or '123-abc', " IS_USED DNS_LABEL_PATTERN
            "')");
}

static void
judge_dns_1035(const char *name, struct name_faults *faults)
{
    size_t n = strlen(name);

    add(faults, n > 63, too_long_63);
    add(faults,
        !consists_of(name, n, IS_OF_LABEL | IS_DASH, IS_OF_LABEL) || strchr(LOWER, name[0]) == NULL,
        "a DNS-1035 label must consist of lower case alphanumeric "
        "characters or '-', start with an alphabetic character, and "
        "end with an alphanumeric character (e.g. 'my-name',  or "
        "'abc-123', " IS_USED "[a-z]([-a-z0-9]*[a-z0-9])?')");
}

static bool
has_subdomain_form(const char *name, size_t length)
{
    return length > 0 && memchr(name, '/', length) == NULL && is_subdomain(name, length);
}

static void
judge_subdomain(const char *name, struct name_faults *faults)
{
    size_t n = strlen(name);

    add(faults, n > 253, too_long_253);
    add(faults, !has_subdomain_form(name, n), SUBDOMAIN_WORDS);
}

static void
judge_prefix(const char *name, size_t length, struct name_faults *faults)
{
    if (length == 0) {
        add(faults, true, "prefix part must be non-empty");
        return;
    }
    add(faults, length > 253, "prefix part must be no more than 253 characters");
    add(faults, !has_subdomain_form(name, length), "prefix part " SUBDOMAIN_WORDS);
}

static void
judge_qualified(const char *name, struct name_faults *faults)
{
    const char *slash = strchr(name, '/');
    const char *part = slash != NULL ? slash + 1 : name;
    size_t n = strlen(part);

    if (slash != NULL && strchr(part, '/') != NULL) {
        add(faults, true,
            "a qualified name " NAME_PART_WORDS
            " with an optional DNS subdomain prefix and '/' (e.g. "
            "'example.com/MyName')");
        return;
    }
    if (slash != NULL)
        judge_prefix(name, (size_t)(slash - name), faults);
    add(faults, n == 0, "name part must be non-empty");
    add(faults, n > 63, "name part must be no more than 63 characters");
    add(faults, !consists_of(part, n, IS_OF_PART | IS_DASH | IS_MARK, IS_OF_PART),
        "name part " NAME_PART_WORDS);
}

static void
judge_label_value(const char *value, struct name_faults *faults)
{
    size_t n = strlen(value);

    add(faults, n > 63, too_long_63);
    add(faults, n > 0 && !consists_of(value, n, IS_OF_PART | IS_DASH | IS_MARK, IS_OF_PART),
        "a valid label must be an empty string or consist of "
        "alphanumeric characters, '-', '_' or '.', and must start and "
        "end with an alphanumeric character (e.g. 'MyValue',  or "
        "'my_value',  or '12345', " IS_USED "(" NAME_PART_PATTERN ")?')");
}

static void
judge_port(const char *name, struct name_faults *faults)
{
    size_t n = strlen(name);

    add(faults, n > 15, "must be no more than 15 characters");
    add(faults, n == 0 || strspn(name, LOWER DIGIT "-") != n,
        "must contain only alpha-numeric characters (a-z, 0-9), and "
        "hyphens (-)");
    add(faults, strcspn(name, LOWER) == n, "must contain at least one letter (a-z)");
    add(faults, strstr(name, "--") != NULL, "must not contain consecutive hyphens");
    add(faults, n > 0 && (name[0] == '-' || name[n - 1] == '-'),
        "must not begin or end with a hyphen");
}

/* Kubernetes 1.32 allows every printable ASCII character except '='. */
static void
judge_env(const char *name, struct name_faults *faults)
{
    const char *p = name;

    while (*p >= ' ' && *p <= '~' && *p != '=')
        p++;
    add(faults, *name == '\0', "environment variable name must not be empty");
    add(faults, *p != '\0',
        "a valid environment variable name must consist only of "
        "printable ASCII characters other than '='");
}

static void
judge_config_key(const char *name, struct name_faults *faults)
{
    size_t n = strlen(name);

    add(faults, n > 253, too_long_253);
    add(faults, n == 0 || strspn(name, LOWER UPPER DIGIT "-_.") != n,
        "a valid config key must consist of alphanumeric characters, "
        "'-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or "
        "'key-name', " IS_USED "[-._a-zA-Z0-9]+')");
    if (strcmp(name, ".") == 0)
        add(faults, true, "must not be '.'");
    else if (strcmp(name, "..") == 0)
        add(faults, true, "must not be '..'");
    else
        add(faults, strncmp(name, "..", 2) == 0, "must not start with '..'");
}

static void
judge_path_segment(const char *name, struct name_faults *faults)
{
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
        add(faults, true, name[1] == '\0' ? "may not be '.'" : "may not be '..'");
        return;
    }
    add(faults, strchr(name, '/') != NULL, "may not contain '/'");
    add(faults, strchr(name, '%') != NULL, "may not contain '%'");
}

void
name_find_faults(enum name_form form, const char *name, struct name_faults *ret_faults)
{
    static void (*const judges[])(const char *, struct name_faults *) = {
        [NAME_DNS_LABEL] = judge_dns_label,
        [NAME_DNS_SUBDOMAIN] = judge_subdomain,
        [NAME_DNS_1035] = judge_dns_1035,
        [NAME_QUALIFIED] = judge_qualified,
        [NAME_LABEL_VALUE] = judge_label_value,
        [NAME_PORT] = judge_port,
        [NAME_ENV] = judge_env,
        [NAME_CONFIG_KEY] = judge_config_key,
        [NAME_PATH_SEGMENT] = judge_path_segment,
    };

    ret_faults->count = 0;
    judges[form](name, ret_faults);
}

const char *
name_refuse(enum name_form form, const char *name)
{
    struct name_faults faults;

    name_find_faults(form, name, &faults);
    return faults.count > 0 ? faults.items[0] : NULL;
}

const char *
name_refuse_all(struct arena *arena, enum name_form form, const char *name, const char *separator)
{
    struct name_faults faults;
    const char *all = NULL;

    name_find_faults(form, name, &faults);
    for (unsigned i = 0; i < faults.count; i++)
        all = all == NULL ? faults.items[i]
                          : arena_printf(arena, "%s%s%s", all, separator, faults.items[i]);
    return all;
}
