// The operator's page: what the sidecar says of its engines, as it says it, and the few things that can be done about it.

import {engineDetail, segmentsCard} from './detail.js';
import {h, show} from './dom.js';
import {cellsCard, fleetAnswer, fleetList, fleetTitle} from './fleet.js';
import {HoldForm} from './holdform.js';
import {Live, problem} from './live.js';
import {VERDICTS, clock, plural} from './words.js';

const TOKEN = 'holdfast.token';
const SAID_MILLIS = 12_000;
const FLEET_MILLIS = 10_000;

const at = id => document.getElementById(id);
let token = sessionStorage.getItem(TOKEN) ?? '';
let last = null;
let cells = null;
let lostSince = 0;
let lostWhy = '';
let followed;
let saidTimer = 0;

const live = new Live(heard, state);

function chosen() {
  return decodeURIComponent(/^#engine=(.+)$/.exec(location.hash)?.[1] ?? '');
}

function follow() {
  followed = chosen();
  live.follow(`/api/v1/overview/stream${followed ? `?engine=${encodeURIComponent(followed)}` : ''}`, token);
}

function heard(overview) {
  last = overview;
  // Which engine is shown must not change under somebody's eyes because another one has become the worst.
  if (!followed && overview.detail) {
    followed = overview.detail.id;
  }
  render();
}

function render() {
  if (!last || last.engines.length === 0) {
    return;
  }
  const engine = last.engines.find(each => each.id === followed) ?? last.engines[0];
  const several = last.engines.length > 1;
  document.title = `${several ? fleetTitle(last.engines) : `${VERDICTS[engine.verdict].word} \u00b7 ${engine.id}`} \u00b7 Holdfast`;
  at('fleet').hidden = !several;
  at('fleet-answer').hidden = !several;
  if (several) {
    show(at('fleet-answer'), fleetAnswer(last.engines));
    show(at('fleet'), fleetList(last.engines, engine));
  }
  at('frame').classList.toggle('many', several);
  const main = at('main');
  show(main, [...engineDetail(engine, last.detail, main.clientWidth, several), segmentsCard(last.otherSegments), cellsCard(cells)]);
}

/** What engines of other sidecars say comes every ten seconds at most. */
async function askFleet() {
  if (document.hidden) {
    return;
  }
  try {
    const response = await fetch('/api/v1/fleet', {headers: token ? {Authorization: `Bearer ${token}`} : {}, cache: 'no-store'});
    cells = response.ok ? await response.json() : null;
  } catch {
    cells = null;
  }
  render();
}

function state(now, why) {
  const bar = at('live');
  if (now === 'live') {
    lostSince = 0;
    bar.className = 'live on';
    at('live-text').textContent = 'Live';
    at('stale').hidden = true;
    document.body.classList.remove('not-live');
    return;
  }
  if (lostSince === 0) {
    lostSince = Date.now();
  }
  lostWhy = why;
  bar.className = 'live off';
  at('live-text').textContent = now === 'refused' ? 'Token needed' : 'Not live';
  document.body.classList.add('not-live');
  stale(now);
  if (now === 'refused') {
    open('token-dialog');
  }
}

function stale(now) {
  const text = last ? `Not live: these figures are of ${clock(last.at)}. ${lostWhy} ` : `${lostWhy} `;
  const bar = at('stale');
  bar.hidden = false;
  show(bar, document.createTextNode(text + (now === 'refused' ? 'Enter one by the button above.' : 'It is retried automatically.')));
}

function open(id) {
  const dialog = at(id);
  if (!dialog.open) {
    dialog.showModal();
  }
}

function say(text, good) {
  const box = at('said');
  box.className = good ? 'said good' : 'said';
  box.hidden = false;
  show(box, h('span', {}, text), h('button.quiet.small', {type: 'button', 'data-act': 'hush', 'aria-label': 'Close this message'}, 'Close'));
  clearTimeout(saidTimer);
  if (good) {
    saidTimer = setTimeout(() => { box.hidden = true; }, SAID_MILLIS);
  }
}

async function act(method, path, done) {
  try {
    const response = await fetch(path, {method, headers: token ? {Authorization: `Bearer ${token}`} : {}});
    if (response.ok) {
      say(done, true);
    } else {
      const hint = response.status === 401 || response.status === 403 ? ' Here: by the Token button above.' : '';
      say(await problem(response) + hint, false);
    }
  } catch {
    say('The sidecar does not answer, so nothing was done.', false);
  }
}

const form = new HoldForm(() => token, text => say(text, true));

function sure(title, text, yes, then) {
  at('sure-title').textContent = title;
  at('sure-text').textContent = text;
  at('sure-yes').textContent = yes;
  at('sure-form').onsubmit = event => {
    event.preventDefault();
    at('sure-dialog').close();
    then();
  };
  open('sure-dialog');
}

document.addEventListener('click', event => {
  const button = event.target.closest('button');
  if (!button) {
    return;
  }
  if ('close' in button.dataset) {
    button.closest('dialog').close();
    return;
  }
  const {engine, hold} = button.dataset;
  const path = `/api/v1/engines/${encodeURIComponent(engine ?? '')}`;
  switch (button.dataset.act) {
    case 'release':
      act('DELETE', `${path}/holds/${hold}`, `Hold ${hold} of ${engine} is released.`);
      break;
    case 'release-all':
      sure(`Release all holds of ${engine}?`, `${plural(Number(button.dataset.count), 'hold')} will be released, and nothing is held there until you resume.`, 'Release all and pause',
        () => act('DELETE', `${path}/holds`, `Everything of ${engine} is released, and holding is paused.`));
      break;
    case 'resume':
      act('POST', `${path}/resume`, `Holding goes on at ${engine}.`);
      break;
    case 'hold':
      form.open(engine);
      break;
    case 'hush':
      at('said').hidden = true;
      break;
    default:
      break;
  }
});

at('token-button').addEventListener('click', () => open('token-dialog'));
at('token-form').addEventListener('submit', event => {
  event.preventDefault();
  token = at('token').value.trim();
  at('token').value = '';
  if (token) {
    sessionStorage.setItem(TOKEN, token);
  } else {
    sessionStorage.removeItem(TOKEN);
  }
  at('token-button').textContent = token ? 'Token set' : 'Token';
  at('token-dialog').close();
  follow();
});
addEventListener('hashchange', () => {
  follow();
  render();
});
addEventListener('resize', render);
at('token-button').textContent = token ? 'Token set' : 'Token';
follow();
askFleet();
setInterval(askFleet, FLEET_MILLIS);
