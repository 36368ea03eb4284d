import { randomUUID } from 'node:crypto';
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import Provider from 'oidc-provider';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** Issuer of a complete OpenID Provider with open registration: a login as `x@…` has that address. */
    oidcIssuer: string;
    /** Base URL of providers whose answers a test chooses: see `createForger`. */
    forgerUrl: string;
    /** The private key to the public key that the forger publishes. */
    forgerKey: JWK;
  }
}

/** Starts two identity providers on sockets of this machine, for the whole run. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const honestServer = createServer();
  const oidcIssuer = await startListening(honestServer);
  honestServer.on('request', createProvider(oidcIssuer).callback());

  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  const forgerKey = { ...(await exportJWK(privateKey)), kid: 'forger-1', alg: 'RS256' };
  const forgerServer = createServer();
  const forgerUrl = await startListening(forgerServer);
  forgerServer.on('request', createForger(forgerUrl, forgerKey));

  project.provide('oidcIssuer', oidcIssuer);
  project.provide('forgerUrl', forgerUrl);
  project.provide('forgerKey', forgerKey);

  return async () => {
    for (const server of [honestServer, forgerServer]) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  };
}

/** Creates an OpenID Provider. Accounts whose login begins with `unverified` have an unverified address. */
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
 * Creates a provider whose token endpoint returns as ID token the code that it receives. The first segment of its path says what
 * else is wrong with it: `/plain` nothing, `/impostor` names another issuer, `/moved` redirects its discovery, `/huge` answers a
 * megabyte, `/weak` accepts HS256 and none, `/form` requires the client's secret in the form, `/absent` does not exist; `/info.…`
 * has a userinfo endpoint, which answers the JSON that follows in base64url.
 */
function createForger(base: string, key: JWK): RequestListener {
  const { d: _d, p: _p, q: _q, dp: _dp, dq: _dq, qi: _qi, ...publicKey } = key;
  return (request, response) => {
    const [, kind = '', ...rest] = (request.url ?? '').split('?')[0]?.split('/') ?? [];
    const issuer = `${base}/${kind}`;
    if (kind === 'absent') return void response.writeHead(404).end();
    switch (rest.join('/')) {
      case '.well-known/openid-configuration':
        if (kind === 'moved')
          return void response.writeHead(302, { location: makeDiscoveryUrl(`${base}/plain`) }).end();
        return sendJson(response, {
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
        return sendJson(response, JSON.parse(Buffer.from(kind.slice('info.'.length), 'base64url').toString()));
      case 'jwks':
        return sendJson(response, { keys: [publicKey] });
      case 'token':
        return void readForm(request).then((form) => {
          const clientProof =
            kind === 'form' ? form.has('client_secret') : request.headers.authorization?.startsWith('Basic ');
          if (!clientProof) return response.writeHead(401).end();
          sendJson(response, { access_token: 'access', token_type: 'Bearer', id_token: form.get('code') });
        });
      default:
        response.writeHead(404).end();
    }
  };
}

const makeDiscoveryUrl = (issuer: string) => `${issuer}/.well-known/openid-configuration`;

const sendJson = (response: ServerResponse, body: unknown): void =>
  void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));

async function readForm(request: AsyncIterable<Uint8Array>): Promise<URLSearchParams> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return new URLSearchParams(Buffer.concat(chunks).toString());
}

async function startListening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
