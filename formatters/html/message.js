// A message as a tree and as bytes, each marking what the other points at.
const LINE = 21; // pixels
const DEEPEST = 14; // levels that are indented; deeper ones show their number
const OPEN_LEVELS = 60; // levels that are open at first
const MOST_VALUE = 300; // characters of a value in the tree
const SHADES = {s: 's', n: 'n', e: 'e', k: 'e', b: 'b', r: 'r', x: 'x'};
let views = 0;

class View {
  constructor(message, strip, width) {
    this.message = message;
    this.rows = rowsOf(message);
    this.strip = strip;
    this.width = width; // bytes in a line
    this.id = `v${++views}-`;
    this.wire = false;
    this.hot = this.pin = null; // rows that are pointed at and held
    this.byte = -1; // the one that is pointed at
    this.cursor = 0;
    this.marked = new Map();
    this.closed = new Set(this.rows.filter(row => isSmall(row) || isPair(row) || row.level >= OPEN_LEVELS && row.kids.length));
    this.makeTree();
    this.makeHex();
  }

  // The tree.
  makeTree() {
    const tree = this.tree = el('div', 'treebox tree');
    tree.setAttribute('role', 'tree');
    tree.setAttribute('aria-label', 'Decoded message');
    tree.tabIndex = 0;
    const widths = this.message.sections.map(([start, length]) => String(start ? length : this.message.offset + length).length);
    tree.style.setProperty('--digits', Math.max(...widths) + 1 + 'ch');
    this.lines = new Lines(tree, LINE, at => this.treeLine(this.visible[at]));
    tree.onmouseover = event => {
      const line = event.target.closest('.t');
      if (line) this.point(this.rows[line.dataset.row], -1, 'tree');
    };
    tree.onmouseleave = () => this.point(null, -1, 'tree');
    tree.onclick = event => {
      const line = event.target.closest('.t');
      if (!line) return;
      const row = this.rows[line.dataset.row];
      if (event.target.classList.contains('r') && row.target) this.choose(row.target);
      else if (event.target.classList.contains('tw') && this.opens(row)) this.toggle(row);
      else if (this.pin === row) this.release();
      else this.choose(row, 'tree');
    };
    tree.onkeydown = event => this.treeKey(event);
    this.list();
  }
  shows(row) { return this.wire || !row.layout || row.broken; }
  opens(row) { return row.kids.some(kid => this.shows(kid)); }
  list() {
    const visible = [], stack = [this.rows[0]];
    while (stack.length) {
      const row = stack.pop();
      visible.push(row);
      for (const note of row.remarks) visible.push(note);
      if (this.closed.has(row)) continue;
      const kids = row.kids.filter(kid => this.shows(kid));
      kids.forEach((kid, at) => { kid.place = at + 1; kid.of = kids.length; });
      for (let at = kids.length - 1; at >= 0; at--) stack.push(kids[at]);
    }
    this.visible = visible;
    this.places = new Map(visible.map((row, at) => [row, at]));
    this.lines.resize(visible.length);
  }
  treeLine(row) {
    const line = el('div', 't' + (row.kind === 'x' ? ' bad' : '') + (row.layout ? ' lay' : ''));
    line.dataset.row = row.i;
    line.id = this.id + row.i;
    line.setAttribute('role', 'treeitem');
    line.setAttribute('aria-level', row.level + 1);
    line.setAttribute('aria-posinset', row.place || 1);
    line.setAttribute('aria-setsize', row.of || 1);
    const opens = this.opens(row), closed = this.closed.has(row);
    if (opens) line.setAttribute('aria-expanded', String(!closed));
    const twist = el('span', 'tw', opens ? (closed ? '▸' : '▾') : '');
    twist.setAttribute('aria-hidden', 'true');
    const offset = el('span', 'off', row.made && !row.isNote ? '' : this.offset(row.start));
    offset.setAttribute('aria-hidden', 'true'); // the line below has it
    line.append(offset);
    for (let level = 0; level < Math.min(row.level, DEEPEST); level++) line.append(el('span', 'g'));
    line.append(twist);
    if (row.level > DEEPEST) line.append(el('span', 'lv', String(row.level)));
    const label = this.label(row, closed && opens);
    if (row.name) line.append(el('span', 'nm', row.name), label.length ? ': ' : '');
    line.append(...label);
    const mark = this.marked.get(row);
    if (mark) line.classList.add(mark);
    if (mark === 'pin') line.setAttribute('aria-selected', 'true');
    return line;
  }
  offset(position) {
    const section = sectionAt(this.message, position);
    return section === this.message.sections[0] ? String(this.message.offset + position) : '+' + (position - section[0]);
  }
  // What stands after a row's name.
  label(row, folded) {
    const out = [];
    const add = (cls, text) => { if (text) out.push(el('span', cls, text)); };
    if (row === this.rows[0]) {
      add('k', `${this.message.protocol} ${this.message.kind}`);
      if (row.type) add('ty', ' ' + row.type);
      return out;
    }
    const value = valueOf(this.message, row);
    if (folded && isSmall(row)) {
      add('val f', row.note);
      add('ty', ' ' + lastName(row.type));
      return out;
    }
    if (folded && isPair(row)) {
      const [name, inner] = row.kids.filter(kid => !kid.layout);
      add('nm', valueOf(this.message, name));
      add('', ': ');
      add('val ' + inner.kind, cut(valueOf(this.message, inner), MOST_VALUE));
      return out;
    }
    if (row.kind === 'o') {
      const place = row.type.lastIndexOf('.') + 1;
      add('ty', row.type.slice(0, place));
      add('k', row.type.slice(place));
      add('ty', value && ' ' + value);
    } else if (row.kind === 'x') {
      add('x', (value.startsWith('✕') ? '' : '✕ ') + value);
    } else if (row.kind === 'w') {
      add('w', '◆ ' + value);
    } else if (row.kind === 'd') {
      add('nt', value);
    } else {
      add('val ' + row.kind, cut(value, MOST_VALUE));
      add('ty', row.type && (value ? ' ' : '') + row.type);
    }
    if (row.note) add('nt', (out.length ? '  ← ' : '← ') + cut(row.note, MOST_VALUE));
    if (folded) add('ty', '  …');
    return out;
  }
  treeKey(event) {
    const {visible} = this, row = this.pin, at = row ? this.places.get(this.shown(row)) ?? -1 : -1;
    let to = null;
    if (event.key === 'ArrowDown' || event.key === 'j') to = visible[Math.min(at + 1, visible.length - 1)];
    else if (event.key === 'ArrowUp' || event.key === 'k') to = visible[Math.max(at - 1, 0)];
    else if (event.key === 'Home') to = visible[0];
    else if (event.key === 'End') to = visible[visible.length - 1];
    else if (event.key === 'ArrowRight' && row) {
      if (this.closed.has(row)) this.toggle(row);
      else to = row.kids.find(kid => this.shows(kid)) || row;
    } else if (event.key === 'ArrowLeft' && row) {
      if (this.opens(row) && !this.closed.has(row)) this.toggle(row);
      else to = row.up || row;
    } else if (event.key === 'Enter' && row && row.target) to = row.target;
    else if (event.key === 'Escape' && row) this.release();
    else return;
    event.preventDefault();
    event.stopPropagation();
    if (to) this.choose(to, 'tree');
  }
  toggle(row) {
    if (!this.closed.delete(row)) this.closed.add(row);
    this.list();
  }
  // The row that stands for one that is not drawn.
  shown(row) {
    if (!this.shows(row)) row = served(row);
    while (row.up && !this.places.has(row)) row = row.up;
    return row;
  }
  reveal(row) {
    let changed = false;
    for (let above = row.up; above; above = above.up) changed = this.closed.delete(above) || changed;
    if (changed) this.list();
  }
  setWire(on) {
    this.wire = on;
    this.list();
    this.mark();
  }

