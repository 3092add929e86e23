/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor.c: see doctor.h. FAIL: no run will work. CAUTION: runs work, but something weakens their
 * isolation or will be missed. The checks of the host's weaknesses are in doctor_host.c.
 */
#include "supervisor/doctor.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "supervisor/config.h"
#include "supervisor/doctor_report.h"
#include "supervisor/host.h"
#include "supervisor/json_memory.h"
#include "supervisor/plan_file.h"
#include "supervisor/result_parts.h"

void report_add(struct report *report, enum report_grade grade, const char *subject,
    const char *remedy, const char *format, ...)
{
    struct report_line *line = &report->lines[report->count];
    va_list args;

    must(report->count < REPORT_LINES_MAX);
    report->count++;
    line->grade = grade;
    line->subject = subject;
    line->remedy = remedy;
    va_start(args, format);
    vsnprintf(line->text, sizeof(line->text), format, args);
    va_end(args);
}

/* Capabilities and speed of KVM, as the monitor measures them. */
static void check_kvm_speed(struct report *report, int programs_fd, int kvm_fd)
{
    struct ipc_probed probed;
    struct err err = ERR_INIT;
    char text[IPC_TEXT_BYTES + 128];
    const char *problem;

    if (host_probe(programs_fd, kvm_fd, &probed, &err) < 0) {
        report_add(report, REPORT_FAIL, "KVM guest code", "check the lines above and below", "%s",
            err.text);
        return;
    }
    problem = host_probe_problem(&probed, text, sizeof(text));
    if (problem)
        report_add(report, REPORT_FAIL, "KVM guest code",
            "use a machine with hardware virtualization, or tools/lab", "this host's KVM %s",
            problem);
    else
        report_add(report, REPORT_PASS, "KVM guest code", NULL,
            "runs natively: %llu loops a millisecond, machine made in %llu us",
            (unsigned long long)probed.loops_per_ms, (unsigned long long)probed.create_ns / 1000);
}

static void check_kvm(struct report *report, int programs_fd)
{
    struct err err = ERR_INIT;
    AUTO_FD int fd = host_open_kvm(&err);

    if (fd < 0) {
        report_add(report, REPORT_FAIL, "/dev/kvm", NULL, "%s", err.text);
        return;
    }
    report_add(report, REPORT_PASS, "/dev/kvm", NULL, "opens; its API is the one of Linux KVM");
    if (programs_fd >= 0)
        check_kvm_speed(report, programs_fd, fd);
}

static void check_programs(struct report *report, const char *directory, int programs_fd)
{
    static const char *const names[] = {"vmrun-monitor", "vmrun-scribe", "vmrun-extractor"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (programs_fd < 0 || faccessat(programs_fd, names[i], X_OK, 0) < 0)
            report_add(report, REPORT_FAIL, names[i], "build it with make",
                "cannot be executed in %s", directory);
    }
}

/* The files that a run takes by default, judged by what a run judges them by. */
static void check_guest_files(struct report *report, const char *directory)
{
    static const struct {
        const char *subject, *path;
        int (*open)(struct plan *plan, struct err *err);
    } files[] = {{"guest kernel", "kernel/vmlinux", plan_open_kernel},
        {"guest initramfs", "guest/initramfs.cpio", plan_open_initramfs},
        {"scratch template", "guest/scratch.ext4", plan_open_template}};
    static struct config config; /* too large for a small stack */

    config.disk_bytes = UINT64_MAX;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        AUTO_FREE char *path = plan_installed_path(directory, files[i].path);
        struct plan plan = {.config = &config,
            .kernel_path = path,
            .initramfs_path = path,
            .template_path = path,
            .kernel_fd = -1,
            .initramfs_fd = -1,
            .template_fd = -1};
        struct err err = ERR_INIT;

        if (files[i].open(&plan, &err) < 0)
            report_add(report, REPORT_FAIL, files[i].subject, NULL, "%s", err.text);
        else
            report_add(report, REPORT_PASS, files[i].subject, NULL, "%s", path);
        fd_close(&plan.kernel_fd);
        fd_close(&plan.initramfs_fd);
        fd_close(&plan.template_fd);
    }
}

static const char *const grade_names[] = {"PASS", "CAUTION", "FAIL"};

static void print_lines(const struct report *report, FILE *out)
{
    for (size_t i = 0; i < report->count; i++) {
        const struct report_line *line = &report->lines[i];

        fprintf(out, "%-7s  %s: %s%s%s\n", grade_names[line->grade], line->subject, line->text,
            line->remedy ? "; " : "", line->remedy ? line->remedy : "");
    }
}

static int print_json(const struct report *report, bool works, FILE *out)
{
    json_t *root, *list;

    json_memory_use();
    json_memory_begin();
    root = json_object();
    list = json_array();
    for (size_t i = 0; i < report->count; i++) {
        const struct report_line *line = &report->lines[i];
        json_t *entry = json_object();

        put_text(entry, "grade", grade_names[line->grade]);
        put_text(entry, "subject", line->subject);
        put_text(entry, "text", line->text); /* may name a path, which need not be UTF-8 */
        put_text(entry, "remedy", line->remedy);
        json_array_append_new(list, entry);
    }
    json_object_set_new(root, "schema", json_string("vmrun.doctor/1"));
    json_object_set_new(root, "works", json_boolean(works));
    json_object_set_new(root, "checks", list);
    if (!json_memory_failed()) {
        json_dumpf(root, out, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
        fputc('\n', out);
    }
    json_decref(root);
    return json_memory_failed() ? -1 : 0;
}

int doctor_run(bool json, bool quiet, FILE *out, struct text_list *errors)
{
    static struct report the_report; /* too large for a small stack */
    struct report *report = &the_report;
    AUTO_FREE char *directory = plan_programs_directory();
    AUTO_FD int programs_fd = directory ? open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    bool works = true;

    if (!directory) {
        errors->failed = true;
        return 1;
    }
    report->count = 0;
    check_kvm(report, programs_fd);
    check_programs(report, directory, programs_fd);
    check_guest_files(report, directory);
    doctor_check_host(report);
    for (size_t i = 0; i < report->count; i++)
        works = works && report->lines[i].grade != REPORT_FAIL;
    if (json && print_json(report, works, out) < 0)
        errors->failed = true;
    else if (!json && !quiet)
        print_lines(report, out);
    return works && !errors->failed ? 0 : 1;
}
