import type { ApiResponse } from '../support/api.ts';
import { type Company, createOwnedCompany } from '../support/companies.ts';
import {
  type AuthnRequest,
  createSigner,
  encodeBase64,
  formatAssertion,
  formatResponse,
  makeValidStatement,
  readAuthnRequest,
  type SamlStatement,
  type Signer,
  signElement,
} from '../support/saml-idp.ts';
import { answerByForm, CONSOLE_RETURN_URL, configureSso, exchangeCode, readRedirect, startSignIn } from './support.ts';

/** The entity id of the SAML provider. */
export const IDP_ENTITY_ID = 'https://idp.example.org/saml';

/** The redirect after a SAML response that is not accepted. */
export const REFUSED_REDIRECT = { to: CONSOLE_RETURN_URL, code: null, error: 'invalid_response' };

/** A company with a SAML provider, and the actions of that provider. */
export interface SamlProvider {
  company: Company;
  signer: Signer;
  configuration: Record<string, unknown>;
  /** Makes a response with a signed assertion that is correct, except for `changes`. */
  makeResponse(email: string, changes?: Partial<SamlStatement>): (request: AuthnRequest) => string;
  /** Has the provider answer a new request of the company (or of `to`) with the XML that `make` returns for the request. */
  answerRequest(make: (request: AuthnRequest) => string, to?: Company): Promise<ApiResponse>;
}

export async function createSamlProvider(): Promise<SamlProvider> {
  const [company, signer] = [await createOwnedCompany(), await createSigner()];
  const configuration = {
    type: 'saml',
    idp_entity_id: IDP_ENTITY_ID,
    idp_sso_url: 'https://idp.example.org/sso?tenant=1',
    idp_certificates: [signer.certificate],
  };
  await configureSso(company, configuration);
  return {
    company,
    signer,
    configuration,
    makeResponse: (email, changes) => (request) => {
      const statement = { ...makeValidStatement(request, IDP_ENTITY_ID, email), ...changes };
      return signElement(formatResponse(statement, formatAssertion(statement)), 'Assertion', signer);
    },
    async answerRequest(make, to = company) {
      const request = readAuthnRequest(await startSignIn(to));
      return answerByForm(to, { SAMLResponse: encodeBase64(make(request)), RelayState: request.relayState });
    },
  };
}

/** Returns the e-mail address of the user whom an answer signs in, or null. */
export async function readSignedInEmail(callbackAnswer: ApiResponse): Promise<string | null> {
  const { code } = readRedirect(callbackAnswer);
  return code === null ? null : (await exchangeCode(code)).body.user.email;
}