  // The bytes.
  makeHex() {
    const {message} = this, hex = this.hex = el('div', 'hexbox hex');
    hex.tabIndex = 0;
    hex.setAttribute('role', 'group');
    hex.setAttribute('aria-label', 'Bytes; arrow keys move, the field is named below');
    this.underlay = el('div', 'marks');
    hex.append(this.underlay);
    this.layBytes();
    this.hexLines = new Lines(hex, LINE, at => this.hexLine(this.layout[at]));
    this.hexLines.resize(this.layout.length);
    hex.onmousemove = event => {
      const at = this.byteAt(event);
      this.point(at < 0 ? null : rowAt(message, at), at, 'hex');
    };
    hex.onmouseleave = () => this.point(null, -1, 'hex');
    hex.onclick = event => {
      const at = this.byteAt(event);
      if (at < 0) return;
      this.cursor = at;
      const row = rowAt(message, at);
      if (this.pin === row) this.release();
      else this.choose(row, 'hex', at);
    };
    hex.onkeydown = event => {
      const step = {ArrowRight: 1, l: 1, ArrowLeft: -1, h: -1, ArrowDown: this.width, j: this.width,
        ArrowUp: -this.width, k: -this.width}[event.key];
      if (event.key === 'Escape' && this.pin) {
        this.release();
        event.stopPropagation();
      }
      if (!step) return;
      event.preventDefault();
      event.stopPropagation();
      this.cursor = Math.max(0, Math.min(message.sections[0][2] - 1, this.cursor + step));
      this.choose(rowAt(message, this.cursor), 'hex', this.cursor);
      this.hexLines.show(this.lineOf(this.cursor));
    };
  }
  setWidth(width) {
    if (this.width === width) return;
    this.width = width;
    this.layBytes();
    this.hexLines.resize(this.layout.length);
    this.mark();
  }
  layBytes() {
    const {message, width} = this, layout = this.layout = [];
    this.digits = Math.max(4, (message.offset + message.length).toString(16).length);
    for (const section of message.sections) {
      const [start, length, shown] = section;
      section.line = layout.length + (start ? 1 : 0);
      if (start) layout.push({text: `${many(length, 'byte')} joined or unpacked, with offsets of their own`});
      for (let at = 0; at < shown; at += width) layout.push({section, at, end: Math.min(at + width, shown)});
      if (shown < length) layout.push({text: `… ${many(length - shown, 'more byte')} left out of this page`});
    }
  }
  lineOf(position) {
    const section = sectionAt(this.message, position);
    return section.line + Math.floor((position - section[0]) / this.width);
  }
  hexLine(line) {
    if (line.text) return el('div', 'h muted', line.text);
    const {section, at, end} = line, own = section.own, bytes = RAW.subarray(section[3] + at, section[3] + end);
    const first = section[0] === 0 ? this.message.offset : 0;
    const out = el('div', 'h', el('span', 'o', (first + at).toString(16).padStart(this.digits, '0') + '  '));
    const hex = [], text = [];
    const put = (list, shade, piece) => {
      const last = list[list.length - 1];
      if (last && last[0] === shade) last[1] += piece;
      else list.push([shade, piece]);
    };
    for (let place = 0; place < this.width; place++) {
      const gap = place === 8 ? ' ' : '';
      if (place >= bytes.length) {
        put(hex, '', gap + '   ');
        continue;
      }
      const row = this.rows[own[at + place]], byte = bytes[place];
      const shade = !row ? 'x' : row.layout || row.kids.length ? 'l' : SHADES[row.kind] || 'l';
      put(hex, shade, gap + byte.toString(16).padStart(2, '0') + ' ');
      put(text, shade, byte > 31 && byte < 127 ? String.fromCharCode(byte) : '.');
    }
    for (const [shade, piece] of [...hex, ['', ' '], ...text]) out.append(el('span', shade, piece));
    return out;
  }
  get cell() { // the width of a character in pixels
    if (!this.measured) {
      const probe = el('span', 'probe', '0'.repeat(100));
      this.hex.append(probe);
      this.measured = probe.getBoundingClientRect().width / 100;
      probe.remove();
    }
    return this.measured;
  }
  byteAt(event) {
    const box = this.underlay.getBoundingClientRect();
    const line = this.layout[Math.floor((event.clientY - box.top) / LINE)];
    if (!line || line.text) return -1;
    const column = (event.clientX - box.left) / this.cell - this.digits - 2;
    const cells = this.width * 3 + (this.width > 8 ? 1 : 0);
    let place = column < cells ? Math.floor((column - (column >= 25 ? 1 : 0)) / 3) : Math.floor(column - cells - 1);
    if (column >= 24 && column < 25) place = 7;
    if (place < 0 || place >= line.end - line.at) return -1;
    return line.section[0] + line.at + place;
  }
  // Rectangles under the bytes from `start` to `end`, on one line or several.
  shade(start, end, cls) {
    const section = sectionAt(this.message, start), [base, , shown] = section;
    const last = Math.min(end - base, shown), {width} = this;
    let at = start - base;
    const cells = width * 3 + (width > 8 ? 1 : 0), left = this.digits + 2;
    const draw = (line, lines, from, to) => {
      const gap = place => place * 3 + (width > 8 && place >= 8 ? 1 : 0);
      for (const [x, w] of [[left + gap(from), gap(to - 1) + 2 - gap(from)], [left + cells + 1 + from, to - from]]) {
        const mark = el('div', 'mark ' + cls);
        mark.style.top = (section.line + line) * LINE + 'px';
        mark.style.height = lines * LINE + 'px';
        mark.style.left = x + 'ch';
        mark.style.width = w + 'ch';
        this.underlay.append(mark);
      }
    };
    while (at < last) {
      const line = Math.floor(at / width), from = at % width;
      const full = from === 0 ? Math.floor((last - at) / width) : 0;
      if (full) {
        draw(line, full, 0, width);
        at += full * width;
      } else {
        const to = Math.min(width, from + last - at);
        draw(line, 1, from, to);
        at += to - from;
      }
    }
  }

