import { setTimeout as sleep } from 'node:timers/promises';
import { type Key, signedRequest } from '../../examples/signing/sign.ts';
import type { System } from '../system.ts';

/** The results of the requests of one kind. */
export interface Tally {
  /** Milliseconds of each answer, in order. */
  times: number[];
  /** The number of answers by status; 0 stands for no answer. */
  statuses: Map<number, number>;
  /** The first few unexpected answers, described. */
  surprises: string[];
}

const MAX_SURPRISES = 5;
/** The pause of a caller before each request: the simulator of queues falls behind at a hundred messages a second. */
const PAUSE_MS = 150;

/** Sends the traffic's requests and records the results by kind of caller. */
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
  get answered(): number {
    let answered = 0;
    for (const { times } of this.tallies.values()) answered += times.length;
    return answered;
  }

  signed(method: string, path: string, body?: object) {
    return this.#send('signed', () => signedRequest(this.#key, method, this.system.baseUrl + path, body));
  }

  bearer(method: string, path: string, body?: object | FormData) {
    const headers = new Headers({ authorization: `Bearer ${this.token}` });
    return this.#send('bearer', () => this.#request(method, path, headers, body));
  }

  viewer(method: string, path: string, body?: object) {
    return this.#send('viewer', () => this.#request(method, path, new Headers(), body));
  }

  #request(method: string, path: string, headers: Headers, body?: object | FormData): Request {
    const isForm = body instanceof FormData;
    if (body && !isForm) headers.set('content-type', 'application/json');
    return new Request(this.system.baseUrl + path, { method, headers, body: isForm ? body : JSON.stringify(body) });
  }

  // biome-ignore lint/suspicious/noExplicitAny: answers of many shapes, read by whoever asked.
  async #send(kind: string, make: () => Request | Promise<Request>): Promise<any> {
    const tally: Tally = this.tallies.get(kind) ?? { times: [], statuses: new Map(), surprises: [] };
    this.tallies.set(kind, tally);
    const count = (status: number, surprise?: string) => {
      tally.statuses.set(status, (tally.statuses.get(status) ?? 0) + 1);
      if (surprise && tally.surprises.length < MAX_SURPRISES) tally.surprises.push(surprise);
    };
    await sleep(PAUSE_MS);
    const request = await make();
    const path = new URL(request.url).pathname;
    const before = performance.now();
    try {
      const response = await fetch(request);
      const text = await response.text();
      tally.times.push(performance.now() - before);
      count(response.status, response.ok ? undefined : `${request.method} ${path} → ${response.status}: ${text}`);
      return response.ok && text ? JSON.parse(text) : undefined;
    } catch (error) {
      const { message, cause } = error as Error;
      count(0, `${request.method} ${path} → ${message} (${cause})`);
      return undefined;
    }
  }
}
