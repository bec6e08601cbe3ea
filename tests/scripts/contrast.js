// Texts that have less contrast with what is behind them than 4.5:1.
const rgb = text => (text.match(/[\d.]+/g) || []).map(Number).map(v => text.startsWith('color(') ? v * 255 : v);
const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
  .reduce((sum, v, at) => sum + v * [.2126, .7152, .0722][at], 0);
const ground = element => {
  for (let above = element; above; above = above.parentElement) {
    const color = rgb(getComputedStyle(above).backgroundColor);
    if (color.length === 3 || color[3] === 1) return color;
  }
  return [255, 255, 255];
};
const poor = new Set();
for (const element of document.querySelectorAll('body *:not(svg *, script)')) {
  const own = [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim());
  if (!own || !element.checkVisibility({opacityProperty: true}) || element.disabled || element.closest(':disabled')) continue;
  const [a, b] = [light(rgb(getComputedStyle(element).color)), light(ground(element))].sort((x, y) => y - x);
  if ((a + .05) / (b + .05) < 4.5) poor.add(`${element.className}: ${element.textContent.slice(0, 30)}`);
}
return [...poor];
