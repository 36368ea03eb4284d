/** `<data-console-embed>` shows an embedded dashboard or visualization: see README.md beside this file. */
import { textsFor } from './texts.js';
import { fetchToken, isToken, Refused, TIMEOUT_MS } from './token.js';

const PREFIX = 'data-console:';
/** The time that a page has to send its first message: in all, and once it is loaded. Milliseconds, as all that follow. */
const LOADING_MS = 20_000;
const STARTING_MS = 3_000;
/** Pauses before a token is fetched again: each is twice the one before. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
/** The greatest height of a page. CSS pixels. */
const MAX_HEIGHT = 200_000;

const STYLE = `:host { display: block } :host([hidden]) { display: none }
[hidden] { display: none !important } iframe { display: block; width: 100%; height: 20rem; border: 0 } p { margin: 0; padding: 1rem } p:empty { display: none }`;

/** @typedef {import('./index.d.ts').ParameterValues} ParameterValues */
/** @typedef {{ origin: string; address: string; query: URLSearchParams; token: string | undefined }} EmbedAddress */

/** The base class. Without a browser, such as on a server that makes pages, it is empty, and nothing is defined. */
const Base = globalThis.HTMLElement ?? /** @type {typeof HTMLElement} */ (class {});

export class DataConsoleEmbed extends Base {
  static observedAttributes = ['src', 'token-endpoint', 'locale', 'theme', 'title'];

  /** @type {(() => Promise<string>) | null} */
  #getToken = null;
  /** @type {ShadowRoot | undefined} */
  #shadow;
  /** @type {HTMLIFrameElement | undefined} */
  #frame;
  /** The address of the page in the frame. @type {EmbedAddress | undefined} */
  #address;
  /** Aborts everything that belongs to the present frame. */
  #lifetime = new AbortController();
  #isRenewing = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #pageTimer;
  /** The page has sent its first message. */
  #hasAnswered = false;
  /** The page has its filters and takes values for them. */
  #isReady = false;
  /** @type {ParameterValues} */
  #parameters = {};
  /** Parameters that the page there does not have yet, or that the host has just set. @type {ParameterValues} */
  #ofHost = {};
  /** The `theme` in the address of the frame. @type {string | null} */
  #loadedTheme = null;
  /** Parameters that the page has not been sent yet. @type {ParameterValues} */
  #unsent = {};

  get parameters() {
    return structuredClone(this.#parameters);
  }

  /** @param {ParameterValues} values */
  setParameters(values) {
    const own = structuredClone(values);
    this.#parameters = { ...this.#parameters, ...own };
    this.#ofHost = { ...this.#ofHost, ...own };
    if (!this.#isReady) {
      this.#unsent = { ...this.#unsent, ...own };
      return;
    }
    this.#send('parameters', { parameters: own });
    // Those set just before a new `src` are for its page; later they are the page's, which may tell of no change.
    setTimeout(() => {
      this.#ofHost = {};
    });
  }

  get getToken() {
    return this.#getToken;
  }

  set getToken(give) {
    this.#getToken = give;
    if (this.#frame) this.#send('host', { renews: this.#renews });
    else if (this.isConnected) this.#start();
  }

  connectedCallback() {
    this.#shadow ??= this.#createShadow();
    // Set before the element was defined.
    if (Object.hasOwn(this, 'getToken')) {
      const { getToken } = this;
      Reflect.deleteProperty(this, 'getToken');
      this.#getToken = getToken;
    }
    this.#start();
  }

  disconnectedCallback() {
    this.#end();
  }

  /** @param {string} name @param {string | null} before @param {string | null} now */
  attributeChangedCallback(name, before, now) {
    if (before === now) return;
    // Those of the page would override the filters of the new address, perhaps of another dashboard.
    if (name === 'src') this.#parameters = { ...this.#ofHost };
    if (!this.isConnected || !this.#shadow) return;
    if (name === 'title') this.#setTitle();
    else if (name === 'theme') this.#send('theme', { theme: now });
    else if (name === 'token-endpoint' && this.#frame) this.#send('host', { renews: this.#renews });
    else this.#start();
  }

  get #renews() {
    return this.#getToken !== null || this.hasAttribute('token-endpoint');
  }

  get #texts() {
    return textsFor(this.getAttribute('locale') ?? this.ownerDocument.documentElement.lang);
  }

  #createShadow() {
    const shadow = this.attachShadow({ mode: 'open', delegatesFocus: true });
    const notice = this.ownerDocument.createElement('p');
    notice.setAttribute('role', 'status');
    notice.setAttribute('part', 'notice');
    // A sheet of its own is no inline style, which the policy of a page may forbid.
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLE);
    shadow.adoptedStyleSheets = [sheet];
    shadow.append(notice);
    return shadow;
  }

