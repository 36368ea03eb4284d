/** The prefix of message types between an embedded page and its host page: see "Messages" in embed/README.md. */
const MESSAGE_PREFIX = 'data-console:';

/** The time that an embedded page waits for its host to say whether it renews tokens. Milliseconds. */
const GREETING_MS = 2_000;
/** The maximum number of messages buffered until the allowed origins are known. */
const MAX_BUFFERED_MESSAGES = 50;

/** The messages of the host page. Those about tokens may come from any origin: each token is checked. */
type Incoming = 'parameters' | 'theme' | 'token' | 'token-failed' | 'token-refused';
const TOKEN_MESSAGES: ReadonlySet<string> = new Set<Incoming>(['token', 'token-failed', 'token-refused']);

/** Messages that are sent only to an allowed origin, as they reveal the content shown. */
type Outgoing = 'ready' | 'parameters' | 'click';
type Message = Record<string, unknown>;
type Listener = (message: Message, origin: string) => void;

/** The host page: the one that embeds this page in a frame. */
export interface Host {
  /** Calls `listener` for messages of the host page; except for those about tokens, only if its origin is allowed. */
  on(type: Incoming, listener: Listener): void;
  /** Sets the origins that may embed this page, which the token specifies; empty for any. */
  allowOrigin(origins: readonly string[]): void;
  /** Sends the host page a message, as soon as its origin is known to be an allowed one. */
  send(type: Outgoing, message?: object): void;
  /** Sends the code of a failure to the host page, whatever its origin: the code is not confidential. */
  sendError(code: string): void;
  /** Requests a new token from the host page, whatever its origin: the request reveals nothing about this page. */
  requestToken(): void;
  /** Whether it renews tokens. */
  renewsTokens(): Promise<boolean>;
}

/**
 * Connects to the host page; messages of other frames are ignored. The browser shows this page only within origins that
 * `frame-ancestors` allows; if the token specifies origins, the sender's must be one of them, too.
 * @returns undefined if this page is not embedded
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
    parent === hostWindow && hostWindow.postMessage({ ...message, type: MESSAGE_PREFIX + type }, to);

  function dispatch(type: string, message: Message): void {
    if (TOKEN_MESSAGES.has(type) || isTrusted()) listeners.get(type)?.(message, origin);
    else if (allowed === undefined && early.length < MAX_BUFFERED_MESSAGES) early.push([type, message]);
  }

  function flush(): void {
    if (!isTrusted()) return;
    for (const [type, message] of unsent) post(type, origin, message);
    unsent.clear();
    for (const [type, message] of early.splice(0)) dispatch(type, message);
  }

  addEventListener('message', (event: MessageEvent<unknown>) => {
    const { type, ...message } = Object(event.data) as Message;
    if (event.source !== hostWindow || typeof type !== 'string' || !type.startsWith(MESSAGE_PREFIX)) return;
    origin = event.origin;
    if (type === `${MESSAGE_PREFIX}host`) {
      renews = message.renews === true;
      greeted.resolve();
      dispatch('parameters', message);
    } else dispatch(type.slice(MESSAGE_PREFIX.length), message);
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

/** Reports this page's height to the host page, now and on change, whatever its origin: it may be known to any. */
export function sendHeight(): void {
  if (parent === window) return;
  let sent = 0;
  const send = () => {
    const height = Math.ceil(document.body.getBoundingClientRect().height);
    if (height === sent) return;
    sent = height;
    parent.postMessage({ type: `${MESSAGE_PREFIX}height`, height }, '*');
  };
  new ResizeObserver(send).observe(document.body);
  // Browsers draw no frame that is out of view, and only drawing tells the observer above. A change is measured at once.
  const changes = { subtree: true, childList: true, characterData: true, attributes: true };
  new MutationObserver(send).observe(document.body, changes);
}
