/** What an embedded page and the page around it say to each other: see "Messages" in embed/README.md. */
const PREFIX = 'data-console:';

/** How long an embedded page waits for its host to say whether it renews tokens. Milliseconds. */
const GREETING_MS = 2_000;
/** How many messages are kept until it is clear whether they may be taken. */
const MAX_EARLY = 50;

/** What the page around may say. What is about tokens is taken of anyone: a token is looked at before it is used. */
type Heard = 'parameters' | 'theme' | 'token' | 'token-failed' | 'token-refused';
const OF_TOKENS: ReadonlySet<string> = new Set<Heard>(['token', 'token-failed', 'token-refused']);

/** What it is told only if it may know what is shown. */
type Told = 'ready' | 'parameters' | 'click';
type Message = Record<string, unknown>;
type Take = (message: Message, origin: string) => void;

/** The page around this one. */
export interface Host {
  /** Calls `take` for what it says, once it is clear that its origin may say so. */
  on(type: Heard, take: Take): void;
  /** Names the origins that may have this page in theirs, as soon as the token says so; empty for any. */
  allow(origins: readonly string[]): void;
  /** Tells it something, as soon as its origin is known to be among those. */
  tell(type: Told, message?: object): void;
  /** Tells it the code of a failure, which anyone may know who may show this page. */
  complain(code: string): void;
  /** Asks for another token. That says nothing of this page, so anyone may hear it. */
  wantToken(): void;
  /** Whether it renews tokens. */
  renews(): Promise<boolean>;
}

/**
 * Begins to talk with the page around this one. No other frame is heard. The browser shows this page only within origins that
 * `frame-ancestors` allows; if the token names origins, the sender's must be one of them too.
 * @returns undefined where there is none
 */
export function connectHost(): Host | undefined {
  if (parent === window) return undefined;
  const takers = new Map<string, Take>();
  const early: [type: string, message: Message][] = [];
  const untold = new Map<Told, object>();
  const greeted = Promise.withResolvers<void>();
  let renews = false;
  let origin = 'null';
  let allowed: readonly string[] | undefined;

  // An origin without a name can be told nothing in private.
  const mayKnow = () =>
    origin !== 'null' && allowed !== undefined && (allowed.length === 0 || allowed.includes(origin));
  // A frame that is being removed is its own parent, which must not be told.
  const around = parent;
  const say = (type: string, to: string, message: object = {}) =>
    parent === around && around.postMessage({ ...message, type: PREFIX + type }, to);

  function hear(type: string, message: Message): void {
    if (OF_TOKENS.has(type) || mayKnow()) takers.get(type)?.(message, origin);
    else if (allowed === undefined && early.length < MAX_EARLY) early.push([type, message]);
  }

  function settle(): void {
    if (!mayKnow()) return;
    for (const [type, message] of untold) say(type, origin, message);
    untold.clear();
    for (const [type, message] of early.splice(0)) hear(type, message);
  }

  addEventListener('message', (event: MessageEvent<unknown>) => {
    const { type, ...message } = Object(event.data) as Message;
    if (event.source !== around || typeof type !== 'string' || !type.startsWith(PREFIX)) return;
    origin = event.origin;
    if (type === `${PREFIX}host`) {
      renews = message.renews === true;
      greeted.resolve();
      hear('parameters', message);
    } else hear(type.slice(PREFIX.length), message);
    settle();
  });
  say('hello', '*');

  return {
    on: (type, take) => void takers.set(type, take),
    allow(origins) {
      allowed = origins;
      settle();
    },
    tell(type, message = {}) {
      if (mayKnow()) say(type, origin, message);
      // What a point of a chart was is old by then.
      else if (type !== 'click') untold.set(type, message);
    },
    complain: (code) => say('error', '*', { code, message: `The page of the embed says ${code}.` }),
    wantToken: () => say('token-wanted', '*'),
    async renews() {
      await Promise.race([greeted.promise, new Promise((late) => setTimeout(late, GREETING_MS))]);
      return renews;
    },
  };
}

/**
 * Tells this page's height to the page around it, now and on every change. Anyone who may show this page may know its height, so
 * the message names no origin.
 */
export function tellHeight(): void {
  if (parent === window) return;
  let told = 0;
  const tell = () => {
    const height = Math.ceil(document.body.getBoundingClientRect().height);
    if (height === told) return;
    told = height;
    parent.postMessage({ type: `${PREFIX}height`, height }, '*');
  };
  new ResizeObserver(tell).observe(document.body);
}
