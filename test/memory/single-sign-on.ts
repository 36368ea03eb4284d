import type { System } from '../../bench/system.ts';
import {
  createSigner,
  encodeBase64,
  formatAssertion,
  formatResponse,
  makeValidStatement,
  readAuthnRequest,
  type Signer,
  signElement,
} from '../support/saml-idp.ts';
import type { MemoryCase } from './case.ts';

const IDP_ENTITY_ID = 'https://idp.example.org/saml';
const CONSOLE_URL = 'https://console.test/signed-in';

const MAX_RESPONSE_BYTES = 256 * 1024;

/** The size of the response's list of groups: just below 256 KiB, with nearly as many elements and namespaces as allowed. */
const GROUP_ATTRIBUTES = { count: 700, characters: 188, typed: 490 };
const TYPED_TAG =
  '<saml:AttributeValue xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="xs:string">';

/** Begins a sign-in. @returns the form with the identity provider's response */
async function createResponseForm({ call, owner }: System, signer: Signer): Promise<URLSearchParams> {
  const { url } = await call('GET', `/v1/auth/sso/${owner.company_slug}/start?redirect_uri=${CONSOLE_URL}`);
  const request = readAuthnRequest(new URL(url));
  const groups = Array.from({ length: GROUP_ATTRIBUTES.count }, (_, n) => [
    `grupo ${n}`,
    'g'.repeat(GROUP_ATTRIBUTES.characters),
  ]);
  const statement = {
    ...makeValidStatement(request, IDP_ENTITY_ID, owner.email),
    attributes: Object.fromEntries(groups),
  };
  let typedCount = 0;
  const assertion = formatAssertion(statement).replaceAll('<saml:AttributeValue>', (tag) => {
    typedCount += 1;
    return typedCount > GROUP_ATTRIBUTES.typed ? tag : TYPED_TAG;
  });
  const xml = signElement(formatResponse(statement, assertion), 'Assertion', signer);
  if (xml.length > MAX_RESPONSE_BYTES || xml.length < 0.95 * MAX_RESPONSE_BYTES)
    throw new Error(`The response has ${xml.length} bytes.`);
  const SAMLResponse = encodeBase64(xml);
  return new URLSearchParams({ SAMLResponse, RelayState: request.relayState });
}

const forms: URLSearchParams[] = [];

export const SINGLE_SIGN_ON_CASES: MemoryCase[] = [
  {
    name: 'signing in by a SAML response of 256 KiB',
    prepare: async (system) => {
      const signer = await createSigner();
      await system.call('PUT', '/v1/auth/sso/config', {
        type: 'saml',
        idp_entity_id: IDP_ENTITY_ID,
        idp_sso_url: 'https://idp.example.org/sso',
        idp_certificates: [signer.certificate],
        redirect_uris: [CONSOLE_URL],
      });
      for (const runNumber of [0, 1]) forms[runNumber] = await createResponseForm(system, signer);
    },
    run: async ({ baseUrl, owner }, runNumber) => {
      const url = `${baseUrl}/v1/auth/sso/${owner.company_slug}/callback`;
      const { status, headers } = await fetch(url, {
        method: 'POST',
        body: forms[runNumber] as URLSearchParams,
        redirect: 'manual',
      });
      const to = headers.get('location');
      if (!to?.includes('code=')) throw new Error(`answered ${status}, to ${to}`);
    },
  },
];
