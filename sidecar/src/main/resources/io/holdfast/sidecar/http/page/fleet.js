// All engines at a glance: on how many holding helps, and the list of them.

import {stacked} from './chart.js';
import {card, sign} from './detail.js';
import {h} from './dom.js';
import {VERDICTS, clear, count, percent, plural, signed} from './words.js';

const MANY = 4;
const NAMED = 3;

function counts(engines) {
  return Object.keys(VERDICTS).map(verdict => [verdict, engines.filter(each => each.verdict === verdict).length]);
}

function helped(engines) {
  const helps = engines.filter(each => each.verdict === 'helps').length;
  const of = plural(engines.length, 'engine');
  return helps === engines.length ? `Helps on all ${of}` : helps === 0 ? `Helps on none of ${of}` : `Helps on ${count(helps)} of ${of}`;
}

/** For the browser's tab. */
export function fleetTitle(engines) {
  return helped(engines).toLowerCase();
}

/** The answer for all of them together. */
export function fleetAnswer(engines) {
  const each = counts(engines);
  const unready = engines.filter(engine => !engine.ready);
  const harmed = engines.filter(engine => engine.verdict === 'harms');
  return [
    h('p.question', {}, 'Does holding prefixes help?'),
    h('h1', {id: 'fleet-verdict', 'aria-live': 'polite'}, helped(engines)),
    stacked(engines.length, each.map(([verdict, n]) => ({kind: `v-${verdict}`, name: VERDICTS[verdict].word, value: n}))),
    h('p.counts', {}, each.map(([verdict, n]) => h(`span.count.v-${verdict}`, {'data-key': verdict}, sign(verdict),
      `${VERDICTS[verdict].word} on ${count(n)}`)),
      unready.length > 0 && h('span.count.v-harms', {'data-key': 'unready'}, `not ready: ${count(unready.length)}`)),
    harmed.length + unready.length > 0 && h('p.note', {}, 'Look first at ', named([...new Set([...harmed, ...unready])]), '.'),
  ];
}

function named(engines) {
  const links = engines.slice(0, NAMED).map((engine, i) => [i > 0 && ', ',
    h('a', {href: `#engine=${encodeURIComponent(engine.id)}`}, engine.id), engine.verdict === 'harms' ? ' (harms)' : ' (not ready)']);
  return [...links, engines.length > NAMED && ` and ${count(engines.length - NAMED)} more`];
}

/** Each of them, the one that is shown in detail marked. */
export function fleetList(engines, shown) {
  return h('details.pick', {open: engines.length <= MANY || matchMedia('(min-width: 900px)').matches},
    h('summary', {}, `All ${plural(engines.length, 'engine')}, the worst first`),
    h('ul.tiles', {}, engines.map(each => tile(each, each === shown))));
}

/** An estimate is shown where it means something. */
function tile(engine, shown) {
  const told = engine.verdict === 'helps' || engine.verdict === 'harms';
  return h('li', {'data-key': engine.id}, h(`a.tile.v-${engine.verdict}`, {href: `#engine=${encodeURIComponent(engine.id)}`, 'aria-current': shown ? 'true' : false},
    h('span.name', {}, engine.id),
    h('span.verdict', {}, sign(engine.verdict), VERDICTS[engine.verdict].word),
    h('span.effect', {}, told && engine.effect.effectPercent !== null && clear(engine.effect) ? signed(engine.effect.effectPercent) : ''),
    h('span.note', {}, !engine.ready ? 'not ready' : engine.paused ? 'paused' : '')));
}

const SHOWN = 10;

/** Figures of a hot prefix, by their heads. */
const FIGURES = new Map([
  ['Tokens', prefix => prefix.tokens],
  ['Touches an hour', prefix => prefix.touchesAnHour],
  ['Copies', prefix => prefix.copies.filter(copy => copy.resident).length],
  ['Held', prefix => prefix.copies.filter(copy => copy.held).length],
  ['Tokens saved an hour', prefix => prefix.savedTokensAnHour],
]);

const known = figure => figure === undefined ? 'unknown' : count(figure);

/** Cells of engines that share what they know by a store; nothing where none is shared. */
export function cellsCard(fleet) {
  return fleet !== null && fleet.cells.length > 0 && h('div.cards', {'data-key': 'cells'}, fleet.cells.map(cell =>
    card(`Fleet: ${cell.model}`, '.wide',
      h('p', {}, cell.engines.length === 0
        ? 'Nothing is known of other engines: the store has not answered for two periods.'
        : `${plural(cell.engineCount, 'engine')} in blocks of ${count(cell.blockTokens)} tokens. `
          + `Touches follow the cache: ${percent(cell.touchesFollowTheCache)} of those that could.`),
      cell.prefixes.length > 0 && h('div.scroll', {tabindex: '0', role: 'region', 'aria-label': 'Hot prefixes of the fleet, a table'},
        h('table', {role: 'table'},
          h('thead', {role: 'rowgroup'}, h('tr', {role: 'row'}, ['Prefix', ...FIGURES.keys()].map((head, i) =>
            h(i > 0 ? 'th.num' : 'th', {scope: 'col', role: 'columnheader'}, head)))),
          h('tbody', {role: 'rowgroup'}, cell.prefixes.slice(0, SHOWN).map((prefix, i) => h('tr', {role: 'row', 'data-key': prefix.name ?? i},
            h('th.mono', {scope: 'row', role: 'rowheader'}, prefix.name?.slice(0, 8) ?? `no. ${i + 1}`),
            [...FIGURES].map(([head, figure]) => h('td.num', {role: 'cell', 'data-label': head.toLowerCase()}, known(figure(prefix))))))))),
      cell.holds.map(hold => h('p.note', {'data-key': hold.id},
        `Hold ${hold.id}${hold.requester ? ` of ${hold.requester}` : ''}: ${count(hold.tokens)} tokens on ${hold.copies} engines, held on ${count(hold.held)}.`)),
      h('p.note', {}, `Store: ${fleet.store}.`))));
}
