import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { divertRows } from '../../src/tenant-sql/copy-frames.ts';
import type { Chunk, Socket } from '../../src/tenant-sql/driver.ts';

const text = new TextEncoder();

/** Builds a message of the PostgreSQL protocol. */
function makeMessage(kind: string, body: string): number[] {
  const bytes = [...text.encode(body)];
  return [kind.charCodeAt(0), 0, 0, 0, bytes.length + 4, ...bytes];
}

const SENT_MESSAGES = [
  ...makeMessage('1', ''),
  ...makeMessage('H', '\0\0\0'),
  ...makeMessage('d', 'one\n'),
  ...makeMessage('d', '\n'),
  ...makeMessage('N', 'notice'),
  ...makeMessage('d', 'three, ç\n'),
  ...makeMessage('c', ''),
  ...makeMessage('C', 'COPY 3\0'),
  ...makeMessage('Z', 'I'),
  // What comes after belongs to the next query.
  ...makeMessage('d', 'not ours'),
];

describe('the rows of a COPY response', () => {
  it.each([1, 2, 3, 4, 5, 6, 7, 11, SENT_MESSAGES.length])('are read from network chunks of %s bytes', (size) => {
    const emitter = new EventEmitter();
    const driverBytes: number[] = [];
    emitter.on('data', (chunk: Chunk) => driverBytes.push(...chunk));
    const rows: string[] = [''];
    divertRows(emitter as unknown as Socket, {
      takeBytes: (bytes, start, end) => {
        rows[rows.length - 1] += String.fromCharCode(...bytes.subarray(start, end));
      },
      endRow: () => rows.push(''),
    });
    for (let at = 0; at < SENT_MESSAGES.length; at += size)
      emitter.emit('data', Uint8Array.from(SENT_MESSAGES.slice(at, at + size)));
    expect(rows).toEqual(['one\n', '\n', String.fromCharCode(...text.encode('three, ç\n')), '']);
    expect(driverBytes).toEqual([
      ...makeMessage('1', ''),
      ...makeMessage('H', '\0\0\0'),
      ...makeMessage('N', 'notice'),
      ...makeMessage('c', ''),
      ...makeMessage('C', 'COPY 3\0'),
      ...makeMessage('Z', 'I'),
      ...makeMessage('d', 'not ours'),
    ]);
    expect(emitter.listenerCount('data')).toBe(1);
  });
});
