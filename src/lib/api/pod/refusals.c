/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/pod/refusals.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/macro.h"
#include "lib/base/strbuf.h"

#define HEAD       " nodes are available: "
#define PREEMPTION " preemption: "

/* The beginnings of reasons, and their codes. A lasting reason applies as long
 * as node and pod do not change.
 */
static const struct {
    const char *beginning;
    const char *code;
    bool lasts;
} known[] = {
    {"Insufficient cpu", "InsufficientCPU", false},
    {"Insufficient memory", "InsufficientMemory", false},
    {"Insufficient ", "InsufficientResource", false},
    {"Too many pods", "TooManyPods", false},
    {"node(s) had untolerated taint", "UntoleratedTaint", true},
    {"node(s) were unschedulable", "NodeUnschedulable", true},
    {"node(s) didn't match Pod's node affinity", "NodeAffinity", true},
    {"node(s) didn't match scheduler-enforced node affinity", "NodeAffinity", true},
    {"node(s) didn't satisfy plugin(s) [NodeAffinity]", "NodeAffinity", true},
    {"node(s) didn't match the requested node name", "NodeName", true},
    {"node(s) didn't have free ports", "NodePorts", false},
    {"node(s) didn't match pod topology spread", "TopologySpread", false},
    {"node(s) didn't match pod affinity", "PodAffinity", false},
    {"node(s) didn't match pod anti-affinity", "PodAntiAffinity", false},
    {"node(s) didn't satisfy existing pods anti-affinity", "ExistingPodsAntiAffinity", false},
    {"node(s) didn't have enough free whole cores", "NoFreeCores", false},
    {"node(s) didn't have enough CPU left in the shared pool", "NoSharedCPU", false},
    {"node(s) didn't have enough free memory", "NoFreeMemory", false},
    {"node(s) didn't have enough free devices", "NoFreeDevices", false},
    {"node(s) didn't have enough free huge pages", "NoFreeHugePages", false},
    {"node(s) didn't have the requested devices", "NoSuchDevices", true},
    {"node(s) couldn't align", "NotAligned", false},
    {"node(s) already have a pod of the group", "NodeHasGroup", false},
    {"node(s) are outside of the topology domain of the group", "OutsideDomain", true},
    {"node(s) were not empty", "NodeNotEmpty", false},
    {"node(s) have pods of other users", "NodeHasOthers", false},
    {"node(s) are another user's alone", "NodeOfOther", false},
    {"node(s) are reserved for pods", "Reserved", false},
    {"node(s) were too small", "NodeTooSmall", true},
    {"node(s) had volume node affinity conflict", "VolumeNodeAffinity", false},
    {"node(s) didn't find available persistent volumes", "NoVolume", false},
    {"node(s) did not have enough free storage", "NoStorage", false},
    {"node(s) unavailable due to one or more pvc(s)", "VolumeLost", false},
    {"node(s) were filtered out by extender", "Extender", false},
    {"persistentvolumeclaim ", "VolumeClaim", false},
    {"pod has unbound immediate PersistentVolumeClaims", "VolumeClaim", false},
    {"waiting for ephemeral volume controller", "VolumeClaim", false},
    {"pod affinity terms conflict", "NodeAffinity", true},
    {"node(s) are not of the pod's partition", "PartitionNodes", true},
    {"partition does not exist", "PartitionMissing", true},
    {"partition starts no jobs", "PartitionClosed", false},
    {"node(s) are withheld by reservations", "ReservedNodes", false},
    {"partition is not for the pod's owner", "NotAllowed", false},
    {"reservation is not for the pod's owner", "NotAllowed", false},
    {"the pod's owner is no longer a user", "NotAllowed", false},
    {"not allowed: ", "NotAllowed", false}, /* the three, in words */
    {"reservation does not exist", "ReservationMissing", true},
    {"reservation has not begun", "ReservationPlanned", false},
    {"reservation has ended", "ReservationEnded", true},
    {"reservation has no nodes", "ReservationEmpty", false},
    {"waits for reservation ", "ReservationPlanned", false},
    {"reservation ", "ReservationEnded", true}, /* includes its name */
    {"pod is over its partition's time limit", "PartitionTime", true},
    {"pod is over its partition's limit", "PartitionLimit", true},
};

