// The data, and what all pages use.
const packed = Uint8Array.from(atob(document.getElementById('data').textContent), c => c.charCodeAt(0));
const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
const whole = new Uint8Array(await new Response(stream).arrayBuffer());
const jsonSize = new DataView(whole.buffer).getUint32(0);
const DATA = JSON.parse(new TextDecoder().decode(whole.subarray(4, 4 + jsonSize)));
const RAW = whole.subarray(4 + jsonSize);
const TEXTS = DATA.strings;
const MESSAGES = DATA.messages;
{
  let at = 0, row = 0;
  for (const message of MESSAGES) {
    for (const name of ['protocol', 'kind', 'summary', 'file']) message[name] = TEXTS[message[name]];
    message.firstRow = row;
    row += message.rows;
    for (const section of message.sections) { // [start, length, shown] and where its bytes are
      section.push(at);
      at += section[2];
    }
  }
}
const timed = MESSAGES.filter(m => m.time);
const START = timed.reduce((least, m) => Math.min(least, m.time), Infinity);
const END = timed.reduce((most, m) => Math.max(most, m.time), 0);
const CALLS = DATA.calls.map((call, index) => {
  const messages = call.messages.map(number => MESSAGES[number]);
  const asks = call.call ? call.answered : messages[0].direction;
  const of = way => messages.filter(m => (m.direction === asks) === way).reduce((sum, m) => sum + m.length, 0);
  const errors = messages.reduce((sum, m) => sum + m.errors.length, 0);
  let sort = 'none';
  if (call.outcome === 'ok') sort = 'ok';
  else if (call.outcome === 'error') sort = call.exception ? 'exception' : 'fault';
  else if (call.outcome === 'unanswered' || call.outcome === 'not decoded') sort = 'fault';
  const first = messages[0];
  return {
    ...call, index, messages, asks, sort, errors, protocol: first.protocol, flow: first.flow,
    conversation: first.flow < 0 ? 0 : DATA.flows[first.flow][0], time: first.time, file: first.file,
    latency: call.latency === null ? -1 : call.latency, request: of(true), reply: of(false),
    notes: messages.reduce((sum, m) => sum + m.notes.length, 0),
  };
});
const TIMED = CALLS.filter(call => call.latency >= 0);
const FLOWS = DATA.flows.map(([number, client, server]) => ({number, client, server, calls: []}));
for (const call of CALLS) if (call.flow >= 0) FLOWS[call.flow].calls.push(call);
FLOWS.sort((a, b) => a.number - b.number);

const callCount = flow => many(flow.calls.filter(call => call.call).length, 'call');

const $ = id => document.getElementById(id);
const go = hash => { location.hash = hash; };

// Elements. Texts are always text nodes, so that nothing in them is markup.
function el(tag, cls, ...kids) {
  const element = document.createElement(tag);
  if (cls) element.className = cls;
  for (const kid of kids) if (kid !== null && kid !== undefined && kid !== '') element.append(kid);
  return element;
}
function svg(tag, attributes, ...kids) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const name in attributes) element.setAttribute(name, attributes[name]);
  for (const kid of kids) if (kid !== null) element.append(kid);
  return element;
}
function link(hash, cls, ...kids) {
  const element = el('a', cls, ...kids);
  element.href = hash;
  return element;
}
function button(text, title, act) {
  const element = el('button', 'btn', text);
  if (title) { element.title = title; element.setAttribute('aria-label', title); }
  element.onclick = act;
  return element;
}

// Numbers, times, names.
const NARROW = '\u202f';
const whole_number = new Intl.NumberFormat('en-US');
const int = number => whole_number.format(number);
const many = (number, noun) => `${int(number)} ${noun}${number === 1 ? '' : noun.endsWith('y') ? '' : 's'}`;
const share = (part, all) => (100 * part / Math.max(all, 1)).toFixed(1) + NARROW + '%';
function duration(us) {
  if (us < 0) return '';
  if (us >= 1e8) return `${Math.floor(us / 6e7)}${NARROW}min ${Math.round(us % 6e7 / 1e6)}${NARROW}s`;
  const [value, unit] = us >= 1e6 ? [us / 1e6, 's'] : us >= 1e3 ? [us / 1e3, 'ms'] : [us, 'µs'];
  const digits = value >= 99.95 || unit === 'µs' ? 0 : value >= 9.995 ? 1 : 2;
  return value.toFixed(digits) + NARROW + unit;
}
const date = us => new Date(us / 1e3).toISOString();
const clock = us => us ? date(us).slice(11, 19) + '.' + String(us % 1e6).padStart(6, '0').slice(0, 4) : '';
// A time after the start, in seconds: the two largest units where it is a minute or more.
function elapsed(seconds, digits) {
  for (const [unit, size, lower, part] of [['d', 86400, 'h', 3600], ['h', 3600, 'min', 60], ['min', 60, 's', 1]]) {
    if (seconds < size) continue;
    const whole = Math.floor(seconds / size), rest = Math.floor((seconds - whole * size) / part);
    return whole + NARROW + unit + (rest ? ' ' + rest + NARROW + lower : '');
  }
  return +seconds.toFixed(digits) + NARROW + 's';
}
const since = us => us ? us - START < 60e6 ? ((us - START) / 1e6).toFixed(2) + NARROW + 's' : elapsed((us - START) / 1e6) : '';
const lastName = name => name.slice(name.lastIndexOf('.') + 1);
const initials = name => name.split('.').map(word => word.slice(0, 1)).join('.');
const hexNumber = number => '0x' + number.toString(16);
function quantile(sorted, part) {
  return sorted.length ? sorted[Math.max(Math.ceil(part * sorted.length) - 1, 0)] : -1;
}
const ascending = (a, b) => a - b;
const latencies = calls => calls.filter(c => c.latency >= 0).map(c => c.latency).sort(ascending);
// What is not printable, or changes the direction of text, as an escape.
const clean = text => text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, char => {
  const known = {'\n': '\\n', '\r': '\\r', '\t': '\\t'}[char];
  return known || '\\u{' + char.codePointAt(0).toString(16) + '}';
});
const cut = (text, most) => text.length > most ? text.slice(0, most - 1) + '…' : text;

