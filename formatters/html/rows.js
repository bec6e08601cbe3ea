// The rows of a message: its nodes, with the lines that are no nodes.
const TABLE = DATA.rows;
const FLAG_LAYOUT = 1, FLAG_MADE = 2;
const SCALARS = 'snekb';
const decoder = new TextDecoder();

function sectionAt(message, position) {
  let found = message.sections[0];
  for (const section of message.sections) if (section[0] <= position) found = section;
  return found;
}
// The bytes from `start` to `end` in a message's space, as far as they are shown.
function bytesOf(message, start, end) {
  const section = sectionAt(message, start);
  const last = Math.min(end - section[0], section[2]);
  return RAW.subarray(section[3] + Math.min(start - section[0], section[2]), section[3] + last);
}
const hexOf = bytes => Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join(' ');
function quoted(text) {
  return '"' + clean(text.replace(/[\\"]/g, '\\$&')) + '"';
}
const MOST_HEX = 4000; // bytes of a value
// A double as Python writes it.
function double(value) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'NaN' : value > 0 ? 'Infinity' : '-Infinity';
  if (Object.is(value, -0)) return '-0.0';
  const size = Math.abs(value);
  if (size && (size < 1e-4 || size >= 1e16)) return value.toExponential().replace(/e([+-])(\d)$/, 'e$10$2');
  const text = String(value);
  return text.includes('.') ? text : text + '.0';
}
// The value of a row as text.
function valueOf(message, row) {
  if (typeof row.value !== 'number') return row.value;
  if (row.kind === 'n') {
    const bytes = bytesOf(message, row.end - 8, row.end);
    if (bytes.length < 8) return '…';
    const view = new DataView(bytes.buffer, bytes.byteOffset, 8);
    return row.type === 'double' ? double(view.getFloat64(0)) : String(view.getBigInt64(0));
  }
  const bytes = bytesOf(message, row.start - 1 - row.value, row.end);
  if (row.kind !== 'b') return quoted(decoder.decode(bytes));
  const text = bytes.length > 3 ? decoder.decode(bytes) : '';
  const readable = text && !/[\p{C}\ufffd]/u.test(text.replace(/[\n\r\t]/g, ''));
  const hex = hexOf(bytes.subarray(0, MOST_HEX)).replace(/ /g, '') + (bytes.length > MOST_HEX ? '…' : '');
  return readable ? quoted(text) : hex;
}

function rowsOf(message) {
  if (message.unpacked) return message.unpacked;
  const rows = [], open = [];
  let start = 0;
  for (let at = message.firstRow; at < message.firstRow + message.rows; at++) {
    const level = TABLE.levels[at], flags = TABLE.flags[at], value = TABLE.values[at];
    start += TABLE.starts[at];
    const row = {
      i: rows.length, level, kind: TABLE.kinds[at], name: TEXTS[TABLE.names[at]], start,
      end: start + TABLE.lengths[at], value: value < 0 ? value : TEXTS[value], type: TEXTS[TABLE.types[at]],
      note: TEXTS[TABLE.notes[at]], layout: (flags & FLAG_LAYOUT) !== 0, made: (flags & FLAG_MADE) !== 0,
      up: level ? open[level - 1] : null, kids: [], remarks: [], target: null, path: '',
      content: null, // the section of bytes that were joined or unpacked for it
      broken: false, // whether an error is inside, so that it shows even in the layout
    };
    open.length = level;
    open[level] = row;
    if (row.up) {
      row.up.kids.push(row);
      const above = row.up.path;
      row.path = row.name.startsWith('[') ? above + row.name : above + (above && row.name ? '.' : '') + row.name;
    }
    rows.push(row);
    if (row.kind === 'x') for (let above = row; above; above = above.up) above.broken = true;
  }
  for (let at = 0; at < message.references.length; at += 2) {
    rows[message.references[at]].target = rows[message.references[at + 1]];
  }
  message.unpacked = rows;
  own(message, rows);
  for (const [code, at, text] of message.notes) remark(message, rows, code, at, text);
  return rows;
}
// Which row each byte belongs to: the deepest one, of siblings the first.
function own(message, rows) {
  const next = new Map();
  for (const section of message.sections) {
    section.own = new Int32Array(section[2]).fill(-1);
    next.set(section, Int32Array.from({length: section[2] + 1}, (_, at) => at));
  }
  const take = row => {
    if (row.made || row.end <= row.start) return;
    const section = sectionAt(message, row.start), free = next.get(section);
    const find = at => {
      let end = at;
      while (free[end] !== end) end = free[end];
      while (free[at] !== end) [free[at], at] = [end, free[at]];
      return end;
    };
    const last = Math.min(row.end - section[0], section[2]);
    for (let at = find(Math.min(row.start - section[0], section[2])); at < last; at = find(at)) {
      section.own[at] = row.i;
      free[at] = at + 1;
    }
  };
  const stack = [[rows[0], 0]];
  while (stack.length) {
    const top = stack[stack.length - 1];
    if (top[1] < top[0].kids.length) stack.push([top[0].kids[top[1]++], 0]);
    else take(stack.pop()[0]);
  }
  for (const section of message.sections.slice(1)) { // what is in no row is the one's that the content is of
    const first = rows.find(row => !row.made && row.start >= section[0] && row.start < section[0] + section[1]);
    if (!first || !first.up) continue;
    first.up.content = section;
    for (let at = 0; at < section[2]; at++) if (section.own[at] < 0) section.own[at] = first.up.i;
  }
}
function rowAt(message, position) {
  const section = sectionAt(message, position), at = position - section[0];
  return message.unpacked[section.own[at]] || message.unpacked[0];
}
// The byte that a row without bytes stands at.
function anchor(message, row) {
  const section = sectionAt(message, row.start);
  return Math.max(section[0], Math.min(row.start, section[0] + section[2] - 1));
}
// All rows that a byte is part of, those that stand at it included.
function rowsAt(message, position) {
  return message.unpacked.filter(row => row.start <= position && position < row.end
    || row.content && row.content[0] <= position && position < row.content[0] + row.content[1]
    || row.start === row.end && anchor(message, row) === position);
}
// The row that a part of the layout serves: a key's value, the object after the definition of its class, else
// what it lies in.
function served(row) {
  if (!row.layout || row.broken) return row;
  while (row.up && row.up.layout) row = row.up;
  const above = row.up || row;
  if (row.name !== 'key' && row.name !== 'class') return above;
  return above.kids.find(kid => kid.i > row.i && !kid.layout) || above;
}
function remark(message, rows, code, at, text) {
  const place = Math.max(0, Math.min(at, message.length));
  let row = place < message.length ? rowAt(message, Math.min(place, message.sections[0][2] - 1)) : rows[0];
  row = served(row);
  const note = {
    i: rows.length, level: row.level + 1, kind: 'w', name: '', start: place, end: place, value: `${code}: ${text}`,
    type: '', note: '', layout: false, made: true, up: row, kids: [], remarks: [], target: null,
    path: row.path, broken: false, isNote: true,
  };
  row.remarks.push(note);
  rows.push(note);
}
// Whether an object is shown as one value, as a date or an amount.
const isSmall = row => row.kind === 'o' && row.note && !row.value && row.kids.length > 0
  && row.kids.filter(kid => !kid.layout && !kid.made).length <= 3
  && row.kids.every(kid => kid.layout || SCALARS.includes(kid.kind));
// Whether an item is a name and a value, as of a header.
function isPair(row) {
  const kids = row.kind === '[' && row.up && row.up.kind === '[' ? row.kids.filter(kid => !kid.layout) : [];
  return kids.length === 2 && kids[0].kind === 's' && SCALARS.includes(kids[1].kind);
}
