"""The frames of a hatchet file, with sums over what is below each of them.

Needs: a file that `finalize` wrote, or Proton.
Gives: a tree of `ViewedFrame`s and the devices.
How:   a metric is inclusive, summed over the frames below, if the root of the file has it. Frames
       without metrics and children say nothing, and those of the launch hook's own work are its
       cost: both are left out.
"""

import json
import math
from dataclasses import dataclass, field

from .hooks.launch import COMPUTE_METADATA_SCOPE_NAME

INCLUSIVE = " (inc)"


@dataclass
class ViewedFrame:
    """A frame of the file.

    Attributes
    ----------
    name : str
    own : dict
        The metrics of the frame alone.
    values : dict
        By column: metrics of the frame alone, "name (inc)" with all below, derived ones.
    children : list of ViewedFrame
    """

    name: str
    own: dict
    children: list = field(default_factory=list)
    values: dict = field(default_factory=dict)

    def walk(self):
        """Return this frame and all below, in order."""
        return [self, *(frame for child in self.children for frame in child.walk())]

    def value(self, column):
        """Return a number, NaN if the frame has none."""
        return self.values.get(column, math.nan)


@dataclass
class ViewedProfile:
    """What a file holds.

    Attributes
    ----------
    root : ViewedFrame
    devices : dict
        {type: {number: facts}}
    inclusive, exclusive : list of str
        The metrics of each kind.
    """

    root: ViewedFrame
    devices: dict
    inclusive: list
    exclusive: list


def _frame_of(literal):
    """The frame of a literal, or None if it says nothing."""
    name = literal["frame"]["name"]
    children = literal.get("children", [])
    if name == COMPUTE_METADATA_SCOPE_NAME or not (literal["metrics"] or children):
        return None
    kept = [frame for frame in map(_frame_of, children) if frame is not None]
    if children and not kept and not literal["metrics"]:
        return None
    return ViewedFrame(name, dict(literal["metrics"]), kept)


def _sum_up(frame, inclusive):
    """Fill in `values`, from the leaves up."""
    for child in frame.children:
        _sum_up(child, inclusive)
    frame.values.update(frame.own)
    for name in inclusive:
        parts = [frame.own.get(name)] + [
            child.values.get(name + INCLUSIVE) for child in frame.children
        ]
        known = [part for part in parts if part is not None]
        if known:
            frame.values[name + INCLUSIVE] = sum(known)


def read(filename):
    """Return the ViewedProfile of a file.

    ValueError if the file is no hatchet file, or has no metrics.
    """
    with open(filename, encoding="utf-8") as file:
        try:
            content = json.load(file)
            literal, devices = content[0], content[1]
            inclusive = [*literal["metrics"]]
        except (ValueError, LookupError, TypeError) as error:
            raise ValueError(f"`{filename}` is no hatchet file: {error!r}") from None
    root = _frame_of(literal)
    if root is None:
        raise ValueError(f"`{filename}` has no metrics")
    named = {name for frame in root.walk() for name in frame.own}
    _sum_up(root, inclusive)
    return ViewedProfile(root, devices, inclusive, sorted(named - set(inclusive)))
