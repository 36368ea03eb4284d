/** Message of the PostgreSQL protocol: its type (none in the first message of a connection) and all of its bytes. */
export interface Message {
  type: string;
  bytes: Buffer;
  body: Buffer;
}

/** Splits the bytes that a connection sends into messages. */
export class MessageSplitter {
  /** Received parts of an incomplete message. They are joined once: a message of megabytes comes in hundreds of chunks. */
  #chunks: Buffer[] = [];
  #receivedByteCount = 0;
  /** Number of bytes that are needed before the next message can be read further. */
  #neededByteCount = 0;
  /** Number of bytes before the length: the first message of a caller has no type. */
  #headLength: 0 | 1;

  constructor({ sender }: { sender: 'caller' | 'server' }) {
    this.#headLength = sender === 'caller' ? 0 : 1;
  }

  *splitChunk(chunk: Buffer): Generator<Message> {
    this.#chunks.push(chunk);
    this.#receivedByteCount += chunk.length;
    if (this.#receivedByteCount < this.#neededByteCount) return;
    let remainingBytes = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks);
    for (;;) {
      const headLength = this.#headLength;
      this.#neededByteCount =
        remainingBytes.length < headLength + 4 ? headLength + 4 : headLength + remainingBytes.readUInt32BE(headLength);
      if (remainingBytes.length < this.#neededByteCount) break;
      const bytes = remainingBytes.subarray(0, this.#neededByteCount);
      remainingBytes = remainingBytes.subarray(this.#neededByteCount);
      this.#headLength = 1;
      yield {
        type: headLength === 0 ? '' : String.fromCharCode(bytes[0] as number),
        bytes,
        body: bytes.subarray(headLength + 4),
      };
    }
    this.#chunks = [remainingBytes];
    this.#receivedByteCount = remainingBytes.length;
  }
}

export function makeMessage(type: string, ...parts: (string | Buffer)[]): Buffer {
  const body = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(`${part}\0`) : part)));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(body.length + 4);
  return Buffer.concat([Buffer.from(type, 'latin1'), length, body]);
}

export function toInt32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

/** Makes a FATAL error message, after which the connection ends. */
export const makeFatalError = (code: string, text: string): Buffer =>
  makeMessage('E', 'SFATAL', 'VFATAL', `C${code}`, `M${text}`, Buffer.from([0]));

/** Parses the parameters of a caller's first message. @throws Error unless it is of protocol 3 */
export function parseStartupParameters({ body }: Message): Map<string, string> {
  if (body.readInt32BE(0) >> 16 !== 3) throw new Error('only protocol 3 is spoken here, without TLS');
  const texts = body.subarray(4).toString().split('\0');
  const parameters = new Map<string, string>();
  for (let at = 0; texts[at]; at += 2) parameters.set(texts[at] as string, texts[at + 1] ?? '');
  return parameters;
}
