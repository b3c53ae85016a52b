// One engine in detail: the answer, and then why.

import {effectHistory, effectScale, gauge, sparkline} from './chart.js';
import {h} from './dom.js';
import {VERDICTS, about, bytes, change, clear, clock, count, known, percent, plural, seconds, sentence, signed, span} from './words.js';

/** The whole detail of one engine, for a page of this width; of several, its answer is not the page's. */
export function engineDetail(engine, detail, width, several) {
  const own = detail && detail.id === engine.id ? detail : null;
  return [
    answer(engine, width, several),
    callouts(engine, own),
    h('div.cards', {},
      own && effectCard(own, width),
      pressureCard(engine),
      hitsCard(engine, own),
      engine.kvcached && kvcachedCard(engine.kvcached),
      own && holdsCard(engine, own),
      own && prefixesCard(own),
      own && decisionsCard(own),
      own && smallPrint(own)),
  ];
}

export function sign(verdict) {
  return h('svg.sign', {viewBox: '0 0 24 24', 'aria-hidden': 'true'}, h('path', {d: VERDICTS[verdict].sign}));
}

function answer(engine, width, several) {
  const effect = engine.effect;
  return h(`section.answer.v-${engine.verdict}`, {id: 'answer', tabindex: '-1', 'aria-labelledby': 'verdict'},
    h('div.words', {},
      h('p.question', {}, 'Does holding prefixes help on engine ', h('strong', {}, engine.id), '?'),
      h('h1', {id: 'verdict', role: 'heading', 'aria-level': several ? '2' : '1', 'aria-live': several ? 'off' : 'polite'}, sign(engine.verdict), VERDICTS[engine.verdict].answer),
      h('p.because', {}, sentence(engine.sentence)),
      engine.verdict !== 'cannot_tell' && effect.effectPercent !== null && h(`p.${engine.verdict === 'helps' ? 'note' : 'because'}`, {}, sentence(effect.reason))),
    h('div.proof', {}, effectScale(effect, Math.min(400, width - 32))),
    h('dl.figures', {},
      figure('First token, with holds', ...effectFigure(engine.verdict, effect)),
      effect.computed && figure('Computed prompt tokens, with holds', ...computedFigure(effect.computed)),
      figure('Held', count(engine.holds.held), `${count(engine.holds.tokens)} tokens${ofCache(engine)}`),
      figure('Found in cache', known(engine.hits.cachedShare) === undefined ? undefined : percent(known(engine.hits.cachedShare)),
        known(engine.hits.cachedShare) === undefined ? about(engine.hits.cachedShare) : `of prompt tokens, last ${seconds(engine.hits.overSeconds)}`),
      figure('Holds would add, simulated', ...simulatedFigure(engine), 'span.plain')));
}

/** A number only where it says something: an estimate whose interval has no change in it is none to quote. */
function effectFigure(verdict, effect) {
  if (effect.effectPercent === null) {
    return [undefined, 'not measured yet'];
  }
  const over = `${effect.interval95Percent ? `${span(effect.interval95Percent)}, ` : ''}${plural(effect.windows, 'window')}`;
  return verdict === 'does_nothing' ? ['no difference', over]
    : verdict === 'helps' && !clear(effect) ? ['open', over]
    : verdict === 'cannot_tell' ? [undefined, `so far ${over}`]
      : [change(effect.effectPercent), over];
}

/** Of those who use held prefixes, where it is known who they are. */
function computedFigure(computed) {
  const who = computed.of === 'all' ? 'of all requests'
    : `of the ${computed.sharePercent === undefined ? 'requests' : `${percent(computed.sharePercent / 100)} of requests`} that use held prefixes`;
  return computed.effectPercent === null ? [undefined, `not measured yet, ${who}`]
    : [clear(computed) ? signed(computed.effectPercent) : undefined, `${span(computed.interval95Percent)}, ${who}, ${plural(computed.windows, 'window')}`];
}

