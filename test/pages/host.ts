import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FrameLocator, Page } from 'playwright-core';
import { inject } from 'vitest';
import { type SigningKey, signEmbedToken } from '../../examples/embed/sign.ts';
import { readCardNumber } from './browser.ts';
import { url } from './demo-company.ts';

/** The answer of a host's server to a request for a token. */
export interface TokenAnswer {
  status?: number;
  body: unknown;
  type?: string;
}

/** A site on a foreign origin, whose policy allows nothing but its own files and ours. */
export interface HostSite {
  origin: string;
  /** The number of requests for a token. */
  tokenRequestCount: number;
  /** Returns the answer to the next request for a token. */
  answerTokenRequest: () => Promise<TokenAnswer> | TokenAnswer;
  /** Adds a page with this body. @returns its address */
  addPage(body: string): string;
  close(): void;
}

const makeSecurityPolicy = (framedOrigins: readonly string[]): string =>
  [
    "default-src 'none'",
    `script-src 'self' ${url}`,
    "style-src 'self'",
    "connect-src 'self'",
    `frame-src ${[url, ...framedOrigins].join(' ')}`,
    "base-uri 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');

/** Script that loads the component as the README says, and records the events that it dispatches. */
const PAGE_SCRIPT = `import '${url}/embed.js';
globalThis.told = [];
for (const type of ['ready', 'error', 'parameters', 'click', 'height']) {
  addEventListener('data-console:' + type, ({ target, detail }) => told.push({ from: target.id, type, ...detail }));
}`;

/** Starts a host site. @param framedOrigins origins besides ours that its policy lets into frames */
export async function startHostSite(framedOrigins: readonly string[] = []): Promise<HostSite> {
  const pages = new Map<string, string>();
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://host');
    response.setHeader('Content-Security-Policy', makeSecurityPolicy(framedOrigins));
    if (pathname === '/main.js') return response.setHeader('Content-Type', 'text/javascript').end(PAGE_SCRIPT);
    if (pathname === '/token') {
      site.tokenRequestCount += 1;
      const { status = 200, body, type = 'application/json' } = await site.answerTokenRequest();
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      return response.writeHead(status, { 'Content-Type': type }).end(text);
    }
    response.setHeader('Content-Type', 'text/html');
    response.end(`<!doctype html><html lang="en"><head><title>Host</title><meta charset="utf-8">
      <meta name="viewport" content="width=device-width"><script type="module" src="/main.js"></script></head>
      <body>${pages.get(pathname) ?? ''}</body></html>`);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const site: HostSite = {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    tokenRequestCount: 0,
    answerTokenRequest: () => ({ status: 404, body: {} }),
    addPage(body) {
      const path = `/page-${pages.size}`;
      pages.set(path, body);
      return site.origin + path;
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
  return site;
}

/** Signs a token of the host, valid for `seconds` by a clock that is `clockOffset` seconds fast. */
export async function signHostToken(
  seconds: number,
  claims: Record<string, unknown>,
  clockOffset = 0,
): Promise<string> {
  const iat = Math.floor(Date.now() / 1000) + clockOffset;
  return signEmbedToken(inject('signingKey') as SigningKey, {
    iat,
    exp: iat + seconds,
    jti: crypto.randomUUID(),
    ...claims,
  });
}

/** An embed element for a page of the host, which fetches its tokens from `/token`. */
export const EMBED_ELEMENT = `<data-console-embed id="one" src="${url}/embed/d" token-endpoint="/token"></data-console-embed>`;

/** The detail of an event that an element dispatched on its page. */
export interface ElementEvent {
  /** The id of the element. */
  from: string;
  type: string;
  code?: string;
  retryIn?: number;
  [detail: string]: unknown;
}

export const waitForEvents = async (page: Page, type: string): Promise<ElementEvent[]> =>
  ((await page.evaluate('told')) as ElementEvent[]).filter((event) => event.type === type);

/** Returns the frame of an element, with the page that it shows. */
export const findFrame = (page: Page, id = 'one'): FrameLocator =>
  page.locator(`#${id}`).locator('iframe').contentFrame();

/** Reads the number of the card `STRIKES` in an element; empty while there is none. */
export const readStrikeCount = (page: Page, id = 'one'): Promise<string> =>
  readCardNumber(findFrame(page, id), 'Strikes').catch(() => '');
