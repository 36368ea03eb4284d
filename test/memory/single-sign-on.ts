import type { System } from '../../bench/system.ts';
import {
  createSigner,
  encodeBase64,
  formatAssertion,
  formatResponse,
  makeValidStatement,
  readAuthnRequest,
  type Signer,
  sign,
} from '../support/saml-idp.ts';
import type { Case } from './case.ts';

const IDP = 'https://idp.example.org/saml';
const CONSOLE = 'https://console.test/signed-in';

const LARGEST = 256 * 1024;

/** A response of just below 256 KiB, with nearly as many elements and namespaces as one may have: a long list of groups. */
const GROUPS = { count: 700, characters: 188, typed: 490 };
const TYPED =
  '<saml:AttributeValue xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="xs:string">';

/** Begins a sign-in. @returns the form that the provider answers it with */
async function answerOf({ call, owner }: System, signer: Signer): Promise<URLSearchParams> {
  const { url } = await call('GET', `/v1/auth/sso/${owner.company_slug}/start?redirect_uri=${CONSOLE}`);
  const request = readAuthnRequest(new URL(url));
  const groups = Array.from({ length: GROUPS.count }, (_, n) => [`grupo ${n}`, 'g'.repeat(GROUPS.characters)]);
  const said = { ...makeValidStatement(request, IDP, owner.email), attributes: Object.fromEntries(groups) };
  let typed = 0;
  const assertion = formatAssertion(said).replaceAll('<saml:AttributeValue>', (tag) => {
    typed += 1;
    return typed > GROUPS.typed ? tag : TYPED;
  });
  const xml = sign(formatResponse(said, assertion), 'Assertion', signer);
  if (xml.length > LARGEST || xml.length < 0.95 * LARGEST) throw new Error(`The response has ${xml.length} bytes.`);
  const SAMLResponse = encodeBase64(xml);
  return new URLSearchParams({ SAMLResponse, RelayState: request.relayState });
}

const forms: URLSearchParams[] = [];

export const SINGLE_SIGN_ON: Case[] = [
  {
    name: 'signing in by a SAML response of 256 KiB',
    prepare: async (system) => {
      const signer = await createSigner();
      await system.call('PUT', '/v1/auth/sso/config', {
        type: 'saml',
        idp_entity_id: IDP,
        idp_sso_url: 'https://idp.example.org/sso',
        idp_certificates: [signer.certificate],
        redirect_uris: [CONSOLE],
      });
      for (const which of [0, 1]) forms[which] = await answerOf(system, signer);
    },
    run: async ({ baseUrl, owner }, which) => {
      const url = `${baseUrl}/v1/auth/sso/${owner.company_slug}/callback`;
      const { status, headers } = await fetch(url, {
        method: 'POST',
        body: forms[which] as URLSearchParams,
        redirect: 'manual',
      });
      const to = headers.get('location');
      if (!to?.includes('code=')) throw new Error(`answered ${status}, to ${to}`);
    },
  },
];
