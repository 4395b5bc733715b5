"""Arrays of other packages: pandas, xarray, dask, and lists, as kernels and lazy arrays take them.

Problem: names of dims and coordinates are lost where only the elements are passed.
Method: a call that is refused for the class of an argument comes here. Dims of xarray's arrays that
are called as the labels of an input are brought into their order; others take the labels by
position. Outputs get back the dims of their labels, and the coordinates along them.
"""

from __future__ import annotations

import numpy as np

from .errors import ShapeError
from .expr import caller
from .numpy_calls import asked


def kind_of(x) -> str:
    """The package that an array is of, "list" for lists and tuples, or ""."""
    package = type(x).__module__.partition(".")[0]
    if package in ("pandas", "xarray", "dask"):
        return package if hasattr(x, "dtypes" if package == "pandas" and x.ndim == 2 else "dtype") and hasattr(x, "shape") else ""
    return "list" if type(x) in (list, tuple) else ""


def elements(x):
    """The elements of such an array, as an array of NumPy's or of dask's; None for what is none."""
    kind = kind_of(x)
    if kind == "pandas":
        return x.to_numpy()
    if kind == "xarray":
        return x.data
    return asked(np.asarray, x) if kind == "list" else x.compute() if kind == "dask" else None


def call(kernel, args, options):
    """The call of a kernel, some of whose arguments are of other packages; NotImplemented where
    none is."""
    names = [one.name for one in kernel.inputs]
    given = {**dict(zip(names, args)), **options}
    if len(args) > len(names) or not any([kind_of(given[name]) for name in names if name in given]) or not options.keys().isdisjoint(names[: len(args)]):
        return NotImplemented
    axes = {}  # by label: the name of the dim and its coordinates
    plain = {name: _plain(one, given[name], axes) for one in kernel.inputs if (name := one.name) in given}
    rest = {name: value for name, value in options.items() if name not in plain}
    if any(kind_of(x) == "dask" for x in plain.values()):
        from .dask import apply

        made = apply(kernel, **plain, **rest)
    else:
        made = kernel(**plain, **rest)
    kinds = {kind_of(given[name]) for name in plain}
    package = "xarray" if "xarray" in kinds else "pandas" if "pandas" in kinds else ""
    if not package or "out" in rest:
        return made
    if len(kernel.outputs) == 1:
        return _labelled(package, kernel.outputs[0], made, axes)
    from ._core import Results

    return Results(tuple([out.name for out in kernel.outputs]), tuple([_labelled(package, out, one, axes) for out, one in zip(kernel.outputs, made)]))


def said(declared) -> str:
    from .telling import declared as word_of

    return word_of(declared)


def _plain(declared, x, axes: dict):
    """The elements of an argument, whose dims and coordinates are noted under the labels of the
    input."""
    kind, labels = kind_of(x), declared.axes
    if kind in ("", "dask"):
        return x
    if kind == "list":
        made = asked(np.asarray, x)
        wanted = np.dtype(_NUMPY.get(declared.dtype, made.dtype))
        return made.astype(wanted) if np.can_cast(made.dtype, wanted, "same_kind") and made.dtype.kind != "O" else made
    if x.ndim != len(labels):
        raise ShapeError("E0101", f"input '{declared.name}' has {len(labels)} dim{'s' * (len(labels) != 1)}, and this {type(x).__name__} has {x.ndim}", caller(),
                         f"it is declared as {declared.name} : {said(declared)}" + "; k(**table) passes the columns by their names" * (kind == "pandas" and x.ndim == 2))
    if kind == "xarray" and set(x.dims) == set(labels):
        x = x.transpose(*labels)
    for d, label in enumerate(labels):
        dim = x.dims[d] if kind == "xarray" else label
        coords = {"": x.axes[d]} if kind == "pandas" and hasattr(x, "axes") else {} if kind == "pandas" else {name: c.variable for name, c in x.coords.items() if c.dims == (dim,)}
        known_dim, known = axes.setdefault(label, (dim, {}))
        if known_dim != dim or not all(known[name].equals(c) for name, c in coords.items() if name in known):
            raise ShapeError("E0102", f"axis '{label}' is '{known_dim}' of one argument and '{dim}' of another" if known_dim != dim else
                             f"the coordinates along '{dim}' differ", caller(), "align them first: xarray.align(x, y), x.align(y)")
        known.update(coords)
    return elements(x)


def _labelled(package: str, out, made, axes: dict):
    known = [axes.get(label, (label, {})) for label in out.axes]
    if package == "xarray":
        import xarray

        coords = {name: c for _, of in known for name, c in of.items() if name}
        return xarray.DataArray(made, coords, [dim for dim, _ in known], name=out.name)
    import pandas

    along = [of.get("") for _, of in known]
    return made if not 0 < len(known) < 3 else pandas.Series(made, along[0], name=out.name) if len(known) == 1 else pandas.DataFrame(made, *along)


_NUMPY = {"bool": "?", "f16": "f2", "f32": "f4", "f64": "f8", "c64": "F", "c128": "D", **{f"{k}{8 * n}": f"{k}{n}" for k in "iu" for n in (1, 2, 4, 8)}}
