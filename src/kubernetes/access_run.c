/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs one program, in a process group of its own and without a shell: bounded output, bounded time, no descriptor of ours but
 * /dev/null and two pipes, default signals. Blocks, so it runs on a lane. Copes with hosts that ignore SIGCHLD or reap every
 * child: the exit status is then not known, and what the program has written decides.
 *
 * Between fork() and execve() only async-signal-safe functions are called, because other threads may hold any lock.
 */
#include "base/utf8.h"
#include "kubernetes/access_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define POLL_MS 50 /* a program may end while a child of its own keeps the pipes */
#define GRACE_MS 2000 /* after SIGKILL; only a process that hangs in the kernel takes longer */
#define LAST_WORDS 2048
#define LAST_LINES 8
#define FIRST_FREE_FD 3

enum { OUT, ERR, STATUS, N_PIPES };

struct pipe_pair {
    int read_end, write_end; /* -1 = closed */
};

struct child {
    struct pipe_pair pipes[N_PIPES]; /* STATUS tells the errno of a failed execve(), or just closes */
    int null_fd;
    pid_t pid;
    int max_fds; /* that a process may have */
    bool ended, status_known;
    int status; /* of waitpid() */
    char words[2 * LAST_WORDS]; /* the end of what came on standard error */
    size_t n_words;
};

void kvmig__run_clear(struct kvmig__run *run)
{
    kvmig__blob_clear(&run->output);
    free(run->last_words);
    run->last_words = NULL;
}

/* ---- descriptors ---- */

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Out of the way of 0, 1 and 2, which the host may have closed. False: there are none left. */
static bool move_up(int *fd)
{
    int moved;

    if (*fd >= FIRST_FREE_FD)
        return true;
    moved = fcntl(*fd, F_DUPFD_CLOEXEC, FIRST_FREE_FD);
    close(*fd);
    *fd = moved;
    return moved >= 0;
}

static bool open_pipe(struct pipe_pair *pair)
{
    int fds[2];
    bool ok;

    if (pipe2(fds, O_CLOEXEC) < 0)
        return false;
    ok = move_up(&fds[0]);
    ok = move_up(&fds[1]) && ok;
    pair->read_end = fds[0];
    pair->write_end = fds[1];
    return ok;
}

static bool open_all(struct child *child)
{
    const long max_fds = sysconf(_SC_OPEN_MAX);
    bool ok;

    child->max_fds = max_fds > 0 && max_fds < INT_MAX ? (int)max_fds : INT_MAX;
    child->null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    ok = child->null_fd >= 0 && move_up(&child->null_fd);
    for (int i = 0; i < N_PIPES && ok; i++)
        ok = open_pipe(&child->pipes[i]);
    return ok && fcntl(child->pipes[OUT].read_end, F_SETFL, O_NONBLOCK) == 0 &&
           fcntl(child->pipes[ERR].read_end, F_SETFL, O_NONBLOCK) == 0;
}

static void close_all(struct child *child)
{
    close_fd(&child->null_fd);
    for (int i = 0; i < N_PIPES; i++) {
        close_fd(&child->pipes[i].read_end);
        close_fd(&child->pipes[i].write_end);
    }
}

/* ---- the child's side: async-signal-safe ---- */

static void close_from(int first, int end)
{
#ifdef SYS_close_range
    if (syscall(SYS_close_range, (unsigned)first, ~0u, 0u) == 0)
        return;
#endif
    for (int fd = first; fd < end; fd++)
        close(fd);
}

