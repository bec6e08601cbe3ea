// The pages by their addresses, the keys, light and dark.
const main = $('main');
function words(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}
function route() {
  hideTip();
  PRINTED.clear();
  const hash = location.hash.slice(1) || 'overview';
  const [, page, rest] = /^([a-z]*)[/?]?([^]*)$/.exec(hash) || ['', 'overview', ''];
  const parts = rest.split('/').map(words);
  main.replaceChildren();
  if (page === 'calls') LIST.text = words(rest);
  for (const one of document.querySelectorAll('nav.tabs a')) {
    const shown = one.hash.slice(1).split('/')[0];
    if (shown === page || page === 'call' && shown === 'calls') one.setAttribute('aria-current', 'page');
    else one.removeAttribute('aria-current');
  }
  if (page === 'calls') callsPage(main);
  else if (page === 'call') callPage(main, +parts[0], parts[1], parts.slice(2).join('/'));
  else if (page === 'talk') talkPage(main, +parts[0]);
  else overviewPage(main);
  if (page !== 'calls') scrollTo(0, 0);
}
function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  $('theme').setAttribute('aria-pressed', String(theme === 'dark'));
}
setTheme(matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
$('theme').onclick = () => setTheme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark');
$('help').onclick = () => $('keys').showModal();
$('skip').onclick = event => { event.preventDefault(); main.focus(); };
$('number').textContent = int(CALLS.length);
$('talks').hidden = !FLOWS.length;
if (FLOWS.length) $('talks').href = '#talk/' + FLOWS[0].number;
$('name').textContent = DATA.title;
document.title = DATA.title + ' – wirelens';
addEventListener('hashchange', route);
addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA)$/.test(event.target.tagName) || $('keys').open) return;
  const pages = {1: '#overview', 2: '#calls', 3: FLOWS.length ? '#talk/' + FLOWS[0].number : ''}[event.key];
  const press = {t: 'theme', '?': 'help', w: 'wire', n: 'next', p: 'previous', Escape: 'back'}[event.key];
  if (pages) go(pages);
  else if (event.key === '/') {
    LIST.filters = true;
    if ($('filter')) $('filter').focus();
    else go('#calls');
    event.preventDefault();
  } else if (event.key === 'f' && $('find')) {
    $('find').focus();
    event.preventDefault();
  } else if (press) {
    $(press)?.click();
  }
});
route();
performance.mark('usable');
document.documentElement.dataset.ready = performance.now().toFixed(0);
