"""Fast direct Poisson and Helmholtz solvers for petsc4py.

Importing this package registers the types "bcrpoisson" and "neato" of PC and KSP with the PETSc of petsc4py, so that
`pc.setType("bcrpoisson")` and `-pc_type bcrpoisson` find them. Programs that take options call
`petsc4py.init(sys.argv)` first, as ever. The functions here are for what options cannot say:

    set_operator, get_operator   the operator of a PC, without a matrix
    Lines                        tridiagonal systems on all grid lines of one axis of a DMDA
    compact_derivative           a matrix whose product is a derivative by compact finite differences
    recurrence                   w_i = s_i w_{i-1} + t_i
    view, facts                  what a solver says about itself, as text and as a dictionary

Arrays are those of the calling process: a field on a DMDA has the shape (nx, ny, nz), with the number of components
last if there are several, and nx, ny, nz the process's own nodes. What the library refuses raises
`petsc4py.PETSc.Error`, with its error code as `ierr`.
"""

from __future__ import annotations

import ctypes
import os
import pathlib
import tempfile
from typing import Callable, Mapping, NamedTuple, Sequence, TypeVar, Union

import numpy
from numpy.typing import ArrayLike
from petsc4py import PETSc

__all__ = [
    "Lines",
    "Operator",
    "compact_derivative",
    "facts",
    "get_operator",
    "library",
    "recurrence",
    "set_operator",
    "view",
]

Field = TypeVar("Field", PETSc.Vec, numpy.ndarray)
Row = Sequence[float]  # (low, diagonal, up): low u_{j-1} + diagonal u_j + up u_{j+1} = f_j

_Int = {4: ctypes.c_int32, 8: ctypes.c_int64}[numpy.dtype(PETSc.IntType).itemsize]
_Real = {4: ctypes.c_float, 8: ctypes.c_double}[numpy.dtype(PETSc.RealType).itemsize]
_is_complex = numpy.dtype(PETSc.ScalarType).kind == "c"


class _Complex(ctypes.Structure):
    """A complex number: what passes two reals in a structure passes it in the same way on x86-64 and 64-bit Arm."""

    _fields_ = [("real", _Real), ("imag", _Real)]


class _Place(ctypes.Structure):
    """Dl_info of dladdr()"""

    _fields_ = [("file", ctypes.c_char_p), ("base", ctypes.c_void_p), ("name", ctypes.c_char_p), ("at", ctypes.c_void_p)]


def _loaded() -> str | None:
    """The path of the library that PETSc has loaded, by itself or for -dll_append: a process is to have one alone"""
    everything = ctypes.CDLL(None)
    if not hasattr(everything, "PetscBCRInitializePackage"):
        return None
    place = _Place()
    everything.dladdr(ctypes.cast(everything.PetscBCRInitializePackage, ctypes.c_void_p), ctypes.byref(place))
    return place.file.decode()


def _load() -> tuple[ctypes.CDLL, str]:
    """The library that PETSc has, else the one that PETSCBCR_LIBRARY names, else that beside this file; and its path"""
    beside = pathlib.Path(__file__).with_name("libpetscbcr.so")
    path = _loaded() or os.environ.get("PETSCBCR_LIBRARY") or str(beside)
    try:
        loaded = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"petscbcr: {path} cannot be loaded: {error}") from error
    # looked up in the PETSc that the library was linked with
    initialized = ctypes.c_int(0)
    if loaded.PetscInitialized(ctypes.byref(initialized)) or not initialized.value:
        raise ImportError(
            f"petscbcr: {path} was built with another PETSc than petsc4py: build it with that one, by "
            "pip install --no-cache-dir --force-reinstall, PETSC_DIR and PETSC_ARCH being its own"
        )
    return loaded, path


def _call(name: str, *args: object) -> None:
    """Calls a function of the library, with arguments that have C types; raises PETSc's error if it fails"""
    code = getattr(_library, name)(*args)
    if code:
        raise PETSc.Error(code)


def _handle(thing: PETSc.Object | None, kind: type) -> ctypes.c_void_p:
    """The C pointer of an object of petsc4py, which has to be of this kind"""
    if thing is None:
        return ctypes.c_void_p(None)
    if not isinstance(thing, kind):
        raise TypeError(f"a {kind.__name__} of petsc4py is wanted, not {type(thing).__name__}")
    return ctypes.c_void_p(thing.handle)


def _reals(values: ArrayLike) -> ctypes.Array:
    flat = numpy.asarray(values, dtype=float).ravel()
    return (_Real * max(1, flat.size))(*flat)


