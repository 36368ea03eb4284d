import { generateServiceProviderMetadata, SAML } from '@node-saml/node-saml';
import type { Identity, Protocol } from './protocol.ts';
import { readAssertion, type VerifiedAssertion } from './saml-assertion.ts';
import { checkResponse, readSamlResponse } from './saml-response.ts';
import { parseXml } from './saml-xml.ts';

/** How far the provider's clock may be from ours. */
const CLOCK_SKEW_MS = 30_000;

const EMAIL_FORMAT = 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress';

/** Attributes in which providers send the address and the name. */
const EMAIL_ATTRIBUTES = [
  'email',
  'mail',
  'emailAddress',
  'urn:oid:0.9.2342.19200300.100.1.3',
  'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress',
];
const NAME_ATTRIBUTES = [
  'displayName',
  'name',
  'urn:oid:2.16.840.1.113730.3.1.241',
  'http://schemas.microsoft.com/identity/claims/displayname',
];

/** SAML 2.0 Web Browser SSO: redirect to the provider, signed assertion by POST. */
export function samlProtocol(provider: {
  idpEntityId: string;
  idpSsoUrl: string;
  idpCertificates: string[];
  entityId: string;
  callbackUrl: string;
  now: () => number;
}): Protocol {
  const { entityId, callbackUrl } = provider;
  const exchange = (requestId: string) =>
    new SAML({
      issuer: entityId,
      audience: entityId,
      callbackUrl,
      entryPoint: provider.idpSsoUrl,
      idpCert: provider.idpCertificates,
      identifierFormat: EMAIL_FORMAT,
      // The provider decides how it authenticates the user.
      disableRequestedAuthnContext: true,
      wantAssertionsSigned: true,
      wantAuthnResponseSigned: false,
      acceptedClockSkewMs: CLOCK_SKEW_MS,
      generateUniqueId: () => requestId,
    });
  return {
    async begin(state) {
      const requestId = `_${crypto.randomUUID()}`;
      return { url: await exchange(requestId).getAuthorizeUrlAsync(state, undefined, {}), expectation: requestId };
    },

    async finish(_state, requestId, answer, method) {
      if (method !== 'POST') throw new Error('A SAML response comes by POST.');
      const encoded = answer.get('SAMLResponse') ?? '';
      const issuer = provider.idpEntityId;
      checkResponse(readSamlResponse(encoded), { issuer, destination: callbackUrl, requestId });
      const { profile } = await exchange(requestId).validatePostResponseAsync({ SAMLResponse: encoded });
      const signed = profile?.getAssertionXml?.();
      if (signed === undefined) throw new Error('The response holds no assertion.');
      // node-saml has verified signature, audience and time; the rest is verified here, from what was signed.
      const expected = { issuer, requestId, recipient: callbackUrl, now: provider.now(), skew: CLOCK_SKEW_MS };
      const assertion = readAssertion(parseXml(signed), expected);
      return { ...identityOf(assertion), once: { id: assertion.id, until: assertion.until } };
    },
  };
}

export const serviceProviderMetadata = (entityId: string, callbackUrl: string): string =>
  generateServiceProviderMetadata({
    issuer: entityId,
    callbackUrl,
    identifierFormat: EMAIL_FORMAT,
    wantAssertionsSigned: true,
  });

/** The address is the NameID in the email format, else an attribute, else the NameID in another format. */
function identityOf({ nameId, attributes }: VerifiedAssertion): Identity {
  const first = (names: string[]) => names.map((name) => attributes.get(name)).find(Boolean);
  const email = nameId.format === EMAIL_FORMAT ? nameId.text : (first(EMAIL_ATTRIBUTES) ?? nameId.text);
  return { email, name: first(NAME_ATTRIBUTES) };
}
