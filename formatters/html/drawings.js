// A message's objects as a graph, and its fields by their share of bytes.
const MOST_BOXES = 26, MOST_FIELDS = 22, MOST_ITEMS = 8;
const BOX = {width: 252, row: 19, head: 24, between: 70};
const FILLS = {s: 'fs', n: 'fn', r: 'fr', f: 'fnote'};

const isBox = row => !row.layout && !row.made && row.kind === 'o' && !isSmall(row);
// The lines of a box: [name, text, kind, the row that it leads to, whether it refers back].
function boxLines(view, row) {
  const lines = [];
  const put = (name, kid) => {
    if (kid.layout || kid.made || kid.kind === 'x') return;
    if (isBox(kid)) lines.push([name, lastName(kid.type), 'o', kid, false]);
    else if (kid.kind === 'r') lines.push([name, valueOf(view.message, kid), 'r', kid.target, true]);
    else if (kid.kind === '[' || kid.kind === 'm' || kid.kind === '{') {
      lines.push([name, kid.type, '', null, false]);
      const inner = kid.kids.filter(one => !one.layout);
      for (const one of inner.slice(0, MOST_ITEMS)) put('\u00a0\u00a0' + one.name, one);
      if (inner.length > MOST_ITEMS) lines.push(['\u00a0\u00a0…', many(inner.length - MOST_ITEMS, 'more item'), '', null, false]);
    } else if (isSmall(kid)) lines.push([name, kid.note, 'f', null, false]);
    else lines.push([name, kid.kind === 'b' ? kid.type : valueOf(view.message, kid), kid.kind, null, false]);
  };
  for (const kid of row.kids) put(kid.name, kid);
  if (lines.length <= MOST_FIELDS) return lines;
  return [...lines.slice(0, MOST_FIELDS), ['…', many(lines.length - MOST_FIELDS, 'more line'), '', null, false]];
}
function objectGraph(view, redraw) {
  const all = view.rows.filter(isBox);
  if (!all.length) return el('p', 'empty', 'There are no objects in this message.');
  const inBox = row => {
    for (let above = row.up; above; above = above.up) if (isBox(above)) return true;
    return false;
  };
  const roots = view.focus && isBox(view.focus) ? [view.focus] : all.filter(row => !inBox(row));
  const boxes = new Map(), queue = roots.map(row => [row, 0]);
  while (queue.length && boxes.size < MOST_BOXES) {
    const [row, column] = queue.shift();
    if (boxes.has(row)) continue;
    const lines = boxLines(view, row), box = {row, column, lines, height: BOX.head + lines.length * BOX.row + 7, kids: []};
    boxes.set(row, box);
    for (const [, , , to, back] of lines) {
      if (to && !back && !boxes.has(to)) { queue.push([to, column + 1]); box.kids.push(to); }
    }
  }
  const place = (row, y) => { // boxes are nested at most as deep as there are boxes
    const box = boxes.get(row);
    if (!box || box.y !== undefined) return y;
    box.y = y;
    let below = y;
    for (const kid of box.kids) below = place(kid, below);
    return Math.max(below, y + box.height + 16);
  };
  let y = 10;
  for (const row of roots) y = place(row, y);
  const columns = Math.max(...[...boxes.values()].map(box => box.column)) + 1;
  const width = columns * (BOX.width + BOX.between) + 40, height = y + 6;
  const arrow = (id, color) => svg('marker', {id, viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: 'auto'},
    svg('path', {d: 'M0 0L8 4L0 8z', class: color}));
  const edges = svg('g', {});
  const drawing = svg('svg', {width, height, viewBox: `0 0 ${width} ${height}`, role: 'group', 'aria-label': `Graph of ${many(boxes.size, 'object')}`},
    svg('defs', {}, arrow('contains', 'am'), arrow('refers', 'ar')), edges);
  for (const box of boxes.values()) {
    const x = box.x = 20 + box.column * (BOX.width + BOX.between), top = box.y;
    const group = svg('g', {class: 'go', tabindex: 0, role: 'button', 'aria-label': `${lastName(box.row.type)} ${box.row.path}`});
    group.append(svg('rect', {class: 'box' + (view.pin === box.row ? ' on' : ''), x, y: top, width: BOX.width, height: box.height, rx: 7}),
      svg('path', {class: 'boxhead', d: `M${x + .5} ${top + BOX.head}v${-BOX.head + 7}q0-6.5 6.5-6.5h${BOX.width - 14}q6.5 0 6.5 6.5v${BOX.head - 7}z`}),
      svg('text', {class: 'bt', x: x + 10, y: top + 16.5}, cut(lastName(box.row.type), 27)),
      svg('text', {x: x + BOX.width - 10, y: top + 16.5, 'text-anchor': 'end'}, box.row.value || ''));
    box.lines.forEach(([name, text, kind, , back], at) => {
      const line = top + BOX.head + at * BOX.row + 15, short = cut(name, 15);
      group.append(svg('text', {class: 'mono fname', x: x + 10, y: line}, short),
        svg('text', {class: 'mono ' + (FILLS[back ? 'r' : kind] || ''), x: x + BOX.width - 10, y: line, 'text-anchor': 'end'}, cut(text, Math.max(31 - short.length, 4))));
      box.lines[at].y = line - 4;
    });
    const pick = () => {
      view.choose(box.row);
      for (const one of drawing.querySelectorAll('.box')) one.classList.remove('on');
      group.firstChild.classList.add('on');
    };
    group.onclick = pick;
    group.ondblclick = () => { view.focus = box.row; redraw(); };
    group.onkeydown = event => {
      if (event.key === 'Enter') { pick(); event.stopPropagation(); }
      if (event.key === ' ') { view.focus = box.row; redraw(); event.preventDefault(); }
    };
    drawing.append(group);
  }
  for (const box of boxes.values()) {
    for (const line of box.lines) {
      const [, , , to, back] = line, target = boxes.get(to), from = line.y;
      if (!target || Math.abs(target.column - box.column) > 2) continue;
      const end = target.y + 12, right = box.x + BOX.width;
      let path = `M${right} ${from}C${right + 40} ${from} ${target.x - 40} ${end} ${target.x} ${end}`;
      if (target.column < box.column) path = `M${box.x} ${from}C${box.x - 40} ${from} ${target.x + BOX.width + 40} ${end} ${target.x + BOX.width} ${end}`;
      else if (target.column === box.column) path = `M${right} ${from}C${right + 46} ${from} ${right + 46} ${end} ${right} ${end}`;
      edges.append(svg('path', {class: back ? 'edge back' : 'edge', 'marker-end': back ? 'url(#refers)' : 'url(#contains)', d: path}));
    }
  }
  const number = boxes.size === all.length ? many(all.length, 'object') : `${boxes.size} of ${many(all.length, 'object')}`;
  const head = el('div', 'panehead', el('b', '', number), el('span', '', 'solid: contains · dashed: refers back'),
    boxes.size < all.length ? el('span', '', 'double-click a box (or Space) to start from it') : null);
  if (view.focus) head.append(button('All', 'Start from the whole message', () => { view.focus = null; redraw(); }));
  return el('div', '', head, el('div', 'scroll tall', drawing));
}

