/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Files, URLs, tokens and other secrets of an access: reading, judging, wiping. Reading blocks, so it is done on a lane. What is
 * secret never gets into an error. The caller owns the results.
 */
#include "kubernetes/access_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_TOKEN ((size_t)1 << 20)
#define MAX_PEM ((size_t)16 << 20) /* bundles of authorities are some 200 KiB */

/* ---- secrets ---- */

void kvmig__secret_free(char *secret)
{
    if (secret)
        explicit_bzero(secret, strlen(secret));
    free(secret);
}

void kvmig__secret_set(char **secret, const char *value)
{
    char *copy = kvmig__strdup(value);

    kvmig__secret_free(*secret);
    *secret = copy;
}

void kvmig__blob_clear(struct kvmig__blob *blob)
{
    if (blob->data)
        explicit_bzero(blob->data, blob->length);
    free(blob->data);
    blob->data = NULL;
    blob->length = 0;
}

/* The depth is bounded by the reader. json-c has no way to wipe a string, but it gives the address of its own copy. */
static void wipe_strings(struct json_object *object)
{
    switch (json_object_get_type(object)) {
    case json_type_string:
        explicit_bzero((char *)json_object_get_string(object), (size_t)json_object_get_string_len(object));
        break;
    case json_type_array:
        for (size_t i = 0; i < json_object_array_length(object); i++)
            wipe_strings(json_object_array_get_idx(object, i));
        break;
    case json_type_object: {
        json_object_object_foreach(object, key, value)
        {
            (void)key;
            wipe_strings(value);
        }
        break;
    }
    default:
        break;
    }
}

void kvmig__json_wipe(struct json_object *object)
{
    wipe_strings(object);
    json_object_put(object);
}

void kvmig__access_free(struct kvmig__access *access)
{
    if (!access)
        return;
    free(access->server);
    free(access->ns);
    free(access->user_name);
    free(access->context);
    free(access->ca_file);
    free(access->cert_file);
    free(access->key_file);
    kvmig__blob_clear(&access->ca);
    kvmig__blob_clear(&access->cert);
    kvmig__blob_clear(&access->key);
    free(access->tls_server_name);
    kvmig__secret_free(access->proxy_url); /* may have a password */
    kvmig__secret_free(access->token);
    free(access->token_file);
    free(access->basic_user);
    kvmig__secret_free(access->basic_password);
    free(access->impersonate);
    kvmig__strlist_clear(&access->impersonate_groups);
    free(access);
}

/* ---- files ---- */

char *kvmig__path_in(const char *dir, const char *path)
{
    if (*path == '/' || !dir)
        return kvmig__strdup(path);
    return kvmig__asprintf("%s%s%s", dir, kvmig__str_ends(dir, "/") ? "" : "/", path);
}

static struct kvmig_error *file_error(int code, const char *where, const char *path, const char *what)
{
    const char *hint = code == ENOENT   ? "Check the path, or whether the file is mounted."
                       : code == EACCES ? "Let this user read the file and its folders."
                                        : "Name a regular file of a sensible size.";

    return kvmig__error_new(code, where, path, hint, "%s cannot be read: %s", path,
                            what ? what : kvmig__errno_text(code));
}

static struct kvmig_error *read_all(int fd, const char *path, const char *where, size_t size, struct kvmig__blob *out)
{
    out->data = kvmig__calloc(size + 1, 1);
    out->length = 0;
    while (out->length < size) {
        const ssize_t n = read(fd, out->data + out->length, size - out->length);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            const int code = errno;

            kvmig__blob_clear(out);
            return file_error(code, where, path, NULL);
        }
        if (n == 0)
            break;
        out->length += (size_t)n;
    }
    return NULL;
}

struct kvmig_error *kvmig__file_read(const char *path, const char *where, size_t max, struct kvmig__blob *out)
{
    /* A FIFO without a writer must not hold up the lane. */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct kvmig_error *error;
    struct stat info;

    if (fd < 0)
        return file_error(errno, where, path, NULL);
    if (fstat(fd, &info) < 0)
        error = file_error(errno, where, path, NULL);
    else if (!S_ISREG(info.st_mode))
        error = file_error(S_ISDIR(info.st_mode) ? EISDIR : EINVAL, where, path, "it is no regular file");
    else if ((uintmax_t)info.st_size > max)
        error = file_error(EFBIG, where, path, NULL);
    else
        error = read_all(fd, path, where, (size_t)info.st_size, out);
    close(fd);
    return error;
}

/* ---- certificates and keys ---- */

bool kvmig__is_pem(const struct kvmig__blob *blob)
{
    static const char begin[] = "-----BEGIN ";

    return memmem(blob->data, blob->length, begin, sizeof(begin) - 1) != NULL;
}

