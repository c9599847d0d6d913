/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/policy/local_zone.h"

#include <pthread.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/map.h"
#include "lib/base/time_zone.h"

#define DAY_S INT64_C(86400)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct map *zones; /* by name */

bool
local_zone_find(const char *name, const struct time_zone **ret_zone)
{
    struct time_zone *zone = NULL;
    struct error err = {0};

    *ret_zone = NULL;
    if (name == NULL || name[0] == '\0' || strcmp(name, "UTC") == 0)
        return true;
    pthread_mutex_lock(&lock);
    if (zones == NULL)
        zones = map_new();
    zone = map_find(zones, name);
    if (zone == NULL && time_zone_open(name, &zone, &err) == 0)
        map_put(zones, name, zone);
    pthread_mutex_unlock(&lock);
    *ret_zone = zone;
    return zone != NULL;
}

int64_t
local_zone_utc_s(const struct time_zone *zone, int64_t local_s)
{
    int64_t before_s = time_zone_offset_s(zone, local_s - DAY_S);
    int64_t after_s = time_zone_offset_s(zone, local_s + DAY_S);

    if (before_s == after_s || time_zone_offset_s(zone, local_s - before_s) == before_s)
        return local_s - before_s;
    if (time_zone_offset_s(zone, local_s - after_s) == after_s)
        return local_s - after_s;
    return local_s - before_s;
}
