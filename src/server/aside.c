// Two threads and a list of exchanges, first come, first served.
#include "server/aside.h"

#include <pthread.h>
#include <stdlib.h>

#include "server/exchange.h"
#include "server/http.h"
#include "server/route.h"

enum { THREADS = 2 };

struct aside {
    pthread_t threads[THREADS];
    size_t thread_count;

    pthread_mutex_t mutex;   // guards everything below
    pthread_cond_t changed;
    struct exchange *first, **end;
    bool closing;
};

static void settle(struct exchange *x)
{
    struct pawl_error err = {0};
    if (x->route->settle(x, &err)) {
        http_submit(x);
        return;
    }
    x->operation.error = err;
    http_resume(x);
}

static struct exchange *next_of(struct aside *a)
{
    pthread_mutex_lock(&a->mutex);
    while (!a->first && !a->closing)
        pthread_cond_wait(&a->changed, &a->mutex);
    struct exchange *x = a->first;
    if (x) {
        a->first = x->next;
        if (!a->first)
            a->end = &a->first;
        x->next = NULL;
    }
    pthread_mutex_unlock(&a->mutex);
    return x;
}

static void *work(void *self)
{
    struct exchange *x;
    while ((x = next_of(self)) != NULL)
        settle(x);
    return NULL;
}

bool aside_open(struct aside **aside, struct pawl_error *err)
{
    struct aside *a = *aside = calloc(1, sizeof *a);
    if (!a)
        return fail(err, PAWL_NO_MEMORY, "no memory for the server");
    a->end = &a->first;
    pthread_mutex_init(&a->mutex, NULL);
    pthread_cond_init(&a->changed, NULL);
    while (a->thread_count < THREADS
           && pthread_create(&a->threads[a->thread_count], NULL, work, a) == 0)
        a->thread_count++;
    return a->thread_count == THREADS || fail(err, PAWL_NO_MEMORY, "cannot start a thread");
}

void aside_close(struct aside *a)
{
    if (!a)
        return;
    pthread_mutex_lock(&a->mutex);
    a->closing = true;
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->mutex);
    for (size_t i = 0; i < a->thread_count; i++)
        pthread_join(a->threads[i], NULL);
    pthread_cond_destroy(&a->changed);
    pthread_mutex_destroy(&a->mutex);
    free(a);
}

void aside_do(struct aside *a, struct exchange *x)
{
    pthread_mutex_lock(&a->mutex);
    x->next = NULL;
    *a->end = x;
    a->end = &x->next;
    pthread_cond_signal(&a->changed);
    pthread_mutex_unlock(&a->mutex);
}
