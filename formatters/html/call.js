// A call: its messages side by side, the objects in them, their fields by bytes.
const CALL = {tab: ''};

function callPage(main, index, part, path) {
  const call = CALLS[index];
  if (!call) return main.append(el('p', 'empty', 'There is no such call.'));
  try { selectCalls(); } catch { LIST.calls = CALLS; } // the filter of the list may be wrong
  const at = LIST.calls.indexOf(call), first = call.messages[0];
  const back = link(LIST.text ? filterHash(LIST.text) : '#calls', 'btn', '‹ Calls');
  back.id = 'back';
  const step = by => () => { LIST.at = at + by; go('#call/' + LIST.calls[at + by].index); };
  const before = button('↑', 'Previous call (p)', step(-1)), after = button('↓', 'Next call (n)', step(1));
  before.id = 'previous';
  after.id = 'next';
  before.disabled = at <= 0;
  after.disabled = at < 0 || at >= LIST.calls.length - 1;
  main.append(el('div', 'callhead', el('span', 'nav', back, ' ', before, ' ', after), el('h1', '', callName(call)), pill(call),
    call.latency >= 0 ? el('b', 'num', duration(call.latency)) : null));
  const flow = first.flow < 0 ? null : DATA.flows[first.flow];
  const answered = call.messages.filter(m => m.direction !== call.asks).at(-1);
  const packets = call.messages.flatMap(m => m.packets);
  const facts = [
    ['row', String(call.index + 1)],
    flow ? ['conversation', link('#talk/' + flow[0], '', `${flow[0]}, ${flow[1]} → ${flow[2]}`)] : ['file', call.file],
    first.time ? [call.call ? 'asked' : 'at', clock(first.time)] : null, answered && first.time && call.call ? ['answered', clock(answered.time)] : null,
    packets.length ? ['packets', packets.slice(0, 8).join(', ') + (packets.length > 8 ? ', …' : '')] : null, ['protocol', call.protocol],
    call.status ? ['status', call.status] : null, call.exception ? ['exception', cut(call.exception, 300)] : null,
    call.id ? ['id', call.id] : null, call.trace ? ['trace', call.trace] : null,
  ];
  main.append(el('p', 'meta', ...facts.filter(Boolean).map(([name, value]) => el('span', '', name + ' ', el('b', '', value)))));

  let asked = 0, replied = 0;
  const names = call.messages.map(message => {
    if (!call.call) return 'Message';
    if (message.direction === call.asks) return ++asked > 1 ? `Request ${asked}` : 'Request';
    return ++replied > 1 ? `Reply ${replied}` : 'Reply';
  });
  const keys = names.map(name => name.toLowerCase().replace(' ', ''));
  const tabs = [];
  if (call.messages.length > 1) tabs.push(['both', 'Side by side']);
  names.slice(0, 20).forEach((name, place) => tabs.push([keys[place], name]));
  tabs.push(['objects', 'Objects'], ['fields', 'Fields by bytes']);
  let tab = tabs.some(([key]) => key === CALL.tab) ? CALL.tab : tabs[0][0];
  const strip = new Strip(), wide = () => main.clientWidth * (innerWidth > 900 && tab === 'both' ? .5 : 1);
  const width = () => wide() >= (tab === 'both' || innerWidth <= 900 ? 600 : 1100) ? 16 : 8;
  const views = call.messages.slice(0, 20).map(message => new View(message, strip, width()));
  let which = 0;
  const largest = asks => call.messages.slice(0, 20).reduce((best, message, place) => (message.direction === call.asks) === asks
    && (best < 0 || message.length > call.messages[best].length) ? place : best, -1);
  const pair = [largest(true), largest(false)];
  if (pair[0] < 0 || pair[1] < 0) pair.splice(0, 2, 0, 1); // two of one direction

  const bar = el('div', 'seg'), body = el('div', 'body');
  bar.setAttribute('role', 'tablist');
  bar.setAttribute('aria-label', 'Views of the call');
  const wire = button('Wire parts', 'Show class definitions, lengths and tags in the tree (w)', () => {
    for (const view of views) view.setWire(!view.wire);
    wire.setAttribute('aria-pressed', String(views[0].wire));
  });
  wire.id = 'wire';
  wire.setAttribute('aria-pressed', 'false');
  const find = finder(views, (view, row) => {
    const place = views.indexOf(view);
    if (!(tab === 'both' && pair.includes(place)) && tab !== keys[place]) setTab(keys[place]);
    for (const one of views) if (one !== view && one.pin) one.release();
    view.choose(row);
  });
  main.append(el('div', 'bar', bar, wire, el('span', 'grow'), ...find), body, strip.box);

  const head = (view, name) => el('div', 'panehead', el('b', '', name), el('span', 'summary', view.message.summary),
    el('span', 'grow'), el('span', '', many(view.message.length, 'byte')));
  const pane = (cls, ...kids) => el('div', 'pane ' + cls, ...kids);
  function draw() {
    for (const one of bar.children) {
      const on = one.dataset.key === tab;
      one.setAttribute('aria-selected', String(on));
      one.tabIndex = on ? 0 : -1;
    }
    body.replaceChildren();
    wire.hidden = tab === 'objects' || tab === 'fields';
    for (const view of views) view.setWidth(width());
    if (tab === 'both') {
      body.append(el('div', 'panes two', ...pair.map(place => pane('stack',
        el('div', '', head(views[place], names[place]), ...banners(views[place])), views[place].tree, views[place].hex))));
    } else if (keys.includes(tab)) {
      which = keys.indexOf(tab);
      const view = views[which];
      body.append(el('div', 'panes', pane('', head(view, names[which]), ...banners(view), view.tree),
        pane('', el('div', 'panehead', el('b', '', 'Bytes')), view.hex)));
    } else {
      if (views.length > 1) {
        const choice = el('div', 'seg choice');
        views.forEach((view, place) => {
          const one = button(names[place], '', () => { which = place; draw(); });
          one.setAttribute('aria-pressed', String(place === which));
          choice.append(one);
        });
        body.append(choice);
      }
      body.append(el('section', 'card', tab === 'objects' ? objectGraph(views[which], draw) : fieldShares(views[which])));
    }
    for (const view of views) {
      view.lines.again();
      view.hexLines.again();
      view.mark();
    }
  }
  function setTab(key) {
    tab = CALL.tab = key;
    draw();
  }
  for (const [key, name] of tabs) {
    const one = button(name, '', () => setTab(key));
    one.dataset.key = key;
    one.setAttribute('role', 'tab');
    bar.append(one);
  }
  bar.onkeydown = event => {
    const by = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (!by) return;
    const place = tabs.findIndex(([key]) => key === tab), to = (place + by + tabs.length) % tabs.length;
    setTab(tabs[to][0]);
    bar.children[to].focus();
    event.preventDefault();
  };
  draw();
  views.forEach((view, place) => {
    view.chosen = row => {
      for (const one of views) if (one !== view && one.pin) { one.pin = null; one.mark(); }
      history.replaceState(null, '', `#call/${index}/${keys[place]}/${encodeURIComponent(row.path)}`);
    };
  });
  PRINTED.clear();
  for (const view of views) { PRINTED.add(view.lines); PRINTED.add(view.hexLines); }
  document.wirelens = {views, call};
  const place = keys.indexOf(part), row = place < 0 ? null : views[place].rows.find(one => one.path === path);
  if (row) {
    if (tab !== 'both' && tab !== part) setTab(part);
    requestAnimationFrame(() => views[place].choose(row));
    return;
  }
  const bad = views.find(view => view.message.errors.length);
  if (bad) requestAnimationFrame(() => {
    bad.choose(errorRow(bad));
    strip.box.scrollIntoView({block: 'nearest'});
  });
}
const errorRow = view => view.rows.find(row => row.kind === 'x')
  || rowAt(view.message, Math.max(0, Math.min(view.message.errors[0][1], view.message.length - 1)));