// Fields by bytes: each row is one level deeper, each width a share of the bytes.
const DEEPEST_FIELDS = 12, FIELD_ROW = 26;
const TONES = {s: 'is', n: 'in', c: 'im', l: 'im', o: 'ia', '{': 'iname', '[': 'iname', m: 'iname', b: 'iw', r: 'ir', x: 'ix', e: 'ie'};
function fieldShares(view) {
  const {message, rows} = view;
  return el('div', '', el('div', 'panehead', el('b', '', many(message.length, 'byte')),
    el('span', '', 'widths are shares of bytes; each row is one level deeper')),
    fitted(width => shares(view, width - 28)), shareTable(message, rows));
}
function shares(view, width) {
  const {message, rows} = view;
  const own = rows.filter(row => !row.made && row.end > row.start && row.start < message.length && row.level <= DEEPEST_FIELDS);
  const deepest = Math.max(...own.map(row => row.level));
  const drawing = svg('svg', {width, height: (deepest + 1) * FIELD_ROW, role: 'img', 'aria-label': 'Fields by their share of bytes; the table below has the numbers'});
  let drawn = 0;
  for (const row of own) {
    const x = row.start / message.length * width, wide = (row.end - row.start) / message.length * width;
    if (wide < .4 || ++drawn > 4000) continue;
    const box = svg('rect', {class: `ic ${TONES[row.kind] || 'im'}${row.layout ? ' lay' : ''}`, x, y: row.level * FIELD_ROW,
      width: Math.max(wide - .5, .4), height: FIELD_ROW - 1, rx: 2});
    const group = svg('g', {}, box), room = Math.floor((wide - 8) / 6.6);
    const word = row.kind === 'c' && row.layout ? lastName(String(valueOf(message, row))) || row.name : row.name || message.protocol;
    if (room >= Math.min(word.length, 4)) {
      group.append(svg('text', {class: 'strong', x: x + 4, y: row.level * FIELD_ROW + 17, 'pointer-events': 'none'}, cut(word, room)));
    }
    group.onmousemove = event => showTip(event.clientX, event.clientY, el('b', '', row.path || 'message'),
      el('div', 'muted', `${many(row.end - row.start, 'byte')}, ${share(row.end - row.start, message.length)}${row.layout ? ', layout' : ''}`));
    group.onmouseleave = hideTip;
    group.onclick = () => {
      hideTip();
      view.choose(row);
      for (const one of drawing.querySelectorAll('.on')) one.classList.remove('on');
      box.classList.add('on');
    };
    drawing.append(group);
  }
  return el('div', 'pad', drawing);
}
function shareTable(message, rows) {
  const sums = {'names of classes and fields': 0, 'texts and bytes': 0, 'numbers and dates': 0, 'all else: tags, ends, references, heads': 0};
  const [section] = message.sections;
  for (const at of section.own) {
    const row = rows[at];
    let name = 'all else: tags, ends, references, heads', above = row;
    while (above && above.kind !== 'c') above = above.up;
    if (!row) continue;
    if (above) name = 'names of classes and fields';
    else if ('sb'.includes(row.kind)) name = 'texts and bytes';
    else if (row.kind === 'n') name = 'numbers and dates';
    sums[name]++;
  }
  const bar = bytes => {
    const inner = el('b');
    inner.style.width = 100 * bytes / Math.max(message.length, 1) + '%';
    return el('div', 'lat', el('i', '', inner));
  };
  const line = (name, bytes) => ({cells: [name, int(bytes), share(bytes, message.length), bar(bytes)]});
  const fields = rows.filter(row => !row.layout && !row.made && !row.kids.length && row.end > row.start && row.start < message.length)
    .sort((a, b) => (b.end - b.start) - (a.end - a.start)).slice(0, 12);
  const headings = what => [[what, 'grow'], ['bytes', 'num'], ['share', 'num'], ['', 'range']];
  return el('div', 'grid2', table('Sorts of bytes', headings('sort'), Object.entries(sums).map(([name, bytes]) => line(name, bytes))),
    table('Largest fields', headings('field'), fields.map(row => line(el('span', 'mono path', row.path || row.name), row.end - row.start))));
}
