"""Settings of the kernel cache and of caches for several machines: `knobs.cache` and `knobs.redis`."""

import os

from .settings import Flag, Group, Setting


def _triton_folder(name):
    return lambda group: os.path.join(group.home_dir, ".triton", name)


def _kernel_folder(_):
    from . import _pantile

    return _pantile.cache_directory()


class Cache(Group):
    """Where files are kept."""

    dir = Setting(
        "PANTILE_CACHE_DIR",
        "TRITON_CACHE_DIR",
        default=_kernel_folder,
        exported=True,
        shown="`~/.cache/pantile`",
        doc="folder of compiled kernels and measured times",
    )
    shared = Setting(
        "PANTILE_CACHE_SHARED",
        exported=True,
        doc="more such folders, with colons between them, which are only read",
    )
    size = Setting(
        "PANTILE_CACHE_SIZE",
        exported=True,
        shown="1G",
        doc="bound of the folder in bytes, or with K, M, G; what was longest unused goes",
    )
    lock_seconds = Setting(
        "PANTILE_CACHE_LOCK_SECONDS",
        parse=float,
        exported=True,
        shown="chosen by the library",
        doc="how long a process waits for another one that compiles the same kernel",
    )
    check = Flag(
        "PANTILE_CACHE_CHECK",
        exported=True,
        doc="compile on every hit too, and fail if the result is another one; for developers",
    )
    home_dir = Setting(
        "TRITON_HOME",
        default=lambda _: os.path.expanduser("~"),
        shown="the home folder",
        doc="where the folders below are",
    )
    dump_dir = Setting(
        "TRITON_DUMP_DIR",
        default=_triton_folder("dump"),
        shown="`.triton/dump`",
        doc="folder of `compilation.dump_ir`, and of dump managers",
    )
    override_dir = Setting(
        "TRITON_OVERRIDE_DIR",
        default=_triton_folder("override"),
        shown="`.triton/override`",
        doc="folder of override managers",
    )
    triton_layout = Flag(
        "PANTILE_TRITON_CACHE_LAYOUT",
        default=None,
        shown="for Inductor",
        doc="write kernels as files in the layout of Triton's cache too, with all stages as text",
    )
    triton_dir = Setting(
        "TRITON_CACHE_DIR",
        default=_triton_folder("cache"),
        exported="PANTILE_TRITON_CACHE_DIR",
        exports_default="triton_layout",
        shown="`.triton/cache`",
        doc="folder of these files, for `pantilec` `PANTILE_TRITON_CACHE_DIR`; what is there is a hit",
    )
    manager_class = Setting(
        "TRITON_CACHE_MANAGER", doc="class, as `module:name`, of `runtime.cache.get_cache_manager`"
    )
    remote_manager_class = Setting(
        "TRITON_REMOTE_CACHE_BACKEND", doc="class that `RemoteCacheManager` calls"
    )

    def get_triton_dir(self, dirname):
        return os.path.join(self.home_dir, ".triton", dirname)


class Redis(Group):
    """Where the shared cache of `RedisRemoteCacheBackend` is."""

    key_format = Setting(
        "TRITON_REDIS_KEY_FORMAT", default="triton:{key}:{filename}", doc="name of an entry"
    )
    host = Setting("TRITON_REDIS_HOST", default="localhost", doc="host of the server")
    port = Setting("TRITON_REDIS_PORT", default=6379, parse=int, doc="port of the server")