  // Marks.
  point(row, byte, from) {
    if (this.hot === row && this.byte === byte) return;
    this.hot = row;
    this.byte = byte;
    if (this.pin) return;
    this.mark();
    if (!row) return this.strip.idle();
    if (from === 'hex') this.showRow(row);
    this.strip.tell(row, this, false);
  }
  choose(row, from, byte) {
    this.pin = row;
    this.byte = byte ?? -1;
    this.reveal(this.shows(row) ? row : served(row));
    this.mark();
    this.showRow(row);
    if (from !== 'hex' && row.start < this.message.sections[0][2] + this.message.sections[0][0] || from !== 'hex') {
      this.hexLines.show(this.lineOf(anchor(this.message, row)), true);
    }
    this.strip.tell(row, this, true);
    if (this.chosen) this.chosen(row);
  }
  release() {
    this.pin = null;
    this.byte = -1;
    this.mark();
    this.strip.idle();
  }
  showRow(row) {
    const at = this.places.get(this.shown(row));
    if (at !== undefined) this.lines.show(at, true);
  }
  mark() {
    const row = this.pin || this.hot, {message, marked} = this, cls = this.pin ? 'pin' : 'hot';
    for (const [old, name] of marked) {
      const at = this.places.get(old);
      const line = at === undefined ? null : this.lines.element(at);
      if (line) { line.classList.remove(name); line.removeAttribute('aria-selected'); }
    }
    marked.clear();
    this.underlay.replaceChildren();
    for (const [, at] of message.errors) this.flag(at, 'err');
    for (const [, at] of message.notes) this.flag(at, 'odd');
    this.tree.removeAttribute('aria-activedescendant');
    if (!row) return;
    if (this.byte >= 0) {
      for (const one of rowsAt(message, this.byte)) {
        const shown = this.shown(one);
        if (!marked.has(shown)) marked.set(shown, 'within');
        if (!one.kids.some(kid => kid.start <= this.byte && this.byte < kid.end)) marked.set(shown, cls);
      }
    }
    marked.set(this.shown(row), cls);
    for (const [one, name] of marked) {
      const at = this.places.get(one), line = at === undefined ? null : this.lines.element(at);
      if (line) {
        line.classList.add(name);
        if (name === 'pin') line.setAttribute('aria-selected', 'true');
      }
    }
    this.tree.setAttribute('aria-activedescendant', this.id + this.shown(row).i);
    if (row.end > row.start) {
      const plain = !row.kids.length;
      this.shade(row.start, row.end, plain ? cls : 'hot');
      if (this.pin && !plain) this.shadeOwn(row);
    } else {
      const at = anchor(message, row);
      this.shade(at, at + 1, cls);
    }
    if (row.content) this.shade(row.content[0], row.content[0] + row.content[1], 'hot');
    if (this.pin && this.byte >= 0) this.shade(this.byte, this.byte + 1, 'cur');
  }
  // The bytes of a container that are not those of its members.
  shadeOwn(row) {
    const section = sectionAt(this.message, row.start), {own} = section;
    const last = Math.min(row.end - section[0], section[2]);
    let from = -1, runs = 0;
    for (let at = row.start - section[0]; at <= last && runs < 200; at++) {
      const mine = at < last && own[at] === row.i;
      if (mine && from < 0) from = at;
      if (!mine && from >= 0) {
        this.shade(section[0] + from, section[0] + at, 'pin');
        from = -1;
        runs++;
      }
    }
  }
  flag(at, cls) {
    const shown = this.message.sections[0][2];
    if (at >= 0 && at <= shown && shown) {
      const place = Math.min(at, shown - 1);
      this.shade(place, place + 1, cls);
    }
  }
}

