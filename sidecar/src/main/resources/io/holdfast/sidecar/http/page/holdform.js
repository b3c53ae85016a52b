// A prefix that is asked for by hand: held for so many seconds, or let go of. What the API refuses stays in view beside what was typed.

import {problem} from './live.js';
import {plural, sentence} from './words.js';

const at = id => document.getElementById(id);
const LONGEST_SECONDS = 86_400;
const HINTS = {
  text: ['Text that prompts begin with', 'The engine itself makes tokens of it; what fills no whole block is left out.'],
  tokens: ['Token ids, from the first on', 'As the engine counts them, with commas or spaces between: 101, 7, 2023.'],
};

/** The dialog in which that is asked for. */
export class HoldForm {
  #token;
  #done;
  #engine = '';

  /** @param token answers the token that is set, or nothing; @param done is told what was done */
  constructor(token, done) {
    this.#token = token;
    this.#done = done;
    at('hold-form').addEventListener('submit', event => {
      event.preventDefault();
      this.#act(event.submitter?.value === 'release' ? prefix => this.#release(prefix) : prefix => this.#hold(prefix));
    });
    at('hold-form').addEventListener('change', () => this.#describe());
  }

  open(engine) {
    this.#engine = engine;
    at('hold-engine').textContent = engine;
    this.#refuse('');
    this.#describe();
    at('hold-dialog').showModal();
    at('hold-what').focus();
  }

  #kind() {
    return at('hold-form').elements.kind.value;
  }

  #describe() {
    const [label, hint] = HINTS[this.#kind()];
    at('hold-what-label').textContent = label;
    at('hold-hint').textContent = hint;
  }

  /** Says why nothing was done, and at which field. */
  #refuse(text, field = null) {
    const said = at('hold-said');
    said.textContent = text;
    said.hidden = text === '';
    for (const id of ['hold-what', 'hold-seconds']) {
      at(id).toggleAttribute('aria-invalid', id === field);
    }
    if (field) {
      at(field).focus();
    }
  }

  async #act(step) {
    const prefix = this.#prefix();
    if (!prefix) {
      return;
    }
    const buttons = at('hold-form').querySelectorAll('button[type=submit]');
    buttons.forEach(button => { button.disabled = true; });
    this.#refuse('');
    try {
      await step(prefix);
    } catch {
      this.#refuse('The sidecar does not answer, so it is not known what was done; look at the holds.');
    } finally {
      buttons.forEach(button => { button.disabled = false; });
    }
  }

  /** The body that says which prefix; nothing where what was typed is none. */
  #prefix() {
    const typed = at('hold-what').value;
    if (this.#kind() === 'text') {
      if (typed === '') {
        this.#refuse('There is no text yet; type what prompts begin with.', 'hold-what');
        return null;
      }
      return {text: typed};
    }
    const words = typed.split(/[\s,[\]]+/).filter(word => word !== '');
    const wrong = words.find(word => !/^[0-9]{1,10}$/.test(word));
    if (words.length === 0 || wrong !== undefined) {
      this.#refuse(wrong === undefined ? 'There are no token ids yet; type some, such as 101, 7, 2023.'
        : `\u201c${wrong.slice(0, 20)}\u201d is no token id; write whole numbers.`, 'hold-what');
      return null;
    }
    return {tokens: words.map(Number)};
  }

  async #send(method, path, body) {
    const headers = body ? {'Content-Type': 'application/json'} : {};
    if (this.#token()) {
      headers.Authorization = `Bearer ${this.#token()}`;
    }
    const response = await fetch(`/api/v1/engines/${encodeURIComponent(this.#engine)}${path}`, {method, headers, body: body && JSON.stringify(body)});
    if (response.ok) {
      return response.json();
    }
    const hint = response.status === 401 || response.status === 403 ? ' Close this and set it by the Token button above.' : '';
    this.#refuse(`Nothing was done. ${await problem(response)}${hint}`);
    return null;
  }

  async #hold(prefix) {
    const seconds = Number(at('hold-seconds').value);
    if (!(seconds > 0 && seconds <= LONGEST_SECONDS)) {
      this.#refuse(`Seconds are a number above 0, at most ${LONGEST_SECONDS}.`, 'hold-seconds');
      return;
    }
    const hold = await this.#send('POST', '/holds', {...prefix, leaseSeconds: seconds});
    if (hold) {
      at('hold-dialog').close();
      this.#done(`Hold ${hold.id} of ${this.#engine} is ${hold.state === 'held' ? `held: ${plural(hold.heldTokens, 'token')}` : 'requested'}. ${sentence(hold.reason)}`);
    }
  }

  /** The hold of a prefix is found by having the prefix explained. */
  async #release(prefix) {
    const found = await this.#send('POST', '/explain', prefix);
    if (!found) {
      return;
    }
    const id = found.plan?.hold;
    if (!id) {
      this.#refuse(`Nothing is held of exactly this prefix. ${sentence(found.why ?? '')}`);
      return;
    }
    const released = await this.#send('DELETE', `/holds/${id}`);
    if (released) {
      at('hold-dialog').close();
      this.#done(`Hold ${id} of ${this.#engine} is released.`);
    }
  }
}
