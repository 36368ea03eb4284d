import { expect, it } from 'vitest';
import { MessageSplitter, makeMessage, toInt32 } from '../../local/neon/pooler/messages.ts';

const SENT_MESSAGES = [
  makeMessage('', toInt32(3 << 16), 'user', 'ada'),
  makeMessage('Q', 'select 1'),
  makeMessage('S'),
  makeMessage('Q', 'x'.repeat(100)),
];

it.each([1, 2, 3, 7, 1_000])(
  'the local pooler splits a stream into its messages, whatever the size of its chunks (%i bytes)',
  (size) => {
    const messages = new MessageSplitter({ sender: 'caller' });
    const stream = Buffer.concat(SENT_MESSAGES);
    const chunks = Array.from({ length: Math.ceil(stream.length / size) }, (_, at) =>
      stream.subarray(at * size, (at + 1) * size),
    );
    const parsedMessages = chunks.flatMap((chunk) => [...messages.splitChunk(chunk)]);
    expect(parsedMessages.map(({ type }) => type)).toEqual(['', 'Q', 'S', 'Q']);
    expect(parsedMessages.map(({ bytes }) => bytes)).toEqual(SENT_MESSAGES);
  },
);
