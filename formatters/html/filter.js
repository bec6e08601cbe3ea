// The filter of calls: a part of the language of --where.
const FIELDS = {
  method: c => c.method, service: c => c.service, outcome: c => c.outcome, exception: c => c.exception,
  status: c => c.status, protocol: c => c.protocol, id: c => c.id, trace: c => c.trace, file: c => c.file,
  flow: c => c.conversation, latency: c => c.latency, request: c => c.request, reply: c => c.reply,
  time: c => c.time ? (c.time - START) / 1e6 : -1, errors: c => c.errors, notes: c => c.notes, call: c => c.call,
};
const NUMBERS = new Set(['flow', 'latency', 'request', 'reply', 'time', 'errors', 'notes', 'call']);
const UNITS = {µs: 1, us: 1, ms: 1e3, s: 1e6, '': 1e6};
const COMPARE = {
  '=': (a, b) => a === b, '!=': (a, b) => a !== b, '<': (a, b) => a < b, '>': (a, b) => a > b,
  '<=': (a, b) => a <= b, '>=': (a, b) => a >= b,
};
function parseFilter(text) {
  const tests = [];
  for (const word of text.match(/(?:"[^"]*"|[^\s"])+/g) || []) {
    if (word.toLowerCase() === 'and') continue;
    const match = /^([a-z_]+)(!=|>=|<=|!~|=|~|>|<)(.+)$/i.exec(word);
    const plain = (match ? match[3] : word).replace(/"/g, '').toLowerCase();
    if (!match) {
      tests.push(c => `${fullName(c)} ${c.outcome} ${c.status} ${c.exception} ${c.file}`.toLowerCase().includes(plain));
      continue;
    }
    const [, field, operator] = match, get = FIELDS[field];
    if (!get) throw `no field “${field}”; there are ${Object.keys(FIELDS).join(', ')}`;
    if (NUMBERS.has(field)) {
      const number = /^([\d.]+)(µs|us|ms|s|)$/.exec(plain), compare = COMPARE[operator];
      if (!number || !compare) throw `“${word}”: expected a number${field === 'latency' ? ', as 250µs, 20ms, 1.5s' : ''}`;
      const value = field === 'latency' ? number[1] * UNITS[number[2]] : +number[1];
      tests.push(c => get(c) >= 0 && compare(get(c), value));
    } else if (operator === '~' || operator === '!~') {
      tests.push(c => String(get(c)).toLowerCase().includes(plain) === (operator === '~'));
    } else if (operator === '=' || operator === '!=') {
      tests.push(c => (String(get(c)).toLowerCase() === plain) === (operator === '='));
    } else {
      throw `“${field}” is a text: =, !=, ~ and !~ compare it`;
    }
  }
  return call => tests.every(test => test(call));
}
const filterHash = text => '#calls?' + encodeURIComponent(text);
const filterTerm = (field, value) => `${field}=${/^[^\s"]+$/.test(value) ? value : '"' + value.replace(/"/g, '') + '"'}`;
