/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What libcurl is told for one request: where, over which TLS, as whom. Sends nothing and waits for nothing. Needs the
 * context lock. Certificates that came inline are handed over without a copy: the request keeps the credentials while
 * it runs.
 *
 * A tls-server-name is put into the URL, so that libcurl asks for it by SNI and compares the certificate with it,
 * while CURLOPT_CONNECT_TO leads the connection to the server's own address; the Host header stays the server's.
 */
#include "kubernetes/client_private.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define KEEPALIVE_IDLE_S 30L
#define KEEPALIVE_INTERVAL_S 10L
#define MAX_SILENCE_MS 30000U /* what was sent and is not acknowledged for so long, is lost */

/* ---- headers ---- */

void kvmig__request_free_headers(struct kvmig__request_http *request)
{
    for (struct curl_slist *header = request->headers; header; header = header->next)
        explicit_bzero(header->data, strlen(header->data));
    curl_slist_free_all(request->headers);
    curl_slist_free_all(request->connect_to);
    request->headers = request->connect_to = NULL;
}

static bool fits_a_header(const char *value)
{
    for (; *value; value++) {
        if ((unsigned char)*value < 0x20 || *value == 0x7F)
            return false;
    }
    return true;
}

/* The value is no part of the error. */
static struct kvmig_error *add_header(struct kvmig__request_http *request, const char *name, const char *prefix,
                                      const char *value)
{
    struct curl_slist *list;
    char *line;

    if (!fits_a_header(value))
        return kvmig__request_error(
            request, EINVAL, name, "Remove line ends and other control characters from the token, or from the names.",
            "A value for the request's header %s has characters that no header can carry.", name);
    line = kvmig__asprintf("%s: %s%s", name, prefix, value);
    list = curl_slist_append(request->headers, line);
    explicit_bzero(line, strlen(line));
    free(line);
    if (!list)
        return kvmig__request_curl_error(request, CURLE_OUT_OF_MEMORY);
    request->headers = list;
    return NULL;
}

static struct kvmig_error *add_identity(struct kvmig__request_http *request)
{
    const struct kvmig__access *access = request->credentials->access;
    struct kvmig_error *error = NULL;

    if (access->token)
        error = add_header(request, "Authorization", "Bearer ", access->token);
    if (!error && access->impersonate)
        error = add_header(request, "Impersonate-User", "", access->impersonate);
    for (size_t i = 0; !error && i < access->impersonate_groups.n; i++)
        error = add_header(request, "Impersonate-Group", "", access->impersonate_groups.v[i]);
    return error;
}

static struct kvmig_error *add_headers(struct kvmig__request_http *request)
{
    const char *type = request->ask.content_type;
    struct kvmig_error *error = add_header(request, "Accept", "", "application/json");

    if (!error && request->ask.body)
        error = add_header(request, "Content-Type", "", type ? type : "application/json");
    if (!error)
        error = add_header(request, "Expect", "", ""); /* none: bodies are small, and a round trip is not */
    if (!error)
        error = add_identity(request);
    if (!error)
        curl_easy_setopt(request->easy, CURLOPT_HTTPHEADER, request->headers);
    return error;
}

/* ---- the URL ---- */

struct place {
    CURLU *parser;
    char *scheme, *host, *port;
};

static struct kvmig_error *bad_server(const struct kvmig__request_http *request, CURLUcode code)
{
    return kvmig__request_error(request, EINVAL, code ? curl_url_strerror(code) : "neither http nor https",
                                "Write it as \"https://HOST:PORT\"; user names and passwords do not belong there.",
                                "The URL of the API server cannot be used.");
}

static CURLUcode read_server(struct place *place, const char *server)
{
    CURLUcode code;

    place->parser = curl_url();
    if (!place->parser)
        return CURLUE_OUT_OF_MEMORY;
    code = curl_url_set(place->parser, CURLUPART_URL, server, CURLU_DISALLOW_USER);
    if (code == CURLUE_OK)
        code = curl_url_get(place->parser, CURLUPART_SCHEME, &place->scheme, 0);
    if (code == CURLUE_OK)
        code = curl_url_get(place->parser, CURLUPART_HOST, &place->host, 0);
    if (code == CURLUE_OK)
        code = curl_url_get(place->parser, CURLUPART_PORT, &place->port, CURLU_DEFAULT_PORT);
    return code;
}