def _scalar(value: complex) -> ctypes.Structure | ctypes._SimpleCData:
    if not _is_complex:
        return _Real(value)
    return _Complex(complex(value).real, complex(value).imag)


def _scalars(values: ArrayLike) -> numpy.ndarray:
    """A copy in the type of PETSc's scalars; a TypeError for complex numbers where these are real"""
    return numpy.asarray(values).astype(PETSc.ScalarType, casting="same_kind")


def _words(table: str) -> list[str]:
    """The words of an enumeration of the library; after them it has the names of the enumeration and of its prefix"""
    words: list[str] = []
    entry = ctypes.pointer(ctypes.c_char_p.in_dll(_library, table))
    while entry[len(words)] is not None:
        words.append(entry[len(words)].decode())
    return words[:-2]


def _enum(table: str, word: str) -> ctypes.c_int:
    words = _words(table)
    if word not in words:
        raise ValueError(f"{word!r} is none of {', '.join(words)}")
    return ctypes.c_int(words.index(word))


def _axis(axis: int | str) -> ctypes.c_int:
    """DMDirection from 0, 1, 2 or "x", "y", "z"; the library knows which of them a DMDA has"""
    if isinstance(axis, str):
        if axis not in ("x", "y", "z"):
            raise ValueError(f"axis {axis!r} is none of x, y, z")
        axis = "xyz".index(axis)
    return ctypes.c_int(axis)


# --- operator ---------------------------------------------------------------------------------------------------------


class Operator(NamedTuple):
    """scale (T_x + T_y + T_z + shift) with T_d of rows (-1, 2, -1) / h_d^2 and ends by name; see `set_operator`"""

    spacing: tuple[float, ...]
    ends: tuple[tuple[str, str], ...]
    shift: float
    scale: float


def _poisson(pc: PETSc.PC) -> ctypes.c_void_p:
    handle = _handle(pc, PETSc.PC)
    if pc.getType() != "bcrpoisson":
        raise ValueError(f"the type of the PC is {pc.getType()}: call pc.setType('bcrpoisson') first")
    return handle


def set_operator(
    pc: PETSc.PC,
    spacing: ArrayLike,
    ends: str | Sequence[Union[str, tuple[str, str]]] | None = None,
    shift: float = 0.0,
    scale: float = 1.0,
) -> None:
    """Says which operator a PC of type "bcrpoisson" solves, in place of reading it from the matrix.

    spacing  distance between unknowns along each axis, in the unit of length of the problem
    ends     one name for all ends, or for each axis one name or the pair of its low and high end, each of
             "dirichlet", "neumann", "cell_neumann", "cell_dirichlet", "periodic"; None: periodic along the axes
             that are so in the DMDA, "dirichlet" at all others
    shift    in 1/length^2; scale: a factor on everything, not zero

    The PC has to have the DMDA, by `ksp.setDM()` or `pc.setDM()`. See PCBCRPoissonSetOperator().
    """
    handle = _poisson(pc)
    sizes = numpy.atleast_1d(numpy.asarray(spacing, dtype=float))
    c_ends = None
    if ends is not None:
        each = [ends] * sizes.size if isinstance(ends, str) else list(ends)
        pairs = [(end, end) if isinstance(end, str) else tuple(end) for end in each]
        if len(pairs) != sizes.size or any(len(pair) != 2 for pair in pairs):
            raise ValueError(f"ends for {sizes.size} axes are wanted, each a name or a pair of names, not {ends!r}")
        c_ends = (ctypes.c_int * (2 * sizes.size))(*(_enum("PCBCRPoissonEnds", e).value for p in pairs for e in p))
    _call("PCBCRPoissonSetOperator", handle, _Int(sizes.size), _reals(sizes), c_ends, _Real(shift), _Real(scale))


def get_operator(pc: PETSc.PC) -> Operator | None:
    """What `set_operator` or the options said, or None if they said nothing"""
    handle = _poisson(pc)
    dim, spacing, ends, shift, scale = _Int(0), (_Real * 3)(), (ctypes.c_int * 6)(), _Real(0), _Real(0)
    _call("PCBCRPoissonGetOperator", handle, ctypes.byref(dim), spacing, ends, ctypes.byref(shift), ctypes.byref(scale))
    if dim.value == 0:
        return None
    words = _words("PCBCRPoissonEnds")
    pairs = tuple((words[ends[2 * d]], words[ends[2 * d + 1]]) for d in range(dim.value))
    return Operator(tuple(spacing[: dim.value]), pairs, shift.value, scale.value)


# --- lines ------------------------------------------------------------------------------------------------------------


