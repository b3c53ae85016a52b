// The overview as it comes: server-sent events read by fetch, since EventSource cannot send a token.

const SILENCE_MILLIS = 12_000;
const LONGEST_WAIT_MILLIS = 15_000;

/** Follows the overview until it is told to follow something else. */
export class Live {
  #heard;
  #state;
  #controller = null;
  #timer = 0;
  #waits = 0;
  #path = '';
  #token = '';

  /** @param heard is given each document; @param state is told 'connecting', 'live', 'lost' or 'refused', and a sentence */
  constructor(heard, state) {
    this.#heard = heard;
    this.#state = state;
    document.addEventListener('visibilitychange', () => {
      if (document.hidden) {
        this.#stop();
      } else if (this.#path && !this.#controller) {
        this.#begin();
      }
    });
  }

  follow(path, token) {
    this.#path = path;
    this.#token = token;
    this.#waits = 0;
    this.#begin();
  }

  #stop() {
    clearTimeout(this.#timer);
    this.#controller?.abort();
    this.#controller = null;
  }

  async #begin() {
    this.#stop();
    const controller = new AbortController();
    this.#controller = controller;
    try {
      const response = await fetch(this.#path, {
        headers: this.#token ? {Authorization: `Bearer ${this.#token}`} : {},
        signal: controller.signal,
        cache: 'no-store',
      });
      if (response.status === 401) {
        this.#state('refused', await problem(response));
        return;
      }
      if (!response.ok) {
        throw new Error(await problem(response));
      }
      await this.#read(response.body.pipeThrough(new TextDecoderStream()).getReader(), controller);
      throw new Error('The sidecar ended the connection.');
    } catch (fault) {
      if (this.#controller === controller) {
        this.#again(fault instanceof TypeError || fault.name === 'AbortError' ? 'The sidecar does not answer.' : fault.message);
      }
    }
  }

  #again(why) {
    this.#controller = null;
    this.#state('lost', why);
    const wait = Math.min(LONGEST_WAIT_MILLIS, 1000 * 2 ** this.#waits++);
    this.#timer = setTimeout(() => this.#begin(), wait);
  }

  async #read(reader, controller) {
    let text = '';
    let watchdog = setTimeout(() => controller.abort(), SILENCE_MILLIS);
    try {
      for (;;) {
        const {done, value} = await reader.read();
        if (done) {
          return;
        }
        clearTimeout(watchdog);
        watchdog = setTimeout(() => controller.abort(), SILENCE_MILLIS);
        this.#waits = 0;
        text += value;
        const blocks = text.split('\n\n');
        text = blocks.pop();
        blocks.forEach(block => this.#take(block));
        this.#state('live', '');
      }
    } finally {
      clearTimeout(watchdog);
    }
  }

  #take(block) {
    let name = 'message';
    let data = '';
    for (const line of block.split('\n')) {
      if (line.startsWith('event: ')) {
        name = line.slice(7);
      } else if (line.startsWith('data: ')) {
        data += line.slice(6);
      }
    }
    if (name === 'overview') {
      this.#heard(JSON.parse(data));
    }
  }
}

/** The one sentence that an answer gives for what it does not do. */
export async function problem(response) {
  try {
    const body = await response.json();
    return body.detail ?? body.error ?? `The sidecar answered ${response.status}.`;
  } catch {
    return `The sidecar answered ${response.status}.`;
  }
}