static void clear_place(struct place *place)
{
    curl_free(place->scheme);
    curl_free(place->host);
    curl_free(place->port);
    curl_url_cleanup(place->parser);
}

/* See the top. */
static struct kvmig_error *set_tls_name(struct kvmig__request_http *request, struct place *place, const char *name)
{
    char *route = kvmig__asprintf("%s:%s:%s:%s", name, place->port, place->host, place->port);
    char *host = kvmig__asprintf("%s:%s", place->host, place->port);
    CURLUcode code = curl_url_set(place->parser, CURLUPART_HOST, name, 0);
    struct kvmig_error *error = code == CURLUE_OK ? add_header(request, "Host", "", host) : bad_server(request, code);

    if (!error) {
        request->connect_to = curl_slist_append(NULL, route);
        if (!request->connect_to ||
            curl_easy_setopt(request->easy, CURLOPT_CONNECT_TO, request->connect_to) != CURLE_OK)
            error = kvmig__request_curl_error(request, CURLE_OUT_OF_MEMORY);
    }
    free(route);
    free(host);
    return error;
}

static struct kvmig_error *set_url(struct kvmig__request_http *request, bool *out_secure)
{
    const struct kvmig__access *access = request->credentials->access;
    struct place place = { 0 };
    CURLUcode code = read_server(&place, access->server);
    struct kvmig_error *error = code == CURLUE_OK ? NULL : bad_server(request, code);
    char *base = NULL, *url;

    *out_secure = !error && strcmp(place.scheme, "https") == 0;
    if (!error && !*out_secure && strcmp(place.scheme, "http") != 0)
        error = bad_server(request, CURLUE_OK);
    if (!error && *out_secure && access->tls_server_name)
        error = set_tls_name(request, &place, access->tls_server_name);
    if (!error && (code = curl_url_get(place.parser, CURLUPART_URL, &base, 0)) != CURLUE_OK)
        error = bad_server(request, code);
    if (!error) {
        size_t length = strlen(base);

        while (length > 0 && base[length - 1] == '/')
            length--;
        url = kvmig__asprintf("%.*s%s", (int)length, base, request->ask.path);
        if (curl_easy_setopt(request->easy, CURLOPT_URL, url) != CURLE_OK)
            error = kvmig__request_curl_error(request, CURLE_OUT_OF_MEMORY);
        free(url);
    }
    curl_free(base);
    clear_place(&place);
    return error;
}

/* ---- connection, TLS and method; false: libcurl refused ---- */

#define SET(option, value) (curl_easy_setopt(easy, CURLOPT_##option, value) == CURLE_OK)

/* A connection whose other end is gone must not be waited for until the idle time-out. */
static int set_socket(void *data, curl_socket_t fd, curlsocktype purpose)
{
    unsigned int silence = MAX_SILENCE_MS;

    (void)data;
    if (purpose == CURLSOCKTYPE_IPCXN)
        setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &silence, sizeof(silence));
    return CURL_SOCKOPT_OK;
}

static long as_long(int64_t ms)
{
    return ms > INT32_MAX ? INT32_MAX : (long)ms;
}

static bool set_connection(struct kvmig__request_http *request, CURL *easy, bool secure)
{
    const struct kvmig__access *access = request->credentials->access;
    bool ok = SET(ERRORBUFFER, request->curl_text) && SET(SOCKOPTFUNCTION, set_socket) && SET(TCP_KEEPALIVE, 1L) &&
              SET(TCP_KEEPIDLE, KEEPALIVE_IDLE_S) && SET(TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S) &&
              SET(CONNECTTIMEOUT_MS, as_long(request->client->opts.request_timeout_ms)) &&
              SET(PROXY, access->proxy_url ? access->proxy_url : "") && SET(NOPROXY, "") &&
              SET(SUPPRESS_CONNECT_HEADERS, 1L);

    /* Without TLS there is no ALPN to agree on HTTP/2, and requests would wait for a first answer that may take
     * long. */
    ok = ok && SET(HTTP_VERSION, secure ? (long)CURL_HTTP_VERSION_2TLS : (long)CURL_HTTP_VERSION_1_1);
    ok = ok && SET(PIPEWAIT, secure ? 1L : 0L);
    return ok && (!request->pool->share || SET(SHARE, request->pool->share));
}

