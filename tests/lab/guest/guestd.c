/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * guestd: the only program in the lab's guest (it runs as process 1).
 *
 * Does: writes numbered 512-byte records to every writable /dev/vdX and
 * makes each durable; answers TCP echo on port 7777 and HTTP/JSON on port
 * 8080 (/status, /verify, /dirty, /writes), IPv4 and IPv6; dirties memory on request;
 * prints its boot id and a heartbeat on the serial console.
 *
 * Does not: survive a reboot with its records (a new boot starts at record
 * 0 again), shut the guest down, or measure time in which the guest was
 * paused (the guest's clocks stand still then; measure that from outside).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

#define RECORD_SIZE 512
#define PAGE_BYTES 4096
#define PAGE_WORDS (PAGE_BYTES / 8)
#define MAX_DISKS 8
#define VERIFY_CHUNK (256 * 1024)
#define NS_PER_MS 1000000LL
#define NS_PER_S 1000000000LL
#define RESERVED_MB 64

static const char RECORD_MAGIC[8] = "KVMIGRC1";

struct record {
    char magic[8];
    char boot_id[40];
    uint64_t seq;
    int64_t monotonic_ns;
    int64_t realtime_ns;
    uint64_t checksum;
    uint64_t filler[(RECORD_SIZE - 80) / 8];
};
_Static_assert(sizeof(struct record) == RECORD_SIZE, "record size");

struct disk {
    char name[8];
    char path[16];
    uint64_t capacity; /* in records */
    _Atomic uint64_t seq;
    _Atomic uint64_t errors;
    _Atomic int64_t max_gap_ns;
    _Atomic bool reset_gap;
};

static struct disk disks[MAX_DISKS];
static int disk_count;
static char boot_id[40];
static _Atomic long write_rate = 20;
static _Atomic long dirty_mb, dirty_rate, dirty_measured;
static _Atomic uint64_t dirty_passes, dirty_pages; /* pages: written since the start, over and over */

struct reply {
    char text[4096];
    size_t used;
};

static int64_t clock_ns(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return t.tv_sec * NS_PER_S + t.tv_nsec;
}

static void sleep_ns(int64_t ns)
{
    struct timespec t = { ns / NS_PER_S, ns % NS_PER_S };
    nanosleep(&t, NULL);
}

static void start_thread(void *(*run)(void *), void *arg)
{
    pthread_attr_t attr;
    pthread_t thread;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, 128 * 1024);
    if (pthread_create(&thread, &attr, run, arg) != 0)
        fprintf(stderr, "kvmig: cannot start a thread\n");
    pthread_attr_destroy(&attr);
}

/* ---- records ---------------------------------------------------------- */

static uint64_t record_checksum(const struct record *r)
{
    uint64_t h = 1469598103934665603ULL ^ r->seq;
    h = (h ^ (uint64_t)r->monotonic_ns) * 1099511628211ULL;
    h = (h ^ (uint64_t)r->realtime_ns) * 1099511628211ULL;
    for (size_t i = 0; i < sizeof(r->filler) / 8; i++)
        h = (h ^ r->filler[i]) * 1099511628211ULL;
    return h;
}

static void record_fill(struct record *r, uint64_t seq)
{
    memset(r, 0, sizeof(*r));
    memcpy(r->magic, RECORD_MAGIC, sizeof(r->magic));
    memcpy(r->boot_id, boot_id, sizeof(r->boot_id));
    r->seq = seq;
    r->monotonic_ns = clock_ns(CLOCK_MONOTONIC);
    r->realtime_ns = clock_ns(CLOCK_REALTIME);
    for (size_t i = 0; i < sizeof(r->filler) / 8; i++)
        r->filler[i] = (seq + 1) * 0x9e3779b97f4a7c15ULL + i;
    r->checksum = record_checksum(r);
}

static bool record_good(const struct record *r, uint64_t seq)
{
    return memcmp(r->magic, RECORD_MAGIC, sizeof(r->magic)) == 0 &&
           memcmp(r->boot_id, boot_id, sizeof(r->boot_id)) == 0 && r->seq == seq && r->checksum == record_checksum(r);
}

static bool write_record(int fd, struct disk *d, uint64_t seq)
{
    struct record r;
    record_fill(&r, seq);
    if (pwrite(fd, &r, RECORD_SIZE, seq * RECORD_SIZE) == RECORD_SIZE && fdatasync(fd) == 0)
        return true;
    atomic_fetch_add(&d->errors, 1);
    return false;
}

