import type { ApiResponse } from '../support/api.ts';
import {
  type AuthnRequest,
  createSigner,
  encodeBase64,
  formatAssertion,
  formatResponse,
  makeValidStatement,
  readAuthnRequest,
  type Signer,
  type Statement,
  sign,
} from '../support/saml-idp.ts';
import { aCompany, type Company } from '../support/worlds.ts';
import { answerByForm, CONSOLE, configureSso, exchangeCode, readRedirect, startSignIn } from './support.ts';

/** The provider's entity id. */
export const IDP = 'https://idp.example.org/saml';

/** Where a person ends up, and with what, whose response is not accepted. */
export const REFUSED = { to: CONSOLE, code: null, error: 'invalid_response' };

/** A company with a SAML provider, and what that provider can do. */
export interface SamlWorld {
  company: Company;
  signer: Signer;
  configuration: Record<string, unknown>;
  /** A response whose assertion is signed and says what is right, but for `changes`. */
  honest(email: string, changes?: Partial<Statement>): (request: AuthnRequest) => string;
  /** Has the provider answer a fresh request of the company (or another) with what `make` makes of it. */
  answer(make: (request: AuthnRequest) => string, to?: Company): Promise<ApiResponse>;
}

export async function createSamlWorld(): Promise<SamlWorld> {
  const [company, signer] = [await aCompany(), await createSigner()];
  const configuration = {
    type: 'saml',
    idp_entity_id: IDP,
    idp_sso_url: 'https://idp.example.org/sso?tenant=1',
    idp_certificates: [signer.certificate],
  };
  await configureSso(company, configuration);
  return {
    company,
    signer,
    configuration,
    honest: (email, changes) => (request) => {
      const said = { ...makeValidStatement(request, IDP, email), ...changes };
      return sign(formatResponse(said, formatAssertion(said)), 'Assertion', signer);
    },
    async answer(make, to = company) {
      const request = readAuthnRequest(await startSignIn(to));
      return answerByForm(to, { SAMLResponse: encodeBase64(make(request)), RelayState: request.relayState });
    },
  };
}

/** The address of whoever an answer lets in, or null. */
export async function readSignedInEmail(answered: ApiResponse): Promise<string | null> {
  const { code } = readRedirect(answered);
  return code === null ? null : (await exchangeCode(code)).body.user.email;
}
