"""Packs a folder as a wheel: FOLDER WHEEL TIME."""

import base64
import hashlib
import pathlib
import sys
import time
import zipfile

folder, wheel, seconds = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
files = sorted(path for path in folder.rglob("*") if path.is_file())
record = ""
with zipfile.ZipFile(wheel, "w") as archive:

    def add(name, data, mode):
        entry = zipfile.ZipInfo(name, time.gmtime(seconds)[:6])
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = (0o100000 | mode) << 16
        archive.writestr(entry, data, compresslevel=9)

    # The list of files comes last, as the format asks.
    files.sort(key=lambda path: ".dist-info" in str(path))
    for path in files:
        name, data = path.relative_to(folder).as_posix(), path.read_bytes()
        add(name, data, path.stat().st_mode & 0o777)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(data)}\n"
        if name.endswith("/METADATA"):
            info = name.removesuffix("METADATA")
    add(f"{info}RECORD", f"{record}{info}RECORD,,\n".encode(), 0o644)
