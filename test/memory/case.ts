import { setTimeout as sleep } from 'node:timers/promises';
import type { System } from '../../bench/system.ts';

/** Work with the largest documented input. It runs twice at the same time; `runNumber` is the number of the run. */
export interface MemoryCase {
  name: string;
  /** The mail service that sends mails meanwhile; by default, the platform. */
  mailer?: 'resend';
  /** Prepares what both runs need. */
  prepare?(system: System): Promise<void>;
  run(system: System, runNumber: number): Promise<unknown>;
}

/** Reads an answer, at the given number of bytes per second. @returns the number of its bytes and lines */
export async function downloadAnswer(
  answer: Response,
  bytesPerSecond = Number.POSITIVE_INFINITY,
): Promise<{ bytes: number; lines: number }> {
  if (!answer.ok) throw new Error(`${answer.url} answered ${answer.status}: ${await answer.text()}`);
  let [bytes, lines] = [0, 0];
  for await (const chunk of answer.body as ReadableStream<Uint8Array>) {
    bytes += chunk.length;
    for (const byte of chunk) if (byte === 10) lines += 1;
    if (Number.isFinite(bytesPerSecond)) await sleep((chunk.length * 1000) / bytesPerSecond);
  }
  return { bytes, lines };
}