// The line below a message, which names what is marked.
class Strip {
  constructor() {
    this.live = el('span', 'live');
    this.live.setAttribute('role', 'status');
    this.box = el('div', 'strip', this.live);
    this.idle();
  }
  idle() {
    this.live.replaceChildren(
      el('span', 'muted', 'Point at a line or at a byte; click to hold it. Arrow keys walk the tree and the bytes.'));
  }
  tell(row, view, held) {
    const {message} = view, size = row.end - row.start;
    const sort = !row.layout ? '' : row.name === 'key' ? 'key, ' : row.kind === 'c' ? 'class definition, ' : 'layout, ';
    const section = sectionAt(message, row.start);
    const at = section[0] ? row.start - section[0] : message.offset + row.start;
    const path = row.path || '(the whole message)', code = el('code', '', path);
    code.title = path;
    this.live.replaceChildren(code, el('span', 'muted', ` ${sort}offset ${int(at)} (${hexNumber(at)}), ${many(size, 'byte')}`
      + `${size < message.length ? ', ' + share(size, message.length) : ''} `));
    if (!held) return;
    const full = valueOf(message, row);
    const texts = [['copy path', path], ['copy hex', hexOf(bytesOf(message, row.start, row.end))]];
    if (full && SCALARS.includes(row.kind)) texts.push(['copy value', full]);
    for (const [label, text] of texts) {
      const one = button(label, '', () => navigator.clipboard?.writeText(text).then(() => { one.textContent = 'copied'; }, () => 0));
      this.live.append(one, ' ');
    }
    if (full.length > MOST_VALUE) this.live.append(el('div', 'full mono', cut(full, 4000)));
  }
}
