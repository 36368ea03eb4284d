/** The prefix of messages between an embedded page and the page around it: see "Messages" in embed/README.md. */
const PREFIX = 'data-console:';

/** The time that an embedded page waits for its host to say whether it renews tokens. Milliseconds. */
const GREETING_MS = 2_000;
/** The maximum number of messages that are kept until it is clear whether they may be taken. */
const MAX_EARLY = 50;

/** The messages that the page around may send. Those about tokens are taken of anyone: a token is looked at before it is used. */
type Incoming = 'parameters' | 'theme' | 'token' | 'token-failed' | 'token-refused';
const ABOUT_TOKENS: ReadonlySet<string> = new Set<Incoming>(['token', 'token-failed', 'token-refused']);

/** Messages that are sent only to an origin that may know the content shown. */
type Outgoing = 'ready' | 'parameters' | 'click';
type Message = Record<string, unknown>;
type Listener = (message: Message, origin: string) => void;

/** The page around this one. */
export interface Host {
  /** Calls `listener` for messages of the page around, once it is clear that its origin may send them. */
  on(type: Incoming, listener: Listener): void;
  /** Names the origins that may have this page in theirs, as soon as the token says so; empty for any. */
  allowOrigin(origins: readonly string[]): void;
  /** Sends the host page a message, as soon as its origin is known to be an allowed one. */
  send(type: Outgoing, message?: object): void;
  /** Tells it the code of a failure, which anyone may know who may show this page. */
  sendError(code: string): void;
  /** Asks for another token. That says nothing of this page, so anyone may hear it. */
  requestToken(): void;
  /** Whether it renews tokens. */
  renewsTokens(): Promise<boolean>;
}

/**
 * Begins to talk with the page around this one. No other frame is heard. The browser shows this page only within origins that
 * `frame-ancestors` allows; if the token names origins, the sender's must be one of them too.
 * @returns undefined where there is none
 */
export function connectHost(): Host | undefined {
  if (parent === window) return undefined;
  const listeners = new Map<string, Listener>();
  const early: [type: string, message: Message][] = [];
  const unsent = new Map<Outgoing, object>();
  const greeted = Promise.withResolvers<void>();
  let renews = false;
  let origin = 'null';
  let allowed: readonly string[] | undefined;

  // An origin without a name can be sent nothing in private.
  const isTrusted = () =>
    origin !== 'null' && allowed !== undefined && (allowed.length === 0 || allowed.includes(origin));
  // A frame that is being removed is its own parent, which must be sent nothing.
  const hostWindow = parent;
  const post = (type: string, to: string, message: object = {}) =>
    parent === hostWindow && hostWindow.postMessage({ ...message, type: PREFIX + type }, to);

  function dispatch(type: string, message: Message): void {
    if (ABOUT_TOKENS.has(type) || isTrusted()) listeners.get(type)?.(message, origin);
    else if (allowed === undefined && early.length < MAX_EARLY) early.push([type, message]);
  }

  function flush(): void {
    if (!isTrusted()) return;
    for (const [type, message] of unsent) post(type, origin, message);
    unsent.clear();
    for (const [type, message] of early.splice(0)) dispatch(type, message);
  }

  addEventListener('message', (event: MessageEvent<unknown>) => {
    const { type, ...message } = Object(event.data) as Message;
    if (event.source !== hostWindow || typeof type !== 'string' || !type.startsWith(PREFIX)) return;
    origin = event.origin;
    if (type === `${PREFIX}host`) {
      renews = message.renews === true;
      greeted.resolve();
      dispatch('parameters', message);
    } else dispatch(type.slice(PREFIX.length), message);
    flush();
  });
  post('hello', '*');

  return {
    on: (type, listener) => void listeners.set(type, listener),
    allowOrigin(origins) {
      allowed = origins;
      flush();
    },
    send(type, message = {}) {
      if (isTrusted()) post(type, origin, message);
      // What a point of a chart was is old by then.
      else if (type !== 'click') unsent.set(type, message);
    },
    sendError: (code) => post('error', '*', { code, message: `The page of the embed says ${code}.` }),
    requestToken: () => post('token-wanted', '*'),
    async renewsTokens() {
      await Promise.race([greeted.promise, new Promise((late) => setTimeout(late, GREETING_MS))]);
      return renews;
    },
  };
}

/**
 * Tells this page's height to the page around it, now and on every change. Anyone who may show this page may know its height, so
 * the message names no origin.
 */
export function sendHeight(): void {
  if (parent === window) return;
  let sent = 0;
  const send = () => {
    const height = Math.ceil(document.body.getBoundingClientRect().height);
    if (height === sent) return;
    sent = height;
    parent.postMessage({ type: `${PREFIX}height`, height }, '*');
  };
  new ResizeObserver(send).observe(document.body);
  // Browsers draw no frame that is out of view, and only drawing tells the observer above. A change is measured at once.
  const changes = { subtree: true, childList: true, characterData: true, attributes: true };
  new MutationObserver(send).observe(document.body, changes);
}