static void reset_signals(void)
{
    const struct sigaction usual = { .sa_handler = SIG_DFL };
    sigset_t none;

    for (int i = 1; i < NSIG; i++)
        sigaction(i, &usual, NULL); /* refused for SIGKILL, SIGSTOP and the C library's own */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static _Noreturn void become(const struct kvmig__run *run, const struct child *child)
{
    int code, status = child->pipes[STATUS].write_end;

    setpgid(0, 0);
    if (dup2(child->null_fd, STDIN_FILENO) >= 0 && dup2(child->pipes[OUT].write_end, STDOUT_FILENO) >= 0 &&
        dup2(child->pipes[ERR].write_end, STDERR_FILENO) >= 0 && dup2(status, FIRST_FREE_FD) >= 0) {
        status = FIRST_FREE_FD;
        fcntl(status, F_SETFD, FD_CLOEXEC);
        close_from(FIRST_FREE_FD + 1, child->max_fds);
        reset_signals();
        execve(run->path, run->argv, run->envp);
    }
    code = errno;
    while (write(status, &code, sizeof(code)) < 0 && errno == EINTR)
        ;
    _exit(127);
}

/* ---- our side ---- */

/* 0, or the errno that says why there is no process. */
static int start(const struct kvmig__run *run, struct child *child)
{
    sigset_t all, before;
    int saved;

    /* The host's handlers must not run in the child. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    child->pid = fork();
    saved = errno;
    if (child->pid == 0)
        become(run, child);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (child->pid < 0)
        return saved;
    setpgid(child->pid, child->pid); /* the child does it as well: whoever comes first */
    close_fd(&child->null_fd);
    for (int i = 0; i < N_PIPES; i++)
        close_fd(&child->pipes[i].write_end);
    return 0;
}

/* Until the program runs, which may take as long as its file system does. 0, or the errno that says why the program does not run. */
static int await_exec(const struct child *child, int64_t until)
{
    struct pollfd fd = { .fd = child->pipes[STATUS].read_end, .events = POLLIN };
    int code = 0;

    while (poll(&fd, 1, POLL_MS) <= 0) {
        if (kvmig__now_ms() >= until)
            return ETIMEDOUT;
    }
    return read(fd.fd, &code, sizeof(code)) == sizeof(code) ? code : 0;
}

static void look_for_end(struct child *child)
{
    pid_t pid;

    if (child->ended)
        return;
    do
        pid = waitpid(child->pid, &child->status, WNOHANG);
    while (pid < 0 && errno == EINTR);
    child->ended = pid != 0;
    child->status_known = pid == child->pid;
}

static void pause_ms(int64_t ms)
{
    const struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

    nanosleep(&time, NULL);
}

/* Until it has ended, or the time is over. */
static void await_end(struct child *child, int64_t until)
{
    for (look_for_end(child); !child->ended && kvmig__now_ms() < until; look_for_end(child))
        pause_ms(10);
}

/* Its group too; before it is reaped, so that the number cannot belong to somebody else. */
static void kill_group(struct child *child)
{
    if (child->ended)
        return;
    kill(-child->pid, SIGKILL);
    kill(child->pid, SIGKILL);
    await_end(child, kvmig__now_ms() + GRACE_MS);
}

static void keep_words(struct child *child, const char *text, size_t n)
{
    if (child->n_words + n > sizeof(child->words)) {
        const size_t drop = child->n_words + n - sizeof(child->words) + LAST_WORDS / 2;
        const size_t kept = drop < child->n_words ? child->n_words - drop : 0;

        memmove(child->words, child->words + child->n_words - kept, kept);
        child->n_words = kept;
    }
    memcpy(child->words + child->n_words, text, n);
    child->n_words += n;
}

/* False: there is too much of it. */
static bool keep_output(struct kvmig__run *run, const char *text, size_t n)
{
    if (n > run->max_output - run->output.length)
        return false;
    memcpy(run->output.data + run->output.length, text, n);
    run->output.length += n;
    return true;
}

/* Takes what can be read now; closes the pipe at its end. False: too much output. */
static bool take(struct kvmig__run *run, struct child *child, int which)
{
    char buffer[LAST_WORDS / 2];
    bool ok = true;

    while (ok && child->pipes[which].read_end >= 0) {
        const ssize_t n = read(child->pipes[which].read_end, buffer, sizeof(buffer));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n <= 0)
            close_fd(&child->pipes[which].read_end);
        else if (which == OUT)
            ok = keep_output(run, buffer, (size_t)n);
        else
            keep_words(child, buffer, (size_t)n);
    }
    explicit_bzero(buffer, sizeof(buffer));
    return ok;
}

