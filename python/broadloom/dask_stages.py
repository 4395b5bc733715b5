"""Kernels on arrays of dask that are several kernels, one after the other: one for each let that is
an array."""

from __future__ import annotations

import re

import numpy as np

from .dask_calls import Call, dtype_of
from .dask_whole import Halos, side_by_side
from .dask_windows import Sums, Windows
from .errors import ShapeError, SpecError


def comes_as_it_is(call: Call):
    """Whether each axis that is cut is one along which blocks give blocks, or are folded."""
    try:
        for name in call.chunks:
            if call.kernel._why_no_map(name) and not call.comes_apart(name):
                return False
        return True
    except ShapeError:  # a dim without a label, which only windows see
        return call.name_dims() and comes_as_it_is(call)


def staged(call: Call, folded):
    """The outputs, by one kernel after the other where lets are arrays. `folded` makes those of a
    call that comes apart as it is."""
    try:
        stages = call.kernel._stages()
    except SpecError:  # a loop over time
        if call.kernel.frozen:
            raise
        return Halos(call).arrays()
    values = {**dict(zip([said.name for said in call.inputs], call.args)), **call.kernel.frozen}
    orders = {}
    whole_of = {}
    if len(stages) > 1:
        names = [said.name for said in stages[0].inputs][:len(values)]
        lies = [(np.shape(values[name]), list(range(np.ndim(values[name])))) for name in names]
        lets, made_up = call.kernel._lets(lies), call.kernel._parts(lies)
        whole_of = {part: stages[n].outputs[0].name for n, parts in enumerate(made_up) for part, _ in parts}
    for n, stage in enumerate(stages):
        if n + 1 < len(stages) and made_up[n]:
            said = stage.outputs[0]
            values[said.name] = side_by_side([values[part] for part, _ in made_up[n]], [at for _, at in made_up[n]], tuple(lets[n][0]), dtype_of(said.dtype))
            continue
        inside = [said.name for said in stage.inputs if said.name in whole_of]
        if inside and re.search(r"= (fold|scan) ", stage.show("graph")):
            raise SpecError("E0060", f"kernel '{call.kernel.name}' cannot fold '{inside[0]}' block by block: it lies in '{whole_of[inside[0]]}', by which "
                            "sums go", None, "give what is folded to a let of its own")
        one = Call(stage, [], {said.name: values[said.name] for said in stage.inputs}, state=(call.state, n))
        one.leave_unread()
        as_it_is = len(stages) > 1 and comes_as_it_is(one)
        turned = [said.name for said in stage.inputs if said.name in orders]
        if as_it_is and turned and any(stage._why_no_map(axis) for axis in one.chunks):
            raise SpecError("E0060", f"kernel '{call.kernel.name}' cannot fold let '{turned[0]}' block by block: it lies with its dims in the order {orders[turned[0]]}, by "
                            "which sums go", None, "list the dims of the let in that order, the slowest first")
        made = None if turned else folded(one) if as_it_is else Sums(one).arrays()
        if made is None:
            made = Windows(one, orders).arrays()
        if n + 1 < len(stages):
            let = one.outputs[0].name
            values[let] = made[0]
            shape, order = lets[n]
            if tuple(shape) != made[0].shape:
                raise ShapeError("E0102", f"let '{let}' has the shape {tuple(shape)}, its blocks make up {made[0].shape}", None, "this is a mistake of ours")
            if order != sorted(order):
                orders[let] = order
    return made
