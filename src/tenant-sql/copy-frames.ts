import type { Chunk, Socket } from './driver.ts';

/** A receiver of the rows of a COPY, straight from the socket. */
export interface RowReceiver {
  /** Takes more bytes of the row that is being sent, from `start` up to `end`. Their memory is reused afterwards. */
  takeBytes(bytes: Uint8Array, start: number, end: number): void;
  /** Called when the row is complete. */
  endRow(): void;
}

/** The length of a message's head in bytes: a letter, and the message's length as four bytes, which count themselves. */
const HEAD_BYTES = 5;
const COPY_DATA_CODE = 0x64;
const READY_FOR_QUERY_CODE = 0x5a;

/**
 * Takes the place of the driver until the connection is ready for the next query, and takes the rows of COPY out of the arriving
 * data, as the driver would make an event of each. All other messages are passed on to the driver. Must be installed between two
 * queries.
 */
export function divertRows(socket: Socket, rows: RowReceiver): void {
  const [receiveInDriver] = socket.listeners('data');
  if (!receiveInDriver) throw new Error('nothing reads the connection');
  /** The bytes of a message's head that have arrived, possibly from several chunks. */
  let head: Chunk[] = [];
  let headLength = 0;
  let kind = 0;
  /** The number of bytes of the message that have not arrived yet. */
  let remainingBytes = 0;
  /** Whether the chunk's memory must not be freed yet, as the chunk may still be read later. */
  let mayBeRead = false;
  socket.removeListener('data', receiveInDriver);
  socket.on('data', divertChunk);

  function divertChunk(chunk: Chunk): void {
    // The driver's buffers are slow to cut.
    const bytes = new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.length);
    const { length } = bytes;
    let at = 0;
    mayBeRead = false;
    while (at < length) {
      const end = Math.min(length, at + remainingBytes);
      if (kind === COPY_DATA_CODE && remainingBytes > 0) {
        rows.takeBytes(bytes, at, end);
        remainingBytes -= end - at;
        at = end;
        if (remainingBytes === 0) rows.endRow();
      } else if (remainingBytes > 0) {
        passToDriver(chunk.subarray(at, end));
        remainingBytes -= end - at;
        at = end;
        if (remainingBytes === 0 && kind === READY_FOR_QUERY_CODE) {
          stopDiverting(chunk.subarray(at));
          return;
        }
      } else if (headLength === 0 && bytes[at] === COPY_DATA_CODE && at + HEAD_BYTES <= length) {
        kind = COPY_DATA_CODE;
        remainingBytes = readLength(bytes, at + 1);
        at += HEAD_BYTES;
      } else at = readHead(chunk, at);
    }
    // Its memory is free at once: by itself V8 collects such when there are 64 MB of them.
    if (!mayBeRead) chunk.buffer.transfer(0);
  }

  /** Reads the head of any message, or the part of it that has arrived. @returns the index after the last byte that was read */
  function readHead(chunk: Chunk, at: number): number {
    const end = Math.min(chunk.length, at + HEAD_BYTES - headLength);
    head.push(chunk.subarray(at, end));
    mayBeRead = true;
    headLength += end - at;
    if (headLength < HEAD_BYTES) return end;
    const wholeHead = Uint8Array.from(head.flatMap((headChunk) => [...headChunk]));
    kind = wholeHead[0] as number;
    remainingBytes = readLength(wholeHead, 1);
    if (kind !== COPY_DATA_CODE) for (const headChunk of head) passToDriver(headChunk);
    head = [];
    headLength = 0;
    return end;
  }

  function passToDriver(chunk: Chunk): void {
    mayBeRead = true;
    receiveInDriver?.(chunk);
  }

  function stopDiverting(rest: Chunk): void {
    socket.removeListener('data', divertChunk);
    if (receiveInDriver) socket.on('data', receiveInDriver);
    if (rest.length > 0) receiveInDriver?.(rest);
  }
}

/**
 * Reads the number of bytes that follow the four bytes of a message's length, in network byte order. A DataView for each
 * message would take longer than a row.
 */
const readLength = (bytes: Uint8Array, at: number): number => {
  const readByte = (offset: number) => bytes[at + offset] as number;
  return ((readByte(0) << 24) | (readByte(1) << 16) | (readByte(2) << 8) | readByte(3)) - 4;
};
