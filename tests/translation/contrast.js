(() => {
  const number = (part) => { part /= 255; return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4; };
  const light = (colour) => {
    const [r, g, b] = colour.match(/[\d.]+/g).map(Number);
    return 0.2126 * number(r) + 0.7152 * number(g) + 0.0722 * number(b);
  };
  const ratio = (one, other) => {
    const [high, low] = [light(one), light(other)].sort((a, b) => b - a);
    return (high + 0.05) / (low + 0.05);
  };
  const style = (chosen, name) => getComputedStyle(document.querySelector(chosen))[name];
  const word = style('svg text:not(.side)', 'fill');
  const boxes = [...document.querySelectorAll('svg rect.box')].map((box) => ratio(word, getComputedStyle(box).fill));
  return [...boxes, ratio(style('h2', 'color'), style('article', 'backgroundColor')),
    ratio(style('figcaption', 'color'), style('article', 'backgroundColor')),
    ratio(style('#translate', 'color'), style('#translate', 'backgroundColor'))];
})()
