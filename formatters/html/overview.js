// The first page: what is in the report, latency over time, methods, failures.
const POWER = us => us >= 1e6 ? us / 1e6 + NARROW + 's' : us >= 1e3 ? us / 1e3 + NARROW + 'ms' : us + NARROW + 'µs';
const SHAPES = {
  ok: (x, y) => svg('circle', {class: 'pt', cx: x, cy: y, r: 2.2}),
  exception: (x, y) => svg('path', {class: 'pt exception', d: `M${x} ${y}m0-4l4 4l-4 4l-4-4z`}),
  fault: (x, y) => svg('path', {class: 'pt fault', d: `M${x} ${y}m-3.4-3.4l6.8 6.8m0-6.8l-6.8 6.8`}),
};
const QUANTILES = [[.5, 'p50'], [.95, 'p95'], [.99, 'p99']];
const STEPS = [.001, .01, .1, .2, .5, 1, 2, 5, 10, 30, 60, 300, 600, 1800, 3600, 14400, 86400, 604800, 2592000, 31536000];

function latencyChart(calls, width) {
  const height = 250, left = 58, right = 46, bottom = 26, top = 12, per = 8;
  const bars = Math.min(190, Math.round(width * .2));
  const sorted = latencies(calls);
  const low = Math.floor(Math.log10(Math.max(1, sorted[0])) * 2) / 2 - .02;
  const high = Math.log10(Math.max(sorted.at(-1), 10)) + .12;
  const first = calls.reduce((least, c) => Math.min(least, c.time), Infinity);
  const last = calls.reduce((most, c) => Math.max(most, c.time), 0);
  const x0 = left, x1 = width - right - bars - 14, barsAt = x1 + 14;
  const X = time => x0 + (time - first) / Math.max(last - first, 1) * (x1 - x0);
  const Y = us => height - bottom - (Math.log10(Math.max(us, 1)) - low) / (high - low) * (height - bottom - top);
  const chart = svg('svg', {
    class: 'chart', viewBox: `0 0 ${width} ${height}`, height, role: 'img', tabindex: 0,
    'aria-label': `Latency of ${many(calls.length, 'call')} over time: median ${duration(quantile(sorted, .5))}, `
      + `slowest ${duration(sorted.at(-1))}. Arrow keys step through the calls, slowest first; Enter opens one.`,
  });
  for (let power = Math.ceil(low); power <= high; power++) {
    const y = Y(10 ** power);
    chart.append(svg('line', {class: 'gridline', x1: x0, x2: barsAt + bars, y1: y, y2: y}),
      svg('text', {x: x0 - 8, y: y + 4, 'text-anchor': 'end'}, POWER(10 ** power)));
  }
  const span = (last - first) / 1e6, step = STEPS.find(s => span / s <= Math.max(4, width / 130)) || span / 4;
  for (let at = 0; at <= span && step > 0; at += step) {
    const x = X(first + at * 1e6);
    const anchor = !at ? 'start' : x > x1 - 30 ? 'end' : 'middle';  // nothing reaches into the bars
    chart.append(svg('text', {x, y: height - 8, 'text-anchor': anchor}, elapsed(at, 3)));
  }
  for (const sort of Object.keys(SHAPES)) {
    for (const call of calls) {
      if (call.sort === sort) chart.append(SHAPES[sort](X(call.time).toFixed(1), Y(call.latency).toFixed(1)));
    }
  }
  const bins = [];
  for (const call of calls) {
    const place = Math.floor((Math.log10(Math.max(call.latency, 1)) - low) * per);
    const bin = bins[place] = bins[place] || {ok: 0, exception: 0, fault: 0, none: 0, all: 0};
    bin[call.sort]++;
    bin.all++;
  }
  const most = Math.max(...bins.filter(Boolean).map(bin => bin.all));
  bins.forEach((bin, place) => {
    const y = Y(10 ** (low + (place + 1) / per)) + .8;
    const tall = Math.max(Y(10 ** (low + place / per)) - y - .8, 1);
    let x = barsAt;
    for (const sort of Object.keys(SHAPES)) {
      const wide = bin[sort] / most * bars;
      if (wide) chart.append(svg('rect', {class: 'hb ' + sort, x, y, width: Math.max(wide, .8), height: tall}));
      x += wide;
    }
  });
  let before = Infinity;
  for (const [part, name] of QUANTILES) {
    const y = Y(quantile(sorted, part)), text = Math.min(y + 4, before - 12);
    before = text;
    chart.append(svg('line', {class: 'q', x1: x0, x2: barsAt + bars, y1: y, y2: y}),
      svg('text', {class: 'strong', x: barsAt + bars + 6, y: text}, name));
  }
  chart.append(svg('text', {x: barsAt, y: height - 8}, 'calls'));
  const ring = svg('circle', {class: 'ring', r: 6, cx: -20, cy: -20}), brush = svg('rect', {class: 'brush', width: 0, height: 0});
  chart.append(brush, ring);

  const points = calls.map(call => [X(call.time), Y(call.latency), call]);
  let near = null, from = null, slowest = -1;
  const place = event => {
    const box = chart.getBoundingClientRect();
    return [(event.clientX - box.left) * width / box.width, (event.clientY - box.top) * height / box.height];
  };
  const circle = point => { ring.setAttribute('cx', point ? point[0] : -20); ring.setAttribute('cy', point ? point[1] : -20); };
  chart.onpointermove = event => {
    const [x, y] = place(event);
    if (from) {
      brush.setAttribute('x', Math.min(x, from[0]));
      brush.setAttribute('y', Math.min(y, from[1]));
      brush.setAttribute('width', Math.abs(x - from[0]));
      brush.setAttribute('height', Math.abs(y - from[1]));
    }
    let best = 196;
    near = null;
    for (const point of points) {
      const distance = (point[0] - x) ** 2 + (point[1] - y) ** 2;
      if (distance < best) { best = distance; near = point; }
    }
    circle(from ? null : near);
    if (near && !from) return showTip(event.clientX, event.clientY, ...callTip(near[2]));
    hideTip();
    const bin = x > barsAt ? bins[Math.floor((height - bottom - y) / (height - bottom - top) * (high - low) * per)] : null;
    if (bin && !from) showTip(event.clientX, event.clientY, el('b', '', many(bin.all, 'call')));
  };
  chart.onpointerleave = () => { hideTip(); circle(null); };
  chart.onpointerdown = event => { from = place(event); chart.setPointerCapture(event.pointerId); };
  chart.onpointerup = event => {
    const [x, y] = place(event), began = from;
    from = null;
    brush.setAttribute('width', 0);
    hideTip();
    if (!began || Math.abs(x - began[0]) < 6 && Math.abs(y - began[1]) < 6) {
      if (near) go('#call/' + near[2].index);
      return;
    }
    const latency = at => 10 ** (low + (height - bottom - at) / (height - bottom - top) * (high - low));
    const time = at => Math.max(0, (at - x0) / (x1 - x0) * span + (first - START) / 1e6);
    const shown = us => us >= 1e6 ? (us / 1e6).toPrecision(3) + 's' : us >= 1e3 ? (us / 1e3).toPrecision(3) + 'ms' : us.toFixed(0) + 'us';
    let text = `latency>=${shown(latency(Math.max(y, began[1])))} latency<=${shown(latency(Math.min(y, began[1])))}`;
    if (Math.max(x, began[0]) < barsAt) {
      text += ` time>=${time(Math.min(x, began[0])).toFixed(3)} time<=${time(Math.max(x, began[0])).toFixed(3)}`;
    }
    go(filterHash(text));
  };
  const bySlow = [...points].sort((a, b) => b[2].latency - a[2].latency);
  chart.onkeydown = event => {
    const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
    if (step) {
      slowest = Math.max(0, Math.min(bySlow.length - 1, slowest + step));
      near = bySlow[slowest];
      circle(near);
      const box = chart.getBoundingClientRect();
      showTip(box.left + near[0] * box.width / width, box.top + near[1], ...callTip(near[2]));
      event.preventDefault();
    } else if (event.key === 'Enter' && near) {
      hideTip();
      go('#call/' + near[2].index);
    }
  };
  chart.onblur = hideTip;
  return chart;
}
// Draws again when the width of a box changes.
function fitted(draw) {
  const box = el('div');
  let drawn = 0;
  new ResizeObserver(() => {
    const width = Math.round(box.clientWidth);
    if (!width || width === drawn) return;
    drawn = width;
    box.replaceChildren(draw(width));
  }).observe(box);
  return box;
}
function tile(value, label, hash, bad) {
  const kids = [el('div', 'v', value), el('div', 'l', label)], cls = 'tile' + (bad ? ' bad' : '');
  return hash ? link(hash, cls, ...kids) : el('div', cls, ...kids);
}
function overviewPage(main) {
  const real = CALLS.filter(c => c.call), alone = CALLS.length - real.length, sorted = latencies(real);
  const failed = real.filter(c => c.sort === 'fault' && c.outcome !== 'unanswered' || c.sort === 'exception');
  const open = real.filter(c => c.outcome === 'unanswered'), damaged = CALLS.filter(c => c.errors);
  const bySlow = [...TIMED].sort((a, b) => b.latency - a.latency);
  main.append(el('h1', '', DATA.title));
  const protocols = [...group(MESSAGES, m => m.protocol).keys()].join(', ');
  const lede = el('p', 'lede', el('b', '', many(MESSAGES.length, 'message')), ` of ${protocols || 'no protocol'}`);
  if (FLOWS.length) lede.append(': ', el('b', '', many(real.length, 'call')), ' in ', el('b', '', many(FLOWS.length, 'conversation')));
  if (timed.length) lede.append(` on ${date(START).slice(0, 10)}, ${clock(START).slice(0, 8)} to ${clock(END).slice(0, 8)} UTC`);
  if (alone && real.length) lede.append(` · ${many(alone, 'message')} outside of calls`);
  main.append(lede);
  if (DATA.redacted) main.append(el('p', 'remark', 'Values, keys, addresses and file names were replaced by others of the same length.'));
  for (const text of DATA.left) main.append(el('p', 'remark', text));
  main.append(el('div', 'tiles',
    real.length ? tile(int(real.length), 'calls', '#calls') : tile(int(CALLS.length), 'messages', '#calls'),
    failed.length ? tile(int(failed.length), `failed, ${share(failed.length, real.length)}`, filterHash('outcome=error'), true) : null,
    open.length ? tile(int(open.length), 'unanswered', filterHash('outcome=unanswered'), true) : null,
    sorted.length ? tile(duration(quantile(sorted, .5)), 'median latency', filterHash(`latency>=${quantile(sorted, .5)}us`)) : null,
    sorted.length ? tile(duration(quantile(sorted, .99)), '99th percentile', filterHash(`latency>=${quantile(sorted, .99)}us`)) : null,
    sorted.length ? tile(duration(sorted.at(-1)), 'slowest', '#call/' + bySlow[0].index) : null,
    damaged.length ? tile(int(damaged.length), 'with errors inside', filterHash('errors>0'), true) : null,
    tile(int(DATA.payload), 'bytes')));

  if (sorted.length) {
    const legend = el('div', 'legend');
    for (const [sort, text] of [['ok', 'ok'], ['exception', 'exception'], ['fault', 'failed']]) {
      const number = TIMED.filter(c => c.sort === sort).length;
      const shape = svg('svg', {width: 11, height: 11, viewBox: '0 0 11 11', 'aria-hidden': 'true'}, SHAPES[sort](5.5, 5.5));
      if (number) legend.append(el('span', '', shape, `${text} ${int(number)}`));
    }
    const chart = card('Latency over time', 'drag a box to list its calls', fitted(width => latencyChart(TIMED, width)));
    chart.firstChild.append(legend);
    main.append(chart);
  }
  const two = el('div', 'grid2');
  main.append(two);
  const named = real.length ? real : CALLS;
  two.append(card(real.length ? 'Methods' : 'Messages', '', methods(named, sorted)));
  if (bySlow.length) {
    two.append(card('Slowest', '', table('Slowest calls', [['call', 'grow'], ['at', 'num'], ['latency', 'num']],
      bySlow.slice(0, 6).map(call => ({
        hash: '#call/' + call.index,
        cells: [link('#call/' + call.index, '', callName(call)), el('span', 'muted', since(call.time)), duration(call.latency)],
      })))));
  } else {
    two.append(fieldsCard());
  }
  const more = el('div', 'grid2');
  main.append(more);
  if (FLOWS.length) more.append(card('Conversations', '', conversations()));
  const wrong = [...group(failed.concat(open), outcome)].sort((a, b) => b[1].length - a[1].length);
  if (wrong.length) {
    more.append(card('Failures', '', table('Failures', [['what went wrong', 'grow'], ['calls', 'num'], ['first at', 'num']],
      wrong.slice(0, 30).map(([, calls]) => {
        const one = calls[0], hash = filterHash(one.exception ? filterTerm('exception', one.exception)
          : one.outcome === 'unanswered' ? 'outcome=unanswered' : filterTerm('status', one.status));
        return {hash, cells: [link(hash, '', pill(one)), int(calls.length), el('span', 'muted', since(one.time))]};
      }))));
  }
  if (bySlow.length) more.append(fieldsCard());
}
function methods(calls, sorted) {
  const low = Math.floor(Math.log10(Math.max(sorted[0] || 1, 1))), high = Math.max(Math.ceil(Math.log10(Math.max(sorted.at(-1) || 1, 10))), low + 1);
  const X = us => (Math.log10(Math.max(us, 1)) - low) / (high - low) * 108 + 2;
  const headings = [['method', 'grow'], ['number', 'num']];
  if (sorted.length) headings.push(['failed', 'num'], ['p50', 'num'], ['p95', 'num'], ['slowest', 'num'], ['p50 to p95, slowest', 'range']);
  const groups = [...group(calls, c => c.service || c.method ? `${c.service}\n${c.method}` : `${c.protocol} ${c.messages[0].kind}`)];
  groups.sort((a, b) => b[1].length - a[1].length);
  return table('Methods', headings, groups.slice(0, 60).map(([name, list]) => {
    const own = latencies(list), bad = list.filter(c => c.sort === 'fault' || c.sort === 'exception').length, one = list[0];
    const text = one.service || one.method ? callName(one) : name;
    const hash = filterHash([one.method && filterTerm('method', one.method), one.service && filterTerm('service', one.service)]
      .filter(Boolean).join(' ') || filterTerm('protocol', one.protocol));
    const cells = [link(hash, '', text), int(list.length)];
    if (sorted.length) {
      const [p50, p95, most] = [quantile(own, .5), quantile(own, .95), own.at(-1) ?? -1];
      const range = svg('svg', {width: 112, height: 16, 'aria-hidden': 'true'},
        svg('line', {class: 'axis', x1: 2, x2: 110, y1: 8, y2: 8}));
      if (own.length) {
        range.append(svg('rect', {class: 'hb', x: X(p50), y: 4.5, width: Math.max(X(p95) - X(p50), 2), height: 7, rx: 2}),
          svg('circle', {cx: X(most), cy: 8, r: 2.8, class: 'hb'}));
      }
      cells.push(bad ? int(bad) : '–', duration(p50) || '–', duration(p95) || '–', duration(most) || '–', range);
    }
    return {hash, cells};
  }));
}
function conversations() {
  const headings = [['#', 'num'], ['conversation', 'grow'], ['calls', 'num'], ['failed', 'num'], ['bytes out / back', 'num'], ['slowest', 'num']];
  return table('Conversations', headings, FLOWS.slice(0, 100).map(flow => {
    const hash = '#talk/' + flow.number, failed = flow.calls.filter(c => c.sort === 'fault' || c.sort === 'exception').length;
    const sum = name => int(flow.calls.reduce((total, c) => total + c[name], 0));
    return {hash, cells: [String(flow.number), link(hash, '', `${flow.client} → ${flow.server}`), int(flow.calls.filter(c => c.call).length),
      failed ? int(failed) : '–', el('span', 'muted', `${sum('request')} / ${sum('reply')}`), duration(latencies(flow.calls).at(-1) ?? -1) || '–']};
  }));
}
function fieldsCard() {
  const rows = DATA.fields.slice(0, 12).map(([path, bytes, messages]) => {
    const bar = el('b');
    bar.style.width = 100 * bytes / Math.max(DATA.payload, 1) + '%';
    return {cells: [el('span', 'mono path', path), int(bytes), share(bytes, DATA.payload), el('div', 'lat', el('i', '', bar))]};
  });
  return card('Fields by bytes', 'of all messages',
    table('Fields by their bytes', [['field', 'grow'], ['bytes', 'num'], ['share', 'num'], ['', 'range']], rows));
}
