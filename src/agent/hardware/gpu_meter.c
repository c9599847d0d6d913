/* SPDX-License-Identifier: Apache-2.0 */
/* The library of the vendor may block for minutes when a GPU is in trouble, which is when the
 * agent is needed most. So a thread that nobody waits for calls it (decision 502), and a
 * reading that is too old counts as unknown rather than as zero.
 */
#include "agent/hardware/gpu_meter.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"

#define MOST_GPUS 64
#define RETRY_MS  INT64_C(60000) /* until the library is looked for again */
#define STALE     3              /* intervals */

/* ---- The library ---- */

/* As nvml.h has them; 0 is success. */
struct nvml_utilization {
    unsigned gpu, memory; /* percent */
};
struct nvml_memory {
    unsigned long long total, free, used;
};
struct nvml_functions {
    int (*init)(void);
    int (*shutdown)(void);
    int (*count)(unsigned *count);
    int (*handle)(unsigned index, void **device);
    int (*minor)(void *device, unsigned *minor);
    int (*utilization)(void *device, struct nvml_utilization *utilization);
    int (*memory)(void *device, struct nvml_memory *memory);
};

struct gpu_meter {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    char *library;
    int64_t interval_ms;
    unsigned holders; /* the thread and the owner */
    bool is_ending;
    struct {
        unsigned minor;
        struct gpu_reading reading;
    } gpus[MOST_GPUS];
    unsigned n_gpus;
};

/* ISO C has no conversion of an object's pointer to a function's. */
static bool
find(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);

    memcpy(function, &found, sizeof(found));
    return found != NULL;
}

static void *
open_library(const char *path, struct nvml_functions *f)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (library == NULL) {
        /* A thread keeps the text of its last error; one that is detached may end with its
         * process before it gives that back. Read twice, it is freed.
         */
        while (dlerror() != NULL)
            ;
        return NULL;
    }
    if (find(library, "nvmlInit_v2", &f->init) && find(library, "nvmlShutdown", &f->shutdown)
        && find(library, "nvmlDeviceGetCount_v2", &f->count)
        && find(library, "nvmlDeviceGetHandleByIndex_v2", &f->handle)
        && find(library, "nvmlDeviceGetMinorNumber", &f->minor)
        && find(library, "nvmlDeviceGetUtilizationRates", &f->utilization)
        && find(library, "nvmlDeviceGetMemoryInfo", &f->memory) && f->init() == 0)
        return library;
    dlclose(library);
    return NULL;
}

/* ---- The thread ---- */

static void
note(struct gpu_meter *m, unsigned minor, const struct gpu_reading *reading)
{
    unsigned i = 0;

    pthread_mutex_lock(&m->lock);
    while (i < m->n_gpus && m->gpus[i].minor != minor)
        i++;
    if (i < MOST_GPUS) {
        m->n_gpus = i == m->n_gpus ? i + 1 : m->n_gpus;
        m->gpus[i].minor = minor;
        m->gpus[i].reading = *reading;
    }
    pthread_mutex_unlock(&m->lock);
}

/* False: the library has lost its connection to the driver. */
static bool
measure(struct gpu_meter *m, const struct nvml_functions *f)
{
    unsigned count = 0;

    if (f->count(&count) != 0)
        return false;
    for (unsigned i = 0; i < count && i < MOST_GPUS; i++) {
        struct nvml_utilization utilization = {0};
        struct nvml_memory memory = {0};
        unsigned minor;
        void *device = NULL;

        if (f->handle(i, &device) != 0 || f->minor(device, &minor) != 0
            || f->utilization(device, &utilization) != 0 || f->memory(device, &memory) != 0)
            continue;
        note(m, minor,
             &(struct gpu_reading){
                 .busy_percent = utilization.gpu < 100 ? utilization.gpu : 100,
                 .memory_bytes = memory.used,
                 .memory_total_bytes = memory.total,
                 .at_us = clock_monotonic_us(&clock_system),
             });
    }
    return true;
}

/* True: the meter is being freed. */
static bool
pause_for(struct gpu_meter *m, int64_t ms)
{
    struct timespec until;
    bool is_ending;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(ms / 1000);
    until.tv_nsec += (long)(ms % 1000 * 1000000);
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&m->lock);
    while (!m->is_ending && pthread_cond_timedwait(&m->wake, &m->lock, &until) == 0)
        ;
    is_ending = m->is_ending;
    pthread_mutex_unlock(&m->lock);
    return is_ending;
}

static void
release(struct gpu_meter *m)
{
    bool is_last;

    pthread_mutex_lock(&m->lock);
    is_last = --m->holders == 0;
    pthread_mutex_unlock(&m->lock);
    if (!is_last)
        return;
    pthread_cond_destroy(&m->wake);
    pthread_mutex_destroy(&m->lock);
    free(m->library);
    free(m);
}

static void *
run(void *context)
{
    struct gpu_meter *m = context;
    struct nvml_functions f;
    void *library = NULL;
    bool is_ending = false;

    while (!is_ending) {
        if (library == NULL) {
            library = open_library(m->library, &f);
            if (library != NULL)
                log_info("the use of GPUs is measured with '%s'", m->library);
        }
        if (library != NULL && !measure(m, &f)) {
            (void)f.shutdown();
            dlclose(library);
            library = NULL;
        }
        is_ending = pause_for(m, library != NULL ? m->interval_ms : RETRY_MS);
    }
    if (library != NULL) {
        (void)f.shutdown();
        dlclose(library);
    }
    release(m);
    return NULL;
}

/* ---- The owner ---- */

struct gpu_meter *
gpu_meter_new(const char *library, int64_t interval_ms)
{
    struct gpu_meter *m = xnew(struct gpu_meter);
    pthread_condattr_t monotonic;
    pthread_attr_t detached;
    pthread_t thread;
    int r;

    m->library = xstrdup(library);
    m->interval_ms = interval_ms;
    m->holders = 2;
    pthread_mutex_init(&m->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&m->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    r = pthread_create(&thread, &detached, run, m);
    pthread_attr_destroy(&detached);
    if (r == 0)
        return m;
    log_warning("no thread can be started for the use of GPUs: %s", strerror(r));
    release(m);
    release(m);
    return NULL;
}

void
gpu_meter_free(struct gpu_meter *m)
{
    if (m == NULL)
        return;
    pthread_mutex_lock(&m->lock);
    m->is_ending = true;
    pthread_cond_signal(&m->wake);
    pthread_mutex_unlock(&m->lock);
    release(m);
}

bool
gpu_meter_read(struct gpu_meter *m, unsigned minor, struct gpu_reading *ret_reading)
{
    const int64_t now_us = clock_monotonic_us(&clock_system);
    bool is_known = false;

    pthread_mutex_lock(&m->lock);
    for (unsigned i = 0; i < m->n_gpus && !is_known; i++)
        if (m->gpus[i].minor == minor
            && now_us - m->gpus[i].reading.at_us <= STALE * m->interval_ms * 1000) {
            *ret_reading = m->gpus[i].reading;
            is_known = true;
        }
    pthread_mutex_unlock(&m->lock);
    return is_known;
}
