import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { divertRows } from '../../src/tenant-sql/copy-frames.ts';
import type { Chunk, Socket } from '../../src/tenant-sql/driver.ts';

const text = new TextEncoder();

/** Builds a message of the PostgreSQL protocol. */
function message(kind: string, body: string): number[] {
  const bytes = [...text.encode(body)];
  return [kind.charCodeAt(0), 0, 0, 0, bytes.length + 4, ...bytes];
}

const SENT_MESSAGES = [
  ...message('1', ''),
  ...message('H', '\0\0\0'),
  ...message('d', 'one\n'),
  ...message('d', '\n'),
  ...message('N', 'notice'),
  ...message('d', 'three, ç\n'),
  ...message('c', ''),
  ...message('C', 'COPY 3\0'),
  ...message('Z', 'I'),
  // What comes after belongs to the next query.
  ...message('d', 'not ours'),
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
      ...message('1', ''),
      ...message('H', '\0\0\0'),
      ...message('N', 'notice'),
      ...message('c', ''),
      ...message('C', 'COPY 3\0'),
      ...message('Z', 'I'),
      ...message('d', 'not ours'),
    ]);
    expect(emitter.listenerCount('data')).toBe(1);
  });
});