function simulatedFigure(engine) {
  const share = known(engine.saved.promptShare);
  const tokens = known(engine.saved.tokens);
  return share === undefined ? [undefined, sentence(about(engine.saved.promptShare))]
    : [`${share < 0 ? '\u2212' : '+'}${percent(Math.abs(share)).replace('%', 'points')}`,
      `simulated, not measured: of prompt tokens found in cache${tokens === undefined ? '' : ` (${count(tokens)} in ${seconds(engine.hits.overSeconds)})`}, were holds always on`];
}

function ofCache(engine) {
  const capacity = known(engine.pressure.capacityTokens);
  return capacity ? `, ${percent(engine.holds.tokens / capacity)} of the cache` : '';
}

function figure(name, value, note, weight = 'span.big') {
  return h('div', {}, h('dt', {}, name), h('dd', {}, value === undefined ? h('span.unknown', {}, 'unknown') : h(weight, {}, value), h('span.note', {}, note)));
}

function callouts(engine, detail) {
  const found = [];
  if (engine.paused) {
    found.push(h('div.callout.warn', {'data-key': 'paused'}, h('p', {}, h('strong', {}, 'Paused. '), sentence(engine.pausedWhy)),
      h('button.main', {type: 'button', 'data-act': 'resume', 'data-engine': engine.id}, 'Resume holding')));
  }
  if (!engine.ready) {
    const reasons = detail ? detail.reasons : [engine.needs];
    found.push(h('div.callout.bad', {'data-key': 'unready'}, h('p', {}, h('strong', {}, 'Not ready. '), reasons.map(sentence).join(' '))));
  }
  const notes = detail ? detail.notes.filter(note => note !== engine.pausedWhy) : [];
  notes.forEach((note, i) => found.push(h('div.callout', {'data-key': `note${i}`}, h('p', {}, sentence(note)))));
  return found;
}

export function card(title, classes, ...children) {
  const id = `h-${title.toLowerCase().replaceAll(' ', '-')}`;
  return h(`section.card${classes}`, {'aria-labelledby': id, 'data-key': id}, h('h2', {id}, title), ...children);
}

function effectCard(detail, width) {
  const history = detail.history.filter(each => each.effectPercent !== undefined);
  return card('Effect over time', '.wide',
    history.length > 1
      ? [effectHistory(history, Math.max(280, width - 38)), h('p.note', {}, 'Change of the time to first token with holds against without, and its 95 % interval. Below 0 is sooner.')]
      : h('p.empty', {}, history.length === 1
        ? `One measurement so far: ${history[0].interval95Percent ? span(history[0].interval95Percent) : change(history[0].effectPercent)}.`
        : 'The line begins with the first effect that is measured.'));
}

function row(name, reading, say, note = about(reading)) {
  const value = known(reading);
  return h('div', {}, h('dt', {}, name),
    h('dd', {}, value === undefined ? h('span.unknown', {}, 'unknown') : say(value), note && h('span.note', {}, note)));
}

const RHO = rho => rho < 1.5 ? 'below 1.5: holding can help' : rho > 5 ? 'above 5: the cache keeps it anyhow' : 'between 1.5 and 5: holding may help';

