import type { TokenView } from '../../presentation/viewing.ts';
import { ApiProblem, callApi } from '../api.ts';
import type { HostConnection } from '../embedding.ts';
import type { TokenAccess } from '../source.ts';

/** The time between the renewal of a token and its expiry: a part of its remaining lifetime, within bounds in milliseconds. */
const RENEWAL_LEAD = { part: 0.2, least: 2_000, most: 60_000 };
/** The maximum delay of a browser timer. Milliseconds. */
const MAX_TIMER_MS = 2 ** 31 - 1;
/** The delays before the check of a new token is retried after a temporary failure. Milliseconds. */
const RETRY_DELAYS_MS = [1_000, 2_000, 4_000, 8_000];
/** The minimum delay before the host page is asked for another token after it sent no usable one. Milliseconds. */
const TOKEN_RETRY_MS = 5_000;

/**
 * Creates the access to an embed's API. The host page renews its token: before the token expires, by the server's clock,
 * independent of the clocks of host and viewer, and when it was revoked. Requests wait for the new token. @param kind `d` for a
 * dashboard, `v` for a visualization @param reportDelay called with whether the viewer is waiting because there is no new token
 * yet
 */
export function createEmbedAccess(
  kind: string,
  initialToken: string,
  host: HostConnection | undefined,
  reportDelay: (isDelayed: boolean) => void,
): TokenAccess {
  const formatBase = (token: string) => `/api/embed/${kind}/${token}`;
  let token = initialToken;
  let itemId: string | undefined;
  let endsAt = Number.POSITIVE_INFINITY;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let hasFailed = false;
  let renewal: PromiseWithResolvers<boolean> | undefined;

  /** Reads the view that a token opens, and the time at which the token expires by this page's clock. */
  async function readView(candidateToken: string): Promise<{ view: TokenView; tokenEndsAt: number }> {
    let currentTime = Date.now();
    const view = await callApi<TokenView>(`${formatBase(candidateToken)}/info`, {
      onServerTime: (serverTime) => (currentTime = serverTime),
    });
    const expiresAt = view.requires_auth || view.expires_at === null ? Number.NaN : Date.parse(view.expires_at);
    return {
      view,
      tokenEndsAt: performance.now() + (Number.isNaN(expiresAt) ? Number.POSITIVE_INFINITY : expiresAt - currentTime),
    };
  }

  function useToken(newToken: string, { view, tokenEndsAt }: { view: TokenView; tokenEndsAt: number }): void {
    token = newToken;
    itemId ??= getItemId(view);
    endsAt = tokenEndsAt;
    hasFailed = false;
    reportDelay(false);
    const remainingMs = tokenEndsAt - performance.now();
    requestTokenIn(
      remainingMs - Math.min(RENEWAL_LEAD.most, Math.max(RENEWAL_LEAD.least, remainingMs * RENEWAL_LEAD.part)),
    );
  }

  function requestTokenIn(milliseconds: number): void {
    clearTimeout(timer);
    if (!host || milliseconds === Number.POSITIVE_INFINITY) return;
    timer = setTimeout(
      () => (milliseconds > MAX_TIMER_MS ? requestTokenIn(milliseconds - MAX_TIMER_MS) : host.requestToken()),
      Math.min(Math.max(0, milliseconds), MAX_TIMER_MS),
    );
  }

  /** Waits until a token other than the refused one is in use; false if the host provides none. */
  async function awaitRenewal(refusedToken: string): Promise<boolean> {
    if (token !== refusedToken) return true;
    if (!host || !(await host.renewsTokens())) return false;
    if (token !== refusedToken) return true;
    renewal ??= Promise.withResolvers<boolean>();
    reportIfDelayed();
    host.requestToken();
    return renewal.promise;
  }

  const reportIfDelayed = () => reportDelay(hasFailed && (renewal !== undefined || performance.now() >= endsAt));

  /** Switches to a token from the host page, if it is for the same item and allows the host's origin. */
  async function useHostToken(hostToken: unknown, origin: string): Promise<void> {
    const newView = typeof hostToken === 'string' && hostToken !== token ? await readWithRetries(hostToken) : undefined;
    if (newView && isUsableView(newView.view, origin)) useToken(hostToken as string, newView);
    else {
      // This one may be good for a while yet, and the host may give another one then.
      const remainingMs = endsAt - performance.now();
      if (remainingMs > 0) requestTokenIn(Math.max(TOKEN_RETRY_MS, remainingMs / 2));
    }
    renewal?.resolve(hostToken === token);
    renewal = undefined;
  }

  const isUsableView = (view: TokenView, origin: string): boolean => {
    const origins = (!view.requires_auth && view.embed_options?.allowed_origins) || [];
    return (itemId === undefined || getItemId(view) === itemId) && (origins.length === 0 || origins.includes(origin));
  };

  /** Fetches a token's item, and retries temporary failures; undefined if the token is rejected or all tries fail. */
  async function readWithRetries(candidateToken: string) {
    for (const delayMs of RETRY_DELAYS_MS) {
      try {
        return await readView(candidateToken);
      } catch (error) {
        if (!(error instanceof ApiProblem) || !isTemporary(error)) return undefined;
        await new Promise((resolve) => setTimeout(resolve, delayMs));
      }
    }
    return undefined;
  }

  host?.on('token', ({ token: next }, origin) => void useHostToken(next, origin));
  host?.on('token-failed', () => {
    hasFailed = true;
    reportIfDelayed();
    if (!renewal) setTimeout(reportIfDelayed, Math.max(0, Math.min(endsAt - performance.now(), MAX_TIMER_MS)));
  });
  host?.on('token-refused', () => {
    reportDelay(false);
    renewal?.resolve(false);
    renewal = undefined;
  });

  async function withToken<T>(work: (token: string) => Promise<T>): Promise<T> {
    const usedToken = token;
    try {
      return await work(usedToken);
    } catch (error) {
      if (!(error instanceof ApiProblem && error.status === 401 && (await awaitRenewal(usedToken)))) throw error;
      return work(token);
    }
  }

  return {
    callWithBase: (work) => withToken((currentToken) => work(formatBase(currentToken))),
    readInfo: () =>
      withToken(async (currentToken) => {
        const currentView = await readView(currentToken);
        useToken(currentToken, currentView);
        return currentView.view;
      }),
  };
}

/** Returns true if a failure may be temporary. */
const isTemporary = ({ status }: ApiProblem): boolean => status === 0 || status === 429 || status >= 500;

const getItemId = (view: TokenView): string | undefined =>
  view.requires_auth ? undefined : (view.dashboard ?? view.visualization)?.id;
