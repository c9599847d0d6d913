/* SPDX-License-Identifier: Apache-2.0 */
/* ImageLocality - prefers nodes that have the pod's images, weighted by their
 * size
 *
 * Extension points:  prescore, score
 * Cycle state:       for each image of the pod, how many nodes have it
 *
 * An image that more nodes have counts more, so that not all pods go to the
 * node where one of them happened to run first.
 */
#include <string.h>

#include "controller/scheduler/framework/framework.h"
#include "lib/api/node/node.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"

#define MIB           (INT64_C(1024) * 1024)
#define MIN_THRESHOLD (23 * MIB)
#define MAX_THRESHOLD (1000 * MIB) /* for each container */

struct wanted_image {
    char *name; /* with its tag */
    unsigned nodes;
    unsigned times; /* containers that use it */
    int64_t bytes;  /* by the node with the lowest slot */
};

struct image_note {
    struct wanted_image *images;
    unsigned count;
    unsigned n_containers;
    unsigned n_nodes;
};

static const char note_key;

static void
note_free(void *value)
{
    struct image_note *note = value;

    for (unsigned i = 0; i < note->count; i++)
        free(note->images[i].name);
    free(note->images);
    free(note);
}

/* "name" means "name:latest". */
static char *
normalized(const char *image)
{
    const char *colon = strrchr(image, ':');
    const char *slash = strrchr(image, '/');

    if (colon == NULL || (slash != NULL && colon < slash))
        return xasprintf("%s:latest", image);
    return xstrdup(image);
}

static void
add_container(struct image_note *note, const struct container *c)
{
    char *name;

    note->n_containers++;
    if (c->image == NULL || strcmp(c->image, "host") == 0)
        return;
    name = normalized(c->image);
    for (unsigned i = 0; i < note->count; i++)
        if (strcmp(note->images[i].name, name) == 0) {
            note->images[i].times++;
            free(name);
            return;
        }
    note->images[note->count++] = (struct wanted_image){.name = name, .times = 1};
}

static const struct node_image *
find_image(const struct node *node, const char *name)
{
    for (unsigned i = 0; i < node->status.images.count; i++) {
        const struct node_image *image = &node->status.images.items[i];

        for (unsigned n = 0; n < image->names.count; n++)
            if (strcmp(image->names.items[n], name) == 0)
                return image;
    }
    return NULL;
}

/* Counts the nodes that have each image. Its size is what the node with the
 * lowest slot reports.
 */
static void
count_nodes(struct image_note *note, const struct snapshot *s)
{
    note->n_nodes = s->n_nodes;
    for (unsigned i = 0; i < note->count; i++) {
        struct wanted_image *wanted = &note->images[i];
        uint32_t first = UINT32_MAX;

        for (uint32_t n = 0; n < s->n_nodes; n++) {
            const struct node_image *image = find_image(s->nodes[n]->node, wanted->name);

            if (image == NULL)
                continue;
            wanted->nodes++;
            if (s->nodes[n]->slot > first)
                continue;
            first = s->nodes[n]->slot;
            wanted->bytes = image->size_bytes;
        }
    }
}

static enum verdict
image_locality_prescore(void *self, struct cycle *c, const struct node_view *const *nodes,
                        unsigned count)
{
    const struct pod_spec *spec = &c->pod->pod->spec;
    struct image_note *note = xnew(struct image_note);

    (void)self, (void)nodes, (void)count;
    note->images =
        xnew_array(struct wanted_image, spec->containers.count + spec->init_containers.count + 1);
    for (unsigned i = 0; i < spec->init_containers.count; i++)
        add_container(note, &spec->init_containers.items[i]);
    for (unsigned i = 0; i < spec->containers.count; i++)
        add_container(note, &spec->containers.items[i]);
    if (note->count == 0) {
        note_free(note);
        return VERDICT_SKIP;
    }
    count_nodes(note, c->snapshot);
    cycle_put(c, &note_key, note, note_free, NULL);
    return VERDICT_OK;
}

static int64_t
scaled(const struct wanted_image *wanted, const struct image_note *note)
{
    double spread = (double)wanted->nodes / (double)note->n_nodes;

    return (int64_t)((double)wanted->bytes * spread) * wanted->times;
}

static int64_t
image_locality_score_one(void *self, const struct cycle *c, const struct node_view *node)
{
    const struct image_note *note = cycle_get(c, &note_key);
    int64_t sum = 0, most;

    (void)self;
    for (unsigned i = 0; i < note->count; i++)
        if (find_image(node->node, note->images[i].name) != NULL)
            sum += scaled(&note->images[i], note);
    most = MAX_THRESHOLD * note->n_containers;
    if (sum < MIN_THRESHOLD)
        sum = MIN_THRESHOLD;
    if (sum > most)
        sum = most;
    return SCORE_MAX * (sum - MIN_THRESHOLD) / (most - MIN_THRESHOLD);
}

const struct plugin image_locality_plugin = {
    .name = "ImageLocality",
    .depends_on_others = true,
    .prescore = image_locality_prescore,
    .score_one = image_locality_score_one,
};
