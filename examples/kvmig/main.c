/* SPDX-License-Identifier: MIT-0 */
/*
 * kvmig: plan, run and explain migrations of virtual machines, and let their network ports follow, from a terminal or a
 * script. This file finds the command; each command is a file of its own (cmd_*.c).
 */
#include <stdlib.h>
#include <string.h>

#include <libvirt/virterror.h>

#include "tool.h"

static const struct command *const commands[] = { &hosts_command,   &plan_command,  &migrate_command,
                                                  &explain_command, &watch_command, &where_command,
                                                  &port_command,    &probe_command, &snapshot_command,
                                                  &drain_command,   &cpu_command,   &diagnose_command,
                                                  &report_command };
#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void print_usage(FILE *out)
{
    fputs("Usage: kvmig COMMAND [options]\n\n"
          "Plans, runs and explains KVM migrations, on libvirt hosts and on KubeVirt clusters.\n\n"
          "Commands:\n",
          out);
    for (size_t i = 0; i < N_COMMANDS; i++)
        fprintf(out, "  %-8s %s\n           kvmig %s %s\n", commands[i]->name, commands[i]->summary, commands[i]->name,
                commands[i]->arguments);
    fputs(
        "\n'kvmig COMMAND --help' lists a command's options.\n"
        "kvmig --version prints the versions of the tool and of the library.\n\n"
        "Exit codes:\n"
        "    0  done; the answer is known, whatever it is\n"
        "    1  the migration failed, and the guest is where it was; not all VMs of a drain moved; or an operation on\n"
        "       a port failed\n"
        "    2  wrong use of the command line; files or a request that cannot be used\n"
        "    3  refused: the plan has blockers (migrate), VMs cannot move (drain), the action is not proven safe, or "
        "the port\n"
        "       is another's\n"
        "    4  cancelled; the guest is where it was\n"
        "    5  where the guest is is not known, or needs a decision: see kvmig where\n"
        "    6  no such VM, migration, host or port; or a host, API, database or service does not answer\n"
        "    7  another error\n"
        "  130  left before the end, at the last Ctrl-C (with --attach: the first)\n\n"
        "Environment:\n"
        "  KVMIG_HOSTS  libvirt URIs of the hosts, separated by commas, if --connect is not given\n"
        "  KUBECONFIG   kubeconfig of a Kubernetes cluster, if no libvirt URI is given\n"
        "  OVN_NB_DB, OVN_SB_DB  remotes of OVN's databases, if --ovn-nb or --ovn-sb is not given\n"
        "  KVMIG_LOG    log levels on standard error: \"debug\", or \"warn,session=debug,libvirt=info\"\n",
        out);
}

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static int run_command(const struct command *command, int argc, char **argv)
{
    struct settings settings = SETTINGS_INIT;
    int code = options_parse(command, argc, argv, &settings);

    if (code < 0) {
        code = command->run(&settings);
        if (fflush(stdout) != 0 && code == EXIT_OK) {
            complain("cannot write the output");
            code = EXIT_ERROR;
        }
    }
    options_free(&settings);
    return code;
}

/* libvirt prints each of its errors on standard error unless the application says otherwise. Here they come with the
 * library's errors and findings, and must not break into the progress line. */
static void ignore_virt_error(void *user_data, virErrorPtr error)
{
    (void)user_data;
    (void)error;
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    const struct command *command;

    virSetErrorFunc(NULL, ignore_virt_error);

    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || (strcmp(word, "help") == 0 && argc == 2)) {
        print_usage(stdout);
        return fflush(stdout) == 0 ? EXIT_OK : EXIT_ERROR;
    }
    if (strcmp(word, "--version") == 0) {
        printf("kvmig %d.%d.%d, library %s\n", KVMIG_VERSION_MAJOR, KVMIG_VERSION_MINOR, KVMIG_VERSION_MICRO,
               kvmig_version_string());
        return fflush(stdout) == 0 ? EXIT_OK : EXIT_ERROR;
    }
    if (!*word) {
        print_usage(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(word, "help") == 0) {
        static char help[] = "--help";
        char *const help_argv[] = { argv[2], help, NULL };

        command = find_command(argv[2]);
        if (command)
            return run_command(command, 2, (char **)help_argv);
        word = argv[2];
    }
    command = find_command(word);
    if (command)
        return run_command(command, argc - 1, argv + 1);
    complain(*word == '-' ? "options come after the command, and \"%s\" is none of kvmig's own" : "no command \"%s\"",
             word);
    fputs("'kvmig --help' lists the commands.\n", stderr);
    return EXIT_USAGE;
}