// The errors and notes of a message, each leading to its place.
const MOST_BANNERS = 4;
function banners(view) {
  const {message} = view, lines = [];
  const line = (cls, mark, [code, at, text], row) => {
    const one = el('button', 'banner ' + cls, `${mark} ${code}${text ? ': ' + text : ''} `,
      el('span', 'muted', `at offset ${int(message.offset + at)} (${hexNumber(message.offset + at)})`));
    one.onclick = () => view.choose(row() || view.rows[0]);
    lines.push(one);
  };
  const errors = view.rows.filter(row => row.kind === 'x');
  message.errors.forEach((error, place) => line('error', '✕', error, () => errors[place] || errorRow(view)));
  const notes = view.rows.filter(row => row.isNote);
  message.notes.forEach((note, place) => line('note', '◆', note, () => notes[place]));
  if (message.left) lines.push(el('p', 'banner note', `${many(message.left, 'node')} left out of the tree: the message is too large for this page`));
  if (lines.length <= MOST_BANNERS) return lines;
  const more = el('p', 'banner note', `${lines.length - MOST_BANNERS + 1} more, at their places`);
  return [...lines.slice(0, MOST_BANNERS - 1), more];
}
// The box that finds a text in the messages, and the number of what it found.
function finder(views, show) {
  const input = el('input'), box = el('label', 'filter small', el('span', 'muted', '⌕'), input), hits = el('span', 'muted num');
  input.id = 'find';
  input.placeholder = 'find in the message (f)';
  input.spellcheck = false;
  input.setAttribute('aria-label', 'Find in the message');
  hits.setAttribute('role', 'status');
  let hit = -1;
  input.oninput = () => { hit = -1; hits.textContent = ''; };
  input.onkeydown = event => {
    event.stopPropagation();
    if (event.key === 'Escape') { input.value = ''; input.oninput(); input.blur(); }
    if (event.key !== 'Enter' || !input.value) return;
    const text = input.value.toLowerCase();
    const found = views.flatMap(view => view.rows.filter(row => row.up && view.shows(row) && (row.path.toLowerCase() === text
      || `${row.name} ${valueOf(view.message, row)} ${row.note} ${row.type}`.toLowerCase().includes(text))).map(row => [view, row]));
    if (!found.length) { hits.textContent = 'none'; return; }
    hit = (hit + (event.shiftKey ? -1 : 1) + found.length) % found.length;
    show(...found[hit]);
    hits.textContent = `${hit + 1} of ${found.length}`;
  };
  return [hits, box];
}
