import { randomUUID } from 'node:crypto';
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import Provider from 'oidc-provider';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** Issuer of a complete OpenID Provider with open registration: whoever logs in as `x@…` has that address. */
    oidcIssuer: string;
    /** Base of providers that say whatever a test wants: see `createForger`. */
    forgerUrl: string;
    /** The private key that the forger publishes. */
    forgerKey: JWK;
  }
}

/** Two identity providers on sockets of this machine, for the whole run. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const honest = createServer();
  const oidcIssuer = await listen(honest);
  honest.on('request', createProvider(oidcIssuer).callback());

  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  const forgerKey = { ...(await exportJWK(privateKey)), kid: 'forger-1', alg: 'RS256' };
  const forging = createServer();
  const forgerUrl = await listen(forging);
  forging.on('request', createForger(forgerUrl, forgerKey));

  project.provide('oidcIssuer', oidcIssuer);
  project.provide('forgerUrl', forgerUrl);
  project.provide('forgerKey', forgerKey);

  return async () => {
    for (const server of [honest, forging]) {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    }
  };
}

/** People whose login begins with `unverified` have not proved their address. */
function createProvider(issuer: string): Provider {
  return new Provider(issuer, {
    features: { registration: { enabled: true }, devInteractions: { enabled: true } },
    pkce: { required: () => true },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    cookies: { keys: [randomUUID()] },
    findAccount: (_ctx, id) => ({
      accountId: id,
      claims: () => ({ sub: id, email: id, email_verified: !id.startsWith('unverified'), name: 'Petra Provider' }),
    }),
    ttl: { Session: 3600, Interaction: 3600, Grant: 3600, AccessToken: 3600, IdToken: 3600 },
  });
}

/**
 * A provider whose token endpoint answers the ID token that it is handed as the code. The first segment of its path says
 * what else is wrong with it: `/plain` nothing, `/impostor` names another issuer, `/moved` redirects its discovery,
 * `/huge` answers a megabyte, `/weak` accepts HS256 and none, `/form` wants the client's secret in the form, `/absent` is not there; `/info.…` has a userinfo
 * endpoint, which answers the JSON that follows in base64url.
 */
function createForger(base: string, key: JWK): RequestListener {
  const { d: _d, p: _p, q: _q, dp: _dp, dq: _dq, qi: _qi, ...publicKey } = key;
  return (request, response) => {
    const [, kind = '', ...rest] = (request.url ?? '').split('?')[0]?.split('/') ?? [];
    const issuer = `${base}/${kind}`;
    if (kind === 'absent') return void response.writeHead(404).end();
    switch (rest.join('/')) {
      case '.well-known/openid-configuration':
        if (kind === 'moved') return void response.writeHead(302, { location: discoveryUrl(`${base}/plain`) }).end();
        return answer(response, {
          issuer: kind === 'impostor' ? `${base}/plain` : issuer,
          authorization_endpoint: `${issuer}/authorize`,
          token_endpoint: `${issuer}/token`,
          response_types_supported: kind === 'form' ? ['code'] : ['code', 'id_token'],
          jwks_uri: `${issuer}/jwks`,
          id_token_signing_alg_values_supported: kind === 'weak' ? ['RS256', 'HS256', 'none'] : ['RS256'],
          ...(kind === 'form' && { token_endpoint_auth_methods_supported: ['client_secret_post'] }),
          ...(kind.startsWith('info.') && { userinfo_endpoint: `${issuer}/userinfo` }),
          ...(kind === 'huge' && { padding: 'x'.repeat(1024 * 1024) }),
        });
      case 'userinfo':
        return answer(response, JSON.parse(Buffer.from(kind.slice('info.'.length), 'base64url').toString()));
      case 'jwks':
        return answer(response, { keys: [publicKey] });
      case 'token':
        return void readForm(request).then((form) => {
          const proved =
            kind === 'form' ? form.has('client_secret') : request.headers.authorization?.startsWith('Basic ');
          if (!proved) return response.writeHead(401).end();
          answer(response, { access_token: 'access', token_type: 'Bearer', id_token: form.get('code') });
        });
      default:
        response.writeHead(404).end();
    }
  };
}

const discoveryUrl = (issuer: string) => `${issuer}/.well-known/openid-configuration`;

const answer = (response: ServerResponse, body: unknown): void =>
  void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));

async function readForm(request: AsyncIterable<Uint8Array>): Promise<URLSearchParams> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return new URLSearchParams(Buffer.concat(chunks).toString());
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
