// Every visible text whose contrast with what is behind it is below 4.5, as computed styles have it.
(() => {
  const parse = text => {
    const [r, g, b, a = 1] = text.match(/[\d.]+/g).map(Number);
    return {r, g, b, a};
  };
  const over = (top, below) => ({
    r: top.r * top.a + below.r * (1 - top.a), g: top.g * top.a + below.g * (1 - top.a), b: top.b * top.a + below.b * (1 - top.a), a: 1,
  });
  const behind = element => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
      const color = parse(getComputedStyle(at).backgroundColor);
      layers.push(color);
      if (color.a === 1) {
        break;
      }
    }
    return layers.reverse().reduce((below, top) => over(top, below), {r: 255, g: 255, b: 255, a: 1});
  };
  const part = value => value / 255 <= 0.03928 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4;
  const luminance = color => 0.2126 * part(color.r) + 0.7152 * part(color.g) + 0.0722 * part(color.b);
  const bad = [];
  let looked = 0;
  for (const element of document.querySelectorAll('body *')) {
    const own = [...element.childNodes].filter(node => node.nodeType === 3 && node.data.trim());
    const box = element.getBoundingClientRect();
    if (own.length === 0 || box.width === 0 || box.height === 0 || getComputedStyle(element).visibility === 'hidden') {
      continue;
    }
    const style = getComputedStyle(element);
    const ground = behind(element);
    const ink = over(parse(element.namespaceURI.endsWith('svg') ? style.fill : style.color), ground);
    const [dark, light] = [luminance(ink), luminance(ground)].sort((a, b) => a - b);
    const ratio = (light + 0.05) / (dark + 0.05);
    looked++;
    if (ratio < 4.5) {
      bad.push(`${ratio.toFixed(2)} ${element.tagName}.${element.getAttribute('class') ?? ''}: ${own[0].data.trim().slice(0, 40)}`);
    }
  }
  return JSON.stringify({looked, bad});
})()
