# SPDX-License-Identifier: Apache-2.0
"""Run by the image's own Python: compiles every module below a folder of the tree.

    compile_tree.py ROOT FOLDER EPOCH JOBS

Byte code depends on what the compiling process did before (marshal writes down which objects are
shared). So each file is compiled in a fresh copy of one and the same process, and the result is the
same whatever the order, the number of jobs and the place of the tree. The byte code carries its
source's date and size, not a hash: Python looks at the date anyway, and a task that changes a
module in an overlay gets what it wrote.
"""

import importlib.util
import os
import py_compile
import sys
import traceback

COMPILED, REFUSED, BROKEN = 0, 1, 2


def main():
    root, folder, epoch, jobs = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    sources = sorted(
        os.path.join(parent, name)
        for parent, _, names in os.walk(folder) for name in names if name.endswith(".py"))
    running = 0
    refused = 0
    for source in sources:
        if running == jobs:
            refused += wait_one()
            running -= 1
        if os.fork() == 0:
            compile_and_exit(root, source, epoch)
        running += 1
    refused += sum(wait_one() for _ in range(running))
    print(f"{folder}: {len(sources)} modules, {refused} not compiled")


def compile_and_exit(root, source, epoch):
    code = BROKEN
    try:
        code = compile_one(root, source, epoch)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)


def compile_one(root, source, epoch):
    text = source
    if os.path.islink(source):
        target = os.readlink(source)
        # In the guest an absolute link starts at the tree's root, not at this machine's.
        text = root + target if target.startswith("/") else \
            os.path.join(os.path.dirname(source), target)
        if os.path.islink(text):
            print(f"{source}: a link to a link")
            return REFUSED
    os.utime(text, (epoch, epoch))
    try:
        py_compile.compile(text, cfile=importlib.util.cache_from_source(source),
                           dfile=source[len(root):], doraise=True,
                           invalidation_mode=py_compile.PycInvalidationMode.TIMESTAMP)
    except py_compile.PyCompileError as error:
        # Some packages ship templates and samples of wrong code under names that end in .py.
        print(f"{source}: {error.exc_type_name}")
        return REFUSED
    return COMPILED


def wait_one():
    _, status = os.wait()
    code = os.waitstatus_to_exitcode(status)
    if code not in (COMPILED, REFUSED):
        sys.exit(f"a compiling process ended with {code}")
    return code


main()