struct kvmig_error *kvmig__pem_file_check(const char *path, const char *where)
{
    struct kvmig__blob blob = { 0 };
    struct kvmig_error *error = kvmig__file_read(path, where, MAX_PEM, &blob);

    if (!error && !kvmig__is_pem(&blob))
        error = kvmig__error_new(EINVAL, where, path, "Convert it to PEM (text with -----BEGIN ...-----).",
                                 "%s has no certificate or key in PEM", path);
    kvmig__blob_clear(&blob);
    return error;
}

/* ---- tokens ---- */

struct kvmig_error *kvmig__token_check(const char *token, const char *where)
{
    for (const char *c = token; *c; c++) {
        if (*c <= ' ' || *c > '~')
            return kvmig__error_new(EINVAL, where, NULL, "Give the token alone, without blanks or line breaks.",
                                    "the token has a character that no token can have");
    }
    if (!*token)
        return kvmig__error_new(EINVAL, where, NULL, "Give a token, or leave it out.", "the token is empty");
    return NULL;
}

struct kvmig_error *kvmig__token_file_read(const char *path, const char *where, char **out_token)
{
    static const char space[] = " \t\r\n\v\f";
    struct kvmig__blob blob = { 0 };
    struct kvmig_error *error = kvmig__file_read(path, where, MAX_TOKEN, &blob);
    char *begin;

    if (error)
        return error;
    begin = blob.data + strspn(blob.data, space);
    while (blob.length > 0 && strchr(space, blob.data[blob.length - 1]))
        blob.data[--blob.length] = '\0';
    if (!*begin)
        error = kvmig__error_new(EINVAL, where, path, "Have a token written into it.", "%s has no token", path);
    else if (blob.length != strlen(blob.data))
        error = kvmig__error_new(EINVAL, where, path, "Have a token written into it.", "%s is no text", path);
    else
        error = kvmig__token_check(begin, where);
    if (!error)
        kvmig__secret_set(out_token, begin);
    kvmig__blob_clear(&blob);
    return error;
}

struct kvmig_error *kvmig__line_check(const char *text, const char *where)
{
    for (const char *c = text; *c; c++) {
        if ((unsigned char)*c < ' ' || *c == 0x7F)
            return kvmig__error_new(EINVAL, where, NULL, "Remove line breaks and other control characters.",
                                    "the text has a control character");
    }
    return NULL;
}

/* ---- URLs ---- */

/* Printable ASCII: such text cannot break out of the line of a request. */
static bool is_plain(const char *text)
{
    for (const char *c = text; *c; c++) {
        if (*c <= ' ' || *c > '~')
            return false;
    }
    return true;
}

/* The part after "scheme://"; NULL: another scheme, or none. */
static const char *after_scheme(const char *url, const char *scheme)
{
    const size_t n = strlen(scheme);

    return strncasecmp(url, scheme, n) == 0 && kvmig__str_starts(url + n, "://") ? url + n + 3 : NULL;
}

struct kvmig_error *kvmig__server_url(const char *text, const char *where, char **out_url)
{
    static const char hint[] = "Use https://HOST:PORT, with a path if there is one.";
    const char *rest = after_scheme(text, "https");
    const bool is_http = !rest && (rest = after_scheme(text, "http"));
    size_t length;

    /* kubectl would fall back to plain HTTP, which gives tokens away. */
    if (!rest && !strstr(text, "://"))
        rest = text;
    if (rest && is_plain(rest) && memchr(rest, '@', strcspn(rest, "/?#")))
        return kvmig__error_new(EINVAL, where, NULL, "Put the user's name and password into the user's entry.",
                                "the URL of the server has a user in it");
    if (!rest || !is_plain(rest) || strpbrk(rest, "?#\\\"<>") || !strcspn(rest, "/:"))
        return kvmig__error_new(EINVAL, where, is_plain(text) ? text : NULL, hint,
                                "the URL of the server is none of HTTP");
    length = strlen(rest);
    while (length > 0 && rest[length - 1] == '/')
        length--;
    *out_url = kvmig__asprintf("%s://%.*s", is_http ? "http" : "https", (int)length, rest);
    return NULL;
}

struct kvmig_error *kvmig__proxy_url_check(const char *url, const char *where)
{
    static const char *const schemes[] = { "http", "https", "socks4", "socks4a", "socks5", "socks5h" };
    const char *rest = NULL;

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(schemes) && !rest; i++)
        rest = after_scheme(url, schemes[i]);
    if (rest && *rest && *rest != '/' && is_plain(rest))
        return NULL;
    return kvmig__error_new(EINVAL, where, NULL, "Use http://HOST:PORT, https://HOST:PORT or socks5://HOST:PORT.",
                            "the URL of the proxy cannot be used");
}
