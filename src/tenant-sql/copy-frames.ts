import type { Chunk, Socket } from './driver.ts';

/** The receiver of the rows of a COPY, straight from the socket. */
export interface RowReceiver {
  /** More bytes of the row that is being sent, from `start` up to `end`. They are used again afterwards. */
  take(bytes: Uint8Array, start: number, end: number): void;
  /** The row is complete. */
  endRow(): void;
}

/** A message is a letter, and its length as four bytes, which count themselves. */
const HEAD = 5;
const COPY_DATA = 0x64;
const READY_FOR_QUERY = 0x5a;

/**
 * Stands before the driver until the connection is ready for the next query, and takes the rows of COPY out of what arrives: the
 * driver would make an event of each. All other messages are passed on to it. To be installed between two queries.
 */
export function divertRows(socket: Socket, rows: RowReceiver): void {
  const [driver] = socket.listeners('data');
  if (!driver) throw new Error('nothing reads the connection');
  /** The bytes of a message's head that have arrived; the parts of several chunks. */
  let head: Chunk[] = [];
  let headLength = 0;
  let kind = 0;
  /** The bytes of the message that have not come yet. */
  let left = 0;
  /** Whether somebody may still look at the chunk. */
  let isKept = false;
  socket.removeListener('data', driver);
  socket.on('data', divert);

  function divert(chunk: Chunk): void {
    // The driver's buffers are slow to cut.
    const bytes = new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.length);
    const { length } = bytes;
    let at = 0;
    isKept = false;
    while (at < length) {
      const end = Math.min(length, at + left);
      if (kind === COPY_DATA && left > 0) {
        rows.take(bytes, at, end);
        left -= end - at;
        at = end;
        if (left === 0) rows.endRow();
      } else if (left > 0) {
        pass(chunk.subarray(at, end));
        left -= end - at;
        at = end;
        if (left === 0 && kind === READY_FOR_QUERY) {
          leave(chunk.subarray(at));
          return;
        }
      } else if (headLength === 0 && bytes[at] === COPY_DATA && at + HEAD <= length) {
        kind = COPY_DATA;
        left = lengthAt(bytes, at + 1);
        at += HEAD;
      } else at = readHead(chunk, at);
    }
    // Its memory is free at once: by itself V8 collects such when there are 64 MB of them.
    if (!isKept) chunk.buffer.transfer(0);
  }

  /** Reads the head of any message, or the part of it that has come. @returns where it ends */
  function readHead(chunk: Chunk, at: number): number {
    const end = Math.min(chunk.length, at + HEAD - headLength);
    head.push(chunk.subarray(at, end));
    isKept = true;
    headLength += end - at;
    if (headLength < HEAD) return end;
    const whole = Uint8Array.from(head.flatMap((part) => [...part]));
    kind = whole[0] as number;
    left = lengthAt(whole, 1);
    if (kind !== COPY_DATA) for (const part of head) pass(part);
    head = [];
    headLength = 0;
    return end;
  }

  function pass(chunk: Chunk): void {
    isKept = true;
    driver?.(chunk);
  }

  function leave(rest: Chunk): void {
    socket.removeListener('data', divert);
    if (driver) socket.on('data', driver);
    if (rest.length > 0) driver?.(rest);
  }
}

/** The length of the bytes behind the four that tell it, in the order of the network. A view for each costs more than a row. */
const lengthAt = (bytes: Uint8Array, at: number): number => {
  const byte = (offset: number) => bytes[at + offset] as number;
  return ((byte(0) << 24) | (byte(1) << 16) | (byte(2) << 8) | byte(3)) - 4;
};