def _local_shape(da: PETSc.DMDA) -> tuple[int, ...]:
    """Shape of a field on this process: (nx, ny, nz), and the number of components where there are several"""
    shape = tuple(high - low for low, high in da.getRanges())
    return shape if da.getDof() == 1 else (*shape, da.getDof())


def _to_vec(da: PETSc.DMDA, field: numpy.ndarray) -> PETSc.Vec:
    shape = _local_shape(da)
    if field.shape != shape:
        raise ValueError(f"an array of the shape {shape} is wanted on this process, not {field.shape}")
    vec = da.createGlobalVec()
    if da.getDof() > 1:
        field = numpy.moveaxis(field, -1, 0)  # components are neighbours in memory
    vec.setArray(_scalars(field.ravel(order="F")))
    return vec


def _to_array(da: PETSc.DMDA, vec: PETSc.Vec) -> numpy.ndarray:
    shape = tuple(high - low for low, high in da.getRanges())
    field = vec.getArray(readonly=True).copy().reshape((da.getDof(), *shape), order="F")
    return field[0] if da.getDof() == 1 else numpy.moveaxis(field, 0, -1)


class Lines:
    """Tridiagonal systems with the same constant coefficients on all grid lines of one axis of a DMDA.

    da, axis     the grid; "x", "y", "z" or 0, 1, 2
    row          (low, diagonal, up): low u_{j-1} + diagonal u_j + up u_{j+1} = f_j
    first, last  up to three rows each that differ at the ends, the last row last; of a periodic axis no row has to
    method       "auto", "scan", "cr", "pscheme", "dc", "thomas"
    coupling     between processes: "auto", "neighbour", "reduced"
    precision    "double", "single", "mixed"

    See PetscBCRLinesCreate(). The systems are freed by `destroy()`, or at the end of a `with` block.
    """

    def __init__(
        self,
        da: PETSc.DMDA,
        axis: int | str,
        row: Row,
        first: Sequence[Row] = (),
        last: Sequence[Row] = (),
        method: str = "auto",
        coupling: str = "auto",
        precision: str = "double",
    ) -> None:
        self._lines = ctypes.c_void_p(None)
        self._da = da
        for rows in ([row], first, last):
            if any(len(r) != 3 for r in rows):
                raise ValueError(f"rows are (low, diagonal, up), not {rows!r}")
        settings = [
            ("Method", _enum("PCNeatoMethods", method)),
            ("Coupling", _enum("PCNeatoCouplings", coupling)),
            ("Precision", _enum("PCNeatoPrecisions", precision)),
        ]
        ends = [_Int(len(first)), _reals(first), _reals(row), _Int(len(last)), _reals(last)]
        _call("PetscBCRLinesCreate", _handle(da, PETSc.DMDA), _axis(axis), *ends, ctypes.byref(self._lines))
        for name, value in settings:
            _call("PetscBCRLinesSet" + name, self._lines, value)

    def solve(self, f: Field, u: Field | None = None) -> Field:
        """Solutions u of all lines for the right-hand sides f, global vectors of the DMDA or arrays of this process.

        Collective. Without u a new one is returned; u may be f.
        """
        vec_f = _to_vec(self._da, f) if isinstance(f, numpy.ndarray) else f
        vec_u = vec_f.duplicate() if u is None or isinstance(u, numpy.ndarray) else u
        _call("PetscBCRLinesSolve", self._lines, _handle(vec_f, PETSc.Vec), _handle(vec_u, PETSc.Vec))
        if vec_f is f:
            return vec_u
        if u is None:
            return _to_array(self._da, vec_u)
        u[...] = _to_array(self._da, vec_u)
        return u

    def view(self) -> str:
        """What the lines are and, once they have been solved, how; see `view`"""

        def write(viewer: PETSc.Viewer) -> None:
            _call("PetscBCRLinesView", self._lines, _handle(viewer, PETSc.Viewer))

        return _text(self._da.getComm(), write)

    def destroy(self) -> None:
        """Frees the systems. Collective"""
        _call("PetscBCRLinesDestroy", ctypes.byref(self._lines))

    def __enter__(self) -> "Lines":
        return self

    def __exit__(self, *exception: object) -> None:
        self.destroy()


# --- derivatives and recurrences --------------------------------------------------------------------------------------


def _own_mat(mat: ctypes.c_void_p) -> PETSc.Mat:
    """The Mat of petsc4py for a matrix that the library has made; it has the only reference to it"""
    capsule = PETSc.__pyx_capi__["PyPetscMat_New"]
    get_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
    get_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    wrap = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)(get_pointer(capsule, get_name(capsule)))
    made = wrap(mat)
    _call("MatDestroy", ctypes.byref(mat))
    return made


