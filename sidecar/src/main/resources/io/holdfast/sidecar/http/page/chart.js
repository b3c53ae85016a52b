// Charts as SVG. Each says in words what it shows; colours come from the style sheet, by class.

import {h} from './dom.js';
import {change, clock, percent, signed} from './words.js';

/** The effect on one axis around no change: a dot, its interval, and which side is which. */
export function effectScale(effect, width) {
  const value = effect.effectPercent;
  const interval = effect.interval95Percent;
  const furthest = Math.max(7, ...[value ?? 0, ...(interval ?? [])].map(Math.abs));
  const tick = [5, 10, 20, 50].findLast(each => each <= furthest) ?? 5;
  // Beyond the ends of the interval there is room for their numbers.
  const reach = 1.45 * furthest;
  const middle = width / 2;
  const x = at => middle + (middle - 4) * (at / reach);
  const words = value === null || value === undefined
    ? 'No effect was measured yet.'
    : `The first token comes ${change(value)}` + (interval ? `; 95 % interval ${change(interval[0])} to ${change(interval[1])}.` : '.');
  return h('svg.scale', {viewBox: `0 0 ${width} 88`, role: 'img', 'aria-label': words},
    interval && [
      h('text.end', {x: x(interval[0]), y: 13, 'text-anchor': 'end'}, signed(interval[0])),
      h('text.end', {x: x(interval[1]), y: 13}, signed(interval[1])),
    ],
    h('rect.sooner-side', {x: 0, y: 20, width: middle, height: 22}),
    h('rect.later-side', {x: middle, y: 20, width: middle, height: 22}),
    [-tick, tick].map(at => h('line.grid', {x1: x(at), x2: x(at), y1: 20, y2: 47})),
    h('line.zero', {x1: middle, x2: middle, y1: 16, y2: 47}),
    interval && h('rect.interval', {x: x(interval[0]), y: 26, width: Math.max(2, x(interval[1]) - x(interval[0])), height: 10, rx: 3}),
    value !== null && value !== undefined && h('circle.point', {cx: x(value), cy: 31, r: 6.5}),
    [-tick, 0, tick].map(at => h('text.label', {x: x(at), y: 61, 'text-anchor': 'middle'}, at === 0 ? '0\u00a0%' : `${at > 0 ? '+' : '\u2212'}${tick}\u00a0%`)),
    h('text.label', {x: 0, y: 82}, '\u2190 sooner'),
    interval && h('text.label', {x: middle, y: 82, 'text-anchor': 'middle'}, 'bar: 95\u00a0% interval'),
    h('text.label', {x: width, y: 82, 'text-anchor': 'end'}, 'later \u2192'));
}