static void note_gap(struct disk *d, int64_t *last)
{
    int64_t now = clock_ns(CLOCK_MONOTONIC);
    if (atomic_exchange(&d->reset_gap, false)) {
        d->max_gap_ns = 0;
        *last = 0;
    }
    if (*last && now - *last > d->max_gap_ns)
        d->max_gap_ns = now - *last;
    *last = now;
}

static void *disk_writer(void *arg)
{
    struct disk *d = arg;
    int fd = open(d->path, O_RDWR);
    int64_t last = 0, next = clock_ns(CLOCK_MONOTONIC);
    if (fd < 0) {
        atomic_fetch_add(&d->errors, 1);
        return NULL;
    }
    for (;;) {
        long rate = write_rate;
        int64_t now = clock_ns(CLOCK_MONOTONIC);
        if (rate <= 0 || d->seq >= d->capacity) {
            last = 0;
            next = now;
            sleep_ns(50 * NS_PER_MS);
            continue;
        }
        if (now < next) {
            int64_t left = next - now;
            sleep_ns(left < 100 * NS_PER_MS ? left : 100 * NS_PER_MS);
            continue;
        }
        next = (now - next > NS_PER_S ? now : next) + NS_PER_S / rate;
        if (write_record(fd, d, d->seq)) {
            atomic_fetch_add(&d->seq, 1);
            note_gap(d, &last);
        }
    }
}

