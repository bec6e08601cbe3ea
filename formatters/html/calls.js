// The list of calls.
const LIST = {text: '', sort: 'index', down: false, calls: CALLS, at: 0, top: 0, filters: false}; // filters: whether the filter gets the focus
const ROW = 30; // pixels
const COLUMNS = [
  ['#', 'index', 'num v'], ['time', 'time', 'v'], ['conv.', 'conversation', 'num'], ['call', 'name', ''],
  ['outcome', 'outcome', ''], ['latency', 'latency', ''], ['request', 'request', 'num w'], ['reply', 'reply', 'num w'],
];
const DESCENDING = new Set(['latency', 'request', 'reply']); // first
const SORTS = {name: fullName, outcome: c => c.sort + outcome(c)};
const EXAMPLES = ['outcome!=ok', 'latency>50ms', 'method~find', 'errors>0', 'notes>0'];

function selectCalls() {
  LIST.calls = CALLS.filter(parseFilter(LIST.text));
  const key = SORTS[LIST.sort] || (call => call[LIST.sort]), way = LIST.down ? -1 : 1;
  LIST.calls.sort((a, b) => {
    const x = key(a), y = key(b);
    return x < y ? -way : x > y ? way : a.index - b.index;
  });
}
function callsPage(main) {
  const input = el('input'), hint = el('p', 'hint'), number = el('span', 'muted');
  const box = el('label', 'filter', el('span', 'muted', '⌕'), input);
  input.id = 'filter';
  input.value = LIST.text;
  input.placeholder = 'filter, as --where: method=place latency>20ms outcome!=ok';
  input.spellcheck = false;
  input.setAttribute('aria-label', 'Filter calls');
  number.setAttribute('role', 'status');
  const clear = button('Clear', '', () => { input.value = ''; input.oninput(); input.focus(); });
  main.append(el('h1', 'unseen', 'Calls'), el('div', 'bar', box, clear, number), hint);

  const grid = el('div', 'calls'), head = el('div', 'row head'), view = el('div', 'view');
  grid.setAttribute('role', 'grid');
  grid.setAttribute('aria-label', 'Calls');
  head.setAttribute('role', 'row');
  const heads = COLUMNS.map(([text, key, cls]) => {
    const sort = el('button', '', text), cell = el('div', cls, sort);
    cell.setAttribute('role', 'columnheader');
    sort.onclick = () => {
      LIST.down = LIST.sort === key ? !LIST.down : DESCENDING.has(key);
      LIST.sort = key;
      LIST.at = 0;
      view.scrollTop = 0;
      update();
    };
    head.append(cell);
    return [cell, key];
  });
  view.tabIndex = 0;
  view.setAttribute('role', 'rowgroup');
  grid.append(head, view);
  main.append(grid);

  const sorted = latencies(CALLS), slow = quantile(sorted, .99), most = Math.log10(Math.max(sorted.at(-1) || 1, 1000));
  const wide = us => Math.max(3, (Math.log10(Math.max(us, 1)) - 2) / (most - 2) * 100);
  function line(at) {
    const call = LIST.calls[at], bar = el('b'), latency = el('div', 'lat' + (call.latency >= slow ? ' slow' : ''));
    latency.append(el('span', 'num', duration(call.latency) || '–'), el('i', call.latency < 0 ? 'none' : '', bar));
    if (call.latency >= 0) bar.style.width = wide(call.latency) + '%';
    const inside = call.errors && call.outcome !== 'not decoded'
      ? el('span', 'pill fault', `✕ ${many(call.errors, 'error')} inside`) : null;
    const row = el('div', 'row' + (at === LIST.at ? ' on' : ''),
      el('div', 'num muted v', String(call.index + 1)), el('div', 'muted v mono', clock(call.time) || call.file),
      el('div', 'num muted', call.conversation ? String(call.conversation) : '–'), el('div', 'n', callName(call)),
      el('div', '', pill(call), inside), latency, el('div', 'num w', int(call.request)),
      el('div', 'num w', call.reply ? int(call.reply) : '–'));
    row.setAttribute('role', 'row');
    row.setAttribute('aria-rowindex', at + 2);
    row.id = 'row' + at;
    for (const cell of row.children) cell.setAttribute('role', 'gridcell');
    if (at === LIST.at) row.setAttribute('aria-selected', 'true');
    row.onclick = () => { LIST.at = at; go('#call/' + call.index); };
    return row;
  }
  const lines = new Lines(view, ROW, line);
  lines.after = () => { LIST.top = view.scrollTop; view.setAttribute('aria-activedescendant', 'row' + LIST.at); };
  PRINTED.clear();
  PRINTED.add(lines);
  function update() {
    try {
      selectCalls();
    } catch (error) {
      hint.className = 'hint bad';
      hint.textContent = String(error);
      box.classList.add('bad');
      return;
    }
    hint.className = 'hint';
    box.classList.remove('bad');
    hint.replaceChildren('try ', ...EXAMPLES.flatMap(text => {
      const one = el('button', '', text);
      one.onclick = () => { input.value = (input.value + ' ' + text).trim(); input.oninput(); };
      return [one, ' '];
    }));
    for (const [cell, key] of heads) {
      cell.setAttribute('aria-sort', key === LIST.sort ? (LIST.down ? 'descending' : 'ascending') : 'none');
    }
    const found = LIST.calls.length;
    grid.setAttribute('aria-rowcount', found + 1);
    number.textContent = found === CALLS.length ? many(found, 'row') : `${int(found)} of ${many(CALLS.length, 'row')}`;
    LIST.at = Math.min(LIST.at, Math.max(0, found - 1));
    lines.resize(found);
    if (!found) lines.inner.append(el('div', 'empty', `None of ${many(CALLS.length, 'row')} matches.`));
  }
  input.oninput = () => {
    LIST.text = input.value.trim();
    LIST.at = 0;
    view.scrollTop = 0;
    history.replaceState(null, '', LIST.text ? filterHash(LIST.text) : '#calls');
    update();
  };
  input.onkeydown = event => {
    event.stopPropagation();
    if (event.key === 'Escape') { input.value = ''; input.oninput(); }
    if (!['ArrowDown', 'Enter', 'Escape'].includes(event.key)) return;
    view.focus();
    event.preventDefault();
  };
  view.onkeydown = event => {
    const page = Math.floor(view.clientHeight / ROW) - 1;
    const step = {ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: page, PageUp: -page, Home: -1e9, End: 1e9}[event.key];
    if (step) {
      LIST.at = Math.max(0, Math.min(LIST.calls.length - 1, LIST.at + step));
      lines.show(LIST.at);
      lines.again();
      event.preventDefault();
    } else if (event.key === 'Enter' && LIST.calls[LIST.at]) {
      go('#call/' + LIST.calls[LIST.at].index);
    }
  };
  const top = LIST.top;
  update();
  view.scrollTop = top;
  lines.draw();
  (LIST.filters ? input : view).focus({preventScroll: true});
  LIST.filters = false;
}
