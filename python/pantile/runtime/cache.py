"""Triton's cache managers: files by key, for libraries that store their own files next to the kernels.

Our compiled kernels do not go through them: the compiler's library has a store of its own.
"""

import base64
import functools
import hashlib
import json
import os
import uuid

from .. import knobs
from ..release import __version__


class CacheManager:
    """Files under one key."""

    def __init__(self, key, override=False, dump=False):
        """Open the folder of `key`, for kernels, for overriding ones or for dumps."""

    def get_file(self, filename):
        """Return the path of a file, or None."""
        raise NotImplementedError

    def put(self, data, filename, binary=True):
        """Store a text or bytes as a file; return its path."""
        raise NotImplementedError

    def get_group(self, filename):
        """Return the paths of a group of files by name, or None."""
        raise NotImplementedError

    def put_group(self, filename, group):
        """Store which files belong together, paths by name."""
        raise NotImplementedError


class FileCacheManager(CacheManager):
    """Files in a folder of the cache. A file appears whole or not at all."""

    def __init__(self, key, override=False, dump=False):
        self.key, self.lock_path = key, None
        folder = knobs.cache.dir
        if dump:
            folder = knobs.cache.dump_dir
        elif override:
            folder = knobs.cache.override_dir
        self.cache_dir = os.path.join(folder, key)
        if not override:
            os.makedirs(self.cache_dir, exist_ok=True)
            self.lock_path = os.path.join(self.cache_dir, "lock")

    def _make_path(self, filename):
        return os.path.join(self.cache_dir, filename)

    def has_file(self, filename):
        """Return whether there is such a file."""
        return os.path.exists(self._make_path(filename))

    def get_file(self, filename):
        """Return the path of a file, or None."""
        return self._make_path(filename) if self.has_file(filename) else None

    def get_group(self, filename):
        """Return {name: path} of a group's files that are there, or None."""
        path = self.get_file(f"__grp__{filename}")
        if path is None:
            return None
        with open(path) as file:
            children = json.load(file).get("child_paths")
        if children is None:
            return None
        return {name: child for name, child in children.items() if os.path.exists(child)}

    def put_group(self, filename, group):
        """Write down which files belong together; return the path of the list."""
        return self.put(json.dumps({"child_paths": group}), f"__grp__{filename}", binary=False)

    def put(self, data, filename, binary=True):
        """Write a file and return its path; `data` that is no bytes is written as its text."""
        is_bytes = isinstance(data, bytes)
        path = self._make_path(filename)
        temporary = f"{path}.tmp.{os.getpid()}.{uuid.uuid4()}"
        with open(temporary, "wb") as file:
            file.write(data if is_bytes else str(data).encode())
        os.replace(temporary, path)
        return path


class RemoteCacheBackend:
    """A store of (file name, bytes) under a key, elsewhere."""

    def __init__(self, key):
        raise NotImplementedError

    def get(self, filenames):
        """Return bytes by file name, of those files that are there."""
        raise NotImplementedError

    def put(self, filename, data):
        """Store bytes as a file."""
        raise NotImplementedError


class RedisRemoteCacheBackend(RemoteCacheBackend):
    """A Redis server as that store; needs the package redis."""

    def __init__(self, key):
        import redis

        self._key, self._format = key, knobs.redis.key_format
        self._redis = redis.Redis(host=knobs.redis.host, port=knobs.redis.port)

    def _get_key(self, filename):
        return self._format.format(key=self._key, filename=filename)

    def get(self, filenames):
        found = self._redis.mget([self._get_key(name) for name in filenames])
        return {name: data for name, data in zip(filenames, found) if data is not None}

    def put(self, filename, data):
        self._redis.set(self._get_key(filename), data)


class RemoteCacheManager(CacheManager):
    """Files of a remote store, with a local copy of what was fetched."""

    def __init__(self, key, override=False, dump=False):
        self._local = FileCacheManager(key, override=override, dump=dump)
        self._remote = (
            None if override or dump else _class_of(knobs.cache.remote_manager_class)(key)
        )

    def get_file(self, filename):
        if self._remote is None:
            return self._local.get_file(filename)
        found = self._remote.get([filename]).get(filename)
        return None if found is None else self._local.put(found, filename)

    def put(self, data, filename, binary=True):
        path = self._local.put(data, filename, binary=binary)
        if self._remote is not None:
            with open(path, "rb") as file:
                self._remote.put(filename, file.read())
        return path

    def get_group(self, filename):
        if self._remote is None:
            return self._local.get_group(filename)
        path = self.get_file(f"__grp__{filename}")
        if path is None:
            return None
        with open(path) as file:
            names = json.load(file)["child_paths"]
        return {name: self.get_file(name) for name in names}

    def put_group(self, filename, group):
        if self._remote is None:
            return self._local.put_group(filename, group)
        text = json.dumps({"child_paths": sorted(group)})
        return self.put(text, f"__grp__{filename}", binary=False)


def _class_of(place):
    """The class that "module:name" says."""
    import importlib

    if not isinstance(place, str):
        return place
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


def _base32(key):
    # Keys are hexadecimal; folders are named in base 32, as Triton's.
    return base64.b32encode(bytes.fromhex(key)).decode().rstrip("=")


def default_cache_dir():
    """Return the folder that Triton would use by default."""
    return knobs.cache.get_triton_dir("cache")


def default_override_dir():
    """Return the folder of files that stand in for compiled ones."""
    return knobs.cache.get_triton_dir("override")


def default_dump_dir():
    """Return the folder of dumps."""
    return knobs.cache.get_triton_dir("dump")


def get_cache_manager(key):
    """Return the manager for a key in hexadecimal; TRITON_CACHE_MANAGER names another class."""
    made = _class_of(knobs.cache.manager_class) if knobs.cache.manager_class else FileCacheManager
    return made(_base32(key))


def get_override_manager(key):
    """Return the manager of files that stand in for compiled ones."""
    return FileCacheManager(_base32(key), override=True)


def get_dump_manager(key):
    """Return the manager of dumps."""
    return FileCacheManager(_base32(key), dump=True)


def make_so_cache_key(version_hash, signature, constants, ids, **kwargs):
    """Return a digest of what a launcher would be built from."""
    types = {name: "ptr" if kind[0] == "*" else kind for name, kind in signature.items()}
    text = f"{version_hash}-{''.join(types.values())}-{constants}-{ids}"
    text += "".join(f"-{kwargs[name]}" for name in sorted(kwargs))
    return hashlib.sha256(text.encode()).hexdigest()


@functools.cache
def compiler_version():
    """Return the versions of library, LLVM and assembler, with the library's build id."""
    from .. import _pantile

    knobs.export()  # which assembler is in use
    return _pantile.version_text()


def triton_key():
    """Return a text that differs where this package compiles differently.

    It has the version, the build id of the compiler's library, LLVM's version and the assembler's,
    and is the same in all processes that compile with them.
    """
    return f"{__version__}-{compiler_version()}"


def get_cache_invalidating_env_vars():
    """Return the settings that change what is compiled."""
    named = {"DISABLE_MMA_V3": None, "TRITON_F32_DEFAULT": None, "PANTILE_DISABLE_LINE_INFO": None}
    return {name: os.environ[name] for name in named if name in os.environ}


def get_cache_key(src, backend, backend_options, env_vars):
    """Return a text of all that a compiled kernel hangs on."""
    parts = (triton_key(), src.hash(), backend.hash(), backend_options.hash())
    return f"{'-'.join(parts)}-{sorted(env_vars.items())}"