/* 0, -ETIMEDOUT, or -EMSGSIZE: too much output. */
static int32_t follow(struct kvmig__run *run, struct child *child, int64_t until)
{
    bool ok = true;

    while (ok && !child->ended && (child->pipes[OUT].read_end >= 0 || child->pipes[ERR].read_end >= 0)) {
        struct pollfd fds[] = { { .fd = child->pipes[OUT].read_end, .events = POLLIN },
                                { .fd = child->pipes[ERR].read_end, .events = POLLIN } };
        const int64_t left = until - kvmig__now_ms();

        if (left <= 0)
            return -ETIMEDOUT;
        poll(fds, KVMIG__N_ELEMENTS(fds), (int)(left < POLL_MS ? left : POLL_MS));
        look_for_end(child); /* first: what it has written is there to be read then */
        ok = take(run, child, OUT) && take(run, child, ERR);
    }
    if (!ok)
        return -EMSGSIZE;
    await_end(child, until);
    return child->ended ? 0 : -ETIMEDOUT;
}

/* ---- what it says ---- */

/* The last lines, printable, as valid UTF-8; owned; NULL: it said nothing. */
static char *last_words(const struct child *child)
{
    const char *text = child->words;
    size_t begin = child->n_words > LAST_WORDS ? child->n_words - LAST_WORDS : 0, end = child->n_words, lines = 0;
    char *copy, *clean;

    while (end > begin && (unsigned char)text[end - 1] <= ' ')
        end--;
    for (size_t i = end; i > begin; i--) {
        if (text[i - 1] == '\n' && ++lines == LAST_LINES)
            begin = i;
    }
    if (begin == end)
        return NULL;
    copy = kvmig__calloc(end - begin + 1, 1);
    for (size_t i = begin; i < end; i++) {
        const bool is_control = (unsigned char)text[i] < ' ' || text[i] == 0x7F;

        copy[i - begin] = is_control && text[i] != '\n' ? ' ' : text[i];
    }
    clean = kvmig__utf8_dup(copy);
    free(copy);
    return clean;
}

static struct kvmig_error *judge(const struct kvmig__run *run, const struct child *child, int32_t rc, const char *where,
                                 const char *hint)
{
    const char *words = run->last_words;

    if (rc == -ETIMEDOUT)
        return kvmig__error_new(ETIMEDOUT, where, words, hint, "%s did not end within %lld ms and was killed",
                                run->path, (long long)run->timeout_ms);
    if (rc == -EMSGSIZE)
        return kvmig__error_new(EMSGSIZE, where, words, hint, "%s wrote more than %zu bytes and was killed", run->path,
                                run->max_output);
    if (!child->status_known || (WIFEXITED(child->status) && WEXITSTATUS(child->status) == 0))
        return NULL;
    if (WIFSIGNALED(child->status))
        return kvmig__error_new(EACCES, where, words, hint, "%s was ended by signal %d (%s)", run->path,
                                WTERMSIG(child->status), strsignal(WTERMSIG(child->status)));
    return kvmig__error_new(EACCES, where, words, hint, "%s failed with exit status %d", run->path,
                            WEXITSTATUS(child->status));
}

struct kvmig_error *kvmig__run_program(struct kvmig__run *run, const char *where, const char *hint)
{
    const int64_t until = kvmig__now_ms() + run->timeout_ms;
    struct child child = { .null_fd = -1, .pid = -1 };
    struct kvmig_error *error;
    int32_t rc = 0;
    int code;

    for (int i = 0; i < N_PIPES; i++)
        child.pipes[i] = (struct pipe_pair){ -1, -1 };
    run->output.data = kvmig__calloc(run->max_output + 1, 1);
    code = open_all(&child) ? start(run, &child) : errno;
    if (!code)
        code = await_exec(&child, until);
    if (!code)
        rc = follow(run, &child, until);
    if (child.pid > 0)
        kill_group(&child);
    close_all(&child);
    run->last_words = last_words(&child);
    if (code)
        error = kvmig__error_new(code, where, NULL, hint, "%s cannot be run: %s", run->path, kvmig__errno_text(code));
    else
        error = judge(run, &child, rc, where, hint);
    explicit_bzero(child.words, sizeof(child.words));
    return error;
}