function pressureCard(engine) {
  const pressure = engine.pressure;
  const capacity = known(pressure.capacityTokens);
  const used = known(pressure.usedTokens);
  const pinned = engine.holds.tokens;
  const rho = known(pressure.rho);
  const bound = known(pressure.hardTokens);
  return card('Pressure', '',
    capacity === undefined
      ? h('p.empty', {}, `The size of the cache is unknown: ${about(pressure.capacityTokens)}.`)
      : [gauge(capacity, count, [
          {kind: 'held', name: 'held', value: pinned},
          {kind: 'used', name: 'in use beside that', value: Math.max(0, (used ?? pinned) - pinned)},
        ], bound === undefined ? [] : [bound]),
        h('p.legend', {}, h('span.key.held', {}, `held ${part(pinned, capacity)}`),
          h('span.key.used', {}, used === undefined ? 'in use unknown' : `in use beside that ${part(Math.max(0, used - pinned), capacity)}`),
          h('span.key.rest', {}, used === undefined ? 'rest' : `free to evict ${part(Math.max(0, capacity - Math.max(used, pinned)), capacity)}`),
          bound !== undefined && h('span.key.mark', {}, `may be held ${part(bound, capacity)}`))],
    h('dl.rows', {},
      row('Capacity', pressure.capacityTokens, value => `${count(value)} tokens`, ''),
      row('Prompts at once ask for', pressure.demandTokens, value => `${count(value)} tokens`, demand(pressure)),
      row('Automatic holds may take', pressure.automaticTokens, value => `${count(value)} tokens`, known(pressure.automaticTokens) === undefined ? undefined : ''),
      row('An untouched block survives', pressure.residenceSeconds, seconds),
      row('A prefix is used again after', pressure.reuseSeconds, seconds),
      row('Residence by reuse', pressure.rho, value => value.toFixed(1), rho === undefined ? undefined : RHO(rho)),
      row('Requests running', pressure.runningRequests, count, known(pressure.runningRequests) === undefined ? undefined : ''),
      row('Requests waiting', pressure.waitingRequests, count, known(pressure.waitingRequests) === undefined ? undefined : '')));
}

/** What is shared is asked for once; what it would be otherwise, where that differs. */
function demand(pressure) {
  const once = known(pressure.demandTokens);
  const full = known(pressure.demandEachInFullTokens);
  return once === undefined ? undefined : once === full ? 'none of them shares a prefix' : `${count(full)} if none shared a prefix`;
}

/** A number and what part of the whole it is. */
function part(value, whole) {
  return `${count(value)} (${percent(value / Math.max(1, whole))})`;
}

function hitsCard(engine, detail) {
  const hits = engine.hits;
  const prompts = known(hits.promptTokens);
  const cached = known(hits.cachedTokens);
  const classes = [
    {kind: 'held', name: 'found their shared prefix', reading: hits.requests.foundShared},
    {kind: 'lost', name: 'lost their shared prefix', reading: hits.requests.lostShared},
    {kind: 'used', name: 'shared none', reading: hits.requests.others},
  ].map(each => ({...each, value: known(each.reading)}));
  const all = classes.reduce((sum, each) => sum + (each.value ?? 0), 0);
  return card('Hits by class', '',
    h('h3', {}, 'Prompt tokens'),
    prompts === undefined || cached === undefined
      ? h('p.empty', {}, sentence(`unknown: ${about(prompts === undefined ? hits.promptTokens : hits.cachedTokens)}`))
      : [gauge(prompts, count, [{kind: 'held', name: 'found in the cache', value: cached}]),
        h('p.legend', {}, h('span.key.held', {}, `found ${part(cached, prompts)}`), h('span.key.rest', {}, `computed ${part(prompts - cached, prompts)}`))],
    detail && detail.cachedShares.length > 1 && h('div.sparkbox', {}, sparkline(detail.cachedShares),
      h('span.note', {}, `share found, each 10 s; now ${percent(detail.cachedShares.at(-1).share)}`)),
    h('h3', {}, 'Requests seen'),
    classes[0].value === undefined || all === 0
      ? h('p.empty', {}, classes[0].value === undefined ? sentence(`unknown: ${about(hits.requests.foundShared)}`) : 'No request was seen in that time.')
      : [gauge(all, count, classes),
        h('p.legend', {}, classes.map(each => h(`span.key.${each.kind}`, {}, `${each.name} ${part(each.value, all)}`)))],
    h('p.note', {}, `${hits.overSeconds < 1 ? 'Counted from now on' : `Over the last ${seconds(hits.overSeconds)}`}. A request whose whole prompt is cached stores nothing and is not seen.`));
}

function kvcachedCard(limit) {
  return card('Memory under kvcached', '',
    limit.limitBytes === undefined
      ? h('p.empty', {}, sentence(limit.why))
      : [gauge(limit.limitBytes, bytes, [
          {kind: 'held', name: 'used', value: limit.usedBytes},
          {kind: 'used', name: 'mapped and not used', value: limit.mappedBytes - limit.usedBytes}]),
        h('p.legend', {}, h('span.key.held', {}, `used ${bytes(limit.usedBytes)}`),
          h('span.key.used', {}, `mapped ${bytes(limit.mappedBytes)}`),
          h('span.key.rest', {}, `limit ${bytes(limit.limitBytes)}`)),
        h('p.note', {}, sentence(limit.why))]);
}

