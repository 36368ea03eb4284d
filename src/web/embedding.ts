import type { ParameterValues } from './values.ts';

/** How an embedded page and the page around it talk: see "Embed a dashboard" in the README. */
const HEIGHT = 'data-console:height';
const PARAMETERS = 'data-console:parameters';

/**
 * Tells the page around this one how high this one is, now and whenever that changes. Heights are no secret: whoever may
 * show this page may know them.
 */
export function tellHeight(): void {
  if (parent === window) return;
  let told = 0;
  const tell = () => {
    const height = Math.ceil(document.body.getBoundingClientRect().height);
    if (height === told) return;
    told = height;
    parent.postMessage({ type: HEIGHT, height }, '*');
  };
  new ResizeObserver(tell).observe(document.body);
}

/**
 * Takes values of filters from the page around this one, and from no other. The browser shows this page only within
 * origins that `frame-ancestors` allows; where the token names origins, the sender must also be one of them.
 * @param allowedOrigins empty for any
 */
export function takeParameters(allowedOrigins: readonly string[], take: (parameters: ParameterValues) => void): void {
  if (parent === window) return;
  addEventListener('message', ({ source, origin, data }: MessageEvent<unknown>) => {
    if (source !== parent || (allowedOrigins.length > 0 && !allowedOrigins.includes(origin))) return;
    const { type, parameters } = Object(data) as { type?: unknown; parameters?: unknown };
    if (type !== PARAMETERS || typeof parameters !== 'object' || parameters === null) return;
    take(parameters as ParameterValues);
  });
}