static void find_disks(void)
{
    for (char letter = 'a'; letter <= 'z' && disk_count < MAX_DISKS; letter++) {
        struct disk *d = &disks[disk_count];
        uint64_t bytes = 0;
        int read_only = 0, fd;
        snprintf(d->name, sizeof(d->name), "vd%c", letter);
        snprintf(d->path, sizeof(d->path), "/dev/vd%c", letter);
        fd = open(d->path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            continue;
        if (ioctl(fd, BLKROGET, &read_only) == 0 && !read_only && ioctl(fd, BLKGETSIZE64, &bytes) == 0) {
            d->capacity = bytes / RECORD_SIZE;
            disk_count++;
        }
        close(fd);
    }
}

/* Returns the first wrong record below `count`, or -1 when all are right. */
static int64_t first_bad_record(int fd, char *buffer, uint64_t count)
{
    uint64_t seq = 0;
    while (seq < count) {
        ssize_t got = pread(fd, buffer, VERIFY_CHUNK, seq * RECORD_SIZE);
        if (got < RECORD_SIZE)
            return seq;
        for (ssize_t at = 0; at + RECORD_SIZE <= got && seq < count; seq++) {
            if (!record_good((const struct record *)(buffer + at), seq))
                return seq;
            at += RECORD_SIZE;
        }
    }
    return -1;
}

static int64_t verify_disk(const struct disk *d, uint64_t count)
{
    void *buffer;
    int64_t bad = 0;
    int fd = open(d->path, O_RDONLY | O_DIRECT | O_CLOEXEC);
    if (fd >= 0 && posix_memalign(&buffer, PAGE_BYTES, VERIFY_CHUNK) == 0) {
        bad = first_bad_record(fd, buffer, count);
        free(buffer);
    }
    if (fd >= 0)
        close(fd);
    return bad;
}

/* ---- memory dirtying -------------------------------------------------- */

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static uint64_t *map_random(long mb, uint64_t *state)
{
    size_t words = (size_t)mb << 17;
    uint64_t *memory = mmap(NULL, words * 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    for (size_t i = 0; i < words; i++)
        memory[i] = next_random(state);
    return memory;
}

struct dirtier {
    uint64_t *memory;
    long mb;
    size_t page;
    uint64_t random;
};

static void dirty_resize(struct dirtier *d, long mb)
{
    if (d->memory)
        munmap(d->memory, (size_t)d->mb << 20);
    d->memory = mb > 0 ? map_random(mb, &d->random) : NULL;
    d->mb = mb;
    d->page = 0;
    dirty_passes = 0;
}

/* Changes one word in each of the next `pages` pages. */
static void dirty_pages_once(struct dirtier *d, size_t pages)
{
    size_t total = (size_t)d->mb << 8;
    while (pages-- > 0) {
        size_t word = dirty_passes % PAGE_WORDS;
        d->memory[d->page * PAGE_WORDS + word] = next_random(&d->random);
        if (++d->page == total) {
            d->page = 0;
            dirty_passes++;
        }
    }
}

static void *dirty_loop(void *arg)
{
    struct dirtier d = { .random = 88172645463325252ULL };
    int64_t second = clock_ns(CLOCK_MONOTONIC), last = second;
    size_t done = 0;
    (void)arg;
    setpriority(PRIO_PROCESS, syscall(SYS_gettid), 19);
    for (;;) {
        long mb = dirty_rate > 0 ? dirty_mb : 0;
        int64_t now;
        if (mb != d.mb)
            dirty_resize(&d, mb);
        sleep_ns(5 * NS_PER_MS);
        now = clock_ns(CLOCK_MONOTONIC);
        if (d.memory) {
            int64_t slice = now - last < 50 * NS_PER_MS ? now - last : 50 * NS_PER_MS;
            size_t pages = (size_t)(dirty_rate * 256 * slice / NS_PER_S);
            dirty_pages_once(&d, pages);
            done += pages;
            dirty_pages += pages;
        }
        last = now;
        if (now - second >= NS_PER_S) {
            dirty_measured = (long)(done * NS_PER_S / 256 / (now - second));
            second = now;
            done = 0;
        }
    }
    return NULL;
}

/* ---- HTTP ------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void add(struct reply *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(r->text + r->used, sizeof(r->text) - r->used, format, args);
    va_end(args);
    if (n > 0 && r->used + n < sizeof(r->text))
        r->used += n;
}

static void add_per_disk(struct reply *r, const char *key, uint64_t (*value)(struct disk *))
{
    add(r, "\"%s\":{", key);
    for (int i = 0; i < disk_count; i++)
        add(r, "%s\"%s\":%llu", i ? "," : "", disks[i].name, (unsigned long long)value(&disks[i]));
    add(r, "},");
}

static uint64_t disk_seq(struct disk *d)
{
    return d->seq;
}
static uint64_t disk_errors(struct disk *d)
{
    return d->errors;
}
static uint64_t disk_capacity(struct disk *d)
{
    return d->capacity;
}

static void answer_status(struct reply *r)
{
    int64_t gap = 0;
    for (int i = 0; i < disk_count; i++)
        if (disks[i].max_gap_ns > gap)
            gap = disks[i].max_gap_ns;
    add(r, "{\"boot_id\":\"%s\",\"uptime_ms\":%lld,", boot_id, (long long)(clock_ns(CLOCK_BOOTTIME) / NS_PER_MS));
    add_per_disk(r, "seq", disk_seq);
    add_per_disk(r, "write_errors", disk_errors);
    add_per_disk(r, "capacity", disk_capacity);
    add(r, "\"write_rate\":%ld,\"max_write_gap_ms\":%lld,", (long)write_rate, (long long)(gap / NS_PER_MS));
    add(r, "\"dirty\":{\"mb\":%ld,\"rate\":%ld,\"mb_per_s\":%ld,\"passes\":%llu,\"pages\":%llu}}\n", (long)dirty_mb,
        (long)dirty_rate, (long)dirty_measured, (unsigned long long)dirty_passes, (unsigned long long)dirty_pages);
}

static void answer_verify(struct reply *r)
{
    add(r, "{");
    for (int i = 0; i < disk_count; i++) {
        uint64_t count = disks[i].seq;
        int64_t bad = verify_disk(&disks[i], count);
        add(r, "%s\"%s\":{\"records\":%llu,\"complete\":%s,\"first_bad\":", i ? "," : "", disks[i].name,
            (unsigned long long)count, bad < 0 ? "true" : "false");
        if (bad < 0)
            add(r, "null}");
        else
            add(r, "%lld}", (long long)bad);
    }
    add(r, "}\n");
}

/* The value of `key` in the query part of `target`, or `otherwise`. */
static long query_long(const char *target, const char *key, long otherwise)
{
    size_t length = strlen(key);
    const char *at = strchr(target, '?');
    while (at) {
        at++;
        if (strncmp(at, key, length) == 0 && at[length] == '=')
            return strtol(at + length + 1, NULL, 10);
        at = strchr(at, '&');
    }
    return otherwise;
}

static long memory_limit_mb(void)
{
    struct sysinfo info;
    sysinfo(&info);
    long total = (long)((info.totalram * (uint64_t)info.mem_unit) >> 20);
    return total > RESERVED_MB ? total - RESERVED_MB : 1;
}

static void set_dirty(const char *target)
{
    long mb = query_long(target, "mb", dirty_mb);
    long limit = memory_limit_mb();
    dirty_mb = mb < 0 ? 0 : mb > limit ? limit : mb;
    dirty_rate = query_long(target, "rate", dirty_mb > 0 ? dirty_rate : 0);
}

static void set_writes(const char *target)
{
    write_rate = query_long(target, "rate", write_rate);
    for (int i = 0; i < disk_count; i++)
        disks[i].reset_gap = true;
}

static bool path_is(const char *target, const char *path)
{
    size_t length = strlen(path);
    return strncmp(target, path, length) == 0 && (target[length] == '\0' || target[length] == '?');
}

static int route(const char *target, struct reply *r)
{
    if (path_is(target, "/verify")) {
        answer_verify(r);
        return 200;
    }
    if (path_is(target, "/dirty"))
        set_dirty(target);
    else if (path_is(target, "/writes"))
        set_writes(target);
    else if (!path_is(target, "/status") && !path_is(target, "/")) {
        add(r, "{\"error\":\"no such path\"}\n");
        return 404;
    }
    answer_status(r);
    return 200;
}

static bool send_all(int fd, const char *data, size_t length)
{
    while (length > 0) {
        ssize_t n = send(fd, data, length, MSG_NOSIGNAL);
        if (n <= 0)
            return false;
        data += n;
        length -= n;
    }
    return true;
}

/* Reads up to the end of the request's headers; false when it never ends. */
static bool read_request(int fd, char *buffer, size_t size)
{
    size_t used = 0;
    while (used + 1 < size) {
        ssize_t n = recv(fd, buffer + used, size - 1 - used, 0);
        if (n <= 0)
            return false;
        used += n;
        buffer[used] = '\0';
        if (strstr(buffer, "\r\n\r\n"))
            return true;
    }
    return false;
}

static void *http_connection(void *arg)
{
    int fd = (int)(intptr_t)arg;
    char request[2048], target[512] = "", head[160];
    struct reply body = { .used = 0 };
    if (read_request(fd, request, sizeof(request)) && sscanf(request, "GET %511s", target) == 1) {
        int status = route(target, &body);
        int n = snprintf(head, sizeof(head),
                         "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\n"
                         "Content-Length: %zu\r\nConnection: close\r\n\r\n",
                         status, status == 200 ? "OK" : "Not Found", body.used);
        if (send_all(fd, head, n))
            send_all(fd, body.text, body.used);
    }
    shutdown(fd, SHUT_WR);
    close(fd);
    return NULL;
}

static void *echo_connection(void *arg)
{
    int fd = (int)(intptr_t)arg;
    char buffer[4096];
    ssize_t n;
    while ((n = recv(fd, buffer, sizeof(buffer), 0)) > 0)
        if (!send_all(fd, buffer, n))
            break;
    close(fd);
    return NULL;
}

/* ---- servers, console, start ------------------------------------------ */

struct server {
    uint16_t port;
    void *(*serve)(void *);
};

static struct server servers[] = { { 7777, echo_connection }, { 8080, http_connection } };

static void *accept_loop(void *arg)
{
    struct server *s = arg;
    struct sockaddr_in6 address = { .sin6_family = AF_INET6, .sin6_port = htons(s->port) };
    int on = 1, off = 0, fd = socket(AF_INET6, SOCK_STREAM, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)); /* IPv4 comes in here too */
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, 64)) {
        fprintf(stderr, "kvmig: port %d: %s\n", s->port, strerror(errno));
        return NULL;
    }
    for (;;) {
        int client = accept(fd, NULL, NULL);
        if (client >= 0)
            start_thread(s->serve, (void *)(intptr_t)client);
        else
            sleep_ns(10 * NS_PER_MS);
    }
}

static void read_boot_id(void)
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (read(fd, boot_id, 36) != 36)
        memset(boot_id, 0, sizeof(boot_id));
    close(fd);
}

static void heartbeat_loop(void)
{
    for (;;) {
        printf("kvmig heartbeat boot=%s uptime_ms=%lld", boot_id, (long long)(clock_ns(CLOCK_BOOTTIME) / NS_PER_MS));
        for (int i = 0; i < disk_count; i++)
            printf(" %s=%llu", disks[i].name, (unsigned long long)disks[i].seq);
        printf("\n");
        sleep_ns(NS_PER_S);
    }
}

/* guestd [RATE]: RATE is the number of records a second on each disk. */
int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGPIPE, SIG_IGN);
    if (argc > 1)
        write_rate = strtol(argv[1], NULL, 10);
    read_boot_id();
    find_disks();
    printf("kvmig boot_id %s disks %d\n", boot_id, disk_count);
    for (int i = 0; i < disk_count; i++)
        start_thread(disk_writer, &disks[i]);
    for (size_t i = 0; i < sizeof(servers) / sizeof(servers[0]); i++)
        start_thread(accept_loop, &servers[i]);
    start_thread(dirty_loop, NULL);
    heartbeat_loop();
    return 0;
}
