import { createRequire } from 'node:module';

type SentCallback = (error?: Error) => void;
type Send = (
  this: object,
  data: unknown,
  options?: Record<string, unknown> | SentCallback,
  sent?: SentCallback,
) => void;

/**
 * Vitest sends the Worker its modules by a WebSocket of miniflare, which compresses each message, although it only goes from one
 * process of the machine to another. From here on messages are sent as they are.
 */
export function sendPlainMessages(): void {
  const ofMiniflare = createRequire(createRequire(import.meta.url).resolve('miniflare'));
  const { prototype } = ofMiniflare('ws') as { prototype: { send: Send } };
  const { send } = prototype;
  prototype.send = function plainly(data, options, sent) {
    if (typeof options === 'function') send.call(this, data, { compress: false }, options);
    else send.call(this, data, { ...options, compress: false }, sent);
  };
}
