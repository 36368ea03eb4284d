import { setTimeout as sleep } from 'node:timers/promises';
import { type Key, signedRequest } from '../../examples/signing/sign.ts';
import type { System } from '../system.ts';

/** The results of the requests of one kind. */
export interface Tally {
  /** Milliseconds until each answer, in order. */
  times: number[];
  /** The number of answers by status; 0 stands for no answer. */
  statuses: Map<number, number>;
  /** The first few unexpected answers, described. */
  unexpectedAnswers: string[];
}

const MAX_UNEXPECTED_ANSWERS = 5;
/** Pause of a caller before each request in ms: the simulator of queues falls behind at a hundred messages a second. */
const PAUSE_MS = 150;

/** Sender of the traffic's requests, with the results by kind of caller. */
export class Callers {
  readonly tallies = new Map<string, Tally>();
  readonly system: System;
  readonly #key: Key;
  /** Session token of the person at the console. */
  token: string;

  constructor(system: System, key: Key, token: string) {
    this.system = system;
    this.#key = key;
    this.token = token;
  }

  /** The number of all requests that were answered. */
  get answeredCount(): number {
    let answeredCount = 0;
    for (const { times } of this.tallies.values()) answeredCount += times.length;
    return answeredCount;
  }

  sendSigned(method: string, path: string, body?: object) {
    return this.#send('signed', () => signedRequest(this.#key, method, this.system.baseUrl + path, body));
  }

  sendAsBearer(method: string, path: string, body?: object | FormData) {
    const headers = new Headers({ authorization: `Bearer ${this.token}` });
    return this.#send('bearer', () => this.#createRequest(method, path, headers, body));
  }

  sendAsViewer(method: string, path: string, body?: object) {
    return this.#send('viewer', () => this.#createRequest(method, path, new Headers(), body));
  }

  #createRequest(method: string, path: string, headers: Headers, body?: object | FormData): Request {
    const isForm = body instanceof FormData;
    if (body && !isForm) headers.set('content-type', 'application/json');
    return new Request(this.system.baseUrl + path, { method, headers, body: isForm ? body : JSON.stringify(body) });
  }

  // biome-ignore lint/suspicious/noExplicitAny: answers of many shapes, read by whoever asked.
  async #send(kind: string, makeRequest: () => Request | Promise<Request>): Promise<any> {
    const tally: Tally = this.tallies.get(kind) ?? { times: [], statuses: new Map(), unexpectedAnswers: [] };
    this.tallies.set(kind, tally);
    const count = (status: number, unexpectedAnswer?: string) => {
      tally.statuses.set(status, (tally.statuses.get(status) ?? 0) + 1);
      if (unexpectedAnswer && tally.unexpectedAnswers.length < MAX_UNEXPECTED_ANSWERS)
        tally.unexpectedAnswers.push(unexpectedAnswer);
    };
    await sleep(PAUSE_MS);
    const request = await makeRequest();
    const path = new URL(request.url).pathname;
    const startedAt = performance.now();
    try {
      const response = await fetch(request);
      const text = await response.text();
      tally.times.push(performance.now() - startedAt);
      count(response.status, response.ok ? undefined : `${request.method} ${path} → ${response.status}: ${text}`);
      return response.ok && text ? JSON.parse(text) : undefined;
    } catch (error) {
      const { message, cause } = error as Error;
      count(0, `${request.method} ${path} → ${message} (${cause})`);
      return undefined;
    }
  }
}
