import { createRequire } from 'node:module';

type SentCallback = (error?: Error) => void;
type SendFunction = (
  this: object,
  data: unknown,
  options?: Record<string, unknown> | SentCallback,
  onSent?: SentCallback,
) => void;

/**
 * Sends messages of Vitest's WebSocket to the Worker uncompressed from here on: miniflare compresses each message, although it
 * only goes from one process of the machine to another.
 */
export function sendPlainMessages(): void {
  const requireFromMiniflare = createRequire(createRequire(import.meta.url).resolve('miniflare'));
  const { prototype } = requireFromMiniflare('ws') as { prototype: { send: SendFunction } };
  const { send } = prototype;
  prototype.send = function plainly(data, options, onSent) {
    if (typeof options === 'function') send.call(this, data, { compress: false }, options);
    else send.call(this, data, { ...options, compress: false }, onSent);
  };
}
