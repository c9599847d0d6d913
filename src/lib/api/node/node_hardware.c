/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/node/node_hardware.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api/node/node.h"
#include "lib/api/value/quantity.h"
#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"

#define NOTHING   "any"
#define MEMORY    "memory"
#define HUGEPAGES "hugepages-"
#define PER_CENT  100 /* of memory: the kernel's own use varies */

/* Huge pages and the number of pods are not hardware: they are configured. */
static bool
is_hardware(const char *resource)
{
    return strcmp(resource, "cpu") == 0 || strcmp(resource, MEMORY) == 0
           || strncmp(resource, "kiln.hpc/", 9) == 0;
}

static const char *
find_expected(const struct node *node)
{
    return string_map_find(&node->meta.annotations, ANNOTATION_EXPECTED_HARDWARE);
}

/* One "resource=quantity" of the list. next_item moves on behind the item and
 * is false at the end of the list. It skips malformed items, because an
 * administrator may have written the annotation.
 */
struct item {
    char resource[256];
    char quantity[64];
};

static bool
next_item(const char **at, struct item *item)
{
    for (;;) {
        size_t length, name;

        *at += strspn(*at, " ");
        length = strcspn(*at, " ");
        name = strcspn(*at, " =");
        if (length == 0)
            return false;
        if (name > 0 && name < length && name < sizeof(item->resource)
            && length - name - 1 < sizeof(item->quantity)) {
            memcpy(item->resource, *at, name);
            item->resource[name] = '\0';
            memcpy(item->quantity, *at + name + 1, length - name - 1);
            item->quantity[length - name - 1] = '\0';
            *at += length;
            return true;
        }
        *at += length;
    }
}

static int64_t
value_of(const char *quantity)
{
    struct quantity q;

    return quantity != NULL && quantity_parse(quantity, &q) == 0 ? quantity_value(&q) : 0;
}

/* Memory that is set aside as huge pages is no longer part of the capacity of
 * memory, but it is not missing.
 */
static int64_t
add_hugepages(const struct node *node, int64_t sum)
{
    for (unsigned i = 0; i < node->status.capacity.count; i++)
        if (strncmp(node->status.capacity.items[i].key, HUGEPAGES, sizeof(HUGEPAGES) - 1) == 0
            && __builtin_add_overflow(sum, value_of(node->status.capacity.items[i].value), &sum))
            return INT64_MAX;
    return sum;
}

/* Returns what the node has of the resource; NULL: nothing. */
static const char *
find_present(const struct node *node, const char *resource, char text[QUANTITY_TEXT_SIZE])
{
    const char *has = string_map_find(&node->status.capacity, resource);
    int64_t sum;

    if (has == NULL || strcmp(resource, MEMORY) != 0)
        return has;
    sum = add_hugepages(node, value_of(has));
    if (sum == value_of(has))
        return has;
    snprintf(text, QUANTITY_TEXT_SIZE, "%" PRId64 "Ki", sum / 1024);
    return text;
}

static bool
is_less(const char *resource, int64_t has, int64_t than)
{
    int64_t slack = strcmp(resource, MEMORY) == 0 ? than / PER_CENT : 0;

    return has < than - slack;
}

bool
node_hardware_is_missing(const struct node *node, struct strbuf *words)
{
    const char *at = find_expected(node);
    bool any = false;
    struct item item;

    if (at == NULL || node->status.topology == NULL)
        return false;
    while (next_item(&at, &item)) {
        char text[QUANTITY_TEXT_SIZE];
        const char *has = find_present(node, item.resource, text);

        if (!is_less(item.resource, value_of(has), value_of(item.quantity)))
            continue;
        strbuf_printf(words, "%s%s %s of %s", any ? ", " : "", item.resource,
                      has != NULL ? has : "0", item.quantity);
        any = true;
    }
    return any;
}

static bool
finds_item(const char *list, const char *resource, struct item *item)
{
    while (list != NULL && next_item(&list, item))
        if (strcmp(item->resource, resource) == 0)
            return true;
    return false;
}

char *
node_hardware_learn(const struct node *node)
{
    const char *expected = find_expected(node);
    const char *at = expected;
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct item item;
    bool changed = false;

    if (node->status.topology == NULL || !node_is_ready(node)
        || (expected != NULL && strcmp(expected, NOTHING) == 0))
        return NULL;
    while (at != NULL && next_item(&at, &item)) {
        char present[QUANTITY_TEXT_SIZE];
        const char *has = find_present(node, item.resource, present);
        bool grew = is_less(item.resource, value_of(item.quantity), value_of(has));

        strbuf_printf(&text, "%s%s=%s", text.length > 0 ? " " : "", item.resource,
                      grew ? has : item.quantity);
        changed = changed || grew;
    }
    for (unsigned i = 0; i < node->status.capacity.count; i++) {
        const struct string_entry *c = &node->status.capacity.items[i];
        char present[QUANTITY_TEXT_SIZE];

        if (!is_hardware(c->key) || finds_item(expected, c->key, &item))
            continue;
        strbuf_printf(&text, "%s%s=%s", text.length > 0 ? " " : "", c->key,
                      find_present(node, c->key, present));
        changed = true;
    }
    return changed ? strbuf_take(&text) : NULL;
}
