"""What files of Arrow and Parquet say about their own parts: sizes and counts, which are read without the data."""

import struct


class Unreadable(ValueError):
    """A structure that the format does not allow."""


# Messages of Arrow, which are flatbuffers -----------------------------------------------------------------------


class FlatbufferTable:
    def __init__(self, raw, at):
        self.raw, self.at = raw, at
        self.fields = at - struct.unpack_from("<i", raw, at)[0]
        self.size = struct.unpack_from("<H", raw, self.fields)[0]

    def place(self, field):
        """Where a field is; None if it has its default value."""
        slot = 4 + 2 * field
        offset = struct.unpack_from("<H", self.raw, self.fields + slot)[0] if slot < self.size else 0
        return self.at + offset if offset else None

    def number(self, field, kind="<q"):
        place = self.place(field)
        return struct.unpack_from(kind, self.raw, place)[0] if place else 0

    def below(self, field):
        """The place that a field points to; None without it."""
        place = self.place(field)
        return place and place + struct.unpack_from("<I", self.raw, place)[0]

    def table(self, field):
        place = self.below(field)
        return place and FlatbufferTable(self.raw, place)

    def vector(self, field, kind):
        place = self.below(field)
        if not place:
            return []
        count, size = struct.unpack_from("<I", self.raw, place)[0], struct.calcsize(kind)
        return list(struct.iter_unpack(kind, self.raw[place + 4 : place + 4 + count * size]))


def blocks(footer):
    """(place, bytes of header, bytes of body) of the dictionaries and of the record batches of an IPC file."""
    table = FlatbufferTable(footer, struct.unpack_from("<I", footer, 0)[0])
    return table.vector(2, "<qi4xq"), table.vector(3, "<qi4xq")


class BatchMessage:
    """A message with a record batch or dictionary. `dictionary`: its number; None for a record batch."""

    def __init__(self, message):
        raw = memoryview(message.metadata)
        header = FlatbufferTable(raw, struct.unpack_from("<I", raw, 0)[0]).table(2)
        self.body = memoryview(message.body)
        self.dictionary = header.number(0) if message.type == "dictionary" else None
        self.adds = bool(header.number(2, "<?")) if message.type == "dictionary" else False
        batch = header.table(1) if message.type == "dictionary" else header
        self.rows = batch.number(0)
        self.nodes, self.buffers = batch.vector(1, "<qq"), batch.vector(2, "<qq")
        self.packed, self.views = batch.table(3) is not None, [count for (count,) in batch.vector(4, "<q")]

    def unpacked(self, first=0, last=None):
        """Bytes of memory of some buffers; 0 for those that are mapped as they are in the file."""
        size = 0
        for start, length in self.buffers[first:last] if self.packed else ():
            if length >= 8:
                size += max(struct.unpack_from("<q", self.body, start)[0], 0)
        return size

    def column(self, kinds, place):
        """The first and last of the buffers of a column, and its node."""
        nodes = buffers = views = 0
        for at, kind in enumerate(kinds[: place + 1]):
            begin, node = buffers, nodes
            for nodes_more, buffers_more, view in parts(kind):
                nodes, buffers = nodes + nodes_more, buffers + buffers_more
                if view:
                    buffers += self.views[views]
                    views += 1
            if at == place:
                return begin, buffers, self.nodes[node]
        raise Unreadable("no such column")

    def nulls(self, buffer):
        """The number of nulls by a validity buffer; None if it has none that is mapped."""
        start, length = self.buffers[buffer]
        if self.packed or not length:
            return None
        import numpy as np

        bits = np.frombuffer(self.body[start : start + (self.rows + 7) // 8], np.uint8)
        return self.rows - int(np.unpackbits(bits, count=self.rows, bitorder="little").sum())


_THREE = ("string", "large_string", "binary", "large_binary", "list_view", "large_list_view")  # types with 3 buffers


def parts(kind):
    """(nodes, buffers, whether buffers of views follow) of a type in a message, with those of the types inside it."""
    import pyarrow
    import pyarrow.types as is_a

    if isinstance(kind, pyarrow.BaseExtensionType):
        return parts(kind.storage_type)
    if is_a.is_dictionary(kind):
        return [(1, 2, False)]
    view = kind in (pyarrow.string_view(), pyarrow.binary_view())
    if is_a.is_null(kind) or is_a.is_run_end_encoded(kind):
        own = 0
    elif is_a.is_union(kind):
        own = 1 if kind.mode == "sparse" else 2
    elif is_a.is_struct(kind) or is_a.is_fixed_size_list(kind):
        own = 1
    elif any(getattr(is_a, f"is_{name}")(kind) for name in _THREE):
        own = 3
    else:
        own = 2
    inside = [part for at in range(kind.num_fields) for part in parts(kind.field(at).type)]
    return [(1, own, view), *inside]


# Pages of Parquet, whose headers are Thrift in its compact form ---------------------------------------------------


class Compact:
    """Structures as {number: value}, from a position on."""

    def __init__(self, raw, at):
        self.raw, self.at = raw, at

    def byte(self):
        self.at += 1
        return self.raw[self.at - 1]

    def number(self):
        result = shift = 0
        while (byte := self.byte()) & 0x80:
            result |= (byte & 0x7F) << shift
            shift += 7
        return result | byte << shift

    def signed(self):
        number = self.number()
        return number >> 1 ^ -(number & 1)

    def structure(self):
        fields, number = {}, 0
        while head := self.byte():
            number = number + (head >> 4) if head >> 4 else self.signed()
            fields[number] = self.value(head & 15)
        return fields

    def value(self, kind):
        if kind in (1, 2):
            return kind == 1
        if kind == 3:
            return self.byte()
        if kind in (4, 5, 6):
            return self.signed()
        if kind == 7:
            self.at += 8
            return None
        if kind == 8:
            size = self.number()
            self.at += size
            return None
        if kind == 9:
            head = self.byte()
            return [self.value(head & 15) for _ in range(head >> 4 if head >> 4 < 15 else self.number())]
        if kind == 12:
            return self.structure()
        raise Unreadable(f"a header with a value of kind {kind}")


def part(value):
    """A structure inside another one."""
    if not isinstance(value, dict):
        raise Unreadable("a header that Parquet does not allow")
    return value


def pages(raw, start, end):
    """(whether it is a dictionary, rows, bytes packed, bytes unpacked) of the pages of a column in a row group."""
    while start < end:
        reader = Compact(raw, start)
        header = reader.structure()
        rows = next((part(header[kind]).get(1, 0) for kind in (5, 7, 8) if kind in header), 0)
        numbers = rows, header[3], header[2]
        if any(type(number) is not int or number < 0 for number in numbers):
            raise Unreadable("a page header that Parquet does not allow")
        yield 7 in header, *numbers
        start = reader.at + header[3]
