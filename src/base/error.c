/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Error objects, and the last error of each thread. An error is owned by whoever made it until it is handed to
 * kvmig__fail(), which keeps it for its thread until the next failure there or the end of the thread.
 */
#include "base/base.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The value lives in thread-local storage; the key exists only so that it is freed when a thread ends. */
static _Thread_local struct kvmig_error *last_error;
static pthread_key_t cleanup_key;
static bool have_cleanup_key;
static pthread_once_t cleanup_once = PTHREAD_ONCE_INIT;

static void free_last_error(void *error)
{
    last_error = NULL;
    kvmig__error_free(error);
}

static void make_cleanup_key(void)
{
    have_cleanup_key = pthread_key_create(&cleanup_key, free_last_error) == 0;
}

struct kvmig_error *kvmig__error_new(int32_t code, const char *where, const char *evidence, const char *hint,
                                     const char *message_fmt, ...)
{
    struct kvmig_error *error = kvmig__calloc(1, sizeof(*error));
    va_list args;

    error->code = code > 0 ? -code : code;
    error->where = kvmig__strdup(where);
    error->evidence = kvmig__strdup(evidence);
    error->hint = kvmig__strdup(hint);
    va_start(args, message_fmt);
    error->message = kvmig__vasprintf(message_fmt, args);
    va_end(args);
    return error;
}

struct kvmig_error *kvmig__error_copy(const struct kvmig_error *error)
{
    return error ? kvmig__error_new(error->code, error->where, error->evidence, error->hint, "%s", error->message)
                 : NULL;
}

void kvmig__error_free(struct kvmig_error *error)
{
    if (!error)
        return;
    free(error->message);
    free(error->where);
    free(error->evidence);
    free(error->hint);
    free(error);
}

int32_t kvmig__fail(struct kvmig_error *error)
{
    pthread_once(&cleanup_once, make_cleanup_key);
    if (error != last_error)
        kvmig__error_free(last_error);
    last_error = error;
    if (have_cleanup_key)
        pthread_setspecific(cleanup_key, error);
    return error->code;
}

const struct kvmig_error *kvmig_error_last(void)
{
    return last_error;
}

int32_t kvmig_error_code(const struct kvmig_error *error)
{
    return error ? error->code : 0;
}

static const char *text_or_empty(const char *text)
{
    return text ? text : "";
}

const char *kvmig_error_message(const struct kvmig_error *error)
{
    return error ? text_or_empty(error->message) : "";
}

const char *kvmig_error_where(const struct kvmig_error *error)
{
    return error ? text_or_empty(error->where) : "";
}

const char *kvmig_error_evidence(const struct kvmig_error *error)
{
    return error ? text_or_empty(error->evidence) : "";
}

const char *kvmig_error_hint(const struct kvmig_error *error)
{
    return error ? text_or_empty(error->hint) : "";
}

struct code_name {
    int32_t code;
    const char *name;
};

/* glibc's strerrorname_np() is too new for some distributions that are still in use, and other C libraries lack it. */
static const struct code_name code_names[] = {
#define NAME(code)                                                                                                     \
    {                                                                                                                  \
        code, #code                                                                                                    \
    }
    NAME(KVMIG_EVIRT),
    NAME(KVMIG_EXML),
    NAME(KVMIG_EJSON),
    NAME(KVMIG_EUNREACHABLE),
    NAME(KVMIG_ENOHOST),
    NAME(KVMIG_ENOVM),
    NAME(KVMIG_EAMBIGUOUS),
    NAME(KVMIG_EBLOCKED),
    NAME(KVMIG_EPHASE),
    NAME(KVMIG_EREFUSED),
    NAME(KVMIG_EUNKNOWN),
    NAME(KVMIG_EMIGRATE),
    NAME(KVMIG_ELOST),
    NAME(KVMIG_ESPLIT),
    NAME(KVMIG_ENOTSYNCED),
    NAME(KVMIG_ECONFLICT),
    NAME(E2BIG),
    NAME(EACCES),
    NAME(EAGAIN),
    NAME(EALREADY),
    NAME(EBADF),
    NAME(EBUSY),
    NAME(ECANCELED),
    NAME(ECHILD),
    NAME(ECONNABORTED),
    NAME(ECONNREFUSED),
    NAME(ECONNRESET),
    NAME(EDEADLK),
    NAME(EEXIST),
    NAME(EFAULT),
    NAME(EFBIG),
    NAME(EHOSTDOWN),
    NAME(EHOSTUNREACH),
    NAME(EINPROGRESS),
    NAME(EINTR),
    NAME(EINVAL),
    NAME(EIO),
    NAME(EISDIR),
    NAME(ELOOP),
    NAME(EMFILE),
    NAME(EMSGSIZE),
    NAME(ENAMETOOLONG),
    NAME(ENETDOWN),
    NAME(ENETUNREACH),
    NAME(ENFILE),
    NAME(ENODATA),
    NAME(ENODEV),
    NAME(ENOENT),
    NAME(ENOMEM),
    NAME(ENOSPC),
    NAME(ENOSYS),
    NAME(ENOTCONN),
    NAME(ENOTDIR),
    NAME(ENOTSUP),
    NAME(EOVERFLOW),
    NAME(EPERM),
    NAME(EPIPE),
    NAME(EPROTO),
    NAME(ERANGE),
    NAME(EROFS),
    NAME(ESHUTDOWN),
    NAME(ESRCH),
    NAME(ESTALE),
    NAME(ETIMEDOUT),
#undef NAME
};

const char *kvmig_error_code_name(int32_t code)
{
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(code_names); i++) {
        if (code_names[i].code == code || code_names[i].code == -(int64_t)code)
            return code_names[i].name;
    }
    return NULL;
}

const char *kvmig__errno_text(int32_t code)
{
    const char *text = strerrordesc_np(code < 0 ? -code : code);

    return text ? text : "unknown error";
}
