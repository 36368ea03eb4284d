import { createGunzip } from 'node:zlib';
import { inflate } from '../zip/inflate.ts';

/** Error thrown when the file is damaged, incomplete, or no gzip file. */
export class GzipDamaged extends Error {}

/** Returns true if the bytes begin a gzip file. */
export const isGzip = (head: Uint8Array): boolean => head[0] === 0x1f && head[1] === 0x8b;

/** Unpacks and checks all members of a gzip file. @throws GzipDamaged; errors of reading as they are */
export const gunzip = (packedStream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> =>
  inflate(packedStream, createGunzip, GzipDamaged);
