/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/input/name_choice.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/json/json.h"

static bool
is_named(const struct json *object, const char *name)
{
    const char *its = json_path_text(object, "metadata.name");

    return its != NULL && strcmp(its, name) == 0;
}

bool
name_choice_has(const struct json *object, int n_names, char **names)
{
    for (int i = 0; i < n_names; i++)
        if (is_named(object, names[i]))
            return true;
    return n_names == 0;
}

int
name_choice_check(const struct json *objects, const char *what, int n_names, char **names,
                  struct error *err)
{
    for (int i = 0; i < n_names; i++) {
        bool is_there = false;

        for (uint32_t o = 0; o < json_count(objects) && !is_there; o++)
            is_there = is_named(json_at(objects, o), names[i]);
        if (!is_there)
            return error_set(err, -ENOENT, "there is no %s '%s'", what, names[i]);
    }
    return 0;
}