static bool set_blob(CURL *easy, CURLoption option, const struct kvmig__blob *blob)
{
    struct curl_blob data = { .data = blob->data, .len = blob->length, .flags = CURL_BLOB_NOCOPY };

    return curl_easy_setopt(easy, option, &data) == CURLE_OK;
}

/* Authorities that are named are the only ones that are believed; a passphrase is never asked for on a terminal. */
static bool set_tls(CURL *easy, const struct kvmig__access *access)
{
    bool ok = SET(KEYPASSWD, "") && SET(SSL_VERIFYPEER, access->insecure ? 0L : 1L) &&
              SET(SSL_VERIFYHOST, access->insecure ? 0L : 2L);

    if (ok && (access->ca.data || access->ca_file))
        ok = SET(CAPATH, NULL);
    if (ok && access->ca.data)
        ok = set_blob(easy, CURLOPT_CAINFO_BLOB, &access->ca);
    else if (ok && access->ca_file)
        ok = SET(CAINFO, access->ca_file);
    if (ok && access->cert.data)
        ok = set_blob(easy, CURLOPT_SSLCERT_BLOB, &access->cert);
    else if (ok && access->cert_file)
        ok = SET(SSLCERT, access->cert_file);
    if (ok && access->key.data)
        ok = set_blob(easy, CURLOPT_SSLKEY_BLOB, &access->key);
    else if (ok && access->key_file)
        ok = SET(SSLKEY, access->key_file);
    return ok;
}

static bool set_basic(CURL *easy, const struct kvmig__access *access)
{
    if (!access->basic_user || access->token)
        return true;
    return SET(HTTPAUTH, (long)CURLAUTH_BASIC) && SET(USERNAME, access->basic_user) &&
           SET(PASSWORD, access->basic_password ? access->basic_password : "");
}

/* libcurl sends a request again, without a word, when a connection that was used before is closed before it answers. What
 * has an effect each time it is sent therefore gets a connection of its own: whether to send it again is for others to
 * decide. */
static bool set_once(CURL *easy, const char *method)
{
    return (strcmp(method, "POST") != 0 && strcmp(method, "PATCH") != 0) || SET(FRESH_CONNECT, 1L);
}

static bool set_method(CURL *easy, const struct kvmig__ask *ask)
{
    bool ok = set_once(easy, ask->method);

    if (ask->body)
        ok = ok && SET(POSTFIELDSIZE_LARGE, (curl_off_t)strlen(ask->body)) && SET(POSTFIELDS, ask->body);
    ok = ok && SET(CUSTOMREQUEST, ask->method);
    /* The lines of a watch are to come one by one, whatever a compressor would gather. */
    return ok && (ask->line || SET(ACCEPT_ENCODING, "gzip"));
}

struct kvmig_error *kvmig__request_set_up(struct kvmig__request_http *request)
{
    const struct kvmig__access *access = request->credentials->access;
    CURL *easy = request->easy;
    char *agent = kvmig__asprintf("libkvmig/%s", kvmig_version_string());
    bool secure = false, ok = SET(USERAGENT, agent);
    struct kvmig_error *error = set_url(request, &secure);

    free(agent);
    if (!error)
        error = add_headers(request);
    ok = ok && set_connection(request, easy, secure) && set_tls(easy, access) && set_basic(easy, access) &&
         set_method(easy, &request->ask);
    if (!error && !ok)
        error = kvmig__request_curl_error(request, CURLE_OUT_OF_MEMORY);
    return error;
}
