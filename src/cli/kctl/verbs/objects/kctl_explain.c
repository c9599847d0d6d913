/* SPDX-License-Identifier: Apache-2.0 */
/* kctl explain - describes the fields of objects, from the tables by which the
 * server reads them; kctl api-resources - lists the kinds of objects
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/kctl/client/command.h"
#include "cli/kctl/input/resource.h"
#include "cli/print/grid.h"
#include "cli/print/terminal_colour.h"
#include "lib/api/object/kind.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/spelling.h"
#include "lib/base/strbuf.h"
#include "lib/json/record.h"

static const struct option_spec rows[] = {COMMON_OPTIONS};

static const struct option_table explain_table = {
    .name = "kctl explain",
    .usage = "TYPE[.FIELD]...",
    .summary = "Describe the fields of objects.",
    OPTION_ROWS(rows),
    .more = "Examples:\n"
            "  kctl explain pod.spec.placement\n"
            "  kctl explain job.spec",
};
static const struct option_table resources_table = {
    .name = "kctl api-resources",
    .usage = "[OPTION]...",
    .summary = "List the types of objects, and their short names.",
    OPTION_ROWS(rows),
};

static const char *
name_of_type(enum field_type type)
{
    switch (type) {
    case FIELD_BOOL:
        return "boolean";
    case FIELD_INT:
    case FIELD_INT64:
        return "integer";
    case FIELD_NUMBER:
        return "number";
    case FIELD_QUANTITY:
        return "quantity";
    case FIELD_INT_OR_STRING:
        return "integer or string";
    case FIELD_TIME:
    case FIELD_MICRO_TIME:
        return "time";
    case FIELD_BYTES:
        return "base64";
    case FIELD_OBJECT:
        return "object";
    case FIELD_ANY:
        return "any";
    default:
        return "string";
    }
}

static void
add_type(struct strbuf *out, const struct field *field)
{
    if (field->type == FIELD_LIST)
        strbuf_printf(out, "<[]%s>", name_of_type(field->element));
    else if (field->type == FIELD_MAP)
        strbuf_printf(out, "<map of %s>", name_of_type(field->element));
    else
        strbuf_printf(out, "<%s>", name_of_type(field->type));
    if ((field->flags & FIELD_REQUIRED) != 0)
        strbuf_add_text(out, " required");
    if ((field->flags & FIELD_KILN) != 0)
        strbuf_add_text(out, " (Kiln)");
}

static void
print_field(const struct field *field)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    strbuf_printf(&out, "  %-28s ", field->name);
    add_type(&out, field);
    if (field->help != NULL)
        strbuf_printf(&out, "\n      %s", field->help);
    for (unsigned i = 0; field->values != NULL && field->values[i] != NULL; i++)
        strbuf_printf(&out, "%s%s", i == 0 ? "\n      One of: " : ", ", field->values[i]);
    printf("%s\n", out.text);
}

static int
refuse_field(const char *path, const struct record *record, const char *name, struct error *err)
{
    const char *near;
    CLEANUP_FREE const char **names = xnew_array(const char *, record->n_fields + 1);

    for (unsigned i = 0; i < record->n_fields; i++)
        names[i] = record->fields[i].name;
    near = spelling_nearest(name, names, record->n_fields);
    if (near != NULL)
        return error_set(err, -ENOENT, "%s: there is no field '%s' (did you mean '%s'?)", path,
                         name, near);
    return error_set(err, -ENOENT, "%s: there is no field '%s'", path, name);
}

/* Follows "spec.template.spec" through lists and maps. */
static int
find(const struct kind *kind, const char *path, char *names, const struct record **ret_record,
     const struct field **ret_field, struct error *err)
{
    const struct record *record = kind->record;
    const struct field *field = NULL;
    char *rest = NULL;

    for (char *name = strtok_r(names, ".", &rest); name != NULL;
         name = strtok_r(NULL, ".", &rest)) {
        if (record == NULL)
            return error_set(err, -ENOENT, "%s: there is no field '%s'", path, name);
        field = NULL;
        for (unsigned i = 0; i < record->n_fields; i++)
            if (strcmp(record->fields[i].name, name) == 0)
                field = &record->fields[i];
        if (field == NULL)
            return refuse_field(path, record, name, err);
        record = field->of;
    }
    *ret_record = record;
    *ret_field = field;
    return 0;
}

static int
explain(const char *path, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    char *copy = arena_strdup(arena, path);
    char *dot = strchr(copy, '.');
    const struct kind *kind;
    const struct record *record = NULL;
    const struct field *field = NULL;
    int r;

    if (dot != NULL)
        *dot++ = '\0';
    kind = resource_kind(copy, err);
    if (kind == NULL)
        return -EINVAL;
    r = find(kind, path, dot != NULL ? dot : copy + strlen(copy), &record, &field, err);
    if (r < 0)
        return r;
    printf("KIND:     %s\nVERSION:  %s\n\n", kind->name, kind->api_version);
    if (field != NULL) {
        printf("FIELD:\n");
        print_field(field);
        putchar('\n');
    }
    if (record == NULL)
        return 0;
    if (record->help != NULL)
        printf("DESCRIPTION:\n  %s\n\n", record->help);
    printf("FIELDS:\n");
    for (unsigned i = 0; i < record->n_fields; i++)
        print_field(&record->fields[i]);
    return 0;
}

static int
explain_run(struct kctl *kctl, const void *options, int n_operands, char **operands,
            struct error *err)
{
    int r = 0;

    (void)kctl;
    (void)options;
    if (n_operands == 0)
        return error_set(err, -EINVAL, "explain what? For example pod.spec.placement");
    for (int i = 0; r == 0 && i < n_operands; i++)
        r = explain(operands[i], err);
    return r;
}

static int
api_resources_run(struct kctl *kctl, const void *options, int n_operands, char **operands,
                  struct error *err)
{
    static const char *const columns[] = {"Name", "Shortnames", "Apiversion", "Namespaced", "Kind"};
    CLEANUP(grid_freep)
    struct grid *grid = grid_new(terminal_colour_is_wanted());
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    (void)kctl;
    (void)options;
    if (n_operands > 0)
        return error_set(err, -EINVAL, "'%s' is not expected", operands[0]);
    for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
        grid_add_column(grid, columns[i]);
    for (unsigned i = 0; i < n_kinds; i++) {
        CLEANUP_STRBUF struct strbuf shorts = STRBUF_INIT;
        const char *cells[5] = {kinds[i]->plural};

        for (const char *const *s = kinds[i]->short_names; s != NULL && *s != NULL; s++)
            strbuf_printf(&shorts, "%s%s", shorts.length > 0 ? "," : "", *s);
        cells[1] = shorts.text;
        cells[2] = kinds[i]->api_version;
        cells[3] = (kinds[i]->flags & KIND_NAMESPACED) != 0 ? "true" : "false";
        cells[4] = kinds[i]->name;
        grid_add_row(grid, cells);
    }
    grid_print(grid, true, &out);
    fwrite(out.text, 1, out.length, stdout);
    return 0;
}

const struct command explain_command = {
    .name = "explain",
    .options = &explain_table,
    .options_size = sizeof(struct common_options),
    .run = explain_run,
};

const struct command api_resources_command = {
    .name = "api-resources",
    .options = &resources_table,
    .options_size = sizeof(struct common_options),
    .run = api_resources_run,
};