/** The effect over time with its interval, and the line of no change. */
export function effectHistory(history, width) {
  const height = width < 500 ? 190 : 220;
  const left = 52;
  const bottom = height - 24;
  const times = history.map(each => Date.parse(each.at));
  const first = times[0];
  const span = Math.max(1, times.at(-1) - first);
  const values = history.flatMap(each => [each.effectPercent ?? 0, ...(each.interval95Percent ?? [])]);
  const cut = Math.max(10, ...values.map(Math.abs).map(value => Math.min(value, 100)));
  const low = -Math.max(5, Math.min(cut, -Math.min(0, ...values)) * 1.1);
  const high = Math.max(5, Math.min(cut, Math.max(0, ...values)) * 1.1);
  const x = at => left + (width - left - 10) * ((at - first) / span);
  const y = value => 10 + (bottom - 10) * ((high - Math.max(low, Math.min(high, value))) / (high - low));
  const banded = history.map((each, i) => [each, times[i]]).filter(([each]) => each.interval95Percent);
  const band = [
    ...banded.map(([each, at]) => `${x(at).toFixed(1)},${y(each.interval95Percent[1]).toFixed(1)}`),
    ...banded.toReversed().map(([each, at]) => `${x(at).toFixed(1)},${y(each.interval95Percent[0]).toFixed(1)}`),
  ].join(' ');
  const line = history.map((each, i) => `${x(times[i]).toFixed(1)},${y(each.effectPercent).toFixed(1)}`).join(' ');
  const last = history.at(-1);
  const label = `The effect on time to first token from ${clock(first)} to ${clock(times.at(-1))}: it began at `
    + `${change(history[0].effectPercent)} and is now ${change(last.effectPercent)}.`;
  return h('svg.history', {viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label},
    ticks(low, high).map(tick => [
      h(tick === 0 ? 'line.zero' : 'line.grid', {x1: left, x2: width - 10, y1: y(tick), y2: y(tick)}),
      h('text.label', {x: left - 8, y: y(tick) + 4, 'text-anchor': 'end'}, tick === 0 ? '0 %' : `${tick > 0 ? '+' : '\u2212'}${Math.abs(tick)} %`),
    ]),
    h('polygon.band', {points: band}),
    h('text.label', {x: left + 8, y: 20}, 'later \u2191'),
    h('text.label', {x: left + 8, y: bottom - 6}, 'sooner \u2193'),
    h('polyline.line', {points: line}),
    h('circle.point', {cx: x(times.at(-1)), cy: y(last.effectPercent), r: 4.5}),
    h('text.label', {x: left, y: height - 6}, clock(first)),
    h('text.label', {x: width - 10, y: height - 6, 'text-anchor': 'end'}, clock(times.at(-1))));
}

function ticks(low, high) {
  const step = [2, 5, 10, 20, 25, 50].find(each => (high - low) / each <= 6) ?? 100;
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high; at += step) {
    found.push(at === 0 ? 0 : at);
  }
  return found;
}

/** Parts of a whole beside each other; each part has a class, a name and a value. */
export function stacked(whole, parts, marks = []) {
  let from = 0;
  const x = value => Math.max(0, Math.min(400, 400 * value / Math.max(1, whole)));
  const words = parts.map(part => `${part.name} ${percent(part.value / Math.max(1, whole))}`).join(', ');
  return h('svg.stacked', {viewBox: '0 0 400 22', preserveAspectRatio: 'none', role: 'img', 'aria-label': words},
    h('rect.rest', {x: 0, y: 3, width: 400, height: 16}),
    parts.map(part => {
      const rect = h(`rect.${part.kind}`, {x: x(from), y: 3, width: x(part.value), height: 16});
      from += part.value;
      return rect;
    }),
    marks.map(mark => h('line.mark', {x1: x(mark), x2: x(mark), y1: 0, y2: 22})));
}

/** The same with numbers at its ends. */
export function gauge(whole, unit, parts, marks = []) {
  return [
    stacked(whole, parts, marks),
    h('p.ends', {'aria-hidden': 'true'}, h('span', {}, '0'), h('span', {}, unit(whole / 2)), h('span', {}, unit(whole))),
  ];
}

/** A share between 0 and 1 over time. */
export function sparkline(shares) {
  const x = i => 4 + 232 * i / Math.max(1, shares.length - 1);
  const y = share => 36 - 32 * share;
  return h('svg.spark', {viewBox: '0 0 280 40', role: 'img',
    'aria-label': `Share of prompt tokens found in the cache, from ${percent(shares[0].share)} to ${percent(shares.at(-1).share)}.`},
    h('line.grid', {x1: 4, x2: 236, y1: 36, y2: 36}),
    h('line.grid', {x1: 4, x2: 236, y1: 4, y2: 4}),
    h('text.label', {x: 240, y: 11}, '100\u00a0%'),
    h('text.label', {x: 240, y: 37}, '0\u00a0%'),
    h('polyline.line', {points: shares.map((each, i) => `${x(i).toFixed(1)},${y(each.share).toFixed(1)}`).join(' ')}),
    h('circle.point', {cx: x(shares.length - 1), cy: y(shares.at(-1).share), r: 3}));
}

