import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';

const CONCURRENCY = 8;

/** Sends one GET for each set of headers, eight at a time. @throws if one is not answered 200 */
export async function sendAtConcurrency(url: string, headers: object[]): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONCURRENCY });
  const waiting = headers.values();
  const sendOn = async () => {
    for (const own of waiting) {
      const sent = request(url, { agent, headers: { ...own } }).end();
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      if (response.statusCode !== 200) throw new Error(`${url} answered ${response.statusCode}.`);
      response.resume();
      await once(response, 'end');
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, sendOn));
  agent.destroy();
}
