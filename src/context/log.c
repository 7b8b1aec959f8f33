/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Log messages. Any thread may log, with or without the context lock: this file has a lock of its own and takes no
 * other. Messages go to standard error at once, or, with a callback, into a bounded queue that dispatch delivers. The
 * levels come from the options or from the variable KVMIG_LOG and are fixed when the context is made.
 */
#include "context/context_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_QUEUED 1000

struct kvmig__log_message {
    int32_t level;
    const char *module; /* one of modules */
    char *text;
    struct kvmig__log_message *next;
};

static const char *const modules[] = {
    "context", "cluster", "plan", "session", "port", "probe", "libvirt", "kubernetes"
};
_Static_assert(KVMIG__N_ELEMENTS(modules) == KVMIG__N_LOG_MODULES, "a level for each module");

const char *kvmig_log_level_name(int32_t level)
{
    switch (level) {
    case KVMIG_LOG_ERROR:
        return "error";
    case KVMIG_LOG_WARN:
        return "warn";
    case KVMIG_LOG_INFO:
        return "info";
    case KVMIG_LOG_DEBUG:
        return "debug";
    default:
        return NULL;
    }
}

/* ---- levels ---- */

/* Index into modules; the context's own for a name that is not there. */
static size_t module_index(const char *name)
{
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(modules); i++) {
        if (kvmig__str_eq(modules[i], name))
            return i;
    }
    return 0;
}

/* 0 for a name that is no level. */
static int32_t level_of(const char *name)
{
    for (int32_t level = KVMIG_LOG_ERROR; level <= KVMIG_LOG_DEBUG; level++) {
        if (strcmp(kvmig_log_level_name(level), name) == 0)
            return level;
    }
    return 0;
}

static void set_all(struct kvmig__log_state *log, int32_t level)
{
    for (size_t i = 0; i < KVMIG__N_LOG_MODULES; i++)
        log->levels[i] = level;
}

/* One word of KVMIG_LOG: "debug" or "session=debug". False if it means nothing. */
static bool apply_word(struct kvmig__log_state *log, char *word)
{
    char *equals = strchr(word, '=');
    int32_t level = level_of(equals ? equals + 1 : word);
    size_t module;

    if (!level)
        return false;
    if (!equals) {
        set_all(log, level);
        return true;
    }
    *equals = '\0';
    module = module_index(word);
    if (strcmp(modules[module], word) != 0) {
        *equals = '=';
        return false;
    }
    log->levels[module] = level;
    return true;
}

/* Words for all modules count first, wherever they stand. */
static void apply_words(struct kvmig__log_state *log, const char *text, bool for_one_module,
                        struct kvmig__strlist *unknown)
{
    char *copy = kvmig__strdup(text), *rest = copy, *word;

    while ((word = strsep(&rest, ", "))) {
        if (*word && (strchr(word, '=') != NULL) == for_one_module && !apply_word(log, word))
            kvmig__strlist_add_new(unknown, word);
    }
    free(copy);
}

static void apply_environment(struct kvmig_context *context)
{
    const char *text = getenv("KVMIG_LOG");
    struct kvmig__strlist unknown = { 0 };

    if (!text)
        return;
    apply_words(&context->log, text, false, &unknown);
    apply_words(&context->log, text, true, &unknown);
    if (unknown.n) {
        char *words = kvmig__strlist_join(&unknown, " ");

        kvmig__log(context, KVMIG_LOG_WARN, "context",
                   "KVMIG_LOG: not understood: %s (write a level, or module=level, separated by commas; levels: error "
                   "warn info debug; modules: context cluster plan session port probe "
                   "libvirt kubernetes)",
                   words);
        free(words);
    }
    kvmig__strlist_clear(&unknown);
}

void kvmig__log_init(struct kvmig_context *context, int32_t level, struct kvmig_log_callback callback)
{
    context->log.callback = callback;
    set_all(&context->log, level ? level : KVMIG_LOG_WARN);
    if (!level)
        apply_environment(context);
}

/* ---- writing ---- */

