import { generateServiceProviderMetadata, SAML } from '@node-saml/node-saml';
import type { SamlSettings } from '../../db/schema/single-sign-on.ts';
import type { Protocol } from './protocol.ts';
import { readAssertion } from './saml-assertion.ts';
import { toIdentity } from './saml-identity.ts';
import { checkResponse, readSamlResponse } from './saml-response.ts';
import { parseXml } from './saml-xml.ts';

/** The maximum difference between the provider's clock and ours. */
const CLOCK_SKEW_MS = 30_000;

/** Creates the protocol of SAML 2.0 Web Browser SSO: redirect to the provider, signed assertion by POST. */
export function createSamlProtocol(provider: {
  idpEntityId: string;
  idpSsoUrl: string;
  idpCertificates: string[];
  entityId: string;
  callbackUrl: string;
  attributes?: SamlSettings['attributes'];
  now: () => number;
}): Protocol {
  const { entityId, callbackUrl } = provider;
  const createSaml = (requestId: string) =>
    new SAML({
      issuer: entityId,
      audience: entityId,
      callbackUrl,
      entryPoint: provider.idpSsoUrl,
      idpCert: provider.idpCertificates,
      // Whichever identifier the provider has for a person: the address is mostly in an attribute.
      identifierFormat: null,
      // The provider decides how it authenticates the user.
      disableRequestedAuthnContext: true,
      wantAssertionsSigned: true,
      wantAuthnResponseSigned: false,
      acceptedClockSkewMs: CLOCK_SKEW_MS,
      generateUniqueId: () => requestId,
    });
  return {
    async beginSignIn(state) {
      const requestId = `_${crypto.randomUUID()}`;
      return { url: await createSaml(requestId).getAuthorizeUrlAsync(state, undefined, {}), expectation: requestId };
    },

    async finishSignIn(_state, requestId, answer, method) {
      if (method !== 'POST') throw new Error('A SAML response comes by POST.');
      const encodedResponse = answer.get('SAMLResponse') ?? '';
      const issuer = provider.idpEntityId;
      checkResponse(readSamlResponse(encodedResponse), { issuer, destination: callbackUrl, requestId });
      const { profile } = await createSaml(requestId).validatePostResponseAsync({ SAMLResponse: encodedResponse });
      const signedAssertion = profile?.getAssertionXml?.();
      if (signedAssertion === undefined) throw new Error('The response holds no assertion.');
      // node-saml has verified signature, audience and time; the rest is verified here, from what was signed.
      const expectedValues = { issuer, requestId, recipient: callbackUrl, now: provider.now(), skew: CLOCK_SKEW_MS };
      const assertion = readAssertion(parseXml(signedAssertion), expectedValues);
      return {
        ...toIdentity(assertion, provider.attributes),
        singleUseAssertion: { id: assertion.id, validUntil: assertion.validUntil },
      };
    },
  };
}

export const formatMetadata = (entityId: string, callbackUrl: string): string =>
  generateServiceProviderMetadata({
    issuer: entityId,
    callbackUrl,
    identifierFormat: null,
    wantAssertionsSigned: true,
  });