def compact_derivative(
    da: PETSc.DMDA,
    axis: int | str,
    spacing: float,
    scheme: str = "lele6",
    derivative: int = 1,
    closure: int | None = None,
) -> PETSc.Mat:
    """A matrix whose product is the first or second derivative along an axis by compact finite differences.

    spacing  distance between neighbouring points
    scheme   "pade4", "lele6", "spectral"
    closure  order of the rows at the ends of an axis that is not periodic, 3 to 6; None: the scheme's

    `mat.mult()` and `mat.multTranspose()` take global vectors of the DMDA. See MatCreateCompactDerivative().
    """
    mat = ctypes.c_void_p(None)
    kind = _enum("MatCompactSchemes", scheme)
    made = [_handle(da, PETSc.DMDA), _axis(axis), kind, _Int(derivative), _Real(spacing), ctypes.byref(mat)]
    _call("MatCreateCompactDerivative", *made)
    owned = _own_mat(mat)
    if closure is not None:
        _call("MatCompactDerivativeSetClosure", _handle(owned, PETSc.Mat), _Int(closure))
    return owned


def recurrence(s: Field | complex, t: Field, initial: complex = 0.0, w: Field | None = None) -> Field:
    """The solution w of w_i = s_i w_{i-1} + t_i, with w_{-1} = initial.

    s and t are vectors of the same layout, i counting over all processes, or arrays of one dimension, for each
    process a recurrence of its own; a number as s is the coefficient everywhere. Without w a new one is returned;
    w may be s or t. See PetscBCRRecurrenceSolve().
    """
    constant = not isinstance(s, PETSc.Vec) and numpy.ndim(s) == 0
    if isinstance(t, PETSc.Vec):
        vec_t, vec_s = t, None if constant else s
        vec_w = w if w is not None else t.duplicate()
    else:
        arrays = [_scalars(a) for a in ((t,) if constant else (t, s))]
        if any(a.ndim != 1 for a in arrays):
            raise ValueError("arrays of one dimension are wanted")
        vecs = [PETSc.Vec().createWithArray(a, comm=PETSc.COMM_SELF) for a in arrays]
        vec_t, vec_s = vecs[0], None if constant else vecs[1]
        vec_w = vec_t.duplicate()
    handles = [_handle(vec, PETSc.Vec) for vec in (vec_s, vec_t, vec_w)]
    scale = _scalar(s if constant else 0.0)
    _call("PetscBCRRecurrenceSolve", handles[0], scale, handles[1], _scalar(initial), handles[2])
    if isinstance(t, PETSc.Vec):
        return vec_w
    if w is None:
        return vec_w.getArray(readonly=True).copy()
    w[...] = vec_w.getArray(readonly=True)
    return w


# --- view -------------------------------------------------------------------------------------------------------------


def _text(comm: PETSc.Comm, write: Callable[[PETSc.Viewer], object]) -> str:
    """What write(viewer) writes into an ASCII viewer of this communicator, on all of its processes"""
    data = b""
    with tempfile.TemporaryDirectory() as folder:  # one for each process; that of the first one is written to
        path = pathlib.Path(folder, "view")
        viewer = PETSc.Viewer().createASCII(str(path), "w", comm)
        write(viewer)
        viewer.destroy()
        if comm.getRank() == 0:
            data = path.read_bytes()
    # a vector with a number for each byte, all on the first process, that all others then get
    bytes_ = PETSc.Vec().createMPI((len(data), None), comm=comm)
    bytes_.setArray(numpy.frombuffer(data, dtype=numpy.uint8).astype(PETSc.ScalarType))
    scatter, everywhere = PETSc.Scatter.toAll(bytes_)
    scatter.scatter(bytes_, everywhere)
    return everywhere.getArray(readonly=True).real.astype(numpy.uint8).tobytes().decode()


def view(thing: PETSc.Object | Lines) -> str:
    """What a PC, KSP, Mat or `Lines` says about itself, the text of `-ksp_view`, on every process. Collective"""
    if isinstance(thing, Lines):
        return thing.view()
    return _text(thing.getComm(), thing.view)


def facts(thing: PETSc.Object | Lines | str) -> Mapping[str, str]:
    """The lines "name: what it is" of a view, or of its text, as a dictionary: facts(pc)["operator"]. Collective.

    Which names there are depends on the solver and its state; of a name that is there twice the first is kept.
    """
    found: dict[str, str] = {}
    for line in (thing if isinstance(thing, str) else view(thing)).splitlines():
        name, colon, rest = line.strip().partition(": ")
        if colon:
            found.setdefault(name, rest.strip())
    return found


_library, library = _load()  # library: the path, for -dll_append in other programs
_call("PetscBCRInitializePackage")