/** Memory of engines of this machine that this sidecar was not told of. */
export function segmentsCard(segments) {
  return segments.length > 0 && h('div.cards', {'data-key': 'other-segments'}, card('Other kvcached segments', '.wide',
    segments.map(each => h('div', {'data-key': each.segment},
      h('h3', {}, each.segment),
      gauge(each.limitBytes, bytes, [
        {kind: 'held', name: 'used', value: each.usedBytes},
        {kind: 'used', name: 'mapped and not used', value: each.preallocatedBytes}]),
      h('p.legend', {}, h('span.key.held', {}, `used ${bytes(each.usedBytes)}`),
        h('span.key.used', {}, `mapped ${bytes(each.usedBytes + each.preallocatedBytes)}`),
        h('span.key.rest', {}, `limit ${bytes(each.limitBytes)}, ${each.percent} % taken`)))),
    h('p.note', {}, 'No engine here is configured for these: an engine to be added, or one that was killed and left its segment.')));
}

const STATES = {held: 'held', requested: 'waiting', lost: 'lost', expiring: 'ending', released: 'released'};

function holdsCard(engine, detail) {
  const tools = h('p.tools', {},
    h('button.quiet', {type: 'button', 'data-act': 'hold', 'data-engine': engine.id, 'aria-haspopup': 'dialog'}, 'Hold or release a prefix'),
    engine.paused
      ? h('button.quiet', {type: 'button', 'data-act': 'resume', 'data-engine': engine.id}, 'Resume holding')
      : h('button.quiet', {type: 'button', 'data-act': 'release-all', 'data-engine': engine.id, 'data-count': detail.holdCount}, 'Release all and pause'));
  return card(`Holds`, '.wide',
    tools,
    detail.holds.length === 0
      ? h('p.empty', {}, engine.dryRun ? 'A dry run holds nothing.' : engine.paused ? 'Nothing is held while holding is paused.' : 'Nothing is held now.')
      : h('div.scroll', {tabindex: '0', role: 'region', 'aria-label': 'Holds, a table'},
        h('table', {role: 'table'},
          h('thead', {role: 'rowgroup'}, h('tr', {role: 'row'}, ['Hold', 'State', 'Tokens', 'Lease left', 'Why', ''].map((name, i) =>
            h(i === 2 || i === 3 ? 'th.num' : 'th', {scope: 'col', role: 'columnheader'}, name || h('span.hidden', {}, 'Act'))))),
          h('tbody', {role: 'rowgroup'}, detail.holds.map(hold => holdRow(engine, hold))))),
    detail.holdCount > detail.holds.length && h('p.note', {}, `The first ${detail.holds.length} of ${count(detail.holdCount)}; all of them: /api/v1/engines/${engine.id}/holds`));
}

function holdRow(engine, hold) {
  const name = hold.name ?? `${hold.origin === 'automatic' ? 'automatic' : 'requested'} ${hold.id}`;
  return h('tr', {role: 'row', 'data-key': `hold${hold.id}`},
    h('th', {scope: 'row', role: 'rowheader'}, name),
    h('td', {role: 'cell'}, h(`span.state.s-${hold.state}`, {}, STATES[hold.state] ?? hold.state)),
    h('td.num', {role: 'cell', 'data-label': 'tokens'}, count(hold.heldTokens + hold.beyondTokens)),
    h('td.num', {role: 'cell', 'data-label': 'left'}, seconds(hold.leaseSeconds)),
    h('td.why', {role: 'cell'}, sentence(hold.reason)),
    h('td.act', {role: 'cell'}, h('button.quiet.small', {type: 'button', 'data-act': 'release', 'data-engine': engine.id, 'data-hold': hold.id,
      'aria-label': `Release ${name}`}, 'Release')));
}

