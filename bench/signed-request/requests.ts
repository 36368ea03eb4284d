import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';

const CONCURRENCY = 8;

/** Sends one GET for each set of headers, eight at a time. @throws if one is not answered 200 */
export async function sendConcurrently(url: string, headers: object[]): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONCURRENCY });
  const pendingHeaders = headers.values();
  const sendNextRequests = async () => {
    for (const requestHeaders of pendingHeaders) {
      const sentRequest = request(url, { agent, headers: { ...requestHeaders } }).end();
      const [response] = (await once(sentRequest, 'response')) as [IncomingMessage];
      if (response.statusCode !== 200) throw new Error(`${url} answered ${response.statusCode}.`);
      response.resume();
      await once(response, 'end');
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, sendNextRequests));
  agent.destroy();
}
