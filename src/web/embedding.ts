/** The prefix of message types between an embedded page and its host page: see "Messages" in embed/README.md. */
const MESSAGE_PREFIX = 'data-console:';

/** The time that an embedded page waits for its host to say whether it renews tokens. Milliseconds. */
const GREETING_TIMEOUT_MS = 2_000;
/** The maximum number of messages buffered until the allowed origins are known: the newest ones. */
const MAX_BUFFERED_MESSAGES = 50;

/** Types of messages from the host page. Messages about tokens may come from any origin, as each token is checked. */
type IncomingMessageType = 'parameters' | 'theme' | 'token' | 'token-failed' | 'token-refused';
const TOKEN_MESSAGES: ReadonlySet<string> = new Set<IncomingMessageType>(['token', 'token-failed', 'token-refused']);

/** Types of messages that are sent only to an allowed origin, as they reveal the content shown. */
type OutgoingMessageType = 'ready' | 'parameters' | 'click';
type Message = Record<string, unknown>;
type MessageListener = (message: Message, origin: string) => void;

/** The connection to the host page: the page that embeds this page in a frame. */
export interface HostConnection {
  /**
   * Calls `listener` for messages of the host page. A message that is not about tokens is passed on only from an allowed origin.
   */
  on(type: IncomingMessageType, listener: MessageListener): void;
  /** Sets the origins that may embed this page, as the token specifies them; an empty list allows any origin. */
  allowOrigin(origins: readonly string[]): void;
  /** Sends the host page a message as soon as its origin is known to be allowed. */
  send(type: OutgoingMessageType, message?: object): void;
  /** Sends the code of a failure to the host page, whatever its origin: the code is not confidential. */
  sendError(code: string): void;
  /** Requests a new token from the host page, whatever its origin: the request reveals nothing about this page. */
  requestToken(): void;
  /** Returns true if the host page renews tokens. */
  renewsTokens(): Promise<boolean>;
}

/**
 * Connects to the host page; messages of other frames are ignored. The browser shows this page only within origins that
 * `frame-ancestors` allows; if the token specifies origins, the sender's must be one of them, too.
 * @returns undefined if this page is not embedded
 */
export function connectHost(): HostConnection | undefined {
  if (parent === window) return undefined;
  const listeners = new Map<string, MessageListener>();
  const bufferedMessages: [type: string, message: Message][] = [];
  const unsentMessages = new Map<OutgoingMessageType, object>();
  const greeting = Promise.withResolvers<void>();
  let hostRenewsTokens = false;
  let hostOrigin = 'null';
  let allowedOrigins: readonly string[] | undefined;

  // An origin without a name can be sent nothing in private.
  const isHostAllowed = () =>
    hostOrigin !== 'null' &&
    allowedOrigins !== undefined &&
    (allowedOrigins.length === 0 || allowedOrigins.includes(hostOrigin));
  // A frame that is being removed is its own parent, which must be sent nothing.
  const hostWindow = parent;
  const postMessageTo = (type: string, to: string, message: object = {}) =>
    parent === hostWindow && hostWindow.postMessage({ ...message, type: MESSAGE_PREFIX + type }, to);

  function dispatchMessage(type: string, message: Message): void {
    if (TOKEN_MESSAGES.has(type) || isHostAllowed()) listeners.get(type)?.(message, hostOrigin);
    else if (allowedOrigins === undefined) {
      bufferedMessages.push([type, message]);
      if (bufferedMessages.length > MAX_BUFFERED_MESSAGES) bufferedMessages.shift();
    }
  }

  function flushMessages(): void {
    if (!isHostAllowed()) return;
    for (const [type, message] of unsentMessages) postMessageTo(type, hostOrigin, message);
    unsentMessages.clear();
    for (const [type, message] of bufferedMessages.splice(0)) dispatchMessage(type, message);
  }

  addEventListener('message', (event: MessageEvent<unknown>) => {
    const { type, ...message } = Object(event.data) as Message;
    if (event.source !== hostWindow || typeof type !== 'string' || !type.startsWith(MESSAGE_PREFIX)) return;
    hostOrigin = event.origin;
    if (type === `${MESSAGE_PREFIX}host`) {
      hostRenewsTokens = message.renews === true;
      greeting.resolve();
      dispatchMessage('parameters', message);
    } else dispatchMessage(type.slice(MESSAGE_PREFIX.length), message);
    flushMessages();
  });
  postMessageTo('hello', '*');

  return {
    on: (type, listener) => void listeners.set(type, listener),
    allowOrigin(origins) {
      allowedOrigins = origins;
      flushMessages();
    },
    send(type, message = {}) {
      if (isHostAllowed()) postMessageTo(type, hostOrigin, message);
      // What a point of a chart was is old by then.
      else if (type !== 'click') unsentMessages.set(type, message);
    },
    sendError: (code) => postMessageTo('error', '*', { code, message: `The page of the embed says ${code}.` }),
    requestToken: () => postMessageTo('token-wanted', '*'),
    async renewsTokens() {
      await Promise.race([greeting.promise, new Promise((onTimeout) => setTimeout(onTimeout, GREETING_TIMEOUT_MS))]);
      return hostRenewsTokens;
    },
  };
}

/** Reports this page's height to the host page, now and on each change. Any origin may receive it. */
export function sendHeight(): void {
  if (parent === window) return;
  let sentHeight = 0;
  const send = () => {
    const height = Math.ceil(document.body.getBoundingClientRect().height);
    // A frame that its host page does not show has no height: it is as high as before once it is shown again.
    if (height === sentHeight || height === 0) return;
    sentHeight = height;
    parent.postMessage({ type: `${MESSAGE_PREFIX}height`, height }, '*');
  };
  new ResizeObserver(send).observe(document.body);
  // Browsers draw no frame that is out of view, and only drawing tells the observer above. A change is measured at once.
  const observedChanges = { subtree: true, childList: true, characterData: true, attributes: true };
  new MutationObserver(send).observe(document.body, observedChanges);
}
