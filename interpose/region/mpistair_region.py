"""Regions with names, for mpistair, in Python: mpistair_region.h says what they are.

    from mpistair_region import region, set_phase, mark

    with region("solve"):
        ...

    @region("assemble")
    def assemble(): ...

    set_phase("write")      # ends the phase before; None: there is none any more
    mark("checkpoint")

Nothing has to be installed: copy this file, or add its folder to PYTHONPATH. Where libmpistair.so is not preloaded, nothing
happens.
"""
import ctypes
import functools


def _find(call):
    try:
        function = getattr(ctypes.CDLL(None), "mpistair_v1_region_" + call)
    except (AttributeError, OSError, TypeError):
        return lambda name: None
    function.argtypes, function.restype = [ctypes.c_char_p], None
    return function


_begin, _end, _set, _mark = (_find(call) for call in ("begin", "end", "set", "mark"))


def _text(name):
    return None if name is None else str(name).encode("utf-8", "replace")


class region:  # pylint: disable=invalid-name
    """A region that lasts as long as a block, or as each call of a function."""

    def __init__(self, name):
        self._name = _text(name)

    def __enter__(self):
        _begin(self._name)
        return self

    def __exit__(self, *exception):
        _end(self._name)
        return False

    def __call__(self, function):
        @functools.wraps(function)
        def within(*arguments, **named):
            with self:
                return function(*arguments, **named)
        return within


def set_phase(name):
    """Ends the phase that was set before, and begins another one; None: none."""
    _set(_text(name))


def mark(name):
    """Notes a moment."""
    _mark(_text(name))
