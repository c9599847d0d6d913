/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/input/documents.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/api/object/kind.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/spelling.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/program/option.h"
#include "lib/yaml/yaml.h"

#define MAX_SIZE (64u << 20)

static void
append(struct documents *all, struct arena *arena, const struct document *one)
{
    if (all->count == all->capacity) {
        struct document *items;

        all->capacity = all->capacity > 0 ? all->capacity * 2 : 8;
        items = arena_new_array(arena, struct document, all->capacity);
        if (all->count > 0)
            memcpy(items, all->items, all->count * sizeof(*items));
        all->items = items;
    }
    all->items[all->count++] = *one;
}

static int
refuse_kind(const char *source, const char *version, const char *name, struct error *err)
{
    const char *names[64];
    const char *near;
    size_t n = 0;

    for (unsigned i = 0; i < n_kinds && n < ARRAY_SIZE(names); i++)
        names[n++] = kinds[i]->name;
    near = spelling_nearest(name, names, n);
    if (near != NULL && strcmp(near, name) != 0)
        return error_set(err, -EINVAL, "%s: unknown kind '%s' (did you mean '%s'?)", source, name,
                         near);
    return error_set(err, -EINVAL, "%s: unknown kind '%s' of version '%s'", source, name, version);
}

static int
take_object(struct kctl *kctl, struct arena *arena, struct documents *all, struct json *object,
            const char *source, struct error *err)
{
    const char *version = json_get_text(object, "apiVersion");
    const char *name = json_get_text(object, "kind");
    const char *namespace = json_path_text(object, "metadata.namespace");
    struct document one = {.object = object, .source = source};

    if (version == NULL || name == NULL)
        return error_set(err, -EINVAL, "%s: apiVersion and kind are required", source);
    one.target.kind = kind_find_by_name(version, name);
    if (one.target.kind == NULL)
        return refuse_kind(source, version, name, err);
    one.target.name = json_path_text(object, "metadata.name");
    if (one.target.name == NULL && json_path_text(object, "metadata.generateName") == NULL)
        return error_set(err, -EINVAL, "%s: metadata.name is required", source);
    if ((one.target.kind->flags & KIND_NAMESPACED) != 0) {
        if (namespace != NULL && kctl->namespace != NULL && strcmp(namespace, kctl->namespace) != 0)
            return error_set(err, -EINVAL, "%s: its namespace is '%s', but -n gives '%s'", source,
                             namespace, kctl->namespace);
        one.target.namespace = namespace != NULL ? namespace : kctl_namespace(kctl);
    }
    append(all, arena, &one);
    return 0;
}

static int
take_document(struct kctl *kctl, struct arena *arena, struct documents *all, struct json *document,
              const char *source, struct error *err)
{
    const char *name = json_get_text(document, "kind");
    const struct json *items = json_get(document, "items");
    int r = 0;

    if (json_is(document, JSON_NULL))
        return 0;
    if (!json_is(document, JSON_OBJECT))
        return error_set(err, -EINVAL, "%s: not an object", source);
    if (name == NULL || !json_is(items, JSON_ARRAY) || strlen(name) < 4
        || strcmp(name + strlen(name) - 4, "List") != 0)
        return take_object(kctl, arena, all, document, source, err);
    for (uint32_t i = 0; i < json_count(items) && r == 0; i++)
        r = take_object(kctl, arena, all, json_at(items, i),
                        arena_printf(arena, "%s, item %u", source, i + 1), err);
    return r;
}

static int
take_text(struct kctl *kctl, struct arena *arena, struct documents *all, const struct strbuf *text,
          const char *file, struct error *err)
{
    CLEANUP(yaml_reader_freep)
    struct yaml_reader *reader = yaml_reader_new(text->text, text->length);
    unsigned number = 0;

    for (;;) {
        struct json *document = NULL;
        const char *source = file;
        int r = yaml_reader_next(reader, arena, &document, NULL, err);

        if (r < 0)
            return error_wrap(err, r, "%s", file);
        if (r == 0)
            return 0;
        if (++number > 1)
            source = arena_printf(arena, "%s, document %u", file, number);
        r = take_document(kctl, arena, all, document, source, err);
        if (r < 0)
            return r;
    }
}

static int
read_file(const char *file, struct strbuf *text, struct error *err)
{
    int r;

    if (strcmp(file, "-") != 0)
        return file_read(file, MAX_SIZE, text, err);
    r = fd_read_all(STDIN_FILENO, MAX_SIZE, text);
    return r < 0 ? error_wrap(err, r, "reading the standard input") : 0;
}

static int
take_file(struct kctl *kctl, struct arena *arena, struct documents *all, const char *file,
          struct error *err)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    int r = read_file(file, &text, err);

    if (r < 0)
        return r;
    return take_text(kctl, arena, all, &text, strcmp(file, "-") == 0 ? "standard input" : file,
                     err);
}

static int
is_document(const struct dirent *entry)
{
    static const char *const endings[] = {".yaml", ".yml", ".json"};
    const size_t length = strlen(entry->d_name);

    for (size_t i = 0; i < ARRAY_SIZE(endings); i++) {
        const size_t n = strlen(endings[i]);

        if (length > n && strcmp(entry->d_name + length - n, endings[i]) == 0)
            return entry->d_name[0] != '.';
    }
    return 0;
}

static bool
is_directory(const char *file)
{
    struct stat st;

    return strcmp(file, "-") != 0 && stat(file, &st) == 0 && S_ISDIR(st.st_mode);
}

static int
take_directory(struct kctl *kctl, struct arena *arena, struct documents *all, const char *directory,
               struct error *err)
{
    struct dirent **entries = NULL;
    int n = scandir(directory, &entries, is_document, alphasort);
    int r = 0;

    if (n < 0) {
        r = -errno;
        return error_wrap(err, r, "reading '%s'", directory);
    }
    if (n == 0)
        r = error_set(err, -ENOENT, "'%s' contains no files *.yaml, *.yml or *.json", directory);
    for (int i = 0; i < n; i++) {
        if (r == 0)
            r = take_file(kctl, arena, all,
                          arena_printf(arena, "%s/%s", directory, entries[i]->d_name), err);
        free(entries[i]);
    }
    free(entries);
    return r;
}

int
documents_read(struct kctl *kctl, const struct option_texts *files, struct arena *arena,
               struct documents *ret_documents, struct error *err)
{
    int r = 0;

    memset(ret_documents, 0, sizeof(*ret_documents));
    if (files->count == 0)
        return error_set(err, -EINVAL, "-f FILE is required ('-' reads the standard input)");
    for (size_t i = 0; i < files->count && r == 0; i++)
        r = is_directory(files->items[i])
                ? take_directory(kctl, arena, ret_documents, files->items[i], err)
                : take_file(kctl, arena, ret_documents, files->items[i], err);
    if (r == 0 && ret_documents->count == 0)
        return error_set(err, -EINVAL, "the files contain no objects");
    return r;
}
