import { generateServiceProviderMetadata, SAML, SamlStatusError } from '@node-saml/node-saml';
import { refused } from './failures.ts';
import type { Identity, Protocol } from './protocol.ts';
import { type AssertionXml, bearerConfirmation, textOf } from './saml-assertion.ts';
import { readSamlResponse } from './saml-response.ts';

/** How far the provider's clock may be from ours. */
const CLOCK_SKEW_MS = 30_000;

const EMAIL_FORMAT = 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress';

/** Where providers put the address and the name, besides the NameID. */
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
      // How the person proves who they are is the provider's business.
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

    async finish(_state, requestId, answer) {
      const encoded = readSamlResponse(answer.get('SAMLResponse'));
      const { profile } = await exchange(requestId)
        .validatePostResponseAsync({ SAMLResponse: encoded })
        .catch((error) => {
          throw error instanceof SamlStatusError ? refused('access_denied', error) : error;
        });
      if (!profile) throw refused('access_denied');
      const assertion = profile.getAssertion?.().Assertion as AssertionXml;
      // node-saml has checked signature, audience and time; what follows it does not check, or only in part.
      if (textOf(assertion.Issuer?.[0]) !== provider.idpEntityId)
        throw new Error('The assertion is from another issuer.');
      if (profile.inResponseTo !== requestId) throw new Error('The response answers another request.');
      const confirmation = bearerConfirmation(assertion, {
        requestId,
        recipient: callbackUrl,
        now: provider.now(),
        skew: CLOCK_SKEW_MS,
      });
      return { ...identityOf(assertion, profile.attributes), once: { id: assertion.$.ID, until: confirmation.until } };
    },
  };
}

/** What the provider's administrator needs to know of us, as SAML metadata. */
export const serviceProviderMetadata = (entityId: string, callbackUrl: string): string =>
  generateServiceProviderMetadata({
    issuer: entityId,
    callbackUrl,
    identifierFormat: EMAIL_FORMAT,
    wantAssertionsSigned: true,
  });

/** The address is the NameID when it is in the email format, else an attribute; a NameID in another format comes last. */
function identityOf(assertion: AssertionXml, attributes: unknown): Identity {
  const nameId = assertion.Subject?.[0]?.NameID?.[0];
  const named = nameId?.$?.Format === EMAIL_FORMAT ? textOf(nameId) : undefined;
  const values = new Map(Object.entries((attributes ?? {}) as Record<string, unknown>));
  return { email: named ?? first(values, EMAIL_ATTRIBUTES) ?? textOf(nameId), name: first(values, NAME_ATTRIBUTES) };
}

/** The first value of the first attribute that is there. */
function first(values: Map<string, unknown>, names: string[]): unknown {
  const value = values.get(names.find((name) => values.has(name)) ?? '');
  return Array.isArray(value) ? value[0] : value;
}
