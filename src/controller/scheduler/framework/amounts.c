/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/framework/amounts.h"

#include <string.h>

#include "controller/scheduler/framework/string_ids.h"
#include "lib/api/value/quantity.h"
#include "lib/base/alloc.h"
#include "lib/json/record.h"

void
amounts_fini(struct amounts *a)
{
    free(a->scalars);
    *a = (struct amounts){0};
}

static struct amount *
find_scalar(const struct amounts *a, uint32_t resource)
{
    for (uint32_t i = 0; i < a->n_scalars; i++)
        if (a->scalars[i].resource == resource)
            return &a->scalars[i];
    return NULL;
}

static struct amount *
make_scalar(struct amounts *a, uint32_t resource)
{
    struct amount *found = find_scalar(a, resource);

    if (found != NULL)
        return found;
    xgrow(a->scalars, a->n_scalars, a->scalar_capacity);
    found = &a->scalars[a->n_scalars++];
    *found = (struct amount){.resource = resource};
    return found;
}

void
amounts_set_scalar(struct amounts *a, uint32_t resource, int64_t value)
{
    make_scalar(a, resource)->value = value;
}

int64_t
amounts_scalar(const struct amounts *a, uint32_t resource)
{
    const struct amount *found = find_scalar(a, resource);

    return found != NULL ? found->value : 0;
}

/* A node may say that it has any amount. With this much, a hundred times the
 * amount (scores) and the sums of a node's pods are still numbers of 64 bits.
 */
#define MOST (INT64_C(1) << 56)

static int64_t
at_most(int64_t amount)
{
    return amount < MOST ? amount : MOST;
}

void
amounts_parse(struct amounts *a, struct string_ids *resources, const struct string_map *quantities,
              int64_t *ret_pods)
{
    amounts_fini(a);
    *ret_pods = 0;
    for (unsigned i = 0; i < quantities->count; i++) {
        const char *name = quantities->items[i].key;
        const char *text = quantities->items[i].value;

        if (strcmp(name, "cpu") == 0)
            a->cpu_milli = at_most(quantity_text_milli(text));
        else if (strcmp(name, "memory") == 0)
            a->memory_bytes = at_most(quantity_text_value(text));
        else if (strcmp(name, "ephemeral-storage") == 0)
            a->ephemeral_bytes = at_most(quantity_text_value(text));
        else if (strcmp(name, "pods") == 0)
            *ret_pods = at_most(quantity_text_value(text));
        else if (amounts_is_scalar(name))
            amounts_set_scalar(a, string_ids_add(resources, name),
                               at_most(quantity_text_value(text)));
    }
}

void
amounts_add(struct amounts *a, const struct amounts *more)
{
    a->cpu_milli += more->cpu_milli;
    a->memory_bytes += more->memory_bytes;
    a->ephemeral_bytes += more->ephemeral_bytes;
    for (uint32_t i = 0; i < more->n_scalars; i++)
        make_scalar(a, more->scalars[i].resource)->value += more->scalars[i].value;
}

void
amounts_subtract(struct amounts *a, const struct amounts *less)
{
    a->cpu_milli -= less->cpu_milli;
    a->memory_bytes -= less->memory_bytes;
    a->ephemeral_bytes -= less->ephemeral_bytes;
    for (uint32_t i = 0; i < less->n_scalars; i++)
        make_scalar(a, less->scalars[i].resource)->value -= less->scalars[i].value;
}

int64_t
amounts_value(const struct amounts *a, const struct string_ids *resources, const char *name)
{
    uint32_t number;

    if (strcmp(name, "cpu") == 0)
        return a->cpu_milli;
    if (strcmp(name, "memory") == 0)
        return a->memory_bytes;
    if (strcmp(name, "ephemeral-storage") == 0)
        return a->ephemeral_bytes;
    number = string_ids_find(resources, name);
    return number != STRING_ID_NONE ? amounts_scalar(a, number) : 0;
}

bool
amounts_is_scalar(const char *name)
{
    return strchr(name, '/') != NULL || strncmp(name, "hugepages-", 10) == 0
           || strncmp(name, "attachable-volumes-", 19) == 0;
}