function prefixesCard(detail) {
  const prefixes = detail.prefixes;
  return card('Prefixes worth holding', '.wide',
    prefixes.unknown
      ? h('p.empty', {}, sentence(`unknown: ${prefixes.unknown}`))
      : prefixes.prefixes.length === 0
        ? h('p.empty', {}, prefixes.shared === 0
          ? 'Requests share no prefix so far.'
          : `Requests share ${plural(prefixes.shared, 'prefix', 'prefixes')}, and the cache lost none that enough of them use.`)
        : h('div.scroll', {tabindex: '0', role: 'region', 'aria-label': 'Prefixes worth holding, a table'},
          h('table', {role: 'table'},
            h('thead', {role: 'rowgroup'}, h('tr', {role: 'row'}, ['Prefix', 'Tokens', 'Requests', 'Times lost', 'Computed again', 'Now', 'Why'].map((name, i) =>
              h(i > 0 && i < 5 ? 'th.num' : 'th', {scope: 'col', role: 'columnheader'}, name)))),
            h('tbody', {role: 'rowgroup'}, prefixes.prefixes.map(prefix => h('tr', {role: 'row', 'data-key': `prefix${prefix.id}`},
              h('th.mono', {scope: 'row', role: 'rowheader'}, prefix.id.slice(-8)),
              h('td.num', {role: 'cell', 'data-label': 'tokens'}, count(prefix.tokens)),
              h('td.num', {role: 'cell', 'data-label': 'requests'}, count(prefix.requests)),
              h('td.num', {role: 'cell', 'data-label': 'times lost'}, count(prefix.timesLost)),
              h('td.num', {role: 'cell', 'data-label': 'computed again'}, count(prefix.recomputedTokens)),
              h('td', {role: 'cell'}, h(`span.state.${prefix.held ? 's-held' : prefix.cached ? 's-requested' : 's-lost'}`, {}, prefix.held ? 'held' : prefix.cached ? 'cached' : 'gone')),
              h('td.why', {role: 'cell'}, prefix.why ? sentence(prefix.why) : 'Whoever may act can read why.')))))),
    !prefixes.unknown && prefixes.worthHolding > prefixes.prefixes.length && h('p.note', {}, `The first ${prefixes.prefixes.length} of ${count(prefixes.worthHolding)}.`));
}

const SUBJECTS = {hold: made => `hold ${made.hold}`, prefix: () => 'a shared prefix', engine: () => 'the engine'};

const FEW = 6;

function decisionsCard(detail) {
  const all = detail.decisions;
  return card('Last decisions', '.wide',
    all.length === 0
      ? h('p.empty', {}, 'Nothing was decided yet.')
      : [decisions(all.slice(0, FEW)),
        all.length > FEW && h('details', {}, h('summary', {}, `${all.length - FEW} before these`), decisions(all.slice(FEW)))]);
}

function decisions(some) {
  return h('ol.decisions', {}, some.map(made => h('li', {'data-key': `d${made.id}`},
    h('time', {datetime: made.at}, clock(made.at)),
    h('span.what', {}, `${made.what.replaceAll('_', ' ')}: ${SUBJECTS[made.about](made)}`),
    h('span.why', {}, sentence(made.reason), made.blocks > 0 && h('span.note', {}, ` ${plural(made.blocks, 'block')}`)))));
}

function smallPrint(detail) {
  return card('Small print', '.wide',
    h('details', {}, h('summary', {}, `How the budget comes about: ${plural(detail.budgetTerms.length, 'term')}`),
      h('dl.rows', {}, detail.budgetTerms.map(term => h('div', {}, h('dt', {}, term.name),
        h('dd', {}, term.tokens === null ? h('span.unknown', {}, 'unknown') : `${count(term.tokens)} tokens`, h('span.note', {}, term.why)))))),
    h('p.note', {}, `Held with ${detail.backend}. The view of the cache is ${detail.certain ? 'exact' : 'not exact'}: ${detail.certainty}.`));
}