  /** Restarts, once for attributes that are changed together. */
  #start() {
    this.#end();
    const { signal } = this.#lifetime;
    addEventListener('message', (event) => this.#receive(event), { signal });
    queueMicrotask(() => {
      if (!signal.aborted) this.#open();
    });
  }

  #end() {
    this.#lifetime.abort();
    this.#lifetime = new AbortController();
    clearTimeout(this.#pageTimer);
    this.#isRenewing = this.#isReady = this.#hasAnswered = false;
    this.#unsent = {};
    this.#frame?.remove();
    this.#frame = undefined;
    this.#setNotice('');
  }

  #open() {
    this.#address = parseAddress(this.getAttribute('src'), this.ownerDocument.baseURI);
    if (!this.#address) return this.#fail('BAD_SRC', 'src must be the address of an embed, with its token or without.');
    if (this.#address.token !== undefined) return this.#load(this.#address, this.#address.token);
    if (this.#renews) return void this.#renew();
    return this.#fail('NO_TOKEN', 'src has no token, and there is no token-endpoint.');
  }

  /** @param {EmbedAddress} address @param {string} token */
  #load({ address, query }, token) {
    this.#setNotice('');
    const frame = this.ownerDocument.createElement('iframe');
    // A card may be opened over the whole screen.
    frame.allow = 'fullscreen';
    const parameters = new URLSearchParams(query);
    for (const name of ['locale', 'theme']) {
      const value = this.getAttribute(name);
      if (value) parameters.set(name, value);
    }
    this.#loadedTheme = this.getAttribute('theme');
    frame.setAttribute('part', 'frame');
    frame.referrerPolicy = 'no-referrer';
    frame.src = `${address}/${token}${parameters.size > 0 ? `?${parameters}` : ''}`;
    this.#frame = frame;
    this.#setTitle();
    this.#awaitPage(LOADING_MS);
    // The browser loads a page of its own where it may not show ours.
    frame.addEventListener('load', () => this.#hasAnswered || this.#awaitPage(STARTING_MS));
    this.#shadow?.append(frame);
  }

  /** Fails unless the page sends its first message in time. @param {number} milliseconds */
  #awaitPage(milliseconds) {
    clearTimeout(this.#pageTimer);
    this.#pageTimer = setTimeout(() => {
      if (this.#frame) this.#frame.hidden = true;
      this.#fail('NOT_LOADED', 'The page of the embed does not answer: its token may be wrong, or not for this site.');
    }, milliseconds);
  }

  /** @param {string} [name] of the dashboard or visualization that is shown */
  #setTitle(name = this.#frame?.title) {
    if (this.#frame) this.#frame.title = this.title || name || this.#texts.dashboard;
  }

  /** Fetches a token for the page, and retries until there is one or it is refused. */
  async #renew() {
    if (this.#isRenewing) return;
    this.#isRenewing = true;
    const { signal } = this.#lifetime;
    const token = await this.#fetchUntilGiven(signal);
    if (signal.aborted) return;
    this.#isRenewing = false;
    if (token === undefined) return;
    if (this.#frame) this.#send('token', { token });
    else if (this.#address) this.#load(this.#address, token);
  }

  /** @param {AbortSignal} signal @returns {Promise<string | undefined>} undefined where it is refused */
  async #fetchUntilGiven(signal) {
    for (let pause = FIRST_PAUSE_MS; !signal.aborted; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      try {
        return await this.#fetch(signal);
      } catch (error) {
        if (signal.aborted) return undefined;
        if (error instanceof Refused) {
          this.#send('token-refused');
          this.#fail('TOKEN_REFUSED', error.message, this.#texts.refused);
          return undefined;
        }
        // So that many pages that fail together do not retry together.
        const wait = pause * (0.75 + Math.random() / 2);
        this.#send('token-failed');
        this.#fail('TOKEN_FAILED', String(error), this.#texts.retrying, Math.ceil(wait / 1000));
        await sleep(wait, signal);
      }
    }
    return undefined;
  }

  /** @param {AbortSignal} signal */
  async #fetch(signal) {
    if (!this.#getToken)
      return fetchToken(this.getAttribute('token-endpoint') ?? '', this.ownerDocument.baseURI, signal);
    const waiting = new AbortController();
    try {
      const timeout = sleep(TIMEOUT_MS, AbortSignal.any([signal, waiting.signal]));
      const token = await Promise.race([this.#getToken(), timeout]);
      if (!isToken(token)) throw new Error('getToken gave no token in time.');
      return token;
    } finally {
      waiting.abort();
    }
  }

  /** Receives a message if the page in the frame sent it. @param {MessageEvent} event */
  #receive({ source, origin, data }) {
    if (!this.#frame || source !== this.#frame.contentWindow || origin !== this.#address?.origin) return;
    const { type, ...message } = Object(data);
    const received = typeof type === 'string' && type.startsWith(PREFIX) ? type.slice(PREFIX.length) : '';
    if (received === 'hello') this.#onHello();
    else if (received === 'token-wanted') void this.#renew();
    else if (received === 'height') this.#resize(message.height);
    else if (received === 'ready') this.#onReady(message);
    else if (received === 'parameters') this.#emit(received, { parameters: this.#storeParameters(message.parameters) });
    else if (received === 'click' || received === 'error') this.#emit(received, message);
  }

  /** Called when the page was loaded, perhaps anew: it is sent the settings of the host. */
  #onHello() {
    clearTimeout(this.#pageTimer);
    this.#hasAnswered = true;
    this.#setNotice('');
    if (this.#frame) this.#frame.hidden = false;
    this.#isReady = false;
    this.#unsent = {};
    this.#send('host', { renews: this.#renews, parameters: this.#parameters });
    const theme = this.getAttribute('theme');
    if (theme !== this.#loadedTheme) this.#send('theme', { theme });
  }

  /** @param {{ name?: string; parameters?: ParameterValues }} page */
  #onReady({ name, parameters }) {
    this.#isReady = true;
    this.#setTitle(name);
    this.#storeParameters(parameters);
    const unsent = this.#unsent;
    this.#unsent = {};
    if (Object.keys(unsent).length > 0) this.setParameters(unsent);
    this.#emit('ready', { name, parameters: this.parameters });
  }

  /** @param {ParameterValues | undefined} parameters */
  #storeParameters(parameters) {
    this.#parameters = { ...parameters };
    this.#ofHost = {};
    return this.parameters;
  }

  /** @param {unknown} height */
  #resize(height) {
    if (typeof height !== 'number' || !(height >= 0 && height <= MAX_HEIGHT) || !this.#frame) return;
    this.#frame.style.height = `${height}px`;
    this.#emit('height', { height });
  }

  /** Sends a message to the page in the frame, if it is there: it is told all when it says hello. @param {string} type @param {object} [message] */
  #send(type, message) {
    const { contentWindow } = this.#frame ?? {};
    if (contentWindow && this.#address && this.#hasAnswered)
      contentWindow.postMessage({ type: PREFIX + type, ...message }, this.#address.origin);
  }

  /** @param {string} type @param {object} detail */
  #emit(type, detail) {
    this.dispatchEvent(new CustomEvent(PREFIX + type, { bubbles: true, composed: true, detail }));
  }

  /** Reports a failure to the host, and to the viewer where no page does. @param {string} code @param {string} message @param {number} [retryIn] seconds */
  #fail(code, message, words = this.#texts.notShown, retryIn = undefined) {
    if (!this.#frame || code === 'NOT_LOADED') this.#setNotice(words);
    this.#emit('error', { code, message, ...(retryIn !== undefined && { retryIn }) });
  }

  /** @param {string} words */
  #setNotice(words) {
    const notice = this.#shadow?.querySelector('p');
    if (notice) notice.textContent = words;
  }
}

/**
 * Parses the address of an embed: …/embed/d or /embed/v, or the link of a share, /p; with its token or without.
 * @param {string | null} src @param {string} base @returns {EmbedAddress | undefined}
 */
function parseAddress(src, base) {
  const url = src !== null && URL.canParse(src, base) ? new URL(src, base) : null;
  const [, path, token] = /^((?:\/[^/]+)*\/(?:embed\/[dv]|p))(?:\/([^/]+))?\/?$/.exec(url?.pathname ?? '') ?? [];
  if (!url || path === undefined || !/^https?:$/.test(url.protocol)) return undefined;
  return { origin: url.origin, address: url.origin + path, query: url.searchParams, token };
}

/** @param {number} milliseconds @param {AbortSignal} signal @returns {Promise<void>} when they have passed, or `signal` was aborted */
const sleep = (milliseconds, signal) =>
  new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    signal.addEventListener('abort', done);
  });

if (globalThis.customElements && !customElements.get('data-console-embed')) {
  customElements.define('data-console-embed', DataConsoleEmbed);
}