bool kvmig__log_enabled(struct kvmig_context *context, int32_t level, const char *module)
{
    return context && level <= context->log.levels[module_index(module)];
}

/* Messages quote other software, which may send line ends or control sequences. */
static void make_one_line(char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            *text = ' ';
    }
}

static void write_line(int32_t level, const char *module, const char *text)
{
    char *line = kvmig__asprintf("kvmig %s [%s] %s\n", kvmig_log_level_name(level), module, text);

    fputs(line, stderr); /* unbuffered: one write, so lines of several threads do not mix */
    free(line);
}

/* Log lock held. Takes text. True if the queue was empty. */
static bool enqueue(struct kvmig__log_state *log, int32_t level, const char *module, char *text)
{
    struct kvmig__log_message *message;

    if (log->closed || log->n_queued >= MAX_QUEUED) {
        log->n_dropped++;
        free(text);
        return false;
    }
    message = kvmig__calloc(1, sizeof(*message));
    *message = (struct kvmig__log_message){ .level = level, .module = module, .text = text };
    if (log->tail)
        log->tail->next = message;
    else
        log->head = message;
    log->tail = message;
    return log->n_queued++ == 0;
}

void kvmig__log(struct kvmig_context *context, int32_t level, const char *module, const char *fmt, ...)
{
    const char *known_module = modules[module_index(module)];
    char *text;
    va_list args;
    bool first;

    if (!kvmig__log_enabled(context, level, module))
        return;
    va_start(args, fmt);
    text = kvmig__vasprintf(fmt, args);
    va_end(args);
    make_one_line(text);
    if (!context->log.callback.fn) {
        write_line(level, known_module, text);
        free(text);
        return;
    }
    pthread_mutex_lock(&context->log.lock);
    first = enqueue(&context->log, level, known_module, text);
    pthread_mutex_unlock(&context->log.lock);
    if (first)
        kvmig__context_kick(context);
}

/* ---- delivering ---- */

static void message_free(struct kvmig__log_message *message)
{
    if (message)
        free(message->text);
    free(message);
}

/* The next message, owned, or NULL. After the last one of a queue that was full comes one that tells how many are
 * missing. */
static struct kvmig__log_message *take(struct kvmig__log_state *log)
{
    struct kvmig__log_message *message;

    pthread_mutex_lock(&log->lock);
    message = log->head;
    if (message) {
        log->head = message->next;
        if (!message->next)
            log->tail = NULL;
        log->n_queued--;
    } else if (log->n_dropped && !log->closed) {
        message = kvmig__calloc(1, sizeof(*message));
        message->level = KVMIG_LOG_WARN;
        message->module = "context";
        message->text = kvmig__asprintf("%zu log messages were dropped: more than %d were waiting for dispatch",
                                        log->n_dropped, MAX_QUEUED);
        log->n_dropped = 0;
    }
    pthread_mutex_unlock(&log->lock);
    return message;
}

static bool is_empty(struct kvmig__log_state *log)
{
    bool empty;

    pthread_mutex_lock(&log->lock);
    empty = !log->head && !log->n_dropped;
    pthread_mutex_unlock(&log->lock);
    return empty;
}

bool kvmig__log_run(struct kvmig_context *context, size_t budget)
{
    struct kvmig__log_state *log = &context->log;
    struct kvmig__log_message *message;

    if (!log->callback.fn)
        return false;
    for (; budget && context->owners > 0 && (message = take(log)); budget--) {
        kvmig__context_unlock(context);
        log->callback.fn(message->level, message->module, message->text, log->callback.user_data);
        message_free(message);
        kvmig__context_lock(context);
    }
    return context->owners > 0 && !is_empty(log);
}

void kvmig__log_close(struct kvmig_context *context)
{
    struct kvmig__log_state *log = &context->log;
    struct kvmig__log_message *message;

    pthread_mutex_lock(&log->lock);
    log->closed = true;
    pthread_mutex_unlock(&log->lock);
    while ((message = take(log)))
        message_free(message);
    if (log->callback.free)
        log->callback.free(log->callback.user_data);
    log->callback.free = NULL;
}
