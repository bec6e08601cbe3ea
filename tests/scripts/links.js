// Points at each row, then at bytes of it, and collects what is not marked on the other side.
const wrong = [], counts = {rows: 0, bytes: 0};
const bytesMarked = view => {
  const found = new Set();
  for (const mark of view.underlay.children) {
    if (!mark.matches('.hot, .pin') || parseFloat(mark.style.left) >= view.digits + 2 + view.width * 3 + 1) continue;
    const line = parseInt(mark.style.top) / 21, lines = parseInt(mark.style.height) / 21;
    for (let at = line; at < line + lines; at++) {
      const one = view.layout[at];
      for (let place = 0; place < one.end - one.at; place++) {
        const left = view.digits + 2 + place * 3 + (view.width > 8 && place >= 8 ? 1 : 0);
        const from = parseFloat(mark.style.left);
        if (left >= from && left < from + parseFloat(mark.style.width)) found.add(one.section[0] + one.at + place);
      }
    }
  }
  return found;
};
const pointAt = (view, position) => {
  const line = view.lineOf(position), section = view.layout[line].section;
  view.hexLines.show(line);
  const place = position - section[0] - view.layout[line].at;
  let column = view.digits + 2 + place * 3 + (view.width > 8 && place >= 8 ? 1 : 0);
  const walker = document.createTreeWalker(view.hexLines.element(line), NodeFilter.SHOW_TEXT);
  let node;
  while ((node = walker.nextNode()) && column >= node.length) column -= node.length;
  const range = document.createRange();
  range.setStart(node, column);
  range.setEnd(node, column + 1);
  const box = range.getBoundingClientRect();
  view.hex.dispatchEvent(new MouseEvent('mousemove', {clientX: box.left + 2, clientY: box.top + 8, bubbles: true}));
};
for (const view of document.wirelens.views) {
  if (!view.tree.isConnected) continue;
  view.release();
  view.wire = true;
  view.closed.clear();
  view.list();
  for (const row of view.rows) {
    const name = `${row.i} ${row.path} ${row.kind}`;
    if (!view.places.has(row)) { wrong.push('not drawn: ' + name); continue; }
    view.lines.show(view.places.get(row));
    const line = view.lines.element(view.places.get(row));
    view.point(null, -1);
    line.dispatchEvent(new MouseEvent('mouseover', {bubbles: true}));
    const marked = bytesMarked(view), own = [];
    for (const section of view.message.sections) {
      for (let at = Math.max(row.start, section[0]); at < Math.min(row.end, section[0] + section[2]); at++) own.push(at);
    }
    const content = row.content;
    if (content) for (let at = content[0]; at < content[0] + content[2]; at++) own.push(at);
    if (!own.length) own.push(Math.max(0, Math.min(row.start, view.message.sections.at(-1)[0] + view.message.sections.at(-1)[2] - 1)));
    if (own.length !== marked.size && row.end > row.start || !own.every(at => marked.has(at)) && row.end > row.start || !marked.size) {
      wrong.push(`bytes of ${name}: ${own.length} are its own, ${marked.size} marked`);
    }
    counts.rows++;
    const places = row.end > row.start ? [own[0], own[own.length - 1]] : [...marked];
    for (const position of new Set(places)) {
      pointAt(view, position);
      view.lines.show(view.places.get(row));
      const drawn = view.lines.element(view.places.get(row));
      if (!drawn.matches('.hot, .within, .pin')) wrong.push(`byte ${position} does not mark ${name}`);
      counts.bytes++;
    }
  }
}
return [wrong, counts];
