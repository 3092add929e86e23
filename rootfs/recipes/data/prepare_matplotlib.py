# SPDX-License-Identifier: Apache-2.0
"""Lets matplotlib start fast and silently in a fresh guest. Run by the image's own Python.

Left alone, matplotlib makes folders in the home folder, warns when it cannot, and searches all
fonts at its first import, which in a guest is every import. So an image has a ready folder with
the list of fonts, and matplotlib is told to use it as long as the user has no folder of his own:
MPLCONFIGDIR, ~/.config/matplotlib and ~/.cache/matplotlib work as ever.
"""

import os
import sys
import tempfile
from pathlib import Path

READY = "/usr/share/matplotlib/ready"
MODULES = "usr/lib/python3/dist-packages"

OWN_FOLDER = '''\
        configdir = Path(xdg_base_getter(), "matplotlib")
    else:
'''
OWN_FOLDER_OR_READY = f'''\
        try:
            configdir = Path(xdg_base_getter(), "matplotlib")
        except RuntimeError:  # no HOME, and the user is not in /etc/passwd
            return "{READY}"
        if not configdir.is_dir():
            return "{READY}"
    else:
'''
OWN_LIST = '''\
            fm = json_load(fm_path)
'''
OWN_LIST_OR_READY = f'''\
            fm = json_load(fm_path if fm_path.exists()
                           else Path("{READY}", fm_path.name))
'''


def main():
    root = Path(sys.argv[1])
    package = root / MODULES / "matplotlib"
    change(package / "__init__.py", OWN_FOLDER, OWN_FOLDER_OR_READY)
    change(package / "font_manager.py", OWN_LIST, OWN_LIST_OR_READY)
    ready = Path(f"{root}{READY}")
    ready.mkdir()
    # matplotlib looks for its data here first; so it finds the tree's, not this machine's.
    data = package / "mpl-data"
    data.symlink_to(root / "usr/share/matplotlib/mpl-data")
    try:
        write_font_list(root, ready)
    finally:
        data.unlink()


def change(path, old, new):
    text = path.read_text(encoding="utf-8")
    if text.count(old) != 1:
        sys.exit(f"{path}: this version of matplotlib looks different; adapt {__file__}")
    path.write_text(text.replace(old, new), encoding="utf-8")


def write_font_list(root, ready):
    sys.path.insert(0, str(root / MODULES))
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["MPLCONFIGDIR"] = scratch
        os.environ["MATPLOTLIBRC"] = str(root / "etc/matplotlibrc")
        from matplotlib import font_manager
        font_manager.X11FontDirectories[:] = []     # these are the building machine's
        fonts = font_manager.FontManager()
        # They come in the order of a set and of folders on a disk.
        fonts.ttflist.sort(key=lambda entry: entry.fname)
        fonts.afmlist.sort(key=lambda entry: entry.fname)
        target = ready / f"fontlist-v{fonts.__version__}.json"
        font_manager.json_dump(fonts, target)
    text = target.read_text(encoding="utf-8")
    if str(root) in text or '"DejaVu Sans"' not in text:
        sys.exit(f"{target}: a font outside of matplotlib's own, or no font at all")
    print(f"{len(fonts.ttflist)} TrueType and {len(fonts.afmlist)} Type 1 fonts listed")


main()