const isPath = call => call.method.startsWith('/'); // of HTTP, after the host
const fullName = call => call.service ? `${call.service}${isPath(call) || !call.method ? '' : '.'}${call.method}`
  : call.method || call.messages[0].summary;
function callName(call) {
  const name = el('span', 'name');
  name.title = fullName(call);
  if (isPath(call)) {
    name.append(el('span', 'pkg', call.service), el('span', 'meth', call.method));
    return name;
  }
  if (!call.service) {
    name.append(el('span', call.method ? 'meth' : '', fullName(call)));
    return name;
  }
  const place = call.service.lastIndexOf('.') + 1;
  const long = el('span', 'pkg', call.service.slice(0, place));
  name.append(long, el('span', 'short', call.service.slice(place) + (call.method ? '.' : '')), el('span', 'meth', call.method));
  return name;
}
function outcome(call) {
  if (call.outcome === 'error') return call.exception ? lastName(cut(call.exception, 200)) : call.status || 'error';
  return call.outcome || call.messages[0].kind;
}
const MARKS = {fault: '✕ ', exception: '◆ '};
function pill(call) {
  const element = el('span', 'pill ' + call.sort, (MARKS[call.sort] || '') + outcome(call));
  element.title = call.exception || call.status || call.outcome;
  return element;
}
function group(items, key) {
  const groups = new Map();
  for (const item of items) {
    const name = key(item);
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(item);
  }
  return groups;
}

// A small box beside the pointer.
const tip = el('div', 'tip');
tip.hidden = true;
document.body.append(tip);
function showTip(x, y, ...kids) {
  tip.replaceChildren(...kids);
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 8)) + 'px';
  tip.style.top = (y + 18 + box.height > innerHeight ? y - box.height - 10 : y + 16) + 'px';
}
const hideTip = () => { tip.hidden = true; };
const callTip = call => [
  el('div', '', callName(call)),
  el('div', 'muted', `${clock(call.time)}  ·  conversation ${call.conversation}  ·  `,
    el('b', '', duration(call.latency) || '–'), `  ·  ${outcome(call)}`),
];

// A table: headings are [text, class]; rows are arrays of cells, with the address that a row leads to.
function table(label, headings, rows) {
  const body = el('tbody');
  for (const {cells, hash} of rows) {
    const row = el('tr', hash ? 'go' : '', ...cells.map((cell, place) => el('td', headings[place][1] || '', cell)));
    if (hash) row.onclick = event => { if (!event.target.closest('a')) go(hash); };
    body.append(row);
  }
  const head = el('tr', '', ...headings.map(([text, cls]) => {
    const cell = el('th', cls || '', text);
    cell.scope = 'col';
    return cell;
  }));
  const element = el('table', 'plain', el('thead', '', head), body);
  element.setAttribute('aria-label', label);
  return el('div', 'scroll', element);
}
const card = (title, remark, ...kids) =>
  el('section', 'card', el('header', '', el('h2', '', title), remark ? el('p', '', remark) : null), ...kids);

// A list of lines of one height, of which only those in view are elements.
class Lines {
  constructor(box, height, paint) {
    this.box = box;
    this.height = height;
    this.paint = paint; // the element of a line
    this.size = 0;
    this.inner = el('div', 'lines');
    box.append(this.inner);
    box.addEventListener('scroll', () => this.draw());
    new ResizeObserver(() => this.draw()).observe(box);
  }
  resize(size) {
    this.size = size;
    this.first = -1;
    this.draw();
  }
  draw(all) {
    const {box, height, size} = this;
    let first = Math.max(0, Math.floor(box.scrollTop / height) - 10);
    let last = Math.min(size, first + Math.ceil((box.clientHeight || 600) / height) + 20);
    if (all) [first, last] = [0, Math.min(size, 1000)];
    if (first === this.first && last === this.last) return;
    [this.first, this.last] = [first, last];
    const lines = document.createDocumentFragment();
    for (let at = first; at < last; at++) lines.append(this.paint(at));
    this.inner.style.paddingTop = first * height + 'px';
    this.inner.style.paddingBottom = (size - last) * height + 'px';
    this.inner.replaceChildren(lines);
    if (this.after) this.after();
  }
  again() {
    this.first = -1;
    this.draw();
  }
  element(at) { return at >= this.first && at < this.last ? this.inner.children[at - this.first] : null; }
  show(at, middle) {
    const {box, height} = this;
    const top = at * height, room = box.clientHeight;
    if (top >= box.scrollTop && top + height <= box.scrollTop + room) return;
    if (middle) box.scrollTop = top - room * .35;
    else box.scrollTop = top < box.scrollTop ? top : top + height - room;
    this.draw();
  }
}
const PRINTED = new Set(); // lists that print as a whole
addEventListener('beforeprint', () => { for (const lines of PRINTED) lines.draw(true); });
addEventListener('afterprint', () => { for (const lines of PRINTED) lines.again(); });
