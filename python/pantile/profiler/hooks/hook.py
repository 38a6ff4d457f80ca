"""Hooks around launches, common to all sessions."""

from ... import knobs


class Hook:
    """What happens around each launch; subclasses override what they need.

    Attributes
    ----------
    priority : int
        Hooks of a higher one enter first and exit last.
    """

    priority = 0

    def init_handle(self, module, function, name, metadata_group, hash):
        """The code of a kernel was loaded.

        Parameters
        ----------
        module, function : int
            The driver's handles; None before they are made.
        name : str
            The kernel.
        metadata_group : dict of str to str
            Paths of the kernel's files.
        hash : str
            The key of the cache.
        """

    def enter(self, metadata):
        """A launch begins.

        Parameters
        ----------
        metadata : LazyDict
            The argument of launch hooks: the kernel's metadata, name and stream.
        """

    def exit(self, metadata):
        """A launch was made.

        Parameters
        ----------
        metadata : LazyDict
            The argument of launch hooks.
        """

    def activate(self):
        """The first session that uses this hook becomes active."""

    def deactivate(self):
        """The last session that uses this hook is no longer active."""


class HookManager:
    """Which hooks run, by the sessions that use them.

    Attributes
    ----------
    active_hooks : list of Hook
        Those that run, in their order.
    session_hooks : dict
        Of each session {hook: whether the session is active}.
    """

    active_hooks = []
    session_hooks = {}

    @staticmethod
    def init_handle(module, function, name, metadata_group, hash):
        """Call the hooks for loaded code.

        Parameters
        ----------
        module, function : int
            The driver's handles.
        name : str
            The kernel.
        metadata_group : dict of str to str
            Paths of the kernel's files.
        hash : str
            The key of the cache.
        """
        for hook in HookManager.active_hooks:
            hook.init_handle(module, function, name, metadata_group, hash)

    @staticmethod
    def enter(metadata):
        """Call the hooks for a launch that begins.

        Parameters
        ----------
        metadata : LazyDict
            The argument of launch hooks.
        """
        for hook in HookManager.active_hooks:
            hook.enter(metadata)

    @staticmethod
    def exit(metadata):
        """Call the hooks for a launch that was made.

        Parameters
        ----------
        metadata : LazyDict
            The argument of launch hooks.
        """
        for hook in reversed(HookManager.active_hooks):
            hook.exit(metadata)

    @staticmethod
    def _update():
        """Have those hooks run that an active session uses."""
        wanted = {
            hook: None
            for hooks in HookManager.session_hooks.values()
            for hook, is_active in hooks.items()
            if is_active
        }
        for hook in HookManager.active_hooks:
            if hook not in wanted:
                hook.deactivate()
        for hook in wanted:
            if hook not in HookManager.active_hooks:
                hook.activate()
        ordered = sorted(wanted, key=lambda hook: hook.priority, reverse=True)
        HookManager.active_hooks[:] = ordered
        runtime = knobs.runtime
        for chain, function in (
            (runtime.kernel_load_end_hook, HookManager.init_handle),
            (runtime.launch_enter_hook, HookManager.enter),
            (runtime.launch_exit_hook, HookManager.exit),
        ):
            (chain.add if ordered else chain.remove)(function)

    @staticmethod
    def _set(session, is_active):
        chosen = [*HookManager.session_hooks] if session is None else [session]
        for number in chosen:
            for hook in HookManager.session_hooks.get(number, {}):
                HookManager.session_hooks[number][hook] = is_active
        HookManager._update()

    @staticmethod
    def activate(session=None):
        """Run the hooks of a session, or of all.

        Parameters
        ----------
        session : int, optional
            The session; None: all.
        """
        HookManager._set(session, True)

    @staticmethod
    def deactivate(session=None):
        """Run the hooks of a session, or of all, no more.

        Parameters
        ----------
        session : int, optional
            The session; None: all.
        """
        HookManager._set(session, False)

    @staticmethod
    def register(hook, session):
        """Run `hook` while a session is active.

        Parameters
        ----------
        hook : Hook
            The hook.
        session : int
            The session.
        """
        HookManager.session_hooks.setdefault(session, {})[hook] = True
        HookManager._update()

    @staticmethod
    def unregister(session=None):
        """Forget the hooks of a session, or of all.

        Parameters
        ----------
        session : int, optional
            The session; None: all.
        """
        if session is None:
            HookManager.session_hooks.clear()
        else:
            HookManager.session_hooks.pop(session, None)
        HookManager._update()
