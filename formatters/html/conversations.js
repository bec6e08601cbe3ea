// The messages of a conversation as a sequence diagram.
const PAGE = 60; // calls at once
const EVENT = 25, SILENCE = 22; // pixels
const LANES = 8; // bars of calls at the same time

function talkPage(main, number) {
  const flow = FLOWS.find(one => one.number === number) || FLOWS[0];
  if (!flow) return main.append(el('p', 'empty', 'There are no conversations: the input is not a capture.'));
  const {calls} = flow, list = el('ul', 'flowlist');
  for (const one of FLOWS.slice(0, 300)) {
    const item = link('#talk/' + one.number, '', `${one.number}  ${one.client}`, el('small', '', `→ ${one.server} · ${callCount(one)}`));
    if (one === flow) item.setAttribute('aria-current', 'true');
    list.append(el('li', '', item));
  }
  if (FLOWS.length > 300) list.append(el('li', 'muted', `… ${many(FLOWS.length - 300, 'more conversation')}`));
  let from = 0;
  const slowest = quantile(latencies(calls), .99), said = el('p');
  said.setAttribute('role', 'status');
  const show = place => { if (place >= 0) { from = Math.max(0, Math.min(place - 4, calls.length - PAGE)); redraw(); } };
  const slow = button('Slowest', 'Show the slowest call', () => show(calls.reduce((best, call, at) => call.latency > calls[best].latency ? at : best, 0)));
  const fails = button('Next failure', '', () => show(calls.findIndex((call, at) => at > from + 4 && (call.sort === 'fault' || call.sort === 'exception'))));
  const before = button('‹', 'Previous calls', () => { from = Math.max(0, from - PAGE); redraw(); });
  const after = button('›', 'Next calls', () => { from += PAGE; redraw(); });
  const box = el('div', 'scroll');
  let width = 0;
  new ResizeObserver(() => {
    if (Math.abs(width - box.clientWidth) < 8) return;
    width = box.clientWidth;
    redraw();
  }).observe(box);
  main.append(el('h1', 'unseen', `Conversation ${flow.number}`), el('div', 'seqgrid', card('Conversations', '', list),
    el('section', 'card', el('header', '', el('h2', '', `Conversation ${flow.number}`), said, el('span', 'grow'), slow, fails, before, after), box)));

  function redraw() {
    const part = calls.slice(from, from + PAGE);
    said.textContent = calls.length ? `rows ${int(from + 1)} to ${int(from + part.length)} of ${int(calls.length)}` : 'no messages';
    before.disabled = !from;
    after.disabled = from + PAGE >= calls.length;
    box.replaceChildren(sequence(flow, part, Math.min(920, Math.max(480, width || 800)), slowest));
  }
}
function sequence(flow, calls, width, slowest) {
  const left = 112, right = width - 90;
  const events = calls.flatMap(call => call.messages.map((message, place) => ({call, message, place})));
  events.sort((a, b) => a.message.time - b.message.time);
  const gaps = events.slice(1).map((event, at) => event.message.time - events[at].message.time).sort(ascending);
  const silence = Math.max((gaps[gaps.length >> 1] || 0) * 12, 20000);
  let y = 52;
  const lines = [], spans = new Map();
  events.forEach((event, at) => {
    const pause = at ? event.message.time - events[at - 1].message.time : 0;
    if (pause > silence) {
      lines.push({y, pause});
      y += SILENCE;
    }
    lines.push({y, ...event});
    const span = spans.get(event.call);
    if (span) span[1] = y;
    else spans.set(event.call, [y, event.call.outcome === 'unanswered' ? Infinity : y]);
    y += EVENT;
  });
  const height = y + 12;
  const arrow = (sort, cls) => svg('marker', {id: 'end' + sort, viewBox: '0 0 8 8', refX: 8, refY: 4, markerWidth: 8, markerHeight: 8, orient: 'auto'},
    svg('path', {d: 'M0 .5L8 4L0 7.5z', class: cls}));
  const drawing = svg('svg', {class: 'seq', width, height, viewBox: `0 0 ${width} ${height}`, role: 'group', 'aria-label': 'Sequence diagram'},
    svg('defs', {}, arrow('', 'at'), arrow('exception', 'aw'), arrow('fault', 'ae')));
  for (const [x, name, side] of [[left, flow.client, 'start'], [right, flow.server, 'end']]) {
    drawing.append(svg('line', {class: 'lifeline', x1: x, x2: x, y1: 30, y2: height}),
      svg('text', {class: 'strong', x: side === 'start' ? Math.max(x - 100, 4) : Math.min(x + 84, width - 4), y: 20, 'text-anchor': side}, name));
  }
  const lanes = [];
  for (const [call, [top, end]] of spans) {
    const bottom = Math.min(end, height), found = lanes.findIndex(until => until <= top), lane = found < 0 ? lanes.length : found;
    lanes[lane] = bottom + 2;
    if (lane >= LANES || !call.call) continue;
    drawing.append(svg('rect', {class: 'act' + (call.latency >= slowest ? ' slow' : ''), x: right + 4 + lane * 7, y: top, width: 5, height: Math.max(bottom - top, 3), rx: 2}));
  }
  for (const line of lines) {
    if (line.pause) {
      drawing.append(svg('text', {x: (left + right) / 2, y: line.y + 2, 'text-anchor': 'middle'}, `· · ·  ${duration(line.pause)} of silence  · · ·`));
      continue;
    }
    const {call, message} = line, back = message.direction === 1, answers = call.call && message.direction !== call.asks;
    const sort = answers && MARKS[call.sort] ? call.sort : '';
    const same = call.messages.filter(one => one.direction === message.direction); // parts of one request or reply
    const told = answers ? same.at(-1) === message : same[0] === message;
    const text = call.call && !told ? message.summary : answers ? `${MARKS[sort] || ''}${outcome(call)}  ${duration(call.latency)}`
      : isPath(call) || !call.method ? fullName(call) : `${lastName(call.service)}${call.service ? '.' : ''}${call.method}`;
    const group = svg('g', {class: 'sq', tabindex: 0, role: 'link', 'aria-label': answers ? `reply to row ${call.index + 1}: ${outcome(call)} after ${duration(call.latency)}` : `row ${call.index + 1}: ${fullName(call)}`});
    const room = Math.floor((right - left - 28) / 6.8) - String(call.index + 1).length - 2;
    group.append(svg('rect', {class: 'hit', x: 0, y: line.y - 17, width, height: EVENT}),
      svg('text', {class: 'num', x: left - 10, y: line.y + 4, 'text-anchor': 'end'}, message.time ? '+' + ((message.time - START) / 1e6).toFixed(4) : ''),
      svg('line', {class: `arrow ${sort}${answers ? ' reply' : ''}`, x1: back ? right : left, x2: back ? left + 1 : right - 1, y1: line.y, y2: line.y, 'marker-end': `url(#end${sort})`}),
      svg('text', {class: {fault: 'tf', exception: 'te'}[sort] || 'strong', x: back ? right - 14 : left + 14, y: line.y - 5, 'text-anchor': back ? 'end' : 'start'},
        cut(text, Math.max(room, 8)), svg('tspan', {class: 'no', dx: 6}, `#${call.index + 1}`)));
    const open = () => go('#call/' + call.index);
    group.onclick = open;
    group.onkeydown = event => { if (event.key === 'Enter') open(); };
    group.onmousemove = event => showTip(event.clientX, event.clientY, ...callTip(call));
    group.onmouseleave = hideTip;
    drawing.append(group);
  }
  return drawing;
}
