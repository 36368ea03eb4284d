import type { ParameterValues } from './values.ts';

/** The messages between an embedded page and the page around it: see "Embed a dashboard" in the README. */
const HEIGHT = 'data-console:height';
const PARAMETERS = 'data-console:parameters';

/**
 * Sends this page's height to the page around it, now and on every change. Anyone who may show this page may know its
 * height, so the message names no origin.
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
 * Receives values of filters from the parent page only. The browser shows this page only within origins that
 * `frame-ancestors` allows; if the token names origins, the sender's must be one of them.
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
