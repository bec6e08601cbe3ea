"""Reading the heads of lists, maps and objects onto a tape: types, lengths, class definitions."""

from librt.vecs import append
from mypy_extensions import i64, mypyc_attr

from wirelens.codecs import tape as t
from wirelens.codecs.cursor import Cursor
from wirelens.codecs.hessian import forms
from wirelens.codecs.hessian import vocabulary as d
from wirelens.codecs.hessian.parts import Parts
from wirelens.codecs.hessian.tables import (
    CLASS_NODE,
    COSTLY,
    FIELDS_SHIFT,
    FLAGS_MASK,
    FLAGS_SHIFT,
    NAMED,
    ODD,
    REPEATS_FACTOR,
    REPEATS_FREE,
    SAME,
    TYPE_FIRST,
    TYPE_NODE,
    TYPE_WORDS,
    Tables,
)
from wirelens.codecs.hessian.well_known_classes import (
    NO_DEFINITION,
    harmless,
    is_valued,
    learn_definition,
    names_number,
    next_definition,
)
from wirelens.codecs.scan import plain_end
from wirelens.codecs.tape import FORM_SHIFT, HIDDEN, SIMPLE, Tape
from wirelens.codecs.words import count


@mypyc_attr(acyclic=True)
class Heads(Parts):
    """Reads what precedes the members of a container, into the tables of a scope. Base of `Values`."""

    def __init__(self, cursor: Cursor, tape: Tape, tables: Tables) -> None:
        super().__init__(cursor, tape, tables)
        self.definition = NO_DEFINITION  # the last one that was known before

    # --- types --------------------------------------------------------------------------------------------

    def _type_text(self, start: i64) -> i64:
        """Read a type given as text; the flags of forms.py that it needs."""
        tape = self.tape
        tables = self.tables
        wide_before = self.wide_seen
        self.wide_seen = False
        self.overlong_seen = False
        node = tape.open(t.TYPE | HIDDEN, start, -1)
        if self.dialect == d.FINAL:
            self.string(0, "a type")
        else:
            self.text(0, "a type")
        tape.close(node, self.cursor.pos)
        tape.set_number(node, node)
        content = tape.number(tape.following(node))
        end = self.cursor.pos
        if content < 0 or not harmless(self.data, content, end):
            tape.unchecked_names = True
        flags: i64 = 0
        if not self.usual:
            flags = forms.TYPE
        if self.dialect == d.V1:
            self.wide_seen = self.wide_seen or wide_before
            return flags
        first = tables.find_type(tape, self.data, node, content, end)
        if first < 0:
            first = len(tables.types) // TYPE_WORDS
        else:
            flags = forms.TYPE
        if self.wide_seen or self.overlong_seen:  # another type may have the same text in other bytes
            first = -2
        self.wide_seen = self.wide_seen or wide_before
        tables.types = append(append(tables.types, node), first)
        return flags

    def _type_number(self, start: i64) -> i64:
        """Read a type given as its number in the table; the flags of forms.py that it needs."""
        cursor = self.cursor
        types = self.tables.types
        number = self.integer("the number of a type")
        flags: i64 = 0
        if not self.usual:
            flags = forms.TYPE
        defined: i64 = -1
        place = number * TYPE_WORDS
        if number < 0 or place >= len(types):
            flags = forms.TYPE | forms.NUMBERED
            counted = count(len(types) // TYPE_WORDS, "type")
            self.tape.note(
                "dangling-type",
                start,
                f"type number {number} is not defined; the table has {counted}",
                cursor.buffer,
            )
        else:
            defined = types[place + TYPE_NODE]
            text_start = self.tape.number(self.tape.following(defined))
            size = self.tape.end(defined) - self.tape.start(defined)
            if size > REPEATS_FACTOR:
                self._repeat(size, start)
            empty = text_start >= 0 and text_start == self.tape.end(defined)
            if empty or types[place + TYPE_FIRST] != number:
                flags = forms.TYPE | forms.NUMBERED
        self.tape.leaf(t.TYPE | HIDDEN, start, cursor.pos, defined)
        return flags

    def _type_final(self) -> i64:
        """Read a type of the final dialect, text or number; its flags."""
        cursor = self.cursor
        start = cursor.pos
        if start >= cursor.end:
            raise cursor.short(1, "a type")
        action: i64 = self.actions[self.data[start]]
        if d.STRING_SHORT <= action <= d.STRING_CHUNK:
            flags = self._type_text(start)
            if self.data[start] == 0:
                flags |= forms.TYPE
            return flags
        return self._type_number(start)

    # --- lists and maps -----------------------------------------------------------------------------------

    def _open(self, head: i64, start: i64) -> i64:
        """Write the node of a list or map and give it the next reference number."""
        tables = self.tables
        references = tables.references
        node = self.tape.open(head, start, len(references))
        tables.references = append(references, node)
        return node

    def _length(self, start: i64, number: i64, form: i64) -> None:
        """Write a declared length as a node."""
        self.tape.leaf(t.LENGTH | HIDDEN | form << FORM_SHIFT, start, self.cursor.pos, number)

    def flag_list(self, node: i64, flags: i64) -> None:
        """Add flags to the form of a list."""
        first: i64 = forms.LISTS
        form = self.tape.head(node) >> FORM_SHIFT & t.FORM_MASK
        earlier: i64 = 0
        if form:
            earlier = form - first
        self.tape.set_form(node, first + (earlier | flags))

    def list_head(self, head: i64, start: i64, action: i64, byte: i64) -> i64:
        """Read the head of a list after its opcode; its declared length, -1 if it has none."""
        cursor = self.cursor
        node = self._open(head | t.LIST, start)
        flags: i64 = 0
        declared: i64 = -1
        if action == d.LIST_ENDED:
            flags, declared = self._list_ended()
        elif action == d.LIST_AGAIN:
            flags = self._type_number(cursor.pos)
            at = cursor.pos
            declared = self.integer("the length of a list")
            form = 0 if self.usual else forms.int_form_number(self.data, at)
            self._length(at, declared, form)
            if declared < 0:
                flags |= forms.LENGTH
                declared = -1
                self.tape.note(
                    "unended-list", start, "a list with neither a length nor an end", cursor.buffer
                )
            elif form:
                flags |= forms.LENGTH
        elif action == d.LIST_SHORT:
            return byte - 0x78
        elif action == d.LIST_TYPED_SHORT:
            flags = self._type_final()
            declared = byte - 0x70
        else:
            if action == d.LIST_TYPED or action == d.LIST_TYPED_OPEN:
                flags = self._type_final()
            if action == d.LIST_TYPED or action == d.LIST_UNTYPED:
                at = cursor.pos
                declared = self.integer("the length of a list")
                if declared < 0:
                    raise cursor.error("bad-length", at, f"a list has the negative length {declared}")
                form = 0 if self.usual else forms.int_form_number(self.data, at)
                self._length(at, declared, form)
                if form:
                    flags |= forms.LENGTH
                if declared <= 7:
                    flags |= forms.OPCODE
            else:
                flags |= forms.OPEN
        if flags:
            self.tape.set_form(node, forms.LISTS + flags)
        return declared

    def _list_ended(self) -> tuple[i64, i64]:
        """Read type and length of a V of 1.0 and the draft; the flags, and the length (-1: none to check)."""
        cursor = self.cursor
        flags = self.type_ended()
        mark = cursor.peek()
        at = cursor.pos
        if mark == 0x6C:  # l
            cursor.pos += 1
            declared = cursor.int32("the length of a list")
            form: i64 = 0
            if declared < 0:
                flags |= forms.LENGTH
            elif self.dialect != d.V1 and declared < 256:
                flags |= forms.LENGTH
                form = forms.LENGTH_L
            self._length(at, declared, form)
            return flags, declared
        if (mark == 0x6E and self.dialect == d.DRAFT) or (mark == 0x75 and self.dialect == d.LAYOUT_2006):
            cursor.pos += 1
            declared = cursor.u8("the length of a list")
            self._length(at, declared, 0)
            return flags, declared
        return flags | forms.OPEN, -1

    def type_ended(self) -> i64:
        """Read the type, if any, after V, M or r of 1.0 and the draft; its flags, OPCODE for a number."""
        cursor = self.cursor
        start = cursor.pos
        mark = cursor.peek()
        if mark == 0x74:  # t
            cursor.pos = start + 1
            flags = self._type_text(start)
            if cursor.pos == start + 3:
                flags |= forms.TYPE
            return flags
        if mark == 0x75 and self.dialect == d.DRAFT:  # u
            cursor.pos = start + 1
            return self._type_number(start) | forms.OPCODE
        if mark == 0x54 and self.dialect == d.LAYOUT_2006:  # T
            cursor.pos = start + 1
            return self._type_number(start)
        return 0

    def map_head(self, head: i64, start: i64, action: i64) -> None:
        """Read the head of a map after its opcode."""
        node = self._open(head | t.MAP, start)
        flags: i64 = 0
        if action == d.MAP_TYPED:
            flags = self._type_final()
        elif action == d.MAP_ENDED:
            flags = self.type_ended() & ~forms.OPCODE
            if self.dialect == d.V1:
                # where there is no type, the writer of 1.0 sends an empty one
                size = self.cursor.pos - start
                if size == 1:
                    flags = forms.TYPE
                elif size == 4:
                    flags = 0
        if flags:
            self.tape.set_form(node, forms.MAPS + flags)

    # --- objects and their classes ------------------------------------------------------------------------

    def no_class(self, index: i64) -> str:
        """The text of the error for an object whose class is not defined."""
        return (
            f"class number {index} is not defined; the table has "
            f"{count(self.tables.class_count(), 'class', 'classes')}"
        )

    def object_head(self, head: i64, start: i64, definitions: i64) -> i64:
        """Read the head of an object after its opcode o or O; its number of fields."""
        tables = self.tables
        index = self.integer("the number of a class")
        usual = self.usual
        if self.dialect == d.LAYOUT_2006:
            index -= 1
        if index < 0 or index >= len(tables.classes):
            raise self.cursor.error("bad-value", start, self.no_class(index))
        word = tables.classes[index]
        flags: i64 = 0
        if not usual or (self.dialect == d.FINAL and index <= 15):
            flags = forms.OPCODE
        if flags or definitions or word >> FLAGS_SHIFT & (SAME | COSTLY):
            head |= self.object_form(index, start, flags, definitions) << FORM_SHIFT
        references = tables.references
        node = self.tape.open(head | t.OBJECT, start, t.object_number(word & CLASS_NODE, len(references)))
        tables.references = append(references, node)
        return word >> FIELDS_SHIFT

    def _repeat(self, size: i64, start: i64) -> None:
        """Count names of `size` bytes, which the value at `start` repeats. Raises `limit`."""
        tables = self.tables
        tables.repeated += size
        if tables.repeated > max(REPEATS_FREE, REPEATS_FACTOR * (start - self.first)):
            raise self.fail(
                start,
                "limit",
                start,
                f"repeated names of {tables.repeated} bytes in {start - self.first} bytes so far",
            )

    def object_2006(self, head: i64) -> i64:
        """Open the object that follows its class definition in the layout of 2006; its number of fields."""
        tables = self.tables
        word = tables.classes[len(tables.classes) - 1]
        references = tables.references
        number = t.object_number(word & CLASS_NODE, len(references))
        tables.references = append(references, self.tape.open(head | t.OBJECT, self.cursor.pos, number))
        return word >> FIELDS_SHIFT

    def object_form(self, index: i64, start: i64, flags: i64, definitions: i64) -> i64:
        """The form of an object that has flags, a special class, or definitions before it.

        Counts the names of a COSTLY class once more, for the object at `start`. Raises `limit`.
        """
        classes = self.tables.classes
        class_flags = classes[index] >> FLAGS_SHIFT & FLAGS_MASK
        if class_flags & COSTLY:
            node = classes[index] & CLASS_NODE
            self._repeat(self.tape.end(node) - self.tape.start(node), start)
        if class_flags & SAME:
            flags |= forms.NUMBERED
        usual = definitions == 1 and index + 1 == len(classes) and class_flags & (SAME | ODD) == 0
        if usual and class_flags & NAMED:
            flags |= forms.NAME
        form: i64 = 0
        if flags:
            form = forms.OBJECTS + flags
        if definitions and not usual:
            form = forms.defining(int(form))
        return form

    def define_class(self, start: i64, action: i64, before: i64) -> None:
        """Read a class definition after its opcode; `before`: how many definitions directly precede it."""
        cursor = self.cursor
        tape = self.tape
        data = self.data
        tables = self.tables
        at = cursor.pos
        if action != d.CLASS_2006 and self._known_class(start, before):
            return
        flags: i64 = 0
        wide_before = self.wide_seen
        self.wide_seen = False
        self.overlong_seen = False
        node = tape.open(t.CLASS | HIDDEN, start, before)
        plain = True
        named_by_type = False
        if action == d.CLASS_FINAL:
            self.string(0, "the name of a class")
            if not self.usual:
                flags = ODD
        else:
            if at >= cursor.end:
                raise cursor.short(1, "the name of a class")
            byte: i64 = data[at]
            opens: i64 = self.actions[byte]
            if byte == 0x74 and action == d.CLASS_DRAFT:  # t
                flags = NAMED
                cursor.pos = at + 1
                self.text(0, "the name of a class")
                if not self.usual:
                    flags = ODD
            elif byte == 0x75 and action == d.CLASS_DRAFT:  # u
                flags = NAMED
                cursor.pos = at + 1
                named_by_type = True
                self._type_name(at)
                if not self.usual:
                    flags = ODD
            elif d.STRING_SHORT <= opens <= d.STRING_CHUNK and action == d.CLASS_DRAFT:
                flags = NAMED
                self.string(0, "the name of a class")
                if not self.usual:
                    flags = ODD
            else:
                units = self.integer("the length of a class name")
                if units < 0:
                    raise cursor.error("bad-length", at, f"a class name has the negative length {units}")
                usual = self.usual
                self.run(at, t.STRING16, units, forms.NAMED)
                if not usual or not self.usual:
                    flags = ODD
        name_node = tape.following(node)
        name = tape.number(name_node)
        at = cursor.pos
        fields = self.integer("the number of fields")
        if fields < 0:
            raise cursor.error("bad-length", at, f"a class has the negative number of fields {fields}")
        form: i64 = 0
        if not self.usual:
            flags |= ODD
            form = forms.int_form_number(data, at)
        tape.leaf(t.LENGTH | HIDDEN | form << FORM_SHIFT, at, cursor.pos, fields)
        valued = False
        if fields == 0 and action == d.CLASS_FINAL and name >= 0:
            valued = is_valued(data, name, tape.end(name_node))
        left = fields
        pos = cursor.pos
        end = cursor.end
        while left > 0:
            if pos < end and data[pos] < 0x20:  # a short string, most often in plain ASCII
                after = pos + 1 + data[pos]
                if after <= end and plain_end(data, pos + 1, after) == after:
                    tape.leaf(t.STRING16 | SIMPLE, pos, after, pos + 1)
                    pos = after
                    left -= 1
                    continue
            cursor.pos = pos
            field = tape.size()
            self.string(0, "the name of a field")
            if not self.usual:
                flags |= ODD
            plain = plain and tape.head(field) & SIMPLE != 0
            pos = cursor.pos
            left -= 1
        cursor.pos = pos
        tape.close(node, pos)
        name_end = tape.end(name_node)
        if name < 0 or not harmless(data, name, name_end):
            if name < 0 or fields != 1 or not names_number(data, name, name_end):
                tape.unchecked_names = True
        elif valued:
            pass  # not kept, for its nodes do not show the value that its objects have
        elif (
            flags == 0 and plain and before == 0 and action != d.CLASS_2006 and tape.head(name_node) & SIMPLE
        ):
            learn_definition(tape, node, data)
        odd = flags & ODD != 0 or named_by_type
        same = tables.find_class(tape, data, node, odd) >= 0
        if same or self.wide_seen or self.overlong_seen:
            flags |= SAME
        self.wide_seen = self.wide_seen or wide_before
        if valued:
            tape.set_flags(node, t.VALUED)
            fields = 1
        tables.add_class(node, fields, flags, pos - start)

    def _type_name(self, start: i64) -> None:
        """Read the number of a type that names a class: the draft's `u` and an int."""
        tape = self.tape
        types = self.tables.types
        number = self.integer("the number of a type")
        place = number * TYPE_WORDS
        if number < 0 or place >= len(types):
            counted = count(len(types) // TYPE_WORDS, "type")
            text = f"type number {number} is not defined; the table has {counted}"
            raise self.cursor.error("bad-value", start, text)
        text_node = tape.following(types[place + TYPE_NODE])
        head = t.STRING16 | tape.head(text_node) & SIMPLE
        tape.leaf(head, tape.start(text_node), tape.end(text_node), tape.number(text_node))
        tape.leaf(t.MARK | HIDDEN, start, self.cursor.pos, number)

    def _known_class(self, start: i64, before: i64) -> bool:
        """Write the class definition at `start` from the table of known ones; False if it is not there."""
        cursor = self.cursor
        known = next_definition(self.definition, self.dialect, self.data, start, cursor.end)
        if known is None:
            return False
        self.definition = known
        tape = self.tape
        node = tape.paste(known.nodes, start)
        if before:
            tape.set_number(node, tape.number(node) | before)
        end = tape.end(node)
        flags: i64 = 0
        if self.tables.find_class(tape, self.data, node, False) >= 0:
            flags = SAME
        cursor.pos = end
        self.tables.add_class(node, known.fields, flags, end - start)
        return True
