// Elements as data, and the page made to look like them with as few changes as possible, so that a document a second
// takes no focus, no selection and no scroll position away.

const SVG = 'http://www.w3.org/2000/svg';
const SVG_TAGS = new Set(['svg', 'g', 'path', 'line', 'rect', 'circle', 'text', 'title', 'polyline', 'polygon']);

/** An element: its tag with classes behind dots, attributes, children. Children that are false or empty are left out. */
export function h(spec, attributes = {}, ...children) {
  const [tag, ...classes] = spec.split('.');
  const element = SVG_TAGS.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  if (classes.length > 0) {
    element.setAttribute('class', classes.join(' '));
  }
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) {
      element.setAttribute(name, '');
    } else if (value !== false && value !== undefined && value !== null) {
      element.setAttribute(name, String(value));
    }
  }
  for (const child of children.flat(Infinity)) {
    if (child !== false && child !== undefined && child !== null && child !== '') {
      element.append(child instanceof Node ? child : document.createTextNode(String(child)));
    }
  }
  return element;
}

/** Makes the children of an element those given. */
export function show(parent, ...children) {
  const wanted = document.createElement('div');
  wanted.append(...children.flat(Infinity).filter(child => child));
  morphChildren(parent, wanted);
}

function morphChildren(parent, wanted) {
  const old = [...parent.childNodes];
  const next = [...wanted.childNodes];
  const keyed = new Map(old.filter(node => key(node)).map(node => [key(node), node]));
  let at = 0;
  for (const node of next) {
    const known = key(node) ? keyed.get(key(node)) : undefined;
    const current = parent.childNodes[at];
    if (known && known !== current) {
      parent.insertBefore(known, current ?? null);
    }
    const here = parent.childNodes[at];
    if (here && same(here, node)) {
      morph(here, node);
    } else {
      parent.insertBefore(node, here ?? null);
    }
    at++;
  }
  while (parent.childNodes.length > at) {
    parent.lastChild.remove();
  }
}

function key(node) {
  return node.nodeType === Node.ELEMENT_NODE ? node.getAttribute('data-key') : null;
}

function same(a, b) {
  return a.nodeType === b.nodeType && a.nodeName === b.nodeName && key(a) === key(b);
}

function morph(old, wanted) {
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== wanted.data) {
      old.data = wanted.data;
    }
    return;
  }
  for (const {name} of [...old.attributes]) {
    // What a person has opened stays open.
    if (!wanted.hasAttribute(name) && !(name === 'open' && old.nodeName === 'DETAILS')) {
      old.removeAttribute(name);
    }
  }
  for (const {name, value} of wanted.attributes) {
    if (old.getAttribute(name) !== value) {
      old.setAttribute(name, value);
    }
  }
  morphChildren(old, wanted);
}
