"""Linear layouts: maps between named dimensions that are linear over bits.

A basis gives the place of each power of two of an input dimension; the place of any index is the
exclusive or of those of its bits.
"""

import math


def _bits(size):
    if size < 1 or size & (size - 1):
        raise ValueError(f"a dimension of a linear layout has a power of two of places, not {size}")
    return size.bit_length() - 1


def _eliminate(columns):
    """Gauss's elimination over bits: {leading bit: (column, combination of the given columns)}."""
    pivots = {}
    for number, column in enumerate(columns):
        used = 1 << number
        while column and column.bit_length() in pivots:
            other, others = pivots[column.bit_length()]
            column, used = column ^ other, used ^ others
        if column:
            pivots[column.bit_length()] = (column, used)
    return pivots


class LinearLayout:
    """A map from named input dimensions to named output dimensions, linear over bits.

    Make one with `identity_1d`, `strided_1d`, `zeros_1d` or `from_bases`; `a * b` joins two, the
    dimensions of `b` outside of those of `a` with the same name.
    """

    def __init__(self):
        self._bases, self._outs = {}, {}

    @classmethod
    def _of(cls, bases, outs):
        self = cls()
        self._bases = {name: [list(basis) for basis in rows] for name, rows in bases.items()}
        self._outs = dict(outs)
        return self

    @staticmethod
    def identity_1d(size, inDim, outDim):
        """Return the layout that maps each of `size` indices to itself.

        Parameters
        ----------
        size : int
            A power of two.
        inDim, outDim : str
            The names of the dimensions.

        Raises
        ------
        ValueError
            For another `size`.
        """
        return LinearLayout.strided_1d(size, 1, inDim, outDim)

    @staticmethod
    def strided_1d(size, stride, inDim, outDim):
        """Return the layout that maps `size` indices to the multiples of `stride`.

        Parameters
        ----------
        size, stride : int
            Powers of two.
        inDim, outDim : str
            The names of the dimensions.

        Raises
        ------
        ValueError
            For others.
        """
        bits = _bits(size)
        _bits(stride)
        if size == 1:
            return LinearLayout._of({inDim: []}, {outDim: 1})
        return LinearLayout._of(
            {inDim: [[stride << bit] for bit in range(bits)]}, {outDim: size * stride}
        )

    @staticmethod
    def zeros_1d(size, inDim, outDim, outDimSize=1):
        """Return the layout that maps `size` indices to place 0 of `outDimSize`.

        Parameters
        ----------
        size : int
            A power of two.
        inDim, outDim : str
            The names of the dimensions.
        outDimSize : int, default 1
            A power of two.

        Raises
        ------
        ValueError
            For others.
        """
        _bits(outDimSize)
        return LinearLayout._of({inDim: [[0]] * _bits(size)}, {outDim: outDimSize})

    @staticmethod
    def from_bases(bases, out_dim_names, out_dim_sizes=None, require_surjective=True):
        """Return the layout of pairs of an input dimension and its bases.

        Parameters
        ----------
        bases : list of (str, list of list of int)
            For each input dimension, from its lowest bit on, a place in each of `out_dim_names`.
        out_dim_names : list of str
            The output dimensions.
        out_dim_sizes : list of int, optional
            Their sizes, powers of two; None: each is as large as its places need.
        require_surjective : bool, default True
            Refuse bases that leave places out.

        Raises
        ------
        ValueError
            For bases that do not fit, and for a layout that is refused.
        """
        bases = {name: [list(basis) for basis in rows] for name, rows in bases}
        names = list(out_dim_names)
        every = [basis for rows in bases.values() for basis in rows]
        if any(len(basis) != len(names) for basis in every):
            raise ValueError(f"a basis needs a place in each of the dimensions {names}")
        if out_dim_sizes is None:
            largest = [max((basis[i] for basis in every), default=0) for i in range(len(names))]
            out_dim_sizes = [1 << place.bit_length() for place in largest]
        for basis in every:
            if any(not 0 <= place < size for place, size in zip(basis, out_dim_sizes)):
                raise ValueError(f"the basis {basis} is outside of the sizes {list(out_dim_sizes)}")
        for size in out_dim_sizes:
            _bits(size)
        result = LinearLayout._of(bases, dict(zip(names, out_dim_sizes)))
        if require_surjective and not result.is_surjective():
            raise ValueError("the layout is not surjective: its bases leave places out")
        return result

    @property
    def bases(self):
        """Pairs of an input dimension and its bases."""
        return [(name, [list(basis) for basis in rows]) for name, rows in self._bases.items()]

    @property
    def out_dims(self):
        """Pairs of an output dimension and its size."""
        return list(self._outs.items())

    @property
    def num_in_dims(self):
        """How many input dimensions there are."""
        return len(self._bases)

    @property
    def num_out_dims(self):
        """How many output dimensions there are."""
        return len(self._outs)

    def get_in_dim_names(self):
        """Return the names of the input dimensions."""
        return list(self._bases)

    def get_out_dim_names(self):
        """Return the names of the output dimensions."""
        return list(self._outs)

    def _columns(self, order=None):
        """Each basis as one integer: the first output dimension is in the lowest bits."""
        order = list(self._outs) if order is None else order
        where = {name: i for i, name in enumerate(self._outs)}

        def flat(basis):
            result, shift = 0, 0
            for name in order:
                result |= basis[where[name]] << shift
                shift += _bits(self._outs[name])
            return result

        return [flat(basis) for rows in self._bases.values() for basis in rows]

    def _total_out_bits(self):
        return _bits(math.prod(self._outs.values()))

    def _rank(self):
        return len(_eliminate(self._columns()))

    def is_surjective(self):
        """Return whether every output place is one of some index."""
        return self._rank() == self._total_out_bits()

    def is_injective(self):
        """Return whether no two indices have one place."""
        return self._rank() == len(self._columns())

    def is_invertible(self):
        """Return whether the map is one to one."""
        return self.is_surjective() and self.is_injective()

    def apply(self, inputs):
        """Return the place of an index, as a dict by output dimension.

        Parameters
        ----------
        inputs : dict of str to int
            The index, by input dimension.

        Raises
        ------
        ValueError
            If a dimension is missing, or unknown.
        """
        if set(inputs) != set(self._bases):
            raise ValueError(f"the index needs the dimensions {list(self._bases)}")
        place = dict.fromkeys(self._outs, 0)
        for name, index in inputs.items():
            for bit, basis in enumerate(self._bases[name]):
                if int(index) >> bit & 1:
                    place = {out: seen ^ step for (out, seen), step in zip(place.items(), basis)}
        return place

    def compose(self, outer):
        """Return the layout of doing this one first and then another.

        Parameters
        ----------
        outer : LinearLayout
            Its inputs are the outputs of this one.

        Raises
        ------
        ValueError
            If they are not.
        """
        if set(outer._bases) != set(self._outs):
            raise ValueError("the inputs of the outer layout are not the outputs of the inner one")
        bases = {
            name: [list(outer.apply(dict(zip(self._outs, basis))).values()) for basis in rows]
            for name, rows in self._bases.items()
        }
        return LinearLayout._of(bases, outer._outs)

    def invert(self):
        """Return the inverse; ValueError where there is none."""
        if not self.is_invertible():
            raise ValueError("the layout is not invertible")
        return self.pseudoinvert()

    def pseudoinvert(self):
        """Return a right inverse of a surjective layout, one index of each place; ValueError of others."""
        if not self.is_surjective():
            raise ValueError("the layout is not surjective")
        solved = self._solutions(
            [1 << bit for bit in range(self._total_out_bits())], self._columns()
        )
        return self._from_solutions(iter(solved), self._outs)

    def invert_and_compose(self, outer):
        """Return the layout C with `C.compose(outer)` equal to this one.

        Parameters
        ----------
        outer : LinearLayout
            It has the same outputs.

        Raises
        ------
        ValueError
            If it lacks a place of this one.
        """
        order = list(self._outs)
        columns = outer._columns(order)
        solved = iter(self._solutions(self._columns(order), columns))
        sizes = {name: 1 << len(rows) for name, rows in self._bases.items()}
        return outer._from_solutions(solved, sizes)

    @staticmethod
    def _solutions(wanted, columns):
        """For each place, which columns make it: as bits, those of `columns` that are not needed 0."""
        pivots = _eliminate(columns)
        results = []
        for place in wanted:
            used = 0
            while place:
                if place.bit_length() not in pivots:
                    raise ValueError("the layouts do not have the same places")
                column, others = pivots[place.bit_length()]
                place, used = place ^ column, used ^ others
            results.append(used)
        return results

    def _from_solutions(self, solved, sizes):
        """The layout from dimensions of `sizes` to our inputs that has these solutions as bases."""
        outs = {name: 1 << len(rows) for name, rows in self._bases.items()}
        bases = {}
        for name, size in sizes.items():
            bases[name] = []
            for _ in range(_bits(size)):
                used = next(solved)
                basis = []
                for extent in outs.values():
                    basis.append(used & (extent - 1))
                    used >>= _bits(extent)
                bases[name].append(basis)
        return LinearLayout._of(bases, outs)

    def get_matrix_view(self):
        """Return the matrix over bits: a row for each output bit, a column for each input bit."""
        columns = self._columns()
        return [[column >> row & 1 for column in columns] for row in range(self._total_out_bits())]

    def get_distributed_view(self, use_hw_point_of_view):
        """Return a layout of registers as text.

        Parameters
        ----------
        use_hw_point_of_view : bool
            True: the coordinates of each thread's registers, a row per register and a column per
            lane, under the warp and, of several, the CTA. False: the tensor as a nested list of
            its holders: "T5:2" is register 2 of thread 5, after "B1:" for one of several CTAs;
            "|" is between holders of one element.

        Raises
        ------
        ValueError
            If the input dimensions are not `register`, `lane`, `warp` and `block`.
        """
        from .layout_view import distributed_view

        return distributed_view(self, use_hw_point_of_view)

    def get_shared_view(self, use_hw_point_of_view):
        """Return a layout of shared memory as text.

        Parameters
        ----------
        use_hw_point_of_view : bool
            True: the coordinates at each offset of each CTA, a line per offset. False: the same
            coordinates in the order of the memory, as a nested list in the tensor's shape.

        Raises
        ------
        ValueError
            If the input dimensions are not `offset` and `block`.
        """
        from .layout_view import shared_view

        return shared_view(self, use_hw_point_of_view)

    def __mul__(self, outer):
        outs = {name: self._outs.get(name, 1) for name in [*self._outs, *outer._outs]}
        bases = {name: [] for name in [*self._bases, *outer._bases]}
        for name, rows in self._bases.items():
            for basis in rows:
                here = dict(zip(self._outs, basis))
                bases[name].append([here.get(out, 0) for out in outs])
        for name, rows in outer._bases.items():
            for basis in rows:
                here = dict(zip(outer._outs, basis))
                bases[name].append([here.get(out, 0) * size for out, size in outs.items()])
        sizes = {out: size * outer._outs.get(out, 1) for out, size in outs.items()}
        return LinearLayout._of(bases, sizes)

    def __eq__(self, other):
        return isinstance(other, LinearLayout) and (self.bases, self.out_dims) == (
            other.bases,
            other.out_dims,
        )

    def __hash__(self):
        return hash(repr(self))

    def __repr__(self):
        lines = []
        for name, rows in self._bases.items():
            if not rows:
                lines.append(f" - {name} is a size 1 dimension")
            for bit, basis in enumerate(rows):
                start = f" - {name}" if bit == 0 else "   " + name
                lines.append(f"{start}={1 << bit} -> ({', '.join(map(str, basis))})")
        sizes = ", ".join(f"{name} (size {size})" for name, size in self._outs.items())
        return "\n" + "\n".join(lines) + f"\nwhere out dims are: [{sizes}]"
