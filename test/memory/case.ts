import { setTimeout as sleep } from 'node:timers/promises';
import type { System } from '../../bench/system.ts';

/** Work at its largest documented input. Each is done twice at the same time; `which` tells the two apart. */
export interface Case {
  name: string;
  /** Who sends mails meanwhile: the platform, unless it is said. */
  mailer?: 'resend';
  /** Makes what both need. */
  prepare?(system: System): Promise<void>;
  run(system: System, which: number): Promise<unknown>;
}

/** Takes an answer, at so many bytes a second. @returns how many bytes and lines it had */
export async function downloadAnswer(
  answer: Response,
  perSecond = Number.POSITIVE_INFINITY,
): Promise<{ bytes: number; lines: number }> {
  if (!answer.ok) throw new Error(`${answer.url} answered ${answer.status}: ${await answer.text()}`);
  let [bytes, lines] = [0, 0];
  for await (const chunk of answer.body as ReadableStream<Uint8Array>) {
    bytes += chunk.length;
    for (const byte of chunk) if (byte === 10) lines += 1;
    if (Number.isFinite(perSecond)) await sleep((chunk.length * 1000) / perSecond);
  }
  return { bytes, lines };
}