static bool
starts_with(const char *text, size_t length, const char *prefix)
{
    size_t n = strlen(prefix);

    return length >= n && memcmp(text, prefix, n) == 0;
}

const char *
refusals_code(const char *text, size_t length, bool *ret_may_pass)
{
    *ret_may_pass = true;
    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if (starts_with(text, length, known[i].beginning)) {
            *ret_may_pass = !known[i].lasts;
            return known[i].code;
        }
    return "Other";
}

static bool
parse_count(const char **text, const char *end, unsigned *ret)
{
    unsigned long n = 0;
    const char *p = *text;

    for (; p < end && isdigit((unsigned char)*p); p++)
        if (n < 100000000)
            n = n * 10 + (unsigned)(*p - '0');
    if (p == *text)
        return false;
    *text = p;
    *ret = (unsigned)n;
    return true;
}

/* The end of the reason: before ", 3 " or at the end. Reasons may contain
 * commas.
 */
static const char *
find_end(const char *text, const char *end)
{
    for (const char *p = text; p < end; p++) {
        const char *q = p + 2;
        unsigned ignored;

        if (end - p > 3 && p[0] == ',' && p[1] == ' ' && parse_count(&q, end, &ignored)
            && *q == ' ')
            return p;
    }
    return end;
}

static int
compare_refusals(const void *a, const void *b)
{
    const struct refusal *x = a;
    const struct refusal *y = b;

    if (x->may_pass != y->may_pass)
        return x->may_pass ? -1 : 1;
    if (x->nodes != y->nodes)
        return x->nodes > y->nodes ? -1 : 1;
    return x->text < y->text ? -1 : 1;
}

/* The end of the sentence that counts the nodes: before the part about
 * preemption, without the full stop.
 */
static const char *
end_of_sentence(const char *text)
{
    const char *end = strstr(text, PREEMPTION);

    if (end == NULL)
        end = text + strlen(text);
    while (end > text && (end[-1] == '.' || end[-1] == ' '))
        end--;
    return end;
}

bool
refusals_parse(const char *message, struct refusals *ret)
{
    struct refusals all = {0};
    const char *slash = strchr(message, '/');
    const char *p = slash != NULL ? slash + 1 : NULL;
    const char *end;

    if (p == NULL || !starts_with(message, strlen(message), "0/")
        || !parse_count(&p, p + strlen(p), &all.total) || !starts_with(p, strlen(p), HEAD))
        return false;
    p += strlen(HEAD);
    end = end_of_sentence(p);
    while (p < end && all.count < REFUSALS_MAX) {
        struct refusal *r = &all.items[all.count++];
        const char *next = find_end(p, end);

        if (parse_count(&p, next, &r->nodes) && p < next)
            p++;
        r->text = p;
        r->length = (size_t)(next - p);
        r->code = refusals_code(r->text, r->length, &r->may_pass);
        p = next < end ? next + 2 : end;
    }
    qsort(all.items, all.count, sizeof(*all.items), compare_refusals);
    *ret = all;
    return true;
}

void
refusals_format_brief(const char *message, struct strbuf *out)
{
    struct refusals all;
    const struct refusal *first = &all.items[0];
    size_t skip;

    if (!refusals_parse(message, &all) || all.count == 0) {
        strbuf_add_text(out, message);
        return;
    }
    skip = starts_with(first->text, first->length, "node(s) ") ? strlen("node(s) ") : 0;
    strbuf_add(out, first->text + skip, first->length - skip);
    if (all.count > 1)
        strbuf_printf(out, " (%u of %u nodes)", first->nodes, all.total);
}
